"""What the numeric attack proves, against the truth: in goes a number of generated tables, out comes a table.

Each table mixes kinds of columns, with ties, constants, decimals, values that float32 does not hold, duplicates and
gaps; a forest is grown on it, written to a file and read back. Then whatever the attack holds to be exact is compared
with the true rows: no count, number of different rows, midpoint or extreme may speak against them, no value be told
that no row has, no bound leave one out, and no certain cell or row be wrong; and the rows that are returned must miss
as much as is said of them. A violation is a bug, however rare.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from pytest_draft.artifact import Forest, occurrences
from pytest_draft.attack.groups import Groups, group_by_occurrences
from pytest_draft.attack.large_domains.candidates import build_any
from pytest_draft.attack.numeric.dataset import Dataset, fill
from pytest_draft.attack.numeric.energy import missed
from pytest_draft.attack.numeric.enumerated import enumerate_states
from pytest_draft.attack.numeric.midpoints import ValueBounds
from pytest_draft.attack.numeric.problem import NumericProblem, build_numeric, is_numeric
from pytest_draft.attack.numeric.rebuild import rebuild_numeric
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.attack.target_classes import target_counts
from pytest_draft.domain import Domain, infer
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.timebox import TimeBox
from studies.files import through_file
from studies.options import add_instances

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

EFFORT = 0.5
"""Units of work for reading a forest, and again for the search."""

_SECONDS = 60.0
"""Guard of each step that an effort ends."""

_MOST_ROWS, _MOST_ATTRIBUTES, _MOST_TREES = 40, 6, 20
"""Of an instance: small, so that hundreds are compared in one run."""

_GAPS_SINCE = (1, 9)
"""The scikit-learn whose files count rows with missing values as they were split."""

_ONE_HOT, _GAPS, _REPEATED = 0.15, 0.3, 0.4
"""Shares of one-hot groups among the attributes, of tables with missing values, and of those with repeated rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A forest with the rows that it was grown on. Its repr shows no row."""

    forest: Forest
    domain: Domain
    rows: NDArray[np.float32]
    """Shape (n_rows, n_columns)."""
    labels: IntArray
    """Shape (n_rows,). All 0 for regressors."""
    target: NDArray[np.float64]
    """Shape (n_rows,). What it was fitted to."""

    def __repr__(self) -> str:
        n_rows, n_columns = self.rows.shape
        return f"<Instance: {self.forest.kind} of {self.forest.n_trees} trees, {n_rows} rows, {n_columns} columns>"


@dataclass
class Verdict:
    """What was held to be exact of one instance, and what of that was wrong."""

    violations: list[str] = field(default_factory=list)
    proved_values: int = 0
    bounded_cells: int = 0
    certain_cells: int = 0
    certain_rows: int = 0
    """`proved_values`, `bounded_cells`, `certain_cells` and `certain_rows`: how much there was to be wrong."""
    consistent: bool = False
    """Whether the search found a dataset that misses nothing."""

    def expect(self, holds: bool, fact: str) -> None:
        """Note a violation unless a fact holds."""
        if not holds:
            self.violations.append(fact)


def generated(seed: Sequence[int]) -> Instance:
    """Grow a forest on a few random rows, write it to a file and read that.

    Returns
    -------
    Instance
        With at least one column that is not enumerated.
    """
    rng = np.random.default_rng(seed)
    while True:
        names, rows = _table(rng)
        domain = infer(names, rows.astype(np.float64))
        if is_numeric(domain):
            break
    model = _model(rng)
    if "Classifier" in type(model).__name__:
        n_classes = int(rng.integers(2, 4))
        score = np.nan_to_num(rows[:, 0].astype(np.float64)) + rng.normal(size=len(rows))
        classes, labels = np.unique(
            np.where(rng.random() < 0.5, rng.integers(n_classes, size=len(rows)), score > np.median(score)),
            return_inverse=True,
        )
        target: NDArray[Any] = classes[labels]
    else:
        labels = np.zeros(len(rows), dtype=np.int64)
        target = rng.normal(size=len(rows)) if rng.random() < 0.6 else rng.integers(0, 6, len(rows)) / 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bag without bootstrap, a class of one row
        forest = through_file(model.fit(rows, target))
    return Instance(forest, domain, rows, labels.reshape(-1).astype(np.int64), target.astype(np.float64))


def _table(rng: np.random.Generator) -> tuple[list[str], NDArray[np.float32]]:
    """Return column names and rows of one to six random attributes."""
    n_rows = int(rng.integers(3, _MOST_ROWS + 1))
    gaps = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= _GAPS_SINCE and rng.random() < _GAPS
    names, columns = [], []
    for a in range(rng.integers(1, _MOST_ATTRIBUTES + 1)):
        if rng.random() < _ONE_HOT:
            group = np.eye(3)[rng.integers(3, size=n_rows)]
            names += [f"a{a}_{value}" for value in "xyz"]
            columns += list(group.T)
            continue
        column = _column(rng, n_rows)
        if gaps and rng.random() < 0.6:
            column[rng.random(n_rows) < rng.choice([0.1, 0.5])] = np.nan
        names.append(f"a{a}")
        columns.append(column)
    rows = np.stack(columns, axis=1)
    if rng.random() < _REPEATED:
        rows = rows[rng.integers(n_rows, size=n_rows)]
    return names, rows.astype(np.float32)


def _column(rng: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
    """Return a column of one of many kinds."""
    kinds: tuple[NDArray[np.floating[Any]], ...] = (
        rng.normal(size=n_rows),
        rng.normal(size=n_rows).round(int(rng.integers(0, 4))),
        rng.exponential(size=n_rows).round(1) * (rng.random(n_rows) < 0.6),
        rng.integers(0, 5, n_rows) / 3,
        rng.integers(0, 200, n_rows) * 1.0,
        rng.integers(-2, 4, n_rows) * 1.0,
        rng.integers(0, 2, n_rows) * 1.0,
        np.full(n_rows, rng.choice([0.1, 7.0, -1e9])),
        10.0 ** rng.integers(-12, 12, n_rows) * rng.choice([-1, 1], n_rows),
        1e8 + rng.integers(0, 50, n_rows) * 8.0,
        rng.normal(size=n_rows) * 1e-7,
        1 + rng.integers(0, 30, n_rows) * 2.0**-23,
        rng.integers(0, 100, n_rows) * 0.05 + (rng.random(n_rows) < 0.1) / 7,
    )
    return kinds[rng.integers(len(kinds))].astype(np.float64)


def _model(rng: np.random.Generator) -> Any:
    """Return an estimator that is not fitted."""
    limits = {
        "max_depth": [None, None, 2, 5][rng.integers(4)],
        "min_samples_leaf": [1, 1, 3][rng.integers(3)],
        "max_leaf_nodes": [None, None, None, 6][rng.integers(4)],
    }
    limits_and_draws = {**limits, "max_features": [None, "sqrt", 1][rng.integers(3)]}
    common: dict[str, Any] = {"random_state": int(rng.integers(2**31))}
    many: dict[str, Any] = {**common, "n_estimators": int(rng.integers(1, _MOST_TREES + 1))}
    bootstrap = bool(rng.random() < 0.5)
    inner = {"max_features": [1.0, 0.6][rng.integers(2)], "bootstrap": bootstrap}
    kinds = (
        lambda: RandomForestClassifier(**many, **limits_and_draws, bootstrap=bootstrap),
        lambda: RandomForestRegressor(**many, **limits_and_draws, bootstrap=bootstrap),
        lambda: RandomForestRegressor(**many, criterion="absolute_error"),
        lambda: ExtraTreesClassifier(**many, **limits_and_draws, bootstrap=bootstrap),
        lambda: ExtraTreesRegressor(**many, **limits_and_draws, bootstrap=bootstrap),
        lambda: DecisionTreeClassifier(**common, **limits_and_draws),
        lambda: DecisionTreeRegressor(**common, **limits_and_draws),
        lambda: ExtraTreeClassifier(**common, **limits_and_draws),
        lambda: BaggingClassifier(DecisionTreeClassifier(**limits), **many, **inner),
        lambda: BaggingRegressor(DecisionTreeRegressor(**limits), **many, **inner),
    )
    return kinds[rng.choice(len(kinds), p=[0.25, 0.1, 0.05, 0.2, 0.1, 0.05, 0.05, 0.05, 0.1, 0.05])]()


def filled(problem: NumericProblem, state: IntArray, label: IntArray) -> Dataset:
    """Return a dataset that is put into all trees.

    Parameters
    ----------
    state : ndarray of int64, shape (n_rows, n_attributes)
    label : ndarray of int64, shape (n_rows,)
    """
    data = Dataset.of(
        problem.nodes, problem.times, np.ascontiguousarray(state, dtype=np.int32), label.astype(np.int32), 0
    )
    fill(problem.nodes, data)
    return data


def compared(instance: Instance, seed: int = 0) -> Verdict:
    """Compare all that the attack holds to be exact with the truth.

    Parameters
    ----------
    seed : int
        Of the search.
    """
    verdict = Verdict()
    times = occurrences(instance.forest)
    groups = group_by_occurrences(times)
    problem = build_numeric(instance.forest, instance.domain, groups, TimeBox(_SECONDS, EFFORT))
    _expect_truth(verdict, problem, instance)
    if problem.bounds is not None:
        _expect_bounds(verdict, problem.bounds, instance, times)
    try:
        found = rebuild_numeric(problem, Search(TimeBox(_SECONDS, EFFORT), seed))
    except OutOfTimeError:
        verdict.violations.append("the search returns what it has")
        return verdict
    verdict.consistent = found.status == "consistent"
    _expect_residual(verdict, found, problem)
    _expect_certain(verdict, found, instance, times)
    _expect_enumerated(verdict, instance, groups, seed)
    return verdict


def _expect_truth(verdict: Verdict, problem: NumericProblem, instance: Instance) -> None:
    """Expect that no count, midpoint or extreme speaks against the true rows, and that told values are theirs."""
    state = problem.states.of_rows(instance.rows)
    verdict.expect(bool((state >= 0).all()), "each true value is in a state")
    if (state >= 0).all():
        counts, splits = _missed_by(problem, state, _classes_in(problem, instance))
        verdict.expect(counts == 0, "the truth misses no count")
        verdict.expect(splits == 0, "the truth contradicts no split")
    for column, values in problem.proved_values.items():
        verdict.proved_values += len(values)
        verdict.expect(bool(np.isin(values, instance.rows[:, column]).all()), "told values occur")


def _classes_in(problem: NumericProblem, instance: Instance) -> IntArray:
    """Return the class of each row, which of a regressor is its target where its leaves tell targets."""
    told = target_counts(instance.forest, problem.times.astype(np.int64))
    if told is None or problem.n_classes == 1:
        return instance.labels
    classes: IntArray = np.abs(instance.target[:, None] - told.targets).argmin(axis=1).astype(np.int64)
    return classes


def _missed_by(problem: NumericProblem, state: IntArray, label: IntArray) -> tuple[int, int]:
    """Return how many counts, and how many splits, a dataset misses."""
    counts, splits = missed(problem.nodes, filled(problem, state, label))
    return int(counts), int(splits)


def _expect_residual(verdict: Verdict, found: Reconstruction, problem: NumericProblem) -> None:
    """Expect that the rows that are said to be consistent, or nearly, miss as much as is said."""
    if found.consistent is None or found.labels is None:
        return
    state = problem.states.of_rows(found.consistent)
    missing = None
    if (state >= 0).all():
        counts, splits = _missed_by(problem, state, found.labels)
        missing = counts if problem.rows_identified else counts + splits
    verdict.expect(missing == found.residual, "the rows returned miss as much as is said")


def _expect_bounds(verdict: Verdict, bounds: ValueBounds, instance: Instance, times: IntArray) -> None:
    """Expect each true row within the bounds of one of the rows that it cannot be told from."""
    verdict.bounded_cells += int((bounds.upper - bounds.lower < instance.domain.ranges).sum())
    inside = np.ones((len(instance.rows), len(instance.rows)), dtype=np.bool_)
    for column, values in enumerate(instance.rows.T):
        low, high = bounds.lower[:, column], bounds.upper[:, column]
        within = (low <= values[:, None]) & (values[:, None] <= high)
        inside &= within | (np.isnan(values)[:, None] & ~bounds.certain[:, column])
    verdict.expect(_matched(inside, times), "the truth is inside its bounds")


def _expect_certain(verdict: Verdict, found: Reconstruction, instance: Instance, times: IntArray) -> None:
    """Expect that certain values are those of true rows, each of a row of its own."""
    if found.certain is None or found.rows is None:
        return
    verdict.certain_cells += int(found.certain.sum())
    verdict.certain_rows += int(found.certain.all(axis=1).sum())
    right = np.ones((len(instance.rows), len(instance.rows)), dtype=np.bool_)
    for a, attribute in enumerate(instance.domain.attributes):
        for column in attribute.columns:
            right &= (instance.rows[:, None, column] == found.rows[None, :, column]) | ~found.certain[:, a]
    verdict.expect(_matched(right, times), "certain values are right")


def _expect_enumerated(verdict: Verdict, instance: Instance, groups: Groups, seed: int) -> None:
    """Expect that the numbered states of a forest with few thresholds are not called impossible."""
    numbered = enumerate_states(instance.forest, instance.domain)
    if numbered is None:
        return
    search = Search(TimeBox(_SECONDS, EFFORT), seed)
    try:
        found = reconstruct(build_any(numbered.forest, numbered.domain, numbered.groups(groups), search), search)
    except InfeasibleError:
        verdict.violations.append("numbered states are possible")
    except OutOfTimeError:
        return
    else:
        verdict.expect(found.status != "infeasible", "numbered states are possible")


def _matched(fits: BoolArray, times: IntArray) -> bool:
    """Return whether each true row can be given a row of its own that it fits, among those seen as often by each tree.

    Parameters
    ----------
    fits : ndarray of bool, shape (n_rows, n_rows)
        By true row and row of what is compared with it.
    times : ndarray of int64, shape (n_trees, n_rows)
    """
    alike = (times[:, :, None] == times[:, None, :]).all(axis=0)
    return bool((maximum_bipartite_matching(csr_matrix(fits & alike)) >= 0).all())


def run(n_instances: int, seed: int) -> int:
    """Compare on so many instances, and print a table.

    Returns
    -------
    int
        Number of instances with a violation.
    """
    verdicts: dict[str, list[Verdict]] = {}
    for number in range(n_instances):
        instance = generated([seed, number])
        verdict = compared(instance, number)
        verdicts.setdefault(instance.forest.kind, []).append(verdict)
        for fact in verdict.violations:
            print(f"violation, seed [{seed}, {number}], {instance}: not so: {fact}", flush=True)
    print("forest                   instances consistent told values bounded cells certain cells certain rows wrong")
    for name, some in [*sorted(verdicts.items()), ("all", [verdict for part in verdicts.values() for verdict in part])]:
        print(_line(name, some))
    return sum(bool(verdict.violations) for part in verdicts.values() for verdict in part)


def _line(name: str, verdicts: list[Verdict]) -> str:
    return (
        f"{name:<24} {len(verdicts):>9} {sum(verdict.consistent for verdict in verdicts):>10} "
        f"{sum(verdict.proved_values for verdict in verdicts):>11,} "
        f"{sum(verdict.bounded_cells for verdict in verdicts):>13,} "
        f"{sum(verdict.certain_cells for verdict in verdicts):>13,} "
        f"{sum(verdict.certain_rows for verdict in verdicts):>12,} "
        f"{sum(bool(verdict.violations) for verdict in verdicts):>5}"
    )


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_instances(command, 300)


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a.instances, a.seed)
