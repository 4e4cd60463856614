"""Samples datasets that explain a file as well as the truth, starting from `ExplainedRows`; can stop at any time.

A chain begins at the true rows and moves by excursions of blocks of several sizes and temperatures. What
it visits is drawn from the prior, restricted to what explains everything; before it has forgotten where it began, it
lies nearer to the truth than it should: on the safe side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from pytest_draft.ambiguity.bits_of_counts import block_bits, boxes, cell_bits, keep_bounds
from pytest_draft.ambiguity.bounds import kept
from pytest_draft.ambiguity.explained import ExplainedRows
from pytest_draft.ambiguity.population import Population
from pytest_draft.arrays import BoolArray, Flag, Int32Array, IntArray
from pytest_draft.attack.numeric.anneal import draw, exchange, sweep, uniform
from pytest_draft.attack.numeric.dataset import Copula, put, take, with_prior
from pytest_draft.attack.numeric.energy import missed
from pytest_draft.compiling import compiled


@dataclass(frozen=True)
class SamplerParameters:
    """How a chain moves."""

    sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Rows of a block."""
    temperatures: tuple[float, ...] = (0.35, 0.8, 1.2, 2.0)
    """In draws that a leaf's count is off."""
    steps_a_row: int = 8
    """How often each row of a block is drawn anew, on average."""
    steps_alone: int = 2
    """How often the row of a block of one is drawn anew: nothing else has to make room for it."""
    rows_a_turn: int = 600
    """Steps of one call into compiled code: some hundredths of a second."""
    neighbours: int = 4
    """Rows near the first one among which the others of a block are drawn, for each row of the block."""
    by_chance: float = 0.2
    """Share of the blocks whose rows are any."""
    partition: int = 4
    """Rows of a block of the partition by which datasets are counted."""
    looks: int = 24
    """How often each of these blocks moves."""
    plenty: float = 200.0
    """Bits from which on no blocks are looked at."""
    any_kind: float = 0.5
    """Share of the moves of any size and temperature; the others are of those that have moved the most."""


PARAMETERS = SamplerParameters()


class Visited:
    """What a chain met on its way from the truth.

    Parameters
    ----------
    truth : ndarray of int32, shape (n_rows, n_attributes)
    n_moving : int
        Rows that can change.

    Attributes
    ----------
    samples : list of ndarray of int32, shape (n_rows, n_attributes)
    changed : ndarray of bool, shape (n_rows,)
        Rows that were others than the truth's after some move.
    """

    def __init__(self, truth: Int32Array, n_moving: int) -> None:
        self._truth, self._looks, self._keep_every, self._kept = truth, 0, 1, kept(n_moving)
        self.samples: list[Int32Array] = []
        self.changed: BoolArray = np.zeros(len(truth), dtype=bool)

    def look(self, now: Int32Array) -> None:
        """Note the dataset as it is; where there are twice as many samples as are kept, every second one goes."""
        self.changed |= (now != self._truth).any(axis=1)
        self._looks += 1
        if self._looks % self._keep_every == 0:
            self.samples.append(now.copy())
            if len(self.samples) >= 2 * self._kept:
                self.samples, self._keep_every = self.samples[1::2], 2 * self._keep_every

    @property
    def last(self) -> list[Int32Array]:
        """The samples that are kept, the last one first."""
        return self.samples[: -self._kept - 1 : -1]


def unchanged(chains: Iterable[Visited], moving: IntArray) -> float:
    """Return the share of the rows that could move and that no chain has changed."""
    return float(1 - np.any([chain.changed for chain in chains], axis=0)[moving].mean())


class ExplainingChain(Visited):
    """A dataset on its way from the truth, and what it was on that way.

    Parameters
    ----------
    truth : ExplainedRows
    prior : Population
    seed : int
    within_cells : bool
        Whether every row stays in its leaves: where leaves reveal more of a row than counts do.
    moving : ndarray of int64, shape (n_moving,), or None
        The rows that move; None for all.
    stop : ndarray of uint8, shape (1,), or None
        Where it is raised, blocks stay as they are.
    """

    def __init__(
        self,
        truth: ExplainedRows,
        prior: Population,
        seed: int,
        *,
        within_cells: bool = False,
        moving: IntArray | None = None,
        stop: Flag | None = None,
    ) -> None:
        self._moving = np.arange(truth.n_rows) if moving is None else moving
        super().__init__(truth.state, len(self._moving))
        self._explained, self._prior = truth, prior
        self._stop: Flag = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self._rng = np.random.default_rng([seed, 62])
        self._data = truth.dataset(seed)
        n_attributes, n_classes = truth.state.shape[1], truth.nodes.count.shape[1]
        nothing = np.zeros((n_classes, n_attributes)), np.zeros((n_attributes, n_attributes)), np.ones(n_attributes)
        self._copula = Copula(0.0, *nothing)
        self._near = neighbours(truth, self._moving, PARAMETERS.neighbours * max(PARAMETERS.sizes))
        self._sizes = (1,) if within_cells else PARAMETERS.sizes
        shape = len(self._sizes), len(PARAMETERS.temperatures)
        self._moved, self._tried = np.zeros(shape), np.zeros(shape)

    def turn(self) -> None:
        """Let some blocks move, and keep what came of it."""
        place, heat = self._kind_of_move()
        size = min(self._sizes[place], len(self._moving))
        number = max(1, PARAMETERS.rows_a_turn // _steps(size))
        moved = self._excurse(self._blocks(size, number), PARAMETERS.temperatures[heat])
        self._moved[place, heat] += float(moved.sum()) * size**0.5
        self._tried[place, heat] += number * _steps(size)
        self.look(self._data.state)

    def _kind_of_move(self) -> tuple[int, int]:
        """Draw a size and a temperature: the more often those that have moved more rows for the same work so far."""
        gain = (self._moved + 1.0) / (self._tried + 100.0)
        share = PARAMETERS.any_kind / gain.size + (1 - PARAMETERS.any_kind) * gain / gain.sum()
        place, heat = np.unravel_index(int(self._rng.choice(gain.size, p=share.ravel() / share.sum())), gain.shape)
        return int(place), int(heat)

    def _excurse(self, blocks: IntArray, temperature: float) -> BoolArray:
        truth, prior = self._explained, self._prior
        moved: BoolArray = _excursions(
            truth.nodes,
            truth.attributes,
            self._copula,
            self._data,
            truth.times,
            truth.fixed,
            blocks,
            _steps(blocks.shape[1]),
            temperature,
            truth.ordered,
            prior.log_share,
            prior.log_prior,
            prior.fold,
            self._stop,
        )
        return moved

    def _blocks(self, size: int, number: int) -> IntArray:
        """Return blocks of moving rows: one and some of its neighbours, or any."""
        rng, most = self._rng, len(self._moving)
        first = rng.integers(most, size=number)
        if size == 1:
            chosen = first[:, None]
        elif rng.random() < PARAMETERS.by_chance:
            chosen = np.stack([rng.choice(most, size, replace=False) for _ in range(number)])
        else:
            near = self._near[first, : max(size, min(PARAMETERS.neighbours * size, self._near.shape[1]))]
            others = [rng.permutation(row[row != f])[: size - 1] for row, f in zip(near, first, strict=True)]
            chosen = np.column_stack([first, np.stack(others)])
        return np.ascontiguousarray(self._moving[chosen], dtype=np.int64)

    def bits(self, over: Callable[[], bool]) -> float:
        """Return a lower bound of the logarithm, to base 2, of how many datasets explain the file (`bits_of_counts`).

        It is the more of two: of rows that stay in all their leaves, and of the blocks of a partition that take states
        which leave what they add to every count as it is.

        Parameters
        ----------
        over : callable
            Whether to stop.
        """
        truth, size = self._explained, min(PARAMETERS.partition, len(self._moving))
        within_cells = cell_bits(truth, self._moving, self._stop) or 0.0
        if len(self._sizes) == 1 or within_cells >= PARAMETERS.plenty:
            return within_cells
        nodes, attributes, now = truth.nodes, truth.attributes, self._data
        first = now._replace(state=now.state.copy(), below=now.below.copy(), above=now.above.copy())
        _, holds = boxes(nodes, attributes, first, truth.times, truth.fixed, self._moving, self._stop)
        keys = np.random.default_rng(0).integers(1, 2**62, size=int(attributes.start[-1]), dtype=np.int64)
        of_label = np.random.default_rng(1).integers(1, 2**62, size=(nodes.count.shape[1],), dtype=np.int64)
        order = self._rng.permutation(len(self._moving))[: len(self._moving) // size * size]
        blocks = np.ascontiguousarray(self._moving[order].reshape(-1, size))
        met: list[set[tuple[int, ...]]] = [set() for _ in blocks]
        for turn in range(PARAMETERS.looks):
            for begin in range(0, len(blocks), PARAMETERS.rows_a_turn // size):
                if over():
                    break
                some = blocks[begin : begin + PARAMETERS.rows_a_turn // size]
                self._excurse(some, PARAMETERS.temperatures[turn % len(PARAMETERS.temperatures)])
            if over():
                break
            kept = keep_bounds(nodes, attributes, now, truth.times, first, holds, blocks)
            of_row = keys[now.state[blocks] + attributes.start[:-1]].sum(axis=2) + of_label[truth.label[blocks]]
            for one, numbers, fits in zip(met, np.sort(of_row, axis=1).tolist(), kept.tolist(), strict=True):
                if fits:
                    one.add(tuple(numbers))
        return max(within_cells, block_bits(met))


@compiled
def _latent_class(random, log_share, log_prior, start, row):  # type: ignore[no-untyped-def]
    """Draw the latent class of a row, given its states."""
    n_classes = len(log_share)
    if n_classes == 1:
        return 0
    log = np.empty(n_classes)
    for z in range(n_classes):
        log[z] = log_share[z]
        for a in range(len(row)):
            log[z] += log_prior[z, start[a] + row[a]]
    return draw(random, -log, n_classes, 1.0)


@compiled
def _excursions(  # type: ignore[no-untyped-def]  # noqa: PLR0912
    nodes, attributes, copula, data, times, fixed, blocks, n_steps, temperature, ordered, log_share,
    log_prior, fold, stop,
):  # fmt: skip
    """Let blocks of rows move, one after the other, and return which have changed, shape (n_blocks,).

    The rows of a block move by heat bath at a temperature, all other rows as they are; where every observation holds
    again in the end, the block stays, else it goes back. Each step draws a row at random and its attributes in random
    order. So the whole is reversible with respect to the prior times what the temperature allows and, restricted to
    the datasets that explain everything, with respect to the prior (Metropolis).

    Parameters
    ----------
    nodes : NodeArrays
    attributes : Attributes
        Their prior is not used.
    copula : Copula
        Of strength 0.
    data : Dataset
        Explains everything; changed in place.
    times : ndarray of int32, shape (n_trees, n_rows)
    fixed : ndarray of bool, shape (n_rows, n_attributes)
    blocks : ndarray of int64, shape (n_blocks, block_size)
        Rows of one label each, where labels matter.
    n_steps : int
        Rows that are drawn anew in a block.
    temperature : float
    ordered : bool
        Whether rows are also exchanged.
    log_share, log_prior, fold
        As in `Population`.
    stop : ndarray of uint8, shape (1,)
        Looked at before each draw. Where it is raised, the block that moves is left where it is, if everything holds
        there, and no other one moves.
    """
    n_blocks, size = blocks.shape
    moved = np.zeros(n_blocks, np.bool_)
    before = np.empty((size, data.state.shape[1]), np.int32)
    one, pair = np.empty(1, np.int64), np.empty((1, 2), np.int64)
    for b in range(n_blocks):
        if stop[0] != 0:
            break
        for i in range(size):
            before[i] = data.state[blocks[b, i]]
        for _ in range(n_steps):
            if stop[0] != 0:
                break
            k = blocks[b, int(uniform(data.random) * size)]
            if ordered and size > 1 and uniform(data.random) < 0.25:
                pair[0, 0], pair[0, 1] = k, blocks[b, int(uniform(data.random) * size)]
                if data.label[pair[0, 0]] == data.label[pair[0, 1]]:
                    exchange(nodes, attributes, data, times, fixed, pair, temperature, 1.0, stop)
                continue
            f = fold[k]
            z = _latent_class(data.random, log_share[f], log_prior[f], attributes.start, data.state[k])
            by_class = with_prior(attributes, log_prior[f, z])
            one[0] = k
            sweep(nodes, by_class, copula, data, times, True, fixed, one, temperature, 1.0, stop)
        changed = False
        for i in range(size):
            for a in range(before.shape[1]):
                if before[i, a] != data.state[blocks[b, i], a]:
                    changed = True
        if not changed:
            continue
        counts, splits = missed(nodes, attributes, data)
        if counts + splits == 0:
            moved[b] = True
            continue
        for i in range(size):
            k = blocks[b, i]
            same = True
            for a in range(before.shape[1]):
                if before[i, a] != data.state[k, a]:
                    same = False
            if not same:
                take(nodes, attributes, data, times, k)
                data.state[k] = before[i]
                put(nodes, attributes, data, times, k)
    return moved


def _steps(size: int) -> int:
    """Return how many rows are drawn anew while a block of some rows moves."""
    return PARAMETERS.steps_alone if size == 1 else PARAMETERS.steps_a_row * size


def neighbours(truth: ExplainedRows, rows: IntArray, number: int, of: IntArray | None = None) -> IntArray:
    """Return for some rows the nearest rows of their label, by the places of their states, themselves among them.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_rows,)
        The rows that are looked at.
    of : ndarray of int64, shape (n_asked,), or None
        Places among `rows`; None for all.

    Returns
    -------
    ndarray of int64, shape (n_asked, at most `number`)
        Places among `rows`.
    """
    size = truth.states.n_states.astype(np.float64)
    points = truth.state[rows] / np.maximum(size - 1, 1)
    grouped = np.array([attribute.kind == "one-hot" for attribute in truth.domain.attributes])
    spread = [points[:, ~grouped], truth.label[rows][:, None] * 1e3]
    spread += [np.eye(int(size[a]))[truth.state[rows, a]] / 2 for a in np.flatnonzero(grouped).tolist()]
    points = np.column_stack(spread)
    number = min(len(rows), number)
    asked = points if of is None else points[of]
    _, near = cKDTree(points).query(asked, k=number, p=1)
    return np.asarray(near, dtype=np.int64).reshape(len(asked), number)
