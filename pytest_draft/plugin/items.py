"""Test items: every rule of the policy, for every forest and adversary, with an address of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_draft.errors import one_line
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.foreign_text import distinct, harmless_values
from pytest_draft.plugin.gathering import gatherer
from pytest_draft.plugin.models import Configured
from pytest_draft.plugin.session import GateSession, Planned
from pytest_draft.policy.rules import rule_of
from pytest_draft.policy.verdict import Check, at_least, check_rule, gravest

RECORD = pytest.StashKey["dict[str, Any] | None"]()
TOLERATED = pytest.StashKey["Tolerated | None"]()


class Tolerated(NamedTuple):
    """How a check stands that neither passed nor stops anything."""

    name: str | None
    """One of "inconclusive", "warned". What pytest counts it as; None for "skipped"."""
    why: str
    """One line."""


def tolerated(check: Check) -> Tolerated | None:
    """Return how a check stands that stops nothing; None where it passed.

    Parameters
    ----------
    check : Check
        Not waived: a waived one is an expected failure.
    """
    if check.result == "passed":
        return None
    if check.result == "not applicable":
        return Tolerated(None, f"not applicable: {check.sentence}")
    so = "a warning" if check.severity == "warning" else "allowed by the policy"
    return Tolerated("warned" if check.result == "failed" else check.result, f"{check.result}, {so}: {check.sentence}")


class CheckFailed(Exception):
    """A check that did not pass."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.sentence)
        self.check = check


def item_names(model: Configured) -> dict[str, tuple[str, str]]:
    """Return the adversary and the rule of each check of a model's file, by the end of its address."""
    return {
        distinct(f"{rule}[{adversary}]"): (adversary, rule)
        for adversary in model.adversaries
        for rule in model.policy_of_items.rules
    }


class ForestFile(pytest.File):
    """A model file as a collection of checks."""

    def __init__(self, *, wanted: Collection[str], **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.wanted = wanted

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each adversary and rule that is wanted.

        Each with its whole address, as ``--lf`` and ``--ff`` read it back: pytest's own, made of the name, takes what
        stands in brackets for a part of the name.
        """
        for name, (adversary, rule) in item_names(GateSession.of(self.config).configured(self.path)).items():
            if name in self.wanted:
                address = f"{self.nodeid}::{name}"
                yield CheckItem.from_parent(self, name=name, nodeid=address, rule=rule, adversary=adversary)


class CheckItem(pytest.Item):
    """One rule, judged against one adversary."""

    def __init__(self, *, rule: str, adversary: str, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.rule = rule
        self.adversary = adversary

    def runtest(self) -> None:
        """Examine each model in the file, once for all its items, and check the rule: the gravest result counts."""
        session = GateSession.of(self.config)
        policy = session.configured(self.path).policy_of_items
        cases = session.cases(self.path, self.adversary, attack=policy.needs_attack)
        judged = [self._judged(session, case) for case in cases]
        records = [session.record(found, (check,), policy, self.nodeid) for found, check in judged]
        places = [case.place for case in cases]
        check = gravest(zip(places, (check for _, check in judged), strict=True))
        planned = Planned(session.shown(self.path), self.rule, self.adversary)
        self.stash[RECORD] = {
            "results": records,
            "planned": [planned.artifact, planned.rule, planned.adversary],
        }
        at = next(index for index, (_, one) in enumerate(judged) if one.result == check.result)
        self.user_properties += properties(records[at], check)
        if check.waiver is not None:
            pytest.xfail(check.waiver.text)  # with --runxfail it does nothing
            raise CheckFailed(check)
        if check.stops(policy):
            raise CheckFailed(check)
        self.stash[TOLERATED] = tolerated(check)

    def _judged(self, session: GateSession, case: Case) -> tuple[Examination, Check]:
        """Examine one model and check the rule."""
        policy = session.configured(self.path).policy_of_items
        examination = session.aggregates(case)
        check = check_rule(examination, policy, self.rule, session.compared(examination))
        for floor in session.floors(self.adversary) if rule_of(self.rule).attack else ():
            if check.result != "failed":
                weaker = session.aggregates(replace(case, adversary=floor))
                check = at_least(check, check_rule(weaker, policy, self.rule))
        return examination, check

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Return what a failed check shows: sentence, cause, remedy."""
        if isinstance(excinfo.value, CheckFailed):
            session, check = GateSession.of(self.config), excinfo.value.check
            if check.result != "inconclusive":
                models, policy = session.models, session.configured(self.path).policy_of_items
                # beside markers or other policies, each check says whose it is
                mixed = bool(gatherer(self.config).marked) or models.have_several_policies
                return explained(check, policy.asked_by(self.rule) if mixed else None)
            first = session.explained.setdefault(f"{self.path}: {check.sentence}", self.name)
            return explained(check) if first == self.name else f"inconclusive, for the same reason as {first}"
        # a bug: only its kind, because a traceback could show rows of data
        return f"internal error: {excinfo.type.__name__}; please report it"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the headline of a failure; pytest wants a line, and rewrites a headline that ends the address."""
        session = GateSession.of(self.config)
        name = session.shown(self.path)
        return session.root / name, 0, f"{session.shown(Path(self.path.name))}: {self.name}"


def properties(record: dict[str, Any], check: Check) -> list[tuple[str, object]]:
    """Return what a JUnit file says of a check besides its outcome; metrics that are not known are left out.

    Parameters
    ----------
    record : dict
        As `GateSession.record` returns it.
    """
    said = {
        "artifact": record["artifact"]["path"],
        "artifact_sha256": record["artifact"]["sha256"],
        "adversary": check.adversary,
        "rule": check.rule,
        "result": check.result,
        "severity": check.severity,
        "sentence": check.sentence,
        "waived": None if check.waiver is None else check.waiver.text,
        "solver_status": record["solver_status"],
        "seed": record["seeds"]["draft_seed"],
        **record["metrics"],
    }
    return [(f"draft_{name}", harmless_values(value)) for name, value in said.items() if value is not None]


def explained(check: Check, asked_by: str | None = None) -> str:
    """Return a check that did not pass as text, and whose it is where that is given."""
    lines = [f"asked for by {one_line(asked_by)}"] if asked_by else []
    lines.append(f"{check.result}: {check.sentence}")
    if check.cause:
        lines.append(f"cause: {check.cause}")
    if check.remedy:
        lines.append(f"remedy: {check.remedy}")
    return "\n".join(lines)
