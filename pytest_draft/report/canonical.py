"""What two runs can be compared by: in goes a plain report, out comes its canonical form, and the hash of that.

Two runs on the same inputs differ in their timings, in what depends on these, in the folders that files lie in, in the
order that workers finish, in how many of these there are and what becomes of them, in what was found out before, and in
when, where and by whom they were started. All of that is left out, and so is the evidence, which says in sentences what
stands elsewhere. Where the clock has ended a search, its figures depend on the machine's speed, and stay: a
report of the same inputs can then have another hash. With ``--draft-effort`` it has the same.
File names, hashes, thresholds, seeds, limits, versions and everything that was found stay: with another version of a
library, inputs are not the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from pytest_draft.report.result import Report

SAME = (
    "SHA-256 of the report without timings and folders. A run on the same inputs gives the same, unless the clock "
    "ended a search (a note then says so):"
)
"""What the hash says, for readers."""

HASH = "canonical_sha256"
"""Where a report tells the hash of its own canonical form."""

_LEFT_OUT = frozenset({"seconds", "statistics", "workers", "cached", "retried", "judged_at", "run", "evidence", HASH})
_NAMED_FILES = (("artifact", "path"), ("data", "path"), ("holdout", "path"), ("policy", "source"), ("domain", "source"))


def canonical(report: Report) -> str:
    """Return the canonical form of a report: JSON without white space, keys and results sorted, no timings, no folders.

    Parameters
    ----------
    report : dict
        As `document` returns it, with or without its hash.

    Returns
    -------
    str
        ASCII.
    """
    results = [_without_folders(_kept(result), _files(result)) for result in report["results"]]
    for result in results:
        checks = [{**check, "item": _file_name(check["item"])} for check in result["checks"]]
        result["checks"] = sorted(checks, key=_text)
    rest = {key: value for key, value in report.items() if key != "results"}
    return _text(
        {
            **_kept(rest),
            "not_run": sorted(map(_file_name, report["not_run"])),
            "results": sorted(results, key=_text),
        }
    )


def sha256(report: Report) -> str:
    """Return the SHA-256 of a report's canonical form, in hexadecimal digits."""
    return hashlib.sha256(canonical(report).encode("ascii")).hexdigest()


def with_hash(report: Report) -> Report:
    """Return a report that tells the hash of its canonical form."""
    return {**report, HASH: sha256(report)}


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kept(inner) for key, inner in value.items() if key not in _LEFT_OUT}
    if isinstance(value, list):
        return [_kept(inner) for inner in value]
    return value


def _files(result: dict[str, Any]) -> list[str]:
    """Return the files that a result names, as it names them."""
    tables = ((result[table], key) for table, key in _NAMED_FILES if result[table] is not None)
    return [table[key] for table, key in tables if table[key]]


def _without_folders(value: Any, files: list[str]) -> Any:
    """Return a value with each of some files named without its folder, wherever a text names it."""
    if isinstance(value, dict):
        return {key: _without_folders(inner, files) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_folders(inner, files) for inner in value]
    if isinstance(value, str):
        for file in files:
            value = _named(value, file)
    return value


def _named(text: str, file: str) -> str:
    """Return a text that names a file without its folder; a message can name it by its whole path."""
    name = _file_name(file)
    return re.sub(rf"[^\s'\"()]*[\\/]{re.escape(name)}", lambda _: name, text.replace(file, name))


def _file_name(address: str) -> str:
    """Return a path, or the address of a test item, without its folder."""
    path, colons, rest = address.partition("::")
    return re.split(r"[\\/]", path)[-1] + colons + rest


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
