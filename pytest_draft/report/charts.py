"""The plots of a page: in goes one result of a report, out come `Chart` objects, which a template draws as inline SVG.

Coordinates are worked out here, colours and fonts are the page's own: so one drawing is right in light and dark mode,
its text is text, and no plotting library is needed where reports are written. All are as wide as a phone's screen, so
that letters have the same size on every page. Two runs with the same figures give the same bytes.

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
from dataclasses import dataclass, replace
from typing import Any

from pytest_draft.report.bounds import bounds_of, error_bar, perfect_bar, span, whole
from pytest_draft.report.result import Result
from pytest_draft.report.sentences import is_told

WIDTH = 340
"""Of every drawing, in pixels of the page: the narrowest phones have 360."""


@dataclass(frozen=True)
class Mark:
    """One SVG element."""

    tag: str
    attributes: dict[str, object]
    text: str = ""


@dataclass(frozen=True)
class Frame:
    """The room between the axes of a drawing, where places are shares of its width and height, from below."""

    left: int
    top: int
    base: int
    """`left`, `top` and `base`: where it begins, and where the horizontal axis is; labels are outside."""
    right: int = WIDTH - 12

    def x(self, share: float) -> float:
        """Return where a share of the width is."""
        return self.left + (self.right - self.left) * share

    def y(self, share: float) -> float:
        """Return where a share of the height is."""
        return self.base - (self.base - self.top) * share

    def lines(self, ticks: Sequence[tuple[float, str]]) -> list[Mark]:
        """Return lines across, with their labels."""
        marks = []
        for share, label in ticks:
            marks.append(line(self.left, self.y(share), self.right, self.y(share), "grid"))
            marks.append(text(self.left - 5, self.y(share) + 4, label, "end", "small"))
        return marks

    def below(self, ticks: Sequence[tuple[float, str]], name: str) -> list[Mark]:
        """Return the labels of the horizontal axis, and its name."""
        anchors = {0.0: "start", 1.0: "end"}
        marks = [text(self.x(at), self.base + 14, label, anchors.get(at, "middle"), "small") for at, label in ticks]
        return [*marks, text(self.x(0.5), self.base + 32, name, "middle")]


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
    """Return a straight line."""
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return Mark("line", {**{name: f"{value:.1f}" for name, value in ends.items()}, "class": kind})


def dot(x: float, y: float, radius: float, kind: str) -> Mark:
    """Return a circle."""
    return Mark("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": radius, "class": kind})


def path(along: str, kind: str) -> Mark:
    """Return a line along a path."""
    return Mark("path", {"d": along, "class": kind})


def text(x: float, y: float, words: str, anchor: str, kind: str = "") -> Mark:
    """Return a text that begins or ends at a place, or has its middle there."""
    place: dict[str, object] = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    return Mark("text", place | ({"class": kind} if kind else {}), words)


_LETTER = 7.2  # the width of a letter in a drawing, in bold; wider than most
_HEIGHT = 190  # of a chart with axes; one of dots is as high as its rows
_FRAME = Frame(left=42, top=12, base=150)


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
    metrics, bounds = result["metrics"], bounds_of(result)
    if bounds is None:
        return None
    rows = [_Row("the attack", span(bounds, ".4f") or "", bounds[0], bounds[1], attack=True)]
    if (known := result.get("limit")) is not None and is_told(least := known["least_error"]):
        rows.append(_Row("no closer, all considered", f"{least:.4f}", least, least))
    rows += _baselines(metrics, ("split_half_error", "median_error", "random_error"), "{:.4f}")
    bar = error_bar(result)
    return _dots(
        "errors",
        "Error of the rebuilt rows",
        rows,
        None if bar is None else (bar, f"fails at {bar:.4f} or less"),
        "Further left is worse: closer to the training data.",
        math.nan,
    )


_GUESSES = {
    "split_half_error": "other rows like these (split-half)",
    "split_half_perfect_rows": "other rows like these (split-half)",
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
    bounds, most = bounds_of(result, "perfect_rows"), metrics["n_rows"]
    if bounds is None or not most:
        return None
    rows = [_Row("the attack", f"{span(bounds, ',')} of {most:,}", bounds[0], bounds[1], attack=True)]
    if (known := result.get("limit")) is not None and (bound := whole(known["most_perfect_rows"])) < most:
        rows.append(_Row("no more, all considered", f"{bound:,}", bound, bound))
    rows += _baselines(metrics, ("split_half_perfect_rows", "expected_perfect_rows"), "{:,.0f}")
    bar = perfect_bar(result)
    return _dots(
        "perfect-rows",
        "Rows that come back, all values right",
        rows,
        None if bar is None else (bar, f"fails above {whole(bar):,}"),
        "Further right is worse: more rows come back.",
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
        "entropy ratio",
        f"Share of rows by entropy ratio, by {measured_on}: lowest {quantiles[0]:.3f}, median {quantiles[50]:.3f}, "
        f"highest {quantiles[100]:.3f}.",
        f"How many rows have at most this entropy ratio, by {measured_on}. At 0 the model tells all of a row, at 1 "
        "nothing. Further up and left is worse.",
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
    ticks = [(0.0, "0"), *([] if highest % 2 else [(0.5, _many(highest // 2))]), (1.0, _many(highest))]
    frame = replace(_FRAME, left=max(_FRAME.left, 8 + 7 * len(ticks[-1][1])), right=WIDTH - 4)
    marks = frame.lines(ticks)
    step = (frame.right - frame.left) / len(leaves)
    for i, number in enumerate(leaves):
        x, y = frame.left + (i + 0.15) * step, frame.y(number / highest)
        box = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{0.7 * step:.1f}", "height": f"{frame.base - y:.1f}"}
        marks.append(Mark("rect", {**box, "class": "attack"}))
    middles = [((i + 0.5) / len(leaves), label) for i, label in enumerate(labels)]
    marks += frame.below(middles, "training rows in a leaf")
    described = ", ".join(f"{number:,} of {label} rows" for label, number in zip(labels, leaves, strict=True))
    return Chart(
        "leaf-sizes",
        "Leaves by their number of training rows",
        f"Leaves by the number of training rows in them: {described}.",
        "A leaf with one training row describes that row. More leaves further left is worse.",
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
    left, inner, top = 8, WIDTH - 16, 6

    def at(value: float) -> float:
        return left + inner * min(value / end, 1.0)

    marks = []
    for row in rows:  # a line of text, or two, with its axis below
        kind, strong = ("attack", "strong") if row.attack else ("other", "")
        marks.append(text(left, top + 11, row.label, "start", strong))
        if _LETTER * (len(row.label) + len(row.shown) + 2) > inner:
            top += 16
        marks.append(text(left + inner, top + 11, row.shown, "end", strong))
        y = top + 24
        marks.append(line(left, y, left + inner, y, "grid"))
        if bar is not None:
            marks.append(line(at(bar[0]), y - 7, at(bar[0]), y + 7, "bar"))
        marks.append(line(at(row.low if row.low != row.high else 0), y, at(row.high), y, f"{kind} line"))
        for value in dict.fromkeys((row.low, row.high)):
            marks.append(dot(at(value), y, 5, kind))
        top += 40
    described = "; ".join(f"{row.label}: {row.shown}" for row in rows)
    if bar is not None:
        x = at(bar[0])
        anchor, shift = ("start", -2) if x < WIDTH / 2 else ("end", 2)
        marks.append(text(x + shift, top + 10, bar[1], anchor, "bar-label"))
        described += f"; the check {bar[1]}"
        top += 14
    return Chart(name, title, f"{described}.", caption, top, tuple(marks))


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
    marks = _FRAME.lines([(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")])
    marks += _FRAME.below([(0.0, "0"), (0.5, _short(end / 2)), (1.0, _short(end))], axis)
    along = f"M{_FRAME.left} {_FRAME.base}"
    for k, value in enumerate(quantiles):
        along += f"H{_FRAME.x(min(value / end, 1.0)):.1f}V{_FRAME.y(k / (len(quantiles) - 1)):.1f}"
    marks.append(path(f"{along}H{_FRAME.right}", "attack line"))
    return Chart(name, title, description, caption, _HEIGHT, tuple(marks))


def _many(number: int) -> str:
    """Return a whole number in the few letters that an axis has room for."""
    if number < 100_000:
        return f"{number:,}"
    return f"{number / 1e6:,.0f}M" if number >= 10_000_000 else f"{number / 1e6:.1f}M"


def _short(value: Any) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
