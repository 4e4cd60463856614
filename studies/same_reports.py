"""The reports of two checkouts on the same files: in go their folders, out comes every difference, line by line.

The judgements of `studies.fixed_judgements` are made by the real ``pytest`` with each checkout's package first on the
path, and their JSON reports are compared. The plugin is named, since the installed package's entry point is of one
checkout only. Searches end by effort, so that reports repeat. Left out are times, versions and the like (`LEFT_OUT`);
renamed keys are the same key (`RENAMED`), and those that are no more are none (`REMOVED`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_draft.errors import DataError, one_line
from studies.fixed_judgements import JUDGEMENTS

HERE = Path(__file__).resolve().parents[1]
"""This checkout."""

LEFT_OUT = frozenset({"schema_version", "tool", "versions", "seconds", "statistics", "canonical_sha256"})
"""Keys that differ from run to run or from version to version, with all that is below them; and the hash of it all."""

RENAMED: Mapping[str, str] = {
    "told_columns": "informative_columns",
    "told_error": "informative_error",
    "told_perfect_rows": "informative_perfect_rows",
    "told_values": "proved_values",
    "rows_told_by": "rows_measured_on",
    "share_told_class_bounds": "share_disclosed_class_bounds",
}
"""Keys of schema version 1, and what they are called in version 2 (see CHANGELOG)."""

REMOVED = frozenset({"engine", "anytime", "split_half_quantiles", "restored", "set_aside", "determined"})
"""Keys that are gone: who attacked (this package), what was always null, what counts were restored from, and what rows
are determined in blocks.
"""

EFFORT, SECONDS = 1.0, 600.0
"""Units of work for each search, and a time box that is never reached."""

_TIME = re.compile(r"\b\d+(\.\d+)? (s|ms|MB)\b")
_PLUGINS = ("pytest_draft/plugin/hooks.py", "pytest_draft/plugin.py")
"""Where the plugin stands, the newest place first."""

_SHOWN = 160
"""Characters of each of two values that differ."""


@dataclass(frozen=True)
class Difference:
    """Where two reports are not the same."""

    path: str
    """Keys and positions from the top."""
    before: str
    after: str
    """`before` and `after`: as JSON, or that there is nothing."""

    def __str__(self) -> str:
        return f"{self.path}: {self.before} -> {self.after}"


def differences(before: object, after: object, path: str = "") -> Iterator[Difference]:
    """Yield where two reports are not the same, but for what differs from run to run and the keys' names.

    Parameters
    ----------
    before, after : object
        As read from JSON: the older one may have the keys of schema version 1.
    path : str
        Where they stand in the whole.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        named = {key: key if key in after else RENAMED.get(key, key) for key in before}  # some are names of others now
        old = {named[key]: value for key, value in before.items() if key not in REMOVED}
        for key in dict.fromkeys([*old, *after]):
            if key not in LEFT_OUT and key not in REMOVED:
                missing = key not in old, key not in after
                if any(missing):
                    place = _joined(path, key)
                    yield Difference(place, *_shown(missing, old.get(key), after.get(key)))
                else:
                    yield from differences(old[key], after[key], _joined(path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif type(before) is not type(after) or _timeless(before) != _timeless(after):
        yield Difference(path, *_shown((False, False), before, after))


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _timeless(value: object) -> object:
    """Return a value; a text without the times and the memory that it tells."""
    return _TIME.sub(r"# \2", value) if isinstance(value, str) else value


def _shown(missing: tuple[bool, bool], *values: object) -> list[str]:
    texts = ["nothing" if gone else json.dumps(value) for gone, value in zip(missing, values, strict=True)]
    return [text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..." for text in texts]


def plugin_of(checkout: Path) -> str:
    """Return the plugin's module in a checkout.

    Raises
    ------
    DataError
        Where there is none.
    """
    for place in _PLUGINS:
        if (checkout / place).is_file():
            return place.removesuffix(".py").replace("/", ".")
    raise DataError(f"{one_line(str(checkout))!r} is no checkout of pytest-draft: it has no {_PLUGINS[0]}")


def report_of(checkout: Path, folder: Path, options: Sequence[str]) -> tuple[dict[str, Any], float]:
    """Judge by a checkout's package in a process of its own.

    Parameters
    ----------
    folder : Path
        Where the files are that the options name.
    options : sequence of str
        Of pytest.

    Returns
    -------
    report : dict
    seconds : float
        Of the whole process.

    Raises
    ------
    DataError
        Where there is no report, with the last line that was printed.
    """
    path = folder / "report.json"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin_of(checkout)]
    fixed = [f"--draft-effort={EFFORT:g}", f"--draft-budget={SECONDS:g}", "--draft-only"]
    fixed.append(f"--draft-report=json:{path.name}")
    start = time.monotonic()
    done = subprocess.run(
        [*command, *fixed, *options],
        cwd=folder,
        env=_environment(checkout),
        capture_output=True,
        text=True,
        check=False,
    )
    spent = time.monotonic() - start
    if not path.is_file():
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing was printed"]
        raise DataError(f"no report by {one_line(str(checkout))!r} (exit status {done.returncode}): {said[-1]}")
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report, spent


def run(before: Path, after: Path = HERE, names: Sequence[str] = tuple(JUDGEMENTS)) -> int:
    """Print a line for each judgement, and below it each difference.

    Parameters
    ----------
    before, after : Path
        Checkouts: the older one, and the newer.
    names : sequence of str
        Of `JUDGEMENTS`.

    Returns
    -------
    int
        Number of judgements whose reports differ.

    Raises
    ------
    DataError
        Where a folder is no checkout, or a judgement has no report.
    """
    checkouts = [path.resolve() for path in (before, after)]
    for checkout in checkouts:
        _expect_first_on_path(checkout)
    apart = 0
    start = time.monotonic()
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            options = JUDGEMENTS[name](folder)
            (old, old_seconds), (new, new_seconds) = (report_of(checkout, folder, options) for checkout in checkouts)
        found = list(differences(old, new))
        apart += bool(found)
        verdicts = ", ".join(f"{one['solver_status']}: {one['verdict']}" for one in new["results"])
        same = f"{len(found)} differences" if found else "the same"
        print(f"{name:<42} {same:<15} {old_seconds:>5.1f} s {new_seconds:>5.1f} s  {verdicts}", flush=True)
        for one in found:
            print(f"    {one}", flush=True)
    print(f"{len(names)} judgements by two checkouts in {time.monotonic() - start:.0f} s, {apart} with differences")
    return apart


def _environment(checkout: Path) -> dict[str, str]:
    """Return the variables of a process that takes a checkout's package, and only the plugins that are named."""
    return {**os.environ, "PYTHONPATH": str(checkout), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _expect_first_on_path(checkout: Path) -> None:
    """Make sure that a process that is given a checkout imports its package."""
    plugin_of(checkout)
    command = [sys.executable, "-c", "import pytest_draft; print(pytest_draft.__file__)"]
    elsewhere = tempfile.gettempdir()  # else the folder it is run in would come first
    found = subprocess.run(
        command, cwd=elsewhere, env=_environment(checkout), capture_output=True, text=True, check=True
    )
    if not Path(found.stdout.strip()).is_relative_to(checkout):
        raise DataError(f"{one_line(found.stdout)!r} is imported, which is not of {one_line(str(checkout))!r}")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--before", type=Path, required=True, help="the other checkout, such as a git worktree")
    command.add_argument("--after", type=Path, default=HERE, help="in place of this checkout")
    command.add_argument("--names", nargs="+", default=list(JUDGEMENTS), choices=list(JUDGEMENTS), metavar="NAME")


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a.before, a.after, a.names)
