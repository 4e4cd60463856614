"""Files beside a model in its release: all values that stand in them become arrays that training rows are sought in.

A file is recognised by its content: a table (CSV, Parquet, NumPy), JSON (an input example, a notebook), or a text, of
which all that could be values counts, whatever stands between them (a README, a report, a page). Anything else is of an
unknown kind.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.release import Member
from pytest_draft.artifact.world.contents import Stored, stored_values
from pytest_draft.errors import one_line
from pytest_draft.facts.contents import RELEASE, Place

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

_MOST_BYTES = 2**27
"""Of a text; what is longer is not looked into."""

_FEWEST = 2
"""Values that could be a row."""

_SEPARATORS = ",;\t|"
_CELLS = re.compile(r"[,;|\t\r\n]+|<[^<>]*>")
_WORDS = re.compile(r"[\s,;|<>=:(){}\"'\[\]]+")
_MISSING = frozenset(("", "nan", "NaN", "NA", "N/A", "None", "null", "<NA>"))
_IS_TABLE = ("columns", "data")
"""Keys of a table as pandas and MLflow write one in JSON."""


def values_beside(members: Sequence[Member]) -> tuple[list[Stored], list[Place]]:
    """Return the arrays that stand in files beside a model, and the files of which nothing is known."""
    arrays: list[Stored] = []
    unknown: list[Place] = []
    for member in members:
        name = one_line(member.name)
        if member.why is not None:  # a model or an archive that is not read, which no policy can list
            unknown.append(Place(name, "a file that was not read", one_line(member.why, 160)))
            continue
        if (found := _values(member.content)) is None:
            what = f"{len(member.content):,} bytes of an unknown kind"
            unknown.append(Place(name, RELEASE, what))
            continue
        for values, names in found:
            if values.size >= _FEWEST:
                stored = stored_values(name, values, names or ())
                arrays.append(stored if names is not None else replace(stored, joined="C"))
    return arrays, unknown


def of_known_columns(stored: Stored, known: Sequence[object]) -> Stored:
    """Return a table with those of its columns only that the training data have; as it is where it names none."""
    kept = [index for index, name in enumerate(stored.names) if name in known]
    if len(kept) < _FEWEST or len(kept) == len(stored.names):
        return stored
    values, names = stored.values()[:, kept], tuple(stored.names[index] for index in kept)
    return replace(stored_values(stored.path, values, names), few=stored.few)


Named = tuple[AnyArray, tuple[str, ...] | None]
"""An array, and its columns' names where they are said; None of all words of a text, whose number says nothing."""


def _values(content: bytes) -> list[Named] | None:
    """Return all that could be values in a file; None where it is of an unknown kind."""
    if not content:
        return []
    try:
        if content.startswith(b"\x93NUMPY"):
            return [(np.load(io.BytesIO(content), allow_pickle=False), ())]
        if content.startswith(b"PAR1"):
            return [_of_frame(pd.read_parquet(io.BytesIO(content)))]
        if len(content) > _MOST_BYTES or b"\0" in content:
            return None
        text = content.decode("utf-8-sig")
    except Exception:  # whatever a library says of a damaged file can quote it
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [*_of_table(text), *_of_text(text)]
    return list(_of_json(found))


def _of_frame(frame: pd.DataFrame) -> Named:
    return frame.to_numpy(), tuple(map(str, frame.columns))


def _of_table(text: str) -> Iterator[Named]:
    """Yield a text as a table with a line of names."""
    first, _, rest = text.lstrip().partition("\n")
    second = rest.partition("\n")[0]
    separator = max(_SEPARATORS, key=first.count)
    if first.count(separator) and first.count(separator) == second.count(separator):
        try:
            yield _of_frame(pd.read_csv(io.StringIO(text), sep=separator))
        except Exception:  # no table, but a text in which rows can stand all the same
            return


def _of_text(text: str) -> Iterator[Named]:
    """Yield the values of a text: what stands between separators, all words, and its numbers alone."""
    for between in (_CELLS, _WORDS):
        cells = [_value(cell.strip()) for cell in between.split(text)]
        yield _array(cells), None
    yield _array([cell for cell in cells if isinstance(cell, float)]), None


def _value(text: str) -> object:
    """Return a number where a text is one, None where it says that a value is missing."""
    if text in _MISSING:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _array(values: Sequence[object]) -> AnyArray:
    if all(isinstance(value, float) for value in values):
        return np.array(values, dtype=np.float64)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _of_json(root: Any) -> Iterator[Named]:
    """Yield tables, rows and columns of JSON, and the values of texts in it, such as a notebook's output."""
    ahead: list[Any] = [root]
    texts: list[str] = []
    while ahead:
        found = ahead.pop()
        if isinstance(found, str):
            texts.append(found)
        inner = list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else []
        if isinstance(found, dict) and all(isinstance(found.get(key), list) for key in _IS_TABLE):
            yield from _table(found["data"], tuple(map(str, found["columns"])))
        elif inner and all(isinstance(one, dict) for one in inner):
            names = tuple(inner[0])
            yield from _table([[one.get(name) for name in names] for one in inner], names)
        elif inner and isinstance(found, dict) and not any(isinstance(one, dict | list) for one in inner):
            yield from _table([inner], tuple(found))
        yield from _table(inner, ())
        if inner and not any(isinstance(one, dict | list) for one in inner):
            yield _array([_atom(one) for one in inner]), ()
            texts += [one for one in inner if isinstance(one, str)]
        else:
            ahead += reversed(inner)
    yield from _of_text("\n".join(texts))


def _table(rows: Sequence[Any], names: tuple[str, ...]) -> Iterator[Named]:
    """Yield lists of one length as a table, rows by columns."""
    if not rows or not all(isinstance(row, list) for row in rows) or len({len(row) for row in rows}) != 1:
        return
    atoms = [_atom(value) for row in rows for value in row]
    if not any(isinstance(value, dict | list) for value in atoms):
        width = len(rows[0])
        yield _array(atoms).reshape(-1, width), names if len(names) == width else ()


def _atom(value: Any) -> object:
    return float(value) if isinstance(value, bool | int | float) else value
