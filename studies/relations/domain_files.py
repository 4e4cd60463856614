"""Domain files: in go declared attributes, out comes the specimen with a file that declares all of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from studies.specimens import Specimen


def declaring(specimen: Specimen, attributes: Mapping[str, Mapping[str, object]], *, grouped: bool = True) -> Specimen:
    """Return the specimen with a domain file: some attributes as given, the others as they occur.

    Parameters
    ----------
    attributes : mapping of str to mapping
        As in a domain file.
    grouped : bool
        Whether one-hot groups are declared as such; else `attributes` hold their columns.
    """
    entries: dict[str, Mapping[str, Any]] = dict(attributes)
    if grouped:
        entries |= {name: {"kind": "one-hot", "columns": list(of)} for name, of in specimen.groups.items()}
    for name in specimen.columns("binary", "ordinal", "numeric"):
        role, values = specimen.roles[name], specimen.frame[name]
        if role == "numeric":
            values = values.astype(np.float32)  # in which rows are held
        bounds = {} if role == "binary" else {"low": values.min().item(), "high": values.max().item()}
        entries.setdefault(name, {"kind": role, **bounds})
    position = {name: index for index, name in enumerate(specimen.frame.columns)}

    def first(name: str) -> int:  # a seed draws known attributes by their order
        return min(position[column] for column in entries[name].get("columns", [name]))

    in_order = sorted(entries, key=first)
    return replace(specimen, domain="\n".join(_entry(name, entries[name]) for name in in_order))


def _entry(name: str, entry: Mapping[str, object]) -> str:
    """Return one attribute of a domain file."""
    lines = [f'[attributes."{name}"]']
    for key, value in entry.items():
        shown = str(value).replace("'", '"') if isinstance(value, (list, float, int)) else f'"{value}"'
        lines.append(f"{key} = {shown}")
    return "\n".join(lines) + "\n"
