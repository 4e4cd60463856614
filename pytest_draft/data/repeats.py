"""Removes columns that only repeat another one, from tables and forests alike.

A column that is written again, in its own values or in others, and a coarser one beside it say nothing about anybody.
So each is left out from here on, tests of it become tests of the column that it repeats, and a table that is written
several times is judged as if it were written once. What chance explains is no repeat: few rows with few values agree.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.domain import Domain, infer
from pytest_draft.domain.domain import without
from pytest_draft.domain.inference import UNLIKELY_EXCLUSIVE
from pytest_draft.errors import one_line
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

_SOME_ROWS = 16
"""Rows on which two columns are compared before all: they part most pairs."""

_SLACK = 1e-6
"""Share of a column's range up to which values lie on a line, and a threshold is a midpoint: single precision."""

_ROUNDING = 2.0**-46
"""Of halves and sums in double precision, relative."""


@dataclass(frozen=True, eq=False, repr=False)
class Repeat:
    """A column, and the one that it is a monotone function of. Its repr shows no value."""

    column: int
    of: int
    """`column` and `of`: positions among all columns: of what is left out, and of what is kept."""
    source: FloatArray
    image: FloatArray
    """`source` and `image`, shape (n_values,): the values of the column that is kept, ascending, without a missing one;
    and what the other one is there.
    """

    def __repr__(self) -> str:
        return f"Repeat({self.column} of {self.of}, values not shown)"

    @property
    def is_copy(self) -> bool:
        """Whether both hold the same values."""
        return np.array_equal(self.source, self.image)

    @property
    def is_coarser(self) -> bool:
        """Whether it has fewer values."""
        return bool((np.diff(self.image) == 0).any())

    @property
    def falls(self) -> bool:
        """Whether it falls as the other one rises."""
        return bool(self.image[-1] < self.image[0])

    @property
    def on_a_line(self) -> bool:
        """Whether it is the other one on another scale, so that midpoints stay midpoints."""
        slack = _SLACK * float(np.ptp(self.source))
        return not self.is_coarser and bool((np.abs(self._on_line(self.image) - self.source) <= slack).all())

    def _on_line(self, image: FloatArray) -> FloatArray:
        slope = (self.source[-1] - self.source[0]) / (self.image[-1] - self.image[0])
        return np.asarray(self.source[0] + (image - self.image[0]) * slope)

    def values(self, kept: FloatArray) -> FloatArray:
        """Return the values of the column where the kept one has these, which may be missing."""
        if not self.is_coarser:
            return np.asarray(np.interp(kept, self.source, self.image))
        place = np.searchsorted((self.source[1:] + self.source[:-1]) / 2, kept)
        return np.where(np.isnan(kept), np.nan, self.image[place])

    def threshold(self, written: float) -> tuple[float, bool]:
        """Return where the kept column is parted as this one is by a threshold; what goes left then may go right.

        And whether it is the midpoint of the same two values as there.
        """
        n_left = int((self.image <= written).sum())
        place = len(self.source) - n_left if self.falls else n_left
        if place == 0:
            return float(np.nextafter(self.source[0], -np.inf)), False
        if place == len(self.source):
            return float(self.source[-1]), False
        below, above = self.source[:place], self.source[place:]
        if self.is_coarser:
            return float(below[-1] / 2 + above[0] / 2), False
        middles, apart = self._middles(place, written)
        exact = middles[apart <= _ROUNDING * np.abs(self.image).max()]
        nearest = float(middles[np.argmin(apart)])
        agrees = len(exact) > 0 and np.ptp(exact) <= _ROUNDING * np.abs(self.source).max()
        if not agrees:
            wanted = float(self._on_line(np.array(written))) if self.on_a_line else np.nan
            agrees = abs(nearest - wanted) <= _SLACK * float(np.ptp(self.source))
            nearest = nearest if agrees else below[-1] / 2 + above[0] / 2
        found = np.clip(nearest, below[-1], np.nextafter(above[0], -np.inf))  # other rows' values can lie between
        return float(found), bool(agrees and found == nearest)

    def _middles(self, place: int, written: float) -> tuple[FloatArray, FloatArray]:
        """Return midpoints of a value on each side, and how far those of the same two are off in this column."""
        rising = -self.image if self.falls else self.image
        sought = (-2 if self.falls else 2) * written - rising[:place]
        partner = np.searchsorted(rising[place:], sought)
        pairs = place + np.concatenate([np.maximum(partner - 1, 0), np.minimum(partner, len(rising) - place - 1)])
        own = np.tile(np.arange(place), 2)
        middles = self.source[own] / 2 + self.source[pairs] / 2
        return middles, np.abs(self.image[own] / 2 + self.image[pairs] / 2 - written)


@dataclass(frozen=True, eq=False, repr=False)
class Repeats:
    """The columns of a table that repeat others, and what is left without them."""

    n_columns: int
    """Of the table as it is written."""
    repeats: tuple[Repeat, ...] = ()

    def __repr__(self) -> str:
        return f"Repeats({len(self.repeats)} of {self.n_columns} columns, values not shown)"

    @classmethod
    def of(
        cls, domain: Domain, rows: Rows, named: Collection[str] = (), timebox: TimeBox | None = None
    ) -> tuple[Repeats, Domain]:
        """Return the columns of training rows that repeat others more often than chance has it.

        And the domain that is inferred without them.

        Parameters
        ----------
        domain : Domain
            Inferred from the rows.
        rows : ndarray of float32, shape (n_rows, n_columns)
            With indicators.
        named : collection of str
            Columns and attributes that are asked for by name, and stay.

        Raises
        ------
        OutOfTimeError
            Where the time box ends before.
        """
        columns, table = domain.columns, _Coded.of(rows)
        keep = {index for index, name in enumerate(columns) if name in named}
        keep |= {column for one in domain.attributes if one.name in named for column in one.columns}
        pairs = _twins(table, keep, _grouped(domain))
        left, kept = _left(domain, range(len(columns)), pairs, rows, timebox)
        grouped = {kept[column] for column in _grouped(left)}
        nested = _nested(table, [column for column in kept if column not in keep], grouped, kept, timebox)
        ends = dict(nested)
        pairs = [(column, ends.get(of, of)) for column, of in pairs] + nested
        found = cls(len(columns), tuple(_repeat(rows, column, of) for column, of in sorted(pairs)))
        return found, _left(left, kept, nested, rows, timebox)[0]

    @property
    def kept(self) -> IntArray:
        """The columns that are left, ascending."""
        gone = [repeat.column for repeat in self.repeats]
        return np.setdiff1d(np.arange(self.n_columns), gone).astype(np.int64)

    @property
    def of_column(self) -> IntArray:
        """Which of the columns that are left determines each column, shape (n_columns,)."""
        found = np.arange(self.n_columns)
        for repeat in self.repeats:
            found[repeat.column] = repeat.of
        return np.searchsorted(self.kept, found).astype(np.int64)

    def granted(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return what the adversary learns by this, in words."""
        names = [f"{one_line(columns[one.column])} by {one_line(columns[one.of])}" for one in self.repeats]
        return (f"that {len(names)} columns are told by others: {', '.join(names)}",) if names else ()

    def rows(self, written: Rows) -> Rows:
        """Return rows without the columns that repeat others."""
        return written[:, self.kept]

    def domain(self, written: Domain) -> Domain:
        """Return a domain without these columns."""
        return without(written, [repeat.column for repeat in self.repeats])

    def written(self, rows: Rows) -> Rows:
        """Return rows with all columns again."""
        written = np.empty((len(rows), self.n_columns), dtype=np.float32)
        written[:, self.kept] = rows
        for repeat in self.repeats:
            written[:, repeat.column] = repeat.values(written[:, repeat.of].astype(np.float64))
        return written

    def model(self, forest: Forest) -> Forest:
        """Return a forest that tests what is left and parts rows as before."""
        if not self.repeats:
            return forest
        names = forest.feature_names
        return replace(
            forest,
            trees=tuple(self._tree(tree) for tree in forest.trees),
            n_features=len(self.kept),
            feature_names=None if names is None else tuple(names[column] for column in self.kept),
            of_column=self.of_column,
        )

    def _tree(self, tree: Tree) -> Tree:
        threshold = tree.threshold.copy()
        turned, no_midpoint = np.zeros((2, tree.n_nodes), dtype=np.bool_)
        for repeat in self.repeats:
            here = np.flatnonzero(tree.feature == repeat.column)
            if not repeat.is_copy and len(here):
                placed = [repeat.threshold(float(value)) for value in threshold[here]]
                threshold[here] = [one for one, _ in placed]
                no_midpoint[here] = [not is_midpoint for _, is_midpoint in placed]
                turned[here] = repeat.falls
        inner = tree.left >= 0
        return replace(
            tree,
            feature=np.where(inner, self.of_column[tree.feature], -1),
            threshold=threshold,
            left=np.where(turned, tree.right, tree.left),
            right=np.where(turned, tree.left, tree.right),
            missing_left=tree.missing_left ^ turned,
            no_midpoint=no_midpoint if no_midpoint.any() else None,
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Coded:
    """A table by the places of its values."""

    codes: IntArray
    """Shape (n_columns, n_rows)."""
    counts: tuple[IntArray, ...]
    """By column, the rows of each value."""
    complete: BoolArray
    """Shape (n_columns,). Whether no value is missing."""

    @classmethod
    def of(cls, rows: Rows) -> _Coded:
        found = [np.unique(column, return_inverse=True, return_counts=True) for column in rows.T]
        codes = np.array([one[1].reshape(-1) for one in found], dtype=np.int64).reshape(rows.shape[::-1])
        return cls(codes, tuple(one[2] for one in found), np.asarray(~np.isnan(rows).any(axis=0)))

    def surprise(self, column: int) -> float:
        """Return how unlikely, as a log-probability, values placed at random are those that another column gives."""
        counts = self.counts[column]
        ways = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
        return float(min(0.0, math.log(2) * (len(counts) > 2) - ways))  # they may rise or fall

    def order(self, column: int) -> bytes:
        """Return what two columns have in common that order all rows alike, or in opposite ways."""
        codes = self.codes[column]
        if len(self.counts[column]) == 2 or not self.complete[column]:
            return bytes(codes.tobytes())
        return bytes(min(codes.tobytes(), (len(self.counts[column]) - 1 - codes).tobytes()))


def _grouped(domain: Domain) -> set[int]:
    """Return the columns of one-hot groups."""
    return {column for one in domain.attributes if one.kind == "one-hot" for column in one.columns}


def _twins(table: _Coded, keep: set[int], grouped: set[int]) -> list[tuple[int, int]]:
    """Return columns that hold what another one holds, and that one: of a one-hot group, if some is.

    Where chance does not explain at least half of all columns that vary, columns were written again, and equal ones are
    that sooner than a coincidence.
    """
    alike: dict[tuple[bytes, bool], list[int]] = defaultdict(list)
    shape = {}
    for column, counts in enumerate(table.counts):
        if len(counts) > 1:
            alike[table.order(column), bool(table.complete[column])].append(column)
            given = tuple(counts.tolist())
            shape[column] = given if len(counts) == 2 else min(given, given[::-1])
    number = Counter(shape.values())

    def unlikely(group: list[int]) -> bool:
        n_alike = number[shape[group[0]]]
        sets = gammaln(n_alike + 1) - gammaln(len(group) + 1) - gammaln(n_alike - len(group) + 1)
        return bool(sets + (len(group) - 1) * table.surprise(group[0]) <= math.log(UNLIKELY_EXCLUSIVE))

    groups = [group for group in alike.values() if len(group) > 1]
    sure = [group for group in groups if unlikely(group)]
    found = []
    for group in groups if 2 * sum(map(len, sure)) >= len(shape) > 0 else sure:
        first = min(group, key=lambda column: (column not in keep, column not in grouped, column))
        found += [(column, first) for column in group if column != first and column not in keep]
    return found


def _left(
    domain: Domain, kept: Sequence[int], pairs: list[tuple[int, int]], rows: Rows, timebox: TimeBox | None
) -> tuple[Domain, list[int]]:
    """Return the domain without columns that repeat others, and which are left; `domain` is that of the `kept`."""
    gone = {column for column, _ in pairs}
    left = [column for column in kept if column not in gone]
    if gone:
        names = [name for name, column in zip(domain.columns, kept, strict=True) if column not in gone]
        domain = infer(names, rows[:, left].astype(np.float64), timebox)
    return domain, left


def _nested(
    table: _Coded, candidates: list[int], grouped: set[int], kept: list[int], timebox: TimeBox | None
) -> list[tuple[int, int]]:
    """Return columns outside one-hot groups that are coarser than another one, or the opposite of a group's column."""
    most = math.log(UNLIKELY_EXCLUSIVE / max(1, len(kept)) ** 2)
    n_values = np.array([len(counts) for counts in table.counts])
    in_group = np.isin(np.arange(len(n_values)), list(grouped))
    of = np.array([column for column in sorted(kept, key=lambda one: -n_values[one]) if table.complete[column]], int)
    ranked = np.array([_some_in_order(table.codes[column]) for column in of], int).reshape(len(of), _SOME_ROWS)
    found: list[tuple[int, int]] = []
    gone = np.zeros(len(n_values), dtype=np.bool_)
    for column in sorted(candidates, key=lambda one: -n_values[one]):
        number = n_values[column]
        if number < 2 or in_group[column] or not table.complete[column] or table.surprise(column) > most:
            continue
        if timebox is not None:
            timebox.require()
        told = np.where(in_group[of], (n_values[of] == 2) & (number == 2), n_values[of] > number) & ~gone[of]
        codes = table.codes[column]
        told &= np.abs(codes[ranked[:, 0]] - codes[ranked[:, -1]]) == number - 1
        step = np.diff(codes[ranked[told]], axis=1)
        for finer in of[told][(step >= 0).all(axis=1) | (step <= 0).all(axis=1)].tolist():
            if _follows(table, column, finer):
                found.append((column, finer))
                gone[column] = True
                break
    return found


def _some_in_order(codes: IntArray) -> IntArray:
    """Return some rows as a column orders them, the first and the last among them, shape (`_SOME_ROWS`,)."""
    order = np.argsort(codes, kind="stable")
    return np.asarray(order[np.linspace(0, len(order) - 1, _SOME_ROWS).astype(np.int64)])


def _follows(table: _Coded, column: int, of: int) -> bool:
    """Return whether a column never changes where another one does not, and only ever rises, or falls, with it."""
    source, image = table.codes[of], table.codes[column]
    order = np.argsort(source, kind="stable")
    step, rise = np.diff(source[order]), np.diff(image[order])
    return not ((rise[step == 0] != 0).any() or ((rise > 0).any() and (rise < 0).any()))


def _repeat(rows: Rows, column: int, of: int) -> Repeat:
    source, first = np.unique(rows[:, of], return_index=True)
    first = first[~np.isnan(source)]
    return Repeat(column, of, rows[first, of].astype(np.float64), rows[first, column].astype(np.float64))
