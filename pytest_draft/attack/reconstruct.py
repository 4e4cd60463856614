"""The attack: in goes a `Problem`, out comes a `Reconstruction` with its status and residual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_draft.attack.exact import Alternatives, Search, solve_exactly
from pytest_draft.attack.filling import INDICATOR_ODDS, Filling
from pytest_draft.attack.problem import BoolArray, InfeasibleError, IntArray, OutOfTimeError, Problem
from pytest_draft.attack.refit import Evidence
from pytest_draft.timebox import TimeBox

Status = Literal["unique", "consistent", "not converged", "infeasible", "no solution"]

_MOST_TRIES = 200
_MOST_REFITTED_ROWS = 20_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction:
    """What the attack rebuilt. Its repr shows no row.

    Attributes
    ----------
    status : str
        ``unique``: residual 0, and proved that the domain allows no other dataset with residual 0;
        ``consistent``: residual 0; ``not converged``: a dataset with a residual; ``infeasible``: proved that
        no dataset of the domain has residual 0; ``no solution``: the time was out before there was one.
    rows : ndarray of float32, shape (n_rows, n_columns), or None
        Encoded feature vectors.
    labels : ndarray of int64, shape (n_rows,), or None
        Indices into the forest's classes.
    cells : ndarray of int64, shape (n_rows,), or None
        The problem's cell of each row.
    free : ndarray of bool, shape (n_rows, n_attributes), or None
        Attributes that the row's cell leaves open, and all of a row that no tree has seen: filled with a guess,
        never recovered.
    ordered : bool
        Whether row ``i`` stands for training row ``i``.
    residual : int or None
        Sum of absolute differences between what the file publishes and what the reconstruction gives.
    reproduced_trees : int or None
        Trees that grow again from the reconstruction; None where that was not tried.
    cut_short : bool
        Whether the clock ended a step: with more time the reconstruction could be closer to the truth.
    statistics : mapping of str to float
        Sizes of the problem and seconds of each stage.
    """

    status: Status
    rows: NDArray[np.float32] | None
    labels: IntArray | None
    cells: IntArray | None
    free: BoolArray | None
    ordered: bool
    residual: int | None
    reproduced_trees: int | None = None
    cut_short: bool = False
    statistics: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        n_rows = 0 if self.rows is None else len(self.rows)
        return f"<Reconstruction: {self.status}, {n_rows} rows, residual {self.residual}>"


def reconstruct(problem: Problem, search: Search, evidence: Evidence | None = None) -> Reconstruction:
    """Rebuild the training data of a problem with exact noise.

    Parameters
    ----------
    problem : Problem
    search : Search
        Its time box, seed and threads.
    evidence : callable or None
        Says how well a dataset explains what the counts don't tell; chooses among datasets that meet all
        counts.

    Returns
    -------
    Reconstruction
    """
    figures = search.clock.figures
    figures.update(cells=problem.cells.n_cells, candidates=problem.n_candidates, groups=problem.groups.n_groups)
    ordered = problem.groups.ordered
    try:
        solution = solve_exactly(problem.system, problem.group, problem.groups.size, _prior(problem), search)
    except InfeasibleError:
        return Reconstruction("infeasible", None, None, None, None, ordered, None, statistics=figures)
    except OutOfTimeError:
        return Reconstruction("no solution", None, None, None, None, ordered, None, statistics=figures)
    with search.clock("fill"):
        of_cell = np.zeros(problem.cells.n_cells)
        np.add.at(of_cell, problem.cell, solution.expected)
        draft = _Draft.of(problem, solution.rows, Filling.of(problem.domain, problem.cells, of_cell))
        rng = np.random.default_rng([search.seed, 3])
        draft = replace(draft, rows=draft.filling.nearest_to_all(draft.cells, rng, search.timebox))
    score = None
    if evidence is not None and not solution.residual and not search.timebox.over:
        with search.clock("refit"):
            draft, score = _best_supported(draft, solution.open_parts, evidence, search.timebox)
    free = ~problem.cells.determined[draft.cells]
    never_drawn = (problem.groups.weight == 0).all(axis=0)
    free[never_drawn[problem.groups.of_row]] = [attribute.n_values > 1 for attribute in problem.domain.attributes]
    status: Status = "not converged" if solution.residual else "consistent"
    if solution.unique and not free.any():
        status = "unique"
    return Reconstruction(
        status=status,
        rows=draft.rows,
        labels=draft.labels,
        cells=draft.cells,
        free=free,
        ordered=ordered,
        residual=solution.residual,
        reproduced_trees=score,
        cut_short=search.timebox.over,
        statistics=figures,
    )


@dataclass(frozen=True, eq=False)
class _Draft:
    """A whole dataset, candidate by candidate and row by row."""

    problem: Problem
    chosen: IntArray
    filling: Filling
    cells: IntArray
    labels: IntArray
    rows: NDArray[np.float32]

    @classmethod
    def of(cls, problem: Problem, chosen: IntArray, filling: Filling) -> _Draft:
        cells, labels = _placed(problem, chosen)
        return cls(problem, chosen, filling, cells, labels, filling.likeliest(cells))

    def with_part(self, part: Alternatives, rows: IntArray) -> _Draft:
        """Return the dataset with one part of its candidates chosen otherwise."""
        chosen = self.chosen.copy()
        chosen[part.columns] = rows
        return _Draft.of(self.problem, chosen, self.filling)

    def with_value(self, row: int, attribute: int, value: int) -> _Draft:
        """Return the dataset with one open attribute of one row filled otherwise."""
        rows = self.rows.copy()
        encoded = self.problem.domain.attributes[attribute]
        rows[row, list(encoded.columns)] = encoded.encoded(np.array([value]))[0]
        return replace(self, rows=rows)


def _best_supported(
    draft: _Draft, open_parts: tuple[Alternatives, ...], evidence: Evidence, timebox: TimeBox
) -> tuple[_Draft, int]:
    """Choose, part by part and then value by value, what the evidence supports most."""
    score = evidence(draft.rows, draft.labels)
    n_trees = len(draft.problem.counts)
    left = _MOST_REFITTED_ROWS // (n_trees * len(draft.rows))  # tries, not seconds: the same on every machine

    def tried(candidate: _Draft) -> None:
        nonlocal draft, score, left
        left -= 1
        found = evidence(candidate.rows, candidate.labels)
        if found > score:
            draft, score = candidate, found

    def done() -> bool:
        return score == n_trees or left <= 0 or timebox.over

    for part in open_parts:
        for rows in part.rows[1:]:
            if done():
                return draft, score
            tried(draft.with_part(part, rows))
    cells = draft.problem.cells
    openings = [
        (row, a, value)
        for row, a in np.argwhere(~cells.determined[draft.cells]).tolist()
        for value in np.flatnonzero(cells.allowed[draft.cells[row], cells.offsets[a] : cells.offsets[a + 1]]).tolist()
    ]
    if len(openings) <= _MOST_TRIES:
        for row, a, value in openings:
            if done():
                break
            tried(draft.with_value(row, a, value))
    return draft, score


def _prior(problem: Problem) -> NDArray[np.float64]:
    """Return the prior mass of each candidate: its cell's share of a domain with sparse indicators."""
    cells, mass = problem.cells, np.ones(problem.cells.n_cells)
    for a, attribute in enumerate(problem.domain.attributes):
        allowed = cells.allowed[:, cells.offsets[a] : cells.offsets[a + 1]]
        if attribute.kind == "binary":
            odds = np.array([1.0, INDICATOR_ODDS])
            mass *= allowed @ (odds / odds.sum())
        else:
            mass *= allowed.mean(axis=1)
    return mass[problem.cell]


def _placed(problem: Problem, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cell and the class of each row; the rows of a group share its candidates in turn."""
    members = np.argsort(problem.groups.of_row, kind="stable")
    candidate = np.repeat(np.arange(problem.n_candidates), chosen)  # ascending, so group by group
    cell, label = np.empty_like(members), np.empty_like(members)
    cell[members], label[members] = problem.cell[candidate], problem.label[candidate]
    return cell, label
