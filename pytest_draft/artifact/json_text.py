"""JSON within limits: in goes a text, out comes what it says, where an object has no key twice."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.walking import inside_of
from pytest_draft.errors import ArtifactTooBigError, CorruptArtifactError, one_line

_MOST_MEMORY = 480 * 10**6
"""Bytes that a text may take when it is parsed, by `_MEMORY`: some ten million numbers."""

_DIGITS = bytes(ord("9") if chr(byte) in "0123456789." else ord("x") for byte in range(256))
_MOST_OTHERS, _SHORT, _LONGEST_WORD = 8, 6, 40

_MEMORY = {b",": 48, b"[": 96, b"{": 256, b'"': 40}
"""About how many bytes are taken for each of these."""


def json_content(packed: bytes, budget: Budget | None = None, *, finite: bool = True, digits: int = 17) -> Any:
    """Return what a JSON text says.

    Parameters
    ----------
    packed : bytes
        In UTF-8, with a byte order mark or without one.
    budget : Budget or None
        Charged for the text; None where it is short in any case.
    finite : bool
        Whether NaN and infinity, which are no numbers of JSON, are refused.
    digits : int
        Of numbers, in the precision that they are read in: more of them are noted, as are spaces that no writer writes.
    """
    if sum(packed.count(mark) * size for mark, size in _MEMORY.items()) > _MOST_MEMORY:
        raise ArtifactTooBigError(
            f"its JSON takes more than {_MOST_MEMORY >> 20} MiB when it is parsed: save it in a binary format (.ubj or "
            ".cbm), which is smaller"
        )
    if budget is not None:
        budget.spend_copy(len(packed))
        if not is_as_written(packed, digits):
            budget.note("spaces or digits of its JSON")
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


def unlike(value: Any, pattern: Any, path: str = "") -> Iterator[str]:
    """Yield the places of what does not fit a pattern, in what a JSON text says.

    A pattern is a regular expression; what says whether a value is good; an object's patterns by name, ``*`` for a few
    more; a list of one pattern, for all items; or a value itself.
    """
    if callable(pattern):
        yield from () if pattern(value) else (path,)
    elif isinstance(pattern, dict) and isinstance(value, dict):
        few = len(value.keys() - pattern.keys()) <= _MOST_OTHERS
        for name, inner in value.items():
            wanted, inside = pattern.get(name, pattern.get("*") if few else None), inside_of(path, name)
            yield from (inside,) if wanted is None else unlike(inner, wanted, inside)
    elif isinstance(pattern, list) and len(pattern) == 1 and isinstance(value, list):
        for inner in value:
            yield from unlike(inner, pattern[0], f"{path}[*]")
    elif isinstance(pattern, str) and isinstance(value, str):
        yield from () if re.fullmatch(pattern, value, re.ASCII) else (path,)
    elif (value.tolist() if isinstance(value, np.ndarray) else value) != pattern:
        yield path


def are_settings(value: Any, most: int, letters: int, known: Collection[str] = ()) -> bool:
    """Return whether at most so many words and numbers stand in a value; those not known of so many letters."""
    words = re.findall(r"[^\W_][\w.+-]*", json.dumps(value, default=str))
    long = [len(word) for word in words if len(word) > _SHORT and word not in known]
    return len(words) <= most and sum(long) <= letters and max(long, default=0) <= _LONGEST_WORD


def anything(_: object) -> bool:
    """Fit what is read."""
    return True


def is_as_written(packed: bytes, digits: int = 17) -> bool:
    """Return whether spaces in a JSON text follow from its values, as writers put them, and no digits of it are lost.

    There are none, or one behind each separator, or each value has a line, moved by a step for each bracket around it,
    and in CatBoost's files for each colon before that.
    """
    text = b"x".join(packed.removesuffix(b"\n").replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])
    lost = rb"(?<![\d.])(?:0\.0*[1-9]\d{%d}|[1-9](?=\d*\.)[\d.]{%d}|[1-9]\d{%d,}[eE])" % (digits, digits + 1, digits)
    if b"9" * (digits + 2) in text.translate(_DIGITS) and re.search(lost, text):
        return False
    if not any(space in text for space in (b" ", b"\n", b"\r", b"\t")):
        return True
    lines = text.split(b"\n")
    values = [line.lstrip(b" ") for line in lines]
    inside = b"\n".join(values)
    spaces = {mark: inside.count(mark + b" ") for mark in (b",", b":")}
    alike = all(count in (0, inside.count(mark) - inside.count(mark + b"\n")) for mark, count in spaces.items())
    others = sum(map(inside.count, (b" ", b"\r", b"\t"))) - sum(spaces.values())
    if not alike or others or b"" in values or lines[0] != values[0]:
        return False
    return len(lines) == 1 or (inside.count(b",") == inside.count(b",\n") and _are_moved(lines, values))


def _are_moved(lines: list[bytes], values: list[bytes]) -> bool:
    """Return whether each line of a JSON text begins where those above put it."""
    by = np.array([len(line) - len(value) for line, value in zip(lines, values, strict=True)])
    first, last = (np.array([value[at] for value in values]) for at in (0, -1))
    opens, closes = np.isin(last, list(b"[{")), np.isin(first, list(b"]}"))
    behind_colon = np.append(False, last[:-1] == ord(":"))
    weight = opens.astype(np.int64) * (1 + behind_colon)
    brackets = np.flatnonzero(opens | closes)
    pairs = brackets[np.argsort((np.cumsum(opens) - np.cumsum(closes) + closes)[brackets], kind="stable")]
    start, end = pairs[::2], pairs[1::2]
    if len(start) != len(end) or not (opens[start] & closes[end] & (by[start] == by[end])).all():
        return False
    weight[end] = -weight[start]
    wanted = (np.cumsum(weight) - weight + behind_colon) * by[1]
    ended = np.isin(last[:-1], list(b",[{:")) | closes[1:]
    return bool(ended.all() and (closes | (by == wanted)).all())
