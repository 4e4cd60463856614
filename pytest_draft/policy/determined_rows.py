"""Rule ``determined-rows``: how large a share of the rows a file may determine, whatever an attack has come to."""

from __future__ import annotations

from pytest_draft.facts.ambiguity import Determined
from pytest_draft.facts.findings import Findings
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds

LEAST_BLOCK = 8
"""Rows of a block below which being determined says little: given all others, nearly every row is."""


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when a larger share of the rows is proved to be determined, in the largest blocks of neighbours."""
    bar = thresholds["max_determined_share"]
    allowed = Bar(bar, f"the policy lets a file determine at most {bar:.1%}", ".1%")
    if findings.perfect_rows == findings.n_rows:
        return Outcome(
            "failed" if bar < 1 else "passed", f"the attack rebuilds all {findings.n_rows:,} rows; {allowed.said}"
        )
    proved = _proved(findings)
    if findings.n_rows and allowed.crossed_by(share := proved / findings.n_rows):
        rows = f"{proved:,} of {findings.n_rows:,} rows ({share:.1%})"
        return allowed.judge(share, f"the file alone proves {rows}: every dataset that explains it has them")
    informed = findings.informed
    if informed is not None and informed.most_determined_rows <= bar:
        on = "the rows" if informed.rows == informed.of_rows else f"{informed.rows:,} rows, drawn at random"
        shown = f"knowing all other rows, an attacker can work out {informed.told_rows:.1%} of {on}"
        return Outcome("passed", f"{shown}; {allowed.said}")
    if findings.ambiguity is None or findings.ambiguity.determined is None:
        return Outcome("inconclusive", f"how many rows the file determines was not found out; {allowed.said}")
    found = judged(findings.ambiguity.determined, findings.n_rows)
    if found is None:
        return Outcome("inconclusive", "the time ran out before it was known how many rows the file determines")
    aside = findings.ambiguity.set_aside
    but = f"; {aside:,} attribute{'s' * (aside != 1)} that others can guess left out" if aside else ""
    shown = (
        f"knowing all other rows, an attacker could work out {found.lower:.0%} to {found.upper:.0%} of the rows "
        f"(tested in blocks of {found.block_size} similar rows{but})"
    )
    open_rows = found.rows - found.determined - found.moving
    could = (found.determined + open_rows) / found.rows
    if open_rows and allowed.crossed_by(could) and not allowed.crossed_by(found.lower):
        said = (
            f"knowing all other rows, an attacker could work out {found.determined:,} of {found.rows:,} rows (tested "
            f"in blocks of {found.block_size} similar rows{but}); for {open_rows:,} of them the time ran out before it "
            "was known: give it more with --draft-budget"
        )
        return Outcome("inconclusive", f"{said}; {allowed.said}")
    return allowed.judge(found.lower, shown)


def _proved(findings: Findings) -> int:
    """Return how many rows are proved without knowing any other: so many are determined, in blocks of any size.

    Not where the proofs may be of other rows like these than those that were given; nor where an adversary takes all
    other rows as known, of whom neither blocks nor single rows are asked.
    """
    asked = findings.informed is not None or findings.ambiguity is not None
    return findings.certain_rows or 0 if asked and findings.certain_unique_rows is not None else 0


def judged(determined: tuple[Determined, ...], n_rows: int) -> Determined | None:
    """Return the share that counts: that of the largest blocks of neighbours; None where all are too small."""
    large = [
        one
        for one in determined
        if one.neighbours and one.rows and (one.block_size >= LEAST_BLOCK or one.block_size >= n_rows)
    ]
    return max(large, key=lambda one: one.block_size, default=None)


RULE = Rule(
    id="determined-rows",
    needs=Findings,
    keys={"max_determined_share": Key.share("fail when a larger share of the rows is proved to follow from the file")},
    check=check,
    bounds=lambda findings, thresholds, converged: check(findings, thresholds),
    unless=(NotApplicable.NOISE, NotApplicable.OTHERS_KNOWN),
    rationale=(
        "Where a file determines its rows, they are in it, whether or not an attack of today gets them out: what is "
        "published cannot be taken back. It is proved from the true rows, by looking for others that explain every "
        "count as well: it says something of an adversary who knows the other rows, and of the file holding the data, "
        "not that all rows together are the only ones."
    ),
)
