"""What a study is: in goes a function with the parameters of its cells, out come the keys and calls of the cells."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pytest_draft.bounded import TABLE_BYTES, sha256, what_failed
from pytest_draft.errors import DraftError, UsageError, one_line
from studies.cells.code import code_hash

Plain: TypeAlias = "bool | int | float | str | None"
"""What a parameter or a result is; integers within 64 bits."""

Files: TypeAlias = "Mapping[str, Path | Mapping[Any, Path | None]]"

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class PlainError(DraftError, TypeError):
    """A parameter or a result is none that can be kept."""


@dataclass(frozen=True)
class Study:
    """Independent cells, and the function that computes one of them."""

    name: str
    """Such as ``"icml-figure-5"``; the folder of its rows is named so."""
    compute: Callable[..., Any]
    """Of a module's top level, so that it is pickled by its name. It is called with a cell's parameters and with
    `given`, returns one flat row of plain values (a mapping or a dataclass), which are aggregates only, and prints
    nothing.
    """
    cells: Sequence[Mapping[str, Plain]]
    """Flat, plain parameters; no two cells are equal."""
    given: Files = field(default_factory=dict)
    """Input files by the name of the argument that `compute` takes them as. Where several files stand under a name, the
    cell's parameter of this name says which one is meant, and the call gets the file in place of it: with
    ``given={"table": {"adult": Path("x/adult.csv")}}``, the cell ``{"table": "adult"}`` is computed by
    ``compute(table=Path("x/adult.csv"))``; where None stands there, the value stays as it is. A cell depends on the
    content of its own files, not on their paths.
    """


@dataclass(frozen=True)
class Cell:
    """One cell, ready to be computed."""

    key: str
    """Hash of all that its result depends on."""
    question: str
    """Hash of all that its result depends on but the code."""
    parameters: dict[str, Plain]
    files: dict[str, tuple[Path, str]]
    """Path and SHA-256 of each file, by argument."""

    def __str__(self) -> str:
        return one_line(" ".join(f"{name}={value}" for name, value in self.parameters.items()), 200)


def cells_of(study: Study) -> tuple[str, list[Cell]]:
    """Return the hash of a study's code, and its cells.

    Raises
    ------
    DraftError
        Where a name, a parameter or a file cannot be used, or two cells are equal: before any work.
    """
    if not _NAME.fullmatch(study.name):
        raise UsageError(f"study {one_line(study.name)!r}: name it by small letters, digits and hyphens")
    hashes: dict[Path, str] = {}
    code, found = code_hash(study.compute), []
    for given in study.cells:
        parameters = plain_row(given)
        all_files = {name: _file(study, name, one, parameters, hashes) for name, one in study.given.items()}
        files = {name: one for name, one in all_files.items() if one is not None}
        content = {name: sha for name, (_, sha) in files.items()}
        question = _digest([study.name, {name: _written(value) for name, value in parameters.items()}, content])
        found.append(Cell(_digest([question, code]), question, parameters, files))
    if len({cell.key for cell in found}) < len(found):
        keys = [cell.key for cell in found]
        twice = next(cell for cell in found if keys.count(cell.key) > 1)
        raise UsageError(f"study {study.name}: the cell {twice} is there twice; name each value of an option once")
    return code, found


def plain_row(given: Mapping[str, Any]) -> dict[str, Plain]:
    """Return names and plain values, NumPy's scalars as Python's own.

    Raises
    ------
    PlainError
        Where a name or a value is none that can be kept; values are not quoted.
    """
    row: dict[str, Plain] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not name or name.startswith("_"):
            raise PlainError(f"{one_line(name)!r} is no name of a parameter or result; they do not begin with '_'")
        own = value.item() if isinstance(value, np.generic) else value
        if own is not None and type(own) not in (bool, int, float, str):
            raise PlainError(f"{name} is of type {type(value).__name__}; give a number, a text, True, False or None")
        if type(own) is int and not -(2**63) <= own < 2**63:
            raise PlainError(f"{name} is an integer of more than 64 bits; give a text")
        row[name] = own
    return row


def _file(
    study: Study,
    name: str,
    one: Path | Mapping[Any, Path | None],
    parameters: Mapping[str, Plain],
    hashes: dict[Path, str],
) -> tuple[Path, str] | None:
    """Return path and hash of one of a cell's files, hashing each file once."""
    if isinstance(one, Mapping):
        if parameters.get(name) not in one:
            raise UsageError(f"study {study.name}: no file is given for {name}={one_line(parameters.get(name))}")
        chosen = one[parameters[name]]
        if chosen is None:
            return None
        path = Path(chosen)
    else:
        if name in parameters:
            raise UsageError(f"study {study.name}: {name} is both a parameter and a given file; rename one of them")
        path = Path(one)
    if path not in hashes:
        hashes[path] = file_hash(path)
    return path.absolute(), hashes[path]


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises
    ------
    DraftError
        Where it cannot be read, in one line.
    """
    try:
        return sha256(path, TABLE_BYTES)
    except OSError as error:
        raise UsageError(f"{one_line(path)}: {what_failed(error, TABLE_BYTES)}") from None


def _written(value: Plain) -> list[str]:
    """Return a value so that 1, 1.0, True and '1' differ."""
    if isinstance(value, float):
        return ["float", "nan" if math.isnan(value) else value.hex()]
    return [type(value).__name__, str(value)]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
