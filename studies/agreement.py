"""Engine, papers' models and enumeration on the same forests: in goes a number of instances, out comes a table.

Every instance is small enough to list all datasets of its domain that meet its counts and, for the engine, that have no
value between those which a midpoint lies between. The engine, the papers' CP model and their MILP must say the same:
whether there is such a dataset, whether there is more than one, and, where the occurrences are unknown, how likely the
likeliest is. What the engine certifies must hold in all of them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact import Forest
from pytest_draft.attack.counts.exact import ExactDatasets, propagate_bounds
from pytest_draft.attack.counts.prove import prove
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.errors import InfeasibleError
from pytest_draft.timebox import TimeBox
from studies.agreement_enumeration import MOST_STEPS, Enumeration, TooManyError
from studies.agreement_instances import SETTINGS, Instance, IntArray, generated
from studies.options import add_instances
from studies.paper_models import cp_with_bagging, cp_without_bagging, milp
from studies.paper_models.likelihood import best_objective, log_chances, log_likelihood
from studies.paper_models.published import ModelDataset, ModelOutcome

_SECONDS = 60.0
"""Guard of each search and solver: an instance takes a fraction of it, so that the clock decides nothing."""

_TOLERANCE = 1e-4
"""Of log-likelihoods: solvers know logarithms as whole multiples of a millionth."""


@dataclass
class Verdict:
    """What the comparison of one instance found."""

    solutions: int
    """Datasets that meet the counts, by enumeration."""
    disagreements: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    """`disagreements` and `undecided`: facts on which two differ, and facts that one of them did not decide."""

    def expect(self, same: bool, fact: str) -> None:
        """Note a disagreement unless two are the same."""
        if not same:
            self.disagreements.append(fact)


def compared(instance: Instance, rebuilt: Callable[[Instance], ModelDataset | None] | None = None) -> Verdict:
    """Let engine, models and enumeration answer, and compare.

    Parameters
    ----------
    rebuilt : callable or None
        The engine for unknown occurrences. It maximises the marginal likelihood of a dataset, the papers the joint one
        of a dataset and its occurrences, so its dataset must have occurrences, and none likelier than the papers'.

    Raises
    ------
    TooManyError
        Where there are too many datasets to list.
    """
    if instance.setting == "occurrences unknown":
        return _compared_jointly(instance, rebuilt)
    return _compared_exactly(instance)


def _compared_exactly(instance: Instance) -> Verdict:
    """Compare where nothing but the rows is unknown: feasibility, uniqueness, certificates."""
    enumeration = Enumeration.of(instance, distinct=False)
    datasets = enumeration.datasets()
    verdict = Verdict(len(datasets))
    problem = _problem(instance)
    value = log_likelihood(instance.occurrences) if instance.forest.draws.drawn else 0.0
    for name, solve in _models(instance).items():
        _expect_model(verdict, name, solve, enumeration, datasets, np.full(len(datasets), value))
    enumeration = Enumeration.of(instance, distinct=False, thresholds=True)
    datasets = enumeration.datasets()
    _expect_engine(
        verdict, "engine", None if problem is None else replace(problem, distinct=None), enumeration, datasets
    )
    if instance.forest.draws.drawn:
        enumeration = Enumeration.of(instance, distinct=True, thresholds=True)
        datasets = enumeration.datasets()
        _expect_engine(verdict, "engine with distinct rows", problem, enumeration, datasets)
    if instance.truth is not None:
        truth = enumeration.position(instance.truth)
        verdict.expect(bool((datasets == truth).all(axis=1).any()), "the truth is enumerated")
    return verdict


def _models(instance: Instance) -> dict[str, Callable[[Sequence[ModelDataset]], ModelOutcome]]:
    """Return the papers' models of an instance by name, as functions of the datasets that are forbidden.

    They know no one-hot group whose first level was dropped.
    """
    if any(attribute.dropped for attribute in instance.domain.attributes):
        return {}
    forest, domain, n_rows = instance.forest, instance.domain, instance.n_rows
    if instance.setting == "no bagging":
        return {
            "CP": lambda forbidden: cp_without_bagging.solve(
                forest, domain, n_rows, TimeBox(_SECONDS), forbidden=forbidden
            ),
            "MILP": lambda forbidden: milp.solve(forest, domain, n_rows, TimeBox(_SECONDS), forbidden=forbidden),
        }
    known = instance.occurrences if instance.setting == "occurrences known" else None
    return {
        "CP": lambda forbidden: cp_with_bagging.solve(
            forest, domain, n_rows, TimeBox(_SECONDS), occurrences=known, forbidden=forbidden
        )
    }


def _problem(instance: Instance) -> Problem | None:
    """Return the engine's problem; None where it is proved infeasible while it is built."""
    try:
        return build(instance.forest, instance.domain, group_by_occurrences(instance.occurrences), TimeBox(_SECONDS))
    except InfeasibleError:
        return None


def _expect_model(
    verdict: Verdict,
    name: str,
    solve: Callable[[Sequence[ModelDataset]], ModelOutcome],
    enumeration: Enumeration,
    datasets: IntArray,
    values: NDArray[np.float64],
) -> None:
    """Expect a model to find the likeliest dataset where there is one, and the next where there is more than one."""
    known: list[ModelDataset] = []
    for number, fact in enumerate(["feasible", "several"]):
        outcome = solve(known)
        if outcome.status in ("no solution", "feasible"):
            verdict.undecided.append(f"{name}: {fact}")
            return
        verdict.expect((outcome.dataset is not None) == (len(datasets) > number), f"{name}: {fact}")
        if len(datasets) <= number or outcome.dataset is None or outcome.objective is None:
            return
        verdict.expect(outcome.residual == 0, f"{name}: residual")
        position = enumeration.position(outcome.dataset)
        verdict.expect(bool((datasets == position).all(axis=1).any()), f"{name}: its dataset is enumerated")
        best = -np.sort(-values)[number]
        verdict.expect(abs(outcome.objective - best) <= _TOLERANCE, f"{name}: optimal value")
        known.append(outcome.dataset)


def _compared_jointly(instance: Instance, rebuilt: Callable[[Instance], ModelDataset | None] | None) -> Verdict:
    """Compare where the occurrences are unknown: feasibility, and the papers' optimal value."""
    enumeration = Enumeration.of(replace(instance, occurrences=np.ones_like(instance.occurrences)), distinct=False)
    everything = combinations_with_replacement(range(enumeration.adds.shape[1]), instance.n_rows)
    datasets = np.array(list(everything), dtype=np.int64)
    values = _joint_values(instance.forest, enumeration, datasets)
    possible = np.isfinite(values)
    datasets, values = datasets[possible], values[possible]
    verdict = Verdict(len(datasets))
    for name, solve in _models(instance).items():
        _expect_model(verdict, name, solve, enumeration, datasets, values)
    attempts = {"the truth": instance.truth, "engine": None if rebuilt is None else rebuilt(instance)}
    for name, dataset in attempts.items():
        if dataset is not None:
            value = best_objective(instance.forest, dataset, cp_with_bagging.MOST_OCCURRENCES)
            same = values[(datasets == enumeration.position(dataset)).all(axis=1)]
            verdict.expect(len(same) == 1 and bool(abs(same[0] - value) <= _TOLERANCE), f"{name}: joint likelihood")
    if instance.truth is not None:
        reachable = log_likelihood(instance.occurrences) <= np.append(values, -np.inf).max() + _TOLERANCE
        verdict.expect(bool(reachable), "the truth is no likelier than the likeliest")
    return verdict


def _joint_values(forest: Forest, enumeration: Enumeration, datasets: IntArray) -> NDArray[np.float64]:
    """Return the largest joint log-likelihood of each dataset with any occurrences, shape (n_datasets,).

    All ways to share the draws of each leaf and class among its rows are tried, row by row.
    """
    n_rows = datasets.shape[1]
    held = np.zeros((len(datasets), len(enumeration.observed)), np.int64)
    for k in range(n_rows):
        held += enumeration.adds[0][datasets[:, k]]
    n_equations = [len(tree.leaves) * forest.n_classes for tree in forest.trees]
    values = np.zeros(len(datasets))
    for t, columns in enumerate(np.split(np.arange(len(enumeration.observed)), np.cumsum(n_equations)[:-1])):
        n_draws = int(forest.counts(t)[0].sum())
        chances = log_chances(n_rows, n_draws)[: cp_with_bagging.MOST_OCCURRENCES + 1]
        best = np.full((n_rows + 1, n_draws + 1), -np.inf)  # by rows, then draws
        best[0, 0] = 0.0
        for s in range(n_rows):
            for b, chance in enumerate(chances):
                best[s + 1, b:] = np.maximum(best[s + 1, b:], best[s, : n_draws + 1 - b] + chance)
        for e in columns:
            values += best[held[:, e], enumeration.observed[e]]
    return values


def _expect_engine(
    verdict: Verdict, name: str, problem: Problem | None, enumeration: Enumeration, datasets: IntArray
) -> None:
    """Expect the engine's status, dataset and certificate to hold."""
    if problem is None:
        verdict.expect(not len(datasets), f"{name}: feasible")
        return
    found = reconstruct(problem, Search(TimeBox(_SECONDS)))
    if found.consistent is None or found.labels is None or found.cells is None:
        if found.status != "infeasible":
            verdict.undecided.append(f"{name}: feasible")
        else:
            verdict.expect(not len(datasets), f"{name}: feasible")
        return
    if found.residual:
        (verdict.undecided if not len(datasets) else verdict.disagreements).append(f"{name}: residual")
        return
    position = enumeration.position(ModelDataset(found.consistent, found.labels))
    verdict.expect(bool((datasets == position).all(axis=1).any()), f"{name}: its dataset is enumerated")
    if found.status == "unique" or len(datasets) > 1:
        verdict.expect((found.status == "unique") == (len(datasets) == 1), f"{name}: unique")
    else:
        verdict.undecided.append(f"{name}: unique")
    _expect_certificate(verdict, name, problem, found.cells, found.labels, position, enumeration, datasets)


def _expect_certificate(
    verdict: Verdict,
    name: str,
    problem: Problem,
    cells: IntArray,
    labels: IntArray,
    position: IntArray,
    enumeration: Enumeration,
    datasets: IntArray,
) -> None:
    """Expect each certified figure to bracket the one over all datasets."""
    search = Search(TimeBox(_SECONDS))
    triple = (problem.group * problem.cells.n_cells + problem.cell) * problem.n_classes + problem.label
    mine = (problem.groups.of_row * problem.cells.n_cells + cells) * problem.n_classes + labels
    rows = np.array([np.count_nonzero(mine == one) for one in triple], dtype=np.int64)
    lower, upper = propagate_bounds(problem.system, problem.groups.size[problem.group], search.timebox)
    still_open = np.flatnonzero(lower < upper)
    parts = [ExactDatasets(still_open, (rows[still_open],), complete=False)] if still_open.size else []
    certificate = prove(problem, rows, lower, upper, parts, search).certificate
    # Vectors of one cell touch the same equations, in each class, and are excluded by the same trees.
    leaves = np.hstack([enumeration.adds.any(axis=0), enumeration.excluded.T])
    _, kind = np.unique(leaves, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    alone = np.bincount(kind)[kind] == 1
    here: Counter[int] = Counter(kind[position].tolist())
    least, overlap = here.copy(), len(position)
    for dataset in datasets:
        other = Counter(kind[dataset].tolist())
        least &= other
        overlap = min(overlap, (here & other).total())
    single = set(kind[alone].tolist())
    figures = {
        "certain_cells": least.total(),
        "certain_rows": sum(number for cell, number in least.items() if cell in single),
        "guaranteed_overlap": overlap,
    }
    for figure, true in figures.items():
        bounds = getattr(certificate, figure)
        verdict.expect(bounds.lower <= true <= bounds.upper, f"{name}: {figure}")
        if not bounds.exact:
            verdict.undecided.append(f"{name}: {figure}")


def run(n_instances: int, seed: int) -> int:
    """Compare on so many instances, the settings in turn, and print a table.

    Returns
    -------
    int
        Number of instances with a disagreement.
    """
    print("setting              instances feasible infeasible several agree undecided disagree")
    verdicts: dict[str, list[Verdict]] = {setting: [] for setting in SETTINGS}
    instances: list[Instance] = []
    redrawn = 0
    number = 0
    while len(instances) < n_instances:
        setting = SETTINGS[len(instances) % len(SETTINGS)]
        instance = generated(setting, [seed, number], coded=number % 2 == 1)
        number += 1
        try:
            verdict = compared(instance)
        except TooManyError:
            redrawn += 1
            continue
        instances.append(instance)
        verdicts[setting].append(verdict)
        for fact in verdict.disagreements:
            print(f"disagreement, seed [{seed}, {number - 1}], {setting}: {fact}", flush=True)
    for name, some in [*verdicts.items(), ("all", [verdict for part in verdicts.values() for verdict in part])]:
        print(_line(name, some))
    for fact, times in sorted(
        Counter(fact for part in verdicts.values() for v in part for fact in v.undecided).items()
    ):
        print(f"undecided in {times}: {fact}")
    print(f"redrawn, because enumeration would take more than {MOST_STEPS:,} steps: {redrawn}")
    for what, sizes in _sizes(instances).items():
        print(f"{what}: {min(sizes)} to {max(sizes)}, median {np.median(sizes):g}")
    return sum(bool(verdict.disagreements) for part in verdicts.values() for verdict in part)


def _line(name: str, verdicts: list[Verdict]) -> str:
    feasible = sum(verdict.solutions > 0 for verdict in verdicts)
    several = sum(verdict.solutions > 1 for verdict in verdicts)
    wrong = sum(bool(verdict.disagreements) for verdict in verdicts)
    open_ = sum(bool(verdict.undecided) and not verdict.disagreements for verdict in verdicts)
    return (
        f"{name:<20} {len(verdicts):>9} {feasible:>8} {len(verdicts) - feasible:>10} {several:>7} "
        f"{len(verdicts) - wrong - open_:>5} {open_:>9} {wrong:>8}"
    )


def _sizes(instances: list[Instance]) -> dict[str, list[int]]:
    return {
        "rows": [instance.n_rows for instance in instances],
        "vectors of the domain": [instance.domain.n_vectors for instance in instances],
        "trees": [instance.forest.n_trees for instance in instances],
        "leaves": [sum(len(tree.leaves) for tree in instance.forest.trees) for instance in instances],
    }


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_instances(command, 200)


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a.instances, a.seed)
