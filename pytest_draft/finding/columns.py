"""What a column of a model can have been made from: candidates of each raw column, one for each usual encoding.

Only the order of a candidate's values matters, because a tree compares values with thresholds
(`pytest_draft.finding.walk`). Scalers, logs and other functions that keep the order are found afterwards
(`pytest_draft.finding.scaling`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.data.tables import plain
from pytest_draft.finding.orders import dates_in

__tracebackhide__ = True  # frames here hold rows

_MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none", "-", "unknown?"))
_MOST_CODES, _MOST_INDICATORS, _MOST_PERMUTED, _FEW = 1_000, 60, 5, 12
_MOST_ZEROS = 0.6
"""Most of a column's values that can be zeros in place of gaps."""

_MOST_PAIRED = 9
"""Number columns of which each pair is added, subtracted, multiplied and divided."""


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """A column that could be one of the model's. Its repr shows no value."""

    words: str
    """How it was made; never a value or a category."""
    source: str
    """The raw column."""
    values: AnyArray
    """Shape (n_table,). NaN where it has none."""
    tag: str = ""
    """What a model may call such a column, alone or behind the raw column's name: the category of an indicator, or the
    part of a date. Never shown.
    """
    extra: bool = False
    """Whether it is tried only where no simpler candidate fits."""

    def __repr__(self) -> str:
        return f"Candidate({self.source!r}, {self.words!r})"


def tidied(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are numeric if they hold numbers and, besides, only words for a missing value."""
    made = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object or isinstance(column.dtype, (pd.CategoricalDtype, pd.StringDtype)):
            column = column.astype(object)
            texts = column.map(lambda value: isinstance(value, str) and value.strip().lower() in _MISSING)
            present = column.notna() & ~texts.astype(bool)
            numbers = pd.to_numeric(column, errors="coerce")
            if present.any() and numbers.notna().sum() == present.sum():
                column = numbers
        made[name] = column
    return pd.DataFrame(made, index=frame.index)


def candidates_of(
    frame: pd.DataFrame, kept: IntArray, labels: IntArray | None, in_time: Callable[[], None], *, extra: bool
) -> list[Candidate]:
    """Return the candidates of a table that need no split; those that do are `of_training`.

    Constant columns are left out, and so are repeated ones, unless they have a tag that a name can ask for.

    Parameters
    ----------
    frame : pandas.DataFrame
        Tidied, without the label column.
    kept : ndarray of int64, shape (n_kept,)
        Positions of the rows that a cleaning kept. A script that fills gaps before it splits uses these.
    labels : ndarray of int64, shape (n_table,), or None
        Each row's class; gaps can have been filled by class.
    in_time : callable
        Called at each candidate; it can raise `OutOfTimeError`.
    extra : bool
        Whether to add less usual candidates.
    """
    found, seen = list[Candidate](), set[bytes]()
    for one in _made(frame, kept, labels, extra=extra):
        in_time()
        values = np.asarray(one.values, dtype=np.float64)
        finite = values[kept]
        finite = finite[np.isfinite(finite)]
        if len(finite) and finite.min() < finite.max() and (one.tag or values.tobytes() not in seen):
            seen.add(values.tobytes())
            found.append(replace(one, values=values))
    return found


def _made(frame: pd.DataFrame, kept: IntArray, labels: IntArray | None, *, extra: bool) -> Iterator[Candidate]:
    for name in map(str, frame.columns):
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column):
            yield from _dates(name, column)
        elif pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            yield from _numbers(name, column.to_numpy(dtype=np.float64, na_value=np.nan), kept, extra=extra)
        else:
            texts = column.map(lambda value: None if pd.isna(value) else str(value))
            yield from _codes(name, texts, kept)
            if extra or texts.nunique() > _MOST_INDICATORS:
                yield from _parts(name, texts.fillna(""))
                yield from _dates(name, column)
    if extra:
        yield from _pairs(frame)
        yield from _by_group(frame, kept, labels)


def of_training(frame: pd.DataFrame, taken: IntArray, *, extra: bool) -> list[Candidate]:
    """Return the candidates of a script that splits first, and fills gaps by what the training rows have."""
    return [
        candidate
        for name, values in _number_columns(frame).items()
        for candidate in _all_filled(name, values, taken, "the training rows", extra=extra)
    ]


def _number_columns(frame: pd.DataFrame) -> dict[str, FloatArray]:
    """Return the columns of numbers, by name."""
    names = [name for name in map(str, frame.columns) if pd.api.types.is_numeric_dtype(frame[name])]
    return {name: frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in names}


def _numbers(name: str, values: FloatArray, kept: IntArray, *, extra: bool) -> Iterator[Candidate]:
    gap = np.isnan(values)
    yield Candidate("", name, values)
    yield from _all_filled(name, values, kept, "all rows", extra=extra)
    if len(kept) < len(values):
        yield from _all_filled(name, values, np.arange(len(values)), "the whole table", extra=extra)
    if gap.any():
        yield Candidate("whether it is missing", name, gap.astype(float), "missing", extra=True)
        for fill in (0.0, -1.0, -999.0):
            yield Candidate(f"gaps filled by {fill:g}", name, np.where(gap, fill, values))
    different = np.unique(values[~gap])
    if 2 < len(different) <= _MOST_INDICATORS:
        few = len(different) <= _FEW
        for one in different:
            yield Candidate("indicator", name, (values == one).astype(float), plain(f"{one:g}"), not few)
    if extra:
        yield Candidate("whether it is 0", name, (values == 0).astype(float), extra=True)
        yield Candidate("its size", name, np.abs(values), extra=True)
        yield Candidate("taken from a number", name, -values, extra=True)
        yield Candidate("its whole part", name, np.floor(values), extra=True)


def _all_filled(name: str, values: FloatArray, rows: IntArray, whose: str, *, extra: bool) -> Iterator[Candidate]:
    """Yield a column with its gaps filled by what some rows have, and with its zeros as gaps."""
    zero = values == 0
    for what, gap in (("gaps", np.isnan(values)), ("zeros", zero)):
        if not gap.any() or (what == "zeros" and not (extra and zero.mean() < _MOST_ZEROS and np.nanmin(values) == 0)):
            continue
        held = values[rows][~gap[rows] & ~np.isnan(values[rows])]
        if not len(held):
            continue
        numbers, times = np.unique(held, return_counts=True)
        fills = {"median": np.median(held), "mean": held.mean(), "mode": numbers[times.argmax()]}
        if what == "zeros":
            fills["mean with the zeros"] = np.nanmean(values[rows])
            fills["median with the zeros"] = np.nanmedian(values[rows])
        for kind, fill in fills.items():
            yield Candidate(f"{what} filled by the {kind} of {whose}", name, np.where(gap, fill, values))


def _by_group(frame: pd.DataFrame, kept: IntArray, labels: IntArray | None) -> Iterator[Candidate]:
    """Yield columns whose gaps, or zeros, are filled by what others of the same group have."""
    groups = {} if labels is None else {"its class": labels}
    for name in map(str, frame.columns):
        codes, different = pd.factorize(frame[name])
        if 2 <= len(different) <= _MOST_INDICATORS:
            groups[f"its {name!r}"] = codes.astype(np.int64)
    for name, values in _number_columns(frame).items():
        for what, gap in (("gaps", np.isnan(values)), ("zeros", values == 0)):
            if not gap.any() or gap.mean() > _MOST_ZEROS or len(np.unique(values)) < _FEW:
                continue
            held = pd.Series(np.where(gap, np.nan, values))
            for (group, codes), kind, rows in product(groups.items(), ("median", "mean"), (kept, np.arange(len(gap)))):
                of_group = held[rows].groupby(codes[rows]).agg(kind)
                filled = np.where(gap, of_group.reindex(codes).to_numpy(dtype=np.float64), values)
                yield Candidate(f"{what} filled by the {kind} of {group}", name, filled, extra=True)


def _codes(name: str, texts: pd.Series[Any], kept: IntArray) -> Iterator[Candidate]:
    """Yield numbers and indicators in place of texts."""
    values = sorted(texts.iloc[kept].dropna().unique())
    if not values or len(values) > _MOST_CODES:
        return
    code = texts.map({value: number for number, value in enumerate(values)}).fillna(-1).to_numpy(dtype=np.int64)
    times = np.bincount(code[kept] + 1, minlength=len(values) + 1)
    fills: list[tuple[str, str | None]] = [("", None)]
    if times[0]:
        yield Candidate("whether it is missing", name, (code < 0).astype(float), "nan")
        fills += [(", gaps filled by the mode", values[int(times[1:].argmax())])]
        fills += [(f", gaps as {value!r}", value) for value in ("nan", "Unknown", "Missing")]
    for words, fill in fills:
        own = sorted({*values, fill} - {None})
        place = np.array([*map(own.index, values), -1 if fill is None else own.index(fill)])
        whole = place[code]  # the last stands for gaps
        seen = whole[kept][whole[kept] >= 0]
        orders: dict[str, Iterable[Sequence[int]]] = {"codes in order": [range(len(own))]}
        if len(own) == 2:
            orders["codes in reverse"] = [(1, 0)]
        elif len(own) <= _MOST_PERMUTED:
            orders["codes in some order"] = permutations(range(len(own)))
        else:
            _, first = np.unique(seen, return_index=True)
            by_times = np.argsort(-np.bincount(seen, minlength=len(own)), kind="stable")
            orders["codes by first appearance"] = [seen[np.sort(first)].tolist()]
            orders["codes by frequency"] = [by_times.tolist(), by_times[::-1].tolist()]
        for kind, several in orders.items():
            for order in several:
                number = np.full(len(own) + 1, np.nan)
                number[list(order)] = np.arange(len(order))
                yield Candidate(kind + words, name, number[whole])
        if len(own) <= _MOST_INDICATORS:
            for at, value in enumerate(own):
                yield Candidate("indicator" + words, name, (whole == at).astype(float), plain(value) or value)


def _pairs(frame: pd.DataFrame) -> Iterator[Candidate]:
    """Yield what scripts make of two columns of numbers."""
    columns = _number_columns(frame)
    for (first, a), (second, b) in combinations(columns.items(), 2) if len(columns) <= _MOST_PAIRED else ():
        with np.errstate(all="ignore"):
            both = {
                "sum with": a + b,
                "whether 0 in sum with": (a + b == 0).astype(float),
                "difference to": a - b,
                "product with": a * b,
                "ratio to": np.where(b == 0, np.nan, a / b),
                "inverse ratio to": np.where(a == 0, np.nan, b / a),
                "ratio to 1 and": np.where(b == -1, np.nan, a / (b + 1)),
                "inverse ratio, and 1, to": np.where(a == -1, np.nan, b / (a + 1)),
            }
        yield from (Candidate(f"{words} {second!r}", first, values, extra=True) for words, values in both.items())


def _parts(name: str, texts: pd.Series[Any]) -> Iterator[Candidate]:
    """Yield what scripts take out of texts."""
    number = texts.str.replace(",", "", regex=False).str.extract(r"(-?\d+\.?\d*)", expand=False)
    yield Candidate("the number in it", name, pd.to_numeric(number, errors="coerce").to_numpy(dtype=np.float64))
    yield Candidate("its length", name, texts.str.len().to_numpy(dtype=np.float64), extra=True)
    yield Candidate("its number of words", name, texts.str.count(" ").to_numpy(dtype=np.float64), extra=True)
    takes: dict[str, Callable[[str], str]] = {
        "first letter": lambda text: text[:1],
        "first word": lambda text: text.split(" ")[0],
        "title": lambda text: text.split(",")[1].split(".")[0].strip() if "," in text else "",
    }
    for words, take in takes.items():
        part = texts.map(take)
        values = sorted(part.unique())
        if 1 < len(values) <= _MOST_INDICATORS:
            code = {value: float(index) for index, value in enumerate(values)}
            yield Candidate(f"{words}, codes in order", name, part.map(code).to_numpy(dtype=np.float64), extra=True)
            for value in values:
                yield Candidate(
                    f"{words}, indicator", name, (part == value).to_numpy().astype(float), plain(value), True
                )


def _dates(name: str, column: pd.Series[Any]) -> Iterator[Candidate]:
    if not pd.api.types.is_datetime64_any_dtype(column):
        for dates in dates_in(column):
            yield from _dates(name, dates)
        return
    parts = column.dt
    for words, part in (
        ("time", (column - pd.Timestamp(0)).dt.total_seconds()),
        ("year", parts.year),
        ("month", parts.month),
        ("day", parts.day),
        ("weekday", parts.dayofweek),
        ("hour", parts.hour),
        ("week", parts.isocalendar().week),
        ("day of the year", parts.dayofyear),
        ("quarter", parts.quarter),
    ):
        values: AnyArray = part.to_numpy(dtype=np.float64, na_value=np.nan)
        yield Candidate(words, name, values, words)
    weekend = (parts.dayofweek >= 5).to_numpy().astype(float)
    yield Candidate("whether it is a weekend", name, weekend, "weekend", extra=True)


def allowed(
    names: Sequence[str] | None, n_columns: int, candidates: Sequence[Candidate], raw: Sequence[str]
) -> BoolArray:
    """Return which candidates are tried first for each column of a model, shape (n_columns, n_candidates).

    Columns with names by these; others by position, if only a few of the table's columns were left out; else all.

    Parameters
    ----------
    names : sequence of str, length n_columns, or None
        Of the model's columns.
    raw : sequence of str
        The table's columns in their order, without the label.
    """
    source = np.array([one.source for one in candidates])
    tag = np.array([one.tag for one in candidates], dtype=object)
    simple = ~np.array([one.extra for one in candidates], dtype=bool)
    tried = np.zeros((n_columns, len(candidates)), dtype=np.bool_)
    by_plain = {plain(one): one for one in raw}
    for column in range(n_columns):
        name = plain(names[column]) if names is not None else ""
        if name in by_plain:
            own = source == by_plain[name]
            tried[column] = own & (tag == "")
        elif name and (of_tag := tag == name).any():
            tried[column] = of_tag
        elif name:
            begins = sorted((one for one in by_plain if one and name.startswith(one)), key=len, reverse=True)
            for begin in begins:
                own = source == by_plain[begin]
                of_tag = own & (tag == name[len(begin) :])
                if of_tag.any():
                    tried[column] = of_tag
                    break
            else:
                inside = [one for one in by_plain if len(one) > 2 and (one in name or name in one)]
                tried[column] = np.isin(source, [by_plain[one] for one in inside])
        left_out = len(raw) - n_columns
        if names is None and 0 <= left_out <= 8:
            tried[column] = simple & np.isin(source, raw[column : column + left_out + 1])
        if not tried[column].any():
            tried[column] = True
    return tried
