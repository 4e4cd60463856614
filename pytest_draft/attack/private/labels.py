"""The problem behind a forest that releases labels only: how probable each leaf's label is, given the rows there.

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
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import ReleasedLabels
from pytest_draft.attack.evidence.evidence import LeafModel, scored_by
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.redacted import redacted
from pytest_draft.attack.walk.posterior import PosteriorParameters
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.compiling import compiled
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.privacy import Privacy

LABELS = PosteriorParameters(first_sweeps=100, sample_every=20, apart=4.0, value_seconds=0.0, attribute_seconds=8e-7)


@compiled
def _score(evidence, rows, leaf, n_kinds):  # type: ignore[no-untyped-def]
    """Return the log-probability of a leaf's label."""
    here, label, epsilon = rows[leaf * n_kinds : (leaf + 1) * n_kinds], evidence.label[leaf], evidence.epsilon
    top, total = here.max(), 0.0
    for q in range(len(evidence.points)):
        product = evidence.weights[q]
        for other in range(n_kinds):
            if other != label:
                product *= 1.0 - math.exp(-epsilon * (top - here[other])) * evidence.points[q]
        total += product
    return math.log(total) - epsilon * (top - here[label])


@scored_by(_score, exact=False)
@redacted
class LabelEvidence(NamedTuple):
    """Each leaf's label, and the mechanism that chose it."""

    label: IntArray
    """Shape (n_leaves,)."""
    epsilon: float
    points: FloatArray
    weights: FloatArray
    """`points` and `weights` integrate the mechanism's polynomials exactly."""

    @property
    def alike(self) -> IntArray:
        """Leaves with the same label."""
        return self.label

    @classmethod
    def of(cls, label: IntArray, epsilon: float, n_classes: int) -> LabelEvidence:
        """Return what labels say; the polynomials have a degree of one less than there are classes."""
        points, weights = np.polynomial.legendre.leggauss((n_classes + 1) // 2)
        return cls(label, epsilon, (points + 1) / 2, weights / 2)

    def lacking(self, rows: FloatArray) -> int:
        """Return 0: any rows can have any label."""
        return 0


def build_labels(forest: Forest, domain: Domain, n_rows: int) -> RowProblem:
    """Return the problem of a forest that releases labels only; its slots stand tree by tree.

    Parameters
    ----------
    domain : Domain
        Without numeric attributes.
    n_rows : int
        Of all trees together.

    Raises
    ------
    NotCoveredError
        For numeric attributes, and where nobody can tell how the rows were dealt out to the trees.
    """
    privacy = _privacy_of(forest)
    if forest.parameters.get("warm_start"):
        raise NotCoveredError("with warm_start nobody can tell which rows each tree saw")
    label = np.concatenate([forest.released(t).argmax(axis=1) for t in range(forest.n_trees)])
    evidence = LabelEvidence.of(label, privacy.epsilon, forest.n_classes)
    model = LeafModel.of(forest, domain, evidence)
    value, unknown = np.full((n_rows, len(domain.attributes)), -1, dtype=np.int32), np.full(n_rows, -1, dtype=np.int64)
    return RowProblem(domain, None, model, value, unknown, (n_rows, n_rows), seen=seen_by(n_rows, forest.n_trees))


def seen_by(n_rows: int, n_trees: int) -> BoolArray:
    """Return which trees see which row in diffprivlib's order of the rows, shape (n_rows, n_trees): one tree each."""
    tree = np.arange(n_rows) // (n_rows / n_trees)
    seen: BoolArray = tree[:, None] == np.arange(n_trees)
    return seen


def likelihood_of_rows(forest: Forest, problem: RowProblem, rows: Rows, labels: IntArray) -> float:
    """Return the log-probability of a forest's labels, given rows in the order of its training, whatever their values.

    Parameters
    ----------
    problem : RowProblem
        As `build_labels` returns it, of as many rows.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
        Indices into the forest's classes.
    """
    everyone = KnownRows(rows, labels, seen_by(len(rows), forest.n_trees).T.astype(np.int64))
    by_tree = zip(forest.trees, everyone.weight, strict=True)
    counts = [everyone.at_leaves(tree, times, forest.n_classes).ravel() for tree, times in by_tree]
    return problem.model.total(np.concatenate(counts).astype(np.float64))


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
