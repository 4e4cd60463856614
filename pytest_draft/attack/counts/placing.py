"""Assigns rows to kinds when occurrences are known, so that the dataset meets the counts.

Heat-bath sweeps: one row after the other is drawn anew, given all others, from what the histogram says of its kinds and
how much closer each candidate brings the leaves to what was observed. At high temperatures that is the histogram's own
posterior, at low ones the counts decide. Two rows whose kinds are right, each at the other's place, change places in
one move: one after the other they would have to pass through something that fits worse. Where the counts cannot be met
exactly, what is visited while the residuals are those of rounding are samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import Flag, FloatArray, Int32Array, IntArray
from pytest_draft.attack.counts.kinds import Kinds
from pytest_draft.attack.search import Search
from pytest_draft.compiling import compiled
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class PlacingParameters:
    """How datasets are cooled and sampled."""

    temperatures: tuple[float, float, float] = (3.0, 0.6, 0.2)
    """Where cooling begins, where samples are taken, and where it ends: variance of what is observed at a leaf without
    rows; at others it rises with the root of the rows.
    """
    polished: tuple[float, ...] = (0.3, 1.0, 2.0, 0.5, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0)
    """First temperature of each run where a dataset is nearly right already."""
    coldest: float = 0.05
    """The last one."""
    polish_sweeps: int = 40
    sweeps: tuple[int, int] = (40, 400)
    """Fewest and most sweeps of a chain down to the temperature of samples."""
    exchanges: int = 10
    """Pairs of rows that may change places, for each row in a sweep."""
    chains: int = 4
    samples: int = 8
    """Of each chain."""
    sample_every: int = 4
    """Sweeps between two of them."""
    seconds_per_addition: float = 1.5e-9
    seconds_per_leaf: float = 5e-9
    """`seconds_per_addition` and `seconds_per_leaf`: measured: an entry of a candidate, and what a row makes of a class
    at a leaf.
    """


_PARAMETERS = PlacingParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Placed:
    """Datasets whose rows are candidates, in the order of the problem's groups."""

    chosen: IntArray
    """Shape (n_rows,). The candidate of each row, in the dataset with the smallest residual."""
    missed: int
    """Its residual."""
    samples: tuple[IntArray, ...] = ()
    """Each of shape (n_rows,). Others, as likely as the counts leave them."""


def polish(kinds: Kinds, share: FloatArray, chosen: IntArray, search: Search, timebox: TimeBox) -> Placed:
    """Cool a dataset that is nearly right, until it meets all counts or does not get closer.

    Parameters
    ----------
    share : ndarray of float64, shape (n_kinds,)
        How likely each kind is. Positive.
    chosen : ndarray of int64, shape (n_rows,)
    """
    best = Placed(chosen, kinds.missed(chosen))
    with timebox.flag() as stop:
        for run, hottest in enumerate(_PARAMETERS.polished):
            chain = PlacingChain(kinds, share, best.chosen, np.random.default_rng([search.seed, 32, run]))
            for temperature in np.geomspace(hottest, _PARAMETERS.coldest, _PARAMETERS.polish_sweeps):
                if not chain.missed_least or not timebox.allows(chain.units):
                    break
                timebox.spend(chain.units)
                chain.sweep(float(temperature), stop)
                search.clock.note("residual", chain.missed_least)
            best = Placed(chain.best, chain.missed_least)
    return best


def anneal_rows(
    kinds: Kinds, share: FloatArray, starts: Sequence[IntArray], search: Search, timebox: TimeBox
) -> Placed:
    """Cool several datasets at the same pace, sample them, and return all that was found.

    Parameters
    ----------
    share : ndarray of float64, shape (n_kinds,)
        How likely each kind is. Positive.
    starts : sequence of ndarray of int64, shape (n_rows,)
        Datasets to begin with, one for each of the first chains; the others begin at random.

    Returns
    -------
    Placed
        Its result depends on the number of threads only where the clock ends it.
    """
    chains = [
        PlacingChain(kinds, share, starts[c] if c < len(starts) else None, np.random.default_rng([search.seed, 33, c]))
        for c in range(_PARAMETERS.chains)
    ]
    cost = sum(chain.units for chain in chains)
    extra = _PARAMETERS.samples * _PARAMETERS.sample_every
    room = min(timebox.effort_left, timebox.remaining * min(search.workers, len(chains))) / max(cost, 1e-9)
    n_sweeps = int(np.clip((room - extra) * 0.6, *_PARAMETERS.sweeps))
    hot, even, cold = _PARAMETERS.temperatures
    schedule = [(t, False) for t in np.geomspace(hot, even, n_sweeps).tolist()]
    schedule += [(even, i % _PARAMETERS.sample_every == _PARAMETERS.sample_every - 1) for i in range(extra)]
    schedule += [(t, False) for t in np.geomspace(even, cold, max(1, n_sweeps // 4)).tolist()]
    samples: list[IntArray] = []
    with timebox.flag() as stop, search.threads() as each:
        for temperature, kept in schedule:
            if not timebox.allows(cost):
                break
            timebox.spend(cost)
            each(lambda chain, heat=temperature: chain.sweep(heat, stop), chains)
            if kept:
                samples += [chain.chosen.copy() for chain in chains]
            search.clock.note("residual", min(chain.missed_least for chain in chains))
    best = min(chains, key=lambda chain: chain.missed_least)
    if not samples:
        samples = [chain.chosen.copy() for chain in chains]
    return Placed(best.best, best.missed_least, tuple(samples))


class PlacingChain:
    """A dataset that sweeps change, and the best one that it was.

    Parameters
    ----------
    share : ndarray of float64, shape (n_kinds,)
    chosen : ndarray of int64, shape (n_rows,), or None
        Where to begin; None to draw each row by `share`.
    """

    def __init__(self, kinds: Kinds, share: FloatArray, chosen: IntArray | None, rng: np.random.Generator) -> None:
        self._kinds, self._rng, self._log_share = kinds, rng, np.log(share)
        if chosen is None:
            chosen = _drawn(kinds.first, kinds.last, kinds.of_candidate, share, rng.random(kinds.n_rows))
        self.chosen = chosen.copy()
        self._count, self._distinct = kinds.residuals(chosen)
        self._weight = 0.5 / np.sqrt(1 + kinds.counts)
        self._weight_distinct = 0.5 / np.sqrt(1 + kinds.distinct)
        self.best, self.missed_least = chosen.copy(), kinds.missed(chosen)
        self.units = _PARAMETERS.seconds_per_addition * kinds.additions + (
            _PARAMETERS.seconds_per_leaf * kinds.n_rows * len(kinds.counts) * kinds.seen / max(1, kinds.times.shape[1])
        )

    def sweep(self, temperature: float, stop: Flag) -> None:
        """Draw each row anew, given all others, until a flag is raised."""
        kinds, n_rows = self._kinds, self._kinds.n_rows
        _sweep(
            kinds,
            self._rng.permutation(n_rows),
            self._rng.random(n_rows),
            self._log_share,
            self.chosen,
            self._count,
            self._distinct,
            self._weight,
            self._weight_distinct,
            temperature,
            stop,
        )
        pairs = self._rng.integers(n_rows, size=(_PARAMETERS.exchanges * n_rows, 2))
        _exchange(
            kinds,
            pairs,
            self._rng.random(len(pairs)),
            self.chosen,
            self._count,
            self._distinct,
            self._weight,
            self._weight_distinct,
            temperature,
            stop,
        )
        missed = int(np.abs(self._count).sum() + np.abs(self._distinct).sum())
        if missed < self.missed_least:
            self.best, self.missed_least = self.chosen.copy(), missed


def _drawn(first: IntArray, last: IntArray, of_candidate: Int32Array, share: FloatArray, level: FloatArray) -> IntArray:
    """Return a candidate of each row, drawn by the shares of their kinds."""
    total = np.concatenate([[0.0], np.cumsum(share[of_candidate])])
    drawn = np.searchsorted(total[1:], total[first] + level * (total[last] - total[first]), side="right")
    return np.asarray(np.clip(drawn, first, last - 1), dtype=np.int64)


@compiled
def _sweep(  # noqa: PLR0912
    kinds: Kinds,
    order: IntArray,
    level: FloatArray,
    log_share: FloatArray,
    chosen: IntArray,
    count: FloatArray,
    distinct: FloatArray,
    weight: FloatArray,
    weight_distinct: FloatArray,
    temperature: float,
    stop: Flag,
) -> None:
    """Change `chosen`, and by how much it exceeds what was observed, row by row, until a flag is raised."""
    times, start, entries, n_classes = kinds.times, kinds.start, kinds.entries, kinds.n_classes
    first, last, of_candidate = kinds.first, kinds.last, kinds.of_candidate
    gain = np.zeros(len(count))
    score = np.empty((last - first).max())
    for i in order:
        if stop[0] != 0:
            break
        seen = np.flatnonzero(times[i])
        old = of_candidate[chosen[i]]
        for t in seen:
            e, m = entries[old, t], times[i, t]
            count[e] -= m
            distinct[e // n_classes] -= 1
        for t in seen:
            m = times[i, t]
            for v in range(start[t], start[t + 1]):
                once = weight_distinct[v] * (2 * distinct[v] + 1)
                for e in range(v * n_classes, (v + 1) * n_classes):
                    gain[e] = -(weight[e] * m * (2 * count[e] + m) + once) / temperature
        low, top = first[i], -1e300
        for k in range(low, last[i]):
            kind = of_candidate[k]
            value = log_share[kind]
            for t in seen:
                value += gain[entries[kind, t]]
            score[k - low] = value
            top = max(top, value)
        total = 0.0
        for k in range(last[i] - low):
            away = score[k] - top
            score[k] = math.exp(away) if away > -40 else 0.0
            total += score[k]
        left = level[i] * total
        new = -1
        for k in range(last[i] - low):
            left -= score[k]
            if score[k] > 0:
                new = low + k
                if left < 0:
                    break
        chosen[i] = new
        for t in seen:
            e, m = entries[of_candidate[new], t], times[i, t]
            count[e] += m
            distinct[e // n_classes] += 1


@compiled
def _exchange(
    kinds: Kinds,
    pairs: IntArray,
    level: FloatArray,
    chosen: IntArray,
    count: FloatArray,
    distinct: FloatArray,
    weight: FloatArray,
    weight_distinct: FloatArray,
    temperature: float,
    stop: Flag,
) -> None:
    """Let two rows change kinds, where each can be the other's, if that fits better, or by chance (Metropolis)."""
    times, entries, n_classes = kinds.times, kinds.entries, kinds.n_classes
    first, last, of_candidate = kinds.first, kinds.last, kinds.of_candidate
    for p in range(len(pairs)):
        if stop[0] != 0:
            break
        i, j = pairs[p]
        one, other = of_candidate[chosen[i]], of_candidate[chosen[j]]
        if one == other:
            continue
        a = first[i] + np.searchsorted(of_candidate[first[i] : last[i]], other)
        b = first[j] + np.searchsorted(of_candidate[first[j] : last[j]], one)
        if a == last[i] or b == last[j] or of_candidate[a] != other or of_candidate[b] != one:
            continue
        cost = 0.0
        for t in range(times.shape[1]):
            e, f = entries[one, t], entries[other, t]
            m = times[j, t] - times[i, t]
            if m == 0 or e == f:
                continue
            cost += weight[e] * m * (2 * count[e] + m) + weight[f] * m * (m - 2 * count[f])
            v, w = e // n_classes, f // n_classes
            once = min(times[j, t], 1) - min(times[i, t], 1)
            if once != 0 and v != w:
                cost += weight_distinct[v] * (1 + 2 * once * distinct[v])
                cost += weight_distinct[w] * (1 - 2 * once * distinct[w])
        if cost > 0 and level[p] >= math.exp(-cost / temperature):
            continue
        chosen[i], chosen[j] = a, b
        for t in range(times.shape[1]):
            e, f = entries[one, t], entries[other, t]
            m = times[j, t] - times[i, t]
            once = min(times[j, t], 1) - min(times[i, t], 1)
            count[e] += m
            count[f] -= m
            distinct[e // n_classes] += once
            distinct[f // n_classes] -= once
