"""The replay against the splitter itself: what it calls certain is what the true rows give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.numeric import replay as module
from pytest_draft.attack.numeric.replay import Hints, replay
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly


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


def replayed(forest, missing=False, seconds=60):
    """Return the number behind each threshold, by tree, where nothing is known of the values."""
    unbounded = np.tile([-np.inf, np.inf], (forest.n_features, 1))
    hints = Hints(unbounded, np.zeros(forest.n_features), (np.empty(0),) * forest.n_features)
    return replay(forest, TimeBox(seconds), hints, missing=missing)


def wrong(winner, grown):
    """Return how many nodes are told wrongly, and the share of inner nodes of which something is told."""
    number = np.concatenate([one.winners() for one in grown])
    winner = np.concatenate(winner)
    return np.count_nonzero((winner != -1) & (winner != number)), (winner[number != -1] != -1).mean()


FORESTS = {
    "extra trees": (ExtraTreesClassifier(12), 0.7),
    "with bagging": (ExtraTreesClassifier(12, bootstrap=True), 0.6),
    "one column": (ExtraTreesClassifier(12, max_features=1), 0.5),
    "regression": (ExtraTreesRegressor(12, max_features=2), 0.3),
    "best first": (ExtraTreesClassifier(12, max_leaf_nodes=8), 0.5),
    "class weights": (ExtraTreesClassifier(12, class_weight="balanced", min_weight_fraction_leaf=0.02), 0.2),
    "random tree": (ExtraTreeClassifier(max_features=2), 0.3),
    "least decrease": (DecisionTreeClassifier(splitter="random", max_features=2, min_impurity_decrease=1e-3), 0.2),
}


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("kind", ["continuous", "decimals", "mixed"])
def test_what_the_replay_tells_is_what_the_splitter_drew(published, name, kind):
    rows, classes = table(kind)
    model, least = FORESTS[name]
    target = rows.sum(axis=1) if name == "regression" else classes
    forest, grown = published(model.set_params(random_state=3).fit(rows, target), rows)

    n_wrong, told = wrong(replayed(forest), grown)

    assert n_wrong == 0
    if kind == "continuous":
        assert told >= least


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_tie_in_all_columns_at_once_mislead_no_replay(published, seed):
    random = np.random.default_rng(seed)
    rows = random.integers(0, 4, (15, 5))[random.integers(0, 15, 42)] / 3
    classes = rows[:, 0] + random.normal(size=42) > 0.5
    model = ExtraTreesClassifier(10, max_features=2, min_samples_leaf=3, random_state=seed).fit(rows, classes)
    forest, grown = published(model, rows)

    assert wrong(replayed(forest), grown)[0] == 0


def test_nothing_is_told_of_a_forest_without_what_the_replay_needs(published):
    rows, classes = table("continuous")
    forest, _ = published(ExtraTreesClassifier(3, random_state=0).fit(rows, classes), rows)
    nameless = {name: value for name, value in forest.parameters.items() if name != "max_features"}
    changed = [
        replace(forest, parameters=nameless),
        replace(forest, parameters={**forest.parameters, "ccp_alpha": 0.1}),
        replace(forest, sklearn_version="1.2.2"),
        replace(forest, sklearn_version=None),
        replace(forest, trees=(*forest.trees[:2], replace(forest.trees[2], seed=None))),
    ]

    found = [*map(replayed, changed), replayed(forest, missing=True), replayed(forest, seconds=1e-9)]

    assert np.concatenate(replayed(forest)).max() > -1
    assert [np.concatenate(winner).max() for winner in found] == [-1] * 7


FILES = sorted((Path(__file__).parent / "files").glob("*.joblib"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_forests_of_other_versions_are_replayed_by_their_rules(path):
    forest = read(path).forest
    number = np.load(path.with_name(f"{path.stem.rpartition('-')[0]}.npz"))["number"]

    winner = np.concatenate(replayed(forest))

    told = winner != -1
    assert told.sum() >= 5
    assert (winner[told] == number[told]).all()


def test_a_tree_whose_draws_take_too_long_is_followed_no_further(published, monkeypatch):
    rows, classes = table("continuous")
    forest, _ = published(ExtraTreesClassifier(2, random_state=0).fit(rows, classes), rows)
    whole = module.follow

    def stopped(*arguments):
        arguments[-1][0] = 1  # as the clock does
        return whole(*arguments)

    monkeypatch.setattr(module, "follow", stopped)
    assert np.concatenate(replayed(forest)).max() == -1
