"""Finds the rows and the columns that a model was trained on, and says how much its file confirms of them.

First the rows, by what labels add up to at the roots of the trees; then the columns, one by one, from the roots down;
then all counts and sums. A way that does not explain all is none: nothing here is a best guess.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray, Rows
from pytest_draft.data import Table, TrainingData
from pytest_draft.errors import OutOfTimeError, listed, one_line
from pytest_draft.finding.columns import Candidate, allowed, candidates_of, of_training, tidied
from pytest_draft.finding.evidence import bits_of_places, bits_of_roots, mutated
from pytest_draft.finding.labels import Labels
from pytest_draft.finding.orders import MOST_SEEDS, SORTED, USUAL, cleanings, folds, orders, sizes_of
from pytest_draft.finding.scaling import LINE, scaled
from pytest_draft.finding.told import Told
from pytest_draft.finding.walk import Walked, Walker, learned_orders
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # frames here hold rows

LEAST_BITS = 10
"""Margin from which rows are taken, unconfirmed, where no others that were tried explain the file."""

_APART = ""
"""Stands for the name of labels that are no column of the table."""

_MAIN = 8
"""Cleanings of which many seeds are tried, and folds."""

_MOST_HOPEFUL = 5
"""Rows in no order, of each block, with whose columns it is gone further."""

_BLOCK = 100
"""Seeds that are tried of one cleaning before the next one's turn."""

_MOST_FAILED = 1_000
"""Nodes that are not explained, after which it is known which columns are not."""

_MOST_WALKS = 60
"""To settle columns of which several candidates are left."""

_MOST_SCALED = 12
"""Candidates of a column that are brought to the model's units."""

_TREES = 30
"""By so many trees (rounds) columns are settled at most, before all counts are asked."""


@dataclass(frozen=True, eq=False, repr=False)
class Given:
    """The training data of a file. Its repr shows no row."""

    table: object
    """The rows as they were given, in the order of fit."""
    data: TrainingData
    """The rows as the model saw them."""
    note: str | None = None
    """How they were found, and how far the file confirms them; None where they were given so."""
    confirmed: bool = False
    """Whether the file confirms each row that was found, in this order."""

    def __repr__(self) -> str:
        return f"Given({self.data!r})"


@dataclass(frozen=True, eq=False, repr=False)
class _Way:
    """Rows whose labels fit: how they were taken, and what they are as labels."""

    words: str
    kept: IntArray
    rows: IntArray
    labels: IntArray
    targets: FloatArray | None

    @property
    def same(self) -> bytes:
        """What two ways have in common that give the same rows, in whatever order."""
        return np.sort(self.rows).tobytes()


@dataclass(frozen=True, eq=False, repr=False)
class _Settled:
    """A way with its columns."""

    way: _Way
    rows: Rows
    words: tuple[str, ...]
    bits: float
    choices: float


class Search:
    """The search for the rows that a model was trained on, in a table that they were made from.

    Parameters
    ----------
    told : Told
        What the file says of rows in an order.
    table : Table
        All rows, as they were before any encoding.
    labels : pandas.Series or ndarray, length n_table
        As `labels_of` returns them.
    encoded : ndarray of float64, shape (n_table, n_columns), or None
        What the file's own transformers make of the table.
    names : tuple of str, length n_columns, or None
        Of the model's columns.
    seed : int
        Of the mutations.
    enough : float
        Margin from which rows are confirmed: the chance that others fit, times all that were tried, is 2 to minus this.

    Raises
    ------
    DataError
        Where the labels cannot be those of the model.
    """

    def __init__(
        self,
        told: Told,
        table: Table,
        labels: pd.Series[Any] | AnyArray,
        encoded: FloatArray | None,
        names: tuple[str, ...] | None,
        timebox: TimeBox,
        seed: int,
        enough: float,
    ) -> None:
        self._told, self._table, self._timebox, self._seed, self._enough = told, table, timebox, seed, enough
        self._forest, self._encoded = told.forest, encoded
        frame = tidied(table.frame.reset_index(drop=True).set_axis(table.names, axis=1))
        self._target = str(labels.name) if isinstance(labels, pd.Series) else _APART
        column = tidied(pd.DataFrame({self._target: np.asarray(labels).ravel()}))[self._target]
        self._features = frame.drop(columns=self._target, errors="ignore")
        self._frame = frame.assign(**{self._target: column})
        self._labels = Labels(column, told)
        self._tried = 0
        self._fitting: dict[bytes, _Settled] = {}
        self._nearest: tuple[int, str] | None = None
        self._pools: dict[tuple[int, bool], list[Candidate]] = {}
        self._hopeful: list[tuple[float, _Way]] = []
        self._names = names
        self._quick: dict[int, tuple[list[Candidate], BoolArray]] = {}

    def found(self) -> Given | str:
        """Return the rows, or why there are none."""
        seen: set[bytes] = set()
        try:
            for way in self._ways():
                if way is None:
                    settled = self._of_hopeful()
                    if self._best_margin() >= LEAST_BITS:
                        break
                elif way.same in seen and self._told.drawn is None:
                    continue
                else:
                    seen.add(way.same)
                    settled = self._settled(way, further=self._told.drawn is not None)
                if settled is not None:
                    self._fitting.setdefault(settled.way.same, settled)
                    if settled.bits - self._cost(settled) >= self._enough:
                        return self._made(settled)
        except OutOfTimeError:
            pass
        if self._best_margin() >= LEAST_BITS:
            return self._made(*self._fitting.values())
        return self._why()

    def _of_hopeful(self) -> _Settled | None:
        """Go further with those rows, in no order, of which most nodes were explained before something failed."""
        hopeful, self._hopeful = sorted(self._hopeful, key=lambda one: -one[0])[:_MOST_HOPEFUL], []
        for _, way in hopeful:
            if (settled := self._settled(way, further=True)) is not None:
                return settled
        return None

    def _best_margin(self) -> float:
        """Return the margin of the only rows that explain the file; 0 where there are none, or several."""
        if len(self._fitting) != 1:
            return 0.0
        (settled,) = self._fitting.values()
        return settled.bits - self._cost(settled)

    def _cost(self, settled: _Settled) -> float:
        """Return the power of 2 of what was tried."""
        return math.log2(max(1, self._tried)) + settled.choices

    def _ways(self) -> Iterator[_Way | None]:
        """Yield rows whose labels fit the roots of all trees: usual ones first; None after each block."""
        cleaned = cleanings(self._frame, self._target, self._names or (), self._timebox.require)
        seeded = [(words, kept) for words, kept in cleaned.items() if not words.startswith(SORTED)]
        whole, main, others = dict(seeded[:1]), dict(seeded[:_MAIN]), dict(seeded[_MAIN:])
        yield from self._block(cleaned, (), first=True)
        yield from self._block(main, USUAL)
        for words, kept in main.items():
            for size in self._sizes(len(kept)):
                for then, taken in folds(len(kept), size, self._labels.codings(kept)):
                    yield from self._fitting_ways(words, kept, then, kept[taken])
        yield None
        yield from self._block(whole, range(300))
        yield from self._block(others, USUAL)
        yield None
        for part, begin, end in ((main, 0, 500), (others, 0, 100), (main, 500, MOST_SEEDS)):
            for start in range(begin, end, _BLOCK):
                yield from self._block(part, range(start, start + _BLOCK))
            yield None

    def _block(self, cleaned: Mapping[str, IntArray], seeds: Sequence[int], *, first: bool = False) -> Iterator[_Way]:
        for words, kept in cleaned.items():
            for size in self._sizes(len(kept)):
                for then, taken in orders(len(kept), size, self._labels.codings(kept), seeds, first=first):
                    yield from self._fitting_ways(words, kept, then, kept[taken])

    def _sizes(self, n_kept: int) -> tuple[int, ...]:
        known = self._forest.n_samples
        return sizes_of(n_kept) if known is None else (known,)

    def _fitting_ways(self, words: str, kept: IntArray, then: str, rows: IntArray) -> Iterator[_Way]:
        self._timebox.require()
        self._tried += 1
        for labelled, labels, targets in self._labels.of(rows):
            said = [part for part in (words if words != "all rows" or not then else "", then, labelled) if part]
            yield _Way("; ".join(said), kept, rows, labels, targets)

    def _settled(self, way: _Way, *, further: bool) -> _Settled | None:
        """Return a way with its columns where it explains the whole file; `further`, also by ways less usual."""
        if not further and not self._first_fits(way):
            return None
        stages = (False, True) if further else (False,)
        if self._told.drawn is not None:  # the roots of all trees fit, so these are the rows
            stages = (True,)
        for extra in stages:
            candidates, tried = self._tried_columns(way, extra=extra)
            found = self._explained(way, candidates, tried, further=further, extra=extra)
            if found is not None or self._encoded is not None:
                return found
        return None

    def _tried_columns(self, way: _Way, *, extra: bool) -> tuple[list[Candidate], BoolArray]:
        n_columns = self._forest.n_features
        if self._encoded is not None:
            return self._of_encoder(), np.eye(n_columns, dtype=np.bool_)
        if (id(way.kept), extra) not in self._pools:
            self._pools[id(way.kept), extra] = candidates_of(
                self._features, way.kept, self._labels.codes, self._timebox.require, extra=extra
            )
        candidates = self._pools[id(way.kept), extra]
        if len(way.rows) < len(way.kept):
            candidates = candidates + of_training(self._features, way.rows, extra=extra)
        return candidates, allowed(self._names, n_columns, candidates, [*self._features.columns])

    def _of_encoder(self) -> list[Candidate]:
        assert self._encoded is not None
        return [Candidate("", f"column {j}", self._encoded[:, j]) for j in range(self._encoded.shape[1])]

    def _first_fits(self, way: _Way) -> bool:
        """Return whether some candidate explains the root of the first tree: most wrong rows end here."""
        key = id(way.kept)
        if key not in self._quick:
            self._quick[key] = self._tried_columns(replace(way, rows=way.kept), extra=False)
        candidates, tried = self._quick[key]
        return Walker(self._told, candidates, way.rows, way.labels, way.targets).fits_first(tried)

    def _explained(
        self, way: _Way, candidates: list[Candidate], tried: BoolArray, *, further: bool, extra: bool
    ) -> _Settled | None:
        """Return a way with its columns where some of the candidates explain the whole file."""
        walker = Walker(self._told, candidates, way.rows, way.labels, way.targets)
        used = np.unique(np.concatenate([tree.feature[tree.left >= 0] for tree in self._forest.trees]))
        at_most = 0 if self._told.drawn is None else _MOST_FAILED
        walked = walker.walk(tried, _TREES * self._told.by_round, self._timebox, at_most=at_most, used=used)
        for step in range(2 + extra if further and self._encoded is None else 0):
            if not walked.failed.any():
                break
            columns = used if not at_most else np.flatnonzero(walked.failed)
            candidates, tried = self._widened(step, columns, candidates, tried, (way, walker))
            walker = Walker(self._told, candidates, way.rows, way.labels, way.targets)
            walked = walker.walk(tried, _TREES * self._told.by_round, self._timebox, at_most=at_most, used=used)
        if walked.failed.any():
            self._note_failed(way, walked)
            return None
        narrowed = self._narrowed(walker, walked, iter(range(_MOST_WALKS)))
        if narrowed is None and not further:
            return None
        walker.strict, alive = False, (narrowed or walked).alive
        for n_trees in sorted({walked.n_trees, self._forest.n_trees}):  # all of which know more cuts
            again = walker.walk(alive, n_trees, self._timebox, at_most=at_most)
            found = None if again.failed.any() else self._checked(way, candidates, tried, again, used)
            if found is not None:
                return found
        self._note_failed(way, again)
        return None

    def _widened(
        self,
        step: int,
        columns: IntArray,
        candidates: list[Candidate],
        tried: BoolArray,
        at: tuple[_Way, Walker],
    ) -> tuple[list[Candidate], BoolArray]:
        """Return more candidates of columns: all of their raw columns, then all, then some with a learned order."""
        if step < 2:
            sources, tried = np.array([one.source for one in candidates]), tried.copy()
            for column in columns:
                own = np.unique(sources[tried[column]])
                tried[column] |= np.isin(sources, own) if step == 0 else np.True_
            return candidates, tried
        way, walker = at
        without = tried.copy()
        without[columns] = False  # so that none of their nodes is gone through by chance
        before = walker.walk(without, _TREES * self._told.by_round, self._timebox, at_most=_MOST_FAILED)
        for column in columns.tolist():
            learned = learned_orders(self._told, before, column, candidates, way.rows, walker)
            if learned:
                tried = np.column_stack([tried, np.zeros((len(tried), len(learned)), dtype=np.bool_)])
                tried[column] = np.arange(tried.shape[1]) >= len(candidates)
                candidates = [*candidates, *learned]
        return candidates, tried

    def _narrowed(self, walker: Walker, walked: Walked, left: Iterator[int]) -> Walked | None:
        """Return what is left, in so many walks, where each column takes one candidate that explains what follows."""
        column = next((one for one in walked.open if walked.alive[one].sum() > 1), None)
        if column is None:
            return walked
        for candidate in np.flatnonzero(walked.alive[column]):
            if next(left, None) is None:
                return None
            alive = walked.alive.copy()
            alive[column] = False
            alive[column, candidate] = True
            one = walker.walk(alive, walked.n_trees, self._timebox)
            if not one.failed.any() and (found := self._narrowed(walker, one, left)) is not None:
                return found
        return None

    def _note_failed(self, way: _Way, walked: Walked) -> None:
        failed = np.flatnonzero(walked.failed)
        if self._told.drawn is None:
            self._hopeful.append((float(walked.bits), way))
        if self._told.drawn is None and walked.tests.sum() < 3:
            return
        names = self._names
        which = listed([names[j] if names else f"column {j}" for j in failed])
        if self._nearest is None or len(failed) < self._nearest[0]:
            rows = "some of its nodes fit these rows and labels"
            if self._told.drawn is not None:
                rows = "these rows and labels, in this order, give the roots of all trees"
            how = way.words or "as they are"
            which = which or "some values"
            self._nearest = len(failed), f"{rows} ({how}), but they were encoded otherwise before fit(): {which}"

    def _checked(
        self, way: _Way, candidates: list[Candidate], tried: BoolArray, walked: Walked, used: IntArray
    ) -> _Settled | None:
        """Return the rows in the model's units, where they explain every count and sum of the file."""
        forest, n_rows = self._forest, len(way.rows)
        rows, words, taken = np.zeros((n_rows, forest.n_features), dtype=np.float32), list[str](), set[str]()
        choices, bits = 0.0, walked.bits + bits_of_roots(self._told, way.labels)
        for column in range(forest.n_features):
            alive = np.flatnonzero(walked.alive[column])
            if not len(alive) or (column not in used and not tried[column].sum() < len(candidates)):
                continue
            fresh = [one for one in alive.tolist() if self._names or candidates[one].source not in taken]
            fresh = fresh or alive.tolist()
            ways = []
            for one in fresh[:_MOST_SCALED]:
                held = candidates[one].values
                ways.append((*scaled(held[way.rows], held[way.kept], walked.cuts.get((column, one), [])), one))
            _, function, values, number = min(ways, key=lambda made: made[0])
            chosen, cuts = candidates[number], walked.cuts.get((column, number), [])
            taken.add(chosen.source)
            rows[:, column] = values
            if column in used:
                choices += math.log2(tried[column].sum())
            if cuts and function not in (None, LINE):
                bits += bits_of_places(walked.parted.get(column, [(1.0, 1.0)]), 1 - n_rows / max(n_rows, len(way.kept)))
            how = [part for part in (chosen.words, "known by its cuts alone" if function is None else function) if part]
            if how and self._encoded is None:
                words.append(f"{one_line(self._names[column] if self._names else chosen.source)}: {', '.join(how)}")
        if np.isinf(rows).any() or self._told.misses(rows, way.labels, way.targets):
            return None
        return _Settled(way, rows, tuple(words), bits, choices)

    def _made(self, settled: _Settled) -> Given:
        way, forest, table = settled.way, self._forest, self._table
        mutations = mutated(self._told, settled.rows, way.labels, self._seed)
        names = self._names or tuple(f"x{j}" for j in range(forest.n_features))
        settled.rows.flags.writeable = way.labels.flags.writeable = False
        data = TrainingData(settled.rows, way.labels, names, table.sha256, table.source, (), False, way.targets)
        is_sure = mutations.pins_rows and settled.bits - self._cost(settled) >= self._enough
        what = "confirmed by the file, in this order"
        if not is_sure:
            single = (
                "in an unknown order" if self._told.drawn is None else "but for single rows that it would not notice"
            )
            what = f"the only ones of {self._tried:,} tried that explain the file, {single}"
        words = (
            f"training rows found: {len(way.rows):,} of {len(table.frame):,} ({way.words or 'as they are'}), {what}; "
            f"others fit by chance in 1 of 2^{math.floor(settled.bits):,} tries ({self._tried:,} were made); "
            f"of changes the file notices: {mutations}"
        )
        if settled.words:
            words += f"; columns: {'; '.join(settled.words)}"
        return Given(table.taken(way.rows), data, words, is_sure)

    def _why(self) -> str:
        n_rows, n_given = self._forest.n_samples, len(self._table.frame)
        said = (
            "" if n_rows in (None, n_given) else f"it was trained on {n_rows:,} rows, and the table has {n_given:,}: "
        )
        if len(self._fitting) > 1:
            return (
                f"{said}{len(self._fitting):,} of {self._tried:,} ways to take rows of it explain the file equally well"
            )
        if self._nearest is not None:
            return f"{said}{self._nearest[1]}"
        return (
            f"{said}none of {self._tried:,} ways to take rows of it explains the file (cleanings, splits by the usual "
            "functions, seeds)"
        )
