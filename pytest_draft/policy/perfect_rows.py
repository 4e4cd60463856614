"""Rule ``perfect-rows``: how many rows of the training data the attack may rebuild perfectly."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.facts.findings import Findings, Measure, ScaleName
from pytest_draft.facts.slices import Measured, SliceFigures
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.held import Held, by_attack, by_best_attack, deciding, named, of_labelled, of_parts, of_slices
from pytest_draft.policy.ideal import by_rows, ideals_of, rows_of_ideal
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds

NOT_MATCHED = "not counted exactly, as too many rows are alike or the time ran out"


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when more rows are perfect, whole, on a part, with labels or in a slice, or proved, than a threshold allows.

    So do more values that come back exactly. A slice holds no more perfect rows than all rows do, so that numbers of
    them are not held against it.
    """
    return by_attack(_held(findings, thresholds))


def bounds(findings: Findings, thresholds: Thresholds, converged: bool) -> Outcome:
    """Pass where nobody can rebuild so many: by each part's ideal attacker, else by an attack that converged."""
    return by_best_attack(findings, _held(findings, thresholds), converged)


def limit(part: Measure, thresholds: Thresholds) -> float | None:
    """Return the rows that no attacker meets more of, those by which a part is judged; None where it is not known."""
    bars = [bar for _, bar in _against(part, thresholds) if bar is not None]
    strictest = min(bars, key=lambda one: one.at, default=None)
    ideals = by_rows(part)
    return deciding(ideals, strictest, partial(rows_of_ideal, part=part)).most_perfect_rows if ideals else None


def _held(findings: Findings, thresholds: Thresholds) -> list[Held]:
    held = of_parts(findings, lambda part: _judge_part(part, thresholds))
    if (most := thresholds.get("max_certain_unique_rows")) is not None:
        held.append(_certain(findings, most))
    held += of_labelled(findings, thresholds, _judge_part)
    if (share := thresholds.get("max_share_beyond_split_half")) is not None:
        on = within(findings.whole.numeric)
        held += of_slices(findings, lambda one, found: [_judge_slice(one, found, share, on)], _spared)
    if "max_exact_values_beyond_split_half" in thresholds and "by_rank" not in findings.by_name:
        held.append(Held(Outcome("inconclusive", "it is not known how many numeric values come back exactly")))
    return held


def _certain(findings: Findings, most: int) -> Held:
    """Judge unique rows that are proved: they are in all datasets, and told to whoever knows the others."""
    bar = Bar(most, f"limit: {most:,}", by_proof=True)
    attack, informed, known = _proved(findings, bar), findings.whole.informed, []
    if informed is not None:
        known.append(math.ceil(informed.most_determined_rows * informed.of_rows - 1e-9))
    if findings.ambiguity is not None:
        known.append(findings.ambiguity.shared_unique_rows)
    passing = [rows for rows in known if not bar.crossed_by(rows)][:1]
    bounds = [bar.judge((0, rows), f"the file can prove at most {_unique(rows)}") for rows in passing]
    return Held(attack, (*bounds, attack))


def _proved(findings: Findings, bar: Bar) -> Outcome:
    """Judge what is proved by now, which can be fewer rows than can be."""
    proved = findings.certain_unique
    if proved is None:
        return Outcome("inconclusive", f"how many unique rows the file alone proves was not found out; {bar.said}")
    unique = f"{_unique(proved.lower)} {'is' if proved.lower == 1 else 'are'} in the training data"
    shown = f"the file alone proves that {unique}"
    cut_short = f"the file alone proves that at least {unique}; the proof ran out of time, it can be {proved.upper:,}"
    return bar.judge((proved.lower, proved.upper), shown, between=cut_short)


def _unique(rows: int) -> str:
    return f"{rows:,} unique row{'s' * (rows != 1)}"


def _spared(measured: Measured) -> float:
    """Return how little of a slice is perfect of what other rows like these would not have met."""
    baseline = measured.split_half.perfect_share or 0.0
    return (baseline - measured.perfect_share.lower) / max(1 - baseline, 1e-9)


def _judge_slice(figures: SliceFigures, measured: Measured, share: float, on: str) -> Outcome:
    """Judge the mean of two shares: of the slice's true rows, and of the rebuilt rows that are in it."""
    what = f"{measured.perfect_rows:,} of the {figures.rows:,} rows of {named(figures)} are rebuilt perfectly{on}"
    found = measured.perfect_share
    what += f"; with the {measured.rebuilt_rows:,} rebuilt rows in it counted too, a share of {found.lower:.1%}"
    baseline = measured.split_half.perfect_share
    all_rows = measured.perfect_rows == figures.rows
    if baseline is None:
        missing = f"how many rows of {named(figures)} other rows like these match is not known: no time was left"
        return Outcome("failed", what) if all_rows else Outcome("inconclusive", missing)
    most = baseline + share * (1 - baseline)
    where_from = f"the {baseline:.1%} that other rows like these match there, and {100 * share:g} % of the rest"
    return Bar(most, f"limit: {most:.1%} ({where_from})", base=baseline).judge(
        (found.lower, found.upper),
        what,
        between=f"{what} or more, up to {found.upper:.1%} ({NOT_MATCHED})",
        surely=all_rows,
    )


def _judge_part(part: Measure, thresholds: Thresholds) -> list[Held]:
    by_ideal = partial(rows_of_ideal, part=part)
    held = [Held.by(found, bar, by_rows(part), by_ideal) for found, bar in _against(part, thresholds)]
    if "max_exact_values_beyond_split_half" in thresholds and part.scale == "rank":
        held.append(_judge_values(part, thresholds["max_exact_values_beyond_split_half"]))
    return held


def _against(part: Measure, thresholds: Thresholds) -> list[tuple[Outcome, Bar | None]]:
    """Return what each threshold says of the perfect rows, and its bar; None without the baseline that makes it."""
    outcomes: list[tuple[Outcome, Bar | None]] = []
    if "max_perfect_rows" in thresholds and part.absolute:
        outcomes.append(_judged(part, thresholds["max_perfect_rows"]))
    if "max_share_beyond_split_half" in thresholds:
        share, baseline = thresholds["max_share_beyond_split_half"], part.split_half.perfect_rows
        if baseline is None:
            outcomes.append((_without_baseline(part), None))
        else:
            base = part.rows_without_file
            others, whose = round(base), "other rows like these match"
            if base > baseline:
                whose = "somebody who knows other people's rows meets without the file"
            where_from = f" (the {others:,} that {whose}, and {100 * share:g} % of the rest)"
            outcomes.append(_judged(part, base + share * (part.rows - base), where_from, base))
    return outcomes


def _judged(part: Measure, most: float, where_from: str = "", base: float = 0.0) -> tuple[Outcome, Bar]:
    perfect, upper, n_rows = part.perfect.lower, part.perfect.upper, part.rows
    on = within(part.numeric, part.scale) + part.on
    bar = Bar(most, f"limit: {math.floor(most + 1e-9):,}{where_from}", base=base)
    return bar.judge(
        (perfect, upper),
        f"{perfect:,} of {n_rows:,} rows are rebuilt perfectly{on}",
        f"the attack rebuilds {perfect:,} of {n_rows:,} rows perfectly{on}",
        f"between {perfect:,} and {upper:,} of {n_rows:,} rows are rebuilt perfectly{on} ({NOT_MATCHED})",
        surely=bool(where_from) and perfect == n_rows,
    ), bar


def _judge_values(part: Measure, share: float) -> Held:
    """Judge how many numeric values come back as they are, and how many anybody can have."""
    if (exact := part.exact) is None:
        missing = "no time was left, or there are too few rows"
        not_known = f"it is not known how many numeric values come back exactly{part.on}: {missing}"
        return Held(Outcome("inconclusive", not_known))
    most = exact.split_half + share * (1 - exact.split_half)
    where_from = (
        f" (the {exact.split_half:.1%} that other rows like these have right, and {100 * share:g} % of the rest)"
    )
    bar = Bar(most, f"limit: {most:.1%}", base=exact.split_half)
    shown = f"the attack rebuilds {exact.share:.1%} of {exact.values:,} numeric values exactly{part.on}"
    attack = replace(bar, said=bar.said + where_from).judge(exact.share, shown)
    best = []
    for most_exact in sorted(one.most_exact for one in ideals_of(part) if one.most_exact is not None):
        what = f"{most_exact:.1%} of the numeric values exactly{part.on}"
        between = f"the attack rebuilds {exact.share:.1%}, and a better one might rebuild {what}"
        passed = f"no attacker considered rebuilds more than {what}"
        best.append(bar.judge((exact.share, most_exact), passed, between=between))
    return Held(attack, tuple(best) or None)


def within(numeric: bool, scale: ScaleName = "range") -> str:
    """Say what a perfect row is where some column is numeric."""
    of = " of the ranks" if scale == "rank" else ""
    return f" (numbers to within {100 * TOLERANCE:g} %{of})" if numeric else ""


def _without_baseline(part: Measure) -> Outcome:
    """Judge without a baseline: nothing is worse than every row."""
    if part.perfect.lower == part.rows:
        on = within(part.numeric, part.scale) + part.on
        return Outcome("failed", f"the attack rebuilds all {part.rows:,} rows perfectly{on}")
    why = (
        f"how many rows other rows like these match{part.on} is not known: no time was left, or there are too few rows"
    )
    return Outcome("inconclusive", why)


RULE = Rule(
    id="perfect-rows",
    needs=Findings,
    keys={
        "max_perfect_rows": Key.rows("fail when more rows than this are perfect"),
        "max_share_beyond_split_half": Key.share(
            "fail when more than this share of the rows that other rows like these do not match is perfect"
        ),
        "max_exact_values_beyond_split_half": Key.share(
            "fail when more than this share of the numeric values that other rows like these do not have right is "
            "exact",
            unless=(NotApplicable.NO_NUMBERS,),
        ),
        "max_certain_unique_rows": Key.rows(
            "fail when more rows than this are unique in the training data and proved by the file alone",
            unless=(NotApplicable.NOISE,),
        ),
        "max_perfect_rows_with_labels": Key.rows(
            "fail when more rows than this are perfect and have the right label", unless=(NotApplicable.NO_CLASSES,)
        ),
        "max_share_with_labels_beyond_split_half": Key.share(
            "fail when more than this share of the rows that other rows like these do not match is perfect, each with "
            "its label",
            unless=(NotApplicable.NO_CLASSES,),
        ),
    },
    check=check,
    bounds=bounds,
    unless=(NotApplicable.FREQUENCIES,),
    rationale=(
        "A perfect row is a whole record, all attributes right (numeric ones to within 1 % of the range without "
        "far-out values). Some rows are common enough to be met by chance, so the number is read beside what other "
        "rows like these get. A salary that comes back to the last digit is a leak, too, where the rest of the row is "
        "wrong: so numeric values are counted by themselves."
    ),
)
