"""Who judges and reports a stored examination needs no engine: neither this package's nor those that it stands on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from made_up_facts import filled
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.storage import as_text
from pytest_draft.plugin.options import REPORT_TYPES

HEAVY = ("numba", "ortools", "sklearn", "pandas", "scipy", "pyarrow", "numpy", "joblib")
ENGINE = ("artifact", "data", "domain", "dp", "matching", "knowledge", "attack", "audit", "evaluate", "examine")

READ = """
import sys
from pytest_draft.facts.case import Case
from pytest_draft.facts.storage import from_text
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.rules import RULES
from pytest_draft.policy.verdict import judge
examination = from_text(Case("model.joblib", "train.csv", hardened_from="raw.joblib"), sys.stdin.read())
"""

JUDGED = """
thresholds = {rule.id: {name: ["x"] if key.listed else 1 for name, key in rule.keys.items()} for rule in RULES.values()}
policy = Policy("all", "by hand", thresholds)
checks = judge(examination, policy)
assert len(checks) == len(RULES)
assert len(judge(examination, default_policy())) > 3
"""

REPORTED = """
from pathlib import Path
from pytest_draft.plugin.summary import _rendered
from pytest_draft.report.canonical import with_hash
from pytest_draft.report.document import document, merged
from pytest_draft.report.result import result_of
result = result_of(examination, checks, policy, rows=True)
for check in result["checks"]:
    check["item"] = "model.joblib::" + check["rule"]
report = with_hash(document(merged([result]), [], "1"))
for name in {types}:
    assert _rendered(name, Path("report"), report)
"""

COLLECTED = """
import pytest_draft.plugin.items, pytest_draft.plugin.summary, pytest_draft.plugin.workers
"""


def imported(script: str) -> list[str]:
    """Return which heavy packages, and which rooms of the engine, a script with a stored examination imports."""
    names = [*HEAVY, *(f"pytest_draft.{room}" for room in ENGINE)]
    script += f"print(*sorted(name for name in {names!r} if name in sys.modules))"
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, input=as_text(filled(Examination)), capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    "script",
    [
        READ,
        READ + JUDGED,
        READ + JUDGED + REPORTED.format(types=list(REPORT_TYPES)),
        READ + COLLECTED,
    ],
    ids=["reading", "judging", "reporting", "collecting"],
)
def test_a_stored_examination_is_judged_and_reported_without_an_engine(script):
    assert imported(script) == []


@pytest.mark.nightly
def test_what_is_looked_for_would_be_found():
    assert "pytest_draft.attack" in imported(READ + "import pytest_draft.examine.flow\n")
