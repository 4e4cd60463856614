"""Rows rebuilt from boosters made by hand: right, possible or none, and never made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_draft.artifact.forest.observations import NewtonSteps, Statements
from pytest_draft.attack.boosted.rebuild import _rounded, rebuild_boosted
from pytest_draft.attack.search import Search
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.timebox import TimeBox

DOMAIN = Domain(
    tuple("abcd"),
    (
        Attribute("a", "binary", (0,)),
        Attribute("b", "one-hot", (1, 2), dropped=True),
        Attribute.coded("d", 3, [-3, 0, 7]),
    ),
    "made by hand",
)


def rows_of(seed=0, n_rows=30, n_classes=2):
    """Return rows of the domain, and a label of each."""
    rng = np.random.default_rng(seed)
    return DOMAIN.uniform(n_rows, rng), rng.integers(n_classes, size=n_rows)


def table(rows, labels):
    """Return rows with their labels, in an order of their own."""
    return sorted(map(tuple, np.column_stack([rows, labels]).tolist()))


class Looks:
    """A clock on which time is out after so many looks."""

    def __init__(self, most):
        self.left = most

    def __call__(self):
        self.left -= 1
        return 0.0 if self.left >= 0 else 100.0


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize("seed", range(2))
def test_many_rounds_tell_every_row(by_hand, loss, seed):
    rows, labels = rows_of(seed, n_classes=3 if loss == "softmax" else 2)
    forest = by_hand(rows, labels, loss, rounds=15, depth=4, seed=seed)
    found = rebuild_boosted(forest, DOMAIN, len(rows), Search(TimeBox(60)))
    assert found.status == "unique"
    assert table(found.rows, found.labels) == table(rows, labels)
    assert table(found.proved, np.zeros(len(rows))) == table(rows, np.zeros(len(rows)))
    assert found.certificate.unique


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_regressors_tell_rows_without_targets(by_hand, loss):
    rows, labels = rows_of()
    forest = by_hand(rows, labels, loss, rounds=15, depth=4)
    found = rebuild_boosted(forest, DOMAIN, len(rows), Search(TimeBox(60)))
    assert found.status == "unique"
    assert table(found.rows, found.labels) == table(rows, np.zeros(len(rows)))


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_few_rows(by_hand, n_rows):
    rows, labels = rows_of(n_rows=n_rows)
    found = rebuild_boosted(by_hand(rows, labels, rounds=2, depth=1), DOMAIN, n_rows, Search(TimeBox(60)))
    assert found.residual == 0
    assert len(found.rows) == n_rows
    assert found.status == "consistent"


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_only(by_hand, label):
    rows, _ = rows_of()
    labels = np.full(len(rows), label)
    found = rebuild_boosted(by_hand(rows, labels, rounds=10, depth=4), DOMAIN, len(rows), Search(TimeBox(60)))
    assert table(found.rows, found.labels) == table(rows, labels)


def test_trees_of_one_leaf_tell_the_classes_alone(by_hand):
    rows, labels = rows_of()
    found = rebuild_boosted(by_hand(rows, labels, depth=0), DOMAIN, len(rows), Search(TimeBox(60)))
    assert found.residual == 0
    assert found.labels.sum() == labels.sum()
    assert found.status == "consistent"
    assert found.certificate.certain_cells.lower == len(rows)
    assert found.certificate.certain_rows.lower == 0
    assert len(found.proved) == 0


def test_rows_of_another_number_miss_something(by_hand):
    rows, labels = rows_of()
    forest = by_hand(rows, labels)
    for n_rows in (len(rows) - 1, len(rows) + 1):
        found = rebuild_boosted(forest, DOMAIN, n_rows, Search(TimeBox(60)))
        assert found.status == "not converged"
        assert found.certificate is None
        assert found.proved is None


def test_too_many_vectors_are_not_covered(by_hand):
    wide = Domain(
        tuple(f"c{i}" for i in range(300)), tuple(Attribute(f"c{i}", "binary", (i,)) for i in range(300)), "wide"
    )
    rng = np.random.default_rng(0)
    forest = by_hand(rng.integers(2, size=(20, 300)), rng.integers(2, size=20))
    with pytest.raises(NotCoveredError, match="vectors"):
        rebuild_boosted(forest, wide, 20, Search(TimeBox(60)))


def test_leaves_without_rows_are_infeasible(by_hand):
    rows, labels = rows_of()
    forest = by_hand(rows, labels)
    nowhere = replace(forest.trees[0], n_distinct=np.zeros_like(forest.trees[0].n_distinct))
    with pytest.raises(InfeasibleError):
        rebuild_boosted(replace(forest, trees=(nowhere, *forest.trees[1:])), DOMAIN, len(rows), Search(TimeBox(60)))


def without_values(forest, steps):
    """Return a booster whose leaves took several steps, so that its labels come after its rows."""
    nothing = (Statements.none(),) * forest.n_trees
    return replace(forest, observation=replace(forest.observation, statements=nothing, steps=steps))


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    ("loss", "steps"), [("logistic", None), ("squared", None), ("logistic", NewtonSteps(1, 1.0, 0.3))]
)
def test_whenever_the_time_is_out_nothing_is_made_up(by_hand, loss, steps):
    rows, labels = rows_of()
    forest = by_hand(rows, labels, loss, rounds=15, depth=4)
    if steps is not None:
        forest = without_values(forest, steps)
    nothing, statuses = np.zeros_like(labels), set()
    for most in (*range(1, 50, 8), *range(50, 200, 40)):
        box = TimeBox(50.0, clock=Looks(most), start=0.0)
        try:
            found = rebuild_boosted(forest, DOMAIN, len(rows), Search(box))
        except OutOfTimeError:
            statuses.add("out of time")
            continue
        statuses.add(found.status)
        assert len(found.rows) == len(rows)
        if found.residual:
            assert found.status == "not converged"
            assert found.cut_short
            assert found.certificate is None
            continue
        assert table(found.rows, nothing) == table(rows, nothing)
        if steps is None:
            assert table(found.rows, found.labels) == table(rows, nothing if forest.classes is None else labels)
        else:
            assert found.cut_short if found.labels is None else table(found.rows, found.labels) == table(rows, labels)
    assert "out of time" in statuses
    assert statuses & {"unique", "consistent"}


@pytest.mark.parametrize(
    ("found", "want"),
    [
        ([2.0, 0.0, 1.0], [2, 0, 1]),
        ([1.999999999, 0.0, 1.000000001], [2, 0, 1]),
        ([0.0, 0.5, 0.2], [0, 2, 1]),  # found too little: in proportion
        ([0.0, 7.0, 0.1], [0, 3, 0]),
        ([0.0, 0.0, 0.2], [0, 0, 3]),
        ([0.0, 0.0, 0.0], [1, 1, 1]),
        ([1e-9, 4e3, 0.0], [0, 3, 0]),
    ],
)
def test_rounded_numbers_add_up_and_are_of_kinds_that_were_found(found, want):
    assert _rounded(np.array(found), 3).tolist() == want


@pytest.mark.parametrize("seed", range(5))
def test_rounded_numbers_are_near(seed):
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 4, size=50)
    near = np.abs(number + rng.normal(size=50) * 1e-3)
    assert (_rounded(near, int(number.sum())) == number).all()
