"""Thresholds tell more than their sides: no dataset that explains them lies below the lower bounds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.audit.entropy import audit_entropy
from pytest_draft.data import training_data
from pytest_draft.domain import Attribute
from pytest_draft.facts.rules import ListedRule, Literal
from pytest_draft.timebox import TimeBox
from small_models import domain_of, random_rules


def test_thresholds_tell_where_nobody_is(saved, people):
    """All values are 0, but for one row at 0.5 and others at 1: with the thresholds 0.25 and 0.75, all x are known."""
    x = np.r_[np.zeros(29), 0.5, np.ones(30)]
    forest, data, _ = saved(DecisionTreeClassifier(random_state=0), x[:, None], (x == 0.5).astype(int))
    domain = domain_of(Attribute("x", "numeric", (0,), 0.0, 1.0))
    assert sorted(forest.trees[0].threshold[forest.trees[0].feature >= 0]) == [0.25, 0.75]
    found = audit_entropy(forest, domain, data, TimeBox(60))
    assert found.ratio.upper > 0.5
    assert found.ratio.lower == found.lowest_row.lower == 0
    assert "hold few different values" in found.reasons[0]


def test_a_threshold_between_values_that_are_not_neighbours_tells_more_than_its_sides(saved):
    """With values 0 and 2 on either side of 1.0, none is 1, so that nothing is left."""
    x = np.array([[0], [2]] * 10)
    forest, data, _ = saved(DecisionTreeClassifier(random_state=0), x, x[:, 0] > 0)
    domain = domain_of(Attribute("x", "ordinal", (0,), 0.0, 2.0))
    found = audit_entropy(forest, domain, data, TimeBox(60))
    assert found.ratio.upper == pytest.approx(math.log2(2) / math.log2(3) / 2)
    assert found.ratio.lower == 0
    rules = RuleList(
        "by hand", (ListedRule((Literal(0, 1.0, math.inf),), 1), ListedRule((), 0)), domain.columns, 1, (False, True)
    )
    assert audit_entropy(rules, domain, data, TimeBox(60)).ratio.lower == 0


def known_gaps(tree: Tree, rows: np.ndarray) -> list[float]:
    """Return each node's threshold as its rows explain it: midway between the two values next to it."""
    explained = []

    def follow(node: int, here: np.ndarray) -> None:
        if tree.left[node] >= 0:
            values = here[:, tree.feature[node]]
            below = values <= tree.threshold[node]
            ends = values[below].max(initial=-9), values[~below].min(initial=9)
            explained.append(sum(ends) / 2)
            follow(tree.left[node], here[below])
            follow(tree.right[node], here[~below])

    follow(0, rows)
    return explained


@pytest.mark.nightly
def test_datasets_that_explain_all_thresholds_leave_at_least_the_lower_bound(saved):
    """All datasets of 4 rows are listed, of those with a row's leaf in each tree unchanged (which leaves no more)."""
    domain = domain_of(Attribute("x", "ordinal", (0,), 0.0, 4.0), Attribute("y", "ordinal", (1,), 0.0, 2.0))
    vectors, gaps = domain.vectors(), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = vectors[rng.integers(len(vectors), size=4)]
        if len(np.unique(rows, axis=0)) < 4:
            continue
        model = RandomForestClassifier(1 + seed % 2, max_features=1, bootstrap=False, max_depth=2, random_state=seed)
        forest, data, _ = saved(model, rows, np.arange(4) % 2)
        found = audit_entropy(forest, domain, data, TimeBox(60))
        leaf = [leaf_positions(tree, np.ascontiguousarray(vectors.T)) for tree in forest.trees]
        of_row = [leaf_positions(tree, np.ascontiguousarray(rows.T)) for tree in forest.trees]
        cells = [
            vectors[np.all([own == at[row] for own, at in zip(leaf, of_row, strict=True)], axis=0)] for row in range(4)
        ]
        thresholds = [tree.threshold[tree.feature >= 0].tolist() for tree in forest.trees]
        worlds = sum(
            all(
                sorted(known_gaps(tree, np.array(world))) == sorted(cuts)
                for tree, cuts in zip(forest.trees, thresholds, strict=True)
            )
            for world in itertools.product(*cells)
        )
        assert found.ratio.lower <= math.log2(worlds) / (4 * math.log2(15)) + 1e-12
        gaps += worlds < math.prod(map(len, cells))
    assert gaps > 5


@pytest.mark.nightly
def test_lower_bounds_of_a_rule_list_are_those_of_datasets_with_the_same_gaps():
    domain = domain_of(Attribute("x", "ordinal", (0,), 0.0, 4.0), Attribute("b", "binary", (1,)))
    vectors = domain.vectors()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        listed = random_rules(domain, rng, int(rng.integers(1, 4)))
        rows = vectors[rng.integers(len(vectors), size=3)]
        captured = listed.captured(rows)

        def gaps(world: np.ndarray, listed: RuleList = listed) -> list[float]:
            after = listed.captured(world)
            return [
                end
                for index, rule in enumerate(listed.rules)
                for literal in rule.literals
                for bound in (literal.low, literal.high)
                if literal.column == 0 and math.isfinite(bound)
                for x in [world[after >= index, 0]]
                for end in (x[x <= bound].max(initial=-9), x[x > bound].min(initial=9))
            ]

        places = [vectors[listed.captured(vectors) == rule] for rule in captured]
        worlds = sum(gaps(np.array(world)) == gaps(rows) for world in itertools.product(*places))
        data = training_data((rows, np.zeros(3, dtype=int)), replace(listed, classes=(0, 1)))
        found = audit_entropy(replace(listed, classes=(0, 1)), domain, data, TimeBox(60))
        assert found.ratio.lower <= math.log2(worlds) / (3 * math.log2(10)) + 1e-12
        assert found.ratio.upper == pytest.approx(sum(math.log2(len(p)) for p in places) / (3 * math.log2(10)))
