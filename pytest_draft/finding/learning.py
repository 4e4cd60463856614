"""Codes that somebody has given to texts, or groups of them, learned from the file: which values go left of which.

At a node whose rows are known, some of a column's values go left and the others right. Where one set of values alone
has the number of rows and the sums that the file says of the left child, each of it comes before each of the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.finding.columns import Candidate
from pytest_draft.finding.told import Told
from pytest_draft.finding.walk import Walked, Walker

__tracebackhide__ = True  # frames here hold rows

_MOST_VALUES = 12
"""Of a column: 4,096 sets of them are tried at each node."""

_MOST_NODES, _MOST_FOUND = 400, 12


def learned_orders(
    told: Told, walked: Walked, column: int, candidates: Sequence[Candidate], rows: IntArray, walker: Walker
) -> list[Candidate]:
    """Return columns whose order explains the nodes that no other candidate has explained.

    Parameters
    ----------
    walked : Walked
        With these nodes.
    column : int
        Of the model.
    candidates : sequence of Candidate
        Of which those of few values are given other orders.
    rows : ndarray of int64, shape (n_rows,)
        Positions in the candidates' table, in the order of fit.
    walker : Walker
        Knows what rows add to sums.
    """
    nodes = [one for one in walked.at if told.forest.trees[one[0]].feature[one[1]] == column][:_MOST_NODES]
    tried, found = set[bytes](), list[Candidate]()
    if not nodes:
        return found
    for candidate in candidates:
        values, codes = np.unique(candidate.values, return_inverse=True)  # a gap is a value of its own
        n_values = len(values)
        if not 2 <= n_values <= _MOST_VALUES or codes.tobytes() in tried:
            continue
        tried.add(codes.tobytes())
        sets = [_sets(told, node, codes[rows], n_values, walker) for node in nodes]
        before = _precedence(sets, n_values) if all(map(len, sets)) else None
        if before is not None:
            place = before.sum(axis=0).astype(np.float64)  # how many come before each
            found.append(Candidate("in an order of its own", candidate.source, place[codes]))
    return found[:_MOST_FOUND]


def _sets(told: Told, node: tuple[int, int, IntArray], codes: IntArray, n_values: int, walker: Walker) -> IntArray:
    """Return the sets of values that can go left at a node, shape (n_sets, n_values): 1 left, -1 right, 0 not there."""
    index, number, rows = node
    tree, claims = told.forest.trees[index], told.claims(index)
    own = codes[rows]
    present = np.unique(own)
    amounts, times = walker.amounts_of(index, rows), walker.times_of(index, rows)
    each = np.stack([amounts[own == value].sum(axis=0) for value in present])
    drawn = np.array([times[own == value].sum() for value in present])
    chosen = (np.arange(1, 2 ** len(present) - 1)[:, None] >> np.arange(len(present))) & 1
    fits = claims.fits(int(tree.left[number]), chosen @ each)
    if np.isfinite(wanted := claims.count[tree.left[number]]):
        fits &= np.abs(chosen @ drawn - wanted) < 0.5
    made = np.zeros((int(fits.sum()), n_values), dtype=np.int64)
    made[:, present] = 2 * chosen[fits] - 1
    return made


def _precedence(sets: list[IntArray], n_values: int) -> BoolArray | None:
    """Return which values come before which by sets of which one each is right; None where that is contradictory."""
    before = np.zeros((n_values, n_values), dtype=np.bool_)
    while True:
        known = int(before.sum())
        for number, each in enumerate(sets):
            # A set is out where a value on its right is known to come before one on its left.
            wrong = np.einsum("si,ij,sj->s", each == -1, before.astype(np.int64), each == 1) > 0
            sets[number] = left = each[~wrong]
            if not len(left):
                return None
            if len(left) == 1:
                before |= np.outer(left[0] == 1, left[0] == -1)
        for middle in range(n_values):
            before |= np.outer(before[:, middle], before[middle])
        if before.diagonal().any():
            return None
        if not before.any():  # the most lopsided set of the first node
            sides = np.minimum((sets[0] == 1).sum(axis=1), (sets[0] == -1).sum(axis=1))
            sets[0] = sets[0][[int(sides.argmin())]]
        elif int(before.sum()) == known:
            return before
