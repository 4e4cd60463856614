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

from pytest_draft.arrays import FloatArray, Int32Array
from pytest_draft.attack.compiled_trees import NONE
from pytest_draft.attack.evidence.evidence import count_at, moving
from pytest_draft.attack.moves import changes_of, drawn, trace
from pytest_draft.attack.redacted import redacted
from pytest_draft.attack.walk.mixture import count_row, draw_component, imagine
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


@compiled
def _put(evidence, counts, leaf, label, step, n_classes):  # type: ignore[no-untyped-def]
    """Add a row to all its leaves, or take it away."""
    for place in leaf:
        if place >= 0:
            count_at(evidence, counts, place, label, n_classes, step)


@compiled
def _draw_values(walks, evidence, counts, rows, mixture, row, temperature, scratch, rng):  # type: ignore[no-untyped-def]
    """Draw each unknown value of one row anew.

    Arrays are taken out of their tuples first, and all values are drawn in one call: each tuple that is handed on
    counts references to all that it holds, which took half of the time.
    """
    change, weight, first, leaf = scratch.change, scratch.weight, scratch.first, scratch.leaf
    values, times, at, open_value = rows.value[row], rows.times[row], rows.leaf[row], rows.open_value[row]
    n_classes, label, k = mixture.labels.shape[1], rows.label[row], rows.component[row]
    held, worth, log_prior = mixture.values[k], mixture.weight, mixture.log_prior
    trace(walks, values, times, NONE, scratch)
    for attribute in range(len(values)):
        before, offset = values[attribute], mixture.offset[attribute]
        n_values = mixture.offset[attribute + 1] - offset
        if not open_value[attribute] or n_values < 2:
            continue
        changes_of(walks, evidence, counts, values, label, times, at, attribute, n_values, False, scratch)
        for value in range(n_values):
            weight[value] = change[value] / temperature
            if len(log_prior):
                weight[value] += log_prior[label, offset + value]
            else:
                weight[value] += math.log(held[offset + value] - (value == before) + worth[offset + value])
        value = drawn(weight, n_values, rng.random())
        if value == before:
            continue
        values[attribute] = value
        held[offset + before] -= 1
        held[offset + value] += 1
        trace(walks, values, times, attribute, scratch)
        for tree in range(len(at)):
            if first[attribute, tree] != NONE and at[tree] != leaf[tree]:
                count_at(evidence, counts, at[tree], label, n_classes, -1.0)
                count_at(evidence, counts, leaf[tree], label, n_classes, 1.0)
                at[tree] = leaf[tree]


@compiled
def _draw_label(evidence, counts, rows, mixture, row, temperature, scratch, rng):  # type: ignore[no-untyped-def]
    """Draw the label of one row anew."""
    n_classes, before, k = mixture.labels.shape[1], rows.label[row], rows.component[row]
    weight, at = scratch.weight, rows.leaf[row]
    for label in range(n_classes):
        change = 0.0
        if label != before:
            for leaf in at:
                if leaf >= 0:
                    change += moving(evidence, counts, leaf * n_classes + before, leaf * n_classes + label)
        weight[label] = change / temperature
        if len(mixture.log_prior):
            for a in range(rows.value.shape[1]):
                weight[label] += mixture.log_prior[label, mixture.offset[a] + rows.value[row, a]]
        else:
            weight[label] += math.log(mixture.labels[k, label] - (label == before) + 1.0)
    label = drawn(weight, n_classes, rng.random())
    if label == before:
        return
    _put(evidence, counts, at, before, -1.0, n_classes)
    _put(evidence, counts, at, label, 1.0, n_classes)
    rows.label[row] = label
    mixture.labels[k, before] -= 1
    mixture.labels[k, label] += 1


@compiled
def _redraw(walks, evidence, counts, rows, mixture, row, temperature, scratch, rng):  # type: ignore[no-untyped-def]
    """Offer one row to be replaced by what the others predict, so that the odds are those of the likelihood.

    Where few trees have seen a row, this is often taken, and reaches rows that no change of one value or label leads
    to.
    """
    n_classes, at, before, k = mixture.labels.shape[1], rows.leaf[row], rows.label[row], rows.component[row]
    value, leaf, change = rows.value[row].copy(), at.copy(), 0.0
    _put(evidence, counts, at, before, -1.0, n_classes)
    count_row(rows, mixture, row, -1)
    imagine(walks, rows, mixture, row, scratch, rng)
    for tree in range(len(at)):
        if at[tree] >= 0:
            change += counts.more[at[tree] * n_classes + rows.label[row]]
            change -= counts.more[leaf[tree] * n_classes + before]
    if math.log(rng.random()) >= change / temperature:
        rows.value[row], rows.leaf[row] = value, leaf
        rows.label[row], rows.component[row] = before, k
    _put(evidence, counts, at, rows.label[row], 1.0, n_classes)
    count_row(rows, mixture, row, 1)


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
            imagine(walks, rows, mixture, row, scratch, rng)
            odds = (n_rows + 1.0) / (n_slots - n_rows)
            for leaf in rows.leaf[row]:
                change += counts.more[leaf * n_classes + rows.label[row]] if leaf >= 0 else 0.0
        else:
            odds = (n_slots - n_rows + 1.0) / n_rows
            for leaf in rows.leaf[row]:
                change += counts.less[leaf * n_classes + rows.label[row]] if leaf >= 0 else 0.0
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
def jump(evidence, counts, rows, mixture, candidates, temperature, rng, stop):  # type: ignore[no-untyped-def]  # noqa: PLR0912
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
        at = rows.leaf[row]
        _put(evidence, counts, at, rows.label[row], -1.0, n_classes)
        count_row(rows, mixture, row, -1)
        for s in range(n):
            if not fit[s]:
                weight[s * n_classes : (s + 1) * n_classes] = -np.inf
                continue
            for label in range(n_classes):
                change = 0.0
                for tree in range(len(at)):
                    if at[tree] >= 0:
                        change += counts.more[candidates.leaf[s, tree] * n_classes + label]
                weight[s * n_classes + label] = change / temperature + prior[s, label]
        chosen = drawn(weight, n * n_classes, rng.random())
        s, rows.label[row] = chosen // n_classes, chosen % n_classes
        rows.value[row] = candidates.value[s]
        for tree in range(len(at)):
            if at[tree] >= 0:
                at[tree] = candidates.leaf[s, tree]
        _put(evidence, counts, at, rows.label[row], 1.0, n_classes)
        draw_component(rows, mixture, row, weight, rng)
        count_row(rows, mixture, row, 1)


@compiled
def sweep(walks, evidence, counts, rows, mixture, least, most, whole, n_sweeps, hot, cold, scratch, rng, stop):  # type: ignore[no-untyped-def]
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
    whole : bool
        Whether rows that are wholly unknown are offered to be replaced, too.
    n_sweeps : int
    hot, cold : float
        First and last temperature of the likelihood; the prior has temperature 1.
    scratch : Scratch
    rng : numpy.random.Generator
    stop : ndarray of uint8, shape (1,)
        Looked at before each row. Where it is raised, the other rows stay as they are.
    """
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
            if whole and rows.open_label[row] and rows.open_value[row].all():
                _redraw(walks, evidence, counts, rows, mixture, row, temperature, scratch, rng)
        if least < most:
            _resize(walks, evidence, counts, rows, mixture, least, most, temperature, scratch, rng)
