"""What a model file proves of a reconstruction: numbers of rows between bounds."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.checks import require_rising


@dataclass(frozen=True)
class Bounds:
    """A number of rows that is known to lie between two others."""

    lower: int
    """Proved."""
    upper: int
    """Attested by datasets that meet the equations: none of them leaves room for more."""

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            raise ValueError(f"bounds out of order: {self.lower} and {self.upper}")

    @property
    def exact(self) -> bool:
        """Whether the number is known."""
        return self.lower == self.upper

    def at_least(self, lower: int) -> Bounds:
        """Return the bounds with another lower bound that is proved too, where it is higher."""
        return Bounds(max(self.lower, lower), self.upper)


@dataclass(frozen=True)
class Certificate:
    """What the artifact proves of a reconstruction, over all datasets of the domain that are consistent with it.

    All figures are numbers of rows. The training data are one of these datasets, if the domain holds them. So each
    lower bound holds for them too: `certain_vectors.lower <= guaranteed_vectors.lower <= perfect rows`, and perfect
    rows are what an evaluation counts, labels left out.
    """

    n_rows: int
    """Rows of the dataset; rows that the adversary knows whole are not among them."""
    certain_cells: Bounds
    """Rows whose cell and class are in every consistent dataset, open attributes included."""
    certain_rows: Bounds
    """Certain cells that hold a single feature vector, so that the row is certain as a whole."""
    guaranteed_overlap: Bounds
    """The fewest rows, as cell and class, that any consistent dataset shares with this one."""
    certain_vectors: Bounds
    """Feature vectors that are in every consistent dataset whatever their labels, in cells that hold a single one."""
    guaranteed_vectors: Bounds
    """The fewest of those vectors that any consistent dataset shares with this one: perfect rows that are proved."""

    def __post_init__(self) -> None:
        # Whether proofs contradict each other, or the training data, is for an evaluation to find out and report.
        for bounds in (
            self.certain_cells,
            self.certain_rows,
            self.guaranteed_overlap,
            self.certain_vectors,
            self.guaranteed_vectors,
        ):
            require_rising(proved=bounds.lower, attested=bounds.upper, rows=self.n_rows)

    @property
    def unique(self) -> bool | None:
        """Whether all consistent datasets are the same, up to row order and open attributes; None: not known."""
        if self.guaranteed_overlap.upper < self.n_rows:
            return False
        return True if self.guaranteed_overlap.exact else None
