"""What is computed in a cell of the DP paper's results: in go its parameters, out comes one row of aggregates.

Each function is that of some results (`studies.papers.results`). Searches end by an effort, in units of about a second
of one core, so that what else runs on the machine changes no result; the wall clock only guards them.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.private.noisy_counts import rebuild_from_noise
from pytest_draft.attack.search import Search
from pytest_draft.data import TrainingData, training_data
from pytest_draft.data.individuals import inliers
from pytest_draft.evaluate.baselines import random_baseline
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.findings import as_many
from pytest_draft.evaluate.significance import leak_significance
from pytest_draft.facts.adversary import Adversary
from pytest_draft.knowledge import grant, noisy_problem
from pytest_draft.matching import Weights, encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox
from studies.cells import Plain
from studies.dp_forests import accuracy, papers_forest, without_noise
from studies.papers import dp_informed
from studies.papers.load import load
from studies.papers.targets import Target, attacked, papers_domain, random_error
from studies.public_data import read_divided

_GUARD_SECONDS = 600.0
"""Wall clock of a search that its effort ends."""


N_ROWS = 100
"""Training rows: the first ones of each table, as the authors took them."""


def forests(
    *,
    data: Path,
    trees: int,
    depth: int,
    epsilon: float,
    seed: int,
    rows: int,
    drawn: bool,
    size: str,
    known: int,
    effort: float,
) -> dict[str, Plain]:
    """Train one private forest by the paper's rounding, attack it, and measure what was rebuilt and what by guessing.

    Parameters
    ----------
    seed : int
        Of structure, noise and, where these are drawn, rows.
    drawn : bool
        Whether rows are drawn at random; else they are the first ones, as the authors'.
    size : {"known", "unknown"}
        Whether the adversary knows the number of rows.
    known : int
        Attributes that the adversary knows in every row.
    effort : float
        Of the search.

    Returns
    -------
    dict
        ``answered``, ``status``, ``seconds`` of the attack, ``train_accuracy`` and ``test_accuracy``, on the training
        rows and on all others, ``random_error``, and the figures of `_measured`, which are missing without an answer.
    """
    everyone, target = read_divided(data)
    chosen = chosen_rows(len(everyone), rows, seed if drawn else None)
    features, labels = everyone[chosen], target[chosen]
    forest = papers_forest(features, labels, trees, depth, epsilon, seed)
    domain = papers_domain(data.stem, list(everyone.columns))
    training = training_data((features, labels), forest)
    text = f"artifact+columns:{known}" if known else "artifact" if size == "known" else "artifact+n-unknown"
    knowledge = grant(Adversary.parse(text), training, domain, forest, seed)
    box = TimeBox(_GUARD_SECONDS, effort)
    rebuilt = rebuild_from_noise(noisy_problem(forest, domain, text, knowledge, rows), Search(box, seed, 1))
    spent = box.elapsed
    weights = encoded_weights(domain, () if knowledge is None else knowledge.attributes)
    holdout = everyone[~chosen].to_numpy(np.float32)
    by_chance = random_baseline(
        training.rows, domain, encoded_weights(domain), seed, TimeBox(_GUARD_SECONDS), draws=100
    )
    figures = {} if rebuilt.rows is None else _measured(training.rows, rebuilt.rows, holdout, weights, seed)
    return {
        "answered": rebuilt.rows is not None,
        "status": rebuilt.status,
        **{name: _plain(figures.get(name, math.nan)) for name in _FIGURES},
        "random_error": by_chance.error,
        "seconds": spent,
        "train_accuracy": accuracy(forest, features, labels),
        "test_accuracy": accuracy(forest, everyone[~chosen], target[~chosen]),
        "load": load(),
    }


_FIGURES = (
    *("error", "worst", "perfect", "inlier_error", "inlier_perfect", "outlier_error", "outlier_perfect"),
    *("p_value", "other_mean", "other_deviation", "rebuilt_rows"),
)


def _measured(truth: Rows, rebuilt: Rows, others: Rows, weights: Weights, seed: int) -> dict[str, Plain]:
    """Return the figures of what was rebuilt.

    Returns
    -------
    dict
        ``error``, and that of the ``worst`` row; ``perfect`` rows; ``inlier_`` and ``outlier_``: the error and the
        share of perfect rows of such; ``p_value``, and the ``other_mean`` and ``other_deviation`` of the errors to
        datasets that are drawn from the other rows, by which it is told; ``rebuilt_rows``.
    """
    unlimited, comparison, rows = TimeBox(np.inf), Comparison(), rebuilt
    if len(rows) != len(truth):
        rows = rows[as_many(len(truth), len(rows), np.random.default_rng([seed, 42]))]
    partners = comparison.partners(truth, rows, weights, unlimited)
    inside = inliers(truth, unlimited)
    if partners is None or inside is None:
        raise RuntimeError("a matching or a forest of isolation without limits has no result")
    distance = np.empty(len(truth))
    distance[partners] = np.abs(truth[partners] - rows)[:, weights.counted].mean(axis=1)
    everybody = np.arange(len(truth))
    perfect = np.isin(everybody, comparison.perfect(truth, rows))
    significance = leak_significance(truth, everybody, rows, others, weights, seed, unlimited)
    return {
        "error": matched_distance(truth, rows, weights, unlimited).upper,
        "worst": float(distance.max()),
        "perfect": int(perfect.sum()),
        "inlier_error": _mean(distance[inside]),
        "inlier_perfect": _mean(perfect[inside]),
        "outlier_error": _mean(distance[~inside]),
        "outlier_perfect": _mean(perfect[~inside]),
        "p_value": math.nan if significance is None else significance.p_value,
        "other_mean": math.nan if significance is None else significance.mean,
        "other_deviation": math.nan if significance is None else significance.deviation,
        "rebuilt_rows": len(rebuilt),
    }


def chosen_rows(n_everyone: int, n_rows: int, seed: int | None) -> NDArray[np.bool_]:
    """Return which rows of a table are trained on, shape (n_everyone,): the first ones, or drawn by a seed."""
    chosen = np.arange(n_everyone) < n_rows
    return chosen if seed is None else np.random.default_rng([seed, 43]).permutation(chosen)


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """Return a mean; not a number without values."""
    return float(values.mean()) if len(values) else math.nan


def counts_without_noise(*, data: Path, trees: int, depth: int, seed: int, limit: float) -> dict[str, Plain]:
    """Attack the paper's forest with its true counts, as if it had no privacy; errors of guesses beside it."""
    features, label = read_divided(data)
    features, label = features.iloc[:N_ROWS], label.iloc[:N_ROWS]
    noisy = papers_forest(features, label, trees, depth, 1.0, seed, seed)
    target = _target(without_noise(noisy, features, label), data, features.to_numpy(np.float32), label.to_numpy())
    return {**attacked(target, "published", limit, seed), "random_error": random_error(target, seed), "load": load()}


def figure_2(
    *, data: Path, trees: int, depth: int, epsilon: float | None, seed: int, effort: float, limit: float
) -> dict[str, Plain]:
    """Attack the authors' forest of one seed; without a privacy budget by its true counts."""
    if epsilon is None:
        return counts_without_noise(data=data, trees=trees, depth=depth, seed=seed, limit=limit)
    return forests(
        data=data,
        trees=trees,
        depth=depth,
        epsilon=epsilon,
        seed=seed,
        rows=N_ROWS,
        drawn=False,
        size="known",
        known=0,
        effort=effort,
    )


def _target(
    forest: Forest,
    data: Path,
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    labels: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> Target:
    columns = list(read_divided(data)[0].columns)
    training = TrainingData(rows, labels.astype(np.int64), tuple(columns), None, data.name)
    return Target(forest, papers_domain(data.stem, columns), training, math.nan, math.nan)


def informed_adversary(*, data: Path, epsilon: float, seed: int) -> dict[str, Plain]:
    """Train one private forest of the authors', and attack 100 of its rows with all others known."""
    box = TimeBox(_GUARD_SECONDS)
    found = dp_informed.attack(data, epsilon, seed)
    return {**{name: _plain(value) for name, value in found.items()}, "seconds": box.elapsed, "load": load()}


def _plain(value: Plain) -> Plain:
    """Return a value that can be kept; not a number is none."""
    return None if isinstance(value, float) and math.isnan(value) else value
