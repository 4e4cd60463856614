"""The fuzzing run: in go a seed and a number of mutants, out comes how they ended, and recipes of those that failed."""

from __future__ import annotations

import argparse
import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil

from studies.fuzz.plan import SECONDS, SHARES, drawn
from studies.fuzz.targets import SEEDS, mutant
from studies.fuzz.worker import said

REGRESSIONS = Path(__file__).parent / "regressions.jsonl"
"""Recipes of the mutants that once failed. Every test run reads them again."""

_BUSY = 30.0
"""Seconds of processor time without a word after which a process hangs, however busy the machine is."""

_SILENCE = 600.0
"""Seconds without a word after which it hangs in any case."""

_BATCH = 20_000
"""Mutants of one process."""


@dataclass(frozen=True)
class Recipe:
    """A mutant, told by what differs from the honest file that it was made of."""

    target: str
    seed: int
    number: int
    """`seed` and `number`: which have made it, as long as nothing about the making of mutants changes."""
    what: str
    """How it failed."""
    file: str
    """Name of the honest file."""
    start: int
    end: int
    """`start` and `end`: which bytes of that are replaced."""
    instead: str
    """By what: packed by zlib, in base 64."""

    @property
    def content(self) -> bytes:
        """The mutant."""
        honest = (SEEDS / self.file).read_bytes()
        return honest[: self.start] + zlib.decompress(base64.b64decode(self.instead)) + honest[self.end :]


def recipe(target: str, seed: int, number: int, what: str) -> Recipe:
    """Return the recipe of a mutant."""
    name, content = mutant(target, seed, number)
    honest = (SEEDS / name).read_bytes()
    start = _alike(honest, content)
    left = min(len(honest), len(content)) - start
    same = _alike(honest[::-1][:left], content[::-1][:left])
    packed = zlib.compress(content[start : len(content) - same], 9)
    return Recipe(target, seed, number, what, name, start, len(honest) - same, base64.b64encode(packed).decode())


def _alike(one: bytes, other: bytes) -> int:
    """Return how many bytes two contents begin with alike."""
    length = min(len(one), len(other))
    differ = np.frombuffer(one, np.uint8)[:length] != np.frombuffer(other, np.uint8)[:length]
    return int(np.argmax(differ)) if differ.any() else length


def kept(path: Path = REGRESSIONS) -> list[Recipe]:
    """Return the recipes in a file, none where there is no such file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Recipe(**json.loads(line)) for line in lines]


def replayed(one: Recipe, folder: Path) -> str:
    """Read a recipe's mutant again; return how that ended."""
    return said(one.target, one.file, one.content, folder)[0]


def run(
    mutants: int, seed: int, *, first: int = 0, names: Sequence[str] = tuple(SHARES), regressions: Path = REGRESSIONS
) -> int:
    """Read mutants in processes of their own, tell how they ended, and keep recipes of those that failed.

    Parameters
    ----------
    first : int
        The number to begin with, for a run in pieces.
    names : sequence of str
        Of the targets.
    regressions : pathlib.Path
        Where recipes are added to.

    Returns
    -------
    int
        How many failed.
    """
    ended: Counter[tuple[str, str]] = Counter()
    failed, since, slowest, most = 0, time.monotonic(), 0.0, 0
    known = {(one.target, one.what) for one in kept(regressions)}
    for number, seconds, memory, found in _ended(mutants, seed, first, names):
        target, its = drawn(number, names)
        ended[target, "FAILED" if found.startswith("!") else found] += 1
        slowest, most = max(slowest, seconds), max(most, memory)
        if not found.startswith("!"):
            continue
        failed += 1
        what = found.removeprefix("! ")
        print(f"{target} --seed {seed} --number {its}: {what}", flush=True)
        if (target, what) not in known:
            known.add((target, what))
            with regressions.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(recipe(target, seed, its, what))) + "\n")
    for target in names:
        shown = ", ".join(f"{count} {how}" for (one, how), count in sorted(ended.items()) if one == target)
        print(f"{target}: {shown}")
    print(
        f"{ended.total()} mutants from number {first} of seed {seed}: {failed} failed; "
        f"the slowest took {slowest:.2f} s (at most {SECONDS:g}), the largest process {most} MiB; "
        f"{time.monotonic() - since:.0f} s in all"
    )
    return failed


def _ended(mutants: int, seed: int, first: int, names: Sequence[str]) -> Iterator[tuple[int, float, int, str]]:
    """Yield each mutant's number, its seconds, its process's memory in MiB, and how it ended."""
    number, last = first, first + mutants
    while number < last:
        until = min(number + _BATCH, last)
        words = [sys.executable, "-W", "error", "-m", "studies.fuzz.worker", str(seed), str(number), str(until), *names]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors) as child,
        ):
            silent = False
            for line in _lines(child):
                if line is None:
                    silent = True
                    child.kill()
                    break
                told, seconds, memory, found = line.rstrip("\n").split("\t", 3)
                assert int(told) == number
                yield number, float(seconds), int(memory), found
                number += 1
            code = child.wait()
            if code == 0 or number >= until:
                continue
            errors.seek(0)
            why = errors.read().decode("utf-8", "replace").strip().splitlines() or ["without a word"]
        if not silent and code > 0:  # it does not begin at all, or a mutant cannot be made
            raise RuntimeError(f"mutant {number}: the process that reads ended with {code}: {why[-1]}")
        yield number, 0.0, 0, "! it hung" if silent else f"! the process died of signal {-code}"
        number += 1


def _lines(child: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """Yield the lines of a process until it ends; None once it has been silent for too long."""
    assert child.stdout is not None
    rest, since, spent = b"", time.monotonic(), 0.0
    while True:
        if not select.select([child.stdout], [], [], min(_SILENCE, 1.0))[0]:
            if time.monotonic() - since >= _SILENCE or _processor_time(child) - spent >= _BUSY:
                break
            continue
        chunk = os.read(child.stdout.fileno(), 2**16)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("ascii")
        since, spent = time.monotonic(), _processor_time(child)
    yield None


def _processor_time(child: subprocess.Popen[bytes]) -> float:
    try:
        times = psutil.Process(child.pid).cpu_times()
    except psutil.Error:  # it has just ended
        return 0.0
    return float(times.user + times.system)


def replay(target: str, seed: int, number: int, write: Path | None = None) -> int:
    """Make one mutant, read it, and tell how that ended; write it to a file where one is given.

    Returns
    -------
    int
        1 where it failed, else 0.
    """
    name, content = mutant(target, seed, number)
    if write is not None:
        write.write_bytes(content)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as made:
        found, seconds = said(target, name, content, Path(made))
    print(f"{target} --seed {seed} --number {number}, of {name}: {found} ({seconds:.2f} s)")
    return int(found.startswith("!"))


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--mutants", type=int, default=300_000)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--first", type=int, default=0, help="number to begin with, for a run in pieces")
    command.add_argument("--targets", nargs="+", default=list(SHARES), choices=list(SHARES), metavar="TARGET")
    command.add_argument("--number", type=int, help="make this one mutant of one target again, in this process")
    command.add_argument("--write", type=Path, help="file to write that mutant to")
    command.add_argument("--regressions", type=Path, default=REGRESSIONS, help="file that recipes are added to")


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    if a.number is not None:
        return replay(a.targets[0], a.seed, a.number, a.write)
    return run(a.mutants, a.seed, first=a.first, names=a.targets, regressions=a.regressions)
