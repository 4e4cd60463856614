"""A holdout, from the option to the report: the leak p-value; inliers and outliers; another number of rebuilt rows."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from pytest_draft.report.sentences import of_holdout, of_sizes


@pytest.fixture
def others(project) -> str:
    """Write a holdout of the population that the released forests' rows are from."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.integers(0, 2, (400, 8)), columns=[f"c{index}" for index in range(8)])
    frame["label"] = np.where(rng.random(400) < 0.5, "yes", "no")
    frame.to_csv(project.path / "others.csv", index=False)
    return "--draft-holdout=others.csv"


@pytest.mark.nightly
def test_a_leak_is_told_by_its_p_value(project, others):
    result = project.judge("leaking.joblib", others)
    judged = project.result()
    found = judged["baselines"]["holdout"]
    assert judged["metrics"]["leak_p_value"] == found["p_value"] < 1e-6
    assert judged["metrics"]["leak_rank"] == pytest.approx(1 / 101)
    assert (found["draws"], found["rows"], found["holdout_rows"], found["as_close"]) == (100, 40, 400, 0)
    assert (found["error"], found["overlaps"]) == (0.0, False)
    assert judged["notes"] == []
    result.stdout.fnmatch_lines(
        [
            f"  leak p-value {found['p_value']:.2g}; 0 of 100 datasets drawn from the "
            "holdout are as close to the rebuilt rows as the training data (rank 0.0099)"
        ]
    )


@pytest.mark.nightly
def test_a_forest_that_tells_little_has_a_larger_p_value(project, others):
    project.judge("shallow.joblib", others).assert_outcomes(passed=9)
    assert project.result()["metrics"]["leak_rank"] > 1 / 101


@pytest.mark.nightly
def test_the_holdout_is_named_by_its_hash_and_listed_with_its_unused_columns(project, others):
    project.judge("leaking.joblib", others)
    assert project.result()["holdout"] == {
        "path": "others.csv",
        "sha256": hashlib.sha256((project.path / "others.csv").read_bytes()).hexdigest(),
        "rows": 400,
        "columns": 8,
        "record_share": 1.0,
        "unused_columns": ["label"],
    }


@pytest.mark.nightly
def test_without_a_holdout_there_is_no_p_value(project):
    result = project.judge("leaking.joblib")
    judged = project.result()
    assert judged["holdout"] is None
    assert judged["baselines"]["holdout"] is None
    assert judged["metrics"]["leak_p_value"] is judged["metrics"]["leak_rank"] is None
    result.stdout.no_fnmatch_line("*p-value*")


@pytest.mark.nightly
def test_the_holdout_changes_nothing_else_but_what_attackers_know_of_the_population(project, others, without_times):
    reports = []
    for more in ([], [others]):
        project.judge("shallow.joblib", *more)
        result = without_times(project.result())
        for name in ("leak_p_value", "leak_rank"):
            del result["metrics"][name]
        del result["holdout"], result["baselines"]["holdout"]
        del result["ambiguity"], result["given_all_other_rows"]["population"]  # of who knows other rows like these
        del result["label_told"]["holdout_rows"], result["label_told"]["holdout_told"]
        result["metrics"] = {name: one for name, one in result["metrics"].items() if not name.startswith("membership")}
        del result["membership"]  # whose strangers they are
        result.pop("evidence", None)
        checks = [check for check in result["checks"] if check["rule"] != "membership"]
        result["checks"] = [(check["rule"], check["result"]) for check in checks]
        reports.append(result)
    assert reports[0] == reports[1]


@pytest.mark.nightly
def test_the_same_holdout_gives_the_same_report(project, others, without_times):
    reports = []
    for _ in range(2):
        project.judge("bagged.joblib", others)
        reports.append(without_times(project.report()))
    assert reports[0] == reports[1]


@pytest.mark.nightly
def test_a_holdout_with_too_few_rows_is_refused_before_any_work(project, others):
    frame = pd.read_csv(project.path / "others.csv").head(39)
    frame.to_csv(project.path / "others.csv", index=False)
    assert project.judge("leaking.joblib", others).parseoutcomes()["inconclusive"] == 6
    judged = project.result()
    assert (judged["verdict"], judged["solver_status"]) == ("inconclusive", "refused")
    assert judged["reasons"] == [
        f"holdout {project.path / 'others.csv'}: 39 rows, and each draw takes 40; give at least twice as many rows, "
        "better ten times, or leave out --draft-holdout"
    ]
    assert "build seconds" not in judged["statistics"]
    assert judged["metrics"]["perfect_rows"] is None


@pytest.mark.nightly
def test_rows_that_the_adversary_knows_need_no_counterpart(project, others):
    frame = pd.read_csv(project.path / "others.csv").head(30)
    frame.to_csv(project.path / "others.csv", index=False)
    project.judge("leaking.joblib", others, "--draft-adversary=artifact+rows:25%")
    assert project.result()["baselines"]["holdout"]["rows"] == 30


@pytest.mark.nightly
def test_the_training_data_are_no_holdout(project):
    result = project.judge("leaking.joblib", "--draft-holdout=shuffled.csv")
    assert project.result()["metrics"]["leak_rank"] == 1
    assert project.result()["metrics"]["leak_p_value"] is None
    result.stdout.fnmatch_lines(
        [
            "  leak p-value unknown; 100 of 100 *",
            "*note: the holdout has 40 rows, and each draw takes 40 of them*",
            "*note: the holdout shares 40 rows with the training data, and chance explains about *",
        ]
    )


@pytest.mark.nightly
def test_an_informed_adversary_has_no_p_value_and_that_is_told(project, others):
    project.judge("leaking.joblib", others, "--draft-adversary=artifact+informed")
    judged = project.result()
    assert judged["metrics"]["leak_p_value"] is None
    assert judged["notes"] == ["no leak p-value: an informed adversary rebuilds single rows, no dataset"]


def test_a_holdout_without_training_data_is_not_looked_at(project):
    project.write("others.csv", "nothing of use\n1\n")
    project.write("domain.toml", 'others = "binary"\n')
    rules = "[rules.certain-rows]\nmax_certain_rows = 40\n"  # needs no data where there is a domain
    project.write("ours.toml", f'schema_version = 1\nname = "ours"\n{rules}')
    arguments = ("--draft-holdout=others.csv", "--draft-domain=domain.toml", "--draft-policy=ours.toml")
    project.judge("leaking.joblib", *arguments, data=None)
    judged = project.result()
    assert judged["holdout"] is None
    assert judged["reasons"] == ["no training data are given to compare with: add --draft-data"]


@pytest.mark.nightly
def test_each_forest_can_have_a_holdout_of_its_own(project, others):
    project.judge("leaking.joblib", "--draft-forest=shallow.joblib", others, "--draft-holdout=strangers.csv")
    assert {result["artifact"]["path"]: result["holdout"]["path"] for result in project.report()["results"]} == {
        "leaking.joblib": "others.csv",
        "shallow.joblib": "strangers.csv",
    }


@pytest.mark.nightly
def test_the_ini_file_can_name_a_holdout(project, others):
    project.configure("shallow.joblib", "draft_holdout = others.csv\ndraft_report = json:report.json\n")
    project.run("--draft")
    assert project.result()["holdout"]["path"] == "others.csv"


@pytest.mark.nightly
def test_inliers_and_outliers_are_the_whole(project):
    project.judge("shallow.joblib")
    metrics = project.result()["metrics"]
    assert metrics["inlier_rows"] + metrics["outlier_rows"] == metrics["n_rows"] == 40
    assert metrics["inlier_perfect_rows"] + metrics["outlier_perfect_rows"] == metrics["perfect_rows"]
    parts = [(metrics[f"{name}_rows"], metrics[f"{name}_error"]) for name in ("inlier", "outlier")]
    assert sum(number * error for number, error in parts if number) / 40 == pytest.approx(
        metrics["reconstruction_error"]
    )
    assert metrics["rebuilt_rows"] is None


def judged(rebuilt: int | None = None, **found: object) -> dict:
    """Return what the table's lines are made of."""
    return {
        "artifact": {"path": "a.joblib"},
        "adversary": "artifact",
        "metrics": {"rebuilt_rows": rebuilt, "n_rows": 1_100, "leak_rank": 0.0297},
        "baselines": {"holdout": {"draws": 100, "as_close": 2, **found}} if found else {},
    }


@pytest.mark.parametrize(
    ("p_value", "shown"), [(0.0123, "0.012"), (3.4e-49, "3.4e-49"), (0.0, "below 1e-300"), (None, "unknown")]
)
def test_a_p_value_is_shown_as_what_it_can_be(p_value, shown):
    assert of_holdout(judged(p_value=p_value)) == (
        f"leak p-value {shown}; 2 of 100 datasets drawn from the holdout are as close to the "
        "rebuilt rows as the training data (rank 0.03)"
    )
    assert of_holdout(judged()) is None


@pytest.mark.parametrize(
    ("rebuilt", "so"),
    [(1_207, "1,207 rows; a random 1,100 of them are"), (93, "93 rows; these, some of them twice or more, are")],
)
def test_another_number_of_rebuilt_rows_is_shown(rebuilt, so):
    line = f"the attack rebuilds {so} compared with the 1,100 true ones"
    assert of_sizes(judged(rebuilt)["metrics"]) == line
    assert of_sizes(judged()["metrics"]) is None


def test_no_value_of_a_holdout_is_shown_when_it_is_refused(project, others):
    frame = pd.read_csv(project.path / "others.csv").astype(object)
    frame.loc[3, "c2"] = "Quokka-of-Rottnest"
    frame.to_csv(project.path / "others.csv", index=False)
    result = project.judge("leaking.joblib", others, "--tb=long", "-vv", "-rA")
    assert "column 'c2' holds text" in project.result()["reasons"][0]
    outputs = (result.stdout.str(), result.stderr.str(), json.dumps(project.report()))
    assert not any("Quokka" in output for output in outputs)
