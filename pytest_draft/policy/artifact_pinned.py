"""Rule ``artifact-pinned``: only the very files that somebody has signed off."""

from __future__ import annotations

from pytest_draft.facts.examination import Examination
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, common


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when the file's bytes are not among those that are pinned."""
    sha256 = examination.artifact.sha256
    if sha256 is None:
        return Outcome("inconclusive", "; ".join(examination.reasons) or "the file could not be read")
    if sha256 in thresholds["sha256"]:
        return Outcome("passed", f"the file's SHA-256 {sha256[:12]}... is pinned")
    return Outcome(
        "failed", f"the file's SHA-256 {sha256} is not among the {len(thresholds['sha256'])} that are pinned"
    )


RULE = Rule(
    id="artifact-pinned",
    needs=Examination,
    keys={"sha256": Key(False, None, common, "SHA-256 of the files that are allowed; any other fails", listed=True)},
    check=check,
    rationale=(
        "What was judged must be what is released: a model that was trained again is another one, with other rows in "
        "it (EU AI Act, article 12: record-keeping)."
    ),
    remedy="release the file that was signed off, or have this one signed off and pin it",
)
