"""How many feature vectors a row can be: in go a tree or a rule list and a domain, out come counts of possible worlds.

What a tree's leaf or a rule tells of one row is a set of vectors; how many it holds is all that entropies need where
each vector is as likely as any other (Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models,
SaTML 2024, section IV-A2).

A leaf is a product: a set of values for each attribute, whose sizes multiply (section IV-B). A rule of a list is not:
who is captured there has met no earlier rule, which ties attributes together. The paper counts by the recursion of
equations 12 to 15, that is by inclusion and exclusion; it has a term for each set of rules that can hold together, up
to 2^rules of them. `captures` counts the same number by cases instead: it takes an attribute, splits its values by the
rules that they meet, and counts each part by itself; rules that share no attribute are counted apart, and what was
counted once is kept. No method can be quick on all lists, since this is counting the solutions of a formula (#P-hard;
the paper's "polynomial time" holds for trees only); so there is a time box, and no number where it ends.

A numeric attribute has no number of values. It counts as having one for each `matching.TOLERANCE` of its range, within
which a rebuilt value counts as right; an interval has its share of them, and never less than one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.descent import Passing, descend
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import NotCoveredError, OutOfTimeError, one_line
from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.facts.rules import Literal, Rule
from pytest_draft.timebox import TimeBox

FloatArray = NDArray[np.float64]

Number = int | Fraction

NUMERIC_VALUES = round(1 / TOLERANCE)
"""How many values of a numeric attribute are told apart over its whole range."""

_MOST_BOUNDS = 500_000  # (node, column) pairs that are worked on at once
_MOST_OF_ROWS = 8_000_000  # (row, attribute) pairs, likewise
_UNITS_PER_CASE = 2e-5  # measured: one step of `_Counter`
_UNITS_PER_ROW = 1e-6  # measured: to follow one row through a tree


def attribute_sizes(domain: Domain) -> FloatArray:
    """Return how many values of each attribute are told apart, a missing one included, shape (n_attributes,)."""
    return np.array([_size(attribute) for attribute in domain.attributes], dtype=np.float64)


def leaf_sizes(tree: Tree, domain: Domain) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Yield how many values of each attribute a row can have, leaf by leaf, some leaves at a time.

    Parameters
    ----------
    tree : Tree
    domain : Domain

    Yields
    ------
    ndarray of int64, shape (n,)
        Positions among `Tree.leaves`.
    ndarray of float64, shape (n, n_attributes)
        All 0 where the domain allows no row.
    """
    for leaves, bounds in _leaf_bounds(tree, domain.n_columns):
        sizes = bounds.sizes(domain)
        yield leaves, np.where((sizes > 0).all(axis=1, keepdims=True), sizes, 0.0)


def _leaf_bounds(tree: Tree, n_columns: int) -> Iterator[tuple[NDArray[np.int64], _Bounds]]:
    """Yield the bounds of a tree's leaves, some at a time, with their positions among the leaves."""
    position = np.cumsum(tree.left < 0) - 1
    at_once = max(1, _MOST_BOUNDS // max(1, n_columns))
    pending = [(np.zeros(1, dtype=np.int64), _Bounds.whole(n_columns))]
    ended: list[tuple[NDArray[np.int64], _Bounds]] = []
    while pending:
        nodes, bounds = pending.pop()
        if len(nodes) > at_once:
            parts = [slice(begin, begin + at_once) for begin in range(0, len(nodes), at_once)]
            pending += [(nodes[part], bounds.only(part)) for part in parts]
            continue
        is_leaf = tree.left[nodes] < 0
        ended.append((position[nodes[is_leaf]], bounds.only(is_leaf)))
        if sum(len(leaves) for leaves, _ in ended) > at_once:
            yield _joined(ended)
            ended = []
        if not is_leaf.all():
            pending.append(bounds.only(~is_leaf).children(tree, nodes[~is_leaf]))
    yield _joined(ended)


def _joined(parts: list[tuple[NDArray[np.int64], _Bounds]]) -> tuple[NDArray[np.int64], _Bounds]:
    """Return nodes and their bounds in one."""
    bounds = [part for _, part in parts]
    return np.concatenate([nodes for nodes, _ in parts]), _Bounds(
        np.concatenate([part.low for part in bounds]),
        np.concatenate([part.high for part in bounds]),
        np.concatenate([part.missing for part in bounds]),
    )


def telling_tests(model: Iterable[Tree] | RuleList, domain: Domain) -> tuple[int, ...]:
    """Return the attributes that are tested by thresholds and have more than two values, ascending."""
    if isinstance(model, RuleList):
        tested = set(model.tested)
    else:
        tested = {int(column) for tree in model for column in np.unique(tree.feature)}
    return tuple(
        a
        for a, attribute in enumerate(domain.attributes)
        if attribute.kind in ("ordinal", "numeric")
        and attribute.columns[0] in tested
        and (attribute.low < attribute.high if attribute.kind == "numeric" else len(attribute.book) > 2)
    )


@dataclass(frozen=True, eq=False)
class Left:
    """What the training rows can be for somebody who knows their places, and the extremes of what is tested there.

    Of trees he knows in which leaf each row is, and of each attribute in `telling_tests` the least and the greatest
    value there and one row that holds it. So he knows between which values each threshold is, and each dataset that is
    left for him explains the file: its counts and its thresholds. Of rule lists, see `left_under_rules`.

    Attributes
    ----------
    bits : ndarray of float64, shape (n_rows,)
        log2 of the number of vectors of each row, as far as these are about values that it may share with others.
    known : ndarray of float64, shape (n_rows,)
        What of `bits` a row does not have if it is the one that he knows by its value.
    """

    bits: FloatArray
    known: FloatArray

    def of_all(self, times: NDArray[np.int64]) -> float:
        """Return the bits of all rows, where each is there some times, of which he knows one."""
        return float(times @ self.bits - self.known.sum())

    def lowest(self) -> float:
        """Return the bits of the row that he knows best."""
        return float((self.bits - self.known).min())


def left_under_trees(
    trees: Sequence[Tree],
    domain: Domain,
    rows: NDArray[np.float32],
    seen: NDArray[np.bool_],
    timebox: TimeBox,
) -> Left:
    """Return what is left of training rows under all trees.

    Parameters
    ----------
    trees : sequence of Tree
    domain : Domain
    rows : ndarray of float32, shape (n_rows, n_columns)
        All different.
    seen : ndarray of bool, shape (n_trees, n_rows)
        Which rows each tree was grown on.
    timebox : TimeBox

    Returns
    -------
    Left

    Raises
    ------
    OutOfTimeError
    """
    bits, known = np.zeros(len(rows)), np.zeros(len(rows))
    at_once = max(1, _MOST_OF_ROWS // len(rows))
    for begin in range(0, len(domain.attributes), at_once):
        part, columns = _part(domain, slice(begin, begin + at_once))
        place = np.full(domain.n_columns, -1, dtype=np.int64)
        place[columns] = np.arange(len(columns))
        bounds = _Bounds.whole(len(columns)).only(np.zeros(len(rows), dtype=np.int64))
        found = np.zeros((len(rows), len(part.attributes)), dtype=bool)
        for tree, there in zip(trees, seen, strict=True):
            if timebox.over:
                raise OutOfTimeError
            timebox.spend(_UNITS_PER_ROW * len(rows))
            leaf = bounds.follow(tree, rows, place)
            tested = replace(tree, feature=np.where(tree.feature < 0, -1, place[tree.feature]))
            for a in telling_tests([tested], part):
                column = part.attributes[a].columns[0]
                extremes = _Extremes.of(rows[:, columns[column]].astype(np.float64), leaf, there)
                extremes.narrow(bounds, column)
                found[extremes.held_by, a] = True
        own = np.log2(np.maximum(1.0, bounds.sizes(part)))
        bits += own.sum(axis=1)
        known += np.where(found, own, 0.0).sum(axis=1)
    return Left(bits, known)


def left_under_rules(
    rules: RuleList, domain: Domain, rows: NDArray[np.float32], captured: NDArray[np.int64], timebox: TimeBox
) -> Left:
    """Return what is left of training rows under a rule list.

    Here he knows which rule captured each row; and, at each bound of a rule's test of an attribute in `telling_tests`,
    the nearest values of the rows that no earlier rule had captured, below and above it, and one row that holds each.

    Parameters
    ----------
    rules : RuleList
        Of the domain's columns (`RuleList.resolved`).
    domain : Domain
        Without missing values.
    rows : ndarray of float32, shape (n_rows, n_columns)
        All different.
    captured : ndarray of int64, shape (n_rows,)
        Which rule captured each.
    timebox : TimeBox

    Returns
    -------
    Left

    Raises
    ------
    OutOfTimeError
    """
    told = {domain.attributes[a].columns[0]: a for a in telling_tests(rules, domain)}
    # What is between the nearest values is held by no row: rules of its own take it away.
    with_gaps: list[Rule] = []
    place = np.empty(rules.n_rules, dtype=np.int64)
    holds: dict[int, set[int]] = defaultdict(set)
    for index, rule in enumerate(rules.rules):
        left = np.flatnonzero(captured >= index)
        for literal in rule.literals:
            for bound in (literal.low, literal.high):
                if literal.column in told and math.isfinite(bound):
                    gap, at = _gap(rows[left, literal.column].astype(np.float64), bound)
                    for row in left[at].tolist():
                        holds[row].add(literal.column)
                    if gap[0] < gap[1]:
                        with_gaps.append(Rule((Literal(literal.column, *gap),), None))
        place[index] = len(with_gaps)
        with_gaps.append(replace(rule, counts=None))
    space = _Space.of(RuleList(rules.kind, tuple(with_gaps), rules.columns, rules.n_features, rules.classes), domain)
    bits = np.zeros(rules.n_rules)
    for index in np.unique(captured).tolist():
        found = space.capture(int(place[index]), timebox)
        if not found.exact:
            raise OutOfTimeError
        bits[index] = found.bits
    known, counter = np.zeros(len(rows)), _Counter(space.weights, timebox)
    for row, columns in holds.items():
        rule_at = int(place[captured[row]])
        held = {told[c]: 1 << int(np.searchsorted(space.ends[told[c]], float(rows[row, c]))) for c in sorted(columns)}
        free = counter.left({**space.whole, **space.regions[rule_at], **held}, space.regions[:rule_at])
        own = space.others_bits + _log2(free) - _log2(counter.weight(held))
        own += sum(_log2(unit) for a, unit in space.units.items() if a not in held)
        known[row] = bits[captured[row]] - max(0.0, min(own, bits[captured[row]]))
    return Left(bits[captured], known)


def _gap(values: FloatArray, bound: float) -> tuple[tuple[float, float], list[int]]:
    """Return the bounds of what lies between the values next to a bound, and the positions of these values."""
    below, above = np.flatnonzero(values <= bound), np.flatnonzero(values > bound)
    low, high, at = -math.inf, math.inf, []
    if len(below):
        at.append(int(below[values[below].argmax()]))
        low = float(values[at[-1]])
    if len(above):
        at.append(int(above[values[above].argmin()]))
        high = math.nextafter(float(values[at[-1]]), -math.inf)
    return (low, high), at


def _part(domain: Domain, some: slice) -> tuple[Domain, list[int]]:
    """Return a domain of some of the attributes, and the positions of its columns in the whole."""
    columns: list[int] = []
    attributes: list[Attribute] = []
    for attribute in domain.attributes[some]:
        positions = tuple(range(len(columns), len(columns) + len(attribute.columns)))
        attributes.append(replace(attribute, columns=positions))
        columns += attribute.columns
    return Domain(tuple(domain.columns[column] for column in columns), tuple(attributes), domain.source), columns


@dataclass(frozen=True, eq=False)
class _Extremes:
    """The least and the greatest value of the rows in each part, row by row.

    Attributes
    ----------
    seen : ndarray of bool, shape (n_rows,)
        The rows that count, and for which this holds.
    below, greatest : ndarray of float64, shape (n_rows,)
        All values of the part are above the one, by the least step, and at most the other.
    held_by : ndarray of int64
        One row for each of these values.
    """

    seen: NDArray[np.bool_]
    below: FloatArray
    greatest: FloatArray
    held_by: NDArray[np.int64]

    @classmethod
    def of(cls, values: FloatArray, part: NDArray[np.integer], seen: NDArray[np.bool_]) -> _Extremes:
        counted = np.flatnonzero(seen & ~np.isnan(values))
        n_parts = int(part.max(initial=-1)) + 1
        ends = np.full(n_parts, np.inf), np.full(n_parts, -np.inf)
        holders = []
        for end, reach in zip(ends, (np.minimum, np.maximum), strict=True):
            reach.at(end, part[counted], values[counted])
            holds = counted[values[counted] == end[part[counted]]]
            holders.append(holds[np.unique(part[holds], return_index=True)[1]])
        least, greatest = (end[part] for end in ends)
        return cls(seen, np.nextafter(least, -np.inf), greatest, np.concatenate(holders))

    def narrow(self, bounds: _Bounds, column: int) -> None:
        """Narrow the bounds of the rows that count to these, in place."""
        seen = self.seen
        bounds.low[seen, column] = np.maximum(bounds.low[seen, column], self.below[seen])
        bounds.high[seen, column] = np.minimum(bounds.high[seen, column], self.greatest[seen])


@dataclass(frozen=True, eq=False)
class _Bounds:
    """What rows at some nodes can hold: ``low < value <= high`` in each column, or no value where `missing`.

    All three have the shape (n_nodes, n_columns).
    """

    low: FloatArray
    high: FloatArray
    missing: NDArray[np.bool_]

    @classmethod
    def whole(cls, n_columns: int) -> _Bounds:
        """Return the bounds of one node that all rows reach."""
        shape = (1, n_columns)
        return cls(np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, dtype=bool))

    def only(self, nodes: NDArray[np.bool_] | NDArray[np.int64] | slice) -> _Bounds:
        """Return the bounds of some of the nodes."""
        return _Bounds(self.low[nodes], self.high[nodes], self.missing[nodes])

    def follow(self, tree: Tree, rows: NDArray[np.float32], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Narrow the bounds of rows, in place, to those of the leaves that they reach; return these by position.

        Where the bounds of a column are, `place` says; -1 where they are not wanted.
        """

        def watch(level: Passing) -> None:
            here, left = level.node, level.left
            column, threshold = tree.feature[here], tree.threshold[here]
            for side, bound, nearer in ((left, self.high, np.minimum), (~left, self.low, np.maximum)):
                wanted = side & (place[column] >= 0)
                at = level.vector[wanted], place[column[wanted]]
                bound[at] = nearer(bound[at], threshold[wanted])
                self.missing[at] &= tree.missing_left[here[wanted]] == left[wanted]

        position: NDArray[np.int64] = (np.cumsum(tree.left < 0) - 1)[descend(tree, rows.T, watch)]
        return position

    def children(self, tree: Tree, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], _Bounds]:
        """Return the children of nodes, first all left ones, and their bounds."""
        low, high, missing = (np.concatenate([held, held]) for held in (self.low, self.high, self.missing))
        left, column, threshold = np.arange(len(nodes)), tree.feature[nodes], tree.threshold[nodes]
        right = left + len(nodes)
        high[left, column] = np.minimum(high[left, column], threshold)
        low[right, column] = np.maximum(low[right, column], threshold)
        missing[left, column] &= tree.missing_left[nodes]
        missing[right, column] &= ~tree.missing_left[nodes]
        return np.concatenate([tree.left[nodes], tree.right[nodes]]), _Bounds(low, high, missing)

    def sizes(self, domain: Domain) -> FloatArray:
        """Return how many values of each attribute lie between the bounds, shape (n_nodes, n_attributes)."""
        sizes = np.empty((len(self.low), len(domain.attributes)))
        for a, attribute in enumerate(domain.attributes):
            columns = list(attribute.columns)
            low, high = self.low[:, columns], self.high[:, columns]
            if attribute.kind == "one-hot":
                zero, one = (low < 0) & (high >= 0), (low < 1) & (high >= 1)
                never_zero = (~zero).sum(axis=1, keepdims=True)
                sizes[:, a] = (one & (never_zero == ~zero)).sum(axis=1)
                if attribute.dropped:
                    sizes[:, a] += zero.all(axis=1)
                continue
            sizes[:, a] = _values_between(attribute, low[:, 0], high[:, 0])
            if attribute.missing:
                sizes[:, a] += self.missing[:, columns[0]]
        return sizes


def _values_between(attribute: Attribute, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return how many values of an attribute that is no one-hot group are above `low` and at most `high`."""
    if attribute.low == attribute.high:
        return ((low < attribute.low) & (attribute.low <= high)).astype(np.float64)
    if attribute.kind == "numeric":
        begin, end = np.maximum(low, attribute.low), np.minimum(high, attribute.high)
        some = (begin < end) | ((low < attribute.low) & (high >= attribute.low))
        share = np.where(some, end - begin, 0.0) / (attribute.high - attribute.low)
        return np.where(some, np.maximum(1.0, share * NUMERIC_VALUES), 0.0)
    first, last = (np.searchsorted(attribute.book, bound, side="right") for bound in (low, high))
    between: FloatArray = np.maximum(0.0, last - first)
    return between


def _size(attribute: Attribute) -> int:
    if attribute.kind != "numeric":
        return attribute.n_states
    return (NUMERIC_VALUES if attribute.low < attribute.high else 1) + attribute.missing


@dataclass(frozen=True)
class Capture:
    """What a row can be that one rule of a list captures.

    Attributes
    ----------
    bits : float
        log2 of the number of vectors; minus infinity where there is none.
    exact : bool
        Whether that is the number; else the time was out, and it is an upper bound.
    sizes : tuple of float or None
        How many values of each attribute are among those vectors; None where the time was out.
    """

    bits: float
    exact: bool
    sizes: tuple[float, ...] | None


def captures(rules: RuleList, domain: Domain, timebox: TimeBox) -> tuple[Capture, ...]:
    """Count what each rule of a list captures: ``Capt_RL`` of equation 12.

    Parameters
    ----------
    rules : RuleList
        Of the domain's columns (`RuleList.resolved`).
    domain : Domain
        Without missing values.
    timebox : TimeBox

    Returns
    -------
    tuple of Capture
        One for each rule.

    Raises
    ------
    NotCoveredError
        Where the domain has missing values.
    """
    gaps = [attribute.name for attribute in domain.attributes if attribute.missing]
    if gaps:
        raise NotCoveredError(
            f"column {one_line(gaps[0])!r} may have missing values; what they do in a rule list is not covered yet"
        )
    space = _Space.of(rules, domain)
    return tuple(space.capture(index, timebox) for index in range(rules.n_rules))


Region = dict[int, int]
"""Sets of pieces, as bits, by attribute; an attribute that is left out is not restricted."""


@dataclass(frozen=True, eq=False)
class _Space:
    """A domain cut into pieces that no test of a rule list divides.

    Attributes
    ----------
    weights : dict of int to tuple of int
        By attribute that is tested: how many values each piece holds; of a numeric one, how many units.
    units : dict of int to Fraction
        By numeric attribute that is tested: how many values a unit is.
    others : dict of int to int
        How many values each other attribute has.
    regions : tuple of (dict of int to int)
        The pieces that each rule allows.
    ends : dict of int to ndarray of float64
        By attribute that is tested, but for one-hot groups: the greatest value of each piece, ascending.
    """

    weights: Mapping[int, tuple[int, ...]]
    units: Mapping[int, Fraction]
    others: Mapping[int, int]
    regions: tuple[Region, ...]
    ends: Mapping[int, FloatArray]

    @classmethod
    def of(cls, rules: RuleList, domain: Domain) -> _Space:
        owner = {column: a for a, attribute in enumerate(domain.attributes) for column in attribute.columns}
        literals: dict[int, list[Literal]] = defaultdict(list)
        for rule in rules.rules:
            for literal in rule.literals:
                literals[owner[literal.column]].append(literal)
        pieces = {a: _Pieces.of(domain.attributes[a], tests) for a, tests in literals.items()}
        regions = []
        for rule in rules.rules:
            region: Region = {}
            for literal in rule.literals:
                a = owner[literal.column]
                region[a] = region.get(a, pieces[a].everything) & pieces[a].meeting(literal)
            regions.append(region)
        return cls(
            {a: found.weights for a, found in pieces.items()},
            {a: found.unit for a, found in pieces.items() if domain.attributes[a].kind == "numeric"},
            {a: _size(attribute) for a, attribute in enumerate(domain.attributes) if a not in pieces},
            tuple(regions),
            {a: found.encoded[:, 0] for a, found in pieces.items() if domain.attributes[a].kind != "one-hot"},
        )

    @property
    def others_bits(self) -> float:
        """log2 of the number of vectors of the attributes that are not tested."""
        return sum(math.log2(size) for size in self.others.values())

    @cached_property
    def whole(self) -> Region:
        """All pieces of the attributes that are tested."""
        return {a: (1 << len(weights)) - 1 for a, weights in self.weights.items()}

    def capture(self, index: int, timebox: TimeBox) -> Capture:
        """Count what one rule captures."""
        region = {**self.whole, **self.regions[index]}
        most = self.others_bits + sum(_log2(self.size(a, pieces)) for a, pieces in region.items())
        if most == -math.inf:
            return Capture(-math.inf, True, (0.0,) * (len(self.weights) + len(self.others)))
        counter = _Counter(self.weights, timebox)
        try:
            left = counter.left(region, self.regions[:index])
            if not left:
                return Capture(-math.inf, True, (0.0,) * (len(self.weights) + len(self.others)))
        except (OutOfTimeError, RecursionError):
            return Capture(most, False, None)
        bits = self.others_bits + _log2(left)
        try:
            held = {a: counter.held(region, a, self.regions[:index]) for a in region}
        except (OutOfTimeError, RecursionError):
            return Capture(most, False, None) if self.units else Capture(bits, True, None)
        for a in self.units:
            bits += _log2(self.size(a, held[a])) - _log2(_weight(self.weights[a], held[a]))
        sizes = {**{a: self.size(a, pieces) for a, pieces in held.items()}, **self.others}
        return Capture(min(most, bits), True, tuple(float(sizes[a]) for a in sorted(sizes)))

    def size(self, attribute: int, pieces: int) -> Number:
        """Return how many values some pieces of an attribute hold; of a numeric one at least one, if any."""
        weight = _weight(self.weights[attribute], pieces)
        return max(Fraction(1), weight * self.units[attribute]) if pieces and attribute in self.units else weight


@dataclass(frozen=True, eq=False)
class _Pieces:
    """The pieces of one attribute: a representative of each, encoded, and how many values (units) it stands for."""

    columns: tuple[int, ...]
    encoded: FloatArray
    weights: tuple[int, ...]
    unit: Fraction = Fraction(1)

    @classmethod
    def of(cls, attribute: Attribute, literals: list[Literal]) -> _Pieces:
        if attribute.kind == "one-hot":
            members = np.eye(attribute.n_states, len(attribute.columns))
            return cls(attribute.columns, members, (1,) * len(members))
        inside = {
            bound
            for literal in literals
            for bound in (literal.low, literal.high)
            if attribute.low <= bound < attribute.high
        }
        if attribute.kind != "numeric":
            book = attribute.book
            inside = {float(book[np.searchsorted(book, bound, side="right") - 1]) for bound in inside}
        ends = [*sorted(inside), attribute.high]
        begins = [-math.inf, *ends[:-1]]
        encoded = np.array(ends)[:, None]
        if attribute.low == attribute.high:
            return cls(attribute.columns, encoded, (1,) * len(ends))
        if attribute.kind != "numeric":
            behind = np.searchsorted(attribute.book, [-math.inf, *ends], side="right")
            return cls(attribute.columns, encoded, tuple(np.diff(behind).tolist()))
        shares = [Fraction(end) - Fraction(max(begin, attribute.low)) for begin, end in zip(begins, ends, strict=True)]
        in_one = max(share.denominator for share in shares) << 60  # denominators of floats are powers of two
        unit = NUMERIC_VALUES / ((Fraction(attribute.high) - Fraction(attribute.low)) * in_one)
        # An interval of one point is not nothing, but next to it.
        return cls(attribute.columns, encoded, tuple(max(1, int(share * in_one)) for share in shares), unit)

    @property
    def everything(self) -> int:
        """All pieces."""
        return (1 << len(self.weights)) - 1

    def meeting(self, literal: Literal) -> int:
        """Return the pieces that meet a test."""
        held = literal.holds(self.encoded[:, self.columns.index(literal.column)])
        return int.from_bytes(np.packbits(held, bitorder="little").tobytes(), "little")


Asks = frozenset[tuple[int, int]]
Asked = frozenset[Asks]
"""What is asked for beyond what is given: (attribute, pieces) pairs, rule by rule."""


class _Counter:
    """Counts what no rule of some meets, attribute by attribute.

    Rules are restricted to the region that is asked about: those that cannot hold there are left out, and of the others
    only the attributes remain in which they ask for more than the region gives. What is left of a rule does not depend
    on how one came there, so what was counted once is kept.
    """

    def __init__(self, weights: Mapping[int, tuple[int, ...]], timebox: TimeBox) -> None:
        self._weights = weights
        self._timebox = timebox
        self._region: Region = {}
        self._known: dict[Asked, int] = {}
        self._possible: dict[Asked, bool] = {}

    def weight(self, region: Region) -> int:
        """Return how many vectors a region holds."""
        total: int = 1
        for attribute, pieces in region.items():
            total *= _weight(self._weights[attribute], pieces)
        return total

    def left(self, region: Region, rules: tuple[Region, ...]) -> int:
        """Return how many vectors of a region no rule meets.

        Raises
        ------
        OutOfTimeError
        """
        asked = self._restricted(region, rules)
        return self.weight({a: region[a] for a in region.keys() - _attributes(asked)}) * self._left(asked)

    def held(self, region: Region, attribute: int, rules: tuple[Region, ...]) -> int:
        """Return the pieces of an attribute that some vector has which no rule meets.

        Raises
        ------
        OutOfTimeError
        """
        if not any(attribute in rule for rule in rules):
            return region[attribute]
        held = 0
        for piece in _bits(region[attribute]):
            if self._some(self._restricted({**region, attribute: 1 << piece}, rules)):
                held |= 1 << piece
        return held

    def _restricted(self, region: Region, rules: tuple[Region, ...]) -> Asked:
        """Begin with a region: return what the rules ask for there that it does not give."""
        self._step()
        self._region, self._known, self._possible = region, {}, {}
        asked = set()
        for rule in rules:
            asks = frozenset((a, pieces & region[a]) for a, pieces in rule.items() if pieces & region[a] != region[a])
            if all(pieces for _, pieces in asks):
                asked.add(asks)
        return frozenset(asked)

    def _left(self, asked: Asked) -> int:
        """Return how many combinations of the attributes that are asked about no rule meets."""
        if not asked:
            return 1
        if frozenset() in asked:
            return 0
        if asked not in self._known:
            self._step()
            parts = _apart(asked)
            self._known[asked] = math.prod(map(self._left, parts)) if len(parts) > 1 else self._by_cases(asked)
        return self._known[asked]

    def _by_cases(self, asked: Asked) -> int:
        """Return the same by the cases of the attribute that most rules ask about."""
        chosen, cases = self._cases(asked)
        others = _attributes(asked) - {chosen}
        total: int = 0
        for left, pieces in cases:
            count = self._left(left)
            if count:
                gone = self.weight({a: self._region[a] for a in others - _attributes(left)})
                total += _weight(self._weights[chosen], pieces) * gone * count
        return total

    def _some(self, asked: Asked) -> bool:
        """Return whether `_left` is more than 0."""
        if not asked:
            return True
        if frozenset() in asked:
            return False
        if asked not in self._possible:
            self._step()
            parts = _apart(asked)
            if len(parts) > 1:
                self._possible[asked] = all(map(self._some, parts))
            else:
                cases = sorted(self._cases(asked)[1], key=lambda case: len(case[0]))
                self._possible[asked] = any(self._some(left) for left, _ in cases)
        return self._possible[asked]

    def _step(self) -> None:
        if self._timebox.over:
            raise OutOfTimeError
        self._timebox.spend(_UNITS_PER_CASE)

    def _cases(self, asked: Asked) -> tuple[int, list[tuple[Asked, int]]]:
        """Return the attribute that most rules ask about, and what they ask besides, by its pieces."""
        times = Counter(attribute for rule in asked for attribute, _ in rule)
        chosen = max(sorted(times), key=times.__getitem__)
        free: list[Asks] = []
        asking: dict[int, list[Asks]] = defaultdict(list)
        for rule in asked:
            masks = [pieces for attribute, pieces in rule if attribute == chosen]
            if masks:
                asking[masks[0]].append(frozenset(pair for pair in rule if pair[0] != chosen))
            else:
                free.append(rule)
        cases: dict[tuple[int, ...], int] = defaultdict(int)
        for piece in _bits(self._region[chosen]):
            cases[tuple(mask for mask in asking if mask >> piece & 1)] |= 1 << piece
        return chosen, [
            (frozenset([*free, *(rule for mask in masks for rule in asking[mask])]), pieces)
            for masks, pieces in cases.items()
        ]


def _attributes(asked: Asked) -> set[int]:
    """Return the attributes that some rules ask about."""
    return {attribute for rule in asked for attribute, _ in rule}


def _apart(asked: Asked) -> list[Asked]:
    """Return rules in parts that have no attribute in common."""
    parts: list[tuple[set[int], list[Asks]]] = []
    for rule in asked:
        attributes, members = {attribute for attribute, _ in rule}, [rule]
        others = []
        for part in parts:
            if part[0] & attributes:
                attributes |= part[0]
                members += part[1]
            else:
                others.append(part)
        parts = [*others, (attributes, members)]
    return [frozenset(members) for _, members in parts]


def _bits(mask: int) -> list[int]:
    """Return the positions of the bits of a mask."""
    return [position for position, bit in enumerate(bin(mask)[:1:-1]) if bit == "1"]


def _weight(weights: tuple[int, ...], pieces: int) -> int:
    """Return the sum of the weights of some pieces."""
    return sum(weights[piece] for piece in _bits(pieces))


def _log2(number: Number) -> float:
    """Return log2 of a number of any size; minus infinity of 0."""
    if not number:
        return -math.inf
    exact = Fraction(number)
    return math.log2(exact.numerator) - math.log2(exact.denominator)
