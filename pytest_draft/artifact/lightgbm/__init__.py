"""Models of LightGBM: its text, and pickles that hold it."""
