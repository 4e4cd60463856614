"""A lower bound of the entropy that a model leaves: what is left for somebody who knows more than it reveals.

A threshold on an attribute with more than two values can reveal more than its two sides: it lies between two values of
the training data. Suppose that an observer knows in which leaf (or under which rule) each row is, and these
neighbouring values. The observer then knows at least what the model reveals, so the entropy left for the observer is a
lower bound.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.audit.case_counting import CaseCounter
from pytest_draft.audit.leaf_counting import LeafBounds
from pytest_draft.audit.rule_counting import CutDomain, log2_of
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.facts.rules import ListedRule, Literal
from pytest_draft.timebox import TimeBox

_MOST_OF_ROWS = 8_000_000
"""Most (row, attribute) pairs in memory at once: 17 bytes each, and as much again while they are computed."""

_UNITS_PER_ROW = 1e-6
"""Units of work to follow one row through a tree, measured."""


def ordered_tests(model: Forest | Tree | RuleList, domain: Domain) -> tuple[int, ...]:
    """Return the attributes that are tested by thresholds and have more than two values, ascending."""
    if isinstance(model, RuleList):
        tested = set(model.tested)
    else:
        trees = (model,) if isinstance(model, Tree) else model.trees
        tested = {int(column) for tree in trees for column in np.unique(tree.feature)}
    return tuple(
        a
        for a, attribute in enumerate(domain.attributes)
        if attribute.kind in ("ordinal", "numeric")
        and attribute.columns[0] in tested
        and (attribute.low < attribute.high if attribute.kind == "numeric" else len(attribute.book) > 2)
    )


@dataclass(frozen=True, eq=False)
class Remaining:
    """What the training rows can still be for the observer.

    With trees, the observer knows the leaf of each row and, for each attribute in `ordered_tests`, the least and the
    greatest value in that leaf and one row that holds it. That fixes between which values each threshold lies, so every
    dataset that is left explains the file: its counts and its thresholds. For rule lists see `remaining_under_rules`.
    """

    bits: FloatArray
    """Shape (n_rows,). log2 of the number of vectors that each row can be, if it is not one whose values are known."""
    known: FloatArray
    """Shape (n_rows,). How many of these bits a row loses if it is the one known to hold an extreme value."""

    def of_all(self, times: IntArray) -> float:
        """Return the bits of all rows, each of which occurs some times and is known once."""
        return float(times @ self.bits - self.known.sum())

    def lowest(self) -> float:
        """Return the bits of the row that is known best."""
        return float((self.bits - self.known).min())


def remaining_under_trees(
    trees: Sequence[Tree],
    domain: Domain,
    rows: Rows,
    seen: BoolArray,
    timebox: TimeBox,
) -> Remaining:
    """Return what is left of training rows under all trees.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All different.
    seen : ndarray of bool, shape (n_trees, n_rows)
        Which rows each tree was grown on.
    """
    bits, known = np.zeros(len(rows)), np.zeros(len(rows))
    at_once = max(1, _MOST_OF_ROWS // len(rows))
    for begin in range(0, len(domain.attributes), at_once):
        some = range(len(domain.attributes))[begin : begin + at_once]
        part, columns = domain.restricted(some), domain.columns_of(some)
        place = np.full(domain.n_columns, -1, dtype=np.int64)
        place[columns] = np.arange(len(columns))
        bounds = LeafBounds.unbounded(len(columns)).only(np.zeros(len(rows), dtype=np.int64))
        found = np.zeros((len(rows), len(part.attributes)), dtype=bool)
        for tree, there in zip(trees, seen, strict=True):
            if timebox.over:
                raise OutOfTimeError
            timebox.spend(_UNITS_PER_ROW * len(rows))
            leaf = bounds.follow(tree, rows, place)
            tested = replace(tree, feature=np.where(tree.feature < 0, -1, place[tree.feature]))
            for a in ordered_tests(tested, part):
                column = part.attributes[a].columns[0]
                extremes = _ValueSpans.of(rows[:, columns[column]].astype(np.float64), leaf, there)
                extremes.narrow(bounds, column)
                found[extremes.held_by, a] = True
        own = np.log2(np.maximum(1.0, bounds.sizes(part)))
        bits += own.sum(axis=1)
        known += np.where(found, own, 0.0).sum(axis=1)
    return Remaining(bits, known)


def remaining_under_rules(
    rules: RuleList, domain: Domain, rows: Rows, captured: IntArray, timebox: TimeBox
) -> Remaining:
    """Return what is left of training rows under a rule list.

    Here the observer knows which rule captured each row. At each bound that a rule tests on an attribute in
    `ordered_tests`, the observer also knows the nearest values below and above it among the rows that no earlier rule
    captured, and one row that holds each of them.

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
    """
    by_column = {domain.attributes[a].columns[0]: a for a in ordered_tests(rules, domain)}
    # No row lies between the nearest values: additional rules exclude these gaps.
    with_gaps: list[ListedRule] = []
    place = np.empty(rules.n_rules, dtype=np.int64)
    holds: dict[int, set[int]] = defaultdict(set)
    for index, rule in enumerate(rules.rules):
        left = np.flatnonzero(captured >= index)
        for literal in rule.literals:
            for bound in (literal.low, literal.high):
                if literal.column in by_column and math.isfinite(bound):
                    gap, at = _gap(rows[left, literal.column].astype(np.float64), bound)
                    for row in left[at].tolist():
                        holds[row].add(literal.column)
                    if gap[0] < gap[1]:
                        with_gaps.append(ListedRule((Literal(literal.column, *gap),), None))
        place[index] = len(with_gaps)
        with_gaps.append(replace(rule, counts=None))
    space = CutDomain.of(RuleList(rules.kind, tuple(with_gaps), rules.columns, rules.n_features, rules.classes), domain)
    bits = np.zeros(rules.n_rules)
    for index in np.unique(captured).tolist():
        found = space.capture(int(place[index]), timebox)
        if not found.exact:
            raise OutOfTimeError
        bits[index] = found.bits
    known, counter = np.zeros(len(rows)), CaseCounter(space.weights, timebox)
    for row, columns in holds.items():
        rule_at = int(place[captured[row]])
        held = {
            by_column[c]: 1 << int(np.searchsorted(space.ends[by_column[c]], float(rows[row, c])))
            for c in sorted(columns)
        }
        free = counter.left({**space.all_pieces, **space.regions[rule_at], **held}, space.regions[:rule_at])
        own = space.others_bits + log2_of(free) - log2_of(counter.weight(held))
        own += sum(log2_of(unit) for a, unit in space.units.items() if a not in held)
        known[row] = bits[captured[row]] - max(0.0, min(own, bits[captured[row]]))
    return Remaining(bits[captured], known)


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


@dataclass(frozen=True, eq=False)
class _ValueSpans:
    """For each row, the least and the greatest value among the rows of its part."""

    seen: BoolArray
    """Shape (n_rows,). The rows that are counted, and to which the spans apply."""
    below: FloatArray
    greatest: FloatArray
    """`below` and `greatest`, shape (n_rows,): all values of the part are above `below` (the next float under the
    least)
    and at most `greatest`.
    """
    held_by: IntArray
    """One row that holds each of these values."""

    @classmethod
    def of(cls, values: FloatArray, part: NDArray[np.integer], seen: BoolArray) -> _ValueSpans:
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

    def narrow(self, bounds: LeafBounds, column: int) -> None:
        """Narrow the bounds of the counted rows to these spans, in place."""
        seen = self.seen
        bounds.low[seen, column] = np.maximum(bounds.low[seen, column], self.below[seen])
        bounds.high[seen, column] = np.minimum(bounds.high[seen, column], self.greatest[seen])
