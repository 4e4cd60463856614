"""Whole judgements of boosted trees, from file to verdict, by the default policy."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from boosters import KINDS, booster
from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import Statements
from pytest_draft.attack.boosted.counted import row_numbers
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.errors import DataError, NotCoveredError
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.hardening.files import harden
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of

POLICY = default_policy()


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
        asked = Case(artifact=str(tmp_path / "model.joblib"), target="label", seconds=60.0, effort=0.02)
        examination, _ = examine(replace(asked, **case), table if beside is None else beside, enough=Enough(POLICY))
        checks = judge(examination, POLICY)
        return verdict_of((check.result, check.counts) for check in checks), examination

    return judged


def check_of(examination, rule):
    """Return what one rule says."""
    return next(check for check in judge(examination, POLICY) if check.rule == rule)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_many_rounds_on_few_rows_fail(judged, kind):
    verdict, examination = judged(booster(kind), people(), full=True)
    findings = examination.findings
    assert verdict == "failed"
    assert findings.identity.status == "confirmed"
    assert findings.whole.error.upper < findings.whole.split_half.error


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_small_boosters_of_many_rows_pass(judged, kind):
    verdict, examination = judged(booster(kind, 10, 2), numbers(1_000, n_columns=6))
    assert verdict == "passed"
    assert examination.informed.bits > 60


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_others_rows_are_recognised(judged, kind):
    verdict, examination = judged(booster(kind, 20), people(), people(seed=1))
    assert verdict != "passed"
    assert any("was not trained on these rows" in reason for reason in examination.reasons)


HELD_BACK = {"as fitted": True, "shuffled": False, "one row too many": False, "one row missing": False}


@pytest.mark.nightly
@pytest.mark.parametrize("beside", HELD_BACK)
def test_early_stopping_is_judged_by_the_rows_that_it_did_not_hold_back(judged, beside):
    table = people(300)
    others = {
        "shuffled": table.sample(frac=1, random_state=0),
        "one row too many": pd.concat([table, table[:1]]),
        "one row missing": table[1:],
    }
    settings = {"max_iter": 10, "max_leaf_nodes": 5, "min_samples_leaf": 5, "random_state": 0}
    model = HistGradientBoostingClassifier(early_stopping=True, **settings)
    verdict, examination = judged(model, table, others.get(beside, table))
    assert HELD_BACK[beside] or verdict != "passed"
    strange = ("was not trained on these rows", "was trained on 270 rows, and the data hold 299")
    assert any(words in reason for words in strange for reason in examination.reasons) != HELD_BACK[beside]
    if HELD_BACK[beside]:
        assert examination.data.rows == 270
        assert examination.informed is not None
        assert any("held back to stop early" in note for note in examination.notes)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["gbc", "xgb"])
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.assign(label=np.where(table["label"] == 1, "no", "yes")),
        lambda table: table.assign(label=7 - 2 * table["label"]),
        lambda table: table.assign(twice=table["d"], same=3, label=table.pop("label")),
    ],
    ids=["texts", "codes", "columns"],
)
def test_names_of_classes_and_columns_that_add_nothing_change_nothing(judged, kind, change):
    if kind == "xgb" and "label" in change(people()) and change(people())["label"].isin(["no", 5]).any():
        pytest.skip("XGBoost takes classes from 0 on")
    verdict, examination = judged(booster(kind), change(people()))
    assert verdict == "failed"
    assert examination.findings.identity.status == "confirmed"


@pytest.mark.nightly
def test_the_order_of_rows_means_nothing(judged):
    table = people()
    verdict, examination = judged(booster("hgb"), table, table.sample(frac=1, random_state=0))
    assert verdict == "failed"
    assert examination.findings.identity.status == "confirmed"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["gbc", "hgb"])
def test_two_rows_do_not_pass(judged, kind):
    table = people().iloc[:2].assign(label=[0, 1])
    verdict, examination = judged(booster(kind, 3), table)
    assert verdict != "passed"
    assert examination.solver_status != "error"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_three_classes(judged, kind):
    verdict, examination = judged(booster(kind, 20), people(n_classes=3))
    assert verdict == "failed"
    assert examination.findings.identity.status == "confirmed"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "model", [GradientBoostingRegressor(n_estimators=20), HistGradientBoostingRegressor(max_iter=20)]
)
@pytest.mark.parametrize("table", [people, numbers])
def test_of_regressors_rows_are_rebuilt_by_their_numbers(judged, model, table):
    table = table()
    table["label"] += np.random.default_rng(0).normal(size=len(table))
    _, examination = judged(model, table)
    assert examination.findings.identity.status == "confirmed"
    assert any("whoever uses them gets closer" in reason or "cut short" in reason for reason in examination.reasons)
    assert not any("target" in reason and "rebuilt" in reason for reason in examination.reasons)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_sums_over_numeric_columns_are_not_used_and_that_is_said(judged, kind):
    verdict, examination = judged(booster(kind), numbers())
    assert examination.findings.identity.status == "confirmed"
    assert verdict == "failed" or any("not the sums of gradients" in reason for reason in examination.reasons)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["hgb", "xgb", "lgb"])
def test_missing_values(judged, kind):
    table = numbers()
    table.loc[::7, "a"] = np.nan
    _, examination = judged(booster(kind), table)
    assert examination.solver_status != "error"
    assert examination.findings.identity.status == "confirmed"


@pytest.mark.nightly
def test_gradient_boosting_takes_no_missing_values(judged):
    table = numbers()
    holes = table.copy()
    holes.loc[::3, "a"] = np.nan  # so that no way of filling them explains the file
    verdict, examination = judged(booster("gbc", 5), table, holes)
    assert verdict != "passed"
    assert any("GradientBoostingClassifier does not take" in reason for reason in examination.reasons)


@pytest.mark.nightly
def test_whoever_knows_all_other_rows_knows_leaves_and_classes_by_sums(judged):
    verdict, examination = judged(booster("gbc"), people(), adversary="artifact+informed")
    assert verdict == "failed"
    assert examination.findings.whole.perfect.lower > 80
    assert examination.reasons == ()


@pytest.mark.nightly
@pytest.mark.parametrize("adversary", ["artifact+rows:25%", "artifact+columns:2", "published", "artifact+n-unknown"])
def test_adversaries(judged, adversary):
    verdict, examination = judged(booster("hgb"), people(), adversary=adversary)
    assert verdict == "failed"
    assert examination.findings.identity.status == "confirmed"


@pytest.mark.nightly
def test_counts_are_not_said_to_be_removable(judged):
    _, examination = judged(booster("hgb", 5), people())
    check = check_of(examination, "counts-published")
    assert check.result == "failed"
    assert "the sum of their gradients" in check.sentence
    assert "removing its counts does not help" in check.remedy
    assert examination.artifact.published.counts == "rows and sums of gradients"


@pytest.mark.nightly
def test_bins_that_hold_values_of_rows_fail(judged):
    table = numbers(300)
    verdict, examination = judged(HistGradientBoostingClassifier(max_iter=3, max_depth=2), table)
    assert verdict == "failed"
    assert check_of(examination, "verbatim-data").result == "failed"


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_rows_follow(tmp_path, kind):
    table = numbers()
    model = booster(kind, 5).fit(table.drop(columns="label"), table["label"])
    joblib.dump(model, tmp_path / "model.joblib")
    forest = read(tmp_path / "model.joblib").forest
    counted = row_numbers(forest)
    rows = np.ascontiguousarray(table.drop(columns="label").to_numpy(np.float32).T)
    assert counted.n_samples == len(table)
    for number, tree in enumerate(counted.trees):
        leaf = leaf_positions(tree, rows)
        assert counted.counts(number)[tree.leaves, 0].tolist() == np.bincount(leaf, minlength=len(tree.leaves)).tolist()


def test_numbers_of_rows_that_are_not_told_follow_from_hessians_that_are_alike(tmp_path):
    table = numbers()
    model = booster("hgb", 5).fit(table.drop(columns="label"), table["label"])
    joblib.dump(model, tmp_path / "model.joblib")
    forest = read(tmp_path / "model.joblib").forest
    said = forest.observation
    p = 1 / (1 + np.exp(-said.base[0]))
    stated, told = [], []
    for tree, own in zip(forest.trees, said.statements, strict=True):
        n = len(tree.leaves)
        sums = Statements(
            tree.leaves, np.tile([0.0, 0.0, 1.0, 0.0], (n, 1)), tree.weight[tree.leaves] * p * (1 - p), np.full(n, 1e-6)
        )
        of_gradients = own.weight[:, 1] != 0
        steps = Statements(*(part[of_gradients] for part in (own.node, own.weight, own.total, own.tolerance)))
        stated.append(steps)
        told.append(Statements.joined([steps, sums]))
    nothing = tuple(replace(tree, weight=tree.weight * 0, n_distinct=tree.n_distinct * 0) for tree in forest.trees)
    bare = replace(
        forest, trees=nothing, n_samples=None, observation=replace(said, counted=False, statements=tuple(told))
    )
    counted = row_numbers(bare)
    assert counted.n_trees == 1 and counted.n_samples == len(table)
    assert counted.trees[0].n_distinct.tolist() == forest.trees[0].n_distinct.tolist()
    with pytest.raises(NotCoveredError, match="neither numbers of rows nor sums of hessians"):
        row_numbers(replace(bare, observation=replace(bare.observation, statements=tuple(stated))))


@pytest.mark.parametrize("kind", KINDS)
def test_hardening_is_refused_in_one_line(tmp_path, kind):
    table = people()
    model = booster(kind, 3).fit(table.drop(columns="label"), table["label"])
    with pytest.raises(DataError, match="is not hardened: each leaf's value is an equation") as refused:
        harden(model, tmp_path / "hardened.joblib")
    assert "\n" not in str(refused.value)
