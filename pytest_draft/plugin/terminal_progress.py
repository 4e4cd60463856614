"""Shows `Progress` in the terminal while a forest is examined: a live line, or a plain one at times.

Aggregates only, in ASCII. pytest has begun a line with the name of what it runs: where that is the model file, the name
is not written again.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest

from pytest_draft.errors import one_line
from pytest_draft.progress import Progress, ProgressListener

PLAIN_SECONDS = 10.0
"""The shortest time before a plain line and between two of them."""

STAGES = {
    "queue": "waiting for a worker",
    "examined elsewhere": "examined by a worker",
    "start": "starting",
    "load": "getting the training data from the project's own code",
    "read": "reading the files",
    "build": "listing what a row can be",
    "entropy": "measuring what the file leaves uncertain",
    "propagate": "ruling out what rows cannot be",
    "narrow": "ruling out what rows cannot be",
    "expect": "fitting rows to what leaves tell",
    "solve": "solving the equations that the trees are",
    "labels": "finding the labels of the rebuilt rows",
    "sensitive columns": "finding out what the file tells of sensitive columns",
    "membership": "finding out how well the file tells its people from others",
    "relax": "fitting rows to the file's counts",
    "pilot": "fitting rows to the file's counts",
    "anneal": "fitting rows to the file's counts",
    "cool": "fitting rows to the file's counts",
    "histogram": "fitting rows to the file's counts",
    "messages": "fitting each row to its leaves",
    "believe": "fitting each row to its leaves",
    "place rows": "fitting each row to its leaves",
    "polish rows": "correcting the last rows",
    "polish": "correcting the last rows",
    "repair": "correcting the last rows",
    "sample": "drawing datasets that fit the counts",
    "agree": "taking what these datasets agree on",
    "fill": "guessing what the file leaves open",
    "refit": "growing the trees again from the rebuilt rows",
    "prove": "proving which rows are certain",
    "certify": "proving which rows are certain",
    "informed": "rebuilding each row from all the others",
    "identify": "checking whether these rows trained the forest",
    "alternatives": "looking for other datasets that explain the file",
    "evaluate": "comparing with the true rows",
}
"""What is done in each stage of a search, for readers who do not know it; other stages are shown by name."""

_FIGURES = {"residual": "counts off by", "log-likelihood": "log-likelihood", "log-posterior": "log-posterior"}

_WIPE = "\x1b[{column}G\x1b[K"  # to this column, counted from 1, and delete what is right of it
_LEAST_ROOM = 16  # columns: in fewer, nothing of a stage could be read, and nothing is written


def in_words(progress: Progress, name: str = "", room: int = 300) -> str:
    """Return where an examination stands, in words of everyday: what there is room for, the time above all.

    Parameters
    ----------
    name : str
        Of what is examined, where that is to be said.
    room : int
        Most characters.
    """
    figure = ""
    if progress.value is not None and progress.figure is not None:
        figure = f" ({_FIGURES.get(progress.figure, progress.figure)} {progress.value:,.10g})"
    stage = one_line(STAGES.get(progress.stage, progress.stage))
    named = f"{one_line(name)}: {stage}" if name else stage
    most = "" if math.isinf(progress.seconds) else f" of at most {progress.seconds:g}"
    time = f", {progress.elapsed:.0f}{most} s"
    for text in (named + figure + time, named + time, stage + time):
        if len(text) <= room:
            return text
    return (stage[: max(room - len(time), 0)] + time)[:room]


def _is_named(name: str) -> bool:
    """Return whether pytest runs an item of a model file, so that its line begins with the name."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").startswith(f"{name}::")


@contextmanager
def shown(config: pytest.Config, name: str) -> Iterator[ProgressListener | None]:
    """Show how an examination gets on, until the ``with`` block ends.

    Parameters
    ----------
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
        lines = _PlainLines(terminal, uncaptured, name)
        yield lines
        lines.resume()
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
        self._written = False
        self._known: tuple[str, float | None] | None = None

    def __call__(self, progress: Progress) -> None:
        news = (progress.stage, progress.value)
        if progress.elapsed - self._since >= PLAIN_SECONDS and news != self._known:
            self._since, self._known = progress.elapsed, news
            with self._uncaptured():
                self._written = True
                named = _is_named(self._name)
                self._terminal.write_line("  " * named + in_words(progress, "" if named else self._name))

    def resume(self) -> None:
        """Begin the line of pytest again that was interrupted, so that what follows is about the same file."""
        node = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        if self._written and node and self._terminal.config.option.verbose == 0:
            path = self._terminal.config.rootpath / node.partition("::")[0]
            with self._uncaptured():
                self._terminal.write(f"{one_line(os.path.relpath(path, self._terminal.startpath))} ")
            self._terminal.currentfspath = path


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
            self._write(in_words(progress, "" if _is_named(self._name) else self._name, room))
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
