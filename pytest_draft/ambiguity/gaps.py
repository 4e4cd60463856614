"""Whether thresholds reveal values, or only between which values they lie.

A best split's threshold lies midway between two values of its node's rows, which reveals their sum. Where the owner
wrote the shortest decimal of each gap instead (`python -m pytest_draft harden --data`), it follows from the gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.best_splits import ROUNDING, partners
from pytest_draft.attack.informed.gaps import is_shortest
from pytest_draft.domain import Domain


def thresholds_only_mark_gaps(forest: Forest, domain: Domain, rows: Rows) -> bool:
    """Return whether every threshold on a numeric column is the shortest decimal between the two values next to it.

    On a grid such as whole years, that decimal can also be the middle of two values. So at least one threshold must be
    the middle of no two values, unless there are no thresholds.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    """
    numeric = [attribute.columns[0] for attribute in domain.attributes if attribute.kind == "numeric"]
    tested = any(np.isin(tree.feature, numeric).any() for tree in forest.trees)
    return not tested or were_rewritten(forest, numeric, rows)


def were_rewritten(forest: Forest, columns: Sequence[int], rows: Rows) -> bool:
    """Return whether all thresholds on these columns are shortest decimals of gaps, and at least one is no midpoint."""
    rewritten = False
    for column in columns:
        parts = [tree.threshold[(tree.left >= 0) & (tree.feature == column)] for tree in forest.trees]
        thresholds = np.unique(np.concatenate(parts))
        values = np.unique(rows[~np.isnan(rows[:, column]), column].astype(np.float64))
        above = np.searchsorted(values, thresholds, side="right")
        if ((above == 0) | (above == len(values))).any():
            return False
        for threshold, place in zip(thresholds.tolist(), above.tolist(), strict=True):
            if not is_shortest(float(values[place - 1]), float(values[place]), threshold):
                return False
            if not rewritten:
                slack = ROUNDING * float(np.abs(values[[0, -1]]).max())
                _, is_midpoint = partners(values[:place], values[place:], threshold, slack)
                rewritten = not is_midpoint.any()
    return rewritten
