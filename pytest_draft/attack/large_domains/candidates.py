"""Builds a `Problem` for any discrete domain, with candidates instead of an enumeration.

A domain that is small enough is enumerated (`problem.build`). Of a larger one the cells are generated. Where the forest
leaves few things that a row can be, all of them are listed (`narrow`): the problem is *complete*, and what the engine
proves holds. Else gradient descent finds a dataset (`soft`), and the candidates are what its rows are and what they are
believed to be besides: the problem is *incomplete*, the engine chooses among them, and nothing is proved.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.enumeration import TooManyError, build, too_large
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.large_domains.domain_reduction import Reach
from pytest_draft.attack.large_domains.gradient_descent import Descent, SoftTrees, descend_softly
from pytest_draft.attack.large_domains.regions import Regions, Words
from pytest_draft.attack.observations import Observations, observations
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError

MOST_JOINED = 200_000
"""Most (group, cell, class) triples that are listed where a domain is not enumerated."""

MAX_BYTES = 3 * 1024**3
"""Most memory that a step may take where a domain is not enumerated."""


@dataclass(frozen=True)
class CandidateParameters:
    """How many candidates are made, and how much effort goes into listing all of them."""

    join_effort: float = 10.0
    """Units of work for listing all cells of all groups."""
    descent_share: float = 0.7
    """Share of the time and effort after which gradient descent ends; the rest is for its candidates."""
    drawn_per_row: int = 60
    """Vectors that are drawn for each row from the beliefs about it."""
    most_pooled: int = 100_000
    """Most vectors in the pool."""
    most_signed: int = 30_000_000
    """Most trees times vectors of the pool."""
    worst: tuple[float, float, float, float, float] = (0.8, 0.6, 0.4, 0.2, 0.05)
    """Shares of the largest fault from which on rows are taken back and solved anew, one after the other."""
    most_left_over: int = 50_000
    """Most (group, cell, class) triples that are listed for rows taken back."""
    left_over_effort: float = 3.0
    """Units of work for listing them, each time."""


_PARAMETERS = CandidateParameters()


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
    search : Search
        Of its time box, descent takes no more than a share, and leaves the rest to the engine.
    enumerate_small : bool
        False to generate the cells of small domains too.

    Raises
    ------
    NotCoveredError
        Where the domain is numeric, or so many rows, trees and columns would take too much memory.
    InfeasibleError
        Proved: some row can be nothing that the domain allows.
    OutOfTimeError
    """
    if enumerate_small and too_large(domain, groups, forest.n_classes) is None:
        with suppress(TooManyError):  # then they are generated
            return build(forest, domain, groups, search.timebox)
    _check_memory(forest, domain, groups)
    if search.timebox.over:
        raise OutOfTimeError
    observed = observations(forest, groups)
    counts, distinct, known = observed
    regions = Regions.of(forest, domain, counts, distinct)
    reach = Reach.of(regions, groups)
    fixed = np.zeros_like(regions.counts)
    if groups.draws_known:
        with search.clock("narrow"):
            reach.tighten(search.timebox)
            listed = reach.join(MOST_JOINED, search.timebox.next(_PARAMETERS.join_effort))
        if listed is not None:
            return _problem(regions, groups, observed, *listed)
    elif known is not None:
        fixed = regions.at_nodes(known)
    with search.clock("descend"):
        found = descend_softly(reach, fixed, search, search.timebox.first(_PARAMETERS.descent_share))
        pool = _pool(reach, found, np.random.default_rng([search.seed, 22]))
        if found.residual and groups.draws_known:
            rest = _left_over(reach, found, search)
            pool = np.append(pool[0], rest[0]), np.append(pool[1], rest[1]), np.concatenate([pool[2], rest[2]])
    return _problem(regions, groups, observed, *pool, n_found=groups.n_rows)


def _problem(
    regions: Regions,
    groups: Groups,
    observed: Observations,
    group: IntArray,
    label: IntArray,
    box: Words,
    *,
    n_found: int | None = None,
) -> Problem:
    """Return the problem of what rows can be: group, class and region of each candidate, some perhaps several times.

    Where they are not all, the first `n_found` of them are a dataset.
    """
    cells, cell = regions.cells(box, groups.values, group)
    triples, candidate = np.unique((group * regions.n_classes + label) * cells.n_cells + cell, return_inverse=True)
    group_label, cell = np.divmod(triples, cells.n_cells)
    group, label = np.divmod(group_label, regions.n_classes)
    start = None
    if n_found is not None:
        start = np.bincount(candidate.reshape(-1)[:n_found], minlength=len(triples)).astype(np.int64)
    counts, distinct, known = observed
    return Problem(
        regions.domain, cells, groups, counts, distinct, group, cell, label, known, complete=start is None, start=start
    )


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


def _pool(reach: Reach, descent: Descent, rng: np.random.Generator) -> tuple[IntArray, IntArray, Words]:
    """Return what rows are taken to be, and what else they could be: group, class and region of each.

    The rows of the dataset that descent has found come first, group by group; then vectors that are drawn from what is
    believed of each row, and those that differ from it in one attribute, if every tree that saw the row has the draws.
    """
    regions, groups = reach.regions, reach.groups
    of_row, n_rows = np.sort(groups.of_row), groups.n_rows
    most = min(_PARAMETERS.most_pooled, _PARAMETERS.most_signed // regions.n_trees) // n_rows
    vectors, row = [descent.bins], [np.arange(n_rows)]
    if descent.residual:
        for _ in range(min(_PARAMETERS.drawn_per_row, most // 2)):
            vectors.append(_drawn(descent.belief, regions.first_bin, rng))
            row.append(np.arange(n_rows))
        other = np.argwhere(reach.allowed[of_row])  # rows x bins
        attribute = np.searchsorted(regions.first_bin, other[:, 1], side="right") - 1
        value = other[:, 1] - regions.first_bin[attribute]
        changed = descent.bins[other[:, 0], attribute] != value
        other, attribute, value = other[changed], attribute[changed], value[changed]
        if len(other) > most * n_rows // 2:
            kept = np.sort(rng.choice(len(other), most * n_rows // 2, replace=False))
            other, attribute, value = other[kept], attribute[kept], value[kept]
        single = descent.bins[other[:, 0]]
        single[np.arange(len(single)), attribute] = value
        vectors.append(single)
        row.append(other[:, 0])
    rows = np.concatenate(row)
    group, label = of_row[rows], descent.labels[rows]
    signature = regions.signature(regions.of_vectors(np.concatenate(vectors)))
    possible = np.ones(len(rows), dtype=bool)
    if groups.draws_known:
        possible = regions.has_draws(signature, label, groups.weight[:, group])
        possible[:n_rows] = True
    group, label, signature = group[possible], label[possible], signature[:, possible]
    region = regions.around(signature, groups.weight[:, group] > 0)
    return group, label, region & regions.with_values(groups.values, groups.n_groups)[group]


def _left_over(reach: Reach, descent: Descent, search: Search) -> tuple[IntArray, IntArray, Words]:
    """Return all that the rows that fit worst can be if the others are right: group, class and region of each.

    What the others leave of the counts says much of a few rows. More and more rows are taken, until there is an answer.
    """
    regions, groups = reach.regions, reach.groups
    of_row, trees = (
        np.sort(groups.of_row),
        SoftTrees(regions, groups.weight[:, np.sort(groups.of_row)], False, np.zeros_like(regions.counts)),
    )
    fault, signature = trees.fault(descent), regions.signature(regions.of_vectors(descent.bins))
    for share in _PARAMETERS.worst:
        wrong = fault >= share * fault.max()
        kept, own = np.unique(of_row[wrong], return_inverse=True)
        values = groups.values
        if values is not None:
            values = replace(values, of_group=values.of_group[kept])
        few = replace(
            groups,
            of_row=own.reshape(-1).astype(np.int64),
            size=np.bincount(own.reshape(-1)).astype(np.int64),
            weight=groups.weight[:, kept],
            values=values,
        )
        counts, distinct = regions.left_by(signature[:, ~wrong], descent.labels[~wrong], trees.weight[:, ~wrong])
        box = search.timebox.next(_PARAMETERS.left_over_effort)
        try:
            part = Reach.of(replace(regions, counts=counts, distinct=distinct), few)
            part.tighten(box)
            listed = part.join(_PARAMETERS.most_left_over, box)
        except (InfeasibleError, OutOfTimeError):  # some of the others are wrong too
            continue
        if listed is not None:
            return kept[listed[0]], listed[1], listed[2]
        break
    return (
        np.empty(0, dtype=np.int64),
        np.empty(0, dtype=np.int64),
        np.empty((0, len(regions.full_box)), dtype=np.uint64),
    )


def _drawn(belief: FloatArray, bounds: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the bins of each row's attributes, shape (n_rows, n_attributes), drawn from what is believed."""
    bins = np.empty((belief.shape[1], len(bounds) - 1), dtype=np.int64)
    for a in range(len(bounds) - 1):
        below = belief[bounds[a] : bounds[a + 1]].cumsum(axis=0)
        bins[:, a] = np.argmax(below > rng.random(belief.shape[1]) * below[-1], axis=0)
    return bins
