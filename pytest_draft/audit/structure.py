"""How few people stand behind a model's leaves or rules.

A leaf that holds a few rows is about a few people, and a leaf of one class reveals the class of everybody in it
(homogeneity: Machanavajjhala et al., l-diversity, ICDE 2006). The counts that say so are in the file, and no row is
rebuilt. The rows of a leaf are the different training rows that its tree has seen there, however often they were drawn.

All trees together reveal more, which narrows the bounds of an `Entropy` by the attack's problem. A world is a
consistent dataset: how many rows each cell holds, and a vector of the cell for each of them. Where it is proved how
many rows each cell holds (`Reconstruction.status` ``unique``), no more is left than the vectors of these cells; without
bagging the worlds are just these, and their entropy is known exactly.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.boosted.counted import row_numbers
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.problem import Problem
from pytest_draft.data import TrainingData
from pytest_draft.data.individuals import hundredths
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.facts.entropy import Between, Entropy
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.structure import AT_LEAST, StructureFacts
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox

_UNITS_PER_VISIT = 2e-7
"""Of a row in a tree. Measured: 0.05 to 0.2 us."""


def structure_of(model: Forest | RuleList, data: TrainingData | None, timebox: TimeBox) -> StructureFacts | None:
    """Return the figures of a model's leaves.

    None where the file does not say how many rows a leaf holds: of forests that released noise or labels, of those
    whose numbers of rows were removed, and of rule lists without counts, where no training data are given.

    Parameters
    ----------
    data : TrainingData or None
        Which rows are alone in leaves of several trees is only known with them.
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


def with_numbers(forest: Forest, data: TrainingData | None, timebox: TimeBox) -> Forest:
    """Return a forest whose leaves say how many rows they hold; any but boosted trees as it is.

    Parameters
    ----------
    data : TrainingData or None
        Where they explain the sums in the file, these leave no other numbers at their leaves.
    timebox : TimeBox
        Where it ends before that is known, the numbers are those in the file.

    Raises
    ------
    NotCoveredError
        Where neither the file nor the data tell.
    """
    if not isinstance(forest.observation, BoostedSums):
        return forest
    counted = None
    if forest.draws.drawn:  # all rows that reach a leaf are more than it drew
        return row_numbers(forest)
    with suppress(OutOfTimeError):
        counted = None if data is None else counted_by(forest, data.rows, data.labels, timebox)
    return row_numbers(forest) if counted is None else counted


def narrowed(entropy: Entropy, problem: Problem, reconstruction: Reconstruction | None = None) -> Entropy:
    """Narrow what all trees together leave, where the problem says all that they reveal; else the bounds stand.

    Parameters
    ----------
    problem : Problem
        Of the forest's own values, for an adversary without side knowledge.
    reconstruction : Reconstruction or None
        Of this problem.
    """
    all_is_said = problem.complete and problem.groups.draws_known
    if entropy.examined > 1 and not entropy.reasons and all_is_said:
        return together(entropy, problem, reconstruction)
    return entropy


def narrowed_without_attack(
    entropy: Entropy, forest: Forest, domain: Domain, adversary: str, timebox: TimeBox
) -> Entropy:
    """Narrow what all trees together leave by domain reduction alone; where that cannot be, the bounds stand.

    Parameters
    ----------
    adversary : str
        Without side knowledge.
    """
    if forest.n_trees == 1 or is_numeric(domain):
        return entropy
    try:
        groups = exchangeable_groups(forest, adversary, timebox=timebox)
        return narrowed(entropy, build(forest, domain, groups, timebox)) if groups.draws_known else entropy
    except (NotCoveredError, OutOfTimeError, InfeasibleError):
        return entropy


def together(entropy: Entropy, problem: Problem, reconstruction: Reconstruction | None = None) -> Entropy:
    """Narrow what is left under all trees together by what the attack knows.

    Parameters
    ----------
    entropy : Entropy
        Of a forest of several trees.
    problem : Problem
        With exact noise, and all rows unknown.
    reconstruction : Reconstruction or None
        Where it is ``unique`` and each tree saw all rows, the entropy is known exactly, but for what thresholds reveal.
    """
    upper = min(entropy.ratio.upper, most_left(problem) / (problem.groups.n_rows * entropy.bits))
    if reconstruction is not None and reconstruction.status == "unique" and reconstruction.cells is not None:
        ratios = np.minimum(1.0, np.log2(problem.cells.n_vectors[reconstruction.cells]) / entropy.bits)
        exact = float(ratios.mean())
        if not _each_saw_all(problem):
            upper = min(upper, exact)
            return replace(entropy, ratio=Between(min(entropy.ratio.lower, upper), upper))
        row = float(ratios.min())
        return replace(
            entropy,
            ratio=Between(min(entropy.ratio.lower, exact) if entropy.telling else exact, exact),
            lowest_row=Between(min(entropy.lowest_row.lower, row) if entropy.telling else row, row),
            measured_on="all trees together",
            dist=None,
            quantiles=hundredths(ratios),
            groups=(),
            most_exposed=(),
        )
    return replace(entropy, ratio=Between(min(entropy.ratio.lower, upper), upper))


def most_left(problem: Problem) -> float:
    """Return an upper bound of the joint entropy, in bits, by what each row can be after domain reduction.

    Without bagging a row is of a known class, and in a known leaf of one tree: the tree that leaves least is taken.
    With known occurrences, a row is known by the trees that have drawn it.

    Parameters
    ----------
    problem : Problem
        With exact noise and all candidates.
    """
    vectors = problem.cells.n_vectors[problem.cell].astype(np.float64)
    groups = problem.groups
    if _each_saw_all(problem):
        bits = []
        for t, counts in enumerate(problem.counts):
            held = np.zeros(counts.shape)
            np.add.at(held, (problem.cells.signature[t, problem.cell], problem.label), vectors)
            some = counts > 0
            bits.append(float(counts[some] @ np.log2(held[some])))
        return min(bits)
    group, cell = np.divmod(
        np.unique(problem.group.astype(np.int64) * problem.cells.n_cells + problem.cell), problem.cells.n_cells
    )
    of_group = np.bincount(group, problem.cells.n_vectors[cell].astype(np.float64), minlength=groups.n_groups)
    return float(groups.size @ np.log2(of_group))


def _each_saw_all(problem: Problem) -> bool:
    """Return whether each tree saw each row once."""
    return problem.groups.n_groups == 1 and bool((problem.groups.weight == 1).all())
