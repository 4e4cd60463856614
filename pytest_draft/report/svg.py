"""What drawings of pages are made of: in go figures, out come `Mark` objects, which a template draws as inline SVG.

Coordinates are worked out here, colours and fonts are the page's own: so one drawing is right in light and dark mode,
its text is text, and no plotting library is needed where reports are written. All are as wide as a phone's screen, so
that letters have the same size on every page. Two runs with the same figures give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
