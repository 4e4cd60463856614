"""A file's encoding, backwards: an `Encoder` and encoded rows give a `Domain` and raw columns.

What encoding loses stays lost: values that share a category or were filled in are not told apart, and columns that the
pipeline drops cannot be rebuilt. It is lost of the true rows as well, so that both can be compared.

Columns of two values hold zeros and ones from here on, in tables and models alike, and every writing of a table is
judged alike: whether yes and no are written as 0 and 1, as -1 and +1 or, scaled, as -0.31 and 3.2 says nothing about
anybody. Thresholds follow their column: a midpoint stays one, and a drawn one becomes what the same draw gives between
0 and 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pytest_draft.arrays import AnyArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.encoder import (
    NO_CODE,
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
    Step,
    Together,
)
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.data.curves import loses, straightened
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.errors import one_line
from pytest_draft.facts.rules import ListedRule, Literal

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


_UNDONE: dict[str, Callable[[FloatArray, Any], FloatArray]] = {
    "subtract": np.add,
    "divide": np.multiply,
    "multiply": np.divide,
    "add": np.subtract,
}


def encoded_names(encoder: Encoder) -> tuple[str, ...]:
    """Return names for a forest's columns: the raw column's, with a number where it makes several.

    A category is a value of the training data, so none is in a name.
    """
    own = [_name(encoder, column) for column in encoder.columns]
    total, seen, names = Counter(own), Counter[str](), []
    for name in own:
        names.append(f"{name}[{seen[name]}]" if total[name] > 1 else name)
        seen[name] += 1
    return tuple(names) if len(set(names)) == len(names) else tuple(f"x{index}" for index in range(len(names)))


def _name(encoder: Encoder, column: Column) -> str:
    """Return the name of the raw column that a column comes from, of a product those of its factors."""
    if not column.steps or not isinstance(column.steps[0], Product):
        return encoder.name(column.source)
    return "*".join(_name(encoder, factor) for factor in column.steps[0].factors) or "1"


def domain_from(encoder: Encoder, columns: tuple[str, ...], rows: Rows) -> Domain:
    """Return the domain that a file's transformers give its forest's columns.

    One-hot groups and the numbers of ordinal codes come from the file, wherever each training row must have one of the
    categories. All else is inferred as from any encoded data: bounds of scaled columns, and columns of a group of
    which one was dropped, which are taken one by one (a wider domain).

    Parameters
    ----------
    columns : tuple of str, length n_columns
        Names of the forest's columns.
    rows : ndarray of float32, shape (n_rows, n_columns)
        The encoded training data.
    """
    attributes = [*_groups(encoder, rows), *_ordinals(encoder, columns, rows)]
    held = {index for attribute in attributes for index in attribute.columns}
    others = [index for index in range(len(columns)) if index not in held]
    inferred = infer([columns[index] for index in others], rows[:, others].astype(np.float64)).attributes
    attributes += [replace(part, columns=tuple(others[index] for index in part.columns)) for part in inferred]
    attributes.sort(key=lambda attribute: attribute.columns)
    return Domain(columns, tuple(attributes), "the file's transformers and the training data")


def granted_by(encoder: Encoder) -> tuple[str, ...]:
    """Return what of an encoder's knowledge the adversary reads in the file, and what no one can rebuild, in lines."""
    lines = [f"transformers in the file: {', '.join(encoder.transformers)}"]
    known = {
        step.categories: encoder.name(column.source)
        for column in encoder.columns
        for step in column.steps
        if isinstance(step, (OneHot, Ordinal)) and not any(isinstance(before, Bin) for before in column.steps)
    }
    lines += [
        f"the file tells the {len(categories.values)} categories of {one_line(name)}, values of its training data"
        for categories, name in known.items()
    ]
    scaled = {column.source for column in encoder.columns if any(isinstance(step, Scale) for step in column.steps)}
    if scaled:
        lines.append(f"scales of raw columns in the file: {len(scaled)}")
    for kind, what in ((Quantiles, "quantiles"), (Bin, "edges of bins")):
        of_data = {
            encoder.name(column.source): max(len(_numbers_in(step)) for step in column.steps if isinstance(step, kind))
            for column in encoder.columns
            if any(isinstance(step, kind) for step in column.steps)
        }
        lines += [f"the file tells {number} {what} of {one_line(name)}" for name, number in of_data.items()]
    if any(column.is_product for column in encoder.columns):
        lines.append("columns that are products of others are treated as columns of their own")
    filled = {column.source for column in encoder.columns if any(isinstance(step, Fill) for step in column.steps)}
    if filled:
        lines.append(
            f"raw columns in which missing values are compared as the forest saw them, filled in: {len(filled)}"
        )
    if unused := encoder.n_inputs - len(encoder.sources):
        lines.append(f"the forest does not see {unused} of the {encoder.n_inputs} raw columns: these are not rebuilt")
    return tuple(lines)


def _numbers_in(step: Step) -> FloatArray:
    """Return the numbers of the training data that a step holds."""
    return step.quantiles if isinstance(step, Quantiles) else step.edges if isinstance(step, Bin) else np.empty(0)


@dataclass(frozen=True)
class _RawColumn:
    """Where a raw column is rebuilt from."""

    source: int
    columns: tuple[int, ...]
    """The forest's columns: several for one-hot columns, else one."""
    categories: Categories | None = None
    """None for numbers."""
    n_levels: int = 0
    """How many categories a row can be told to have, one more where it can be none of those."""


@dataclass(frozen=True, eq=False)
class RawColumns:
    """The raw columns that a forest's rows can be decoded to."""

    encoder: Encoder
    domain: Domain
    """Of the rows that `rows` makes: each raw column is one attribute, a one-hot group where it has categories. So the
    error on original attributes (`matching.original_weights`) is the error on raw columns. Scaled numbers stay so: that
    changes no error by range, and float32 holds all their digits. What went through a function stays so, too: its error
    is that behind the function.
    """
    indicators: Indicators
    _parts: tuple[_RawColumn, ...]

    def rows(self, encoded: Rows) -> Rows:
        """Return encoded rows, with indicators, in the raw columns, shape (n_rows, n_raw), as in `domain`."""
        blocks = []
        for part in self._parts:
            if part.categories is None:
                blocks.append(encoded[:, [part.columns[0]]].astype(np.float64))
                continue
            levels = np.arange(part.n_levels)
            codes = self._codes(part, self.indicators.written(encoded))
            level = np.where(codes < 0, part.categories.n_codes, codes)
            blocks.append((level[:, None] == levels).astype(np.float64))
        return np.hstack(blocks).astype(np.float32)

    def known(self, columns: Collection[int]) -> tuple[int, ...]:
        """Return the positions of `domain`'s attributes that are known where some columns of the forest are."""
        of_raw = [part for part in self._parts for _ in range(part.n_levels or 1)]
        return tuple(
            a
            for a, attribute in enumerate(self.domain.attributes)
            if all(column in columns for raw in attribute.columns for column in of_raw[raw].columns)
        )

    def table(self, encoded: Rows) -> pd.DataFrame:
        """Return the raw table that rows stand for as the forest sees them; it is as sensitive as the training data.

        Returns
        -------
        pandas.DataFrame
            None in place of a category that several values share, or of none.
        """
        made: dict[str, AnyArray] = {}
        for part in self._parts:
            name = self.encoder.name(part.source)
            if part.categories is None:
                made[name] = self._numbers(part, encoded)
            else:
                made[name] = _values(part.categories)[self._codes(part, encoded)]
        table: pd.DataFrame = pd.DataFrame(made)
        return table

    def _numbers(self, part: _RawColumn, encoded: Rows) -> FloatArray:
        return _undone(self.encoder.columns[part.columns[0]].steps, encoded[:, part.columns[0]].astype(np.float64))

    def _codes(self, part: _RawColumn, encoded: Rows) -> IntArray:
        """Return each row's category, `NO_CODE` for none, shape (n_rows,)."""
        traced = [self.encoder.columns[index] for index in part.columns]
        values = np.column_stack(
            [
                _undone(_tail(column), encoded[:, index].astype(np.float64))
                for index, column in zip(part.columns, traced, strict=True)
            ]
        )
        coders = [_coder(column) for column in traced]
        first = coders[0]
        if isinstance(first, OneHot):
            code_of = np.array([coder.code for coder in coders if isinstance(coder, OneHot)])
            some = (values > 0.5).any(axis=1)
            return np.where(some, code_of[values.argmax(axis=1)], first.dropped).astype(np.int64)
        if not isinstance(first, Ordinal):
            raise TypeError("a column without categories has no codes")
        return _nearest(values[:, 0], np.append(first.numbers, first.unknown))


def raw_columns(encoder: Encoder, domain: Domain, indicators: Indicators | None = None) -> RawColumns:
    """Return the raw columns behind a forest's columns.

    Of a raw column that was encoded several times the one is taken that loses the least: numbers before categories,
    many categories before few, and last what a function has made of numbers that cannot be undone. A one-hot group
    that the raw table had already is one attribute of several columns.

    Parameters
    ----------
    domain : Domain
        Of the forest's columns.
    indicators : Indicators or None
        Those among the columns; None where all are as they are written.
    """
    parts: list[_RawColumn] = []
    attributes: list[Attribute] = []
    names: list[str] = []
    groups: dict[Attribute, list[int]] = {}
    for source in encoder.sources:
        part = _best(encoder, source)
        if part is None:
            continue
        name = encoder.name(source)
        start = len(names)
        if part.categories is None:
            found = domain.attributes[domain.attribute_of_column[part.columns[0]]]
            if found.kind == "one-hot":
                groups.setdefault(found, []).append(start)
            else:
                attributes.append(replace(found, name=name, columns=(start,)))
            names.append(name)
        else:
            attributes.append(_levels(name, start, part.n_levels))
            names += [f"{name}[{level}]" for level in range(part.n_levels)]
        parts.append(part)
    for found, columns in groups.items():
        if len(columns) == len(found.columns):
            attributes.append(replace(found, columns=tuple(columns)))
        else:  # the rest is rebuilt from another encoding of it
            attributes += [Attribute(names[column], "binary", (column,)) for column in columns]
    attributes.sort(key=lambda attribute: attribute.columns)
    source_text = "the raw columns behind the forest's columns"
    return RawColumns(
        encoder, Domain(tuple(names), tuple(attributes), source_text), indicators or Indicators.none(), tuple(parts)
    )


def _coder(column: Column) -> OneHot | Ordinal | None:
    """Return the step that turned values into categories, None without one."""
    return next((step for step in reversed(column.steps) if isinstance(step, (OneHot, Ordinal))), None)


def _tail(column: Column) -> tuple[Step, ...]:
    """Return the steps behind the one that turned values into categories."""
    coder = _coder(column)
    return column.steps if coder is None else column.steps[column.steps.index(coder) + 1 :]


def _is_plain(column: Column) -> bool:
    """Return whether the categories' numbers reach the forest as they are."""
    return all(isinstance(step, (Together, IsMissing)) for step in _tail(column))


def _one_hot_columns(encoder: Encoder) -> dict[Categories, list[int]]:
    """Return the forest's columns that hold the categories of one raw column, for each encoder of one."""
    found: dict[Categories, list[int]] = {}
    for index, column in enumerate(encoder.columns):
        if isinstance(coder := _coder(column), OneHot):
            found.setdefault(coder.categories, []).append(index)
    return found


def _groups(encoder: Encoder, rows: Rows) -> list[Attribute]:
    """Return the one-hot groups of which each row has exactly one."""
    groups = []
    for categories, indices in _one_hot_columns(encoder).items():
        complete = len(indices) == categories.n_codes >= 2 and categories.complete
        if (
            complete
            and all(_is_plain(encoder.columns[i]) for i in indices)
            and (rows[:, indices].sum(axis=1) == 1).all()
        ):
            groups.append(Attribute(encoder.name(encoder.columns[indices[0]].source), "one-hot", tuple(indices)))
    return groups


def _ordinals(encoder: Encoder, columns: tuple[str, ...], rows: Rows) -> list[Attribute]:
    """Return the ordinal codes that are whole numbers without a gap."""
    found = []
    for index, (column, name) in enumerate(zip(encoder.columns, columns, strict=True)):
        coder = _coder(column)
        if not isinstance(coder, Ordinal) or not coder.categories.complete or not _is_plain(column):
            continue
        numbers = np.sort(coder.numbers[~np.isnan(coder.numbers)])
        gap = len(numbers) < len(coder.numbers)
        values = rows[:, index]
        if not len(numbers) or (np.diff(numbers) != 1).any() or not numbers[0].is_integer():
            continue
        if np.isin(values[~np.isnan(values)], numbers).all() and (gap or not np.isnan(values).any()):
            found.append(Attribute(name, "ordinal", (index,), float(numbers[0]), float(numbers[-1]), gap))
    return found


def _best(encoder: Encoder, source: int) -> _RawColumn | None:
    """Return where a raw column is rebuilt from, None where nothing but gaps in it reach the forest."""
    by_categories: dict[Categories, list[int]] = {}
    numbers: list[int] = []
    for index, column in enumerate(encoder.columns):
        if column.source != source or column.is_product:
            continue
        coder = _coder(column)
        if coder is not None:
            by_categories.setdefault(coder.categories, []).append(index)
        elif not any(isinstance(step, IsMissing) for step in column.steps):
            numbers.append(index)
    lossless = [index for index in numbers if not any(loses(step) for step in encoder.columns[index].steps)]
    if numbers and (lossless or not by_categories):
        return _RawColumn(source, ((lossless or numbers)[0],))
    if not by_categories:
        return None
    best = max(by_categories, key=lambda categories: categories.n_codes)
    coders = [_coder(encoder.columns[index]) for index in by_categories[best]]
    seen = {code for coder in coders if isinstance(coder, OneHot) for code in (coder.code, coder.dropped)} - {NO_CODE}
    complete = best.complete and (len(seen) == best.n_codes or isinstance(coders[0], Ordinal))
    return _RawColumn(source, tuple(by_categories[best]), best, best.n_codes + (not complete))


def _undone(steps: tuple[Step, ...], values: FloatArray) -> FloatArray:
    """Return values as they were before they were scaled and put through functions."""
    for step in reversed(steps):
        if isinstance(step, Scale):
            for operation, operand in reversed(step.operations):
                values = _UNDONE[operation](values, operand.astype(np.float64))
        elif isinstance(step, (Apply, Power, Quantiles, Bin)):
            values = straightened(values, step)
    return values


def _levels(name: str, start: int, width: int) -> Attribute:
    """Return the attribute of a raw column with so many categories."""
    if width == 1:
        return Attribute(name, "ordinal", (start,), 1.0, 1.0)
    return Attribute(name, "one-hot", tuple(range(start, start + width)))


def _values(categories: Categories) -> NDArray[np.object_]:
    """Return the value of each category, None where several share it, and a last None, shape (n_codes + 1,)."""
    shared = np.bincount(categories.codes, minlength=categories.n_codes)
    found: NDArray[np.object_] = np.full(categories.n_codes + 1, None, dtype=object)
    for value, code in zip(categories.values, categories.codes, strict=True):
        if shared[code] == 1:
            found[code] = value
    return found


def _nearest(values: FloatArray, numbers: FloatArray) -> IntArray:
    """Return the position of the nearest number, of the missing one for missing values; the last stands for none."""
    last = len(numbers) - 1
    gaps = np.flatnonzero(np.isnan(numbers))
    ascending = np.argsort(numbers, kind="stable")[: len(numbers) - len(gaps)]
    known = numbers[ascending]
    found = np.append(ascending, last)[np.searchsorted((known[1:] + known[:-1]) / 2, values)]
    found = np.where(np.isnan(values), gaps[0] if len(gaps) else last, found)
    return np.where(found == last, NO_CODE, found).astype(np.int64)


_RAND_R_MAX = 2**31 - 1
"""The largest number that scikit-learn's generator gives."""

_MIDDLE = 1e-10
"""Nearer to the middle than any draw but that of a midpoint: draws are 5e-10 apart."""


@dataclass(frozen=True, eq=False, repr=False)
class Indicators:
    """The columns of two values that are not 0 and 1, and what these are."""

    columns: IntArray
    """Shape (n_indicators,)."""
    low: FloatArray
    high: FloatArray
    """`low` and `high`, shape (n_indicators,)."""

    def __repr__(self) -> str:
        return f"Indicators({len(self.columns)} columns, values not shown)"

    @classmethod
    def of(cls, rows: Rows, spared: Collection[int] = ()) -> Indicators:
        """Return the columns of training rows with two values, a missing one aside, but for those that are spared."""
        found = []
        for column in range(rows.shape[1]):
            values = np.unique(rows[:, column])
            values = values[~np.isnan(values)].astype(np.float64)
            if len(values) == 2 and tuple(values) != (0.0, 1.0) and column not in spared:
                found.append((column, *values))
        columns, low, high = np.array(found, dtype=np.float64).reshape(-1, 3).T
        return cls(columns.astype(np.int64), low, high)

    @classmethod
    def none(cls) -> Indicators:
        """Return no columns: all is as it is written."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))

    def rows(self, written: Rows) -> Rows:
        """Return rows with indicators; other values than the two lie between or beside 0 and 1."""
        rows: Rows = written.copy()
        rows[:, self.columns] = (written[:, self.columns] - self.low) / (self.high - self.low)
        return rows

    def written(self, rows: Rows) -> Rows:
        """Return rows with indicators as they are written."""
        written: Rows = rows.copy()
        share = rows[:, self.columns].astype(np.float64)
        written[:, self.columns] = np.where(share == 1, self.high, self.low + share * (self.high - self.low))
        return written

    def model(self, model: Forest | RuleList) -> Forest | RuleList:
        """Return a model that does with indicators what it does with what is written."""
        if not len(self.columns):
            return model
        if isinstance(model, Forest):
            return replace(model, trees=tuple(self._tree(tree) for tree in model.trees))
        return replace(model, rules=tuple(self._rule(rule) for rule in model.rules))

    def literal(self, literal: Literal, column: int) -> Literal:
        """Return a test of a column as it is written as one of the indicator, where the column is one."""
        found = np.flatnonzero(self.columns == column)
        if not len(found):
            return literal
        place = int(found[0])
        of_low, of_high = literal.holds(np.array([self.low[place], self.high[place]]))
        inside = {(True, True): (-1.0, 1.0), (True, False): (-1.0, 0.0), (False, True): (0.0, 1.0)}
        low, high = inside.get((bool(of_low), bool(of_high)), (1.0, 2.0))
        return replace(literal, low=low, high=high, negated=False)

    def _rule(self, rule: ListedRule) -> ListedRule:
        return replace(rule, literals=tuple(self.literal(one, one.column) for one in rule.literals))

    def _tree(self, tree: Tree) -> Tree:
        threshold = tree.threshold.copy()
        for column, low, high in zip(self.columns, self.low, self.high, strict=True):
            here = (tree.feature == column) & np.isfinite(threshold)
            place = (threshold[here] - low) / (high - low)
            drawn = np.rint(place * _RAND_R_MAX) / _RAND_R_MAX  # as scikit-learn computes it between 0 and 1
            inside = np.where(np.abs(place - 0.5) <= _MIDDLE, 0.5, np.clip(drawn, 0.0, np.nextafter(1.0, 0.0)))
            beside = np.where(threshold[here] < low, -1.0, 2.0)
            threshold[here] = np.where((threshold[here] >= low) & (threshold[here] < high), inside, beside)
        return replace(tree, threshold=threshold)
