"""What a mechanism of differential privacy released at the leaves; `Tree.weight` and `Tree.n_distinct` hold 0.

How likely each released number is stands in `pytest_draft.attack.private`: it takes distributions, and a file is read
with NumPy alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_draft.artifact.forest.observations.counted import ClassCounts
from pytest_draft.artifact.forest.observations.observation import Observation
from pytest_draft.facts.privacy import Privacy


@dataclass(frozen=True, kw_only=True)
class Released(Observation):
    """What a mechanism released."""

    released: ClassVar[bool] = True
    no_rows: ClassVar[str] = "its leaves do not hold the numbers of rows, but what a mechanism released"


@dataclass(frozen=True, kw_only=True)
class ReleasedCounts(Released):
    """The count of each class at each leaf, with noise; it can be negative."""


@dataclass(frozen=True, kw_only=True)
class ReleasedLabels(Released):
    """A one for each leaf's label, which was chosen at random."""


def under(privacy: Privacy) -> Observation:
    """Return what leaves hold in a file that declares privacy: counts, where these are exact in spite of it."""
    if privacy.exact:
        return ClassCounts("totals", privacy=privacy)
    return ReleasedCounts(privacy=privacy) if privacy.counts else ReleasedLabels(privacy=privacy)
