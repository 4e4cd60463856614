"""A threshold held against a figure: in go the figure's bounds and what is said of it, out comes an `Outcome`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_draft.policy.rule import Outcome

CLOSE = 0.15
"""A figure is close to a threshold within this share of it: of ten models of one setting (pima, 200 rows, 10 trees of
depth 4), six passed and four were inconclusive, as their figures differed by as much."""


@dataclass(frozen=True)
class Bar:
    """A threshold, as it is held against one figure."""

    at: float
    said: str
    """What is allowed, as it stands in a sentence behind what was found."""
    fails: Literal["above", "at most", "below"] = "above"
    """Which figures cross it."""
    rounding: float = 0.0
    """By how much a figure may differ from one that equals the bar."""
    base: float = 0.0
    """What is reached without the file, from where on figures count."""
    by_proof: bool = False
    """Whether figures are proved, so that none that crosses it is called close."""

    def crossed_by(self, figure: float) -> bool:
        """Return whether a figure crosses it."""
        if self.fails == "above":
            return figure > self.at + self.rounding
        return figure <= self.at + self.rounding if self.fails == "at most" else figure < self.at

    def close_to(self, figure: float) -> bool:
        """Return whether a figure is close to it; none at all is as far as can be."""
        return figure != 0 and abs(figure - self.at) <= CLOSE * abs(self.at - self.base)

    def judge(
        self,
        figure: float | tuple[float, float],
        passed: str,
        failed: str | None = None,
        between: str = "",
        *,
        remedy: str | None = None,
        surely: bool = False,
    ) -> Outcome:
        """Judge a figure, or its bounds: failed where it surely crosses the bar, passed where it surely does not.

        `passed`, `failed` and `between` say by result what was found, a failure as a pass where it has no words of its
        own. With `surely` it fails whatever the bar is.
        """
        lower, upper = figure if isinstance(figure, tuple) else (figure, figure)
        nearest, farthest = (lower, upper) if self.fails == "above" else (upper, lower)
        if surely or self.crossed_by(nearest):
            close = not (surely or self.by_proof) and self.close_to(nearest)
            return Outcome("failed", f"{failed or passed}; {self.said}", remedy, close)
        if self.crossed_by(farthest):
            return Outcome("inconclusive", f"{between}; {self.said}")
        return Outcome("passed", f"{passed}; {self.said}", close=self.close_to(farthest))


def bound(word: str, figure: float, exact: bool, form: str = ".4f") -> str:
    """Return a figure as a sentence says it: as it is where it is exact, else as a bound (`at least`, `at most`)."""
    return f"{figure:{form}}" if exact else f"{word} {figure:{form}}"
