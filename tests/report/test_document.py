"""The plain object that all reports render from."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from pytest_draft.artifact.privacy import Privacy
from pytest_draft.gate import ArtifactFacts, Case, DataFacts, Examination
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import Check
from pytest_draft.report.document import document, merged
from pytest_draft.report.json_report import render
from pytest_draft.report.result import METRICS, result_of

RULES = {"reconstruction-error": {"max_error": 0.1}, "perfect-rows": {"max_perfect_rows": 1}}
POLICY = Policy("ours", "by hand", RULES)


def result(
    rule: str = "reconstruction-error",
    outcome: str = "passed",
    item: str | None = None,
    path: str = "a.joblib",
    adversary: str = "artifact",
    data: str | None = "train.csv",
    privacy: Privacy | None = None,
):
    """Return what one item tells of a refused model."""
    examination = Examination(
        case=Case(path, data, adversary=adversary),
        artifact=ArtifactFacts(path, privacy=privacy),
        data=DataFacts(data),
        domain=None,
        solver_status="refused",
        residual=None,
        reproduced_trees=None,
        statistics={"build seconds": 0.123456},
        findings=None,
        reasons=("by hand",),
        notes=(),
        seconds=1.23456,
        versions={"python": "3"},
    )
    told = result_of(examination, [Check(rule, adversary, outcome, "by hand")], POLICY)
    for check in told["checks"]:
        check["item"] = item or f"{path}::{rule}[{adversary}]"
    return told


def test_all_metrics_are_null_when_a_model_was_refused():
    metrics = result()["metrics"]
    assert tuple(metrics) == METRICS
    assert set(metrics.values()) == {None}


def test_a_result_loses_nothing_as_json():
    read = json.loads(render(result()))
    assert list(read) == list(result())
    assert (read["checks"], read["seconds"], read["statistics"]) == (
        result()["checks"],
        1.235,
        {"build seconds": 0.123},
    )


def test_the_privacy_that_a_file_declares_is_plain_in_json_and_null_where_it_declares_none():
    declared = Privacy("gaussian", 0.5, 1e-5, 3.0, "sum", exact=True, broken_by=("its noise can be replayed",))
    read = json.loads(render(result(privacy=declared)))
    assert read["artifact"]["privacy"] == {
        "mechanism": "gaussian",
        "epsilon": 0.5,
        "delta": 1e-5,
        "scale": 3.0,
        "rounding": "sum",
        "exact": True,
        "broken_by": ["its noise can be replayed"],
    }
    assert json.loads(render(result()))["artifact"]["privacy"] is None


def test_no_number_that_json_lacks_is_rendered():
    with pytest.raises(ValueError, match="JSON"):
        render({"seconds": float("nan")})


def test_the_items_of_one_judgement_are_one_result():
    told = merged([result(), result("perfect-rows", "failed")])
    assert len(told) == 1
    assert [check["rule"] for check in told[0]["checks"]] == ["reconstruction-error", "perfect-rows"]
    assert told[0]["verdict"] == "failed"


def test_the_order_in_which_items_ran_leaves_no_trace():
    parts = [
        result("perfect-rows", "failed"),
        result(),
        result(adversary="published"),
        result(path="b.joblib"),
        result(item="test_own.py::test_release"),
    ]
    reports = [json.dumps(merged(order)) for order in permutations(parts)]
    assert len(set(reports)) == 1


@pytest.mark.parametrize(
    "other", [{"path": "b.joblib"}, {"adversary": "published"}, {"data": "other.csv"}, {"data": None}]
)
def test_what_was_judged_apart_stays_apart(other):
    assert len(merged([result(), result(**other)])) == 2


def test_a_check_that_two_processes_told_is_there_once():
    told = merged([result(), result()])
    assert len(told[0]["checks"]) == 1


def test_a_marked_tests_check_stands_beside_the_items_own():
    told = merged([result(outcome="passed"), result(outcome="failed", item="test_own.py::test_release")])
    assert len(told[0]["checks"]) == 2
    assert told[0]["verdict"] == "failed"


def test_what_is_merged_leaves_its_parts_as_they_were():
    one, other = result(), result("perfect-rows")
    merged([one, other])
    assert len(one["checks"]) == len(other["checks"]) == 1


@pytest.mark.parametrize(
    ("outcomes", "not_run", "verdict"),
    [
        (["passed", "passed"], [], "passed"),
        (["passed", "failed"], [], "failed"),
        (["inconclusive", "failed"], ["x"], "failed"),
        (["inconclusive", "passed"], [], "inconclusive"),
        (["passed"], ["x"], "inconclusive"),
        (["failed"], ["x"], "failed"),
        ([], [], "inconclusive"),
        ([], ["x"], "inconclusive"),
    ],
)
def test_the_verdict_is_the_gravest_and_what_was_not_run_is_inconclusive(outcomes, not_run, verdict):
    results = merged(result(outcome=outcome, path=f"{i}.joblib") for i, outcome in enumerate(outcomes))
    report = document(results, not_run, "1.2.3")
    assert report["verdict"] == verdict
    assert report["not_run"] == not_run
    assert report["schema_version"] == 1
    assert report["tool"] == {"name": "pytest-draft", "version": "1.2.3"}
