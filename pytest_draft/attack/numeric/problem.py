"""Numeric and mixed data as one problem: in go forest, domain and groups, out comes a `NumericProblem`.

Cells between thresholds are too many to enumerate, so each row is a variable of its own. What the file holds beyond
counts is read before any search: the extremes that drawn thresholds give away, and the values that they prove.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import lsq_linear
from scipy.sparse.linalg import LinearOperator

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import Groups, group_by_occurrences
from pytest_draft.attack.numeric.energy import NodeArrays, nodes_of
from pytest_draft.attack.numeric.extremes import Extremes, replay_and_decode
from pytest_draft.attack.numeric.midpoints import ValueBounds, propagate_thresholds
from pytest_draft.attack.numeric.targets import identify_rows
from pytest_draft.attack.states import States, states_of
from pytest_draft.attack.target_classes import target_counts
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError, OutOfTimeError
from pytest_draft.timebox import TimeBox

MAX_ENTRIES = 200_000_000
"""Most (tree, row) pairs; each takes 16 bytes for each dataset that is searched at a time."""

_STEPS = 50
"""Most steps of the least squares by which labels are told from the counts."""

_REPLAY_SHARE = 0.7
"""Share of the time that is left after which what was drawn is not replayed further. Where it is known, there is little
left to search."""

_SHARE = 0.3
"""Share of the time that is left for telling labels from the counts, and for telling rows by their targets."""

_MOST_EXCHANGED = 500
"""Most rows of which every two are tried with each other's labels."""


@dataclass(frozen=True, eq=False, repr=False)
class NumericProblem:
    """Rows to rebuild, one by one, and what the file says of them. Its repr shows no row."""

    domain: Domain
    states: States
    nodes: NodeArrays
    times: Int32Array
    """Shape (n_trees, n_rows). How often each tree saw each row: the unknown rows first, then those that the adversary
    knows whole.
    """
    n_unknown: int
    state: Int32Array
    """Shape (n_rows, n_attributes). What the adversary knows; -1 elsewhere."""
    label: Int32Array
    """Shape (n_rows,). Where to start; final where `label_known`."""
    label_known: bool
    """Whether `label` explains the root of each tree, so that it is not searched for."""
    ordered: bool
    """Whether the occurrences tell rows apart."""
    given: NDArray[np.float32]
    """Shape (n_unknown, n_columns). The values of the unknown rows that the adversary knows; NaN elsewhere."""
    proved_values: Mapping[int, FloatArray]
    """By column, values that the file proves to occur in the training data."""
    extremes: Extremes | None
    bounds: ValueBounds | None = None
    """Of a regressor whose leaves tell rows apart by their targets: between which values each cell lies."""
    leaves_known: float = 0.0
    """Share of the (tree, row) pairs whose leaf is known by that."""

    def __repr__(self) -> str:
        return f"NumericProblem({self.n_unknown} rows of {self.states}, {self.nodes})"

    @property
    def rows_identified(self) -> bool:
        """Whether a regressor's leaves tell which row is in them, everywhere."""
        return self.bounds is not None and self.leaves_known == 1

    @property
    def n_classes(self) -> int:
        """Number of classes; of a regressor the number of targets that its leaves tell, or 1."""
        return int(self.nodes.count.shape[1])

    @property
    def targets_used(self) -> float:
        """Share of a regressor's leaves of which it is known how many draws of each target they hold."""
        return float(self.nodes.by_class[self.nodes.walks.leaves].mean()) if self.n_classes > 1 else 0.0


def is_numeric(domain: Domain) -> bool:
    """Return whether a domain has attributes that are not enumerated: numeric ones, or such that may be missing."""
    return any(attribute.kind == "numeric" or attribute.missing for attribute in domain.attributes)


def build_numeric(forest: Forest, domain: Domain, groups: Groups, timebox: TimeBox) -> NumericProblem:
    """Read what a forest says of its rows beyond counts.

    Parameters
    ----------
    timebox : TimeBox
        Where it ends, less is decoded.

    Raises
    ------
    NotCoveredError
        Where the occurrences are unknown, or there are too many rows and trees.
    OutOfTimeError
        Where it ends before there is a problem.
    """
    if not groups.draws_known:
        raise NotCoveredError(
            "numeric columns with unknown occurrences (adversary 'published', with bootstrap) are not covered yet: "
            "judge the file with the adversary 'artifact', who reads its seeds"
        )
    if forest.n_trees * groups.n_rows > MAX_ENTRIES:
        raise NotCoveredError(f"{forest.n_trees:,} trees x {groups.n_rows:,} rows are more than are searched")
    extremes, proved = None, dict[int, FloatArray]()
    if forest.splitter != "best" and is_numeric(domain):  # of codes, counts tell as much
        extremes = replay_and_decode(forest, domain, timebox.part(_REPLAY_SHARE))
        proved = _proved_values(forest, extremes)
    states = states_of(forest, domain, proved)
    timebox.require()
    times = groups.weight[:, groups.of_row]
    bounds, leaves_known, targets = None, 0.0, None
    if forest.observation.has_targets and groups.known is None:
        if groups.values is None:
            bounds, leaves_known = _bounds_by_targets(forest, domain, times, extremes, timebox.part(_SHARE))
        if leaves_known < 1:
            targets = target_counts(forest, times)
    decoded = None if extremes is None else (extremes.low, extremes.high)
    nodes = nodes_of(forest, states, decoded, timebox.require, targets)
    state = np.full((groups.n_rows, len(domain.attributes)), -1, dtype=np.int64)
    given = np.full((groups.n_rows, domain.n_columns), np.nan, dtype=np.float32)
    if groups.values is not None:
        given[:, list(groups.values.columns)] = groups.values.of_group[groups.of_row]
        given_columns = list(groups.values.attributes)
        state[:, given_columns] = states.of_rows(given)[:, given_columns]
    label = np.full(groups.n_rows, -1, dtype=np.int64)
    if groups.known is not None:
        times = np.concatenate([times, groups.known.weight], axis=1)
        state = np.concatenate([state, states.of_rows(groups.known.rows)])
        label = np.concatenate([label, groups.known.labels])
    label, label_known = _labels(nodes, times, label, timebox.part(_SHARE))
    label_known &= groups.values is None or nodes.count.shape[1] == 1 or groups.ordered
    return NumericProblem(
        domain,
        states,
        nodes,
        np.ascontiguousarray(times.astype(np.int32)),
        groups.n_rows,
        state.astype(np.int32),
        label.astype(np.int32),
        label_known,
        groups.ordered,
        given,
        proved,
        extremes,
        bounds,
        leaves_known,
    )


def _bounds_by_targets(
    forest: Forest, domain: Domain, times: IntArray, extremes: Extremes | None, timebox: TimeBox
) -> tuple[ValueBounds, float]:
    """Return the bounds that follow from the rows whose targets tell their leaves, and the share of these leaves."""

    def narrowed(leaves: IntArray) -> ValueBounds:
        return propagate_thresholds(forest, domain, leaves, timebox, extremes=extremes)

    found = identify_rows(forest, times, timebox, narrowed)
    bounds = narrowed(found.leaf)
    if (times != times[:, :1]).any() and not found.in_order.all():
        bounds = replace(bounds, certain=bounds.certain & found.in_order[:, None])
    return bounds, found.known


def _proved_values(forest: Forest, extremes: Extremes) -> dict[int, FloatArray]:
    """Return, by column, the values that were decoded."""
    column = np.concatenate([tree.feature for tree in forest.trees])
    low, high = np.concatenate(extremes.low), np.concatenate(extremes.high)
    proved = {}
    for f in np.unique(column[column >= 0]).tolist():
        values = np.concatenate([low[column == f], high[column == f]])
        values = np.unique(values[~np.isnan(values)])
        if len(values):
            proved[int(f)] = values
    return proved


def _labels(nodes: NodeArrays, times: IntArray, known: IntArray, timebox: TimeBox) -> tuple[IntArray, bool]:
    """Return a label for each row that explains the roots as well as least squares do, and whether it explains all.

    Without a difference between rows, any labels in the right numbers are right. A tree whose leaves all hold one class
    also tells how many different rows of each class it saw. Where the time box ends before the least squares do, they
    are in the right shares, as a start.
    """
    n_classes = nodes.count.shape[1]
    if n_classes == 1:
        return np.zeros_like(known), True
    root = nodes.walks.root[:-1]
    counted = nodes.by_class[root]
    times, root = times[counted], nodes.count[root[counted]].astype(np.int64)
    open_rows = known < 0
    label = known.copy()
    if not len(root):
        label[open_rows] = np.arange(np.count_nonzero(open_rows)) % n_classes
        return label, False
    of_known = np.eye(n_classes, dtype=np.int64)[known[~open_rows]]
    known_times, times = times[:, ~open_rows], times[:, open_rows]
    lacking = root - known_times @ of_known
    if (times == times[:, :1]).all():
        label[open_rows] = _labels_in_shares(lacking[0], int(open_rows.sum()))
        return label, True
    alike = group_by_occurrences(times)
    different, is_certain = _different_rows(nodes)
    is_certain = is_certain[counted]
    seen_of_known = (known_times[is_certain] > 0).astype(np.int64) @ of_known
    drawn = np.concatenate([alike.weight, alike.weight[is_certain] > 0]).astype(np.float64)
    wanted = np.concatenate([lacking, different[counted][is_certain] - seen_of_known])
    matrix, size = _with_time_checks(sparse.csr_array(drawn), timebox), alike.size
    try:
        mass = [lsq_linear(matrix, wanted[:, c], (0, size), max_iter=_STEPS).x / size for c in range(n_classes)]
    except OutOfTimeError:
        label[open_rows] = _labels_in_shares(lacking.sum(axis=0), int(open_rows.sum()))
        return label, False
    chosen = np.stack(mass, axis=1).argmax(axis=1)
    if (alike.size == 1).all():
        chosen = _exchanged(drawn, wanted, chosen, timebox)
    label[open_rows] = chosen[alike.of_row]
    found = times @ np.eye(n_classes, dtype=np.int64)[label[open_rows]]
    return label, bool((found == lacking).all())


def _different_rows(nodes: NodeArrays) -> tuple[IntArray, BoolArray]:
    """Return how many different rows of each class each tree saw, and of which trees that is told.

    Where each leaf holds one class, its different rows are of that class.
    """
    leaves = nodes.walks.leaves
    held = nodes.count > 0
    pure = nodes.by_class & (held.sum(axis=1) == 1) if nodes.distinct[0] >= 0 else np.zeros(len(leaves), np.bool_)
    of_leaf = np.where(leaves[:, None], held * nodes.distinct[:, None], 0)
    first = nodes.walks.root[:-1]
    return (
        np.add.reduceat(of_leaf, first, axis=0).astype(np.int64),
        np.logical_and.reduceat(pure | ~leaves, first),
    )


def _exchanged(drawn: FloatArray, wanted: IntArray, label: IntArray, timebox: TimeBox) -> IntArray:
    """Return labels of which changing one, or exchanging two, brings the rows no closer to what is wanted.

    Parameters
    ----------
    drawn : ndarray of float64, shape (n_equations, n_rows)
    wanted : ndarray of int64, shape (n_equations, n_classes)
    label : ndarray of int64, shape (n_rows,)
    """
    label, n_rows, n_classes = label.copy(), len(label), wanted.shape[1]
    rows, square = np.arange(n_rows), (drawn**2).sum(axis=0)
    off = drawn @ np.eye(n_classes)[label] - wanted
    while off.any() and not timebox.over:
        slope = drawn.T @ off
        gain = slope - slope[rows, label][:, None] + square[:, None]
        gain[rows, label] = 0.0
        k = int(gain.min(axis=1).argmin())
        if gain[k].min() < 0:
            changes = [(k, int(gain[k].argmin()))]
        else:
            uncertain = np.argsort(np.partition(gain, 1, axis=1)[:, 1])[:_MOST_EXCHANGED]
            pairs = gain[uncertain][:, label[uncertain]]
            pairs = pairs + pairs.T - 2 * drawn[:, uncertain].T @ drawn[:, uncertain]
            pairs[label[uncertain][:, None] == label[uncertain]] = 0.0
            i, j = np.unravel_index(int(pairs.argmin()), pairs.shape)
            if pairs[i, j] >= 0:
                break
            k, other = int(uncertain[i]), int(uncertain[j])
            changes = [(k, int(label[other])), (other, int(label[k]))]
        for row, new in changes:
            off[:, label[row]] -= drawn[:, row]
            off[:, new] += drawn[:, row]
            label[row] = new
    return label


def _labels_in_shares(draws: IntArray, n_rows: int) -> IntArray:
    """Return labels of so many rows, in ascending order, in the shares of each class's draws."""
    ends = np.rint(np.cumsum(draws) * (n_rows / draws.sum())).astype(np.int64)
    return np.searchsorted(ends, np.arange(n_rows), side="right").astype(np.int64)


def _with_time_checks(matrix: sparse.csr_array, timebox: TimeBox) -> LinearOperator:
    """Return a matrix each of whose products heeds a time box: how many a least squares asks for is not known before.

    Raises
    ------
    OutOfTimeError
        By its products.
    """
    transposed = matrix.T

    def product(vector: FloatArray) -> FloatArray:
        timebox.require()
        found: FloatArray = matrix @ vector
        return found

    def product_of_transposed(vector: FloatArray) -> FloatArray:
        timebox.require()
        found: FloatArray = transposed @ vector
        return found

    return LinearOperator(matrix.shape, matvec=product, rmatvec=product_of_transposed, dtype=np.float64)
