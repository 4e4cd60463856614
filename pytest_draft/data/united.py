"""Several tables of some of the same people as one: whose row is whose, and what all of them say of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.data.labels import finder
from pytest_draft.data.training import TrainingData
from pytest_draft.errors import DataError, listed

__tracebackhide__ = True  # frames here hold rows

_ALIKE = 0.5
"""Where a smaller share agrees, columns of one name, or labels of the same people, are taken for different things."""


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """One table, and what else says whose rows these are. Its repr shows no row."""

    name: str
    """Of its file, for messages."""
    data: TrainingData
    classes: tuple[object, ...] | None
    """That its labels stand for; None of numbers."""
    identifiers: AnyArray | None = None
    """Shape (n_rows,). Whose each row is."""


@dataclass(frozen=True, eq=False, repr=False)
class United:
    """All people of several tables. Its repr shows no row."""

    data: TrainingData
    """A row for each person; whoever was changed is two."""
    classes: tuple[object, ...] | None
    """Of all tables; None of numbers, and where they are of different things."""
    rows: tuple[IntArray, ...]
    columns: tuple[IntArray, ...]
    codes: tuple[IntArray | None, ...]
    """`rows`, `columns` and `codes`: where those of each table, and its classes, are among all, shape (n_own,)."""
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why nothing passes by this."""

    def __repr__(self) -> str:
        return f"United({self.data!r})"


def united(tables: Sequence[Known]) -> United:
    """Return the rows of several tables, each person's once.

    Rows are the same person's by an identifier, else by their values. A person whose values or label were changed is
    one who was removed, and one who was added.

    Raises
    ------
    DataError
        Where only some tables have identifiers.
    """
    if len({one.identifiers is None for one in tables}) > 1:
        raise DataError("only some of the tables have the column that says whose row is whose: give it in all of them")
    names, columns, apart = _columns(tables)
    classes, codes = _classes(tables)
    answers = _answers(tables, codes)
    places, n_rows = _places(tables, columns, answers), sum(one.data.n_rows for one in tables)
    if answers is not None:
        loose = _places(tables, columns, None)
        if n_rows - _number(places) < _ALIKE * (n_rows - _number(loose)):
            answers, classes, codes, places = None, None, (None,) * len(tables), loose
    n_people = _number(places)
    rows = np.full((n_people, len(names)), np.nan, dtype=np.float32)
    said, known = np.zeros(n_people), np.zeros(rows.shape, dtype=np.bool_)
    for k, (one, own, mine) in enumerate(zip(tables, places, columns, strict=True)):
        here = np.ix_(np.array(own), mine)
        rows[here], known[here] = one.data.rows, True
        said[own] = 0.0 if answers is None else answers[k]
    numbers = answers is not None and classes is None
    data = replace(
        tables[0].data,
        rows=rows,
        labels=np.zeros(n_people, np.int64) if numbers else said.astype(np.int64),
        columns=names,
        targets=said if numbers else None,
    )
    return United(
        data,
        classes,
        tuple(np.array(own, dtype=np.int64) for own in places),
        tuple(columns),
        codes,
        _notes(tables, places, answers is None),
        _doubts(tables, names, known, apart, _held(tables, columns, answers), places),
    )


def _columns(tables: Sequence[Known]) -> tuple[tuple[str, ...], list[IntArray], list[str]]:
    """Return the names of all columns, where those of each table are, and which have other values in some table."""
    names, found, apart = list[str](), list[IntArray](), list[str]()
    values: dict[str, set[float]] = {}
    for one in tables:
        own = []
        for name, column in zip(one.data.columns, one.data.rows.T + np.float32(0), strict=True):
            held, shown = set(np.unique(column[~np.isnan(column)]).tolist()), name
            if held and values.get(name) and len(held & values[name]) < _ALIKE * min(len(held), len(values[name])):
                shown = f"{name} ({one.name})"
                apart.append(shown)
            values[shown] = values.get(shown, set()) | held
            names += [shown] if shown not in names else []
            own.append(names.index(shown))
        found.append(np.array(own, dtype=np.int64))
    return tuple(names), found, apart


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


def _places(
    tables: Sequence[Known], columns: Sequence[IntArray], answers: Sequence[FloatArray] | None
) -> list[list[int]]:
    """Return where the rows of each table are among all: one place for each person and what is held of them."""
    of_key: dict[tuple[Hashable, bytes], list[int]] = defaultdict(list)
    found, n_people = list[list[int]](), 0
    for one, held in zip(tables, _held(tables, columns, answers), strict=True):
        whose: Sequence[Hashable] = held if one.identifiers is None else [*map(str, one.identifiers)]
        own, times = list[int](), Counter[tuple[Hashable, bytes]]()
        for key in zip(whose, held, strict=True):
            if times[key] == len(of_key[key]):
                of_key[key].append(n_people)
                n_people += 1
            own.append(of_key[key][times[key]])
            times[key] += 1
        found.append(own)
    return found


def _held(
    tables: Sequence[Known], columns: Sequence[IntArray], answers: Sequence[FloatArray] | None
) -> Iterator[list[bytes]]:
    """Yield what each row of a table holds of the columns that all tables have, with what it was labelled with."""
    shared = [column for column, times in Counter(np.concatenate(columns).tolist()).items() if times == len(tables)]
    for k, one in enumerate(tables):
        at = [columns[k].tolist().index(column) for column in shared]
        values = one.data.rows[:, at] + np.float32(0)
        values[np.isnan(values)] = np.nan  # of many bit patterns one
        said = [b""] * len(values) if answers is None else [answer.tobytes() for answer in answers[k] + 0.0]
        yield [row.tobytes() + answer for row, answer in zip(values, said, strict=True)]


def _at_will(tables: Sequence[Known], held: Iterable[list[bytes]]) -> bool:
    """Return whether people who are alike in what all tables hold differ in what several of them hold besides."""
    times = Counter[bytes]()
    for one, keys in zip(tables, held, strict=True):
        kinds = {(key, row.tobytes()) for key, row in zip(keys, one.data.rows + np.float32(0), strict=True)}
        times.update(key for key, number in Counter(key for key, _ in kinds).items() if number > 1)
    return max(times.values(), default=0) > 1


def _number(places: Sequence[Sequence[int]]) -> int:
    """Return how many people there are."""
    return 1 + max(map(max, places))


def _notes(tables: Sequence[Known], places: Sequence[Sequence[int]], different: bool) -> tuple[str, ...]:
    """Return how people were matched, and how many are in which tables."""
    how = "their values" if tables[0].identifiers is None else "the column that says whose row is whose"
    times = Counter(Counter(place for own in places for place in own).values())
    number = listed([f"{n:,} in {k} of {len(tables)}" for k, n in sorted(times.items())])
    said = [f"granted to the adversary: whose row is whose in {listed([one.name for one in tables])}"]
    said.append(f"the rows of {len(tables)} tables were matched by {how}: of {sum(times.values()):,} people {number}")
    if different:
        said.append("the files tell different labels of the same people: labels are judged file by file")
    return tuple(said)


def _doubts(
    tables: Sequence[Known],
    names: Sequence[str],
    known: AnyArray,
    apart: Sequence[str],
    held: Iterable[list[bytes]],
    places: Sequence[Sequence[int]],
) -> tuple[str, ...]:
    """Return why no set passes by what was matched."""
    doubts, times = [], Counter(place for own in places for place in own)
    strangers = [one.name for one, own in zip(tables, places, strict=True) if all(times[place] == 1 for place in own)]
    if strangers and tables[0].identifiers is None:
        doubts.append(
            f"no row of {listed(strangers)} is in another table, by its values: name the column that says whose row is "
            "whose (--draft-id)"
        )
    elif tables[0].identifiers is None and _at_will(tables, held):
        doubts.append(
            "what all tables hold is alike of more than one person whom they tell apart: name the column that says "
            "whose row is whose (--draft-id)"
        )
    if not known.all():
        number, lacking = int((~known.all(axis=1)).sum()), np.flatnonzero(~known.all(axis=0)).tolist()
        why = " (with other values than elsewhere)" * bool(apart)
        columns = listed([names[column] for column in lacking])
        doubts.append(f"{columns}{why}: not known of {number:,} people, who are only in tables without it")
    return tuple(doubts)
