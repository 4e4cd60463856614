"""The plots of a page: in goes one result of a report, out come `Chart` objects, which a template draws as inline SVG.

Coordinates are worked out here, colours and fonts are the page's own: so one drawing is right in light and dark mode,
its text is text, and no plotting library is needed where reports are written. All charts are as wide as a phone's
screen, so that letters have the same size on every page. Two runs with the same figures give the same bytes.

Charts are drawn from aggregates; one whose figures a report does not hold is left out. Besides what every report holds,
a result can have:

``row_errors``
    ``{"quantiles": [101 numbers]}``: the errors of the rows, lowest first, by hundredths of the rows.
``leaf_sizes``
    ``{"at_least": [rising whole numbers], "leaves": [whole numbers]}``: how many leaves of all trees hold that many
    training rows, up to the next number; the last has no end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_draft.report.ambiguity import whole
from pytest_draft.report.bars import error_bar, perfect_bar
from pytest_draft.report.result import Result
from pytest_draft.report.wording import bounded

WIDTH = 340
"""Of every chart, in pixels of the page: the narrowest phones have 360."""

_HEIGHT = 190  # of a chart with axes; one of dots is as high as its rows
_LEFT, _RIGHT, _TOP = 42, 12, 12  # margins of the axes; on the left are their labels
_BASE = 150  # where the horizontal axis is; below it are its labels and its name
_INNER = WIDTH - _LEFT - _RIGHT


@dataclass(frozen=True)
class Mark:
    """One SVG element."""

    tag: str
    attributes: dict[str, object]
    text: str = ""


@dataclass(frozen=True)
class Chart:
    """One drawing, `WIDTH` wide."""

    name: str
    """Part of its id on the page."""
    title: str
    description: str
    """All that it shows, in words: for those who do not see it."""
    caption: str
    """How to read it."""
    height: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class _Row:
    """One line of a dot chart: a value, or the bounds that it lies between."""

    label: str
    shown: str
    low: float
    high: float
    attack: bool = False


def charts(result: Result) -> list[Chart]:
    """Return the charts that a result has figures for.

    Parameters
    ----------
    result : dict
        One of a report's ``results``.
    """
    drawn = (_errors, _perfect_rows, _row_errors, _entropy, _leaf_sizes)
    return [chart for draw in drawn if (chart := draw(result)) is not None]


def _errors(result: Result) -> Chart | None:
    metrics, bounds = result["metrics"], result["baselines"].get("reconstruction_error_bounds")
    error = metrics["reconstruction_error"]
    said = bounded(error, bounds)
    if said is None:
        return None
    low, high = (error, error) if error is not None else bounds
    rows = [_Row("the attack", said, low, high, attack=True)]
    if (ideal := whole(result)) is not None:
        rows.append(_Row("nobody gets closer", f"{ideal['least_error']:.4f}", *[ideal["least_error"]] * 2))
    rows += _baselines(metrics, ("split_half_error", "median_error", "random_error"), "{:.4f}")
    bar = error_bar(result)
    return _dots(
        "errors",
        "Reconstruction error beside its baselines",
        rows,
        None if bar is None else (bar, f"fails at {bar:.4f} or less"),
        "Left is worse: the attack is closer to the training data.",
        math.nan,
    )


_GUESSES = {
    "split_half_error": "strangers' rows (split-half)",
    "split_half_perfect_rows": "strangers' rows (split-half)",
    "median_error": "the median of every column",
    "random_error": "random guesses",
    "expected_perfect_rows": "random guesses",
}
"""Metrics of what is got without an attack, and what guesses."""


def _baselines(metrics: dict[str, Any], names: Sequence[str], form: str) -> list[_Row]:
    """Return a line for each of some baselines that is known."""
    found = [(name, metrics[name]) for name in names if metrics[name] is not None]
    return [_Row(_GUESSES[name], form.format(value), value, value) for name, value in found]


def _perfect_rows(result: Result) -> Chart | None:
    metrics = result["metrics"]
    perfect, most = metrics["perfect_rows"], metrics["n_rows"]
    if perfect is None or not most:
        return None
    high = result["baselines"].get("perfect_rows_bounds", [perfect, perfect])[1]
    said = f"{perfect:,} of {most:,}" if high == perfect else f"{perfect:,} to {high:,} of {most:,}"
    rows = [_Row("the attack", said, perfect, high, attack=True)]
    if (ideal := whole(result)) is not None:
        bound = min(ideal["most_perfect_rows"], most)
        rows.append(_Row("nobody meets more", f"{bound:,.1f}", bound, bound))
    rows += _baselines(metrics, ("split_half_perfect_rows", "expected_perfect_rows"), "{:,.1f}")
    bar = perfect_bar(result)
    return _dots(
        "perfect-rows",
        "Perfect rows beside their baselines",
        rows,
        None if bar is None else (bar, f"fails above {bar:,.4g}"),
        "Right is worse: more people's rows are rebuilt.",
        most,
    )


def _row_errors(result: Result) -> Chart | None:
    if not (figures := result.get("row_errors")):
        return None
    quantiles = figures["quantiles"]
    return _curve(
        "row-errors",
        "Error row by row",
        quantiles,
        quantiles[-1],
        "error of a row",
        f"Share of rows by error. The attack: lowest {quantiles[0]:.4f}, median {quantiles[50]:.4f}, "
        f"highest {quantiles[100]:.4f}.",
        "How many rows are rebuilt with at most this error. Further up and left is worse.",
    )


def _entropy(result: Result) -> Chart | None:
    quantiles = result.get("entropy", {}).get("row_ratio_quantiles")
    if not quantiles:
        return None
    measured_on = result["entropy"]["rows_measured_on"]
    return _curve(
        "entropy",
        "Uncertainty left row by row",
        quantiles,
        1.0,
        "entropy ratio (0: everything is told, 1: nothing)",
        f"Share of rows by entropy ratio, by {measured_on}: lowest {quantiles[0]:.3f}, median {quantiles[50]:.3f}, "
        f"highest {quantiles[100]:.3f}.",
        f"How many rows have at most this ratio, by {measured_on}. Further up and left is worse.",
    )


def _leaf_sizes(result: Result) -> Chart | None:
    figures = result.get("leaf_sizes")
    if not figures or not any(figures["leaves"]):
        return None
    starts, leaves = figures["at_least"], figures["leaves"]
    ends = [*(start - 1 for start in starts[1:]), None]
    labels = [
        f"{start}+" if end is None else f"{start}" if end == start else f"{start}-{end}"
        for start, end in zip(starts, ends, strict=True)
    ]
    highest = max(leaves)
    marks = _frame([(0.0, "0"), (highest / 2, _short(highest / 2)), (highest, f"{highest:,}")], highest)
    step = _INNER / len(leaves)
    for i, (label, number) in enumerate(zip(labels, leaves, strict=True)):
        tall = (_BASE - _TOP) * number / highest
        x = _LEFT + i * step
        box = {"x": f"{x + 0.15 * step:.1f}", "y": f"{_BASE - tall:.1f}", "width": f"{0.7 * step:.1f}"}
        marks.append(Mark("rect", {**box, "height": f"{tall:.1f}", "class": "attack"}))
        marks.append(_text(x + step / 2, _BASE + 14, label, "middle", "small"))
    marks.append(_text(_LEFT + _INNER / 2, _BASE + 32, "training rows in a leaf", "middle"))
    described = ", ".join(f"{number:,} of {label} rows" for label, number in zip(labels, leaves, strict=True))
    return Chart(
        "leaf-sizes",
        "Leaf sizes",
        f"Leaves by the number of training rows in them: {described}.",
        "A leaf of one row is about one person. Further left is worse.",
        _HEIGHT,
        tuple(marks),
    )


def _dots(
    name: str,
    title: str,
    rows: Sequence[_Row],
    bar: tuple[float, str] | None,
    caption: str,
    end: float,
) -> Chart:
    """Return a chart with a line and a dot for each row, and a bar across them where a check fails.

    The axis ends at `end`; where that is NaN, just behind the largest value.
    """
    if math.isnan(end):
        end = 1.05 * max(*(row.high for row in rows), bar[0] if bar else 0.0) or 1.0
    left, inner, step, top = 8, WIDTH - 16, 36, 6  # each row is a line of text with its axis below
    base = top + step * len(rows)

    def at(value: float) -> float:
        return left + inner * min(value / end, 1.0)

    marks = []
    for i, row in enumerate(rows):
        y = top + i * step
        kind = "attack" if row.attack else "other"
        marks.append(_text(left, y + 11, row.label, "start", "strong" if row.attack else ""))
        marks.append(_text(left + inner, y + 11, row.shown, "end", "strong" if row.attack else ""))
        marks.append(_line(left, y + 22, left + inner, y + 22, "grid"))
        marks.append(_line(at(row.low if row.low != row.high else 0), y + 22, at(row.high), y + 22, f"{kind} line"))
        for value in dict.fromkeys((row.low, row.high)):
            marks.append(_dot(at(value), y + 22, 5, kind))
    described = "; ".join(f"{row.label}: {row.shown}" for row in rows)
    height = base + 4
    if bar is not None:
        x = at(bar[0])
        marks += [_line(x, top + i * step + 15, x, top + i * step + 29, "bar") for i in range(len(rows))]
        anchor, shift = ("start", -2) if x < WIDTH / 2 else ("end", 2)
        marks.append(_text(x + shift, base + 14, bar[1], anchor, "bar-label"))
        described += f"; the check {bar[1]}"
        height = base + 20
    return Chart(name, title, f"{described}.", caption, height, tuple(marks))


def _curve(
    name: str,
    title: str,
    quantiles: Sequence[float],
    end: float,
    axis: str,
    description: str,
    caption: str,
) -> Chart:
    """Return a chart of the share of rows that have at most a value, which is given by its quantiles."""
    end = end or 1.0
    marks = _frame([(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")], 1.0)
    marks += _below([(0.0, "0"), (0.5, _short(end / 2)), (1.0, _short(end))], axis)
    path = f"M{_LEFT} {_BASE}"
    for k, value in enumerate(quantiles):
        share = k / (len(quantiles) - 1)
        path += f"H{_LEFT + _INNER * min(value / end, 1.0):.1f}V{_BASE - (_BASE - _TOP) * share:.1f}"
    marks.append(Mark("path", {"d": f"{path}H{_LEFT + _INNER}", "class": "attack line"}))
    return Chart(name, title, description, caption, _HEIGHT, tuple(marks))


def _frame(ticks: Sequence[tuple[float, str]], highest: float) -> list[Mark]:
    """Return the lines of a vertical axis from 0 to the highest value, with their labels."""
    marks = []
    for value, label in ticks:
        y = _BASE - (_BASE - _TOP) * value / highest
        marks.append(_line(_LEFT, y, _LEFT + _INNER, y, "grid"))
        marks.append(_text(_LEFT - 5, y + 4, label, "end", "small"))
    return marks


def _below(ticks: Sequence[tuple[float, str]], axis: str) -> list[Mark]:
    """Return the labels of a horizontal axis, at shares of its width, and its name."""
    anchors = {0.0: "start", 1.0: "end"}
    marks = [_text(_LEFT + _INNER * at, _BASE + 14, label, anchors.get(at, "middle"), "small") for at, label in ticks]
    return [*marks, _text(_LEFT + _INNER / 2, _BASE + 32, axis, "middle")]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return Mark("line", {**{name: f"{value:.1f}" for name, value in ends.items()}, "class": kind})


def _dot(x: float, y: float, radius: int, kind: str) -> Mark:
    return Mark("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": radius, "class": kind})


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> Mark:
    place: dict[str, object] = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    return Mark("text", place | ({"class": kind} if kind else {}), text)


def _short(value: Any) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
