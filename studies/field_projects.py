"""Projects as people write them, judged as a newcomer would: in go their scripts, out comes a line for each.

A project is a script of `FOLDER`, which makes a raw table and then trains on it as its owner would, or a folder with
``make_data.py``, ``train.py`` and the label column's name in ``target.txt``. The gate gets the file, the raw table and
that name; and then, if asked, the rows as ``fit`` got them, which the script has saved for this study.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

FOLDER = Path(__file__).with_name("field")
MADE_BY_HAND = "fit.npz"
_MODELS = (".pkl", ".pickle", ".joblib", ".sav", ".json", ".ubj", ".txt", ".cbm", ".skops")
_AT_ONCE = 10.0
"""Seconds of judging within which one action must be told."""


@dataclass(frozen=True)
class Project:
    """A project, before its scripts have run."""

    name: str
    scripts: tuple[Path, ...]
    target: str
    saved: str | None = None
    """None: the largest file of a model's kind that its scripts write."""


@dataclass(frozen=True)
class Said:
    """What the gate said of a project."""

    verdict: str
    kind: str = "-"
    rows: str = ""
    """The first note, or else the first reason."""
    seconds: float = 0.0
    """Until the end of the process, Python's start included."""
    one_action: bool = False
    """No verdict, but told in `_AT_ONCE` seconds and without an attack what to do."""


def projects(also: Path | None = None) -> Iterator[Project]:
    """Return the projects of `FOLDER`, and of another folder."""
    for script in sorted(FOLDER.glob("*.py")):
        told = dict(re.findall(r'^(TARGET|SAVED) = "(.+)"$', script.read_text(encoding="utf-8"), re.MULTILINE))
        yield Project(script.stem, (script,), told["TARGET"], told["SAVED"])
    for path in [] if also is None else sorted(also.resolve().glob("*/target.txt")):
        scripts = (path.with_name("make_data.py"), path.with_name("train.py"))
        yield Project(path.parent.name, scripts, path.read_text(encoding="utf-8").strip())


def made(project: Project, folder: Path) -> tuple[str, str]:
    """Run a project's scripts in a folder, each in a process of its own; return the names of its model and raw table.

    Raises
    ------
    RuntimeError
        Where a script fails, or no file of these kinds was written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    since = time.time_ns()
    for script in project.scripts:
        done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{script.name} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    found = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    sizes = {str(path.relative_to(folder)): one.st_size for path, one in found.items() if one.st_mtime_ns > since}
    models = sorted(
        (name for name in sizes if name.endswith(_MODELS)), key=lambda name: (name == project.saved, sizes[name])
    )
    tables = sorted((name for name in sizes if name.endswith(".csv")), key=lambda name: name != "data.csv")
    if not models or not tables:
        raise RuntimeError("its scripts wrote no model or no table")
    return models[-1], tables[0]


def judged(folder: Path, model: str, data: str, target: str) -> Said:
    """Return what the gate says, by ``pytest`` with nothing but what a new user knows."""
    report = folder / "r.json"
    report.unlink(missing_ok=True)
    options = ["--draft-forest", model, "--draft-data", data, "--draft-target", target, "--draft-report", "json:r.json"]
    since = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--draft-only", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - since
    if not report.exists():
        return Said("none", rows=(done.stderr or done.stdout).strip().rpartition("\n")[2], seconds=seconds)
    found = json.loads(report.read_text(encoding="utf-8"))
    first = next(one for one in found["results"] if one["verdict"] == found["verdict"])
    refused = found["verdict"] == "inconclusive" and first["solver_status"] == "refused"
    rows = next(iter([*first["notes"], *first["reasons"]]), "")
    at_once = refused and first["seconds"] <= _AT_ONCE
    return Said(found["verdict"], first["artifact"]["holds"] or "-", rows, seconds, at_once)


def run(some: list[Project], folder: Path, *, right: bool) -> int:
    """Print the table; return how many projects could not be made."""
    print("| project | model | what was said of the rows | verdict | s | rows made by hand |")
    print("| --- | --- | --- | --- | --- | --- |")
    every, pairs = [], []
    for project in some:
        here, by_hand = folder / project.name, "-"
        try:
            model, data = made(project, here)
            said = judged(here, model, data, project.target)
            if right and (here / MADE_BY_HAND).exists():
                by_hand = judged(here, model, MADE_BY_HAND, "y").verdict
                pairs.append((said.verdict, by_hand))
        except RuntimeError as error:
            said = Said("not made", rows=str(error))
        every.append(said)
        rows = shorten(said.rows, 200, placeholder=" ...")
        cells = (project.name, said.kind, rows, said.verdict, f"{said.seconds:.0f}", by_hand)
        print("|", " | ".join(cell.replace("|", "\\|") for cell in cells), "|", flush=True)
    verdicts = sum(said.verdict in ("passed", "failed") for said in every)
    print(
        f"\nverdict: {verdicts} of {len(every)}; one action: {sum(said.one_action for said in every)} of {len(every)}"
    )
    if right:
        print(f"the verdict of the rows made by hand: {sum(one == other for one, other in pairs)} of {len(pairs)}")
    return sum(said.verdict == "not made" for said in every)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--names", nargs="+", default=[""], help="projects whose names begin so (all)")
    command.add_argument("--folder", type=Path, help="keep what the projects make here")
    command.add_argument("--also", type=Path, metavar="DIR", help="more projects: */make_data.py, train.py, target.txt")
    command.add_argument("--right", action="store_true", help="also judge with the rows as fit() got them")


def command(a: argparse.Namespace) -> int:
    """Run this study; return how many projects could not be made."""
    some = [one for one in projects(a.also) if one.name.startswith(tuple(a.names))]
    with nullcontext(a.folder) if a.folder else tempfile.TemporaryDirectory() as folder:
        return run(some, Path(folder), right=a.right)
