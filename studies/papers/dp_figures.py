"""The DP paper's figures 2 to 4, 7 to 9, 12 and 13: in go stored rows, ours and the authors', out come tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from studies.papers import dp_plan as plan
from studies.papers.dp_cells import figure_2, forests, informed_adversary
from studies.papers.dp_published import TABLE_5, p_values, runs_of
from studies.papers.dp_tables import EFFORT_TOLD, GRID, OWN_FORESTS, drawn_panels, published_setting, why
from studies.papers.plots import PANELS, Curve, panels
from studies.papers.result import (
    PaperResult,
    Section,
    because,
    bold,
    is_worse,
    mean_text,
    settings,
    standard_error,
    values_of,
    where,
)

_CUT = f"Cut: the cells are those of [table I](dp-table-1.md). {EFFORT_TOLD}"
_TRADE = ["data", "trees", "depth", "epsilon"]


def _points(rows: pd.DataFrame, x: str, y: str) -> list[tuple[float, float, float]]:
    """Return means of a column over another one, with standard errors, without those that have no value."""
    found = []
    for (value,) in settings(rows.sort_values(x), [x]):
        values = values_of(where(rows, **{x: value}), y)
        if len(values):
            found.append((float(value), float(values.mean()), standard_error(values)))
    return found


def curve(rows: pd.DataFrame, x: str, y: str, label: str, colour: int, *, published: bool = False) -> Curve:
    """Return the curve of `_points`; published runs are text."""
    if published:
        rows = rows.assign(**{x: pd.to_numeric(rows[x])})
    points = _points(rows, x, y)
    at, mean, spread = ([point[i] for point in points] for i in range(3))
    return Curve(at, mean, label, colour, published, spread)


def _sections_2(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    rows = _without_budget(rows)
    lines = []
    for trees, epsilon in settings(rows, ["trees", "epsilon"]):
        mine = where(rows, trees=trees, epsilon=epsilon)
        ours = values_of(mine, "error")
        line: dict[str, object] = {"trees": trees, "ε": "no noise" if np.isinf(epsilon) else f"{epsilon:g}"}
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


def _draw_2(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> Any:
    rows = _without_budget(rows)
    noisy = rows[np.isfinite(rows["epsilon"].to_numpy(np.float64))]
    curves: list[Curve] = []
    for i, (trees,) in enumerate(settings(rows, ["trees"])):
        mine = where(noisy, trees=trees)
        curves.append(curve(mine, "epsilon", "error", f"ours, {trees} trees", i))
        runs = runs_of(authors["draft_dp_runs"], n_known="yes", dataset="compas", max_depth=5, n_trees=int(trees))
        runs = runs[pd.to_numeric(runs["epsilon"]) >= 1]
        curves.append(curve(runs, "epsilon", "reconstruction_error", f"published, {trees} trees", i, published=True))
        exact = values_of(where(rows, trees=trees, epsilon=np.inf), "error")
        if len(exact):
            curves.append(Curve([1.0, 30.0], [float(exact.mean())] * 2, f"ours, {trees} trees, no noise", i))
    return panels({"COMPAS, depth 5": curves}, "ε (no noise: level lines)", "reconstruction error")


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


def _draw_trade(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> Any:
    of_panel: dict[str, list[Curve]] = {}
    for name, depth in drawn_panels(rows):
        for i, (trees,) in enumerate(settings(rows, ["trees"])):
            mine = where(rows, data=name, depth=depth, trees=trees).sort_values("epsilon")
            found = Curve(
                mine["error"].astype(float).tolist(), mine["train_accuracy"].astype(float).tolist(), f"{trees} trees", i
            )
            of_panel.setdefault(f"{PANELS[name]}, depth {depth}", []).append(found)
    return panels(of_panel, "reconstruction error, along ε", "training accuracy")


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


def _draw_9(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> Any:
    of_panel = {}
    for name, trees, depth, epsilon in settings(rows, _TRADE):
        mine = where(rows, data=name, trees=trees, depth=depth, epsilon=epsilon)
        same, _ = published_setting(authors["draft_dp_runs"], mine)
        curves = []
        for i, (runs, columns) in enumerate(
            (
                (mine, ("error", "other_mean", "other_deviation")),
                (same, ("reconstruction_error", "leak_cdf_inputs_mean", "leak_cdf_inputs_std")),
            )
        ):
            found = [values_of(runs, column) for column in columns]
            if all(len(values) for values in found):
                error, mean, deviation = (float(values.mean()) for values in found)
                x = np.linspace(mean - 4 * deviation, mean + 4 * deviation, 41)
                whose = ("ours", "published")[i]
                curves.append(Curve(x, norm.pdf(x, mean, deviation), f"other rows, {whose}", i, bool(i)))
                curves.append(Curve([error, error], [0.0, 20.0], f"training rows, {whose}", i + 2, bool(i)))
        of_panel[f"{PANELS[name]}, {trees} trees, depth {depth}, ε = {epsilon:g}"] = curves
    return panels(of_panel, "error to the reconstruction", "density of the fitted law")


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


def _draw_12(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> Any:
    of_panel = {}
    for (name,) in settings(rows, ["data"]):
        runs = runs_of(authors["draft_dp_partial_runs"], dataset=name)
        of_panel[PANELS[name]] = [
            curve(where(rows, data=name), "known", "error", "ours", 0),
            curve(runs, "known_attributes", "reconstruction_error", "published", 1, published=True),
        ]
    return panels(of_panel, "known attributes", "error on the unknown ones")


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
        "*Network* is the paper's reconstruction network (RecoNN): its published errors, it was not trained here, as "
        "that needs PyTorch (extra `reconn`; `python -m studies informed --reconn` trains it). *The paper's attack, "
        "run here* is DRAFT-DP's objective, enumerated: the same forests give the published errors."
    )
    return [Section("Figure 13: error of single rows, all others known", text, pd.DataFrame(lines))]


def _draw_13(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> Any:
    of_panel = {}
    for (name,) in settings(rows, ["data"]):
        mine = where(rows, data=name)
        mine = mine.assign(power=np.log10(mine["epsilon"].astype(float)))
        runs = runs_of(authors["draft_dp_informed_runs"], dataset=name)
        runs = runs.assign(power=np.log10(runs["epsilon"].astype(float)))
        of_panel[PANELS[name]] = [
            curve(mine, "power", "ours_error", "ours", 0),
            curve(runs_of(runs, attack="draft-dp"), "power", "example_error_avg", "DRAFT-DP", 1, published=True),
            curve(runs_of(runs, attack="reconn"), "power", "example_error_avg", "network", 2, published=True),
            curve(mine, "power", "majority_error", "majority of the others", 7),
        ]
    return panels(of_panel, "log10 of ε", "error of a single row")


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
        draw=_draw_trade,
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
        draw=_draw_12,
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
        draw=_draw_13,
    ),
)
