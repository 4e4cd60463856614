"""Whole datasets drawn row by row, given what the leaves say of the rows in them."""
