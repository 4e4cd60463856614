"""How much the trees of a file can hold, beside what scikit-learn says of them."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.examine.inputs import open_files
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Case

LEAVES = {RandomForestClassifier: 2, DecisionTreeClassifier: 2, RandomForestRegressor: 1, GradientBoostingClassifier: 1}
"""Parameters of a leaf, of three classes."""


@pytest.mark.parametrize("kind", LEAVES)
def test_capacity_is_that_of_the_trees(kind, tmp_path):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model = kind(random_state=0, **({} if kind is DecisionTreeClassifier else {"n_estimators": 4})).fit(rows, labels)
    joblib.dump(model, tmp_path / "model.joblib")
    record = FlowRecord(case := Case(str(tmp_path / "model.joblib")))
    open_files(case, None, record)
    found = record.facts.artifact.capacity
    trees = [model] if kind is DecisionTreeClassifier else list(np.ravel(model.estimators_))
    leaves = sum(tree.get_n_leaves() for tree in trees)
    assert (found.nodes, found.leaves) == (sum(tree.tree_.node_count for tree in trees), leaves)
    assert found.deepest == max(tree.get_depth() for tree in trees)
    assert found.parameters == 2 * (found.nodes - leaves) + leaves * LEAVES[kind]
    assert found.numbers >= 2 * (found.nodes - leaves) + found.nodes
