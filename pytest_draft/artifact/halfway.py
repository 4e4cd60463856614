"""Counts of which something was left: in go the nodes of all trees, out come counts, or what else a file still tells.

Whoever takes out the numbers of rows and leaves the weights, or the other way round, or the values or impurities of
inner nodes, has taken out nothing: the rest follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Outputs, Restored, Tree
from pytest_draft.artifact.restoring import Evidence, Restoration, restore
from pytest_draft.artifact.validate import Nodes, Values

_ENOUGH = 0.9
"""Share of the nodes whose counts must follow: with fewer, all leaves' shares tell more than the counts of some."""

_MOST_ROWS = 2.0**53
"""Up to so many rows, a number in double precision tells each from the next."""

_TOLERANCE = 1e-6
"""How far sums and counts may be off, relative to a node's weight."""


@dataclass(frozen=True)
class Size:
    """What a file tells of the number of rows, apart from its trees."""

    repeats: bool
    """Whether a row can count several times in a tree."""
    same_rows: bool
    """Whether each tree saw all rows."""
    total: int | None
    """What the weight of each tree's root must be, where the file tells it."""
    weighted: bool
    """Whether class or sample weights may have scaled the weights."""
    averages: bool = True
    """Whether values are means, of targets or of classes, so that a node's follows from its children's."""


@dataclass(frozen=True, eq=False)
class Told:
    """What the trees of a forest tell; the fields are those of `Forest`."""

    trees: tuple[Tree, ...]
    values: Values
    outputs: Outputs | None = None
    restored: Restored | None = None
    also_tells: str | None = None


# What stands in the nodes


def by_class_totals(forest: Sequence[Nodes], size: Size) -> Told | None:
    """Return the counts of trees whose values are no shares, but what these are shares of; None where they are not."""
    forest = _without_made_up_rows(forest)
    totals = [_summed(nodes.tree, nodes.tree.value) for nodes in forest]
    leaves = np.concatenate([nodes.tree.value[nodes.tree.leaves] for nodes in forest])
    if (leaves < 0).any() or (leaves.sum(axis=1) < 1).any() or not (leaves.sum(axis=1) > 1 + _TOLERANCE).any():
        return None
    if not size.weighted and ((leaves != np.rint(leaves)).any() or len({total[0].sum() for total in totals}) > 1):
        return None
    trees = (replace(nodes.tree, value=total) for nodes, total in zip(forest, totals, strict=True))
    weights = [total.sum(axis=1) for total in totals]
    if not size.weighted and max(weight[0] for weight in weights) > _MOST_ROWS:
        return None
    return Told(_with_weights(forest, tuple(trees), weights, size), "totals", restored="class totals")


def restored(forest: Sequence[Nodes], outputs: Outputs, size: Size) -> Told | None:
    """Return the counts that follow from what was left of them; None where they do not.

    Parameters
    ----------
    forest : sequence of Nodes
        With shares of classes, or mean targets, at the leaves.
    outputs : Outputs
        What these are.
    size : Size
    """
    forest = _without_made_up_rows(forest)
    weights = [nodes.tree.weight for nodes in forest]
    if _are_weights(forest, weights, outputs, size):
        return _counted_by(forest, weights, outputs, size, "weights")
    rows = [nodes.tree.n_distinct.astype(np.float64) for nodes in forest]
    if not size.repeats and not size.weighted and _are_weights(forest, rows, outputs, size):
        return _counted_by(forest, rows, outputs, size, "numbers of rows")
    return None if size.weighted else _by_inner_nodes(forest, outputs, size)


def left_over(forest: Sequence[Nodes]) -> str | None:
    """Say what inner nodes still tell, or leaves, besides what leaves answer; None for nothing."""
    left = []
    inner = [nodes.tree.left >= 0 for nodes in forest]
    if any(bool((nodes.tree.value[those] != 0).any()) for nodes, those in zip(forest, inner, strict=True)):
        left.append("the values of inner nodes")
    if any(bool((nodes.impurity != 0).any()) for nodes in forest):
        left.append("impurities")
    for name in ("weighted_n_node_samples", "n_node_samples"):
        field = [nodes.tree.weight if name.startswith("w") else nodes.tree.n_distinct for nodes in forest]
        at_leaves = np.concatenate([one[nodes.tree.leaves] for one, nodes in zip(field, forest, strict=True)])
        if len(np.unique(at_leaves)) > 1:
            left.append(name)
    if not left:
        return None
    them = " and ".join(left)
    return f"its file holds no counts, but {them} are left, and not used yet: whoever uses them gets closer"


# Weights or numbers of rows


def _are_weights(forest: Sequence[Nodes], weights: Sequence[AnyArray], outputs: Outputs, size: Size) -> bool:
    """Return whether numbers at all nodes are their weights: they add up, and agree with what the nodes answer."""
    at_leaves = np.concatenate([weight[nodes.tree.leaves] for nodes, weight in zip(forest, weights, strict=True)])
    if (at_leaves <= 0).any() or (not size.weighted and at_leaves.sum() > _MOST_ROWS):
        return False
    if (len(at_leaves) > 2 and len(np.unique(at_leaves)) == 1) or (at_leaves == 1).all():
        return False
    if not all(_adds_up(nodes.tree, weight[:, None]) for nodes, weight in zip(forest, weights, strict=True)):
        return False
    roots = {float(weight[0]) for weight in weights}
    if not size.weighted and (len(roots) > 1 or (size.total is not None and roots != {float(size.total)})):
        return False
    for nodes, weight in zip(forest, weights, strict=True):
        tree = nodes.tree
        told = (tree.left < 0) | (tree.value != 0).any(axis=1)
        if size.averages and told.all() and not _adds_up(tree, tree.value * weight[:, None], outputs.tolerance):
            return False
        if outputs.kind != "means" and not size.weighted and _leaf_counts(tree, weight, outputs) is None:
            return False
    return True


def _adds_up(tree: Tree, value: FloatArray, tolerance: float = 0.0) -> bool:
    inner = np.flatnonzero(tree.left >= 0)
    off = np.abs(value[inner] - value[tree.left[inner]] - value[tree.right[inner]])
    allowed = (_TOLERANCE + 2 * tolerance) * np.maximum(1.0, np.abs(value[inner]).max(axis=1, initial=0.0))
    return bool((off <= allowed[:, None]).all())


def _leaf_counts(tree: Tree, weight: FloatArray, outputs: Outputs) -> FloatArray | None:
    """Return the whole counts at leaves of whole weights that have the shares there; None where there are none."""
    leaves = tree.leaves
    size = weight[leaves][:, None]
    counts = np.rint(tree.value[leaves] * size)
    off = np.abs(counts - tree.value[leaves] * size)
    allowed = _TOLERANCE * np.maximum(1.0, size) + outputs.tolerance * size
    if outputs.kind == "labels" and not outputs.may_be_pure:
        return None
    if (size != np.rint(size)).any() or (off > allowed).any() or (counts.sum(axis=1) != size[:, 0]).any():
        return None
    return counts


def _counted_by(
    forest: Sequence[Nodes], weights: Sequence[FloatArray], outputs: Outputs, size: Size, source: Restored
) -> Told:
    trees = []
    for nodes, weight in zip(forest, weights, strict=True):
        tree = nodes.tree
        counts = None if outputs.kind == "means" or size.weighted else _leaf_counts(tree, weight, outputs)
        value = tree.value * weight[:, None]
        if counts is not None:
            value = np.zeros_like(tree.value)
            value[tree.leaves] = counts
        trees.append(replace(tree, value=_summed(tree, value) / weight[:, None]))
    values: Values = "means" if outputs.kind == "means" else "fractions"
    return Told(_with_weights(forest, tuple(trees), weights, size), values, restored=source)


def _summed(tree: Tree, value: FloatArray) -> FloatArray:
    """Return values in which each inner node's is the sum of its children's."""
    found = np.where((tree.left < 0)[:, None], value, 0.0)
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        found[node] = found[tree.left[node]] + found[tree.right[node]]
    return found


def _with_weights(
    forest: Sequence[Nodes], trees: tuple[Tree, ...], weights: Sequence[FloatArray], size: Size
) -> tuple[Tree, ...]:
    """Return trees with weights, and the numbers of different rows where the file tells them or they follow."""
    rows: list[IntArray]
    if not size.repeats and not size.weighted:
        rows = [np.rint(weight).astype(np.int64) for weight in weights]
    elif _are_rows(forest, weights, size):
        rows = [nodes.tree.n_distinct for nodes in forest]
    else:
        rows = [np.zeros(nodes.tree.n_nodes, np.int64) for nodes in forest]
    made = []
    for tree, weight, distinct in zip(trees, weights, rows, strict=True):
        for array in (tree.value, weight, distinct):
            array.setflags(write=False)
        made.append(replace(tree, weight=weight, n_distinct=distinct))
    return tuple(made)


def _are_rows(forest: Sequence[Nodes], weights: Sequence[FloatArray], size: Size) -> bool:
    """Return whether a file tells how many different rows stand behind weights."""
    for nodes, weight in zip(forest, weights, strict=True):
        distinct = nodes.tree.n_distinct
        if (distinct < 1).any() or not _adds_up(nodes.tree, distinct[:, None].astype(np.float64)):
            return False
        if not size.weighted and (distinct > weight).any():
            return False
    return True


def _without_made_up_rows(forest: Sequence[Nodes]) -> list[Nodes]:
    """Return nodes without numbers of different rows, where these are the same at each leaf."""
    if len(np.unique(np.concatenate([nodes.tree.n_distinct[nodes.tree.leaves] for nodes in forest]))) > 1:
        return list(forest)
    none = [np.zeros(nodes.tree.n_nodes, np.int64) for nodes in forest]
    return [
        replace(nodes, tree=replace(nodes.tree, n_distinct=zeros)) for nodes, zeros in zip(forest, none, strict=True)
    ]


# Inner nodes


def _by_inner_nodes(forest: Sequence[Nodes], outputs: Outputs, size: Size) -> Told | None:
    for source, evidence in _evidence(forest, outputs):
        found = restore(evidence, size.total, same_rows=size.same_rows)
        n_nodes = sum(nodes.tree.n_nodes for nodes in forest)
        if sum(int((one.counts.any(axis=1)).sum()) for one in found if one is not None) >= _ENOUGH * n_nodes:
            return _with_restored(forest, found, outputs, size, source)
    return None


def _evidence(forest: Sequence[Nodes], outputs: Outputs) -> Iterator[tuple[Restored, list[Evidence]]]:
    """Yield what inner nodes tell, by what their values and impurities can mean."""
    known = [_known(nodes.tree, outputs) for nodes in forest]
    inner = [nodes.tree.left >= 0 for nodes in forest]
    if not any(bool(i.any()) for i in inner):
        return
    exact = outputs.decimals is None and (outputs.kind != "labels" or outputs.may_be_pure)
    if exact and all(bool(k.all()) for k in known):
        yield "inner fractions", [Evidence(nodes.tree, k) for nodes, k in zip(forest, known, strict=True)]
    told = all(bool((nodes.impurity[i] > 0).all()) for nodes, i in zip(forest, inner, strict=True))
    if outputs.kind == "means" or not told:
        return
    some = any(bool((k & i).any()) for k, i in zip(known, inner, strict=True))
    for entropy in (False, True):
        yield (
            "inner fractions" if some else "impurity",
            [
                Evidence(nodes.tree, k if exact else k & i, nodes.impurity, entropy, outputs.tolerance or 0.5)
                for nodes, k, i in zip(forest, known, inner, strict=True)
            ],
        )


def _known(tree: Tree, outputs: Outputs) -> BoolArray:
    """Return whether each node's value is what its rows are on average, as far as can be seen."""
    if outputs.kind == "means":
        return np.asarray((tree.left < 0) | tree.value[tree.left >= 0].any())
    return np.asarray(
        (tree.left < 0) | ((tree.value >= 0).all(axis=1) & (np.abs(tree.value.sum(axis=1) - 1) <= _TOLERANCE))
    )


def _with_restored(
    forest: Sequence[Nodes], found: Sequence[Restoration | None], outputs: Outputs, size: Size, source: Restored
) -> Told:
    nodes = [one for one, counts in zip(forest, found, strict=True) if counts is not None]
    kept = [_kept(one.tree, counts) for one, counts in zip(forest, found, strict=True) if counts is not None]
    counts = [one.counts[those].astype(np.float64) for one, those in zip(filter(None, found), kept, strict=True)]
    weights = [count.sum(axis=1) for count in counts]
    trees = []
    for one, those, count, weight in zip(nodes, kept, counts, weights, strict=True):
        tree = _pruned(one.tree, those)
        trees.append(replace(tree, value=tree.value if outputs.kind == "means" else count / weight[:, None]))
    pruned = [
        replace(one, tree=replace(tree, n_distinct=one.tree.n_distinct[those]))
        for one, tree, those in zip(nodes, trees, kept, strict=True)
    ]
    lost = sum(one.tree.n_nodes - len(those) for one, those in zip(nodes, kept, strict=True))
    lacking = []
    if len(nodes) < len(forest):
        lacking.append(f"{len(forest) - len(nodes):,} of its {len(forest):,} trees")
    if lost:
        lacking.append(f"{lost:,} of {sum(one.tree.n_nodes for one in nodes):,} nodes")
    also = None
    if lacking:
        but = " and ".join(lacking)
        also = f"its counts were restored but for {but}, which are not used: whoever uses them gets closer"
    values: Values = "means" if outputs.kind == "means" else "fractions"
    return Told(_with_weights(pruned, tuple(trees), weights, size), values, restored=source, also_tells=also)


def _kept(tree: Tree, restoration: Restoration) -> IntArray:
    """Return the nodes that are not below one that was cut."""
    kept = np.zeros(tree.n_nodes, np.bool_)
    kept[0] = True
    for node in np.flatnonzero(tree.left >= 0):
        if kept[node] and not restoration.cut[node]:
            kept[[tree.left[node], tree.right[node]]] = True
    return np.flatnonzero(kept)


def _pruned(tree: Tree, kept: IntArray) -> Tree:
    """Return a tree with some of its nodes alone, in which whoever has lost its children is a leaf."""
    place = np.full(tree.n_nodes + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    left, right = place[tree.left[kept]], place[tree.right[kept]]
    inner = left >= 0
    made = (
        left,
        right,
        np.where(inner, tree.feature[kept], -1),
        tree.threshold[kept],
        tree.missing_left[kept] & inner,
        tree.value[kept],
    )
    for array in made:
        array.setflags(write=False)
    return Tree(*made, weight=tree.weight[kept], n_distinct=tree.n_distinct[kept], seed=tree.seed)
