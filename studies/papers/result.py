"""One result of a paper: in go stored rows, ours and the authors', out come the `Section`s and the plot of its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import FloatArray
from studies.cells import Plain, Study

Cells = Sequence[Mapping[str, Plain]]

PARTS = ("quick", "cut", "all")
"""How many cells are run: a few tiny ones, those of the pages of the docs, or all of the paper."""


@dataclass(frozen=True)
class Section:
    """A table of a page."""

    heading: str
    text: str
    """Markdown above the table."""
    table: pd.DataFrame
    """Of what is printed; its column names are the head. A cell with a number that is worse than the published one is
    made by `bold`.
    """


@dataclass(frozen=True)
class PaperResult:
    """A table or figure of a paper, and how it is computed and shown here."""

    name: str
    """Of the study and of the page, such as ``icml-figure-2``."""
    title: str
    """Heading of the page."""
    measured: str
    """What the paper measured, and how we measure it; Markdown."""
    compute: Callable[..., Mapping[str, Plain]]
    """Of the cells, in the sense of `studies.cells.Study`; its rows may tell the ``load`` of the machine
    (`studies.papers.load`). It and what it imports stands in other modules than texts, tables and plots, so that these
    can change without computing anything anew.
    """
    cells: Callable[[str], Cells]
    """Returns the cells of one of `PARTS`; ``cut`` ones are among all."""
    cut: str
    """What the cells of the docs leave out of the paper's."""
    tables: tuple[str, ...]
    """Names of the CSV files that are computed on, in the folder of the data sets; a cell's ``data`` is one of them."""
    published: tuple[str, ...]
    """Names of the CSV files of the authors' runs, in their folder."""
    sections: Callable[[pd.DataFrame, Mapping[str, pd.DataFrame]], Sequence[Section]]
    """Takes our rows and the authors' by file name; returns the tables of the page."""
    draw: Callable[[Sequence[Section]], Callable[[], Any]]
    """Takes these tables; returns what draws a matplotlib figure."""
    remarks: str = ""
    """What is to be said below the tables; Markdown."""
    shared: str = ""
    """Name of the study, where several results are of the same cells; else the study has the result's name."""

    def study(self, part: str, datasets: Path) -> Study:
        """Return the study of one of `PARTS`."""
        files = {"data": {name: datasets / f"{name}.csv" for name in self.tables}} if self.tables else {}
        return Study(self.shared or self.name, self.compute, self.cells(part), files)

    def authors(self, published: Path) -> dict[str, pd.DataFrame]:
        """Return the authors' runs, by file name without its ending; every column as text.

        Runs with the status UNKNOWN are without a reconstruction: the error beside it is that of random guesses, and
        is taken away.

        Raises
        ------
        FileNotFoundError
        """
        return {name: _authors_runs(published / f"{name}.csv") for name in self.published}


def _authors_runs(path: Path) -> pd.DataFrame:
    runs = pd.read_csv(path, keep_default_na=False, dtype=str)
    if {"status", "reconstruction_error"} <= set(runs.columns):
        runs.loc[runs["status"] == "UNKNOWN", "reconstruction_error"] = ""
    return runs


def values_of(rows: pd.DataFrame, column: str) -> FloatArray:
    """Return the numbers of a column, without those that are missing: a run without an answer has none."""
    numbers: FloatArray = pd.to_numeric(rows[column], errors="coerce").to_numpy(np.float64)
    present: FloatArray = numbers[~np.isnan(numbers)]
    return present


def standard_error(values: FloatArray) -> float:
    """Return the standard error of a mean; 0 for fewer than two values."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def mean_text(values: FloatArray, digits: int = 4) -> str:
    """Return a mean, its standard error and the number of runs: ``0.0123 ± 0.0010 (5)``; a dash without any."""
    if not len(values):
        return "-"
    if len(values) == 1:
        return f"{values[0]:.{digits}f} (1)"
    return f"{values.mean():.{digits}f} ± {standard_error(values):.{digits}f} ({len(values)})"


def is_worse(ours: FloatArray, *published: FloatArray, digits: int = 4) -> bool:
    """Return whether our mean is larger, as it is printed, than that of any of the published ones, be it by chance."""
    return bool(_smaller(ours, published, digits))


def because(reason: str, ours: FloatArray, *published: FloatArray, digits: int = 4) -> str:
    """Return why our mean is larger than a published one, and whether that may be chance; empty where it is not."""
    smaller = _smaller(ours, published, digits)
    if not smaller:
        return ""
    noise = (2 * float(np.hypot(standard_error(ours), standard_error(theirs))) for theirs in smaller)
    by_chance = all(ours.mean() - theirs.mean() <= most for theirs, most in zip(smaller, noise, strict=True))
    return reason + " (within two standard errors)" * by_chance


def _smaller(ours: FloatArray, published: Sequence[FloatArray], digits: int) -> list[FloatArray]:
    """Return those of the published runs whose printed mean is smaller than ours."""
    if not len(ours):
        return []
    mean = round(float(ours.mean()), digits)
    return [theirs for theirs in published if len(theirs) and round(float(theirs.mean()), digits) < mean]


def bold(text: str, really: bool = True) -> str:
    """Return Markdown in bold, where something is worse."""
    return f"**{text}**" if really else text


def reason_of(rows: pd.DataFrame, otherwise: str) -> str:
    """Return why our error may be above the published one, from the rows of some runs.

    Parameters
    ----------
    rows : DataFrame
        With the columns ``clock_ended`` and ``limit``, the time box in seconds.
    otherwise : str
        Where no time box ended a search.
    """
    ended = int(rows["clock_ended"].astype(bool).sum())
    if not ended:
        return otherwise
    allowed = ", ".join(f"{seconds:g}" for seconds in sorted(set(rows["limit"])))
    return f"the time box ({allowed} s) ended {ended} of {len(rows)} searches"


SEVERAL = "several datasets meet all counts; which is found is chance"
"""Why our error may be above the published one without bagging."""

SLOWER = "our time includes proofs of which rows are certain and samples of other datasets, on one thread beside 16"
"""Why our time may be longer than the published one."""


def is_slower(ours: FloatArray, theirs: FloatArray) -> bool:
    """Return whether our mean time is longer than theirs."""
    return bool(len(ours)) and bool(len(theirs)) and float(ours.mean()) > float(theirs.mean())


@dataclass(frozen=True)
class Unanswered:
    """Runs without an answer, ours beside the authors' of the same setting."""

    ours: str
    published: str
    """`ours` and `published`: how many of how many, ours in bold where their share is larger; a dash where there are no
    runs.
    """
    more: bool
    """Whether our share is larger."""
    reason: str
    """Why; empty where it is not."""


def unanswered(rows: pd.DataFrame, runs: pd.DataFrame, published: str = "reconstruction_error") -> Unanswered:
    """Return how many runs have no error.

    Parameters
    ----------
    rows : DataFrame
        Ours, with the columns ``error``, ``clock_ended`` and ``limit``.
    runs : DataFrame
        The authors'; none count as all answered.
    published : str
        Their column of errors.
    """
    missing, missed = len(rows) - len(values_of(rows, "error")), len(runs) - len(values_of(runs, published))
    more = missing * max(len(runs), 1) > missed * len(rows)
    return Unanswered(
        bold(f"{missing} of {len(rows)}", more),
        f"{missed} of {len(runs)}" if len(runs) else "-",
        more,
        reason_of(rows, "the search ended without one") if more else "",
    )


def where(table: pd.DataFrame, /, **values: object) -> pd.DataFrame:
    """Return the rows whose columns have values, compared as text so that they may come from a file."""
    chosen = np.ones(len(table), dtype=bool)
    for column, value in values.items():
        chosen &= (table[column].astype(str) == str(value)).to_numpy()
    return table[chosen]


def settings(rows: pd.DataFrame, columns: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return the different values of some columns, in the order in which they first occur."""
    return list(dict.fromkeys(rows[list(columns)].itertuples(index=False, name=None)))
