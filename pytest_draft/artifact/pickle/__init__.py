"""Files of pickle and joblib: interpreted into inert records, and nothing in them is called."""
