"""Reads domain files: a TOML file becomes the `Domain` that it declares.

Beside the training data, a domain file can only ever add to what the adversary knows (`narrowed`). Were it taken as it
stands, one that allows values which never occur would hide a leak: the attack would look for them, and errors and
baselines alike would shrink with the wider range. A policy that names the file by its hash vouches for it; then it is
taken as it stands.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pytest_draft.arrays import Rows
from pytest_draft.data.files import content, parsed
from pytest_draft.documents import NestedError, shallow_toml
from pytest_draft.domain import Attribute, Domain, declared, infer
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


@dataclass(frozen=True)
class Narrowed:
    """What is granted, and what had to be narrowed for it."""

    domain: Domain
    widened: tuple[str, ...]
    """Declared attributes that allow values which no training row has, by name."""


def narrowed(declared: Domain, inferred: Domain, rows: Rows) -> Narrowed:
    """Return a declared domain without what is known not to occur.

    Declared one-hot groups stay; an attribute of one column is what is inferred from it, within what is declared.

    Parameters
    ----------
    declared : Domain
        It excludes none of the rows.
    inferred : Domain
        From the rows, with indicators in place of any two values.
    rows : ndarray of float32, shape (n_rows, n_columns)
        The training rows, with indicators.
    """
    groups = [attribute for attribute in declared.attributes if attribute.kind == "one-hot"]
    held = {column for group in groups for column in group.columns}
    named = {attribute.columns[0]: attribute for attribute in declared.attributes if attribute.kind != "one-hot"}
    attributes, widened = list(groups), []
    for found in inferred.attributes:
        own = [column for column in found.columns if column not in held]
        if len(own) > 1 and len(own) == len(found.columns):
            attributes.append(found)
            widened += [named[column].name for column in own if _allows_more(named[column], 2)]
            continue
        for column in own:
            single = found
            if len(found.columns) > 1:  # what a declared group has left of an inferred one
                alone = infer((declared.columns[column],), rows[:, [column]].astype(np.float64)).attributes[0]
                single = replace(alone, columns=(column,))
            attributes.append(_within(named[column], single))
            if single.kind != "numeric" and _allows_more(named[column], single.n_states):
                widened.append(named[column].name)
    attributes.sort(key=lambda attribute: attribute.columns)
    source = f"{declared.source}, and the training data where they tell more"
    return Narrowed(Domain(declared.columns, tuple(attributes), source), tuple(dict.fromkeys(widened)))


def _within(declared: Attribute, inferred: Attribute) -> Attribute:
    """Return an attribute of one column that allows what both allow, by its declared name."""
    if inferred.kind == "numeric" and declared.kind == "ordinal":  # both hold all values that occur
        if declared.values is None:
            return replace(declared, low=inferred.low, high=inferred.high, missing=inferred.missing)
        inside = [value for value in declared.values if inferred.low <= np.float32(value) <= inferred.high]
        return Attribute.coded(declared.name, declared.columns[0], inside, inferred.missing)
    return replace(inferred, name=declared.name)


def _allows_more(declared: Attribute, n_states: int) -> bool:
    """Return whether a declared attribute of one column allows more than so many values."""
    return declared.kind == "numeric" or declared.n_states > n_states
