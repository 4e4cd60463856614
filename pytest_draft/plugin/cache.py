"""Examinations that outlast a run: what an earlier run found out on the same inputs.

Only aggregates are kept, under pytest's cache directory. The key is made of the bytes of all files that a case names,
of its parameters, and of all code that the result depends on; not of the paths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_draft.bounded import TABLE_BYTES, content, sha256
from pytest_draft.facts.case import Beside, Case
from pytest_draft.facts.code import code_sha256
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.facts.storage import as_text, from_text, write_atomically
from pytest_draft.plugin.sharing import locked, longest_examination, stamps

FOLDER = "pytest-draft"
"""Name of the folder in pytest's cache."""

_ENTRY_BYTES = 256 << 20  # of one entry: aggregates take far less


@dataclass(frozen=True)
class Cache:
    """Examinations that outlast a run."""

    folder: Path

    @classmethod
    def of(cls, config: pytest.Config) -> Cache | None:
        """Return what lies in pytest's cache directory, where ``--cache-clear`` removes it; None without one."""
        try:
            return cls(config.cache.mkdir(FOLDER))
        except OSError:  # a full disk, or a folder that cannot be written to
            return None

    def once(
        self,
        case: Case,
        answers: Callable[[Examination], bool],
        compute: Callable[[], Examination],
        while_waiting: Callable[[], object] = lambda: None,
    ) -> Examination:
        """Return a case's examination: a kept one that answers, else a new one, which is kept where it does.

        Parameters
        ----------
        answers : callable
            Whether an examination leaves nothing open: what time or memory kept from being decided is decided anew.
        while_waiting : callable
            Called now and then while another process computes it; it may raise to end the wait.
        """
        before = stamps(case)
        key = key_of(case)
        if key is None:
            return compute()
        path = self.folder / f"{key}.json"
        with locked(self.folder / f"{key}.lock", longest_examination(case), while_waiting):
            kept = _read(path, case)
            if kept is not None and answers(kept):
                return kept
            found = compute()
            if answers(found) and stamps(case) == before and key_of(case) == key:  # else a file was replaced meanwhile
                text = as_text(_without(found, case))
                with suppress(OSError):  # no room: the next run finds it out itself
                    write_atomically(path, f"{_hash(text)}\n{text}")
            return found

    def holds(self, case: Case, answers: Callable[[Examination], bool]) -> bool:
        """Return whether an examination that answers is kept."""
        key = key_of(case)
        kept = None if key is None else _read(self.folder / f"{key}.json", case)
        return kept is not None and answers(kept)


def key_of(case: Case) -> str | None:
    """Return what is the same for the same inputs, parameters and code; None where a file cannot be read."""
    try:
        hashes = {name: sha256(Path(path), TABLE_BYTES) for name, path in case.files.items()}
    except OSError:  # the examination will say what is wrong
        return None
    beside = tuple(Beside(Path(one.artifact).name, place=one.place) for one in case.beside)  # as they are told by name
    mine = Path(case.artifact).name if beside else ""
    parameters = replace(
        case, artifact=mine, data=None, labels=None, domain=None, holdout=None, hardened_from=None, beside=beside
    )
    return _hash(repr((hashes, parameters, sorted(unexamined(case).versions.items()), code_sha256())))


def _read(path: Path, case: Case) -> Examination | None:
    """Return what is kept, with the paths of now; None where nothing is, or it is damaged."""
    try:
        written, _, text = content(path, _ENTRY_BYTES).decode("utf-8").partition("\n")
        if written != _hash(text):
            return None
        return _with(from_text(case, text), case)
    except (OSError, ValueError):
        return None


def _without(examination: Examination, case: Case) -> Examination:
    """Return an examination in which nothing shows where the files lie, nor which rows are the most exposed."""
    entropy = examination.entropy and replace(examination.entropy, most_exposed=())
    names = {path: f"<{name}>" for name, path in case.files.items()}
    return _renamed(replace(examination, entropy=entropy, retried=None), names)


def _with(examination: Examination, case: Case) -> Examination:
    """Return a kept examination as that of a case, and marked as kept."""
    names = {f"<{name}>": path for name, path in case.files.items()}
    return replace(_renamed(examination, names), cached=True)


def _renamed(examination: Examination, names: dict[str, str]) -> Examination:
    """Return an examination in which files have other names, wherever it names them."""

    def renamed(text: str) -> str:
        for old in sorted(names, key=len, reverse=True):
            text = text.replace(old, names[old])
        return text

    domain, holdout, data = examination.domain, examination.holdout, examination.data
    return replace(
        examination,
        artifact=replace(examination.artifact, path=renamed(examination.artifact.path)),
        data=replace(data, path=data.path and renamed(data.path)),
        holdout=holdout and replace(holdout, path=holdout.path and renamed(holdout.path)),
        domain=domain and replace(domain, source=renamed(domain.source), granted=tuple(map(renamed, domain.granted))),
        notes=tuple(map(renamed, examination.notes)),
        basis=examination.basis and _renamed(examination.basis, names),
        together=examination.together and _renamed(examination.together, names),
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
