"""For a pytest in a process of its own: in goes the folder of what tests have found out, out comes what is in there.

Where all is remembered, no child is started and no engine imported, which takes seconds in each process of a run.
Only for tests of what a run shows and reports: those of children, and of what is rebuilt, do without.

PYTEST_DONT_REWRITE: it asserts nothing, and is imported before a run in this process could rewrite it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_draft.facts.case import Case
from pytest_draft.isolation import Children
from remembered import Remembered, key_of_files

FOLDER = "PYTEST_DRAFT_TESTS_REMEMBERED"


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Ask a child only what nobody has asked one before, and start it no sooner."""
    if Children.run.__name__ == "remember":  # in the process of the tests themselves
        return
    folder = Path(os.environ[FOLDER])
    wrong = Children.wrong

    def wrong_once(children: Children, case: Case) -> str | None:
        key = key_of_files(case, "labels")
        if key is None:
            return wrong(children, case)
        path = folder / key
        if path.exists():
            return path.read_text(encoding="utf-8") or None
        line = wrong(children, case)
        if line is None:  # what is wrong names a file as the case does
            path.touch()
        return line

    Children.run = Remembered(folder, rows=False).instead_of(Children.run)
    Children.wrong = wrong_once
    Children.start = lambda children: None
