"""For runs under coverage, with ``-p covered``: a child that is no longer needed ends by itself, and so is counted.

Without it a child is killed, and what it has measured is lost with it.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress

import pytest

from pytest_draft import isolation

PATIENCE = 20.0  # seconds


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Let a child see the end of its requests, and wait for it, before it is killed."""
    kill = isolation._Child.end

    def end(child: isolation._Child) -> None:
        with suppress(OSError):
            child._requests.close()
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(PATIENCE)
        kill(child)

    isolation._Child.end = end
