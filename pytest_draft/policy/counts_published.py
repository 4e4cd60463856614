"""Rule ``counts-published``: whether the file tells, without noise, how many rows are behind each leaf or rule.

Shares of classes, labels and means without counts are none: what follows from them is for the rules on reconstruction.
Where counts were removed in part, what is left may give them back: that is no pass.

That it holds counts is read from the file; that they are those of the training data is more, and said only where the
given data have shown it: anybody can write numbers into a file.
"""

from __future__ import annotations

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.published import Published
from pytest_draft.policy.remedies import CHANGED
from pytest_draft.policy.rule import NotApplicable, Outcome, Rule, Thresholds

_REMOVE_ALL = (
    "remove n_node_samples, weighted_n_node_samples, impurity and the values of inner nodes together: each of them "
    "gives others back"
)

_OF_BOOSTED = {
    "rows and sums of gradients": "the number of rows and the sum of their gradients",
    "sums of gradients": "the sum of the rows' gradients, from which the number of rows follows,",
}
_KEEP_BOOSTED = (
    "release predictions instead of the file: removing its counts does not help, as predictions need the value of each "
    "leaf, and that value is an equation about the rows that reached it"
)

_HARDEN = (
    "write a copy without the counts with python -m pytest_draft harden, and judge the copy; or release predictions in "
    "place of the file"
)

_STANDS = {
    "confirmed": "; your table agrees with it",
    "order differs": "; your table agrees with it",
    "mismatch": "; your table contradicts it",
}


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when the file holds counts without noise, be they true or not."""
    artifact, findings = examination.artifact, examination.findings
    if not artifact.was_read:
        return Outcome("inconclusive", "; ".join(examination.reasons) or "the file could not be read")
    published = artifact.published
    if published is None:
        return Outcome("inconclusive", "it is not known whether the file holds counts")
    if published.counts is None:
        return _without_counts(published)
    where = "rule" if artifact.n_trees is None else f"node of {artifact.n_trees:,} tree{'s' * (artifact.n_trees != 1)}"
    stands = None if findings is None else _STANDS.get(findings.identity.status)
    stands = stands or "; whether your table agrees with it is not known"
    if published.counts in _OF_BOOSTED:
        return Outcome(
            "failed", f"the file stores {_OF_BOOSTED[published.counts]} at every {where}{stands}", _KEEP_BOOSTED
        )
    what = "rows of each class" if published.counts == "rows of each class" else "rows and their mean target"
    remedy = _HARDEN if artifact.kind in CHANGED and artifact.privacy is None else None
    return Outcome("failed", f"the file stores the number of {what} at every {where}{stands}", remedy)


def _without_counts(published: Published) -> Outcome:
    """Say what the leaves of a file without counts still tell; how much follows from that is for other rules."""
    if published.answers is None:
        return Outcome("passed", "the file holds no counts of training rows without noise")
    answers = published.answers
    if published.answers == "shares":
        answers = "exact shares of the classes"
    elif published.answers == "rounded shares":
        answers = f"shares of the classes to {published.decimals} decimal{'s' * (published.decimals != 1)}"
    sentence = f"the file holds no counts of training rows, only {answers} in its leaves"
    if published.left:
        return Outcome("inconclusive", f"{sentence}, but parts of the counts are left at its nodes", _REMOVE_ALL)
    return Outcome("passed", sentence)


RULE = Rule(
    id="counts-published",
    needs=Examination,
    keys={},
    check=check,
    unless=(NotApplicable.NOT_GIVEN,),
    rationale=(
        "The numbers of rows of each class in the leaves are what the attack rebuilds the training data from (DRAFT, "
        "ICML 2024, section 4). Predictions do not need them: the share of each class would do, and noisy counts would "
        "hide single persons."
    ),
    remedy=(
        "release predictions in place of the file; or, for a classifier, train a differentially private forest "
        "(pytest_draft.dp.LaplaceForestClassifier): only noisy counts reach its file"
    ),
    severity="warning",
)
