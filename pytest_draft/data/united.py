"""Several tables of some of the same people as one: whose row is whose, and what all of them say of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, FloatArray, IntArray, Rows
from pytest_draft.data.labels import finder
from pytest_draft.data.training import TrainingData
from pytest_draft.errors import DataError, listed

__tracebackhide__ = True  # frames here hold rows

_ALIKE = 0.5
"""Where a smaller share agrees, columns of one name, labels or people are taken for different ones."""

_GIVE_ID = "name a column that says whose row is whose (--draft-id)"

Keys = Sequence[Hashable]


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """One table, and what else says whose rows these are. Its repr shows no row."""

    name: str
    """Of its file, for messages."""
    data: TrainingData
    classes: tuple[object, ...] | None
    """That its labels stand for; None of numbers."""
    raw: pd.DataFrame
    """What the model's columns were made of, row by row."""
    encode: Callable[[pd.DataFrame], Rows] | None = None
    """Makes the model's columns of such rows; None where they are given so."""
    identifiers: AnyArray | None = None
    """Shape (n_rows,). Whose each row is."""


@dataclass(frozen=True, eq=False, repr=False)
class United:
    """All people of several tables. Its repr shows no row."""

    data: TrainingData
    """A row for each person; whoever was changed is there twice."""
    classes: tuple[object, ...] | None
    """Of all tables; None of numbers, and where they are of different things."""
    rows: tuple[IntArray, ...]
    columns: tuple[IntArray, ...]
    codes: tuple[IntArray | None, ...]
    """`rows`, `columns` and `codes`: where those of each table, and its classes, are among all, shape (n_own,)."""
    person: IntArray
    """Shape (n_rows,). Whose each row is."""
    labels_differ: bool
    """Whether the tables tell different labels of the same people, so that none are in `data`."""
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why nothing passes by this."""

    def __repr__(self) -> str:
        return f"United({self.data!r})"


def united(tables: Sequence[Known]) -> United:
    """Return the rows of several tables, each person's once.

    Rows are the same person's by an identifier, else by their values before they were encoded. Of a person whose values
    or label were changed there are two rows.

    Raises
    ------
    DataError
        Where only some tables have identifiers.
    """
    if len({one.identifiers is None for one in tables}) > 1:
        raise DataError("only some of the tables have the column that says whose row is whose: give it in all of them")
    values, odd = _values(tables)
    whose = [
        held if one.identifiers is None else _ids(one.identifiers) for one, held in zip(tables, values, strict=True)
    ]
    classes, codes = _classes(tables)
    answers = _answers(tables, codes)
    places, differ = _places(whose, values, answers), answers is None
    if answers is not None:
        loose = _places(whose, values, None)
        if differ := _shared(places) < _ALIKE * _shared(loose):
            answers, classes, codes, places = None, None, (None,) * len(tables), loose
    table = _Table(1 + max(max(own) for own in places))
    columns = [table.with_columns(one, own) for one, own in zip(tables, places, strict=True)]
    table.fill(tables, places, columns)
    said = np.zeros(len(table.rows))
    for own, answer in zip(places, answers or (), strict=answers is not None):
        said[own] = answer
    numbers = answers is not None and classes is None
    person, number = np.arange(len(said)), dict[Hashable, int]()
    for own, ids in zip(places, whose, strict=True) if tables[0].identifiers is not None else ():
        person[own] = [number.setdefault(one, len(number)) for one in ids]
    data = replace(
        tables[0].data,
        rows=table.rows,
        labels=np.zeros(len(said), np.int64) if numbers else said.astype(np.int64),
        columns=tuple(table.names),
        targets=said if numbers else None,
    )
    return United(
        data,
        classes,
        tuple(np.array(own, dtype=np.int64) for own in places),
        tuple(columns),
        codes,
        person,
        differ,
        _notes(tables, places, differ),
        (*_doubts(tables, values, odd, places, answers, person), *table.doubts()),
    )


@dataclass(eq=False, repr=False)
class _Table:
    """The rows of all people while they are put together. Its repr shows none."""

    n_rows: int
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = np.empty((self.n_rows, 0), dtype=np.float32)
        self.known = np.empty((self.n_rows, 0), dtype=np.bool_)

    def with_columns(self, one: Known, own: Sequence[int]) -> IntArray:
        """Add the columns of a table, and return where they are: one that says otherwise of somebody is another one."""
        found = []
        for name, column in zip(one.data.columns, one.data.rows.T, strict=True):
            variants = [at for at, there in enumerate(self.names) if there == name or there.startswith(f"{name} (of ")]
            at = next((at for at in variants if self._agrees(at, own, column)), len(self.names))
            if at == len(self.names):
                self.names.append(f"{name} (of {one.name})" if variants else name)
                self.rows = np.column_stack([self.rows, np.full(self.n_rows, np.nan, np.float32)])
                self.known = np.column_stack([self.known, np.zeros(self.n_rows, np.bool_)])
            self.rows[own, at], self.known[own, at] = column, True
            found.append(at)
        return np.array(found, dtype=np.int64)

    def _agrees(self, at: int, own: Sequence[int], column: Rows) -> bool:
        both = self.known[own, at]
        return np.array_equal(self.rows[own, at][both], column[both], equal_nan=True)

    def fill(self, tables: Sequence[Known], places: Sequence[Sequence[int]], columns: Sequence[IntArray]) -> None:
        """Fill in what the columns of a file are of people who are only in other tables, where all tables are raw."""
        if self.known.all() or len({tuple(one.raw.columns) for one in tables}) > 1:
            return
        everyone = pd.concat([one.raw for one in tables], ignore_index=True)
        _, first = np.unique(np.concatenate([np.array(own) for own in places]), return_index=True)
        for one, mine in zip(tables, columns, strict=True):
            if one.encode is not None:
                with suppress(DataError):  # such as a category that this file has not seen
                    self.rows[:, mine] = np.where(
                        self.known[:, mine], self.rows[:, mine], one.encode(everyone.iloc[first])
                    )
                    self.known[:, mine] = True

    def doubts(self) -> list[str]:
        """Say so where something of somebody is not known."""
        if self.known.all():
            return []
        number = int((~self.known.all(axis=1)).sum())
        columns = listed([self.names[column] for column in np.flatnonzero(~self.known.all(axis=0)).tolist()])
        return [f"{columns}: not known of {number:,} people, who are only in tables without it"]


def _values(tables: Sequence[Known]) -> tuple[list[Keys], list[str]]:
    """Return what each row holds of the columns that all tables have, and columns that can not be the same thing."""
    shared = [name for name in tables[0].raw.columns if all(name in one.raw.columns for one in tables)]
    odd, kept = list[str](), [list[list[Hashable]]() for _ in tables]
    for name in shared:
        by_table = [_comparable(one.raw[name]) for one in tables]
        first = set(by_table[0])
        if any(len(first & set(held)) < _ALIKE * min(len(first), len(set(held))) for held in by_table):
            odd.append(str(name))
            continue
        for all_of_table, held in zip(kept, by_table, strict=True):
            all_of_table.append(held)
    odd += [str(name) for one in tables for name in one.raw.columns if name not in shared]
    return [
        list(zip(*held, strict=True)) if held else [()] * one.data.n_rows
        for one, held in zip(tables, kept, strict=True)
    ], list(dict.fromkeys(odd))


def _comparable(column: pd.Series[Any]) -> list[Hashable]:
    """Return values that are equal where they are written otherwise: numbers in single precision, else texts."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if (np.isnan(numbers) == column.isna().to_numpy()).all():
        single = (numbers.astype(np.float32) + np.float32(0)).tolist()
        return [None if np.isnan(number) else number for number in single]
    return [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]


def _ids(column: AnyArray) -> list[Hashable]:
    """Return identifiers that are equal where they are written otherwise."""
    whole = (int(one) if isinstance(one, float) and one.is_integer() else one for one in column)
    return [str(one).strip().casefold() for one in whole]


def _classes(tables: Sequence[Known]) -> tuple[tuple[object, ...] | None, tuple[IntArray | None, ...]]:
    """Return all classes, and where those of each table are among them; None where some table's labels are numbers."""
    classes, codes = list[object](), list[IntArray | None]()
    for one in tables:
        if one.classes is None:
            return None, (None,) * len(tables)
        find = finder(tuple(classes))
        classes += [label for label in one.classes if find(label) < 0]
        find = finder(tuple(classes))
        codes.append(np.array([find(label) for label in one.classes], dtype=np.int64))
    return tuple(classes), tuple(codes)


def _answers(tables: Sequence[Known], codes: Sequence[IntArray | None]) -> list[FloatArray] | None:
    """Return what each row was labelled with, in what is the same in all tables; None where nothing is."""
    found = []
    for one, code in zip(tables, codes, strict=True):
        answers = one.data.targets if code is None else code[one.data.labels].astype(np.float64)
        if answers is None or (code is None and one.classes is not None):
            return None
        found.append(answers)
    return found


def _places(whose: Sequence[Keys], values: Sequence[Keys], answers: Sequence[FloatArray] | None) -> list[list[int]]:
    """Return where the rows of each table are among all: one place for each person and what is held of them."""
    of_key: dict[Hashable, list[int]] = defaultdict(list)
    found, n_rows = list[list[int]](), 0
    for k, (ids, held) in enumerate(zip(whose, values, strict=True)):
        said = [0.0] * len(held) if answers is None else answers[k].tolist()
        own, times = list[int](), Counter[Hashable]()
        for key in zip(ids, held, said, strict=True):
            if times[key] == len(of_key[key]):
                of_key[key].append(n_rows)
                n_rows += 1
            own.append(of_key[key][times[key]])
            times[key] += 1
        found.append(own)
    return found


def _shared(places: Sequence[Sequence[Hashable]]) -> int:
    """Return in how many more tables than one they are, all together."""
    return sum(map(len, places)) - len({place for own in places for place in own})


def _notes(tables: Sequence[Known], places: Sequence[Sequence[int]], differ: bool) -> tuple[str, ...]:
    """Return how people were matched, and how many are in which tables."""
    how = "their values" if tables[0].identifiers is None else "the column that says whose row is whose"
    times = Counter(Counter(place for own in places for place in own).values())
    number = listed(
        [f"{n:,} in {f'all {k}' if k == len(tables) else f'{k} of {len(tables)}'}" for k, n in sorted(times.items())]
    )
    said = [
        f"granted to the adversary: whose row is whose in {listed(sorted(one.name for one in tables))}",
        f"the rows of {len(tables)} tables were matched by {how}: {number}",
    ]
    if differ:
        said.append("the files tell different labels of the same people: what is told of these is judged file by file")
    return tuple(said)


def _doubts(
    tables: Sequence[Known],
    values: Sequence[Keys],
    odd: Sequence[str],
    places: Sequence[Sequence[int]],
    answers: Sequence[FloatArray] | None,
    person: IntArray,
) -> list[str]:
    """Return why it is not sure whose rows are whose."""
    doubts = list[str]()
    if tables[0].identifiers is not None:
        same_people = _shared([list(set(person[own].tolist())) for own in places])
        if same_people < _ALIKE * _shared(_places(values, values, answers)):
            doubts.append(
                "the column of --draft-id says of people with equal rows that they are different ones: correct it"
            )
        elif _shared(places) < _ALIKE * same_people:
            doubts.append(
                "most people who are in several tables have other values there, and are not judged as the same"
            )
        return doubts
    sets = [set(own) for own in places]
    for k, one in enumerate(tables):
        others = [len(sets[k] & other) / min(len(sets[k]), len(other)) for m, other in enumerate(sets) if m != k]
        if others and max(others) < _ALIKE:
            doubts.append(f"most rows of {one.name} are in no other table, by their values: {_GIVE_ID}")
    if odd and len(tables) > 1 and _at_will(tables, values):
        doubts.append(
            f"{listed(odd)}: not the same in all tables, and the other columns do not tell people apart: {_GIVE_ID}"
        )
    return doubts


def _at_will(tables: Sequence[Known], values: Sequence[Keys]) -> bool:
    """Return whether people who are alike in what all tables hold differ in what several of them hold besides."""
    times = Counter[Hashable]()
    for one, held in zip(tables, values, strict=True):
        kinds = {(key, row.tobytes()) for key, row in zip(held, one.data.rows + np.float32(0), strict=True)}
        times.update(key for key, number in Counter(key for key, _ in kinds).items() if number > 1)
    return max(times.values(), default=0) > 1
