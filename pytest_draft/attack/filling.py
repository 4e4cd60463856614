"""Fills in the attributes that a cell leaves open: encoded rows from cells and a relaxed dataset.

No tree tells the values of an open attribute apart, so they can only be guessed. Which guess is best is a question
of the error: after matching, a table of likeliest values has no variety, and a drawn one has some by chance. Both
are tried against tables drawn from what the attacker believes, and the one closest to them on average is kept: the
truth has no part in it. A filled value is a guess and is never called recovered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all
from pytest_draft.attack.problem import Cells, Problem
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox

INDICATOR_ODDS = 0.4
"""Prior odds of a one in a binary column that the forest leaves open: indicators are mostly zero."""

_DRAWN = 3
"""Drawn ways to fill in that rival the likeliest one."""

_IMAGINED = 5
"""Drawn ways that they are compared with."""

_PRIOR_ROWS = 1.0
"""Rows that the prior of an attribute's values is worth."""

Choose = Callable[[int, FloatArray], IntArray]


@dataclass(frozen=True, eq=False, repr=False)
class Filling:
    """How likely each value of each attribute is, as far as the forest shows."""

    domain: Domain
    cells: Cells
    belief: tuple[FloatArray, ...]
    """Each of shape (n_values of the attribute,). From the rows of the relaxed dataset that fix the attribute, and a
    prior worth one row: uniform, for binary columns with `INDICATOR_ODDS`.
    """

    @classmethod
    def of(cls, domain: Domain, cells: Cells, of_cell: FloatArray) -> Filling:
        """Return the beliefs that expected rows per cell, shape (n_cells,), support."""
        belief = []
        for a, attribute in enumerate(domain.attributes):
            fixed = cells.determined[:, a]
            prior = np.array([1.0, INDICATOR_ODDS]) if attribute.kind == "binary" else np.ones(attribute.n_values)
            belief.append(of_cell[fixed] @ _allowed(cells, a)[fixed] + _PRIOR_ROWS * prior / prior.sum())
        return cls(domain, cells, tuple(belief))

    def likeliest(self, cell: IntArray) -> Rows:
        """Return one encoded row for each cell: the likeliest value of each attribute, the middle of an ordinal."""

        def choose(a: int, chance: FloatArray) -> IntArray:
            ordinal = self.domain.attributes[a].kind == "ordinal"
            value: IntArray = np.argmax(_cumulated(chance) >= 0.5 if ordinal else chance, axis=1)
            return value

        return self._encoded(cell, choose)

    def drawn(self, cell: IntArray, rng: np.random.Generator) -> Rows:
        """Return one encoded row for each cell, open attributes drawn as they are believed to be spread."""

        def choose(_: int, chance: FloatArray) -> IntArray:
            # Evenly spaced levels in random order keep the shares: less chance, same spread.
            level = (rng.permutation(len(cell)) + rng.random()) / len(cell)
            value: IntArray = np.argmax(_cumulated(chance) > level[:, None], axis=1)
            return value

        return self._encoded(cell, choose)

    def nearest_to_all(self, cell: IntArray, rng: np.random.Generator, timebox: TimeBox) -> Rows:
        """Return the guess that is closest, on average, to tables drawn from what is believed.

        Parameters
        ----------
        cell : ndarray of int64, shape (n_rows,)

        Returns
        -------
        ndarray of float32, shape (n_rows, n_columns)
        """
        likeliest = self.likeliest(cell)
        if self.cells.determined[cell].all() or len(cell) > MOST_ROWS or timebox.over:
            return likeliest
        guesses = [likeliest, *(self.drawn(cell, rng) for _ in range(_DRAWN))]
        imagined = [self.drawn(cell, rng) for _ in range(_IMAGINED)]
        return closest_to_all(guesses, imagined, self.domain, timebox)

    def _encoded(self, cell: IntArray, choose: Choose) -> Rows:
        chances = (_allowed(self.cells, a)[cell] * belief for a, belief in enumerate(self.belief))
        return self.domain.encoded(np.stack([choose(a, chance) for a, chance in enumerate(chances)], axis=1))


def prior_mass(problem: Problem) -> FloatArray:
    """Return the prior mass of each candidate: its cell's share of a domain with sparse indicators."""
    cells, mass = problem.cells, np.ones(problem.cells.n_cells)
    for a, attribute in enumerate(problem.domain.attributes):
        allowed = _allowed(cells, a)
        if attribute.kind == "binary":
            odds = np.array([1.0, INDICATOR_ODDS])
            mass *= allowed @ (odds / odds.sum())
        else:
            mass *= allowed.mean(axis=1)
        mass /= mass.max()  # only proportions matter, and hundreds of attributes would leave nothing
    return mass[problem.cell]


def _cumulated(chance: FloatArray) -> FloatArray:
    """Return cumulated shares by row; exactly 1 from the last possible value on."""
    below = chance.cumsum(axis=1)
    shares: FloatArray = below / below[:, -1:]
    return shares


def _allowed(cells: Cells, attribute: int) -> BoolArray:
    """Return which values of an attribute each cell allows, shape (n_cells, n_values)."""
    return cells.allowed[:, cells.offsets[attribute] : cells.offsets[attribute + 1]]
