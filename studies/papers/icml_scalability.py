"""ICML 2024, tables 6 to 8: in go default forests on more and more rows, up to all, out come errors and times."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from studies.cells import Plain
from studies.papers.icml_cells import more_rows
from studies.papers.pictures import PART, Picture
from studies.papers.plots import PANELS
from studies.papers.result import (
    SEVERAL,
    SLOWER,
    Cells,
    PaperResult,
    Section,
    because,
    bold,
    is_slower,
    is_worse,
    mean_text,
    reason_of,
    settings,
    unanswered,
    values_of,
    where,
)

ROWS = (25, 50, 100, 200, 300, 400, 500, 750, 1000, 1500)
ALL_ROWS = 0

_TREES = 100
_SECONDS = 60.0
_SECONDS_OF_ALL = 120.0
_CUT_ROWS = (25, 50, 100, 200, 500, 1000, 1500)
_PAPERS_EXPONENTS = {"compas": 1.7, "adult": 1.4, "default_credit": 2.4}
"""Of seconds over N, below tables 6 to 8."""

_TABLES = {"compas": "Table 6", "adult": "Table 7", "default_credit": "Table 8"}


def cells(part: str) -> Cells:
    """Return the forests of tables 6 to 8, and one on all rows of each data set."""
    if part == "quick":
        return _cells(("compas",), (25,), _TREES, 1, 5.0)
    sizes, seeds = (_CUT_ROWS, 2) if part == "cut" else (ROWS, 5)
    return [
        *_cells(tuple(PANELS), sizes, _TREES, seeds, _SECONDS),
        *_cells(tuple(PANELS), (ALL_ROWS,), _TREES, 1, _SECONDS_OF_ALL),
    ]


def _cells(
    names: tuple[str, ...], sizes: tuple[int, ...], trees: int, seeds: int, seconds: float
) -> list[dict[str, Plain]]:
    return [
        {"data": name, "rows": size, "trees": trees, "seed": seed, "limit": seconds}
        for name in names
        for size in sizes
        for seed in range(seeds)
    ]


def sections(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    """Return tables 6 to 8."""
    runs = authors["draft_scalability_runs"]
    found = []
    for (name,) in settings(rows, ["data"]):
        mine, published = where(rows, data=name), where(runs, dataset=name)
        found.append(
            Section(
                f"{_TABLES[name]}: {PANELS[name]}",
                f"Fitted to runs with an answer, seconds grow like N to the power of {_exponent(mine, 'unknown_rows')} "
                f"here, and of {_exponent(published, 'n_examples')} in the authors' runs (the paper: "
                f"{_PAPERS_EXPONENTS[name]}).",
                _table(mine, published),
            )
        )
    return found


def _table(rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for (size,) in settings(rows, ["rows"]):
        same, other = where(rows, rows=size), where(runs, n_examples=size)
        ours, theirs = values_of(same, "error"), values_of(other, "reconstruction_error")
        seconds, other_seconds = values_of(same, "seconds"), values_of(other, "seconds")
        worse = is_worse(ours, theirs)
        without = unanswered(same, other)
        lines.append(
            {
                "N": f"{int(same['unknown_rows'].iloc[0]):,}" + (" (all)" if size == ALL_ROWS else ""),
                "train": f"{values_of(same, 'train_accuracy').mean():.3f}",
                "test": _test_accuracy(same),
                "error, ours": bold(mean_text(ours), worse),
                "error, published": mean_text(theirs),
                "perfect rows": f"{same['perfect'].mean():,.1f}",
                "s, ours": bold(mean_text(seconds, 2), is_slower(seconds, other_seconds)),
                "s, published": mean_text(other_seconds, 1),
                "no answer, ours": without.ours,
                "no answer, published": without.published,
                "why worse": "; ".join(
                    [without.reason] * without.more
                    + [because(reason_of(same, SEVERAL), ours, theirs)] * worse
                    + [SLOWER] * is_slower(seconds, other_seconds)
                ),
            }
        )
    return pd.DataFrame(lines)


def _test_accuracy(rows: pd.DataFrame) -> str | None:
    """Return the accuracy on the rows that were not drawn; None where all were."""
    accuracies = values_of(rows, "test_accuracy")
    return f"{accuracies.mean():.3f}" if len(accuracies) else None


def _exponent(rows: pd.DataFrame, column: str) -> str:
    """Return the exponent of a power law of seconds over numbers of rows, by least squares on logarithms."""
    error = "error" if "error" in rows else "reconstruction_error"
    answered = rows[pd.to_numeric(rows[error], errors="coerce").notna().to_numpy()]
    size, seconds = values_of(answered, column), values_of(answered, "seconds")
    if len(np.unique(size)) < 2:
        return "(too few sizes)"
    return f"{np.polyfit(np.log(size), np.log(seconds), 1)[0]:.1f}"


PICTURE = Picture(
    x=("N",),
    series={"ours, one thread": "s, ours", "published, 16 threads": "s, published"},
    x_label="training rows N",
    y_label="seconds of an attack",
    by=(PART,),
    sections=r"^Table \d: (.*)$",
    logarithmic="xy",
)


RESULT = PaperResult(
    name="icml-tables-6-8",
    title="ICML 2024, tables 6 to 8: more and more rows",
    measured=(
        "DRAFT (ICML 2024, appendix F) rebuilds 25 to 1,500 rows from scikit-learn's default forests (100 trees, no "
        "limit of depth) without bagging, in up to 6 hours; above 750 rows of Adult and 500 of Default of Credit Card "
        "Clients its models are larger than the 2 GB that CP-SAT's Python wrapper can send. Here the same, and on to "
        "all rows of each data set. *Train* and *test* are the forests' accuracies here."
    ),
    compute=more_rows,
    cells=cells,
    cut=(
        "Cut: N of 300, 400 and 750, 2 seeds of 5. A time box of 60 s on one thread, of 120 s for all rows (one run "
        "each)."
    ),
    tables=tuple(PANELS),
    published=("draft_scalability_runs",),
    sections=sections,
    draw=PICTURE,
    remarks=(
        "The published result files hold runs with the status UNKNOWN: the solver gave no answer, and the error that "
        "stands beside it is that of random rows. They are counted here as without an answer, are in no mean error, "
        "and in the mean times, as in the paper."
    ),
)
