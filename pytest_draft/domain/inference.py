"""Infers a domain from the columns of the training rows.

One-hot groups whose names do not show it are found too: binary columns that exclude each other more than by chance.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, Rows
from pytest_draft.domain.attribute import MAX_ORDINAL_VALUES, MAX_WHOLE, Attribute
from pytest_draft.domain.domain import Domain
from pytest_draft.errors import DataError, one_line
from pytest_draft.timebox import TimeBox

_SEPARATORS = "_:=.- \t|/[(<>"
_SEPARATOR = re.compile(f"[{re.escape(_SEPARATORS)}]")


def infer(columns: Sequence[str], rows: FloatArray, timebox: TimeBox | None = None) -> Domain:
    """Infer a domain from training rows; other pairs of values than 0 and 1 are no indicators (`data.Indicators`).

    A column of zeros and ones is binary. Binary columns are a one-hot group when exactly one of them is 1 in every row
    and either their names share a prefix that ends in a separator, or chance does not make columns so exclusive
    (`UNLIKELY_EXCLUSIVE`); then also when at most one is 1 in every row, as where the first level was dropped. Of the
    others, a column is ordinal with the values that occur where these are few: one, or whole numbers with at most
    `MAX_ORDINAL_VALUES` values between their bounds, or at most `MAX_ORDINAL_VALUES` different ones that occur twice
    on average. The rest is numeric. Of a column with missing values (NaN) only the others count; without any other it
    is ordinal with the one value 0. It is in no one-hot group.

    Raises
    ------
    DataError
        Where there is no row, or a value is infinite.
    OutOfTimeError
        Where the time box ends before.
    """
    if not len(rows):
        raise DataError("the training data hold no row")
    for index, name in enumerate(columns):
        if infinite := int(np.isinf(rows[:, index]).sum()):
            raise DataError(f"column {one_line(name)!r} has {infinite} infinite values; give finite ones")
    two_valued = (np.isin(rows, (0.0, 1.0)).all(axis=0) & (np.ptp(rows, axis=0) == 1)).tolist()
    binary = [index for index, is_binary in enumerate(two_valued) if is_binary]
    named = _one_hot_groups([(index, columns[index]) for index in binary], rows)
    taken = {index for _, group in named for index in group}
    attributes = [Attribute(name, "one-hot", group) for name, group in named]
    attributes += exclusive_groups([index for index in binary if index not in taken], columns, rows, timebox)
    grouped = {index for attribute in attributes for index in attribute.columns}
    attributes += [_inferred(name, index, rows[:, index]) for index, name in enumerate(columns) if index not in grouped]
    attributes.sort(key=lambda attribute: attribute.columns)
    return Domain(tuple(columns), tuple(attributes), "inferred from the training data")


def _inferred(name: str, index: int, column: FloatArray) -> Attribute:
    """Return the attribute of one column that is in no group."""
    present = column[~np.isnan(column)]
    missing = len(present) < len(column)
    if not len(present):
        return Attribute(name, "ordinal", (index,), 0.0, 0.0, missing)
    book = np.unique(present)
    low, high = float(book[0]), float(book[-1])
    integers_only = bool((book == np.rint(book)).all()) and max(-low, high) <= MAX_WHOLE
    few = len(book) <= min(MAX_ORDINAL_VALUES, max(2, len(present) // 2))
    if few or (integers_only and high - low < MAX_ORDINAL_VALUES):
        return Attribute.coded(name, index, book, missing)
    return Attribute(name, "numeric", (index,), low, high, missing)


def _one_hot_groups(columns: list[tuple[int, str]], rows: FloatArray) -> list[tuple[str, tuple[int, ...]]]:
    """Return (prefix, columns) of one-hot groups that names show: shortest prefixes, so largest groups, first."""
    by_prefix: dict[str, list[int]] = defaultdict(list)
    for index, name in columns:
        for separator in _SEPARATOR.finditer(name):
            if separator.start() > 0 and separator.end() < len(name):
                by_prefix[name[: separator.end()]].append(index)
    taken: set[int] = set()
    groups: list[tuple[str, tuple[int, ...]]] = []
    for prefix in sorted(by_prefix, key=lambda text: (len(text), text)):
        group = [index for index in by_prefix[prefix] if index not in taken]
        if len(group) >= 2 and (rows[:, group].sum(axis=1) == 1).all():
            taken.update(group)
            name = prefix.rstrip(_SEPARATORS) or prefix
            groups.append((prefix if name in {known for known, _ in groups} else name, tuple(group)))
    return groups


UNLIKELY_EXCLUSIVE = 1e-3
"""Binary columns whose names show no one-hot group are taken for one if columns with as many ones each, placed at
random,
would exclude each other with at most this probability, over all pairs of columns, and each of them the others."""

_BLOCK = 4_000_000
"""Values that are multiplied between two looks at the clock."""

_ROUNDING = 2.0**-40
"""Of long sums in double precision, relative."""


def exclusive_groups(
    binary: list[int], columns: Sequence[str], rows: FloatArray, timebox: TimeBox | None = None
) -> list[Attribute]:
    """Return one-hot groups among binary columns whose names show none.

    From each column a group is grown by columns that share no row with it, the one with the most ones first. Groups
    with a 1 in every row are taken first, then those that chance explains least.

    Raises
    ------
    OutOfTimeError
        Where the time box ends before.
    """
    if len(binary) < 2:
        return []
    ones = rows[:, binary].astype(np.float32)  # sums of ones are exact up to 2 ** 24 rows
    number = ones.sum(axis=0, dtype=np.float64)
    order = np.argsort(-number, kind="stable")
    number = number[order]
    apart = [_as_bits(free) for free in _share_no_row(ones[:, order], timebox)]
    most = math.log(UNLIKELY_EXCLUSIVE / len(binary) ** 2)
    found: set[tuple[bool, float, tuple[int, ...]]] = set()
    for first in range(len(binary)):
        if timebox is not None:
            timebox.require()
        group, free = [first], apart[first]
        while free:
            follower = (free & -free).bit_length() - 1
            group.append(follower)
            free &= apart[follower]
        in_every_row = number[group].sum() == len(rows)
        if not in_every_row:
            del group[_unexplained(number[group], len(rows)) :]
        chance = _chance_of_exclusion(number[group], len(rows))
        if len(group) > 1 and chance <= most:
            found.add((not in_every_row, chance, tuple(sorted(order[group].tolist()))))
    attributes: list[Attribute] = []
    taken: set[int] = set()
    for dropped, _, group_found in sorted(found):
        if taken.isdisjoint(group_found):
            taken.update(group_found)
            members = tuple(binary[position] for position in group_found)
            name = f"{columns[members[0]]} {'or' if len(members) == 2 else 'to'} {columns[members[-1]]} (inferred)"
            attributes.append(Attribute(name, "one-hot", members, dropped=dropped))
    return attributes


def _share_no_row(ones: Rows, timebox: TimeBox | None) -> BoolArray:
    """Return which columns of zeros and ones share no row, shape (n_columns, n_columns)."""
    shared = np.zeros((ones.shape[1], ones.shape[1]), dtype=np.float32)
    for block in np.array_split(ones, 1 + ones.size // _BLOCK):
        if timebox is not None:
            timebox.require()
        shared += block.T @ block
    return np.asarray(shared == 0)


def _as_bits(flags: BoolArray) -> int:
    """Return a number whose lowest bit is the first flag."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _unexplained(number: FloatArray, n_rows: int) -> int:
    """Return how many of some exclusive columns are left without the rarest ones, which stand there by chance."""
    placed, total = np.cumsum(gammaln(n_rows - number + 1)), np.cumsum(number)
    chance = placed - gammaln(n_rows - total + 1) - np.arange(len(number)) * gammaln(n_rows + 1)
    beside, rounding = np.diff(chance) - math.log(UNLIKELY_EXCLUSIVE), _ROUNDING * (placed[-1] + abs(chance[-1]) + 1)
    for last in range(len(number) - 1, 0, -1):
        is_chance = beside[last - 1] > 0
        if abs(beside[last - 1]) <= rounding:
            is_chance = _is_chance(number[: last + 1], n_rows)
        if not is_chance:
            return last + 1
    return 1


def _is_chance(number: FloatArray, n_rows: int) -> bool:
    """Return whether the last of some exclusive columns could as well stand there by chance."""
    beside = _chance_of_exclusion(number, n_rows) - _chance_of_exclusion(number[:-1], n_rows)
    return bool(beside > math.log(UNLIKELY_EXCLUSIVE))


def _chance_of_exclusion(number: FloatArray, n_rows: int) -> float:
    """Return the log-probability that columns of so many ones each, placed at random, share no row."""
    placed = gammaln(n_rows - number + 1).sum() - gammaln(n_rows - number.sum() + 1)
    return float(placed - (len(number) - 1) * gammaln(n_rows + 1))
