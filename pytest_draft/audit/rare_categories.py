"""Rare values that a file names: how few rows have one of its encoders' categories."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, IntArray
from pytest_draft.artifact.contents import Contents
from pytest_draft.artifact.encoder import Encoder, OneHot, Ordinal
from pytest_draft.data.known import finder
from pytest_draft.errors import one_line
from pytest_draft.facts.contents import Rarest

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


def rarest_categories(
    contents: Contents, columns: dict[object, AnyArray], encoder: Encoder | None, *, encoded_already: bool
) -> tuple[list[Rarest], list[str]]:
    """Return, for the values that each encoder knows, how many rows have the rarest one that some row has.

    Whole numbers from 0 on are codes of another step, where it is not known which column they are of.
    """
    encoded = _encoded_columns(encoder)
    found: list[Rarest] = []
    doubts: list[str] = []
    for stored in contents.arrays:
        if not (stored.categories and len(stored.shape) == 1 and columns):
            continue
        known = tuple(stored.values().tolist())
        sources = encoded.get(repr(known), set())
        known_to_be_of = sources & set(columns)
        if not sources and known == tuple(range(len(known))):
            continue
        rows = [_rows_by_value(columns[name], known) for name in (known_to_be_of or columns)]
        most = max(len(times) for times in rows)
        if not most or (sources and encoded_already):
            doubts.append(f"the values of {one_line(stored.path)} are in no column of the data: give the raw table")
            continue
        lowest = [int(times.min()) for times in rows if len(times) == most]
        found.append(Rarest(one_line(stored.path), min(lowest), min(lowest) if known_to_be_of else max(lowest)))
    return found, doubts


def _encoded_columns(encoder: Encoder | None) -> dict[str, set[object]]:
    """Return the raw columns that known values are of, where that is known."""
    found: dict[str, set[object]] = {}
    for column in encoder.columns if encoder is not None else ():
        for step in column.steps:
            if isinstance(step, (OneHot, Ordinal)) and encoder is not None:
                found.setdefault(repr(step.categories.values), set()).add(encoder.name(column.source))
    return found


def _rows_by_value(column: AnyArray, known: tuple[object, ...]) -> IntArray:
    """Return how many rows have each known value that some row has."""
    position_of = finder(known)
    codes, distinct = pd.factorize(column)
    positions = np.array([*(position_of(value) for value in distinct), -1], dtype=np.int64)[codes]
    times: IntArray = np.bincount(positions[positions >= 0], minlength=1)
    return times[times > 0]
