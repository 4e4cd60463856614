"""Texts that people have looked at: in goes a text, out comes whether it is still the one that is stored.

``GOLDEN=write python -m pytest tests/report`` stores those of now; the difference is then for whoever reviews it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with the file of a name in the folder ``golden`` beside the test."""

    def compare(name: str, text: str) -> None:
        path = request.path.parent / "golden" / name
        if os.environ.get("GOLDEN") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()

    return compare
