"""Equations beside sums over rows one by one, and what a row can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from pytest_draft.attack.boosted.equations import Equations, Kinds, equations_of, kinds_of
from pytest_draft.attack.boosted.staged import at_nodes, missed, stages
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.timebox import TimeBox

LOSSES = ["logistic", "softmax", "squared", "poisson"]

DOMAIN = Domain(
    tuple("abcdef"),
    (
        Attribute("a", "binary", (0,)),
        Attribute("b", "one-hot", (1, 2), dropped=True),
        Attribute.coded("d", 3, [-3, 0, 7]),
        Attribute("e", "one-hot", (4, 5)),
    ),
    "made by hand",
)


def rows_of(seed=0, n_rows=40, n_classes=2, domain=DOMAIN):
    """Return rows of the domain, and a label of each."""
    rng = np.random.default_rng(seed)
    return domain.uniform(n_rows, rng), rng.integers(n_classes, size=n_rows)


def numbers_of(kinds: Kinds, forest, rows, labels):
    """Return rows of each kind, found by the leaves that each row reaches in each tree."""
    number = np.zeros((kinds.n_classes, kinds.cells.n_cells), dtype=np.int64)
    of_rows = np.stack([stage.leaf for stage in stages(forest, np.ascontiguousarray(rows.T.astype(np.float64)))])
    for row, label in zip(of_rows.T, labels, strict=True):
        (cell,) = np.flatnonzero((kinds.cells.signature == row[:, None]).all(axis=0))
        number[label if kinds.n_classes > 1 else 0, cell] += 1
    return number.ravel()


def by_rows(forest, rows, labels, t):
    """Return what the rows sum up to in each statement of a tree, row by row and in plain Python."""
    said = forest.observation
    sums = np.zeros(len(said.statements[t].node))
    for row, label in zip(rows, labels, strict=True):
        score = said.base.astype(float).copy()
        for s in range(t - t % said.n_scores):
            score[s % said.n_scores] += forest.trees[s].value[path(forest.trees[s], row)[-1], 0]
        k = t % said.n_scores
        if said.loss == "logistic":
            p = 1 / (1 + np.exp(-score[0]))
            gradient, hessian = p - label, p * (1 - p)
        elif said.loss == "softmax":
            p = special.softmax(score)[k]
            gradient, hessian = p - (label == k), p * (1 - p)
        elif said.loss == "squared":
            gradient, hessian = score[0] - label, 1.0
        else:
            gradient, hessian = np.exp(score[0]) - label, np.exp(score[0])
        passed = path(forest.trees[t], row)
        for s, (node, weight) in enumerate(zip(said.statements[t].node, said.statements[t].weight, strict=True)):
            if node in passed:
                sums[s] += weight @ [1.0, gradient, hessian, gradient**2]
    return sums


def path(tree, row):
    """Return the nodes that a row passes."""
    node, passed = 0, [0]
    while tree.left[node] >= 0:
        node = (tree.left if row[tree.feature[node]] <= tree.threshold[node] else tree.right)[node]
        passed.append(int(node))
    return passed


@pytest.mark.nightly
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_equations_are_sums_over_rows(by_hand, loss, seed):
    rows, labels = rows_of(seed, n_classes=3 if loss == "softmax" else 2)
    forest = by_hand(rows, labels, loss, seed=seed)
    kinds = kinds_of(forest, DOMAIN, TimeBox(60))
    number = numbers_of(kinds, forest, rows, labels)
    for t, tree in enumerate(forest.trees):
        equations = equations_of(forest, kinds, len(rows), [t], TimeBox(60))
        found, n_leaves = equations.matrix @ number, len(tree.leaves)
        counts = np.bincount([path(tree, row)[-1] for row in rows], minlength=tree.n_nodes)[tree.leaves]
        np.testing.assert_allclose(found[: 1 + n_leaves], [len(rows), *counts])
        own = forest.observation.statements[t]
        kept = np.ones(len(own.node), bool) if forest.classes is not None else own.weight[:, 1] == 0
        np.testing.assert_allclose(found[1 + n_leaves :], by_rows(forest, rows, labels, t)[kept], atol=1e-12)
        np.testing.assert_allclose(found, equations.total, atol=1e-9)
        assert equations.missed(number) == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_the_right_rows_miss_nothing_and_others_something(by_hand, loss):
    n_classes = 3 if loss == "softmax" else 2
    rows, labels = rows_of(n_classes=n_classes)
    forest = by_hand(rows, labels, loss)
    columns = np.ascontiguousarray(rows.T.astype(np.float64))
    order = np.random.default_rng(1).permutation(len(rows))
    assert missed(forest, columns, labels) == 0
    assert missed(forest, columns[:, order], labels[order]) == 0
    others, their = rows_of(1, n_classes=n_classes)
    assert missed(forest, np.ascontiguousarray(others.T.astype(np.float64)), their) > 0
    if forest.classes is not None:
        assert missed(forest, columns, np.roll(labels, 1)) > 0


def test_inner_nodes_sum_up_their_leaves(by_hand):
    rows, labels = rows_of()
    tree = by_hand(rows, labels, depth=3).trees[0]
    leaf = next(stages(by_hand(rows, labels, depth=3), np.ascontiguousarray(rows.T.astype(np.float64)))).leaf
    amount = np.arange(len(rows), dtype=float)
    passed = [path(tree, row) for row in rows]
    want = [sum(a for a, nodes in zip(amount, passed, strict=True) if v in nodes) for v in range(tree.n_nodes)]
    np.testing.assert_allclose(at_nodes(tree.left, tree.right, leaf, amount), want)


def test_scaled_sharp_and_partial_equations_miss_the_same_numbers(by_hand):
    rows, labels = rows_of()
    forest = by_hand(rows, labels)
    kinds = kinds_of(forest, DOMAIN, TimeBox(60))
    number = numbers_of(kinds, forest, rows, labels)
    equations = equations_of(forest, kinds, len(rows), range(forest.n_trees), TimeBox(60))
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = number + rng.integers(-1, 2, size=len(number)) * (rng.random(len(number)) < 0.1)
        assert equations.scaled().missed(other) == equations.missed(other) == equations.scaled().sharp().missed(other)
    held = np.flatnonzero(number)
    assert Equations(equations.matrix[:, held], equations.total, equations.tolerance).missed(number[held]) == 0
    assert not np.abs(equations.without(number.astype(float)).total).max() > 1e-9


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_kinds_are_what_trees_tell_apart_in_leaves_with_rows(by_hand, dropped, seed):
    group = Attribute("b", "one-hot", (1, 2, 3), dropped=dropped)
    domain = Domain(tuple("abcd"), (Attribute("a", "binary", (0,)), group), "made by hand")
    rows, labels = rows_of(seed, 6, domain=domain)
    forest = by_hand(rows, labels, seed=seed)
    kinds = kinds_of(forest, domain, TimeBox(60))
    possible = {}
    for vector in domain.vectors():
        leaves = tuple(path(tree, vector)[-1] for tree in forest.trees)
        if all(tree.n_distinct[leaf] for tree, leaf in zip(forest.trees, leaves, strict=True)):
            possible.setdefault(leaves, []).append(vector)
    assert sorted(kinds.cells.n_vectors) == sorted(map(len, possible.values()))
    assert kinds.n_kinds == 2 * len(possible)
    for vector, held in zip(kinds.vectors, kinds.cells.n_vectors, strict=True):
        own = possible[tuple(path(tree, vector)[-1] for tree in forest.trees)]
        assert any((vector == one).all() for one in own)
        assert held == len(own)


def test_without_counts_every_vector_is_possible(by_hand):
    rows, labels = rows_of(n_rows=3)
    forest = by_hand(rows, labels)
    uncounted = replace(forest, observation=replace(forest.observation, counted=False))
    assert kinds_of(uncounted, DOMAIN, TimeBox(60)).cells.n_vectors.sum() == DOMAIN.n_vectors


def test_a_tree_of_one_leaf_tells_nothing_apart(by_hand):
    rows, labels = rows_of()
    forest = by_hand(rows, labels, depth=0)
    kinds = kinds_of(forest, DOMAIN, TimeBox(60))
    assert kinds.cells.n_cells == 1
    assert kinds.cells.n_vectors.tolist() == [DOMAIN.n_vectors]
    equations = equations_of(forest, kinds, len(rows), range(forest.n_trees), TimeBox(60))
    assert equations.missed(np.bincount(labels)) == 0


def test_no_leaf_with_rows_is_infeasible(by_hand):
    rows, labels = rows_of()
    forest = by_hand(rows, labels)
    for emptied in (0, forest.n_trees - 1):
        trees = list(forest.trees)
        trees[emptied] = replace(trees[emptied], n_distinct=np.zeros_like(trees[emptied].n_distinct))
        with pytest.raises(InfeasibleError):
            kinds_of(replace(forest, trees=tuple(trees)), DOMAIN, TimeBox(60))


def test_domains_that_cannot_be_listed_are_not_covered(by_hand):
    wide = Domain(
        tuple(f"c{i}" for i in range(300)), tuple(Attribute(f"c{i}", "binary", (i,)) for i in range(300)), "wide"
    )
    rng = np.random.default_rng(0)
    forest = by_hand(rng.integers(2, size=(20, 300)), rng.integers(2, size=20))
    with pytest.raises(NotCoveredError, match="vectors"):
        kinds_of(forest, wide, TimeBox(60))
    numeric = Domain(("a", "b"), (Attribute("a", "numeric", (0,)), Attribute("b", "binary", (1,))), "numeric")
    missing = Domain(("a",), (Attribute.coded("a", 0, [0, 1], missing=True),), "missing")
    for domain in (numeric, missing):
        with pytest.raises(NotCoveredError, match="numeric columns or missing values"):
            kinds_of(forest, domain, TimeBox(60))


def test_a_time_box_that_is_over(by_hand):
    rows, labels = rows_of()
    forest = by_hand(rows, labels)
    kinds, box = kinds_of(forest, DOMAIN, TimeBox(60)), TimeBox(1e-9)
    while not box.over:
        pass
    with pytest.raises(OutOfTimeError):
        kinds_of(forest, DOMAIN, box)
    with pytest.raises(OutOfTimeError):
        equations_of(forest, kinds, len(rows), range(forest.n_trees), box)
