"""Rare values that a file names: its encoders' categories, its classes, and columns that are named after a value."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, BoolArray, IntArray
from pytest_draft.artifact.encoder import Encoder, OneHot, Ordinal
from pytest_draft.artifact.model import View
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.data import TrainingData
from pytest_draft.data.labels import finder
from pytest_draft.errors import one_line
from pytest_draft.facts.contents import ALONE, CLASSES, COLUMN_NAMES, Rarest

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

_FEWEST_NAMES = 3
"""So many columns of two values whose names begin alike are an encoder's; fewer are flags."""

_BEGINNING = re.compile(r"(?<=.)[\W_](?!_)")
"""Where the beginning of a name can end: ``town_Rome``, ``town=Rome``, ``C(town)[T.Rome]``."""

_OF_FLAGS = re.compile(r"(?:is|has|had|was)[\W_]+|.*__", re.IGNORECASE)
"""Beginnings that flags share as well: verbs, and what a ColumnTransformer puts before all names."""

_OVERLAPS = 5.0
"""Columns never set in one row are of one variable where chance would set two of them in so many rows at least."""


def rarest_categories(
    artifact: View, columns: dict[object, AnyArray], data: TrainingData | None
) -> tuple[list[Rarest], list[str]]:
    """Return, for each list of values that a file names, how many rows have the rarest one that some row has.

    Whole numbers from 0 on are codes of another step, where it is not known which column they are of.

    Parameters
    ----------
    columns : dict of ndarray
        The training data as they were given, by name.
    data : TrainingData or None
        The same as the model sees them, where that is known.
    """
    encoded = _encoded_columns(artifact.encoder)
    found: list[Rarest] = []
    doubts: list[str] = []
    of_encoders = [one for one in artifact.contents.arrays if one.categories and len(one.shape) == 1]
    lists = [(stored.path, tuple(stored.values().tolist())) for stored in of_encoders]
    classes = artifact.model.classes or ()
    if data is not None and classes != tuple(range(len(classes))):
        rarest = int(min(filter(None, np.bincount(data.labels))))
        found.append(Rarest(CLASSES, rarest, rarest))
    for at, known in (*lists, (CLASSES, () if data is not None else classes)) if columns else ():
        path = one_line(at)
        sources = encoded.get(repr(known), set())
        known_to_be_of = sources & set(columns)
        if not sources and known == tuple(range(len(known))):
            continue
        rows = [_rows_by_value(columns[name], known) for name in (known_to_be_of or columns)]
        most = max(len(times) for times in rows)
        if sources and (not most or (data is not None and not data.by_encoder)):
            doubts.append(f"the values of {path} are in no column of the data: give the raw table")
            continue
        if not most:
            if lowest := _rarest_codes(artifact, at, len(known), data):
                found.append(Rarest(path, min(lowest), max(lowest)))
            else:
                what = ALONE if artifact.not_covered is None else "give the raw table"
                doubts.append(f"the values of {path} are in no column of the data: {what}")
            continue
        lowest = [int(times.min()) for times in rows if len(times) == most]
        found.append(Rarest(path, min(lowest), min(lowest) if known_to_be_of else max(lowest)))
    found += (Rarest(path, rows, rows) for path, rows in artifact.contents.counted)
    if (named := _rarest_name(artifact, columns, data)) is not None:
        found.append(Rarest(COLUMN_NAMES, named, named))
    return found, doubts


def _rarest_codes(artifact: View, path: str, n_values: int, data: TrainingData | None) -> list[int]:
    """Return how many rows have the rarest code in each column that can hold the codes of an encoder beside a model.

    It is the column that has the encoder's own key or name. Else it can be any of whole numbers below the number of
    values, of which there are half at least: an encoder may know values of rows that were held back.
    """
    owner, _, attribute = path.rpartition(".")
    does = next((one.does for one in artifact.contents.transformers if one.path == owner), None)
    steps = [step for column in does.columns for step in column.steps] if isinstance(does, Encoder) else []
    are_codes = attribute == "classes_" if does is None else not any(isinstance(step, OneHot) for step in steps)
    if data is None or not are_codes:
        return []
    key = artifact.contents.keys.get(owner)
    name = key if key in data.columns else None
    if isinstance(does, Encoder) and does.names:
        name = does.names[int(attribute[:-1].rpartition("[")[2])]
    tables = [np.unique(column[~np.isnan(column)], return_counts=True) for column in (*data.rows.T, data.labels)]
    if name is not None:
        held = [times for own, (_, times) in zip(data.columns, tables, strict=False) if own == name]
        return [int(times.min()) for times in held if 0 < len(times) <= n_values]
    return [
        int(times.min())
        for codes, times in tables
        if np.isin(codes, np.arange(n_values)).all() and 2 * len(codes) >= n_values
    ]


def _rarest_name(artifact: View, columns: dict[object, AnyArray], data: TrainingData | None) -> int | None:
    """Return how many rows have the rarest value that a column in the file is named after; None where none is."""
    model, held = artifact.model, {str(name): column for name, column in columns.items()}
    if data is not None and not data.by_encoder:
        held |= dict(zip(data.columns, data.rows.T, strict=True))
    own = model.columns if isinstance(model, RuleList) else model.feature_names
    lists = (*artifact.contents.names, *artifact.account.names, own or ())
    named = {name for names in lists for name in names if name in held}
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name in named:
        if _set_in(held[name]) is not None:
            for match in _BEGINNING.finditer(name):
                alike[name[: match.end()]].append(name)
    rows = [_rarest_of(beginning, {name: held[name] for name in names}) for beginning, names in alike.items()]
    return min((one for one in rows if one), default=None)


def _rarest_of(beginning: str, columns: Mapping[str, AnyArray]) -> int:
    """Return how many rows have the rarest value that columns are named after; 0 where these are flags."""
    together, times = np.zeros(len(next(iter(columns.values()))), dtype=np.int64), []
    for column in columns.values():
        if (those := _set_in(column)) is not None:
            together += those
            times.append(int(those.sum()))
    by_chance = (sum(times) ** 2 - sum(one**2 for one in times)) / (2 * len(together))
    of_one_variable = together.max() <= 1 and (by_chance >= _OVERLAPS or together.min() == 1)
    ends = {name.removeprefix(beginning) for name in columns}
    numbered = [{*map(str, range(first, first + len(ends)))} for first in (0, 1)]
    flags = len(ends) < _FEWEST_NAMES or ends in numbered or _OF_FLAGS.fullmatch(beginning)
    return min((one for one in times if one), default=0) if of_one_variable or not flags else 0


def _set_in(column: AnyArray) -> BoolArray | None:
    """Return in which rows a column of two values, scaled or not, has the greater one; None for any other column."""
    missing = pd.isna(column)
    if column.dtype.kind not in "biuf" or missing.all():
        return None
    low, high = column[~missing].min(), column[~missing].max()
    found: BoolArray = (column == high) & (high != low)
    return found if (found | (column == low) | missing).all() and (high != low or not low) else None


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
