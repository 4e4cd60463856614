"""Entropies of trees, rule lists and forests: the paper's worked numbers, and enumeration of all possible worlds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import occurrences, read
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.rule_list import RuleList, between
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.reconstruct import reconstruct
from pytest_draft.attack.search import Search
from pytest_draft.audit.entropy import (
    Parts,
    audit_forest,
    audit_rules,
    most_left,
    parts_of_rules,
    parts_of_tree,
    together,
)
from pytest_draft.audit.model_counting import NUMERIC_VALUES, captures, leaf_sizes
from pytest_draft.data import training_data
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.errors import DataError, NotCoveredError
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.rules import Literal, Rule
from pytest_draft.timebox import TimeBox


def tree_of(nodes: list[tuple[int, float, int, int] | None]) -> Tree:
    """Return a tree of (column, threshold, left, right) nodes and leaves."""
    inner = [node or (-1, -2.0, -1, -1) for node in nodes]
    column, threshold, left, right = (np.array(values) for values in zip(*inner, strict=True))
    n = len(nodes)
    empty = np.zeros(n, dtype=np.int64)
    return Tree(left, right, column, threshold, np.zeros(n, bool), np.zeros((n, 1)), np.zeros(n), empty, None)


def domain_of(*attributes: Attribute) -> Domain:
    columns = sum(len(attribute.columns) for attribute in attributes)
    return Domain(tuple(f"c{column}" for column in range(columns)), attributes, "by hand")


def sizes_of(tree: Tree, domain: Domain) -> np.ndarray:
    """Return the sizes of all leaves, in the order of the leaves."""
    leaves, sizes = (np.concatenate(parts) for parts in zip(*leaf_sizes(tree, domain), strict=True))
    return sizes[np.argsort(leaves)]


def booleans(n: int) -> Domain:
    return domain_of(*(Attribute(f"a{a}", "binary", (a,)) for a in range(n)))


def is_one(column: int) -> Literal:
    return Literal(column, 0.5, math.inf)


TABLE_II = domain_of(
    Attribute("a1", "ordinal", (0,), 10.0, 15.0),
    Attribute("a2", "binary", (1,)),
    Attribute("a3", "ordinal", (2,), 1.0, 3.0),
)
RULE_LIST_1 = RuleList(
    "by hand",
    (
        Rule((is_one(0), is_one(1)), True, (0, 2)),
        Rule((is_one(2),), False, (2, 0)),
        Rule((), True, (0, 1)),
    ),
    ("c0", "c1", "c2"),
    3,
    (False, True),
)


def test_table_ii_of_the_paper_has_a_dist_of_0_736():
    tree = tree_of([(2, 1.5, 1, 2), None, (0, 11.5, 3, 4), None, None])
    parts = parts_of_tree(tree, np.array([1, 1, 2]), TABLE_II)
    assert sizes_of(tree, TABLE_II).tolist() == [[6, 2, 1], [2, 2, 2], [4, 2, 2]]
    assert parts.dist == pytest.approx(0.736, abs=0.0005)
    assert parts.dist_g == pytest.approx((math.log2(12) + math.log2(8) + 2 * math.log2(16)) / (4 * math.log2(36)))
    assert math.log2(2) / math.log2(6) == pytest.approx(0.387, abs=0.0005)  # a1 of x3, as printed


def test_the_two_reconstructions_of_section_iii_differ_by_dist_g_alone():
    domain = domain_of(Attribute("a1", "binary", (0,)), Attribute("a2", "ordinal", (1,), 1.0, 3.0))
    first = parts_of_tree(tree_of([(0, 0.5, 1, 2), None, None]), np.array([0, 1]), domain)
    second = parts_of_tree(tree_of([(1, 1.5, 1, 2), None, None]), np.array([1, 0]), domain)
    assert (first.dist, second.dist) == (0.5, 0.5)
    assert first.dist_g == pytest.approx(0.613, abs=0.0005)
    assert second.dist_g == pytest.approx(0.387, abs=0.0005)


def test_table_iv_of_the_paper_has_two_or_three_worlds_a_row():
    found = captures(RULE_LIST_1, booleans(3), TimeBox(10))
    assert [2**part.bits for part in found] == pytest.approx([2, 3, 3])
    assert [part.sizes for part in found] == [(1, 1, 2), (2, 2, 1), (2, 2, 1)]
    worlds = {vector for vector in itertools.product((0, 1), repeat=3) if not (vector[0] and vector[1]) and vector[2]}
    assert {vector[:2] for vector in worlds} == {(0, 0), (0, 1), (1, 0)}
    parts = parts_of_rules(RULE_LIST_1, np.array([2, 2, 1]), booleans(3), TimeBox(10))
    assert parts.dist_g == pytest.approx((2 * math.log2(2) + 3 * math.log2(3)) / 15)
    assert parts.dist == pytest.approx((2 * 1 / 3 + 3 * 2 / 3) / 5)


def random_domain(rng: np.random.Generator) -> Domain:
    """Return a domain of at most 200 vectors: binary, ordinal and one-hot attributes."""
    attributes: list[Attribute] = []
    size, column = 1, 0
    for a in range(int(rng.integers(1, 6))):
        kind = rng.choice(["binary", "ordinal", "one-hot"])
        n = 2 if kind == "binary" else int(rng.integers(2, 5))
        if size * n > 200:
            break
        low = float(rng.integers(-2, 3)) if kind == "ordinal" else 0.0
        columns = tuple(range(column, column + (n if kind == "one-hot" else 1)))
        attributes.append(Attribute(f"a{a}", kind, columns, low, low + n - 1 if kind == "ordinal" else 1.0))
        size, column = size * n, column + len(columns)
    return domain_of(*attributes)


def random_tree(domain: Domain, rows: np.ndarray, rng: np.random.Generator) -> Tree:
    """Return a tree of random splits, each of which divides some of the rows."""
    nodes: list[tuple[int, float, int, int] | None] = [None]

    def grow(node: int, here: np.ndarray, depth: int) -> None:
        varying = [c for c in range(domain.n_columns) if len(np.unique(here[:, c])) > 1]
        if depth == 4 or not varying or rng.random() < 0.2:
            return
        column = int(rng.choice(varying))
        values = np.unique(here[:, column])
        cut = int(rng.integers(len(values) - 1))
        threshold = float(values[cut] + values[cut + 1]) / 2
        left, right = len(nodes), len(nodes) + 1
        nodes[node] = (column, threshold, left, right)
        nodes.extend([None, None])
        below = here[:, column] <= threshold
        grow(left, here[below], depth + 1)
        grow(right, here[~below], depth + 1)

    grow(0, rows, 0)
    return tree_of(nodes)


def random_rules(domain: Domain, rng: np.random.Generator, n_rules: int) -> RuleList:
    """Return rules of up to three tests, which may contradict each other."""

    def literal() -> Literal:
        column = int(rng.integers(domain.n_columns))
        owner = next(a for a in domain.attributes if column in a.columns)
        value = float(rng.integers(owner.low, owner.high + 1))
        low, high = [(-math.inf, value), (value - 0.5, math.inf), between(value, value)][int(rng.integers(3))]
        return Literal(column, low, high, bool(rng.integers(2)))

    rules = [Rule(tuple(literal() for _ in range(rng.integers(1, 4))), 0) for _ in range(n_rules)]
    return RuleList("random", (*rules, Rule((), 0)), domain.columns, domain.n_columns, (0,))


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
            found = parts_of_tree(tree, np.bincount(of_row, minlength=len(tree.leaves)), domain)
        else:
            rules = random_rules(domain, rng, int(rng.integers(0, 8)))
            part, of_row = rules.captured(vectors), rules.captured(rows)
            found = parts_of_rules(rules, np.bincount(of_row, minlength=rules.n_rules), domain, TimeBox(60))
            sizes = np.bincount(part, minlength=rules.n_rules)
            assert np.where(np.isneginf(found.bits), 0, np.rint(2**found.bits)).tolist() == sizes.tolist()
        dist, dist_g = enumerated(part, of_row, vectors, domain)
        assert found.exact
        assert found.dist == pytest.approx(dist, abs=1e-12), number
        assert found.dist_g == pytest.approx(dist_g, abs=1e-12), number


def by_recursion(rules: RuleList, vectors: np.ndarray) -> list[int]:
    """Return what each rule captures by the paper's equations 13 and 15, taken literally."""
    holds = [rule.holds(vectors) for rule in rules.rules]

    def captured(first: int, region: np.ndarray) -> int:
        own = holds[first] & region
        return int(own.sum()) - sum(captured(h, own) for h in range(first))

    return [int(f.sum()) - sum(captured(h, f) for h in range(j)) for j, f in enumerate(holds)]


def test_counting_by_cases_is_the_papers_recursion():
    rng = np.random.default_rng(3)
    for _ in range(20):
        domain = random_domain(rng)
        rules = random_rules(domain, rng, 6)
        found = [part.bits for part in captures(rules, domain, TimeBox(60))]
        expected = by_recursion(rules, domain.vectors())
        assert [0 if bits == -math.inf else round(2**bits) for bits in found] == expected


def test_fifty_wide_rules_are_counted_exactly_beyond_any_enumeration():
    """What no rule meets is counted, and a list with its rules in another order leaves the same."""
    rng = np.random.default_rng(0)
    rules = [
        Rule(tuple(Literal(int(c), 0.5, math.inf, bool(rng.integers(2))) for c in rng.choice(60, 3, False)), 0)
        for _ in range(30)
    ]
    domain = booleans(60)
    default = Rule((), 0)
    one, other = (
        captures(RuleList("by hand", (*order, default), domain.columns, 60, (0,)), domain, TimeBox(60))
        for order in (rules, rules[::-1])
    )
    assert one[-1].exact
    assert one[-1].bits == other[-1].bits
    total = sum(round(2 ** (part.bits - 20)) for part in one)
    assert total == pytest.approx(2**40, rel=1e-9)


def test_without_time_there_is_an_upper_bound_and_no_number():
    parts = parts_of_rules(RULE_LIST_1, np.array([2, 2, 1]), booleans(3), TimeBox(1e-9))
    assert not parts.exact
    assert parts.dist is None
    assert parts.least == 0
    assert parts.bits.tolist() == [1, 2, 3]


def test_a_numeric_attribute_counts_as_values_to_within_the_tolerance():
    domain = domain_of(Attribute("x", "numeric", (0,), 0.0, 10.0), Attribute("b", "binary", (1,)))
    tree = tree_of([(0, 2.5, 1, 2), None, (0, 2.52, 3, 4), None, None])
    assert sizes_of(tree, domain)[:, 0].tolist() == pytest.approx([25, 1, 74.8])
    parts = parts_of_tree(tree, np.array([5, 0, 5]), domain)
    whole = math.log2(2 * NUMERIC_VALUES)
    assert parts.dist_g == pytest.approx((math.log2(50) + math.log2(149.6)) / (2 * whole))
    assert parts.least == pytest.approx(1 / whole)  # thresholds may tell all of x
    rules = RuleList("by hand", (Rule((Literal(0, -math.inf, 2.5),), 0), Rule((), 0)), domain.columns, 2, (0,))
    same = parts_of_rules(rules, np.array([1, 1]), domain, TimeBox(10))
    assert same.bits == pytest.approx(np.log2([50, 150]))
    point = RuleList("by hand", (Rule((Literal(0, *between(0.0, 0.0)),), 0), Rule((), 0)), domain.columns, 2, (0,))
    assert parts_of_rules(point, np.array([1, 1]), domain, TimeBox(10)).bits == pytest.approx([1, whole])


def test_a_missing_value_is_one_more_value_where_its_branch_leads():
    domain = domain_of(Attribute("x", "ordinal", (0,), 0.0, 2.0, missing=True))
    tree = tree_of([(0, 0.5, 1, 2), None, None])
    tree = replace(tree, missing_left=np.array([True, False, False]))
    assert sizes_of(tree, domain).tolist() == [[2], [2]]
    with pytest.raises(NotCoveredError, match="missing values"):
        captures(RuleList("by hand", (Rule((), 0),), ("c0",), 1, (0,)), domain, TimeBox(1))


def test_a_domain_of_one_vector_has_nothing_to_take_away():
    constant = domain_of(Attribute("x", "ordinal", (0,), 3.0, 3.0))
    with pytest.raises(NotCoveredError, match="no uncertainty"):
        audit_rules(RuleList("by hand", (Rule((), 0, (3,)),), ("c0",), 1, (0,)), constant, None, TimeBox(1))
    with pytest.raises(ValueError, match="no uncertainty"):
        Parts(np.array([1]), np.zeros(1), np.zeros(1), 0.0, np.zeros(1))


def test_a_constant_column_changes_no_ratio():
    domain = booleans(2)
    wider = domain_of(*domain.attributes, Attribute("x", "ordinal", (2,), 3.0, 3.0))
    tree = tree_of([(0, 0.5, 1, 2), None, None])
    mine, theirs = (parts_of_tree(tree, np.array([1, 2]), some) for some in (domain, wider))
    assert (mine.dist, mine.dist_g) == (theirs.dist, theirs.dist_g) == (0.5, 0.5)


@pytest.fixture
def people():
    """Return 60 rows of six binary columns, and labels that depend on three of them."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 2, (60, 6)).astype(np.float32)
    return rows, (rows[:, :3].sum(axis=1) + (rng.random(60) < 0.2) > 1).astype(int)


@pytest.fixture
def saved(tmp_path, people):
    """Return a function that fits an estimator and returns its forest, the rows and their domain."""

    def fitted(estimator, *table) -> tuple[Forest, object, Domain]:
        table = table or people
        joblib.dump(estimator.fit(*table), tmp_path / "model.joblib")
        forest = read(tmp_path / "model.joblib").forest
        data = training_data(table, forest)
        return forest, data, infer(data.columns, data.rows.astype(float))

    return fitted


def test_the_figures_of_one_tree_are_exact_and_by_row(saved, people):
    forest, data, domain = saved(DecisionTreeClassifier(max_depth=3, random_state=0))
    inside = np.arange(60) % 3 > 0
    found = audit_forest(forest, domain, data, TimeBox(60), inside)
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


def test_a_numeric_interval_is_never_less_than_one_value_in_a_rule_list_either():
    """What two rules leave of x is a point, or a tenth of a value; the ten other columns stay open."""
    domain = domain_of(
        Attribute("x", "numeric", (0,), 0.0, 1.0), *(Attribute(f"b{b}", "binary", (b,)) for b in range(1, 11))
    )
    point = (Rule((Literal(0, *between(0.5, 0.5), negated=True),), 0), Rule((), 0))
    narrow = (Rule((Literal(0, 0.5, math.inf),), 0), Rule((Literal(0, -math.inf, 0.499),), 0), Rule((), 0))
    for rules in (point, narrow):
        found = captures(RuleList("by hand", rules, domain.columns, 11, (0,)), domain, TimeBox(10))[-1]
        assert found.exact
        assert found.bits == pytest.approx(10)
        assert found.sizes[0] == 1


def test_many_bounds_on_one_column_end_with_the_time():
    domain = domain_of(Attribute("x", "numeric", (0,), 0.0, 1.0))
    rules = [Rule((Literal(0, -math.inf, (index + 1) / 2002),), 0) for index in range(2000)]
    clock = itertools.count(step=1e-4)
    box = TimeBox(1, clock=lambda: next(clock))
    found = captures(RuleList("by hand", (*rules, Rule((), 0)), domain.columns, 1, (0,)), domain, box)
    assert box.over
    assert not found[-1].exact
    assert next(clock) < 2  # asked again and again, once more for each rule after the end


def test_a_wide_tree_is_looked_at_in_parts(monkeypatch):
    monkeypatch.setattr("pytest_draft.audit.model_counting._MOST_BOUNDS", 50)
    domain = booleans(10)
    tree = random_tree(domain, domain.vectors(), np.random.default_rng(2))
    parts = [len(leaves) for leaves, _ in leaf_sizes(tree, domain)]
    whole = sizes_of(tree, domain)
    monkeypatch.undo()
    assert len(parts) > 1
    assert max(parts) <= 20
    assert (whole == sizes_of(tree, domain)).all()


def test_thresholds_tell_where_nobody_is(saved, people):
    """All values are 0, but for one row at 0.5 and others at 1: with the thresholds 0.25 and 0.75, all x are known."""
    x = np.r_[np.zeros(29), 0.5, np.ones(30)]
    forest, data, _ = saved(DecisionTreeClassifier(random_state=0), x[:, None], (x == 0.5).astype(int))
    domain = domain_of(Attribute("x", "numeric", (0,), 0.0, 1.0))
    assert sorted(forest.trees[0].threshold[forest.trees[0].feature >= 0]) == [0.25, 0.75]
    found = audit_forest(forest, domain, data, TimeBox(60))
    assert found.ratio.upper > 0.5
    assert found.ratio.lower == found.lowest_row.lower == 0
    assert "hold few different values" in found.reasons[0]


def test_a_threshold_between_values_that_are_not_neighbours_tells_more_than_its_sides(saved):
    """With values 0 and 2 on either side of 1.0, none is 1, so that nothing is left."""
    x = np.array([[0], [2]] * 10)
    forest, data, _ = saved(DecisionTreeClassifier(random_state=0), x, x[:, 0] > 0)
    domain = domain_of(Attribute("x", "ordinal", (0,), 0.0, 2.0))
    found = audit_forest(forest, domain, data, TimeBox(60))
    assert found.ratio.upper == pytest.approx(math.log2(2) / math.log2(3) / 2)
    assert found.ratio.lower == 0
    rules = RuleList("by hand", (Rule((Literal(0, 1.0, math.inf),), 1), Rule((), 0)), domain.columns, 1, (False, True))
    assert audit_rules(rules, domain, data, TimeBox(60)).ratio.lower == 0


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
        found = audit_forest(forest, domain, data, TimeBox(60))
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
        found = audit_rules(replace(listed, classes=(0, 1)), domain, data, TimeBox(60))
        assert found.ratio.lower <= math.log2(worlds) / (3 * math.log2(10)) + 1e-12
        assert found.ratio.upper == pytest.approx(sum(math.log2(len(p)) for p in places) / (3 * math.log2(10)))


def test_rows_of_the_same_population_did_not_train_a_bagged_forest(saved, people):
    forest, data, domain = saved(RandomForestClassifier(3, max_depth=1, random_state=0))
    assert not audit_forest(forest, domain, data, TimeBox(60)).reasons
    rng = np.random.default_rng(6)
    stranger = training_data((rng.integers(0, 2, (60, 6)), people[1]), forest)
    found = audit_forest(forest, domain, stranger, TimeBox(60))
    assert "was not trained on these rows, or not in this order" in found.reasons[0]
    assert found.ratio.lower == 0


def test_a_strangers_rows_are_noticed(saved, people):
    forest, data, domain = saved(DecisionTreeClassifier(max_depth=3, random_state=0))
    stranger = training_data((1 - people[0], people[1]), forest)
    found = audit_forest(forest, domain, stranger, TimeBox(60))
    assert "not trained on these rows" in found.reasons[0]
    assert not found.groups
    rules = RuleList("by hand", (Rule((is_one(0),), 1, (1, 1)), Rule((), 0, (50, 8))), None, 6, (0, 1))
    found = audit_rules(rules.resolved(data.columns), domain, data, TimeBox(60))
    assert "2 of its 2 rules captured other numbers" in found.reasons[0]


def test_counts_that_a_rule_list_does_not_tell_are_taken_from_the_data(saved, people):
    _, data, domain = saved(DecisionTreeClassifier(max_depth=1))
    rules = RuleList("by hand", (Rule((is_one(0),), 1), Rule((), 0)), data.columns, 6, (0, 1))
    found = audit_rules(rules, domain, data, TimeBox(60))
    assert found.ratio.exact == pytest.approx(5 / 6)
    with pytest.raises(DataError, match="how many rows"):
        audit_rules(rules, domain, None, TimeBox(60))


def n_worlds(forest: Forest, domain: Domain, labels: np.ndarray) -> int:
    """Count the worlds of a small forest by listing all datasets.

    Rows are in no order but for those of one cell; without bootstrap, the class of each row is known.
    """
    vectors, times = domain.vectors(), occurrences(forest)
    leaves = [leaf_positions(tree, np.ascontiguousarray(vectors.T)) for tree in forest.trees]
    counts = [forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees)]
    given = itertools.product(range(2), repeat=len(labels)) if forest.bootstrap else [tuple(labels.tolist())]
    worlds = set()
    for label, chosen in itertools.product(given, itertools.product(range(len(vectors)), repeat=len(labels))):
        tables = [np.zeros_like(table) for table in counts]
        for t, table in enumerate(tables):
            np.add.at(table, (leaves[t][list(chosen)], list(label)), times[t])
        if all((table == count).all() for table, count in zip(tables, counts, strict=True)):
            slots = [
                (0 if forest.bootstrap else label[i], tuple(int(leaf[v]) for leaf in leaves), i, v)
                for i, v in enumerate(chosen)
            ]
            worlds.add(tuple((*slot[:2], slot[3]) for slot in sorted(slots)))
    return len(worlds)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_what_all_trees_tell_together_lies_between_the_bounds(bootstrap, tmp_path):
    exact = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n_rows = 3 if bootstrap else 4
        rows, labels = rng.integers(0, 2, (n_rows, 3)).astype(np.float32), np.arange(n_rows) % 2
        model = RandomForestClassifier(3, max_depth=2, max_features=1, bootstrap=bootstrap, random_state=seed)
        joblib.dump(model.fit(rows, labels), tmp_path / "model.joblib")
        forest, domain = read(tmp_path / "model.joblib").forest, booleans(3)
        problem = build(forest, domain, group_by_occurrences(occurrences(forest)), TimeBox(60))
        joint = math.log2(n_worlds(forest, domain, labels)) / (n_rows * 3)
        alone = audit_forest(forest, domain, training_data((rows, labels), forest), TimeBox(60))
        before = together(alone, problem)
        after = together(alone, problem, reconstruct(problem, Search(TimeBox(60), 0, 1)))
        for found in (alone, before, after):
            assert found.ratio.lower - 1e-12 <= joint <= found.ratio.upper + 1e-12
        assert joint <= most_left(problem) / (n_rows * 3) + 1e-12
        assert before.ratio.upper <= alone.ratio.upper
        if after.measured_on == "all trees together":
            exact += 1
            assert after.ratio.exact == pytest.approx(joint, abs=1e-12)
    assert exact > 0 or bootstrap


def test_bounds_of_a_share_are_in_order():
    assert Between(0.25, 0.5).rest == Between(0.5, 0.75)
    assert Between(0.25, 0.25).exact == 0.25
    with pytest.raises(ValueError, match="bounds"):
        Between(0.5, 0.25)
