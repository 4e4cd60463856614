"""The process that reads mutants: in go a run's numbers, out comes a line for each mutant, as soon as it is known.

A hang, a crash or too much memory ends this process and not the run. Warnings are errors here.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from studies.fuzz.plan import SECONDS, drawn
from studies.fuzz.targets import mutant, outcome
from studies.memory import peak_memory

MOST_MEMORY = 2**30
"""Bytes that reading may take, all of this process together."""


def said(target: str, name: str, content: bytes, folder: Path) -> tuple[str, float]:
    """Read a mutant; return how that ended, in one word or behind ``!``, and the seconds of processor time.

    Parameters
    ----------
    name : str
        Of the honest file, whose suffixes say what it is.
    folder : pathlib.Path
        Where to write it.
    """
    path = folder / f"mutant.{name.split('.', 1)[1]}"
    path.write_bytes(content)
    since = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = outcome(target, path)
    except Exception as error:
        found = f"! {_where(error)}"
    seconds = time.process_time() - since
    if not found.startswith("!") and seconds > SECONDS:
        found = f"! it took {seconds:.1f} s"
    return found, seconds


def _where(error: BaseException) -> str:
    """Return an error's type and the place in the package that it came from, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "pytest_draft" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "nowhere"
    return f"{type(error).__name__} at {place}: {ascii(str(error))[:200]}"


def main(seed: int, first: int, last: int, names: list[str]) -> None:
    """Read mutants, by their numbers in the run, and print a line for each."""
    resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_MEMORY, 4 * MOST_MEMORY))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as made:
        for number in range(first, last):
            target, its = drawn(number, names)
            name, content = mutant(target, seed, its)
            found, seconds = said(target, name, content, Path(made))
            peak = peak_memory()
            if peak > MOST_MEMORY:
                found = f"! it took {peak >> 20} MiB"
            print(f"{number}\t{seconds:.4f}\t{peak >> 20}\t{found}", flush=True)
            if peak > MOST_MEMORY:
                return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
