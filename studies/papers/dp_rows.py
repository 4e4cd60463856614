"""The DP paper's tables III and VII, figures 10 and 11: in go stored rows, ours and the authors', out come tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from studies.papers import dp_plan as plan
from studies.papers.dp_cells import forests
from studies.papers.dp_published import TABLE_3_PARTS, TABLE_7_ACCURACIES, runs_of
from studies.papers.dp_tables import EFFORT_TOLD, why
from studies.papers.pictures import PART, Picture
from studies.papers.plots import PANELS
from studies.papers.result import (
    PaperResult,
    Section,
    because,
    bold,
    is_worse,
    mean_text,
    settings,
    values_of,
    where,
)

_DRAWN = (
    "Rows are drawn at random here, those of each seed anew, so that forests are others than the authors'; noise "
    "(`n + int(Y)`) and one-hot groups are theirs."
)


def _sections_3(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    runs = authors["draft_dp_individual_runs"]
    found = []
    for (name,) in settings(rows, ["data"]):
        lines, parts = [], []
        for (epsilon,) in settings(where(rows, data=name), ["epsilon"]):
            mine = where(rows, data=name, epsilon=epsilon)
            every = runs_of(runs, dataset=f"data/{name}.csv", epsilon=float(epsilon))
            ours, theirs = values_of(mine, "error"), values_of(every, "reconstruction_error")
            worst, their_worst = values_of(mine, "worst"), values_of(every, "worst_row_error")
            perfect, their_perfect = values_of(mine, "perfect"), values_of(every, "perfect_rows")
            fewer = _fewer(perfect, their_perfect)
            worse, farther = is_worse(ours, theirs), is_worse(worst, their_worst)
            missing = len(mine) - len(ours)
            reasons = [
                because(f"other rows; {why(mine)}", ours, theirs),
                because(f"other rows; {why(mine)}; {_WORST}", worst, their_worst),
                because(f"other rows; {why(mine)}", -perfect, -their_perfect, digits=1),
            ]
            lines.append(
                {
                    "ε": f"{epsilon:g}",
                    "error, ours": bold(mean_text(ours), worse),
                    "published": mean_text(theirs),
                    "% perfect, ours": bold(mean_text(perfect, 1), fewer),
                    "% perfect, published": mean_text(their_perfect, 1),
                    "worst row, ours": bold(mean_text(worst, 3), farther),
                    "worst row, published": mean_text(their_worst, 3),
                    "random": mean_text(values_of(mine, "random_error"), 2).split(" ")[0],
                    "no answer, ours": bold(f"{missing} of {len(mine)}", missing > 0),
                    "why worse": "; ".join(dict.fromkeys(filter(None, reasons))),
                }
            )
            parts.append(_parts(mine, name, float(epsilon)))
        found.append(Section(f"Table III: {PANELS[name]}", "", pd.DataFrame(lines)))
        text = "Error, and percent of perfect rows; published: the paper's means of five runs."
        found.append(Section(f"Table III: {PANELS[name]}, inliers and outliers", text, pd.DataFrame(parts)))
    return found


_WORST = "the guess lowers the mean error, not that of the worst row"


def _fewer(ours: Any, theirs: Any) -> bool:
    """Return whether ours are fewer perfect rows, be it by chance."""
    return is_worse(-ours, -theirs, digits=1)


def _parts(rows: pd.DataFrame, name: str, epsilon: float) -> dict[str, object]:
    told = TABLE_3_PARTS[name, epsilon]
    line: dict[str, object] = {"ε": f"{epsilon:g}"}
    for i, part in enumerate(("inlier", "outlier")):
        error, perfect = values_of(rows, f"{part}_error"), 100 * values_of(rows, f"{part}_perfect")
        line |= {
            f"{part}s, ours": mean_text(error, 3),
            f"{part}s, published": f"{told[2 * i]:.3f}",
            f"% perfect {part}s, ours": mean_text(perfect, 1),
            f"% perfect {part}s, published": f"{told[2 * i + 1]:.1f}",
        }
    return line


def _sections_7(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    runs = authors["draft_dp_scalability_runs"]
    found = []
    effort = plan.EFFORT if plan.EFFORT in set(rows["effort"]) else max(rows["effort"])
    for (name,) in settings(rows, ["data"]):
        lines = []
        for (size,) in settings(where(rows, data=name, effort=effort), ["rows"]):
            mine = where(rows, data=name, rows=size, effort=effort)
            every = runs_of(runs, dataset=name, n_examples=int(size))
            ours, theirs = values_of(mine, "error"), values_of(every, "reconstruction_error")
            worse, missing = is_worse(ours, theirs), len(mine) - len(ours)
            told = TABLE_7_ACCURACIES[name, int(size)]
            lines.append(
                {
                    "N": size,
                    "error, ours": bold(mean_text(ours), worse),
                    "published": mean_text(theirs),
                    "random": mean_text(values_of(mine, "random_error"), 3).split(" ")[0],
                    "perfect rows": f"{mine['perfect'].mean():.0f}",
                    "train, ours": f"{values_of(mine, 'train_accuracy').mean():.3f}",
                    "train, published": f"{told[0]:.3f}",
                    "test, ours": f"{values_of(mine, 'test_accuracy').mean():.3f}",
                    "test, published": f"{told[1]:.3f}",
                    "s, ours": mean_text(values_of(mine, "seconds"), 1),
                    "s, published": mean_text(values_of(every, "seconds"), 0),
                    "no answer, ours": bold(f"{missing} of {len(mine)}", missing > 0),
                    "no answer, published": f"{max(0, 5 - len(theirs))} of 5",
                    "why worse": because(f"other rows; {why(mine)}", ours, theirs),
                }
            )
        text = "Table VII and figure 11: errors, accuracies of the private forests, and random guesses."
        found.append(Section(PANELS[name], text, pd.DataFrame(lines)))
    found.append(_anytime(rows, runs))
    return found


def _anytime(rows: pd.DataFrame, runs: pd.DataFrame) -> Section:
    """Return figure 10: the error by the effort of the search."""
    efforts = sorted(set(rows["effort"]))
    lines = []
    for name, size in settings(rows, ["data", "rows"]):
        mine = where(rows, data=name, rows=size)
        if len(settings(mine, ["effort"])) < len(efforts):
            continue
        every = runs_of(runs, dataset=name, n_examples=int(size))
        line: dict[str, object] = {"data": name, "N": size}
        for effort in efforts:
            same = where(mine, effort=effort)
            values, seconds = values_of(same, "error"), values_of(same, "seconds")
            line[f"effort {effort:g}"] = f"{mean_text(values)}, {seconds.mean():.0f} s"
        line["published, first solution after"] = f"{mean_text(values_of(every, 'time_to_first_solution'), 0)} s"
        line["published, in the end"] = (
            f"{mean_text(values_of(every, 'reconstruction_error'))}, {values_of(every, 'seconds').mean():,.0f} s"
        )
        lines.append(line)
    text = (
        "Error, (number of runs), wall seconds of the attack. Each is a run of its own, ended by so much effort (1 is "
        "about a second of one core). The published runs tell no errors between first solution and end; the paper "
        "draws them."
    )
    return Section("Figure 10: errors by the time that is spent", text, pd.DataFrame(lines))


RESULTS = (
    PaperResult(
        name="dp-table-3",
        title="DRAFT-DP, table III: single rows",
        measured=(
            "DRAFT-DP (SaTML 2026, section IV, result 5) tells how many of 100 rows are rebuilt perfectly, the error "
            "of the worst row, and errors of inliers and outliers as an isolation forest tells them apart: 10 trees of "
            f"depth 5. {_DRAWN}"
        ),
        compute=forests,
        cells=plan.individuals,
        cut=f"Cut: seeds 0 to 2 of 5. {EFFORT_TOLD}",
        tables=plan.NAMES,
        published=("draft_dp_individual_runs",),
        sections=_sections_3,
        draw=Picture(
            x=("ε",),
            series={"ours": "% perfect, ours", "published": "% perfect, published"},
            x_label="ε",
            y_label="perfect rows of 100",
            by=(PART,),
            sections="^Table III: ([^,]*)$",
            logarithmic="x",
            ticks=(0.1, 1, 5, 30),
        ),
    ),
    PaperResult(
        name="dp-table-7",
        title="DRAFT-DP, table VII, figures 10 and 11: more rows",
        measured=(
            "DRAFT-DP (SaTML 2026, appendix E) rebuilds 25 to 500 rows from 10 trees of depth 5 with ε = 5, in 10 "
            f"hours on 32 threads. {_DRAWN}"
        ),
        compute=forests,
        cells=plan.more_rows,
        cut=(
            "Cut: seeds 0 and 1 of 5; 25, 100, 300 and 500 rows; figure 10 for 25 and 100 rows by two efforts. "
            f"{EFFORT_TOLD}"
        ),
        tables=plan.NAMES,
        published=("draft_dp_scalability_runs",),
        sections=_sections_7,
        draw=Picture(
            x=("N",),
            series={"ours": "error, ours", "published": "published", "random guesses": "random"},
            x_label="training rows N",
            y_label="reconstruction error",
            by=(PART,),
            sections=f"^({'|'.join(PANELS.values())})$",
        ),
    ),
)
