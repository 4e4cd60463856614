"""The exact probabilities of released counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.facts.privacy import Privacy

KINDS = [
    pytest.param(density, scale, rounding, id=f"{density}-{scale}-{rounding}")
    for density in ("laplace", "gaussian")
    for scale in (0.05, 0.7, 3.0, 300.0)
    for rounding in ("sum", "noise")
]


@pytest.mark.parametrize(("density", "scale", "rounding"), KINDS)
def test_the_probabilities_add_up_to_1(density, scale, rounding):
    noise = CountNoise(density, scale, rounding)
    reach = int(40 * scale) + 5
    for true in (0, 1, 7):
        released = np.arange(true - reach, true + reach + 1)
        assert np.exp(noise.log_probability(released, np.array(true))).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("density", "scale", "rounding"), KINDS)
def test_they_are_those_of_noise_that_is_drawn(density, scale, rounding):
    noise = CountNoise(density, scale, rounding)
    drawn = {"laplace": stats.laplace, "gaussian": stats.norm}[density].rvs(scale=scale, size=200_000, random_state=1)
    for true in (0, 3):
        released = np.trunc(true + drawn) if rounding == "sum" else true + np.trunc(drawn)
        for value in (-2, 0, 1, 3, 4):
            expected = np.exp(noise.log_probability(np.array(value), np.array(true)))
            assert (released == value).mean() == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_papers_variant_is_the_integral_that_it_prints(epsilon):
    noise = CountNoise("laplace", 1 / epsilon, "noise")
    for difference in (-3, -1, 0, 2):
        low = difference if difference > 0 else difference - 1
        high = difference if difference < 0 else difference + 1
        printed, _ = integrate.quad(lambda u: epsilon / 2 * np.exp(-abs(u) * epsilon), low, high, points=[0])
        found = np.exp(noise.log_probability(np.array(5 + difference), np.array(5)))
        assert found == pytest.approx(printed, rel=1e-9)


def test_the_tables_are_the_same_probabilities():
    for density in ("laplace", "gaussian"):
        for rounding in ("sum", "noise"):
            noise = CountNoise(density, 1.3, rounding)
            table = noise.table(-12, 14)
            for sign, released in enumerate((-2, 0, 5)):
                true = np.arange(9)
                assert np.allclose(table[sign, released - true + 12], noise.log_probability(np.array(released), true))


def test_far_tails_stay_exact():
    far = CountNoise("gaussian", 1.0, "sum").log_probability(np.array(80), np.array(0))
    assert far == pytest.approx(stats.norm.logsf(80.0), abs=1e-9)
    assert CountNoise("laplace", 0.01, "sum").log_probability(np.array(50), np.array(0)) == pytest.approx(
        -5000 - np.log(2), rel=1e-9
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_cutting_the_sum_keeps_epsilon_and_cutting_the_noise_does_not(epsilon):
    released, true = np.arange(-60, 80)[:, None], np.arange(6)

    def worst(rounding):
        logs = CountNoise("laplace", 1 / epsilon, rounding).log_probability(released, true)
        return np.abs(np.diff(logs, axis=1)).max()

    assert worst("sum") <= epsilon + 1e-9
    assert worst("noise") == pytest.approx(epsilon + np.log(2))  # the mass at 0 is doubled


@pytest.mark.parametrize("density", ["laplace", "gaussian"])
def test_the_moments_of_wide_noise_are_those_of_its_density(density):
    narrow, wide = CountNoise(density, 999.0, "sum"), CountNoise(density, 1000.1, "sum")
    assert narrow.log_moments(3) == pytest.approx(wide.log_moments(3), abs=5e-3)


@pytest.mark.nightly(quick=7)
@pytest.mark.parametrize(("density", "scale", "rounding"), KINDS)
def test_the_moments_are_those_of_what_is_drawn(density, scale, rounding):
    noise = CountNoise(density, scale, rounding)
    drawn = {"laplace": stats.laplace, "gaussian": stats.norm}[density].rvs(scale=scale, size=200_000, random_state=2)
    released = np.trunc(3 + drawn) if rounding == "sum" else 3 + np.trunc(drawn)
    logs = noise.log_probability(released.astype(np.int64), np.array(3))
    mean, variance = noise.log_moments(3)
    assert logs.mean() == pytest.approx(mean, abs=0.02)
    assert logs.var() == pytest.approx(variance, abs=0.05)


def test_labels_are_not_counts():
    with pytest.raises(ValueError, match="labels"):
        CountNoise.of(Privacy("permute-and-flip", 1.0))
