"""One cell in a process that computes: in goes its call, out comes its row, or one line that says why there is none."""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_draft.bounded import what_failed
from pytest_draft.errors import DraftError, UsageError, one_line
from studies.cells.code import code_hash
from studies.cells.study import Cell, Plain, file_hash, plain_row

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "numba", "ortools", "diffprivlib", "torch")
_CPU = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Call:
    """What is sent to the process that computes."""

    compute: Callable[..., Any]
    cell: Cell
    code: str
    """Hash of the code that it is to be computed by."""


@dataclass(frozen=True)
class Outcome:
    """What comes back."""

    results: dict[str, Plain] | None
    failure: str = ""
    """One line; empty where there are results."""
    seconds: float = 0.0
    machine: str = ""
    versions: str = ""


def computed(call: Call) -> Outcome:
    """Compute a cell; nothing is raised but what ends the process."""
    began = time.monotonic()
    try:
        differs = difference(call)
        if differs:
            raise UsageError(differs)
        files = {name: path for name, (path, _) in call.cell.files.items()}
        found = call.compute(**{**call.cell.parameters, **files})
        results = plain_row(asdict(found) if is_dataclass(found) and not isinstance(found, type) else found)
        both = sorted(results.keys() & call.cell.parameters.keys())
        if both:
            raise UsageError(f"{both[0]} is both a parameter and a result; rename one of them")
    except Exception as error:
        return Outcome(None, in_one_line(error))
    return Outcome(results, "", time.monotonic() - began, machine(), versions())


def difference(call: Call) -> str:
    """Return what this process sees otherwise than the one that asks, in one line; empty where all is the same."""
    if code_hash(call.compute) != call.code:
        return f"another version of the code on {platform.node()}; stop, and run the study again"
    for path, sha in call.cell.files.values():
        status = path.stat() if path.exists() else None
        if status is None:
            return f"{one_line(path)}: not there on {platform.node()}; put it on a path that all workers share"
        if _hash_of(path, status.st_mtime_ns, status.st_size) != sha:
            return f"{one_line(path)}: another content on {platform.node()}; stop, and run the study again"
    return ""


@cache
def _hash_of(path: Path, changed: int, size: int) -> str:
    """Return the hash of a file, computed again where it may have changed."""
    return file_hash(path)


def in_one_line(error: BaseException) -> str:
    """Return the type of an exception and where it arose, and its message where it is known to quote no rows."""
    name = type(error).__name__
    if isinstance(error, DraftError):
        return f"{name}: {error}"
    if isinstance(error, OSError):
        return f"{name}: {what_failed(error)}{_place(error)}"
    return name + _place(error)


def _place(error: BaseException) -> str:
    """Return the innermost line of our own code that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "site-packages" not in frame.filename and frame.filename != __file__]
    if not own:
        return ""
    path = Path(own[-1].filename)
    return f" ({one_line(path.parent.name)}/{one_line(path.name)}, line {own[-1].lineno})"


@cache
def machine() -> str:
    """Return what kind of machine this is: processor, number of cores that may be used, system."""
    model = platform.processor() or platform.machine()
    if _CPU.exists():
        lines = _CPU.read_text(encoding="ascii", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return one_line(f"{model}, {cores} cores, {platform.system()}")


@cache
def versions() -> str:
    """Return the versions of Python and of the packages that results depend on."""
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
