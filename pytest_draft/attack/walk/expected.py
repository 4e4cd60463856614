"""A start for the search: the expected rows of each vector and class, in a domain that can be enumerated.

Expectation maximisation of the likelihood over vectors x class: each step multiplies what is expected of a vector and
class by the mean, over trees, of what one row more of it would add to the likelihood of its leaf (Shepp and Vardi,
1982).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import leaves_of
from pytest_draft.attack.evidence.answers import LABEL, PURE, OutputEvidence, drawn_score
from pytest_draft.attack.evidence.evidence import LeafModel
from pytest_draft.attack.search import Search
from pytest_draft.compiling import compiled

MOST_VECTORS = 300_000
"""Most vectors of a domain that are taken at once."""

MOST_ENTRIES = 60_000_000
"""Most leaves of all vectors in all trees, 4 bytes each."""

SHARE = 0.25
"""Share of the time that is left, at most."""

_STEP = 1e-5
"""Relative step of numeric derivatives."""

_LEAST = 1e-9
"""What is expected less often is left out."""

_SECONDS_PER_ENTRY = 4e-9


@dataclass(frozen=True, eq=False, repr=False)
class Expected:
    """How many rows are expected of each vector and class. Its repr shows no value."""

    value: Int32Array
    """Shape (n_vectors, n_attributes)."""
    leaf: Int32Array
    """Shape (n_vectors, n_trees)."""
    rows: FloatArray
    """Shape (n_vectors, n_classes)."""

    def drawn(self, n_rows: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return vectors and classes of so many rows: systematic rounding of what is expected."""
        flat = self.rows.ravel()
        ends = np.cumsum(flat) * (n_rows / flat.sum())
        chosen = np.searchsorted(ends, np.arange(n_rows) + rng.random(), side="right")
        chosen = np.minimum(chosen, len(flat) - 1)
        return chosen // self.rows.shape[1], chosen % self.rows.shape[1]

    def likeliest(self, most: int) -> IntArray:
        """Return the vectors that most rows are expected of."""
        total = self.rows.sum(axis=1)
        order: IntArray = np.argsort(-total, kind="stable")[:most]
        kept: IntArray = order[total[order] > 0]
        return kept


@compiled
def _factors(evidence, rows, n_classes):  # type: ignore[no-untyped-def]
    """Return what each leaf multiplies what is expected of its vectors by, shape (n_leaves * n_classes,)."""
    factor = np.empty(len(rows))
    for leaf in range(len(rows) // n_classes):
        here = drawn_score(evidence, rows, leaf, n_classes)
        for entry in range(leaf * n_classes, (leaf + 1) * n_classes):
            before = rows[entry]
            step = _STEP * max(before, 1e-6)
            rows[entry] = before + step
            factor[entry] = (drawn_score(evidence, rows, leaf, n_classes) - here) / step + evidence.rate
            rows[entry] = before
    return factor


@compiled
def _step(leaf, expected, factor, next_rows, power, n_rows, size_free):  # type: ignore[no-untyped-def]
    """Multiply what is expected, and count it by leaf."""
    n_vectors, n_classes = expected.shape
    n_trees = leaf.shape[1]
    total = 0.0
    for v in range(n_vectors):
        for c in range(n_classes):
            if expected[v, c] <= 0.0:
                continue
            mean = 0.0
            for t in range(n_trees):
                mean += max(0.0, factor[leaf[v, t] * n_classes + c])
            expected[v, c] *= (mean / n_trees) ** power
            if expected[v, c] < _LEAST:
                expected[v, c] = 0.0
            total += expected[v, c]
    next_rows[:] = 0.0
    for v in range(n_vectors):
        for c in range(n_classes):
            if expected[v, c] > 0.0:
                if not size_free:
                    expected[v, c] *= n_rows / total
                for t in range(n_trees):
                    next_rows[leaf[v, t] * n_classes + c] += expected[v, c]


def _possible(evidence: OutputEvidence, leaf: Int32Array, n_classes: int) -> BoolArray:
    """Return which vectors can be of which class where each row is in every tree, shape (n_vectors, n_classes)."""
    said = evidence.outputs
    held = np.concatenate([np.zeros((1, n_classes), dtype=np.int64), np.cumsum(said.vectors > 0, axis=0)])
    fits = held[said.last] > held[said.first]
    fits[said.kind == PURE] = (said.winner[:, None] == np.arange(n_classes))[said.kind == PURE]
    fits[said.kind == LABEL] = True
    return np.stack([fits[leaf, label].all(axis=1) for label in range(n_classes)], axis=1)


def expected_rows(
    model: LeafModel, n_rows: int, search: Search, n_steps: int = 300, *, size_free: bool = False
) -> Expected | None:
    """Return how many rows of each vector and class explain a forest best.

    Parameters
    ----------
    size_free : bool
        Whether the number of rows is only where the search begins.

    Returns
    -------
    Expected or None
        None where the domain has too many vectors.
    """
    n_vectors = model.domain.n_vectors
    if n_vectors > MOST_VECTORS or n_vectors * model.n_trees > MOST_ENTRIES:
        return None
    sizes = [attribute.n_values for attribute in model.domain.attributes]
    value = np.stack(np.unravel_index(np.arange(n_vectors), sizes), axis=1).astype(np.int32)
    leaf = leaves_of(model.walks, value)
    evidence, n_classes = model.evidence, model.n_classes
    expected = np.full((n_vectors, n_classes), n_rows / (n_vectors * n_classes))
    if evidence.rate == 0.0:
        possible = _possible(evidence, leaf, n_classes)
        if possible.any():
            expected *= possible
        evidence = evidence._replace(rate=1.0)
    rows = np.zeros(model.n_leaves * n_classes)
    _step(leaf, expected, np.ones(len(rows)), rows, 1.0, n_rows, False)
    box = search.timebox.part(SHARE)
    for step in range(n_steps):
        cost = _SECONDS_PER_ENTRY * int((expected > 0).sum()) * model.n_trees
        if not box.allows(cost):
            break
        box.spend(cost)
        power = 1.0 if step < 5 else 1.8
        _step(leaf, expected, _factors(evidence, rows, n_classes), rows, power, n_rows, size_free)
    return Expected(value, leaf, expected)
