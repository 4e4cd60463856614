"""The likeliest dataset behind noisy counts, with a proved bound on the likelihood of all others.

The paper's objective (DRAFT-DP, SaTML 2026, equations 7 to 9) over cells instead of rows: how many rows are of each
cell and class. The log-probability of a released count is concave in the true one for ``int(n + Y)``, so its linear
pieces make a linear program, solved by column generation: all cells are priced at once through their leaves. Its value
bounds the likelihood of every dataset of the domain; an integer program over the columns that could still matter gives
a whole dataset, and the proof where the two meet. For ``n + int(Y)`` the doubled mass at 0 is not concave; there the
bound is that of the concave envelope and, with Laplace noise, one binary for each count that may be met exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import leaves_of
from pytest_draft.attack.private.noisy_problem import NoisyProblem, values_of
from pytest_draft.attack.problem import equal_columns
from pytest_draft.attack.search import Search

MOST_VECTORS = 500_000
"""Largest domain whose vectors are priced."""


@dataclass(frozen=True)
class OptimumParameters:
    """How large a program is made, and when it ends."""

    most_pieces: int = 400_000
    """Most linear pieces of all log-likelihoods."""
    most_table: int = 20_000_000
    """Most entries of the table of log-likelihoods: rows times released counts."""
    few_columns: int = 3_000
    """So few columns are all in the program from the beginning."""
    columns: int = 300
    """Columns that enter in each round."""
    rounds: int = 40
    """Most rounds of column generation."""
    price: float = 1e-7
    """A column enters where its reduced cost is below 0 by more than this."""
    same_slope: float = 1e-10
    """Difference of slopes up to which two pieces are one."""
    met: float = 1e-3
    """Difference to the bound up to which it is met: the solver's own tolerances add up to less."""
    most_nodes: int = 500
    """Nodes of HiGHS's search tree at most."""
    seconds_per_coefficient: float = 2e-5
    """Measured: of a linear program."""
    most_seconds: float = 10.0
    """Of a program over whole rows, where no effort is set."""
    most_seconds_of_matches: float = 3.0
    """The same where log-likelihoods are not concave: what is not met by then is not met in minutes."""
    most_in_program: int = 20_000
    """Most columns of a program over whole rows that can prove something."""


_PARAMETERS = OptimumParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """The likeliest dataset that was found, and what is proved of all others. Its repr shows no row."""

    value: Int32Array
    """Shape (n_rows, n_attributes)."""
    label: IntArray
    """Shape (n_rows,). The rows that the adversary does not know; of each cell its first vector."""
    log_likelihood: float
    """Of this dataset, with the known rows."""
    bound: float
    """No dataset of the domain is likelier."""

    def __repr__(self) -> str:
        return f"<Optimum: {len(self.value)} rows, log-likelihood {self.log_likelihood:.3f}, bound {self.bound:.3f}>"

    @property
    def proved(self) -> bool:
        """Whether no dataset of the domain is likelier than this one."""
        return self.bound <= self.log_likelihood + _PARAMETERS.met


def find_optimum(problem: NoisyProblem, value: Int32Array, label: IntArray, search: Search) -> Optimum | None:
    """Look for the likeliest dataset, and bound the likelihood of all.

    Parameters
    ----------
    problem : NoisyProblem
        Each row known whole or not at all.
    value, label : ndarray
        A dataset to start from: the rows that are not known.

    Returns
    -------
    Optimum or None
        None where the problem is too large for it, knows attributes, or the time was out before there was a bound.
    """
    partly = (problem.value >= 0).any(axis=1) | (problem.label >= 0)
    if (partly & ~problem.known).any() or problem.domain.n_vectors > MOST_VECTORS:
        return None
    if (problem.n_rows[1] + 1) * problem.released.size > _PARAMETERS.most_table:
        return None
    with search.clock("bound"):
        program = _Program(problem)
        if program.n_pieces > _PARAMETERS.most_pieces:
            return None
        start = program.columns_of(value, label)
        first = np.unique(start) if program.n_columns > _PARAMETERS.few_columns else np.arange(program.n_columns)
        relaxed = program.relaxed(first, search)
        if relaxed is None:
            return None
        bound, columns, reduced = relaxed
        number = np.bincount(start, minlength=program.n_columns)
        best = program.log_likelihood(number)
        if bound > best + _PARAMETERS.met and not search.timebox.over:
            worth = np.union1d(np.flatnonzero(reduced <= bound - best + _PARAMETERS.met), columns)
            complete = len(worth) <= _PARAMETERS.most_in_program
            found, proved = program.likeliest_whole(worth if complete else columns, search)
            if found is not None and program.log_likelihood(found) > best:
                number, best = found, program.log_likelihood(found)
            if complete:
                bound = min(bound, max(proved, best))
    chosen = np.repeat(np.arange(program.n_columns), number)
    return Optimum(program.value[chosen // problem.model.n_classes], chosen % problem.model.n_classes, best, bound)


class _Program:
    """Columns are cells by class; equations are the entries (leaf and class) that some cell can reach."""

    def __init__(self, problem: NoisyProblem) -> None:
        self._problem = problem
        vectors = values_of(problem.domain, problem.domain.vectors())
        leaves = leaves_of(problem.model.walks, vectors)
        first, _ = equal_columns(np.ascontiguousarray(leaves.T))
        self.value = vectors[first]
        self._leaves = leaves[first]
        known = problem.known
        self._known = problem.model.rows_at_leaves(problem.value[known], problem.label[known]).astype(np.int64)
        self._rows = tuple(size - int(known.sum()) for size in problem.n_rows)
        reached = np.zeros(problem.released.shape, dtype=np.bool_)
        reached[np.unique(self._leaves)] = True
        self._entries = np.flatnonzero(reached.ravel())
        self._place = np.full(problem.released.size, -1)
        self._place[self._entries] = np.arange(len(self._entries))
        true = self._known[self._entries, None] + np.arange(self._rows[1] + 1)
        self._value = problem.noise.log_probability(problem.released.ravel()[self._entries, None], true)
        unreached = ~reached.ravel()
        self._constant = float(
            problem.noise.log_probability(problem.released.ravel()[unreached], self._known[unreached]).sum()
        )
        envelope = _envelopes(self._value)
        self._concave = bool(np.abs(envelope - self._value).max() <= _PARAMETERS.met)
        slope = np.diff(envelope, axis=1)
        new = np.ones(slope.shape, dtype=np.bool_)
        new[:, 1:] = np.abs(np.diff(slope, axis=1)) > _PARAMETERS.same_slope
        self._of_piece, begin = np.nonzero(new)
        self._slope = slope[self._of_piece, begin]
        end = np.append(begin[1:], slope.shape[1])
        end[np.append(self._of_piece[1:] != self._of_piece[:-1], True)] = slope.shape[1]
        self._length = (end - begin).astype(np.float64)
        self._at_zero = float(self._value[:, 0].sum()) + self._constant

    @property
    def n_columns(self) -> int:
        return len(self.value) * self._problem.model.n_classes

    @property
    def n_pieces(self) -> int:
        return len(self._slope)

    def columns_of(self, value: Int32Array, label: IntArray) -> IntArray:
        """Return the column of each row."""
        leaves = leaves_of(self._problem.model.walks, value)
        both = np.concatenate([self._leaves, leaves])
        first, of_row = equal_columns(np.ascontiguousarray(both.T))
        return first[of_row[len(self._leaves) :]] * self._problem.model.n_classes + label

    def log_likelihood(self, number: IntArray) -> float:
        """Return the log-likelihood of a whole dataset, shape (n_columns,), with the known rows."""
        used = np.flatnonzero(number)
        true = (self._matrix(used) @ number[used]).astype(np.int64)
        return float(self._value[np.arange(len(true)), true].sum()) + self._constant

    def relaxed(self, columns: IntArray, search: Search) -> tuple[float, IntArray, FloatArray] | None:
        """Solve the linear program by column generation.

        Returns
        -------
        bound : float
            Of the log-likelihood of every dataset.
        columns : ndarray of int64
            Those of the last program.
        reduced : ndarray of float64, shape (n_columns,)
            How much the bound falls for each row of a column.
        """
        best: tuple[float, IntArray, FloatArray] | None = None
        for _ in range(_PARAMETERS.rounds):
            if search.timebox.over:
                break
            matrix, lower, upper, cost, high = self._pieces(columns)
            equal = len(self._entries)
            found = linprog(
                cost,
                A_ub=sparse.vstack([matrix[equal:], -matrix[equal:]]),
                b_ub=np.concatenate([upper[equal:], -lower[equal:]]),
                A_eq=matrix[:equal],
                b_eq=upper[:equal],
                bounds=np.column_stack([np.zeros(len(cost)), high]),
                method="highs",
                options={"time_limit": max(search.timebox.remaining, 0.1)},
            )
            search.timebox.spend(_PARAMETERS.seconds_per_coefficient * matrix.nnz)
            if found.status != 0:
                break
            price = found.eqlin.marginals.reshape(-1, 1)
            of_entry = np.zeros(self._problem.released.size)
            of_entry[self._entries] = price.ravel()
            by_leaf = of_entry.reshape(self._problem.released.shape)
            total = np.zeros((len(self._leaves), self._problem.model.n_classes))
            for tree in range(self._leaves.shape[1]):
                total += by_leaf[self._leaves[:, tree]]
            size_price = float(found.ineqlin.marginals[0] - found.ineqlin.marginals[1])
            reduced = -(total.ravel() + size_price)
            missing = float(np.minimum(reduced, 0.0).min()) * self._rows[1]
            bound = self._at_zero - found.fun - missing
            if best is None or bound < best[0]:
                best = (
                    bound,
                    columns,
                    np.maximum(reduced, 0.0) if missing >= -_PARAMETERS.price else np.full_like(reduced, 0.0),
                )
            entering = np.flatnonzero(reduced < -_PARAMETERS.price)
            entering = entering[np.argsort(reduced[entering], kind="stable")[: _PARAMETERS.columns]]
            if not len(entering):
                break
            columns = np.union1d(columns, entering)
        return best

    def likeliest_whole(self, columns: IntArray, search: Search) -> tuple[IntArray | None, float]:
        """Return the likeliest whole dataset of some columns, and the bound of all such datasets."""
        noise = self._problem.noise
        by_matches = not self._concave and noise.density == "laplace"
        matrix, lower, upper, cost, high = self._matches(columns) if by_matches else self._pieces(columns)
        integral = np.zeros(len(cost))
        integral[: len(columns)] = 1
        if by_matches:
            integral[len(columns) + 2 * len(self._entries) :] = 1
        seldom_met = not self._concave and noise.scale > 1
        most = _PARAMETERS.most_seconds_of_matches if seldom_met else _PARAMETERS.most_seconds
        seconds = max(search.timebox.remaining, 0.1)
        if search.timebox.effort == np.inf:  # else the clock only guards, and the nodes end it
            seconds = min(seconds, most)
        found = milp(
            cost,
            constraints=LinearConstraint(matrix, lower, upper),
            bounds=Bounds(0.0, high),
            integrality=integral,
            options={"time_limit": seconds, "node_limit": _PARAMETERS.most_nodes, "mip_rel_gap": 0.0},
        )
        search.timebox.spend(_PARAMETERS.seconds_per_coefficient * matrix.nnz * (1 + 0.1 * (found.mip_node_count or 0)))
        at_zero = self._at_best() if by_matches else self._at_zero
        bound = np.inf if found.mip_dual_bound is None else at_zero - found.mip_dual_bound
        if found.x is None:
            return None, bound
        number = np.zeros(self.n_columns, dtype=np.int64)
        number[columns] = np.rint(found.x[: len(columns)])
        return number, bound

    def _matrix(self, columns: IntArray) -> sparse.csc_array:
        """Return how many rows each column adds to each entry."""
        cell, label = np.divmod(columns, self._problem.model.n_classes)
        entry = self._place[self._leaves[cell] * self._problem.model.n_classes + label[:, None]]
        pointer = np.arange(len(columns) + 1) * entry.shape[1]
        return sparse.csc_array((np.ones(entry.size), entry.ravel(), pointer), shape=(len(self._entries), len(columns)))

    def _pieces(self, columns: IntArray) -> tuple[sparse.csr_array, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the program whose variables are the columns and the pieces of each entry's envelope."""
        n_pieces, n_entries = self.n_pieces, len(self._entries)
        pieces = sparse.csr_array(
            (np.ones(n_pieces), (self._of_piece, np.arange(n_pieces))), shape=(n_entries, n_pieces)
        )
        everyone = sparse.csr_array(np.ones((1, len(columns))))
        matrix = sparse.block_array([[self._matrix(columns), -pieces], [everyone, None]], format="csr")
        lower, upper = np.zeros(n_entries + 1), np.zeros(n_entries + 1)
        lower[-1], upper[-1] = self._rows
        cost = np.concatenate([np.zeros(len(columns)), -self._slope])
        high = np.concatenate([np.full(len(columns), float(self._rows[1])), self._length])
        return matrix, lower, upper, cost, high

    def _matches(self, columns: IntArray) -> tuple[sparse.csr_array, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the program of ``n + int(Laplace)``: distances to what was released, and a bonus for each met one.

        Away from the released count the log-probability falls by ``1 / scale`` a row, and at it stands ``log 2`` above
        (DRAFT-DP, equation 9): ``-(over + under) / scale - log(2) * (1 - met)`` with ``over + under <= M (1 - met)``.
        """
        n_entries = len(self._entries)
        target = (self._problem.released.ravel() - self._known)[self._entries].astype(np.float64)
        one, met = sparse.eye_array(n_entries), np.flatnonzero((target >= 0) & (target <= self._rows[1]))
        farthest = np.maximum(target, self._rows[1] - target)[met]
        pick = sparse.csr_array((np.ones(len(met)), (np.arange(len(met)), met)), shape=(len(met), n_entries))
        everyone = sparse.csr_array(np.ones((1, len(columns))))
        matrix = sparse.block_array(
            [
                [self._matrix(columns), one, -one, None],
                [everyone, None, None, None],
                [None, pick, pick, sparse.diags_array(farthest)],
            ],
            format="csr",
        )
        lower = np.concatenate([target, [self._rows[0]], np.full(len(met), -np.inf)])
        upper = np.concatenate([target, [self._rows[1]], farthest])
        scale = self._problem.noise.scale
        cost = np.concatenate(
            [np.zeros(len(columns)), np.full(2 * n_entries, 1 / scale), np.full(len(met), -np.log(2))]
        )
        high = np.concatenate(
            [np.full(len(columns), float(self._rows[1])), np.full(2 * n_entries, np.inf), np.ones(len(met))]
        )
        return matrix, lower, upper, cost, high

    def _at_best(self) -> float:
        """Return the log-likelihood at which `_matches` has the value 0: every distance 0, none of them met."""
        exact = self._problem.noise.log_probability(np.zeros(1, np.int64), np.zeros(1, np.int64))
        return len(self._entries) * float(exact[0] - np.log(2)) + self._constant


@njit(cache=True)
def _envelopes(value):  # type: ignore[no-untyped-def]
    """Return the least concave function above each row, at whole numbers."""
    envelope = value.copy()
    n_points = value.shape[1]
    hull = np.empty(n_points, dtype=np.int64)
    for row in range(len(value)):
        size = 0
        for point in range(n_points):
            while size > 1:
                left, middle = hull[size - 2], hull[size - 1]
                rise = (value[row, middle] - value[row, left]) * (point - left)
                if rise > (value[row, point] - value[row, left]) * (middle - left):
                    break
                size -= 1
            hull[size] = point
            size += 1
        for corner in range(size - 1):
            left, right = hull[corner], hull[corner + 1]
            step = (value[row, right] - value[row, left]) / (right - left)
            for point in range(left + 1, right):
                envelope[row, point] = value[row, left] + step * (point - left)
    return envelope
