"""What leaves answer where a file holds no counts: shares of the classes, labels, mean targets.

A kind of its own says three things: what it would say of given counts (`answered`), which counts a leaf can hold that
says so (`possible`), and whether counts explain what a leaf says (`explained`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest.observations.observation import Observation
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.published import Drawn, Published

MOST_LISTED = 5_000_000
"""Most vectors of counts that rounded fractions are taken for, all leaves together."""

_CLOSE = 1e-9
"""How far a share may be off by rounding alone."""


@dataclass(frozen=True, eq=False, repr=False)
class Possible:
    """Which counts by class a leaf can hold. Its repr shows no value."""

    kind: Literal["one class", "multiples", "listed", "winner"]
    """Any number of rows of the class `winner`, any multiple of the one vector, one of the vectors, or any in which
    no class has more than `winner`, and none before it as many.
    """
    winner: int
    """The class with the most rows, the first of equal ones; -1 where several can be."""
    vectors: IntArray
    """Shape (n_vectors, n_classes), by ascending sum; empty where `kind` needs none."""

    def __repr__(self) -> str:
        return f"<Possible: {len(self.vectors)} vectors>"


@dataclass(frozen=True, kw_only=True)
class Answers(Observation):
    """What leaves answer. `Tree.value` is 0 at inner nodes, `Tree.weight` and `Tree.n_distinct` everywhere."""

    more_left: bool
    """Whether `Tree.missing_left` says which child of an inner node more different rows reached, as scikit-learn sets
    it where a column had no missing values (`pytest_draft.artifact.sklearn.outputs.more_left`, once it is known which).
    """
    named: ClassVar[str] = "leaves"

    @property
    def in_words(self) -> str | None:  # noqa: D102
        return "no counts"

    def possible(self, value: FloatArray, n_draws: int, room: int) -> Possible:
        """Return which counts a leaf can hold that says so.

        Parameters
        ----------
        value : ndarray of float64, shape (n_values,)
        n_draws : int
            Most draws (without bootstrap: rows) that a leaf can hold.
        room : int
            Most vectors that may be listed.

        Raises
        ------
        NotCoveredError
            Where there are more, or none.
        """
        raise NotImplementedError

    def answered(self, counts: FloatArray) -> FloatArray:
        """Return what leaves with these counts would say, shape (n_leaves, n_values).

        Parameters
        ----------
        counts : ndarray of float64, shape (n_leaves, n_classes)
            No leaf is empty.
        """
        raise NotImplementedError

    def explained(self, counts: FloatArray, value: FloatArray) -> BoolArray:
        """Return whether leaves with these counts say this, shape (n_leaves,); parameters as for `answered`."""
        close: BoolArray = np.abs(self.answered(counts) - value).max(axis=1) <= _CLOSE
        return close

    def answered_by_kind(self, counts: FloatArray, values: FloatArray) -> FloatArray:
        """Return what leaves would say of which rows of each kind are known, shape (n_leaves, n_values).

        An observation that reads columns tells this in place of `answered`, and nothing else.

        Parameters
        ----------
        counts : ndarray of float64, shape (n_leaves, n_values_read, n_classes)
            Rows of each class with each of the values below. No leaf is empty.
        values : ndarray of float64, shape (n_values_read, n_columns_read)
            What rows can hold in the columns that it `reads`.
        """
        return self.answered(counts.sum(axis=1))

    def explained_by_kind(self, counts: FloatArray, values: FloatArray, value: FloatArray) -> BoolArray:
        """Return whether leaves with these rows say this, shape (n_leaves,); parameters as for `answered_by_kind`."""
        if not self.reads:
            return self.explained(counts.sum(axis=1), value)
        close: BoolArray = np.abs(self.answered_by_kind(counts, values) - value).max(axis=1) <= _CLOSE
        return close


@dataclass(frozen=True)
class Shares(Answers):
    """The share of each class at each leaf."""

    decimals: int | None
    """To how many decimals the shares were rounded; None where they are as exact as their type."""
    tolerance: float
    """How far a share can be off: half of the last decimal, or what rounding to its type does."""
    of_labels: ClassVar[bool] = True
    named: ClassVar[str] = "leaf fractions"
    varies_with_rate: ClassVar[bool] = True

    def possible(self, value: FloatArray, n_draws: int, room: int) -> Possible:  # noqa: D102
        winner, slack = int(value.argmax()), max(self.tolerance, 1e-12)
        if value[winner] >= 1.0 - slack and n_draws * slack < 0.5:  # not one draw of another class would be hidden
            return Possible("one class", winner, np.empty((0, len(value)), dtype=np.int64))
        sums = np.arange(1, n_draws + 1)
        low = np.ceil(np.multiply.outer(sums, value - slack) - 1e-9)
        high = np.floor(np.multiply.outer(sums, value + slack) + 1e-9)
        low = np.maximum(low, 0.0)
        fits = (low <= high).all(axis=1) & (low.sum(axis=1) <= sums) & (sums <= high.sum(axis=1))
        if not fits.any():
            raise NotCoveredError(
                f"the fractions of a leaf are those of no {n_draws:,} draws or fewer: the forest was trained on more "
                "rows, or with weights that are not in the file"
            )
        single = (low == high).all(axis=1)[fits].all()
        sums, low, high = sums[fits], low[fits].astype(np.int64), high[fits].astype(np.int64)
        if single and (low == low[0] * (sums // sums[0])[:, None]).all() and (sums % sums[0] == 0).all():
            return Possible("one class" if low[0].max() == sums[0] else "multiples", winner, low[:1])
        listed: list[tuple[int, ...]] = []
        for total, least, most in zip(sums.tolist(), low.tolist(), high.tolist(), strict=True):
            free = [range(a, b + 1) for a, b in zip(least[:-1], most[:-1], strict=True)]
            for head in product(*free):
                rest = total - sum(head)
                if least[-1] <= rest <= most[-1]:
                    listed.append((*head, rest))
            if len(listed) > room:
                raise NotCoveredError(
                    f"its fractions are rounded so much that more than {MOST_LISTED:,} counts of up to {n_draws:,} "
                    "draws have them; fewer rows are covered"
                )
        return Possible("listed", -1, np.array(listed, dtype=np.int64))

    def answered(self, counts: FloatArray) -> FloatArray:  # noqa: D102
        shares: FloatArray = counts / counts.sum(axis=1, keepdims=True)
        return shares if self.decimals is None else np.round(shares, self.decimals)

    def explained(self, counts: FloatArray, value: FloatArray) -> BoolArray:  # noqa: D102
        shares = counts / counts.sum(axis=1, keepdims=True)
        close: BoolArray = np.abs(shares - value).max(axis=1) <= self.tolerance + _CLOSE
        return close

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:  # noqa: D102
        said, left = "shares" if self.decimals is None else "rounded shares", self.also is not None
        return Published(seeded, draws, None, said, self.decimals, left, int((value == 1).any(axis=1).sum()))


@dataclass(frozen=True, kw_only=True)
class WinningLabels(Answers):
    """A one for the label that won at each leaf."""

    may_be_pure: bool = False
    """Whether each leaf may also hold rows of its label alone, as the leaves of a fully grown tree do. The file cannot
    tell these two apart; an attack may try both. False where two leaves side by side have one label, which no split of
    scikit-learn's brings about.
    """
    of_labels: ClassVar[bool] = True
    named: ClassVar[str] = "labels"

    def possible(self, value: FloatArray, n_draws: int, room: int) -> Possible:  # noqa: D102
        return Possible("winner", int(value.argmax()), np.empty((0, len(value)), dtype=np.int64))

    def answered(self, counts: FloatArray) -> FloatArray:  # noqa: D102
        won: FloatArray = np.eye(counts.shape[1])[(counts / counts.sum(axis=1, keepdims=True)).argmax(axis=1)]
        return won

    def explained(self, counts: FloatArray, value: FloatArray) -> BoolArray:  # noqa: D102
        most: BoolArray = counts[np.arange(len(counts)), value.argmax(axis=1)] >= counts.max(axis=1)
        return most

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:  # noqa: D102
        return Published(seeded, draws, None, "labels", left=self.also is not None)


@dataclass(frozen=True, kw_only=True)
class MeanTargets(Answers):
    """A regressor's mean target: of its rows, that somebody is there."""

    of_labels: ClassVar[bool] = True
    has_targets: ClassVar[bool] = True

    def possible(self, value: FloatArray, n_draws: int, room: int) -> Possible:  # noqa: D102
        return Possible("one class", 0, np.empty((0, 1), dtype=np.int64))

    def answered(self, counts: FloatArray) -> FloatArray:  # noqa: D102
        return np.ones((len(counts), 1))

    def explained(self, counts: FloatArray, value: FloatArray) -> BoolArray:  # noqa: D102
        return np.ones(len(counts), dtype=bool)

    def published(self, seeded: int, draws: Drawn, value: FloatArray) -> Published:  # noqa: D102
        return Published(seeded, draws, None, "mean targets", left=self.also is not None, certain_leaves=len(value))
