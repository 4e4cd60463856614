"""What a terminal shows while a forest is examined: in goes `Progress`, out comes a live line, or a plain one at times.

Aggregates only, in ASCII.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest

from pytest_draft.errors import one_line
from pytest_draft.progress import Progress, Tell

PLAIN_SECONDS = 10.0
"""The shortest time before a plain line and between two of them."""

_WIPE = "\x1b[{column}G\x1b[K"  # to this column, counted from 1, and delete what is right of it
_LEAST_ROOM = 16  # columns: in fewer, nothing of a stage could be read, and nothing is written


@contextmanager
def shown(config: pytest.Config, name: str) -> Iterator[Tell | None]:
    """Show how an examination gets on, until the ``with`` block ends.

    Parameters
    ----------
    config : pytest.Config
    name : str
        What is examined.

    Yields
    ------
    callable or None
        Takes a `Progress`. None where nothing is to be shown: with ``-q``, without a terminal plugin, and in a worker
        of a distributed run.
    """
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal is None or hasattr(config, "workerinput") or config.option.verbose < 0:
        yield None
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    uncaptured = capture.global_and_fixture_disabled if capture else nullcontext
    if not terminal.isatty or os.environ.get("TERM") == "dumb":
        yield _PlainLines(terminal, uncaptured, name)
        return
    line = _LiveLine(terminal, uncaptured, name)
    try:
        yield line
    finally:
        line.wipe()


class _PlainLines:
    """A line of its own whenever there is news, not too often."""

    def __init__(self, terminal: Any, uncaptured: Any, name: str) -> None:
        self._terminal = terminal
        self._uncaptured = uncaptured
        self._name = name
        self._since = 0.0
        self._known: tuple[str, float | None] | None = None

    def __call__(self, progress: Progress) -> None:
        news = (progress.stage, progress.value)
        if progress.elapsed - self._since >= PLAIN_SECONDS and news != self._known:
            self._since, self._known = progress.elapsed, news
            with self._uncaptured():
                self._terminal.write_line(f"{one_line(self._name)}: {one_line(progress)}")


class _LiveLine:
    """The rest of the line that pytest is writing, rewritten in place.

    It is not written through pytest's terminal writer, which would count it as part of that line.
    """

    def __init__(self, terminal: Any, uncaptured: Any, name: str) -> None:
        self._writer = terminal.config.get_terminal_writer()
        self._uncaptured = uncaptured
        self._name = name
        self._written = False

    def __call__(self, progress: Progress) -> None:
        room = self._writer.fullwidth - self._writer.width_of_current_line - 1
        if room >= _LEAST_ROOM:
            text = one_line(progress)
            named = f"{one_line(self._name)}: {text}"
            self._write(named if len(named) <= room else text[:room])
            self._written = True

    def wipe(self) -> None:
        """Leave the line as pytest has written it."""
        if self._written:
            self._write("")

    def _write(self, text: str) -> None:
        uncaptured: AbstractContextManager[Any] = self._uncaptured()
        with uncaptured:
            sys.stdout.write(_WIPE.format(column=self._writer.width_of_current_line + 1) + text)
            sys.stdout.flush()
