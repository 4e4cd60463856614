"""Datasets behind noisy counts: the posterior and its consensus."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from pytest_draft.artifact.forest.observations import ClassCounts
from pytest_draft.attack import compiled_trees
from pytest_draft.attack.compiled_trees import Walks, leaves_of
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.evidence.evidence import all_gains
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.private.noisy_counts import (
    PARAMETERS,
    NoisyProblem,
    build_noisy,
    rebuild_from_noise,
    size_interval,
)
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk import mixture
from pytest_draft.attack.walk.chain import RowChain
from pytest_draft.attack.walk.posterior import sample_posterior
from pytest_draft.attack.walk.problem import indices_of
from pytest_draft.domain import declared
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.progress import StageClock
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly

MIXED = declared(
    ["x", "y", "z", "old", "children"],
    {
        "job": {"kind": "one-hot", "columns": ["x", "y", "z"]},
        "old": {"kind": "binary"},
        "children": {"kind": "ordinal", "low": 1, "high": 4},
    },
    "test",
)
TINY = declared(["a", "b"], {"a": {"kind": "binary"}, "b": {"kind": "binary"}}, "test")
N_CLASSES = 2


def drawn(domain, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    vectors = domain.vectors()
    return vectors[rng.integers(len(vectors), size=n_rows)], rng.integers(0, N_CLASSES, n_rows)


def unknown(domain, n_rows):
    return np.full((n_rows, len(domain.attributes)), -1, np.int32), np.full(n_rows, -1, np.int64)


def search(seconds=20.0, **changes):
    return Search(TimeBox(seconds), **changes)


# Walks


@pytest.mark.parametrize("seed", range(5))
def test_values_are_walked_to_the_leaves_that_their_encoded_rows_reach(released, seed):
    rows, labels = drawn(MIXED, 50, seed)
    forest = released(MIXED, rows, labels, seed=seed, n_trees=4, depth=4)
    found = leaves_of(Walks.of(forest, MIXED), indices_of(MIXED, None, rows))
    first = np.cumsum([0, *(len(tree.leaves) for tree in forest.trees)])
    for t, tree in enumerate(forest.trees):
        assert (found[:, t] == first[t] + leaf_positions(tree, np.ascontiguousarray(rows.T))).all()


def test_values_are_those_that_encode_the_rows(released):
    rows, labels = drawn(MIXED, 40)
    problem = build_noisy(released(MIXED, rows, labels), MIXED, *unknown(MIXED, 40))
    assert (problem.domain.encoded(indices_of(MIXED, None, rows)) == rows).all()
    assert (indices_of(MIXED, None, rows, [1])[:, [0, 2]] == -1).all()


def test_open_attributes_are_those_that_no_tree_tests_however_many_there_are(released):
    columns = [f"c{index}" for index in range(80)]
    domain = declared(columns, {name: {"kind": "binary"} for name in columns}, "test")
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (5, 80)).astype(np.float32)
    forest = released(domain, rows, np.zeros(5, np.int64), n_trees=12, depth=4)
    value = rng.integers(0, 2, (30, 80)).astype(np.int32)
    tested = np.zeros(value.shape, bool)
    for tree in forest.trees:
        for row, values in enumerate(value):
            node = 0
            while tree.left[node] >= 0:
                tested[row, tree.feature[node]] = True
                node = (tree.left if values[tree.feature[node]] <= tree.threshold[node] else tree.right)[node]
    left = compiled_trees.values_left(Walks.of(forest, domain), np.full(80, 2), value)
    assert ((left == 1) == tested).all()


# The posterior


def log_prior(value, label, component):
    """Return the log-probability of a dataset and its components, from the definition of the mixture."""
    total, weights = 0.0, np.array([1.0, mixture.INDICATOR_ODDS]) * 2 / (1 + mixture.INDICATOR_ODDS)

    def polya(counts, weight):
        return (
            gammaln(weight.sum())
            - gammaln(weight.sum() + counts.sum())
            + (gammaln(weight + counts) - gammaln(weight)).sum()
        )

    n = mixture.COMPONENTS
    total += polya(np.bincount(component, minlength=n), np.full(n, mixture.CONCENTRATION / n))
    for k in np.unique(component):
        mine = component == k
        total += polya(np.bincount(label[mine], minlength=N_CLASSES), np.ones(N_CLASSES))
        for a in range(value.shape[1]):
            total += polya(np.bincount(value[mine, a], minlength=2), weights)
    return total


def exact_posterior(problem, sizes):
    """Return the probability of each multiset of rows, by enumeration."""
    kinds = list(product(*[range(2)] * 2, range(N_CLASSES)))
    weight = Counter()
    for size in sizes:
        for chosen in product(kinds, repeat=size):
            value = np.array([kind[:2] for kind in chosen], np.int32).reshape(size, 2)
            label = np.array([kind[2] for kind in chosen], np.int64)
            likelihood = problem.model.log_likelihood(value, label)
            for component in product(range(mixture.COMPONENTS), repeat=size):
                prior = log_prior(value, label, np.array(component, np.int64))
                weight[tuple(sorted(chosen))] += np.exp(likelihood + prior)
    total = sum(weight.values())
    return {rows: mass / total for rows, mass in weight.items()}


@pytest.mark.parametrize(("size", "rounding"), [(2, "sum"), (2, "noise"), (None, "sum")])
def test_sweeps_draw_from_the_exact_posterior(released, size, rounding):
    rows, labels = drawn(TINY, 2, 3)
    forest = released(TINY, rows, labels, rounding=rounding, n_trees=2, scale=1.5, seed=4)
    problem = build_noisy(forest, TINY, *unknown(TINY, 2))
    if size is None:
        problem = replace(problem, value=np.full((2, 2), -1, np.int32), label=np.full(2, -1), n_rows=(1, 2))
    expected = exact_posterior(problem, [2] if size else [1, 2])
    chain = RowChain(problem, sum(problem.n_rows) // 2, [5])
    found, n_samples = Counter(), 15_000
    for _ in range(n_samples):
        chain.sweep(1, 1.0, 1.0)
        value, label = chain.dataset
        found[tuple(sorted(map(tuple, np.column_stack([value, label]).tolist())))] += 1
    distance = sum(abs(found[key] / n_samples - expected.get(key, 0.0)) for key in {*found, *expected}) / 2
    assert distance < 0.05


def test_counts_and_gains_stay_in_step_with_the_rows(released):
    rows, labels = drawn(MIXED, 30)
    problem = build_noisy(
        released(MIXED, rows, labels, n_trees=5, depth=4), MIXED, *unknown(MIXED, 0), size_known=False
    )
    chain = RowChain(problem, sum(problem.n_rows) // 2, [0])
    chain.sweep(20, 4.0, 1.0)
    assert (chain._counts.rows == problem.model.rows_at_leaves(*chain.dataset)).all()
    more, less = chain._counts.more.copy(), chain._counts.less.copy()
    all_gains(problem.model.evidence, chain._counts)
    assert (more == chain._counts.more).all()
    assert (less == chain._counts.less).all()
    assert chain.log_likelihood == pytest.approx(problem.model.log_likelihood(*chain.dataset))
    _, fresh = chain._counted()
    assert (fresh.values == chain._mixture.values).all()
    assert (fresh.labels == chain._mixture.labels).all()


def test_with_hardly_any_noise_the_rows_are_rebuilt(released):
    rows, labels = drawn(MIXED, 20)
    forest = released(MIXED, rows, labels, n_trees=30, depth=5, scale=0.1, rounding="noise")
    rebuilt = rebuild_from_noise(build_noisy(forest, MIXED, *unknown(MIXED, 20)), search(60.0))
    assert Counter(map(bytes, rebuilt.rows)) == Counter(map(bytes, rows))
    assert rebuilt.status == "likeliest"
    assert not rebuilt.free.any()


def test_what_the_adversary_knows_stays_as_it_is(released):
    rows, labels = drawn(MIXED, 12)
    forest = released(MIXED, rows, labels, n_trees=4)
    value, label = unknown(MIXED, 12)
    value[:, 1] = indices_of(MIXED, None, rows)[:, 1]
    value[:3], label[:3] = indices_of(MIXED, None, rows)[:3], labels[:3]
    problem = build_noisy(forest, MIXED, value, label)
    posterior = sample_posterior(problem, search(), PARAMETERS)
    assert (posterior.guess[:, 3] == rows[:, 3]).all()
    assert (posterior.guess[:3] == rows[:3]).all()
    rebuilt = rebuild_from_noise(problem, search())
    assert rebuilt.rows.shape == (9, 5)
    assert (rebuilt.rows[:, 3] == rows[3:, 3]).all()
    assert not rebuilt.free[:, 1].any()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_seed_gives_the_same_guess_whatever_the_threads(released, workers):
    rows, labels = drawn(MIXED, 15)
    problem = build_noisy(released(MIXED, rows, labels, n_trees=4, depth=3), MIXED, *unknown(MIXED, 15))
    first = rebuild_from_noise(problem, search(60.0, seed=3))
    second = rebuild_from_noise(problem, search(60.0, seed=3, workers=workers))
    assert (first.rows == second.rows).all()
    assert (first.status, first.log_posterior) == (second.status, second.log_posterior)


def test_a_time_box_that_is_over_gives_no_made_up_rows(released):
    rows, labels = drawn(MIXED, 15)
    problem = build_noisy(released(MIXED, rows, labels), MIXED, *unknown(MIXED, 15))
    rebuilt = rebuild_from_noise(problem, Search(TimeBox(1e-9)))
    assert rebuilt.status == "no solution"
    assert rebuilt.rows is None
    with pytest.raises(OutOfTimeError):
        sample_posterior(problem, Search(TimeBox(1e-9)), PARAMETERS)


def test_a_short_time_box_says_that_it_cut_the_search_short(released):
    rows, labels = drawn(MIXED, 60)
    problem = build_noisy(released(MIXED, rows, labels, n_trees=10, depth=4), MIXED, *unknown(MIXED, 60))
    sample_posterior(problem, search(60.0), PARAMETERS)  # compiled now
    ticks = iter(np.arange(0, 1000, 0.2))
    rebuilt = rebuild_from_noise(problem, Search(TimeBox(1.5, clock=lambda: next(ticks))))
    assert rebuilt.status == "not converged"
    assert rebuilt.cut_short


def ended_by_the_clock(box, now):
    now[0] = box.seconds


def ended_by_the_effort(box, now):
    box.spend(box.effort)


def left_with_too_little_for_a_matching(box, now):
    box.spend(box.effort - 1e-12)


@pytest.fixture
def search_that():
    """Return a function that makes a search in which something happens to the time box when a stage begins."""

    def made(happens, stage, **changes):
        now = [0.0]
        box = TimeBox(100.0, effort=1e4, clock=lambda: now[0])
        return Search(
            box, clock=StageClock(box, lambda told: happens(box, now) if told.stage == stage else None), **changes
        )

    return made


@pytest.mark.parametrize(
    ("happens", "stage"),
    [
        (ended_by_the_clock, "sample"),
        (ended_by_the_clock, "agree"),
        (ended_by_the_effort, "sample"),
        (ended_by_the_effort, "agree"),
        (left_with_too_little_for_a_matching, "agree"),
    ],
)
def test_datasets_that_were_not_all_drawn_and_put_together_are_not_settled(released, search_that, happens, stage):
    rows, labels = drawn(MIXED, 15)
    problem = build_noisy(released(MIXED, rows, labels), MIXED, *unknown(MIXED, 15))
    undisturbed = sample_posterior(problem, search_that(happens, "never"), PARAMETERS)
    assert undisturbed.settled
    assert undisturbed.complete
    assert not sample_posterior(problem, search_that(happens, stage), PARAMETERS).complete
    rebuilt = rebuild_from_noise(problem, search_that(happens, stage))
    assert rebuilt.status == "not converged"
    assert rebuilt.cut_short


def test_no_row_is_shown(released):
    rows, labels = drawn(MIXED, 15)
    problem = build_noisy(released(MIXED, rows, labels), MIXED, *unknown(MIXED, 15))
    posterior = sample_posterior(problem, search(), PARAMETERS)
    for shown in (repr(problem), repr(posterior)):
        assert "array" not in shown
        assert len(shown) < 120


# The number of rows


@pytest.mark.parametrize("rounding", ["sum", "noise"])
def test_the_number_of_rows_is_found_in_its_interval(released, rounding):
    rows, labels = drawn(MIXED, 60)
    forest = released(MIXED, rows, labels, n_trees=12, depth=3, scale=0.4, rounding="noise", seed=1)
    least, most = size_interval(forest, CountNoise.of(forest.observation.privacy))
    assert least <= 60 <= most
    rebuilt = rebuild_from_noise(build_noisy(forest, MIXED, *unknown(MIXED, 0), size_known=False), search(60.0))
    assert abs(len(rebuilt.rows) - 60) <= 2


def test_the_interval_covers_the_number_of_rows_as_often_as_it_says(released):
    rows, labels = drawn(MIXED, 60)
    covered = 0
    for seed in range(60):
        forest = released(MIXED, rows, labels, n_trees=10, depth=2, scale=2.0, rounding="noise", seed=seed)
        least, most = size_interval(forest, CountNoise.of(forest.observation.privacy))
        covered += least <= 60 <= most
    assert covered >= 50  # 95 % of 60 are 57, four standard deviations 7


def test_more_known_rows_than_there_can_be_are_infeasible(released):
    rows, labels = drawn(TINY, 5)
    problem = build_noisy(released(TINY, rows, labels), TINY, indices_of(TINY, None, rows), labels)
    with pytest.raises(InfeasibleError):
        sample_posterior(replace(problem, n_rows=(2, 3)), search(), PARAMETERS)


def test_counts_that_lie_too_far_apart_are_refused(released):
    rows, labels = drawn(TINY, 4)
    forest = released(TINY, rows, labels)
    forest.trees[0].value[forest.trees[0].leaves[0], 0] = 1e15
    with pytest.raises(NotCoveredError, match="apart"):
        build_noisy(forest, TINY, *unknown(TINY, 4))


def test_a_problem_is_only_made_of_noisy_counts(released):
    rows, labels = drawn(TINY, 4)
    forest = replace(released(TINY, rows, labels), observation=ClassCounts("totals"))
    with pytest.raises(ValueError, match="exact counts"):
        build_noisy(forest, TINY, *unknown(TINY, 4))
    assert isinstance(build_noisy(released(TINY, rows, labels), TINY, *unknown(TINY, 4)), NoisyProblem)
