"""Exact numbers of rows at each node: by class, of regressors, or alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.forest.observations.observation import Observation
from pytest_draft.facts.published import CountsPublished, Drawn, Published


@dataclass(frozen=True, kw_only=True)
class NodeCounts(Observation):
    """How many rows reached each node, or draws of them where rows were drawn."""

    exact: ClassVar[bool] = True
    _counts: ClassVar[CountsPublished] = "rows of each class"

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:  # noqa: D102
        return weight[:, None]

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:  # noqa: D102
        return Published(seeded, draws, self._counts)


@dataclass(frozen=True)
class ClassCounts(NodeCounts):
    """Counts of each class."""

    stored: Literal["shares", "totals"]
    """What `Tree.value` holds: the shares of the classes in a node's weight, or their weights."""

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:  # noqa: D102
        return value if self.stored == "totals" else value * weight[:, None]


@dataclass(frozen=True, kw_only=True)
class TargetMeans(NodeCounts):
    """Counts of a regressor's rows, with their mean target as `Tree.value`."""

    has_targets: ClassVar[bool] = True
    _counts: ClassVar[CountsPublished] = "rows and mean targets"


@dataclass(frozen=True, kw_only=True)
class RowNumbers(NodeCounts):
    """Numbers of rows alone: all that is taken of AdaBoost and of classifiers with several outputs."""
