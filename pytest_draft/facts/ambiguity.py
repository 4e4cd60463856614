"""How close anybody could get from a file's contents, derived from the true rows: aggregates only.

The owner knows the truth, so the evaluation can look for other datasets that explain every observation in the file just
as well. If there are many and they lie far apart, nobody can tell them from the truth, however long they search. If
there is none, the file holds the rows, however far our own attack got.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares

Prior = Literal["uniform", "population", "other rows", "all other rows"]
"""Which datasets an ideal attacker takes for likely: all that the domain allows equally, those of a mixture fitted to
the population, or those made of rows that occur in the population. Or they know all rows but one."""


@dataclass(frozen=True)
class Attacker:
    """What the best guess of an attacker with one prior gets."""

    prior: Prior
    """How the attacker weighs datasets."""
    least_error: float
    most_perfect_rows: float
    """`least_error` and `most_perfect_rows`: as in `Ideal`."""
    error_without_file: float
    perfect_rows_without_file: float
    """`error_without_file` and `perfect_rows_without_file`: of the same prior, without the file."""

    def __post_init__(self) -> None:
        require_rising(least_error=self.least_error, error_without_file=self.error_without_file)
        require_rising(
            perfect_rows_without_file=self.perfect_rows_without_file, most_perfect_rows=self.most_perfect_rows
        )


@dataclass(frozen=True)
class Ideal:
    """What the best possible guess gets, by anybody who knows all datasets that explain the file.

    Each figure is that of the most successful of the considered attackers.
    """

    least_error: float
    """No guess has a smaller expected error, over the sampled datasets."""
    most_perfect_rows: float
    """No guess meets more rows perfectly, in expectation over them."""
    rows: int
    """Rows that `most_perfect_rows` are of. They are held against figures of as many rows only (`Part`)."""
    most_exact: float | None = None
    """No guess has a larger share of numeric values exactly; None without numeric values."""
    error_without_file: float | None = None
    perfect_rows_without_file: float | None = None
    """`error_without_file` and `perfect_rows_without_file`: what the same attacker's best guess gets without the file;
    None where that is not known.
    """
    attackers: tuple[Attacker, ...] = ()
    """All that are considered, one for each prior; empty where they are not distinguished."""

    @classmethod
    def of(cls, attackers: tuple[Attacker, ...], rows: int, most_exact: float | None) -> Ideal:
        """Return what the most successful of some attackers get."""
        nearest = min(attackers, key=lambda one: one.least_error)
        meets_most = max(attackers, key=lambda one: one.most_perfect_rows)
        return cls(
            least_error=nearest.least_error,
            most_perfect_rows=meets_most.most_perfect_rows,
            rows=rows,
            most_exact=most_exact,
            error_without_file=nearest.error_without_file,
            perfect_rows_without_file=meets_most.perfect_rows_without_file,
            attackers=attackers,
        )

    def __post_init__(self) -> None:
        require_rising(least_error=self.least_error, error_without_file=self.error_without_file)
        require_not_negative(most_perfect_rows=self.most_perfect_rows)
        require_rising(
            perfect_rows_without_file=self.perfect_rows_without_file, most_perfect_rows=self.most_perfect_rows
        )
        if self.most_exact is not None:
            require_shares(most_exact=self.most_exact)


@dataclass(frozen=True)
class Ambiguity:
    """What other datasets explain a file exactly as well as the truth does."""

    priors: tuple[Prior, ...]
    """The priors under which datasets were sampled."""
    samples: int
    """Datasets that were sampled under each of them, at least."""
    unchanged_rows: float
    """Share of the rows that are told whole, but for values that no split tells apart."""
    bits: float
    """Lower bound of the logarithm, to base 2, of how many datasets explain the file: multisets of labelled rows, so
    that another order of the same rows is the same dataset.
    """
    distance: float
    """Mean distance of the samples to the truth, after matching."""
    shared_unique_rows: int
    """Rows that are unique in the training data and stand in every sample: no more can be certain."""

    def __post_init__(self) -> None:
        require_not_negative(samples=self.samples, bits=self.bits, distance=self.distance)
        require_shares(unchanged_rows=self.unchanged_rows)
