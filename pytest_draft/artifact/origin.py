"""Which of a file's rows, with which labels, an inner model was trained on.

A model that holds others trains them on labels of its own making, or on folds. Both follow from the labels by
scikit-learn's published rules, which are written here again (``sklearn.multiclass``,
``sklearn.model_selection._split``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.errors import DataError


@dataclass(frozen=True)
class OneAgainstRest:
    """Label 1 for one class, 0 for all others (``OneVsRestClassifier``)."""

    position: int
    """The class's place among all."""

    @property
    def in_words(self) -> str:
        """What is done, in words."""
        return f"its label is whether a row is of class number {self.position + 1}"


@dataclass(frozen=True)
class OneAgainstOne:
    """Only the rows of two classes, with label 0 for the first and 1 for the second (``OneVsOneClassifier``)."""

    first: int
    second: int
    """`first` and `second`: their places among all classes."""

    @property
    def in_words(self) -> str:
        """What is done, in words."""
        return f"its rows are those of the classes number {self.first + 1} and {self.second + 1}"


@dataclass(frozen=True)
class Fold:
    """All rows but those of one fold of a cross-validation."""

    number: int
    """Which is left out, from 0."""
    n_folds: int
    stratified: bool
    """Whether each fold has its share of each class."""
    shuffle: bool = False
    seed: int | None = None
    """Of the shuffle."""

    @property
    def in_words(self) -> str:
        """What is done, in words."""
        return f"its rows are all but those of fold {self.number + 1} of {self.n_folds}"

    def trained_on(self, codes: IntArray) -> BoolArray:
        """Return which rows are not in the fold, shape (n_rows,), by each row's class."""
        folds = self._stratified(codes) if self.stratified else self._in_order(len(codes))
        trained: BoolArray = folds != self.number
        return trained

    def _in_order(self, n_rows: int) -> IntArray:
        """Return each row's fold by ``KFold``."""
        order = np.arange(n_rows)
        if self.shuffle:
            RandomState(self.seed).shuffle(order)
        sizes = np.full(self.n_folds, n_rows // self.n_folds)
        sizes[: n_rows % self.n_folds] += 1
        folds = np.empty(n_rows, dtype=np.int64)
        folds[order] = np.repeat(np.arange(self.n_folds), sizes)
        return folds

    def _stratified(self, codes: IntArray) -> IntArray:
        """Return each row's fold by ``StratifiedKFold``, which numbers classes as they first appear."""
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        numbered = np.argsort(np.argsort(first))[inverse]
        ordered = np.sort(numbered)
        n_classes = len(first)
        parts = [np.bincount(ordered[fold :: self.n_folds], minlength=n_classes) for fold in range(self.n_folds)]
        random = RandomState(self.seed)
        folds = np.empty(len(codes), dtype=np.int64)
        for number, sizes in enumerate(np.array(parts).T):
            of_class = np.repeat(np.arange(self.n_folds), sizes)
            if self.shuffle:
                random.shuffle(of_class)
            folds[numbered == number] = of_class
        return folds


@dataclass(frozen=True)
class HeldBack:
    """All rows but those that were held back to stop early (``train_test_split``)."""

    seed: int
    share: float | int
    """Of the rows, or how many."""
    stratified: bool
    """Whether each class has its share."""
    n_trained: int | None
    """Rows that are left, as the trees say."""

    @property
    def in_words(self) -> str:
        """What is done, in words."""
        return (
            "its trees saw all rows but those that it held back to stop early (validation_fraction): the seed of that "
            "split is in the file, so they are known where the table has the order that fit() got"
        )

    def trained_on(self, codes: IntArray) -> BoolArray:
        """Return which rows are not held back, shape (n_rows,), by each row's class.

        All, where as many as the trees saw would not be left.
        """
        n_rows = len(codes)
        n_held = self.share if isinstance(self.share, int) else math.ceil(self.share * n_rows)
        trained = np.ones(n_rows, dtype=np.bool_)
        if not 0 < n_held < n_rows or self.n_trained not in (None, n_rows - n_held):
            return trained
        random = RandomState(self.seed)
        if not self.stratified:
            trained[random.permutation(n_rows)[:n_held]] = False
            return trained
        _, of_row, counts = np.unique(codes, return_inverse=True, return_counts=True)
        kept = _shared_out(counts, n_rows - n_held, random)
        _shared_out(counts - kept, n_held, random)  # which takes its random numbers
        for number, n_kept in enumerate(kept):
            members = np.flatnonzero(of_row == number)
            trained[members[random.permutation(len(members))[n_kept:]]] = False
        return trained


def _shared_out(counts: IntArray, n_drawn: int, random: RandomState) -> IntArray:
    """Return how many rows of each class a stratified split takes (``sklearn.utils.extmath._approximate_mode``)."""
    exact = counts / counts.sum() * n_drawn
    taken = np.floor(exact)
    missing, rest = int(n_drawn - taken.sum()), exact - taken
    for value in np.unique(rest)[::-1]:
        if missing <= 0:
            break
        tied = np.flatnonzero(rest == value)
        tied = random.choice(tied, size=min(len(tied), missing), replace=False)
        taken[tied] += 1
        missing -= len(tied)
    whole: IntArray = taken.astype(np.int64)
    return whole


Part = OneAgainstRest | OneAgainstOne | Fold | HeldBack


@dataclass(frozen=True)
class Origin:
    """How the rows and labels that a model was trained on follow from those of the whole file."""

    classes: tuple[object, ...] | None = None
    """Those that the training data's labels are of; None where they are the model's own, or there are none."""
    parts: tuple[Part, ...] = ()
    """What is done with them, one after the other."""

    def among(self, classes: tuple[object, ...]) -> Origin:
        """Return the origin with the labels' classes, where none are known yet."""
        return self if self.classes is not None or self.parts else Origin(classes)

    def then(self, part: Part) -> Origin:
        """Return the origin with a further part."""
        return Origin(self.classes, (*self.parts, part))

    @property
    def keeps_labels(self) -> bool:
        """Whether the model's labels are those of the table."""
        return self.classes is None and all(isinstance(part, HeldBack) for part in self.parts)

    @property
    def in_words(self) -> tuple[str, ...]:
        """What is done with rows and labels, in words."""
        return tuple(part.in_words for part in self.parts)

    def of(self, codes: IntArray, classes: tuple[object, ...] | None) -> tuple[IntArray, IntArray]:
        """Return the positions of a model's rows, and their labels as indices into its classes.

        Parameters
        ----------
        codes : ndarray of int64, shape (n_given,)
            Indices of the given rows' labels into `classes` of the origin.
        classes : tuple of object or None
            The model's; None for a regressor's.

        Returns
        -------
        rows, labels : ndarray of int64, shape (n_rows,)

        Raises
        ------
        DataError
            Where the model does not have a label, or no row is left.
        """
        rows, meaning = np.arange(len(codes)), self.classes
        for part in self.parts:
            if isinstance(part, OneAgainstRest):
                codes, meaning = (codes == part.position).astype(np.int64), (0, 1)
                continue
            if isinstance(part, (Fold, HeldBack)):
                chosen = part.trained_on(codes)
            else:
                chosen = (codes == part.first) | (codes == part.second)
                codes, meaning = (codes == part.second).astype(np.int64), (0, 1)
            rows, codes = rows[chosen], codes[chosen]
        if not len(rows):
            raise DataError("of the given rows none is left that this model was trained on; give all of its file's")
        if classes is None:
            return rows, np.zeros(len(rows), dtype=np.int64)
        if meaning is None:
            return rows, codes
        return rows, _numbered(codes, meaning, classes)


ORIGINAL = Origin()
"""Of a model that was trained on all rows, with their own labels."""


def _numbered(codes: IntArray, meaning: tuple[object, ...], classes: tuple[object, ...]) -> IntArray:
    """Return labels as indices into a model's classes: by value, or by number where it was given their numbers."""
    present = np.unique(codes).tolist()
    for values in (meaning, tuple(range(len(meaning)))):
        position = {value: index for index, value in enumerate(classes)}
        if all(values[code] in position for code in present):
            table = np.zeros(len(meaning), dtype=np.int64)
            table[present] = [position[values[code]] for code in present]
            numbered: IntArray = table[codes]
            return numbered
    raise DataError("the rows have a label that a model inside this file does not know; give the rows of its training")
