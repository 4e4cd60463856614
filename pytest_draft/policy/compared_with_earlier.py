"""Rule ``compared-with-earlier``: how much worse than in an earlier report a model may be."""

from __future__ import annotations

from typing import NamedTuple

from pytest_draft.policy.bar import Bar
from pytest_draft.policy.rule import Key, NowAndEarlier, Outcome, Rule, Thresholds, combined

_ROUNDING = 1e-9  # errors are sums of fractions


class _Metric(NamedTuple):
    name: str
    what: str
    fall: bool
    form: str


_GIVEN_OTHERS = "given_others_matched_error"
"""In place of an attack's error where one of two attacks was ended as the verdict was certain."""

_METRICS = {
    "max_error_drop": _Metric("reconstruction_error", "the attack's error", True, "{:.4f}"),
    "max_perfect_rows_rise": _Metric("perfect_rows", "the number of perfect rows", False, "{:,.0f}"),
    "max_singled_out_rows_rise": _Metric("singled_out_rows", "the number of singled-out rows", False, "{:,.0f}"),
    "max_certain_rows_rise": _Metric("certain_rows", "the number of certain rows", False, "{:,.0f}"),
    "max_entropy_reduction_rise": _Metric(
        "entropy_reduction", "the share of the uncertainty that the model takes away", False, "{:.4f}"
    ),
}
"""What each allowance is about; `fall` says that a metric gets worse by falling."""

COMPARED = (*(one.name for one in _METRICS.values()), _GIVEN_OTHERS)
"""Names of the metrics that are compared."""

OF_ATTACKS = {"max_error_drop": 0.01, "max_perfect_rows_rise": 0, "max_singled_out_rows_rise": 0}
"""Allowances in force where a policy that judges an attack does not state them."""

OF_AUDITS = {"max_entropy_reduction_rise": 0.01}
"""Allowances in force where a policy that asks for no attack does not state them."""


def check(compared: NowAndEarlier, thresholds: Thresholds) -> Outcome:
    """Fail when a metric surely got worse by more than allowed; pass when none did, and nothing is in doubt."""
    outcome = combined([_against(compared, key, thresholds[key]) for key in _METRICS if key in thresholds])
    if compared.doubts and outcome.result != "failed":
        return Outcome("inconclusive", "; ".join(compared.doubts))
    return outcome


def _against(compared: NowAndEarlier, key: str, allowed: float) -> Outcome:
    metric, both = _METRICS[key], compared.now.keys() & compared.before.keys()
    if key in OF_ATTACKS and metric.name not in both and _GIVEN_OTHERS in both:
        if not metric.fall:
            return Outcome("passed", f"{metric.what} is not compared, as an attack was cut short")
        metric = metric._replace(name=_GIVEN_OTHERS, what="the error of somebody who knows all other rows")
    if metric.name not in compared.now or metric.name not in compared.before:
        where = "now" if metric.name in compared.before else "in the earlier report"
        return Outcome("inconclusive", f"{metric.what} is not known {where}, so {key} cannot be judged")
    now, before = compared.now[metric.name], compared.before[metric.name]
    least, most = (before[0] - now[1], before[1] - now[0]) if metric.fall else (now[0] - before[1], now[1] - before[0])
    bar = Bar(allowed, f"{key} allows {'a drop' if metric.fall else 'a rise'} of {allowed:g}", rounding=_ROUNDING)
    sentence = f"{metric.what} is {_shown(metric, now)}, and was {_shown(metric, before)} in the earlier report"
    if bar.crossed_by(most) and not bar.crossed_by(least):
        return Outcome("inconclusive", f"{sentence}; {bar.said}, and whether it was crossed is not known")
    return bar.judge((least, most), sentence)


def _shown(metric: _Metric, bounds: tuple[float, float]) -> str:
    lower, upper = map(metric.form.format, bounds)
    return lower if bounds[0] == bounds[1] else f"between {lower} and {upper}"


RULE = Rule(
    id="compared-with-earlier",
    needs=NowAndEarlier,
    keys={
        "max_error_drop": Key.share("fail when the attack's error fell by more than this"),
        "max_perfect_rows_rise": Key.rows("fail when the perfect rows rose by more than this"),
        "max_singled_out_rows_rise": Key.rows("fail when the singled-out rows rose by more than this"),
        "max_certain_rows_rise": Key.rows("fail when the certain rows rose by more than this"),
        "max_entropy_reduction_rise": Key.share(
            "fail when the share of the uncertainty that the model takes away rose by more than this"
        ),
    },
    check=check,
    rationale=(
        "A limit is chosen once, and a model can come closer to it with every release. Who has published a model has "
        "decided about that one, not about a worse one (EU AI Act, article 15: consistent throughout the "
        "lifecycle)."
    ),
    remedy=(
        "find out what makes the new model give more away (deeper or more trees, fewer rows, other data), train it "
        "again and judge that file; or have the policy's owner decide to accept the rise: the report of this run is "
        "then what the next one is compared with"
    ),
)
