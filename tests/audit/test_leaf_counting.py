"""How many values a row in a leaf can have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.audit.leaf_counting import leaf_sizes
from pytest_draft.audit.rule_counting import captures
from pytest_draft.domain import Attribute
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.rules import ListedRule
from pytest_draft.timebox import TimeBox
from small_models import booleans, domain_of, random_tree, sizes_of, tree_of


def test_a_missing_value_is_one_more_value_where_its_branch_leads():
    domain = domain_of(Attribute("x", "ordinal", (0,), 0.0, 2.0, missing=True))
    tree = tree_of([(0, 0.5, 1, 2), None, None])
    tree = replace(tree, missing_left=np.array([True, False, False]))
    assert sizes_of(tree, domain).tolist() == [[2], [2]]
    with pytest.raises(NotCoveredError, match="missing values"):
        captures(RuleList("by hand", (ListedRule((), 0),), ("c0",), 1, (0,)), domain, TimeBox(1))


def test_a_wide_tree_is_looked_at_in_parts(monkeypatch):
    monkeypatch.setattr("pytest_draft.audit.leaf_counting._MOST_BOUNDS", 50)
    domain = booleans(10)
    tree = random_tree(domain, domain.vectors(), np.random.default_rng(2))
    parts = [len(leaves) for leaves, _ in leaf_sizes(tree, domain)]
    whole = sizes_of(tree, domain)
    monkeypatch.undo()
    assert len(parts) > 1
    assert max(parts) <= 20
    assert (whole == sizes_of(tree, domain)).all()
