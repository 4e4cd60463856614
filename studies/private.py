"""Private forests beside DRAFT-DP's published runs: in go tables and those runs, out comes a line for each setting.

Tables I to IV and figure 12 of the paper (SaTML 2026): the forests are the authors' own, number by number (the first
100 rows of each table, their seeds), and so are the domains: binary columns and the one-hot groups that they declare.
Errors are the paper's; the leak p-value, inliers and outliers are those of `pytest_draft.evaluate`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from pytest_draft.attack.private.noisy_counts import rebuild_from_noise
from pytest_draft.attack.search import Search
from pytest_draft.data import training_data
from pytest_draft.data.individuals import inliers
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.findings import as_many
from pytest_draft.evaluate.identity import entries_of
from pytest_draft.evaluate.significance import leak_significance
from pytest_draft.facts.adversary import Adversary
from pytest_draft.knowledge import grant, noisy_problem
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox
from studies.cells import Study
from studies.dp_forests import accuracy, papers_forest, released_forest
from studies.grid import standard_error
from studies.options import add_attacks, add_cells, add_seeds, add_tables, datasets_of, groups, rows_of
from studies.papers.targets import papers_domain
from studies.public_data import TARGETS, read_divided

N_ROWS = 100
"""Training rows: the first ones of each table, as the authors took them."""

_HEADER = (
    f"{'data':<15} trees depth {'eps':>5} known {'ours':>7} {'se':>6} {'paper':>7} {'se':>6} {'excess':>7} "
    f"{'limit':>6} {'optimum':>7} {'perfect':>7} {'worst':>6} {'in':>6} {'% in':>5} {'out':>6} {'% out':>5} "
    f"{'leak p':>9} {'paper':>9} {'rows':>6} {'s':>5} statuses"
)


@dataclass(frozen=True)
class Setting:
    """One kind of forest and adversary."""

    name: str
    """Of the data set."""
    n_trees: int
    depth: int
    epsilon: float
    known: int = 0
    """Attributes that the adversary knows in every row."""
    n_rows: int = N_ROWS
    """Training rows."""
    drawn: bool = False
    """Whether they are drawn at random, by the seed; else they are the table's first ones."""


@dataclass(frozen=True)
class Run:
    """One forest, attacked; errors are NaN where there is no dataset."""

    status: str
    error: float = np.nan
    optimum: float = np.nan
    worst: float = np.nan
    """`error`, `optimum` and `worst`: of the guess, of the likeliest dataset, and of the guess's worst row."""
    perfect: int = 0
    inlier_error: float = np.nan
    inlier_perfect: float = np.nan
    outlier_error: float = np.nan
    outlier_perfect: float = np.nan
    """`inlier_error`, `inlier_perfect`, `outlier_error` and `outlier_perfect`: perfect rows as shares."""
    p_value: float = np.nan
    n_rows: int = 0
    """That were rebuilt."""
    above_truth: float = np.nan
    """What that log-likelihood is above the truth's."""
    seconds: float = 0.0
    """Of the attack."""
    train_accuracy: float = np.nan
    test_accuracy: float = np.nan
    """`train_accuracy` and `test_accuracy`: of the private forest, on the training rows and on all others."""
    other_mean: float = np.nan
    other_deviation: float = np.nan
    """`other_mean` and `other_deviation`: of the errors to datasets that are drawn from the other rows, by which the
    p-value is told.
    """


def study(
    folder: Path,
    settings: Sequence[Setting],
    seeds: Sequence[int],
    *,
    size_known: bool,
    rounding: str,
    seconds: float,
    workers: int,
) -> Study:
    """Return one cell for each forest and adversary.

    Parameters
    ----------
    folder : Path
        Of ``compas.csv`` and the like.
    seeds : sequence of int
        The authors' are 0 to 4.
    size_known : bool
        Whether the adversary knows the number of rows.
    rounding : {"noise", "sum"}
        ``noise``: the authors' forests, ``n + int(Y)``; ``sum``: our estimator's, ``int(n + Y)``.
    seconds : float
        Time box of one attack.
    workers : int
        Threads of each attack.
    """
    how = {"size_known": size_known, "rounding": rounding, "limit": seconds, "workers": workers}
    cells = []
    for setting, seed in product(settings, seeds):
        parameters = asdict(setting)
        cells.append({"table": parameters.pop("name"), **parameters, "seed": seed, **how})
    return Study("private", cell, cells, {"table": {one.name: folder / f"{one.name}.csv" for one in settings}})


def cell(
    table: Path,
    n_trees: int,
    depth: int,
    epsilon: float,
    known: int,
    n_rows: int,
    drawn: bool,
    seed: int,
    size_known: bool,
    rounding: str,
    limit: float,
    workers: int,
) -> Run:
    """Return `attack` of a forest; `limit` is its time box in seconds."""
    setting = Setting(table.stem, n_trees, depth, epsilon, known, n_rows, drawn)
    how = {"size_known": size_known, "rounding": rounding}
    return attack(table.parent, setting, seed, **how, seconds=limit, workers=workers)  # type: ignore[arg-type]


def report(rows: pd.DataFrame, published: Path) -> None:
    """Print one line for each setting, and a summary.

    Parameters
    ----------
    rows : DataFrame
        Of `study`.
    published : Path
        Folder of ``draft_dp_runs.csv`` and ``draft_dp_partial_runs.csv``.
    """
    theirs = {known: _published(published, size_known=known) for known in (False, True)}
    print(_HEADER)
    above = compared = 0
    settings = groups(rows, "table", "n_trees", "depth", "epsilon", "known", "size_known")
    for (*parameters, size_known), runs in settings.items():
        setting, all_of = Setting(*parameters), theirs[size_known]
        same = all_of[
            (all_of["dataset"] == setting.name)
            & (all_of["n_trees"] == setting.n_trees)
            & (all_of["max_depth"] == setting.depth)
            & (all_of["epsilon"] == setting.epsilon)
            & (all_of["known_attributes"] == setting.known)
        ]
        other, ours = same["reconstruction_error"].to_numpy(), runs["error"].to_numpy()
        excess = ours.mean() - other.mean() if len(other) else np.nan
        limit = 0.01 + 2 * np.hypot(standard_error(ours), standard_error(other))
        compared += bool(len(other))
        above += bool(not np.isfinite(ours).all() or excess > limit)
        print(_line(setting, runs, other, excess, limit, same["p_value"].mean()))
    print(
        f"{len(settings)} settings, {compared} with published runs, {above} without an error or above the published "
        f"one by more than .01 + 2 s.e.; mean "
        f"{rows['seconds'].mean():.1f} s, most {rows['seconds'].max():.1f} s a run"
    )


def attack(
    folder: Path,
    setting: Setting,
    seed: int,
    *,
    size_known: bool,
    rounding: str,
    seconds: float,
    workers: int,
    effort: float = np.inf,
) -> Run:
    """Train one forest, attack it within seconds and units of work, and measure what was rebuilt."""
    everyone, target = read_divided(folder / f"{setting.name}.csv")
    chosen = chosen_rows(len(everyone), setting, seed)
    features, labels = everyone[chosen], target[chosen]
    forest = (papers_forest if rounding == "noise" else released_forest)(
        features, labels, setting.n_trees, setting.depth, setting.epsilon, seed
    )
    fits = accuracy(forest, features, labels), accuracy(forest, everyone[~chosen], target[~chosen])
    domain = papers_domain(setting.name, list(everyone.columns))
    data = training_data((features, labels), forest)
    text = f"artifact+columns:{setting.known}" if setting.known else "artifact" if size_known else "artifact+n-unknown"
    knowledge = grant(Adversary.parse(text), data, domain, forest, seed)
    box = TimeBox(seconds, effort)
    problem = noisy_problem(forest, domain, text, knowledge, setting.n_rows)
    rebuilt = rebuild_from_noise(problem, Search(box, seed, workers))
    spent = box.elapsed
    if rebuilt.rows is None or rebuilt.consistent is None or rebuilt.log_likelihood is None:
        return Run(rebuilt.status, seconds=spent, train_accuracy=fits[0], test_accuracy=fits[1])
    released, true = entries_of(forest, data.rows, data.labels)
    truth = float(problem.noise.log_probability(released, true).sum())
    holdout = everyone[~chosen].to_numpy(np.float32)
    weights = encoded_weights(domain, () if knowledge is None else knowledge.attributes)
    unlimited, comparison, rows = TimeBox(np.inf), Comparison(), rebuilt.rows
    if len(rows) != setting.n_rows:
        rows = rows[as_many(setting.n_rows, len(rows), np.random.default_rng([seed, 42]))]
    partners = comparison.partners(data.rows, rows, weights, unlimited)
    inside = inliers(data.rows, unlimited)
    if partners is None or inside is None:
        raise RuntimeError("a matching or a forest of isolation without limits has no result")
    distance = np.empty(setting.n_rows)
    distance[partners] = np.abs(data.rows[partners] - rows)[:, weights.counted].mean(axis=1)
    everybody = np.arange(setting.n_rows)
    perfect = np.isin(everybody, comparison.perfect(data.rows, rows))
    significance = leak_significance(data.rows, everybody, rows, holdout, weights, seed, unlimited)
    p_value = None if significance is None else significance.p_value
    optimum = np.nan
    if len(rebuilt.consistent) == setting.n_rows:
        optimum = matched_distance(data.rows, rebuilt.consistent, weights, unlimited).upper
    return Run(
        rebuilt.status,
        matched_distance(data.rows, rows, weights, unlimited).upper,
        optimum,
        float(distance.max()),
        int(perfect.sum()),
        _mean(distance[inside]),
        _mean(perfect[inside]),
        _mean(distance[~inside]),
        _mean(perfect[~inside]),
        np.nan if p_value is None else p_value,
        len(rebuilt.rows),
        rebuilt.log_likelihood - truth,
        spent,
        *fits,
        np.nan if significance is None else significance.mean,
        np.nan if significance is None else significance.deviation,
    )


def chosen_rows(n_everyone: int, setting: Setting, seed: int) -> NDArray[np.bool_]:
    """Return which rows of a table are trained on, shape (n_everyone,)."""
    chosen = np.zeros(n_everyone, dtype=bool)
    chosen[: setting.n_rows] = True
    if setting.drawn:
        chosen = np.random.default_rng([seed, 43]).permutation(chosen)
    return chosen


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """Return a mean; not a number without values."""
    return float(values.mean()) if len(values) else float("nan")


def settings_of(
    names: Sequence[str], sizes: Sequence[int], depths: Sequence[int], epsilons: Sequence[float], known: Sequence[int]
) -> list[Setting]:
    """Return all combinations, those left out that know all attributes."""
    n_attributes = {"compas": 7, "adult": 14, "default_credit": 16}
    return [
        Setting(name, n_trees, depth, epsilon, number)
        for name in names
        for n_trees in sizes
        for depth in depths
        for epsilon in epsilons
        for number in known
        if number < n_attributes[name]
    ]


def _published(folder: Path, *, size_known: bool) -> pd.DataFrame:
    """Return the authors' runs, with those that know attributes."""
    whole = pd.read_csv(folder / "draft_dp_runs.csv")
    whole = whole[whole["n_known"] == ("yes" if size_known else "no")].assign(known_attributes=0)
    partial = pd.read_csv(folder / "draft_dp_partial_runs.csv")
    partial = partial[partial["known_attributes"] > 0].assign(n_trees=10, max_depth=5, epsilon=5.0)
    runs: pd.DataFrame = pd.concat([whole, partial], ignore_index=True)
    runs = runs[runs["reconstruction_error"] == runs["reconstruction_error"]]
    deviation = runs["leak_cdf_inputs_std"] * np.sqrt((N_ROWS - 1) / N_ROWS)  # the paper's divides by the number
    runs["p_value"] = norm.cdf(runs["reconstruction_error"], runs["leak_cdf_inputs_mean"], deviation)
    return runs


def _line(
    setting: Setting,
    runs: pd.DataFrame,
    other: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    excess: float,
    limit: float,
    p_value: float,
) -> str:
    def mean(name: str) -> float:
        return float(np.mean(runs[name].to_numpy()))

    ours = runs["error"].to_numpy()
    paper = other.mean() if len(other) else np.nan
    statuses = ", ".join(f"{one.status} ({one.above_truth:+.1f} to the truth)" for one in runs.itertuples())
    return (
        f"{setting.name:<15} {setting.n_trees:>5} {setting.depth:>5} {setting.epsilon:>5g} {setting.known:>5} "
        f"{ours.mean():>7.4f} {standard_error(ours):>6.4f} {paper:>7.4f} {standard_error(other):>6.4f} "
        f"{excess:>7.4f} {limit:>6.4f} "
        f"{mean('optimum'):>7.4f} {mean('perfect'):>7.1f} {mean('worst'):>6.3f} {mean('inlier_error'):>6.3f} "
        f"{100 * mean('inlier_perfect'):>5.1f} {mean('outlier_error'):>6.3f} {100 * mean('outlier_perfect'):>5.1f} "
        f"{mean('p_value'):>9.2e} {p_value:>9.2e} {mean('n_rows'):>6.1f} {mean('seconds'):>5.1f} {statuses}"
    )


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_tables(command, TARGETS, TARGETS, published="folder of draft_dp_runs.csv and the like")
    command.add_argument("--trees", type=int, nargs="+", default=[1, 5, 10, 20, 30])
    command.add_argument("--depth", type=int, nargs="+", default=[3, 5, 7])
    command.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1, 5, 10, 20, 30])
    command.add_argument("--known", type=int, nargs="+", default=[0], help="numbers of known attributes")
    add_seeds(command, [0, 1], "the authors': 0 to 4")
    command.add_argument("--size", default="known", choices=["known", "unknown"], help="the number of rows")
    command.add_argument("--rounding", default="noise", choices=["noise", "sum"], help="n + int(Y) or int(n + Y)")
    add_attacks(command, seconds=30.0)
    add_cells(command)


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    asked = study(
        datasets_of(a, a.names),
        settings_of(a.names, a.trees, a.depth, [float(epsilon) for epsilon in a.epsilons], a.known),
        a.seeds,
        size_known=a.size == "known",
        rounding=a.rounding,
        seconds=a.seconds,
        workers=a.threads,
    )
    report(rows_of(asked, a), a.published)
