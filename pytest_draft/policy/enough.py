"""When an examination has found out enough: in goes a policy, out comes what decides it, while it is under way.

It is asked where everything is examined, which knows no policy: so it goes there as one object that answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.examination import EVERY_RULE, Examination
from pytest_draft.policy.ideal import ADDED, GUESSED
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.reconstruction_error import RULE as ERROR
from pytest_draft.policy.rules import COMPARED, RULES
from pytest_draft.policy.verdict import judge, verdict_of


def _waits(rule: str) -> bool:
    """Return whether more can become known of what a rule judges, after what takes no attack is known."""
    return rule not in RULES or RULES[rule].attack or RULES[rule].needs is not Examination


@dataclass(frozen=True)
class Enough:
    """Whether a policy's verdict is certain."""

    policy: Policy

    def promises(self, examination: Examination) -> bool:
        """Return whether a pass is in sight that needs no attack, or little of one.

        Parameters
        ----------
        examination : Examination
            With what somebody gets who knows all other rows.
        """
        informed, rules = examination.informed, self.policy.rules
        bar = rules.get(ERROR.id, {}).get("max_error_of_split_half")
        if informed is None or bar is None or COMPARED.id in rules:
            return False
        helped = informed.matched_error < (1 - ADDED) * informed.matched_error_without_file
        return GUESSED * informed.shrinks * informed.of_split_half > bar or not helped

    def decided(self, examination: Examination) -> str | None:
        """Return by which rule, or by `EVERY_RULE`, nothing can change the verdict any more; None where more can.

        Parameters
        ----------
        examination : Examination
            As it would be if it ended here.
        """
        if COMPARED.id in self.policy.rules:
            return None
        checks = judge(examination, self.policy)
        verdict = verdict_of((check.result, check.counts) for check in checks)
        if verdict == "failed":
            return next(one.rule for one in checks if one.counts and one.result == "failed")
        open_ones = [
            check for check in checks if check.result == "inconclusive" and (check.counts or _waits(check.rule))
        ]
        if verdict == "passed" and not examination.doubts and not open_ones:
            return EVERY_RULE
        return None
