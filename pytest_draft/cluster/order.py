"""What a worker is asked to do, and whether its answer is about that: an `Order`, and checks of both sides.

An `Order` has a case, the hashes of its files and the controller's environment. A worker whose environment differs
(`difference`) refuses it; the controller takes no examination that is about another case (`require_ordered`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from pytest_draft.errors import one_line
from pytest_draft.facts.case import Case
from pytest_draft.facts.code import code_sha256
from pytest_draft.facts.examination import Examination, versions_here
from pytest_draft.facts.files import ArtifactFacts, DataFacts

CODE = "code of pytest-draft"
"""Under this name, an environment has the hash of this package's own code."""


@dataclass(frozen=True)
class File:
    """A file that a case names."""

    path: str
    """As the case names it."""
    sha256: str
    size: int
    """In bytes."""


@dataclass(frozen=True)
class Order:
    """One examination for a worker. It holds no content of a file, so that Dask's logs may show it."""

    case: Case
    files: tuple[File, ...]
    environment: Mapping[str, str]
    """Of the controller, as `environment` returns it."""
    topic: str
    """Of the events by which the worker informs the controller."""
    number: int
    """Which of the topic's orders this is."""
    n_local: int | None = None
    """Workers of one thread that were started on this machine, and divide its memory and processors; None for a worker
    of a cluster elsewhere, whose threads divide what it has.
    """


@cache
def environment() -> dict[str, str]:
    """Return the versions of all that an examination depends on, by name; asked once, as each task asks."""
    found = versions_here()
    found.pop("pytest-draft", None)  # its code says more
    for package in ("numba", "distributed"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # pragma: no cover  (both are needed to come here)
            continue
    return {**found, CODE: code_sha256()}


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """Return in a few words what another environment has in place of this one's; None where nothing differs."""
    for name, wanted in here.items():
        found = there.get(name)
        if found != wanted:
            theirs = "none" if found is None else f"{one_line(found, 16 if name == CODE else 40)}"
            return f"{name}: {theirs} there, {wanted[:16] if name == CODE else wanted} here"
    return None


def require_ordered(examination: Examination, files: Iterable[File]) -> Examination:
    """Return the examination that a worker answered with, if it is about these files, by their paths and hashes.

    Raises
    ------
    ValueError
        Where it is about other files, another model of the file, or was no run of its own.
    """
    case, known = examination.case, {file.path: file.sha256 for file in files}
    named: list[tuple[ArtifactFacts | DataFacts, str | None]] = [
        (examination.artifact, case.artifact),
        (examination.data, case.data),
    ]
    if examination.holdout is not None:
        named.append((examination.holdout, case.holdout))
    for facts, path in named:
        if facts.path != path or (facts.sha256 is not None and facts.sha256 != known.get(path or "")):
            raise ValueError("about another file")
    if examination.cached or examination.retried is not None or examination.artifact.place != case.place:
        raise ValueError("about another run")
    return examination
