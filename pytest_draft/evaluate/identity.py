"""Are these the rows that the forest was trained on? In go a problem and the truth, out comes an `Identity`.

With exact noise the truth's own residual must be 0. Without this check a stranger's table would make a leaking
forest pass, because an exact reconstruction of other rows is far from it (design, section 5, step 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.exact import Search, solve_exactly
from pytest_draft.attack.problem import (
    InfeasibleError,
    IntArray,
    OutOfTimeError,
    Problem,
    leaf_positions,
)
from pytest_draft.attack.reconstruct import Reconstruction
from pytest_draft.data import TrainingData

_MOST_CANDIDATES = 300_000


@dataclass(frozen=True)
class Identity:
    """Whether the forest was trained on the given rows.

    Attributes
    ----------
    status : str
        ``confirmed``; ``order differs`` (the same rows, in another order than the seeds tell); ``mismatch``
        (proved: these rows did not train this forest); ``unknown``.
    why : str
        One sentence.
    """

    status: Literal["confirmed", "order differs", "mismatch", "unknown"]
    why: str


def identify(
    forest: Forest, problem: Problem, data: TrainingData, reconstruction: Reconstruction, search: Search
) -> Identity:
    """Compare what the forest publishes with what the given rows would have published.

    Parameters
    ----------
    forest : Forest
    problem : Problem
    data : TrainingData
    reconstruction : Reconstruction
        Spares a search where it holds the same rows in another order, or where it is unique.
    search : Search

    Returns
    -------
    Identity
    """
    n_rows = problem.groups.n_rows
    if len(data.rows) != n_rows:
        return Identity("mismatch", f"this forest was trained on {n_rows:,} rows, and the data hold {len(data.rows):,}")
    columns = np.ascontiguousarray(data.rows.T)
    leaves = np.stack([leaf_positions(tree, columns) for tree in forest.trees]).astype(np.int64)
    missed = _missed(problem, leaves, data.labels)
    if not missed:
        return Identity("confirmed", "the rows explain every count in the file")
    stranger = Identity(
        "mismatch",
        f"this forest was not trained on these rows: they miss its counts by {missed:,} (the right rows miss none)",
    )
    if not problem.groups.ordered:
        return stranger
    cell = _cells_of(problem, leaves)
    if (cell < 0).any():
        return stranger
    return _in_another_order(problem, cell, data.labels, reconstruction, search, stranger)


def _missed(problem: Problem, leaves: IntArray, labels: IntArray) -> int:
    """Return the residual of rows in the given order: counts by class, and distinct rows where published."""
    missed = 0
    for t, counts in enumerate(problem.counts):
        weight = problem.groups.weight[t, problem.groups.of_row]
        found = np.zeros_like(counts)
        np.add.at(found, (leaves[t], labels), weight)
        missed += int(np.abs(found - counts).sum())
        if problem.distinct is not None:
            distinct = np.bincount(leaves[t], weight > 0, minlength=len(counts))
            missed += int(np.abs(distinct - problem.distinct[t]).sum())
    return missed


def _cells_of(problem: Problem, leaves: IntArray) -> IntArray:
    """Return the problem's cell of each row; -1 where domain reduction has struck it out for every group."""
    known = {signature.tobytes(): k for k, signature in enumerate(np.ascontiguousarray(problem.cells.signature.T))}
    rows = np.ascontiguousarray(leaves.T.astype(np.int32))
    return np.array([known.get(row.tobytes(), -1) for row in rows], dtype=np.int64)


def _in_another_order(
    problem: Problem,
    cell: IntArray,
    labels: IntArray,
    reconstruction: Reconstruction,
    search: Search,
    stranger: Identity,
) -> Identity:
    """Decide whether some order of the given rows explains every count."""
    only_order = Identity(
        "order differs", "the rows explain every count in the file in another order; only the order differs"
    )
    kind = cell * problem.n_classes + labels
    if reconstruction.cells is not None and reconstruction.labels is not None and reconstruction.residual == 0:
        rebuilt = reconstruction.cells * problem.n_classes + reconstruction.labels
        if np.array_equal(np.sort(rebuilt), np.sort(kind)):
            return only_order
    if reconstruction.status == "unique":
        return stranger
    kinds, times = np.unique(kind, return_counts=True)
    of_candidate = problem.cell * problem.n_classes + problem.label
    columns = np.flatnonzero(np.isin(of_candidate, kinds))
    group = problem.group[columns]
    if len(np.unique(group)) < problem.groups.n_groups:
        return stranger
    if len(columns) > _MOST_CANDIDATES:
        return Identity("unknown", "too many orders of these rows are possible to decide whether they fit")
    part = problem.system.only(columns)
    totals = np.searchsorted(kinds, of_candidate[columns])
    system = part.with_totals(totals, times.astype(np.int64))
    try:
        solution = solve_exactly(system, group, problem.groups.size, np.ones(len(columns)), search)
    except InfeasibleError:
        return stranger
    except OutOfTimeError:
        solution = None
    if solution is not None and not solution.residual:
        return only_order
    return Identity(
        "unknown",
        "in the given order these rows miss the forest's counts, and the time was out before another order "
        "was found or excluded",
    )
