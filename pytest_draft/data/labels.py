"""Labels: finds the model's class of each row in a column of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.data.files import parsed
from pytest_draft.data.known import finder
from pytest_draft.data.tables import as_text
from pytest_draft.errors import DataError

__tracebackhide__ = True  # frames here hold rows


def class_indices(
    labels: pd.Series[Any] | AnyArray, classes: tuple[object, ...], word: str, n_rows: int, where: str
) -> IntArray:
    """Return each row's index into the classes, shape (n_rows,).

    Parameters
    ----------
    labels : pandas.Series or ndarray, shape (n_rows,) or (n_rows, 1)
    classes : tuple
        As a model stores them.
    word : str
        What the model is, for messages.
    where : str
        Names the data, for messages.

    Raises
    ------
    DataError
        Where there are not as many labels as rows, or a row has none, or one that is none of the classes.
    """
    shape = labels.shape
    if shape not in ((n_rows,), (n_rows, 1)):
        raise DataError(f"{where}: the labels have shape {shape}; there must be one for each of the {n_rows} rows")
    if isinstance(labels, np.ndarray):
        labels = as_text(labels.ravel())
    codes, distinct = parsed(
        lambda: _factorized(labels),
        where,
        lambda _: "the labels are neither numbers nor text",
    )
    class_of = finder(classes)
    # The last entry is where factorize's code for a missing value, -1, points to.
    found = np.array([*(class_of(value) for value in distinct), -1], dtype=np.int64)
    indices: IntArray = found[codes]
    missing = int((codes == -1).sum())
    if missing:
        raise DataError(
            f"{where}: {missing} of {n_rows} rows have no label (NA, None, null and NaN in a CSV count as missing); "
            f"give the rows that the {word} was trained on"
        )
    unknown = int((indices == -1).sum())
    if unknown:
        of_text = sum(isinstance(value, str) for value in classes)
        kind = "text" if of_text == len(classes) else "text and numbers" if of_text else "numbers"
        raise DataError(
            f"{where}: {unknown} of {n_rows} rows have a label that the {word} does not know; give the labels that "
            f"it was trained with ({len(classes)} classes, as {kind})"
        )
    return indices


def target_numbers(targets: pd.Series[Any] | AnyArray, n_rows: int) -> FloatArray | None:
    """Return a regressor's targets, shape (n_rows,), of several outputs the first; None where some is no number."""
    try:
        numbers = np.asarray(pd.DataFrame(targets).to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        return None
    return numbers[:, 0].copy() if numbers.shape[:1] == (n_rows,) and np.isfinite(numbers[:, :1]).all() else None


def _factorized(labels: pd.Series[Any] | AnyArray) -> tuple[IntArray, list[Any]]:
    """Return the code of each label, and what each code stands for: texts are only decoded as they are taken out."""
    codes, distinct = pd.factorize(pd.Series(labels))
    return codes, list(distinct)
