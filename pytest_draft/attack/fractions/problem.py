"""A forest without counts and what its adversary knows: in go forest, domain and known values, out comes a problem.

A slot stands for a row; numeric columns stand for the intervals between their thresholds, which no tree tells apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.fractions.likelihood import Model
from pytest_draft.attack.numeric.enumerated import number_states
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.numeric.states import States
from pytest_draft.domain import Domain
from pytest_draft.errors import DataError, NotCoveredError, one_line

MOST_TIMES_LEAST = 4
"""Where the number of rows is not known, at most so many times the least that the leaves allow are looked for."""


@dataclass(frozen=True, eq=False, repr=False)
class StrippedProblem:
    """What leaves without counts say, and what the adversary knows of the rows behind them. Its repr shows no row."""

    domain: Domain
    """Of the rows as they are written."""
    states: States | None
    """Of its numeric attributes; None where there are none."""
    model: Model
    """In the domain with numbers of states in place of numeric values."""
    value: Int32Array
    """Shape (n_slots, n_attributes). Index of each value that the adversary knows; -1 where it doesn't."""
    label: IntArray
    """Shape (n_slots,). Index of each label that it knows; -1 where it doesn't."""
    n_rows: tuple[int, int]
    """The fewest and the most rows: equal where the adversary knows how many there are, and then as many slots."""

    def __repr__(self) -> str:
        least, most = self.n_rows
        return f"<StrippedProblem: {least} to {most} rows, values not shown>"

    @property
    def known(self) -> BoolArray:
        """Which slots hold a row that the adversary knows whole, shape (n_slots,)."""
        whole: BoolArray = (self.value >= 0).all(axis=1) & (self.label >= 0)
        return whole

    def indices(self, rows: NDArray[np.float32]) -> Int32Array:
        """Return the index of each value of rows as they are written, shape (n_rows, n_attributes).

        Raises
        ------
        DataError
            Where a value is outside of the domain.
        """
        return indices_of(self.domain, self.states, rows)

    def written(self, value: Int32Array) -> NDArray[np.float32]:
        """Return rows as they are written; of numeric columns a value inside of the state."""
        rows = self.model.domain.encoded(value)
        if self.states is not None:
            for a, attribute in enumerate(self.domain.attributes):
                if attribute.kind == "numeric":
                    rows[:, attribute.columns[0]] = self.states.guess(a, value[:, a].astype(np.int64))
        return rows


def indices_of(
    domain: Domain, states: States | None, rows: NDArray[np.float32], attributes: Sequence[int] | None = None
) -> Int32Array:
    """Return the index of each value of rows as they are written; -1 for attributes that are not asked for.

    Parameters
    ----------
    domain : Domain
    states : States or None
        As in `StrippedProblem`.
    rows : ndarray of float32, shape (n_rows, n_columns)
    attributes : sequence of int or None
        Positions; None for all.

    Raises
    ------
    DataError
        Where a value is outside of the domain.
    """
    found = np.full((len(rows), len(domain.attributes)), -1, dtype=np.int32)
    for a in range(len(domain.attributes)) if attributes is None else attributes:
        attribute = domain.attributes[a]
        columns = rows[:, list(attribute.columns)]
        if states is not None and attribute.kind == "numeric":
            found[:, a] = states.holding(a, columns[:, 0].astype(np.float64))
        else:
            found[:, a] = attribute.index(columns)
        if ((found[:, a] < 0) | attribute.outside(columns.astype(np.float64))).any():
            raise DataError(
                f"the domain of {one_line(domain.source)} excludes values of attribute {one_line(attribute.name)!r} "
                "that training rows hold: correct the domain"
            )
    return found


def states_in(forest: Forest, domain: Domain) -> tuple[Forest, Domain, States | None]:
    """Return forest and domain with numbers of states in place of numeric values, and the states, where there are any.

    Raises
    ------
    NotCoveredError
        Where values may be missing.
    """
    if any(attribute.missing for attribute in domain.attributes):
        raise NotCoveredError("its file holds no counts, and values may be missing: not covered yet")
    if not is_numeric(domain):
        return forest, domain, None
    numbered = number_states(forest, domain)
    return numbered.forest, numbered.domain, numbered.states


def build_stripped(
    forest: Forest,
    domain: Domain,
    n_rows: int | None,
    known_value: Int32Array | None = None,
    known_label: IntArray | None = None,
) -> StrippedProblem:
    """Return the problem of a forest whose file holds no counts.

    Parameters
    ----------
    forest : Forest
        With `Answers`.
    domain : Domain
    n_rows : int or None
        Number of training rows; None where the adversary does not know it.
    known_value, known_label : ndarray or None
        What is known of each row, as in `StrippedProblem`; None for nothing.

    Raises
    ------
    NotCoveredError
        As `Model.of`, and where values may be missing.
    """
    walked, numbered, states = states_in(forest, domain)
    if n_rows is not None:
        model = Model.of(walked, numbered, n_rows)
        bounds = (n_rows, n_rows)
    else:
        least = least_rows(forest)
        n_known = 0 if known_value is None else int((known_value >= 0).all(axis=1).sum())
        least = max(least, n_known + 1)
        bounds = (least, MOST_TIMES_LEAST * least)
        model = Model.of(walked, numbered, least, bounds[1])
    value = np.full((bounds[1], len(domain.attributes)), -1, dtype=np.int32)
    label = np.full(bounds[1], -1, dtype=np.int64)
    if known_value is not None and known_label is not None:
        value[: len(known_value)], label[: len(known_label)] = known_value, known_label
    return StrippedProblem(domain, states, model, value, label, bounds)


def least_rows(forest: Forest) -> int:
    """Return how many rows (with bootstrap: draws) there are at least: one for each leaf of the largest tree."""
    return max(len(tree.leaves) for tree in forest.trees)
