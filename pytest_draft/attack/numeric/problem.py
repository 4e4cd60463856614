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

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import Groups, group_by_occurrences
from pytest_draft.attack.numeric.dataset import Nodes
from pytest_draft.attack.numeric.extremes import Extremes, replay_and_decode
from pytest_draft.attack.numeric.midpoints import ValueBounds, propagate_thresholds
from pytest_draft.attack.numeric.replay import Replay
from pytest_draft.attack.numeric.states import States, nodes_of, states_of, thresholds_are_midpoints
from pytest_draft.attack.numeric.targets import identify_rows
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
"""The same of telling labels from the counts, and of telling rows by their targets."""


@dataclass(frozen=True, eq=False, repr=False)
class NumericProblem:
    """Rows to rebuild, one by one, and what the file says of them. Its repr shows no row.

    Attributes
    ----------
    domain : Domain
    states : States
    nodes : Nodes
    times : ndarray of int32, shape (n_trees, n_rows)
        How often each tree saw each row: the unknown rows first, then those that the adversary knows whole.
    n_unknown : int
    state : ndarray of int32, shape (n_rows, n_attributes)
        What the adversary knows; -1 elsewhere.
    label : ndarray of int32, shape (n_rows,)
        Where to start; final where `label_known`.
    label_known : bool
        Whether `label` explains the root of each tree, so that it is not searched for.
    ordered : bool
        Whether the occurrences tell rows apart.
    given : ndarray of float32, shape (n_unknown, n_columns)
        The values of the unknown rows that the adversary knows; NaN elsewhere.
    told : mapping of int to ndarray of float64
        By column, values that the file proves to occur in the training data.
    replayed : Replay or None
        What was drawn at each node; None where it was not asked for.
    extremes : Extremes or None
    bounds : ValueBounds or None
        Of a regressor whose leaves tell rows apart by their targets: between which values each cell lies.
    leaves_known : float
        Share of the (tree, row) pairs whose leaf is known by that.
    """

    domain: Domain
    states: States
    nodes: Nodes
    times: Int32Array
    n_unknown: int
    state: Int32Array
    label: Int32Array
    label_known: bool
    ordered: bool
    given: NDArray[np.float32]
    proved_values: Mapping[int, FloatArray]
    replayed: Replay | None
    extremes: Extremes | None
    bounds: ValueBounds | None = None
    leaves_known: float = 0.0

    def __repr__(self) -> str:
        return f"NumericProblem({self.n_unknown} rows of {self.states}, {self.nodes})"

    @property
    def rows_identified(self) -> bool:
        """Whether a regressor's leaves tell which row is in them, everywhere."""
        return self.bounds is not None and self.leaves_known == 1

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 for regressors."""
        return int(self.nodes.count.shape[1])


def is_numeric(domain: Domain) -> bool:
    """Return whether a domain has attributes that are not enumerated: numeric ones, or such that may be missing."""
    return any(attribute.kind == "numeric" or attribute.missing for attribute in domain.attributes)


def build_numeric(forest: Forest, domain: Domain, groups: Groups, timebox: TimeBox) -> NumericProblem:
    """Read what a forest says of its rows beyond counts.

    Parameters
    ----------
    forest : Forest
    domain : Domain
    groups : Groups
    timebox : TimeBox
        Where it ends, less is decoded.

    Raises
    ------
    NotCoveredError
        Where the occurrences are unknown, or there are too many rows and trees.
    OutOfTimeError
        Where it ends before there is a problem.
    """
    if groups.noise != "exact":
        raise NotCoveredError(
            "numeric columns with unknown occurrences (adversary 'published', with bootstrap) are not covered yet: "
            "judge the file with the adversary 'artifact', who reads its seeds"
        )
    if forest.n_trees * groups.n_rows > MAX_ENTRIES:
        raise NotCoveredError(f"{forest.n_trees:,} trees x {groups.n_rows:,} rows are more than are searched")
    replayed, extremes, proved = None, None, dict[int, FloatArray]()
    if not thresholds_are_midpoints(forest):
        replayed, extremes = replay_and_decode(forest, domain, timebox.part(_REPLAY_SHARE))
        proved = _proved_values(forest, extremes)
    states = states_of(forest, domain, proved)
    nodes = nodes_of(forest, states, None if extremes is None else (extremes.low, extremes.high), timebox.require)
    timebox.require()
    times = groups.weight[:, groups.of_row]
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
    label, label_known = _labels(forest, times, label, timebox.part(_SHARE))
    label_known &= groups.values is None or forest.n_classes == 1 or groups.ordered
    problem = NumericProblem(
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
        replayed,
        extremes,
    )
    if not forest.has_targets or groups.known is not None or groups.values is not None:
        return problem
    bounds, known = _by_targets(forest, domain, times, extremes, timebox.part(_SHARE))
    return replace(problem, bounds=bounds, leaves_known=known)


def _by_targets(
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


def _labels(forest: Forest, times: IntArray, known: IntArray, timebox: TimeBox) -> tuple[IntArray, bool]:
    """Return a label for each row that explains the roots as well as least squares do, and whether it explains all.

    Without a difference between rows, any labels in the right numbers are right. So are they, as a start, where the
    time box ends before the least squares do.
    """
    n_classes = forest.n_classes
    root = np.stack([forest.counts(t)[0] for t in range(forest.n_trees)])
    open_rows = known < 0
    of_known = np.eye(n_classes, dtype=np.int64)[known[~open_rows]]
    lacking = root - times[:, ~open_rows] @ of_known
    label = known.copy()
    if (times[:, open_rows] == times[:, open_rows][:, :1]).all():
        label[open_rows] = _in_shares(lacking[0], int(open_rows.sum()))
        return label, True
    alike = group_by_occurrences(times[:, open_rows])
    matrix, size = _heeding(sparse.csr_array(alike.weight.astype(np.float64)), timebox), alike.size
    try:
        mass = np.stack(
            [lsq_linear(matrix, lacking[:, c], (0, size), max_iter=_STEPS).x / size for c in range(n_classes)], axis=1
        )
    except OutOfTimeError:
        label[open_rows] = _in_shares(lacking.sum(axis=0), int(open_rows.sum()))
    else:
        label[open_rows] = mass.argmax(axis=1)[alike.of_row]
    if n_classes > 1:
        found = times @ np.eye(n_classes, dtype=np.int64)[label]
        return label, bool((found == root).all())
    return label, True


def _in_shares(draws: IntArray, n_rows: int) -> IntArray:
    """Return labels of so many rows, in ascending order, in the shares of each class's draws."""
    ends = np.rint(np.cumsum(draws) * (n_rows / draws.sum())).astype(np.int64)
    return np.searchsorted(ends, np.arange(n_rows), side="right").astype(np.int64)


def _heeding(matrix: sparse.csr_array, timebox: TimeBox) -> LinearOperator:
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
