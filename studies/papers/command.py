"""The command of the papers' results: in go their names and folders, out come tables, and pages where asked."""

from __future__ import annotations

import argparse
from pathlib import Path

from studies.options import add_cells, add_datasets, rows_of
from studies.papers.page import printed, write
from studies.papers.plots import matplotlib_pyplot
from studies.papers.result import PARTS
from studies.papers.results import RESULTS


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("names", nargs="+", choices=list(RESULTS), metavar="NAME", help=", ".join(RESULTS))
    add_datasets(command)
    command.add_argument("--published", type=Path, required=True, help="folder of the authors' runs: draft_runs.csv")
    command.add_argument("--part", default="cut", choices=PARTS, help="a few tiny cells, those of the docs, or all")
    command.add_argument("--output", type=Path, help="folder for a page and a plot of each result")
    add_cells(command)


def command(a: argparse.Namespace) -> None:
    """Compute what is missing of some results, print their tables beside the authors', and write their pages.

    Raises
    ------
    DraftError
    FileNotFoundError
    """
    if a.output is not None:
        matplotlib_pyplot()  # what is missing is told before any work
    authors = {name: RESULTS[name].authors(a.published) for name in a.names}
    for name in a.names:
        result = RESULTS[name]
        rows = rows_of(result.study(a.part, a.datasets), a)
        if rows.empty:
            continue
        print(f"{result.title}\n\n{printed(result.sections(rows, authors[name]))}\n", flush=True)
        if a.output is not None:
            write(result, rows, authors[name], a.output)
