"""The verdict: in go an examination and a policy, out come one `Check` per rule, passed, failed or inconclusive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_draft.adversary import Adversary
from pytest_draft.gate import Examination
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.rule import Outcome, Result
from pytest_draft.policy.rules import RULES

REMEDY = (
    "retrain with fewer and shallower trees (n_estimators, max_depth, min_samples_leaf) and judge the new file; "
    "removing only the seeds is not enough"
)


@dataclass(frozen=True)
class Check:
    """What one rule says of one examination, and what to do about it.

    Attributes
    ----------
    rule : str
    adversary : str
    result : {"passed", "failed", "inconclusive"}
    sentence : str
    cause : str or None
        What in the file makes it fail.
    remedy : str or None
    """

    rule: str
    adversary: str
    result: Result
    sentence: str
    cause: str | None = None
    remedy: str | None = None


def judge(examination: Examination, policy: Policy) -> tuple[Check, ...]:
    """Check every rule of a policy.

    Parameters
    ----------
    examination : Examination
    policy : Policy

    Returns
    -------
    tuple of Check
        In the policy's order.
    """
    return tuple(check_rule(examination, policy, rule) for rule in policy.rules)


def check_rule(examination: Examination, policy: Policy, rule: str) -> Check:
    """Check one rule: failed beats inconclusive beats passed.

    A budget that is crossed stays crossed, whatever else is in doubt; what is in doubt is never a pass.
    """
    adversary = examination.case.adversary
    outcome = Outcome("inconclusive", "there is no reconstruction to measure")
    if examination.findings is not None:
        outcome = RULES[rule].check(examination.findings, policy.rules[rule])
    if outcome.result == "failed":
        return Check(rule, adversary, "failed", outcome.sentence, cause_in_file(examination), REMEDY)
    if examination.reasons:
        return Check(rule, adversary, "inconclusive", "; ".join(examination.reasons))
    return Check(rule, adversary, outcome.result, outcome.sentence)


def overall(results: Iterable[Result]) -> Result:
    """Return the gravest of some results; nothing at all is inconclusive."""
    found = set(results)
    for result in ("failed", "inconclusive", "passed"):
        if result in found:
            return result
    return "inconclusive"


def cause_in_file(examination: Examination) -> str | None:
    """Say what in the file lets the attack succeed."""
    artifact = examination.artifact
    if artifact.n_trees is None:
        return None
    counts = f"the file stores the class counts of every node of {artifact.n_trees:,} trees"
    if not artifact.bootstrap:
        return f"{counts}, each grown on all rows"
    if Adversary.parse(examination.case.adversary).name == "artifact":
        return f"{counts} and each tree's seed, which tells how often each row was drawn for it"
    return counts
