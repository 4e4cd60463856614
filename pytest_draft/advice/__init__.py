"""What to do about a failure: in go a model and its training data, out comes a setting whose hardened file passes."""
