"""Rule ``perfect-rows``: how many rows of the training data the attack may rebuild perfectly."""

from __future__ import annotations

from pytest_draft.evaluate.findings import Findings, Part
from pytest_draft.evaluate.slices import Measured, SliceFigures
from pytest_draft.matching import TOLERANCE
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined
from pytest_draft.policy.slices import named, of_slices


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when more rows are perfect, whole, on a part of the columns or in a slice, than a threshold allows.

    A slice holds no more perfect rows than all rows do, so that numbers of them are not held against it.
    """
    outcomes = [outcome for part in findings.judged for outcome in _of_part(part, thresholds)]
    if (share := thresholds.get("max_share_beyond_split_half")) is not None:
        on = within(findings.numeric is not None)
        outcomes += of_slices(findings, lambda one, found: [_of_slice(one, found, share, on)], _spared)
    return combined(outcomes)


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


def _of_part(part: Part, thresholds: Thresholds) -> list[Outcome]:
    outcomes = []
    if "max_perfect_rows" in thresholds and part.absolute:
        outcomes.append(_against(part, thresholds["max_perfect_rows"], ""))
    if "max_share_beyond_split_half" in thresholds:
        share, baseline = thresholds["max_share_beyond_split_half"], part.split_half.perfect_rows
        if baseline is None:
            outcomes.append(_without_baseline(part))
        else:
            most = baseline + share * (part.n_rows - baseline)
            where_from = f" (the split-half baseline of {baseline:.1f} and {share:g} of the rest)"
            outcomes.append(_against(part, most, where_from))
    return outcomes


def _against(part: Part, most: float, where_from: str) -> Outcome:
    perfect, n_rows = part.perfect_rows, part.n_rows
    allowed = f"at most {most:.4g} are allowed{where_from}"
    on = within(part.numeric) + part.on
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


def within(numeric: bool) -> str:
    """Say what a perfect row is where some column is numeric."""
    return f" (numeric columns to within {TOLERANCE:.0%} of the range)" if numeric else ""


def _without_baseline(part: Part) -> Outcome:
    """Judge without a baseline: nothing is worse than every row."""
    if part.perfect_rows == part.n_rows:
        return Outcome(
            "failed", f"the attack rebuilds all {part.n_rows:,} rows perfectly{within(part.numeric)}{part.on}"
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
    },
    check=check,
    rationale=(
        "A perfect row is a person's record, all attributes right (numeric ones to within 1 % of the range). Some "
        "rows are common enough to be met by chance, so the number is read beside what other people's rows get."
    ),
)
