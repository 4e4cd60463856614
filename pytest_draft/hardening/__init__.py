"""Hardening: in goes a fitted model of the owner, out comes the same model with less of its training data in it."""
