"""How few people stand behind a model's leaves or rules.

A leaf that holds a few rows is about a few people, and a leaf of one class reveals the class of everybody in it
(homogeneity: Machanavajjhala et al., l-diversity, ICDE 2006). The counts that say so are in the file, and no row is
rebuilt. The rows of a leaf are the different training rows that its tree has seen there, however often they were drawn.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.audit.boosted import with_numbers
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
    data : TrainingData or None
        Which rows are alone in leaves of several trees is only known with them.

    Returns
    -------
    StructureFacts or None
        None where the file does not say how many rows a leaf holds: of forests that released noise or labels, of those
        whose numbers of rows were removed, and of rule lists without counts, where no training data are given.
    """
    try:
        model = model if isinstance(model, RuleList) else with_numbers(model, data, timebox)
    except NotCoveredError:
        return None
    if isinstance(model, RuleList):
        counts = model.counts
        if counts is None and data is not None:
            counts = model.resolved(data.columns).counts_of(data.rows, data.labels)
        if counts is None or not counts.any():
            return None
        rows, n_rows = [counts.sum(axis=1)], int(counts.sum())
        of_one_class = [(counts > 0).sum(axis=1) == 1]
    else:
        if not model.observation.exact or not model.trees[0].n_distinct[0]:
            return None
        rows = [tree.n_distinct[tree.leaves] for tree in model.trees]
        n_rows = model.n_samples or (0 if data is None else data.n_rows)
        of_one_class = [(tree.value[tree.leaves] > 0).sum(axis=1) == 1 for tree in model.trees]
        if model.classes is None:
            of_one_class = [held == 1 for held in rows]
    disclosed = max(float(held[pure].sum() / held.sum()) for held, pure in zip(rows, of_one_class, strict=True))
    least, most = _alone(model, rows, data, timebox)
    occupied = [held[held > 0] for held in rows]
    smallest = [int(held.min()) for held in occupied]
    group = np.searchsorted(AT_LEAST, np.concatenate(occupied), side="right") - 1
    sizes = tuple(np.bincount(group, minlength=len(AT_LEAST)).tolist())
    return StructureFacts(
        what="rule" if isinstance(model, RuleList) else "leaf",
        leaves=sum(sizes),
        smallest=min(smallest),
        median_smallest=float(np.median(smallest)),
        sizes=sizes,
        alone=Between(least / n_rows, min(1.0, most / n_rows)) if n_rows else Between(0.0, 1.0),
        alone_rows=(least, most),
        # A regressor's leaf of several rows may have one target.
        disclosed_class=Between(disclosed, 1.0 if model.classes is None else disclosed),
    )


def _alone(
    model: Forest | RuleList, rows: list[IntArray], data: TrainingData | None, timebox: TimeBox
) -> tuple[int, int]:
    """Return the least and the most training rows that are alone in a leaf of some tree, or by a rule.

    The file gives their number for each tree. Whether they are the same ones in each is known where the training data
    and the seeds explain the rows of every leaf.
    """
    by_tree = [int((held == 1).sum()) for held in rows]
    if isinstance(model, RuleList):
        return by_tree[0], by_tree[0]
    limit = model.n_samples if model.n_samples is not None else sum(by_tree)
    bounds = max(by_tree), min(limit, sum(by_tree))
    if data is None or bounds[0] == bounds[1] or data.n_rows != model.n_samples:
        return bounds
    try:
        seen = model.draws.seen(occurrences(model, timebox.require))
    except (NotCoveredError, OutOfTimeError):
        return bounds
    columns = np.ascontiguousarray(data.rows.T)
    alone = np.zeros(data.n_rows, dtype=np.bool_)
    for tree, held, here in zip(model.trees, rows, seen, strict=True):
        if timebox.over:
            return bounds
        timebox.spend(data.n_rows * _UNITS_PER_VISIT)
        leaf = leaf_positions(tree, columns)
        if (np.bincount(leaf[here], minlength=len(held)) != held).any():
            return bounds  # other rows, or another order
        alone |= here & (held[leaf] == 1)
    found = int(alone.sum())
    return found, found
