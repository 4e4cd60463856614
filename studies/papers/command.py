"""The command of the papers' results: in go their names and folders, out come tables, and pages where asked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from studies import cells
from studies.papers.page import printed, write
from studies.papers.plots import matplotlib_pyplot
from studies.papers.result import PARTS
from studies.papers.results import RESULTS


def compute_and_show(
    names: Sequence[str],
    datasets: Path,
    published: Path,
    store: Path,
    *,
    part: str = "cut",
    place: str = "local:1",
    any_code: bool = False,
    output: Path | None = None,
) -> bool:
    """Compute what is missing of some results, print their tables beside the authors', and write their pages.

    Parameters
    ----------
    names : sequence of str
        Of `RESULTS`.
    datasets, published : Path
        Folders of the tables and of the authors' runs.
    store : Path
        Folder of kept rows.
    part : str
        Of `PARTS`.
    place : str
        Where cells are computed, as `studies.cells.run` has it.
    any_code : bool
        Whether rows that other code computed are taken, too.
    output : Path or None
        Folder of pages; None for none.

    Returns
    -------
    bool
        Whether some cell ended with an error.

    Raises
    ------
    DraftError
    FileNotFoundError
    """
    if output is not None:
        matplotlib_pyplot()  # what is missing is told before any work
    authors = {name: RESULTS[name].authors(published) for name in names}
    failed = False
    for name in names:
        result = RESULTS[name]
        rows = cells.run(result.study(part, datasets), store, place, any_code=any_code)
        failed = failed or bool(rows.attrs["failed"])
        if rows.empty:
            continue
        print(f"{result.title}\n\n{printed(result.sections(rows, authors[name]))}\n", flush=True)
        if output is not None:
            write(result, rows, authors[name], output)
    return failed


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("names", nargs="+", choices=list(RESULTS), metavar="NAME", help=", ".join(RESULTS))
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...: binarized")
    command.add_argument("--published", type=Path, required=True, help="folder of the authors' runs: draft_runs.csv")
    command.add_argument("--store", type=Path, required=True, help="folder of computed rows; what is there is kept")
    command.add_argument("--part", default="cut", choices=PARTS, help="a few tiny cells, those of the docs, or all")
    command.add_argument("--where", default="local:1", help="local:N processes, or tcp://host:port of a Dask scheduler")
    command.add_argument("--any-code", action="store_true", help="take rows that other code computed, too")
    command.add_argument("--output", type=Path, help="folder for a page and a plot of each result")


def command(a: argparse.Namespace) -> bool:
    """Do what a command line says; return whether some cell ended with an error."""
    return compute_and_show(
        a.names,
        a.datasets,
        a.published,
        a.store,
        part=a.part,
        place=a.where,
        any_code=a.any_code,
        output=a.output,
    )
