"""The same comparison on other scales, so that outliers do not dominate numeric columns.

An outlier also decides errors by range, whoever guesses. So with numeric columns the whole and each part are judged
once more on scales that none stretches (`pytest_draft.scales`): without far-out values
where there are some, and with ranks, which no other scale of a column changes. By rank, the values are counted as well
that come back exactly, beside those that other rows like these have right (`Exact`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import Rows
from pytest_draft.evaluate.baseline_draws import DRAW_NUMBERS
from pytest_draft.evaluate.close_rows import Met
from pytest_draft.evaluate.compared import Compared
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.numeric import share_exact
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.figures import Baseline, Distance, Exact
from pytest_draft.facts.findings import Measure, ScaleName
from pytest_draft.matching import paired_distance
from pytest_draft.scales import RisingScale, by_rank, without_far_out

FEW_ROWS = 300
"""Of more than `Numbers.many_rows` rows, this many are compared on other scales, each with all rebuilt ones."""


def rescaled_figures(parts: Sequence[Compared]) -> list[tuple[Measure, Compared | None]]:
    """Return the figures of parts with numeric columns on further scales, and what their random error is yet to be of.

    None of the rows in which nothing is guessed: rows of numbers are hardly ever whole without a guess.
    """
    return [
        (_figures_of_sample(scaled), None) if scaled.many else (scaled.figures(), scaled)
        for part in parts
        if part.numeric and part.of != "fully_determined"
        for _, scaled in on_other_scales(part)
    ]


def on_other_scales(compared: Compared) -> tuple[tuple[RisingScale, Compared], ...]:
    """Return scales of numeric values that no outlier stretches, each with the same comparison on it."""
    inner, ranks = without_far_out(compared.rows, compared.domain), by_rank(compared.rows, compared.domain)
    by_ranks = ranks, _on_scale(compared, ranks, "rank", " (numbers compared by rank)")
    if inner is None:
        return (by_ranks,)
    return (inner, _on_scale(compared, inner, "inner range", " (far-out numbers cut off)")), by_ranks


def _on_scale(compared: Compared, scale: RisingScale, name: ScaleName, on: str) -> Compared:
    rows, rebuilt = scale(compared.rows), scale(compared.rebuilt)
    return replace(
        compared,
        on=on + compared.on,
        rows=rows,
        rebuilt=rebuilt,
        domain=scale.domain,
        scale=name,
        sampled=tuple(one.mapped(scale) for one in compared.sampled),
        known_others=None if compared.known_others is None else compared.known_others.mapped(scale),
    )


@dataclass(frozen=True, eq=False)
class _Closeness:
    """How close rows are to others that they are matched to, which of them meet one, and the share of exact values."""

    error: Distance
    met: Met
    exact: float


def _figures_of_sample(compared: Compared) -> Measure:
    """Return the figures on a sample of true rows, each beside a row of its own among all rebuilt ones.

    Samples of true rows stand beside all other rows like these in the split-half baseline, and beside as many
    uniform guesses in the random one. Were it a sample of rebuilt rows, those that are all alike would be near to
    some true row each.
    """
    rng = np.random.default_rng([compared.seed, 46])
    truth, pool = compared.rows[compared.unknown], compared.rebuilt[: max(1, compared.n_rows)]
    number = min(FEW_ROWS, len(pool), len(compared.rows) // 2)
    attack = _closeness(compared, truth[rng.choice(len(truth), number, replace=False)], pool)
    others, guesses = [], []
    for _ in range(DRAW_NUMBERS.splits_when_large):
        sample = rng.choice(compared.unknown, number, replace=False)
        rest = np.setdiff1d(np.arange(len(compared.rows)), sample)
        others.append(_closeness(compared, compared.rows[sample], compared.rows[rest]))
        guesses.append(_closeness(compared, compared.rows[sample], compared.domain.uniform(len(pool), rng)))
    found = [one for one in others if one is not None]
    exact = None
    if attack is not None and found and compared.scale == "rank":
        columns = int((compared.weights.tolerance > 0).sum())
        exact = Exact(number * columns, attack.exact, float(np.mean([one.exact for one in found])))
    return Measure(
        of=compared.of,
        on=f"{compared.on} in a sample of {number:,} rows",
        rows=number,
        columns=compared.n_counted,
        error=Distance(0.0, 1.0, None) if attack is None else attack.error,
        perfect=Bounds(0, number) if attack is None else attack.met.number,
        split_half=_mean(others, number),
        random=_mean(guesses, number),
        scale=compared.scale,
        numeric=compared.numeric,
        exact=exact,
        informed=compared.informed,
    )


def _mean(draws: Sequence[_Closeness | None], number: int) -> Baseline:
    """Return the mean of draws of so many rows, without those that there was no time for."""
    known = [(one.error.lower, len(one.met.rows)) for one in draws if one is not None]
    if not known:
        return Baseline(None, None, 0, number)
    error, perfect = np.mean(known, axis=0).tolist()
    return Baseline(error, perfect, len(known), number)


def _closeness(compared: Compared, truth: Rows, pool: Rows) -> _Closeness | None:
    """Return how close true rows are to the rows of a pool that they are matched to; None without the time."""
    partners = Comparison().partners(pool, truth, compared.weights, compared.step)
    if partners is None:
        return None
    return _Closeness(
        paired_distance(truth, pool[partners], compared.weights),
        Comparison().met(truth, pool, compared.weights, compared.step),
        share_exact(truth, pool[partners], np.flatnonzero(compared.weights.tolerance)),
    )
