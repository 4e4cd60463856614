"""Rule ``pure-leaves``: of how many training rows a leaf of one class may tell the class with certainty."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds
from pytest_draft.policy.smallest_leaf import without_structure


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when in some tree a larger share of its rows lies in leaves of one class."""
    found = artifact.structure
    if found is None:
        told = artifact.published
        if told is not None and told.certain_leaves:
            what = "may have one target" if told.answers == "mean targets" else "give one class a share of 1"
            rest = "and the file does not tell how many training rows they hold"
            return Outcome("inconclusive", f"{told.certain_leaves:,} leaves {what}, {rest}")
        return without_structure(artifact)
    most, share = thresholds["max_share"], found.disclosed_class
    one = (
        "target" if artifact.published is not None and artifact.published.counts == "rows and mean targets" else "class"
    )
    where = "rules that captured one class only" if found.what == "rule" else f"leaves of one {one}"
    where += "" if found.what == "rule" or artifact.n_trees == 1 else ", in the tree where they are most"
    allowed = f"max_share allows at most {most:.4g}"
    if share.lower > most:
        shown = f"{share.lower:.4f}" if share.exact is not None else f"at least {share.lower:.4f}"
        crossed = f"crossed by {share.lower - most:.4f}"
        remedy = "retrain with fewer and shorter rules, which mix classes, and judge the new file"
        return Outcome(
            "failed",
            f"a share of {shown} of the training rows lies in {where}; {allowed}, {crossed}",
            remedy if found.what == "rule" else None,
        )
    if share.upper <= most:
        return Outcome("passed", f"a share of {share.upper:.4f} of the training rows lies in {where}; {allowed}")
    return Outcome(
        "inconclusive",
        f"between {share.lower:.4f} and {share.upper:.4f} of the training rows lie in {where}: the file does not tell "
        f"which leaves of several rows have one target; {allowed}",
    )


RULE = Rule(
    id="pure-leaves",
    needs=ArtifactFacts,
    keys={
        "max_share": Key(
            False, 1.0, min, "fail when in some tree more than this share of its rows lies in leaves of one class"
        )
    },
    check=check,
    rationale=(
        "Who knows that a person is in the training data, and the values that the tree asks for, reads the class of "
        "that person from a leaf of one class, however many rows it holds (homogeneity: Machanavajjhala et al., "
        "l-diversity, ICDE 2006; inference, WP 216 of the Article 29 Working Party, section 2.2). A tree that is grown "
        "without a limit has no other leaves."
    ),
    remedy="retrain with shallower trees (max_depth, min_samples_leaf), which mix classes, and judge the new file",
)
