"""Decoded minima and maxima against the true rows: almost all, and none wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from pytest_draft.attack.numeric.extremes import replay_and_decode
from pytest_draft.domain import infer
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly


def domain_of(rows):
    return infer([f"c{c}" for c in range(rows.shape[1])], rows.astype(np.float32).astype(np.float64))


def wrong(extremes, grown):
    """Return how many decoded nodes do not have the extremes of the true rows."""
    n_wrong = 0
    for low, high, one in zip(extremes.low, extremes.high, grown, strict=True):
        true_low, true_high = one.extremes()
        decoded = ~np.isnan(low)
        n_wrong += np.count_nonzero((low != true_low)[decoded] | (high != true_high)[decoded])
    return n_wrong


@pytest.mark.parametrize(
    ("load", "scaled", "n_columns", "least"),
    [(load_iris, False, 4, 0.98), (load_wine, False, 13, 0.98), (load_iris, True, 4, 0.9), (load_wine, True, 4, 0.9)],
)
def test_extremes_of_public_data_are_decoded_and_none_wrong(published, load, scaled, n_columns, least):
    rows, classes = load(return_X_y=True)
    rows = StandardScaler().fit_transform(rows)[:, :n_columns] if scaled else rows
    forest, grown = published(ExtraTreesClassifier(20, random_state=0).fit(rows, classes), rows)

    extremes = replay_and_decode(forest, domain_of(rows), TimeBox(60))

    assert extremes.decodable == sum(np.count_nonzero(tree.left >= 0) for tree in forest.trees)
    assert extremes.decoded == sum(np.count_nonzero(~np.isnan(low)) for low in extremes.low)
    assert extremes.decoded >= least * extremes.decodable
    assert wrong(extremes, grown) == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", [ExtraTreesClassifier(10, bootstrap=True), ExtraTreesRegressor(10, max_features=2)])
def test_values_between_the_decimals_of_their_column_are_never_decoded_as_decimals(published, model, seed):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(30, 4)).round(2)
    rows[::7] += random.normal(size=rows[::7].shape) / 1000
    target = random.normal(size=30) if isinstance(model, ExtraTreesRegressor) else rows[:, 0] > rows[:, 1]
    forest, grown = published(model.set_params(random_state=seed).fit(rows, target), rows)

    extremes = replay_and_decode(forest, domain_of(rows), TimeBox(60))

    assert extremes.decoded > 0
    assert wrong(extremes, grown) == 0


def test_thresholds_of_another_seed_decode_to_nothing(published):
    rows, classes = load_iris(return_X_y=True)
    forest, _ = published(ExtraTreesClassifier(10, max_features=None, random_state=0).fit(rows, classes), rows)
    strange = replace(forest, trees=tuple(replace(tree, seed=tree.seed ^ 1) for tree in forest.trees))

    extremes = replay_and_decode(strange, domain_of(rows), TimeBox(60))

    assert extremes.decoded == 0


def test_best_splits_have_nothing_to_decode(published):
    rows, classes = load_iris(return_X_y=True)
    forest, _ = published(RandomForestClassifier(3, random_state=0).fit(rows, classes), rows)

    extremes = replay_and_decode(forest, domain_of(rows), TimeBox(60))

    assert (extremes.decodable, extremes.decoded) == (0, 0)


def test_no_value_of_a_row_is_in_the_text_of_extremes(published):
    rows, classes = load_iris(return_X_y=True)
    forest, _ = published(ExtraTreesClassifier(3, random_state=0).fit(rows, classes), rows)

    extremes = replay_and_decode(forest, domain_of(rows), TimeBox(60))

    assert repr(extremes) == f"Extremes({extremes.decoded} of {extremes.decodable} decoded)"
