"""Beliefs about rows with different occurrences, by message passing between rows and counts.

Belief propagation between rows and leaves. A leaf's draws of a class, and its distinct rows, are sums over rows; given
what is believed of all other rows they are about normal, which says how likely each leaf is for one row. Rows are
brought up to date one after the other, and each message moves a part of its way only: without that, rows that are
wrong confirm each other. For the same reason the messages are taken as noisier than they say where the residuals are
larger than the beliefs explain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import Flag, FloatArray, IntArray, Rows
from pytest_draft.attack.counts.kinds import Kinds
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.compiling import compiled
from pytest_draft.timebox import TimeBox

MAX_BYTES = 1_500_000_000
"""Most memory that messages may take: 8 bytes for each pair of a row and a class at a leaf."""


@dataclass(frozen=True)
class MessageParameters:
    """How messages move, and when they end."""

    steps: tuple[float, ...] = (0.2, 0.1)
    """How far a message moves to its new value, one run after the other: smaller steps are slower and surer."""
    rounds: int = 60
    """Most rounds of a run."""
    patience: int = 12
    """Rounds in a row without a better dataset after which it ends."""
    histogram_share: float = 0.2
    """Share of the time for the histogram that messages begin with."""
    prior_share: float = 0.1
    """Share of the prior in it, so that no kind of row is impossible."""
    share: float = 0.35
    """Share of the time after which messages must have ended."""
    rich: float = 4.0
    """Least `Believed.richness` with which a dataset that meets all counts is taken as it is."""
    least_noise: float = 0.1
    """Variance of what is observed, at least."""
    largest: float = 30.0
    """A message is no longer than that, in logarithms."""
    seconds_per_addition: float = 1.5e-9
    seconds_per_message: float = 2e-8
    """`seconds_per_addition` and `seconds_per_message`: measured: an entry of a candidate, and a message."""


_PARAMETERS = MessageParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Believed:
    """What was believed of each row when the likeliest candidates fitted best."""

    chosen: IntArray
    """Shape (n_rows,). Each row's likeliest candidate."""
    missed: int
    """Their residual."""
    belief: FloatArray
    """Row by row, how likely each of its candidates is."""
    candidate: IntArray
    """The candidate that each belief is about."""
    place: IntArray
    """Shape (n_rows + 1,). Where the beliefs of each row begin."""
    n_candidates: int
    richness: float
    """Information in the counts over the entropy of the rows, as if each count revealed something new."""

    @property
    def rich(self) -> bool:
        """Whether there are so many counts that a dataset which meets them all can hardly be far from the truth."""
        return self.richness >= _PARAMETERS.rich

    @property
    def mass(self) -> FloatArray:
        """Expected rows of each candidate, shape (n_candidates,)."""
        return np.bincount(self.candidate, self.belief, minlength=self.n_candidates).astype(np.float64)

    @property
    def likeliest(self) -> IntArray:
        """Rows of each candidate, shape (n_candidates,), where each row is its likeliest one."""
        return np.bincount(self.chosen, minlength=self.n_candidates).astype(np.int64)

    def drawn(self, rng: np.random.Generator) -> IntArray:
        """Return the rows of each candidate, shape (n_candidates,), in a dataset whose rows are drawn one by one."""
        ends = np.cumsum(self.belief)
        before = np.concatenate([[0.0], ends])[self.place]
        level = before[:-1] + rng.random(len(before) - 1) * np.diff(before)
        at = np.clip(np.searchsorted(ends, level, side="right"), self.place[:-1], self.place[1:] - 1)
        return np.bincount(self.candidate[at], minlength=self.n_candidates).astype(np.int64)


def believe(problem: Problem, prior: FloatArray, search: Search) -> Believed | None:
    """Run belief propagation, and return the best that it met; None where there was no time or memory for a round.

    Parameters
    ----------
    problem : Problem
        With distinct rows, and known occurrences that tell rows apart.
    prior : ndarray of float64, shape (n_candidates,)
        Positive.
    """
    kinds, box = Kinds.of(problem), search.timebox.part(_PARAMETERS.share)
    if 8 * kinds.n_rows * len(kinds.counts) > MAX_BYTES:
        return None
    with search.clock("histogram"):
        of_kind = kinds.of_each(prior)
        share = kinds.likely(of_kind, box.part(_PARAMETERS.histogram_share))
        share = (1 - _PARAMETERS.prior_share) * share + _PARAMETERS.prior_share * of_kind
    with search.clock("messages"), box.flag() as stop:
        return _believe(kinds, np.maximum(share, 1e-12), search, box, stop)


def _believe(kinds: Kinds, share: FloatArray, search: Search, timebox: TimeBox, stop: Flag) -> Believed | None:
    """Run belief propagation, until a flag is raised."""
    best: Believed | None = None
    for run, step in enumerate(_PARAMETERS.steps):
        messages = _Messages(kinds, share, np.random.default_rng([search.seed, 31, run]), stop)
        waited, least = 0, math.inf
        for _ in range(_PARAMETERS.rounds):
            if not timebox.allows(messages.units):
                return best
            timebox.spend(messages.units)
            messages.round(step)
            found = messages.believed()
            waited = 0 if found.missed < least else waited + 1
            least = min(least, found.missed)
            if best is None or found.missed < best.missed:
                best = found
                search.clock.note("residual", best.missed)
            if not best.missed:
                return best
            if waited > _PARAMETERS.patience:
                break
    return best


class _Messages:
    """Messages from leaves to rows, what they make each row believe, and its sums over rows."""

    def __init__(self, kinds: Kinds, share: FloatArray, rng: np.random.Generator, stop: Flag) -> None:
        self._stop = stop
        self._kinds, self._rng, self._share = kinds, rng, share / share.sum()
        self._log_share = np.log(self._share)
        shape = (kinds.n_rows, len(kinds.counts))
        self._message, self._chance = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
        size = kinds.last - kinds.first
        self._place = np.concatenate([[0], np.cumsum(size)])
        self._belief = np.zeros(int(self._place[-1]))
        self._sums = np.zeros((5, len(kinds.counts)))
        self.units = (
            2 * _PARAMETERS.seconds_per_addition * kinds.additions
            + _PARAMETERS.seconds_per_message * kinds.seen / max(1, kinds.times.shape[1]) * shape[0] * shape[1]
        )
        self._pass(step=0.0, noise=0.0)
        known = 0.5 * np.log1p(2 * np.pi * math.e * np.maximum(self._sums[1], 0)).sum()
        unknown = -(self._belief * np.log(np.maximum(self._belief, 1e-300))).sum()
        self._richness = float(known / max(unknown, 1e-9))

    def round(self, step: float) -> None:
        """Bring every row up to date once, and then what is believed of the histogram."""
        kinds, sums = self._kinds, self._sums
        gap = kinds.counts - sums[0]
        noise = max(_PARAMETERS.least_noise, float((gap * gap).mean() - sums[1].mean()))
        self._pass(step, noise)
        mean = self.histogram()
        self._log_share = np.log((mean / kinds.n_rows + self._share) / 2)

    def _pass(self, step: float, noise: float) -> None:
        kinds = self._kinds
        _update_rows(
            kinds,
            self._rng.permutation(kinds.n_rows),
            self._log_share,
            self._message,
            self._chance,
            self._sums,
            noise,
            step,
            self._belief,
            self._place,
            _PARAMETERS.largest,
            self._stop,
        )

    def _candidates(self) -> IntArray:
        """Return the candidate that each belief is about."""
        kinds = self._kinds
        size = kinds.last - kinds.first
        result: IntArray = np.arange(len(self._belief)) + np.repeat(kinds.first - self._place[:-1], size)
        return result

    def histogram(self) -> FloatArray:
        """Return the expected rows of each kind."""
        kinds = self._kinds
        of_kind = np.bincount(kinds.of_candidate[self._candidates()], self._belief, minlength=len(kinds.entries))
        return of_kind.astype(np.float64)

    def believed(self) -> Believed:
        """Return what is believed now."""
        kinds = self._kinds
        chosen = _likeliest(self._belief, self._place, kinds.first)
        return Believed(
            chosen,
            kinds.missed(chosen),
            self._belief.copy(),
            self._candidates(),
            self._place,
            len(kinds.of_candidate),
            self._richness,
        )


def _likeliest(belief: FloatArray, place: IntArray, first: IntArray) -> IntArray:
    """Return the candidate of each row that is believed most, of equal ones the first."""
    largest = np.flatnonzero(belief == np.repeat(np.maximum.reduceat(belief, place[:-1]), np.diff(place)))
    row, one = np.unique(np.searchsorted(place, largest, side="right") - 1, return_index=True)
    chosen: IntArray = first[row] + largest[one] - place[row]
    return chosen


@compiled
def _renew(
    i: int,
    m: int,
    low: int,
    high: int,
    message: Rows,
    chance: Rows,
    sums: FloatArray,
    counts: FloatArray,
    distinct: FloatArray,
    n_classes: int,
    noise: float,
    step: float,
    largest: float,
) -> None:
    """Move one tree's messages to a row, leaves `low` to `high`, towards what the other rows make them.

    Draws of a class and distinct rows are normal together: given the draws, the distinct rows say what is left.
    """
    for v in range(low, high):
        left, over = noise, distinct[v]
        for c in range(n_classes):
            e = v * n_classes + c
            q = float(chance[i, e])
            w = q * (1 - q)
            variance = max(sums[1, e] - m * m * w, 0.0) + noise
            shared = max(sums[2, e] - m * w, 0.0)
            over -= sums[4, e] - q + shared / variance * (counts[e] - sums[0, e] + m * q)
            left += max(sums[3, e] - w, 0.0) - shared * shared / variance
        left = max(left, noise)
        for c in range(n_classes):
            e = v * n_classes + c
            q = float(chance[i, e])
            w = q * (1 - q)
            variance = max(sums[1, e] - m * m * w, 0.0) + noise
            shared = max(sums[2, e] - m * w, 0.0)
            gap = counts[e] - sums[0, e] + m * q
            once = 1.0 - shared / variance * m
            new = (2 * gap - m) * m / (2 * variance) + (2 * over - once) * once / (2 * left)
            message[i, e] += step * (min(max(new, -largest), largest) - message[i, e])


@compiled
def _update_rows(  # noqa: PLR0912
    kinds: Kinds,
    order: IntArray,
    log_share: FloatArray,
    message: Rows,
    chance: Rows,
    sums: FloatArray,
    noise: float,
    step: float,
    belief: FloatArray,
    place: IntArray,
    largest: float,
    stop: Flag,
) -> None:
    """Change messages, chances (of a row at a leaf, without what that leaf says of it), beliefs and sums, row by row.

    `sums` are over rows, for each class at each leaf: draws, their variance, their covariance with distinct rows, the
    variance of these, and these. With `step` 0 messages stay as they are. Of rows after a stop all does.
    """
    times, start, entries, n_classes = kinds.times, kinds.start, kinds.entries, kinds.n_classes
    first, last, of_candidate = kinds.first, kinds.last, kinds.of_candidate
    counts, distinct = kinds.counts, kinds.distinct
    held = np.zeros(len(counts))
    for i in order:
        if stop[0] != 0:
            break
        seen = np.flatnonzero(times[i])
        if step > 0:
            for t in seen:
                _renew(
                    i, times[i, t], start[t], start[t + 1], message, chance, sums, counts, distinct, n_classes, noise,
                    step, largest,
                )  # fmt: skip
        top = -1e300
        at = place[i] - first[i]
        for k in range(first[i], last[i]):
            kind = of_candidate[k]
            score = log_share[kind]
            for t in seen:
                score += message[i, entries[kind, t]]
            belief[at + k] = score
            top = max(top, score)
        total = 0.0
        for k in range(first[i], last[i]):
            away = belief[at + k] - top
            belief[at + k] = math.exp(away) if away > -40 else 0.0
            total += belief[at + k]
        for t in seen:
            for e in range(start[t] * n_classes, start[t + 1] * n_classes):
                held[e] = 0.0
        for k in range(first[i], last[i]):
            belief[at + k] /= total
            share = belief[at + k]
            if share > 1e-9:
                kind = of_candidate[k]
                for t in seen:
                    held[entries[kind, t]] += share
        for t in seen:
            m = times[i, t]
            low, high = start[t] * n_classes, start[t + 1] * n_classes
            top, total = -1e300, 0.0
            for e in range(low, high):
                if held[e] > 0:
                    top = max(top, -message[i, e])
            for e in range(low, high):
                if held[e] > 0:
                    held[e] *= math.exp(-message[i, e] - top)
                    total += held[e]
            for e in range(low, high):
                q, z = float(chance[i, e]), held[e] / total
                if z != q:
                    chance[i, e] = z
                    z = float(chance[i, e])  # as it is kept, so that sums stay sums
                    w = z * (1 - z) - q * (1 - q)
                    sums[0, e] += m * (z - q)
                    sums[1, e] += m * m * w
                    sums[2, e] += m * w
                    sums[3, e] += w
                    sums[4, e] += z - q
