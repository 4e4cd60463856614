"""Turns numeric attributes into ordinal ones: a forest and a domain go in, `Enumerated` comes out.

No tree tells two values of one interval between thresholds apart. So each interval becomes one value of an ordinal
attribute, a *state*, which the attack on counts can solve for; `Enumerated.decoded` puts numeric values in their place
again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.states import States, states_of
from pytest_draft.domain import Attribute, Domain
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus

MOST_VECTORS = 4_096
"""Most combinations of states that are enumerated; where there are more, the numeric attack anneals the rows."""


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A forest and a domain in which the numbers of states stand for numeric values."""

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
            values = replace(values, of_group=self._as_states(values.of_group, values.columns))
        if known is not None:
            known = replace(known, rows=self._as_states(known.rows, range(self.domain.n_columns)))
        return replace(groups, values=values, known=known)

    def _as_states(self, rows: NDArray[np.float32], columns: Sequence[int]) -> NDArray[np.float32]:
        """Return values of some columns; in numeric columns, the numbers of their states."""
        result: NDArray[np.float32] = rows.copy()
        for a, column in self._numeric():
            if column in columns:
                place = columns.index(column)
                result[:, place] = self.states.holding(a, rows[:, place].astype(np.float64))
        return result

    def decoded(self, reconstruction: Reconstruction, groups: Groups) -> Reconstruction:
        """Return a reconstruction of states with a value for each state; what was proved of states is dropped.

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
        """Return rows with a guess for each numeric state; what the groups know stays as it is."""
        if rows is None:
            return None
        values: NDArray[np.float32] = rows.copy()
        for a, column in self._numeric():
            values[:, column] = self.states.guess(a, rows[:, column].astype(np.int64))
        if groups.values is not None:
            values[:, list(groups.values.columns)] = groups.values.of_group[groups.of_row]
        return values

    def _numeric(self) -> list[tuple[int, int]]:
        """Return the numeric attributes, each with its column."""
        attributes = self.states.domain.attributes
        return [(a, attribute.columns[0]) for a, attribute in enumerate(attributes) if attribute.kind == "numeric"]


def enumerate_states(forest: Forest, domain: Domain) -> Enumerated | None:
    """Return a forest and domain with states in place of numeric values, where the attack on counts can enumerate them.

    None where it cannot: where values can be missing, thresholds were drawn at random, or the states have more than
    `MOST_VECTORS` combinations.
    """
    if any(attribute.missing for attribute in domain.attributes) or forest.splitter != "best":
        return None
    states = states_of(forest, domain, {}, points=False)
    return None if math.prod(states.n_states.tolist()) > MOST_VECTORS else _with_states(forest, domain, states)


def number_states(forest: Forest, domain: Domain) -> Enumerated:
    """Return a forest and domain with states in place of numeric values, however many these are.

    Parameters
    ----------
    domain : Domain
        Without missing values.
    """
    return _with_states(forest, domain, states_of(forest, domain, {}, points=False))


def _with_states(forest: Forest, domain: Domain, states: States) -> Enumerated:
    """Return a forest and domain with these states in place of numeric values."""
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
