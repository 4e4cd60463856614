"""Whole judgements of boosted trees, from file to verdict, by the default policy."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of

POLICY = default_policy()
KINDS = ("gbc", "hgb", "xgb", "lgb", "cat")


def booster(kind, rounds=40, depth=3):
    """Return an unfitted booster of one of the libraries."""
    if kind == "gbc":
        return GradientBoostingClassifier(n_estimators=rounds, max_depth=depth, random_state=0)
    if kind == "hgb":
        sizes = {"max_iter": rounds, "max_depth": depth, "min_samples_leaf": 5, "max_bins": 20}
        return HistGradientBoostingClassifier(**sizes, early_stopping=False)
    if kind == "xgb":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=rounds, max_depth=depth, n_jobs=1)
    if kind == "lgb":
        library = pytest.importorskip("lightgbm")
        sizes = {"n_estimators": rounds, "max_depth": depth, "min_child_samples": 5}
        return library.LGBMClassifier(**sizes, verbose=-1, n_jobs=1)
    library = pytest.importorskip("catboost")
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return library.CatBoostClassifier(iterations=rounds, depth=depth, random_seed=0, **quiet)


def people(n_rows=120, seed=0, n_classes=2):
    """Return a table of five columns of few values, and a label."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {name: rng.integers(0, top, n_rows) for name, top in zip("abcde", (2, 2, 3, 4, 4), strict=True)}
    )
    table.iloc[:2] = [[0, 0, 0, 0, 0], [1, 1, 2, 3, 3]]  # the same domain for all
    score = table["a"] + table["d"] / 2 + rng.normal(size=n_rows)
    return table.assign(label=pd.qcut(score, n_classes, labels=False).astype(int))


def numbers(n_rows=120, seed=0, n_columns=5):
    """Return a table of numeric columns, and a label."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n_rows, n_columns)).astype(np.float32), columns=[*"abcdefghij"[:n_columns]])
    return table.assign(label=(table["a"] + table["b"] + rng.normal(size=n_rows) > 0).astype(int))


@pytest.fixture
def judged(tmp_path):
    """Return a function that fits a model to a table and judges its file beside any table."""

    def judged(model, table, beside=None, **case):
        model.fit(table.drop(columns="label"), table["label"])
        joblib.dump(model, tmp_path / "model.joblib")
        asked = Case(artifact=str(tmp_path / "model.joblib"), target="label", seconds=20.0, effort=0.1)
        examination, _ = examine(replace(asked, **case), table if beside is None else beside, enough=Enough(POLICY))
        checks = judge(examination, POLICY)
        return verdict_of((check.result, check.counts) for check in checks), examination

    return judged


def check_of(examination, rule):
    """Return what one rule says."""
    return next(check for check in judge(examination, POLICY) if check.rule == rule)


@pytest.mark.parametrize("kind", KINDS)
def test_many_rounds_on_few_rows_fail(judged, kind):
    verdict, examination = judged(booster(kind), people())
    findings = examination.findings
    assert verdict == "failed"
    assert findings.identity.status == "confirmed"
    assert findings.error.upper < 0.5 * findings.split_half.error


@pytest.mark.parametrize("kind", KINDS)
def test_small_boosters_of_many_rows_pass(judged, kind):
    verdict, examination = judged(booster(kind, 10, 2), numbers(1_000, n_columns=8))
    print(
        examination.reasons,
        examination.informed.bits,
        [(c.rule, c.sentence) for c in judge(examination, POLICY) if c.result != "passed"],
    )
    assert verdict == "passed"


@pytest.mark.parametrize("kind", KINDS)
def test_others_rows_are_recognised(judged, kind):
    verdict, examination = judged(booster(kind), people(), people(seed=1))
    print(examination.solver_status, examination.reasons)
    assert verdict != "passed"
    assert any("was not trained on these rows" in reason for reason in examination.reasons)
