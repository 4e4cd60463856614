"""The attack on numeric columns: what it returns is what it says, and what is known stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from pytest_draft.artifact import occurrences
from pytest_draft.attack.groups import KnownRows, group_by_occurrences, split_by_values
from pytest_draft.attack.numeric.energy import missed
from pytest_draft.attack.numeric.problem import build_numeric
from pytest_draft.attack.numeric.rebuild import rebuild_numeric
from pytest_draft.attack.search import Search
from pytest_draft.domain import infer
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox
from studies.numeric_agreement import filled

pytestmark = pytest.mark.nightly

EFFORT = 0.15


def people(n_rows=40, seed=0):
    """Return rows of two numeric columns, one ordinal one and a one-hot group, their domain, and labels."""
    random = np.random.default_rng(seed)
    rows = np.column_stack(
        [random.normal(size=n_rows), random.normal(size=n_rows).round(1), random.integers(5, size=n_rows),
         np.eye(3)[random.integers(3, size=n_rows)]]
    ).astype(np.float32)  # fmt: skip
    labels = (rows[:, 0] + rows[:, 2] + random.normal(size=n_rows) > 2).astype(int)
    return rows, infer(["a", "b", "c", "d_x", "d_y", "d_z"], rows.astype(float)), labels


@pytest.fixture(scope="module")
def forests(request, published):
    """Return random and extra trees of the same rows: their names and forests."""
    rows, _, labels = people()
    random = np.random.default_rng(1)
    models = {
        "bagging": RandomForestClassifier(12, random_state=0),
        "no bagging": RandomForestClassifier(12, bootstrap=False, random_state=0),
        "extra trees": ExtraTreesClassifier(12, random_state=0),
        "shallow": RandomForestClassifier(3, max_depth=2, random_state=0),
    }
    fitted = {name: published(model.fit(rows, labels), rows)[0] for name, model in models.items()}
    target = random.normal(size=len(rows))
    fitted["regressor"] = published(RandomForestRegressor(30, random_state=0).fit(rows, target), rows)[0]
    coarse = RandomForestRegressor(12, min_samples_leaf=4, random_state=0)
    return {**fitted, "coarse regressor": published(coarse.fit(rows, target), rows)[0]}


def posed(forest, groups=None, domain=None):
    groups = group_by_occurrences(occurrences(forest)) if groups is None else groups
    return build_numeric(forest, people()[1] if domain is None else domain, groups, TimeBox(600, EFFORT))


def rebuilt(problem, workers=1, effort=EFFORT, seed=0):
    return rebuild_numeric(problem, Search(TimeBox(600, effort), seed, workers))


def residual_of(problem, rows, labels):
    """Return what rows miss, written down once more."""
    data = filled(problem, problem.states.of_rows(rows), labels)
    return sum(missed(problem.nodes, data))


NAMES = ["bagging", "no bagging", "extra trees", "shallow", "regressor", "coarse regressor"]


@pytest.mark.parametrize("name", NAMES)
def test_status_and_residual_are_those_of_the_rows_that_are_returned(forests, name):
    problem = posed(forests[name])

    found = rebuilt(problem)

    residual = residual_of(problem, found.consistent, found.labels)
    assert found.residual == residual
    assert found.status == ("consistent" if found.residual == 0 else "not converged")
    assert found.cut_short or found.residual == 0
    assert found.ordered == (name not in ("no bagging", "extra trees"))
    assert found.rows.shape == people()[0].shape
    outside = people()[1].outside(found.rows.astype(float))
    assert outside == {}


ENOUGH_FOR_A_BEAM = 1.0


@pytest.mark.parametrize("name", ["bagging", "shallow", "coarse regressor"])
def test_rows_are_placed_by_a_beam_where_draws_tell_them_apart_and_there_is_time(forests, name):
    problem = posed(forests[name])

    found, again = rebuilt(problem, effort=ENOUGH_FOR_A_BEAM), rebuilt(problem, 2, ENOUGH_FOR_A_BEAM)
    hurried = rebuilt(problem, effort=EFFORT / 10)

    assert found.statistics["rounds"] >= 12
    assert "rounds" not in hurried.statistics
    assert found.residual == residual_of(problem, found.consistent, found.labels)
    assert people()[1].outside(found.rows.astype(float)) == {}
    assert (found.rows == again.rows).all()
    assert (found.labels == again.labels).all()


def test_rows_that_cannot_be_told_apart_are_annealed_at_once(forests):
    assert "rounds" not in rebuilt(posed(forests["no bagging"]), effort=ENOUGH_FOR_A_BEAM).statistics


def test_a_beam_keeps_values_and_rows_that_the_adversary_knows(forests):
    rows, _, labels = people()
    forest = forests["bagging"]
    times, known, unknown = occurrences(forest), np.arange(10), np.arange(10, 40)
    groups = split_by_values(group_by_occurrences(times[:, unknown]), (1,), (1,), rows[unknown][:, [1]])
    groups = replace(groups, known=KnownRows(rows[known], labels[known], times[:, known]))

    found = rebuilt(posed(forest, groups), effort=ENOUGH_FOR_A_BEAM)

    assert found.statistics["rounds"] >= 12
    assert (found.rows[:, 1] == rows[unknown, 1]).all()


def test_a_shallow_forest_is_met_and_what_its_rows_pass_untested_is_free(forests):
    problem = posed(forests["shallow"])

    found = rebuilt(problem)

    expected = np.ones(found.free.shape, bool)
    state = problem.states.of_rows(found.consistent)
    for t, tree in enumerate(forests["shallow"].trees):
        for k in np.flatnonzero(problem.times[t] > 0):
            v = 0
            while tree.left[v] >= 0:
                expected[k, min(tree.feature[v], 3)] = False
                below = found.consistent[k, tree.feature[v]] <= tree.threshold[v]
                v = tree.left[v] if below else tree.right[v]
    assert found.status == "consistent"
    assert (state >= 0).all()
    assert (found.free == expected).all()
    assert 0 < found.free.mean() < 1


def test_values_that_extra_trees_tell_stand_in_the_training_rows(forests):
    found = rebuilt(posed(forests["extra trees"]))

    rows = people()[0]
    assert sum(map(len, found.proved_values.values())) > 20
    assert all(np.isin(values, rows[:, column]).all() for column, values in found.proved_values.items())


def test_values_and_rows_that_the_adversary_knows_are_kept(forests):
    rows, _, labels = people()
    forest = forests["bagging"]
    times = occurrences(forest)
    known, unknown = np.arange(10), np.arange(10, 40)
    groups = split_by_values(
        group_by_occurrences(times[:, unknown]), (1, 3), (1, 3, 4, 5), rows[unknown][:, [1, 3, 4, 5]]
    )
    groups = replace(groups, known=KnownRows(rows[known], labels[known], times[:, known]))

    problem = posed(forest, groups)
    found = rebuilt(problem)

    assert problem.n_unknown == 30
    assert (problem.state[:30] >= 0).all(axis=0).tolist() == [False, True, False, True]
    assert (problem.state[30:] == problem.states.of_rows(rows[known])).all()
    assert (problem.label[30:] == labels[known]).all()
    assert found.rows.shape == (30, 6)
    assert np.allclose(found.rows[:, [1, 3, 4, 5]], rows[unknown][:, [1, 3, 4, 5]], atol=1e-6)
    assert not found.free[:, [1, 3]].any()


@pytest.mark.parametrize("name", ["bagging", "no bagging", "extra trees"])
def test_a_known_number_is_returned_to_the_last_digit(forests, name):
    rows = people()[0]
    forest = forests[name]
    groups = split_by_values(group_by_occurrences(occurrences(forest)), (0,), (0,), rows[:, [0]])

    found = rebuilt(posed(forest, groups))

    assert (found.rows[:, 0] == rows[:, 0]).all()
    assert (found.consistent[:, 0] == rows[:, 0]).all()


def test_who_knows_a_column_finds_out_what_belongs_to_it(published):
    rows = np.random.default_rng(0).normal(size=(25, 3)).astype(np.float32)
    labels = (rows[:, 0] + rows[:, 1] > 0).astype(int)
    forest, _ = published(ExtraTreesClassifier(40, random_state=0).fit(rows, labels), rows)
    groups = split_by_values(group_by_occurrences(occurrences(forest)), (0,), (0,), rows[:, [0]])

    found = rebuilt(posed(forest, groups, infer(list("abc"), rows.astype(float))), effort=0.5)

    assert (found.rows == rows).all(axis=1).mean() > 0.8


def test_knowing_more_brings_the_rest_closer(forests):
    rows, _, labels = people()
    forest = forests["bagging"]
    times = occurrences(forest)
    some = np.arange(32, 40)
    groups = group_by_occurrences(times[:, some])
    known = KnownRows(rows[:32], labels[:32], times[:, :32])

    alone = rebuilt(posed(forest)).rows[some]
    helped = rebuilt(posed(forest, replace(groups, known=known))).rows

    assert np.abs(helped - rows[some]).mean() < np.abs(alone - rows[some]).mean()


@pytest.mark.parametrize("name", ["bagging", "extra trees"])
def test_one_worker_and_two_rebuild_the_same_and_another_seed_does_not(forests, name):
    problem = posed(forests[name])

    one, two, other = rebuilt(problem), rebuilt(problem, workers=2), rebuilt(problem, seed=1)

    assert (one.rows == two.rows).all()
    assert (one.labels == two.labels).all()
    assert (one.residual, one.status) == (two.residual, two.status)
    assert (one.rows != other.rows).any()


def test_without_time_there_are_random_rows_that_are_said_not_to_fit(forests):
    over = TimeBox(60, effort=1e-9)
    over.spend(1)
    problem = posed(forests["bagging"])

    found = rebuild_numeric(problem, Search(over))

    assert found.status == "not converged"
    assert found.residual > 0
    assert found.rows.shape == (problem.n_unknown, problem.domain.n_columns)
    assert not problem.domain.outside(found.rows.astype(float))


def test_a_regressor_of_one_row_to_a_leaf_needs_no_search_and_is_certain_where_it_says_so(forests):
    rows = people()[0]
    problem = posed(forests["regressor"])
    over = TimeBox(60, effort=1e-9)
    over.spend(1)

    found = rebuild_numeric(problem, Search(over))

    columns = [0, 1, 2, 3]  # of the one-hot group, its first
    assert problem.rows_identified
    assert found.statistics["leaves identified"] == 1
    assert "sweeps" not in found.statistics
    assert found.certain.mean() > 0.3
    assert (found.rows[:, columns] == rows[:, columns])[found.certain].all()
    assert ((problem.bounds.lower <= found.rows) & (found.rows <= problem.bounds.upper)).all()


def test_bounds_that_the_time_did_not_suffice_for_are_said_to_be_cut_short(forests):
    problem = posed(forests["regressor"])
    unfinished = replace(problem, bounds=replace(problem.bounds, complete=False))

    assert not rebuilt(problem).cut_short
    assert rebuilt(unfinished).cut_short


def test_a_coarse_regressor_is_searched_within_the_bounds_of_its_targets(forests):
    problem = posed(forests["coarse regressor"])

    found = rebuilt(problem)

    assert not problem.rows_identified
    assert found.statistics["sweeps"] > 0
    assert ((problem.bounds.lower <= found.rows) & (found.rows <= problem.bounds.upper)).all()
    assert (found.labels == 0).all()


def test_more_effort_leaves_less_and_beats_the_median_of_each_column(published):
    rows, labels = load_iris(return_X_y=True)
    rows = rows[::3].astype(np.float32)
    domain = infer(list("abcd"), rows.astype(float))
    forest, _ = published(RandomForestClassifier(40, random_state=0).fit(rows, labels[::3]), rows)
    problem = posed(forest, domain=domain)

    brief, long = (rebuilt(problem, effort=effort) for effort in (0.02, 1.0))

    error = np.abs(long.rows - rows).mean(axis=0) / domain.ranges
    by_median = np.abs(np.median(rows, axis=0) - rows).mean(axis=0) / domain.ranges
    assert long.residual < brief.residual
    assert error.mean() < by_median.mean() / 2


def test_unknown_occurrences_are_refused(forests):
    groups = replace(group_by_occurrences(occurrences(forests["bagging"])), draws_known=False)

    with pytest.raises(NotCoveredError, match="published"):
        posed(forests["bagging"], groups)


def test_no_row_is_shown(forests):
    problem = posed(forests["shallow"])
    found = rebuilt(problem)

    assert repr(problem) == f"NumericProblem(40 rows of {problem.states}, {problem.nodes})"
    assert repr(found) == f"<Reconstruction: {found.status}, 40 rows, residual {found.residual}>"
