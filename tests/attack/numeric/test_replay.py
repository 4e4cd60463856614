"""The replay against the splitter itself: what it calls certain is what the true rows give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.numeric import replay as module
from pytest_draft.attack.numeric.replay import replay
from pytest_draft.timebox import TimeBox


def table(kind, seed=0, n_rows=60):
    """Return generated rows and classes: continuous, few decimals, or binary and constant columns among others."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 6))
    classes = (rows[:, 0] + rows[:, 1] + random.normal(size=n_rows) > 0).astype(int) + (rows[:, 2] > 1)
    if kind == "decimals":
        rows = rows.round(1)
    if kind == "mixed":
        rows[:, 1:3] = rows[:, 1:3] > 0.5
        rows[:, 3] = 7.0
        rows[:, 4] = rows[:, 4].round()
    return rows, classes


def wrong(forest, grown, found):
    """Return how many nodes are told wrongly, and the share of inner nodes in sync."""
    n_wrong, synced = 0, []
    for tree, one in zip(found.trees, grown, strict=True):
        for node, drawn in enumerate(one.draws()):
            own = slice(tree.start[node], tree.start[node + 1])
            columns = [int(one.columns[c]) for c in drawn.columns]
            tested = one.nodes.feature[node]
            if tested >= 0:
                synced.append(bool(tree.in_sync[node]))
                number = drawn.numbers[drawn.columns.index(tested)]
                n_wrong += tree.winner[node] not in (-1, number)
            if tree.in_sync[node]:
                uniform, constant = tree.uniform[own].tolist(), tree.constant[own].tolist()
                n_wrong += tree.feature[own].tolist() != columns
                n_wrong += any(u not in (-1, n) for u, n in zip(uniform, drawn.numbers, strict=False))
                n_wrong += any(c and not d for c, d in zip(constant, drawn.constant, strict=False))
            else:
                n_wrong += own.start != own.stop
    return n_wrong, np.mean(synced)


FORESTS = {
    "random forest": (RandomForestClassifier(12), 0.5),
    "two columns": (RandomForestClassifier(12, max_features=2, min_samples_leaf=3), 0.5),
    "log2, depth 4": (RandomForestClassifier(12, max_features="log2", max_depth=4), 0.5),
    "class weights": (RandomForestClassifier(12, class_weight="balanced", bootstrap=False), 0.2),
    "no bagging, weight of leaves": (RandomForestClassifier(12, bootstrap=False, min_weight_fraction_leaf=0.05), 0.5),
    "half the columns": (RandomForestRegressor(12, max_features=0.5), 0.3),
    "extra trees": (ExtraTreesClassifier(12), 0.7),
    "extra trees with bagging": (ExtraTreesClassifier(12, bootstrap=True), 0.6),
    "extra trees, one column": (ExtraTreesClassifier(12, max_features=1), 0.5),
    "extra trees, regression": (ExtraTreesRegressor(12, max_features=2), 0.3),
    "best first": (ExtraTreesClassifier(12, max_leaf_nodes=8), 0.5),
    "best first, random forest": (RandomForestClassifier(12, max_leaf_nodes=8), 0.3),
    "bagging": (BaggingClassifier(DecisionTreeClassifier(max_features=2), 12, max_features=0.7), 0.4),
    "random tree": (ExtraTreeClassifier(max_features=2), 0.3),
    "least decrease": (DecisionTreeClassifier(splitter="random", max_features=2, min_impurity_decrease=1e-3), 0.2),
}


REGRESSORS = ("half the columns", "extra trees, regression")


@pytest.mark.nightly(quick=5)
@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("kind", ["continuous", "decimals", "mixed"])
def test_what_the_replay_tells_is_what_the_splitter_drew(published, name, kind):
    rows, classes = table(kind)
    model, least = FORESTS[name]
    target = rows.sum(axis=1) if name in REGRESSORS else classes
    forest, grown = published(model.set_params(random_state=3).fit(rows, target), rows)

    n_wrong, synced = wrong(forest, grown, replay(forest, TimeBox(60)))

    assert n_wrong == 0
    if kind == "continuous":
        assert synced >= least


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_tie_in_all_columns_at_once_mislead_no_replay(published, seed):
    random = np.random.default_rng(seed)
    rows = random.integers(0, 4, (15, 5))[random.integers(0, 15, 42)] / 3
    classes = rows[:, 0] + random.normal(size=42) > 0.5
    model = ExtraTreesClassifier(10, max_features=2, min_samples_leaf=3, random_state=seed).fit(rows, classes)
    forest, grown = published(model, rows)

    assert wrong(forest, grown, replay(forest, TimeBox(60)))[0] == 0


def test_a_forest_without_what_the_replay_needs_is_not_replayed_and_says_so(published):
    rows, classes = table("continuous")
    forest, _ = published(RandomForestClassifier(3, random_state=0).fit(rows, classes), rows)
    nameless = {name: value for name, value in forest.parameters.items() if name != "max_features"}
    without_seed = (*forest.trees[:2], replace(forest.trees[2], seed=None))

    for changed in (
        replace(forest, parameters=nameless),
        replace(forest, parameters={**forest.parameters, "ccp_alpha": 0.1}),
        replace(forest, sklearn_version="1.2.2"),
        replace(forest, sklearn_version=None),
        replace(forest, trees=without_seed),
    ):
        found = replay(changed, TimeBox(60))
        assert found.reason
        assert (found.trees_in_sync, found.nodes_in_sync) == (0, 0)


def test_random_splits_among_missing_values_are_not_replayed(published):
    rows, classes = table("continuous")
    forest, _ = published(ExtraTreesClassifier(3, random_state=0).fit(rows, classes), rows)

    assert replay(forest, TimeBox(60), missing=True).reason
    assert replay(forest, TimeBox(60)).reason is None


FILES = sorted((Path(__file__).parent / "files").glob("*.joblib"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_forests_of_other_versions_are_replayed_by_their_rules(path):
    forest = read(path).forest
    truth = np.load(path.with_name(f"{path.stem.rpartition('-')[0]}.npz"))
    start = np.cumsum([0, *truth["length"]])

    found = replay(forest, TimeBox(60))

    node = told = 0
    for tree in found.trees:
        for index in np.flatnonzero(tree.in_sync).tolist():
            own, drawn = slice(*tree.start[index : index + 2]), slice(*start[node + index : node + index + 2])
            uniform = tree.uniform[own]
            assert (tree.feature[own] == truth["column"][drawn]).all()
            assert ((uniform == truth["number"][drawn]) | (uniform == -1)).all()
            assert (truth["constant"][drawn] | ~tree.constant[own]).all()
            told += own.stop - own.start
        node += len(tree.in_sync)
    assert told > 10


def test_a_tree_whose_draws_take_too_long_is_followed_no_further(tmp_path, monkeypatch):
    rows, labels = table("numeric")
    path = tmp_path / "model.joblib"
    joblib.dump(ExtraTreesClassifier(2, random_state=0).fit(rows, labels), path)
    forest = read(path).forest
    assert any(tree.in_sync.any() for tree in replay(forest, TimeBox(60)).trees)
    whole = module.follow

    def stopped(*arguments):
        arguments[-1][0] = 1  # as the clock does
        return whole(*arguments)

    monkeypatch.setattr(module, "follow", stopped)
    assert not any(tree.in_sync.any() for tree in replay(forest, TimeBox(60)).trees)
