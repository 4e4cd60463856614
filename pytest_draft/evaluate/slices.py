"""The figures on slices of the training data: `SliceFigures`.

A slice is what a policy names: the rows of which some tests hold, or those of one class. A forest that spares most of
the people can give a few of them away, and a mean over all would hide it.

All rows are matched, and a slice is looked at from both sides: how far its true rows are from their rebuilt partners,
and how far the rebuilt rows that are in the slice are from their true partners. Its error is the mean of the two means,
and so is its share of perfect rows. From the first side alone, a slice of common rows would seem to be rebuilt as soon
as there are by chance more such rows among the rebuilt than among the true ones. If all those pairs counted alike, it
would seem to be spared as soon as the attack takes many others for members of the slice; so the second side is never
more than half. Another matching of the same cost can divide the error otherwise. Where each row was attacked by itself,
only the first side counts.

The baselines are measured in the same way. Measured with 100 *other* people's rows in place of rebuilt ones, on slices
by one column, by two and by class with at least `LEAST_ROWS` rows: none of 226 (Adult) and 276 (Default Credit) had at
most half of the split-half error, or more than half of the rows perfect that the split-half baseline leaves. On COMPAS,
where rows are so coarse that other rows like these meet most of them, 6.5 % and 5.9 % of 494 did, of its classes
none and 1 of 40. On fewer rows chance decides more often (5 to 10 % on Adult and COMPAS), and figures would
reveal single people, so that nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.evaluate.baseline_draws import few_splits, half_size, halvings, n_sampled, n_splits, uniform_guesses
from pytest_draft.evaluate.close_rows import Met
from pytest_draft.evaluate.compared import Compared
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.slices import LEAST_ROWS, NOT_DRAWN, Measured, Slice, SliceBaseline, SliceFigures
from pytest_draft.matching import Weights, differences
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True, eq=False, repr=False)
class _Pairs:
    """Guesses beside the true rows that they are matched to."""

    truth: Rows
    """Shape (n_rows, n_columns)."""
    labels: IntArray
    """Shape (n_rows,)."""
    guess: Rows
    """Shape (n_rows, n_columns)."""
    guessed_labels: IntArray | None
    """Shape (n_rows,)."""
    partners: IntArray | None
    """Shape (n_rows,). The true row of each guess; None where they were not matched."""


@dataclass(frozen=True)
class _BothSides:
    """Guesses of a slice: its rows, the guesses that are in it, and as in `Measured`."""

    rows: int
    guessed: int
    error: Distance | None
    perfect: int
    share: float
    most: float


@dataclass(frozen=True, eq=False, repr=False)
class Sliced:
    """Slices of a comparison."""

    compared: Compared
    """By which rows are matched in a draw, and who is in a slice."""
    labels: IntArray
    """Shape (n_training_rows,)."""
    columns: Sequence[str]
    """Names of the encoded columns."""
    timebox: TimeBox
    on_scale: Compared | None = None
    """The comparison on another scale; None for the same one."""
    scale: Callable[[Rows], Rows] = np.asarray
    """Gives rows on that scale."""

    @property
    def _weights(self) -> Weights:
        return (self.on_scale or self.compared).weights

    def figures(self, slices: Sequence[Slice]) -> tuple[SliceFigures, ...]:
        """Return the figures of slices, in their order."""
        compared, truth, labels = self.compared, *self._truth
        sizes = [int(one.holds(truth, labels, self.columns).sum()) for one in slices]
        large = [one for one, n_rows in zip(slices, sizes, strict=True) if n_rows >= LEAST_ROWS]
        partners = (self.on_scale or compared).partners
        found = iter(self._measured(large, _Pairs(truth, labels, compared.rebuilt, compared.labels, partners)))
        return tuple(
            SliceFigures(one.name, n_rows, next(found)) if n_rows >= LEAST_ROWS else _too_small(one)
            for one, n_rows in zip(slices, sizes, strict=True)
        )

    @property
    def _truth(self) -> tuple[Rows, IntArray]:
        return self.compared.rows[self.compared.unknown], self.labels[self.compared.unknown]

    def _measured(self, slices: Sequence[Slice], pairs: _Pairs) -> list[Measured]:
        if not slices:
            return []
        distance = self._distance(pairs)
        attacked = [self._figures_of_slice(one, pairs, distance) for one in slices]
        split_half = self._baselines(slices, self._halvings())
        random = self._baselines(slices, self._guesses())
        baselines = zip(attacked, random, split_half, strict=True)
        return [replace(of_attack, random=one, split_half=other) for of_attack, one, other in baselines]

    def _distance(self, pairs: _Pairs) -> FloatArray | None:
        """Return how far each guess is from its true row; None where they were not matched."""
        if pairs.partners is None:
            return None
        apart = differences(self.scale(pairs.truth[pairs.partners]), self.scale(pairs.guess), self._weights)
        distance: FloatArray = apart[:, self._weights.counted].sum(axis=1) / self._weights.total
        return distance

    def _figures_of_slice(self, figured: Slice, pairs: _Pairs, distance: FloatArray | None) -> Measured:
        """Return the figures of a slice of the reconstruction, without its baselines."""
        both = self._both_sides(figured, pairs, distance)
        unique = figured.holds(pairs.truth, pairs.labels, self.columns) & self.compared.unique
        return Measured(
            rebuilt_rows=both.guessed,
            error=both.error or Distance(0.0, 1.0, None),
            perfect_rows=both.perfect,
            perfect_share=Between(both.share, both.most),
            singled_out_rows=len(self._met(pairs.truth, pairs.guess, unique).rows) if unique.any() else 0,
            unique_rows=int(unique.sum()),
        )

    def _both_sides(self, one: Slice, pairs: _Pairs, distance: FloatArray | None) -> _BothSides:
        """Return the figures of guesses in a slice that has a true row."""
        mine = one.holds(pairs.truth, pairs.labels, self.columns)
        theirs = mine
        if not self.compared.comparison.alone:
            theirs = one.holds(pairs.guess, pairs.guessed_labels, self.columns)
        error = None
        if distance is not None and pairs.partners is not None:
            sides = [side for side in (distance[mine[pairs.partners]], distance[theirs]) if len(side)]
            mean = float(np.mean([side.mean() for side in sides]))
            error = Distance(mean, mean, float(max(side.max() for side in sides)))
        perfect = self._met(pairs.truth, pairs.guess, mine)
        met = [(perfect, int(mine.sum()))]
        if theirs.any():
            met.append((self._met(pairs.guess, pairs.truth, theirs), int(theirs.sum())))
        share = float(np.mean([len(found.rows) / n_rows for found, n_rows in met]))
        most = float(np.mean([found.most / n_rows for found, n_rows in met]))
        return _BothSides(int(mine.sum()), int(theirs.sum()), error, len(perfect.rows), share, most)

    def _met(self, these: Rows, those: Rows, which: BoolArray) -> Met:
        """Return which of some rows have equal ones among the others, or close ones."""
        those = those[which] if self.compared.comparison.alone else those
        return self.compared.comparison.met(self.scale(these[which]), self.scale(those), self._weights, self.timebox)

    def _halvings(self) -> Iterator[_Pairs]:
        """Yield the pairs of the split-half baseline."""
        compared, labels = self.compared, self.labels
        rows, unknown, weights = compared.rows, compared.unknown, compared.weights
        half = half_size(len(rows), len(unknown), weights, compared.comparison)
        draws = halvings(rows, weights, compared.seed, self.timebox, unknown, compared.comparison, half)
        for one, other, guess in islice(draws, n_splits(len(rows))):
            yield self._paired(rows[one], labels[one], guess, labels[other])

    def _guesses(self) -> Iterator[_Pairs]:
        """Yield the pairs of the random baseline, in which each class has as many guesses as rows."""
        compared, truth, labels = self.compared, *self._truth
        rng = np.random.default_rng([compared.seed, 44])
        guesses = uniform_guesses(truth, compared.domain, compared.weights, rng, self.timebox)
        for sample, guess in islice(guesses, few_splits(n_sampled(len(truth)))):
            yield self._paired(truth[sample], labels[sample], guess, labels[sample])

    def _paired(self, truth: Rows, labels: IntArray, guess: Rows, guessed_labels: IntArray) -> _Pairs:
        partners = self.compared.comparison.partners(self.scale(truth), self.scale(guess), self._weights, self.timebox)
        return _Pairs(truth, labels, guess, guessed_labels, partners)

    def _baselines(self, slices: Sequence[Slice], draws: Iterator[_Pairs]) -> list[SliceBaseline]:
        """Return what guesses get of slices."""
        found: list[list[_BothSides]] = [[] for _ in slices]
        for pairs in draws:
            if (distance := self._distance(pairs)) is None:
                break
            for one, of_slice in zip(slices, found, strict=True):
                if one.holds(pairs.truth, pairs.labels, self.columns).any():
                    of_slice.append(self._both_sides(one, pairs, distance))
        return [_mean(of_slice) for of_slice in found]


def _mean(draws: Sequence[_BothSides]) -> SliceBaseline:
    """Return the mean over draws, in which a slice can have more or fewer rows; no draw without a matching."""
    known = [(draw.rows, draw.error.lower, draw.share) for draw in draws if draw.error is not None]
    if not known:
        return NOT_DRAWN
    rows, errors, shares = np.array(known).T
    return SliceBaseline(float(np.average(errors, weights=rows)), float(np.average(shares, weights=rows)), len(known))


def _too_small(one: Slice) -> SliceFigures:
    """Return a slice of which nothing is measured; a class that few have is named by its number, from 1."""
    return SliceFigures(one.name if one.label is None else f"class number {one.label + 1}", None, None)
