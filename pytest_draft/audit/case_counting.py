"""Counts vectors by cases: how many vectors of a region no rule matches.

It takes an attribute, splits its values by the rules that they meet, and counts each part by itself; rules that share
no attribute are counted apart, and what was counted once is kept. No method can be quick on all rules, since this is
counting the solutions of a formula (#P-hard; the paper's "polynomial time" holds for trees only); so there is a time
box.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping

from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox

_UNITS_PER_CASE = 2e-5
"""Measured: one step of `CaseCounter`."""

Region = dict[int, int]
"""Sets of pieces, as bits, by attribute; an attribute that is left out is not restricted."""

Asks = frozenset[tuple[int, int]]
Asked = frozenset[Asks]
"""What is asked for beyond what is given: (attribute, pieces) pairs, rule by rule."""


class CaseCounter:
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
            total *= weight_of(self._weights[attribute], pieces)
        return total

    def left(self, region: Region, rules: tuple[Region, ...]) -> int:
        """Return how many vectors of a region no rule meets."""
        asked = self._restricted(region, rules)
        return self.weight({a: region[a] for a in region.keys() - _attributes(asked)}) * self._left(asked)

    def held(self, region: Region, attribute: int, rules: tuple[Region, ...]) -> int:
        """Return the pieces of an attribute that some vector has which no rule meets."""
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
                total += weight_of(self._weights[chosen], pieces) * gone * count
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


def weight_of(weights: tuple[int, ...], pieces: int) -> int:
    """Return the sum of the weights of some pieces."""
    return sum(weights[piece] for piece in _bits(pieces))
