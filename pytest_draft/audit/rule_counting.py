"""How many feature vectors each rule of a list captures: a `Capture` each.

Who is captured by a rule has met no earlier one, which ties attributes together: unlike a leaf of a tree, it is no
product of sets. The paper (Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models, SaTML 2024)
counts by the recursion of equations 12 to 15, that is by inclusion and exclusion; it has a term for each set of rules
that can hold together, up to 2^rules of them. `captures` counts the same number by cases instead
(`pytest_draft.audit.case_counting`). There is a time box, and no number where it ends.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.audit.case_counting import CaseCounter, Region, weight_of
from pytest_draft.audit.leaf_counting import NUMERIC_VALUES, attribute_size
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import NotCoveredError, OutOfTimeError, one_line
from pytest_draft.facts.rules import Literal
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class Capture:
    """What a row can be that one rule of a list captures."""

    bits: float
    """log2 of the number of vectors; minus infinity where there is none."""
    exact: bool
    """Whether that is the number; else the time was out, and it is an upper bound."""
    sizes: tuple[float, ...] | None
    """How many values of each attribute are among those vectors; None where the time was out."""


def captures(rules: RuleList, domain: Domain, timebox: TimeBox) -> tuple[Capture, ...]:
    """Count what each rule of a list captures: ``Capt_RL`` of equation 12.

    Parameters
    ----------
    rules : RuleList
        Of the domain's columns (`RuleList.resolved`).
    domain : Domain
        Without missing values.

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
    space = CutDomain.of(rules, domain)
    return tuple(space.capture(index, timebox) for index in range(rules.n_rules))


@dataclass(frozen=True, eq=False)
class CutDomain:
    """A domain cut into pieces that no test of a rule list divides."""

    weights: Mapping[int, tuple[int, ...]]
    """By attribute that is tested: how many values each piece holds; of a numeric one, how many units."""
    units: Mapping[int, Fraction]
    """By numeric attribute that is tested: how many values a unit is."""
    others: Mapping[int, int]
    """How many values each other attribute has."""
    regions: tuple[Region, ...]
    """The pieces that each rule allows."""
    ends: Mapping[int, FloatArray]
    """By attribute that is tested, but for one-hot groups: the greatest value of each piece, ascending."""

    @classmethod
    def of(cls, rules: RuleList, domain: Domain) -> CutDomain:
        """Cut a domain at all tests of a rule list."""
        owner = domain.attribute_of_column.tolist()
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
            {a: attribute_size(attribute) for a, attribute in enumerate(domain.attributes) if a not in pieces},
            tuple(regions),
            {a: found.encoded[:, 0] for a, found in pieces.items() if domain.attributes[a].kind != "one-hot"},
        )

    @property
    def others_bits(self) -> float:
        """log2 of the number of vectors of the attributes that are not tested."""
        return sum(math.log2(size) for size in self.others.values())

    @cached_property
    def all_pieces(self) -> Region:
        """All pieces of the attributes that are tested."""
        return {a: (1 << len(weights)) - 1 for a, weights in self.weights.items()}

    def capture(self, index: int, timebox: TimeBox) -> Capture:
        """Count what one rule captures."""
        region = {**self.all_pieces, **self.regions[index]}
        most = self.others_bits + sum(log2_of(self.size(a, pieces)) for a, pieces in region.items())
        if most == -math.inf:
            return Capture(-math.inf, True, (0.0,) * (len(self.weights) + len(self.others)))
        counter = CaseCounter(self.weights, timebox)
        try:
            left = counter.left(region, self.regions[:index])
            if not left:
                return Capture(-math.inf, True, (0.0,) * (len(self.weights) + len(self.others)))
        except (OutOfTimeError, RecursionError):
            return Capture(most, False, None)
        bits = self.others_bits + log2_of(left)
        try:
            held = {a: counter.held(region, a, self.regions[:index]) for a in region}
        except (OutOfTimeError, RecursionError):
            return Capture(most, False, None) if self.units else Capture(bits, True, None)
        for a in self.units:
            bits += log2_of(self.size(a, held[a])) - log2_of(weight_of(self.weights[a], held[a]))
        sizes = {**{a: self.size(a, pieces) for a, pieces in held.items()}, **self.others}
        return Capture(min(most, bits), True, tuple(float(sizes[a]) for a in sorted(sizes)))

    def size(self, attribute: int, pieces: int) -> int | Fraction:
        """Return how many values some pieces of an attribute hold; of a numeric one at least one, if any."""
        weight = weight_of(self.weights[attribute], pieces)
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


def log2_of(number: int | Fraction) -> float:
    """Return log2 of a number of any size; minus infinity of 0."""
    if not number:
        return -math.inf
    exact = Fraction(number)
    return math.log2(exact.numerator) - math.log2(exact.denominator)
