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
    for candidate in candidates:
        codes, values = _coded(candidate)
        if not 2 <= len(values) <= _MOST_VALUES or codes.tobytes() in tried:
            continue
        tried.add(codes.tobytes())
        before = np.zeros((len(values), len(values)), dtype=np.bool_)
        if not all(_ordered(told, node, codes[rows], before, walker) for node in nodes) or (before & before.T).any():
            continue
        place = before.sum(axis=0)  # how many come before each
        made = np.full(len(codes), np.nan)
        made[codes >= 0] = place[codes[codes >= 0]]
        found.append(Candidate("in an order of its own", candidate.source, made))
    return found[:_MOST_FOUND]


def _coded(candidate: Candidate) -> tuple[IntArray, IntArray]:
    """Return a candidate's values as numbers from 0, a gap as one of them."""
    values, codes = np.unique(candidate.values, return_inverse=True)
    return codes.astype(np.int64), np.arange(len(values))


def _ordered(told: Told, node: tuple[int, int, IntArray], codes: IntArray, before: BoolArray, walker: Walker) -> bool:
    """Note which values come before which by one node; return whether some set of them explains it."""
    index, number, rows = node
    tree, claims = told.forest.trees[index], told.claims(index)
    own = codes[rows]
    present = np.unique(own)
    amounts, times = walker.amounts_of(index, rows), walker.times_of(index, rows)
    each = np.stack([amounts[own == value].sum(axis=0) for value in present])
    drawn = np.array([times[own == value].sum() for value in present])
    sets = (np.arange(1, 2 ** len(present) - 1)[:, None] >> np.arange(len(present))) & 1
    fits = claims.fits(int(tree.left[number]), sets @ each)
    if np.isfinite(wanted := claims.count[tree.left[number]]):
        fits &= np.abs(sets @ drawn - wanted) < 0.5
    found = np.flatnonzero(fits)
    if found.size == 1 or (found.size and not before.any()):  # of several, the most lopsided one
        left = sets[min(found, key=lambda one: min(sets[one].sum(), len(present) - sets[one].sum()))].astype(bool)
        before[np.ix_(present[left], present[~left])] = True
    return bool(found.size)
