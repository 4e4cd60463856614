"""Which class of the file each raw label is, by what the roots of its trees say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.data.labels import finder
from pytest_draft.errors import DataError
from pytest_draft.finding.told import Told

__tracebackhide__ = True  # frames here hold rows

_MOST_VALUES = 400
"""Different labels that are looked at."""

_FEW = 4
"""Classes whose ranges are tried in every order."""

_SHARE_OFF = 0.03
"""How far the share of a range of labels can be from a class's."""


class Labels:
    """The label column of a table, as it is there, and what of it a model can have been given.

    Parameters
    ----------
    column : pandas.Series
        Of the raw table.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_table,), or None
        Each row's label among all different ones, ascending; -1 where it has none. None of a regressor's.
    """

    def __init__(self, column: pd.Series[Any], told: Told) -> None:
        self._told, self._roots = told, told.roots()
        self.codes: IntArray | None = None
        self.numbers: list[tuple[str, FloatArray]] = []
        classes = told.forest.classes
        if classes is None:
            self.numbers = _targets(column)
            if not self.numbers:
                raise DataError("the labels are no numbers")
            return
        try:
            codes, distinct = pd.factorize(column, sort=True)
        except TypeError:  # texts and numbers
            codes, distinct = pd.factorize(column.map(lambda value: value if pd.isna(value) else str(value)), sort=True)
        if len(distinct) > _MOST_VALUES or len(distinct) < len(classes):
            raise DataError(
                f"the label column has {len(distinct):,} different values, the model {len(classes)} classes"
            )
        self.codes, self._n_values = codes.astype(np.int64), len(distinct)
        self._are_numbers = all(isinstance(value, (int, float, np.number)) for value in distinct)
        known = np.array([finder(classes)(value) for value in distinct])
        self._by_value = known if (known >= 0).all() else None

    def codings(self, kept: IntArray) -> list[IntArray]:
        """Return what classes some rows can have had where a split kept their shares; none of a regressor's.

        Of two classes in both orders, as such a split goes through them in order; of more values than classes, in two
        ranges that are about as large as the file's classes.
        """
        if self.codes is None:
            return []
        codes, n_classes = self.codes[kept], self._told.n_classes
        if self._n_values == n_classes or self._roots is None or n_classes > 2:
            return [codes, 1 - codes] if self._n_values == 2 else [codes]
        wanted = self._roots.sum(axis=0) / self._roots.sum()
        below = np.cumsum(np.bincount(codes, minlength=self._n_values))[:-1] / len(codes)
        near = [(abs(below - share).min(), int(abs(below - share).argmin()), one) for one, share in enumerate(wanted)]
        return [((codes > cut) ^ (one == 1)).astype(np.int64) for off, cut, one in near if off < _SHARE_OFF]

    def of(self, rows: IntArray) -> Iterator[tuple[str, IntArray, FloatArray | None]]:
        """Yield in words, and as classes (of a regressor as targets), the labels of rows with which roots fit.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_rows,)
            Positions in the table, in the order of fit.
        """
        if self.codes is None:
            zeros = np.zeros(len(rows), dtype=np.int64)
            for words, numbers in self.numbers:
                if self._told.gives_targets(numbers[rows], self._roots):
                    yield words, zeros, numbers[rows]
            return
        codes = self.codes[rows]
        for words, class_of in self._maps(codes):
            labels = class_of[codes]
            if (labels >= 0).all() and self._labels_fit(labels):
                yield words, labels, None

    def _labels_fit(self, labels: IntArray) -> bool:
        """Return whether classes give the roots of all trees."""
        if self._roots is None:
            return True
        drawn, n_classes = self._told.drawn, self._roots.shape[1]
        if drawn is None:
            return bool((np.bincount(labels, minlength=n_classes) == self._roots[0]).all())
        return all(bool((drawn @ (labels == one) == self._roots[:, one]).all()) for one in range(n_classes))

    def _maps(self, codes: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Yield which class each different label can be, where the first tree's root allows it."""
        if self._roots is None:
            if self._by_value is not None:
                yield "", self._by_value
            elif self._n_values == self._told.n_classes:
                yield "labels numbered in order", np.arange(self._n_values)
            return
        drawn = None if self._told.drawn is None else self._told.drawn[0]
        own = np.bincount(codes, drawn, self._n_values).astype(np.float64)
        root = self._roots[0]
        if self._by_value is not None:
            if (np.bincount(self._by_value, own, len(root)) == root).all():
                yield "", self._by_value
            return
        present = np.flatnonzero(own)
        if len(present) == np.count_nonzero(root) and np.array_equal(np.sort(own[present]), np.sort(root[root > 0])):
            yield from self._matched(codes, own, root, present)
        elif self._n_values > len(root) and self._are_numbers:
            several = permutations(range(len(root))) if len(root) <= _FEW else [range(len(root))]
            for order in map(np.array, several):
                ends, above = np.cumsum(root[order])[:-1], np.cumsum(own)
                place = np.searchsorted(above, ends)
                if (above[np.minimum(place, len(above) - 1)] == ends).all():
                    class_of = order[np.searchsorted(place, np.arange(self._n_values))]
                    yield f"labels in {len(root)} ranges", class_of

    def _matched(
        self, codes: IntArray, own: FloatArray, root: FloatArray, present: IntArray
    ) -> Iterator[tuple[str, IntArray]]:
        """Yield matchings of labels and classes that have as many rows: in all trees, where rows were drawn.

        Where numbers are equal and there is but one tree, in both orders.
        """
        drawn, roots, matchings = self._told.drawn, self._roots, list[IntArray]()
        class_of = np.full(self._n_values, -1)
        if drawn is not None and roots is not None:
            of_class = {column.tobytes(): one for one, column in enumerate(roots.T.astype(np.int64).copy())}
            class_of[present] = [of_class.get((drawn @ (codes == one)).tobytes(), -1) for one in present]
            matchings.append(class_of)
        else:
            orders = [np.argsort(root, kind="stable")]
            if len(np.unique(root)) < len(root):
                orders.append(np.lexsort((-np.arange(len(root)), root)))
            for order in orders:
                class_of[present[np.argsort(own[present], kind="stable")]] = order[len(root) - len(present) :]
                matchings.append(class_of.copy())
        for one in matchings:
            in_order = (np.diff(one[present]) > 0).all()
            yield ("labels numbered in order" if in_order else "labels numbered otherwise"), one


def _targets(column: pd.Series[Any]) -> list[tuple[str, FloatArray]]:
    """Return a regressor's targets, and usual functions of them, where all are finite."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(numbers).mean() > 0.5:
        return []
    with np.errstate(all="ignore"):
        functions = (("", numbers), ("log1p of the target", np.log1p(numbers)), ("log of the target", np.log(numbers)))
        return [(words, values) for words, values in functions if np.isfinite(values[~np.isnan(numbers)]).all()]
