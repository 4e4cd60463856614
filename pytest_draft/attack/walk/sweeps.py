"""Whole datasets changed row by row: compiled heat-bath sweeps of the posterior, whatever the leaves say.

One sweep draws each unknown value, label and component of each row anew, given all others: an attribute's values by one
walk through each tree that splits where the attribute is tested, and (`jump`) whole rows among candidates. What a
change does to the likelihood is a sum over trees of gains that are kept up to date leaf by leaf (`evidence`); the prior
is that of `mixture`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import goes_left, next_of, tested_by
from pytest_draft.attack.evidence.evidence import count_at, relabelling
from pytest_draft.attack.redacted import redacted
from pytest_draft.attack.walk.mixture import count_row, draw_component, drawn, imagine
from pytest_draft.compiling import compiled


@redacted
class JumpCandidates(NamedTuple):
    """Whole rows that a row can jump to."""

    value: Int32Array
    """Shape (n_candidates, n_attributes)."""
    leaf: Int32Array
    """Shape (n_candidates, n_trees)."""
    log_prior: FloatArray = np.zeros((0, 0))
    """Shape (n_candidates, n_classes) or (0, 0). Log-probability of each with each label; empty where that is the
    mixture's.
    """


@redacted
class Scratch(NamedTuple):
    """Room that every step uses again: log-weights, changes by value, walks that are still to be done."""

    weight: FloatArray
    change: FloatArray
    stack: IntArray


@compiled
def _put(evidence, counts, leaf, label, step, n_classes):  # type: ignore[no-untyped-def]
    """Add a row to all its leaves, or take it away."""
    for place in leaf:
        count_at(evidence, counts, place, label, n_classes, step)


@compiled
def _changes_of_values(walks, counts, rows, row, attribute, n_values, n_classes, scratch):  # type: ignore[no-untyped-def]
    """Write to `change` what each value of an attribute of one row adds to the log-likelihood.

    Each tree that tests the attribute is walked once, with a range of values that is parted where it is tested.
    """
    cut = walks.cut
    values, label, change, stack = rows.value[row], rows.label[row], scratch.change, scratch.stack
    change[: n_values + 1] = 0.0  # how much more each value adds than the one before
    bit = np.uint64(1) << np.uint64(attribute & 63)
    for tree in range(len(walks.root)):
        if not rows.tested[row, tree] & bit:
            continue
        here = rows.leaf[row, tree]
        leaving = counts.less[here * n_classes + label]
        stack[0, 0], stack[0, 1], stack[0, 2] = walks.root[tree], 0, n_values
        depth = 1
        while depth > 0:
            depth -= 1
            node, low, high = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            while walks.attribute[node] >= 0:
                b = walks.attribute[node]
                if b != attribute:
                    node = next_of(walks, node, values[b])
                elif high <= cut[node]:
                    node = walks.child[2 * node + 1]
                elif low >= cut[node]:
                    node = walks.child[2 * node]
                else:
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = walks.child[2 * node], cut[node], high
                    depth += 1
                    high = cut[node]
                    node = walks.child[2 * node + 1]
            there = -1 - walks.attribute[node]
            if there != here:
                gain = leaving + counts.more[there * n_classes + label]
                change[low] += gain
                change[high] -= gain
    level = 0.0
    for value in range(n_values):
        level += change[value]
        change[value] = level


@compiled
def _changes_of_group(walks, counts, rows, row, attribute, n_values, n_classes, scratch):  # type: ignore[no-untyped-def]
    """Do the same for a one-hot group: a walk goes on for all other values where one is parted from them."""
    cut = walks.cut
    values, label, change, stack = rows.value[row], rows.label[row], scratch.change, scratch.stack
    change[: n_values + 1] = 0.0
    bit = np.uint64(1) << np.uint64(attribute & 63)
    for tree in range(len(walks.root)):
        if not rows.tested[row, tree] & bit:
            continue
        here = rows.leaf[row, tree]
        leaving = counts.less[here * n_classes + label]
        node, n_parted = walks.root[tree], 0
        while walks.attribute[node] >= 0:
            b = walks.attribute[node]
            if b != attribute:
                node = next_of(walks, node, values[b])
                continue
            if cut[node] >= 0:  # all values go one way
                node = walks.child[2 * node + (cut[node] > 0)]
                continue
            one, parted = -1 - cut[node], False
            for i in range(n_parted):
                parted |= stack[i, 1] == one
            if not parted:
                stack[n_parted, 0], stack[n_parted, 1] = walks.child[2 * node], one
                n_parted += 1
            node = walks.child[2 * node + 1]
        there = -1 - walks.attribute[node]
        common = 0.0 if there == here else leaving + counts.more[there * n_classes + label]
        change[n_values] += common
        for i in range(n_parted):
            node, one = stack[i, 0], stack[i, 1]
            while walks.attribute[node] >= 0:
                b = walks.attribute[node]
                value = one if b == attribute else values[b]
                node = next_of(walks, node, value)
            there = -1 - walks.attribute[node]
            change[one] -= common
            if there != here:
                change[one] += leaving + counts.more[there * n_classes + label]
    for value in range(n_values):
        change[value] += change[n_values]


@compiled
def changes_of(walks, counts, rows, row, attribute, n_values, n_classes, scratch):  # type: ignore[no-untyped-def]
    """Write to `change` what each value of an attribute of one row adds to the log-likelihood."""
    if walks.one_hot[attribute]:
        _changes_of_group(walks, counts, rows, row, attribute, n_values, n_classes, scratch)
    else:
        _changes_of_values(walks, counts, rows, row, attribute, n_values, n_classes, scratch)


@compiled
def _draw_values(walks, evidence, counts, rows, mixture, row, temperature, scratch, rng):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Draw each unknown value of one row anew.

    Arrays are taken out of their tuples first, and all values are drawn in one call: each tuple that is handed on
    counts references to all that it holds, which took half of the time. Of two values only the other one is walked
    with.
    """
    root, tested, cut, child = walks.root, walks.attribute, walks.cut, walks.child
    less, more, change, weight = counts.less, counts.more, scratch.change, scratch.weight
    values, at, ways, open_value = rows.value[row], rows.leaf[row], rows.tested[row], rows.open_value[row]
    n_classes, label, k = mixture.labels.shape[1], rows.label[row], rows.component[row]
    held, worth, log_prior = mixture.values[k], mixture.weight, mixture.log_prior
    for attribute in range(len(values)):
        before, offset = values[attribute], mixture.offset[attribute]
        n_values = mixture.offset[attribute + 1] - offset
        if not open_value[attribute] or n_values < 2:
            continue
        bit = np.uint64(1) << np.uint64(attribute & 63)
        if n_values == 2:
            values[attribute], gain = 1 - before, 0.0
            for tree in range(len(root)):
                if ways[tree] & bit:
                    node = root[tree]
                    while tested[node] >= 0:
                        node = child[2 * node + goes_left(cut[node], values[tested[node]])]
                    here, there = at[tree], -1 - tested[node]
                    if there != here:
                        gain += less[here * n_classes + label] + more[there * n_classes + label]
            change[before], change[1 - before] = 0.0, gain
            values[attribute] = before
        else:
            changes_of(walks, counts, rows, row, attribute, n_values, n_classes, scratch)
        for value in range(n_values):
            weight[value] = change[value] / temperature
            if len(log_prior):
                weight[value] += log_prior[label, offset + value]
            else:
                weight[value] += math.log(held[offset + value] - (value == before) + worth[offset + value])
        value = drawn(weight, n_values, rng)
        if value == before:
            continue
        values[attribute] = value
        held[offset + before] -= 1
        held[offset + value] += 1
        for tree in range(len(root)):
            if ways[tree] & bit:
                node, bits = root[tree], np.uint64(0)
                while tested[node] >= 0:
                    bits |= np.uint64(1) << np.uint64(tested[node] & 63)
                    node = child[2 * node + goes_left(cut[node], values[tested[node]])]
                here, there = at[tree], -1 - tested[node]
                if here != there:
                    count_at(evidence, counts, here, label, n_classes, -1.0)
                    count_at(evidence, counts, there, label, n_classes, 1.0)
                at[tree], ways[tree] = there, bits


@compiled
def _draw_label(evidence, counts, rows, mixture, row, temperature, scratch, rng):  # type: ignore[no-untyped-def]
    """Draw the label of one row anew."""
    n_classes, before, k = mixture.labels.shape[1], rows.label[row], rows.component[row]
    weight, less, more, by_class, at = scratch.weight, counts.less, counts.more, counts.width == 1, rows.leaf[row]
    for label in range(n_classes):
        change = 0.0
        if label != before:
            for leaf in at:
                if by_class:
                    change += less[leaf * n_classes + before] + more[leaf * n_classes + label]
                else:
                    change += relabelling(evidence, counts, leaf, before, label, n_classes)
        weight[label] = change / temperature
        if len(mixture.log_prior):
            for a in range(rows.value.shape[1]):
                weight[label] += mixture.log_prior[label, mixture.offset[a] + rows.value[row, a]]
        else:
            weight[label] += math.log(mixture.labels[k, label] - (label == before) + 1.0)
    label = drawn(weight, n_classes, rng)
    if label == before:
        return
    for leaf in rows.leaf[row]:
        count_at(evidence, counts, leaf, before, n_classes, -1.0)
        count_at(evidence, counts, leaf, label, n_classes, 1.0)
    rows.label[row] = label
    mixture.labels[k, before] -= 1
    mixture.labels[k, label] += 1


@compiled
def _resize(walks, evidence, counts, rows, mixture, least, most, temperature, scratch, rng):  # type: ignore[no-untyped-def]
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
            imagine(walks, rows, mixture, row, scratch.weight, rng)
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
        _put(evidence, counts, rows.leaf[row], rows.label[row], step, n_classes)


@compiled
def candidate_priors(mixture, value):  # type: ignore[no-untyped-def]
    """Return the log-probability of each candidate and label under the mixture, shape (n_candidates, n_classes)."""
    n_components, n_classes = mixture.labels.shape
    found = np.full((len(value), n_classes), -np.inf)
    for k in range(n_components):
        size = mixture.rows[k]
        share = math.log(size + mixture.concentration / n_components)
        for s in range(len(value)):
            logs = share
            for a in range(value.shape[1]):
                place = mixture.offset[a] + value[s, a]
                logs += math.log((mixture.values[k, place] + mixture.weight[place]) / (size + mixture.total[a]))
            for label in range(n_classes):
                term = logs + math.log((mixture.labels[k, label] + 1.0) / (size + n_classes))
                low, high = min(term, found[s, label]), max(term, found[s, label])
                found[s, label] = high + math.log1p(math.exp(low - high))
    return found


@compiled
def jump(walks, evidence, counts, rows, mixture, candidates, temperature, rng, stop):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Draw each row that is wholly unknown anew, with its label, among all candidates, until a flag is raised.

    By a prior of their own, so are rows that are partly known, among the candidates that have what is known of them.

    Without a prior of their own, that of candidates is the dataset's before the sweep: good for a search, not for the
    posterior itself.
    """
    n_classes, n = mixture.labels.shape[1], len(candidates.value)
    prior, given = candidates.log_prior, len(candidates.log_prior) > 0
    if not given:
        prior = candidate_priors(mixture, candidates.value)
    weight, fit = np.empty(max(n * n_classes, len(mixture.rows))), np.empty(n, np.bool_)
    for row in range(len(rows.value)):
        if stop[0] != 0:
            return
        if not (rows.present[row] and rows.open_label[row] and (given or rows.open_value[row].all())):
            continue
        n_fit = 0
        for s in range(n):
            fits = True
            for a in range(rows.value.shape[1]):
                if not rows.open_value[row, a] and rows.value[row, a] != candidates.value[s, a]:
                    fits = False
            fit[s] = fits
            n_fit += fits
        if n_fit == 0:
            continue
        _put(evidence, counts, rows.leaf[row], rows.label[row], -1.0, n_classes)
        count_row(rows, mixture, row, -1)
        for s in range(n):
            if not fit[s]:
                weight[s * n_classes : (s + 1) * n_classes] = -np.inf
                continue
            for label in range(n_classes):
                change = 0.0
                for leaf in candidates.leaf[s]:
                    change += counts.more[leaf * n_classes + label]
                weight[s * n_classes + label] = change / temperature + prior[s, label]
        chosen = drawn(weight, n * n_classes, rng)
        s, rows.label[row] = chosen // n_classes, chosen % n_classes
        rows.value[row] = candidates.value[s]
        rows.leaf[row] = candidates.leaf[s]
        for tree in range(len(walks.root)):
            rows.tested[row, tree] = tested_by(walks, tree, rows.value[row])
        _put(evidence, counts, rows.leaf[row], rows.label[row], 1.0, n_classes)
        draw_component(rows, mixture, row, weight, rng)
        count_row(rows, mixture, row, 1)


@compiled
def sweep(walks, evidence, counts, rows, mixture, least, most, n_sweeps, hot, cold, rng, stop):  # type: ignore[no-untyped-def]
    """Sweep a dataset several times, cooling evenly on a log scale; counts, rows and mixture change in place.

    Parameters
    ----------
    walks : Walks
    evidence : LeafEvidence
    counts : LeafCounts
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
    room = max(n_values, mixture.labels.shape[0], mixture.labels.shape[1]) + 1
    scratch = Scratch(np.empty(room), np.empty(room), np.empty((n_values + 1, 3), np.int64))
    for step in range(n_sweeps):
        temperature = hot * (cold / hot) ** (step / max(1, n_sweeps - 1))
        for row in range(len(rows.value)):
            if stop[0] != 0:
                return
            if not rows.present[row]:
                continue
            _draw_values(walks, evidence, counts, rows, mixture, row, temperature, scratch, rng)
            if rows.open_label[row]:
                _draw_label(evidence, counts, rows, mixture, row, temperature, scratch, rng)
            if len(mixture.rows) > 1:
                count_row(rows, mixture, row, -1)
                draw_component(rows, mixture, row, scratch.weight, rng)
                count_row(rows, mixture, row, 1)
        if least < most:
            _resize(walks, evidence, counts, rows, mixture, least, most, temperature, scratch, rng)
