"""Rule ``reconstruction-error``: how far from the training data the attack's reconstruction may not be."""

from __future__ import annotations

from functools import partial

from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings, Measure
from pytest_draft.facts.slices import Measured, SliceFigures
from pytest_draft.policy.bar import Bar, bound
from pytest_draft.policy.held import Held, by_attack, by_best_attack, deciding, named, of_labelled, of_parts, of_slices
from pytest_draft.policy.ideal import ADDED, by_error, by_other_people, error_of_ideal
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds

_ROUNDING = 1e-9  # errors are sums of fractions


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when the attack rebuilds the training data, a part or a slice with an error of at most a threshold."""
    return by_attack(_held(findings, thresholds))


def bounds(findings: Findings, thresholds: Thresholds, converged: bool) -> Outcome:
    """Pass where nobody can come so close: by each part's ideal attacker, else by an attack that converged."""
    return by_best_attack(findings, _held(findings, thresholds), converged)


def limit(part: Measure, thresholds: Thresholds) -> float | None:
    """Return the error that no attacker gets below, the one by which a part is judged; None where it is not known."""
    bars = [bar for _, bar in _of_part(part, thresholds) if bar is not None]
    strictest = max(bars, key=lambda one: one.at, default=None)
    ideals, by_ideal = by_error(part), partial(error_of_ideal, reached=part.error.upper)
    return deciding(ideals, strictest, by_ideal).least_error if ideals else None


def _held(findings: Findings, thresholds: Thresholds) -> list[Held]:
    held = of_parts(findings, lambda part: _judge_part(part, thresholds))
    held += of_labelled(findings, thresholds, _judge_part)
    return held + of_slices(findings, lambda one, found: _judge_slice(one, found, thresholds), _spared)


def _judge_part(part: Measure, thresholds: Thresholds) -> list[Held]:
    by_ideal = partial(error_of_ideal, reached=part.error.upper)
    judged = _of_part(part, thresholds)
    others = [Held(one, ()) for _, bar in judged if bar is not None for one in by_other_people(part, bar)]
    return [*(Held.by(found, bar, by_error(part), by_ideal) for found, bar in judged), *others]


def _of_part(part: Measure, thresholds: Thresholds) -> list[tuple[Outcome, Bar | None]]:
    meant = _of(part.absolute, thresholds)
    return _against(part.error, part.split_half.error, part.random.error, part.on, meant, part.error_without_file)


def _judge_slice(figures: SliceFigures, measured: Measured, thresholds: Thresholds) -> list[Outcome]:
    meant, on = _of(not figures.on, thresholds), f" in {named(figures)}"
    return [said for said, _ in _against(measured.error, measured.split_half.error, measured.random.error, on, meant)]


def _of(absolute: bool, thresholds: Thresholds) -> Thresholds:
    """Return the thresholds that are meant for a part or slice."""
    return {key: at for key, at in thresholds.items() if absolute or key != "max_error"}


def _spared(measured: Measured) -> float:
    """Return how far a slice is from being rebuilt, beside what other rows like these get of it."""
    return measured.error.upper / (measured.split_half.error or 1.0)


def _against(
    error: Distance,
    split_half: float | None,
    random: float | None,
    on: str,
    thresholds: Thresholds,
    without: float | None = None,
) -> list[tuple[Outcome, Bar | None]]:
    """Return what each threshold says of an error, and its bar; None without the baseline that makes it."""
    outcomes: list[tuple[Outcome, Bar | None]] = []
    for key, (at, where_from) in limits(thresholds, split_half, random, without, " there" * bool(on)).items():
        if at is None:
            outcomes.append((_without_baseline(error, on, where_from), None))
            continue
        bar = Bar(at, f"limit: {at:.4f}{where_from}", fails="at most", rounding=_ROUNDING)
        found = _judged(error, bar, on)
        if random is not None and key != "max_error_of_split_half" and found.result == "failed" and random <= at:
            impossible = f"no model can pass: random guesses get {random:.4f}{on}, and the threshold is {at:.4f}"
            lower = f"give a smaller {key}: it is the error at which the attacker has succeeded"
            found = Outcome("failed", impossible, lower)
        outcomes.append((found, bar))
    return outcomes


def limits(
    thresholds: Thresholds, split_half: float | None, random: float | None, without: float | None, there: str = ""
) -> dict[str, tuple[float | None, str]]:
    """Return the error at which each threshold fails, and where that is from; None, and whose, without a baseline."""
    found: dict[str, tuple[float | None, str]] = {}
    if "max_error" in thresholds:
        found["max_error"] = thresholds["max_error"], ""
    others = ("max_error_of_split_half", "other rows like these", split_half, without)
    for key, name, baseline, least in (others, ("max_error_of_random", "random guesses", random, None)):
        if key not in thresholds:
            continue
        if baseline is None:
            found[key] = None, name
        elif least is not None and (1 - ADDED) * least < thresholds[key] * baseline:
            where_from = f" ({1 - ADDED:g} x {least:.4f}, what somebody gets without the file{there})"
            found[key] = (1 - ADDED) * least, where_from
        else:
            where_from = f" ({thresholds[key]:g} x {baseline:.4f}, what {name} get{there})"
            found[key] = thresholds[key] * baseline, where_from
    return found


def _judged(error: Distance, bar: Bar, on: str) -> Outcome:
    lower, upper, exact = error.lower, error.upper, error.exact is not None
    return bar.judge(
        (lower, upper),
        f"the attack's error is {bound('at least', lower, exact)}{on}",
        f"the attack rebuilds the training data with an error of {bound('at most', upper, exact)}{on}",
        f"the attack's error is not known exactly: it is between {lower:.4f} and {upper:.4f}{on}",
    )


def _without_baseline(error: Distance, on: str, name: str) -> Outcome:
    """Judge without a baseline: nothing is better than no error at all."""
    if error.upper == 0:
        return Outcome("failed", f"the attack rebuilds the training data with an error of 0.0000{on}")
    why = (
        f"the error of {name}{on}, which it is held against, is not known: no time was left, or there are too few rows"
    )
    return Outcome("inconclusive", why)


RULE = Rule(
    id="reconstruction-error",
    needs=Findings,
    keys={
        "max_error": Key.error("fail at an error of at most this"),
        "max_error_of_split_half": Key.error("fail at an error of at most this share of the split-half baseline"),
        "max_error_of_random": Key.error("fail at an error of at most this share of the random baseline"),
        "max_error_with_labels": Key.error(
            "fail at an error of at most this, with the label as one more attribute",
            unless=(NotApplicable.NO_CLASSES,),
        ),
        "max_error_with_labels_of_split_half": Key.error(
            "fail at an error of at most this share of the split-half baseline, the label counted in both",
            unless=(NotApplicable.NO_CLASSES,),
        ),
    },
    check=check,
    bounds=bounds,
    unless=(NotApplicable.FREQUENCIES,),
    rationale=(
        "The reconstruction error is the attacker's error: low is bad for privacy. A reconstruction that lies "
        "much closer to the training data than other rows like these do holds these very rows."
    ),
)
