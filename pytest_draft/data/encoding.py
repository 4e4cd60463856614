"""A file's own encoding: turns raw columns into the rows that its forest was given, by its `Encoder`.

The arithmetic is scikit-learn's, bit for bit: scalers compute in the type of their whole input and round after each
operation. Unlike scikit-learn, a category is found by its value whatever its type (0, 0.0, False and "0" are one),
because a CSV file does not keep types, and all kinds of missing values are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pytest_draft.arrays import AnyArray, BoolArray, IntArray
from pytest_draft.artifact.encoder import (
    NO_CODE,
    SAME_TYPE,
    Apply,
    Bin,
    Categories,
    Column,
    Encoder,
    Fill,
    IsMissing,
    OneHot,
    Ordinal,
    Power,
    Product,
    Quantiles,
    Scale,
    Together,
)
from pytest_draft.data.curves import curved
from pytest_draft.data.files import parsed
from pytest_draft.data.labels import finder
from pytest_draft.errors import DataError, one_line

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


_NUMBERS = (bool, int, float, Decimal, np.bool_, np.integer, np.floating)
_OPERATIONS = {"subtract": np.subtract, "divide": np.divide, "multiply": np.multiply, "add": np.add}
_REFUSED = NO_CODE - 1
"""Stands for a value that the encoder would refuse."""


def encode(
    encoder: Encoder, raw: Mapping[int, pd.Series[Any]], where: str, *, refuse: bool = True
) -> NDArray[np.float32]:
    """Return raw columns as the file's transformers encode them for its forest.

    Parameters
    ----------
    raw : mapping of int to pandas.Series
        By position among the columns that the encoder was fitted on; all of `Encoder.sources` at least.
    where : str
        Names the data, for messages.
    refuse : bool
        Whether categories that the encoder refuses are refused; else they are none of its categories.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_columns)
        A missing value is NaN, where a step keeps it.

    Raises
    ------
    DataError
        Where a column holds dates, text in place of numbers, a category that the file does not know and that its
        encoder refuses, or values that are infinite in float32. The message never shows a value.
    """
    run = _Run(encoder, raw, where, refuse=refuse)
    n_rows = len(raw[encoder.sources[0]]) if encoder.columns else 0
    rows = np.empty((n_rows, len(encoder.columns)), dtype=np.float32)
    with np.errstate(all="ignore"):
        for index, column in enumerate(encoder.columns):
            rows[:, index] = run.encoded(column)
    return rows


def transformed(encoder: Encoder, raw: Mapping[int, pd.Series[Any]], where: str) -> list[AnyArray]:
    """Return raw columns as the file's transformers make them, in their own types: what `encode` hands to a forest."""
    run = _Run(encoder, raw, where)
    with np.errstate(all="ignore"):
        return [run.made(column) for column in encoder.columns]


class _Run:
    """One encoding; keeps the categories of each column, which several columns share.

    Parameters
    ----------
    encoder, raw, where
        As `encode` takes them.
    """

    def __init__(self, encoder: Encoder, raw: Mapping[int, pd.Series[Any]], where: str, *, refuse: bool = True) -> None:
        self._encoder, self._refuses = encoder, refuse
        self._where = where
        self._raw = {source: _plain(column, self._at(source)) for source, column in raw.items()}
        self._codes: dict[Categories, IntArray] = {}
        self._types: dict[Together, np.dtype[Any]] = {}

    def encoded(self, column: Column) -> NDArray[np.float32]:
        """Return a column as the forest's trees see it."""
        result = self._cast(self._values(column), np.dtype(np.float32), column.source)
        if infinite := int(np.isinf(result).sum()):
            raise DataError(
                f"{self._at(column.source)} has {infinite} values that are infinite or too large for float32; give "
                "finite values"
            )
        return result

    def made(self, column: Column) -> AnyArray:
        """Return a column as it is behind its last step."""
        return self._values(column)

    def _at(self, source: int) -> str:
        return f"{self._where}: column {one_line(self._encoder.name(source))!r}"

    def _values(self, column: Column) -> AnyArray:
        """Return a column after its last step."""
        if not column.steps:
            return self._raw[column.source]
        if isinstance(column.steps[0], Product) and len(column.steps) == 1:
            return self._product(column.steps[0], column.source)
        before, step = Column(column.source, column.steps[:-1]), column.steps[-1]
        if isinstance(step, OneHot):
            is_one: AnyArray = (self._coded(step.categories, before) == step.code).astype(self._made(step, before))
            return is_one
        if isinstance(step, Ordinal):
            codes = self._coded(step.categories, before)
            numbers: AnyArray = np.append(step.numbers, step.unknown)[codes].astype(self._made(step, before))
            return numbers
        values = self._values(before)
        if isinstance(step, Together):
            return self._cast(values, self._common(step), column.source)
        if isinstance(step, Scale):
            return _scaled(values, step)
        if isinstance(step, IsMissing):
            return _is_missing(values, step.missing)
        if isinstance(step, (Apply, Power, Quantiles, Bin)):
            if values.dtype == object:
                values = self._cast(values, np.dtype(np.float64), column.source)
            return curved(values, step)
        if isinstance(step, Product):
            raise TypeError("a product comes before all other steps")
        return self._filled(values, step, column.source)

    def _made(self, step: OneHot | Ordinal, before: Column) -> np.dtype[Any]:
        """Return the type that an encoder makes."""
        return self._type(before) if step.dtype == SAME_TYPE else np.dtype(step.dtype)

    def _product(self, product: Product, source: int) -> AnyArray:
        """Return the product of columns, multiplied from the last one to the first as scikit-learn does."""
        common = self._common(product.together)
        if not product.factors:
            return np.ones(len(self._raw[source]), dtype=common)
        *others, last = product.factors
        result: AnyArray = self._values(last).copy()
        for factor in reversed(others):
            np.multiply(result, self._values(factor), out=result)
        return result

    def _cast(self, values: AnyArray, dtype: np.dtype[Any], source: int) -> AnyArray:
        where = self._at(source)
        cast: AnyArray = parsed(
            lambda: values.astype(dtype, copy=False),
            where,
            lambda _: "it holds text, and the file's transformers or its forest take numbers",
        )
        return cast

    def _filled(self, values: AnyArray, step: Fill, source: int) -> AnyArray:
        gaps = _is_missing(values, step.missing)
        if not gaps.any():
            return values

        def fill() -> AnyArray:
            filled: AnyArray = values.copy()
            filled[gaps] = step.value
            return filled

        made: AnyArray = parsed(
            fill,
            self._at(source),
            lambda _: "its values are of another type than what the file fills in for missing ones",
        )
        return made

    def _common(self, together: Together) -> np.dtype[Any]:
        """Return the common type of columns; those that the table does not have are left out."""
        if together not in self._types:
            types = [self._type(column) for column in together.block if column.source in self._raw]
            common = np.result_type(*types)
            known = not together.types or common.name in together.types
            self._types[together] = common if known else np.dtype(together.types[0])
        return self._types[together]

    def _type(self, column: Column) -> np.dtype[Any]:
        """Return a column's type without computing it."""
        for index in reversed(range(len(column.steps))):
            step, before = column.steps[index], Column(column.source, column.steps[:index])
            if isinstance(step, Together):
                return self._common(step)
            if isinstance(step, Product):
                return self._common(step.together)
            if isinstance(step, IsMissing):
                return np.dtype(np.bool_)
            if isinstance(step, (OneHot, Ordinal)):
                return self._made(step, before)
            if isinstance(step, Apply):
                of = self._type(before)
                return curved(np.ones(1, dtype=np.float64 if of.kind == "O" else of), step).dtype
        return self._raw[column.source].dtype

    def _coded(self, categories: Categories, column: Column) -> IntArray:
        """Return the category of each of a column's values, shape (n_rows,)."""
        if categories not in self._codes:
            self._codes[categories] = _codes(categories, self._values(column))
            refused = self._codes[categories] == _REFUSED
            if refused.any() and self._refuses:
                self._refuse(int(refused.sum()), column.source)
            self._codes[categories][refused] = NO_CODE
        return self._codes[categories]

    def _refuse(self, rows: int, source: int) -> NoReturn:
        raise DataError(
            f"{self._at(source)} has {rows} rows with a category that the file's encoder refuses, so the forest was "
            "not trained on them; give the rows that it was trained on"
        )


def _plain(column: pd.Series[Any], where: str) -> AnyArray:
    """Return a raw column as numbers of its own type or, where it holds text, as objects."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mMc":
        holds = {"M": "dates", "m": "times", "c": "complex numbers"}[kind]
        raise DataError(f"{where} holds {holds}, which the supported transformers do not take; give numbers or text")
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        numbers: AnyArray = column.to_numpy()
        return numbers
    present = column.notna().to_numpy(dtype=np.bool_)
    if all(isinstance(value, _NUMBERS) for value in column[present]):
        values = np.full(len(column), np.nan)
        values[present] = parsed(
            lambda: column[present].to_numpy(dtype=np.float64), where, lambda _: "its numbers are too large"
        )
        return values
    texts = column.to_numpy(dtype=object, copy=True)
    texts[~present] = np.nan
    return texts


def _scaled(values: AnyArray, step: Scale) -> AnyArray:
    result: AnyArray = values.copy()
    for operation, operand in step.operations:
        by = operand.astype(result.dtype) if step.cast else operand
        _OPERATIONS[operation](result, by, out=result, casting="same_kind")
    if step.clip is not None:
        np.clip(result, *step.clip, out=result)
    return result


def _is_missing(values: AnyArray, missing: object) -> BoolArray:
    if missing is None:
        return np.asarray(pd.isna(values), dtype=np.bool_)
    if isinstance(missing, str) and values.dtype != object:
        return np.zeros(len(values), dtype=np.bool_)
    return np.asarray(values == missing, dtype=np.bool_)


def _codes(categories: Categories, values: AnyArray) -> IntArray:
    """Return each value's category, `_REFUSED` where there is none and none is refused."""
    position_of = finder(categories.values)
    gap = next((i for i, value in enumerate(categories.values) if pd.isna(value)), -1)  # type: ignore[call-overload]
    code_of = np.append(categories.codes, _REFUSED if categories.unknown is None else categories.unknown)
    which, distinct = pd.factorize(values.astype(np.float32) if values.dtype == np.float16 else values)
    # The last entry is where factorize's code for a missing value, -1, points to.
    positions = np.array([*(position_of(value) for value in distinct), gap], dtype=np.int64)
    found: IntArray = code_of[positions[which]].astype(np.int64)
    return found
