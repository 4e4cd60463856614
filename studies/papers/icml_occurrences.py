"""ICML 2024, figure 5: in go bagged forests whose occurrences are known, out come errors and their worst case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from studies.papers.icml_cells import known_occurrences
from studies.papers.icml_forests import DEPTHS, N_ROWS, SEEDS, TREES
from studies.papers.pictures import Picture
from studies.papers.plots import PANELS
from studies.papers.result import (
    Cells,
    PaperResult,
    Section,
    because,
    bold,
    is_worse,
    mean_text,
    reason_of,
    settings,
    unanswered,
    values_of,
    where,
)

_CUT_TREES = (10, 100)
_CUT_DEPTHS = (2, 3, 5, 0)
_SECONDS = 20.0


def cells(part: str) -> Cells:
    """Return the forests of figure 5."""
    names: Sequence[str] = tuple(PANELS)
    if part == "quick":
        names = ("compas",)
    sizes, depths, seeds, rows, seconds = {
        "quick": ((5,), (0,), range(1), N_ROWS, 5.0),
        "cut": (_CUT_TREES, _CUT_DEPTHS, range(2), N_ROWS, _SECONDS),
        "all": (TREES, DEPTHS, SEEDS, N_ROWS, _SECONDS),
    }[part]
    return [
        {"data": name, "trees": size, "depth": depth, "seed": seed, "rows": rows, "limit": seconds}
        for name in names
        for depth in depths
        for size in sizes
        for seed in seeds
    ]


def _theirs(authors: Mapping[str, pd.DataFrame], name: str, depth: int, size: int | None = None) -> pd.DataFrame:
    runs = where(authors["draft_known_occurrences_runs"], dataset=name, max_depth=depth or None)
    return runs if size is None else where(runs, n_trees=size)


_LEAVES = "leaves must be found, which the benchmark is given"


def sections(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    """Return figure 5 as a table."""
    lines = []
    for name, depth, size in settings(rows, ["data", "depth", "trees"]):
        same, other = where(rows, data=name, depth=depth, trees=size), _theirs(authors, name, depth, size)
        benchmark, attack = values_of(same, "benchmark_error"), values_of(same, "error")
        theirs = values_of(other, "worst_case_error")
        worse, attack_worse = is_worse(benchmark, theirs), is_worse(attack, theirs)
        without = unanswered(same, other, "worst_case_error")
        reasons = [
            without.reason,
            because("of rows that are as likely to be unseen, others are", benchmark, theirs),
            "" if without.more else because(reason_of(same, _LEAVES), attack, theirs),
        ]
        lines.append(
            {
                "data": name,
                "depth": depth or "none",
                "trees": size,
                "benchmark, ours": bold(mean_text(benchmark), worse),
                "benchmark, published": mean_text(theirs),
                "as drawn, ours": mean_text(values_of(same, "drawn_error")),
                "attack, ours": bold(mean_text(attack), attack_worse),
                "perfect rows": f"{same['perfect'].mean():.1f} of {same['unknown_rows'].iloc[0]}",
                "no answer": without.ours,
                "why worse": "; ".join(reason for reason in reasons if reason),
            }
        )
    return [
        Section(
            "Figure 5 (b, d, f): error where the occurrences are known",
            "*Benchmark*: the paper's, the error of who knows each row's leaves by the likeliest occurrences and "
            "guesses all else wrongly. *As drawn*: the same by the occurrences as they were, which leave more rows "
            "unseen than the likeliest ones. *Attack*: this engine, which knows the occurrences as drawn and has to "
            "find the leaves, held against the published benchmark.",
            pd.DataFrame(lines),
        )
    ]


PICTURE = Picture(
    x=("trees",),
    series={
        "attack, ours": "attack, ours",
        "benchmark, published": "benchmark, published",
        "benchmark, ours": "benchmark, ours",
    },
    x_label="trees",
    y_label="reconstruction error",
    by=("depth", "data"),
    words={"depth": "depth {}"},
    logarithmic="x",
    ticks=(1, 10, 100),
)


RESULT = PaperResult(
    name="icml-figure-5",
    title="ICML 2024, figure 5: bagging when the occurrences are known",
    measured=(
        "DRAFT (ICML 2024, appendix E) asks what bagging protects: if one knew how often each tree saw each row, and "
        "in which leaf, how much would be recovered in the worst case? It solves for the likeliest occurrences of the "
        "true rows, and guesses all values wrongly that no leaf then fixes. Here the same benchmark is computed in "
        "closed form. Scikit-learn's files store the seeds that rows are drawn by, so the occurrences can be known "
        "from the file itself: the attack runs with them (counts and occurrences, nothing refitted)."
    ),
    compute=known_occurrences,
    cells=cells,
    cut=(
        "Cut: 10 and 100 trees of 12 sizes, 4 depths of 6, 2 seeds of 5, a time box of 20 s on one thread. Figure 5 "
        "(a, c, e), without bagging, is [figure 2](icml-figure-2-tables-2-3.md)."
    ),
    tables=tuple(PANELS),
    published=("draft_known_occurrences_runs",),
    sections=sections,
    draw=PICTURE,
    remarks=(
        "The attack can be better than the benchmark, since what no tree fixes is not always guessed wrongly, and "
        "worse, where it does not find the leaves."
    ),
)
