"""Finds rows that stand in an array nearly: each times a factor of its own, moved by a number, or with some noise.

How near is near, the table says: a copy is much nearer to one of its rows than to the next one. Among rows spread
evenly in k dimensions, chance makes the ratio of these distances at most r with a probability of r^k [1]_, and k
follows from the ratios of the table's own rows.

.. [1] Facco et al., Estimating the intrinsic dimension of datasets by a minimal neighborhood information, Scientific
   Reports 7 (2017), 12140.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.artifact.world.account import FEWEST_ROWS
from pytest_draft.audit.chance import ENOUGH, bits_of_choice, bits_of_rows
from pytest_draft.audit.value_hashes import identified, row_hashes

_LEAST_BITS = (10.0, 20.0, 40.0)
"""A row of an array is a copy where chance brings it so near with a probability of 2 to the power of minus this."""

_SHARES = (0.5, 0.2, 0.1, 0.05)
"""Shares of the table's rows whose ratios give k; the least k counts, so that pairs of like rows mislead less."""

_MOST_ASKED = 500
"""Rows of the table whose ratios are asked for."""

_MOST_VALUES = 2**28
"""Values that an array's rows are compared with at most; of a longer one, every second row is, or every third."""

_FARTHEST = 0.1
"""How far a copy may be from its row, over its length: a cosine of 0.995."""

_ROUNDING = 1e-12
"""Over the distance to the next row: what is nearer is there."""


class NearRows:
    """The rows of a table, in each form in which an array's can be near them.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (n_rows,)
        Where one holds no numbers, no row is near any.
    """

    def __init__(self, columns: Sequence[AnyArray]) -> None:
        numbers = all(column.dtype.kind in "biuf" for column in columns)
        table = np.column_stack(columns).astype(np.float64) if numbers else np.ones((1, len(columns)))
        table = table[np.isfinite(table).all(axis=1)]
        self._size, self._mean, self._unit = table.size, table.mean(axis=0), table.std(axis=0)
        self._unit[self._unit == 0] = 1.0
        bits, centred = bits_of_rows(list(table.T)), table - self._mean
        turned = [(rows, moved) for rows in (table, centred, centred / self._unit) for moved in (False, True)]
        self._forms = [_Form(rows, bits, turned=True, moved=moved) for rows, moved in turned]
        self._forms.append(_Form(centred / self._unit, bits, turned=False, moved=False))

    def found_in(self, array: AnyArray) -> int:
        """Return how many rows stand nearly in an array, shape (n, n_columns), where chance hardly puts them there."""
        array = array[:: 1 + len(array) * self._size // _MOST_VALUES].astype(np.float64)
        return max(form.found_in(rows) for form in self._forms for rows in (array, (array - self._mean) / self._unit))


class _Form:
    """Rows without what a copy need not keep: a factor of each (`turned`), and a number added to it (`moved`)."""

    def __init__(self, rows: FloatArray, bits: FloatArray, *, turned: bool, moved: bool) -> None:
        self._turned, self._moved, self._bits, self._dimension = turned, moved, bits, 0.0
        points = self._placed(rows)
        row = np.flatnonzero(np.isfinite(points).all(axis=1))
        points = np.concatenate([points[row], -points[row]]) if turned else points[row]
        _, first, times = np.unique(row_hashes(identified(list(points.T))), return_index=True, return_counts=True)
        if len(first) < 2 * FEWEST_ROWS:
            return
        self._row, self._points = np.resize(row, len(points))[first], KDTree(points[first])
        self._own = times < FEWEST_ROWS  # what more people share is nobody's
        asked = points[np.random.default_rng(0).permutation(first)[:_MOST_ASKED]]
        ratios = np.sort(self._ratios(asked, 3)[0])[::-1]
        self._dimension = float(
            min(rows.shape[1], *(-np.log2(s) / max(ratios[int(s * len(ratios))], 1e-9) for s in _SHARES))
        )

    def found_in(self, array: FloatArray) -> int:
        """Return how many rows stand nearly in an array."""
        points = self._placed(array)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) < FEWEST_ROWS or not self._dimension:
            return 0
        ratios, at = self._ratios(points, 2)
        apart = np.linalg.norm(points - self._points.data[at], axis=1)
        close = self._own[at] & (apart <= _FARTHEST * np.linalg.norm(points, axis=1))
        near = np.zeros(len(self._bits))
        np.maximum.at(near, self._row[at], np.where(close, self._dimension * ratios, 0.0))
        for least in _LEAST_BITS:
            bits = np.minimum(least, self._bits[near >= least])
            if len(bits) >= FEWEST_ROWS and bits.sum() - bits_of_choice(len(points), len(bits)) >= ENOUGH.anywhere:
                return len(bits)
        return 0

    def _placed(self, rows: FloatArray) -> FloatArray:
        rows = rows - rows.mean(axis=1, keepdims=True) if self._moved else rows
        with np.errstate(divide="ignore", invalid="ignore"):
            return rows / np.linalg.norm(rows, axis=1, keepdims=True) if self._turned else rows

    def _ratios(self, points: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
        """Return log2 of how many times as far the last of `k` rows is as the one before it, and which that is."""
        distance, at = self._points.query(points, k=k)
        ratios: FloatArray = np.log2(distance[:, -1] / np.maximum(distance[:, -2], _ROUNDING * distance[:, -1]))
        return ratios, at[:, -2]
