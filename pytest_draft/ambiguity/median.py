"""The guess of somebody who knows nothing but the median of each column."""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import Rows
from pytest_draft.domain import Domain


def median_guess(truth: Rows, domain: Domain) -> Rows:
    """Return the row that holds each column's true median: what is nearest to all values of a column.

    Of an even number of values it is the lower one of the two in the middle, so a value of the column. A one-hot group
    has its commonest value, and where most values of a column are missing, the guess is missing.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)

    Returns
    -------
    ndarray of float32, shape (1, n_columns)
    """
    row: Rows = np.sort(truth, axis=0)[(len(truth) - np.isnan(truth).sum(axis=0) - 1) // 2, np.arange(truth.shape[1])]
    row[np.isnan(truth).mean(axis=0) > 0.5] = np.nan
    for attribute in domain.attributes:
        if attribute.kind == "one-hot":
            columns = list(attribute.columns)
            commonest = np.bincount(attribute.index(truth[:, columns])).argmax()
            row[columns] = attribute.encoded(np.array([commonest]))[0]
    return row[None]
