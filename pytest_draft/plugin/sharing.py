"""Examinations that the processes of one run share: the first one to ask computes it for all.

Only aggregates are shared, as text in a private folder that the controller makes and removes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.storage import as_text, from_text, write_atomically
from pytest_draft.plugin.locks import locked, longest_examination

FOLDER = "draft_shared_folder"
"""Under this name, xdist's controller gives its workers the folder where they share what they found out."""

INTERRUPTED = "interrupted"
"""A file of this name in that folder shows the workers, which xdist keeps from Ctrl-C, that there was one."""

Stamps = tuple[tuple[int, int, int, int] | None, ...]


def stamps(case: Case) -> Stamps:
    """Return what changes when a case's files do: inode, size and times of change of each.

    The last, which nobody can set, shows a file that was put away and back, too.
    """
    found: list[tuple[int, int, int, int] | None] = []
    for path in (case.artifact, case.data, case.labels, case.domain, case.holdout, case.hardened_from):
        try:
            status = Path(path).stat() if path is not None else None
        except OSError:  # reading it will say what is wrong
            status = None
        found.append((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns) if status else None)
    return tuple(found)


@dataclass(frozen=True)
class Shared:
    """Examinations that the processes of one run share."""

    folder: Path | None
    """None in a run of one process."""

    @classmethod
    def of(cls, config: pytest.Config) -> Shared:
        """Return what the controller shares with this process."""
        folder = getattr(config, "workerinput", {}).get(FOLDER)
        return cls(Path(folder) if folder else None)

    def raise_if_interrupted(self, *_: object) -> None:
        """Raise KeyboardInterrupt where there was one on the controller."""
        if self.folder is not None and (self.folder / INTERRUPTED).exists():
            raise KeyboardInterrupt

    def once(self, case: Case, compute: Callable[[], Examination]) -> Examination:
        """Return a case's examination; the first process to ask computes it, the others wait.

        Where that one is stopped, or can share nothing, the others compute it themselves.
        """
        if self.folder is None:
            return compute()
        name = hashlib.sha256(repr((case, stamps(case))).encode()).hexdigest()
        path = self.folder / f"{name}.json"
        with locked(self.folder / f"{name}.lock", longest_examination(case), self.raise_if_interrupted):
            self.raise_if_interrupted()
            with suppress(OSError, ValueError):  # nobody has shared it, or what was written is not whole
                return from_text(case, path.read_text(encoding="utf-8"))
            found = compute()
            with suppress(OSError):  # no room: the others find out themselves
                write_atomically(path, as_text(found))
            return found
