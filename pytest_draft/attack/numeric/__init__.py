"""Numeric columns: what a file tells of their values, before any search and by it."""
