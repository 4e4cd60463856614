"""Examinations that the tests of one run share: in goes a case, out comes what a child answered to the same one before.

Nothing outlasts a run of the tests: each first answer is that of the code as it is now.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.isolation import Children
from pytest_draft.plugin.cache import key_of
from pytest_draft.policy.enough import Enough

_FILES = ("artifact", "data", "labels", "domain", "holdout")


@dataclass
class Remembered:
    """What children have answered to the tests of this run."""

    folder: Path
    """All processes of the run share it."""
    asked: list[Case] = field(default_factory=list)
    """All that was asked of children here, whether it was remembered or not."""
    off: bool = False
    """Whether each examination runs, whatever is remembered."""
    rows: bool = True
    """Whether a remembered answer comes with the rows that were rebuilt, to unpickle which the engine is imported."""

    def instead_of(self, run: Callable[..., tuple[Examination, Any]]) -> Callable[..., tuple[Examination, Any]]:
        """Return what takes the place of `Children.run`."""

        def remember(
            children: Children,
            case: Case,
            data: object = None,
            tell: object = None,
            elsewhere: Any = None,
            enough: Enough | None = None,
        ):
            self.asked.append(case)
            key = None if self.off else key_of_files(case, data, enough)
            if key is None:
                return run(children, case, data, tell, elsewhere, enough)
            path = self.folder / key
            if path.exists():
                packed, rows = pickle.loads(path.read_bytes())
                examination, rebuilt = pickle.loads(packed), pickle.loads(rows) if self.rows else None
                return replace(
                    _renamed(examination, {f"<{n}>": p for n, p in _paths(case).items()}), case=case
                ), rebuilt
            examination, rebuilt = run(children, case, data, tell, elsewhere, enough)
            if not _depends_on_the_machine(examination) and key_of_files(case, data, enough) == key:
                names = {path: f"<{name}>" for name, path in _paths(case).items()}
                temporary = path.with_suffix(f".{os.getpid()}")
                anonymous = _renamed(replace(examination, case=None), names)
                temporary.write_bytes(pickle.dumps((pickle.dumps(anonymous), pickle.dumps(rebuilt))))
                temporary.replace(path)
            return examination, rebuilt

        return remember

    @contextmanager
    def forgotten(self) -> Iterator[None]:
        """Have each examination run for itself."""
        before, self.off = self.off, True
        try:
            yield
        finally:
            self.off = before


def _depends_on_the_machine(examination: Examination) -> bool:
    """Return whether its clock, its memory or a crash may have had a say."""
    return any(word in why for why in examination.reasons for word in ("time box", "clock", "memory", "process"))


def key_of_files(case: Case, data: object, enough: Enough | None = None) -> str | None:
    """Return what is the same for the same code, parameters, bytes of files, data in memory and what ends it early.

    None for no such.
    """
    known = key_of(case if case.function is None else replace(case, data=None))
    policy = None if enough is None else enough.policy
    ends = policy and (policy.rules, policy.severities, policy.waivers, policy.allow_inconclusive)
    try:
        given = hashlib.sha256(pickle.dumps(data) + repr(ends).encode()).hexdigest()
    except Exception:
        return None
    names = [path and Path(path).name for path in (getattr(case, name) for name in _FILES)]  # suffixes mean something
    return known and hashlib.sha256(repr((known, given, names)).encode()).hexdigest()


def _paths(case: Case) -> dict[str, str]:
    return {name: path for name in _FILES if (path := getattr(case, name)) is not None}


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Return a value with other names of files, wherever there are any in it."""
    if isinstance(value, str):
        for old in sorted(names, key=len, reverse=True):
            value = value.replace(old, names[old])
        return value
    if is_dataclass(value):
        return replace(value, **{one.name: _renamed(getattr(value, one.name), names) for one in fields(value)})
    if isinstance(value, tuple | list):
        return type(value)(_renamed(one, names) for one in value)
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(one, names) for key, one in value.items()}
    return value
