"""What is computed in a cell of the DP paper's results: in go its parameters, out comes one row of aggregates.

Each function is that of some results (`studies.papers.results`). Searches end by an effort, in units of about a second
of one core, so that what else runs on the machine changes no result; the wall clock only guards them.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pytest_draft.artifact.forest import Forest
from pytest_draft.data import TrainingData
from pytest_draft.evaluate.baselines import random_baseline
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox
from studies import informed, private
from studies.cells import Plain
from studies.dp_forests import papers_forest, without_noise
from studies.papers.load import load
from studies.papers.targets import Target, attacked, papers_domain, random_error
from studies.public_data import read_divided

_GUARD_SECONDS = 600.0
"""Wall clock of a search that its effort ends."""


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
    """
    setting = private.Setting(data.stem, trees, depth, epsilon, known, rows, drawn)
    found = private.attack(
        data.parent,
        setting,
        seed,
        size_known=size == "known",
        rounding="noise",
        seconds=_GUARD_SECONDS,
        workers=1,
        effort=effort,
    )
    figures = asdict(found)
    everyone = read_divided(data)[0]
    chosen = private.chosen_rows(len(everyone), setting, seed)
    domain = papers_domain(data.stem, list(everyone.columns))
    by_chance = random_baseline(
        everyone[chosen].to_numpy(np.float32), domain, encoded_weights(domain), seed, TimeBox(_GUARD_SECONDS), draws=100
    )
    answered = not math.isnan(found.error)
    return {
        "answered": answered,
        "random_error": by_chance.error,
        "rebuilt_rows": figures.pop("n_rows"),
        **{name: _plain(value) for name, value in figures.items()},
        "load": load(),
    }


def counts_without_noise(*, data: Path, trees: int, depth: int, seed: int, limit: float) -> dict[str, Plain]:
    """Attack the paper's forest with its true counts, as if it had no privacy; errors of guesses beside it."""
    features, label = read_divided(data)
    features, label = features.iloc[: private.N_ROWS], label.iloc[: private.N_ROWS]
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
        rows=private.N_ROWS,
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
    found = informed.attack(data, epsilon, seed)
    return {
        **{f"{name}_error": _plain(error) for name, error in found.errors.items() if name != "reconn"},
        "inlier_error": _plain(found.inliers),
        "outlier_error": _plain(found.outliers),
        "perfect": found.perfect,
        "papers_perfect": found.papers_perfect,
        "seconds": box.elapsed,
        "load": load(),
    }


def _plain(value: Plain) -> Plain:
    """Return a value that can be kept; not a number is none."""
    return None if isinstance(value, float) and math.isnan(value) else value
