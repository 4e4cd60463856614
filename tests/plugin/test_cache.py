"""What one run has found out is there for the next one, while nothing changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

POLICY = """
schema_version = 1
name = "ours"

[rules.perfect-rows]
max_perfect_rows = {most}

[rules.singled-out-rows]
max_singled_out_rows = 40
"""


@pytest.fixture
def judge(project, asked):
    """Return a function that judges a forest with the cache on, and says how many attacks it asked for."""

    def run(*arguments: str, forest: str = "leaking.joblib", most: int = 40, cache: bool = True, data="train.csv"):
        asked.clear()
        project.write("policy.toml", POLICY.format(most=most))
        given = ("--draft-cache",) if cache else ()
        run.result = project.judge(forest, "--draft-policy=policy.toml", *given, *arguments, data=data)
        return sum(case.attack for case in asked)

    return run


def entries(project) -> list[Path]:
    return sorted(project.path.glob(".pytest_cache/d/pytest-draft/*.json"))


@pytest.mark.nightly
def test_the_second_run_does_not_attack_and_says_so(project, judge):
    assert judge() == 1
    first = project.report()
    assert first["results"][0]["cached"] is False
    assert judge() == 0
    second = project.report()
    assert second["results"][0]["cached"] is True
    judge.result.assert_outcomes(passed=2)
    judge.result.stdout.fnmatch_lines(["leaking.joblib *  passed", "*time: * s (cached)"])
    assert second["canonical_sha256"] == first["canonical_sha256"]
    second["results"][0]["cached"] = False
    for report in (first, second):
        del report["judged_at"], report["results"][0]["evidence"]  # which says so, too
    assert second == first
    assert not entries(project)[0].read_text().count(str(project.path))


@pytest.mark.nightly
def test_without_the_option_nothing_is_kept_or_used(project, judge):
    assert judge(cache=False) == 1
    assert entries(project) == []
    judge()
    assert judge(cache=False) == 1
    assert project.result()["cached"] is False


@pytest.mark.nightly
def test_what_is_kept_is_judged_anew_by_another_policy(project, judge):
    judge()
    assert judge(most=39) == 0
    judge.result.assert_outcomes(passed=1, failed=1)
    assert project.result()["cached"] is True


@pytest.mark.nightly
@pytest.mark.parametrize(
    "arguments",
    [
        ("--draft-seed=1",),
        ("--draft-budget=59",),
        ("--draft-workers=2",),
        ("--draft-effort=1000",),
        ("--draft-memory=4000",),
        ("--draft-target=label",),
        ("--draft-domain=domain.toml",),
        ("--draft-holdout=strangers.csv",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_another_parameter_is_another_case(project, judge, arguments):
    project.write("domain.toml", 'others = "binary"\n')
    judge()
    assert judge(*arguments) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["model.joblib", "data.csv"])
def test_another_file_of_the_same_name_is_another_case(project, judge, name):
    shutil.copy(project.path / "leaking.joblib", project.path / "model.joblib")
    shutil.copy(project.path / "train.csv", project.path / "data.csv")
    judge(forest="model.joblib", data="data.csv")
    other = {"model.joblib": "shallow.joblib", "data.csv": "shuffled.csv"}[name]
    shutil.copy(project.path / other, project.path / name)
    assert judge(forest="model.joblib", data="data.csv") == 1


@pytest.mark.nightly
def test_the_same_files_elsewhere_are_the_same_case_under_their_own_names(project, judge):
    judge()
    (project.path / "moved").mkdir()
    for name in ("leaking.joblib", "train.csv"):
        shutil.move(project.path / name, project.path / "moved" / f"new-{name}")
    assert judge(forest="moved/new-leaking.joblib", data="moved/new-train.csv") == 0
    result = project.result()
    assert (result["artifact"]["path"], result["data"]["path"]) == ("moved/new-leaking.joblib", "moved/new-train.csv")


@pytest.mark.nightly
def test_another_version_is_another_case(project, judge, monkeypatch):
    judge()
    monkeypatch.setattr("pytest_draft.facts.examination.version", lambda package: "99")
    assert judge() == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    "arguments",
    [{"data": "strangers.csv"}, {"forest": "bagged.joblib", "data": "strangers.csv"}],
    ids=["wrong rows", "wrong rows of another forest"],
)
def test_what_is_inconclusive_is_never_kept(project, judge, arguments):
    judge(**arguments)
    assert project.result()["reasons"]
    assert entries(project) == []


@pytest.mark.nightly
def test_what_leaves_a_check_open_is_never_kept(project):
    project.write("policy.toml", POLICY.format(most=40) + "[rules.leak-p-value]\nmin_p_value = 0.01\n")
    project.judge("leaking.joblib", "--draft-policy=policy.toml", "--draft-cache")
    assert project.result()["verdict"] == "inconclusive"
    assert entries(project) == []


@pytest.mark.nightly
def test_what_leaves_a_check_of_another_policy_open_is_found_out_anew(project, judge):
    judge()
    project.write("other.toml", POLICY.format(most=40) + "[rules.leak-p-value]\nmin_p_value = 0.01\n")
    project.judge("leaking.joblib", "--draft-policy=other.toml", "--draft-cache")
    assert project.result()["cached"] is False


@pytest.mark.nightly
@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b"0" * 64 + b"\n{}"], ids=repr)
def test_a_damaged_entry_is_ignored_and_written_anew(project, judge, damage):
    judge()
    (entry,) = entries(project)
    entry.write_bytes(damage)
    assert judge() == 1
    assert entries(project) == [entry]
    assert judge() == 0
    assert project.result()["metrics"]["perfect_rows"] == 40


@pytest.mark.nightly
def test_an_entry_with_another_number_in_it_is_ignored(project, judge):
    judge()
    (entry,) = entries(project)
    text = entry.read_text()
    assert '"perfect": {"lower": 40' in text
    entry.write_text(text.replace('"perfect": {"lower": 40', '"perfect": {"lower": 4'))
    assert judge() == 1


@pytest.mark.nightly
def test_pytest_clears_it_with_its_own_cache(project, judge):
    judge()
    assert judge("--cache-clear") == 1


@pytest.mark.nightly
def test_data_from_a_hook_are_never_kept(project, judge):
    project.write(
        "conftest.py",
        "import pandas as pd\ndef pytest_draft_load_training_data(forest):\n    return pd.read_csv('train.csv')\n",
    )
    assert judge(data=None) == 1
    assert entries(project) == []


@pytest.mark.parametrize("strict_in_ini", [True, False])
def test_a_strict_run_refuses_the_option(project, judge, one_line_error, strict_in_ini):
    if strict_in_ini:
        project.write("pytest.ini", "[pytest]\ndraft_strict = true\n")
        judge()
    else:
        judge("--draft-strict")
    assert "--draft-strict computes everything anew" in one_line_error(judge.result)


@pytest.mark.nightly
def test_a_strict_run_turns_off_what_the_ini_file_asks_for(project, judge):
    project.write("pytest.ini", "[pytest]\ndraft_cache = true\n")
    judge(cache=False)
    assert judge(cache=False) == 0
    assert judge("--draft-strict", cache=False) == 1
    assert project.result()["cached"] is False


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--draft-report-rows", "and --draft-report-rows needs them"),
        ("-pno:cacheprovider", "pytest's cache is off"),
    ],
)
def test_what_the_cache_cannot_serve_is_a_usage_error(judge, one_line_error, argument, message):
    judge(argument)
    assert message in one_line_error(judge.result)


@pytest.mark.nightly
def test_no_value_of_a_row_is_kept(project, judge, rows):
    bounds, planted = [9_871_711, 9_871_714], [9_871_712, 9_871_713]
    values = np.random.default_rng(0).choice(planted, len(rows) - 2)
    rows.insert(0, "age", np.concatenate([bounds, values]))
    project.train(RandomForestClassifier(20, bootstrap=False, random_state=0), rows)
    # With time enough for a slow machine, on which kernels are compiled meanwhile.
    assert judge("--draft-budget=1200", forest="other.joblib", data="other.csv", most=len(rows)) == 1
    assert project.result()["metrics"]["perfect_rows"] == len(rows)
    assert len(entries(project)) == 1
    kept = "".join(path.read_text() for path in project.path.glob(".pytest_cache/**/*") if path.is_file())
    assert not any(str(value) in kept for value in (*bounds, *planted))


def test_no_index_of_a_row_is_kept(project, judge):
    judge()
    _, _, text = entries(project)[0].read_text().partition("\n")
    content = json.loads(text)
    assert content["entropy"]["most_exposed"] == []
    assert "case" not in content
