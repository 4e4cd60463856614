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
    kind: str
    """Its verdict, by which it is drawn."""
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
            left_out=len(listed) - len(drawn),
            metric=advice.metric,
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
    pick = "the pick; " if tried.setting == advice.pick else ""
    leaves = "" if tried.leaves is None else f", {tried.leaves:,} leaves"
    judged = wording.verdict(tried.hardened, *tried.fresh)
    return (
        f"{pick}error over limit {wording.ratio(tried.hardened)}, {advice.metric} {wording.score(tried.score)}"
        f"{leaves}, {judged}"
    )


def _plot(advice: Recommendation, drawn: Sequence[Tried]) -> tuple[tuple[Mark, ...], tuple[Point, ...]]:
    """Return axes and points: score against leak."""
    ratios = [_clipped(one) for one in drawn]
    low, high = min(0.5, *ratios) / 1.1, 1.1 * max(2.0, *ratios)
    scores = [one.score for one in drawn if one.score is not None]
    leading = advice.best.score.mean if advice.best is not None and advice.best.score is not None else scores[0].mean
    least = min(leading, *(one.mean - one.error for one in scores))
    most = max(leading, *(one.mean + one.error for one in scores))
    room = (most - least) or 1.0
    least, most = least - 0.05 * room, most + 0.05 * room

    def across(ratio: float) -> float:
        return (math.log(ratio) - math.log(low)) / (math.log(high) - math.log(low))

    def up(value: float) -> float:
        return _FRAME.y((value - least) / (most - least))

    axes = _FRAME.lines([(share, f"{least + share * (most - least):.3f}") for share in (0.0, 0.5, 1.0)])
    ticks = [tick for tick in (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0) if low <= tick <= high]
    axes += _FRAME.below([(across(tick), f"{tick:g}") for tick in ticks], "error over limit (left of 1 fails)")
    axes.append(line(_FRAME.left, up(leading), _FRAME.right, up(leading), "leading"))
    axes.append(line(_FRAME.x(across(1.0)), _FRAME.top, _FRAME.x(across(1.0)), _FRAME.base + 3, "bar"))
    axes.append(text(_FRAME.left - 40, _FRAME.top - 16, advice.metric, "start", "small"))
    points = [_point(one, advice, _FRAME.x(across(_clipped(one))), up) for one in drawn]
    return tuple(axes), tuple(points)


def _clipped(tried: Tried) -> float:
    assert tried.hardened is not None
    assert tried.hardened.error_over_limit is not None
    return min(_MOST, max(_LEAST, tried.hardened.error_over_limit))


def _point(tried: Tried, advice: Recommendation, x: float, up: Callable[[float], float]) -> Point:
    """Return a setting's point: its verdict is its shape and its colour."""
    assert tried.score is not None
    assert tried.hardened is not None
    y = up(tried.score.mean)
    kind = (
        "passed" if tried.passed else "inconclusive" if tried.hardened.verdict == "passed" else tried.hardened.verdict
    )
    marks = [line(x, up(tried.score.mean - tried.score.error), x, up(tried.score.mean + tried.score.error), "whisker")]
    if kind == "passed":
        marks.append(dot(x, y, 4.5, kind))
    elif kind == "failed":
        marks.append(path(f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", kind))
    else:
        marks.append(path(f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z", kind))
    if tried.setting == advice.pick:
        marks.append(dot(x, y, 9, "pick"))
        anchor = "end" if x > WIDTH / 2 else "start"
        marks.append(text(x - 12 if anchor == "end" else x + 12, y - 8, "the pick", anchor, "strong"))
    return Point(f"{tried.setting.name}: {_title(tried, advice)}", kind, tuple(marks))
