"""The probability of published counts when the draws are unknown, given whole rows by leaf and class.

A bootstrap sample throws ``n`` draws on ``N`` rows. With ``s`` rows, ``n`` draws of each class and ``d`` different
drawn rows at a leaf, a tree's counts have the probability

    n! / prod_vc n_vc!  *  N^-n  *  prod_v sum_{d_c: sum_c d_c = d_v} prod_c S(n_vc, d_c) * s_vc! / (s_vc - d_c)!

where ``S`` are Stirling numbers of the second kind. The first factors are the multinomial of DRAFT (ICML 2024,
section 5); summed over all ``d``, the last one is ``prod s_vc^n_vc``, its likelihood. The distinct rows, which no
paper uses, replace it by something much sharper: at a leaf of one class it is ``s! / (s - d)!``, that of a sample
*without* replacement, whatever the number of draws; and a leaf holds at least the rows that were drawn there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from pytest_draft.arrays import Flag, FloatArray, Int32Array, IntArray
from pytest_draft.compiling import compiled

MISSING = 20.0
"""What the search takes off the log-likelihood for each row that a leaf lacks: no dataset is impossible to it."""

MOST_DRAWS = 1_500
"""Most draws at a leaf of several classes whose distinct rows are used: the table of Stirling numbers is square."""

_NONE = -1e300
"""The logarithm of 0 in compiled code: finite, so that sums of it stay numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class LeafDraws:
    """What a bagged forest publishes, leaf by leaf, all trees in one table."""

    counts: IntArray
    """Shape (n_leaves, n_classes). Draws."""
    distinct: IntArray
    """Shape (n_leaves,). Different rows among them; -1 where they are not used."""
    start: IntArray
    """Shape (n_trees + 1,). First leaf of each tree."""
    n_rows: int
    log_factorial: FloatArray
    """Shape (n_rows + 2,)."""
    log_stirling: FloatArray
    """Shape (n + 1, n + 1). ``log S(n, d)`` up to the most draws at a leaf of several classes."""

    @classmethod
    def of(cls, counts: tuple[IntArray, ...], distinct: tuple[IntArray, ...] | None, n_rows: int) -> LeafDraws:
        """Return the draws at all leaves.

        Parameters
        ----------
        counts : tuple of ndarray of int64, each of shape (n_leaves of the tree, n_classes)
        distinct : tuple of ndarray of int64, each of shape (n_leaves of the tree,), or None
        """
        start = np.cumsum([0, *(len(table) for table in counts)])
        table = np.ascontiguousarray(np.concatenate(counts))
        different = np.full(len(table), -1, dtype=np.int64)
        mixed = (table > 0).sum(axis=1) > 1
        if distinct is not None:
            different = np.where(mixed & (table.sum(axis=1) > MOST_DRAWS), -1, np.concatenate(distinct))
        used = mixed & (different >= 0)
        stirling = log_stirling(int(table[used].max(initial=0)))
        return cls(table, different, start, n_rows, gammaln(np.arange(n_rows + 2) + 1.0), stirling)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @property
    def terms(self) -> float:
        """About how many terms bring the leaves of one row up to date, in all trees together.

        A leaf's likelihood takes a sum over the shares of its distinct rows for the last class that was drawn, and one
        sum for each share for every class but the first and the last.
        """
        draws, drawn = self.counts.sum(axis=1), (self.counts > 0).sum(axis=1)
        shared = np.where(drawn > 1, np.maximum(self.distinct, 0), 0)
        summed = _TERMS_OF_A_LEAF + shared * (1 + np.maximum(drawn - 2, 0) * shared / 4)
        in_tree = np.add.reduceat(draws, self.start[:-1])
        chance = draws / np.repeat(in_tree, np.diff(self.start))
        return float(chance @ ((1 + drawn) * summed))

    def log_likelihood(self, rows: IntArray) -> float:
        """Return the log-probability of all counts, given how many rows lie at each leaf.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_leaves, n_classes)

        Returns
        -------
        float
            Minus infinity where some count is impossible.
        """
        if self.missing(rows):
            return -math.inf
        return float(_leaf_values(rows, self.counts, self.distinct, self.log_factorial, self.log_stirling).sum())

    def missing(self, rows: IntArray) -> int:
        """Return how many rows the leaves lack at least: 0 where all counts are possible.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_leaves, n_classes)
        """
        drawn = self.counts > 0
        lacking = (drawn & (rows < 1)).sum(axis=1)
        most = np.where(drawn, np.minimum(rows, self.counts), 0).sum(axis=1)
        return int(np.maximum(lacking, self.distinct - most).sum())

    def slope(self, rows: FloatArray) -> FloatArray:
        """Return how fast the log-likelihood of a fractional dataset rises with the rows of each leaf and class.

        Where a leaf holds several classes, its distinct rows are shared out as they are expected; where it lacks
        rows, the slope goes on rising.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_leaves, n_classes)

        Returns
        -------
        ndarray of float64, shape (n_leaves, n_classes)
        """
        drawn = self.counts > 0
        rows = np.maximum(rows, 1e-6)
        missed = np.exp(self.counts * np.log1p(-1 / np.maximum(rows, 1 + 1e-6)))
        expected = np.where(drawn, np.maximum(rows * (1 - missed), 1.0), 0.0)
        share = np.minimum(expected * (self.distinct / np.maximum(expected.sum(axis=1), 1e-9))[:, None], self.counts)
        alone = drawn.sum(axis=1) == 1
        share = np.where(alone[:, None] & drawn, self.distinct[:, None], share)
        spare = rows - share + 1
        steep = psi(rows + 1) - psi(np.maximum(spare, _LEAST_SPARE)) + _STEEPER * np.maximum(_LEAST_SPARE - spare, 0)
        plain = self.counts / rows
        return np.where(drawn, np.where((self.distinct >= 0)[:, None], steep, plain), 0.0)


_TERMS_OF_A_LEAF = 5
"""What a leaf without any sum takes, in terms of a sum."""

_LEAST_SPARE = 0.05
"""Rows beyond the distinct ones below which the slope is continued as a straight line: it is infinite at 0."""

_STEEPER = 50.0
"""How fast that line rises, to lead back to leaves that have enough rows."""


def log_stirling(most: int) -> FloatArray:
    """Return ``log S(n, d)``, the Stirling numbers of the second kind, for 0 <= d <= n <= most."""
    table = np.full((most + 1, most + 1), -np.inf)
    table[0, 0] = 0.0
    log = np.log(np.maximum(np.arange(most + 1), 1))
    for n in range(1, most + 1):
        table[n, 1 : n + 1] = np.logaddexp(table[n - 1, :n], log[1 : n + 1] + table[n - 1, 1 : n + 1])
    finite: FloatArray = np.maximum(table, _NONE)
    return finite


@compiled
def pull(leaves: Int32Array, table: FloatArray, total: FloatArray) -> None:
    """Add up, per candidate, the table's entries at its leaves.

    Parameters
    ----------
    leaves : ndarray of int32, shape (n_candidates, n_trees)
    table : ndarray of float64, shape (n_leaves * n_classes,)
    total : ndarray of float64, shape (n_candidates,)
        Is overwritten.
    """
    for k in range(leaves.shape[0]):
        entry = 0.0
        for t in range(leaves.shape[1]):
            entry += table[leaves[k, t]]
        total[k] = entry


@compiled
def push(leaves: Int32Array, mass: FloatArray, table: FloatArray) -> None:
    """Add each candidate's mass to the table's entries at its leaves; parameters as of `pull`."""
    for k in range(leaves.shape[0]):
        if mass[k] != 0:
            for t in range(leaves.shape[1]):
                table[leaves[k, t]] += mass[k]


@compiled
def _leaf_value(  # noqa: PLR0912
    rows: IntArray,
    counts: IntArray,
    distinct: int,
    log_factorial: FloatArray,
    log_stirling: FloatArray,
    here: FloatArray,
    there: FloatArray,
) -> float:
    """Return the log-likelihood of one leaf, less `MISSING` for each row that it lacks."""
    n_classes = len(counts)
    lacking, most, drawn, last, plain = 0, 0, 0, 0, 0.0
    for c in range(n_classes):
        if counts[c] > 0:
            drawn += 1
            last = c
            most += min(rows[c], counts[c])
            if rows[c] < 1:
                lacking += 1
            else:
                plain += counts[c] * math.log(rows[c])
    lacking = max(lacking, distinct - most)
    if lacking > 0:
        return -MISSING * lacking
    if drawn == 0:
        return 0.0
    if distinct < 0:
        return plain
    if drawn == 1:
        return float(log_factorial[rows[last]] - log_factorial[rows[last] - distinct])
    # Distinct rows of the classes so far -> log of the sum over their shares, one class after the other.
    for j in range(distinct + 1):
        here[j] = _NONE
    here[0] = 0.0
    reach = 0
    for c in range(n_classes):
        n = counts[c]
        if n == 0:
            continue
        own = min(n, rows[c])
        new_reach = min(distinct, reach + own)
        first = distinct if c == last else 0
        for j in range(first, new_reach + 1):
            best = _NONE
            low, high = max(1, j - reach), min(own, j)
            for i in range(low, high + 1):
                there[i] = here[j - i] + log_stirling[n, i] - log_factorial[rows[c] - i]
                best = max(best, there[i])
            total = 0.0
            for i in range(low, high + 1):
                total += math.exp(there[i] - best)
            there[distinct + 1 + j] = best + math.log(total) if best > _NONE else _NONE
        for j in range(first, new_reach + 1):
            here[j] = there[distinct + 1 + j]
        reach = new_reach
    value = here[distinct]
    for c in range(n_classes):
        if counts[c] > 0:
            value += log_factorial[rows[c]]
    return float(value)


@compiled
def _leaf_values(
    rows: IntArray, counts: IntArray, distinct: IntArray, log_factorial: FloatArray, log_stirling: FloatArray
) -> FloatArray:
    """Return the log-likelihood of each leaf."""
    value = np.zeros(len(counts))
    size = len(log_factorial)
    here, there = np.empty(size), np.empty(2 * size + 2)
    for v in range(len(counts)):
        value[v] = _leaf_value(rows[v], counts[v], distinct[v], log_factorial, log_stirling, here, there)
    return value


@compiled
def _refresh(
    entry: int,
    rows: IntArray,
    counts: IntArray,
    distinct: IntArray,
    log_factorial: FloatArray,
    log_stirling: FloatArray,
    value: FloatArray,
    gain: FloatArray,
    here: FloatArray,
    there: FloatArray,
) -> None:
    """Bring a leaf's value, and the gain of one more row of each class there, up to date."""
    n_classes = counts.shape[1]
    leaf = entry // n_classes
    if counts[leaf, entry % n_classes] == 0:  # rows that were not drawn change nothing
        return
    at, n, d = rows[leaf], counts[leaf], distinct[leaf]
    value[leaf] = _leaf_value(at, n, d, log_factorial, log_stirling, here, there)
    for c in range(n_classes):
        if n[c] > 0:
            at[c] += 1
            more = _leaf_value(at, n, d, log_factorial, log_stirling, here, there)
            at[c] -= 1
            gain[leaf * n_classes + c] = more - value[leaf]


@compiled
def sweep_rows(  # noqa: PLR0912
    leaves: Int32Array,
    bias: FloatArray,
    first: IntArray,
    last: IntArray,
    chosen: IntArray,
    rows: IntArray,
    counts: IntArray,
    distinct: IntArray,
    log_factorial: FloatArray,
    log_stirling: FloatArray,
    order: IntArray,
    level: FloatArray,
    temperature: float,
    stop: Flag,
) -> float:
    """Draw each row of a dataset anew, given all others (heat bath); at temperature 0, take its best candidate.

    Parameters
    ----------
    leaves : ndarray of int32, shape (n_candidates, n_trees)
        Each candidate's entry, leaf times classes plus class, in each tree.
    bias : ndarray of float64, shape (n_candidates,)
        Log-prior of each.
    first, last : ndarray of int64, shape (n_rows,)
        The candidates of each row's group.
    chosen : ndarray of int64, shape (n_rows,)
        The candidate of each row; is changed.
    rows : ndarray of int64, shape (n_leaves, n_classes)
        Rows at each leaf; is changed.
    counts, distinct, log_factorial, log_stirling
        As in `LeafDraws`.
    order : ndarray of int64, shape (n_rows,)
        In which the rows are drawn.
    level : ndarray of float64, shape (n_rows,)
        Random numbers between 0 and 1.
    stop : ndarray of uint8, shape (1,)
        Looked at before each row. Where it is raised, the other rows stay as they are.

    Returns
    -------
    float
        Log-posterior of the new dataset, up to a constant, less `MISSING` for each row that a leaf lacks.
    """
    n_classes = counts.shape[1]
    value, gain = np.empty(len(counts)), np.zeros(counts.size)
    size = len(log_factorial)
    here, there = np.empty(size), np.empty(2 * size + 2)
    for entry in range(counts.size):
        if counts[entry // n_classes, entry % n_classes] > 0:
            _refresh(entry, rows, counts, distinct, log_factorial, log_stirling, value, gain, here, there)
    weight = np.empty(len(bias))
    for r in range(len(order)):
        if stop[0] != 0:
            break
        row = order[r]
        old = chosen[row]
        for t in range(leaves.shape[1]):
            entry = leaves[old, t]
            rows[entry // n_classes, entry % n_classes] -= 1
            _refresh(entry, rows, counts, distinct, log_factorial, log_stirling, value, gain, here, there)
        low, high = first[row], last[row]
        best, top = low, _NONE
        for k in range(low, high):
            total = bias[k]
            for t in range(leaves.shape[1]):
                total += gain[leaves[k, t]]
            weight[k] = total
            if total > top:
                best, top = k, total
        new = best
        if temperature > 0:
            mass_sum = 0.0
            for k in range(low, high):
                weight[k] = math.exp((weight[k] - top) / temperature)
                mass_sum += weight[k]
            left = level[r] * mass_sum
            for k in range(low, high):
                left -= weight[k]
                if left < 0:
                    new = k
                    break
        elif weight[old] >= top:
            new = old
        chosen[row] = new
        for t in range(leaves.shape[1]):
            entry = leaves[new, t]
            rows[entry // n_classes, entry % n_classes] += 1
            _refresh(entry, rows, counts, distinct, log_factorial, log_stirling, value, gain, here, there)
    total = 0.0
    for v in range(len(counts)):
        total += _leaf_value(rows[v], counts[v], distinct[v], log_factorial, log_stirling, here, there)
    for row in range(len(chosen)):
        total += bias[chosen[row]]
    return float(total)
