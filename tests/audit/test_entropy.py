"""The entropy audit of forests and rule lists, with the training data and without."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.audit.entropy import ModelParts, audit_entropy
from pytest_draft.data import training_data
from pytest_draft.domain import Attribute
from pytest_draft.errors import DataError, NotCoveredError
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.rules import ListedRule
from pytest_draft.timebox import TimeBox
from small_models import domain_of, is_one


def test_a_domain_of_one_vector_has_nothing_to_take_away():
    constant = domain_of(Attribute("x", "ordinal", (0,), 3.0, 3.0))
    with pytest.raises(NotCoveredError, match="no uncertainty"):
        audit_entropy(RuleList("by hand", (ListedRule((), 0, (3,)),), ("c0",), 1, (0,)), constant, None, TimeBox(1))
    with pytest.raises(ValueError, match="no uncertainty"):
        ModelParts(np.array([1]), np.zeros(1), np.zeros(1), 0.0, np.zeros(1))


def test_the_figures_of_one_tree_are_exact_and_by_row(saved, people):
    forest, data, domain = saved(DecisionTreeClassifier(max_depth=3, random_state=0))
    inside = np.arange(60) % 3 > 0
    found = audit_entropy(forest, domain, data, TimeBox(60), inside)
    leaf = leaf_positions(forest.trees[0], np.ascontiguousarray(data.rows.T))
    bits = np.log2(np.bincount(leaf_positions(forest.trees[0], np.ascontiguousarray(domain.vectors().T))))[leaf]
    assert found.ratio.exact == pytest.approx(bits.mean() / 6)
    assert found.lowest_row.exact == pytest.approx(bits.min() / 6)
    assert found.quantiles[0] == pytest.approx(bits.min() / 6)
    assert found.quantiles[100] == pytest.approx(bits.max() / 6)
    assert (bits[list(found.most_exposed)] <= np.sort(bits)[9]).all()
    by_name = {group.name: group for group in found.groups}
    assert set(by_name) == {"class 0", "class 1", "inliers", "outliers"}
    assert by_name["outliers"].rows == 20
    assert by_name["outliers"].mean == pytest.approx(bits[~inside].mean() / 6)
    assert by_name["class 1"].lowest == pytest.approx(bits[people[1] == 1].min() / 6)
    assert not found.reasons


def test_rows_of_the_same_population_did_not_train_a_bagged_forest(saved, people):
    forest, data, domain = saved(RandomForestClassifier(3, max_depth=1, random_state=0))
    assert not audit_entropy(forest, domain, data, TimeBox(60)).reasons
    rng = np.random.default_rng(6)
    stranger = training_data((rng.integers(0, 2, (60, 6)), people[1]), forest)
    found = audit_entropy(forest, domain, stranger, TimeBox(60))
    assert "was not trained on these rows, or not in this order" in found.reasons[0]
    assert found.ratio.lower == 0


def test_a_strangers_rows_are_noticed(saved, people):
    forest, data, domain = saved(DecisionTreeClassifier(max_depth=3, random_state=0))
    stranger = training_data((1 - people[0], people[1]), forest)
    found = audit_entropy(forest, domain, stranger, TimeBox(60))
    assert "not trained on these rows" in found.reasons[0]
    assert not found.groups
    rules = RuleList("by hand", (ListedRule((is_one(0),), 1, (1, 1)), ListedRule((), 0, (50, 8))), None, 6, (0, 1))
    found = audit_entropy(rules.resolved(data.columns), domain, data, TimeBox(60))
    assert "2 of its 2 rules captured other numbers" in found.reasons[0]


def test_counts_that_a_rule_list_does_not_tell_are_taken_from_the_data(saved, people):
    _, data, domain = saved(DecisionTreeClassifier(max_depth=1))
    rules = RuleList("by hand", (ListedRule((is_one(0),), 1), ListedRule((), 0)), data.columns, 6, (0, 1))
    found = audit_entropy(rules, domain, data, TimeBox(60))
    assert found.ratio.exact == pytest.approx(5 / 6)
    with pytest.raises(DataError, match="how many rows"):
        audit_entropy(rules, domain, None, TimeBox(60))


def test_bounds_of_a_share_are_in_order():
    assert Between(0.25, 0.5).rest == Between(0.5, 0.75)
    assert Between(0.25, 0.25).exact == 0.25
    with pytest.raises(ValueError, match="bounds"):
        Between(0.5, 0.25)
