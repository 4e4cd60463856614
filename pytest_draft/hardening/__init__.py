"""Hardening: a fitted model of the owner becomes the same model with less of its training data in it."""
