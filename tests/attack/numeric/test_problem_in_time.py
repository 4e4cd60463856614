"""A numeric problem is built within its time box, wherever that ends, or not at all."""

from __future__ import annotations

import itertools
import sys
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import occurrences
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.numeric import problem
from pytest_draft.attack.numeric.problem import build_numeric
from pytest_draft.attack.search import Search
from pytest_draft.domain import infer
from pytest_draft.errors import OutOfTimeError
from pytest_draft.examine.numeric import NumericAttack
from pytest_draft.timebox import TimeBox


def ticking(seconds: float) -> tuple[TimeBox, itertools.count]:
    """Return a time box whose clock is one second later whenever it is looked at."""
    ticks = itertools.count()
    return TimeBox(seconds, clock=lambda: float(next(ticks))), ticks


@pytest.fixture(scope="module")
def posed(published):
    rows = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    forest, _ = published(RandomForestClassifier(8, random_state=0).fit(rows, rows[:, 0] > rows[:, 1]), rows)
    return forest, infer(["a", "b", "c"], rows.astype(float)), group_by_occurrences(occurrences(forest))


@pytest.mark.nightly
def test_no_step_of_building_ignores_the_end(posed):
    box, ticks = ticking(1e9)
    build_numeric(*posed, box)
    looks = next(ticks)

    assert looks > posed[0].n_trees  # it is looked at often
    for seconds in np.linspace(1, looks - 2, 25).astype(int).tolist():
        box, ticks = ticking(seconds)
        with suppress(OutOfTimeError):  # or labels are left to the search
            build_numeric(*posed, box)
        assert next(ticks) <= seconds + 8
    for seconds in (1, posed[0].n_trees // 2):
        with pytest.raises(OutOfTimeError):
            build_numeric(*posed, ticking(seconds)[0])


def test_labels_are_left_to_the_search_where_telling_them_takes_too_long(posed, monkeypatch):
    forest, domain, groups = posed
    asked = []

    def endless(matrix, *_, **__):
        while True:
            asked.append(matrix @ np.ones(matrix.shape[1]))

    monkeypatch.setattr(problem, "lsq_linear", endless)
    box, ticks = ticking(400)

    made = build_numeric(forest, domain, groups, box)

    assert asked
    assert next(ticks) < 400  # it had a share of what was left
    assert not made.label_known
    draws = sum(forest.counts(t)[0] for t in range(forest.n_trees))
    assert np.bincount(made.label, minlength=2).tolist() == np.rint(60 * draws / draws.sum()).tolist()


def test_products_are_those_of_the_matrix_both_ways():
    matrix = sparse.csr_array(np.arange(12.0).reshape(3, 4))
    heeding = problem._with_time_checks(matrix, TimeBox(60))

    assert (heeding @ np.arange(4.0) == matrix @ np.arange(4.0)).all()
    assert (heeding.T @ np.arange(3.0) == matrix.T @ np.arange(3.0)).all()


def test_effort_that_is_spent_keeps_no_problem_from_being_built(posed):
    box = TimeBox(600, effort=1.0)
    box.spend(2.0)

    assert build_numeric(*posed, box).n_unknown == 60


def test_an_attack_that_has_no_time_replays_nothing(posed, monkeypatch):
    forest, domain, _ = posed

    class Asked:
        case = type("Case", (), {"adversary": "artifact"})
        knowledge = None

    asked = Asked()
    asked.forest, asked.domain = forest, domain
    module = sys.modules["pytest_draft.artifact.forest.occurrences"]
    monkeypatch.setattr(module, "_rows", lambda *_: pytest.fail("a tree is replayed"))

    with pytest.raises(OutOfTimeError):
        NumericAttack(asked, Search(TimeBox(1e-7)))
