"""The search for copies of training data in a file's arrays.

In which form a table is written makes no difference: turned round, row by row or column by column, in pieces, in half
precision, with scaled columns, among other values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.world.account import FEWEST_ROWS
from pytest_draft.artifact.world.contents import Contents, Stored
from pytest_draft.audit.chance import ENOUGH
from pytest_draft.audit.known_data import KnownData, RowTable
from pytest_draft.audit.value_hashes import (
    Identities,
    comparable,
    each_alone,
    hashes_of_rows,
    ranks_of,
    row_hashes,
    spread_of,
)
from pytest_draft.errors import one_line
from pytest_draft.facts.contents import Copy
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

MOST_TIMES_AS_WIDE = 4
"""An array of another form is cut into columns where it makes at most so many times as many as there are."""

_SECONDS_PER_START = 1e-8
"""Measured: a row that may start at each value is hashed in 2 to 3 ns a column, in some forms."""

_SECONDS_PER_VALUE = 1e-7
"""Measured: hashing, sorting and comparing numbers takes 0.05 to 0.1 us a value."""


def find_copies(contents: Contents, known: KnownData, timebox: TimeBox) -> tuple[list[Copy], list[str]]:
    """Return the arrays that hold training data, and why one may have been missed.

    Parameters
    ----------
    timebox : TimeBox
        Arrays that are left when it ends are not compared.

    Returns
    -------
    copies : list of Copy
    doubts : list of str
        A sentence each.
    """
    copies: list[Copy] = []
    doubts: list[str] = []
    arrays = (*contents.arrays, *contents.learned)
    search = _CopySearch(known, sum(_columns_in(stored.shape, known.n_rows) for stored in arrays), timebox)
    work = known.size * _SECONDS_PER_VALUE
    for number, stored in enumerate(arrays):
        size = math.prod(stored.shape)
        if not known.can_hold(size) or any(_is_in(stored.path, copy.path) for copy in copies[-1:]):
            continue
        work += size * _SECONDS_PER_VALUE
        if timebox.over or not timebox.allows(work):
            left = len(arrays) - number
            doubts.append(
                f"the time box ended before {left:,} arrays of the file were compared with the training data: give it "
                "more with --draft-budget"
            )
            break
        timebox.spend(work)
        work = 0.0
        try:
            copy = search.copy_in(stored)
        except ValueError as error:
            doubts.append(f"{one_line(stored.path)} is {error}, which was not compared")
            continue
        if copy is not None:
            copies.append(copy)
    return [*copies, *search.in_pieces()], doubts


def _is_in(path: str, found: str) -> bool:
    """Return whether an array is a part of one in which a copy was found."""
    shown = one_line(path)
    return shown == found or shown.startswith((f"{found}[", f"{found}("))


def _columns_in(shape: tuple[int, ...], n_rows: int) -> int:
    """Return how many columns of the training data's length an array can be cut into."""
    size = math.prod(shape)
    return size // n_rows if size % n_rows == 0 else 0


class _CopySearch:
    """The search for training data in one array after the other; `tries` columns in all, each a chance for chance."""

    def __init__(self, known: KnownData, tries: int, timebox: TimeBox) -> None:
        self._known = known
        self._timebox = timebox
        self._tries = max(1, tries)
        self._pieces: dict[int, list[tuple[str, int, Identities]]] = {}

    def copy_in(self, stored: Stored) -> Copy | None:
        """Return what an array holds of the training data, None for nothing; ValueError if it cannot be looked at."""
        values = comparable(stored.values())
        rows, loose = (0, []) if _is_of_quantiles(values) else self._rows_by_form(values)
        if not rows and not _is_of_quantiles(values):
            rows = self._rows_anywhere(values)
        columns, nearly = self._columns(values), 0
        if not (rows or columns or _is_of_quantiles(values)):
            rows = self._rows_of_scaled_columns(values)
            nearly = 0 if rows else self._rows_nearly(values)
        if rows or columns or nearly:
            return Copy(one_line(stored.path), stored.shape, rows or nearly, columns, nearly=nearly > 0)
        if not stored.joined:
            for of, tried, hashes in loose:
                self._pieces.setdefault(of, []).append((one_line(stored.path), tried, hashes))
        return None

    def in_pieces(self) -> Iterator[Copy]:
        """Return the copies of which each piece says too little by itself, the one of the most rows."""
        best: Copy | None = None
        for number, table in enumerate(self._known.tables):
            pieces = self._pieces.get(number, [])
            if not pieces:
                continue
            found, bits = table.found_in(
                np.concatenate([hashes for _, _, hashes in pieces]), sum(n for _, n, _ in pieces)
            )
            if bits >= ENOUGH.anywhere and (best is None or found > best.rows):
                others = len(pieces) - 1
                path = pieces[0][0] + f" and {others:,} more array{'s' * (others != 1)}" * (others > 0)
                best = Copy(path, (sum(n for _, n, _ in pieces), table.width), found, 0)
        return iter(() if best is None else (best,))

    def _rows_by_form(self, values: AnyArray) -> tuple[int, list[tuple[int, int, Identities]]]:
        """Return how many rows an array holds that has the form of a table; and the rows that are too few to tell."""
        most = 0
        loose: list[tuple[int, int, Identities]] = []
        for table in _as_tables(values):
            if table.shape[1] not in self._known.widths:
                continue
            theirs = hashes_of_rows(table)
            for number, of in enumerate(self._known.tables):
                if theirs is None or of.width != table.shape[1]:
                    continue
                for against in (of, of.halved):
                    if against is not None:
                        found, bits = against.found_in(theirs)
                        most = max(most, found if bits >= ENOUGH.anywhere else 0)
                fits = theirs[np.isin(theirs, of.hashes)]
                if len(fits):
                    loose.append((number, len(theirs), fits))
        return most, loose

    def _rows_of_scaled_columns(self, values: AnyArray) -> int:
        """Return how many rows stand in a table with all of them, by the ranks of their values in each column."""
        most = 0
        for table in _as_tables(values):
            if len(table) == self._known.n_rows and (ranks := ranks_of(list(table.T))) is not None:
                for of in self._known.tables:
                    if of.width == table.shape[1] and of.ranked is not None and of.ranked.spread == spread_of(ranks):
                        found, bits = of.ranked.found_in(row_hashes(ranks))
                        most = max(most, found if bits >= ENOUGH.anywhere else 0)
            for of in self._known.tables:
                if of.width == table.shape[1] and values.ndim == 2 and not self._timebox.over:
                    most = max(most, of.scaled_in(table))
        return most

    def _rows_nearly(self, values: AnyArray) -> int:
        """Return how many rows stand in an array nearly, such as times a factor each, or with noise."""
        tables = list(_as_tables(values)) if values.dtype.kind in "biuf" and not self._timebox.over else []
        if values.ndim == 1 and tables and not (np.diff(values) >= 0).all():
            cut = [values.reshape(-1, width) for width in self._known.widths if len(values) % width == 0]
            tables += [*cut, *(table.reshape(table.shape[::-1]).T for table in cut)]
        return max(
            (
                of.near.found_in(table)
                for table in tables
                for of in self._known.tables
                if of.width == table.shape[1] > 1 and len(table) >= FEWEST_ROWS
            ),
            default=0,
        )

    def _rows_anywhere(self, values: AnyArray) -> int:
        """Return how many rows stand in an array of any form, one value of a row after the other."""
        most = 0
        forms = [values.ravel()]
        if values.ndim > 1:
            forms.append(values.swapaxes(-1, -2).ravel())
        for flat in forms:
            hashed = each_alone(flat)
            if hashed is None:
                continue
            if self._known.most_in_a_run(hashed) < min(self._known.widths):
                continue  # no row stands in it
            seconds = _SECONDS_PER_START * len(hashed) * sum(self._known.widths)
            if not self._timebox.allows(seconds):
                raise ValueError("too long to be searched for rows in the time box (--draft-budget)")
            self._timebox.spend(seconds)
            for width in sorted(self._known.widths):
                if 1 < width <= len(hashed):
                    tables = [of for of in self._known.tables if of.width == width]
                    tables += [of.halved for of in tables if of.halved is not None]
                    most = max(most, _rows_in(hashed, tables, width, values.shape[-1]))
        return most

    def _columns(self, values: AnyArray) -> int:
        """Return how many training columns an array holds, in any form."""
        n_rows = self._known.n_rows
        if not n_rows or values.size % n_rows or not values.size:
            return 0
        flat = values.ravel()
        tables = [table for table in _as_tables(values) if len(table) == n_rows]
        few = len(flat) // n_rows <= MOST_TIMES_AS_WIDE * self._known.n_columns
        if few and (not tables or values.ndim > 2):
            tables += [flat.reshape(n_rows, -1), flat.reshape(-1, n_rows).T]
        return max((self._known.columns_in(table, self._tries) for table in tables), default=0)


def _rows_in(hashed: Identities, tables: Sequence[RowTable], width: int, length: int) -> int:
    """Return how many rows of some tables of one width stand in a sequence of values, which has rows of a length."""
    strides = {width, length} if length > width else {width}
    found, starts = 0, len(hashed) - width + 1
    orders = [hashed]
    if len(hashed) % width == 0 and len(hashed) > width:
        orders.append(hashed.reshape(width, -1).T.ravel())  # column by column
    for order in orders:
        hashes = row_hashes([order[at : at + starts] for at in range(width)])
        for of in tables:
            fits = np.flatnonzero(np.isin(hashes, of.hashes))
            if not len(fits):
                continue
            anywhere = of.found_in(hashes[fits], starts)
            found = max(found, anywhere[0] if anywhere[1] >= ENOUGH.anywhere else 0)
            for stride in strides:
                start = int(np.bincount(fits % stride, minlength=stride).argmax())  # most rows begin at such a place
                rows, bits = of.found_in(hashes[start::stride])
                found = max(found, rows if bits - np.log2(stride) >= ENOUGH.anywhere else 0)
    return found


def _is_of_quantiles(values: AnyArray) -> bool:
    """Return whether all columns of a table rise together, or all rows: so do quantiles, and rows of people do not."""
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        return False
    for table in (values, values.T):
        if len(table) > 2 and table.shape[1] > 1:
            rising = (table[1:] >= table[:-1]).all()
            if rising and (table[-1] > table[0]).any():
                return True
    return False


def _as_tables(values: AnyArray) -> Iterator[AnyArray]:
    """Return an array as the tables that it can be, rows by columns."""
    if values.ndim == 0:
        yield values.reshape(1, 1)
    elif values.ndim == 1:
        yield values[:, None]
        yield values[None, :]
    elif values.ndim == 2:
        yield values
        yield values.T
    else:
        yield values.reshape(len(values), -1)
        yield values.reshape(-1, values.shape[-1])
