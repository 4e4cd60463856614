"""What to do about a failure: finds a setting of the model whose hardened file passes."""
