"""A whole dataset with its open values filled in: in go cells and labels, out come encoded rows.

What no tree tells is filled in by what nodes did not choose (`untested_values`), or by what is likely (`filling`).
Where the seeds are known, refitted trees choose among datasets that meet all counts, and among fillings (`refit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.consensus import closest_to_all
from pytest_draft.attack.counts.exact import ExactDatasets
from pytest_draft.attack.filling import Filling
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.refit import Evidence
from pytest_draft.attack.search import Search
from pytest_draft.attack.untested_values import Choices
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class DraftParameters:
    """How many datasets are refitted, and how many ways to fill in are compared."""

    most_tries: int = 200
    """Most single open values that are tried by refitting."""
    most_tried_rows: int = 500_000
    """Most rows times trees that such tries refit: a few seconds for all of them."""
    most_refitted_rows: int = 20_000_000
    """Most rows times trees that are refitted in all: an end that does not depend on the clock."""
    patience: int = 20
    """Tries in a row without progress before they end."""
    imagined: int = 5
    """Ways to fill in open values that guesses are compared with."""


_PARAMETERS = DraftParameters()


def in_row_order(problem: Problem, by_group: IntArray) -> IntArray:
    """Return what is found row by row, group by group, in the order of the rows."""
    result = np.empty_like(by_group)
    result[np.argsort(problem.groups.of_row, kind="stable")] = by_group
    return result


@dataclass(frozen=True, eq=False, repr=False)
class Draft:
    """A whole dataset, candidate by candidate and row by row."""

    problem: Problem
    chosen: IntArray
    """Shape (n_candidates,). Rows of each candidate."""
    filling: Filling
    cells: IntArray
    labels: IntArray
    """`cells` and `labels`, shape (n_rows,)."""
    rows: NDArray[np.float32]
    """Shape (n_rows, n_columns)."""

    @classmethod
    def of(cls, problem: Problem, chosen: IntArray, filling: Filling) -> Draft:
        """Return the dataset with open values as they are likeliest; the rows of a group share its candidates in turn.

        Parameters
        ----------
        chosen : ndarray of int64, shape (n_candidates,)
        """
        candidate = np.repeat(np.arange(problem.n_candidates), chosen)  # ascending, so group by group
        cells, labels = in_row_order(problem, problem.cell[candidate]), in_row_order(problem, problem.label[candidate])
        return cls(problem, chosen, filling, cells, labels, filling.likeliest(cells))

    def ways(
        self, choices: Choices | None, rng: np.random.Generator, timebox: TimeBox
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the rows with open values as they are likeliest, and drawn."""
        fills = () if choices is None else self._explaining(choices, 1, rng, timebox)
        if len(fills) > 1:
            return fills[0], fills[1]
        return self.filling.likeliest(self.cells), self.filling.drawn(self.cells, rng)

    def filled_in(
        self, choices: Choices | None, refit: Evidence | None, parts: tuple[ExactDatasets, ...], search: Search
    ) -> tuple[Draft, int | None]:
        """Fill in what cells leave open, and say how many trees grow again; None where that is not tried.

        The first guess is the simplest, in which a column that no tree tests is constant. Where many trees that were
        grown out all grow again from it, it is confirmed, and nothing else is tried.

        Parameters
        ----------
        parts : tuple of ExactDatasets
            Other datasets that meet all counts.
        """
        score = None
        if refit is not None and choices is not None and choices.many_grown_out and not search.timebox.over:
            with search.clock("refit"):
                score = refit(self.rows, self.labels)
            if score == len(self.problem.counts):
                return self, score
        with search.clock("fill"):
            rng = np.random.default_rng([search.seed, 3])
            fills = () if choices is None else self._explaining(choices, _PARAMETERS.imagined, rng, search.timebox)
            if len(fills) > 1:
                guess = closest_to_all(fills, fills[1:], self.problem.domain, search.timebox)
            else:
                guess = self.filling.nearest_to_all(self.cells, rng, search.timebox)
        filled = replace(self, rows=guess)
        if refit is None or search.timebox.over:
            return filled, score
        with search.clock("refit"):
            return filled._best_supported((*fills, self.rows), parts, refit, search.timebox)

    def _explaining(
        self, choices: Choices, number: int, rng: np.random.Generator, timebox: TimeBox
    ) -> tuple[NDArray[np.float32], ...]:
        """Return ways to fill in the open values that explain what nodes chose, the likeliest first."""
        likeliest, belief = self.filling.likeliest(self.cells), self.filling.belief
        return choices.filled(self.cells, self.labels, likeliest, belief, number, rng, timebox)

    def _best_supported(
        self,
        fills: tuple[NDArray[np.float32], ...],
        parts: tuple[ExactDatasets, ...],
        refit: Evidence,
        timebox: TimeBox,
    ) -> tuple[Draft, int]:
        """Choose, part by part and then value by value, what most trees grow again from."""
        draft, score = self, refit(self.rows, self.labels)
        n_trees = len(self.problem.counts)
        of_once = n_trees * len(self.rows)
        left = _PARAMETERS.most_refitted_rows // of_once  # tries, not seconds: the same on every machine

        def tried(candidate: Draft) -> None:
            nonlocal draft, score, left
            left -= 1
            found = refit(candidate.rows, candidate.labels)
            if found > score:
                draft, score = candidate, found

        def done() -> bool:
            return score == n_trees or left <= 0 or timebox.over

        for fill in fills:
            if done():
                return draft, score
            if (fill != draft.rows).any():
                tried(replace(draft, rows=fill))
        for part in parts:
            for rows in part.rows[1:]:
                if done():
                    return draft, score
                tried(draft._with_part(part, rows))
        openings = draft._openings()
        if len(openings) <= _PARAMETERS.most_tries:
            left, waited = min(left, _PARAMETERS.most_tried_rows // of_once), 0
            for row, a, value in openings:
                if done() or waited >= _PARAMETERS.patience:
                    break
                before = score
                tried(draft._with_value(row, a, value))
                waited = 0 if score > before else waited + 1
        return draft, score

    def _openings(self) -> list[tuple[int, int, int]]:
        """Return each row and attribute that the cells leave open, with each value that they allow."""
        cells = self.problem.cells
        return [
            (row, a, value)
            for row, a in np.argwhere(~cells.determined[self.cells]).tolist()
            for value in np.flatnonzero(
                cells.allowed[self.cells[row], cells.offsets[a] : cells.offsets[a + 1]]
            ).tolist()
        ]

    def _with_part(self, part: ExactDatasets, rows: IntArray) -> Draft:
        """Return the dataset with one part of its candidates chosen otherwise."""
        chosen = self.chosen.copy()
        chosen[part.columns] = rows
        other = Draft.of(self.problem, chosen, self.filling)
        same = other.cells == self.cells  # keeps what its open values were filled with
        return replace(other, rows=np.where(same[:, None], self.rows, other.rows))

    def _with_value(self, row: int, attribute: int, value: int) -> Draft:
        """Return the dataset with one open attribute of one row filled otherwise."""
        rows = self.rows.copy()
        encoded = self.problem.domain.attributes[attribute]
        rows[row, list(encoded.columns)] = encoded.encoded(np.array([value]))[0]
        return replace(self, rows=rows)


def filling_of(problem: Problem, expected: FloatArray) -> Filling:
    """Return what expected rows of each candidate, shape (n_candidates,), say of open attributes."""
    of_cell = np.bincount(problem.cell, expected, minlength=problem.cells.n_cells).astype(np.float64)
    return Filling.of(problem.domain, problem.cells, of_cell)
