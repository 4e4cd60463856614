"""The true rows as one of the datasets that explain a file: `ExplainedRows`.

It is written row by row in the states that the forest tells apart (`pytest_draft.attack.states`), whatever the
columns are: so discrete and numeric columns, with and without bagging, are one case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_draft.arrays import BoolArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.numeric.dataset import Dataset, fill
from pytest_draft.attack.numeric.energy import NodeArrays, missed, nodes_of
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.states import States, states_of
from pytest_draft.domain import Domain


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedRows:
    """The true rows, and what the file observes of them. Its repr shows no row."""

    domain: Domain
    states: States
    nodes: NodeArrays
    times: Int32Array
    """Shape (n_trees, n_rows). How often each tree saw each row."""
    label: Int32Array
    """Shape (n_rows,). Classes; 0 of a regressor."""
    state: Int32Array
    """Shape (n_rows, n_attributes). The truth's."""
    fixed: BoolArray
    """Shape (n_rows, n_attributes). What the adversary knows."""
    ordered: bool
    """Whether the occurrences tell rows apart."""

    def __repr__(self) -> str:
        return f"Explained({len(self.state)} rows of {self.states}, {self.nodes})"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.state)

    @cached_property
    def unexplained(self) -> int:
        """By how much the true rows miss what the file observes, in this order; 0 where they explain it."""
        return sum(missed(self.nodes, self.dataset(0)))

    def dataset(self, seed: int) -> Dataset:
        """Return the true rows in step with the nodes, to be changed."""
        random = int(np.random.default_rng([seed, 60]).integers(2**63))
        data = Dataset.of(self.nodes, self.times, self.state.copy(), self.label, random, self.fixed)
        fill(self.nodes, data)
        return data


def explained(
    forest: Forest,
    domain: Domain,
    rows: Rows,
    labels: IntArray,
    times: IntArray,
    known: Sequence[int] = (),
    known_rows: IntArray | None = None,
    extremes: Extremes | None = None,
    in_time: Callable[[], None] | None = None,
) -> ExplainedRows | None:
    """Return the true rows as states; None where they do not explain the file, so that nothing follows from them.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    times : ndarray of int64, shape (n_trees, n_rows)
        How often each tree saw each row.
    known : sequence of int
        Attributes that the adversary knows in every row.
    known_rows : ndarray of int64, shape (n_known,), or None
        Rows that it knows whole.
    extremes : Extremes or None
        Of the nodes of random splits.
    in_time : callable or None
        Called before each step; it can raise `OutOfTimeError`.
    """
    require = in_time if in_time is not None else _without_limit
    require()
    states = states_of(forest, domain, {}, points=False)
    state = states.of_rows(rows)
    if (state < 0).any():
        return None
    require()
    fixed = np.zeros(state.shape, dtype=bool)
    fixed[:, list(known)] = True
    if known_rows is not None:
        fixed[known_rows] = True
    decoded = None if extremes is None else (extremes.low, extremes.high)
    nodes = nodes_of(forest, states, decoded, require)
    require()
    label = labels if nodes.count.shape[1] > 1 else np.zeros(len(rows), dtype=np.int64)
    made = ExplainedRows(
        domain,
        states,
        nodes,
        np.ascontiguousarray(times.astype(np.int32)),
        label.astype(np.int32),
        state.astype(np.int32),
        fixed,
        bool((times != times[:, :1]).any()),
    )
    return None if made.unexplained else made


def _without_limit() -> None:
    """Allow any work."""
