"""The advice as one HTML file that needs no other file, no script and no network."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_draft.advice import wording
from pytest_draft.advice.facts import Tried
from pytest_draft.advice.recommendation import Recommendation
from pytest_draft.report.page import SIGNS, environment
from pytest_draft.report.svg import WIDTH, Frame, Mark, dot, line, path, text

HEIGHT = 254
_FRAME = Frame(left=46, top=28, base=208)
_LEAST, _MOST = 0.05, 20.0  # of the error over the limit: what lies outside is drawn at the edge

_STATUS = {"confirmed": "passed", "none passes": "failed", "not finished": "inconclusive"}


@dataclass(frozen=True)
class Point:
    """One setting of the plot."""

    title: str
    """What is shown where the pointer is on it."""
    marks: tuple[Mark, ...]


def render(advice: Recommendation) -> str:
    """Return the page."""
    listed = wording.shown(advice)
    drawn = [one for one in listed if one.hardened is not None and one.hardened.error_over_limit is not None]
    drawn = [one for one in drawn if one.score is not None]
    axes, points = _plot(advice, drawn) if drawn else ((), ())
    return (
        environment("pytest_draft.advice", "pytest_draft.report")
        .get_template("advice.html")
        .render(
            status=_STATUS[advice.status],
            sign=SIGNS[_STATUS[advice.status]],
            headline=wording.headline(advice),
            cost=wording.cost(advice),
            tried=wording.tried(advice),
            how_to_read=wording.how_to_read(advice),
            reasons=wording.reasons(advice),
            step=wording.next_step(advice),
            longer=[] if advice.longer is None else wording.wrapped(advice.longer),
            harden_and_judge=wording.HARDEN_AND_JUDGE,
            secret_seed=wording.SECRET_SEED,
            headings=wording.HEADINGS,
            rows=[(wording.cells(one), one.setting == advice.pick, _why(one)) for one in listed],
            code=(advice.code or "").splitlines(),
            commands=[line for command in advice.commands for line in wording.wrapped(command)],
            notes=advice.notes,
            axes=axes,
            points=points,
            described=_described(drawn, advice),
            picked=any(one.setting == advice.pick for one in drawn),
            left_out=len(listed) - len(drawn),
            width=WIDTH,
            height=HEIGHT,
            provenance=_provenance(advice),
            badges=("passed", "failed", "inconclusive"),
        )
    )


def _why(tried: Tried) -> str:
    """Return why a setting does not pass."""
    judged = [judged for judged in (*tried.fresh, tried.hardened) if judged is not None and judged.why]
    return judged[0].why if judged else ""


def _provenance(advice: Recommendation) -> list[tuple[str, str]]:
    said = [
        ("Model", advice.source or "given in memory"),
        ("Model SHA-256", advice.sha256),
        ("Kind", advice.holds),
        ("Training data", advice.data or "given in memory"),
        ("Training data SHA-256", advice.data_sha256),
        ("Rows", f"{advice.n_rows:,}"),
        ("Label column", advice.target),
        ("Policy", advice.policy),
        ("Level of hardening", advice.level),
        ("Metric", advice.metric),
        ("Seed", str(advice.seed)),
        ("Budget", f"{advice.budget:g} s for each judgement"),
    ]
    return [(name, value) for name, value in said if value]


def _described(drawn: Sequence[Tried], advice: Recommendation) -> str:
    """Return all that the plot shows, in words."""
    titles = [f"{one.setting.name}: {_title(one, advice)}" for one in drawn]
    return "; ".join(titles) + "."


def _title(tried: Tried, advice: Recommendation) -> str:
    assert tried.score is not None
    pick = "advised; " if tried.setting == advice.pick else ""
    leaves = "" if tried.leaves is None else f", {tried.leaves:,} leaves"
    judged = wording.verdict(tried.hardened, *tried.fresh)
    return (
        f"{pick}error over limit {wording.ratio(tried.hardened)}, {advice.metric} {wording.score(tried.score)}"
        f"{leaves}, {judged}"
    )


def _plot(advice: Recommendation, drawn: Sequence[Tried]) -> tuple[tuple[Mark, ...], tuple[Point, ...]]:
    """Return axes and points: score against the attack's error."""
    ratios = [_clipped(one) for one in drawn]
    low, high = min(0.5, *ratios) / 1.1, 1.1 * max(2.0, *ratios)
    scores = [one.score for one in drawn if one.score is not None]
    least, most = min(one.mean - one.error for one in scores), max(one.mean + one.error for one in scores)
    room = (most - least) or 1.0
    least, most = least - 0.05 * room, most + 0.05 * room

    def across(ratio: float) -> float:
        return (math.log(ratio) - math.log(low)) / (math.log(high) - math.log(low))

    def up(value: float) -> float:
        return _FRAME.y((value - least) / (most - least))

    axes = _FRAME.lines([((tick - least) / (most - least), label) for tick, label in _ticks(least, most)])
    ticks = [tick for tick in (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0) if low <= tick <= high]
    axes += _FRAME.below([(across(tick), f"{tick:g}") for tick in ticks], "error / limit  (right is safer \u2192)")
    bar = _FRAME.x(across(1.0))
    axes.append(line(bar, _FRAME.top, bar, _FRAME.base + 3, "bar"))
    axes.append(text(bar, _FRAME.top - 5, "limit", "middle", "small bar-label"))
    axes.append(text(2, 11, f"\u2191 {advice.metric}  (up is better)", "start"))
    spots = [_Spot(one, _FRAME.x(across(_clipped(one))), up) for one in drawn]
    points, taken = [], [(bar - 3, _FRAME.top, bar + 3, _FRAME.base), *(spot.box for spot in spots)]
    for spot in spots:
        label = "advised" if spot.tried.setting == advice.pick else "now" if spot.tried.setting == advice.own else ""
        marks = spot.marks(advice)
        if label:
            named, box = spot.labelled(label, taken)
            marks.append(named)
            taken.append(box)
        points.append(Point(f"{spot.tried.setting.name}: {_title(spot.tried, advice)}", tuple(marks)))
    return tuple(axes), tuple(points)


def _ticks(least: float, most: float) -> list[tuple[float, str]]:
    """Return two to six round values between two others, with their labels."""
    rough = (most - least) / 3
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= 0.8 * rough)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    counts = range(math.ceil(least / step), math.floor(most / step) + 1)
    return [(count * step, f"{count * step:.{decimals}f}") for count in counts]


Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True)
class _Spot:
    """Where a setting is drawn."""

    tried: Tried
    x: float
    up: Callable[[float], float]

    @property
    def ends(self) -> tuple[float, float]:
        """Upper and lower end of the standard error."""
        score = self.tried.score
        assert score is not None
        return self.up(score.mean + score.error), self.up(score.mean - score.error)

    @property
    def y(self) -> float:
        assert self.tried.score is not None
        return self.up(self.tried.score.mean)

    @property
    def box(self) -> Box:
        return self.x - 6, self.y - 6, self.x + 6, self.y + 6

    def marks(self, advice: Recommendation) -> list[Mark]:
        """Return what is drawn: the verdict is its shape and its colour."""
        x, y, (upper, lower), hardened = self.x, self.y, self.ends, self.tried.hardened
        assert hardened is not None
        fell = hardened.verdict == "passed" and not self.tried.passed
        kind = "inconclusive" if fell else hardened.verdict
        marks = [line(x, upper, x, lower, "whisker")]
        if kind == "passed":
            marks.append(dot(x, y, 4.5, kind))
        elif kind == "failed":
            marks.append(path(f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", kind))
        else:
            marks.append(path(f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z", kind))
        return [*marks, dot(x, y, 9, "pick")] if self.tried.setting == advice.pick else marks

    def labelled(self, words: str, taken: Sequence[Box]) -> tuple[Mark, Box]:
        """Return a label beside the spot, where it covers nothing if there is such a place, and its box."""
        wide, above, below = 7.0 * len(words), self.y - 13, self.y + 21
        places = {
            "start": (self.x + 13, self.y + 4, self.x + 13),
            "end": (self.x - 13, self.y + 4, self.x - 13 - wide),
            "above": (self.x, above, self.x - wide / 2),
            "below": (self.x, below, self.x - wide / 2),
        }
        frame = (_FRAME.left, _FRAME.top, _FRAME.right, _FRAME.base)

        def covered(place: str) -> float:
            _, y, left = places[place]
            box = (left, y - 11, left + wide, y + 3)
            outside = wide * 14 - _shared(box, frame)
            return outside + sum(_shared(box, other) for other in taken)

        chosen = min(places, key=covered)
        x, y, left = places[chosen]
        anchor = chosen if chosen in ("start", "end") else "middle"
        return text(x, y, words, anchor, "strong"), (left, y - 11, left + wide, y + 3)


def _shared(one: Box, other: Box) -> float:
    """Return the area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, wide) * max(0.0, high)


def _clipped(tried: Tried) -> float:
    assert tried.hardened is not None
    assert tried.hardened.error_over_limit is not None
    return min(_MOST, max(_LEAST, tried.hardened.error_over_limit))
