"""The prior that is learnt from the rows rebuilt so far."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from pytest_draft.attack.compiled_trees import Walks
from pytest_draft.attack.numeric.dataset import Dataset
from pytest_draft.attack.numeric.energy import NodeArrays
from pytest_draft.attack.numeric.prior import SHRINKAGE, Prior

SIZES = (8, 5, 3)  # two ordered attributes and a one-hot group


def dataset(state, label):
    """Return a dataset of which only the rows count."""
    nothing = dict.fromkeys(Dataset._fields, np.zeros(1, np.int32))
    return Dataset(**{**nothing, "state": np.asarray(state, np.int32), "label": np.asarray(label, np.int32)})


def learnt(strength, state, label, smooth=(False, False, False), base=None):
    """Return what was learnt from states of two ordered attributes and a one-hot group."""
    base = tuple(np.full(size, 1 / size) for size in SIZES) if base is None else base
    nothing = np.zeros(1, np.int32)
    walks = dict.fromkeys(Walks._fields, nothing) | {"one_hot": np.array([False, False, True])}
    start = np.cumsum([0, *map(len, base)]).astype(np.int32)
    nodes = dict.fromkeys(NodeArrays._fields, nothing) | {"walks": Walks(**walks), "start": start}
    nodes["count"] = np.zeros((1, 2), np.int32)
    return Prior(strength, base, smooth).learn(NodeArrays(**nodes), dataset(state, label))


def rows(n=400):
    """Return states of which the second ordered attribute follows the first, and labels that the first follows."""
    random = np.random.default_rng(0)
    label = random.integers(2, size=n)
    first = np.clip(random.normal(2 + 3 * label, 1).round(), 0, 7)
    second = np.clip((first / 2 + random.normal(0, 0.4, n)).round(), 0, 4)
    return np.column_stack([first, second, random.integers(3, size=n)]), label


def own(a):
    return slice(sum(SIZES[:a]), sum(SIZES[: a + 1]))


def test_with_the_copula_the_states_are_as_likely_as_they_are_common():
    state, label = rows()

    copula = learnt(1.0, state, label)

    for a, size in enumerate(SIZES):
        here = own(a)
        normal = 0 if a == 2 else copula.score[here] ** 2 / 2
        share = np.exp(copula.log_prior[here] - normal)
        expected = np.bincount(state[:, a].astype(int), minlength=size) + 0.3 * len(state) / size
        assert np.isclose(share.sum(), 1)
        assert np.allclose(share, expected / expected.sum())


def test_scores_are_in_order_and_that_of_the_middle_is_nothing():
    copula = learnt(1.0, *rows())

    assert (np.diff(copula.score[own(0)]) > 0).all()
    even = learnt(1.0, np.tile(np.arange(8)[:, None], (1, 3)) % SIZES, np.zeros(8))
    assert np.allclose(even.score[own(0)], norm.ppf((np.arange(8) + 0.5) / 8))


def test_states_that_no_row_has_stay_possible_as_far_as_they_were():
    base = (np.array([0.9, *[0.1 / 7] * 7]), np.full(5, 0.2), np.full(3, 1 / 3))

    copula = learnt(1.0, np.zeros((50, 3)), np.zeros(50), base=base)

    prior = copula.log_prior - np.where(np.arange(16) < 13, copula.score**2 / 2, 0)
    assert np.isfinite(copula.log_prior).all()
    assert (np.exp(prior[1:8]) > 0.001).all()
    assert (prior[0] > prior[1:8]).all()


def test_where_neighbours_are_alike_what_is_common_makes_them_more_likely():
    state = np.full((60, 3), 2)
    base = tuple(np.full(size, 1 / size) for size in (80, 5, 3))
    state[:, 0] = 40

    found = [learnt(1.0, state, np.zeros(60), (smooth, False, False), base) for smooth in (False, True)]

    alone, smooth = (np.exp(one.log_prior[:80] - one.score[:80] ** 2 / 2) for one in found)
    assert np.isclose(alone[41], alone[0])
    assert smooth[41] > 5 * smooth[0]
    assert np.isclose(smooth.sum(), 1)


def test_each_score_is_expected_where_a_regression_on_the_others_puts_it():
    state, label = rows()

    copula = learnt(0.5, state, label)

    scores = np.stack([copula.score[own(a)][state[:, a].astype(int)] for a in range(2)], axis=1)
    mean = np.stack([scores[label == c].sum(axis=0) / ((label == c).sum() + 2) for c in range(2)])
    away = scores - mean[label]
    covariance = (1 - SHRINKAGE) * away.T @ away / len(away) + SHRINKAGE * np.eye(2)
    for a, b in ((0, 1), (1, 0)):
        slope = covariance[a, b] / covariance[b, b]
        assert slope > 0.3
        assert np.isclose(copula.slope[a, b], slope)
        assert np.isclose(copula.deviation[a] ** 2, covariance[a, a] - slope * covariance[a, b])
    assert np.allclose(copula.mean[:, :2], mean)
    assert copula.mean[1, 0] - copula.mean[0, 0] > 1
    assert copula.strength == 0.5


def test_a_one_hot_group_expects_nothing_and_tells_the_others_nothing():
    copula = learnt(1.0, *rows())

    assert (copula.slope[2] == 0).all()
    assert (copula.slope[:, 2] == 0).all()
    assert np.isinf(copula.deviation[2])


def test_strength_is_a_power_of_what_is_learnt_and_none_leaves_the_base():
    state, label = rows()
    full, half, none = (learnt(strength, state, label) for strength in (1.0, 0.5, 0.0))

    assert np.allclose(none.log_prior, np.log(np.repeat(1 / np.array(SIZES), SIZES)))
    assert np.abs(full.log_prior - none.log_prior).max() > 0.1
    assert np.allclose(half.log_prior, (full.log_prior + none.log_prior) / 2)
    assert none.strength == 0


@pytest.mark.parametrize("n_classes", [1, 3])
def test_before_anything_is_learnt_each_state_is_as_likely_as_its_base(n_classes):
    base = (np.array([0.7, 0.3]), np.array([0.2, 0.3, 0.5]))
    prior = Prior(1.0, base, (False, False))

    found = prior.nothing(n_classes)

    assert np.allclose(np.exp(found.log_prior), [0.7, 0.3, 0.2, 0.3, 0.5])
    assert (found.strength, found.mean.shape) == (0, (n_classes, 2))
