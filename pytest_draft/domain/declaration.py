"""Builds a domain from the tables of a domain file, or says which key is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_draft.domain.attribute import Attribute
from pytest_draft.domain.domain import Domain
from pytest_draft.errors import DataError, one_line


def _bound(entry: Mapping[str, object], key: str, where: str) -> float:
    """Return a bound of a declared attribute as a number."""
    bound = entry.get(key)
    if isinstance(bound, bool) or not isinstance(bound, (int, float)):
        raise DataError(f"{where}: key {key!r} must be a number")
    try:
        return float(bound)
    except OverflowError:
        raise DataError(f"{where}: key {key!r} is too large a number") from None


def _declared(name: str, columns: tuple[int, ...], entry: Mapping[str, object], where: str) -> Attribute:
    """Return one attribute that a file declares."""
    kind = entry.get("kind")
    if kind not in ("binary", "one-hot", "ordinal", "numeric"):
        raise DataError(f"{where}: key 'kind' must be binary, one-hot, ordinal or numeric")
    missing, dropped = (entry.get(key, False) for key in ("missing", "dropped"))
    for key, flag in (("missing", missing), ("dropped", dropped)):
        if not isinstance(flag, bool):
            raise DataError(f"{where}: key {key!r} must be true or false")
    by_values = kind == "ordinal" and "values" in entry
    bounds = ("values",) if by_values else ("low", "high") if kind in ("ordinal", "numeric") else ()
    if unknown := sorted(set(entry) - {"kind", "columns", "missing", "dropped", *bounds}, key=str):
        raise DataError(f"{where}: unknown key {one_line(unknown[0])!r}")
    if not by_values:
        low, high = (_bound(entry, key, where) for key in bounds) if bounds else (0.0, 1.0)
        return Attribute(name, kind, columns, low, high, bool(missing), None, bool(dropped))
    listed = entry["values"]
    if not isinstance(listed, list) or not listed:
        raise DataError(f"{where}: key 'values' must be a list of numbers")
    book = tuple(sorted({_bound({"values": value}, "values", where) for value in listed}))
    return Attribute(name, "ordinal", columns, book[0], book[-1], bool(missing), book, bool(dropped))


def declared(columns: Sequence[str], spec: Mapping[str, Mapping[str, object]], source: str) -> Domain:
    """Return the domain that a file declares.

    Parameters
    ----------
    columns : sequence of str, length n_columns
        Names of the encoded columns, in the forest's order.
    spec : mapping of str to mapping
        By attribute name: ``kind``; ``columns`` (names, or indices from 0; left out where the attribute is a
        column's name); ``low`` and ``high`` for ordinal and numeric attributes, or ``values``, a list, for an ordinal
        one; ``missing``, true where a row may have no value (left out: every row has one); ``dropped``, true where a
        row may have none of a one-hot group's columns (left out: every row has one).
    source : str
        Name of the file, for messages.

    Raises
    ------
    DataError
        Naming the attribute and the key that are wrong, or the columns without an attribute.
    """
    index_of = {name: index for index, name in enumerate(columns)}
    attributes = []
    for name, entry in spec.items():
        where = f"{source}: attribute {one_line(name)!r}"
        if not isinstance(entry, Mapping):
            raise DataError(f"{where}: must be a table with the key 'kind'")
        indices = []
        listed = entry.get("columns", [name])
        if not isinstance(listed, list):
            raise DataError(f"{where}: key 'columns' must be a list")
        for column in listed:
            index = index_of.get(column) if isinstance(column, str) else column
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(columns):
                raise DataError(f"{where}: no column {one_line(column)!r} among the forest's {len(columns)}")
            indices.append(index)
        attributes.append(_declared(name, tuple(indices), entry, where))
    attributes.sort(key=lambda attribute: attribute.columns)  # in the order of columns, not of the file
    owned = [index for attribute in attributes for index in attribute.columns]
    for index, name in enumerate(columns):
        if owned.count(index) != 1:
            number = "no attribute" if index not in owned else "several attributes"
            raise DataError(f"{source}: column {one_line(name)!r} belongs to {number}; give it exactly one")
    return Domain(tuple(columns), tuple(attributes), source)
