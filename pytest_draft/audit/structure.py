"""How few people stand behind a model's leaves: in go a forest or rule list and training data, out come its figures.

A leaf that holds a few rows is about a few people, and a leaf of one class tells the class of everybody in it
(homogeneity: Machanavajjhala et al., l-diversity, ICDE 2006). The counts that say so are in the file, and no row is
rebuilt. The rows of a leaf are the different training rows that its tree has seen there, however often they were drawn.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.occurrences import occurrences
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.data import TrainingData
from pytest_draft.errors import NotCoveredError, OutOfTimeError
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.structure import AT_LEAST, StructureFacts
from pytest_draft.timebox import TimeBox

_UNITS_PER_VISIT = 2e-7
"""Of a row in a tree. Measured: 0.05 to 0.2 us."""


def structure_of(model: Forest | RuleList, data: TrainingData | None, timebox: TimeBox) -> StructureFacts | None:
    """Return the figures of a model's leaves.

    Parameters
    ----------
    model : Forest or RuleList
    data : TrainingData or None
        Which rows are alone in leaves of several trees is only known with them.
    timebox : TimeBox

    Returns
    -------
    StructureFacts or None
        None where the file does not tell how many rows a leaf holds: of forests that released noise or labels, of those
        whose numbers of rows were removed, and of rule lists without counts, where no training data are given.
    """
    if isinstance(model, RuleList):
        counts = _captured(model, data)
        return None if counts is None else _of_rules(counts)
    if not model.observation.exact or not model.trees[0].n_distinct[0]:
        return None
    return _of_trees(model, data, timebox)


def _of_rules(counts: IntArray) -> StructureFacts | None:
    """Return the figures of rules that captured so many rows of each class, shape (n_rules, n_classes)."""
    rows = counts.sum(axis=1)
    n_rows, alone = int(rows.sum()), int((rows == 1).sum())
    if not n_rows:
        return None
    disclosed = Between(*[float(rows[(counts > 0).sum(axis=1) == 1].sum() / n_rows)] * 2)
    return _facts("rule", [rows], Between(*[alone / n_rows] * 2), (alone, alone), disclosed)


def _captured(model: RuleList, data: TrainingData | None) -> IntArray | None:
    """Return how many training rows of each class each rule captured; None where that is not known."""
    if model.counts is not None or data is None:
        return model.counts
    counts = np.zeros((model.n_rules, model.n_classes), dtype=np.int64)
    np.add.at(counts, (model.resolved(data.columns).captured(data.rows), data.labels), 1)
    return counts


def _of_trees(forest: Forest, data: TrainingData | None, timebox: TimeBox) -> StructureFacts:
    rows = [tree.n_distinct[tree.leaves] for tree in forest.trees]
    disclosed = []
    for tree, held in zip(forest.trees, rows, strict=True):
        pure = held == 1 if forest.classes is None else (tree.value[tree.leaves] > 0).sum(axis=1) == 1
        disclosed.append(float(held[pure].sum() / held.sum()))
    most = 1.0 if forest.classes is None else max(disclosed)  # a regressor's leaf of several rows may have one target
    alone = _alone(forest, rows, data, timebox)
    n_rows = forest.n_samples or (data.n_rows if data is not None else None)
    share = Between(0.0, 1.0) if n_rows is None else Between(alone[0] / n_rows, min(1.0, alone[1] / n_rows))
    return _facts("leaf", rows, share, alone, Between(max(disclosed), most))


def _facts(
    what: str, rows: list[IntArray], alone: Between, alone_rows: tuple[int, int], disclosed_class: Between
) -> StructureFacts:
    """Return the figures of leaves with so many rows, tree by tree."""
    occupied = [held[held > 0] for held in rows]
    smallest = [int(held.min()) for held in occupied]
    group = np.searchsorted(AT_LEAST, np.concatenate(occupied), side="right") - 1
    sizes = tuple(np.bincount(group, minlength=len(AT_LEAST)).tolist())
    median = float(np.median(smallest))
    return StructureFacts(what, sum(sizes), min(smallest), median, sizes, alone, alone_rows, disclosed_class)


def _alone(forest: Forest, rows: list[IntArray], data: TrainingData | None, timebox: TimeBox) -> tuple[int, int]:
    """Return the least and the most training rows that are alone in a leaf of some tree.

    The file tells their number for each tree. Whether they are the same ones in each is known where the training data
    and the seeds explain the rows of every leaf.
    """
    by_tree = [int((held == 1).sum()) for held in rows]
    limit = forest.n_samples if forest.n_samples is not None else sum(by_tree)
    bounds = max(by_tree), min(limit, sum(by_tree))
    if data is None or bounds[0] == bounds[1] or data.n_rows != forest.n_samples:
        return bounds
    try:
        seen = occurrences(forest, timebox.require) > 0
    except (NotCoveredError, OutOfTimeError):
        return bounds
    if forest.sample_weight is not None:
        seen &= forest.sample_weight > 0
    columns = np.ascontiguousarray(data.rows.T)
    alone = np.zeros(data.n_rows, dtype=np.bool_)
    for tree, held, here in zip(forest.trees, rows, seen, strict=True):
        if timebox.over:
            return bounds
        timebox.spend(data.n_rows * _UNITS_PER_VISIT)
        leaf = leaf_positions(tree, columns)
        if (np.bincount(leaf[here], minlength=len(held)) != held).any():
            return bounds  # other rows, or another order
        alone |= here & (held[leaf] == 1)
    found = int(alone.sum())
    return found, found
