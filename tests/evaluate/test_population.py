"""Somebody who knows other people's rows: figures by hand, and of forests what must always hold."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pytest_draft.attack.groups import KnownRows
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate.population import Population, population_of
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox

BITS = Domain(("a", "b"), (Attribute("a", "binary", (0,)), Attribute("b", "binary", (1,))), "by hand")
TRUTH = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.float32)


def test_the_nearest_guess_counts_and_whoever_has_the_file_may_act_as_if_they_had_not():
    near, far = TRUTH[[0, 1, 2, 2]], np.zeros_like(TRUTH)
    weights = encoded_weights(BITS)
    helps = Population(TRUTH, (near, far), (far,), measured=False).figures(weights, TimeBox(9))
    assert (helps.error, helps.error_without_file, helps.others_error) == (0.0, 0.625, 0.625)
    assert (helps.near_rows, helps.near_rows_without_file) == (1.0, 0.25)
    misleads = Population(TRUTH, (far,), (far, near), measured=True).figures(weights, TimeBox(9))
    assert (misleads.error, misleads.error_without_file, misleads.others_error) == (0.0, 0.0, 0.625)
    assert (misleads.near_rows, misleads.measured) == (1.0, True)


def stump(n_rows: int, seed: int):
    """Return rows of five flags of which the first decides the class, and a forest that asks for it."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (n_rows, 5)).astype(np.float32)
    everyone = KnownRows(rows, rows[:, 0].astype(np.int64), np.ones((1, n_rows), dtype=np.int64))
    domain = Domain(tuple("abcde"), tuple(Attribute(name, "binary", (a,)) for a, name in enumerate("abcde")), "by hand")
    tree = SimpleNamespace(
        n_nodes=3,
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.array([0, -1, -1]),
        threshold=np.array([0.5, -2, -2]),
        missing_left=np.zeros(3, dtype=bool),
        leaves=np.array([1, 2]),
    )
    return SimpleNamespace(trees=(tree,), n_classes=2), domain, everyone


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_what_the_file_counts_is_met_and_nobodys_row_is_known(seed):
    forest, domain, everyone = stump(80, seed)
    found = population_of(forest, domain, everyone, np.arange(80), seed, TimeBox(30))
    assert not any(one.measured for one in found)
    for one in found:
        in_order = one.guesses[1]
        assert abs(in_order[:, 0].sum() - one.truth[:, 0].sum()) <= 1
        assert {len(table) for table in (*one.guesses, *one.without_file)} == {80}
        figures = one.figures(encoded_weights(domain), TimeBox(9))
        assert 0 <= figures.error <= figures.error_without_file <= figures.others_error


def test_every_draw_is_the_same_for_a_seed_and_another_for_the_next():
    forest, domain, everyone = stump(40, 0)
    one, again, other = (population_of(forest, domain, everyone, np.arange(40), s, TimeBox(30))[0] for s in (1, 1, 2))
    assert np.array_equal(one.truth, again.truth)
    assert not np.array_equal(one.truth, other.truth)


def test_a_holdout_is_guessed_with_beside_what_is_drawn_and_its_truth_is_of_the_training_rows():
    forest, domain, everyone = stump(40, 0)
    others = KnownRows(*(getattr(stump(90, 9)[2], name) for name in ("rows", "labels", "weight")))
    *drawn, measured = population_of(forest, domain, everyone, np.arange(40), 0, TimeBox(30), others)
    assert drawn
    assert measured.measured
    assert sorted(map(tuple, measured.truth)) == sorted(map(tuple, everyone.rows))


def test_new_people_have_values_that_somebody_has_and_equal_rows_stay_as_they_are():
    forest, domain, everyone = stump(60, 3)
    alike = KnownRows(np.repeat(everyone.rows[:2], 30, axis=0), np.repeat(everyone.labels[:2], 30), everyone.weight)
    for one in population_of(forest, domain, alike, np.arange(60), 0, TimeBox(30)):
        assert {tuple(row) for row in one.truth} <= {tuple(row) for row in alike.rows}
