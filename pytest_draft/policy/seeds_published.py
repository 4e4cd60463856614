"""Rule ``seeds-published``: whether the file holds seeds that replay what was drawn for its trees."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.rule import NotApplicable, Outcome, Rule, Thresholds

_REPLAYS = {
    "rows": "tells how often each training row was drawn for its tree",
    "thresholds": "replays how its thresholds were drawn, and with them the lowest and the highest value at each node",
    "noise": "replays the noise or the choice that was meant to hide its rows",
}


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when the draw of some tree can be replayed from the file."""
    found = artifact.published
    if found is None:
        return Outcome("inconclusive", "it is not known whether the file holds seeds")
    if found.draws is None:
        return Outcome("passed", "nothing was drawn at random for the trees, so no seed tells anything")
    if not found.seeded:
        tried = f"; {found.tried:,} candidates for its random_state were tried, and none fits" if found.tried else ""
        return Outcome("passed", f"the file holds no seed of a tree{tried}")
    remains = "; the counts remain, so judge the new file" if found.counts else "; judge the new file"
    if found.found is not None:
        return Outcome(
            "failed",
            f"the file holds no seeds, but its random_state can be guessed: {found.found}; "
            f"each seed that follows from it {_REPLAYS[found.draws]}",
            f"train it with random_state=None and remove the seeds again{remains}",
        )
    n_trees = artifact.n_trees or found.seeded
    of_all = "all " * (n_trees > 1) if found.seeded == n_trees else f"{found.seeded:,} of "
    trees = f"{of_all}{n_trees:,} tree{'s' * (n_trees != 1)}"
    held = "each random_state in the file" + " and the ensemble's _seeds" * (artifact.kind or "").startswith("Bagging")
    return Outcome(
        "failed",
        f"the file holds the seeds of {trees}; each seed {_REPLAYS[found.draws]}",
        f"set {held} to None before saving it, which changes no prediction{remains}",
    )


RULE = Rule(
    id="seeds-published",
    needs=ArtifactFacts,
    keys={},
    check=check,
    unless=(NotApplicable.NOT_GIVEN,),
    rationale=(
        "scikit-learn stores each tree's random_state, and the bootstrap sample is a pure function of it: whoever has "
        "the file knows how often each row was drawn for every tree. That takes away what makes forests with bagging "
        "harder to invert (DRAFT, ICML 2024, table 2): 100 of 100 rows come back exactly, in their order. It singles "
        "out persons in the sense of GDPR recital 26 and WP 216 of the Article 29 Working Party, section 2.2."
    ),
    remedy=(
        "set each seed in the model to None before saving it, which changes no prediction; counts remain, so judge the "
        "new file"
    ),
    severity="warning",
)
