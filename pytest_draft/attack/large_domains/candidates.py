"""Builds a `Problem` for any discrete domain of which all that rows can be can be listed.

A domain that is small enough is enumerated (`enumeration.build`). Of a larger one the cells are generated from the
leaves that the counts leave to each row (`Reach`).
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.enumeration import TooManyError, build, too_large
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.large_domains.domain_reduction import Reach
from pytest_draft.attack.large_domains.regions import Regions
from pytest_draft.attack.observations import observations
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError

MOST_JOINED = 200_000
MOST_A_GROUP = 300
"""Most (group, cell, class) triples that are listed where a domain is not enumerated: in all, where nothing tells rows
apart, and on average of each group, where draws do. With more of them, rows are found sooner one by one.
"""

MAX_BYTES = 3 * 1024**3
"""Most memory that listing them may take."""

_SHARE, _EFFORT = 0.4, 10.0
"""Share of the time and effort, and units of work, after which it ends."""


def build_any(
    forest: Forest, domain: Domain, groups: Groups, search: Search, *, enumerate_small: bool = True
) -> Problem:
    """Return the problem of all that the rows of a domain of any size can be.

    Parameters
    ----------
    forest : Forest
        A classifier's forest with whole counts.
    domain : Domain
        Without numeric attributes.
    enumerate_small : bool
        False to generate the cells of small domains too.

    Raises
    ------
    NotCoveredError
        Where the domain is numeric.
    TooManyError
        Where rows can be more than is listed in time and memory.
    InfeasibleError
        Proved: some row can be nothing that the domain allows.
    OutOfTimeError
    """
    if enumerate_small and too_large(domain, groups, forest.n_classes) is None:
        with suppress(TooManyError):  # then they are generated
            return build(forest, domain, groups, search.timebox)
    _check_memory(forest, domain)
    search.timebox.require()
    counts, distinct, known = observations(forest, groups)
    regions = Regions.of(forest, domain, counts, distinct)
    with search.clock("narrow"):
        reach, box = Reach.of(regions, groups), search.timebox.part(_SHARE).next(_EFFORT)
        with suppress(OutOfTimeError):
            reach.tighten(box)
        most = min(MOST_JOINED, MOST_A_GROUP * groups.n_groups) if groups.ordered else MOST_JOINED
        listed = None if box.over else reach.join(most, box)
    if listed is None:
        raise TooManyError("rows can be more than can be listed in time")
    group, label, region = listed
    cells, cell = regions.cells(region, groups.values, group)
    triples = np.unique((group * regions.n_classes + label) * cells.n_cells + cell)
    group_label, cell = np.divmod(triples, cells.n_cells)
    group, label = np.divmod(group_label, regions.n_classes)
    return Problem(domain, cells, groups, counts, distinct, group, cell, label, known)


def _check_memory(forest: Forest, domain: Domain) -> None:
    """Refuse what would take too much memory."""
    nodes = [tree.n_nodes for tree in forest.trees]
    words = sum((attribute.n_values + 63) // 64 for attribute in domain.attributes)
    needed = 16 * words * sum(nodes)
    if needed > MAX_BYTES:
        raise TooManyError(
            f"the leaves of {sum(nodes):,} nodes in {domain.n_columns:,} columns would take {needed / 1024**3:.1f} GiB"
        )
