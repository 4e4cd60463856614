"""Rule ``leaves-of-one-person``: how many training rows may be alone in a leaf of some tree."""

from __future__ import annotations

from dataclasses import replace

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.bar import Bar, bound
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds, combined
from pytest_draft.policy.smallest_leaf import without_structure


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when more rows, or a larger share of them, are alone in a leaf than allowed."""
    found = artifact.structure
    if found is None:
        return without_structure(artifact)
    what = f"alone in a {found.what}" + (" of some tree" if found.what == "leaf" and artifact.n_trees != 1 else "")
    outcomes = []
    if "max_share" in thresholds:
        share = (found.alone.lower, found.alone.upper)
        outcomes.append(_against("max_share", share, thresholds["max_share"], f"of the training rows is {what}"))
    if "max_rows" in thresholds:
        outcomes.append(_against("max_rows", found.alone_rows, thresholds["max_rows"], f"training rows are {what}"))
    outcome = combined(outcomes)
    if outcome.result == "failed" and found.what == "rule":
        remedy = "retrain with a minimum support of each rule of at least 2, better 5 to 10, and judge the new file"
        return replace(outcome, remedy=remedy)
    return outcome


def _against(key: str, bounds: tuple[float, float], most: float, what: str) -> Outcome:
    """Hold the least and the most that there can be against a threshold."""
    lower, upper = bounds
    lead, form = ("", ",") if key == "max_rows" else ("a share of ", ".4f")
    exact = lower == upper
    return Bar(most, f"{key} allows at most {most:{form}}").judge(
        bounds,
        f"{lead}{bound('at most', upper, exact, form)} {what}",
        f"{lead}{bound('at least', lower, exact, form)} {what}",
        f"{lead}{lower:{form}} to {upper:{form}} {what}, by the file alone",
    )


RULE = Rule(
    id="leaves-of-one-person",
    needs=ArtifactFacts,
    keys={
        "max_share": Key.share("fail when more than this share of the training rows is alone in a leaf of some tree"),
        "max_rows": Key.rows("fail when more training rows than this are alone in a leaf of some tree"),
    },
    check=check,
    rationale=(
        "A leaf of one row describes one person: the path gives bounds of the values, the count the class. That is "
        "singling out in the sense of GDPR recital 26 and of WP 216 of the Article 29 Working Party, section 2.2. How "
        "many persons it concerns says more than whether there is one, which holds for nearly every forest."
    ),
    unless=(NotApplicable.NOISE,),
    remedy="retrain with min_samples_leaf of at least 2, better 5 to 10, and judge the new file",
)
