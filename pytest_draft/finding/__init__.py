"""Finds the rows and columns that a model was trained on in the raw table that they were made from."""

from __future__ import annotations

from pytest_draft.finding.given import rows_of
from pytest_draft.finding.search import Given

__all__ = ["Given", "rows_of"]
