"""Each step of the exact solver by itself, against enumeration where the numbers are small."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from scipy import sparse

from profiles import examples
from pytest_draft.attack.counts.exact import propagate_bounds, solve_exactly
from pytest_draft.attack.counts.integer import Model, local_search, rounded
from pytest_draft.attack.counts.relax import relax
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.problem import System
from pytest_draft.attack.search import Search
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.timebox import TimeBox

PROPERTY = settings(max_examples=examples(150), deadline=None, derandomize=True)


@st.composite
def systems(draw, always_feasible=False, equations=4, groups=2):
    """Equations over grouped columns, group sizes last; not all have a solution unless `always_feasible`."""
    random = np.random.RandomState(draw(st.integers(0, 100_000), label="seed"))
    of_column = np.sort(random.randint(draw(st.integers(1, groups)), size=draw(st.integers(1, 6), label="columns")))
    _, group = np.unique(of_column, return_inverse=True)
    matrix = random.randint(0, 4, (draw(st.integers(0, equations), label="equations"), len(group)))
    matrix *= random.rand(*matrix.shape) < 0.7
    size = random.randint(1, 4, group.max() + 1)
    rows = np.zeros(len(group), int)
    for g, number in enumerate(size):
        np.add.at(rows, random.choice(np.flatnonzero(group == g), number), 1)
    matrix = np.concatenate([matrix, group == np.arange(len(size))[:, None]]).astype(np.int32)
    observed = matrix @ rows
    changed = not always_feasible and draw(st.booleans(), label="changed")
    if changed and len(matrix) > len(size):
        observed[random.randint(len(matrix) - len(size))] += random.choice([-1, 1])
    return System(sparse.csc_array(matrix), observed), group, size


def every_solution(system, upper):
    """Enumerate the whole numbers from 0 to `upper` that meet the equations."""
    grid = np.array(list(product(*(range(most + 1) for most in upper))))
    return grid[(grid @ system.matrix.toarray().T == system.observed).all(axis=1)]


def run(system, upper, other_than=(), **options):
    options = {"hint": np.zeros_like(upper), "effort": np.inf, "seed": 0} | options
    model = Model(system, upper)
    for known in other_than:
        model.exclude(known)
    return model.solve(timebox=TimeBox(60), **options)


@PROPERTY
@given(systems())
def test_propagation_loses_no_solution(case):
    system, group, size = case
    solutions = every_solution(system, size[group])
    try:
        lower, upper = propagate_bounds(system, size[group], TimeBox(60))
    except InfeasibleError:
        event("infeasible")
        assert not len(solutions)
        return
    event("solutions" if len(solutions) else "not noticed")
    assert (lower >= 0).all()
    assert (lower <= upper).all()
    assert (upper <= size[group]).all()
    if len(solutions):
        assert (lower <= solutions.min(axis=0)).all()
        assert (solutions.max(axis=0) <= upper).all()
    # no equation alone has anything left to say
    matrix = system.matrix.toarray()
    spare = system.observed - matrix @ lower
    excess = matrix @ upper - system.observed
    for i, j in np.argwhere(matrix).tolist():
        assert upper[j] <= lower[j] + spare[i] // matrix[i, j]
        assert lower[j] >= upper[j] - excess[i] // matrix[i, j]


def test_propagation_stops_when_the_time_is_out():
    now = iter([0.0])
    with pytest.raises(OutOfTimeError):
        propagate_bounds(
            System(sparse.csc_array(np.ones((1, 2), np.int32)), np.array([1])),
            np.array([1, 1]),
            TimeBox(1, clock=lambda: next(now, 2.0)),
        )


@pytest.mark.nightly
@PROPERTY
@given(systems())
def test_the_exact_solver_agrees_with_enumeration(case):
    system, group, size = case
    solutions = every_solution(system, size[group])
    try:
        found = solve_exactly(system, group, size, np.ones(len(group)), Search(TimeBox(60)), alternatives=True)
    except InfeasibleError:
        assert not len(solutions)
        return
    assert len(solutions)
    assert found.residual == 0
    assert (solutions == found.rows).all(axis=1).any()
    assert found.unique == (len(solutions) == 1)
    np.testing.assert_allclose(np.bincount(group, found.expected), size, rtol=1e-6)


@PROPERTY
@given(st.data())
def test_rounding_keeps_group_sizes_and_stays_within_one(data):
    size = np.array(data.draw(st.lists(st.integers(1, 50), min_size=1, max_size=4)))
    random = np.random.RandomState(data.draw(st.integers(0, 10_000)))
    group = np.sort(np.concatenate([np.arange(len(size)), random.randint(len(size), size=8)]))
    mass = random.choice([1e-12, 0.3, 1.0, 1.0], len(group)) * random.choice([1, random.rand()], len(group))
    mass *= (size / np.bincount(group, mass))[group]
    rows = rounded(mass, group, size)
    assert rows.dtype == np.int64
    np.testing.assert_array_equal(np.bincount(group, rows), size)
    assert (np.abs(rows - mass) < 1 + 1e-6).all()


def test_rounding_leaves_a_whole_dataset_as_it_is():
    rows = np.array([2, 0, 1, 5])
    near = rows + np.array([1e-12, 0, -1e-12, 0])
    np.testing.assert_array_equal(rounded(near, np.array([0, 0, 0, 1]), np.array([3, 5])), rows)


@pytest.mark.nightly
@PROPERTY
@given(systems(equations=6), st.integers(0, 100))
def test_descent_never_raises_the_squared_residual_and_keeps_group_sizes(case, seed):
    system, group, size = case
    random = np.random.default_rng(seed)
    start = np.zeros(len(group), np.int64)
    for g, number in enumerate(size):
        np.add.at(start, random.choice(np.flatnonzero(group == g), number), 1)
    given_rows = start.copy()
    end = local_search(system, start, group, random, TimeBox(60))
    np.testing.assert_array_equal(start, given_rows)
    assert (end >= 0).all()
    np.testing.assert_array_equal(np.bincount(group, end), size)

    def squared(rows):
        return ((system.matrix @ rows - system.observed) ** 2).sum()

    assert squared(end) <= squared(start)
    for here, there in product(range(len(group)), repeat=2):  # no single move improves it
        if group[here] == group[there] and end[here]:
            moved = end.copy()
            moved[here] -= 1
            moved[there] += 1
            assert squared(moved) >= squared(end)


@pytest.mark.nightly
@PROPERTY
@given(systems(always_feasible=True))
def test_cp_sat_lists_every_dataset_once_and_then_says_that_there_is_no_other(case):
    system, group, size = case
    upper = size[group]
    solutions = every_solution(system, upper)
    found = []
    for _ in range(len(solutions)):
        answer = run(system, upper, other_than=found)
        assert answer.rows is not None
        found.append(answer.rows)
    assert {rows.tobytes() for rows in found} == {rows.astype(np.int64).tobytes() for rows in solutions}
    assert run(system, upper, other_than=found).status == "INFEASIBLE"


@pytest.mark.parametrize("hint", [[9, -9, 0], [0, 0, 0], [1, 1, 0]], ids=["outside the bounds", "wrong", "right"])
def test_cp_sat_takes_any_hint(hint):
    system = System(sparse.csc_array(np.array([[1, 1, 2], [1, 0, 0]], np.int32)), np.array([2, 1]))
    answer = run(system, np.array([1, 1, 2]), hint=np.array(hint))
    assert answer.rows.tolist() == [1, 1, 0]


def test_cp_sat_without_time_answers_nothing():
    now = iter([0.0])
    system = System(sparse.csc_array(np.ones((1, 1), np.int32)), np.array([1]))
    over = TimeBox(1, clock=lambda: next(now, 2.0))
    answer = Model(system, np.array([1])).solve(hint=np.array([1]), effort=1, seed=0, timebox=over)
    assert (answer.status, answer.rows) == ("UNKNOWN", None)


@pytest.mark.nightly
@PROPERTY
@given(systems(always_feasible=True), st.booleans())
def test_relaxation_keeps_group_sizes_and_reports_its_own_residual(case, prune):
    system, group, size = case
    upper = size[group]
    lower, upper = propagate_bounds(system, upper, TimeBox(60))
    free = np.flatnonzero(lower < upper)
    if len(np.unique(group[free])) < len(size):
        return
    rest = system.only(free, lower)
    left = size - np.bincount(group, lower, minlength=len(size)).astype(np.int64)
    prior = np.random.RandomState(0).rand(len(free)) + 0.01
    steps = relax(rest, prior, group[free], left, every=10, prune=prune, timebox=TimeBox(60))
    for _, relaxed in zip(range(30), steps, strict=False):
        assert np.isfinite(relaxed.mass).all()
        assert (relaxed.mass >= 0).all()
        placed = np.bincount(group[free][relaxed.columns], relaxed.mass, minlength=len(size))
        np.testing.assert_allclose(placed, left, rtol=1e-9)
        whole = np.zeros(len(free))
        whole[relaxed.columns] = relaxed.mass
        missed = np.abs(rest.matrix @ whole - rest.observed).sum()
        assert relaxed.residual == pytest.approx(missed, rel=1e-6, abs=1e-9)


def test_relaxation_fits_a_system_with_one_solution():
    matrix = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 2, 1], [1, 1, 1, 1]], np.int32)
    rows = np.array([3, 1, 4, 2])
    system = System(sparse.csc_array(matrix), matrix @ rows)
    group, size = np.zeros(4, int), np.array([10])
    steps = relax(system, np.ones(4), group, size, every=50, prune=False, timebox=TimeBox(60))
    residuals = [next(steps).residual for _ in range(40)]
    assert residuals[-1] < 1e-3 < residuals[0]


def test_rows_with_equal_occurrences_share_a_group():
    occurrences = np.array([[1, 0, 1, 0, 2], [0, 0, 0, 0, 1]])
    groups = group_by_occurrences(occurrences)
    assert groups.n_groups == 3
    assert groups.n_rows == 5
    assert sorted(groups.size.tolist()) == [1, 2, 2]
    np.testing.assert_array_equal(groups.weight[:, groups.of_row], occurrences)
    np.testing.assert_array_equal(np.bincount(groups.of_row), groups.size)


def test_without_bagging_there_is_one_group_and_no_order():
    groups = group_by_occurrences(np.ones((7, 4), int))
    assert (groups.n_groups, groups.n_rows, groups.ordered) == (1, 4, False)
    assert groups.weight.shape == (7, 1)


def test_a_system_is_cut_to_columns_after_what_the_others_explain():
    system = System(sparse.csc_array(np.array([[1, 2, 0], [0, 1, 1]], np.int32)), np.array([5, 3]))
    part = system.only(np.array([0, 2]), np.array([0, 2, 0]))
    assert part.observed.tolist() == [1, 1]
    assert part.missed(np.array([1, 1])) == 0
    assert part.missed(np.array([3, 0])) == 3
