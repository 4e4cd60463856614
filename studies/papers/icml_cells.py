"""What is computed in a cell of the ICML paper's results: in go its parameters, out comes one row of aggregates.

Each function is that of one result (`studies.papers.results`). A ``limit`` is a time box in seconds, on one thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.artifact import Forest
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.timebox import TimeBox
from studies.cells import Plain
from studies.files import through_file
from studies.paper_models import cp_without_bagging, milp
from studies.paper_models.published import ModelOutcome
from studies.papers.load import load
from studies.papers.targets import Target, attacked, error_of, measured, random_error, target_of

FIGURE_1 = "figure 1"
"""The forest of figure 1, as its text describes it; any other is grown by scikit-learn's defaults."""

_ROWS = ((0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 1, 1))
"""f_1 to f_4 of table 1."""

_LABELS = (0, 0, 1, 1)
"""c of table 1."""

_COLUMNS = ("f1", "f2", "f3", "f4")
_DOMAIN = Domain(_COLUMNS, tuple(Attribute(name, "binary", (i,)) for i, name in enumerate(_COLUMNS)), "table 1")
_SEEDS_TRIED = 10_000


def forests(
    *,
    data: Path,
    bagging: bool,
    trees: int,
    depth: int,
    seed: int,
    rows: int,
    limit: float,
) -> dict[str, Plain]:
    """Train one forest and attack it, knowing its structure and counts."""
    target = target_of(data, rows, trees, depth, seed, bagging=bagging)
    return {
        **attacked(target, "published", limit, seed),
        "random_error": random_error(target, seed),
        "train_accuracy": target.train_accuracy,
        "test_accuracy": target.test_accuracy,
        "load": load(),
    }


def by_model(
    *, data: Path, method: str, trees: int, depth: int, seed: int, rows: int, limit: float
) -> dict[str, Plain]:
    """Train one forest, and rebuild its rows by one of `METHODS`."""
    target = target_of(data, rows, trees, depth, seed, bagging=False)
    if method == "engine":
        return {**attacked(target, "published", limit, seed), "load": load()}
    box = TimeBox(limit)
    solve: Callable[[], ModelOutcome] = {
        "cp": lambda: cp_without_bagging.solve(target.forest, target.domain, rows, box, seed=seed),
        "milp": lambda: milp.solve(target.forest, target.domain, rows, box),
    }[method]
    return {**_outcome(target, solve, box), "load": load()}


def _outcome(target: Target, solve: Callable[[], ModelOutcome], box: TimeBox) -> dict[str, Plain]:
    found = solve()
    spent = box.elapsed
    rebuilt = None if found.dataset is None else found.dataset.rows
    return {
        **measured(target.data.rows, rebuilt, target.domain),
        "status": found.status,
        "seconds": spent,
        "clock_ended": rebuilt is None and found.status == "no solution",
    }


def known_occurrences(*, data: Path, trees: int, depth: int, seed: int, rows: int, limit: float) -> dict[str, Plain]:
    """Train one bagged forest; compute the benchmark of appendix E, and attack it with known occurrences."""
    target = target_of(data, rows, trees, depth, seed, bagging=True)
    return {
        **attacked(target, "artifact", limit, seed),
        "benchmark_error": worst_case_error(target, likeliest_seen(target, seed)),
        "drawn_error": worst_case_error(target, occurrences(target.forest) > 0),
        "load": load(),
    }


def likeliest_seen(target: Target, seed: int) -> BoolArray:
    """Return which tree sees which row by the likeliest occurrences, given the training data (appendix E).

    The draws of a class in a leaf fall on the rows of that class which reach it. The log-likelihood is concave in how
    often one row is drawn, so it is largest where they are spread evenly: with at least as many draws as rows all are
    seen, else as many as there are draws. Which ones makes no difference to it, and is drawn.

    Parameters
    ----------
    target : Target
        Of a bagged forest.

    Returns
    -------
    ndarray of bool, shape (n_trees, n_rows)
    """
    rng = np.random.default_rng([seed, 5])
    rows, labels, forest = np.ascontiguousarray(target.data.rows.T), target.data.labels, target.forest
    seen = np.zeros((forest.n_trees, len(labels)), dtype=bool)
    for t, tree in enumerate(forest.trees):
        counts, leaf = forest.counts(t)[tree.leaves], leaf_positions(tree, rows)
        for v, c in np.argwhere(counts).tolist():
            there = np.flatnonzero((leaf == v) & (labels == c))
            seen[t, rng.permutation(there)[: int(counts[v, c])]] = True
    return seen


def worst_case_error(target: Target, seen: BoolArray) -> float:
    """Return the error of who knows the leaves of every row in the trees that see it, and guesses all else wrongly.

    A tree that sees a row fixes the columns that are tested on the way to the row's leaf. Rows are matched at the
    least cost, as the authors' are.

    Parameters
    ----------
    target : Target
        On binary columns.
    seen : ndarray of bool, shape (n_trees, n_rows)
    """
    rows = target.data.rows
    fixed = np.zeros(rows.shape, dtype=bool)
    for tree, mine in zip(target.forest.trees, seen, strict=True):
        tested = np.zeros((tree.n_nodes, rows.shape[1]), dtype=bool)
        for v in np.flatnonzero(tree.left >= 0):  # parents stand before their children
            for child in (tree.left[v], tree.right[v]):
                tested[child] = tested[v]
                tested[child, tree.feature[v]] = True
        on_path = tested[tree.leaves][leaf_positions(tree, np.ascontiguousarray(rows.T))]
        fixed |= on_path & mine[:, None]
    guess = np.where(fixed, rows, 1 - rows).astype(np.float32)
    return error_of(rows, guess, target.domain)


def more_rows(*, data: Path, rows: int, trees: int, seed: int, limit: float) -> dict[str, Plain]:
    """Train one forest without bagging and without a limit of depth, and attack it."""
    target = target_of(data, rows, trees, 0, seed, bagging=False)
    return {
        **attacked(target, "published", limit, seed),
        "train_accuracy": target.train_accuracy,
        "test_accuracy": target.test_accuracy,
        "load": load(),
    }


def side_knowledge(
    *,
    data: Path,
    knowledge: str,
    known: float,
    trees: int,
    seed: int,
    rows: int,
    limit: float,
) -> dict[str, Plain]:
    """Train one bagged forest without a limit of depth, and attack it with side knowledge, without its seeds."""
    target = target_of(data, rows, trees, 0, seed, bagging=True)
    side = f"+columns:{known:.0f}" if knowledge == "known_attributes" else f"+rows:{100 * known:g}%"
    return {**attacked(target, "published" + (side if known else ""), limit, seed), "load": load()}


def four_rows(*, forest: str, trees: int, seed: int, limit: float) -> dict[str, Plain]:
    """Train trees on table 1, count the datasets that they allow, and attack them."""
    read_forest = figure_1() if forest == FIGURE_1 else through_file(_grown(trees, seed))
    data = TrainingData(
        np.array(_ROWS, dtype=np.float32), np.array(_LABELS, dtype=np.int64), _COLUMNS, None, "table 1 of the paper"
    )
    target = Target(read_forest, _DOMAIN, data, float("nan"), float("nan"))
    return {
        **attacked(target, "published", limit, seed),
        "datasets": consistent_datasets(read_forest),
        "load": load(),
    }


def _grown(trees: int, seed: int) -> Any:
    """Return a forest on table 1."""
    model = RandomForestClassifier(trees, bootstrap=False, random_state=seed)
    return model.fit(np.array(_ROWS, dtype=np.float32), np.array(_LABELS))


@cache
def figure_1() -> Forest:
    """Return two trees as section 4 describes those of figure 1, from the first seed that grows them.

    The first tests f_3 and f_2, so that two rows of class 0 have value 0 in both. The second tests f_2 first, which
    one of the two rows of class 1 has, and after it f_1 and f_4.
    """
    for seed in range(_SEEDS_TRIED):
        model = _grown(2, seed)
        tested = [[f for f in tree.tree_.feature.tolist() if f >= 0] for tree in model.estimators_]
        if tested[0] == [2, 1] and tested[1][:1] == [1] and sorted(tested[1][1:]) == [0, 3]:
            return through_file(model)
    raise RuntimeError(f"none of {_SEEDS_TRIED:,} seeds grows the trees of figure 1; scikit-learn draws otherwise")


def consistent_datasets(forest: Forest) -> int:
    """Return how many datasets of binary rows, in no order, give a forest's leaf counts, by enumeration.

    Parameters
    ----------
    forest : Forest
        On columns of table 1, without bagging.
    """
    vectors = np.array(list(itertools.product((0, 1), repeat=len(_COLUMNS))), dtype=np.float32)
    leaf = [leaf_positions(tree, np.ascontiguousarray(vectors.T)) for tree in forest.trees]
    return prod(_ways(forest, leaf, c) for c in range(forest.n_classes))


def _ways(forest: Forest, leaf: list[Any], c: int) -> int:
    """Return how many multisets of vectors give the leaves their counts of one class."""
    counts: list[IntArray] = [forest.counts(t)[tree.leaves, c] for t, tree in enumerate(forest.trees)]
    n_vectors, n_rows = len(leaf[0]), int(counts[0].sum())
    return sum(
        all(
            np.array_equal(np.bincount(of_tree[list(chosen)], minlength=len(count)), count)
            for of_tree, count in zip(leaf, counts, strict=True)
        )
        for chosen in itertools.combinations_with_replacement(range(n_vectors), n_rows)
    )
