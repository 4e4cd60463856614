"""Rule ``perfect-rows``: how many rows of the training data the attack may rebuild perfectly."""

from __future__ import annotations

from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.facts.findings import Findings, Part, ScaleName
from pytest_draft.facts.slices import Measured, SliceFigures
from pytest_draft.policy.ideal import by_any, ideals_of, of_bits, rows_of_ideal, unless_converged, without_ideal
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined
from pytest_draft.policy.thresholds_on_labels import of_labelled
from pytest_draft.policy.thresholds_on_slices import named, of_slices

_WITH_LABELS = {
    "max_perfect_rows_with_labels": "max_perfect_rows",
    "max_share_with_labels_beyond_split_half": "max_share_beyond_split_half",
}


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when more rows are perfect, whole, on a part, with labels or in a slice, or proved, than a threshold allows.

    So do more values that come back exactly. A slice holds no more perfect rows than all rows do, so that numbers of
    them are not held against it.
    """
    outcomes = [outcome for part in findings.judged for outcome in _of_part(part, thresholds)]
    outcomes += of_labelled(findings, thresholds, _WITH_LABELS, _of_part)
    if (most := thresholds.get("max_certain_unique_rows")) is not None:
        outcomes.append(_certain(findings, most))
    if (share := thresholds.get("max_share_beyond_split_half")) is not None:
        on = within(findings.numeric is not None)
        outcomes += of_slices(findings, lambda one, found: [_of_slice(one, found, share, on)], _spared)
    if not outcomes:  # no other threshold, and nothing to hold it against
        outcomes.append(Outcome("passed", "no numeric column is to be rebuilt, whose values could come back exactly"))
    return combined(outcomes)


def bounds(findings: Findings, thresholds: Thresholds, converged: bool) -> Outcome:
    """Pass where nobody can rebuild so many: by each part's ideal attacker, else by an attack that converged."""
    too_few = of_bits(findings)
    outcomes = [] if too_few is None else [too_few]
    for part in findings.judged:
        ideals = ideals_of(part)
        if not ideals:
            outcomes += without_ideal(findings, part, converged, _of_part(part, thresholds))
            continue
        for outcome, bar in _held_against(part, thresholds):
            bounded = [rows_of_ideal(outcome, one, part.perfect_rows, part.n_rows, bar or 0.0) for one in ideals]
            outcomes.append(outcome if bar is None else by_any(bounded))
        if "max_exact_values_beyond_split_half" in thresholds and part.scale == "rank":
            share = thresholds["max_exact_values_beyond_split_half"]
            outcomes.append(by_any([_values_of_ideal(part, ideal, share) for ideal in ideals]))
    if (proved := thresholds.get("max_certain_unique_rows")) is not None:
        outcomes.append(_certain_at_most(findings, proved))
    others = of_labelled(findings, thresholds, _WITH_LABELS, _of_part)
    if (share := thresholds.get("max_share_beyond_split_half")) is not None:
        on = within(findings.numeric is not None)
        others += of_slices(findings, lambda one, found: [_of_slice(one, found, share, on)], _spared)
    outcomes += others if converged else unless_converged(others)
    return combined(
        outcomes or [Outcome("passed", "no numeric column is to be rebuilt, whose values could come back exactly")]
    )


def _certain_at_most(findings: Findings, most: int) -> Outcome:
    """Judge the rows that are unique and proved: none is that is missing in a dataset that explains the file."""
    shared = None if findings.ambiguity is None else findings.ambiguity.shared_unique_rows
    if findings.informed is not None and not findings.informed.most_told_rows:
        return Outcome("passed", "no row can be proved, not even by somebody who knows all others")
    if shared is not None and shared <= most:
        return Outcome(
            "passed", f"at most {shared:,} unique rows can be proved by the file; at most {most:,} are allowed"
        )
    return _certain(findings, most)


def _values_of_ideal(part: Part, ideal: Ideal, share: float) -> Outcome:
    """Judge how many numeric values anybody can have exactly."""
    outcome = _of_values(part, share)
    if part.exact is None or ideal.most_exact is None:
        return outcome
    most = part.exact.split_half + share * (1 - part.exact.split_half)
    what = f"{ideal.most_exact:.1%} of the numeric values exactly{part.on}; at most {most:.1%} are allowed"
    if ideal.most_exact <= most:
        return Outcome("passed", f"whoever has the file rebuilds no more than {what}")
    return Outcome("inconclusive", f"the best attack rebuilds between {part.exact.share:.1%} and {what}")


def _certain(findings: Findings, most: int) -> Outcome:
    """Judge the rows that are unique and proved: of what is not finished, only what is proved by now fails."""
    proved, at_most = findings.certain_unique_rows, findings.most_certain_unique_rows
    if proved is None:
        return Outcome("passed", "no row is proved: the attack proves nothing of single rows here")
    shown = f"{proved:,} rows that are unique in the training data are proved by the file alone"
    allowed = f"at most {most:,} are allowed"
    if proved > most:
        return Outcome("failed", f"{shown}; {allowed}, crossed by {proved - most:,}")
    if at_most is not None and at_most > most:
        return Outcome("inconclusive", f"at least {shown}, and at most {at_most:,}: the proof was cut short; {allowed}")
    return Outcome("passed", f"{shown}; {allowed}")


def _spared(found: Measured) -> float:
    """Return how little of a slice is perfect of what other people's rows would not have met."""
    baseline = found.split_half.perfect_share or 0.0
    return (baseline - found.perfect_share) / max(1 - baseline, 1e-9)


def _of_slice(one: SliceFigures, found: Measured, share: float, on: str) -> Outcome:
    """Judge the mean of two shares: of the slice's true rows, and of the rebuilt rows that are in it."""
    what = f"{found.perfect_rows:,} of the {one.rows:,} rows of {named(one)} are rebuilt perfectly{on}"
    what += f", and {found.rebuilt_rows:,} rebuilt rows are in it: a share of {found.perfect_share:.1%}"
    baseline = found.split_half.perfect_share
    whole = found.perfect_rows == one.rows
    if baseline is None:
        missing = f"the split-half baseline of {named(one)} is missing: the time was out"
        return Outcome("failed", what) if whole else Outcome("inconclusive", missing)
    most = baseline + share * (1 - baseline)
    allowed = f"at most {most:.1%} is allowed (its split-half baseline of {baseline:.1%} and {share:g} of the rest)"
    if found.perfect_share > most or whole:
        return Outcome("failed", f"{what}; {allowed}, crossed by {max(0.0, found.perfect_share - most):.1%}")
    if found.most_perfect_share is not None and found.most_perfect_share > most:
        least = f"{what} or more, up to {found.most_perfect_share:.1%}, where very many rows are close"
        return Outcome("inconclusive", f"{least}; {allowed}")
    return Outcome("passed", f"{what}; {allowed}")


def _held_against(part: Part, thresholds: Thresholds) -> list[tuple[Outcome, float | None]]:
    """Return what each threshold says of the perfect rows, and its bar; None without the baseline that makes it."""
    outcomes: list[tuple[Outcome, float | None]] = []
    if "max_perfect_rows" in thresholds and part.absolute:
        most = thresholds["max_perfect_rows"]
        outcomes.append((_against(part, most, ""), most))
    if "max_share_beyond_split_half" in thresholds:
        share, baseline = thresholds["max_share_beyond_split_half"], part.split_half.perfect_rows
        if baseline is None:
            outcomes.append((_without_baseline(part), None))
        else:
            most = baseline + share * (part.n_rows - baseline)
            where_from = f" (the split-half baseline of {baseline:.1f} and {share:g} of the rest)"
            outcomes.append((_against(part, most, where_from), most))
    return outcomes


def _of_part(part: Part, thresholds: Thresholds) -> list[Outcome]:
    outcomes = [outcome for outcome, _ in _held_against(part, thresholds)]
    if "max_exact_values_beyond_split_half" in thresholds and part.scale == "rank":
        outcomes.append(_of_values(part, thresholds["max_exact_values_beyond_split_half"]))
    return outcomes


def _of_values(part: Part, share: float) -> Outcome:
    """Judge how many numeric values come back as they are."""
    exact = part.exact
    if exact is None:
        return Outcome(
            "inconclusive",
            f"it is not known how many numeric values come back exactly{part.on}: the time was out, or the data have "
            "too few rows for the split-half baseline",
        )
    most = exact.split_half + share * (1 - exact.split_half)
    what = f"{exact.share:.1%} of {exact.values:,} numeric values exactly{part.on}"
    where_from = f"the split-half baseline of {exact.split_half:.1%} and {share:g} of the rest"
    allowed = f"at most {most:.1%} are allowed ({where_from})"
    if exact.share > most:
        return Outcome("failed", f"the attack rebuilds {what}; {allowed}, crossed by {exact.share - most:.1%}")
    return Outcome("passed", f"the attack rebuilds {what}; {allowed}")


def _against(part: Part, most: float, where_from: str) -> Outcome:
    perfect, n_rows = part.perfect_rows, part.n_rows
    allowed = f"at most {most:.4g} are allowed{where_from}"
    on = within(part.numeric, part.scale) + part.on
    if perfect > most or (where_from and perfect == n_rows):
        return Outcome(
            "failed",
            f"the attack rebuilds {perfect:,} of {n_rows:,} rows perfectly{on}; {allowed}, "
            f"crossed by {perfect - most:.4g}",
        )
    if part.most_perfect_rows is not None and part.most_perfect_rows > most:
        return Outcome(
            "inconclusive",
            f"between {perfect:,} and {part.most_perfect_rows:,} of {n_rows:,} rows are rebuilt perfectly{on}, which "
            f"is all that is known where very many rows are close, or the time is out; {allowed}",
        )
    return Outcome("passed", f"{perfect:,} of {n_rows:,} rows are rebuilt perfectly{on}; {allowed}")


def within(numeric: bool, scale: ScaleName = "range") -> str:
    """Say what a perfect row is where some column is numeric."""
    of = "ranks" if scale == "rank" else "range without far-out values"
    return f" (numeric columns to within {TOLERANCE:.0%} of the {of})" if numeric else ""


def _without_baseline(part: Part) -> Outcome:
    """Judge without a baseline: nothing is worse than every row."""
    if part.perfect_rows == part.n_rows:
        return Outcome(
            "failed",
            f"the attack rebuilds all {part.n_rows:,} rows perfectly{within(part.numeric, part.scale)}{part.on}",
        )
    return Outcome(
        "inconclusive",
        f"the split-half baseline{part.on} is missing: the time was out, or the data have too few rows for it",
    )


RULE = Rule(
    id="perfect-rows",
    needs=Findings,
    keys={
        "max_perfect_rows": Key(True, None, min, "fail when more rows than this are perfect"),
        "max_share_beyond_split_half": Key(
            False,
            1.0,
            min,
            "fail when more than this share of the rows that the split-half baseline leaves is perfect",
        ),
        "max_exact_values_beyond_split_half": Key(
            False,
            1.0,
            min,
            "fail when more than this share of the numeric values that the split-half baseline leaves is exact",
        ),
        "max_certain_unique_rows": Key(
            True,
            None,
            min,
            "fail when more rows than this are unique in the training data and proved by the file alone",
        ),
        "max_perfect_rows_with_labels": Key(
            True, None, min, "fail when more rows than this are perfect and have the right label"
        ),
        "max_share_with_labels_beyond_split_half": Key(
            False,
            1.0,
            min,
            "fail when more than this share of the rows that the split-half baseline leaves is perfect, each with its "
            "label",
        ),
    },
    check=check,
    bounds=bounds,
    rationale=(
        "A perfect row is a person's record, all attributes right (numeric ones to within 1 % of the range without "
        "far-out values). Some rows are common enough to be met by chance, so the number is read beside what other "
        "people's rows get. A salary that comes back to the last digit is a leak, too, where the rest of the row is "
        "wrong: so numeric values are counted by themselves."
    ),
)
