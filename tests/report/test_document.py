"""The plain object that all reports render from."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import pytest

from builders import FINDINGS, changed, examination
from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.figures import Baseline, Closeness, Distance, Exact, Numeric
from pytest_draft.facts.files import ArtifactFacts, DataFacts
from pytest_draft.facts.findings import Findings, ProvedValues, Raw, ValueFigures
from pytest_draft.facts.privacy import Privacy
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import Check
from pytest_draft.report import sentences
from pytest_draft.report.document import document, merged, undecide_changed
from pytest_draft.report.json_report import render
from pytest_draft.report.result import result_of
from pytest_draft.report.schema import METRICS

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
    findings: Findings | None = None,
):
    """Return what one item tells of a refused model."""
    examined = examination(
        case=Case(path, data, adversary=adversary),
        artifact=ArtifactFacts(path, privacy=privacy),
        data=DataFacts(data),
        solver_status="refused",
        residual=None,
        statistics={"build seconds": 0.123456},
        findings=findings,
        reasons=("by hand",),
        seconds=1.23456,
        versions={"python": "3"},
    )
    told = result_of(examined, [Check(rule, adversary, outcome, "by hand")], POLICY)
    for check in told["checks"]:
        check["item"] = item or f"{path}::{rule}[{adversary}]"
    return told


def test_all_metrics_are_null_when_a_model_was_refused():
    metrics = result()["metrics"]
    assert list(metrics) == list(METRICS)
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


DISCRETE = changed(FINDINGS, free_share=0.5, determined=ValueFigures(200, 0.05), free=ValueFigures(120, 0.2))
NUMERIC = replace(
    changed(
        DISCRETE,
        perfect=Bounds(10, 12),
        certain=ValueFigures(80, 0.0),
        constrained=ValueFigures(120, 0.083),
        certain_rows=Bounds(3, 40),
    ),
    proved_values=ProvedValues(17, 4, 0.25),
    numeric=Numeric(
        columns=4,
        without_spread=1,
        in_order=False,
        attack=Closeness(0.1, 0.2, 0.6, 0.5, 0.25, 0.1),
        random=Closeness(0.4, 0.9, 0.1, 0.0, 0.0, 0.0),
        median=Closeness(0.2, 0.4, 0.2, 0.0, 0.0, 0.0),
        median_guess=Baseline(0.2, 0.0, 1, 40),
    ),
)


def test_figures_on_numeric_columns_stand_beside_their_baselines_and_corrected_for_them():
    told = json.loads(render(result(findings=NUMERIC)))
    metrics, baselines = told["metrics"], told["baselines"]
    assert (metrics["median_error"], metrics["iqr_error"], metrics["close_values"]) == (0.2, 0.2, 0.6)
    assert (metrics["exact_values"], metrics["exact_rows"]) == (0.5, 0.1)
    assert (metrics["certain_values"], metrics["constrained_values"], metrics["proved_values"]) == (80, 120, 17)
    assert (metrics["certain_rows"], metrics["certain_rows_exact"]) == (3, False)
    assert baselines["perfect_rows_bounds"] == [10, 12]
    assert baselines["proved_values"] == {"number": 17, "columns": 4, "share": 0.25}
    beyond = baselines["numeric"]["beyond_median"]
    assert (beyond["error"], beyond["iqr_error"], beyond["close_values"]) == pytest.approx((0.5, 0.5, 0.5))
    assert baselines["numeric"]["beyond_random"]["error"] == pytest.approx(0.75)


def test_errors_and_exact_values_by_rank_are_told_of_the_whole():
    whole = changed(
        FINDINGS.whole,
        on=" by rank",
        error=Distance(0.3, 0.3, 0.4),
        perfect=6,
        split_half=Baseline(0.6, 1.5, 20, 20),
        numeric=True,
        scale="rank",
        exact=Exact(160, 0.75, 0.125),
    )
    inner, part = changed(whole, scale="inner range", exact=None), changed(whole, rows=30, perfect=30)
    told = result(findings=changed(NUMERIC, rescaled=(inner, whole, part)))
    metrics = {name: value for name, value in told["metrics"].items() if name.startswith("rank_")}
    assert metrics == {
        "rank_error": 0.3,
        "rank_split_half_error": 0.6,
        "rank_perfect_rows": 6,
        "rank_split_half_perfect_rows": 1.5,
        "rank_exact_values": 0.75,
        "rank_split_half_exact_values": 0.125,
    }
    assert "by rank it is 0.3000 (other rows like these: 0.6000)" in (sentences.of_numbers(told) or "")
    uncounted = changed(whole, exact=None)
    assert result(findings=changed(NUMERIC, rescaled=(uncounted,)))["metrics"]["rank_exact_values"] is None


def test_a_report_on_discrete_columns_says_nothing_of_numeric_ones():
    told = result(findings=DISCRETE)
    assert not {"numeric", "proved_values", "perfect_rows_bounds"} & set(told["baselines"])
    assert told["metrics"]["median_error"] is told["metrics"]["certain_values"] is None
    assert told["metrics"]["rank_error"] is None
    assert not sentences.of_numbers(told)
    assert not sentences.of_proofs(told)


def test_the_table_is_followed_by_what_numeric_columns_and_proofs_come_to():
    told = result(findings=NUMERIC)
    assert sentences.of_numbers(told) == (
        "the error is 0.1000 (always guessing the median: 0.2000; random guesses: 0.4000); 60% of the numeric values "
        "are right to within 1% of the range without far-out ones (always guessing the median: 20%; random guesses: "
        "10%); 50% are exact"
    )
    assert sentences.of_proofs(told) == (
        "from the file alone, 80 of 320 values are certain, and all values of 3 rows; 17 different values are certain "
        "to be in the data, though not in which rows: they make up 25% of all values"
    )


@pytest.mark.parametrize(
    ("error", "informative_error", "shown"),
    [(Distance(0.125, 0.125, 0.3), 0.125, "0.1250"), (Distance(0.1, 0.2, None), None, "0.1000 to 0.2000")],
    ids=["exact", "bounds"],
)
def test_the_error_on_raw_columns_has_a_metric_and_a_line(error, informative_error, shown):
    told = json.loads(render(result(findings=changed(DISCRETE, raw=Raw(5, error)))))
    assert (told["metrics"]["raw_error"], told["metrics"]["raw_columns"]) == (informative_error, 5)
    assert told["baselines"]["raw_error_bounds"] == [error.lower, error.upper]
    assert sentences.of_raw_columns(told) == f"on the 5 raw columns, each counted once, the error is {shown}"


def test_without_raw_columns_nothing_is_said_of_them():
    told = result(findings=DISCRETE)
    assert told["metrics"]["raw_error"] is told["metrics"]["raw_columns"] is None
    assert "raw_error_bounds" not in told["baselines"]
    assert sentences.of_raw_columns(told) is None


def test_the_items_of_one_judgement_are_one_result():
    told = merged([result(), result("perfect-rows", "failed")])
    assert len(told) == 1
    assert [check["rule"] for check in told[0]["checks"]] == ["reconstruction-error", "perfect-rows"]
    assert told[0]["verdict"] == "failed"


@pytest.mark.nightly
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
    assert report["schema_version"] == 2
    assert report["tool"] == {"name": "pytest-draft", "version": "1.2.3"}


def judged(path: str, content: str, item: str, outcome: str = "passed", data: str | None = None):
    told = result(outcome=outcome, item=item)
    told["artifact"].update(path=path, sha256=content)
    told["data"].update(path="train.csv", sha256=data or "d" * 64)
    return told


def test_results_of_a_file_that_changed_meanwhile_stay_apart_and_pass_nothing():
    told = merged([judged("m", "a" * 64, "m::one"), judged("m", "b" * 64, "m::two"), judged("n", "c" * 64, "n::one")])
    assert undecide_changed(told, {"m::one", "m::two", "n::one"}) == ["m"]
    assert [one["verdict"] for one in told] == ["inconclusive", "inconclusive", "passed"]
    assert [one["artifact"]["sha256"][0] for one in told] == ["a", "b", "c"]


def test_a_failed_check_of_a_file_that_changed_meanwhile_stays_one():
    told = merged([judged("m", "a" * 64, "m::one", "failed"), judged("m", "b" * 64, "m::two")])
    undecide_changed(told, {"m::one", "m::two"})
    assert [one["verdict"] for one in told] == ["failed", "inconclusive"]


def test_data_that_changed_meanwhile_let_no_model_pass_that_was_compared_with_them():
    told = merged([judged("m", "a" * 64, "m::one"), judged("n", "b" * 64, "n::one", data="e" * 64)])
    assert undecide_changed(told, {"m::one", "n::one"}) == ["train.csv"]
    assert {one["verdict"] for one in told} == {"inconclusive"}


def test_a_projects_own_tests_may_write_a_file_anew_between_two_judgements():
    told = merged([judged("m", "a" * 64, "test_own.py::one"), judged("m", "b" * 64, "test_own.py::two")])
    assert undecide_changed(told, set()) == []
    assert [one["verdict"] for one in told] == ["passed", "passed"]
