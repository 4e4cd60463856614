"""Many rows with known occurrences: searches row by row for datasets that meet the counts of a `Problem`.

The search first ignores the occurrences and estimates the histogram from the draws. From there it forms beliefs about
each row (`messages`) and polishes the dataset that they give (`placing`). Where that does not meet the counts, it
searches for the histogram as an adversary without occurrences would, and anneals rows from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.attack.counts.kinds import Kinds
from pytest_draft.attack.counts.likeliest import Likely, expected_rows, find_likeliest
from pytest_draft.attack.counts.messages import believe, fits_memory
from pytest_draft.attack.counts.occupancy import LeafDraws
from pytest_draft.attack.counts.placing import Placed, anneal_rows, polish
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.errors import OutOfTimeError


@dataclass(frozen=True)
class ByRowParameters:
    """Who gets which share of the time."""

    fewest_groups: int = 9
    """With fewer groups, occurrences hardly distinguish rows, and integer programs do better."""
    quick_share: float = 0.35
    """Share of the time after which messages and polishing must have ended."""
    histogram_share: float = 0.55
    """Share of what is left then for the search that ignores the occurrences."""
    placing_share: float = 0.8
    """Share of what is left then for placing rows from there; the rest is for comparing guesses."""
    prior_share: float = 0.1
    """Share of the prior in the histogram, so that no kind of row is impossible."""


_PARAMETERS = ByRowParameters()


@dataclass(frozen=True, eq=False, repr=False)
class ByRow:
    """What was found."""

    placed: Placed
    loose: Problem
    """The problem without occurrences."""
    likely: Likely | None = None
    """What the search of that problem finds; None where it was not run."""
    sure: bool = False
    """Whether the counts determine nearly all rows, so that a longer search is not worth it."""
    rich: bool = False
    """The same for a dataset that meets all counts (`Believed.rich`)."""


def fits(problem: Problem) -> bool:
    """Return whether a problem has many rows, and occurrences that tell them apart."""
    groups = problem.groups
    return (
        groups.draws_known
        and problem.distinct is not None
        and groups.ordered
        and groups.n_groups >= _PARAMETERS.fewest_groups
    )


class RowSearch:
    """The search, in two steps: a quick one, and one for all the time that there is.

    Parameters
    ----------
    problem : Problem
        Such as `fits`.
    loose : Problem
        The problem without occurrences (`unordered`).
    prior : ndarray of float64
        Prior mass of each candidate of that problem.
    """

    def __init__(self, problem: Problem, loose: Problem, prior: FloatArray, search: Search) -> None:
        self._search, self._loose, self._prior = search, loose, prior
        self._kinds = Kinds.of(problem)
        self._draws = LeafDraws.of(loose.counts, loose.distinct, loose.groups.n_rows)

    def quick(self) -> ByRow | None:
        """Form beliefs and polish their dataset; None where there was no time for that."""
        search, kinds = self._search, self._kinds
        box = search.timebox.part(_PARAMETERS.quick_share)
        with search.clock("histogram"):
            try:
                mass = expected_rows(self._loose, self._draws, self._prior, replace(search, timebox=box))
            except OutOfTimeError:
                return None
        if not fits_memory(kinds):
            return None
        with search.clock("messages"):
            found = believe(kinds, self._share(mass), search, box)
        if found is None:
            return None
        placed = Placed(found.chosen, found.missed)
        if found.missed and found.sure:
            with search.clock("polish rows"):
                placed = polish(kinds, self._share(mass), found.chosen, search, search.timebox)
        return ByRow(placed, self._loose, sure=found.sure, rich=found.rich)

    def thorough(self, quick: ByRow | None) -> ByRow:
        """Search for the histogram, then for rows, from there and from what the quick step found.

        Raises
        ------
        OutOfTimeError
        """
        search, kinds = self._search, self._kinds
        box = search.timebox.part(_PARAMETERS.histogram_share)
        likely = find_likeliest(self._loose, self._draws, self._prior, replace(search, timebox=box))
        number = np.zeros(self._loose.n_candidates)
        for sample in (likely.chosen, *likely.samples):
            number += np.bincount(sample, minlength=len(number))
        mass = number * kinds.n_rows / number.sum()
        share = self._share((mass + likely.expected) / 2)
        with search.clock("place rows"):
            starts = () if quick is None else (quick.placed.chosen,)
            placed = anneal_rows(kinds, share, starts, search, search.timebox.part(_PARAMETERS.placing_share))
        if quick is not None and quick.placed.missed < placed.missed:
            placed = replace(placed, chosen=quick.placed.chosen, missed=quick.placed.missed)
        return ByRow(placed, self._loose, likely)

    def _share(self, mass: FloatArray) -> FloatArray:
        """Return how likely each kind is, given the expected rows of each candidate of the loose problem."""
        loose = self._loose
        _, kind = np.unique(loose.label * loose.cells.n_cells + loose.cell, return_inverse=True)
        n_kinds = len(self._kinds.entries)
        found = np.bincount(kind.reshape(-1), mass, minlength=n_kinds)
        prior = np.bincount(kind.reshape(-1), self._prior, minlength=n_kinds)
        mixed = (1 - _PARAMETERS.prior_share) * found / found.sum() + _PARAMETERS.prior_share * prior / prior.sum()
        result: FloatArray = np.maximum(mixed, 1e-12)
        return result
