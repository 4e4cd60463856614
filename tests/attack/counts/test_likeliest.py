"""Occurrences unknown: the likeliest dataset against enumeration, and forests that were really trained."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaf_ways import leaf_value
from profiles import examples
from pytest_draft.attack.counts.likeliest import Likely, find_likeliest
from pytest_draft.attack.counts.occupancy import LeafDraws
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.problem import Cells, Problem
from pytest_draft.attack.search import Search
from pytest_draft.domain import declared
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox

N_CLASSES = 2


def draws_of(problem):
    n_known = 0 if problem.known is None else int(problem.known[0].sum())
    return LeafDraws.of(problem.counts, problem.distinct, problem.groups.n_rows + n_known)


DOMAIN = declared(
    ["a", "job_x", "job_y", "job_z"],
    {"a": {"kind": "binary"}, "job": {"kind": "one-hot", "columns": [1, 2, 3]}},
    "by hand",
)
N_VECTORS = DOMAIN.n_vectors


@dataclass(frozen=True)
class Toy:
    """A problem of six vectors and two classes, whose trees give each vector a leaf at random."""

    problem: Problem
    draws: LeafDraws
    prior: np.ndarray
    truth: np.ndarray

    @classmethod
    def of(cls, seed, n_rows, n_trees, n_leaves, n_known=0, n_groups=1, used=True):
        rng = np.random.default_rng(seed)
        signature = rng.integers(0, n_leaves, (n_trees, N_VECTORS)).astype(np.int32)
        vectors = DOMAIN.vectors()
        allowed = np.column_stack([vectors[:, 0] == 0, vectors[:, 0] == 1, vectors[:, 1:] == 1])
        cells = Cells(signature, np.ones(N_VECTORS, np.int64), allowed, np.array([0, 2, 5]))
        of_row = np.sort(rng.permutation(np.arange(n_rows) % n_groups))
        size = np.bincount(of_row, minlength=n_groups)
        groups = Groups(of_row, size, np.ones((n_trees, n_groups), np.int64), draws_known=False)
        group, cell, label = np.indices((n_groups, N_VECTORS, N_CLASSES)).reshape(3, -1)
        truth = of_row * N_VECTORS * N_CLASSES + rng.integers(0, N_VECTORS * N_CLASSES, n_rows)
        hidden = np.concatenate([truth, rng.integers(0, N_VECTORS * N_CLASSES, n_known)])
        tables = [np.zeros((n_trees, n_leaves, N_CLASSES), np.int64) for _ in range(2)]
        distinct = np.zeros((n_trees, n_leaves), np.int64)
        for t in range(n_trees):
            times = np.bincount(rng.integers(0, len(hidden), len(hidden)), minlength=len(hidden))
            leaf = signature[t, cell[hidden]]
            np.add.at(tables[0][t], (leaf, label[hidden]), times)
            np.add.at(tables[1][t], (leaf[n_rows:], label[hidden[n_rows:]]), 1)
            np.add.at(distinct[t], leaf, times > 0)
        counts, known = (tuple(table) for table in tables)
        problem = Problem(
            DOMAIN,
            cells,
            groups,
            counts,
            tuple(distinct) if used else None,
            group,
            cell,
            label,
            known if n_known else None,
        )
        return cls(problem, draws_of(problem), rng.uniform(0.2, 1.0, len(group)), truth)

    def find(self, seed=0, workers=1, timebox=None) -> Likely:
        return find_likeliest(self.problem, self.draws, self.prior, Search(timebox or TimeBox(60), seed, workers))

    def posterior(self, chosen):
        """Return the log-posterior of a dataset, recounted; the prior's total is 1 in each group."""
        total = sum(self.log_prior[k] for k in chosen)
        for place, known, counts, distinct in self.trees:
            rows = known.copy()
            for k in chosen:
                rows[place[k]] += 1
            by_leaf = zip(*[iter(rows)] * N_CLASSES, strict=True)
            total += sum(map(leaf_value, by_leaf, counts, distinct))
        return total

    @cached_property
    def log_prior(self):
        """Log-probability of each candidate among those of its group."""
        group = self.problem.group
        return np.log(self.prior / np.bincount(group, self.prior)[group]).tolist()

    @cached_property
    def trees(self):
        """By tree: where each candidate counts among leaves x classes, the known rows there, counts and distinct rows.

        Plain lists: enumeration looks at them a hundred thousand times, a few entries each.
        """
        found, problem = [], self.problem
        for t, counts in enumerate(problem.counts):
            place = problem.cells.signature[t, problem.cell] * N_CLASSES + problem.label
            known = np.zeros_like(counts) if problem.known is None else problem.known[t]
            distinct = [-1] * len(counts) if problem.distinct is None else problem.distinct[t].tolist()
            found.append((place.tolist(), known.ravel().tolist(), list(map(tuple, counts.tolist())), distinct))
        return found

    @property
    def best(self):
        """The largest log-posterior of all datasets."""
        groups = range(self.problem.groups.n_groups)
        parts = [
            combinations_with_replacement(
                np.flatnonzero(self.problem.group == g).tolist(), int(self.problem.groups.size[g])
            )
            for g in groups
        ]
        return max(self.posterior(sum(rows, ())) for rows in product(*parts))

    def require_valid(self, likely):
        """Fail unless all datasets keep the groups' sizes, and what is said of the likeliest is so."""
        problem, size = self.problem, self.problem.groups.size
        for chosen in [likely.chosen, *likely.samples]:
            assert chosen.shape == (problem.groups.n_rows,)
            assert np.array_equal(problem.group[chosen], np.sort(problem.groups.of_row))
        assert likely.expected.shape == (problem.n_candidates,)
        assert (likely.expected >= 0).all()
        assert np.allclose(np.bincount(problem.group, likely.expected), size)
        assert (likely.missing == 0) == (likely.log_posterior > -math.inf)
        recounted = self.posterior(likely.chosen)
        if likely.missing:
            assert recounted == -math.inf
        else:
            assert likely.log_posterior == pytest.approx(recounted, rel=1e-10, abs=1e-9)


SIZES = {
    "seed": st.integers(0, 100_000),
    "n_rows": st.integers(2, 12),
    "n_trees": st.integers(1, 8),
    "n_leaves": st.integers(1, 4),
    "n_known": st.integers(0, 4),
    "n_groups": st.integers(1, 2),
    "used": st.booleans(),
}


@pytest.mark.nightly
@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize(("n_known", "n_groups"), [(0, 1), (3, 1), (0, 2), (2, 2)])
def test_the_likeliest_dataset_is_the_maximum_over_all_datasets(n_known, n_groups, used):
    reached = []
    for seed in range(25):
        toy = Toy.of(seed, 3 + seed % 2, 1 + seed % 5, 2 + seed % 3, n_known, n_groups, used)
        likely, best = toy.find(seed), toy.best
        toy.require_valid(likely)
        assert likely.log_posterior <= best + 1e-9
        reached.append(likely.log_posterior >= best - 1e-9)
    # With distinct rows, those of two groups can only change places by way of a dataset that lacks rows.
    assert np.mean(reached) >= (0.75 if used and n_groups == 2 else 0.95)


@pytest.mark.nightly
def test_the_truth_is_never_likelier_than_what_is_found():
    likelier = 0
    for seed in range(examples(60)):
        toy = Toy.of(seed, 5 + seed % 15, 1 + seed % 20, 2 + seed % 4, n_known=seed % 3)
        found, truth = toy.find(seed).log_posterior, toy.posterior(toy.truth)
        assert truth > -math.inf
        assert truth <= found + 1e-9
        likelier += found > truth + 1e-9
    assert likelier  # else the comparison could be of equals only


@pytest.mark.nightly
@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(**SIZES)
def test_datasets_keep_the_groups_and_the_posterior_is_their_own(**sizes):
    toy = Toy.of(**sizes)
    toy.require_valid(toy.find())


def parts(likely):
    return likely.chosen, likely.samples, likely.expected, np.array([likely.missing, likely.log_posterior])


@pytest.mark.nightly
@settings(max_examples=examples(15), deadline=None, derandomize=True)
@given(effort=st.sampled_from([math.inf, 1e-5, 1e-6, 3e-7]), **SIZES)
def test_the_same_seed_gives_the_same_datasets_and_effort_on_any_number_of_workers(effort, **sizes):
    toy = Toy.of(**sizes)
    boxes = [TimeBox(60, effort) for _ in range(4)]
    found = [toy.find(7, workers, box) for workers, box in zip([1, 1, 2, 4], boxes, strict=True)]
    for other in found[1:]:
        for mine, theirs in zip(parts(found[0]), parts(other), strict=True):
            assert np.array_equal(mine, theirs)
    assert len({box.meter.spent for box in boxes}) == 1
    assert boxes[0].meter.spent > 0


@pytest.mark.nightly
def test_another_seed_gives_other_samples():
    toy = Toy.of(3, 12, 2, 2)
    assert not np.array_equal(toy.find(0).samples, toy.find(1).samples)


def ticking(ticks):
    """Return a box of so many looks at the clock."""
    now = iter(range(10_000_000))
    return TimeBox(ticks + 0.5, clock=lambda: float(next(now)))


@pytest.mark.nightly
@settings(max_examples=examples(25), deadline=None, derandomize=True)
@given(**SIZES)
def test_when_the_time_is_out_there_is_a_valid_dataset_or_none(**sizes):
    toy = Toy.of(**sizes)
    n_samples = []
    for ticks in [0, 1, 2, 3, 10, 100, 199, 200, 201, 399, 400, 401, 402, 404, 410, 450, 490, 520, 2_000]:
        try:
            likely = toy.find(timebox=ticking(ticks))
        except OutOfTimeError:
            assert not n_samples
            continue
        toy.require_valid(likely)
        n_samples.append(len(likely.samples))
    assert n_samples[0] == 0
    assert n_samples[-1] > 0


@pytest.mark.nightly
@settings(max_examples=examples(25), deadline=None, derandomize=True)
@given(effort=st.floats(1e-9, 1e-3), **SIZES)
def test_when_the_effort_is_out_there_is_a_valid_dataset(effort, **sizes):
    toy = Toy.of(**sizes)
    box = TimeBox(60, effort)
    toy.require_valid(toy.find(timebox=box))


def test_one_row_one_tree_one_class_one_candidate():
    cells = Cells(np.zeros((1, 1), np.int32), np.array([6]), np.ones((1, 5), bool), np.array([0, 2, 5]))
    nobody = np.zeros(1, dtype=np.int64)
    groups = Groups(nobody, np.array([1]), np.ones((1, 1), np.int64), draws_known=False)
    problem = Problem(DOMAIN, cells, groups, (np.array([[4]]),), (np.array([1]),), nobody, nobody, nobody)
    likely = find_likeliest(problem, draws_of(problem), np.ones(1), Search(TimeBox(60)))
    assert likely.chosen.tolist() == [0]
    assert likely.expected.tolist() == [1.0]
    assert (likely.missing, likely.log_posterior) == (0, 0.0)


@pytest.mark.parametrize("wanted", [2, 5])
def test_what_no_dataset_explains_is_told_by_the_rows_that_are_missing(wanted):
    toy = Toy.of(0, 4, 2, 1)
    counts = tuple(np.array([[9, 9]]) for _ in range(2))
    distinct = tuple(np.array([4 + wanted]) for _ in range(2))
    problem = replace(toy.problem, counts=counts, distinct=distinct)
    likely = find_likeliest(problem, draws_of(problem), toy.prior, Search(TimeBox(60)))
    assert likely.missing == 2 * wanted
    assert likely.log_posterior == -math.inf
