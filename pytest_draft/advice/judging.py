"""Judges files in a private folder, where they are removed again: it is the gate itself, a process of its own each."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_draft.errors import UsageError
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.isolation import Children
from pytest_draft.output import PrivateFolder
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Budgets, Policy
from pytest_draft.policy.rule import Verdict
from pytest_draft.policy.rules import rule_of
from pytest_draft.policy.verdict import Check, at_least, check_rule, verdict_of

_NOT_OF_NEW_FILES = frozenset(("artifact-pinned",))
"""Rules that every file fails which was not there when the policy was written."""

_NOT_OF_TRIALS = frozenset(("time-box",))
"""Rules on how long a judgement takes: they hold for the last one, which has the whole box."""


@dataclass(frozen=True)
class Judgement:
    """What the gate says of one file."""

    verdict: Verdict
    rule: str
    """The first that decided it; empty where all passed."""
    why: str
    """What that rule says."""
    seconds: float
    """How long it took."""


class Gate:
    """Judges files that are written to a private folder. Use it in a ``with`` block.

    Parameters
    ----------
    case : Case
        As the files are judged; its artifact and seconds are replaced.
    data : object, optional
        Training data in memory.

    Attributes
    ----------
    left_out : tuple of str
        Rules of the policy that no new file could pass.
    """

    def __init__(self, policy: Policy, case: Case, data: object = None) -> None:
        self.left_out = tuple(sorted(_NOT_OF_NEW_FILES & set(policy.rules)))
        self._policy = replace(policy, rules=_without(policy, _NOT_OF_NEW_FILES), waivers=())
        if not self._policy.rules:
            raise UsageError(f"the policy {policy.name!r} has no rule that a new file could pass: name another one")
        self._case, self._data = case, data
        self._children, self._written = Children(), 0
        self._folder = PrivateFolder("pytest-draft-advise-")

    def __enter__(self) -> Gate:
        self._folder.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._children.close()
        self._folder.__exit__()

    def new_path(self, suffix: str) -> Path:
        """Return where another file can be written in the private folder."""
        self._written += 1
        return self._folder.path / f"model-{self._written}{suffix}"

    def judge(self, path: Path, seconds: float, *, full: bool) -> Judgement:
        """Judge a file.

        Parameters
        ----------
        seconds : float
            The time box, for each adversary.
        full : bool
            Whether rules on the length of the box are judged, too.
        """
        since = time.monotonic()
        policy = self._policy if full else replace(self._policy, rules=_without(self._policy, _NOT_OF_TRIALS))
        checks = self._checks(policy, replace(self._case, artifact=str(path), seconds=seconds))
        verdict = verdict_of((check.result, check.counts) for check in checks)
        decided = next((one for one in checks if one.counts and one.result == verdict != "passed"), None)
        rule, why = ("", "") if decided is None else (decided.rule, decided.sentence)
        return Judgement(verdict, rule, why, round(time.monotonic() - since, 1))

    def _checks(self, policy: Policy, file_case: Case) -> list[Check]:
        """Examine a file against each adversary, and check every rule, as the gate's items do."""
        known: dict[Case, Examination] = {}

        def examined(case: Case) -> Examination:
            if case not in known:
                known[case] = self._children.run(case, self._data, enough=Enough(policy))[0]
            return known[case]

        found: list[Check] = []
        for adversary in policy.adversaries:
            whole = replace(file_case, adversary=adversary, attack=policy.needs_attack)
            places = examined(whole).artifact.places
            for case in [replace(whole, place=place) for place in places] or [whole]:
                checks = [check_rule(examined(case), policy, rule) for rule in policy.rules]
                for floor in Adversary.parse(adversary).floors:
                    for index, check in enumerate(checks):
                        if check.result != "failed" and rule_of(check.rule).attack:
                            weaker = examined(replace(case, adversary=floor))
                            checks[index] = at_least(check, check_rule(weaker, policy, check.rule))
                found += checks
        return found


def _without(policy: Policy, left_out: frozenset[str]) -> Budgets:
    return {rule: thresholds for rule, thresholds in policy.rules.items() if rule not in left_out}
