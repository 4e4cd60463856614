"""Finds one-hot groups whose names do not show it: binary columns that exclude each other more than by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from pytest_draft.arrays import FloatArray
from pytest_draft.domain.attribute import Attribute

UNLIKELY_EXCLUSIVE = 1e-3
"""Binary columns whose names show no one-hot group are taken for one if columns with as many ones each, placed at
random,
would exclude each other with at most this probability, over all pairs of columns, and each of them the others."""


def exclusive_groups(binary: list[int], columns: Sequence[str], rows: FloatArray) -> list[Attribute]:
    """Return one-hot groups among binary columns whose names show none.

    From each column a group is grown by columns that share no row with it, the one with the most ones first. Groups
    with a 1 in every row are taken first, then those that chance explains least.
    """
    if len(binary) < 2:
        return []
    ones = rows[:, binary]
    number = ones.sum(axis=0)
    shared = ones.T @ ones > 0
    most = math.log(UNLIKELY_EXCLUSIVE / len(binary) ** 2)
    found: set[tuple[bool, float, tuple[int, ...]]] = set()
    for first in range(len(binary)):
        group, free = [first], ~shared[first]
        while free.any():
            follower = int(np.argmax(np.where(free, number, -1)))
            group.append(follower)
            free &= ~shared[follower]
        in_every_row = number[group].sum() == len(rows)
        while not in_every_row and len(group) > 1 and _is_chance(number[group], len(rows)):
            group.pop()  # the rarest column, which chance explains
        chance = _chance_of_exclusion(number[group], len(rows))
        if len(group) > 1 and chance <= most:
            found.add((not in_every_row, chance, tuple(sorted(group))))
    attributes: list[Attribute] = []
    taken: set[int] = set()
    for dropped, _, group_found in sorted(found):
        if taken.isdisjoint(group_found):
            taken.update(group_found)
            members = tuple(binary[position] for position in group_found)
            name = f"{columns[members[0]]} {'or' if len(members) == 2 else 'to'} {columns[members[-1]]} (inferred)"
            attributes.append(Attribute(name, "one-hot", members, dropped=dropped))
    return attributes


def _is_chance(number: FloatArray, n_rows: int) -> bool:
    """Return whether the last of some exclusive columns could as well stand there by chance."""
    beside = _chance_of_exclusion(number, n_rows) - _chance_of_exclusion(number[:-1], n_rows)
    return bool(beside > math.log(UNLIKELY_EXCLUSIVE))


def _chance_of_exclusion(number: FloatArray, n_rows: int) -> float:
    """Return the log-probability that columns of so many ones each, placed at random, share no row."""
    placed = gammaln(n_rows - number + 1).sum() - gammaln(n_rows - number.sum() + 1)
    return float(placed - (len(number) - 1) * gammaln(n_rows + 1))
