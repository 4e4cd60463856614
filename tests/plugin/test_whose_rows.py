"""The data that are given must be the rows that the forest was trained on, and the gate finds out."""

from __future__ import annotations

import pytest


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking.joblib", "bagged.joblib"])
def test_other_rows_are_inconclusive_and_said_to_be_others(project, forest):
    result = project.judge(forest, data="strangers.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert any("this forest was not trained on these rows" in reason for reason in judged["reasons"])
    result.stdout.fnmatch_lines(["  inconclusive: *this forest was not trained on these rows*"])


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking.joblib", "bagged.joblib"])
def test_other_rows_fail_when_they_cross_a_budget_anyway(project, policy, forest):
    project.write("ours.toml", policy(1.0))
    result = project.judge(forest, "--draft-policy=ours.toml", "--draft-full", data="strangers.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    judged = project.result()
    assert judged["verdict"] == "failed"
    assert any("not trained on these rows" in reason for reason in judged["reasons"])


def test_the_right_rows_are_counted_in_order_when_the_seeds_tell_the_order(project):
    project.judge("bagged.joblib")
    judged = project.result()
    assert judged["metrics"]["rows_in_order"] == judged["metrics"]["n_rows"] == 40
    assert judged["notes"] == []


@pytest.mark.nightly
def test_shuffled_rows_are_judged_when_the_seeds_tell_the_order(project):
    result = project.judge("bagged.joblib", data="shuffled.csv")
    result.assert_outcomes(failed=4, passed=2)
    judged = project.result()
    assert judged["verdict"] == "failed"
    assert judged["metrics"]["perfect_rows"] == 40
    assert judged["metrics"]["rows_in_order"] is None
    assert any("only the order differs" in note for note in judged["notes"])
    result.stdout.fnmatch_lines(["  note: *only the order differs*"])


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking.joblib", "bagged.joblib"])
def test_one_row_less_decides_nothing_of_whole_rows_and_both_numbers_are_told(project, rows, forest):
    rows.iloc[1:].to_csv(project.path / "fewer.csv", index=False)
    project.judge(forest, data="fewer.csv")
    judged = project.result()
    told = {check["rule"]: check["result"] for check in judged["checks"]}
    assert {result for rule, result in told.items() if "-rows" in rule or "error" in rule} == {"inconclusive"}
    assert told["label-told"] == "failed"  # these 39 are in the file, and their labels are told
    assert any("40 rows" in reason and "39" in reason for reason in judged["reasons"])


@pytest.mark.nightly
@pytest.mark.parametrize("column", ["c0", "label"])
@pytest.mark.parametrize("forest", ["leaking.joblib", "bagged.joblib"])
def test_one_wrong_cell_or_label_is_inconclusive_unless_a_budget_is_crossed(project, policy, rows, forest, column):
    project.write("ours.toml", policy(0.0))
    rows.loc[0, column] = rows.loc[rows[column] != rows.loc[0, column], column].iloc[0]
    rows.to_csv(project.path / "wrong.csv", index=False)
    project.judge(forest, "--draft-policy=ours.toml", data="wrong.csv")
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert any("not trained on these rows" in reason for reason in judged["reasons"])


@pytest.mark.nightly
def test_columns_in_another_order_are_matched_by_name(project, rows):
    rows[sorted(rows.columns, reverse=True)].to_csv(project.path / "turned.csv", index=False)
    project.judge("bagged.joblib", data="turned.csv")
    assert project.result()["metrics"]["rows_in_order"] == 40
