"""Mistakes of usage that end a run before anything is judged, in one line and with exit status 4."""

from __future__ import annotations

import pytest

ALL_WAYS = [(), ("--collect-only",), ("-n2",)]


@pytest.mark.parametrize("arguments", ALL_WAYS, ids=" ".join)
def test_a_forest_without_data_is_not_judged(project, one_line_error, arguments):
    error = one_line_error(project.judge("leaking.joblib", *arguments, data=None))
    assert error == (
        "ERROR: --draft-data: no training data are given for leaking.joblib, and the policy 'default' needs "
        "them (reconstruction-error, perfect-rows, determined-rows, ...): add --draft-data FILE"
    )
    assert not (project.path / "report.json").exists()


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("option", ["data=train.csv", "target=label", "holdout=train.csv"])
@pytest.mark.parametrize("tests", [None, "def test_other(): ...\n"])
def test_data_without_a_model_are_told(project, one_line_error, option, tests):
    if tests is not None:
        project.write("test_other.py", tests)
    error = one_line_error(project.run(f"--draft-{option}"))
    name = option.partition("=")[0]
    assert error == f"ERROR: --draft-{name}: no model is judged in this run: add --draft-forest FILE"


def test_data_for_a_projects_own_test_are_no_mistake_even_where_it_is_deselected(project):
    project.write("test_other.py", "def test_own(draft_policy): ...\ndef test_other(): ...\n")
    assert project.run("--draft-data=train.csv").ret == pytest.ExitCode.OK
    assert project.run("--draft-data=train.csv", "-k", "other").ret == pytest.ExitCode.OK


@pytest.mark.parametrize("url", ["https://huggingface.co/x/y/model.joblib", "s3://bucket/model.joblib", "hf://x"])
def test_a_url_is_told_as_one(project, one_line_error, url):
    scheme = url.partition("://")[0]
    error = one_line_error(project.run(f"--draft-forest={url}", "--draft-data=train.csv"))
    assert error.startswith(f"ERROR: --draft-forest: '{scheme}:/")
    assert error.endswith("is a URL, which is not read: download the file first")


def test_a_table_that_can_be_parted_in_two_ways_is_told_as_one(project):
    project.write("a.csv", "c1,c2;label\n1,5;x\n")
    result = project.judge("leaking.joblib", data="a.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "line 1 has commas and semicolons, and all lines can be parted at each of them" in result.stdout.str()
    assert "1,5" not in result.stdout.str()


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "mark"), [("a.csv", ";"), ("a.csv", "|"), ("a.tsv", "\t")])
def test_the_verdict_on_a_table_with_other_separators_is_that_on_the_one_with_commas(project, name, mark):
    project.judge("leaking.joblib")
    expected = project.result()
    project.write(name, (project.path / "train.csv").read_text().replace(",", mark))
    project.judge("leaking.joblib", data=name)
    found = project.result()
    assert [check["sentence"] for check in found["checks"]] == [check["sentence"] for check in expected["checks"]]
    assert found["metrics"] == expected["metrics"]


@pytest.mark.parametrize("arguments", ALL_WAYS, ids=" ".join)
def test_a_misspelt_target_is_told_with_the_column_that_was_meant(project, one_line_error, arguments):
    error = one_line_error(project.judge("leaking.joblib", "--draft-target=lable", *arguments))
    assert error.endswith("no column 'lable'; name the label column with --draft-target; did you mean 'label'?")
    assert not (project.path / "report.json").exists()


def test_a_target_that_is_needed_and_missing_is_told(project, one_line_error, rows):
    rows.assign(other=1, more=2).to_csv(project.path / "wide.csv", index=False)
    error = one_line_error(project.judge("leaking.joblib", data="wide.csv"))
    assert (
        "which column holds the labels is not clear (3 columns are not features); name it with --draft-target" in error
    )


@pytest.mark.nightly
@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=" ".join)
def test_an_unknown_label_is_told_without_its_value(project, rows, arguments):
    rows["label"] = rows["label"].where(rows.index != 5, "quokka")
    rows.to_csv(project.path / "other.csv", index=False)
    result = project.judge("leaking.joblib", *arguments, data="other.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    reasons = project.result()["reasons"]
    assert any("1 of 40 rows have a label that the forest does not know" in reason for reason in reasons), reasons
    assert "quokka" not in result.stdout.str()


def test_the_second_forests_data_are_looked_at_too(project, one_line_error, rows):
    rows.rename(columns={"label": "lable"}).assign(more=1).to_csv(project.path / "other.csv", index=False)
    arguments = ("--draft-forest=leaking.joblib", "--draft-forest=shallow.joblib", "--draft-data=train.csv")
    error = one_line_error(project.run(*arguments, "--draft-data=other.csv", "--draft-target=label"))
    assert "no column 'label'" in error


def test_a_policy_that_compares_with_no_data_needs_none(project):
    project.write("ours.toml", 'schema_version = 1\nname = "ours"\n[rules.smallest-leaf]\nmin_rows = 1\n')
    assert project.judge("shallow.joblib", "--draft-policy=ours.toml", data=None).parseoutcomes() == {"passed": 1}


@pytest.mark.nightly
def test_data_that_a_hook_gives_are_left_to_it(project):
    project.write(
        "conftest.py",
        "import pandas as pd\n"
        "def pytest_draft_load_training_data(config, forest):\n    return pd.read_csv('train.csv')\n",
    )
    assert project.judge("shallow.joblib", data=None).parseoutcomes() == {"passed": 8, "inconclusive": 1, "warned": 1}
