"""Which of a file's rows, with which labels, an inner model was trained on.

A model that holds others trains them on labels of its own making, or on folds. Both follow from the labels by
scikit-learn's published rules (`pytest_draft.data.origin`).
"""

from __future__ import annotations

from dataclasses import dataclass


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


ORIGINAL = Origin()
"""Of a model that was trained on all rows, with their own labels."""
