"""Reads domain files: a TOML file becomes the `Domain` that it declares."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_draft.data.files import content, parsed
from pytest_draft.documents import NestedError, shallow_toml
from pytest_draft.domain import Domain, declared
from pytest_draft.errors import DataError, one_line

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


def read_domain(path: str | os.PathLike[str], columns: Sequence[str]) -> Domain:
    """Read a domain file.

    Parameters
    ----------
    path : path-like
        A TOML file with a table ``[attributes."name"]`` for each attribute (its keys: see
        `pytest_draft.domain.declared`), and optionally ``others = "binary"``: each column without an
        attribute is a binary attribute of its own name.
    columns : sequence of str, length n_columns
        Names of the encoded columns, in the forest's order.

    Raises
    ------
    DataError
        Where the file cannot be read, with the line; where a key or an attribute is wrong, with its name.
    """
    return declared_domain(path, columns)[0]


def declared_domain(path: str | os.PathLike[str], columns: Sequence[str]) -> tuple[Domain, str]:
    """Return what `read_domain` does, and the SHA-256 of the bytes that were read."""
    source = os.fspath(path)
    where = one_line(source)
    text = content(source)
    document: dict[str, Any] = parsed(lambda: shallow_toml(text.decode("utf-8-sig")), where, _toml_problem)
    for key in document:
        if key not in ("attributes", "others"):
            raise DataError(f"{where}: unknown key {one_line(key)!r}; the keys are 'attributes' and 'others'")
    attributes = document.get("attributes", {})
    if not isinstance(attributes, dict):
        raise DataError(f"{where}: key 'attributes' must be tables: [attributes.\"name\"]")
    for name, entry in attributes.items():
        if not isinstance(entry, dict):
            raise DataError(
                f'{where}: attribute {one_line(name)!r} must be a table: [attributes."name"], then kind = ...'
            )
    if "others" in document:
        if document["others"] != "binary":
            raise DataError(f"{where}: key 'others' must be \"binary\", or left out")
        attributes = {**attributes, **_binary_others(attributes, columns)}
    try:
        return declared(columns, attributes, where), hashlib.sha256(text).hexdigest()
    except DataError as error:
        problem = str(error)
    raise DataError(problem if problem.startswith(where) else f"{where}: {problem}")


def _toml_problem(error: Exception) -> str:
    """Say what is wrong with a TOML file; of the parser's words only the fixed ones."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text; save it as UTF-8"
    if isinstance(error, NestedError):
        return str(error)
    match = re.fullmatch(r"(.*?)(?: \(at line (\d+), column \d+\)| \(at end of document\))?", str(error), re.DOTALL)
    reason, line = match.groups() if match else ("", None)
    # Other messages can quote a key or a character of the file.
    fixed = reason.startswith(("Expected ", "Unclosed ", "Unterminated ", "Invalid value", "Invalid statement"))
    place = f"line {line}: " if line else ""
    return f"{place}not valid TOML" + (f": {one_line(reason, 100)}" if fixed else "")


def _binary_others(
    attributes: Mapping[str, Mapping[str, object]], columns: Sequence[str]
) -> dict[str, dict[str, object]]:
    """Return a binary attribute for each column that belongs to none."""
    owned: set[object] = set()
    for name, entry in attributes.items():
        listed = entry.get("columns", [name])
        for column in listed if isinstance(listed, list) else ():
            owned.add(columns.index(column) if column in columns else column if isinstance(column, int) else None)
    others: dict[str, dict[str, object]] = {}
    for index, name in enumerate(columns):
        # Where an attribute that holds other columns has this column's name, `declared` refuses.
        if index in owned or name in attributes:
            continue
        others[name] = {"kind": "binary", "columns": [index]}
    return others
