"""A numeric problem is built within its time box, wherever that ends, or not at all."""

from __future__ import annotations

import itertools

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
from pytest_draft.examine.numeric import Numeric
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


def test_a_problem_is_not_built_beyond_the_box(posed):
    box, ticks = ticking(1e9)
    build_numeric(*posed, box)
    looks = next(ticks)

    assert looks > posed[0].n_trees  # it is looked at often
    for seconds in np.linspace(1, looks - 2, 25).astype(int).tolist():
        box, ticks = ticking(seconds)
        with pytest.raises(OutOfTimeError):
            build_numeric(*posed, box)
        assert next(ticks) <= seconds + 3


def test_nothing_is_multiplied_any_more_when_the_time_is_out(posed, monkeypatch):
    forest, domain, groups = posed
    monkeypatch.setattr(problem, "lsq_linear", lambda matrix, *_, **__: matrix @ np.ones(matrix.shape[1]))
    box = TimeBox(1.0, clock=iter([0.0, *[0.5] * (forest.n_trees + 1), *[1.5] * 99]).__next__)

    with pytest.raises(OutOfTimeError):
        build_numeric(forest, domain, groups, box)


def test_products_are_those_of_the_matrix_both_ways():
    matrix = sparse.csr_array(np.arange(12.0).reshape(3, 4))
    heeding = problem._heeding(matrix, TimeBox(60))

    assert (heeding @ np.arange(4.0) == matrix @ np.arange(4.0)).all()
    assert (heeding.T @ np.arange(3.0) == matrix.T @ np.arange(3.0)).all()


def test_effort_that_is_spent_keeps_no_problem_from_being_built(posed):
    box = TimeBox(600, effort=1.0)
    box.spend(2.0)

    assert build_numeric(*posed, box).n_unknown == 60


def test_an_attack_of_more_rows_than_there_is_time_for_replays_nothing(posed, monkeypatch):
    forest, domain, _ = posed

    class Asked:
        case = type("Case", (), {"adversary": "artifact"})
        knowledge = None

    asked = Asked()
    asked.forest, asked.domain = forest, domain
    monkeypatch.setattr("pytest_draft.knowledge.occurrences", pytest.fail)

    with pytest.raises(OutOfTimeError):
        Numeric(asked, Search(TimeBox(1e-7)))
