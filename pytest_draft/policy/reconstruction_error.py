"""Rule ``reconstruction-error``: how far from the training data the attack's reconstruction may not be."""

from __future__ import annotations

from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings, Part
from pytest_draft.facts.slices import Measured, SliceFigures
from pytest_draft.policy.ideal import by_any, error_of_ideal, ideals_of, of_bits, unless_converged, without_ideal
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined
from pytest_draft.policy.thresholds_on_labels import of_labelled
from pytest_draft.policy.thresholds_on_slices import named, of_slices

_ROUNDING = 1e-9  # errors are sums of fractions

_WITH_LABELS = {
    "max_error_with_labels": "max_error",
    "max_error_with_labels_of_split_half": "max_error_of_split_half",
}


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when the attack rebuilds the training data, a part or a slice with an error of at most a threshold."""
    of_parts = [outcome for part in findings.judged for outcome in _of_part(part, thresholds)]
    of_parts += of_labelled(findings, thresholds, _WITH_LABELS, _of_part)
    return combined([*of_parts, *of_slices(findings, lambda one, found: _of_slice(one, found, thresholds), _spared)])


def bounds(findings: Findings, thresholds: Thresholds, converged: bool) -> Outcome:
    """Pass where nobody can come so close: by each part's ideal attacker, else by an attack that converged."""
    too_few = of_bits(findings)
    outcomes = [] if too_few is None else [too_few]
    for part in findings.judged:
        ideals = ideals_of(part)
        if not ideals:
            outcomes += without_ideal(findings, part, converged, _of_part(part, thresholds))
            continue
        for outcome, bar in _held_against(
            part.error, part.split_half.error, part.random_error, part.on, _of(part, thresholds)
        ):
            bounded = [error_of_ideal(outcome, ideal, part.error.upper, bar or 0.0) for ideal in ideals]
            outcomes.append(outcome if bar is None else by_any(bounded))
    others = of_labelled(findings, thresholds, _WITH_LABELS, _of_part)
    others += of_slices(findings, lambda one, found: _of_slice(one, found, thresholds), _spared)
    return combined([*outcomes, *(others if converged else unless_converged(others))])


def _of_part(part: Part, thresholds: Thresholds) -> list[Outcome]:
    return _held(part.error, part.split_half.error, part.random_error, part.on, _of(part, thresholds))


def _of(part: Part, thresholds: Thresholds) -> Thresholds:
    """Return the thresholds that are meant for a part."""
    return thresholds if part.absolute else {key: bar for key, bar in thresholds.items() if key != "max_error"}


def _of_slice(one: SliceFigures, found: Measured, thresholds: Thresholds) -> list[Outcome]:
    meant = {key: bar for key, bar in thresholds.items() if key != "max_error"} if one.on else thresholds
    return _held(found.error, found.split_half.error, found.random.error, f" in {named(one)}", meant)


def _spared(found: Measured) -> float:
    """Return how far a slice is from being rebuilt, beside what other people's rows get of it."""
    return found.error.upper / (found.split_half.error or 1.0)


def _held(
    error: Distance, split_half: float | None, random: float | None, on: str, thresholds: Thresholds
) -> list[Outcome]:
    """Hold thresholds against an error and its baselines."""
    return [outcome for outcome, _ in _held_against(error, split_half, random, on, thresholds)]


def _held_against(
    error: Distance, split_half: float | None, random: float | None, on: str, thresholds: Thresholds
) -> list[tuple[Outcome, float | None]]:
    """Return what each threshold says of an error, and its bar; None without the baseline that makes it."""
    outcomes: list[tuple[Outcome, float | None]] = []
    if "max_error" in thresholds:
        outcomes.append((_against(error, thresholds["max_error"], "", on), thresholds["max_error"]))
    baselines = {"max_error_of_split_half": ("split-half", split_half), "max_error_of_random": ("random", random)}
    for key, (name, baseline) in baselines.items():
        if key not in thresholds:
            continue
        if baseline is None:
            outcomes.append((_without_baseline(error, on, name), None))
            continue
        bar = thresholds[key] * baseline
        where_from = f" ({thresholds[key]:g} x {'their' if on else 'the'} {name} baseline of {baseline:.4f})"
        outcomes.append((_against(error, bar, where_from, on), bar))
    return outcomes


def _against(error: Distance, bar: float, where_from: str, on: str) -> Outcome:
    fails_at = f"the check fails at an error of at most {bar:.4f}{where_from}"
    if error.upper <= bar + _ROUNDING:
        shown = f"{error.upper:.4f}" if error.exact is not None else f"at most {error.upper:.4f}"
        return Outcome(
            "failed",
            f"the attack rebuilds the training data with an error of {shown}{on}; {fails_at}, "
            f"crossed by {max(0.0, bar - error.upper):.4f}",
        )
    if error.lower > bar + _ROUNDING:
        shown = f"{error.lower:.4f}" if error.exact is not None else f"at least {error.lower:.4f}"
        return Outcome("passed", f"the attack's error is {shown}{on}; {fails_at}")
    return Outcome(
        "inconclusive",
        f"the attack's error is only known to lie between {error.lower:.4f} and {error.upper:.4f}{on}; {fails_at}",
    )


def _without_baseline(error: Distance, on: str, name: str) -> Outcome:
    """Judge without a baseline: nothing is better than no error at all."""
    if error.upper == 0:
        return Outcome("failed", f"the attack rebuilds the training data with an error of 0.0000{on}")
    return Outcome(
        "inconclusive",
        f"the {name} baseline{on} is missing: the time was out, or the data have too few rows for it",
    )


RULE = Rule(
    id="reconstruction-error",
    needs=Findings,
    keys={
        "max_error": Key(False, 1.0, max, "fail at an error of at most this"),
        "max_error_of_split_half": Key(
            False, 1.0, max, "fail at an error of at most this share of the split-half baseline"
        ),
        "max_error_of_random": Key(False, 1.0, max, "fail at an error of at most this share of the random baseline"),
        "max_error_with_labels": Key(
            False, 1.0, max, "fail at an error of at most this, with the label as one more attribute"
        ),
        "max_error_with_labels_of_split_half": Key(
            False,
            1.0,
            max,
            "fail at an error of at most this share of the split-half baseline, the label counted in both",
        ),
    },
    check=check,
    bounds=bounds,
    rationale=(
        "The reconstruction error is the attacker's error: low is bad for privacy. A reconstruction that lies "
        "much closer to the training data than other people's rows do holds these people's rows."
    ),
)
