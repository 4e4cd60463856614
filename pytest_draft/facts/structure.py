"""How few people stand behind a model's leaves or rules, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.entropy import Between

AT_LEAST = (1, 2, 3, 5, 10, 20, 50, 100)
"""Where the groups of leaf sizes begin."""


@dataclass(frozen=True)
class StructureFacts:
    """How many training rows stand behind a model's leaves, or a rule list's rules; empty ones are not counted."""

    what: str
    """One of "leaf", "rule"."""
    leaves: int
    """Of all trees."""
    smallest: int
    """Rows in the smallest one."""
    median_smallest: float
    """The median of the smallest one of each tree."""
    sizes: tuple[int, ...]
    """How many have at least so many rows as `AT_LEAST` says, up to the next number."""
    alone: Between
    """Share of the training rows that are alone in a leaf of some tree."""
    alone_rows: tuple[int, int]
    """How many training rows are alone in a leaf of some tree, the least and the most."""
    disclosed_class: Between
    """Share of the rows of a tree that are in a leaf of one class, in the tree where it is the largest."""

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= self.median_smallest or sum(self.sizes) != self.leaves:
            raise ValueError("sizes of leaves that contradict each other")
        if not 0 <= self.alone_rows[0] <= self.alone_rows[1]:
            raise ValueError(f"bounds out of order: {self.alone_rows}")
