"""Hardens a file once more, to see whether another file came from it.

The raw file is loaded, which runs whatever is in it: it is the owner's own. The other one is only read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from pytest_draft.artifact import Artifact, read
from pytest_draft.data import read_table, table_of
from pytest_draft.errors import DraftError, one_line
from pytest_draft.facts.case import Case
from pytest_draft.hardening.files import load, rows_of
from pytest_draft.hardening.level import MOST_DECIMALS
from pytest_draft.hardening.model import hardened

_COMPARED = ("model", "holds", "encoder", "not_read", "not_covered", "origin", "places")
"""What a reader sees of a file, however it was written or compressed."""


def unlike(case: Case, data: object = None) -> str | None:
    """Say why a case's file does not come from hardening the one that it names; None where it does.

    Parameters
    ----------
    data : object, optional
        Training data in memory, in place of `Case.data`.

    Returns
    -------
    str or None
        One line.
    """
    raw = Path(case.hardened_from or "")
    named = f"--draft-hardened-from: {one_line(raw)}"
    try:
        judged = read(case.artifact, place=case.place)
        model, notes = load(raw)
        table = read_table(case.data) if data is None and case.data is not None else data
        if table is not None:
            table, _ = table_of(case, table, judged.model, judged.encoder)
        rows = rows_of(table, case.target)
        if any(_alike(judged, one) for one in _all_hardened(model, rows, case)):
            return None
    except DraftError as error:
        return f"{named}: its hardening cannot be repeated ({error})"
    why = f"{named}: hardened with these data or without, at no level it gives the judged file"
    return "; ".join([f"{why}: give the file that was hardened, and the table that it was hardened with", *notes])


def _all_hardened(model: Any, rows: Any, case: Case) -> Iterator[Artifact]:
    """Return what a model becomes at each level, as it is read from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hardened.joblib"
        for level in (
            "counts",
            "labels",
            "seeds",
            "none",
            *(f"decimals:{n}" for n in (2, 1, *range(3, MOST_DECIMALS + 1))),
        ):
            for given in (None,) if rows is None else (rows, None):
                with suppress(DraftError):  # such as rows that do not fit the model
                    joblib.dump(hardened(model, level, given, None if given is None else case.target)[0], path)
                    yield read(str(path), place=case.place)


def _alike(one: Any, other: Any) -> bool:
    """Return whether two objects hold the same, whatever they are made of."""
    if isinstance(one, Artifact):
        return all(_alike(getattr(one, name), getattr(other, name)) for name in _COMPARED)
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and one.dtype != object:
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple | np.ndarray):
        return len(one) == len(other) and all(map(_alike, one, other))
    if hasattr(one, "__dict__") and not isinstance(one, type):
        return _alike(vars(one), vars(other))
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124 - missing values
