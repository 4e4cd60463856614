"""Plots of the pages: in go panels of curves, out comes a matplotlib figure, and of that an SVG file of few kilobytes.

Series are told apart by markers and dashes, not by colour alone. Letters are as large as those of a page that is as
wide as the figure. The SVG is light or dark as the reader's system is, and has its own ground, so it can be read on any
page.
The same figure gives the same bytes: the SVG holds no date, and its identifiers come from a fixed salt.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_draft.arrays import FloatArray
from studies.optional import optional

PANELS = {"compas": "COMPAS", "adult": "Adult", "default_credit": "Default Credit"}
"""Titles of panels, by data set."""

_STYLES: tuple[Mapping[str, Any], ...] = (
    {"color": "#1f5fa8", "marker": "o", "linestyle": "-", "markersize": 5},
    {"color": "#a34a00", "marker": "s", "linestyle": "--", "markersize": 5, "markerfacecolor": "#fffffe"},
    {"color": "#2a6f2e", "marker": "^", "linestyle": ":", "markersize": 6, "markerfacecolor": "#fffffe"},
    {"color": "#6a4799", "marker": "x", "linestyle": "-.", "markersize": 5},
)
"""Of the series, in the order in which they are first drawn."""

_INK, _RULE = "#1c1c1c", "#d9d9d8"

_SCHEMES = {
    # light: (name, dark); the light one is also what programs show that do not know variables
    "#fffffe": ("ground", "#131416"),
    _INK: ("ink", "#e3e3e1"),
    _RULE: ("rule", "#3c3d40"),
    "#1f5fa8": ("first", "#7ab3f2"),
    "#a34a00": ("second", "#f2a35f"),
    "#2a6f2e": ("third", "#84cc89"),
    "#6a4799": ("fourth", "#c5a8ec"),
}

_WIDTH = 7.6
"""Inches: 730 pixels, as wide as the text of a page on a screen."""

_FEWEST_JOINED = 3
"""Points: a line between two says nothing of what lies between them."""

_BESIDE = 1.12
"""On a logarithmic axis, points that no line joins are drawn so far from each other where they lie at one place."""

_SETTINGS = {
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "#fffffe",
    "axes.facecolor": "#fffffe",
    "savefig.facecolor": "#fffffe",
    "font.size": 9,  # points, which are 12 pixels
    "grid.color": _RULE,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "pytest-draft",
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def matplotlib_pyplot() -> Any:
    """Return the module ``matplotlib.pyplot``, which draws into files.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    """
    optional("matplotlib", "the figures need matplotlib", "studies").use("Agg")
    return optional("matplotlib.pyplot", "the figures need matplotlib", "studies")


@dataclass(frozen=True, eq=False)
class Curve:
    """A series in a panel."""

    x: Sequence[float] | FloatArray
    y: Sequence[float] | FloatArray
    """`x` and `y`: not-a-number is a gap."""
    label: str
    """Of the series, which looks the same in all panels."""
    spread: Sequence[float] | FloatArray | None = None
    """Standard errors, drawn as bars."""
    marked: bool = True
    joined: bool = True
    """`marked` and `joined`: whether its points are, by a marker and by a line."""


def panels(
    curves: Mapping[str, Sequence[Curve]],
    x_label: str,
    y_label: str,
    *,
    logarithmic: str = "",
    ticks: Sequence[float] = (),
    columns: int = 3,
    same_y: bool = True,
) -> Callable[[], Any]:
    """Return what draws a figure with one panel for each title.

    Parameters
    ----------
    curves : mapping of str to sequence of Curve
        By title.
    logarithmic : str
        The axes that are: ``x``, ``y`` or ``xy``.
    ticks : sequence of float
        Numbers along the horizontal axis; none for matplotlib's.
    columns : int
        Panels side by side.
    same_y : bool
        Whether all panels have the same vertical axis.
    """

    def figure() -> Any:
        pyplot = matplotlib_pyplot()
        lines = -(-len(curves) // columns)
        drawn, axes = pyplot.subplots(
            lines,
            columns,
            figsize=(_WIDTH, 0.8 + (1.6 if lines > 1 else 2.0) * lines),
            sharey=same_y,
            squeeze=False,
            layout="constrained",
        )
        drawn.get_layout_engine().set(w_pad=0.08)
        labels = list(dict.fromkeys(curve.label for of_panel in curves.values() for curve in of_panel))
        styles = dict(zip(labels, itertools.cycle(_STYLES)))
        known = {float(x) for of_panel in curves.values() for curve in of_panel for x in curve.x}
        shown = [tick for tick in ticks if min(known) <= tick <= max(known)]
        legend: dict[str, Any] = {}
        for axis in axes.flat[len(curves) :]:
            axis.set_visible(False)
        for axis, (title, of_panel) in zip(axes.flat, curves.items(), strict=False):
            axis.set_axisbelow(True)
            axis.grid(axis="y", linewidth=0.6)
            for i, curve in enumerate(of_panel):
                beside = _BESIDE ** (i - (len(of_panel) - 1) / 2) if "x" in logarithmic else 1.0
                handle = _draw(axis, curve, styles[curve.label], beside)
                legend.setdefault(curve.label, handle)
            if "x" in logarithmic:
                axis.set_xscale("log")
            if "y" in logarithmic:
                axis.set_yscale("log")
            if shown:
                axis.set_xticks(shown, [f"{tick:,g}" for tick in shown])
            elif "x" not in logarithmic:
                axis.locator_params(axis="x", nbins=5)
            axis.minorticks_off()
            axis.set_title(title)
        drawn.supxlabel(x_label, fontsize=9)
        drawn.supylabel(y_label, fontsize=9)
        legend = {label: legend[label] for label in labels}
        drawn.legend(legend.values(), legend, loc="outside upper left", ncols=len(legend), handlelength=3.5)
        return drawn

    return figure


def _draw(axis: Any, curve: Curve, style: Mapping[str, Any], beside: float) -> Any:
    """Draw a curve and return its sign in the legend; points that are not joined lie ``beside`` their place."""
    x, shown = curve.x, {**style, "linewidth": 1.4, "clip_on": False}
    if not curve.joined or (curve.marked and len(curve.x) < _FEWEST_JOINED):
        shown["linestyle"] = ""
        x = [at * beside for at in curve.x]
    if not curve.marked:
        shown["marker"] = ""
    spread = curve.spread if curve.spread is not None and any(curve.spread) else None
    return axis.errorbar(x, curve.y, yerr=spread, elinewidth=0.8, **shown)[0]


def save(figure: Callable[[], Any], path: Path) -> None:
    """Draw a figure, and write it as SVG with coordinates to a tenth of a point.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    """
    path.write_text(svg(figure), encoding="utf-8")


def svg(figure: Callable[[], Any]) -> str:
    """Return the SVG of a figure."""
    pyplot = matplotlib_pyplot()
    with pyplot.rc_context(_SETTINGS):
        drawn, written = figure(), io.StringIO()
        drawn.savefig(written, format="svg", metadata={"Date": None})
        pyplot.close(drawn)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), written.getvalue())  # no words
    text = re.sub(r" *\n(?=[LQCz\"])", " ", text)
    text = re.sub(r"<!--.*?-->\n?|(?<=<g) id=\"[^\"]*\"", "", text)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "Verdana, 'DejaVu Sans', sans-serif", text)
    return "\n".join(line.strip() for line in _in_both_schemes(text).splitlines()) + "\n"


def _in_both_schemes(text: str) -> str:
    """Return an SVG whose colours are those of the light or the dark scheme."""
    for light, (name, _) in _SCHEMES.items():
        text = re.sub(rf"(?<=[:\s]){light}(?=[;\"])", f"var(--{name}, {light})", text)
    colours = [
        "".join(f"--{name}:{(light, dark)[scheme]};" for light, (name, dark) in _SCHEMES.items()) for scheme in (0, 1)
    ]
    style = f"<style>svg{{{colours[0]}}}@media(prefers-color-scheme:dark){{svg{{{colours[1]}}}}}</style>\n"
    return text.replace("<defs>", f"{style}<defs>", 1)
