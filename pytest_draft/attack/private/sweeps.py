"""Whole datasets behind noisy counts, changed value by value: compiled heat-bath sweeps of the posterior.

One sweep draws each unknown attribute, label and component of each row anew, given all others. What a row's change does
to the likelihood is a sum over the trees whose way tests the attribute, of gains that are kept up to date leaf by leaf;
the prior is a mixture of products, its parameters integrated out (a latent class model with Dirichlet priors).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Flag, FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import leaf_of, tested_by
from pytest_draft.attack.redacted import redacted

GO_ON: Flag = np.zeros(1, dtype=np.uint8)
"""A flag that nobody raises."""


@redacted
class Evidence(NamedTuple):
    """What was released, and how probable it is."""

    released: IntArray
    """Shape (n_leaves * n_classes,). The entries: leaf by leaf, all trees, class by class."""
    sign: IntArray
    """Shape (n_leaves * n_classes,). 0, 1 or 2 where `released` is below, at or above 0."""
    table: FloatArray
    """Shape (3, n_differences). ``log P(released | true)`` by sign and difference ``released - true``
    (`CountNoise.table`).
    """
    least: int
    """The difference of the table's first column."""


@redacted
class Counts(NamedTuple):
    """How many rows lie at each entry, and what one more or one less adds to the log-likelihood."""

    true: IntArray
    more: FloatArray
    less: FloatArray


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
    leaf: Int32Array
    """Shape (n_slots, n_trees)."""
    tested: NDArray[np.uint64]
    """Shape (n_slots, n_trees). As `tested_by`."""


@redacted
class _Scratch(NamedTuple):
    """Room that every step uses again: leaves by value and tree, log-weights, trees."""

    leaf: Int32Array
    weight: FloatArray
    tree: IntArray


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


@njit(cache=True, nogil=True, inline="always")
def gains(evidence: Evidence, counts: Counts, entry: int) -> None:
    """Bring up to date what one row more or less adds at an entry."""
    there = evidence.released[entry] - counts.true[entry] - evidence.least
    sign = evidence.sign[entry]
    here = evidence.table[sign, there]
    counts.more[entry] = evidence.table[sign, there - 1] - here
    counts.less[entry] = evidence.table[sign, there + 1] - here if counts.true[entry] > 0 else 0.0


@njit(cache=True, nogil=True)
def all_gains(evidence: Evidence, counts: Counts) -> None:
    """Bring `gains` up to date at all entries."""
    for entry in range(len(counts.true)):
        gains(evidence, counts, entry)


@njit(cache=True, nogil=True, inline="always")
def _move(evidence: Evidence, counts: Counts, source: int, target: int) -> None:
    counts.true[source] -= 1
    counts.true[target] += 1
    gains(evidence, counts, source)
    gains(evidence, counts, target)


@njit(cache=True, nogil=True, inline="always")
def drawn(weight: FloatArray, n: int, rng: np.random.Generator) -> int:
    """Draw an index by log-weights, which are used up."""
    highest = weight[:n].max()
    total = 0.0
    for index in range(n):
        weight[index] = math.exp(weight[index] - highest)
        total += weight[index]
    level = rng.random() * total
    for index in range(n - 1):
        level -= weight[index]
        if level < 0:
            return index
    return n - 1


@njit(cache=True, nogil=True)
def count_row(rows: SampledRows, mixture: Mixture, row: int, step: int) -> None:
    """Add a row to its component's counts, or take it away."""
    k = rows.component[row]
    mixture.rows[k] += step
    mixture.labels[k, rows.label[row]] += step
    for a in range(rows.value.shape[1]):
        mixture.values[k, mixture.offset[a] + rows.value[row, a]] += step


@njit(cache=True, nogil=True)
def _draw_value(walks, evidence, counts, rows, mixture, row, attribute, temperature, scratch, rng):  # type: ignore[no-untyped-def]
    """Draw one value of one row anew."""
    values, leaf, weight, testing = rows.value[row], scratch.leaf, scratch.weight, scratch.tree
    before, offset = values[attribute], mixture.offset[attribute]
    n_values = mixture.offset[attribute + 1] - offset
    n_classes, label, k = mixture.labels.shape[1], rows.label[row], rows.component[row]
    bit, n_testing = np.uint64(1) << np.uint64(attribute & 63), 0
    for tree in range(len(walks.root)):
        if rows.tested[row, tree] & bit:
            testing[n_testing] = tree
            n_testing += 1
    for value in range(n_values):
        change = 0.0
        if value != before:
            values[attribute] = value
            for tree in testing[:n_testing]:
                here, there = rows.leaf[row, tree], leaf_of(walks, tree, values)
                leaf[value, tree] = there
                if here != there:
                    change += counts.less[here * n_classes + label] + counts.more[there * n_classes + label]
        others = mixture.values[k, offset + value] - (value == before)
        weight[value] = change / temperature + math.log(others + mixture.weight[offset + value])
    value = drawn(weight, n_values, rng)
    values[attribute] = value
    if value == before:
        return
    mixture.values[k, offset + before] -= 1
    mixture.values[k, offset + value] += 1
    for tree in testing[:n_testing]:
        here, there = rows.leaf[row, tree], leaf[value, tree]
        if here != there:
            _move(evidence, counts, here * n_classes + label, there * n_classes + label)
            rows.leaf[row, tree] = there
        rows.tested[row, tree] = tested_by(walks, tree, values)


@njit(cache=True, nogil=True)
def _draw_label(evidence, counts, rows, mixture, row, temperature, weight, rng):  # type: ignore[no-untyped-def]
    """Draw the label of one row anew."""
    n_classes, before, k = mixture.labels.shape[1], rows.label[row], rows.component[row]
    for label in range(n_classes):
        change = 0.0
        if label != before:
            for leaf in rows.leaf[row]:
                change += counts.less[leaf * n_classes + before] + counts.more[leaf * n_classes + label]
        others = mixture.labels[k, label] - (label == before)
        weight[label] = change / temperature + math.log(others + 1.0)
    label = drawn(weight, n_classes, rng)
    if label != before:
        rows.label[row] = label
        mixture.labels[k, before] -= 1
        mixture.labels[k, label] += 1
        for leaf in rows.leaf[row]:
            _move(evidence, counts, leaf * n_classes + before, leaf * n_classes + label)


@njit(cache=True, nogil=True)
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
    rows.component[row] = drawn(weight, n_components, rng)


@njit(cache=True, nogil=True)
def imagine(walks, rows, mixture, row, weight, rng):  # type: ignore[no-untyped-def]
    """Fill an empty slot with a row drawn from what the others predict."""
    n_components, n_classes = mixture.labels.shape
    for k in range(n_components):
        weight[k] = math.log(mixture.rows[k] + mixture.concentration / n_components)
    k = drawn(weight, n_components, rng)
    rows.component[row] = k
    for label in range(n_classes):
        weight[label] = math.log(mixture.labels[k, label] + 1.0)
    rows.label[row] = drawn(weight, n_classes, rng)
    for a in range(rows.value.shape[1]):
        offset = mixture.offset[a]
        n_values = mixture.offset[a + 1] - offset
        for value in range(n_values):
            weight[value] = math.log(mixture.values[k, offset + value] + mixture.weight[offset + value])
        rows.value[row, a] = drawn(weight, n_values, rng)
    for tree in range(len(walks.root)):
        rows.leaf[row, tree] = leaf_of(walks, tree, rows.value[row])
        rows.tested[row, tree] = tested_by(walks, tree, rows.value[row])


@njit(cache=True, nogil=True)
def _resize(walks, evidence, counts, rows, mixture, least, most, temperature, weight, rng):  # type: ignore[no-untyped-def]
    """Offer each slot in turn to be filled or emptied; any number of rows between two bounds is as likely before.

    A slot is filled with what the others predict, so the odds are those of the likelihood, times how many more ways
    there are to choose as many slots before than after.
    """
    n_classes = mixture.labels.shape[1]
    n_slots, n_rows = rows.removable.sum(), (rows.present & rows.removable).sum()
    for row in range(len(rows.present)):
        step = -1 if rows.present[row] else 1
        if not (rows.removable[row] and least <= n_rows + step <= most):
            continue
        change = 0.0
        if step > 0:
            imagine(walks, rows, mixture, row, weight, rng)
            odds = (n_rows + 1.0) / (n_slots - n_rows)
            for leaf in rows.leaf[row]:
                change += counts.more[leaf * n_classes + rows.label[row]]
        else:
            odds = (n_slots - n_rows + 1.0) / n_rows
            for leaf in rows.leaf[row]:
                change += counts.less[leaf * n_classes + rows.label[row]]
        if math.log(rng.random()) >= change / temperature + math.log(odds):
            continue
        rows.present[row] = step > 0
        n_rows += step
        count_row(rows, mixture, row, step)
        for leaf in rows.leaf[row]:
            entry = leaf * n_classes + rows.label[row]
            counts.true[entry] += step
            gains(evidence, counts, entry)


@njit(cache=True, nogil=True)
def sweep_dataset(walks, evidence, counts, rows, mixture, least, most, n_sweeps, hot, cold, rng, stop):  # type: ignore[no-untyped-def]
    """Sweep a dataset several times, cooling evenly on a log scale; all but `walks` and `evidence` changes in place.

    Parameters
    ----------
    walks : Walks
    evidence : Evidence
    counts : Counts
        Of the present rows.
    rows : SampledRows
    mixture : Mixture
        Of the present rows.
    least, most : int
        Between which the number of present rows may change.
    n_sweeps : int
    hot, cold : float
        First and last temperature of the likelihood; the prior has temperature 1.
    rng : numpy.random.Generator
    stop : ndarray of uint8, shape (1,)
        Looked at before each row. Where it is raised, the other rows stay as they are.
    """
    n_values = (mixture.offset[1:] - mixture.offset[:-1]).max()
    n_trees = len(walks.root)
    weight = np.empty(max(n_values, mixture.labels.shape[0], mixture.labels.shape[1]))
    scratch = _Scratch(np.empty((n_values, n_trees), np.int32), weight, np.empty(n_trees, np.int64))
    for step in range(n_sweeps):
        temperature = hot * (cold / hot) ** (step / max(1, n_sweeps - 1))
        for row in range(len(rows.value)):
            if stop[0] != 0:
                return
            if not rows.present[row]:
                continue
            for a in range(rows.value.shape[1]):
                if rows.open_value[row, a]:
                    _draw_value(walks, evidence, counts, rows, mixture, row, a, temperature, scratch, rng)
            if rows.open_label[row]:
                _draw_label(evidence, counts, rows, mixture, row, temperature, weight, rng)
            if len(mixture.rows) > 1:
                count_row(rows, mixture, row, -1)
                draw_component(rows, mixture, row, weight, rng)
                count_row(rows, mixture, row, 1)
        if least < most:
            _resize(walks, evidence, counts, rows, mixture, least, most, temperature, weight, rng)
