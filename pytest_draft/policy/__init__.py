"""Policies: in goes an examination, out comes a verdict. One file per rule; checking apart from rendering."""
