"""What a file tells of labels and targets, beside what can be told of people whose rows are not in it."""

from __future__ import annotations

import re
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from boosters import booster, write
from pytest_draft.evaluate import outsiders
from pytest_draft.evaluate.outsiders import FOLDS, folds_of, predicted
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.rules import literals
from pytest_draft.facts.slices import Slice
from pytest_draft.policy.label_told import RULE
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rule import NotApplicable
from pytest_draft.timebox import TimeBox
from stripping import stripped

DEFAULT = default_policy().rules[RULE.id]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(outsiders, "MOST_TREES", 7)
    monkeypatch.setattr(outsiders, "MOST_ROUNDS", 7)


def numbers(n_rows: int = 120, seed: int = 0, noise: float = 1.0):
    """Return rows and a score that they tell in part."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    rows["e"] = rng.integers(0, 3, n_rows)
    return rows, (rows.a + rows.b + noise * rng.normal(size=n_rows)).to_numpy()


@pytest.fixture
def found(tmp_path):
    """Return a function that saves a fitted model and returns what its file tells of rows, without any attack."""

    def of(model, rows, labels, path=None, **case):
        if path is None:
            path = tmp_path / "model.joblib"
            joblib.dump(model, path)
        examined, _ = examine(Case(str(path), seconds=120, attack=False, **case), (rows, labels))
        return examined

    return of


def result(examined) -> str:
    return RULE.check(examined, DEFAULT).result


@pytest.mark.nightly
def test_a_full_tree_tells_all_labels_with_certainty_and_large_leaves_tell_no_more_than_other_models(found):
    rows, score = numbers()
    labels = np.where(score > 0, "ill", "well")
    full = found(DecisionTreeClassifier(random_state=0).fit(rows, labels), rows, labels)
    told = full.label_told.told
    assert (told.rows, told.told, told.certain, told.certain_gained) == (120, 120, 120, told.missed)
    assert 60 <= told.without < 110
    assert result(full) == "failed"
    coarse = found(DecisionTreeClassifier(min_samples_leaf=30, random_state=0).fit(rows, labels), rows, labels)
    assert coarse.label_told.doubts == ()
    assert result(coarse) == "passed"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("level", ["counts", "labels"])
def test_taking_counts_out_tells_no_fewer_labels(level, found):
    rows, score = numbers(90)
    labels = (score > 0).astype(int)
    model = RandomForestClassifier(15, random_state=0).fit(rows, labels)
    examined = found(stripped(model, level), rows, labels)
    assert examined.label_told.told.certain in (None, 0)  # which rows a tree drew is not known
    assert examined.label_told.told.told > 85
    assert result(examined) == "failed"


@pytest.mark.nightly
@pytest.mark.parametrize("model", [DecisionTreeRegressor(random_state=0), RandomForestRegressor(15, random_state=0)])
def test_a_regressor_gives_salaries_to_the_digit(model, found):
    rows, score = numbers(80)
    salaries = np.round(np.exp(score) * 20_000)
    examined = found(model.fit(rows, salaries), rows, salaries)
    told = examined.label_told
    assert told.of == "targets"
    assert told.exact.told >= 76
    assert told.exact.without < 10
    assert told.exact_in_leaves >= 76
    assert (told.highest, told.highest_exact) == (5, 5)
    assert result(examined) == "failed"
    coarse = found(type(model)(min_samples_leaf=20, random_state=0).fit(rows, salaries), rows, salaries)
    assert coarse.label_told.exact_in_leaves == 0
    assert result(coarse) == "passed"


@pytest.mark.nightly
def test_boosted_regressors_give_targets_by_what_each_leaf_leaves_open(found):
    rows, score = numbers(80)
    salaries = np.round(np.exp(score) * 20_000)
    model = GradientBoostingRegressor(n_estimators=15, max_depth=4, random_state=0).fit(rows, salaries)
    by_answer = np.abs(model.predict(rows) - salaries) < 0.5
    told = found(model, rows, salaries).label_told
    assert told.doubts == ()
    assert told.exact.told > by_answer.sum() + 10
    histograms = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=20, early_stopping=False)
    assert found(histograms.fit(rows, salaries), rows, salaries).label_told.doubts == ()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["gbc", "xgb", "lgb", "cat"])
def test_boosters_of_each_library_are_judged(kind, found, tmp_path):
    rows, score = numbers(100, noise=3.0)
    labels = (score > 0).astype(int)
    model = booster(kind, rounds=60, depth=6).fit(rows, labels)
    path = tmp_path / write(model, tmp_path / "model")
    examined = found(None, rows, labels, path=path)
    assert examined.label_told.doubts == ()
    assert examined.label_told.told.told == (model.predict(rows) == labels).sum()
    assert result(examined) == "failed"


@pytest.mark.nightly
def test_a_rare_class_does_not_hide_in_the_mean(found):
    rng = np.random.default_rng(3)
    rows, _ = numbers(1_500, seed=3)
    labels = (rng.random(1_500) < 0.02).astype(int)
    examined = found(RandomForestClassifier(20, max_depth=9, random_state=0).fit(rows, labels), rows, labels)
    told = examined.label_told
    assert told.rows == 1_000
    assert told.told.share - told.told.share_without < 0.1
    (rare,) = [part for part in told.parts if part.name == "class 1"]
    assert rare.rows == labels.sum() > 25  # also those that were not drawn
    assert rare.least_difference > 0.1
    assert result(examined) == "failed"


@pytest.mark.nightly
@pytest.mark.parametrize("weights", [None, "balanced"])
def test_whoever_says_a_class_more_often_tells_no_more_of_it(weights, found):
    rows, score = numbers(400, seed=4, noise=2.0)
    labels = (score > np.quantile(score, 0.85)).astype(int)
    model = DecisionTreeClassifier(min_samples_leaf=50, class_weight=weights, random_state=0).fit(rows, labels)
    assert result(found(model, rows, labels)) == "passed"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_other_peoples_rows_and_other_columns_are_no_pass(kind, found):
    rows, score = numbers(80)
    labels = score if kind is DecisionTreeRegressor else (score > 0).astype(int)
    model = kind(random_state=0).fit(rows, labels)
    others = np.random.default_rng(1).permutation(labels)
    examined = found(model, rows, others)
    assert RULE.check(examined, DEFAULT).result == "inconclusive"
    if kind is DecisionTreeRegressor:  # its counts say nothing of targets
        assert examined.label_told.told.certain is None
        assert "its leaves contradict the" in RULE.check(examined, DEFAULT).sentence
    else:
        assert any("this forest was not trained on these rows" in reason for reason in examined.reasons)


@pytest.mark.nightly
def test_targets_that_were_transformed_are_judged_as_the_trees_saw_them(found):
    rows, score = numbers(80)
    salaries = np.exp(score)
    model = TransformedTargetRegressor(DecisionTreeRegressor(random_state=0), func=np.log1p, inverse_func=np.expm1)
    model.fit(rows, salaries)
    assert result(found(model, rows, salaries)) == "failed"  # found by the means of its leaves
    assert result(found(model, rows, np.log1p(salaries))) == "failed"


@pytest.mark.nightly
def test_what_is_not_known_is_no_pass_and_says_why(found):
    rows, score = numbers(60)
    labels = (score > 0).astype(int)
    boosted = found(
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(rows, labels), rows, labels
    )
    assert (
        RULE.check(boosted, DEFAULT).sentence == "what the leaves of its AdaBoostClassifier say of classes is not read"
    )
    regressor = DecisionTreeRegressor(max_depth=2).fit(rows, score)
    without = found(regressor, rows, np.array(["text"] * 60, dtype=object))
    assert "name it with --draft-target" in RULE.check(without, DEFAULT).sentence
    isolation = found(IsolationForest(n_estimators=3, random_state=0).fit(rows), rows, labels)
    assert (isolation.label_told, RULE.applied(DEFAULT, isolation)[1]) == (None, NotApplicable.NO_LABELS)


def test_what_time_does_not_suffice_for_is_no_pass(found, monkeypatch):
    rows, score = numbers(60)
    monkeypatch.setattr("pytest_draft.examine.evaluation.LABELS_SHARE", 1e-9)
    examined = found(DecisionTreeRegressor(max_depth=2).fit(rows, score), rows, score)
    assert re.search(r"--draft-budget [\d.e+-]+ should do$", RULE.check(examined, DEFAULT).sentence)
    assert result(examined) == "inconclusive"


@pytest.mark.nightly
def test_a_holdout_is_told_and_changes_nothing_else(found, tmp_path):
    rows, score = numbers(200)
    labels = np.where(score > 0, "ill", "well")
    table = rows.assign(label=labels)
    table.iloc[100:].to_csv(tmp_path / "others.csv", index=False)
    model = DecisionTreeClassifier(random_state=0).fit(rows[:100], labels[:100])
    without = found(model, rows[:100], labels[:100], target="label").label_told
    told = found(model, rows[:100], labels[:100], target="label", holdout=str(tmp_path / "others.csv")).label_told
    assert told.holdout_rows == 100
    assert told.holdout_told == (model.predict(rows[100:]) == labels[100:]).sum()
    assert (told.told, told.parts) == (without.told, without.parts)
    assert without.holdout_rows is None


def test_slices_and_classes_are_told_by_themselves(found):
    rows, score = numbers(120)
    labels = (score > 0).astype(int)
    slices = (Slice("e is 0", ("e",), literals(0, 0.0), ("here",)),)
    told = found(DecisionTreeClassifier(max_depth=3).fit(rows, labels), rows, labels, slices=slices).label_told
    assert [part.name for part in told.parts] == ["e is 0", "class 0", "class 1"]
    assert told.parts[0].rows == (rows.e == 0).sum()
    assert sum(part.rows for part in told.parts[1:]) == 120


@pytest.mark.nightly
def test_the_order_of_rows_changes_nothing(found):
    rows, score = numbers(100)
    labels, order = (score > 0).astype(int), np.random.default_rng(5).permutation(100)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(rows, labels)
    assert found(model, rows, labels).label_told == found(model, rows.iloc[order], labels[order]).label_told


@pytest.mark.nightly
def test_a_table_that_is_written_several_times_teaches_nobody_s_own_label(found):
    rows, score = numbers(60, noise=4.0)
    labels = (score > 0).astype(int)
    three, thrice = pd.concat([rows] * 3, ignore_index=True), np.tile(labels, 3)
    once, often = (
        found(DecisionTreeClassifier(random_state=0).fit(x, y), x, y).label_told.told.share_without
        for x, y in ((rows, labels), (three, thrice))
    )
    assert often < once + 0.15 < 0.9


@pytest.mark.parametrize("n_copies", [1, 4])
def test_copies_are_in_one_fold_and_people_of_the_same_features_in_many(n_copies):
    rng = np.random.default_rng(0)
    rows = np.tile(rng.integers(0, 2, (40, 3)).astype(np.float32), (n_copies, 1))
    labels = np.tile(rng.integers(0, 2, 40).astype(float), n_copies)
    fold, order = folds_of(rows, labels, 1)
    assert sorted(order) == list(range(40 * n_copies))
    alike = pd.DataFrame(rows).assign(y=labels, fold=fold).groupby([0, 1, 2, "y"])
    assert (alike.fold.nunique() > 1).any()
    if n_copies > 1:
        assert (alike.fold.value_counts() % n_copies == 0).all()
    assert np.bincount(fold, minlength=FOLDS).min() > 4 * n_copies
    unlike = rng.normal(size=(40, 3)).astype(np.float32)
    fold, _ = folds_of(np.tile(unlike, (n_copies, 1)), np.tile(rng.normal(size=40), n_copies), 1)
    assert all(len(set(fold[i::40])) == 1 for i in range(40))


@pytest.mark.parametrize("size", [6, 8, 10])
def test_what_is_predicted_of_others_does_not_depend_on_which_thread_came_first(monkeypatch, size):
    chance = np.random.default_rng()

    class Forest(RandomForestClassifier):
        def predict_proba(self, X):
            shares = [tree.predict_proba(X) for tree in self.estimators_]
            return np.add.reduce(shares if self.n_jobs == 1 else chance.permutation(shares)) / len(shares)

    monkeypatch.setattr(outsiders.ensemble, "RandomForestClassifier", Forest)
    monkeypatch.setattr(outsiders, "MOST_TREES", 6)
    rows = np.repeat(np.arange(120, dtype=np.float32), size)[:, None]
    labels = np.random.default_rng(1).integers(0, 2, len(rows)).astype(float)
    model = SimpleNamespace(classes=("ill", "well"))
    found = [predicted(model, rows, labels, np.arange(len(rows)), 0, TimeBox(60.0)) for _ in range(10)]
    for other in found[1:]:
        assert all((other[name] == values).all() for name, values in found[0].items())
