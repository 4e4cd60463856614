"""What hardened files tell of a row at most, held against somebody who knows all others and tries every value.

That somebody even knows which rows each tree drew, so the bound holds for whoever has the file alone, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from profiles import examples
from pytest_draft.ambiguity.counted import seen_by_all
from pytest_draft.artifact.forest.observations import Shares
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.attack.informed.gaps import is_shortest
from pytest_draft.domain import infer
from pytest_draft.hardening.model import hardened
from studies.files import through_file

pytestmark = pytest.mark.nightly

MODELS = {
    "forest": (RandomForestClassifier, {"n_estimators": 5}),
    "shallow forest": (RandomForestClassifier, {"n_estimators": 6, "max_depth": 2}),
    "large leaves": (RandomForestClassifier, {"n_estimators": 6, "min_samples_leaf": 3}),
    "no bootstrap": (RandomForestClassifier, {"n_estimators": 4, "bootstrap": False, "max_features": 1}),
    "part of the draws": (RandomForestClassifier, {"n_estimators": 5, "max_samples": 7}),
    "regression": (RandomForestRegressor, {"n_estimators": 5, "max_depth": 3}),
    "extra trees": (ExtraTreesClassifier, {"n_estimators": 5, "max_depth": 3}),
    "tree": (DecisionTreeClassifier, {"max_depth": 3}),
    "bagging": (BaggingClassifier, {"n_estimators": 5}),
    "drawn once": (BaggingClassifier, {"n_estimators": 5, "bootstrap": False, "max_samples": 0.6}),
}
LEVELS = {
    "seeds": ("seeds", False),
    "counts": ("counts", False),
    "moved": ("counts", True),
    "decimals": ("decimals:2", True),
    "labels": ("labels", True),
}
SEEDS = examples(7, 1)
"""Of each model and level: 329 instances in all, with ``--hypothesis-profile=nightly``."""

COLUMNS = ("size", "flag", "rank", "share")


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return some rows, some of them alike in some columns, and targets."""
    rng = np.random.default_rng([seed, 5])
    n = int(rng.integers(9, 17))
    made = pd.DataFrame(
        {
            "size": np.round(rng.normal(50, 20, n), int(rng.integers(0, 3))),
            "flag": rng.integers(0, 2, n).astype(float),
            "rank": rng.integers(0, 4, n).astype(float),
            "share": np.round(rng.random(n), int(rng.integers(1, 4))),
        }
    ).astype(np.float32)
    score = made["size"] + 20 * made["flag"] + 30 * made["share"] + rng.normal(0, 15, n)
    return made, score.to_numpy()


def instance(name: str, level: str, seed: int):
    """Return the hardened forest, its domain and all rows, with how often each tree saw each."""
    kind, parameters = MODELS[name]
    rows, score = table(seed)
    target = np.round(score) if kind is RandomForestRegressor else (score > np.median(score)).astype(int)
    model = kind(**parameters, random_state=np.random.RandomState(seed)).fit(rows.to_numpy(), target)
    times = occurrences(through_file(model))
    how, with_data = LEVELS[level]
    forest = through_file(hardened(model, how, rows.to_numpy() if with_data else None)[0])
    if how == "decimals:2" and isinstance(forest.observation, Shares):  # few leaves do not show it
        forest = replace(forest, observation=replace(forest.observation, decimals=2, tolerance=0.005))
    labels = np.zeros(len(rows), np.int64) if kind is RandomForestRegressor else target
    return forest, infer(COLUMNS, rows.to_numpy().astype(np.float64)), KnownRows(rows.to_numpy(), labels, times)


def explains(forest, everyone: KnownRows, row: int, rows: np.ndarray, moved: bool) -> np.ndarray:
    """Return which values of one row, in place of its own, leave everything in the file as it is."""
    others = np.arange(len(everyone.rows)) != row
    fits = np.ones(len(rows), dtype=bool)
    for t, tree in enumerate(forest.trees):
        times = everyone.weight[t]
        if times[row]:
            fits &= _leaves_stay(forest, tree, t, everyone, times, row, rows)
        if forest.splitter == "best" and times[row] and not moved:
            for node in np.flatnonzero(tree.left >= 0):
                fits &= _stays_middle(tree, node, everyone.rows[others & (times > 0)], rows)
    if moved:  # by the values of the whole column
        tests = {(c, v) for tree in forest.trees for c, v in zip(tree.feature, tree.threshold, strict=True) if c >= 0}
        for column, threshold in tests:
            value, place = np.unique(rows[:, column], return_inverse=True)
            known = everyone.rows[others, column]
            fits &= np.array([_is_decimal(np.append(known, one), threshold) for one in value])[place]
    return fits


def _leaves_stay(forest, tree, t: int, everyone: KnownRows, times, row: int, rows) -> np.ndarray:
    leaf, there = leaf_positions(tree, rows.T.copy()), leaf_positions(tree, everyone.rows.T.copy())
    count = np.zeros((len(tree.leaves), forest.n_classes))
    np.add.at(count, (there, everyone.labels), times)
    count[there[row], everyone.labels[row]] -= times[row]
    fits = np.zeros(len(rows), dtype=bool)
    for one in np.unique(leaf):
        tried = count.copy()
        tried[one, everyone.labels[row]] += times[row]
        if forest.observation.exact:
            same = (tried == forest.counts(t)[tree.leaves]).all()
        else:
            same = tried.sum(axis=1).all() and forest.observation.explained(tried, tree.value[tree.leaves]).all()
        fits[leaf == one] = same
    return fits


def _through(tree, node: int, rows: np.ndarray) -> np.ndarray:
    """Return which rows pass a node."""
    inside, child = np.ones(len(rows), dtype=bool), node
    while child:
        above = int(np.flatnonzero((tree.left == child) | (tree.right == child))[0])
        goes_left = rows[:, tree.feature[above]].astype(np.float64) <= tree.threshold[above]
        inside &= goes_left if tree.left[above] == child else ~goes_left
        child = above
    return inside


def _stays_middle(tree, node: int, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
    column, threshold = tree.feature[node], tree.threshold[node]
    value = others[_through(tree, node, others), column].astype(np.float64)
    own = np.where(_through(tree, node, rows), rows[:, column].astype(np.float64), np.nan)
    below = np.fmax(np.where(own <= threshold, own, np.nan), value[value <= threshold].max(initial=-np.inf))
    above = np.fmin(np.where(own > threshold, own, np.nan), value[value > threshold].min(initial=np.inf))
    return below / 2 + above / 2 == threshold


def _is_decimal(values: np.ndarray, threshold: float) -> bool:
    values = values.astype(np.float64)
    below, above = values[values <= threshold], values[values > threshold]
    return bool(len(below) and len(above)) and is_shortest(float(below.max()), float(above.min()), threshold)


def tried(domain, held, row: int, everyone: KnownRows, moved: bool, rng) -> np.ndarray:
    """Return rows that a box leaves: its corners, and what others have."""
    by_column = []
    for a, attribute in enumerate(domain.attributes):
        known = np.unique(everyone.rows[:, attribute.columns[0]])
        if attribute.kind != "numeric":
            value = attribute.encoded(np.flatnonzero(held.states(a)[row]))[:, 0]
        else:
            low, high = held.lower[row, attribute.columns[0]], held.upper[row, attribute.columns[0]]
            inner = known if moved else np.concatenate([known, np.linspace(low, high, 9).astype(np.float32)])
            ends = np.float32([low, high])
            ends = np.where(ends < low, np.nextafter(ends, np.float32(np.inf)), ends)
            ends = np.where(ends > high, np.nextafter(ends, np.float32(-np.inf)), ends)
            value = np.unique(np.concatenate([inner, ends]).astype(np.float32))
            value = value[(low <= value) & (value <= high)]
        by_column.append(value)
    return np.column_stack([rng.choice(value, 60) for value in by_column]).astype(np.float32)


WITH_ALL_COUNTS = {"no bootstrap", "extra trees", "tree"}
"""Models that need no seeds, so that nothing is missing in their files without any."""

PAIRS = [(name, level) for name in MODELS for level in LEVELS if level != "seeds" or name not in WITH_ALL_COUNTS]


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(("name", "level"), PAIRS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nobody_is_left_with_less_than_the_bound_says(name, level, seed):
    forest, domain, everyone = instance(name, level, seed)
    seen = seen_by_all(forest, domain, everyone.rows, everyone.labels)
    moved = LEVELS[level][1]
    once = replace(everyone, weight=np.ones_like(everyone.weight))
    held = held_of(seen.forest, domain, once, np.arange(len(everyone.rows)), seen.extremes, seen.ends)
    rng = np.random.default_rng(seed)
    for row in range(len(everyone.rows)):
        own = everyone.rows[row].astype(np.float64)
        assert ((held.lower[row] <= own) & (own <= held.upper[row])).all()
        rows = tried(domain, held, row, everyone, moved and bool(seen.forest.gaps), rng)
        assert explains(forest, everyone, row, np.concatenate([everyone.rows[[row]], rows]), moved).all()
