"""What the leaves of a forest say of their rows: the base class, exact counts, released numbers, and sums of boosting.

How likely each released number is stands in `pytest_draft.attack.private`: it takes distributions, and a file is read
with NumPy alone. Where a mechanism released the leaves' numbers, `Tree.weight` and `Tree.n_distinct` hold 0.

Of boosted trees, a model's own scores follow from its file, so a row's gradient and hessian before each tree follow
from its values and its label alone. A count, a sum of hessians and the value of a leaf are each one linear equation in
the number of rows of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import CountsPublished, Drawn, Published


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What the leaves of a forest say of the rows in them. `Tree.value` holds it node by node."""

    also: str | None = None
    """What else the file says of the rows, and is not taken from it; None for nothing."""
    privacy: Privacy | None = None
    """What the file declares of its differential privacy; None where it declares none."""
    reads: tuple[int, ...] = ()
    """The columns of whose values leaves tell something; empty where they tell of classes or targets alone."""

    exact: ClassVar[bool] = False
    """Whether each node's number of rows, or of draws, is known as it was in training."""
    released: ClassVar[bool] = False
    """Whether a mechanism of differential privacy made the trees, so that no split follows from rows alone."""
    has_targets: ClassVar[bool] = False
    """Whether leaves hold the mean targets of a regressor."""
    of_labels: ClassVar[bool] = False
    """Whether `Tree.value` has a column for each class, and says what speaks for it, or is a target or score. Where it
    is false, what leaves tell of labels is not known, so that nothing passes by it.
    """
    named: ClassVar[str] = "counts"
    """What cannot come from wrong rows, for messages."""
    varies_with_rate: ClassVar[bool] = False
    """Whether leaves would answer otherwise if another number of draws had been made of each row."""
    no_rows: ClassVar[str] = "the numbers of rows in its leaves are not in its file"
    """Why the numbers of rows in leaves are not known, where they are not."""

    @property
    def in_words(self) -> str | None:
        """What a line about the file says of it; None for what every trained forest holds."""
        return None

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the weighted number of rows of each class at each node, shape (n_nodes, n_classes).

        Parameters
        ----------
        value : ndarray of float64, shape (n_nodes, n_values)
            `Tree.value`.
        weight : ndarray of float64, shape (n_nodes,)
            `Tree.weight`.

        Raises
        ------
        ValueError
            Where it is no observation of counts.
        """
        raise ValueError("this forest has no counts")

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:
        """Return what a file publishes whose leaves say this.

        Parameters
        ----------
        draws : Drawn
            As in `Published`.
        value : ndarray of float64, shape (n_leaves, n_values)
            `Tree.value` at the leaves of all trees.
        """
        return Published(seeded, draws, None)


@dataclass(frozen=True, kw_only=True)
class NodeCounts(Observation):
    """How many rows reached each node, or draws of them where rows were drawn."""

    of_labels: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    _counts: ClassVar[CountsPublished] = "rows of each class"

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:  # noqa: D102
        return weight[:, None]

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:  # noqa: D102
        return Published(seeded, draws, self._counts)


@dataclass(frozen=True)
class ClassCounts(NodeCounts):
    """Counts of each class."""

    stored: Literal["shares", "totals"]
    """What `Tree.value` holds: the shares of the classes in a node's weight, or their weights."""

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:  # noqa: D102
        return value if self.stored == "totals" else value * weight[:, None]


@dataclass(frozen=True, kw_only=True)
class TargetMeans(NodeCounts):
    """Counts of a regressor's rows, with their mean target as `Tree.value`."""

    has_targets: ClassVar[bool] = True
    _counts: ClassVar[CountsPublished] = "rows and mean targets"


@dataclass(frozen=True, kw_only=True)
class RowNumbers(NodeCounts):
    """Numbers of rows alone: all that is taken of AdaBoost and of classifiers with several outputs."""


@dataclass(frozen=True, kw_only=True)
class Released(Observation):
    """What a mechanism released."""

    of_labels: ClassVar[bool] = True
    released: ClassVar[bool] = True
    no_rows: ClassVar[str] = "its leaves do not hold the numbers of rows, but what a mechanism released"


@dataclass(frozen=True, kw_only=True)
class ReleasedCounts(Released):
    """The count of each class at each leaf, with noise; it can be negative."""


@dataclass(frozen=True, kw_only=True)
class ReleasedLabels(Released):
    """A one for each leaf's label, which was chosen at random."""


def under(privacy: Privacy) -> Observation:
    """Return what leaves hold in a file that declares privacy: counts, where these are exact in spite of it."""
    if privacy.exact:
        return ClassCounts("totals", privacy=privacy)
    return ReleasedCounts(privacy=privacy) if privacy.counts else ReleasedLabels(privacy=privacy)


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


ClassWeight = tuple[float, ...] | Literal["balanced", "unbalanced"] | None
"""Weights by class: of the classes in their order; so that all weigh alike (*balanced*, n / (classes * rows of one));
or so that the rarer of two weighs as much as the other, whose rows weigh 1 (*unbalanced*).
"""

DRAWS, WEIGHTS = "which rows each tree drew", "the weights of rows"


@dataclass(frozen=True, kw_only=True, eq=False)
class BoostedSums(Observation):
    """Sums over the rows of nodes.

    `Tree.value`, of shape (n_nodes, 1), holds what a leaf adds to its score, and 0 at inner nodes. Where each node's
    number of rows is known, it is `Tree.n_distinct`, and `Tree.weight` too; else both are 0.
    """

    of_labels: ClassVar[bool] = True
    loss: Loss
    base: FloatArray
    """Shape (n_scores,). Each score before the first tree; see `score_of`."""
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
    in_parallel: int = 1
    """Trees that each round adds to each score."""
    class_weight: ClassWeight = None
    """What each row of a class adds in place of 1 to the sums that are no numbers of rows; None for 1."""
    unknown: str | None = None
    """What is not known of how much each row adds to sums: `DRAWS` or `WEIGHTS`; None where it is. Then each adds
    nothing or its own amount, or any times its own amount.
    """

    named: ClassVar[str] = "sums"
    no_rows: ClassVar[str] = "the numbers of rows in its leaves are not in its file, only sums of what each had left"

    @property
    def n_scores(self) -> int:
        """Number of scores, and of trees that each round adds."""
        return len(self.base)

    @property
    def in_words(self) -> str | None:  # noqa: D102
        return None if self.counted else "no counts"

    def score_of(self, tree: int) -> int:
        """Return to which score a tree adds."""
        return tree // self.in_parallel % self.n_scores

    def weights(self, labels: IntArray) -> FloatArray | None:
        """Return what each of all rows adds in place of 1, shape (n_rows,); None for 1."""
        given = self.class_weight
        if given is None:
            return None
        number = np.bincount(labels, minlength=2 if isinstance(given, str) else len(given)).astype(np.float64)
        if isinstance(given, tuple):
            of_class = np.array(given)
        elif given == "balanced":
            of_class = len(labels) / (len(number) * np.maximum(number, 1.0))
        else:
            of_class = number.max() / np.maximum(number, 1.0)
        return np.asarray(of_class[labels])

    def totals(self, value: FloatArray, weight: FloatArray) -> FloatArray:  # noqa: D102
        if not self.counted:
            raise ValueError("this forest has no counts")
        return weight[:, None]

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:  # noqa: D102
        return Published(seeded, draws, "rows and sums of gradients" if self.counted else "sums of gradients")
