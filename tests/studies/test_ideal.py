"""The ideal attacker's exact figures: by hand, by the definition, and beside what holds of any guess."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from pytest_draft.domain import Attribute, Domain
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox
from studies import ideal
from studies.agreement_enumeration import TooManyError
from studies.agreement_instances import Instance
from studies.ideal import exact_ideal, explanations, generated
from studies.paper_models.published import ModelDataset, reached

BITS = Domain(("a", "b"), (Attribute("a", "binary", (0,)), Attribute("b", "binary", (1,))), "by hand")
BOX = TimeBox(1e9)  # begins when tests are collected


def rows(*written: str) -> np.ndarray:
    """Return rows that are written as digits."""
    return np.array([[int(digit) for digit in row] for row in written], dtype=np.float32)


def close(figures):
    return pytest.approx(figures, abs=1e-12)


@pytest.fixture(scope="module")
def small():
    """Return small instances with all that explains them."""
    return list(generated(24, 1))


def test_a_dataset_that_is_the_only_one_is_guessed_without_an_error():
    assert exact_ideal([rows("01", "10", "10")], BITS) == close((0.0, 3.0))


def test_of_two_alike_either_is_the_best_guess():
    # One value of four is open: half of the time it is wrong. Row 00 is sure, 01 and 11 meet one in two datasets.
    assert exact_ideal([rows("00", "01"), rows("00", "11")], BITS) == close((0.125, 1.5))


def test_a_likelier_dataset_is_the_better_guess():
    figures = exact_ideal([rows("00", "01"), rows("00", "11")], BITS, np.array([3.0, 1.0]))
    assert figures == close((0.25 / 4, 1.75))


def test_a_guess_between_datasets_can_have_a_smaller_error_than_each_of_them():
    # 000 is one step from each of them, and they are two steps from each other.
    three = Domain(tuple("abc"), tuple(Attribute(name, "binary", (i,)) for i, name in enumerate("abc")), "by hand")
    assert exact_ideal([rows("001"), rows("010"), rows("100")], three) == close((1 / 3, 1 / 3))


def test_a_row_that_is_there_twice_is_met_as_often_as_both_have_it():
    # 11 occurs once in each, and twice in one of three.
    datasets = [rows("11", "11"), rows("11", "00"), rows("11", "01")]
    assert exact_ideal(datasets, BITS)[1] == close(1 + 1 / 3)


def test_the_order_of_rows_and_of_datasets_changes_nothing():
    one = exact_ideal([rows("00", "01", "11"), rows("10", "10", "11")], BITS)
    assert exact_ideal([rows("10", "11", "10"), rows("11", "00", "01")], BITS) == close(one)


def test_a_dataset_that_is_given_twice_weighs_twice():
    first, second = rows("00", "01"), rows("11", "11")
    assert exact_ideal([first, first, second], BITS) == close(exact_ideal([first, second], BITS, np.array([2.0, 1.0])))


def test_a_row_outside_the_domain_is_refused():
    with pytest.raises(ValueError, match="a row that the domain does not have"):
        exact_ideal([rows("02")], BITS)


def test_too_many_guesses_are_given_up(monkeypatch):
    monkeypatch.setattr(ideal, "MOST_SUMS", 10)
    with pytest.raises(TooManyError):
        exact_ideal([rows("00", "01")], BITS)


def test_no_guess_of_ones_own_does_better(small):
    rng, tried = np.random.default_rng(0), 0
    for found in small:
        domain, likely = found.instance.domain, found.weight / found.weight.sum()
        vectors, weights = domain.vectors(), encoded_weights(domain)
        some = [vectors[rng.integers(len(vectors), size=found.instance.n_rows)], found.datasets[0]]
        for guess in some:
            apart = [matched_distance(guess, one, weights, BOX).upper for one in found.datasets[:200]]
            if len(found.datasets) <= 200:
                assert likely @ np.array(apart) >= found.least_error - 1e-9
                assert likely @ np.array([met(guess, one) for one in found.datasets]) <= found.most_perfect_rows + 1e-9
                tried += 1
    assert tried > 10


def met(guess, other) -> int:
    """Return how many rows two multisets share."""
    left = [tuple(row) for row in other.tolist()]
    shared = 0
    for row in map(tuple, guess.tolist()):
        if row in left:
            left.remove(row)
            shared += 1
    return shared


def test_half_of_the_mean_distance_of_two_datasets_is_never_more_than_the_least_error(small):
    for found in small:
        some, likely = found.datasets, found.weight / found.weight.sum()
        if len(some) > 60:
            continue
        weights = encoded_weights(found.instance.domain)
        apart = [[matched_distance(one, other, weights, BOX).upper for other in some] for one in some]
        assert likely @ np.array(apart) @ likely / 2 <= found.least_error + 1e-9


@pytest.mark.parametrize("labels_fixed", [False, True])
def test_the_weights_count_all_assignments_that_explain_the_file(labels_fixed):
    counted = 0
    for seed in range(60):
        instance = ideal.small(("no bagging", "occurrences known")[seed % 2], (5, seed))
        if (instance.domain.n_vectors * instance.forest.n_classes) ** instance.n_rows > 6_000:
            continue
        try:
            found = explanations(instance, labels_fixed=labels_fixed)
        except TooManyError:
            continue
        assert found.weight.sum() == len(by_definition(instance, labels_fixed=labels_fixed))
        assert len(found.assignments()) in (found.weight.sum(), found.weight.sum() / found.weight.min())
        counted += 1
    assert counted >= 4


def by_definition(instance: Instance, *, labels_fixed: bool) -> list[ModelDataset]:
    """Return each assignment of vectors and classes to rows, one by one, that explains every count."""
    forest, vectors, n = instance.forest, instance.domain.vectors(), instance.n_rows
    inside = [reached(tree, vectors)[tree.leaves].T for tree in forest.trees]
    classes = list(product(range(forest.n_classes), repeat=n))
    if labels_fixed:
        classes = [tuple(instance.truth.labels.tolist())]
    allowed = ideal.Enumeration.of(instance, distinct=True, thresholds=True)
    where = {int(row): k for k, row in enumerate(allowed.order)}
    found = []
    for chosen in product(range(len(vectors)), repeat=n):
        for labels in classes:
            pairs = [v * forest.n_classes + c for v, c in zip(chosen, labels, strict=True)]
            if not all(allowed.possible[where[k], pair] for k, pair in enumerate(pairs)):
                continue
            if all(_explains(forest, t, inside[t][list(chosen)], labels, instance) for t in range(forest.n_trees)):
                found.append(ModelDataset(vectors[list(chosen)], np.array(labels)))
    return found


def _explains(forest, t, leaf, labels, instance) -> bool:
    """Return whether rows in these leaves have a tree's counts by class, and its distinct rows."""
    times, tree = instance.occurrences[t], forest.trees[t]
    of_class = np.eye(forest.n_classes)[list(labels)]
    counts = (leaf.astype(float).T * times) @ of_class
    seen = leaf[times > 0].sum(axis=0)
    return bool((counts == forest.counts(t)[tree.leaves]).all() and (seen == tree.n_distinct[tree.leaves]).all())


def test_the_truth_is_among_what_explains_its_file(small):
    for found in small:
        weights = encoded_weights(found.instance.domain)
        truth = found.instance.truth.rows
        assert min(matched_distance(truth, one, weights, BOX).upper for one in found.datasets) == 0.0
        assert repr(found).startswith("<Explanations: ")


def test_both_settings_and_open_files_are_generated(small):
    assert {found.instance.setting for found in small} == {"no bagging", "occurrences known"}
    assert any(found.least_error > 0.1 for found in small)
    assert all(3 <= found.instance.n_rows <= 5 and found.instance.forest.n_trees <= 4 for found in small)


def test_rows_that_do_not_explain_the_counts_are_refused(small):
    instance = small[0].instance
    with pytest.raises(ValueError, match="do not explain"):
        explanations(Instance(instance.setting, instance.forest, instance.domain, None, instance.occurrences))


def test_permuted_rows_are_the_same_multiset():
    three = rows("00", "01", "11")
    every = [three[list(order)] for order in permutations(range(3))]
    assert exact_ideal(every, BITS) == close((0.0, 3.0))
