"""Which rows each round of boosting drew, replayed as the libraries draw: one generator for all rounds.

The rules are those of ``sklearn.ensemble._gradient_boosting._random_sample_mask`` (and of the seed that each tree takes
from the same generator), of LightGBM's ``BaggingSampleStrategy`` (``src/boosting/bagging.hpp``, one generator for each
1,024 rows) and of XGBoost's ``UniformSample`` (``src/tree/hist/sampler``, a generator for each tree). Whether a file's
rows were drawn so is not for sure: the sums of the right rows say it.
"""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from pytest_draft.arrays import BoolArray, IntArray

_BLOCK = 1024
"""Rows that LightGBM draws by one generator."""

_LARGEST_OF_SCIKIT_LEARN = 2**31 - 1
_MASK = np.uint64(2**63 - 1)
_FACTOR = 16807


def of_scikit_learn(seed: int, share: float, n_trees: int, per_round: int, labels: IntArray) -> BoolArray:
    """Return the draws of a GradientBoosting with an integer as its ``random_state``, shape (n_trees, n_rows).

    Parameters
    ----------
    share : float
        ``subsample``.
    per_round : int
        Trees in each round.
    labels : ndarray of int64, shape (n_rows,)
        Of which the number counts.
    """
    random, n_rows = RandomState(seed), len(labels)
    n_drawn, left = max(1, int(share * n_rows)), np.arange(n_rows, 0, -1)
    found = np.zeros((n_trees, n_rows), dtype=np.bool_)
    for tree in range(0, n_trees, per_round):
        chances, wanted = (random.uniform(size=n_rows) * left).tolist(), n_drawn
        for row, chance in enumerate(chances):
            if chance < wanted:
                found[tree : tree + per_round, row] = True
                wanted -= 1
        random.randint(0, _LARGEST_OF_SCIKIT_LEARN, size=per_round)  # the trees' own seeds
    return found


def of_lightgbm(
    seed: int, shares: tuple[float, float], every: int, n_trees: int, per_round: int, labels: IntArray
) -> BoolArray:
    """Return the draws of LightGBM's bagging, shape (n_trees, n_rows).

    Parameters
    ----------
    shares : pair of float
        Of the rows of class 0, and of others: ``bagging_fraction``, or the fractions of both.
    every : int
        ``bagging_freq``: rounds that go by the same draw.
    """
    n_rows = len(labels)
    share = np.where(labels > 0, *(np.float64(one) for one in (shares[1], shares[0])))
    state = np.uint32(seed) + np.arange((n_rows + _BLOCK - 1) // _BLOCK, dtype=np.uint32)
    found = np.zeros((n_trees, n_rows), dtype=np.bool_)
    for tree in range(0, n_trees, per_round * every):
        drawn = np.zeros((len(state), _BLOCK), dtype=np.float32)
        for place in range(_BLOCK):
            # A generator moves on for as many rows as its block has.
            here = np.arange(len(state)) * _BLOCK + place < n_rows
            state[here] = np.uint32(214013) * state[here] + np.uint32(2531011)
            drawn[:, place] = ((state >> np.uint32(16)) & np.uint32(0x7FFF)).astype(np.float32) / np.float32(32768)
        found[tree : tree + per_round * every] = drawn.reshape(-1)[:n_rows] < share
    return found


def of_xgboost(seed: int, share: float, skipped: int, n_trees: int, labels: IntArray) -> BoolArray:
    """Return the draws of XGBoost's uniform sampling with ``tree_method`` *hist* or *approx*, shape (n_trees, n_rows).

    Parameters
    ----------
    share : float
        ``subsample``, in single precision.
    skipped : int
        Numbers that its generator gave for something else before.
    """
    seeds = RandomState(seed).randint(0, 2**32, size=skipped + n_trees, dtype=np.uint32)[skipped:]
    powers = np.array(_powers(len(labels)), dtype=np.uint64)
    found = np.zeros((n_trees, len(labels)), dtype=np.bool_)
    for tree, start in enumerate(np.maximum(seeds.astype(np.uint64), np.uint64(1))):
        found[tree] = (((powers * start) & _MASK) - np.uint64(1)).astype(np.float64) / 2.0**63 < share
    return found


def of_exact_xgboost(seed: int, share: float, n_trees: int, labels: IntArray) -> BoolArray:
    """Return the draws of XGBoost with ``tree_method`` *exact*: two numbers for each row, and one after each tree."""
    n_rows = len(labels)
    numbers = RandomState(seed).randint(0, 2**32, size=(n_trees, 2 * n_rows + 1), dtype=np.uint32).astype(np.float64)
    low, high = numbers[:, 0:-1:2], numbers[:, 1:-1:2]
    return np.asarray((low + high * 2.0**32) / 2.0**64 < share)


def _powers(number: int) -> list[int]:
    """Return so many powers of the factor of XGBoost's generator, from the first on."""
    found, power = [], 1
    for _ in range(number):
        power = power * _FACTOR % 2**63
        found.append(power)
    return found
