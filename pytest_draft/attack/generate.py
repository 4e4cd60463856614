"""A `Problem` for any discrete domain: in go a forest, a domain and groups, out comes a problem for the same engine.

A domain that is small enough is enumerated (`problem.build`). Of a larger one the cells are generated. Where the forest
leaves few things that a row can be, all of them are listed (`narrow`): the problem is *complete*, and what the engine
proves holds. Else gradient descent finds a dataset (`soft`), and the candidates are what its rows are and what they are
believed to be besides: the problem is *incomplete*, the engine chooses among them, and nothing is proved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.exact import Search
from pytest_draft.attack.narrow import Reach
from pytest_draft.attack.problem import (
    BoolArray,
    Groups,
    IntArray,
    OutOfTimeError,
    Problem,
    build,
    observations,
    too_large,
)
from pytest_draft.attack.regions import Regions, Words
from pytest_draft.attack.soft import Descent, descend_softly
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError

MOST_JOINED = 200_000
"""Most (group, cell, class) triples that are listed where a domain is not enumerated."""

MAX_BYTES = 3 * 1024**3
"""Most memory that a step may take where a domain is not enumerated."""

_JOIN_EFFORT = 10.0
_DESCENT_SHARE = 0.7
_DRAWN_PER_ROW = 60
_MOST_POOLED = 100_000
_MOST_SIGNED = 30_000_000  # trees x vectors of a pool


def build_any(
    forest: Forest, domain: Domain, groups: Groups, search: Search, *, enumerate_small: bool = True
) -> Problem:
    """Return the problem of a domain of any size.

    Parameters
    ----------
    forest : Forest
        A classifier's forest with whole counts.
    domain : Domain
        Without numeric attributes.
    groups : Groups
    search : Search
        Of its time box, descent takes no more than a share, and leaves the rest to the engine.
    enumerate_small : bool
        False to generate the cells of small domains too.

    Returns
    -------
    Problem

    Raises
    ------
    NotCoveredError
        Where the domain is numeric, or so many rows, trees and columns would take too much memory.
    InfeasibleError
        Proved: some row can be nothing that the domain allows.
    OutOfTimeError
    """
    if too_large(domain, groups, forest.n_classes) is None and enumerate_small:
        return build(forest, domain, groups, search.timebox)
    _check_memory(forest, domain, groups)
    if search.timebox.over:
        raise OutOfTimeError
    counts, distinct, known = observations(forest, groups)
    regions = Regions.of(forest, domain, counts, distinct)
    box = regions.with_values(groups.values, groups.n_groups)
    alive = np.ones((groups.n_groups, forest.n_classes), dtype=bool)
    fixed = np.zeros_like(regions.counts)
    pooled = possible = None
    if groups.noise == "exact":
        with search.clock("narrow"):
            reach = Reach.of(regions, groups)
            reach.tighten(search.timebox)
            listed = reach.join(MOST_JOINED, search.timebox.next(_JOIN_EFFORT))
        alive, possible = reach.alive, reach.possible
        box = np.bitwise_or.reduce(np.where(alive[:, :, None], reach.box, np.uint64(0)), axis=1)
    else:
        listed = None
        fixed = fixed if known is None else regions.at_nodes(known)
    if listed is None:
        with search.clock("descend"):
            share = search.timebox.first(_DESCENT_SHARE)
            found = descend_softly(regions, groups, regions.bins(box), alive, possible, fixed, search, share)
            pooled = _pool(regions, groups, found, regions.bins(box), np.random.default_rng([search.seed, 22]))
    group, label, region = pooled if listed is None and pooled is not None else listed
    cells, cell = regions.cells(region, groups.values, group)
    triple = (group * forest.n_classes + label) * cells.n_cells + cell
    triples, candidate = np.unique(triple, return_inverse=True)
    group_label, cell = np.divmod(triples, cells.n_cells)
    group, label = np.divmod(group_label, forest.n_classes)
    start = None if pooled is None else np.bincount(candidate[: groups.n_rows], minlength=len(triples)).astype(np.int64)
    complete = pooled is None
    return Problem(domain, cells, groups, counts, distinct, group, cell, label, known, complete, start)


def _check_memory(forest: Forest, domain: Domain, groups: Groups) -> None:
    """Refuse what would take too much memory."""
    nodes = [tree.n_nodes for tree in forest.trees]
    words = sum((attribute.n_values + 63) // 64 for attribute in domain.attributes)
    n_values = sum(attribute.n_values for attribute in domain.attributes)
    needed = 16 * words * sum(nodes) + 64 * max(nodes) * groups.n_rows + 40 * n_values * groups.n_rows
    if needed > MAX_BYTES:
        raise NotCoveredError(
            f"{groups.n_rows:,} rows of {domain.n_columns:,} columns in trees of up to {max(nodes):,} nodes would take "
            f"{needed / 1024**3:.1f} GiB; so large a problem is not covered yet"
        )


def _pool(
    regions: Regions, groups: Groups, found: Descent, allowed: BoolArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray, Words]:
    """Return what rows are taken to be, and what else they could be: group, class and region of each.

    The rows of the dataset that descent has found come first, group by group; then vectors that are drawn from what is
    believed of each row, and those that differ from it in one attribute, if every tree that saw the row has the draws.
    """
    of_row, n_rows = np.sort(groups.of_row), groups.n_rows
    most = min(_MOST_POOLED, _MOST_SIGNED // regions.n_trees) // n_rows
    vectors, row = [found.bins], [np.arange(n_rows)]
    if found.residual:
        for _ in range(min(_DRAWN_PER_ROW, most // 2)):
            vectors.append(_drawn(found.belief, regions.first_bin, rng))
            row.append(np.arange(n_rows))
        other = np.argwhere(allowed[of_row])  # rows x bins
        attribute = np.searchsorted(regions.first_bin, other[:, 1], side="right") - 1
        value = other[:, 1] - regions.first_bin[attribute]
        changed = found.bins[other[:, 0], attribute] != value
        other, attribute, value = other[changed], attribute[changed], value[changed]
        if len(other) > most * n_rows // 2:
            kept = np.sort(rng.choice(len(other), most * n_rows // 2, replace=False))
            other, attribute, value = other[kept], attribute[kept], value[kept]
        single = found.bins[other[:, 0]]
        single[np.arange(len(single)), attribute] = value
        vectors.append(single)
        row.append(other[:, 0])
    rows = np.concatenate(row)
    group, label = of_row[rows], found.labels[rows]
    signature = regions.signature(regions.of_vectors(np.concatenate(vectors)))
    possible = np.ones(len(rows), dtype=bool)
    if groups.noise == "exact":
        possible = regions.has_draws(signature, label, groups.weight[:, group])
        possible[:n_rows] = True
    group, label, signature = group[possible], label[possible], signature[:, possible]
    region = regions.around(signature, groups.weight[:, group] > 0)
    return group, label, region & regions.with_values(groups.values, groups.n_groups)[group]


def _drawn(belief: NDArray[np.float64], bounds: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the bins of each row's attributes, shape (n_rows, n_attributes), drawn from what is believed."""
    bins = np.empty((belief.shape[1], len(bounds) - 1), dtype=np.int64)
    for a in range(len(bounds) - 1):
        below = belief[bounds[a] : bounds[a + 1]].cumsum(axis=0)
        bins[:, a] = np.argmax(below > rng.random(belief.shape[1]) * below[-1], axis=0)
    return bins
