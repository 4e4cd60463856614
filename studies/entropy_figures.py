"""Figures 2 to 4 of the paper on entropies: in go measured models, out come PNG and SVG files.

The layout is that of Ferry et al. (SaTML 2024): a panel a data set, a colour a least support, optimal models drawn
through, greedy ones dotted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from studies.entropy_trends import FAMILIES, MEASURES, points
from studies.optional import optional

_FIGURES = {
    "trees": ("figure_2", "figure_4a", "Size (splits)"),
    "trees of DL8.5": ("figure_2_dl85_", "figure_4a_dl85", "Size (splits)"),
    "rule lists": ("figure_3", "figure_4b", "Size (rules)"),
}
"""By family: names of the figures over size and accuracy, of that of the rows, and the axis of sizes."""

_TITLES = {"adult": "Adult", "compas": "COMPAS"}
_STYLES = (
    {"linestyle": "-", "marker": "*", "markersize": 8},
    {"linestyle": ":", "marker": "o", "markersize": 4},
)
"""Of the optimal and of the greedy learner."""


def matplotlib_pyplot() -> Any:
    """Return the module ``matplotlib.pyplot``, which draws into files.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    """
    optional("matplotlib", "the figures need matplotlib", "studies").use("Agg")
    return optional("matplotlib.pyplot", "the figures need matplotlib", "studies")


def draw(models: pd.DataFrame, rows: pd.DataFrame, folder: Path) -> Iterator[Path]:
    """Draw all figures and yield their files.

    Parameters
    ----------
    models : DataFrame
        ``models.csv`` of the study.
    rows : DataFrame
        ``rows.csv`` of the study.
    """
    names = sorted(models["data"].unique())
    for family, learners in FAMILIES.items():
        if not set(learners) <= set(models["learner"]):
            continue
        curves, distribution, size = _FIGURES[family]
        for measure in MEASURES:
            ending = "" if measure == "dist_g" else "_one_hot"
            for part, axis, label in (("a", "size", size), ("b", "train_accuracy", "Training accuracy")):
                figure = _curves(models, names, learners, axis, label, measure)
                yield from _saved(figure, folder, f"{curves}{part}{ending}")
        yield from _saved(_rows(rows, names, learners), folder, distribution)


def _curves(
    models: pd.DataFrame, names: list[str], learners: tuple[str, str], axis: str, label: str, measure: str
) -> Any:
    """Draw ``Dist_G`` over size or accuracy."""
    figure, panels = _panels(names)
    supports = sorted(models["support"].unique())
    colours = matplotlib_pyplot().get_cmap("viridis")
    for name, panel in zip(names, panels, strict=True):
        for position, support in enumerate(supports):
            colour = colours(0.9 * position / max(1, len(supports) - 1))
            for learner, style in zip(learners, _STYLES, strict=True):
                chosen = (models["data"] == name) & (models["learner"] == learner) & (models["support"] == support)
                panel.plot(*points(models[chosen], axis, measure), color=colour, linewidth=1.3, **style)
        panel.set_xlabel(label)
        for position, support in enumerate(supports):
            colour = colours(0.9 * position / max(1, len(supports) - 1))
            panel.plot([], [], "s", color=colour, label=f"min support {support:g}")
    for learner, style in zip(learners, _STYLES, strict=True):
        panels[0].plot([], [], color="black", label=learner, **style)
    panels[0].set_ylabel("$\\mathrm{Dist}_G$" + (" (one-hot groups known)" if measure != "dist_g" else ""))
    _legend(figure, panels[0])
    return figure


def _rows(rows: pd.DataFrame, names: list[str], learners: tuple[str, str]) -> Any:
    """Draw how the ratios of single rows are distributed, for the largest models."""
    figure, panels = _panels(names)
    for name, panel in zip(names, panels, strict=True):
        for learner, colour, style in zip(learners, ("C0", "C3"), ("-", ":"), strict=True):
            chosen = rows[(rows["data"] == name) & (rows["learner"] == learner)]
            mean = chosen.groupby("share")["ratio"].mean()
            panel.step(100 * mean.index, mean, where="pre", linestyle=style, color=colour, linewidth=1.8, label=learner)
        panel.set_xlabel("Training rows, most exposed first (%)")
    panels[0].set_ylabel("$\\mathrm{Dist}_G$ of a row is at most")
    _legend(figure, panels[0])
    return figure


def _panels(names: list[str]) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, side by side."""
    pyplot = matplotlib_pyplot()
    figure, panels = pyplot.subplots(
        1, len(names), figsize=(5.2 * len(names), 4.4), squeeze=False, layout="constrained"
    )
    for name, panel in zip(names, panels[0], strict=True):
        panel.set_title(_TITLES.get(name, name))
        panel.grid(alpha=0.3)
    return figure, list(panels[0])


def _legend(figure: Any, panel: Any) -> None:
    """Put the panel's legend below all panels, in one line where they are two."""
    handles, labels = panel.get_legend_handles_labels()
    columns = min(len(labels), 4 * len(figure.axes))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def _saved(figure: Any, folder: Path, name: str) -> Iterator[Path]:
    """Write a figure and close it."""
    for ending, extra in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
        path = folder / f"{name}.{ending}"
        figure.savefig(path, **extra)
        yield path
    matplotlib_pyplot().close(figure)
