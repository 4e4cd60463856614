"""Rule ``smallest-leaf``: how few training rows a leaf, or a rule of a rule list, may stand for."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when some leaf holds fewer different training rows than asked for."""
    found = artifact.structure
    if found is None:
        return without_structure(artifact)
    least = int(thresholds["min_rows"])
    rows = f"{found.smallest:,} different training row{'s' * (found.smallest != 1)}"
    sentence = f"the smallest of {found.leaves:,} {found.what}s holds {rows}"
    if found.what == "leaf":
        sentence = (
            f"the smallest of {found.leaves:,} leaves holds {rows} (the median tree's: {found.median_smallest:,.4g})"
        )
    larger = "min_samples_leaf" if found.what == "leaf" else "minimum support of each rule"
    return Bar(least, f"min_rows asks for at least {least:,}", "below").judge(
        found.smallest, sentence, remedy=f"retrain with a larger {larger}, and judge the new file"
    )


def without_structure(artifact: ArtifactFacts) -> Outcome:
    """Say that the sizes of leaves are not known: what a leaf answers is of these people, however many they are."""
    found = artifact.published
    tells = "" if found is None or found.answers is None else f": the file tells {found.answers} in its leaves only"
    return Outcome("inconclusive", f"it is not known how many training rows a leaf or a rule holds{tells}")


RULE = Rule(
    id="smallest-leaf",
    needs=ArtifactFacts,
    keys={"min_rows": Key(True, None, max, "fail when some leaf holds fewer different training rows than this")},
    check=check,
    rationale=(
        "A leaf is a group of rows that the file describes: by its path and its counts. Statistical offices do not "
        "publish a group of fewer than a few persons (k-anonymity: Sweeney, 2002; thresholds of 3 to 10 in disclosure "
        "control, as in the SACRO guidelines on releasing trained models)."
    ),
    unless=(NotApplicable.NOISE,),
    remedy="retrain with a larger min_samples_leaf (for a rule list: a larger minimum support), and judge the new file",
)
