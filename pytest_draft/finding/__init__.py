"""Finds the rows and columns that a model was trained on in the raw table that they were made from."""

from __future__ import annotations

from pytest_draft.finding.given import Given, rows_of

__all__ = ["Given", "rows_of"]
