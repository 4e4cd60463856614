"""Rule ``pure-leaves``: of how many training rows a leaf of one class may tell the class with certainty."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.bar import Bar, bound
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds
from pytest_draft.policy.smallest_leaf import without_structure


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when in some tree a larger share of its rows lies in leaves of one class."""
    found = artifact.structure
    if found is None:
        published = artifact.published
        if published is not None and published.certain_leaves:
            what = "may have one target" if published.answers == "mean targets" else "give one class a share of 1"
            rest = "and the file does not tell how many training rows they hold"
            return Outcome("inconclusive", f"{published.certain_leaves:,} leaves {what}, {rest}")
        if published is not None and published.answers in ("shares", "rounded shares"):
            return Outcome("passed", "no leaf gives one class a share of 1, so none is of one class")
        return without_structure(artifact)
    most, share = thresholds["max_share"], found.disclosed_class
    one = (
        "target" if artifact.published is not None and artifact.published.counts == "rows and mean targets" else "class"
    )
    where = "rules that captured one class only" if found.what == "rule" else f"leaves of one {one}"
    where += "" if found.what == "rule" or artifact.n_trees == 1 else ", in the tree where they are most"
    remedy = "retrain with fewer and shorter rules, which mix classes, and judge the new file"
    return Bar(most, f"max_share allows at most {most:.4g}").judge(
        (share.lower, share.upper),
        f"a share of {share.upper:.4f} of the training rows lies in {where}",
        f"a share of {bound('at least', share.lower, share.exact is not None)} of the training rows lies in {where}",
        f"between {share.lower:.4f} and {share.upper:.4f} of the training rows lie in {where}: the file does not tell "
        "which leaves of several rows have one target",
        remedy=remedy if found.what == "rule" else None,
    )


RULE = Rule(
    id="pure-leaves",
    needs=ArtifactFacts,
    keys={
        "max_share": Key.share("fail when in some tree more than this share of its rows lies in leaves of one class")
    },
    check=check,
    rationale=(
        "Who knows that a person is in the training data, and the values that the tree asks for, reads the class of "
        "that person from a leaf of one class, however many rows it holds (homogeneity: Machanavajjhala et al., "
        "l-diversity, ICDE 2006; inference, WP 216 of the Article 29 Working Party, section 2.2). A tree that is grown "
        "without a limit has no other leaves."
    ),
    unless=(NotApplicable.NOISE,),
    remedy="retrain with shallower trees (max_depth, min_samples_leaf), which mix classes, and judge the new file",
)
