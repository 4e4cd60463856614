"""Columns that a policy names, from the policy to the reports."""

from __future__ import annotations

POLICY = """schema_version = 1
name = "ours"
sensitive = ["c3", "label"]

[rules.sensitive-columns]
max_told_share = 0.1
"""


def test_a_leak_of_a_column_fails_and_is_told_by_its_name_in_every_report(project):
    project.write("ours.toml", POLICY)
    arguments = (
        "--draft-policy=ours.toml",
        "--draft-report=markdown:it.md",
        "--draft-report=html:it.html",
        "--draft-budget=900",
    )
    result = project.judge("leaking.joblib", *arguments)
    assert result.ret == 1
    column, label = project.result()["sensitive"]
    assert (column["name"], column["attributes"]) == ("c3", ["c3"])
    assert column["told"]["told"] > column["told"]["without"]
    assert column["given_all_other_rows"]["told"] == 1
    assert label["attributes"] == []
    assert label["told"] == project.result()["label_told"]["told"]
    told = project.result()["metrics"]
    assert told["sensitive_told"] == column["told"]["told"] / column["told"]["rows"]
    (check,) = project.result()["checks"]
    assert (check["rule"], check["result"]) == ("sensitive-columns", "failed")
    for name in ("it.md", "it.html"):
        text = (project.path / name).read_text(encoding="utf-8")
        assert "Given all other rows: proved" in text
        assert "reads c3 of" in text


def test_a_column_that_there_is_not_is_refused_in_one_line(project):
    project.write("ours.toml", POLICY.replace("c3", "height"))
    assert project.judge("leaking.joblib", "--draft-policy=ours.toml").ret == 1
    told = project.result()
    assert (told["solver_status"], told["verdict"], told["sensitive"]) == ("refused", "inconclusive", [])
    (reason,) = told["reasons"]
    assert reason.startswith(
        "the policy's sensitive column 'height' is none that the model sees, nor its label: write it"
    )
