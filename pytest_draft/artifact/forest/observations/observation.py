"""The base class of observations: what every kind says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_draft.arrays import FloatArray
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Drawn, Published


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What the leaves of a forest say of the rows in them. `Tree.value` holds it node by node."""

    also: str | None = None
    """What else the file says of the rows, and is not taken from it; None for nothing."""
    privacy: Privacy | None = None
    """What the file declares of its differential privacy; None where it declares none."""

    exact: ClassVar[bool] = False
    """Whether each node's number of rows, or of draws, is known as it was in training."""
    released: ClassVar[bool] = False
    """Whether a mechanism of differential privacy made the trees, so that no split follows from rows alone."""
    has_targets: ClassVar[bool] = False
    """Whether leaves hold the mean targets of a regressor."""
    named: ClassVar[str] = "counts"
    """What cannot come from wrong rows, for messages."""
    varies_with_rate: ClassVar[bool] = False
    """Whether leaves would answer otherwise if another number of draws had been made of each row."""
    no_rows: ClassVar[str] = "the numbers of rows in its leaves are not in its file"
    """Why the numbers of rows in leaves are not known, where they are not."""

    @property
    def in_words(self) -> str | None:
        """What a line about the file says of it; None for what every trained forest holds."""
        return None

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the weighted number of rows of each class at each node, shape (n_nodes, n_classes).

        Parameters
        ----------
        value : ndarray of float64, shape (n_nodes, n_values)
            `Tree.value`.
        weight : ndarray of float64, shape (n_nodes,)
            `Tree.weight`.

        Raises
        ------
        ValueError
            Where it is no observation of counts.
        """
        raise ValueError("this forest has no counts")

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:
        """Return what a file publishes whose leaves say this.

        Parameters
        ----------
        draws : Drawn
            As in `Published`.
        value : ndarray of float64, shape (n_leaves, n_values)
            `Tree.value` at the leaves of all trees.
        """
        return Published(seeded, draws, None)
