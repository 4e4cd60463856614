"""The papers' own models: what they find, what they prove, what they refuse."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.domain import Attribute, Domain, declared
from pytest_draft.errors import DataError, NotCoveredError
from pytest_draft.timebox import TimeBox
from studies.agreement_enumeration import Enumeration, TooManyError
from studies.agreement_instances import generated
from studies.paper_models import cp_with_bagging, cp_without_bagging, milp
from studies.paper_models.likelihood import best_objective, log_chances, log_likelihood, objective
from studies.paper_models.published import ModelDataset, residual_of

WITHOUT_BAGGING = [cp_without_bagging, milp]
MODELS = [*WITHOUT_BAGGING, cp_with_bagging]


def binary(*names):
    return declared(list(names), {name: {"kind": "binary"} for name in names}, "binary")


def number(kind, low, high):
    return Domain(("x",), (Attribute("x", kind, (0,), low, high),), kind)


def bagged(forest, n_rows, **draws):
    """Return a forest made by hand as one grown on bootstrap samples."""
    return replace(forest, draws=Draws(**{"rows": "with replacement", **draws}), n_samples=n_rows)


def enumerate_datasets(solve, most):
    """Return outcomes of a model one after the other, each forbidden to the next, and whether these are all."""
    outcomes = []
    while len(outcomes) < most:
        outcome = solve([known.dataset for known in outcomes])
        if outcome.dataset is None:
            return outcomes, outcome.status == "infeasible"
        outcomes.append(outcome)
    return outcomes, False


def found(model, forest, domain, n_rows, **options):
    return model.solve(forest, domain, n_rows, TimeBox(60), **options)


@pytest.mark.parametrize("model", MODELS)
def test_a_dataset_meets_all_counts(by_hand, model):
    forest = by_hand(2, (0, [1, 0], (1, [0, 1], [1, 0])), (1, [1, 1], [1, 0]))
    outcome = found(model, bagged(forest, 3) if model is cp_with_bagging else forest, binary("a", "b"), 3)
    assert outcome.status == "optimal"
    assert outcome.residual == residual_of(forest, outcome.dataset, outcome.occurrences) == 0
    assert sorted(outcome.dataset.labels.tolist()) == [0, 0, 1]


@pytest.mark.parametrize("model", WITHOUT_BAGGING)
def test_contradicting_trees_are_infeasible(by_hand, model):
    assert found(model, by_hand(1, (0, [2], [0]), (0, [0], [2])), binary("a"), 2).status == "infeasible"


def test_with_bagging_trees_contradict_each_other_only_over_the_same_row(by_hand):
    forest = by_hand(1, (0, [2], [0]), (0, [0], [2]))
    assert found(cp_with_bagging, bagged(forest, 2), binary("a"), 2).status == "optimal"
    assert found(cp_with_bagging, bagged(forest, 1), binary("a"), 1).status == "infeasible"


@pytest.mark.parametrize("model", WITHOUT_BAGGING)
def test_another_number_of_rows_than_the_trees_saw_is_infeasible(by_hand, model):
    assert found(model, by_hand(1, [2]), binary("a"), 3).status == "infeasible"


@pytest.mark.parametrize("model", MODELS)
def test_ordinal_values_outside_what_a_path_allows_are_left_out(by_hand, model):
    forest = by_hand(1, (0, 4.0, [0], (0, 5.5, [2], [0])))
    forest = bagged(forest, 2) if model is cp_with_bagging else forest
    outcome = found(model, forest, number("ordinal", 2.0, 7.0), 2)
    if model is cp_with_bagging:
        drawn = outcome.occurrences[0] > 0
        assert (outcome.dataset.rows[drawn] == 5).all()
    else:
        assert (outcome.dataset.rows == 5).all()


@pytest.mark.parametrize("model", WITHOUT_BAGGING)
def test_numeric_values_are_the_middles_of_the_intervals_between_splits(by_hand, model):
    forest = by_hand(1, (0, 2.5, [1], (0, 20.0, [1], [0])), (0, -3.0, [0], [2]))
    outcome = found(model, forest, number("numeric", 0.0, 10.0), 2)
    assert sorted(outcome.dataset.rows[:, 0].tolist()) == [1.25, 6.25]  # appendix D, step 5


@pytest.mark.parametrize("model", WITHOUT_BAGGING)
def test_an_interval_without_a_float32_value_holds_no_row(by_hand, model):
    gap = (1.0 + 1e-9, 1.0 + 2e-9)
    forest = by_hand(1, (0, gap[0], [0], (0, gap[1], [1], [0])))
    assert found(model, forest, number("numeric", 0.0, 10.0), 1).status == "infeasible"


@pytest.mark.parametrize("model", WITHOUT_BAGGING)
def test_every_dataset_is_enumerated(model):
    compared = 0
    for seed in range(40):
        instance = generated("no bagging", [5, seed])
        try:
            datasets = Enumeration.of(instance, distinct=False).datasets()
        except TooManyError:
            continue
        if not 0 < len(datasets) <= 12:
            continue
        outcomes, complete = enumerate_datasets(
            lambda forbidden, i=instance: found(model, i.forest, i.domain, i.n_rows, forbidden=forbidden), 20
        )
        assert complete
        assert len(outcomes) == len(datasets)
        compared += 1
    assert compared >= 10


def test_every_dataset_with_known_occurrences_is_enumerated():
    compared = 0
    for seed in range(40):
        instance = generated("occurrences known", [5, seed])
        try:
            datasets = Enumeration.of(instance, distinct=False).datasets()
        except TooManyError:
            continue
        if not 0 < len(datasets) <= 12:
            continue
        outcomes, complete = enumerate_datasets(
            lambda forbidden, i=instance: found(
                cp_with_bagging, i.forest, i.domain, i.n_rows, occurrences=i.occurrences, forbidden=forbidden
            ),
            20,
        )
        assert complete
        assert len(outcomes) == len(datasets)
        compared += 1
    assert compared >= 5


def test_enumeration_stops_where_it_is_told(by_hand):
    outcomes, complete = enumerate_datasets(
        lambda forbidden: found(cp_without_bagging, by_hand(2, [2]), binary("a", "b"), 2, forbidden=forbidden), 3
    )
    assert (len(outcomes), complete) == (3, False)


def test_the_chances_are_those_of_drawing_with_replacement():
    draws = np.array(list(product(range(3), repeat=4)))
    times = (draws == 0).sum(axis=1)
    np.testing.assert_allclose(np.exp(log_chances(3, 4)), np.bincount(times, minlength=5) / len(draws))


def test_the_objective_adds_up_chances_and_rejects_what_misses_the_counts(by_hand):
    forest = bagged(by_hand(1, (0, [3], [1])), 4)
    dataset = ModelDataset(np.array([[0], [0], [1], [1]], np.float32), np.zeros(4, np.int64))
    right, wrong = np.array([[2, 1, 0, 1]]), np.array([[2, 2, 0, 0]])
    expected = binom.logpmf([2, 1, 0, 1], 4, 1 / 4).sum()
    assert objective(forest, dataset, right) == pytest.approx(expected)
    assert log_likelihood(wrong) > -np.inf
    assert objective(forest, dataset, wrong) == -np.inf


def test_the_best_objective_of_a_dataset_is_that_of_its_best_occurrences(by_hand):
    forest = bagged(by_hand(1, (0, [3, 0], [1, 1])), 5)
    dataset = ModelDataset(np.array([[0], [0], [1], [1], [1]], np.float32), np.array([0, 0, 0, 1, 0]))
    everything = (np.array([times]) for times in product(range(6), repeat=5))
    best = max(objective(forest, dataset, times) for times in everything)
    assert best_objective(forest, dataset) == pytest.approx(best)
    assert best_objective(forest, dataset, most_occurrences=1) == -np.inf
    assert best_objective(forest, replace(dataset, labels=np.zeros(5, np.int64))) == -np.inf


def test_a_row_is_drawn_no_more_often_than_allowed(by_hand):
    forest = bagged(by_hand(1, [4]), 3)
    outcome = found(cp_with_bagging, forest, binary("a"), 3)
    assert outcome.objective == pytest.approx(best_objective(forest, outcome.dataset))
    assert outcome.objective <= outcome.bound <= outcome.objective + 1e-5
    assert sorted(outcome.occurrences[0].tolist()) == [1, 1, 2]
    assert found(cp_with_bagging, forest, binary("a"), 3, most_occurrences=1).status == "infeasible"
    assert found(cp_with_bagging, bagged(by_hand(1, [9]), 1), binary("a"), 1).status == "infeasible"
    assert found(cp_with_bagging, bagged(by_hand(1, [9]), 1), binary("a"), 1, most_occurrences=9).objective == 0


def test_known_occurrences_are_kept(by_hand):
    forest = bagged(by_hand(1, (0, [3, 0], [0, 1])), 3)
    known = np.array([[3, 0, 1]])
    outcome = found(cp_with_bagging, forest, binary("a"), 3, occurrences=known)
    assert (outcome.occurrences == known).all()
    assert outcome.dataset.rows[[0, 2], 0].tolist() == [0, 1]
    assert outcome.dataset.labels[[0, 2]].tolist() == [0, 1]
    assert outcome.objective == outcome.bound == pytest.approx(log_likelihood(known))
    assert found(cp_with_bagging, forest, binary("a"), 3, occurrences=np.array([[2, 2, 0]])).status == "infeasible"
    with pytest.raises(ValueError, match="occurrences of shape"):
        found(cp_with_bagging, forest, binary("a"), 3, occurrences=np.ones((2, 3), int))


@pytest.mark.parametrize("model", WITHOUT_BAGGING)
def test_bagging_is_refused_by_the_models_without_it(by_hand, model):
    with pytest.raises(NotCoveredError, match="is without bagging"):
        found(model, bagged(by_hand(1, [2]), 2), binary("a"), 2)


def test_other_draws_are_refused_by_the_model_with_bagging(by_hand):
    forest = by_hand(1, [2])
    for other in [
        forest,
        bagged(forest, 2, rows="without replacement"),
        bagged(forest, 2, sample_weight=np.array([1.0, 3.0])),
    ]:
        with pytest.raises(NotCoveredError, match="drawn with replacement and with equal chances"):
            found(cp_with_bagging, other, binary("a"), 2)


@pytest.mark.parametrize("model", MODELS)
def test_what_does_not_fit_is_refused(by_hand, model):
    forest = bagged(by_hand(1, [2]), 2) if model is cp_with_bagging else by_hand(1, [2])
    with pytest.raises(DataError, match="the domain has 2 columns, the forest 1"):
        found(model, forest, binary("a", "b"), 2)
    with pytest.raises(DataError, match="at least one row"):
        found(model, forest, binary("a"), 0)
    with pytest.raises(NotCoveredError, match="use the engine instead"):
        found(model, forest, binary("a"), 10**9)


@pytest.mark.parametrize("model", MODELS)
def test_no_time_gives_no_solution(by_hand, model):
    forest = bagged(by_hand(1, [2]), 2) if model is cp_with_bagging else by_hand(1, [2])
    timebox = TimeBox(60, effort=1.0)
    timebox.spend(1.0)
    outcome = model.solve(forest, binary("a"), 2, timebox)
    assert (outcome.status, outcome.dataset) == ("no solution", None)


def test_no_repr_shows_a_row(by_hand):
    outcome = found(cp_without_bagging, by_hand(1, [1]), number("ordinal", 4321.0, 4321.0), 1)
    assert "4321" not in repr(outcome) + repr(outcome.dataset)
    assert (outcome.dataset.rows == 4321).all()
