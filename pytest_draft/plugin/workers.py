"""pytest-xdist's hooks, registered on its controller only: they give workers the folder where they share results."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_draft.plugin import demo, sharing
from pytest_draft.plugin.session import GateSession


class Controller:
    """xdist's hooks on the controller: each worker gets the folder where it shares what it found out."""

    def __init__(self, config: pytest.Config) -> None:
        try:
            made = tempfile.TemporaryDirectory(prefix="pytest-draft-", ignore_cleanup_errors=True)
        except OSError as error:  # xdist itself would fail by that, with a traceback
            raise pytest.UsageError(
                f"-n: no folder for temporary files can be written to ({type(error).__name__}), which pytest-xdist "
                "needs: set TMPDIR to one, or leave out -n"
            ) from None
        config.add_cleanup(made.cleanup)
        self.folder = made.name

    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt the workers, which wait for what they examine; else xdist ends them soon."""
        with suppress(OSError):
            Path(self.folder, sharing.INTERRUPTED).touch()

    def pytest_configure_node(self, node: Any) -> None:
        """Hand the folder, and the demo's, to a worker."""
        node.workerinput[sharing.FOLDER] = self.folder
        if node.config.option.draft_demo:
            node.workerinput[demo.FOLDER] = str(GateSession.of(node.config).demo_folder)
