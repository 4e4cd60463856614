"""The informed adversary of the DP paper (SaTML 2026, appendix G): in goes a table, out come the errors of each attack.

10 trees of depth 5 on the first rows of each table, 100 of them attacked one by one with all others known. Forest,
noise and attacked rows of a seed are the authors', number by number, so the runs are compared pair by pair. The paper's
own attack is run too, by enumeration instead of CP-SAT: it must give the published errors. Needs diffprivlib.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.groups import Groups, KnownRows
from pytest_draft.attack.private.informed import guess_alone, noisy_score
from pytest_draft.data.individuals import inliers
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox
from studies.dp_forests import papers_forest
from studies.papers.targets import papers_domain
from studies.public_data import read_divided

N_ROWS = {"compas": 2_000, "default_credit": 10_000, "adult": 20_000}
"""Training rows: the first ones of each table."""

_TREES, _DEPTH = 10, 5
"""Of every published forest."""

_ATTACKED = 100
"""Rows that are attacked one by one; the authors'."""

_SECONDS = 3_600.0
"""Time box of all guesses on one forest, which take seconds: it never ends one."""

_OUTSIDE = -1e9
"""Log-probability of a difference outside of the authors' interval: no other term makes up for it."""


def attack(table: Path, epsilon: float, seed: int) -> dict[str, float]:
    """Train one forest of the authors' and attack 100 of its rows.

    Returns
    -------
    dict
        ``NAME_error``: the mean error on encoded columns of our closest, valid and likeliest guess, of the paper's
        attack and of the majority; ``inlier_error`` and ``outlier_error``: ours, on the attacked rows that are such,
        not a number without any; ``perfect`` and ``papers_perfect``: percent of the attacked rows that our likeliest
        vector, and the paper's attack, rebuild perfectly.
    """
    features, label = read_divided(table)
    target, rows, n_rows = label.to_numpy(np.int64), features.to_numpy(np.float32), N_ROWS[table.stem]
    domain = papers_domain(table.stem, list(features.columns))
    forest = papers_forest(rows[:n_rows], target[:n_rows], _TREES, _DEPTH, epsilon, seed, seed)
    everyone = KnownRows(rows[:n_rows], target[:n_rows], np.ones((_TREES, n_rows), dtype=np.int64))
    unknown = attacked(forest, n_rows, seed)
    one = Groups(np.zeros_like(unknown), np.array([len(unknown)]), np.ones((_TREES, 1), dtype=np.int64))
    assert forest.observation.privacy is not None
    score = noisy_score(forest, domain, CountNoise.of(forest.observation.privacy), everyone, unknown)
    guesses = guess_alone(domain, one, everyone, unknown, score, forest.n_classes, TimeBox(_SECONDS))
    truth = everyone.rows[unknown]
    paper = papers_guess(forest, domain, everyone, unknown)
    found = {
        "ours": guesses.closest,
        "valid": guesses.valid,
        "likeliest": guesses.likeliest,
        "paper": paper,
        "majority": majority(everyone, unknown),
    }
    inside = inliers(everyone.rows, TimeBox(_SECONDS))
    assert inside is not None
    missed = np.abs(guesses.closest - truth).mean(axis=1)
    like_others = inside[unknown]
    return {
        **{f"{name}_error": float(np.abs(guess - truth).mean()) for name, guess in found.items()},
        "inlier_error": float(missed[like_others].mean()) if like_others.any() else math.nan,
        "outlier_error": float(missed[~like_others].mean()) if not like_others.all() else math.nan,
        "perfect": 100 * float((guesses.likeliest == truth).all(axis=1).mean()),
        "papers_perfect": 100 * float((paper == truth).all(axis=1).mean()),
    }


def attacked(forest: Forest, n_rows: int, seed: int) -> IntArray:
    """Return the rows that the authors attack: drawn after the noise, from one source of random numbers.

    Returns
    -------
    ndarray of int64, shape (100,)
    """
    source = np.random.RandomState(seed)
    source.laplace(size=sum(len(tree.leaves) for tree in forest.trees) * forest.n_classes)
    return source.choice(n_rows, _ATTACKED, replace=False).astype(np.int64)


def majority(everyone: KnownRows, unknown: IntArray) -> Rows:
    """Return the per-coordinate majority of all other rows, for each unknown row, shape (n_unknown, n_columns).

    Parameters
    ----------
    everyone : KnownRows
        All training rows, of zeros and ones.
    unknown : ndarray of int64, shape (n_unknown,)
    """
    ones = everyone.rows.sum(axis=0, dtype=np.float64) - everyone.rows[unknown]
    guess: Rows = (ones > 0.5 * (len(everyone.rows) - 1)).astype(np.float32)
    return guess


def papers_guess(forest: Forest, domain: Domain, everyone: KnownRows, unknown: IntArray) -> Rows:
    """Return the optimum of the paper's objective (equation 20) for each unknown row, by enumeration.

    The objective is that of the authors' code: the log-probability of each absolute difference (twice that of a
    difference), within an interval of 12 / epsilon_v, and for each known row and column that agrees one point. The
    range of the first over that of the second is brought to 20 epsilon, by scaling the smaller one and rounding its
    coefficients.

    Parameters
    ----------
    forest : Forest
        With Laplace noise.
    domain : Domain
        Of binary columns and one-hot groups.
    everyone : KnownRows
        All training rows.
    unknown : ndarray of int64, shape (n_unknown,)

    Returns
    -------
    ndarray of float32, shape (n_unknown, n_columns)
        Of equally good vectors the first of the domain.
    """
    assert forest.observation.privacy is not None
    epsilon = forest.observation.privacy.epsilon
    budget, n_others = epsilon / forest.n_trees, len(everyone.rows) - 1
    bound = math.ceil(12 / budget)
    chance = np.log(-np.expm1(-budget)) - budget * np.arange(bound + 1)
    n_counts = sum(len(tree.leaves) for tree in forest.trees) * forest.n_classes
    ratio, wanted = (
        n_counts * (chance[0] - chance[-1]) / (n_others * domain.n_columns),
        20 * epsilon,
    )
    point = 1.0
    if ratio > wanted:
        point = float(np.round(ratio / wanted))
    else:
        chance = np.round(chance * wanted / ratio)
    chance = np.append(chance, _OUTSIDE)
    vectors = domain.vectors()
    columns, own = np.ascontiguousarray(vectors.T), np.ascontiguousarray(everyone.rows[unknown].T)
    score = np.zeros((len(unknown), len(vectors), forest.n_classes))
    once = np.ones(len(everyone.rows), dtype=np.int64)
    for t, tree in enumerate(forest.trees):
        leaf, counts = leaf_positions(tree, columns), everyone.at_leaves(tree, once, forest.n_classes)
        for row, (place, label) in enumerate(zip(leaf_positions(tree, own), everyone.labels[unknown], strict=True)):
            known = counts.copy()
            known[place, label] -= 1
            before, after = (np.minimum(np.abs(forest.released(t) - known - more), bound + 1) for more in (0, 1))
            score[row] += np.take(chance[after] - chance[before], leaf, axis=0)
    ones = everyone.rows.sum(axis=0, dtype=np.float64) - everyone.rows[unknown]
    agreeing = ones @ vectors.T + (n_others - ones) @ (1 - vectors.T)
    guess: Rows = vectors[(score.max(axis=2) + point * agreeing).argmax(axis=1)]
    return guess
