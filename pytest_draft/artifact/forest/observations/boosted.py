"""What boosted trees say of their rows: sums over the rows of a node of what each row had left to be explained.

A model's own scores follow from its file, so a row's gradient and hessian before each tree follow from its values and
its label alone. A count, a sum of hessians and the value of a leaf are each one linear equation in the number of rows
of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest.observations.observation import Observation
from pytest_draft.facts.published import Drawn, Published

Loss = Literal["logistic", "softmax", "squared", "poisson"]
"""What the trees were fitted to. With F the scores of a row, y its label and p the probabilities that follow:

- logistic: one score; gradient p - y, hessian p (1 - p);
- softmax: a score for each class k; gradient p_k - [y = k], hessian p_k (1 - p_k);
- squared: one score; gradient F - y, hessian 1;
- poisson: one score; gradient exp(F) - y, hessian exp(F).

A library's own factor of hessians stands in the `Statements`.
"""


_LARGEST = 300.0
"""Beyond this, probabilities are 0 or 1 and means out of any range; the exponential's square is still a number."""


def sensitivities(loss: Loss, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradient of a label 0 (softmax: of no class) and the hessian, of the shape of the scores.

    Parameters
    ----------
    score : ndarray of float64, shape (n_scores,) or (n_scores, n_rows)
    """
    if loss == "logistic":
        p = 1 / (1 + np.exp(np.minimum(-score, _LARGEST)))
        return p, p * (1 - p)
    if loss == "softmax":
        p = np.exp(score - score.max(axis=0))
        p /= p.sum(axis=0)
        return p, p * (1 - p)
    if loss == "poisson":
        mean = np.exp(np.minimum(score, _LARGEST))
        return mean, mean
    return score, np.ones_like(score)


@dataclass(frozen=True, eq=False, repr=False)
class Statements:
    """What one tree says: of some of its nodes, what a weighted sum over their rows is. Its repr shows no number."""

    node: IntArray
    """Shape (n_statements,). Of the tree."""
    weight: FloatArray
    """Shape (n_statements, 4). What a row adds for itself, its gradient, its hessian and the square of its gradient,
    all before the tree was added.
    """
    total: FloatArray
    """Shape (n_statements,)."""
    tolerance: FloatArray
    """Shape (n_statements,). How far the sum of the right rows can be off by rounding alone."""

    def __post_init__(self) -> None:
        n_statements = len(self.node)
        if self.weight.shape != (n_statements, 4) or {len(self.total), len(self.tolerance)} != {n_statements}:
            raise ValueError("a statement needs a node, four weights, a total and a tolerance")

    def __repr__(self) -> str:
        return f"<Statements: {len(self.node)}>"

    @classmethod
    def of(cls, node: IntArray, weight: Sequence[Any], total: Any, tolerance: FloatArray) -> Statements:
        """Return statements of some nodes, whose four weights and totals are numbers or have one for each node."""
        weights = np.stack([np.broadcast_to(np.asarray(part, np.float64), node.shape) for part in weight], axis=1)
        totals = np.broadcast_to(np.asarray(total, np.float64), node.shape).copy()
        return cls(node.astype(np.int64), weights, totals, tolerance)

    @classmethod
    def none(cls) -> Statements:
        """Return no statements."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0), np.zeros(0))

    @classmethod
    def joined(cls, parts: Sequence[Statements]) -> Statements:
        """Return all statements of several sets of them, in their order."""
        names = ("node", "weight", "total", "tolerance")
        every = (cls.none(), *parts)
        return cls(*(np.concatenate([getattr(part, name) for part in every]) for name in names))


@dataclass(frozen=True)
class NewtonSteps:
    """How a leaf's value was found where that took several steps, so that it is no linear equation (CatBoost)."""

    steps: int
    """Each adds -(sum of gradients) / (sum of hessians + l2), both at the score so far."""
    l2: float
    learning_rate: float
    """What the sum of the steps is multiplied by."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BoostedSums(Observation):
    """Sums over the rows of nodes.

    `Tree.value`, of shape (n_nodes, 1), holds what a leaf adds to its score, and 0 at inner nodes. Where each node's
    number of rows is known, it is `Tree.n_distinct`, and `Tree.weight` too; else both are 0.
    """

    loss: Loss
    base: FloatArray
    """Shape (n_scores,). Each score before the first tree. Tree t adds to score t modulo n_scores."""
    statements: tuple[Statements, ...] = field(repr=False)
    """Of each tree; counts are not repeated here."""
    single: bool = False
    """Whether scores are added up in single precision."""
    steps: NewtonSteps | None = None
    """How leaves got their values, where not in one step; then `statements` say nothing of these."""
    counted: bool = True
    """Whether each node's number of rows is known."""

    weighed: bool = False
    """Whether its number of rows is a sum of their weights, and the file does not tell whether each is 1."""

    named: ClassVar[str] = "sums"
    no_rows: ClassVar[str] = "the numbers of rows in its leaves are not in its file, only sums of what each had left"

    @property
    def n_scores(self) -> int:
        """Number of scores, and of trees that each round adds."""
        return len(self.base)

    @property
    def in_words(self) -> str | None:  # noqa: D102
        return None if self.counted else "no counts"

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:  # noqa: D102
        if not self.counted:
            raise ValueError("this forest has no counts")
        return weight[:, None]

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:  # noqa: D102
        return Published(seeded, draws, "rows and sums of gradients" if self.counted else "sums of gradients")
