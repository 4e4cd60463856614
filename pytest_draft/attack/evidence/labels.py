"""What released labels say of a dataset: its log-posterior, leaf by leaf.

diffprivlib's ``RandomForestClassifier`` trains each tree on rows of its own, on a random structure that never sees the
data, and releases for each leaf one label that permute-and-flip (McKenna and Sheldon, NeurIPS 2020) chooses by the
leaf's class counts; an empty leaf gets any label with the same chance. With scores ``u``, sensitivity 1 and
``p_s = exp(-epsilon (max u - u_s))`` label ``r`` is chosen with probability

    p_r * integral over z from 0 to 1 of  prod_{s != r} (1 - p_s z)

(candidates arrive at uniform times; each before ``r`` was turned down), a polynomial that Gauss's rule integrates
exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import ReleasedLabels
from pytest_draft.attack.compiled_trees import leaf_boxes
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.filling import INDICATOR_ODDS
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.privacy import Privacy

PRIOR_ROWS = 10.0
"""Rows that the prior of an attribute's shares is worth: few beside the rows of a training set, enough to hold back
shares of 0."""

_SECONDS_PER_TERM = 1.5e-9
"""Measured: one value of one condition of one leaf, in a sweep."""

_SECONDS_PER_LEAF = 6e-8
"""Measured: one class at one leaf, in a sweep."""


@redacted
class PermuteAndFlip(NamedTuple):
    """The mechanism that chose the labels, and points and weights that integrate its polynomials exactly."""

    epsilon: float
    points: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, epsilon: float, n_classes: int) -> PermuteAndFlip:
        """Return the mechanism of so many classes, whose polynomials have a degree of one less."""
        points, weights = np.polynomial.legendre.leggauss((n_classes + 1) // 2)
        return cls(epsilon, (points + 1) / 2, weights / 2)


@compiled
def log_label(rows: IntArray, label: int, mechanism: PermuteAndFlip, chance: FloatArray) -> float:
    """Return the log-probability of one leaf's label; `chance` is overwritten."""
    epsilon, points, weights = mechanism
    top = rows.max()
    for s in range(len(rows)):
        chance[s] = math.exp(-epsilon * (top - rows[s]))
    total = 0.0
    for q in range(len(points)):
        product = weights[q]
        for s in range(len(chance)):
            if s != label:
                product *= 1.0 - chance[s] * points[q]
        total += product
    return float(math.log(total) - epsilon * (top - rows[label]))


@compiled
def log_labels(table: IntArray, label: IntArray, mechanism: PermuteAndFlip) -> FloatArray:
    """Return the log-probability of each leaf's label."""
    value, chance = np.empty(len(table)), np.empty(table.shape[1])
    for v in range(len(table)):
        value[v] = log_label(table[v], label[v], mechanism, chance)
    return value


def parts_by_size(n_rows: int, n_trees: int) -> IntArray:
    """Return the tree of each place in diffprivlib's order of the rows, ascending, shape (n_rows,)."""
    return (np.arange(n_rows) // (n_rows / n_trees)).astype(np.int64)


def parts_of(forest: Forest, n_rows: int) -> IntArray | None:
    """Return the tree that each training row went to.

    Returns
    -------
    ndarray of int64, shape (n_rows,), or None
        None where the rows were shuffled before they were dealt out.
    """
    return None if forest.parameters.get("shuffle") else parts_by_size(n_rows, forest.n_trees)


def reveals(forest: Forest) -> tuple[str, ...]:
    """Say what a file with labels only reveals, in aggregates.

    Parameters
    ----------
    forest : Forest
        That releases labels.

    Returns
    -------
    tuple of str
        One sentence each.
    """
    privacy = _privacy_of(forest)
    n_leaves = sum(len(tree.leaves) for tree in forest.trees)
    return (
        f"{n_leaves:,} leaves in {forest.n_trees:,} trees hold one label each and no counts: "
        f"at most {math.floor(n_leaves * math.log2(forest.n_classes)):,} bits about the training data",
        f"each label was chosen by permute-and-flip with an epsilon of {privacy.epsilon:g}; "
        "an empty leaf has a random one, and nothing says which leaves are empty",
        f"each tree saw about one in {forest.n_trees:,} of the rows, and each row went to one tree",
        *privacy.broken_by,
    )


def _privacy_of(forest: Forest) -> Privacy:
    privacy = forest.observation.privacy
    if privacy is None or not isinstance(forest.observation, ReleasedLabels):
        raise ValueError("this forest does not release labels")
    return privacy


@redacted
class LeafLabels(NamedTuple):
    """Each leaf's label and box, all trees in one list."""

    label: IntArray
    """Shape (n_leaves,)."""
    start: IntArray
    """Shape (n_trees + 1,). First leaf of each tree."""
    possible: BoolArray
    """Shape (n_leaves,). Whether the domain has a vector there."""
    first: IntArray
    """Shape (n_leaves + 1,). First condition of each leaf."""
    attribute: IntArray
    """Shape (n_conditions,)."""
    allowed: BoolArray
    """Shape (n_conditions, most_values). Values of the attribute that lead to the leaf. Attributes without a condition
    are open.
    """
    n_classes: int
    mechanism: PermuteAndFlip

    @classmethod
    def of(cls, forest: Forest, domain: Domain) -> LeafLabels:
        """Return the labels and boxes of a forest's leaves.

        Raises
        ------
        NotCoveredError
            For numeric attributes, and where nobody can tell how the rows were dealt out to the trees.
        """
        privacy = _privacy_of(forest)
        if forest.parameters.get("warm_start"):
            raise NotCoveredError("with warm_start nobody can tell which rows each tree saw")
        n_values = [attribute.n_values for attribute in domain.attributes]
        boxes, label = leaf_boxes(forest, domain), [forest.released(t).argmax(axis=1) for t in range(forest.n_trees)]
        attributes = [attribute for box in boxes for attribute in box]
        masks = [np.pad(mask, (0, max(n_values) - len(mask))) for box in boxes for mask in box.values()]
        return cls(
            np.concatenate(label),
            np.cumsum([0, *(len(part) for part in label)]),
            np.array([all(mask.any() for mask in box.values()) for box in boxes]),
            np.cumsum([0, *(len(box) for box in boxes)]),
            np.array(attributes, dtype=np.int64),
            np.array(masks, dtype=np.bool_).reshape(len(masks), max(n_values)),
            forest.n_classes,
            PermuteAndFlip.of(privacy.epsilon, forest.n_classes),
        )

    def sweep_seconds(self, parts: IntArray) -> float:
        """Return about how long it takes to draw each row anew, given its tree."""
        conditions = np.diff(self.first[self.start]) * self.allowed.shape[1]
        leaves = np.diff(self.start)
        of_tree = self.n_classes * (_SECONDS_PER_TERM * conditions + _SECONDS_PER_LEAF * leaves)
        return float(of_tree[parts].sum())

    def log_likelihood(self, leaf: IntArray, label: IntArray) -> float:
        """Return the log-probability of all labels, given each row's leaf and class."""
        n_classes = self.n_classes
        table = np.bincount(leaf * n_classes + label, minlength=len(self.label) * n_classes).reshape(-1, n_classes)
        return float(log_labels(table, self.label, self.mechanism).sum())


@dataclass(frozen=True, eq=False, repr=False)
class LabelPopulation:
    """Rows of one population whose shares nobody knows: of each class, and of each attribute's values in each class.

    Given the class the attributes are independent. All shares have Dirichlet priors, and are integrated out.
    """

    prior: FloatArray
    """Shape (n_attributes, most_values). Rows that each value is worth beforehand: `PRIOR_ROWS` for an attribute,
    spread evenly, in binary columns by `INDICATOR_ODDS`; 0 for values that an attribute doesn't have.
    """
    class_prior: FloatArray
    """Shape (n_classes,). One row for each class."""

    @classmethod
    def of(cls, domain: Domain, n_classes: int) -> LabelPopulation:
        """Return the population of a domain's rows."""
        n_values = [attribute.n_values for attribute in domain.attributes]
        prior = np.zeros((len(n_values), max(n_values)))
        for a, attribute in enumerate(domain.attributes):
            odds = np.array([1.0, INDICATOR_ODDS]) if attribute.kind == "binary" else np.ones(n_values[a])
            prior[a, : n_values[a]] = PRIOR_ROWS * odds / odds.sum()
        return cls(prior, np.ones(n_classes))

    def urns(self, value: IntArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return prior plus rows: of each class, and of each class, attribute and value."""
        n_classes, (n_attributes, most) = len(self.class_prior), self.prior.shape
        place = (label[:, None] * n_attributes + np.arange(n_attributes)) * most + value
        rows = np.bincount(place.ravel(), minlength=n_classes * n_attributes * most)
        of_class = self.class_prior + np.bincount(label, minlength=n_classes)
        return of_class, self.prior + rows.reshape(n_classes, n_attributes, most)

    def log_probability(self, value: IntArray, label: IntArray) -> float:
        """Return the log-probability of rows in their order, shares integrated out."""
        of_class, urn = self.urns(value, label)
        return _log_urn(of_class, self.class_prior) + _log_urn(urn, np.broadcast_to(self.prior, urn.shape))


def _log_urn(urn: FloatArray, prior: FloatArray) -> float:
    """Return the log-probability of rows drawn from Polya urns along the last axis."""
    held = prior > 0
    each = gammaln(urn[held]).sum() - gammaln(prior[held]).sum()
    return float(each + (gammaln(prior.sum(axis=-1)) - gammaln(urn.sum(axis=-1))).sum())


def leaves_of_rows(forest: Forest, start: IntArray, rows: Rows, parts: IntArray) -> IntArray:
    """Return the leaf of each row in its own tree, among the leaves of all trees."""
    leaf = np.empty(len(rows), dtype=np.int64)
    for t, tree in enumerate(forest.trees):
        mine = np.flatnonzero(parts == t)
        leaf[mine] = start[t] + leaf_positions(tree, np.ascontiguousarray(rows[mine].T))
    return leaf


def labels_log_posterior(forest: Forest, domain: Domain, rows: Rows, labels: IntArray, parts: IntArray | None) -> float:
    """Return what `Reconstruction.log_posterior` would be of some dataset.

    Parameters
    ----------
    forest : Forest
        That releases labels.
    domain : Domain
        Without numeric attributes.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
        Indices into the forest's classes.
    parts : ndarray of int64, shape (n_rows,), or None
        Tree of each row, as `parts_of` gives it. Where nobody knows it (None), an upper bound over all ways to deal
        the rows out: the probability of no label is above 1.

    Returns
    -------
    float
        Up to no constant: log-probability of the labels given the rows plus that of the rows in their order. Minus
        infinity where the domain doesn't hold some row.
    """
    if domain.outside(rows.astype(np.float64)):
        return -math.inf
    published = LeafLabels.of(forest, domain)
    prior = LabelPopulation.of(domain, published.n_classes).log_probability(domain.indices(rows), labels)
    if parts is None:
        return prior
    return prior + published.log_likelihood(leaves_of_rows(forest, published.start, rows, parts), labels)
