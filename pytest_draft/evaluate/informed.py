"""What somebody gets who knows all other rows: guesses from a file and the truth, and their figures on any part.

Row beside row, each guess is made from all other rows. Beside the split-half baseline, where a guess may be matched to
any row, nobody's own row must stand in it: so the rows of one half are guessed from those of the other half, by
somebody who knows what the file holds of each. Both are measured with the file and without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from pytest_draft.ambiguity.bits import cell_bits, open_states
from pytest_draft.ambiguity.explained import explained
from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import Held, held_of
from pytest_draft.attack.informed.ends import Ends
from pytest_draft.attack.informed.gaps import ends_of_gaps
from pytest_draft.attack.informed.guesses import Guesser, best_by_others, guesses_of
from pytest_draft.attack.informed.splits import tested_ordered
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.data import TrainingData
from pytest_draft.data.individuals import hundredths
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.population import Population, population_of
from pytest_draft.facts.informed import Informed, InformedColumn, InformedSlice, OtherPeople
from pytest_draft.facts.slices import LEAST_ROWS, Slice
from pytest_draft.matching import Weights, differences, encoded_weights, gaps
from pytest_draft.scales import near
from pytest_draft.timebox import TimeBox

MOST_ROWS = 1_000
"""Of more rows than this, as many are looked at, drawn at random."""

MOST_DONORS = 4_000
"""Other rows that values are guessed from, at most."""

MOST_OF_HALF = 300
"""Rows of a half, at most: enough for an error to within some percent, and matched in no time."""

_MOST_BITS = 40.0
"""A row that can be more than so many things counts as that."""

_FEW_TOLD, _MOST_HELD = 100, 20_000_000
"""Where no more rows than that are expected to be told whole, they are counted; up to so many values at once."""

_NEAREST = 5
"""Other rows of which one is copied, where whole rows are guessed."""


@dataclass(frozen=True, eq=False, repr=False)
class Half:
    """Some rows, guessed from others that are known. Its repr shows no row."""

    rows: IntArray
    """Shape (n_half,). Which of the training rows are guessed."""
    guesses: tuple[Rows, ...]
    without_file: tuple[Rows, ...]
    """`guesses` and `without_file`, each of shape (n_half, n_columns): several, of which the nearest counts: with the
    file, and without it.
    """
    others: Rows
    """Shape (n_half, n_columns). As many of the rows that they are guessed from."""

    @property
    def both(self) -> tuple[tuple[Rows, ...], tuple[Rows, ...]]:
        """The guesses with the file, and those without it."""
        return self.guesses, self.without_file


@dataclass(frozen=True, eq=False, repr=False)
class _Each:
    """How close the guess of each row is, and that without the file."""

    error: FloatArray
    error_without_file: FloatArray
    """`error` and `error_without_file`, shape (n_rows,)."""
    near: BoolArray
    near_without_file: BoolArray
    """`near` and `near_without_file`, shape (n_rows, n_columns): as of `_right`."""
    determined: BoolArray
    """Shape (n_rows, n_unknown_attributes)."""

    @staticmethod
    def at_most(error: FloatArray, without_file: FloatArray) -> float:
        """Return the mean error of somebody who has the file, and may act as if they had not."""
        return float(min(error.mean(), without_file.mean()))

    @staticmethod
    def at_least(right: Any, without_file: Any) -> float:
        """Return the share that they have right."""
        return float(max(right.mean(), without_file.mean()))


@dataclass(frozen=True, eq=False, repr=False)
class KnownOthers:
    """The guesses of somebody who knows all other rows. Its repr shows no row."""

    rows: IntArray
    """Shape (n_rows,). Which of the training rows are guessed, each by itself."""
    of_rows: int
    """How many are to be rebuilt."""
    guess: Rows
    without_file: Rows
    """`guess` and `without_file`, shape (n_rows, n_columns)."""
    determined: BoolArray
    """Shape (n_rows, n_attributes). Which values have no other value left."""
    exact: BoolArray
    exact_without_file: BoolArray
    """`exact` and `exact_without_file`, shape (n_rows, n_attributes): which values are exactly those of the guess that
    is so most often, with the file and without it.
    """
    is_numeric: BoolArray
    """Shape (n_attributes,)."""
    halves: tuple[Half, ...]
    proved: bool
    """As in `Informed`."""
    of_halves: Held
    """What the file leaves of the rows of all halves."""
    bits: float | None = None
    bits_ended: bool = True
    """`bits` and `bits_ended`: as in `Informed`; see `with_what_passes_need`."""
    population: tuple[Population, ...] = ()
    """What somebody guesses who knows other people's rows, and none of these."""
    told: BoolArray | None = None
    """Shape (n_rows_to_be_rebuilt, n_attributes). As `determined`, of all of them; None where that is not known."""

    def __repr__(self) -> str:
        return f"KnownOthers({len(self.rows)} rows, not shown)"

    def mapped(self, change: Callable[[Rows], Rows], attributes: Sequence[int] | None = None) -> KnownOthers:
        """Return the guesses with each table changed in the same way: some columns, another scale.

        Parameters
        ----------
        change : callable
        attributes : sequence of int or None
            Those whose columns are left; None for all.
        """
        kept = list(range(self.determined.shape[1]) if attributes is None else attributes)
        return replace(
            self,
            guess=change(self.guess),
            without_file=change(self.without_file),
            determined=self.determined[:, kept],
            exact=self.exact[:, kept],
            exact_without_file=self.exact_without_file[:, kept],
            is_numeric=self.is_numeric[kept],
            told=None if self.told is None else self.told[:, kept],
            halves=tuple(
                Half(
                    half.rows,
                    tuple(map(change, half.guesses)),
                    tuple(map(change, half.without_file)),
                    change(half.others),
                )
                for half in self.halves
            ),
            population=tuple(one.mapped(change) for one in self.population),
        )

    def only(self, training_rows: IntArray) -> KnownOthers:
        """Return the guesses of some of the training rows, given by their positions."""
        kept: BoolArray = np.isin(self.rows, training_rows)
        halves = []
        for half in self.halves:
            here = np.isin(half.rows, training_rows)
            guesses, without_file = (tuple(guess[here] for guess in one) for one in half.both)
            halves.append(Half(half.rows[here], guesses, without_file, half.others[here]))
        return replace(
            self,
            rows=self.rows[kept],
            of_rows=len(training_rows),
            guess=self.guess[kept],
            without_file=self.without_file[kept],
            determined=self.determined[kept],
            exact=self.exact[kept],
            exact_without_file=self.exact_without_file[kept],
            halves=tuple(halves),
            told=None,
        )

    def figures(self, truth: Rows, weights: Weights, unknown: Sequence[int], timebox: TimeBox) -> Informed | None:
        """Return how close the guesses are.

        Parameters
        ----------
        truth : ndarray of float32, shape (n_training_rows, n_columns)
        unknown : sequence of int
            The attributes that count.

        Returns
        -------
        Informed or None
            None without rows, or without the time to match them.
        """
        halves = [half for half in self.halves if len(half.rows)]
        if not len(self.rows) or not halves or not len(unknown):
            return None
        matched, baseline = [], []
        for half in halves:
            mine = truth[half.rows]
            others = Comparison().distance(mine, half.others, weights, timebox)
            guesses = [[Comparison().distance(mine, guess, weights, timebox) for guess in one] for one in half.both]
            if others.exact is None or any(one.exact is None for both in guesses for one in both):
                return None
            few = (len(mine) + 1) // 2
            of_few = Comparison().distance(mine[:few], half.others[:few], weights, timebox)
            baseline.append([others.upper, of_few.upper])
            with_file, without = (min(one.lower for one in both) for both in guesses)
            without = min(without, others.upper)  # other rows like these need no file
            matched.append([min(with_file, without), without])  # who has it may act as if they had not
        (with_file, without), (split_half, of_few) = (np.mean(one, axis=0).tolist() for one in (matched, baseline))
        population = [one.figures(weights, timebox) for one in self.population]
        if any(one is None for one in population):
            return None
        each = self._each(truth, weights, unknown)
        numeric = [a for a in unknown if self.is_numeric[a]]
        exact = self.exact[:, numeric], self.exact_without_file[:, numeric]
        return Informed(
            rows=len(self.rows),
            of_rows=self.of_rows,
            error=each.at_most(each.error, each.error_without_file),
            error_without_file=float(each.error_without_file.mean()),
            half_rows=len(halves[0].rows),
            matched_error=with_file,
            matched_error_without_file=without,
            split_half_error=split_half,
            shrinks=min(1.0, split_half / of_few) if of_few else 1.0,
            told_values=float(each.determined.mean()),
            told_rows=float(each.determined.all(axis=1).mean()),
            told_of_all=self.told_of_all(unknown),
            near_values=each.at_least(each.near[:, weights.counted], each.near_without_file[:, weights.counted]),
            near_rows=each.at_least(*(one.all(axis=1) for one in (each.near, each.near_without_file))),
            near_values_without_file=float(each.near_without_file[:, weights.counted].mean()),
            near_rows_without_file=float(each.near_without_file.all(axis=1).mean()),
            proved=self.proved,
            bits=self.bits,
            bits_ended=self.bits_ended,
            exact_numeric=each.at_least(*exact) if numeric else None,
            exact_numeric_without_file=float(exact[1].mean()) if numeric else None,
            row_errors=hundredths(each.error),
            population=_together(population),
        )

    def told_of_all(self, unknown: Sequence[int]) -> int | None:
        """Return of how many rows nothing else is left, by the attributes that count; None where that is not known."""
        return None if self.told is None else int(self.told[:, list(unknown)].all(axis=1).sum())

    def columns(
        self, truth: Rows, weights: Weights, domain: Domain, unknown: Sequence[int]
    ) -> tuple[InformedColumn, ...]:
        """Return how close the guesses of each attribute are that counts; for the arguments see `figures`."""
        each = self._each(truth, weights, unknown)
        found = []
        for place, attribute in enumerate(domain.attributes[a] for a in unknown):
            columns = list(attribute.columns)
            near, without = (right[:, columns].all(axis=1) for right in (each.near, each.near_without_file))
            determined = float(each.determined[:, place].mean())
            found.append(
                InformedColumn(attribute.name, determined, each.at_least(near, without), float(without.mean()))
            )
        return tuple(found)

    def slices(
        self, data: TrainingData, weights: Weights, unknown: Sequence[int], slices: Sequence[Slice]
    ) -> tuple[InformedSlice, ...]:
        """Return how close the guesses in each slice are of which enough rows were looked at; see `figures`."""
        each, found = self._each(data.rows, weights, unknown), []
        for one in slices:
            inside = one.holds(data.rows[self.rows], data.labels[self.rows], data.columns)
            if inside.sum() < LEAST_ROWS:
                continue
            determined = each.determined[inside]
            error, without = each.error[inside], each.error_without_file[inside]
            near, near_without = (one[inside].all(axis=1) for one in (each.near, each.near_without_file))
            found.append(
                InformedSlice(
                    name=one.name,
                    rows=int(inside.sum()),
                    error=each.at_most(error, without),
                    error_without_file=float(without.mean()),
                    told_values=float(determined.mean()),
                    told_rows=float(determined.all(axis=1).mean()),
                    near_rows=each.at_least(near, near_without),
                    near_rows_without_file=float(near_without.mean()),
                )
            )
        return tuple(found)

    def _each(self, truth: Rows, weights: Weights, unknown: Sequence[int]) -> _Each:
        """Return how close the guess of each row is, and that without the file."""
        mine, tables = truth[self.rows], (self.guess, self.without_file)
        error, without = (
            differences(mine, guess, weights)[:, weights.counted].sum(axis=1) / weights.total for guess in tables
        )
        near, near_without = (_right(mine, guess, weights) for guess in tables)
        return _Each(error, without, near, near_without, self.determined[:, list(unknown)])


def _together(found: Sequence[OtherPeople | None]) -> tuple[OtherPeople, ...]:
    """Return the means over tables that were drawn, and the figures of a holdout as they are."""
    known = [one for one in found if one is not None]
    drawn = [one for one in known if not one.measured]
    means = {
        name: float(np.mean([getattr(one, name) for one in drawn]))
        for name in ("error", "error_without_file", "others_error", "near_rows", "near_rows_without_file")
        if drawn
    }
    mean = [OtherPeople(rows=drawn[0].rows, measured=False, **means)] if drawn else []
    return (*mean, *(one for one in known if one.measured))


def informed_figures(
    known_others: KnownOthers,
    domain: Domain,
    data: TrainingData,
    known: Sequence[int],
    slices: Sequence[Slice],
    timebox: TimeBox,
) -> Informed | None:
    """Return the figures on all attributes that are to be rebuilt, also by column and by slice.

    Parameters
    ----------
    known : sequence of int
        Attributes that the adversary knows in every row.

    Returns
    -------
    Informed or None
        As `KnownOthers.figures`.
    """
    unknown = [a for a in range(len(domain.attributes)) if a not in known]
    weights = near(encoded_weights(domain, known), data.rows)
    overall = known_others.figures(data.rows, weights, unknown, timebox)
    if overall is None:
        return None
    return replace(
        overall,
        columns=known_others.columns(data.rows, weights, domain, unknown),
        slices=known_others.slices(data, weights, unknown, slices),
    )


def known_others(
    forest: Forest,
    domain: Domain,
    everyone: KnownRows,
    unknown: IntArray,
    seed: int,
    timebox: TimeBox,
    *,
    known: Sequence[int] = (),
    extremes: Extremes | None = None,
    ends: Ends | None = None,
    proved: bool = True,
    holdout: KnownRows | None = None,
    targets: FloatArray | None = None,
) -> KnownOthers | None:
    """Guess rows from what a file holds of each of them, and from all others.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    everyone : KnownRows
        All training rows, with how often each tree drew them.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the rows that are to be rebuilt.
    known : sequence of int
        Attributes that the adversary knows in every row.
    extremes : Extremes or None
        Of the nodes of random splits.
    ends : Ends or None
        As of `held_of`.
    proved : bool
        As in `Informed`.
    holdout : KnownRows or None
        Rows of other people, with labels.
    targets : ndarray of float64, shape (n_training_rows,), or None
        Of a regressor.

    Returns
    -------
    KnownOthers or None
        None where the rows do not explain the file, or there are too few.

    Raises
    ------
    OutOfTimeError
    """
    rng = np.random.default_rng([seed, 70])
    n_rows = len(everyone.rows)
    looked_at = unknown
    if len(unknown) > MOST_ROWS:
        looked_at = np.sort(rng.choice(unknown, MOST_ROWS, replace=False))
    if n_rows < 2:
        return None
    held = held_of(forest, domain, everyone, looked_at, extremes, ends, timebox)
    if held is None:
        return None
    timebox.require()
    held, nothing = held.with_known(everyone.rows, known), _held_without_file(held).with_known(everyone.rows, known)
    weights = encoded_weights(domain, known)
    donors = np.arange(n_rows)
    if n_rows > MOST_DONORS:
        donors = np.sort(rng.choice(n_rows, MOST_DONORS, replace=False))
    rows, all_of_them = everyone.rows, np.arange(len(looked_at))
    halves = []
    size = min(len(looked_at) // 2, MOST_OF_HALF)
    order = rng.permutation(len(looked_at))
    pair = order[:size], order[size : 2 * size]
    both = [(mine, looked_at[theirs]) for mine, theirs in ((pair, pair[::-1]) if size else ())]
    if len(looked_at) == 1:  # somebody else takes the place of the other half
        both = [(order, rng.choice(np.setdiff1d(np.arange(n_rows), looked_at), 1))]
    for mine, others in both:
        timebox.require()
        guesses, without_file = (
            _guesses_of_half(one, everyone, mine, others, weights, rng, timebox) for one in (held, nothing)
        )
        halves.append(Half(looked_at[mine], guesses, without_file, rows[others]))
    population = () if known else population_of(forest, domain, everyone, unknown, seed, timebox, holdout, targets)
    truth = rows[looked_at]
    with_file, without = (guesses_of(one, everyone, all_of_them, donors, timebox) for one in (held, nothing))
    exact, exact_without = (
        _exact(guesses, Guesser(one, rows, donors, weights), truth)
        for one, guesses in ((held, with_file), (nothing, without))
    )
    return KnownOthers(
        rows=looked_at,
        of_rows=len(unknown),
        guess=best_by_others(with_file, truth, weights, domain),
        without_file=best_by_others(without, truth, weights, domain),
        determined=held.determined(),
        exact=exact,
        exact_without_file=exact_without,
        is_numeric=np.array([attribute.kind == "numeric" for attribute in domain.attributes]),
        halves=tuple(halves),
        proved=proved,
        of_halves=held.only(np.sort(order[: 2 * size])),
        population=population,
    )


def with_what_passes_need(
    known_others: KnownOthers,
    forest: Forest,
    everyone: KnownRows,
    unknown: IntArray,
    timebox: TimeBox,
    *,
    known: Sequence[int] = (),
    extremes: Extremes | None = None,
    ends: Ends | None = None,
) -> KnownOthers:
    """Return the same guesses with how many rows are told whole, and how many datasets explain the file, at least.

    As far as the time suffices: it costs more than they do, and only a pass needs it. For the parameters see
    `known_others`.
    """
    found, bits, ended = known_others, None, False
    with suppress(OutOfTimeError):
        found = replace(found, told=_told(found, forest, everyone, unknown, known, extremes, ends, timebox))
        bits, ended = _bits(forest, everyone, found.of_halves, known, extremes, ends, timebox)
    return replace(found, bits=bits, bits_ended=ended)


def _told(
    known_others: KnownOthers,
    forest: Forest,
    everyone: KnownRows,
    unknown: IntArray,
    known: Sequence[int],
    extremes: Extremes | None,
    ends: Ends | None,
    timebox: TimeBox,
) -> BoolArray | None:
    """Return which values of all rows have no other value left, as no sample clears a file of single rows.

    None where all were looked at, where many of them are told, and where they are too many to be held at once.
    """
    domain, share = known_others.of_halves.domain, known_others.determined.all(axis=1).mean()
    enough = len(known_others.rows) == len(unknown) or share * len(unknown) > _FEW_TOLD
    if enough or len(unknown) * domain.n_columns > _MOST_HELD:
        return None
    held = held_of(forest, domain, everyone, unknown, extremes, ends, timebox)
    if held is None:
        return None
    held = held.with_known(everyone.rows, known)
    some = np.array_split(np.arange(len(unknown)), len(unknown) // MOST_ROWS)
    return np.concatenate([held.only(these).determined() for these in some])


def _bits(
    forest: Forest,
    everyone: KnownRows,
    held: Held,
    known: Sequence[int],
    extremes: Extremes | None,
    ends: Ends | None,
    timebox: TimeBox,
) -> tuple[float | None, bool]:
    """Return how many bits the file leaves open of rows in all their leaves, at least, and whether the count ended."""
    domain = held.domain
    truth = explained(
        forest,
        domain,
        everyone.rows,
        everyone.labels,
        everyone.weight,
        known,
        extremes=extremes,
        in_time=timebox.require,
    )
    if truth is None:
        return 0.0, True
    between = 0.0
    if forest.told is not None:
        attributes = domain.attribute_of_column[list(forest.told.reads)]
        truth = replace(truth, fixed=truth.fixed | np.isin(np.arange(truth.fixed.shape[1]), attributes))
    if forest.gaps or ends is not None:
        stay = ends_of_gaps(forest, domain, everyone.rows)
        of_attribute = np.column_stack([stay[:, list(one.columns)].any(axis=1) for one in domain.attributes])
        if ends is not None:
            stay |= ends.narrow(np.arange(len(stay)), np.full((*stay.shape, 2), np.inf), np.zeros_like(stay))
            of_attribute[:, tested_ordered(forest, domain)] = True  # nothing may come between two ends
        truth = replace(truth, fixed=truth.fixed | of_attribute)
        between = _bits_between_gaps(held, everyone.rows, stay)
    with timebox.flag() as stop:
        inside = open_states(truth, held.rows, stop)
    if inside is None:
        return between or None, False
    return max(between, cell_bits(truth, held.rows, inside)), True


def _bits_between_gaps(held: Held, rows: Rows, stay: BoolArray) -> float:
    """Return log2 of the least number of datasets in which ordered values move, but none that lies at a gap.

    The least step of a column is that between any two of its values. Some rows that move are the same multiset in as
    many ways as they have orders, at most.
    """
    bits = np.zeros(len(held.rows))
    for column, one in ((one.columns[0], one) for one in held.domain.attributes if one.kind in ("numeric", "ordinal")):
        steps = np.diff(np.unique(rows[~np.isnan(rows[:, column]), column].astype(np.float64)))
        if len(steps):
            places = np.floor((held.upper[:, column] - held.lower[:, column]) / steps.min())
            places = places if one.kind == "numeric" else np.minimum(places, one.n_states - one.missing)
            bits += np.where(stay[held.rows, column], 0.0, np.log2(np.maximum(places, 1.0)))
    bits = np.sort(np.minimum(bits, _MOST_BITS))[::-1]
    ways = np.cumsum(bits) - gammaln(np.arange(2, len(bits) + 2)) / np.log(2)
    return float(ways.max(initial=0.0))


def _guesses_of_half(
    held: Held,
    everyone: KnownRows,
    mine: IntArray,
    others: IntArray,
    weights: Weights,
    rng: np.random.Generator,
    timebox: TimeBox,
) -> tuple[Rows, ...]:
    """Return guesses of some rows, given by their places in what is held, from other rows."""
    tables = guesses_of(held, everyone, mine, others, timebox)
    guesser = Guesser(held.only(mine), everyone.rows, others, weights)
    copied = guesser.copied(tables[0], guesser.near(tables[0], _NEAREST), rng)
    return *tables, best_by_others(tables, everyone.rows[held.rows[mine]], weights, held.domain), copied


def _exact(guesses: Sequence[Rows], guesser: Guesser, truth: Rows) -> BoolArray:
    """Return which values are exactly those of the guess that is so most often in their column, by attribute."""
    tables = np.stack([*guesses, guesser.commonest(guesses[0])])
    equal = (tables == truth) | (np.isnan(tables) & np.isnan(truth))
    found = np.empty((len(truth), len(guesser.held.domain.attributes)), dtype=bool)
    for a, attribute in enumerate(guesser.held.domain.attributes):
        own = equal[:, :, list(attribute.columns)].all(axis=2)
        found[:, a] = own[own.mean(axis=1).argmax()]
    return found


def _held_without_file(held: Held) -> Held:
    """Return what the domain alone leaves."""
    (upper, negative), may_miss = held.domain.reach.T, held.domain.by_column(lambda attribute: attribute.missing)
    lower, upper, may_miss = (np.tile(of_column, (len(held.rows), 1)) for of_column in (-negative, upper, may_miss))
    return replace(held, lower=lower, upper=upper, may_miss=may_miss)


def _right(truth: Rows, guess: Rows, weights: Weights) -> BoolArray:
    """Return which values are right, numeric ones to within their tolerance; known ones are."""
    apart, one_missing = gaps(truth, guess)
    right: BoolArray = ((apart <= weights.tolerance) & ~one_missing) | ~weights.counted
    return right
