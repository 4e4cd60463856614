"""What one tree or rule list tells: the paper's worked numbers, and enumeration of all possible worlds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.audit.entropy import parts_of
from pytest_draft.audit.leaf_counting import NUMERIC_VALUES
from pytest_draft.audit.rule_counting import captures
from pytest_draft.domain import Attribute, Domain
from pytest_draft.facts.rules import ListedRule, Literal, between
from pytest_draft.timebox import TimeBox
from small_models import RULE_LIST_1, booleans, domain_of, random_domain, random_rules, random_tree, sizes_of, tree_of

TABLE_II = domain_of(
    Attribute("a1", "ordinal", (0,), 10.0, 15.0),
    Attribute("a2", "binary", (1,)),
    Attribute("a3", "ordinal", (2,), 1.0, 3.0),
)


def test_table_ii_of_the_paper_has_a_dist_of_0_736():
    tree = tree_of([(2, 1.5, 1, 2), None, (0, 11.5, 3, 4), None, None])
    parts = parts_of(tree, np.array([1, 1, 2]), TABLE_II, TimeBox(10))
    assert sizes_of(tree, TABLE_II).tolist() == [[6, 2, 1], [2, 2, 2], [4, 2, 2]]
    assert parts.dist == pytest.approx(0.736, abs=0.0005)
    assert parts.dist_g == pytest.approx((math.log2(12) + math.log2(8) + 2 * math.log2(16)) / (4 * math.log2(36)))
    assert math.log2(2) / math.log2(6) == pytest.approx(0.387, abs=0.0005)  # a1 of x3, as printed


def test_the_two_reconstructions_of_section_iii_differ_by_dist_g_alone():
    domain = domain_of(Attribute("a1", "binary", (0,)), Attribute("a2", "ordinal", (1,), 1.0, 3.0))
    first = parts_of(tree_of([(0, 0.5, 1, 2), None, None]), np.array([0, 1]), domain, TimeBox(10))
    second = parts_of(tree_of([(1, 1.5, 1, 2), None, None]), np.array([1, 0]), domain, TimeBox(10))
    assert (first.dist, second.dist) == (0.5, 0.5)
    assert first.dist_g == pytest.approx(0.613, abs=0.0005)
    assert second.dist_g == pytest.approx(0.387, abs=0.0005)


def test_table_iv_of_the_paper_has_two_or_three_worlds_a_row():
    found = captures(RULE_LIST_1, booleans(3), TimeBox(10))
    assert [2**part.bits for part in found] == pytest.approx([2, 3, 3])
    assert [part.sizes for part in found] == [(1, 1, 2), (2, 2, 1), (2, 2, 1)]
    worlds = {vector for vector in itertools.product((0, 1), repeat=3) if not (vector[0] and vector[1]) and vector[2]}
    assert {vector[:2] for vector in worlds} == {(0, 0), (0, 1), (1, 0)}
    parts = parts_of(RULE_LIST_1, np.array([2, 2, 1]), booleans(3), TimeBox(10))
    assert parts.dist_g == pytest.approx((2 * math.log2(2) + 3 * math.log2(3)) / 15)
    assert parts.dist == pytest.approx((2 * 1 / 3 + 3 * 2 / 3) / 5)


def enumerated(part: np.ndarray, rows: np.ndarray, vectors: np.ndarray, domain: Domain) -> tuple[float, float]:
    """Return Dist and Dist_G by listing all worlds, given the part of each vector and of each row.

    Up to 5,000 datasets are listed whole; beyond, their number is the product of the rows' own.
    """
    worlds = [vectors[part == p] for p in rows]
    n_worlds = math.prod(map(len, worlds))
    if n_worlds <= 5_000:
        n_worlds = len(set(itertools.product(*([row.tobytes() for row in world] for world in worlds))))
    joint = sum(math.log2(len(world)) for world in worlds) if n_worlds > 2**900 else math.log2(n_worlds)
    indices, sizes = domain.indices(vectors), np.array([attribute.n_values for attribute in domain.attributes])
    single = [
        math.log2(len(np.unique(indices[part == p, a]))) / math.log2(size)
        for p in rows
        for a, size in enumerate(sizes)
        if size > 1
    ]
    return float(np.mean(single)), joint / (len(rows) * float(np.log2(sizes).sum()))


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("block", range(10))
def test_trees_and_rule_lists_agree_with_all_possible_worlds(block):
    """50 random trees and rule lists a block, 500 in all; exact rationals count, so they agree to the last digits."""
    rng = np.random.default_rng([7, block])
    for number in range(50):
        domain = random_domain(rng)
        vectors = domain.vectors()
        rows = vectors[rng.integers(len(vectors), size=int(rng.integers(1, 13)))]
        if number % 2:
            tree = random_tree(domain, rows, rng)
            part, of_row = (leaf_positions(tree, np.ascontiguousarray(some.T)) for some in (vectors, rows))
            found = parts_of(tree, np.bincount(of_row, minlength=len(tree.leaves)), domain, TimeBox(10))
        else:
            rules = random_rules(domain, rng, int(rng.integers(0, 8)))
            part, of_row = rules.captured(vectors), rules.captured(rows)
            found = parts_of(rules, np.bincount(of_row, minlength=rules.n_rules), domain, TimeBox(60))
            sizes = np.bincount(part, minlength=rules.n_rules)
            assert np.where(np.isneginf(found.bits), 0, np.rint(2**found.bits)).tolist() == sizes.tolist()
        dist, dist_g = enumerated(part, of_row, vectors, domain)
        assert found.exact
        assert found.dist == pytest.approx(dist, abs=1e-12), number
        assert found.dist_g == pytest.approx(dist_g, abs=1e-12), number


def test_without_time_there_is_an_upper_bound_and_no_number():
    parts = parts_of(RULE_LIST_1, np.array([2, 2, 1]), booleans(3), TimeBox(1e-9))
    assert not parts.exact
    assert parts.dist is None
    assert parts.least == 0
    assert parts.bits.tolist() == [1, 2, 3]


def test_a_numeric_attribute_counts_as_values_to_within_the_tolerance():
    domain = domain_of(Attribute("x", "numeric", (0,), 0.0, 10.0), Attribute("b", "binary", (1,)))
    tree = tree_of([(0, 2.5, 1, 2), None, (0, 2.52, 3, 4), None, None])
    assert sizes_of(tree, domain)[:, 0].tolist() == pytest.approx([25, 1, 74.8])
    parts = parts_of(tree, np.array([5, 0, 5]), domain, TimeBox(10))
    whole = math.log2(2 * NUMERIC_VALUES)
    assert parts.dist_g == pytest.approx((math.log2(50) + math.log2(149.6)) / (2 * whole))
    assert parts.least == pytest.approx(1 / whole)  # thresholds may tell all of x
    rules = RuleList(
        "by hand", (ListedRule((Literal(0, -math.inf, 2.5),), 0), ListedRule((), 0)), domain.columns, 2, (0,)
    )
    same = parts_of(rules, np.array([1, 1]), domain, TimeBox(10))
    assert same.bits == pytest.approx(np.log2([50, 150]))
    point = RuleList(
        "by hand", (ListedRule((Literal(0, *between(0.0, 0.0)),), 0), ListedRule((), 0)), domain.columns, 2, (0,)
    )
    assert parts_of(point, np.array([1, 1]), domain, TimeBox(10)).bits == pytest.approx([1, whole])


def test_a_constant_column_changes_no_ratio():
    domain = booleans(2)
    wider = domain_of(*domain.attributes, Attribute("x", "ordinal", (2,), 3.0, 3.0))
    tree = tree_of([(0, 0.5, 1, 2), None, None])
    mine, theirs = (parts_of(tree, np.array([1, 2]), some, TimeBox(10)) for some in (domain, wider))
    assert (mine.dist, mine.dist_g) == (theirs.dist, theirs.dist_g) == (0.5, 0.5)
