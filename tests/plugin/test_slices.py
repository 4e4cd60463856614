"""Slices, from the policy to the reports."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

POLICY = """schema_version = 1
name = "ours"
by_class = true

[[slice]]
name = "those of c0"
if = {c0 = true, c1 = {above = -1}}

[rules.reconstruction-error]
max_error_of_split_half = 0.5
"""


FEW = POLICY.replace("by_class = true\n", "").replace(", c1 = {above = -1}", "")


@pytest.mark.nightly
def test_a_leak_is_told_of_every_slice_in_every_report(project):
    project.write("ours.toml", POLICY)
    result = project.judge(
        "leaking.joblib", "--draft-policy=ours.toml", "--draft-report=markdown:it.md", "--draft-report=html:it.html"
    )
    assert result.ret == 1
    slices = project.result()["slices"]
    assert [one["name"] for one in slices] == ["those of c0", "class no", "class yes"]
    assert slices[1]["rows"] + slices[2]["rows"] == project.result()["data"]["rows"]
    assert all(one["error"] == 0 and one["perfect_rows"] == one["rows"] == one["rebuilt_rows"] for one in slices)
    for name in ("it.md", "it.html"):
        assert "those of c0" in (project.path / name).read_text(encoding="utf-8")


@pytest.mark.nightly
def test_a_leak_of_a_few_fails_in_their_slice(project):
    """The label of most rows is always the same, so that trees ask nothing about them; it is noise for the others."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (150, 9))
    rows[:, 0] = np.arange(150) < 30
    frame = pd.DataFrame(rows, columns=[f"c{index}" for index in range(9)])
    frame["label"] = np.where(rows[:, 0] == 1, rng.integers(0, 2, 150), 0)
    forest = RandomForestClassifier(30, bootstrap=False, max_features=8, random_state=0)
    project.train(forest, frame, "uneven")
    project.write("ours.toml", FEW)
    assert project.judge("uneven.joblib", "--draft-policy=ours.toml", data="uneven.csv").ret == 1
    whole = project.result()["metrics"]
    (few,) = project.result()["slices"]
    assert few["error"] < 0.4 * few["split_half_error"]
    assert whole["reconstruction_error"] > 0.6 * whole["split_half_error"]


def test_a_column_that_there_is_not_is_refused_with_file_line_and_key(project):
    project.write("ours.toml", POLICY.replace("c1", "height"))
    result = project.judge("leaking.joblib", "--draft-policy=ours.toml")
    assert result.ret == 1
    told = project.result()
    assert told["solver_status"] == "refused"
    assert told["verdict"] == "inconclusive"
    assert told["slices"] == []
    (reason,) = told["reasons"]
    assert reason.endswith(
        "ours.toml: line 7: slice.0.if.height: there is no column 'height' in the encoded training data"
    )


@pytest.mark.nightly
def test_a_slice_of_nobody_is_no_pass(project):
    project.write("ours.toml", FEW.replace("true", "7"))
    assert project.judge("shallow.joblib", "--draft-policy=ours.toml").ret == 1
    (check,) = project.result()["checks"]
    assert check["result"] == "inconclusive"
    assert "slice 'those of c0': fewer than 10 rows" in check["sentence"]


@pytest.mark.nightly
def test_a_marked_test_is_judged_by_the_slices_of_the_policy(project):
    project.write("ours.toml", POLICY)
    project.configure()
    project.mark("max_error=0.0")
    project.run("--draft-policy=ours.toml", "--draft-report=json:report.json", "test_marked.py")
    (result,) = [one for one in project.report()["results"] if "test_marked" in one["checks"][0]["item"]]
    assert len(result["slices"]) == 3
