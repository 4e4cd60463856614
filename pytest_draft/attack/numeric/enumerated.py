"""Numeric attributes with few thresholds, as ordinal ones: in go forest and domain, out come such that are enumerated.

No tree tells two values of one interval apart, so the exact engine can solve for intervals; values are filled in then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.best_splits import has_best_splits
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.numeric.states import States, states_of
from pytest_draft.domain import Attribute, Domain
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus

MOST_VECTORS = 4_096
"""Most combinations of states that are enumerated; beyond, rows are annealed one by one."""


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A forest and a domain whose numeric attributes stand for their states."""

    forest: Forest
    """With thresholds between the states' numbers."""
    domain: Domain
    """Without numeric attributes."""
    states: States
    """Of the original domain."""

    def groups(self, groups: Groups) -> Groups:
        """Return groups in which known values are the numbers of their states."""
        values, known = groups.values, groups.known
        if values is not None:
            values = replace(values, of_group=self._numbered(values.of_group, values.columns))
        if known is not None:
            known = replace(known, rows=self._numbered(known.rows, range(self.domain.n_columns)))
        return replace(groups, values=values, known=known)

    def _numbered(self, rows: NDArray[np.float32], columns: Sequence[int]) -> NDArray[np.float32]:
        """Return values of some columns with the numbers of their states in numeric ones."""
        numbered: NDArray[np.float32] = rows.copy()
        for a, column in self._numeric():
            if column in columns:
                place = columns.index(column)
                numbered[:, place] = self.states.holding(a, rows[:, place].astype(np.float64))
        return numbered

    def decoded(self, reconstruction: Reconstruction, groups: Groups) -> Reconstruction:
        """Return a reconstruction with values for states, of which nothing is proved but the states.

        Parameters
        ----------
        groups : Groups
            In the original domain: what they know of each row stays as it is.
        """
        status: SolverStatus = "consistent" if reconstruction.status == "unique" else reconstruction.status
        return replace(
            reconstruction,
            status=status,
            rows=self._values(reconstruction.rows, groups),
            consistent=self._values(reconstruction.consistent, groups),
            certificate=None,
            proved=None,
            provable=None,
        )

    def _values(self, rows: NDArray[np.float32] | None, groups: Groups) -> NDArray[np.float32] | None:
        if rows is None:
            return None
        values: NDArray[np.float32] = rows.copy()
        for a, column in self._numeric():
            values[:, column] = self.states.guess(a, rows[:, column].astype(np.int64))
        if groups.values is not None:
            values[:, list(groups.values.columns)] = groups.values.of_group[groups.of_row]
        return values

    def _numeric(self) -> list[tuple[int, int]]:
        attributes = self.states.domain.attributes
        return [(a, attribute.columns[0]) for a, attribute in enumerate(attributes) if attribute.kind == "numeric"]


def enumerate_states(forest: Forest, domain: Domain) -> Enumerated | None:
    """Return a forest and domain with states in place of numeric values; None where these are too many."""
    if any(attribute.missing for attribute in domain.attributes) or not has_best_splits(forest):
        return None
    states = states_of(forest, domain, {}, points=False)
    return None if math.prod(states.n_states.tolist()) > MOST_VECTORS else _numbered(forest, domain, states)


def number_states(forest: Forest, domain: Domain) -> Enumerated:
    """Return a forest and domain with states in place of numeric values, however many these are.

    Parameters
    ----------
    domain : Domain
        Without missing values.
    """
    return _numbered(forest, domain, states_of(forest, domain, {}, points=False))


def _numbered(forest: Forest, domain: Domain, states: States) -> Enumerated:
    """Return a forest and domain with the states of one in place of values."""
    attributes, cuts = [], {}
    for a, attribute in enumerate(domain.attributes):
        if attribute.kind == "numeric":
            last = float(len(states.low[a]) - 1)
            attributes.append(Attribute(attribute.name, "ordinal", attribute.columns, 0.0, last))
            cuts[attribute.columns[0]] = states.high[a]
        else:
            attributes.append(attribute)
    trees = []
    for tree in forest.trees:
        threshold = tree.threshold.copy()
        for column, high in cuts.items():
            here = tree.feature == column
            threshold[here] = np.searchsorted(high, threshold[here], side="right") - 0.5
        trees.append(replace(tree, threshold=threshold))
    numbered = Domain(domain.columns, tuple(attributes), domain.source)
    return Enumerated(replace(forest, trees=tuple(trees)), numbered, states)
