"""JSON within limits: in goes a text, out comes what it says, where an object has no key twice."""

from __future__ import annotations

import json
from typing import Any

from pytest_draft.artifact.budget import Budget
from pytest_draft.errors import ArtifactTooBigError, CorruptArtifactError, one_line

_MOST_MEMORY = 480 * 10**6
"""Bytes that a text may take when it is parsed, by `_MEMORY`: some ten million numbers."""

_MEMORY = {b",": 48, b"[": 96, b"{": 256, b'"': 40}
"""About how many bytes are taken for each of these."""


def json_content(packed: bytes, budget: Budget | None = None, *, finite: bool = True) -> Any:
    """Return what a JSON text says.

    Parameters
    ----------
    packed : bytes
        In UTF-8, with a byte order mark or without one.
    budget : Budget or None
        Charged for the text; None where it is short in any case.
    finite : bool
        Whether NaN and infinity, which are no numbers of JSON, are refused.

    Raises
    ------
    CorruptArtifactError
        If it is no JSON, or an object has a key twice.
    ArtifactTooBigError
        If it would take too much memory, is nested too deep, or the budget is spent.
    """
    if sum(packed.count(mark) * size for mark, size in _MEMORY.items()) > _MOST_MEMORY:
        raise ArtifactTooBigError(
            f"its JSON takes more than {_MOST_MEMORY >> 20} MiB when it is parsed: save it in a binary format (.ubj or "
            ".cbm), which is smaller"
        )
    if budget is not None:
        budget.spend_copy(len(packed))
    try:
        return json.loads(packed, object_pairs_hook=_once, parse_constant=_no_number if finite else None)
    except RecursionError:
        raise ArtifactTooBigError("its JSON is nested too deep") from None
    except ValueError as error:
        # Python's own advice on long numbers is for whoever programs.
        raise CorruptArtifactError(f"not valid JSON: {one_line(str(error).partition(': value has')[0])}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, whose keys must be different."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError(f"an object has a key twice; its keys are {', '.join(result)}")
    return result


def _no_number(constant: str) -> object:
    raise ValueError(f"{constant} is not a number of JSON")
