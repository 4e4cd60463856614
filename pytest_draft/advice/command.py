"""Look for settings of a model whose file passes the gate.

In go the arguments of ``python -m pytest_draft advise``, out come a table, the file to release and an exit code. 0: a
file passed and is written; 1: none did; 2: wrong usage; 130: interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path, PurePath

from pytest_draft.errors import UsageError, one_line
from pytest_draft.output import place_of, replacing
from pytest_draft.policy.remedies import written_suffix

_PASSED = ("metric", "minutes", "policy", "holdout", "domain", "budget", "memory", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="file of joblib or of a booster; loading it runs what is in it: give your own")
    add("--data", required=True, metavar="PATH", help="all rows that the model was trained on (CSV, Parquet, npz)")
    add("--target", metavar="NAME", help="name of the label column")
    add("--metric", metavar="NAME", help="scorer of scikit-learn (default: roc_auc, roc_auc_ovr or r2, by the model)")
    add("--minutes", type=float, default=10.0, help="for all of it, at most (default: 10)")
    add("--policy", metavar="PATH", help="TOML file, or the name of a shipped policy (default: default)")
    add("--adversary", action="append", default=[], metavar="NAME", help="what the attacker knows; repeatable")
    add("--holdout", metavar="PATH", help="rows that were not trained on, for the test score")
    add("--domain", metavar="PATH", help="TOML file that declares each column's domain")
    add("--budget", type=float, default=60.0, help="most seconds for the last judgement, as in the gate (default: 60)")
    add("--memory", type=int, help="most memory, in MB, for the process that examines")
    add("--seed", type=int, default=0, help="of folds and attacks; a model's own is drawn anew (default: 0)")
    add("--save", metavar="PATH", help="where to write the file that passed (default: MODEL-advised)")
    add("--markdown", metavar="PATH", help="write what is printed for a job summary")


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Raises
    ------
    DraftError
        In one line, before any work.
    """
    given = PurePath(arguments.model)
    save = _output(
        "--save", arguments.save or given.with_name(f"{given.stem}-advised{written_suffix(arguments.model)}"), arguments
    )
    markdown = None if arguments.markdown is None else _output("--markdown", arguments.markdown, arguments)
    if markdown is not None and markdown.resolve() == save.resolve():
        raise UsageError(f"--markdown: {one_line(markdown)!r} is written in this run already: name another file")
    from pytest_draft.advice.advise import advise

    print(f"loading {one_line(arguments.model)}, which runs what is in it", file=sys.stderr)
    try:
        advice = advise(
            arguments.model,
            arguments.data,
            arguments.target,
            adversaries=tuple(arguments.adversary),
            **{name: getattr(arguments, name) for name in _PASSED},
            say=_say,
        )
    finally:
        _say("", 1.0)
    advice = advice.save(save)
    print(advice)
    if markdown is not None:
        with replacing(markdown) as file:  # indented by four, nothing in it is markup
            lines = "\n".join(f"    {line}" for line in str(advice).splitlines())
            file.write(f"### Settings that pass\n\n{lines}\n".encode())
    if advice.pick is not None:
        return 0
    return 130 if advice.interrupted else 1


def _output(option: str, given: str | PurePath, arguments: argparse.Namespace) -> Path:
    """Return a file to write, which may be none that is read."""
    path = Path(given)
    read = (arguments.model, arguments.data, arguments.holdout, arguments.domain, arguments.policy)
    if path.resolve() in {Path(one).resolve() for one in read if one is not None}:
        raise UsageError(f"{option}: {one_line(path)!r} is read in this run: name another file")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"{option}: {one_line(path)!r} is a folder, or lies in none that is there")
    try:
        place_of(path)
    except OSError:
        raise UsageError(f"{option}: {one_line(path)!r} is no regular file: name one, or a new one") from None
    return path


def _say(what: str, share: float) -> None:
    """Show on standard error what begins now: in one line that is rewritten, or a line for each judgement."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        print(f"\r\x1b[K{share:4.0%} {one_line(what, 70)}" if what else "\r\x1b[K", end="", file=sys.stderr, flush=True)
    elif what.startswith("judging"):
        print(one_line(what), file=sys.stderr, flush=True)
