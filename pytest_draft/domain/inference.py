"""Infers a domain from the columns of the training rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.domain.attribute import MAX_ORDINAL_VALUES, MAX_WHOLE, Attribute
from pytest_draft.domain.domain import Domain
from pytest_draft.domain.exclusive import exclusive_groups
from pytest_draft.errors import DataError, one_line
from pytest_draft.timebox import TimeBox

_SEPARATORS = "_:=.- \t|/[(<>"
_SEPARATOR = re.compile(f"[{re.escape(_SEPARATORS)}]")


def infer(columns: Sequence[str], rows: FloatArray, timebox: TimeBox | None = None) -> Domain:
    """Infer a domain from training rows; other pairs of values than 0 and 1 are no indicators (`indicators.py`).

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
