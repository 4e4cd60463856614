"""A hardened file passes what the file passes that it was hardened from, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import FINDINGS, changed
from pytest_draft.facts.ambiguity import Ambiguity, Ideal
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import check_rule

CASE = Case("m.joblib", "train.csv", hardened_from="raw.joblib")
MANY = Ambiguity(("population", "uniform"), 8, 0.1, 400.0, 0.2, 0)
FAR, NEAR = (Ideal(error, 3.0, 40, None, 0.2, 2.0) for error in (0.18, 0.01))
SLOW = "the attack did not converge in 36 s"


def found(case: Case, ideal: Ideal, error: float = 0.3, *doubts: str) -> Examination:
    findings = changed(FINDINGS, error=Distance(error, error, 0.4), perfect=2, singled_out=1)
    read = replace(unexamined(case), artifact=ArtifactFacts(case.artifact, holds="a forest"))
    findings = changed(findings, ideal=ideal, ambiguity=MANY)
    return replace(read, findings=findings, reasons=(SLOW, *doubts), shortfalls=(SLOW,))


def checked(hardened: Examination, raw: Examination | None, rule: str = "reconstruction-error"):
    return check_rule(replace(hardened, basis=raw), default_policy(), rule)


def test_what_the_raw_file_passes_is_passed_and_says_so():
    raw = found(CASE.basis, FAR)
    assert checked(found(CASE, NEAR), None).result == "inconclusive"
    check = checked(found(CASE, NEAR), raw)
    assert check.result == "passed"
    assert check.sentence.startswith("hardened from raw.joblib, which passes: ")
    assert check.sentence.endswith(checked(raw, None).sentence)
    assert check.commands == ()


def test_a_failure_is_never_lifted():
    assert checked(found(CASE, NEAR, 0.01), found(CASE.basis, FAR)).result == "failed"


@pytest.mark.parametrize(
    "raw", [found(CASE.basis, NEAR), found(CASE.basis, FAR, 0.01), found(CASE.basis, FAR, 0.3, "?")]
)
def test_what_the_raw_file_does_not_pass_stays_open(raw):
    assert checked(found(CASE, NEAR), raw).result == "inconclusive"


def test_a_pass_of_its_own_needs_no_other():
    own = checked(found(CASE, FAR), None)
    assert checked(found(CASE, FAR), found(CASE.basis, NEAR)) == own


def test_what_stands_in_the_file_is_judged_by_the_file_itself():
    hardened = changed(found(CASE, FAR), artifact=ArtifactFacts(CASE.artifact))  # it could not be read
    assert checked(hardened, found(CASE.basis, FAR), "seeds-published").result == "inconclusive"


def test_the_case_of_the_raw_file_is_the_same_but_for_its_path():
    assert CASE.basis == replace(CASE, artifact="raw.joblib", hardened_from=None, moved=True)
    assert CASE.basis.basis is None
