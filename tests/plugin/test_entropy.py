"""The entropy audit, from the command line to the report: trees, rule lists, and what is not attacked."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

POLICY = """
schema_version = 1
name = "readable"

[rules.entropy-reduction]
max_entropy_reduction = {overall}
max_row_entropy_reduction = {row}
"""

RULES = """
schema_version = 1
classes = ["no", "yes"]

[[rules]]
if = {{ c0 = true, c1 = true }}
then = "yes"
{first}

[[rules]]
if = {{ c2 = {{ not = true }} }}
then = "no"
{second}

[[rules]]
then = "yes"
{third}
"""


@pytest.fixture
def judge(project):
    """Return a function that judges a model by its entropy alone, and returns the run and its result."""

    def judged(model: str, *arguments: str, overall: float = 1, row: float = 1, data: str | None = "train.csv"):
        project.write("policy.toml", POLICY.format(overall=overall, row=row))
        target = [] if data is None else ["--draft-target=label"]
        run = project.judge(model, "--draft-policy=policy.toml", *target, *arguments, data=data)
        return run, project.result()

    return judged


@pytest.fixture
def rule_list(project, rows):
    """Return a function that writes a rule list, with true counts of what its rules capture, others or none."""

    def written(counts: str = "true") -> str:
        first = (rows["c0"] == 1) & (rows["c1"] == 1)
        second = ~first & (rows["c2"] == 0)
        told = []
        for which in (first, second, ~first & ~second):
            yes = int((rows["label"][which] == "yes").sum()) + (counts == "others")
            told.append("" if counts == "none" else f"counts = [{int(which.sum()) - yes}, {yes}]")
        return project.write("list.toml", RULES.format(first=told[0], second=told[1], third=told[2]))

    return written


@pytest.mark.nightly
def test_a_tree_is_judged_by_its_entropy_without_an_attack(project, judge, rows):
    project.train(DecisionTreeClassifier(max_depth=2, random_state=0), rows)
    run, result = judge("other.joblib", overall=0.1, data="other.csv")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*failed: the model takes away 0.* of the uncertainty about the training rows; *"])
    run.stdout.fnmatch_lines(["*of 8.0 bits of uncertainty about each row, the tree leaves *"])
    assert result["solver_status"] == "not asked"
    assert result["metrics"]["reconstruction_error"] is None
    assert result["metrics"]["entropy_reduction"] == pytest.approx(2 / 8)
    assert result["metrics"]["entropy_reduction_exact"]
    assert result["entropy"]["trees"] == {"lowest": 0.75, "mean": 0.75, "highest": 0.75, "examined": 1}
    assert {group["name"] for group in result["entropy"]["groups"]} >= {"class no", "class yes"}
    run, result = judge("other.joblib", overall=0.25, row=0.25, data="other.csv")
    assert run.ret == 0


@pytest.mark.nightly
def test_rows_are_named_only_where_that_is_asked_for(project, judge, rows):
    project.train(DecisionTreeClassifier(max_depth=3, random_state=0), rows)
    assert "most_exposed_rows" not in judge("other.joblib", data="other.csv")[1]["entropy"]
    named = judge("other.joblib", "--draft-report-rows", data="other.csv")[1]["entropy"]["most_exposed_rows"]
    assert len(named) == 10
    assert set(named) <= set(range(len(rows)))


@pytest.mark.nightly
@pytest.mark.parametrize("counts", ["true", "none"])
def test_a_rule_list_is_judged(judge, rule_list, rows, counts):
    run, result = judge(rule_list(counts), overall=0.01)
    assert run.ret == 1
    n_first = int(((rows["c0"] == 1) & (rows["c1"] == 1)).sum())
    n_second = int((((rows["c0"] == 0) | (rows["c1"] == 0)) & (rows["c2"] == 0)).sum())
    n_rest = len(rows) - n_first - n_second
    bits = n_first * 6 + (n_second + n_rest) * np.log2(3 * 2**5)
    assert result["metrics"]["entropy_reduction"] == pytest.approx(1 - bits / (8 * len(rows)))
    assert result["entropy"]["rows_measured_on"] == "the rule list"
    assert judge("list.toml", overall=0.5)[0].ret == 0


@pytest.mark.nightly
def test_a_rule_list_goes_where_a_forest_does(project, judge, rule_list):
    kinds = {"svr": "svr.json", "model-card": "card.md", "cyclonedx": "cdx.json", "gitlab": "gitlab.json"}
    judge(rule_list(), *(f"--draft-report={kind}" for kind in kinds), overall=0.5)
    texts = {kind: (project.path / f"draft-report.{end}").read_text(encoding="utf-8") for kind, end in kinds.items()}
    passed = ["PYTEST_DRAFT_PASSED", "PYTEST_DRAFT_entropy-reduction[artifact]"]
    assert json.loads(texts["svr"])["predicate"]["properties"] == passed
    assert "8.0 bits of uncertainty about each row, the rule list leaves" in texts["model-card"]
    (component,) = json.loads(texts["cyclonedx"])["components"]
    metrics = {one["type"] for one in component["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]}
    assert "pytest-draft:entropy_reduction" in metrics
    assert json.loads(texts["gitlab"]) == []


@pytest.mark.nightly
def test_a_rule_list_that_was_trained_on_other_rows_is_inconclusive(judge, rule_list):
    run, result = judge(rule_list("others"))
    assert run.ret == 1
    assert result["verdict"] == "inconclusive"
    run.stdout.fnmatch_lines(
        ["*this rule list was not trained on these rows: 3 of its 3 rules captured other numbers*"]
    )


def test_a_rule_list_is_not_attacked_and_says_so(project, rule_list):
    run = project.judge(rule_list(), "--draft-target=label")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*there is no attack on rule lists: judge this one with --draft-policy interpretable*"])
    assert project.result()["verdict"] == "inconclusive"


def test_without_training_data_a_domain_is_enough(project, judge, rows):
    project.train(DecisionTreeClassifier(max_depth=2, random_state=0), rows)
    project.write("domain.toml", 'others = "binary"\n')
    run, result = judge("other.joblib", "--draft-domain=domain.toml", overall=0.3, data=None)
    assert run.ret == 0
    assert result["metrics"]["entropy_reduction"] == pytest.approx(0.25)
    assert result["entropy"]["groups"] == []


@pytest.mark.nightly
def test_a_domain_without_some_training_rows_passes_nothing(project, judge, rows):
    project.train(DecisionTreeClassifier(max_depth=1, random_state=0), rows.assign(c7=rows["c7"] * 3))
    project.write("domain.toml", 'others = "binary"\n[attributes.c7]\nkind = "ordinal"\nlow = 0\nhigh = 2\n')
    run, result = judge("other.joblib", "--draft-domain=domain.toml", data="other.csv")
    assert run.ret == 1
    assert result["verdict"] == "inconclusive"
    run.stdout.fnmatch_lines(["*inconclusive: the domain of *domain.toml excludes * training rows by attribute 'c7'*"])


@pytest.mark.nightly
def test_of_a_forest_no_pass_rests_on_single_trees(judge):
    run, result = judge("bagged.joblib", overall=0.999)
    assert run.ret == 1
    assert result["checks"][0]["result"] in ("failed", "inconclusive")
    lower, upper = result["entropy"]["ratio_bounds"]
    assert lower < upper <= result["entropy"]["trees"]["lowest"]


@pytest.mark.nightly
def test_the_attack_narrows_what_all_trees_leave(project):
    project.judge("leaking.joblib")
    result = project.result()
    assert result["solver_status"] == "unique"
    assert result["metrics"]["entropy_reduction_exact"]
    assert result["entropy"]["rows_measured_on"] == "all trees together"
    assert result["metrics"]["entropy_reduction"] > 1 - result["entropy"]["trees"]["lowest"]


@pytest.mark.nightly
def test_side_knowledge_is_inconclusive(project):
    project.write("policy.toml", POLICY.format(overall=1, row=1))
    run = project.judge("shallow.joblib", "--draft-policy=policy.toml", "--draft-adversary=artifact+columns:c0")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*inconclusive: how much the file tells an adversary with side knowledge *"])


@pytest.mark.nightly
def test_a_marker_states_a_budget_of_entropy(project):
    project.mark("max_entropy_reduction=0.01")
    run = project.judge("shallow.joblib")
    run.stdout.fnmatch_lines(["*failed: the model takes away *max_entropy_reduction allows at most 0.01*"])


@pytest.mark.nightly
def test_numeric_thresholds_keep_a_tree_from_passing_closely(project, judge, rows):
    rng = np.random.default_rng(0)
    table = rows.assign(c0=rng.normal(size=len(rows)))
    project.train(DecisionTreeClassifier(max_depth=4, random_state=0), table)
    _, result = judge("other.joblib", data="other.csv")
    lower, upper = result["entropy"]["ratio_bounds"]
    assert lower < upper
    assert result["entropy"]["lowest_row_ratio_bounds"][0] < result["entropy"]["lowest_row_ratio_bounds"][1]
