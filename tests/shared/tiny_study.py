"""Cells that take next to nothing: in go numbers, out come rows of values of all types."""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path

from pytest_draft.errors import DataError
from studies.cells import Study
from studies.options import add_cells, end, rows_of, status_of

KINDS = [True, 7, -0.5, float("nan"), None, "text", "", 2**62, 0.1]


def typed(number, kind):
    return {"value": KINDS[kind], "same": 0.1 * number, "text": f"{number}"}


def square(number):
    return {"square": number**2}


def from_file(number, table):
    return {"size": number + len(table.read_text(encoding="utf-8"))}


def failing(number):
    if number == 1:
        raise ValueError("a row: 31415926")
    if number == 2:
        raise DataError("column 3: no number")
    return {"square": number**2}


def listed(number):
    return {"square": [number]}


def dying(number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": number**2}


def waiting(number, last, folder):
    """Wait with the last cell, until a file says that nobody has to wait any more."""
    while number >= last and not (Path(folder) / "go").exists():
        (Path(folder) / f"waits-{number}").touch()
        time.sleep(0.02)
    return {"square": number**2, "third": number / 3}


def study(compute, n_cells=4, name="tiny", **given):
    return Study(name, compute, [{"number": number} for number in range(n_cells)], given)


def add_arguments(command):
    command.add_argument("--folder", type=Path, required=True)
    add_cells(command)


def command(a):
    cells = [{"number": number, "last": 2, "folder": str(a.folder)} for number in range(4)]
    print(rows_of(Study("waiting", waiting, cells), a).drop(columns="folder").to_csv(index=False))


if __name__ == "__main__":
    import tiny_study  # so that functions are found by other processes

    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    end(status_of(tiny_study.command, parser.parse_args()))
