"""The DP paper's figures 2 to 4, 7 to 9, 12 and 13: in go stored rows, ours and the authors', out come tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from studies.papers import dp_plan as plan
from studies.papers.dp_cells import figure_2, forests, informed_adversary
from studies.papers.dp_published import TABLE_5, p_values, runs_of
from studies.papers.dp_tables import EFFORT_TOLD, GRID, OWN_FORESTS, published_setting, why
from studies.papers.pictures import Picture, Value
from studies.papers.plots import PANELS, Curve, panels
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

_CUT = f"Cut: the cells are those of [table I](dp-table-1.md). {EFFORT_TOLD}"
NO_NOISE = "no noise"
"""In the column of ε."""

_TRADE = ["data", "trees", "depth", "epsilon"]


def _sections_2(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    rows = _without_budget(rows)
    lines = []
    for trees, epsilon in settings(rows, ["trees", "epsilon"]):
        mine = where(rows, trees=trees, epsilon=epsilon)
        ours = values_of(mine, "error")
        line: dict[str, object] = {"trees": trees, "ε": NO_NOISE if np.isinf(epsilon) else f"{epsilon:g}"}
        theirs = ours[:0]
        if np.isfinite(epsilon):
            theirs = values_of(published_setting(authors["draft_dp_runs"], mine)[1], "reconstruction_error")
        worse = is_worse(ours, theirs)
        missing = len(mine) - len(ours)
        line |= {
            "ours": bold(mean_text(ours), worse),
            "published": mean_text(theirs) if np.isfinite(epsilon) else "drawn only",
            "perfect rows": f"{mine['perfect'].mean():.1f} of 100",
            "no answer, ours": bold(f"{missing} of {len(mine)}", missing > 0),
            "why worse": because(why(mine), ours, theirs),
        }
        lines.append(line)
    return [Section("Figure 2: COMPAS, depth 5", "", pd.DataFrame(lines))]


def _without_budget(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose missing privacy budget, of the true counts, is infinite."""
    return rows.assign(epsilon=pd.to_numeric(rows["epsilon"], errors="coerce").fillna(np.inf))


def _sections_trade(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    lines = []
    for name, trees, depth, epsilon in settings(rows, _TRADE):
        mine = where(rows, data=name, trees=trees, depth=depth, epsilon=epsilon)
        _, every = published_setting(authors["draft_dp_runs"], mine)
        ours, theirs = values_of(mine, "error"), values_of(every, "reconstruction_error")
        worse = is_worse(ours, theirs)
        told = TABLE_5[name] if (trees, depth, epsilon) == (10, 5, 30.0) else None
        lines.append(
            {
                "data": name,
                "trees": trees,
                "depth": depth,
                "ε": f"{epsilon:g}",
                "train accuracy": mean_text(values_of(mine, "train_accuracy"), 2),
                "test accuracy": mean_text(values_of(mine, "test_accuracy"), 2),
                "published accuracies": f"{told[0]:g}, {told[1]:g}" if told else "drawn only",
                "error, ours": bold(mean_text(ours), worse),
                "error, published": mean_text(theirs),
                "why worse": because(why(mine), ours, theirs),
            }
        )
    text = (
        "Accuracies of the private forests, here; the paper's are points of its plots, but for table V (10 trees of "
        "depth 5, ε = 30)."
    )
    return [Section("Accuracy and error", text, pd.DataFrame(lines))]


def _sections_9(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    lines = []
    for name, trees, depth, epsilon in settings(rows, _TRADE):
        mine = where(rows, data=name, trees=trees, depth=depth, epsilon=epsilon)
        same, _ = published_setting(authors["draft_dp_runs"], mine)
        lines.append(
            {
                "data": name,
                "ε": f"{epsilon:g}",
                "error to the training rows, ours": mean_text(values_of(mine, "error")),
                "published": mean_text(values_of(same, "reconstruction_error")),
                "to others: mean, ours": mean_text(values_of(mine, "other_mean")),
                "mean, published": mean_text(values_of(same, "leak_cdf_inputs_mean")),
                "deviation, ours": mean_text(values_of(mine, "other_deviation")),
                "deviation, published": mean_text(values_of(same, "leak_cdf_inputs_std")),
                "p-value, ours": f"{values_of(mine, 'p_value').mean():.2g}",
                "p-value, published": f"{p_values(same).mean():.2g}" if len(p_values(same)) else "-",
            }
        )
    return [Section("Figure 9: errors to 100 sets of other rows", "", pd.DataFrame(lines))]


def _sections_12(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    lines = []
    for name, known in settings(rows, ["data", "known"]):
        mine = where(rows, data=name, known=known)
        every = runs_of(authors["draft_dp_partial_runs"], dataset=name, known_attributes=int(known))
        ours, theirs = values_of(mine, "error"), values_of(every, "reconstruction_error")
        worse, missing = is_worse(ours, theirs), len(mine) - len(ours)
        lines.append(
            {
                "data": name,
                "known attributes": f"{known} of {plan.ATTRIBUTES[name]}",
                "ours": bold(mean_text(ours), worse),
                "published": mean_text(theirs),
                "perfect rows": f"{mine['perfect'].mean():.1f} of 100",
                "no answer, ours": bold(f"{missing} of {len(mine)}", missing > 0),
                "no answer, published": f"{max(0, 5 - len(theirs))} of 5",
                "why worse": because(why(mine) + "; which attributes are known is drawn", ours, theirs),
            }
        )
    return [Section("Figure 12: error on the unknown attributes", "", pd.DataFrame(lines))]


def _sections_13(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    runs = authors["draft_dp_informed_runs"]
    lines = []
    for name, epsilon in settings(rows, ["data", "epsilon"]):
        mine = where(rows, data=name, epsilon=epsilon)
        every = runs_of(runs, dataset=name, epsilon=float(epsilon))
        same = every[every["seed"].astype(int).isin(mine["seed"].astype(int).tolist())]
        theirs = {who: values_of(runs_of(every, attack=who), "example_error_avg") for who in ("draft-dp", "reconn")}
        paired = {who: values_of(runs_of(same, attack=who), "example_error_avg") for who in ("draft-dp", "reconn")}
        ours = values_of(mine, "ours_error")
        worse = is_worse(ours, paired["draft-dp"], paired["reconn"])
        lines.append(
            {
                "data": name,
                "ε": f"{epsilon:g}",
                "ours": bold(mean_text(ours), worse),
                "DRAFT-DP, same seeds": mean_text(paired["draft-dp"]),
                "DRAFT-DP, all": mean_text(theirs["draft-dp"]),
                "network, same seeds": mean_text(paired["reconn"]),
                "network, all": mean_text(theirs["reconn"]),
                "the paper's attack, run here": mean_text(values_of(mine, "paper_error")),
                "majority": mean_text(values_of(mine, "majority_error")),
                "inliers, outliers (ours)": ", ".join(
                    mean_text(values_of(mine, part), 3).split(" ")[0] for part in ("inlier_error", "outlier_error")
                ),
                "% perfect, ours": f"{mine['perfect'].mean():.0f}",
                "why worse": because(
                    "the guess of least expected error is not the closest on each draw",
                    ours,
                    paired["draft-dp"],
                    paired["reconn"],
                ),
            }
        )
    text = (
        "*Network* is the paper's reconstruction network (RecoNN): its published errors, it was not trained here. *The "
        "paper's attack, run here* is DRAFT-DP's objective, enumerated: the same forests give the published errors."
    )
    return [Section("Figure 13: error of single rows, all others known", text, pd.DataFrame(lines))]


_FIGURE_2 = Picture(
    x=("ε",),
    series={"ours": "ours", "published": "published"},
    x_label="ε",
    y_label="reconstruction error",
    by=("trees",),
    words={"trees": "{} trees"},
    logarithmic="x",
    ticks=(1, 5, 30),
    columns=4,
)


def _draw_2(sections: Sequence[Section]) -> Callable[[], Any]:
    """Draw errors over ε, and a level line for the error without noise."""
    curves = _FIGURE_2.curves(sections)
    for title, mine in _FIGURE_2.split(_FIGURE_2.rows(sections)):
        for cell in where(mine, ε=NO_NOISE)["ours"]:
            exact = Value.read(cell)
            if exact:
                curves[title].append(Curve([1.0, 30.0], [exact.number] * 2, "ours, without noise", marked=False))
    return _FIGURE_2.figure(curves)


def _draw_9(sections: Sequence[Section]) -> Callable[[], Any]:
    """Draw the fitted laws, and the error to the training rows as a point on the axis."""
    curves: dict[str, list[Curve]] = {}
    for line in sections[0].table.astype(str).to_dict("records"):
        of_panel = curves.setdefault(f"{PANELS[line['data']]}, ε = {line['ε']}", [])
        for whose in ("ours", "published"):
            error, mean, deviation = (Value.read(line[name.format(whose)]) for name in _LAW[whose])
            if error:
                of_panel.append(Curve([error.number], [0.0], f"training rows, {whose}"))
            if mean and deviation:
                x = np.linspace(mean.number - 4 * deviation.number, mean.number + 4 * deviation.number, 41)
                law = norm.pdf(x, mean.number, deviation.number)
                of_panel.append(Curve(x, law, f"other rows, {whose}", marked=False))
    return panels(curves, "error to the reconstruction", "density of the fitted law")


_LAW = {
    "ours": ("error to the training rows, ours", "to others: mean, ours", "deviation, ours"),
    "published": ("published", "mean, published", "deviation, published"),
}
"""Columns of the error, and of the law that is fitted to those of other rows."""


RESULTS = (
    PaperResult(
        name="dp-figure-2",
        title="DRAFT-DP, figure 2: with and without noise",
        measured=(
            "DRAFT-DP (SaTML 2026, section IV, result 1) compares its errors on COMPAS, depth 5, with those of DRAFT "
            "on the same forests with their true counts. The paper draws the latter as level lines and gives no "
            f"numbers of them. {OWN_FORESTS}"
        ),
        compute=figure_2,
        cells=plan.without_noise,
        cut=(
            "Cut: seeds 0 to 2 of 5; 1, 5, 10 and 30 trees; ε of 1, 5 and 30, and none. "
            f"{EFFORT_TOLD} Searches on true counts have a time box of 20 s and mostly end by themselves."
        ),
        tables=("compas",),
        published=("draft_dp_runs",),
        sections=_sections_2,
        draw=_draw_2,
        remarks=(
            "With one tree, the error without noise is above that with it: many datasets meet all true counts, and one "
            "of them is returned, while with noise the guess is the consensus of many. Both are ours; the forests are "
            "the same."
        ),
    ),
    PaperResult(
        name="dp-figures-3-4-7-8",
        title="DRAFT-DP, figures 3, 4, 7 and 8: accuracy and error",
        measured=(
            "DRAFT-DP (SaTML 2026, section IV, result 3, and appendix C-D) sets the accuracy of private forests beside "
            f"the error of their reconstruction. {OWN_FORESTS}"
        ),
        compute=forests,
        cells=plan.grid,
        cut=_CUT,
        tables=plan.NAMES,
        published=("draft_dp_runs",),
        sections=_sections_trade,
        draw=Picture(
            x=("error, ours",),
            series={"ours, a point for each ε": "train accuracy"},
            x_label="reconstruction error",
            y_label="training accuracy",
            by=("depth", "trees", "data"),
            only={"depth": ("5",)},
            words={"depth": "depth {}", "trees": "{} trees"},
            joined=False,
        ),
        shared=GRID,
    ),
    PaperResult(
        name="dp-figure-9",
        title="DRAFT-DP, figure 9: whose rows lie as close",
        measured=(
            "DRAFT-DP (SaTML 2026, appendix D) shows the errors between a reconstruction and 100 sets of other rows of "
            "Adult, for 10 trees of depth 5, and the normal law that is fitted to them; beside it the error to the "
            f"training rows. {OWN_FORESTS} The drawn laws are the fitted ones."
        ),
        compute=forests,
        cells=plan.distributions,
        cut=f"Nothing is cut. {EFFORT_TOLD}",
        tables=plan.NAMES,
        published=("draft_dp_runs",),
        sections=_sections_9,
        draw=_draw_9,
        shared=GRID,
    ),
    PaperResult(
        name="dp-figure-12",
        title="DRAFT-DP, figure 12: known attributes",
        measured=(
            "DRAFT-DP (SaTML 2026, appendix F) rebuilds 100 rows where some attributes, drawn at random, are known of "
            "every row: 10 trees of depth 5, ε = 5. Forests are the authors' own; which attributes are known is drawn "
            "here by another generator than theirs."
        ),
        compute=forests,
        cells=plan.known_attributes,
        cut=(
            "Cut: seeds 0 to 2 of 5; every third number of known attributes for COMPAS, every fourth "
            f"for the others. {EFFORT_TOLD}"
        ),
        tables=plan.NAMES,
        published=("draft_dp_partial_runs",),
        sections=_sections_12,
        draw=Picture(
            x=("known attributes",),
            series={"ours": "ours", "published": "published"},
            x_label="known attributes",
            y_label="error on the unknown ones",
        ),
    ),
    PaperResult(
        name="dp-figure-13",
        title="DRAFT-DP, figure 13: all rows but one are known",
        measured=(
            "DRAFT-DP (SaTML 2026, appendix G) attacks single rows of private forests (10 trees of depth 5) on 2,000 "
            "rows of COMPAS, 10,000 of Default of Credit Card Clients and 20,000 of Adult, by who knows all others; "
            "the error is the mean of 100 rows. Forests, noise and attacked rows of a seed are the authors'."
        ),
        compute=informed_adversary,
        cells=plan.informed,
        cut="Cut: seeds 0 and 1 of 10; the reconstruction network is not trained here.",
        tables=plan.NAMES,
        published=("draft_dp_informed_runs",),
        sections=_sections_13,
        draw=Picture(
            x=("ε",),
            series={
                "ours": "ours",
                "DRAFT-DP": "DRAFT-DP, all",
                "network": "network, all",
                "majority of the others": "majority",
            },
            x_label="ε",
            y_label="error of a single row",
            logarithmic="x",
            ticks=(0.1, 1, 10, 100, 1000),
        ),
    ),
)
