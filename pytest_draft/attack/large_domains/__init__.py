"""Domains that are too large to enumerate: which vectors a row can be, before the one problem is solved."""
