"""The engine against enumeration: every dataset of a tiny domain, kept where it meets the counts."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, product
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from profiles import examples
from pytest_draft.artifact import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import ClassCounts
from pytest_draft.attack.counts.exact import MOST_ALTERNATIVES, solve_exactly
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.domain import declared
from pytest_draft.errors import InfeasibleError
from pytest_draft.timebox import TimeBox

N_CLASSES = 2
DOMAINS = [
    declared(["a", "b", "c"], {name: {"kind": "binary"} for name in "abc"}, "binary"),
    declared(["a", "age"], {"a": {"kind": "binary"}, "age": {"kind": "ordinal", "low": 2, "high": 4}}, "ordinal"),
    declared(
        ["a", "job_x", "job_y", "job_z"],
        {"a": {"kind": "binary"}, "job": {"kind": "one-hot", "columns": [1, 2, 3]}},
        "one-hot",
    ),
]


def grown(random, domain, depth):
    """Return (feature, threshold, left, right) of a random tree, its children after their parents."""
    nodes = []

    def grow(deep):
        here = len(nodes)
        nodes.append([-1, -2.0, -1, -1])
        if deep and random.rand() < 0.8:
            column = random.randint(domain.n_columns)
            owner = next(attribute for attribute in domain.attributes if column in attribute.columns)
            # now and then outside the domain, or exactly on a value
            threshold = random.choice([owner.low - 0.5, owner.low, owner.low + 0.5, owner.high - 0.5, owner.high])
            nodes[here] = [column, float(threshold), grow(deep - 1), grow(deep - 1)]
        return here

    grow(depth)
    return nodes


def leaf_of(nodes, vector):
    """Walk one vector down one tree."""
    here = 0
    while nodes[here][0] >= 0:
        column, threshold, left, right = nodes[here]
        here = left if vector[column] <= threshold else right
    return here


def summed(nodes, table):
    """Add the leaves' numbers up to the root."""
    table = table.copy()
    for here in reversed(range(len(nodes))):
        if nodes[here][0] >= 0:
            table[here] = table[nodes[here][2]] + table[nodes[here][3]]
    return table


@st.composite
def tiny(draw, wrong):
    """A forest grown by hand on a tiny dataset; `wrong` moves some rows between its leaves afterwards."""
    random = np.random.RandomState(draw(st.integers(0, 100_000), label="seed"))
    domain = DOMAINS[draw(st.integers(0, len(DOMAINS) - 1), label="domain")]
    bagging = draw(st.booleans(), label="bagging")
    n_rows = draw(st.integers(1, 3 if bagging else 4), label="rows")
    n_trees = draw(st.integers(1, 4), label="trees")
    vectors = domain.vectors()
    truth = [(int(random.randint(len(vectors))), int(random.randint(N_CLASSES))) for _ in range(n_rows)]
    times = np.ones((n_trees, n_rows), int)
    if bagging:
        times = np.stack([np.bincount(random.randint(n_rows, size=n_rows), minlength=n_rows) for _ in times])
    shapes, tables = [], []
    for seen in times:
        nodes = grown(random, domain, draw(st.integers(0, 3), label="depth"))
        table = np.zeros((len(nodes), N_CLASSES + 1), int)
        for (vector, label), often in zip(truth, seen, strict=True):
            leaf = leaf_of(nodes, vectors[vector])
            table[leaf, label] += often
            table[leaf, N_CLASSES] += often > 0
        shapes.append(nodes)
        tables.append(table)
    for _ in range(draw(st.integers(1, 2), label="moves") if wrong else 0):
        t = random.randint(n_trees)
        leaves = [here for here, node in enumerate(shapes[t]) if node[0] < 0]
        source, target = random.choice(leaves, 2)
        label = random.randint(N_CLASSES)
        if tables[t][source, label]:
            tables[t][source, label] -= 1
            tables[t][target, random.randint(N_CLASSES)] += 1
        draws = tables[t][:, :N_CLASSES].sum(axis=1)  # else the file itself is refused
        tables[t][:, N_CLASSES] = np.minimum(tables[t][:, N_CLASSES], draws)
    trees = []
    for nodes, table in zip(shapes, tables, strict=True):
        feature, threshold, left, right = map(np.array, zip(*nodes, strict=True))
        whole = summed(nodes, table)
        trees.append(
            Tree(
                left.astype(np.int64),
                right.astype(np.int64),
                feature.astype(np.int64),
                threshold.astype(np.float64),
                np.zeros(len(nodes), bool),
                whole[:, :N_CLASSES].astype(np.float64),
                whole[:, :N_CLASSES].sum(axis=1).astype(np.float64),
                # without bagging, distinct rows are rows
                (whole[:, N_CLASSES] if bagging else whole[:, :N_CLASSES].sum(axis=1)).astype(np.int64),
                None,
            )
        )
    forest = Forest(
        kind="RandomForestClassifier",
        trees=tuple(trees),
        n_features=domain.n_columns,
        feature_names=None,
        classes=(0, 1),
        observation=ClassCounts("totals"),
        draws=Draws(rows="with replacement", per_tree=n_rows) if bagging else Draws(),
        n_samples=n_rows,
        sklearn_version="1.9.1",
    )
    return SimpleNamespace(
        domain=domain,
        forest=forest,
        shapes=shapes,
        tables=tables,
        times=times,
        bagging=bagging,
        vectors=vectors,
    )


def every_dataset(case):
    """Return all datasets that meet the counts: for each group, the multiset of its (vector, class) pairs."""
    n_rows = case.times.shape[1]
    pairs = list(product(range(len(case.vectors)), range(N_CLASSES)))
    width = N_CLASSES + case.bagging
    # what each row would add to the counts as each pair
    adds = []
    for row in range(n_rows):
        mine = []
        for vector, label in pairs:
            parts = []
            for nodes, seen in zip(case.shapes, case.times, strict=True):
                part = np.zeros((len(nodes), width), int)
                leaf = leaf_of(nodes, case.vectors[vector])
                part[leaf, label] += seen[row]
                if case.bagging:
                    part[leaf, N_CLASSES] += seen[row] > 0
                parts.append(part.ravel())
            mine.append(np.concatenate(parts))
        adds.append(np.array(mine))
    observed = np.concatenate([table[:, :width].ravel() for table in case.tables])
    choices = range(len(pairs))
    chosen = np.array(
        list(product(choices, repeat=n_rows) if case.bagging else combinations_with_replacement(choices, n_rows))
    )
    total = sum(adds[row][chosen[:, row]] for row in range(n_rows))
    kept = chosen[(total == observed).all(axis=1)]
    group = [case.times[:, row].tobytes() for row in range(n_rows)]
    return {
        frozenset(Counter((group[row], *pairs[pair]) for row, pair in enumerate(dataset)).items())
        for dataset in kept.tolist()
    }


def as_dataset(case, rows, labels):
    """Return a reconstruction in the form of `every_dataset`."""
    index = {tuple(vector): i for i, vector in enumerate(case.vectors.tolist())}
    group = [case.times[:, row].tobytes() for row in range(len(rows))]
    return frozenset(
        Counter(
            (g, index[tuple(row)], label) for g, row, label in zip(group, rows.tolist(), labels.tolist(), strict=True)
        ).items()
    )


def by_cell(case, dataset):
    """Return a dataset with each vector replaced by its leaves."""
    found = Counter()
    for (group, vector, label), number in dataset:
        leaf = tuple(leaf_of(nodes, case.vectors[vector]) for nodes in case.shapes)
        found[group, leaf, label] += number
    return frozenset(found.items())


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("wrong", [False, True], ids=["honest", "changed"])
def test_the_engine_agrees_with_enumeration(wrong):
    @settings(max_examples=examples(150), deadline=None, derandomize=True)
    @given(tiny(wrong))
    def agrees(case):
        datasets = every_dataset(case)
        groups = group_by_occurrences(case.times)
        try:
            problem = build(case.forest, case.domain, groups, TimeBox(60))
            found = reconstruct(problem, Search(TimeBox(60)))
        except InfeasibleError:
            event("infeasible when built")
            assert not datasets
            return
        event(found.status)
        assert (found.status == "infeasible") == (not datasets)
        assert (found.status == "unique") == (len(datasets) == 1)
        if not datasets:
            assert found.consistent is None
            return
        assert found.residual == 0
        assert as_dataset(case, found.consistent, found.labels) in datasets
        assert found.ordered == (groups.n_groups > 1)

    agrees()


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(tiny(wrong=False))
def test_the_alternatives_are_all_datasets_that_enumeration_finds(case):
    groups = group_by_occurrences(case.times)
    problem = build(case.forest, case.domain, groups, TimeBox(60))
    prior = np.ones(problem.n_candidates)
    solution = solve_exactly(
        problem.system, problem.pool, problem.pool_size, prior, Search(TimeBox(60)), alternatives=True
    )
    assert solution.residual == problem.system.missed(solution.rows) == 0
    for part in solution.parts:
        assert 1 <= len(part.rows) <= MOST_ALTERNATIVES
        assert len({rows.tobytes() for rows in part.rows}) == len(part.rows)
        np.testing.assert_array_equal(part.rows[0], solution.rows[part.columns])
        for rows in part.rows:
            other = solution.rows.copy()
            other[part.columns] = rows
            assert problem.system.missed(other) == 0
    distinct = {by_cell(case, dataset) for dataset in every_dataset(case)}
    assert solution.unique == (len(distinct) == 1)
    if all(part.complete for part in solution.parts):
        assert prod(len(part.rows) for part in solution.parts) == len(distinct)
    else:
        assert len(distinct) >= MOST_ALTERNATIVES


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(tiny(wrong=False))
def test_domain_reduction_keeps_what_some_dataset_holds(case):
    groups = group_by_occurrences(case.times)
    problem = build(case.forest, case.domain, groups, TimeBox(60))
    name = [case.times[:, np.flatnonzero(groups.of_row == g)[0]].tobytes() for g in range(groups.n_groups)]
    leaves = [np.flatnonzero(tree.left < 0) for tree in case.forest.trees]
    candidates = {
        (
            name[g],
            tuple(int(leaf[i]) for leaf, i in zip(leaves, problem.cells.signature[:, k], strict=True)),
            int(c),
        )
        for g, k, c in zip(problem.group, problem.cell, problem.label, strict=True)
    }
    needed = {key for dataset in every_dataset(case) for key, _ in by_cell(case, dataset)}
    assert needed <= candidates
