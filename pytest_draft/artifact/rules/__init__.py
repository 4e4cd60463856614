"""Rule lists: of CORELS and imodels in pickles, and as text."""
