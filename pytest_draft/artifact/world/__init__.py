"""What stands in a file beside its model: all of it is listed, and asked for its reason to be there."""
