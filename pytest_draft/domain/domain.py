"""The domain of a forest's input: its attributes, and with them vectors, random rows and what a row may not be.

The lowest and the highest value of a column are the values of two people, so no output may show them: `coarse` shows
powers of ten around them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.domain.attribute import Attribute, Kind
from pytest_draft.errors import DataError, one_line


@dataclass(frozen=True)
class Domain:
    """The attributes of a forest's input, each encoded column belonging to exactly one."""

    columns: tuple[str, ...]
    """Names of the encoded columns, in the forest's order."""
    attributes: tuple[Attribute, ...]
    source: str
    """``inferred from the training data`` or the name of a domain file."""

    def __post_init__(self) -> None:
        owners = sorted(column for attribute in self.attributes for column in attribute.columns)
        if owners != list(range(len(self.columns))):
            raise DataError("a domain must give each column to exactly one attribute")

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self.columns)

    @cached_property
    def attribute_of_column(self) -> IntArray:
        """Position among `attributes` of the one that holds each encoded column, shape (n_columns,)."""
        found = np.empty(self.n_columns, dtype=np.int64)
        for a, attribute in enumerate(self.attributes):
            found[list(attribute.columns)] = a
        return found

    @cached_property
    def place_of_column(self) -> IntArray:
        """Position of each encoded column among its attribute's own, shape (n_columns,)."""
        found = np.empty(self.n_columns, dtype=np.int64)
        for attribute in self.attributes:
            found[list(attribute.columns)] = np.arange(len(attribute.columns))
        return found

    def columns_of(self, attributes: Iterable[int]) -> list[int]:
        """Return the encoded columns of some attributes, which are given by position, ascending."""
        return sorted(column for a in attributes for column in self.attributes[a].columns)

    def restricted(self, attributes: Sequence[int]) -> Domain:
        """Return the domain of some attributes and of their encoded columns, in the order of this domain's columns.

        Parameters
        ----------
        attributes : sequence of int
            Positions of the attributes, in the order that they are to have.

        Returns
        -------
        Domain
            Column ``i`` of it is column ``columns_of(attributes)[i]`` of this one.
        """
        columns = self.columns_of(attributes)
        position = {column: i for i, column in enumerate(columns)}
        kept = tuple(
            replace(self.attributes[a], columns=tuple(position[column] for column in self.attributes[a].columns))
            for a in attributes
        )
        return Domain(tuple(self.columns[column] for column in columns), kept, self.source)

    @property
    def n_vectors(self) -> int:
        """How many vectors the domain allows (exact, as a Python integer).

        Raises
        ------
        NotCoveredError
            Where an attribute is numeric or may be missing.
        """
        return math.prod(attribute.n_values for attribute in self.attributes)

    def by_column(self, of: Callable[[Attribute], Any]) -> AnyArray:
        """Return for each encoded column something of its attribute, shape (n_columns, ...)."""
        return np.array([of(attribute) for attribute in self.attributes])[self.attribute_of_column]

    @property
    def ranges(self) -> FloatArray:
        """Range of each encoded column, shape (n_columns,)."""
        return self.by_column(lambda attribute: float(attribute.high - attribute.low))

    @property
    def reach(self) -> FloatArray:
        """Largest ``x`` and largest ``-x`` of each encoded column, shape (n_columns, 2).

        Trees see a value's nearest float32, which can lie outside of the value's own bounds.
        """
        bounds = self.by_column(lambda attribute: (attribute.high, -attribute.low))
        return bounds.astype(np.float32).astype(np.float64)

    def encoded(self, indices: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return encoded rows, shape (n_rows, n_columns), given the index of each attribute's value."""
        rows = np.empty((len(indices), self.n_columns), dtype=np.float32)
        for a, attribute in enumerate(self.attributes):
            rows[:, list(attribute.columns)] = attribute.encoded(indices[:, a].astype(np.int64))
        return rows

    def indices(self, rows: NDArray[np.float32]) -> IntArray:
        """Return the index of each attribute's value in encoded rows of the domain: what `encoded` was given.

        Returns
        -------
        ndarray of int64, shape (n_rows, n_attributes)
        """
        found = np.empty((len(rows), len(self.attributes)), dtype=np.int64)
        for a, attribute in enumerate(self.attributes):
            found[:, a] = attribute.index(rows[:, list(attribute.columns)])
        return found

    def vectors(self) -> NDArray[np.float32]:
        """Return every vector that the domain allows, shape (n_vectors, n_columns)."""
        shape = [attribute.n_values for attribute in self.attributes]
        total = math.prod(shape)
        result = np.empty((total, self.n_columns), dtype=np.float32)
        period = total
        for attribute, n_values in zip(self.attributes, shape, strict=True):
            period //= n_values
            value = (np.arange(total) // period) % n_values
            result[:, list(attribute.columns)] = attribute.encoded(value)
        return result

    def uniform(self, n_rows: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return rows drawn uniformly from the domain, shape (n_rows, n_columns): the random baseline's guesses."""
        result = np.empty((n_rows, self.n_columns), dtype=np.float32)
        for attribute in self.attributes:
            result[:, list(attribute.columns)] = attribute.uniform(n_rows, rng)
        return result

    def outside(self, rows: FloatArray) -> dict[str, int]:
        """Return, by attribute, how many rows the domain does not allow.

        Returns
        -------
        dict of str to int
            Only attributes with at least one such row.
        """
        found: dict[str, int] = {}
        for attribute in self.attributes:
            bad = attribute.outside(rows[:, list(attribute.columns)])
            if bad.any():
                found[attribute.name] = int(bad.sum())
        return found

    @property
    def granted(self) -> tuple[str, ...]:
        """What the adversary is told of the data by this domain, in lines without any bound."""
        return self.granting()

    def granting(self, *, coarse: bool = False) -> tuple[str, ...]:
        """Return what the adversary is told of the data by this domain, a line for each kind of attribute.

        The adversary knows each bound exactly. The lines go into reports, which others read, so they don't.

        Parameters
        ----------
        coarse : bool
            Whether powers of ten around the bounds are given.
        """
        lines = [f"names and order of {self.n_columns} columns"]
        kinds: dict[Kind, list[Attribute]] = defaultdict(list)
        for attribute in self.attributes:
            kinds[attribute.kind].append(attribute)
        if kinds["binary"]:
            lines.append(f"{len(kinds['binary'])} binary columns")
        for attribute in kinds["one-hot"]:
            none = ", or none of them" if attribute.dropped else ""
            lines.append(f"one-hot group {one_line(attribute.name)}: {len(attribute.columns)} columns{none}")
        for kind in ("ordinal", "numeric"):
            for attribute in kinds[kind]:
                lines.append(
                    f"{kind} {one_line(attribute.name)}: {_known_values(attribute)}{_coarse(attribute) * coarse}"
                )
        if missing := [one_line(attribute.name) for attribute in self.attributes if attribute.missing]:
            lines.append(f"that values may be missing in {len(missing)} columns: {', '.join(missing)}")
        return tuple(lines)


def without(domain: Domain, columns: Collection[int]) -> Domain:
    """Return a domain without some encoded columns, which its other ones determine.

    A one-hot group that loses some of its columns has a dropped value, and is binary where one column is left.
    """
    kept = [column for column in range(domain.n_columns) if column not in columns]
    position = {column: place for place, column in enumerate(kept)}
    attributes = []
    for attribute in domain.attributes:
        own = tuple(position[column] for column in attribute.columns if column in position)
        if len(own) == 1 < len(attribute.columns):
            attributes.append(Attribute(domain.columns[kept[own[0]]], "binary", own))
        elif own:
            dropped = attribute.dropped or len(own) < len(attribute.columns)
            attributes.append(replace(attribute, columns=own, dropped=dropped))
    return Domain(tuple(domain.columns[column] for column in kept), tuple(attributes), domain.source)


def _known_values(attribute: Attribute) -> str:
    """Return which values of an ordinal or numeric attribute the adversary knows."""
    if attribute.kind == "numeric":
        return "its lowest and its highest value"
    if attribute.values is not None:
        return f"its {len(attribute.values)} values"
    return "its one value" if attribute.low == attribute.high else "whole numbers from its lowest to its highest"


def _coarse(attribute: Attribute) -> str:
    low, high = coarsened(attribute.low, attribute.high)
    return f" (all from {low:,.12g} to {high:,.12g})"


def coarsened(low: float, high: float) -> tuple[float, float]:
    """Return bounds that show the signs and the orders of magnitude of two finite values, in order, and no more.

    Returns
    -------
    tuple of float
        0, where no value lies beyond it, or else the next power of ten farther from 0. None but 0 is ever `low` or
        `high` itself.

    Examples
    --------
    >>> coarsened(17.0, 98.7)
    (0.0, 100.0)
    >>> coarsened(-0.02, 100.0)
    (-0.1, 1000.0)
    """
    return 0.0 - _beyond(-low), _beyond(high)


def _beyond(value: float) -> float:
    """Return the next power of ten above a positive value, and 0 for any other; infinity, where float64 holds none."""
    if value <= 0:
        return 0.0
    exponent = int(f"{value:.17e}".partition("e")[2])
    power = float(f"1e{exponent + 1}") if exponent < 308 else math.inf
    return power if power > value else float(f"1e{exponent + 2}")
