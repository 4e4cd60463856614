"""How many people stand behind each leaf is counted from the file, and never guessed where the file does not tell."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import RuleList, read
from pytest_draft.artifact.forest.observations import under
from pytest_draft.audit.structure import structure_of
from pytest_draft.data import training_data
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.rules import ListedRule, Literal
from pytest_draft.facts.structure import AT_LEAST
from pytest_draft.timebox import TimeBox

N_ROWS = 50


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.integers(0, 4, (N_ROWS, 5)), columns=list("abcde"))
    return frame.assign(label=np.where(frame.sum(axis=1) + random.integers(0, 4, N_ROWS) > 8, "yes", "no"))


@pytest.fixture
def measured(tmp_path, table):
    """Return a function that measures the leaves of a model that it trains."""

    def of(model, data=table, seconds: float = 60.0):
        joblib.dump(model.fit(table[list("abcde")], table["label"]), tmp_path / "model.joblib")
        forest = read(tmp_path / "model.joblib").forest
        seen = None if data is None else training_data(data, forest, "label")
        return structure_of(forest, seen, TimeBox(seconds))

    return of


def in_leaves(model, rows, drawn):
    """Return the leaf of each row in each tree, and how many drawn rows are there."""
    leaves = np.stack([tree.apply(rows) for tree in model.estimators_])
    return leaves, [np.bincount(leaf[here], minlength=leaf.max() + 1) for leaf, here in zip(leaves, drawn, strict=True)]


MODELS = {
    "bootstrap": RandomForestClassifier(6, random_state=1),
    "few draws": RandomForestClassifier(6, max_samples=20, random_state=1),
    "weights": RandomForestClassifier(6, class_weight="balanced", min_samples_leaf=2, random_state=1),
    "bagging": BaggingClassifier(n_estimators=6, random_state=1),
    "all rows": ExtraTreesClassifier(6, min_samples_leaf=2, random_state=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_with_the_training_data_it_is_exact_and_as_counted_by_hand(name, measured, table):
    model = MODELS[name]
    found = measured(model)
    rows = table[list("abcde")].to_numpy()
    drawn = [np.ones(N_ROWS, bool)] * 6 if name == "all rows" else []
    drawn = drawn or [np.isin(np.arange(N_ROWS), chosen) for chosen in model.estimators_samples_]
    leaves, counts = in_leaves(model, rows, drawn)
    alone = np.zeros(N_ROWS, bool)
    for leaf, here, number in zip(leaves, drawn, counts, strict=True):
        alone |= here & (number[leaf] == 1)
    sizes = [number[number > 0] for number in counts]
    assert found.alone_rows == (alone.sum(), alone.sum())
    assert found.alone == Between(alone.mean(), alone.mean())
    assert found.smallest == min(map(min, sizes))
    assert found.median_smallest == np.median([min(number) for number in sizes])
    assert found.leaves == sum(map(len, sizes))
    groups = np.searchsorted(AT_LEAST, np.concatenate(sizes), side="right") - 1
    assert found.sizes == tuple(np.bincount(groups, minlength=len(AT_LEAST)))
    told = []
    for leaf, here in zip(leaves, drawn, strict=True):
        classes = pd.Series(table["label"].to_numpy()[here]).groupby(leaf[here]).nunique()
        told.append((classes[leaf[here]] == 1).mean())
    assert found.disclosed_class.exact == pytest.approx(max(told))


@pytest.mark.parametrize("data", ["none", "another order", "other rows", "no time"])
def test_without_the_right_data_the_truth_lies_between_the_bounds(data, measured, table):
    model, seconds = MODELS["bootstrap"], 60.0
    exact = measured(model)
    given = {"none": None, "another order": table[::-1], "no time": table}.get(data)
    if data == "other rows":
        given = table.assign(a=3 - table["a"])
    if data == "no time":
        seconds = 1e-9
    found = measured(model, given, seconds)
    assert found.alone_rows[0] < exact.alone_rows[0] <= found.alone_rows[1]
    assert found.alone.lower < exact.alone.lower <= found.alone.upper
    assert replace(found, alone=exact.alone, alone_rows=exact.alone_rows) == exact


def test_a_single_tree_tells_it_all_without_data(measured):
    tree = DecisionTreeClassifier(min_samples_leaf=1)
    found = measured(tree, None)
    assert found.alone_rows[0] == found.alone_rows[1] == found.sizes[0] > 0
    assert found.smallest == found.median_smallest == 1


def test_of_a_regressor_only_leaves_of_one_row_surely_tell_the_target(tmp_path, table):
    model = RandomForestRegressor(4, random_state=0, min_samples_leaf=2).fit(table[list("abcde")], np.arange(N_ROWS))
    joblib.dump(model, tmp_path / "model.joblib")
    found = structure_of(read(tmp_path / "model.joblib").forest, None, TimeBox(60))
    assert found.disclosed_class == Between(0.0, 1.0)
    assert found.smallest == 2


def test_empty_leaves_and_those_behind_noise_are_not_counted(by_hand):
    forest = by_hand(2, (0, (1, [3, 0], [0, 0]), [1, 2]), (1, [4, 1], [0, 1]))
    found = structure_of(forest, None, TimeBox(60))
    assert (found.leaves, found.smallest, found.alone_rows) == (4, 1, (1, 1))
    assert found.disclosed_class.exact == 0.5
    noisy = Privacy("laplace", 1.0, scale=2.0, rounding="sum")
    assert structure_of(replace(forest, observation=under(noisy)), None, TimeBox(60)) is None
    assert structure_of(replace(forest, observation=under(replace(noisy, exact=True))), None, TimeBox(60)) == found


def rules(*counts) -> RuleList:
    tests = [ListedRule((Literal(column, 0.5, np.inf),), 1, told) for column, told in enumerate(counts[:-1])]
    return RuleList("CORELS rule list", (*tests, ListedRule((), 0, counts[-1])), ("a", "b"), 2, (0, 1))


def test_rules_stand_in_the_place_of_leaves():
    found = structure_of(rules((0, 1), (2, 3), (4, 0)), None, TimeBox(60))
    assert (found.what, found.leaves, found.smallest, found.alone_rows) == ("rule", 3, 1, (1, 1))
    assert found.alone.exact == 0.1
    assert found.disclosed_class.exact == 0.5


def test_rules_without_counts_are_counted_with_the_training_data_and_not_known_without():
    data = training_data(pd.DataFrame({"a": [1, 0, 0], "b": [0, 1, 0], "y": [1, 0, 0]}), rules(None, None, None), "y")
    assert structure_of(rules(None, None, None), None, TimeBox(60)) is None
    found = structure_of(rules(None, None, None), data, TimeBox(60))
    assert (found.smallest, found.alone_rows, found.disclosed_class.exact) == (1, (3, 3), 1.0)
