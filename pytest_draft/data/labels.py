"""Finds the model's class of each row in a column of labels, and known categories among values."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.data.files import NUMBER, parsed
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


def finder(known: tuple[object, ...]) -> Callable[[object], int]:
    """Return the function from a value to the position of the known value that it is, -1 for none.

    A text is first looked for as it is. Then numbers, truth values and texts of either are compared as
    numbers; where two known values are the same number ("1" and "01"), only their texts tell them apart.
    """
    by_text: dict[str, int] = {}
    by_number: dict[object, int] = {}
    for index, value in enumerate(known):
        if isinstance(value, str):
            by_text[value] = index
        number = _number(value)
        if number is not None:
            by_number[number] = -1 if number in by_number else index

    def position_of(value: object) -> int:
        if isinstance(value, str) and value in by_text:
            return by_text[value]
        number = _number(value)
        return -1 if number is None else by_number.get(number, -1)

    return position_of


def _number(value: object) -> object:
    """Return a value as a Python number, whose equality and hash don't depend on its type; else None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float, Decimal)):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not NUMBER.fullmatch(text) or len(text) > 400:
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)
