"""pytest-draft: how much of its training data can be rebuilt from a tree ensemble's file."""
