"""What runs of pytest inside tests share: in goes a session of tests, out come one child and what it has answered."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any

import pytest

# Imported before any pytest runs inside this one: pytester forgets what its runs import, and extension
# modules cannot be imported twice.
import pytest_draft.plugin.summary
import pytest_draft.plugin.workers  # noqa: F401
from pytest_draft import isolation
from pytest_draft.facts.case import Case
from pytest_draft.isolation import Children, children
from remembered import Remembered

AFTERMATH = isolation._AFTERMATH


@pytest.fixture(scope="session", autouse=True)
def one_child():
    """Let all runs in this process share the child that waits for a case: starting one takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(children, "close", lambda: None)
        patch.setattr(isolation, "_AFTERMATH", 512 << 20)  # else most attacks would end it
        yield
    children.close()


@pytest.fixture(scope="session", autouse=True)
def remembered(tmp_path_factory) -> Iterator[Remembered]:
    """Let what a child has answered once in this run of the tests stand for the same case in another test."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "remembered"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        made = Remembered(folder)
        patch.setattr(Children, "run", made.instead_of(Children.run))
        yield made


@pytest.fixture(scope="session", autouse=True)
def one_isolation_forest() -> Iterator[None]:
    """Let examinations of the same rows in this process share the isolation forest, which a fifth of the time goes to.

    With the same parameters and a fixed random_state, another one of these rows would be the same.
    """
    from pytest_draft.data import individuals

    grown: dict[tuple[object, ...], Any] = {}
    whole = individuals.IsolationForest

    class Shared(whole):
        def fit(self, rows):
            parameters = self.get_params()
            key = (rows.tobytes(), rows.shape, rows.dtype.str, repr(sorted(parameters.items())))
            if key not in grown or self.random_state is None:
                grown[key] = whole(**parameters).fit(rows)
            return grown[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(individuals, "IsolationForest", Shared)
        yield


@pytest.fixture(scope="session", autouse=True)
def plugins_looked_for_once() -> Iterator[None]:
    """Let runs of pytest inside this process look for installed plugins once: each would read what all packages say."""
    found: dict[tuple[str, ...], list[metadata.Distribution]] = {}
    look = metadata.distributions

    def distributions(**context: Any) -> Iterable[metadata.Distribution]:
        if context:
            return look(**context)
        if (where := tuple(sys.path)) not in found:
            found[where] = [one for one in look() if one.entry_points]
        return found[where]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "distributions", distributions)
        yield


@pytest.fixture
def memory_as_shipped(monkeypatch) -> None:
    """Have a child end after an attack that has left as much memory as is too much outside of tests."""
    monkeypatch.setattr(isolation, "_AFTERMATH", AFTERMATH)


@pytest.fixture
def examined_anew(remembered) -> Iterator[None]:
    """Have each examination run: for tests of the children themselves, and of what they do to a run."""
    with remembered.forgotten():
        yield


@pytest.fixture
def asked(remembered) -> list[Case]:
    """Return the cases that the runs of this process ask children to examine; a test may clear the list."""
    remembered.asked.clear()
    return remembered.asked
