"""How many rows a file determines: from the true rows and what a forest says of them, shares by block size.

All other rows are taken as known, and everything that the rows of a block can be is searched (`block_search`). A row is
determined in its block if its values occur at least as often in every assignment that explains the draws of each class
and the distinct rows of every leaf, and its midpoints. Labels belong to an assignment, so two rows may exchange theirs.
The shares are about the file and an adversary who knows the other rows: they do not say that all rows can be rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from pytest_draft.ambiguity.block_search import FIXED, MOST_ROWS, OTHER
from pytest_draft.ambiguity.blocks import Blocks
from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.domain import Domain
from pytest_draft.facts.ambiguity import Determined
from pytest_draft.matching import Weights, encoded_weights
from pytest_draft.timebox import TimeBox

SIZES = (1, 2, 4, 8, 16)
"""How many rows a block has."""

NARROW = 0.05
"""Half the width of a confidence interval that is narrow enough."""

LEAST = 8
"""A verdict needs blocks of this size, so they come first."""

_CONFIDENCE = 0.95

_MOST_SWEEPS = 4
"""How often all rows are looked at in blocks of one size."""

_BATCH = 8
"""Blocks that are searched before choosing anew which size needs more of them."""


@dataclass(eq=False, repr=False)
class _Sample:
    """The blocks of one size and kind that were looked at so far."""

    size: int
    neighbours: bool
    blocks: Iterator[tuple[IntArray, BoolArray]]
    """The rows of each next block, and which of them are asked about."""
    n_rows: int
    """Of the data."""
    asked: list[int] = field(default_factory=list)
    fixed: list[int] = field(default_factory=list)
    moving: list[int] = field(default_factory=list)
    """`asked`, `fixed` and `moving`: by block, how many rows were asked about, proved determined, and proved not to
    be.
    """
    ended: bool = False
    """Whether there are no more blocks."""

    @property
    def widest(self) -> float:
        """Half the width of the wider of the intervals of the least and of the greatest share; 1 before any block."""
        if not self.asked:
            return 1.0
        return max((high - low) / 2 for low, high in self._intervals())

    def _intervals(self) -> list[tuple[float, float]]:
        """Return the intervals of the share, first without and then with the rows whose proof did not end."""
        asked = np.array(self.asked, dtype=np.float64)
        most = asked - np.array(self.moving)
        population = self.n_rows if self.neighbours else None  # each row has one block of neighbours
        return [share_interval(np.array(hits, dtype=np.float64), asked, population) for hits in (self.fixed, most)]

    @property
    def result(self) -> Determined:
        """What was found."""
        least, most = self._intervals()
        rows, determined, moving = sum(self.asked), sum(self.fixed), sum(self.moving)
        return Determined(self.size, self.neighbours, rows, determined, moving, least[0], most[1])


def share_interval(hits: FloatArray, rows: FloatArray, population: int | None = None) -> tuple[float, float]:
    """Return a confidence interval (95 %) of a share of rows that were drawn in blocks.

    Wilson's interval for the effective number of rows. Rows of one block resemble each other: the more the blocks
    differ beyond what independent rows would, the fewer rows each is worth, down to one if all its rows are alike.

    Parameters
    ----------
    hits, rows : ndarray of float64, shape (n_blocks,)
        Of each block, how many rows were hits, and how many there are.
    population : int or None
        How many rows there are in all, if no row was drawn twice: if all were drawn, the share is known exactly.
    """
    n, share = rows.sum(), hits.sum() / rows.sum()
    size = n / len(rows)
    alike = size
    if len(rows) > 1 and 0 < share < 1:
        between = ((hits - share * rows) ** 2).sum() / (n * share * (1 - share)) * len(rows) / (len(rows) - 1)
        alike = min(max(between, 1.0), size)
    worth = n / alike
    if population is not None:
        left = (population - n) / max(population - 1, 1)
        if left <= 0:
            return float(share), float(share)
        worth /= left
    z2 = norm.ppf((1 + _CONFIDENCE) / 2) ** 2
    middle = (share + z2 / (2 * worth)) / (1 + z2 / worth)
    half = np.sqrt(z2 * (share * (1 - share) / worth + z2 / (4 * worth**2))) / (1 + z2 / worth)
    return max(0.0, float(min(middle - half, share))), min(1.0, float(max(middle + half, share)))


def determined_rows(
    forest: Forest,
    domain: Domain,
    rows: Rows,
    labels: IntArray,
    timebox: TimeBox,
    *,
    times: IntArray | None = None,
    known: Sequence[int] = (),
    aside: Sequence[int] = (),
    known_rows: BoolArray | None = None,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    in_time: Callable[[], None] | None = None,
) -> tuple[Determined, ...]:
    """Look at blocks of rows until the shares of determined ones are known well enough, or the time is out.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    rows : ndarray of float32, shape (n_rows, n_columns)
        The true rows.
    labels : ndarray of int64, shape (n_rows,)
        Their classes, by position; zeros for a regressor.
    times : ndarray of int64, shape (n_trees, n_rows), or None
        How often each tree saw each row; None for once.
    known : sequence of int
        Attributes that the adversary knows of every row.
    aside : sequence of int
        Attributes whose values are not asked for: a row is determined if all its other values are. One rare flag that
        few trees test leaves every row open, and hides that all else is determined (`left_open` finds such). Not all.
    known_rows : ndarray of bool, shape (n_rows,), or None
        Rows that the adversary knows whole: they are in no block.
    seed : int
        Of the blocks.
    sizes : sequence of int
        Rows of a block, from 1 to `MOST_ROWS`.
    in_time : callable or None
        Called between the steps before the first block; it can raise `OutOfTimeError`.

    Returns
    -------
    tuple of Determined
        By size, random blocks before neighbours; sizes that no time was left for are missing. Empty where the rows are
        not in the domain, or do not explain the counts: then nothing follows from them. Of neighbours only the row is
        counted whose neighbours the others are; where there are fewer rows of its class, these are all.

    Raises
    ------
    NotCoveredError
        Where weights have scaled the forest's counts and cannot be undone.
    ValueError
        Where the leaves were released with noise.
    """
    if not all(1 <= size <= MOST_ROWS for size in sizes):
        raise ValueError(f"blocks have 1 to {MOST_ROWS} rows")
    if set(aside) >= set(range(len(domain.attributes))):
        raise ValueError("nothing is asked for: all attributes are set aside")
    if times is None:
        times = np.ones((forest.n_trees, len(rows)), dtype=np.int64)
    examined = np.arange(len(rows)) if known_rows is None else np.flatnonzero(~known_rows)
    if not len(examined) or domain.outside(rows.astype(np.float64)):
        return ()
    blocks = Blocks.of(forest, domain, rows, labels, times, known, aside, in_time)
    if blocks is None:
        return ()
    weights = encoded_weights(domain)
    samples = [
        _Sample(size, near_by, _blocks(size, near_by, rows, labels, examined, weights, seed), len(examined))
        for size in sorted(set(sizes))
        for near_by in (False, True)
    ]
    while not timebox.over and (open_samples := [one for one in samples if not one.ended]):
        _look(max(open_samples, key=_need), blocks, timebox)
    return tuple(one.result for one in samples if one.asked)


def _need(sample: _Sample) -> float:
    """Return how much a sample needs to be looked at: first that of a verdict, then each once, then the widest."""
    if not sample.asked:
        return 20.0 - abs(sample.size - LEAST) / LEAST
    return sample.widest * (4.0 if sample.size == LEAST else 1.0)


def _look(sample: _Sample, blocks: Blocks, timebox: TimeBox) -> None:
    """Look at some more blocks."""
    for _ in range(_BATCH):
        if timebox.over:
            return
        block, asked = next(sample.blocks, (None, None))
        if block is None or asked is None:
            sample.ended = True
            return
        state = blocks.examined(block, asked, timebox)[asked]
        sample.asked.append(len(state))
        sample.fixed.append(int((state == FIXED).sum()))
        sample.moving.append(int((state == OTHER).sum()))
    sample.ended = sample.widest <= NARROW


def _blocks(
    size: int, neighbours: bool, rows: Rows, labels: IntArray, examined: IntArray, weights: Weights, seed: int
) -> Iterator[tuple[IntArray, BoolArray]]:
    """Yield blocks, and which of their rows are asked about: all of a random one, else the one of which all are near.

    Random blocks part all rows, some times over; neighbours are of the row's class, the nearest by weighted absolute
    differences, in random order where they are as near.
    """
    rng = np.random.default_rng([seed, size, neighbours])
    if not neighbours:
        for _ in range(_MOST_SWEEPS):
            order = rng.permutation(examined)
            for first in range(0, len(order) - size + 1 if len(order) >= size else 1, size):
                block = order[first : first + size]
                yield block, np.ones(len(block), dtype=np.bool_)
        return
    measured = np.nan_to_num(weights.measured(rows), nan=0.0) * weights.columns
    missing = np.isnan(rows)
    for row in rng.permutation(examined):
        others = rng.permutation(examined[(labels[examined] == labels[row]) & (examined != row)])
        apart = np.where(missing[others] == missing[row], np.abs(measured[others] - measured[row]), 0.0).sum(axis=1)
        apart += (missing[others] != missing[row]) @ weights.missing
        nearest = others[np.argsort(apart, kind="stable")[: size - 1]]
        block = np.append(row, nearest)
        yield block, np.arange(len(block)) == 0
