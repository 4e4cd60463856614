"""Plots of the pages: in go curves by panel, out comes a matplotlib figure, and of that an SVG file of few kilobytes.

The same figure gives the same bytes: the SVG holds no date, and its identifiers come from a fixed salt.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_draft.arrays import FloatArray
from studies.entropy_figures import matplotlib_pyplot

PANELS = {"compas": "COMPAS", "adult": "Adult", "default_credit": "Default Credit"}
"""Titles of panels, by data set."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A line of a panel."""

    x: Sequence[float] | FloatArray
    y: Sequence[float] | FloatArray
    """`x` and `y`: not-a-number is a gap."""
    label: str
    """In the legend, once for all panels; empty for none."""
    colour: int = 0
    """Which of the colours."""
    published: bool = False
    """The authors' are dotted, without points and bars; ours drawn through."""
    spread: Sequence[float] | FloatArray | None = None
    """Standard errors, drawn as bars."""


def panels(
    curves: Mapping[str, Sequence[Curve]],
    x_label: str,
    y_label: str,
    *,
    logarithmic: bool = False,
    columns: int = 3,
) -> Any:
    """Return a figure with one panel for each title.

    Parameters
    ----------
    curves : mapping of str to sequence of Curve
        By title.
    logarithmic : bool
        Both axes.
    columns : int
        Panels side by side.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    """
    pyplot = matplotlib_pyplot()
    columns = min(columns, len(curves))
    lines = -(-len(curves) // columns)
    figure, axes = pyplot.subplots(
        lines,
        columns,
        figsize=(0.5 + 3.4 * columns, 0.6 + 2.7 * lines),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    colours = pyplot.get_cmap("tab10")
    legend: dict[str, Any] = {}
    for axis in axes.flat[len(curves) :]:
        axis.set_visible(False)
    for axis, (title, of_panel) in zip(axes.flat, curves.items(), strict=False):
        for curve in of_panel:
            drawn = axis.errorbar(
                curve.x,
                curve.y,
                yerr=None if curve.published else curve.spread,
                color=colours(curve.colour % 10),
                linestyle=":" if curve.published else "-",
                marker="" if curve.published else "o",
                markersize=3,
                linewidth=1,
                elinewidth=0.6,
            )
            if curve.label:
                legend.setdefault(curve.label, drawn)
        if logarithmic:
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.minorticks_off()
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(x_label, fontsize=8)
        axis.tick_params(labelsize=7)
    for axis in axes[:, 0]:
        axis.set_ylabel(y_label, fontsize=8)
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=min(6, len(legend)), fontsize=7)
    return figure


def save(figure: Any, path: Path) -> None:
    """Write a figure as SVG, with coordinates to a tenth of a point, and forget it."""
    pyplot = matplotlib_pyplot()
    with pyplot.rc_context({"svg.hashsalt": "pytest-draft", "svg.fonttype": "none"}):
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), drawn.getvalue())  # no words
    text = re.sub(r" *\n(?=[LQCz\"])", " ", text)
    path.write_text("\n".join(line.strip() for line in text.splitlines()) + "\n", encoding="utf-8")
