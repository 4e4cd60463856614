"""Models of XGBoost: as JSON, as Universal Binary JSON, and in pickles."""
