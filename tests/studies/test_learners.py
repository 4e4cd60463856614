"""The learners to compare: trees and rule lists of zeros and ones, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pytest_draft.attack.descent import leaf_positions
from pytest_draft.errors import DataError
from pytest_draft.timebox import TimeBox
from studies.learners import cart, greedy_rules, optimal_rules, optimal_trees
from studies.learners.width_one import Antecedent, candidates


def people(seed, n_rows=60, n_columns=4):
    """Return noisy labels that depend on two of a few columns, one of which is the negation of another."""
    rng = np.random.default_rng(seed)
    features = rng.random((n_rows, n_columns)) < rng.uniform(0.15, 0.85, n_columns)
    features[:, -1] = ~features[:, 0]
    labels = (features[:, 0] & features[:, 1]) ^ (rng.random(n_rows) < 0.3)
    return features, labels


def mistakes_of(rules, features, labels):
    """Return how many rows a list gets wrong, by applying it."""
    predictions = np.array([rule.prediction for rule in rules.rules])
    return int((predictions[rules.captured(features.astype(float))] != labels).sum())


def fewest_by_enumeration(features, labels, max_rules, min_rows):
    """Return the fewest mistakes of any list of at most so many rules."""
    allowed = candidates(features, min_rows)
    fewest = min(labels.sum(), (~labels).sum())
    for n_rules in range(1, max_rules + 1):
        for order in itertools.permutations(allowed, n_rules):
            left, made = np.ones(len(labels), dtype=bool), 0
            for column, value in order:
                captured = left & (features[:, column] == value)
                if captured.sum() < min_rows:
                    break
                made += min(labels[captured].sum(), (~labels[captured]).sum())
                left &= ~captured
            else:
                fewest = min(fewest, made + min(labels[left].sum(), (~labels[left]).sum()))
    return int(fewest)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("min_rows", [1, 6])
def test_optimal_lists_are_as_good_as_the_best_of_all_lists(seed, min_rows):
    features, labels = people(seed)
    found = optimal_rules.learn(features, labels, 3, min_rows, TimeBox(60.0))
    assert [one.mistakes for one in found] == [fewest_by_enumeration(features, labels, k, min_rows) for k in (1, 2, 3)]
    for k, one in enumerate(found, start=1):
        assert one.certified
        assert one.rules.n_rules <= k + 1
        assert mistakes_of(one.rules, features, labels) == one.mistakes
        assert (one.rules.counts[:-1].sum(axis=1) >= min_rows).all()
        assert one.rules.counts.sum() == len(labels)


def test_an_optimal_list_has_no_rule_more_than_it_needs():
    features, labels = people(0)
    found = optimal_rules.learn(features, labels, 4, 3, TimeBox(60.0))
    for fewer, more in itertools.pairwise(found):
        assert more.mistakes < fewer.mistakes or more.rules.n_rules == fewer.rules.n_rules


@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_is_cut_short_proves_less_and_nothing_wrong(monkeypatch, seed):
    monkeypatch.setattr(optimal_rules, "_CHUNK", 2)
    features, labels = people(seed, n_rows=80, n_columns=8)
    whole = optimal_rules.learn(features, labels, 5, 1, TimeBox(60.0))
    certified = set()
    for effort in (1e-9, 1e-6, 4e-6, 1.6e-5):
        cut = optimal_rules.learn(features, labels, 5, 1, TimeBox(60.0, effort))
        for part, one in zip(cut, whole, strict=True):
            assert part.bound <= one.mistakes <= part.mistakes
            assert mistakes_of(part.rules, features, labels) == part.mistakes
        certified.add(sum(one.certified for one in cut))
    assert min(certified) < 5
    assert all(one.certified for one in whole)


def test_too_many_different_tests_are_refused_in_a_line():
    features = np.random.default_rng(0).random((200, 33)) < 0.5
    with pytest.raises(DataError, match="66 different tests of columns; optimal rule lists are covered up to 64"):
        optimal_rules.learn(features, features[:, 0], 1, 1, TimeBox(60.0))


@pytest.mark.parametrize("seed", range(6))
def test_each_greedy_rule_makes_the_purest_division_of_what_is_left(seed):
    features, labels = people(seed, n_rows=80, n_columns=6)
    chosen = greedy_rules.greedy_tests(features, labels, 4, 5)
    left = np.ones(len(labels), dtype=bool)

    def impurity(rows):
        return 2 * rows.sum() * labels[rows].mean() * (1 - labels[rows].mean()) if rows.any() else 0.0

    def divided(test):
        captured = left & (features[:, test.column] == test.value)
        enough = captured.sum() >= 5 and (left & ~captured).any()
        return impurity(captured) + impurity(left & ~captured) if enough else np.inf

    assert chosen
    for test in chosen:
        assert divided(test) == pytest.approx(min(map(divided, candidates(features, 5))))
        left &= features[:, test.column] != test.value
    rules = greedy_rules.learn(features, labels, 4, 5)
    assert rules.n_rules == len(chosen) + 1
    assert mistakes_of(rules, features, labels) == rules.counts.min(axis=1).sum()


def test_greedy_lists_take_the_purer_side_and_end_where_rows_are_pure():
    column = np.arange(40) < 10
    features = column[:, None]
    labels = column | (np.arange(40) >= 30)
    assert greedy_rules.greedy_tests(features, labels, 5, 4) == (Antecedent(0, True),)
    assert greedy_rules.greedy_tests(features, np.zeros(40, dtype=bool), 5, 4) == ()
    rules = greedy_rules.learn(features, labels, 5, 4)
    assert [rule.prediction for rule in rules.rules] == [1, 0]
    assert rules.counts.tolist() == [[0, 10], [20, 10]]


def test_antecedents_must_hold_for_enough_rows_and_not_for_too_many():
    features = np.zeros((20, 3), dtype=bool)
    features[:5, 0] = features[:2, 1] = features[:18, 2] = True
    assert candidates(features, 3) == (Antecedent(0, True), Antecedent(0, False))
    assert len(candidates(features, 2)) == 6


def leaf_counts(tree, features, labels):
    """Return the rows of each class at each leaf, by walking the tree."""
    at = leaf_positions(tree, np.ascontiguousarray(features.T, dtype=np.float32))
    return np.stack([np.bincount(at[labels == label], minlength=len(tree.leaves)) for label in (False, True)], axis=1)


def test_cart_trees_keep_their_limits_and_their_counts():
    features, labels = people(1, n_rows=300, n_columns=8)
    tree = cart.learn(features, labels, 3, 12, 0)
    counts = leaf_counts(tree, features, labels)
    assert len(tree.leaves) > 3
    assert (counts.sum(axis=1) == tree.weight[tree.leaves]).all()
    assert counts.sum(axis=1).min() >= 12


def best_of_all_trees(features, labels, depth, min_rows):
    """Return the fewest mistakes of any tree, and the fewest splits of those with as few."""

    def best(inside, depth):
        found = (int(min(labels[inside].sum(), (~labels[inside]).sum())), 0)
        for column in features.T if depth else ():
            if min((inside & column).sum(), (inside & ~column).sum()) >= min_rows:
                zero, one = best(inside & ~column, depth - 1), best(inside & column, depth - 1)
                found = min(found, (zero[0] + one[0], zero[1] + one[1] + 1))
        return found

    return best(np.ones(len(labels), dtype=bool), depth)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("min_rows", [1, 6])
def test_optimal_trees_are_as_good_as_the_best_of_all_trees_and_as_small(seed, min_rows):
    features, labels = people(seed, n_rows=90, n_columns=5)
    for depth, one in enumerate(optimal_trees.learn(features, labels, 3, min_rows, TimeBox(60.0)), start=1):
        counts = leaf_counts(one.tree, features, labels)
        assert one.certified
        assert (one.mistakes, len(counts) - 1) == best_of_all_trees(features, labels, depth, min_rows)
        assert counts.min(axis=1).sum() == one.mistakes
        assert counts.sum(axis=1).min() >= min_rows
        assert (counts == one.tree.value[one.tree.leaves]).all()


def test_trees_whose_search_is_cut_short_are_those_of_the_depth_that_was_done(monkeypatch):
    monkeypatch.setattr(optimal_trees, "_CHUNK", 8)
    features, labels = people(2, n_rows=200, n_columns=8)
    whole = optimal_trees.learn(features, labels, 5, 1, TimeBox(60.0))
    done = set()
    for effort in (1e-9, 5e-5, 2e-4):
        cut = optimal_trees.learn(features, labels, 5, 1, TimeBox(60.0, effort))
        done.add(sum(one.certified for one in cut))
        for part, one in zip(cut, whole, strict=True):
            assert part.bound <= one.mistakes <= part.mistakes
            assert leaf_counts(part.tree, features, labels).min(axis=1).sum() == part.mistakes
    assert all(one.certified for one in whole)
    assert len(done) > 1
    assert min(done) < 5


def test_too_many_different_columns_are_refused_in_a_line():
    features = np.random.default_rng(0).random((200, 33)) < 0.5
    with pytest.raises(DataError, match="33 different columns; optimal trees are covered up to 32"):
        optimal_trees.learn(features, features[:, 0], 1, 1, TimeBox(60.0))


def test_rows_that_no_column_divides_have_a_tree_and_a_list_without_a_split():
    features, labels = np.ones((30, 2), dtype=bool), np.arange(30) < 10
    (tree,) = optimal_trees.learn(features, labels, 1, 1, TimeBox(60.0))
    (rules,) = optimal_rules.learn(features, labels, 1, 1, TimeBox(60.0))
    assert (tree.mistakes, rules.mistakes) == (10, 10)
    assert (len(tree.tree.leaves), rules.rules.n_rules) == (1, 1)
    assert tree.certified and rules.certified
