"""Numeric columns and missing values, from the table to the report."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

pytestmark = pytest.mark.nightly

N_PEOPLE = 36
EFFORT = ("--draft-effort=0.02", "--draft-budget=1200")  # whatever is compiled meanwhile
PLANTED = 9871.5
COUNTS_MISSING = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)


def people(seed: int) -> pd.DataFrame:
    """Return rows with numeric, ordinal and binary columns, and their label."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "height": rng.normal(size=N_PEOPLE),
            "weight": rng.normal(size=N_PEOPLE).round(2),
            "grade": rng.integers(0, 4, N_PEOPLE),
            "flag": rng.integers(0, 2, N_PEOPLE),
        }
    )
    table["label"] = np.where(table.sum(axis=1) + rng.normal(size=N_PEOPLE) > 2, "yes", "no")
    return table


@pytest.fixture
def table() -> pd.DataFrame:
    """Return the training rows, a table of one's own."""
    return people(0)


@pytest.mark.parametrize(
    "forest",
    [RandomForestClassifier(6, random_state=0), ExtraTreesClassifier(6, random_state=0)],
    ids=["random forest", "extra trees"],
)
def test_the_same_effort_gives_the_same_report_whatever_the_number_of_workers(project, without_times, table, forest):
    project.train(forest, table)
    reports = []
    for workers in (1, 2, 1):
        project.judge("other.joblib", *EFFORT, "--draft-full", f"--draft-workers={workers}", data="other.csv")
        report = without_times(project.result())
        del report["workers"]
        reports.append(report)
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["metrics"]["reconstruction_error"] is not None


def test_figures_on_numeric_columns_stand_beside_guesses_in_the_report_and_the_terminal(project, table):
    project.train(ExtraTreesClassifier(6, random_state=0), table)
    policy = "schema_version = 1\nname = 'attacked'\n\n[rules.reconstruction-error]\nmax_error = 0.01\n"
    chosen = "--draft-policy", project.write("attacked.toml", policy)  # which nothing but an attack can decide
    result = project.judge("other.joblib", *EFFORT, *chosen, data="other.csv")
    metrics, numeric = project.result()["metrics"], project.result()["baselines"]["numeric"]
    assert metrics["proved_values"] > 0
    assert 0 <= metrics["exact_values"] <= metrics["close_values"] <= 1
    assert metrics["median_error"] == numeric["median"]["error"]
    error, median = metrics["reconstruction_error"], metrics["median_error"]
    result.stdout.fnmatch_lines([f"  the error is {error:.4f} (always guessing the median: {median:.4f}; *"])


@pytest.mark.parametrize("bootstrap", [False, True])
def test_rows_of_others_never_pass(project, table, bootstrap):
    project.train(RandomForestClassifier(6, bootstrap=bootstrap, random_state=0), table)
    people(1).to_csv(project.path / "strangers.csv", index=False)
    project.judge("other.joblib", *EFFORT, data="strangers.csv")
    assert project.result()["verdict"] == "inconclusive"
    assert "this forest was not trained on these rows" in project.result()["reasons"][0]


@pytest.mark.parametrize(
    ("off", "said"),
    [(0.5, "they explain its counts, but not 1 of its"), (1e-6, "thresholds not to the last digit")],
    ids=["another value", "a rounded value"],
)
def test_one_value_that_was_changed_between_two_thresholds_is_told(project, table, off, said):
    table["height"] = np.arange(len(table)) * 2.0 - 30.5
    table["label"] = np.where(table["height"] > 0, "yes", "no")
    forest = DecisionTreeClassifier(max_depth=1, random_state=0)
    project.train(forest, table)
    lowest = table.loc[table["height"] > 0, "height"].idxmin()
    table.loc[lowest, "height"] += off
    table.to_csv(project.path / "changed.csv", index=False)
    result = project.judge("other.joblib", *EFFORT, data="changed.csv")
    judged = project.result()
    assert any(said in text for text in (judged["reasons"] if off > 0.1 else judged["notes"]))
    assert "internal error" not in result.stdout.str()


def test_a_regressors_rows_are_rebuilt_and_a_changed_one_is_no_bug(project, table):
    table["label"] = np.random.default_rng(5).normal(size=len(table))
    project.train(RandomForestRegressor(12, random_state=0), table)
    project.judge("other.joblib", *EFFORT, data="other.csv")
    judged = project.result()
    assert judged["verdict"] == "failed"
    assert judged["metrics"]["certain_values"] > 0
    table.loc[:, "height"] += np.where(np.arange(len(table)) % 7 == 3, 1e-3, 0)
    table.to_csv(project.path / "changed.csv", index=False)
    project.judge("other.joblib", *EFFORT, data="changed.csv")
    (reason,) = [text for text in project.result()["reasons"] if "trained on" in text]
    assert reason.startswith("this forest was not trained on these rows")
    assert not any("internal error" in text for text in project.result()["reasons"])


@pytest.mark.parametrize("forest", [RandomForestClassifier(6, random_state=0), ExtraTreesClassifier(6, random_state=0)])
def test_a_domain_that_excludes_values_is_told_to_be_wrong(project, table, forest):
    project.train(forest, table)
    numeric = '[attributes.{}]\nkind = "numeric"\nlow = {}\nhigh = {}\n'.format
    project.write(
        "domain.toml",
        'others = "binary"\n[attributes.grade]\nkind = "ordinal"\nlow = 0\nhigh = 3\n'
        + numeric("height", -1, 1)
        + numeric("weight", -9, 9),
    )
    project.judge("other.joblib", *EFFORT, "--draft-domain=domain.toml", data="other.csv")
    assert project.result()["verdict"] != "passed"
    assert any("'height': correct the domain" in reason for reason in project.result()["reasons"])


def test_whole_numbers_that_a_domain_declares_numeric_never_pass(project):
    columns = [f'[attributes.c{i}]\nkind = "numeric"\nlow = 0\nhigh = 1\n' for i in range(8)]
    project.write("domain.toml", "".join(columns))
    project.judge("leaking.joblib", "--draft-domain=domain.toml")
    judged = project.result()
    assert judged["verdict"] == "failed" or "hold few different values" in judged["reasons"][0]


@pytest.mark.skipif(not COUNTS_MISSING, reason="before scikit-learn 1.9 counts of missing values say nothing")
@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(6, random_state=0),
        ExtraTreesClassifier(6, random_state=0),
        DecisionTreeClassifier(random_state=0),
    ],
    ids=["random forest", "extra trees", "tree"],
)
@pytest.mark.parametrize("columns", [["height"], ["grade", "flag"]], ids=["numeric", "discrete"])
def test_missing_values_are_judged(project, table, forest, columns):
    for i, column in enumerate(columns):
        table[column] = table[column].astype(float).where((table.index + i) % 5 > 0)
    project.train(forest, table)
    project.judge("other.joblib", *EFFORT, "--draft-full", data="other.csv")
    judged = project.result()
    assert judged["metrics"]["reconstruction_error"] is not None
    assert (
        f"that values may be missing in {len(columns)} columns: {', '.join(columns)}"
        in (judged["domain"]["granted_to_adversary"])
    )
    assert not any("trained on" in reason or "internal" in reason for reason in judged["reasons"])


@pytest.mark.skipif(not COUNTS_MISSING, reason="before scikit-learn 1.9 counts of missing values say nothing")
@pytest.mark.parametrize("forest", [RandomForestRegressor(8, random_state=0), ExtraTreesRegressor(8, random_state=0)])
def test_rows_that_cannot_have_given_the_counts_are_never_called_consistent(project, table, forest):
    """A regressor's rows are identified by their targets; bounds of their values do not say which are missing."""
    table["height"] = table["height"].where(table.index % 5 > 0)
    table["label"] = np.random.default_rng(5).normal(size=len(table))
    project.train(forest, table)
    project.judge("other.joblib", *EFFORT, "--draft-full", data="other.csv")
    judged = project.result()
    assert judged["metrics"]["reconstruction_error"] is not None
    if judged["metrics"]["exact_rows"] < 1:
        assert judged["verdict"] != "passed"
        assert (judged["solver_status"] == "consistent") == (judged["metrics"]["residual"] == 0)


@pytest.mark.parametrize("forest", [RandomForestClassifier(6, random_state=0), ExtraTreesClassifier(6, random_state=0)])
def test_no_planted_value_is_shown(project, table, forest):
    rng = np.random.default_rng(0)
    table["height"] = np.concatenate([[0.25, 20000.75], rng.choice([PLANTED, PLANTED + 1.25, 1.75], N_PEOPLE - 2)])
    project.train(forest, table)
    result = project.judge(
        "other.joblib", *EFFORT, "--showlocals", "--tb=long", "-vv", "-rA", "--junitxml=junit.xml", data="other.csv"
    )
    outputs = [result.stdout.str(), result.stderr.str()]
    outputs += [(project.path / name).read_text(encoding="utf-8") for name in ("junit.xml", "report.json")]
    assert not any(str(value) in text for text in outputs for value in (PLANTED, PLANTED + 1.25))
