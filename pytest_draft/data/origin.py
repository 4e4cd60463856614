"""The rows and labels that a model inside a file was trained on, by its `Origin` and the labels of the whole table.

Folds and rows that were held back are those of scikit-learn's own splits.
"""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.artifact.origin import Fold, HeldBack, OneAgainstRest, Origin
from pytest_draft.errors import DataError

__tracebackhide__ = True  # frames here hold labels


def seen_by(origin: Origin, codes: IntArray, classes: tuple[object, ...] | None) -> tuple[IntArray, IntArray]:
    """Return the positions of a model's rows, and their labels as indices into its classes, each of shape (n_rows,).

    Parameters
    ----------
    codes : ndarray of int64, shape (n_given,)
        Indices of the given rows' labels into `classes` of the origin.
    classes : tuple of object or None
        The model's; None for a regressor's.

    Raises
    ------
    DataError
        Where the model does not have a label, or no row is left.
    """
    rows, meaning = np.arange(len(codes)), origin.classes
    for part in origin.parts:
        if isinstance(part, OneAgainstRest):
            codes, meaning = (codes == part.position).astype(np.int64), (0, 1)
            continue
        if isinstance(part, (Fold, HeldBack)):
            chosen = trained_on(part, codes)
        else:
            chosen = (codes == part.first) | (codes == part.second)
            codes, meaning = (codes == part.second).astype(np.int64), (0, 1)
        rows, codes = rows[chosen], codes[chosen]
    if not len(rows):
        raise DataError("of the given rows none is left that this model was trained on; give all of its file's")
    if classes is None:
        return rows, np.zeros(len(rows), dtype=np.int64)
    return rows, codes if meaning is None else _numbered(codes, meaning, classes)


def trained_on(part: Fold | HeldBack, codes: IntArray) -> BoolArray:
    """Return which rows are not left out, shape (n_rows,), by each row's class.

    All, where nobody can split the rows so, or as many as the trees saw would not be left.
    """
    every, trained = np.arange(len(codes)), np.zeros(len(codes), dtype=np.bool_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes of few rows
        try:
            if isinstance(part, Fold):
                kind = StratifiedKFold if part.stratified else KFold
                folds = kind(part.n_folds, shuffle=part.shuffle, random_state=part.seed).split(every[:, None], codes)
                taken = next(islice(folds, part.number, None))[0]
            else:
                by = codes if part.stratified else None
                taken = train_test_split(every, test_size=part.share, random_state=part.seed, stratify=by)[0]
                taken = taken if part.n_trained in (None, len(taken)) else every
        except ValueError:
            taken = every
    trained[taken] = True
    return trained


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
