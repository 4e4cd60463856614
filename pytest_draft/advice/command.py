"""Look for settings of a model whose hardened file passes the gate.

In go the arguments of ``python -m pytest_draft advise``, out come a table, files and an exit code. 0: a setting was
found that passed and passed three times more with fresh seeds; 1: none was; 2: wrong usage; 130: interrupted before.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from pytest_draft.errors import UsageError, one_line
from pytest_draft.output import place_of, replacing

if TYPE_CHECKING:
    from pytest_draft.advice.advice import Advice

_OUTPUTS = ("html", "json", "markdown", "save", "save_hardened")
_BAR = 20  # characters
_PLAIN_SECONDS = 10.0  # between two lines where nothing can be rewritten


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="file of joblib; it is loaded, which runs what is in it: give only your own")
    add("--data", required=True, metavar="PATH", help="all rows that the model was trained on (CSV, Parquet, npz)")
    add("--target", metavar="NAME", help="name of the label column")
    add("--metric", metavar="NAME", help="scorer of scikit-learn (default: roc_auc, roc_auc_ovr or r2, by the model)")
    add("--minutes", type=float, default=15.0, help="for all of it, at most (default: 15)")
    add("--policy", metavar="PATH", help="TOML file, or the name of a shipped policy (default: default)")
    add("--adversary", action="append", default=[], metavar="NAME", help="what the attacker knows; repeatable")
    add("--level", default="counts", help="of hardening: seeds, counts (default), decimals:N or labels")
    add("--holdout", metavar="PATH", help="rows that were not trained on, for the test score")
    add("--domain", metavar="PATH", help="TOML file that declares each column's domain")
    add("--budget", type=float, default=60.0, help="most seconds for each judgement, as in the gate (default: 60)")
    add("--memory", type=int, help="most memory, in MB, for the process that examines")
    add("--seed", type=int, default=0, help="of folds and attacks; a released model's is drawn anew (default: 0)")
    add("--html", metavar="PATH", help="write the page, with a plot of score against leak")
    add("--json", metavar="PATH", help="write all that was found out")
    add("--markdown", metavar="PATH", help="write the table for a job summary")
    add("--save", metavar="PATH", help="write the model that was picked, trained on all rows: keep it as these")
    add("--save-hardened", metavar="PATH", help="write its hardened file, which is the one to release")


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Raises
    ------
    DraftError
        In one line, before any work.
    """
    outputs = _outputs(arguments)
    from pytest_draft.advice.advise import advise

    showing = Showing()
    print(f"loading {one_line(arguments.model)}, which runs what is in it", file=sys.stderr)
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        advice = advise(
            arguments.model,
            arguments.data,
            arguments.target,
            metric=arguments.metric,
            minutes=arguments.minutes,
            policy=arguments.policy,
            level=arguments.level,
            holdout=arguments.holdout,
            domain=arguments.domain,
            adversaries=tuple(arguments.adversary),
            budget=arguments.budget,
            memory=arguments.memory,
            seed=arguments.seed,
            say=showing.say,
            tell=showing.show_elapsed,
        )
    except KeyboardInterrupt:  # before there was anything to keep
        print("interrupted before anything was found out", file=sys.stderr)
        return 130
    finally:
        showing.wipe()
    print(advice)
    _write(advice, outputs)
    if advice.pick is not None:
        return 0
    return 130 if advice.interrupted else 1


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _outputs(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the files to write; none of them may be one that is read, or another one."""
    read = (arguments.model, arguments.data, arguments.holdout, arguments.domain, arguments.policy)
    taken = {Path(path).resolve() for path in read if path is not None}
    outputs = {}
    for name in _OUTPUTS:
        given = getattr(arguments, name)
        if given is None:
            continue
        path, option = Path(given), f"--{name.replace('_', '-')}"
        if path.resolve() in taken:
            raise UsageError(f"{option}: {one_line(path)!r} is read or written in this run already: name another file")
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UsageError(f"{option}: {one_line(path)!r} is a folder, or lies in none that is there")
        try:
            place_of(path)
        except OSError:
            raise UsageError(f"{option}: {one_line(path)!r} is no regular file: name one, or a new one") from None
        taken.add(path.resolve())
        outputs[name] = path
    return outputs


def _write(advice: Advice, outputs: dict[str, Path]) -> None:
    """Write what was asked for; models only where there is a pick."""
    import json

    from pytest_draft.advice.table import markdown

    texts: dict[str, Callable[[], str]] = {
        "html": advice.html,
        "json": lambda: json.dumps(advice.document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "markdown": lambda: markdown(advice),
    }
    for name, render in texts.items():
        if name in outputs:
            with replacing(outputs[name]) as file:
                file.write(render().encode("utf-8"))
    if advice.model is None or advice.pick is None:
        return
    if "save" in outputs:
        _dump(advice.model, outputs["save"])
    if "save_hardened" in outputs:
        _dump(advice.released, outputs["save_hardened"])


def _dump(model: object, path: Path) -> None:
    """Write a model that nobody else may read."""
    import joblib

    with replacing(path, private=True) as file:
        joblib.dump(model, file)


class Showing:
    """Shows what is being done on standard error: one line that is rewritten, or a line at times."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._text, self._share, self._since, self._written = "", 0.0, 0.0, 0.0

    def say(self, what: str, share: float | None) -> None:
        """Show what begins now."""
        self._text, self._share, self._since = what, share if share is not None else self._share, time.monotonic()
        self._show("")

    def show_elapsed(self, seconds: float) -> None:
        """Show how long it has taken by now."""
        if self._live:
            self._show(f", {seconds:.0f} s")

    def wipe(self) -> None:
        """Take the line away."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _show(self, more: str) -> None:
        text = one_line(self._text + more)
        if not self._live:
            judging = text.startswith("judging")
            if judging or time.monotonic() - self._written >= _PLAIN_SECONDS:
                self._written = time.monotonic()
                print(text, file=sys.stderr, flush=True)
            return
        full = round(_BAR * self._share)
        room = _width() - _BAR - 4
        line = f"[{'#' * full}{'.' * (_BAR - full)}] {text[:room]}"
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _width() -> int:
    try:
        return max(40, os.get_terminal_size(sys.stderr.fileno()).columns)
    except OSError:
        return 80
