"""How many draws of each target are in each node: never wrong, and known where one multiset alone explains a leaf."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.attack import target_classes
from pytest_draft.attack.numeric.midpoints import ABSENT
from pytest_draft.attack.numeric.problem import build_numeric
from pytest_draft.attack.target_classes import target_counts
from pytest_draft.domain import infer
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly

TARGETS = {
    "two": lambda random, n: random.integers(0, 2, n),
    "ratings": lambda random, n: random.integers(1, 6, n),
    "counts": lambda random, n: random.poisson(1.5, n),
    "one decimal": lambda random, n: np.round(random.normal(size=n), 1),
    "thousands": lambda random, n: 1_000.0 * random.integers(-4, 20, n),
    "near a million": lambda random, n: 1_000_000.0 + 3 * random.integers(0, 6, n),
    "thirds": lambda random, n: random.integers(0, 6, n) / 3,
}

MODELS = {
    "forest": RandomForestRegressor(12, random_state=0),
    "leaves of three": RandomForestRegressor(12, min_samples_leaf=3, random_state=1),
    "shallow": RandomForestRegressor(12, max_depth=3, random_state=1),
    "medians": RandomForestRegressor(12, max_depth=5, criterion="absolute_error", random_state=2),
    "poisson": RandomForestRegressor(12, max_depth=5, criterion="poisson", random_state=3),
    "friedman": BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=2), 12, random_state=3),
    "extra trees": ExtraTreesRegressor(12, random_state=4),
    "no bootstrap": RandomForestRegressor(12, bootstrap=False, max_features=0.5, min_samples_leaf=2, random_state=5),
}


def table_of(kind, seed, n=60):
    """Return rows some of which are equal, so that no tree can be grown until each leaf holds one target."""
    random = np.random.default_rng(seed)
    rows = np.round(random.normal(size=(n, 3)), 1)
    rows[: n // 5] = rows[n // 5 : 2 * (n // 5)]
    return rows, TARGETS[kind](random, n).astype(np.float64)


def held_by(draws, leaves, label, n_targets):
    """Return how often each leaf of each tree holds each target, by its node."""
    held = []
    for times, leaf in zip(draws, leaves, strict=True):
        table = np.zeros((leaf.max() + 1, n_targets), np.int64)
        seen = leaf != ABSENT
        np.add.at(table, (leaf[seen], label[seen]), times[seen])
        held.append(table)
    return held


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_known_of_a_leaf_is_what_it_holds(fitted, name, kind):
    rows, target = table_of(kind, sum(map(ord, name + kind)))
    if name == "poisson":
        target = np.abs(target) + 1
    forest, draws, leaves = fitted(MODELS[name], rows, target)

    found = target_counts(forest, draws)

    if found is None:
        assert kind in ("thirds", "near a million")  # in few decimals, or far from each other beside their size
        return
    label = np.abs(target[:, None] - found.targets).argmin(axis=1)
    seen = np.abs(found.targets[label] - target) <= 1e-12 * np.abs(target).max()
    n_known = 0
    for t, held in enumerate(held_by(draws, leaves, label, len(found.targets))):
        own = forest.trees[t].leaves
        known = own[found.known[t][own]]
        n_known += len(known)
        assert (found.counts[t][known] == held[known]).all()
        assert (found.counts[t].sum(axis=1) == forest.counts(t)[:, 0]).all()
        assert seen[np.isin(leaves[t], known)].all()
        inner = np.flatnonzero((forest.trees[t].left >= 0) & found.known[t])
        below = found.counts[t][forest.trees[t].left[inner]] + found.counts[t][forest.trees[t].right[inner]]
        assert (found.counts[t][inner] == below).all()
    assert n_known
    if kind == "two" and name not in ("medians", "poisson"):
        assert found.complete


def test_a_leaf_is_known_exactly_where_enumeration_finds_one_multiset():
    random = np.random.default_rng(0)
    n_unique = 0
    for _ in range(300):
        targets = np.sort(random.choice(8, 4, replace=False)).astype(np.float64)
        n = int(random.integers(2, 7))
        drawn = random.choice(targets, n)
        n_rows = int(random.integers(len(np.unique(drawn)), n + 1))
        told = random.random() < 0.7
        mean, variance = drawn.mean(), drawn.var()
        leaf = target_classes._Leaves(
            *(np.array([one]) for one in (mean, n, n_rows, variance if told else np.nan, False))
        )
        fits = [
            multiset
            for multiset in combinations_with_replacement(targets.tolist(), n)
            if abs(np.mean(multiset) - mean) < 1e-9
            and (not told or abs(np.var(multiset) - variance) < 1e-9)
            and 1 < len(set(multiset)) <= n_rows
        ]

        found, _ = leaf._only(0, targets, 10_000)

        if len(np.unique(drawn)) == 1:
            continue
        if len(fits) == 1:
            n_unique += 1
            assert found == {value: fits[0].count(value) for value in set(fits[0])}
        else:
            assert found is None
    assert 50 < n_unique < 290


@pytest.mark.parametrize("change", [lambda i: i * 0, lambda i: i * 1.5, lambda i: np.full_like(i, np.nan)])
def test_impurities_that_were_removed_or_changed_are_not_believed(fitted, change):
    rows, target = table_of("ratings", 3)
    forest, draws, leaves = fitted(RandomForestRegressor(8, random_state=0), rows, target)
    trees = tuple(replace(tree, impurity=change(tree.impurity)) for tree in forest.trees)

    found = target_counts(replace(forest, trees=trees), draws)

    label = np.abs(target[:, None] - found.targets).argmin(axis=1)
    for t, held in enumerate(held_by(draws, leaves, label, len(found.targets))):
        own = forest.trees[t].leaves
        known = own[found.known[t][own]]
        assert (found.counts[t][known] == held[known]).all()
    assert not found.complete


def test_a_classifier_has_no_targets_and_weights_that_are_not_known_hide_them(fitted):
    rows, target = table_of("ratings", 4)
    assert (
        target_counts(fitted(RandomForestClassifier(3, random_state=0), rows, target)[0], np.ones((3, 60), np.int64))
        is None
    )

    forest, draws, _ = fitted(RandomForestRegressor(5, random_state=0), rows, target)
    scaled = tuple(replace(tree, weight=tree.weight * 0.37) for tree in forest.trees)
    assert target_counts(replace(forest, trees=scaled), draws) is None


def test_no_target_shows():
    rows, target = table_of("ratings", 5)
    counts = target_classes.TargetCounts(target, (np.zeros((1, 60), np.int64),), (np.ones(1, bool),))
    assert "[" not in repr(counts)
    assert len(rows) == 60


@pytest.mark.parametrize("kind", ["ratings", "counts", "one decimal"])
@pytest.mark.parametrize("n", [60, 150])
def test_each_row_is_told_its_target_where_the_trees_are_many(fitted, kind, n):
    random = np.random.default_rng(n)
    rows, target = random.normal(size=(n, 3)), TARGETS[kind](random, n).astype(np.float64)
    forest, *_ = fitted(RandomForestRegressor(100, random_state=n), rows, target)
    domain = infer([f"c{column}" for column in range(3)], rows)
    box = TimeBox(100)

    problem = build_numeric(forest, domain, exchangeable_groups(forest, "artifact"), box)

    if problem.rows_identified:
        return
    assert problem.targets_used == 1
    assert problem.label_known
    assert target_counts(forest, occurrences(forest)).targets[problem.label] == pytest.approx(target, rel=1e-12)


@pytest.mark.parametrize("gap", [1e-1, 1e-2, 1e-4])
def test_targets_that_rounding_hides_from_each_other_are_not_told_apart(fitted, gap):
    rows, target = table_of("ratings", 6)
    forest, draws, _ = fitted(RandomForestRegressor(8, random_state=0), rows, 1e6 + gap * target)

    found = target_counts(forest, draws)

    assert found is None
