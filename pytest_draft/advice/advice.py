"""The advice that `pytest_draft.advise` returns: the recommendation, and the ways to show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_draft.advice import document, page, table
from pytest_draft.advice.recommendation import Recommendation


@dataclass(frozen=True)
class Advice(Recommendation):
    """Which setting to train, what was tried, and what it costs. Aggregates only: no row of data."""

    def __str__(self) -> str:
        return table.text(self)

    def html(self) -> str:
        """Return the page, which needs no other file."""
        return page.render(self)

    def document(self) -> dict[str, Any]:
        """Return plain values, as ``advice.schema.json`` has them."""
        return document.document(self)
