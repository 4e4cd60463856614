"""Solves a `Problem` with exact counts: a whole dataset that meets them, or comes closest.

Small problems go to roundings and integer programs (`exact`). Where occurrences tell many rows apart, they are searched
row by row (`RowSearch`): the search first ignores the occurrences and estimates the histogram from the draws, forms
beliefs about each row from there (`messages`) and polishes the dataset that they give (`placing`). Where that does not
meet the counts, it searches for the histogram as an adversary without occurrences would, and anneals rows from there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.consensus import MOST_ROWS
from pytest_draft.attack.counts.exact import Solution, solve_exactly
from pytest_draft.attack.counts.kinds import Kinds, unordered
from pytest_draft.attack.counts.likeliest import Likely, expected_rows, find_likeliest
from pytest_draft.attack.counts.messages import believe, fits_memory
from pytest_draft.attack.counts.occupancy import LeafDraws
from pytest_draft.attack.counts.placing import Placed, anneal_rows, polish
from pytest_draft.attack.filling import prior_mass
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class SolveParameters:
    """Which problems each search is for, by size, and who gets which share of the time."""

    samples: int = 8
    """Other datasets that are drawn for the consensus."""
    quick_coefficients: int = 3_000_000
    """Coefficients of the equations up to which a rounding that meets them is searched for first."""
    whole_coefficients: int = 1_000_000
    """Coefficients up to which integer programs may repair a dataset."""
    repair_share: float = 0.4
    """Share of the time that is left for such repairs."""
    proved_coefficients: int = 5_000_000
    """Coefficients up to which other datasets are looked for."""
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


_PARAMETERS = SolveParameters()


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
    """Whether a longer search is not worth it for a dataset that meets all counts (`Believed.rich`)."""


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


def solve(problem: Problem, search: Search, *, alternatives: bool) -> tuple[Solution, ByRow | None]:
    """Return a whole dataset, and what a search that begins with the histogram found.

    Of an incomplete problem, that is the better one of the known dataset and the one found; it is never unique.

    Parameters
    ----------
    problem : Problem
        With exact noise.
    alternatives : bool
        Whether other datasets that meet the counts are listed.

    Returns
    -------
    solution : Solution
    found : ByRow or None
        None where the counts determine the rows, so that there is no other dataset to compare.

    Raises
    ------
    InfeasibleError
        Proved: no dataset meets the counts.
    OutOfTimeError
        The time was out before there was a dataset.
    """
    known = None
    if problem.start is not None:
        most = problem.pool_size[problem.pool]
        residual = problem.system.missed(problem.start)
        known = Solution(problem.start, problem.start.astype(np.float64), residual, most * 0, most, (), False)
        if not residual:
            return known, None
    try:
        solution, weaker = _searched(problem, search, alternatives=alternatives)
    except (InfeasibleError, OutOfTimeError):
        if known is None:
            raise
        return known, None
    if known is not None and known.residual <= solution.residual:
        return replace(known, expected=solution.expected, samples=solution.samples), weaker
    return replace(solution, unique=solution.unique and problem.complete), weaker


def _searched(problem: Problem, search: Search, *, alternatives: bool) -> tuple[Solution, ByRow | None]:
    """Return the dataset with the smallest residual that was found; where rows are told apart, from the histogram."""

    def solved(box: TimeBox, known: IntArray | None = None, *, quick: bool = False) -> Solution:
        return solve_exactly(
            problem.system,
            problem.pool,
            problem.pool_size,
            prior_mass(problem),
            replace(search, timebox=box),
            alternatives=alternatives,
            n_samples=_PARAMETERS.samples if problem.groups.n_rows <= MOST_ROWS else 0,
            known=known,
            quick=quick,
        )

    if not fits(problem) or (problem.cells.signature < 0).any():
        return solved(search.timebox), None
    size, solution = problem.n_coefficients, None
    if size <= _PARAMETERS.quick_coefficients and problem.complete:
        solution = solved(search.timebox, quick=True)
        if solution.unique:
            return solution, None
    loose = unordered(problem)
    by_row = RowSearch(problem, loose, prior_mass(loose), search)
    found = by_row.quick()
    met = solution is not None and not solution.residual
    if found is not None and _rows_are_settled(found, met=met):  # one dataset is as good as several
        if solution is not None and met:
            return solution, None
        by_rows = _as_solution(problem, found)
        if not by_rows.residual and problem.complete and size <= _PARAMETERS.proved_coefficients:
            return solved(search.timebox, by_rows.rows), None
        return _repaired(by_rows, problem, lambda: solved(search.timebox.part(_PARAMETERS.repair_share))), None
    if size <= _PARAMETERS.whole_coefficients and problem.complete and not met:
        with suppress(OutOfTimeError):
            solution = solved(search.timebox.part(_PARAMETERS.repair_share))
            if solution.unique or (found is not None and _rows_are_settled(found, met=not solution.residual)):
                return solution, None
    searched: ByRow | None = None
    with suppress(OutOfTimeError):
        found = searched = by_row.thorough(found)
    if found is None:
        if solution is None:
            raise OutOfTimeError
        return replace(solution, expected=solution.rows.astype(np.float64)), None  # what was relaxed is far from it
    placed = _as_solution(problem, found)
    if solution is not None and solution.residual <= placed.residual:
        return replace(solution, expected=placed.expected, samples=placed.samples), searched
    return placed, searched


def _repaired(placed: Solution, problem: Problem, solved: Callable[[], Solution]) -> Solution:
    """Return a dataset whose rows are determined but for a few, or a better one that a repair finds."""
    if placed.residual and problem.complete and problem.n_coefficients <= _PARAMETERS.quick_coefficients:
        with suppress(OutOfTimeError):
            return min(placed, solved(), key=lambda solution: solution.residual)
    return placed


def _rows_are_settled(searched: ByRow, *, met: bool) -> bool:
    """Return whether the counts determine the rows as far as they can, where some dataset meets them all or not."""
    return searched.sure or (searched.rich and (met or not searched.placed.missed))


def _as_solution(problem: Problem, searched: ByRow) -> Solution:
    """Return what was placed, row by row, as numbers of candidates."""
    placed, n_candidates = searched.placed, problem.n_candidates
    rows = np.bincount(placed.chosen, minlength=n_candidates).astype(np.int64)
    samples = tuple(np.bincount(sample, minlength=n_candidates).astype(np.int64) for sample in placed.samples)
    expected = np.mean(samples, axis=0) if samples else rows.astype(np.float64)
    most = problem.pool_size[problem.pool]
    return Solution(rows, expected, placed.missed, most * 0, most, (), False, samples)
