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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.rule_list import Literal, RuleList
from pytest_draft.attack.problem import OutOfTimeError, leaf_positions
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import NotCoveredError, one_line
from pytest_draft.matching import TOLERANCE
from pytest_draft.timebox import TimeBox

FloatArray = NDArray[np.float64]

Number = int | Fraction

NUMERIC_VALUES = round(1 / TOLERANCE)
"""How many values of a numeric attribute are told apart over its whole range."""

_MOST_BOUNDS = 8_000_000  # (node, column) pairs that are held at once
_UNITS_PER_CASE = 2e-5  # measured: one step of `_Counter`
_LEAST_SHARE = Fraction(1, 2**60)  # of a range: an interval of one point is not nothing


def attribute_sizes(domain: Domain) -> FloatArray:
    """Return how many values of each attribute are told apart, a missing one included, shape (n_attributes,)."""
    return np.array([_size(attribute) for attribute in domain.attributes], dtype=np.float64)


def leaf_sizes(tree: Tree, domain: Domain) -> FloatArray:
    """Return how many values of each attribute a row can have, leaf by leaf.

    Parameters
    ----------
    tree : Tree
    domain : Domain

    Returns
    -------
    ndarray of float64, shape (n_leaves, n_attributes)
        In the order of `Tree.leaves`. All 0 where the domain allows no row.
    """
    sizes = np.empty((len(tree.leaves), len(domain.attributes)))
    for leaves, bounds in _leaf_bounds(tree, domain.n_columns):
        sizes[leaves] = bounds.sizes(domain)
    return np.where((sizes > 0).all(axis=1, keepdims=True), sizes, 0.0)


def cell_sizes(forest: Forest, domain: Domain, rows: NDArray[np.float32]) -> FloatArray:
    """Return how many values of each attribute stand in the same leaf as a row in every tree, row by row.

    Parameters
    ----------
    forest : Forest
    domain : Domain
    rows : ndarray of float32, shape (n_rows, n_columns)

    Returns
    -------
    ndarray of float64, shape (n_rows, n_attributes)
    """
    sizes = np.empty((len(rows), len(domain.attributes)))
    at_once = max(1, _MOST_BOUNDS // max(1, domain.n_columns))
    for begin in range(0, len(rows), at_once):
        columns = np.ascontiguousarray(rows[begin : begin + at_once].T)
        cells = _Bounds.whole(domain.n_columns).only(np.zeros(columns.shape[1], dtype=np.int64))
        for tree in forest.trees:
            of_row = leaf_positions(tree, columns)
            for leaves, bounds in _leaf_bounds(tree, domain.n_columns):
                place = np.full(len(tree.leaves), -1, dtype=np.int64)
                place[leaves] = np.arange(len(leaves))
                there = place[of_row] >= 0
                cells.narrow(there, bounds.only(place[of_row[there]]))
        sizes[begin : begin + at_once] = cells.sizes(domain)
    return sizes


def _leaf_bounds(tree: Tree, n_columns: int) -> Iterator[tuple[NDArray[np.int64], _Bounds]]:
    """Yield the bounds of a tree's leaves, some at a time, with their positions among the leaves."""
    position = np.cumsum(tree.left < 0) - 1
    at_once = max(1, _MOST_BOUNDS // max(1, n_columns))
    pending = [(np.zeros(1, dtype=np.int64), _Bounds.whole(n_columns))]
    ended: list[tuple[NDArray[np.int64], _Bounds]] = []
    while pending:
        nodes, bounds = pending.pop()
        is_leaf = tree.left[nodes] < 0
        ended.append((position[nodes[is_leaf]], bounds.only(is_leaf)))
        if sum(len(leaves) for leaves, _ in ended) > at_once:
            yield _joined(ended)
            ended = []
        nodes, bounds = nodes[~is_leaf], bounds.only(~is_leaf)
        for begin in range(0, len(nodes), at_once):
            part = slice(begin, begin + at_once)
            pending.append(bounds.only(part).children(tree, nodes[part]))
    yield _joined(ended)


def _joined(parts: list[tuple[NDArray[np.int64], _Bounds]]) -> tuple[NDArray[np.int64], _Bounds]:
    """Return nodes and their bounds in one."""
    bounds = [part for _, part in parts]
    return np.concatenate([nodes for nodes, _ in parts]), _Bounds(
        np.concatenate([part.low for part in bounds]),
        np.concatenate([part.high for part in bounds]),
        np.concatenate([part.missing for part in bounds]),
    )


def numeric_tests(trees: Iterable[Tree], domain: Domain) -> dict[int, int]:
    """Return how many different thresholds there are on each numeric attribute that some tree tests."""
    tests = {
        (column, threshold)
        for tree in trees
        for column, threshold in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)
        if column >= 0
    }
    return _of_numeric(Counter(column for column, _ in tests), domain)


def numeric_bounds(rules: RuleList, domain: Domain) -> dict[int, int]:
    """Return how many different bounds there are on each numeric attribute that some rule tests."""
    bounds = {
        (literal.column, bound)
        for rule in rules.rules
        for literal in rule.literals
        for bound in (literal.low, literal.high)
        if math.isfinite(bound)
    }
    return _of_numeric(Counter(column for column, _ in bounds), domain)


def _of_numeric(times: Counter[int], domain: Domain) -> dict[int, int]:
    attributes = enumerate(domain.attributes)
    return {
        a: times[attribute.columns[0]]
        for a, attribute in attributes
        if attribute.kind == "numeric" and times[attribute.columns[0]]
    }


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

    def narrow(self, nodes: NDArray[np.bool_], by: _Bounds) -> None:
        """Narrow the bounds of some of the nodes, in place."""
        self.low[nodes] = np.maximum(self.low[nodes], by.low)
        self.high[nodes] = np.minimum(self.high[nodes], by.high)
        self.missing[nodes] &= by.missing

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
    first = np.maximum(np.floor(low) + 1, attribute.low)
    whole: FloatArray = np.maximum(0.0, np.minimum(np.floor(high), attribute.high) - first + 1)
    return whole


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
    weights : dict of int to tuple of (int or Fraction)
        By attribute that is tested: how many values each piece holds.
    others : dict of int to int
        How many values each other attribute has.
    numeric : frozenset of int
        Numeric attributes.
    regions : tuple of (dict of int to int)
        The pieces that each rule allows.
    """

    weights: Mapping[int, tuple[Number, ...]]
    others: Mapping[int, int]
    numeric: frozenset[int]
    regions: tuple[Region, ...]

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
            {a: _size(attribute) for a, attribute in enumerate(domain.attributes) if a not in pieces},
            frozenset(a for a, attribute in enumerate(domain.attributes) if attribute.kind == "numeric"),
            tuple(regions),
        )

    @cached_property
    def whole(self) -> Region:
        """All pieces of the attributes that are tested."""
        return {a: (1 << len(weights)) - 1 for a, weights in self.weights.items()}

    def capture(self, index: int, timebox: TimeBox) -> Capture:
        """Count what one rule captures."""
        region = {**self.whole, **self.regions[index]}
        base = sum(math.log2(size) for size in self.others.values())
        most = base + sum(_log2(self.size(a, pieces)) for a, pieces in region.items())
        if most == -math.inf:
            return Capture(-math.inf, True, (0.0,) * (len(self.weights) + len(self.others)))
        counter = _Counter(self.weights, timebox)
        try:
            left = counter.left(region, self.regions[:index])
            if not left:
                return Capture(-math.inf, True, (0.0,) * (len(self.weights) + len(self.others)))
            share = Fraction(left) / counter.weight(region)
        except (OutOfTimeError, RecursionError):
            return Capture(most, False, None)
        bits = max(0.0, most + _log2(share))
        try:
            held = {a: self.size(a, counter.held(region, a, self.regions[:index])) for a in region}
        except (OutOfTimeError, RecursionError):
            return Capture(bits, True, None)
        sizes = {**held, **self.others}
        return Capture(bits, True, tuple(float(sizes[a]) for a in sorted(sizes)))

    def size(self, attribute: int, pieces: int) -> Number:
        """Return how many values some pieces of an attribute hold; of a numeric one at least one, if any."""
        weight = _weight(self.weights[attribute], pieces)
        return max(Fraction(1), Fraction(weight)) if pieces and attribute in self.numeric else weight


@dataclass(frozen=True, eq=False)
class _Pieces:
    """The pieces of one attribute: a representative of each, encoded, and how many values it stands for."""

    columns: tuple[int, ...]
    encoded: FloatArray
    weights: tuple[Number, ...]

    @classmethod
    def of(cls, attribute: Attribute, literals: list[Literal]) -> _Pieces:
        if attribute.kind == "one-hot":
            members = np.eye(len(attribute.columns))
            return cls(attribute.columns, members, (1,) * len(members))
        inside = {
            bound
            for literal in literals
            for bound in (literal.low, literal.high)
            if attribute.low <= bound < attribute.high
        }
        if attribute.kind != "numeric":
            inside = {float(math.floor(bound)) for bound in inside}
        ends = [*sorted(inside), attribute.high]
        begins = [-math.inf, *ends[:-1]]
        weights: list[Number] = []
        for begin, end in zip(begins, ends, strict=True):
            if attribute.low == attribute.high:
                weights.append(1)
            elif attribute.kind == "numeric":
                length = Fraction(end) - Fraction(max(begin, attribute.low))
                share = length / (Fraction(attribute.high) - Fraction(attribute.low))
                weights.append(NUMERIC_VALUES * max(share, _LEAST_SHARE))
            else:
                weights.append(int(end - max(begin, attribute.low - 1)))
        return cls(attribute.columns, np.array(ends)[:, None], tuple(weights))

    @property
    def everything(self) -> int:
        """All pieces."""
        return (1 << len(self.weights)) - 1

    def meeting(self, literal: Literal) -> int:
        """Return the pieces that meet a test."""
        held = literal.holds(self.encoded[:, self.columns.index(literal.column)])
        return sum(1 << piece for piece, holds in enumerate(held.tolist()) if holds)


Asks = frozenset[tuple[int, int]]
Asked = frozenset[Asks]
"""What is asked for beyond what is given: (attribute, pieces) pairs, rule by rule."""


class _Counter:
    """Counts what no rule of some meets, attribute by attribute.

    Rules are restricted to the region that is asked about: those that cannot hold there are left out, and of the others
    only the attributes remain in which they ask for more than the region gives. What is left of a rule does not depend
    on how one came there, so what was counted once is kept.
    """

    def __init__(self, weights: Mapping[int, tuple[Number, ...]], timebox: TimeBox) -> None:
        self._weights = weights
        self._timebox = timebox
        self._region: Region = {}
        self._known: dict[Asked, Number] = {}
        self._possible: dict[Asked, bool] = {}

    def weight(self, region: Region) -> Number:
        """Return how many vectors a region holds."""
        total: Number = 1
        for attribute, pieces in region.items():
            total *= _weight(self._weights[attribute], pieces)
        return total

    def left(self, region: Region, rules: tuple[Region, ...]) -> Number:
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
        self._region, self._known, self._possible = region, {}, {}
        asked = set()
        for rule in rules:
            asks = frozenset((a, pieces & region[a]) for a, pieces in rule.items() if pieces & region[a] != region[a])
            if all(pieces for _, pieces in asks):
                asked.add(asks)
        return frozenset(asked)

    def _left(self, asked: Asked) -> Number:
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

    def _by_cases(self, asked: Asked) -> Number:
        """Return the same by the cases of the attribute that most rules ask about."""
        chosen, cases = self._cases(asked)
        others = _attributes(asked) - {chosen}
        total: Number = 0
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
    return [position for position in range(mask.bit_length()) if mask >> position & 1]


def _weight(weights: tuple[Number, ...], pieces: int) -> Number:
    """Return the sum of the weights of some pieces."""
    total: Number = 0
    for piece in _bits(pieces):
        total += weights[piece]
    return total


def _log2(number: Number) -> float:
    """Return log2 of a number of any size; minus infinity of 0."""
    if not number:
        return -math.inf
    exact = Fraction(number)
    return math.log2(exact.numerator) - math.log2(exact.denominator)
