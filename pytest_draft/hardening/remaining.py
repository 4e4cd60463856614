"""What a hardened model still reveals, and what no longer works, in sentences."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.errors import one_line
from pytest_draft.hardening.fields import is_a
from pytest_draft.hardening.level import COUNTS, LABELS, NONE, Level
from pytest_draft.hardening.thresholds import Shortened
from pytest_draft.hardening.trees import Rewritten, Wanted
from pytest_draft.hardening.walk import is_estimator, is_tree, objects_in

_LEAST_ROWS = 10
"""Below, an array with as many entries as there are rows is most likely something else."""


@dataclass
class Tally:
    """What was met while a model was hardened."""

    level: Level
    with_data: bool
    """Whether the owner gave rows."""
    n_rows: frozenset[int]
    """Numbers of rows that its parts were trained on, as far as known."""
    fractions: int = 0
    means: int = 0
    """`fractions` and `means`: leaves of classifiers and of regressors that are left."""
    unseen_thresholds: int = 0
    outside: int = 0
    shortened: int = 0
    """`unseen_thresholds`, `outside` and `shortened`: thresholds of trees that nothing is known to reach, with no row
    on one side, and made shorter.
    """
    directions: int = 0
    unseen_directions: int = 0
    cleared: int = 0
    """`directions`, `unseen_directions` and `cleared`: splits that still send missing values left, of trees that
    something is known to reach and of others; and splits that no longer reveal which child has more rows.
    """
    renumbered: int = 0
    """Trees whose nodes have other numbers."""
    totals: int = 0
    """Leaves that held totals of classes: dividing them once more rounds otherwise."""
    numbered: bool = False
    """Whether an ensemble's seed was a number."""

    def add(self, done: Rewritten, new: Shortened, wanted: Wanted) -> None:
        """Note what became of a tree."""
        tree = done.tree
        inner = np.asarray(tree.children_left) >= 0
        n_leaves = int((~inner).sum())
        if wanted.classifier:
            self.fractions += n_leaves
        elif not wanted.without_values:
            self.means += n_leaves
        self.outside += new.n_outside
        self.shortened += new.n_shortened
        directions = int(np.asarray(getattr(tree, "missing_go_to_left", np.zeros(0))).sum())
        if new.watched:
            self.directions += directions
        else:
            self.unseen_thresholds += int(inner.sum())
            self.unseen_directions += directions
        self.cleared += done.n_directions
        self.totals += done.n_totals
        self.renumbered += bool(done.reordered or done.n_merged)


def stops(model: Any, tally: Tally) -> tuple[str, ...]:
    """Return what a hardened model no longer does."""
    if tally.level <= NONE:
        return ()
    said = ["estimators_samples_ raises an error, and fitting again gives another model: no seed is left"]
    if tally.level < COUNTS:
        return tuple(said)
    importances = _importances(model)
    if importances is not None:
        said.append(f"feature_importances_ is {importances}: it needs counts and impurities")
    said.append(
        "SHAP values by tree paths (tree_path_dependent) weigh all leaves alike: they are wrong, and no error says so; "
        "use interventional ones with background data"
    )
    if tally.means:
        said.append("partial_dependence(method='recursion') is wrong too: use method='brute'")
    said.append("plots and texts of trees show 1 sample a leaf")
    if tally.renumbered:
        said.append(f"apply and decision_path number the nodes otherwise (trees: {tally.renumbered:,})")
    said.append("warm_start adds trees with all their counts: harden again after it")
    if tally.cleared:
        said.append(
            "where a column had no missing values, a row with one goes right at its splits, no longer to the child "
            "with more rows"
        )
    if tally.shortened:
        said.append(
            "a value between two neighbouring values of the given table can get another answer: thresholds moved there"
        )
    return tuple(said)


def _importances(model: Any) -> str | None:
    for found in objects_in(model):
        forest = is_a(found.value, "ForestClassifier", "ForestRegressor") and "estimators_" in found.value.__dict__
        if forest or (is_a(found.value, "BaseDecisionTree") and "tree_" in found.value.__dict__):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values = np.asarray(found.value.feature_importances_)
            return "NaN" if np.isnan(values).all() else "0" if not values.any() else "wrong"
    return None


def stays(model: Any, tally: Tally) -> tuple[str, ...]:
    """Return what a hardened model still reveals of its training data."""
    said = []
    if tally.level <= NONE:
        said.append("all that it told: only bytes that nothing uses were changed")
    elif tally.level < COUNTS:
        said.append("all counts, impurities and inner nodes' fractions: whoever has them needs no seeds")
    elif tally.level >= LABELS:
        said += [f"the label of {tally.fractions:,} leaves"] * bool(tally.fractions)
    elif tally.level.decimals is not None:
        what = f"the class fractions of {tally.fractions:,} leaves to {tally.level.decimals} decimals"
        said += [f"{what}: of small leaves that is as good as exact"] * bool(tally.fractions)
    elif tally.fractions:
        said.append(f"the exact class fractions of {tally.fractions:,} leaves: of small leaves they tell the counts")
    if tally.means:
        said.append(f"the answers of {tally.means:,} leaves (a regressor's mean targets)")
    if tally.numbered:
        said.append(
            "THE SEED, to whoever tries all of them: its random_state was a number, and the columns that the trees "
            "split on can tell which one. Then it is known which rows each tree drew: train with random_state=None"
        )
    if tally.level >= COUNTS:
        said += _splits(tally)
    said += _others(model, tally)
    return tuple(said)


def _splits(tally: Tally) -> list[str]:
    said = []
    if tally.unseen_thresholds:
        why = "their trees were not asked" if tally.with_data else "no data were given (--data)"
        said.append(
            f"{tally.unseen_thresholds:,} THRESHOLDS AS THEY WERE, mostly middles of two training values, because {why}"
        )
        if tally.unseen_directions:
            said.append("which child of each of these splits has more rows (missing_go_to_left)")
    if tally.outside:
        said.append(
            f"{tally.outside:,} thresholds as they were, because no given row is on one side of them: are these all "
            "rows that it was trained on?"
        )
    if tally.shortened:
        said.append("between which values of the table each split was (thresholds are the shortest decimals there)")
    if tally.directions:
        said.append(
            f"at {tally.directions:,} splits, of columns that have missing values, that the left child has more rows, "
            "or those with a missing value (missing_go_to_left)"
        )
    return said


def _others(model: Any, tally: Tally) -> list[str]:
    """Return what else is in the file: what other parts have learned, results of searches, arrays by row."""
    learned: Counter[str] = Counter()
    by_row, said = [], []
    for found in objects_in(model):
        fields = getattr(found.value, "__dict__", {})
        kind = type(found.value).__name__
        if "cv_results_" in fields:
            said.append(f"{kind}.cv_results_: scores and parameters of its search")
        if is_a(found.value, "IsolationForest"):
            said.append("IsolationForest._average_path_length_per_tree: how many rows are in each leaf; scores need it")
        if is_a(found.value, "BaseWeightBoosting"):
            said.append(f"{kind}.estimator_weights_ and estimator_errors_: how well each tree did")
        fitted = any(name.endswith("_") and not name.startswith("_") for name in fields)
        if fitted and not any(is_tree(one.value) for one in objects_in(found.value)) and is_estimator(found.value):
            learned[kind] += 1
        shape = getattr(found.value, "shape", ())
        if shape and shape[0] >= _LEAST_ROWS and shape[0] in tally.n_rows:
            by_row.append(one_line(found.path, 120))
    if learned:
        named = ", ".join(kind if count == 1 else f"{kind} ({count})" for kind, count in sorted(learned.items()))
        said.append(f"what other parts have learned (categories, means, quantiles, numbers of rows): {named}")
    if by_row:
        said.append(f"arrays with as many entries as there are training rows: {', '.join(by_row[:5])}")
    return list(dict.fromkeys(said))
