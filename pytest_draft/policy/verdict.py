"""The verdict: in go an examination and a policy, out come one `Check` per rule, each with a `CheckResult`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from pytest_draft.errors import listed, one_line
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.slices import LEAST_ROWS
from pytest_draft.foreign_text import harmless
from pytest_draft.policy.ideal import ideals_of
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.remedies import Command, cause_in_file, commands, more_time, remedy_for, told
from pytest_draft.policy.rule import (
    NOTHING,
    CheckResult,
    NotApplicable,
    NowAndEarlier,
    Outcome,
    Rule,
    Severity,
    Thresholds,
    Verdict,
)
from pytest_draft.policy.rules import rule_of
from pytest_draft.policy.waiver import Waiver

_OF_FEW = ("given-all-other-rows", "label-told")
"""Rules that also say when it is not known what is told of people who are not in all files."""

_INSTEAD = (
    "release fewer files of the same people, or train with bootstrap=True and larger leaves (start with "
    "min_samples_leaf=20), and judge all of them together again; to take back a file that is out does not help"
)

_GRAVEST: tuple[CheckResult, ...] = ("failed", "inconclusive", "passed", "not applicable")


@dataclass(frozen=True)
class Check:
    """What one rule says of one examination, and what to do about it."""

    rule: str
    adversary: str
    result: CheckResult
    sentence: str
    cause: str | None = None
    """What in the file makes it fail."""
    remedy: str | None = None
    """What to do; it ends with its commands."""
    commands: tuple[Command, ...] = ()
    severity: Severity = "error"
    """A warning is told, and stops nothing."""
    waiver: Waiver | None = None
    """Who answers for it where it did not pass: then it stops nothing, either."""

    def __post_init__(self) -> None:
        for name in ("sentence", "cause", "remedy"):  # of a rule of another distribution, or with names from files
            text = getattr(self, name)
            object.__setattr__(self, name, None if text is None else harmless(text, None))

    @property
    def is_fine(self) -> bool:
        """Whether nothing is to be said against the file: it passed, or is not applicable, which is no pass."""
        return self.result in ("passed", "not applicable")

    @property
    def counts(self) -> bool:
        """Whether the verdict depends on it."""
        return self.severity == "error" and self.waiver is None

    def stops(self, policy: Policy) -> bool:
        """Return whether it fails the suite: where it counts, failed always, inconclusive unless allowed."""
        allowed = self.is_fine or (self.result == "inconclusive" and policy.allow_inconclusive)
        return self.counts and not allowed


def judge(examination: Examination, policy: Policy, floors: Sequence[Examination] = ()) -> tuple[Check, ...]:
    """Check every rule of a policy.

    Parameters
    ----------
    floors : sequence of Examination
        For adversaries who know less: what fails by them fails.

    Returns
    -------
    tuple of Check
        In the policy's order.
    """
    checks = tuple(check_rule(examination, policy, rule) for rule in policy.rules)
    for floor in floors:
        checks = tuple(at_least(check, check_rule(floor, policy, check.rule)) for check in checks)
    return checks


def at_least(check: Check, floor: Check) -> Check:
    """Return a check that fails where an adversary who knows less makes the rule fail; its pass is none of this one.

    Side knowledge is left out of the figures, so that they can miss what is given away without it.
    """
    if check.result == "failed" or floor.result != "failed":
        return check
    sentence = f"it fails already for the adversary {floor.adversary!r}, who knows less: {floor.sentence}"
    return replace(floor, adversary=check.adversary, sentence=sentence)


def check_rule(examination: Examination, policy: Policy, rule: str, compared: NowAndEarlier | None = None) -> Check:
    """Check one rule: failed beats inconclusive beats passed; what is not applicable to a file is none of these.

    A budget that is crossed stays crossed, whatever else is in doubt; what is in doubt is never a pass. What stands
    in the file stands there whatever the attack has come to, once the file was read; that nothing stands there is not
    said of a file with fitted trees that are not the model's. Where an examination is barred, nothing is said but that.
    """
    check = _checked(examination, policy, rule, compared)
    if examination.basis is not None and check.result == "inconclusive" and rule_of(rule).attack:
        check = _inherited(check, _checked(examination.basis, policy, rule, compared), examination.basis)
    if examination.others and check.result in ("passed", "inconclusive") and _is_by_attack(rule_of(rule)):
        check = _with_others(check, examination, policy, compared)
    beyond = examination.artifact.beyond
    if check.result == "failed" and beyond is not None and _is_by_attack(rule_of(rule)):
        check = Check(rule, check.adversary, "inconclusive", f"{check.sentence}; but that is by {beyond}")
    waiver = None if check.is_fine else policy.waiver(rule, examination.artifact.sha256)
    check = replace(check, severity=policy.severities[rule], waiver=waiver)
    if examination.barred is not None and not (check.result == "failed" and check.counts):
        return Check(rule, check.adversary, "inconclusive", examination.barred)  # an error that nobody has waived
    return check


def _inherited(check: Check, raw: Check, basis: Examination) -> Check:
    """Return a check that passes where that of a file passes which tells no less.

    It is the one that a file was hardened from, or the model's own, for somebody who never gets it.
    """
    if raw.result != "passed":
        return check
    whose = f"hardened from {one_line(basis.case.artifact)}, which passes"
    if Adversary.parse(check.adversary).served:
        whose = "passed for whoever has the file, who is told no less"
    sentence = f"{whose}: {raw.sentence}"
    return Check(check.rule, check.adversary, "passed", sentence)


def _with_others(check: Check, examination: Examination, policy: Policy, compared: NowAndEarlier | None) -> Check:
    """Return a check that passes only where it does for all files together that are in the same hands.

    And for the people who are not in all files, by what takes no attack: there is none on them by themselves.
    """
    names = (one.place or PurePath(one.artifact).name for one in examination.others)
    said, together = f"together with {listed(list(names))}", examination.together
    if together is None:
        return Check(
            check.rule,
            check.adversary,
            "inconclusive",
            f"{said}: not looked at, as the file fails alone, or the run ended before",
        )
    found = {"": _checked(together, policy, check.rule, compared)}
    if found[""].result == "passed" and together.doubts:  # of files that are left out, and of whose row is whose
        found[""] = replace(found[""], result="inconclusive", sentence="; ".join(together.doubts))
    found |= {whose: _checked(one, policy, check.rule, None) for whose, one in together.apart.items()}
    for whose, one in found.items():
        if one.result == "failed" or (one.result == "inconclusive" and (not whose or check.rule in _OF_FEW)):
            sentence, of = one.sentence, f", of the people {whose}" if whose else ""
            if whose and one.result == "failed" and (together.apart[whose].data.rows or 0) < LEAST_ROWS:
                sentence = "more is told of these few people than the policy allows"
            instead = replace(one, remedy=_INSTEAD, commands=()) if one.result == "failed" else one
            return replace(instead, sentence=f"{said}{of}: {sentence}")
    also = f"; so it is {said}" if check.result == found[""].result == "passed" else ""
    return replace(check, sentence=check.sentence + also)


def _checked(examination: Examination, policy: Policy, rule: str, compared: NowAndEarlier | None) -> Check:
    adversary, artifact, judged = examination.case.adversary, examination.artifact, rule_of(rule)
    thresholds, not_applicable = judged.applied(policy.rules[rule], examination)
    outcome, doubts = NOTHING, examination.reasons
    if judged.needs is Findings and examination.findings is not None:
        outcome = judged.check(examination.findings, thresholds)
    elif judged.needs is ArtifactFacts and artifact.was_read:
        outcome = judged.check(artifact, thresholds)
        doubts = () if artifact.unjudged is None else (artifact.unjudged,)
    elif judged.beside and artifact.contents is not None:
        outcome = judged.check(artifact, thresholds)
    elif judged.needs is NowAndEarlier and compared is not None:
        outcome = judged.check(compared, thresholds)
    elif judged.needs is Examination:
        outcome, doubts = judged.check(examination, thresholds), ()
    elif judged.needs is Entropy and examination.entropy is not None:
        outcome, doubts = judged.check(examination.entropy, thresholds), examination.entropy.reasons
    elif judged.needs is Entropy and examination.not_audited is not None:
        doubts = (examination.not_audited,)
    if outcome.result == "failed" and not_applicable is not NotApplicable.FREQUENCIES:
        remedy, helping = outcome.remedy or judged.remedy, tuple[Command, ...]()
        if remedy is None:
            helping = commands(examination, _asked_by(policy))
            remedy = "; ".join([remedy_for(artifact), *([told(helping)] if helping else [])])
        said = judged.blames_file and (judged.attack or judged.needs is Entropy)
        cause = cause_in_file(examination) if said else None
        return Check(rule, adversary, "failed", _with_margin(judged, outcome), cause, remedy, helping)
    if not_applicable is not None and (not_applicable is not NotApplicable.NOT_GIVEN or outcome.result == "passed"):
        return Check(rule, adversary, "not applicable", not_applicable.value)
    if judged.bounds is not None and judged.needs is Findings and examination.findings is not None:
        outcome, doubts = _by_bounds(judged, examination, thresholds, outcome)
    if doubts:  # what is short of the best attack is a reason of the examination, which is told once
        reason = "; ".join(doubts if doubts[0] != outcome.sentence else doubts[:1])
        helping = _to_decide(examination, policy, doubts)
        return Check(rule, adversary, "inconclusive", reason, None, told(helping) or None, helping)
    return Check(rule, adversary, outcome.result, _with_margin(judged, outcome))


def _is_by_attack(judged: Rule[Any]) -> bool:
    """Return whether what a rule finds is what an adversary gets, and not what a file or its data are."""
    return judged.blames_file and (judged.attack or judged.needs is Entropy or judged.attacker != Rule.attacker)


def _with_margin(judged: Rule[Any], outcome: Outcome) -> str:
    """Return an outcome's sentence, and that it may come out otherwise where that depends on the model's seed."""
    if not (outcome.close and judged.attack):
        return outcome.sentence
    return f"{outcome.sentence}; close to the limit: the same settings with another random_state may come out otherwise"


def _to_decide(examination: Examination, policy: Policy, doubts: Sequence[str]) -> tuple[Command, ...]:
    """Return the commands that may decide a check, where it is open only because a better attack could cross a bar.

    Another one than was found, or than could be found in its time.
    """
    findings, reasons, short = examination.findings, examination.reasons, examination.shortfalls
    if findings is not None:
        by_time, is_open = bool(set(doubts) & set(short)), not examination.doubts
    else:
        by_time = is_open = (
            examination.solver_status == "no solution" and tuple(doubts) == reasons and len(reasons) == 1
        )
    if not is_open:
        return ()
    whose = _asked_by(policy)
    limited = findings is not None and bool(ideals_of(findings.whole))  # then an attack that converges is no pass
    longer = more_time(examination, whose, "fails" if limited else "passes") if by_time else None
    other_file, same_file = commands(examination, whose), () if longer is None else (longer,)
    return other_file + same_file if limited else same_file + other_file


def _asked_by(policy: Policy) -> str | None:
    """Return how the command line names a policy: by its path, a shipped one by its name; None for the default."""
    if not policy.explicit or policy.sha256 is None:
        return None
    source = PurePath(policy.source)
    return source.stem if source.parent == PurePath("rules") else policy.source


def _by_bounds(
    judged: Rule[Findings], examination: Examination, thresholds: Thresholds, outcome: Outcome
) -> tuple[Outcome, tuple[str, ...]]:
    """Return what bounds of the best possible attack say where they are known, and the doubts that are left.

    With them a pass needs no attack that converged, and an attack that did is no pass.
    """
    findings = examination.findings
    if findings is None or judged.bounds is None:
        return outcome, examination.reasons
    if findings.ambiguity is None and (findings.whole.informed is None or not findings.whole.error.upper):
        return outcome, examination.reasons  # nobody gets more
    if examination.doubts:
        return outcome, examination.reasons
    bounded = judged.bounds(findings, thresholds, not examination.shortfalls)
    return bounded, () if bounded.result == "passed" else (bounded.sentence, *examination.shortfalls)


def gravest(checks: Iterable[tuple[str | None, Check]]) -> Check:
    """Return the gravest check of one rule on several models of a file, which says at which place it is.

    One that is not applicable to some of them is judged by the others.

    Parameters
    ----------
    checks : iterable of (str or None, Check)
        The place of each model, None for the only one; at least one.
    """
    listed = list(checks)
    worst = min((check.result for _, check in listed), key=_GRAVEST.index)
    found = [(place, check) for place, check in listed if check.result == worst]
    place, check = found[0]
    if place is None or check.is_fine:
        return check
    others = f" (and {len(found) - 1} more of {len(listed)} models)" if len(found) > 1 else ""
    return replace(check, sentence=f"model {one_line(place)}: {check.sentence}{others}")


def verdict_of(checks: Iterable[tuple[CheckResult, bool]]) -> Verdict:
    """Return the verdict of some checks: the gravest result that counts.

    Where checks were made and none of them counts, nothing stands in the way; where all that count are not applicable,
    nothing is known.

    Parameters
    ----------
    checks : iterable of (str, bool)
        Each check's result, and whether it counts (`Check.counts`).
    """
    listed = list(checks)
    counting = [result for result, counts in listed if counts]
    made = any(result != "not applicable" for result, _ in listed)
    return overall(counting) if counting or not made else "passed"


def overall(results: Iterable[CheckResult]) -> Verdict:
    """Return the gravest of some results; nothing at all, or nothing that is applicable, is inconclusive."""
    worst: CheckResult = min(results, key=_GRAVEST.index, default="not applicable")
    return "inconclusive" if worst == "not applicable" else worst
