"""The prior of rows that are drawn one by one: a mixture of products with its parameters integrated out.

A latent class model with Dirichlet priors: each row is of a component, and given that its values and its label are
independent. What the present rows hold is counted by component (`Mixture`), so that one row's step changes few counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import NONE
from pytest_draft.attack.filling import INDICATOR_ODDS
from pytest_draft.attack.moves import drawn, trace
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled
from pytest_draft.domain import Domain

COMPONENTS = 5
"""Components of the mixture that rows are drawn from."""

CONCENTRATION = 1.0
"""Rows that the prior of the components' shares is worth."""

NO_PRIOR: FloatArray = np.zeros((0, 0))
"""In place of a given prior: that of the mixture, learnt from the dataset itself."""


@redacted
class SampledRows(NamedTuple):
    """A whole dataset as the sampler holds it."""

    value: Int32Array
    """Shape (n_slots, n_attributes). Index of each value."""
    label: IntArray
    component: IntArray
    """`label` and `component`, shape (n_slots,)."""
    present: BoolArray
    """Shape (n_slots,). Which slots hold a row; the others wait to be filled where the number of rows is unknown."""
    open_value: BoolArray
    """Shape (n_slots, n_attributes). Which values are unknown."""
    open_label: BoolArray
    """Shape (n_slots,)."""
    removable: BoolArray
    """Shape (n_slots,)."""
    times: Int32Array
    """Shape (n_slots, n_trees). How often each tree saw each row."""
    leaf: Int32Array
    """Shape (n_slots, n_trees). -1 in trees that have not seen the row."""


@redacted
class Mixture(NamedTuple):
    """The prior, as counts of what the present rows hold in each component."""

    rows: IntArray
    """Shape (n_components,)."""
    labels: IntArray
    """Shape (n_components, n_classes)."""
    values: IntArray
    """Shape (n_components, n_values). The attributes' values stand side by side, attribute ``a`` from ``offset[a]``."""
    offset: IntArray
    """Shape (n_attributes + 1,)."""
    weight: FloatArray
    """Shape (n_values,). Dirichlet parameters."""
    total: FloatArray
    """Shape (n_attributes,). Their sums by attribute."""
    concentration: float
    """Dirichlet parameter of the components together."""
    log_prior: FloatArray
    """Shape (n_classes, n_values) or (0, 0). In place of all that: the log-probability of each value of each attribute
    by class, that of the class included in one of them.
    """

    @classmethod
    def of(
        cls, rows: SampledRows, domain: Domain, n_classes: int, most_weight: float, log_prior: FloatArray
    ) -> Mixture:
        """Return the prior as the present rows make it.

        Parameters
        ----------
        domain : Domain
            Without numeric attributes.
        most_weight : float
            Rows that the prior of an attribute's values is worth at most; each value at most one.
        log_prior : ndarray of float64
            As the field.
        """
        odds = np.array([1.0, INDICATOR_ODDS])
        weight = [
            odds * 2 / odds.sum()
            if attribute.kind == "binary"
            else np.full(attribute.n_values, min(1.0, most_weight / attribute.n_values))
            for attribute in domain.attributes
        ]
        offset = np.cumsum([0, *(len(part) for part in weight)])
        k, value, label = rows.component[rows.present], rows.value[rows.present], rows.label[rows.present]
        labels = np.zeros((COMPONENTS, n_classes), dtype=np.int64)
        np.add.at(labels, (k, label), 1)
        values = np.zeros((COMPONENTS, int(offset[-1])), dtype=np.int64)
        np.add.at(values, (k[:, None], value + offset[:-1]), 1)
        total = np.array([part.sum() for part in weight])
        return cls(labels.sum(axis=1), labels, values, offset, np.concatenate(weight), total, CONCENTRATION, log_prior)


@compiled
def count_row(rows: SampledRows, mixture: Mixture, row: int, step: int) -> None:
    """Add a row to its component's counts, or take it away."""
    k = rows.component[row]
    mixture.rows[k] += step
    mixture.labels[k, rows.label[row]] += step
    for a in range(rows.value.shape[1]):
        mixture.values[k, mixture.offset[a] + rows.value[row, a]] += step


@compiled
def draw_component(rows, mixture, row, weight, rng):  # type: ignore[no-untyped-def]
    """Draw the component of one row anew; the row must not be counted."""
    n_components, n_classes = mixture.labels.shape
    for k in range(n_components):
        size = mixture.rows[k]
        chance = (size + mixture.concentration / n_components) * (mixture.labels[k, rows.label[row]] + 1.0)
        logs = math.log(chance / (size + n_classes))
        for a in range(rows.value.shape[1]):
            place = mixture.offset[a] + rows.value[row, a]
            logs += math.log((mixture.values[k, place] + mixture.weight[place]) / (size + mixture.total[a]))
        weight[k] = logs
    rows.component[row] = drawn(weight, n_components, rng.random())


@compiled
def imagine(walks, rows, mixture, row, scratch, rng):  # type: ignore[no-untyped-def]
    """Fill an empty slot with a row drawn from what the others predict."""
    (n_components, n_classes), weight = mixture.labels.shape, scratch.weight
    for k in range(n_components):
        weight[k] = math.log(mixture.rows[k] + mixture.concentration / n_components)
    k = drawn(weight, n_components, rng.random())
    rows.component[row] = k
    for label in range(n_classes):
        weight[label] = math.log(mixture.labels[k, label] + 1.0)
    rows.label[row] = drawn(weight, n_classes, rng.random())
    for a in range(rows.value.shape[1]):
        offset = mixture.offset[a]
        n_values = mixture.offset[a + 1] - offset
        for value in range(n_values):
            weight[value] = math.log(mixture.values[k, offset + value] + mixture.weight[offset + value])
        rows.value[row, a] = drawn(weight, n_values, rng.random())
    trace(walks, rows.value[row], rows.times[row], NONE, scratch)
    for tree in range(rows.leaf.shape[1]):
        if rows.times[row, tree] > 0:
            rows.leaf[row, tree] = scratch.leaf[tree]
