"""Scales of numeric values that an outlier does not stretch, by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.matching import encoded_weights
from pytest_draft.scales import by_rank, inner_bounds, near, without_far_out

GAP = np.nan


def array(rows) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def numeric(low: float, high: float) -> Domain:
    return Domain(("a",), (Attribute("a", "numeric", (0,), low, high, missing=True),), "by hand")


def column(values) -> np.ndarray:
    return array(values)[:, None]


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        (range(11), (0, 10)),
        ([*range(11), 41], (0, 10)),
        ([*range(11), -31, 1e9], (0, 10)),
        ([0] * 90 + [*range(50, 61)], (50, 60)),  # zeros that most share are far from the rest
        ([0] * 90 + [*range(1, 12)], (0, 11)),  # or near
        ([-999] * 40 + [*range(11)] + [GAP] * 3, (0, 10)),
        ([0, 1], (0, 1)),
        ([7, 7, GAP], None),
        ([GAP], None),
    ],
)
def test_far_out_is_what_lies_three_interquartile_ranges_beyond_the_quartiles_of_different_values(values, bounds):
    assert inner_bounds(array(list(values))) == bounds


def test_close_is_a_share_of_the_range_without_far_out_values_and_no_more_than_of_the_domains():
    rows = column([*range(11), 1e6])
    for high, tolerance in ((1e6, 0.1), (5, 0.05)):
        assert near(encoded_weights(numeric(0, high)), rows).tolerance.tolist() == [pytest.approx(tolerance)]
    constant = column([3, 3])
    assert near(encoded_weights(numeric(0, 10)), constant).tolerance.tolist() == [pytest.approx(0.1)]


def test_far_out_values_are_the_nearest_ones_that_are_not():
    scale = without_far_out(column([*range(11), 1e6]), numeric(0, 1e6))
    assert scale(column([-5, 3.25, 10, 11, 1e6, GAP])).tolist()[:-1] == [[0], [3.25], [10], [10], [10]]
    assert np.isnan(scale(column([GAP]))).all()
    assert (scale.domain.attributes[0].low, scale.domain.attributes[0].high) == (0, 10)


def test_there_is_no_such_scale_where_nothing_is_far_out_and_no_bound_is_wider():
    rows = column([*range(11)])
    assert without_far_out(rows, numeric(0, 10)) is None
    assert without_far_out(column([0.1, 0.2, 0.3]), numeric(0.1, 0.3)) is None  # 0.1 is not what it is as float32
    assert without_far_out(rows, numeric(0, 11)).domain.attributes[0].high == 10


def test_a_rank_is_how_many_values_are_below_and_half_of_the_others_that_are_equal():
    scale = by_rank(column([1, 5, 5, 5, 7, GAP]), numeric(0, 7))
    ranked = scale(column([0, 0.5, 1, 3, 5, 6, 7, 99, GAP]))
    assert ranked[:-1, 0].tolist() == [-0.5, -0.25, 0, 1, 2, 3, 4, 4]
    assert np.isnan(ranked[-1, 0])
    assert (scale.domain.attributes[0].low, scale.domain.attributes[0].high) == (-0.5, 4)


@pytest.mark.parametrize("seed", range(3))
def test_ranks_are_the_same_on_every_scale_that_keeps_the_order(seed):
    values = np.random.default_rng(seed).normal(size=50).round(1)
    domain_of: Callable[[np.ndarray], Domain] = lambda rows: infer(["a"], rows.astype(np.float64))  # noqa: E731
    ranks = []
    for changed in (values, 3 * values - 7, np.exp(values), np.where(values == values.max(), 1e9, values)):
        rows = column(changed)
        ranks.append(by_rank(rows, domain_of(rows))(rows))
    assert all((ranked == ranks[0]).all() for ranked in ranks)
