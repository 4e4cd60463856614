"""Minima and maxima of random splits, exactly: in go a forest and its replay, out come the extremes of its nodes.

A random threshold lies between the minimum and the maximum of the tested column among the node's rows, at a place that
the replay tells (`equation`). Few pairs of single-precision values explain a threshold to the last bit: where both lie
on a decimal grid, or are known from elsewhere, mostly one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.numeric.equation import (
    RAND_R_MAX,
    drawn_threshold,
    maximum_of,
    minimum_of,
    on_grid,
    window,
)
from pytest_draft.attack.numeric.replay import Hints, boxes, replay
from pytest_draft.compiling import compiled, inlined
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox

COINCIDENCE = 1e-9
"""Most chance that a pair which explains a threshold does so by coincidence."""

SCALES = 10.0 ** np.arange(7)
"""Decimal grids that are looked for, in places per unit."""

_PROBED = 60
"""Most nodes of a column that are tried to find its decimal grid, those with the largest boxes first."""

_REPEATS = 3
"""Most times that a forest is replayed again with what was decoded; it ends as soon as no more is."""


@dataclass(frozen=True, eq=False, repr=False)
class Extremes:
    """The tested column's minimum and maximum among each node's rows."""

    low: tuple[FloatArray, ...]
    high: tuple[FloatArray, ...]
    """`low` and `high`, each of shape (n_nodes,): by tree; NaN at leaves and where they are not certain."""
    decodable: int
    """Number of nodes with a random threshold."""
    decoded: int
    """Number of nodes with a random threshold whose two extremes are both known."""

    def __repr__(self) -> str:
        return f"Extremes({self.decoded:,} of {self.decodable:,} decoded)"


class _Equations:
    """All nodes with a random threshold and a certain draw behind it, in one numbering: tree by tree, parents first."""

    def __init__(self, forest: Forest, winner: Sequence[IntArray], books: Mapping[int, FloatArray]) -> None:
        self.books, self._trees = books, forest.trees
        self.nodes = ForestNodes.of(forest.trees)
        self.column, self.threshold = self.nodes.feature, self.nodes.threshold
        self.raw = np.concatenate(winner)
        self.low = np.full(len(self.column), np.nan)
        self.high = np.full(len(self.column), np.nan)

    def known(self, column: int, bounds: FloatArray) -> FloatArray:
        """Return the values that are known to occur in a column, ascending; its bounds and its code book count."""
        if column in self.books:
            return self.books[column]
        of_column = self.column == column
        found = np.concatenate([bounds[column].astype(np.float32), self.low[of_column], self.high[of_column]])
        return np.unique(found[~np.isnan(found)])

    def boxes(self, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the tested column's values cannot leave at each node, by what is above, shape (n_nodes,)."""
        ends = zip(self._trees, self.nodes.by_tree(self.low), self.nodes.by_tree(self.high), strict=True)
        least, most = zip(*(boxes(tree, low, high, bounds) for tree, low, high in ends), strict=True)
        return np.concatenate(least), np.concatenate(most)

    @property
    def open(self) -> IntArray:
        """Nodes that are not decoded and could be."""
        return np.flatnonzero((self.raw > 0) & (self.raw < RAND_R_MAX) & np.isnan(self.low))


def replay_and_decode(forest: Forest, domain: Domain, timebox: TimeBox) -> Extremes:
    """Replay a forest and decode its extremes, again with what was decoded, which tells which hypotheses are right.

    Nothing is decodable where the thresholds were not drawn at random.
    """
    if forest.splitter != "random":
        nothing = tuple(np.full(tree.n_nodes, np.nan) for tree in forest.trees)
        return Extremes(nothing, nothing, 0, 0)
    missing = any(attribute.missing for attribute in domain.attributes)
    extremes, hints = _decoded(forest, domain, replay(forest, timebox, _first_hints(domain), missing=missing), timebox)
    for _ in range(_REPEATS):
        if extremes.decoded == extremes.decodable or timebox.over:
            break
        again = replay(forest, timebox, hints, missing=missing)
        better, hints = _decoded(forest, domain, again, timebox)
        if better.decoded <= extremes.decoded:
            break
        extremes = better
    return extremes


def _first_hints(domain: Domain) -> Hints:
    """Return what the domain itself tells: the bounds, which the roots' extremes may be, and their decimals."""
    bounds, finest = _bounds_and_spacing(domain)
    for column in np.flatnonzero(finest == 0).tolist():
        single = bounds[column].astype(np.float32)
        exact = [bool((np.float32(np.rint(bounds[column] * scale) / scale) == single).all()) for scale in SCALES]
        finest[column] = SCALES[exact.index(True)] if any(exact) else 0.0
    ends = [np.unique(pair.astype(np.float32)).astype(np.float64) for pair in bounds]
    books = _books(domain)
    return Hints(bounds, finest, tuple(books.get(column, pair) for column, pair in enumerate(ends)))


def _books(domain: Domain) -> dict[int, FloatArray]:
    """Return, by column, the code books with gaps or of other numbers than whole ones, as trees see them."""
    coded = [attribute for attribute in domain.attributes if attribute.values is not None]
    return {made.columns[0]: made.book.astype(np.float32).astype(np.float64) for made in coded}


def _bounds_and_spacing(domain: Domain) -> tuple[FloatArray, FloatArray]:
    """Return each column's bounds, shape (n_columns, 2), and the grid that its kind means: 1, or 0 for none."""
    bounds = domain.by_column(lambda attribute: (float(attribute.low), float(attribute.high)))
    return bounds, domain.by_column(lambda attribute: float(attribute.integers_only))


def _decoded(forest: Forest, domain: Domain, winner: Sequence[IntArray], timebox: TimeBox) -> tuple[Extremes, Hints]:
    """Return the extremes, and what they tell of the columns."""
    bounds, finest = _bounds_and_spacing(domain)
    equations = _Equations(forest, winner, _books(domain))
    _look_for_grids(equations, bounds, finest)
    left = -1
    while len(equations.open) != left and not timebox.over:
        left = len(equations.open)
        _decode_on_grids(equations, bounds, finest)
        _decode_by_known(equations, bounds)
    extremes = Extremes(
        equations.nodes.by_tree(equations.low),
        equations.nodes.by_tree(equations.high),
        int((equations.nodes.left >= 0).sum()),
        int((~np.isnan(equations.low)).sum()),
    )
    known = tuple(equations.known(column, bounds) for column in range(len(bounds)))
    return extremes, Hints(bounds, finest, known)


def _look_for_grids(equations: _Equations, bounds: FloatArray, finest: FloatArray) -> None:
    """Find for each column the finest grid that explains more thresholds than coincidence does."""
    least, most = equations.boxes(bounds)
    for column in np.flatnonzero(finest == 0).tolist():
        nodes = equations.open
        nodes = nodes[equations.column[nodes] == column]
        # Large boxes are near the roots, where the replay is surest.
        nodes = nodes[np.argsort(least[nodes] - most[nodes], kind="stable")][:_PROBED]
        for scale in SCALES:
            found, _, _, chance = _explained(
                equations.threshold[nodes], equations.raw[nodes], least[nodes], most[nodes], scale
            )
            expected, seen = chance[found >= 0].sum(), np.count_nonzero(found > 0)
            # The Poisson distribution's tail, by Chernoff.
            if seen > expected and seen * (np.log(seen / max(expected, 1e-300)) - 1) + expected > -np.log(COINCIDENCE):
                finest[column] = scale
                nodes = nodes[found <= 0]


@compiled
def _explained(threshold, raw, least, most, scale):  # type: ignore[no-untyped-def]
    """Return for each node what `on_grid` does."""
    n_nodes = len(threshold)
    found, low, high, chance = np.empty(n_nodes, np.int64), np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    for n in range(n_nodes):
        found[n], low[n], high[n], chance[n] = on_grid(threshold[n], raw[n], least[n], most[n], scale)
    return found, low, high, chance


def _decode_on_grids(equations: _Equations, bounds: FloatArray, finest: FloatArray) -> None:
    """Decode the nodes that exactly one pair of decimals explains.

    Where the true pair is on the grid, one pair alone is the true one. So what is decoded can be wrong only at a node
    whose true pair is off the grid and that another explains by coincidence.
    """
    least, most = equations.boxes(bounds)
    tried = equations.open
    tried = tried[finest[equations.column[tried]] > 0]
    found = np.empty(len(tried), dtype=np.int64)
    low, high, chance = np.empty((3, len(tried)))
    for column in np.flatnonzero(finest).tolist():
        these = equations.column[tried] == column
        nodes = tried[these]
        found[these], low[these], high[these], chance[these] = _explained(
            equations.threshold[nodes], equations.raw[nodes], least[nodes], most[nodes], finest[column]
        )
    decoded = np.bincount(equations.column[~np.isnan(equations.low)], minlength=len(finest))
    is_found = found >= 0
    missed = np.bincount(equations.column[tried[found == 0]], minlength=len(finest))
    number = decoded + np.bincount(equations.column[tried[is_found]], minlength=len(finest))
    everywhere = (missed.sum() + 1) / (number.sum() + 2)
    off_grid = (missed + 2 * everywhere) / (number + 2)
    sure = (found == 1) & (chance * off_grid[equations.column[tried]] <= COINCIDENCE)
    equations.low[tried[sure]], equations.high[tried[sure]] = low[sure], high[sure]
    # A finer grid explains some nodes twice; a coarser one that explains a node at all is right, or coincidence.
    for scale in SCALES[:-1]:
        nodes = equations.open
        nodes = nodes[finest[equations.column[nodes]] > scale]
        found, low, high, chance = _explained(
            equations.threshold[nodes], equations.raw[nodes], least[nodes], most[nodes], scale
        )
        sure = (found == 1) & (chance <= COINCIDENCE)
        equations.low[nodes[sure]], equations.high[nodes[sure]] = low[sure], high[sure]


def _decode_by_known(equations: _Equations, bounds: FloatArray) -> None:
    """Decode nodes by values that are known to occur in their column."""
    least, most = equations.boxes(bounds)
    for column in range(len(bounds)):
        nodes = equations.open
        nodes = nodes[equations.column[nodes] == column]
        known = equations.known(column, bounds)
        node, low, high, both_known, chance = _pairs_with_known(
            equations.threshold[nodes], equations.raw[nodes], least[nodes], most[nodes], known
        )
        if not len(node):
            continue
        # The extreme that is new: two nodes with different draws that give the same are no coincidence.
        is_low_new = ~np.isin(low, known)
        new_value = np.where(is_low_new, low, high)
        pairs = np.unique(np.stack([new_value, node.astype(np.float64)]), axis=1)
        value, support = np.unique(pairs[0], return_counts=True)
        support = np.where(both_known, 0, support[np.searchsorted(value, new_value)])
        n_values = np.ptp(bounds[column]) / np.spacing(np.float32(np.abs(bounds[column]).max()))
        sure = np.where(both_known, chance <= COINCIDENCE, False)
        sure |= ~both_known & (support >= 2) & (chance * len(value) / max(float(n_values), 1.0) <= COINCIDENCE)
        sure |= ~both_known & (chance <= COINCIDENCE)
        if column in equations.books:
            sure &= both_known
        alone = np.bincount(node[sure], minlength=len(nodes)) == 1
        taken = np.flatnonzero(sure & alone[node])
        equations.low[nodes[node[taken]]], equations.high[nodes[node[taken]]] = low[taken], high[taken]


@inlined
def _chance(value, width):  # type: ignore[no-untyped-def]
    """Return at least the chance that a window of this width around a value holds one that single precision can."""
    return min(1.0, width * 2.0**24 / max(abs(value), 1e-30))


@compiled
def _pairs_with_known(threshold, raw, least, most, known):  # type: ignore[no-untyped-def]
    """Return the pairs with a known value that explain thresholds.

    Returns
    -------
    node : ndarray of int64, shape (n_pairs,)
    low, high : ndarray of float64, shape (n_pairs,)
    both_known : ndarray of bool, shape (n_pairs,)
        Whether both are known.
    chance : ndarray of float64, shape (n_pairs,)
        About how many such pairs explain the node's threshold by coincidence.
    """
    node, low, high, both_known, chance = [0][:0], [0.0][:0], [0.0][:0], [True][:0], [0.0][:0]
    for n in range(len(threshold)):
        begin, middle = np.searchsorted(known, least[n]), np.searchsorted(known, threshold[n], side="right")
        end = np.searchsorted(known, most[n], side="right")
        width = window(threshold[n], least[n], most[n])
        above, below = RAND_R_MAX / raw[n], RAND_R_MAX / (RAND_R_MAX - raw[n])
        by_one_known = 0.0
        by_two_known = (middle - begin) * (end - middle) * width * max(above, below) / max(most[n] - least[n], 1e-300)
        for place in range(begin, middle):
            by_one_known += _chance(maximum_of(threshold[n], known[place], raw[n]), width * above)
        for place in range(middle, end):
            by_one_known += _chance(minimum_of(threshold[n], known[place], raw[n]), width * below)
        for place in range(begin, middle):
            a = known[place]
            guess = np.float32(maximum_of(threshold[n], a, raw[n]))
            for side in (-1, 0, 1):
                b = np.float64(guess if side == 0 else np.nextafter(guess, np.float32(side * np.inf)))
                if a < b <= most[n] and drawn_threshold(a, b, raw[n]) == threshold[n]:
                    at = np.searchsorted(known, b)
                    is_known = bool(at < len(known) and known[at] == b)
                    node.append(n)
                    low.append(a)
                    high.append(b)
                    both_known.append(is_known)
                    chance.append(by_two_known if is_known else by_one_known)
        for place in range(middle, end):
            b = known[place]
            guess = np.float32(minimum_of(threshold[n], b, raw[n]))
            for side in (-1, 0, 1):
                a = np.float64(guess if side == 0 else np.nextafter(guess, np.float32(side * np.inf)))
                if least[n] <= a < b and drawn_threshold(a, b, raw[n]) == threshold[n]:
                    at = np.searchsorted(known, a)
                    if not (at < len(known) and known[at] == a):
                        node.append(n)
                        low.append(a)
                        high.append(b)
                        both_known.append(False)
                        chance.append(by_one_known)
    return np.array(node), np.array(low), np.array(high), np.array(both_known), np.array(chance)
