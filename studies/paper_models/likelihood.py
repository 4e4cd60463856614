"""The papers' objective: in go occurrences or a whole dataset, out comes a log-likelihood.

DRAFT (ICML 2024), section 6: the sum of log p_b over all trees and rows, where p_b is the chance that a row is drawn
b times. It is a likelihood of the occurrences, which the papers maximise jointly with the dataset.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from studies.paper_models.published import ModelDataset, reached, residual_of


def log_chances(n_rows: int, n_draws: int) -> FloatArray:
    """Return log p_b for b = 0 to `n_draws`, shape (n_draws + 1,).

    A row is drawn b times of n with the chance of the binomial distribution; -inf where that is 0.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(binom.logpmf(np.arange(n_draws + 1), n_draws, 1 / n_rows), dtype=np.float64)


def log_likelihood(occurrences: IntArray) -> float:
    """Return the papers' objective of occurrences, shape (n_trees, n_rows)."""
    n_rows = occurrences.shape[1]
    return float(sum(log_chances(n_rows, int(times.sum()))[times].sum() for times in occurrences))


def objective(forest: Forest, dataset: ModelDataset, occurrences: IntArray) -> float:
    """Return the papers' objective of a dataset with its occurrences.

    Parameters
    ----------
    occurrences : ndarray of int64, shape (n_trees, n_rows)

    Returns
    -------
    float
        -inf where they do not meet the published counts.
    """
    return log_likelihood(occurrences) if residual_of(forest, dataset, occurrences) == 0 else -np.inf


def best_objective(forest: Forest, dataset: ModelDataset, most_occurrences: int | None = None) -> float:
    """Return the largest objective of a dataset over all occurrences that meet the published counts.

    The n_tvc draws of a leaf and class fall on the s rows of that class in it. As log p_b is concave in b, no split of
    them is likelier than the most even one: s - (n mod s) rows with ``n // s`` occurrences, the others with one more.

    Parameters
    ----------
    most_occurrences : int or None
        Largest number of times that a tree may see a row.

    Returns
    -------
    float
        -inf where no occurrences meet the counts.
    """
    total = 0.0
    classes = np.eye(forest.n_classes, dtype=np.int64)[dataset.labels]
    for t, tree in enumerate(forest.trees):
        drawn = forest.counts(t)
        here, rows = drawn[tree.leaves], (reached(tree, dataset.rows) @ classes)[tree.leaves]
        if (here[rows == 0] > 0).any():
            return -np.inf
        here, rows = here[rows > 0], rows[rows > 0]
        each, more = np.divmod(here, rows)
        if most_occurrences is not None and (each + (more > 0)).max(initial=0) > most_occurrences:
            return -np.inf
        chance = log_chances(len(dataset.rows), int(drawn[0].sum()))
        total += float(chance[each] @ (rows - more) + chance[each[more > 0] + 1] @ more[more > 0])
    return total
