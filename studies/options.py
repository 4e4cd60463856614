"""Options that several studies have: in goes a study's parser, out come these options, and what they ask for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from pytest_draft.errors import DraftError
from studies.cells import Study, run

STORE = Path(".studies")
"""Where rows are kept if nothing is said."""


def add_cells(command: argparse.ArgumentParser) -> None:
    """Add where a study's rows are kept, and where they are computed."""
    command.add_argument(
        "--store",
        type=Path,
        default=STORE,
        metavar="FOLDER",
        help=f"what is kept there is not computed again ({STORE})",
    )
    command.add_argument(
        "--where",
        default="local:1",
        help="local:N for N processes of this machine (local:1), tcp://HOST:PORT of a Dask scheduler, or dask:N",
    )
    command.add_argument(
        "--any-code", action="store_true", help="take rows that other versions of the code computed too"
    )


def rows_of(study: Study, arguments: argparse.Namespace) -> pd.DataFrame:
    """Return a study's rows, as the options of `add_cells` ask for.

    What is told below the table, and how many cells failed, which is the exit status, is remembered in `arguments`.
    """
    rows = run(study, arguments.store, arguments.where, any_code=arguments.any_code)
    arguments.failed = getattr(arguments, "failed", 0) + rows.attrs["failed"]
    arguments.about = [*getattr(arguments, "about", []), *rows.attrs["about"]]
    return rows


INTERRUPTED = 130
"""The exit status after Ctrl-C."""


def end(status: int) -> NoReturn:
    """End this process; after Ctrl-C at once, as what threads of other packages still do could abort it."""
    if status == INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def status_of(command: Callable[[argparse.Namespace], int | None], arguments: argparse.Namespace) -> int:
    """Run a study's command, and return the exit status: 1 where anything is wrong or failed, 130 after Ctrl-C."""
    try:
        wrong = command(arguments)
    except (DraftError, FileNotFoundError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    for line in getattr(arguments, "about", []):
        print(line)
    return 1 if wrong or getattr(arguments, "failed", 0) else 0


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as dictionaries of Python's own values."""
    columns = {str(name): rows[name].tolist() for name in rows}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def groups(rows: pd.DataFrame, *names: str) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Return the rows of each combination of values, in the order of its first row; None is a value too."""
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, values in enumerate(zip(*(rows[name].tolist() for name in names), strict=True)):
        places.setdefault(values, []).append(place)
    return {values: rows.iloc[some] for values, some in places.items()}


def add_datasets(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the folder of public tables."""
    command.add_argument(
        "--datasets", type=Path, required=required, help="folder of compas.csv, adult.csv, ...: binarized"
    )


def add_seeds(command: argparse.ArgumentParser, default: list[int], text: str = "one run of each") -> None:
    """Add the seeds of the runs."""
    command.add_argument("--seeds", type=int, nargs="+", default=default, help=text)


def add_instances(command: argparse.ArgumentParser, default: int, text: str | None = None) -> None:
    """Add how many instances are generated, and from which seed."""
    command.add_argument("--instances", type=int, default=default, help=text)
    command.add_argument("--seed", type=int, default=0)
