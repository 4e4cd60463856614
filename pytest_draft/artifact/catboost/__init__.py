"""Models of CatBoost: as JSON, in its own format (cbm), and in pickles."""
