"""Which candidates can be the columns of a model: each node parts its rows by one, at a place that the file knows.

At a node whose rows are known, the rows that go left are the first so many in the order of the column's values, they
end between two different values, and they add up to what the file says of the left child. No scale is needed for
that, so each column is settled by itself.

Codes that somebody has given to texts, or groups of them, are learned from nodes that no candidate explains: some of a
column's values go left there and the others right, and where one set of values alone has the number of rows and the
sums that the file says of the left child, each of it comes before each of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.finding.columns import Candidate
from pytest_draft.finding.evidence import bits_of_classes
from pytest_draft.finding.told import Claims, Told
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # frames here hold rows

LEAST_TREES = 3
"""Whatever these leave of the candidates, all counts of all trees have to confirm."""

_ENOUGH = 3_000.0
"""Bits, from which they are counted no further."""

_NOWHERE = np.empty(0, dtype=np.int64)

Cut = tuple[float, float, float]
"""The largest value that goes left, the smallest that goes right, and the threshold."""


@dataclass(eq=False, repr=False)
class Walked:
    """What nodes leave of the candidates. Its repr shows no value."""

    alive: BoolArray
    """Shape (n_columns, n_candidates)."""
    tests: IntArray
    """Shape (n_columns,). Nodes at which a column was settled."""
    failed: IntArray
    """Shape (n_columns,). Nodes that no candidate explains."""
    bits: float = 0.0
    """How unlikely it is, at least, that a candidate that has nothing to do with the rows fits all nodes."""
    open: set[int] = field(default_factory=set)
    """Columns whose candidates part some node differently."""
    n_trees: int = 0
    """How many trees were walked."""
    at: list[tuple[int, int, IntArray]] = field(default_factory=list)
    """Of nodes that no candidate explains: tree, node, and the rows there."""
    parted: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    """By column, how many rows each node had, and how many of them went left."""
    cuts: dict[tuple[int, int], list[Cut]] = field(default_factory=dict)
    """By column and candidate."""

    @classmethod
    def begun(cls, alive: BoolArray) -> Walked:
        """Return what no node has looked at yet."""
        return cls(alive.copy(), np.zeros(len(alive), np.int64), np.zeros(len(alive), np.int64))

    def __repr__(self) -> str:
        return f"Walked({int(self.tests.sum())} nodes explained, {int(self.failed.sum())} not)"


class Walker:
    """Sends rows down the trees of a file by candidates.

    Parameters
    ----------
    candidates : sequence of Candidate
    rows : ndarray of int64, shape (n_rows,)
        Positions in the candidates' table, in the order of fit.
    labels : ndarray of int64, shape (n_rows,)
    targets : ndarray of float64, shape (n_rows,), or None

    Attributes
    ----------
    strict : bool
        Whether it goes no further below a node that candidates part differently; else by the first of them.
    """

    def __init__(
        self, told: Told, candidates: Sequence[Candidate], rows: IntArray, labels: IntArray, targets: FloatArray | None
    ) -> None:
        self._told, self._labels, self._targets = told, labels, targets
        self.strict = True
        self._candidates, self._rows, self._n_rows = candidates, rows, len(rows)

    def fits_first(self, alive: BoolArray) -> bool:
        """Return whether the root of the first tree can be explained."""
        if self._told.forest.trees[0].left[0] < 0:
            return True
        walked, rows = Walked.begun(alive), self._of_tree(0)
        amounts = self._told.amounts(0, self._labels, self._targets, self._told.first_score(self._n_rows))
        self._parted(0, 0, rows, self._told.claims(0), amounts, walked)
        return not walked.failed.any()

    def walk(
        self, alive: BoolArray, most: int, timebox: TimeBox, *, at_most: int = 0, used: IntArray | None = None
    ) -> Walked:
        """Return what the first trees leave of the candidates.

        Parameters
        ----------
        alive : ndarray of bool, shape (n_columns, n_candidates)
        most : int
            Trees that are walked at most.
        used : ndarray of int64, or None
            It ends after `LEAST_TREES` where each of these columns was tested.
        at_most : int
            It ends where more nodes than these are not explained.
        """
        told = self._told
        walked = Walked.begun(alive)
        score = told.first_score(self._n_rows)
        added = None if score is None else np.zeros_like(score)
        known = True
        least = LEAST_TREES * told.by_round
        for tree in range(min(most, told.forest.n_trees)):
            timebox.require()
            if walked.failed.sum() > at_most or (used is not None and tree >= least and walked.tests[used].all()):
                break
            walked.n_trees = tree + 1
            if score is not None and added is not None and tree and tree % told.by_round == 0:
                if not known:
                    break
                score, added = score + added, np.zeros_like(score)
            leaf_of = self._through(tree, walked, told.amounts(tree, self._labels, self._targets, score))
            if added is not None:
                known &= bool((leaf_of >= 0).all())
                added[tree % told.by_round] += np.where(leaf_of >= 0, told.forest.trees[tree].value[leaf_of, 0], 0.0)
        return walked

    def amounts_of(self, tree: int, rows: IntArray) -> FloatArray:
        """Return what some rows add to the sums of a tree of a forest, shape (n_rows, n_amounts)."""
        return self._told.amounts(tree, self._labels, self._targets, self._told.first_score(self._n_rows))[rows]

    def times_of(self, tree: int, rows: IntArray) -> FloatArray:
        """Return how often a tree saw some rows, shape (n_rows,)."""
        drawn = self._told.drawn
        return np.ones(len(rows)) if drawn is None else drawn[tree, rows].astype(np.float64)

    def _of_tree(self, tree: int) -> IntArray:
        drawn = self._told.drawn
        return np.arange(self._n_rows) if drawn is None else np.flatnonzero(drawn[tree])

    def _through(self, index: int, walked: Walked, amounts: FloatArray) -> IntArray:
        """Send the rows of one tree down; return each row's leaf, -1 where it is not known."""
        tree, claims = self._told.forest.trees[index], self._told.claims(index)
        leaf_of = np.full(self._n_rows, -1, dtype=np.int64)
        stack = [(0, self._of_tree(index))]
        while stack:
            node, rows = stack.pop()
            if tree.left[node] < 0:
                leaf_of[rows] = node
                continue
            if len(rows) and (parts := self._parted(node, index, rows, claims, amounts, walked)) is not None:
                stack += [(int(tree.left[node]), parts[0]), (int(tree.right[node]), parts[1])]
        return leaf_of

    def _parted(
        self, node: int, index: int, rows: IntArray, claims: Claims, amounts: FloatArray, walked: Walked
    ) -> tuple[IntArray, IntArray] | None:
        """Return the rows of both children; None where nothing explains them."""
        tree = self._told.forest.trees[index]
        left, right, column = int(tree.left[node]), int(tree.right[node]), int(tree.feature[node])
        times = self.times_of(index, rows)
        wanted, whole = claims.count[left], float(times.sum())
        if wanted in (0.0, whole):
            return (rows[:0], rows) if wanted == 0 else (rows, rows[:0])
        own = amounts[rows]
        total = own.sum(axis=0)
        fitting: list[tuple[int, IntArray, int]] = []
        of_table = self._rows[rows]
        several = False
        for candidate in np.flatnonzero(walked.alive[column]).tolist():
            values = self._candidates[candidate].values[of_table]
            if (missing := np.isnan(values)).any():
                values = np.where(missing, -np.inf if tree.missing_left[node] else np.inf, values)
            order = np.argsort(values, kind="stable")
            places = self._places(values[order], times[order], own[order], total, wanted, claims, (left, right))
            if len(places):
                several |= len(places) > 1
                fitting.append((candidate, order, place := int(places[0])))
                cut = float(values[order[place]]), float(values[order[place + 1]]), float(tree.threshold[node])
                walked.cuts.setdefault((column, candidate), []).append(cut)
        if not fitting:
            walked.failed[column] += 1
            walked.at.append((index, node, rows))
            return None
        walked.alive[column] = False
        walked.alive[column, [candidate for candidate, _, _ in fitting]] = True
        walked.tests[column] += 1
        if len(fitting) == 1 and not several and walked.bits > _ENOUGH:
            _, order, place = fitting[0]
            return rows[order[: place + 1]], rows[order[place + 1 :]]
        went = np.zeros((len(fitting), len(rows)), dtype=np.bool_)
        for one, (_, order, place) in zip(went, fitting, strict=True):
            one[order[: place + 1]] = True
        taken = float(times[went[0]].sum())
        walked.bits += _bits(own, total, times, taken)
        walked.parted.setdefault(column, []).append((whole, taken))
        if several or (went != went[0]).any():
            walked.open.add(column)
            if self.strict:
                return None
        return rows[went[0]], rows[~went[0]]

    def _places(
        self,
        values: FloatArray,
        times: FloatArray,
        own: FloatArray,
        total: FloatArray,
        wanted: float,
        claims: Claims,
        children: tuple[int, int],
    ) -> IntArray:
        """Return after which of some rows, ascending by value, a node can part them."""
        left, right = children
        if np.isfinite(wanted):
            place = int(np.searchsorted(np.cumsum(times), wanted - 0.5))
            if place >= len(values) - 1 or not values[place] < values[place + 1]:
                return _NOWHERE
            sums = own[: place + 1].sum(axis=0)
            fits = abs(times[: place + 1].sum() - wanted) < 0.5 and claims.fits(left, sums)
            fits = fits and (self._told.is_forest or claims.fits(right, total - sums))  # which a forest's follow from
            return np.array([place]) if fits else _NOWHERE
        running = np.cumsum(own, axis=0)[:-1]
        ends = (values[:-1] < values[1:]) & claims.fits(left, running) & claims.fits(right, total - running)
        return np.flatnonzero(ends).astype(np.int64)


def _bits(own: FloatArray, total: FloatArray, times: FloatArray, taken: float) -> float:
    """Return how unlikely it is, at least, that so many random draws of a node's have the sums of its left child.

    Of classes, by the hypergeometric deviation; of targets, whose sums are not whole, no more than 8 bits are counted.
    """
    whole = float(times.sum())
    if whole < 2 or own.shape[1] == 0:
        return 0.0
    if own.shape[1] != 2 and (own.shape[1] == 1 or (own != np.rint(own)).any()):
        return min(8.0, float(np.log2(max(1.0, min(taken, whole - taken)))) + 1.0)
    spread = np.array([taken * (whole - taken) / (whole - 1)])
    return float(bits_of_classes(spread, total / max(total.sum(), 1.0))[0])


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
