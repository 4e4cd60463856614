"""The papers' MILP without bagging on HiGHS: in go a forest, a domain and N, out comes a dataset that meets all counts.

DRAFT (ICML 2024), appendix B.1, equations (2) to (9); for ordinal and numeric columns, (6) and (7) compare positions
(appendix D). All rows have the same equations over a tree, so each block of the model is a Kronecker product.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox
from studies.paper_models.published import Conditions, ModelDataset, ModelOutcome, RowModelInput, residual_of

_INFEASIBLE = 2
"""As SciPy numbers the status of a solution."""

_MOST_WEIGHT = 2**16
"""Largest weight: HiGHS computes with tolerances near 1e-6, so larger weights would lose the smaller ones."""


def solve(
    forest: Forest, domain: Domain, n_rows: int, timebox: TimeBox, *, forbidden: Sequence[ModelDataset] = ()
) -> ModelOutcome:
    """Find a dataset that meets every leaf's counts.

    SciPy hands HiGHS neither a seed nor a number of threads; of the time box it keeps the wall clock's limit only, and
    its seconds are spent as units of work.

    Parameters
    ----------
    forest : Forest
        Grown without bagging.
    n_rows : int
        N.
    forbidden : sequence of ModelDataset
        Datasets that are left out, whatever the order of their rows.

    Returns
    -------
    ModelOutcome
        Never ``feasible``: all datasets that meet the counts are equally good. ``infeasible`` is what HiGHS says, in
        floating point. A solution that does not meet the counts when it is recounted is ``no solution``.

    Raises
    ------
    NotCoveredError
        With bagging, where weights have scaled the counts and cannot be undone, and where the model becomes too large.
    DataError
        Where the domain is not that of the forest's columns.
    """
    published = RowModelInput.without_bagging(forest, domain)
    published.require_size(n_rows, per_node=1)
    labels = published.root_labels
    if len(labels) != n_rows:
        return ModelOutcome("infeasible")
    model = _Model(published, labels)
    for dataset in forbidden:
        model.forbid(published.positions(dataset.rows), dataset.labels)
    if timebox.over:
        return ModelOutcome("no solution")
    before = timebox.elapsed
    status, positions = model.solve(timebox.remaining)
    timebox.spend(timebox.elapsed - before)
    if status == _INFEASIBLE:
        return ModelOutcome("infeasible")
    if positions is None:
        return ModelOutcome("no solution")
    dataset = ModelDataset(published.decoded(positions), labels)
    once = np.ones((forest.n_trees, n_rows), np.int64)
    residual = residual_of(forest, dataset, once)
    return ModelOutcome("no solution") if residual else ModelOutcome("optimal", dataset, once, 0.0, 0.0, residual)


class _Model:
    """The model of all rows: each row's variables stand side by side, x_ki first, then y_tvk and lambda_tdk by tree."""

    def __init__(self, published: RowModelInput, labels: IntArray) -> None:
        self._labels = labels
        self._last = np.array([len(values) - 1 for values in published.values])
        n_rows, n_columns = len(labels), published.n_columns
        depths = [_depths(part.tree) for part in published.trees]
        n_nodes = np.array([len(depth) for depth in depths])
        starts = n_columns + np.cumsum([0, *(len(depth) + np.max(depth) for depth in depths)])
        self._width = int(starts[-1])
        upper, whole = np.ones(self._width), np.ones(self._width)
        upper[:n_columns] = self._last
        for start, nodes in zip(starts, n_nodes, strict=False):
            whole[start : start + nodes] = 0
        self._upper, self._whole = np.tile(upper, n_rows), np.tile(whole, n_rows)
        self._constraints: list[_Constraints] = []
        one_row = _Collector()
        for group in published.one_hot:
            one_row.add(1, 1, *((i, 1) for i in group))
        for part, depth, start in zip(published.trees, depths, starts.tolist(), strict=False):
            _add_tree(one_row, part, depth, start, self._last)
        each = one_row.collected(self._width)
        self._constraints.append(
            _Constraints(
                sparse.kron(sparse.eye_array(n_rows), each.matrix, format="csr"),
                np.tile(each.low, n_rows),
                np.tile(each.high, n_rows),
            )
        )
        z = sparse.csr_array(np.equal.outer(np.arange(published.n_classes), labels).astype(float))
        nodes = np.concatenate([start + np.arange(n) for start, n in zip(starts, n_nodes, strict=False)])
        pick = sparse.csr_array((np.ones(len(nodes)), (np.arange(len(nodes)), nodes)), (len(nodes), self._width))
        counts = np.concatenate([part.counts for part in published.trees]).T.ravel().astype(float)
        self._constraints.append(_Constraints(sparse.kron(z, pick, format="csr"), counts, counts))  # (8)
        self._constraints.append(self._order())

    def _order(self) -> _Constraints:
        """Sort the rows of each class (9), by as many columns as HiGHS can weigh against each other."""
        weight = np.concatenate([[1.0], np.cumprod(self._last + 1.0)[:-1]])
        weight[weight > _MOST_WEIGHT] = 0
        first = np.flatnonzero(self._labels[:-1] == self._labels[1:]).tolist()
        order = _Collector()
        for k in first:
            here, there = k * self._width, (k + 1) * self._width
            order.add(
                -np.inf,
                0,
                *((here + i, w) for i, w in enumerate(weight)),
                *((there + i, -w) for i, w in enumerate(weight)),
            )
        return order.collected(len(self._upper))

    def forbid(self, known: IntArray, labels: IntArray) -> None:
        """Leave a dataset out: some vector must be held by fewer rows of its class than in it.

        Each known vector gets a variable ``fewer``, and for each row of its class ``same``, which is 1 unless a
        column's ``below`` or ``above`` says that the row's position differs from the vector's there.
        """
        new = itertools.count(len(self._upper))
        collector = _Collector()
        some = []
        for (vector, c), number in Counter(zip(map(tuple, known.tolist()), labels.tolist(), strict=True)).items():
            members = np.flatnonzero(self._labels == c).tolist()
            alike = []
            for k in members:
                apart = [next(new)]
                alike.append((apart[0], 1))
                for i, (value, last) in enumerate(zip(vector, self._last.tolist(), strict=True)):
                    x, below, above = k * self._width + i, next(new), next(new)
                    collector.add(-np.inf, last, (x, 1), (below, last - value + 1))
                    collector.add(0, np.inf, (x, 1), (above, -value - 1))
                    apart += [below, above]
                collector.add(1, np.inf, *((variable, 1) for variable in apart))
            fewer = next(new)
            some.append((fewer, 1))
            collector.add(-np.inf, number - 1 + len(members), *alike, (fewer, len(members)))
        collector.add(1, np.inf, *some)
        added = next(new) - len(self._upper)
        self._upper = np.concatenate([self._upper, np.ones(added)])
        self._whole = np.concatenate([self._whole, np.ones(added)])
        self._constraints.append(collector.collected(len(self._upper)))

    def solve(self, seconds: float) -> tuple[int, IntArray | None]:
        """Return SciPy's status of `milp`, and the positions of a solution, shape (n_rows, n_columns), or None."""
        for part in self._constraints:
            part.matrix.resize((part.matrix.shape[0], len(self._upper)))
        constraints = LinearConstraint(
            sparse.vstack([part.matrix for part in self._constraints], format="csc"),
            np.concatenate([part.low for part in self._constraints]),
            np.concatenate([part.high for part in self._constraints]),
        )
        answer = milp(
            np.zeros(len(self._upper)),
            integrality=self._whole,
            bounds=Bounds(0, self._upper),
            constraints=constraints,
            options={"time_limit": max(seconds, 1e-3)},
        )
        if answer.x is None:
            return answer.status, None
        rows = answer.x[: len(self._labels) * self._width].reshape(len(self._labels), self._width)
        return answer.status, np.clip(np.rint(rows[:, : len(self._last)]).astype(np.int64), 0, self._last)


@dataclass(frozen=True, eq=False, repr=False)
class _Constraints:
    """Constraints ``low <= matrix @ variables <= high``."""

    matrix: sparse.csr_array
    low: FloatArray
    high: FloatArray


class _Collector:
    """Collects constraints one by one, each with limits and (variable, factor) terms."""

    def __init__(self) -> None:
        self._terms: list[tuple[int, int, float]] = []
        self._limits: list[tuple[float, float]] = []

    def add(self, low: float, high: float, *terms: tuple[int, float]) -> None:
        """Add one constraint."""
        self._terms.extend((len(self._limits), variable, factor) for variable, factor in terms)
        self._limits.append((low, high))

    def collected(self, n_variables: int) -> _Constraints:
        """Return all that were added."""
        constraint, variable, factor = np.array(self._terms, dtype=float).reshape(-1, 3).T
        where = (constraint.astype(np.int64), variable.astype(np.int64))
        low, high = np.array(self._limits, dtype=float).reshape(-1, 2).T
        return _Constraints(sparse.csr_array((factor, where), (len(self._limits), n_variables)), low, high)


def _add_tree(row: _Collector, part: Conditions, depth: IntArray, start: int, last: IntArray) -> None:
    """Add the constraints (2) to (7) of one row in one tree, whose variables y begin at `start`."""
    inner = np.flatnonzero(part.tree.left >= 0)
    left, right = (start + part.tree.left).tolist(), (start + part.tree.right).tolist()
    row.add(1, 1, (start, 1))  # (2)
    for v in inner.tolist():
        i, n_left = int(part.tree.feature[v]), int(part.n_left[v])
        row.add(0, 0, (start + v, 1), (left[v], -1), (right[v], -1))  # (3)
        row.add(-np.inf, last[i], (i, 1), (left[v], last[i] + 1 - n_left))  # (6)
        row.add(0, np.inf, (i, 1), (right[v], -n_left))  # (7)
    for d in range(int(np.max(depth))):
        at, turn = inner[depth[inner] == d].tolist(), start + len(depth) + d
        row.add(-np.inf, 0, *((left[v], 1) for v in at), (turn, -1))  # (4)
        row.add(-np.inf, 1, *((right[v], 1) for v in at), (turn, 1))  # (5)


def _depths(tree: Tree) -> IntArray:
    """Return the depth of each node, shape (n_nodes,)."""
    depth = np.zeros(tree.n_nodes, np.int64)
    for v in np.flatnonzero(tree.left >= 0):
        depth[[tree.left[v], tree.right[v]]] = depth[v] + 1
    return depth
