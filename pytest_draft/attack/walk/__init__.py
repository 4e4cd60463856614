"""Whole datasets changed row by row, whatever the evidence is."""
