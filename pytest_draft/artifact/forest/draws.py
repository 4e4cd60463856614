"""How the rows and columns of each tree were drawn: in go seeds, out come the rows and columns that they gave a tree.

The rules are those of ``sklearn.ensemble._forest._generate_sample_indices``,
``sklearn.ensemble._bagging._generate_bagging_indices`` and ``sklearn.utils.random``, written again over
NumPy's `RandomState`, whose streams never change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.random import RandomState

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest.weights import repeated_rows
from pytest_draft.errors import NotCoveredError

MAX_SEED = 2**31 - 1
"""Seeds of a Bagging's trees are drawn below it (``sklearn.ensemble._bagging.MAX_INT``)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Draws:
    """What each tree was given of the rows, and what a drawn row adds. Of this class itself where no ensemble drew.

    Class and sample weights either drive the draw or scale what a row adds to its leaf.
    """

    rows: Literal["all", "with replacement", "without replacement"] = "all"
    """Whether each tree saw all rows, or draws of them."""
    per_tree: int | None = None
    """Rows drawn for each tree, where they are drawn and the file says how many."""
    sample_weight: FloatArray | None = None
    """Shape (n_samples,). The stored weight of each row (forests: scikit-learn 1.9 and later, bagging: 1.8); of float32
    where the file has that, because the draw depends on it.
    """
    class_weight: object = None
    """``class_weight`` of the forest or, for bagging, of its trees."""
    of_trees: IntArray | BoolArray | None = None
    """Shape (n_trees, n_rows). How often each tree drew each row; None where that follows from seeds, or is not known.
    """
    stored: bool = True
    """Whether the file says how rows were drawn and that none was weighted, as ONNX does not: else `rows` is what its
    kind of model does by default.
    """

    seeded: ClassVar[bool] = False
    """Whether an ensemble gave each tree a seed, from which all that was drawn for it follows."""
    oldest: ClassVar[tuple[int, int]] = (0, 18)
    """The oldest version of scikit-learn that draws so."""

    @property
    def drawn(self) -> bool:
        """Whether rows were drawn for each tree, so that some can be left out or count several times."""
        return self.rows != "all"

    @property
    def uniform(self) -> bool:
        """Whether rows were drawn with replacement and with equal chances."""
        return self.rows == "with replacement" and self.sample_weight is None

    @property
    def uneven(self) -> bool:
        """Whether some rows had other weights than others."""
        return self.sample_weight is not None and bool((self.sample_weight != self.sample_weight[0]).any())

    @property
    def each_once(self) -> bool:
        """Whether each row counts once in every tree."""
        return not self.drawn and self.times is None

    @property
    def at_most_once(self) -> bool:
        """Whether no row counts twice in a tree."""
        return self.rows != "with replacement" and self.times is None

    @property
    def times(self) -> IntArray | None:
        """How often each row counts in every tree, shape (n_samples,); None where that is not by sample weights.

        Without bootstrap scikit-learn 1.9 stores the sample weights that scale a forest's totals. Where they are
        whole multiples of one weight, each row counts that often; a row of weight 0 not at all.
        """
        return None if self._times_and_unit is None else self._times_and_unit[0]

    @property
    def unit(self) -> float:
        """What one draw (without bootstrap: one row) adds to a node, where class weights have not scaled it."""
        return 1.0 if self._times_and_unit is None else self._times_and_unit[1]

    @cached_property
    def _times_and_unit(self) -> tuple[IntArray, float] | None:
        stored = self.scaling
        return None if stored is None or self.scaled_by_class else repeated_rows(stored)

    @property
    def scaling(self) -> FloatArray | None:
        """The stored weights of rows where they have scaled the totals; where rows were drawn they drove the draw."""
        return None if self.drawn else self.sample_weight

    @property
    def scaled_by_class(self) -> bool:
        """Whether class weights have scaled the totals."""
        return self.class_weight is not None

    def may_scale(self, version: tuple[int, int] | None) -> bool:
        """Return whether class or sample weights may have scaled the shares that leaves without counts hold.

        By how much is only known by the counts of all rows by class. Weights given to a single tree are not stored.

        Parameters
        ----------
        version : pair of int or None
            Major and minor number of the scikit-learn that trained the forest.
        """
        return self.class_weight is not None or self.scaling is not None

    def own_seed(self, seed: int | None) -> int | None:
        """Return the ``random_state`` that a tree was grown with, by its `Tree.seed`."""
        return seed

    def draws_columns(self, n_columns: int) -> bool:
        """Return whether trees were given only some of so many columns, or some twice."""
        return False

    def columns(self, random: RandomState, of_file: IntArray) -> IntArray:
        """Return the columns that one tree was given, in its order: those of the file, as drawn before its rows.

        Raises
        ------
        NotCoveredError
            Where the file does not say how many were drawn.
        """
        return of_file

    def drawn_rows(self, random: RandomState, n_samples: int, size: int) -> IntArray:
        """Return the rows drawn for one tree, in the order of the draw.

        Parameters
        ----------
        random : RandomState
            Of the tree's seed, after its columns were drawn.
        n_samples, size : int
            Training rows, and how many of them are drawn: `per_tree`.
        """
        replacement = self.rows == "with replacement"
        if self.sample_weight is not None:
            chance = self.sample_weight / np.sum(self.sample_weight)
            return random.choice(n_samples, size, replace=replacement, p=chance)
        return _draw(random, n_samples, size, replacement=replacement)

    def seen(self, times: IntArray) -> BoolArray:
        """Return which rows a tree saw, by how often each was drawn: none of weight 0."""
        seen: BoolArray = times > 0
        return seen if self.sample_weight is None else seen & (self.sample_weight > 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class ForestDraws(Draws):
    """Draws of a RandomForest or ExtraTrees: the ``random_state`` that it gave a tree is the seed of the tree's rows.

    From scikit-learn 1.9 on, class weights of a forest with bootstrap drive the draw and are stored as weights of rows,
    except those of each subsample by itself.
    """

    seeded: ClassVar[bool] = True

    @property
    def scaled_by_class(self) -> bool:  # noqa: D102
        drives = self.drawn and self.sample_weight is not None and self.class_weight != "balanced_subsample"
        return self.class_weight is not None and not drives

    def may_scale(self, version: tuple[int, int] | None) -> bool:  # noqa: D102
        drives = self.drawn and (version or (0, 0)) >= (1, 9) and self.class_weight != "balanced_subsample"
        return super().may_scale(version) and not drives


@dataclass(frozen=True, eq=False, kw_only=True)
class BaggingDraws(Draws):
    """Draws of a Bagging or IsolationForest: one generator draws a tree's columns, then its rows, then its own seed."""

    max_features: int
    """Columns drawn for each tree."""
    bootstrap_features: bool = False
    """Whether they were drawn with replacement."""

    seeded: ClassVar[bool] = True
    oldest: ClassVar[tuple[int, int]] = (0, 22)

    def own_seed(self, seed: int | None) -> int | None:  # noqa: D102
        return None if seed is None else int(RandomState(seed).randint(MAX_SEED))

    def draws_columns(self, n_columns: int) -> bool:  # noqa: D102
        return self.bootstrap_features or self.max_features != n_columns

    def columns(self, random: RandomState, of_file: IntArray) -> IntArray:  # noqa: D102
        if not self.bootstrap_features and self.max_features > len(of_file):
            raise NotCoveredError("the file does not tell how many columns were drawn for each tree")
        return of_file[_draw(random, len(of_file), self.max_features, replacement=self.bootstrap_features)]


Replay = Callable[[IntArray], BoolArray]
"""Returns which rows each tree drew, shape (n_trees, n_rows), by the class of each row."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundDraws(Draws):
    """Draws of boosted trees: one generator draws the rows of one round after the other."""

    replays: tuple[Replay, ...] = ()
    """By one of these, if they can be replayed: which one, the sums of the right rows say."""


def _draw(random: RandomState, population: int, size: int, *, replacement: bool) -> IntArray:
    if replacement:
        return random.randint(0, population, size, dtype=np.int64)
    return _without_replacement(random, population, size)


def _without_replacement(random: RandomState, population: int, size: int) -> IntArray:
    """Choose by the share as ``sklearn.utils.random.sample_without_replacement`` does."""
    share = size / population
    if 0.01 < share < 0.99:
        return random.permutation(population)[:size]
    if share < 0.2:
        return _by_tracking(random, population, size)
    return _by_reservoir(random, population, size)


def _by_tracking(random: RandomState, population: int, size: int) -> IntArray:
    """Draw until there are `size` different ones."""
    chosen: dict[int, None] = {}
    while len(chosen) < size:
        chosen[int(random.randint(population))] = None
    return np.fromiter(chosen, np.int64, size)


def _by_reservoir(random: RandomState, population: int, size: int) -> IntArray:
    """Start from the first `size`; let each later one take a random place, or none."""
    chosen = np.arange(size, dtype=np.int64)
    for later in range(size, population):
        place = int(random.randint(0, later + 1))
        if place < size:
            chosen[place] = later
    return chosen
