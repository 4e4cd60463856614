"""When an examination has found out enough: in goes a policy, out comes what decides it, while it is under way.

It is asked where everything is examined, which knows no policy: so it goes there as one object that answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.examination import Examination
from pytest_draft.policy.given_all_other_rows import RULE as GIVEN_ALL_OTHER_ROWS
from pytest_draft.policy.ideal import ADDED, GUESSED
from pytest_draft.policy.label_told import RULE as LABEL_TOLD
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.reconstruction_error import RULE as ERROR
from pytest_draft.policy.rules import COMPARED
from pytest_draft.policy.verdict import judge, verdict_of


@dataclass(frozen=True)
class Enough:
    """Whether a policy's verdict is certain."""

    policy: Policy

    def promises(self, examination: Examination) -> bool:
        """Return whether a verdict is in sight before the attack, so that it needs little time.

        Parameters
        ----------
        examination : Examination
            With what somebody gets who knows all other rows.
        """
        informed, rules = examination.informed, self.policy.rules
        if not rules or COMPARED.id in rules:
            return False
        if self._fails(examination):
            return True
        if informed is None:
            return False
        bar = rules.get(ERROR.id, {}).get("max_error_of_split_half")
        if bar is None:
            return False
        helped = informed.matched_error < (1 - ADDED) * informed.matched_error_without_file
        return GUESSED * informed.shrinks * informed.of_split_half > bar or not helped

    def decided(self, examination: Examination) -> str | None:
        """Return why nothing can change the verdict any more; None where something can.

        Parameters
        ----------
        examination : Examination
            As it would be if it ended here.
        """
        checks = judge(examination, self.policy)
        verdict = verdict_of((check.result, check.counts) for check in checks)
        if verdict == "passed":
            return (
                "none of the attackers considered can cross a threshold"
                if all(check.result != "inconclusive" for check in checks)
                else None
            )
        if verdict == "failed":
            return next(f"the rule {one.rule} has failed" for one in checks if one.counts and one.result == "failed")
        return None

    def _fails(self, examination: Examination) -> bool:
        rules = [rule for rule in (GIVEN_ALL_OTHER_ROWS, LABEL_TOLD) if rule.id in self.policy.rules]
        return any(rule.check(examination, self.policy.rules[rule.id]).result == "failed" for rule in rules)
