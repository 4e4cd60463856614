"""The DP paper's row-based model beside the enumeration of all datasets, and beside the engine's probabilities."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from pytest_draft.artifact.forest.observations import ClassCounts, under
from pytest_draft.attack.private.noise import CountNoise
from pytest_draft.domain import declared
from pytest_draft.errors import DataError
from pytest_draft.facts.privacy import Privacy
from pytest_draft.timebox import TimeBox
from studies.paper_models.dp_rows import log_chance, log_likelihood, solve
from studies.paper_models.published import ModelDataset, reached

SPEC = {"a": {"kind": "binary"}, "b": {"kind": "binary"}, "job": {"kind": "one-hot", "columns": ["x", "y"]}}
DOMAIN = declared(list("abxy"), SPEC, "test")
MECHANISMS = [("laplace", "sum"), ("laplace", "noise"), ("gaussian", "sum")]


def random_tree(rng, depth=2):
    """Return a nested tree of random splits without rows."""
    if depth == 0:
        return [0, 0]
    return (int(rng.integers(4)), random_tree(rng, depth - 1), random_tree(rng, depth - 1))


def noisy(by_hand, seed, mechanism="laplace", rounding="sum", n_rows=3, scale=0.7):
    """Return a random forest that releases noisy counts of some rows."""
    rng = np.random.default_rng(seed)
    forest = by_hand(4, *(random_tree(rng) for _ in range(3)))
    vectors = DOMAIN.vectors()
    rows, labels = vectors[rng.integers(len(vectors), size=n_rows)], rng.integers(2, size=n_rows)
    trees = []
    for tree in forest.trees:
        counts = reached(tree, rows) @ np.eye(2)[labels]
        noise = (rng.laplace if mechanism == "laplace" else rng.normal)(scale=scale, size=counts.shape)
        released = np.trunc(counts + noise) if rounding == "sum" else counts + np.trunc(noise)
        trees.append(replace(tree, value=np.where((tree.left < 0)[:, None], released, 0.0)))
    privacy = Privacy(mechanism, 1.0, 0.0 if mechanism == "laplace" else 1e-5, scale, rounding)
    return replace(forest, trees=tuple(trees), n_samples=None, observation=under(privacy))


def enumerated(forest, n_rows):
    """Return the log-likelihood of every multiset of vectors and classes, by the engine's probabilities."""
    noise, vectors = CountNoise.of(forest.observation.privacy), DOMAIN.vectors()
    kinds = list(product(range(len(vectors)), range(2)))
    held = []
    for tree in forest.trees:
        inside = reached(tree, vectors)[tree.leaves]  # leaves x vectors
        held.append(np.stack([np.outer(inside[:, v], np.eye(2)[c]) for v, c in kinds]).astype(np.int64))
    found = []
    for chosen in combinations_with_replacement(range(len(kinds)), n_rows):
        parts = [noise.log_probability(forest.released(t), held[t][list(chosen)].sum(0)).sum() for t in range(3)]
        found.append(sum(parts))
    return np.array(found)


@pytest.mark.parametrize(("mechanism", "rounding"), MECHANISMS)
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_that_of_all_datasets(by_hand, seed, mechanism, rounding):
    forest = noisy(by_hand, seed, mechanism, rounding)
    outcome = solve(forest, DOMAIN, 3, TimeBox(60))
    best = enumerated(forest, 3).max()
    assert outcome.status == "optimal"
    assert outcome.objective == pytest.approx(best, abs=1e-4)
    assert outcome.bound == pytest.approx(best, abs=1e-4)
    assert outcome.objective == pytest.approx(log_likelihood(forest, outcome.dataset))
    assert not DOMAIN.outside(outcome.dataset.rows.astype(float))


@pytest.mark.parametrize("seed", range(4))
def test_an_unknown_number_of_rows_is_found_too(by_hand, seed):
    forest = noisy(by_hand, seed, n_rows=2)
    best = [enumerated(forest, n).max() for n in (1, 2, 3)]
    outcome = solve(forest, DOMAIN, (1, 3), TimeBox(60))
    assert outcome.status == "optimal"
    assert outcome.objective == pytest.approx(max(best), abs=1e-4)
    assert len(outcome.dataset.rows) == 1 + int(np.argmax(best))


@pytest.mark.parametrize(("mechanism", "rounding"), MECHANISMS)
@pytest.mark.parametrize("scale", [0.01, 0.8, 30.0])
def test_the_probabilities_are_those_of_the_engine(mechanism, rounding, scale):
    privacy = Privacy(mechanism, 1.0, 0.0, scale, rounding)
    width = int(np.ceil(12 * scale)) + 2
    counts = np.arange(2 * width)
    compared = 0
    for released in (-width, -1, 0, 1, width):
        ours, theirs = log_chance(privacy, released, counts), CountNoise.of(privacy).log_probability(released, counts)
        near = theirs > -1e5
        compared += near.sum()
        assert ours[near] == pytest.approx(theirs[near], rel=1e-6, abs=1e-6)
        assert (ours[~near] <= -1e5).all()
    assert compared > width


def test_a_recount_scores_the_same_as_the_engine(by_hand):
    forest = noisy(by_hand, 5)
    one = ModelDataset(DOMAIN.vectors()[:1], np.zeros(1, np.int64))
    assert log_likelihood(forest, one) == pytest.approx(enumerated(forest, 1)[0])


def test_counts_far_from_any_dataset_are_infeasible(by_hand):
    forest = noisy(by_hand, 0)
    first = forest.trees[0]
    far = replace(first, value=first.value - 100.0 * (first.left < 0)[:, None])
    assert solve(replace(forest, trees=(far, *forest.trees[1:])), DOMAIN, 3, TimeBox(60)).status == "infeasible"


def test_forests_without_noisy_counts_are_refused(by_hand):
    forest = noisy(by_hand, 0)
    with pytest.raises(ValueError, match="no noisy counts"):
        solve(replace(forest, observation=ClassCounts("totals")), DOMAIN, 3, TimeBox(60))
    with pytest.raises(ValueError, match="no noisy counts"):
        solve(replace(forest, observation=under(Privacy("permute-and-flip", 1.0))), DOMAIN, 3, TimeBox(60))


@pytest.mark.parametrize("n_rows", [0, (3, 2)])
def test_impossible_numbers_of_rows_are_refused(by_hand, n_rows):
    with pytest.raises(DataError):
        solve(noisy(by_hand, 0), DOMAIN, n_rows, TimeBox(60))
