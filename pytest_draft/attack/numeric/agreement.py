"""The guess by samples: in go what chains visited when they were cold, out comes the dataset that is closest to all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, Int32Array
from pytest_draft.attack.numeric.beliefs import Beliefs
from pytest_draft.attack.numeric.chain import AnnealingChain, best_of
from pytest_draft.attack.numeric.parameters import AGREEMENT
from pytest_draft.attack.numeric.problem import NumericProblem
from pytest_draft.matching import assigned, distances_of


def agreed(
    problem: NumericProblem,
    best: AnnealingChain,
    chains: Sequence[AnnealingChain],
    beliefs: Sequence[Beliefs],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], int]:
    """Return the dataset that is closest to all samples, after matching rows to rows, and how many samples that were.

    The error is measured after a matching, so that the median of what each row was is not the best guess: it draws
    rows together. Each round matches every sample to the guess, and takes the median of what was matched to each row.
    Of very many rows, or such that the adversary knows something of, each is taken for itself; where nothing tells them
    apart, of the best chain only. Where rows were placed by a beam, a part of the samples is drawn from that: chains
    that begin there are surer of themselves than they are right. Where several rows are in one interval, they are
    spread over it: all in its middle would be farther away.
    """
    n = problem.n_unknown
    together = n <= AGREEMENT.most_rows and not (problem.state[:n] >= 0).any()
    n_samples = int(np.clip(AGREEMENT.cubes / n**3, *AGREEMENT.n_samples))
    drawn = []
    for chain in chains:
        if chain is best or problem.ordered or together:
            kept = np.unique(np.linspace(0, len(chain.samples) - 1, max(1, n_samples // len(chains))).round())
            drawn += [_spread(problem, chain.samples[int(i)], rng) for i in kept]
    if beliefs:
        n_drawn = max(1, round(len(drawn) * AGREEMENT.of_beliefs / (1 - AGREEMENT.of_beliefs)))
        drawn += [_spread(problem, beliefs[i % len(beliefs)].draw(rng)[0][:n], rng) for i in range(n_drawn)]
    guess = _median(problem, drawn) if problem.ordered or not together else _middle(problem, best_of(best)[1][:n])
    for _ in range(AGREEMENT.rounds if together else 0):
        place = _scaled(problem, guess)
        partner = [assigned(distances_of(place, _scaled(problem, one))) for one in drawn]
        guess = _median(problem, [one[of_row] for one, of_row in zip(drawn, partner, strict=True)])
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind != "one-hot":
            guess[:, a] = problem.states.rounded(a, guess[:, a])
    return encoded_rows(problem, guess), len(drawn)


def _median(problem: NumericProblem, drawn: Sequence[FloatArray]) -> FloatArray:
    """Return the median of each attribute of each row, missing where it mostly is; without an order the commonest."""
    middle = np.empty_like(drawn[0])
    for a, attribute in enumerate(problem.domain.attributes):
        of_attribute = np.stack([values[:, a] for values in drawn])
        if attribute.kind not in ("numeric", "ordinal"):
            middle[:, a] = _commonest(of_attribute)
            continue
        if not attribute.missing:
            middle[:, a] = np.median(of_attribute, axis=0)
            continue
        missing = np.isnan(of_attribute).mean(axis=0) > 0.5
        middle[~missing, a] = np.nanmedian(of_attribute[:, ~missing], axis=0)
        middle[missing, a] = np.nan
    return middle


def _scaled(problem: NumericProblem, middle: FloatArray) -> FloatArray:
    """Return encoded rows in units of the ranges; what is missing lies outside."""
    ranges = problem.domain.ranges
    rows: FloatArray = encoded_rows(problem, middle) / np.where(ranges > 0, ranges, 1.0)
    return np.where(np.isnan(rows), np.nanmin(rows, axis=0, initial=0.0) - 1, rows)


def _commonest(values: FloatArray) -> FloatArray:
    """Return the commonest value of each row, shape (n_rows,), of samples of shape (n_samples, n_rows)."""
    ordered = np.sort(values, axis=0)
    result: FloatArray = ordered[0].copy()
    most = times = np.ones(values.shape[1], dtype=np.int64)
    for before, here in pairwise(ordered):
        times = np.where((here == before) | (np.isnan(here) & np.isnan(before)), times + 1, 1)
        result, most = np.where(times > most, here, result), np.maximum(times, most)
    return result


def _middle(problem: NumericProblem, state: Int32Array) -> FloatArray:
    """Return the middle of each state, shape (n_rows, n_attributes)."""
    return np.stack([middle[state[:, a]] for a, middle in enumerate(problem.states.middle)], axis=1)


def _spread(problem: NumericProblem, state: Int32Array, rng: np.random.Generator) -> FloatArray:
    """Return a value of each state, evenly spread over the interval where several rows are in one."""
    values = _middle(problem, state)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind != "numeric":
            continue
        here = state[:, a]
        order = rng.permutation(len(here))
        order = order[np.argsort(here[order], kind="stable")]
        first = np.searchsorted(here[order], here[order])
        share = (np.arange(len(here)) - first + 0.5) / np.bincount(here)[here[order]]
        low, high = problem.states.low[a][here[order]], problem.states.high[a][here[order]]
        values[order, a] = low + (high - low) * share
    return values


def guessed(problem: NumericProblem, state: Int32Array) -> FloatArray:
    """Return a value that each state holds, shape (n_rows, n_attributes)."""
    values = _middle(problem, state)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind == "numeric":
            values[:, a] = problem.states.guess(a, state[:, a].astype(np.int64))
    return values


def encoded_rows(problem: NumericProblem, values: FloatArray) -> NDArray[np.float32]:
    """Return encoded rows, known values as they are; of a one-hot group, the value is the column's position."""
    rows = np.zeros((len(values), problem.domain.n_columns), dtype=np.float32)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind == "one-hot":
            rows[:, list(attribute.columns)] = attribute.encoded(values[:, a].astype(np.int64))
        else:
            rows[:, attribute.columns[0]] = values[:, a]
    return np.where(np.isnan(problem.given), rows, problem.given)
