"""The README's examples, run as a reader would run them."""

from __future__ import annotations

import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.data import read_domain
from pytest_draft.policy.policy import read_policy, rules_folder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    """Return the README's code blocks of a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for written_in, text in fenced if written_in == language]


@pytest.fixture
def released(pytester):
    """A folder with a shallow forest and its data."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.integers(0, 2, (60, 8)), columns=[f"b{i}" for i in range(8)])
    table["income"] = random.integers(0, 2, 60)
    forest = RandomForestClassifier(n_estimators=3, max_depth=1, random_state=0)
    joblib.dump(forest.fit(table.drop(columns="income"), table["income"]), pytester.path / "model.joblib")
    table.to_csv(pytester.path / "train.csv", index=False)
    return pytester


def test_the_command_to_judge_a_model_works_as_it_stands(released):
    command = next(block for block in blocks("") if block.startswith("pytest --draft-forest"))
    result = released.runpytest_inprocess(*command.split()[1:])
    result.assert_outcomes(passed=4)


def test_the_command_to_judge_a_tree_works_as_it_stands(released):
    table = pd.read_csv(released.path / "train.csv")
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(table.drop(columns="income"), table["income"])
    joblib.dump(tree, released.path / "tree.joblib")
    (command,) = [block for block in blocks("") if block.startswith("pytest --draft-forest tree.joblib")]
    released.runpytest_inprocess(*command.split()[1:]).assert_outcomes(passed=1)


def test_the_rule_list_is_judged_as_it_stands(released):
    (text,) = [block for block in blocks("toml") if "[[rules]]" in block]
    released.makefile(".toml", list=text)
    rules = read(released.path / "list.toml").model
    assert rules.counts.tolist() == [[31, 112], [90, 104], [402, 61]]
    (released.path / "domain.toml").write_text(
        '[attributes.age]\nkind = "ordinal"\nlow = 18\nhigh = 90\n'
        '[attributes."sex:male"]\nkind = "binary"\n[attributes.priors]\nkind = "ordinal"\nlow = 0\nhigh = 40\n'
    )
    result = released.runpytest_inprocess(
        "--draft-forest=list.toml", "--draft-domain=domain.toml", "--draft-policy=interpretable"
    )
    result.stdout.fnmatch_lines(["*the rule list leaves *"])
    result.assert_outcomes(failed=1)


def test_the_command_to_judge_a_pipeline_works_as_it_stands(pytester):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 6)), columns=list("abcdef")).assign(job=random.choice(["x", "y"], 60))
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), list("abcdef")))
    label = pd.Series(random.integers(0, 2, 60), name="LABEL")
    pipeline = make_pipeline(encoder, RandomForestClassifier(n_estimators=3, max_depth=1, random_state=0))
    joblib.dump(pipeline.fit(table, label), pytester.path / "pipeline.joblib")
    table.assign(LABEL=label).to_csv(pytester.path / "raw.csv", index=False)
    (command,) = blocks("sh")
    pytester.runpytest_inprocess(*command.split()[1:]).assert_outcomes(passed=4)


def test_the_marked_test_works_as_it_stands(released):
    marked, *_ = blocks("python")
    released.makepyfile(test_release=marked)
    result = released.runpytest_inprocess("--draft-forest=model.joblib", "--draft-data=train.csv", "test_release.py")
    result.assert_outcomes(passed=5)


def test_the_fixtures_work_as_they_stand(pytester):
    _, fixtures, _ = blocks("python")
    pytester.makepyfile(test_fixtures=fixtures)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_the_private_forest_is_trained_and_judged_as_it_stands(pytester):
    pytest.importorskip("diffprivlib", reason="the estimators of the extra 'dp' need diffprivlib")
    *_, training = blocks("python")
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.integers(0, 2, (60, 8)), columns=[f"b{i}" for i in range(8)])
    table["LABEL"] = random.integers(0, 2, 60)
    table.to_csv(pytester.path / "train.csv", index=False)
    exec(f"import joblib\n{training}", {"X": table.drop(columns="LABEL"), "y": table["LABEL"]})
    (command,) = [block for block in blocks("bash") if block.startswith("pytest --draft-forest")]
    pytester.runpytest_inprocess(*command.split()[1:]).assert_outcomes(passed=2)


def test_the_ini_example_is_understood(released):
    ini, *_ = blocks("toml")
    released.makepyprojecttoml(ini)
    for folder, old, new in (("models", "model.joblib", "model.joblib"), ("data", "train.csv", "train.csv")):
        (released.path / folder).mkdir()
        (released.path / old).rename(released.path / folder / new)
    pd.read_csv(released.path / "data" / "train.csv").to_parquet(released.path / "data" / "train.parquet")
    released.runpytest_inprocess("--draft").assert_outcomes(passed=4)


def test_the_policy_and_the_domain_are_valid(tmp_path):
    policy, domain = (next(block for block in blocks("toml") if key in block) for key in ("[rules.", "[attributes."))
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    assert len(read_policy(tmp_path / "policy.toml").rules) == 3
    (tmp_path / "domain.toml").write_text(domain, encoding="utf-8")
    columns = ("female", "education_school", "education_college", "education_university", "grade", "children", "income")
    kinds = {attribute.name: attribute.kind for attribute in read_domain(tmp_path / "domain.toml", columns).attributes}
    assert kinds == {
        "female": "binary",
        "education": "one-hot",
        "grade": "ordinal",
        "children": "ordinal",
        "income": "numeric",
    }


def test_every_option_is_in_the_table(pytester):
    options = set(re.findall(r"--draft[a-z0-9-]*", pytester.runpytest_inprocess("--help").stdout.str()))
    assert {option for option in options if option not in README} == set()


def test_the_shipped_policies_are_where_the_readme_says():
    assert (rules_folder() / "default.toml").is_file()
    assert (ROOT / "rules" / "default.toml").is_file()
