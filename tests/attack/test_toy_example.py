"""The illustrative example of DRAFT (ICML 2024, section 4, Table 1 and Figure 1).

The text says of Figure 1: t1 was trained without f1, and its leftmost path has both examples of class 0 with
f3 = 0 and f2 = 0; t2 was trained without f3, and splits the examples of class 1 by f2 into one and one. In t1
one split by f2 then suffices; in t2 the rest can be split by f1 or f4 first.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from pytest_draft.artifact import occurrences
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences, split_by_values
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.domain import declared
from pytest_draft.timebox import TimeBox

F1, F2, F3, F4 = range(4)
NAMES = ["f1", "f2", "f3", "f4"]
DOMAIN = declared(NAMES, {name: {"kind": "binary"} for name in NAMES}, "Table 1")
TABLE_1 = [((0, 0, 0, 1), 0), ((1, 0, 0, 0), 0), ((0, 1, 0, 0), 1), ((1, 0, 1, 1), 1)]

T1 = (F3, (F2, [2, 0], [0, 1]), [0, 1])
T2 = {
    "f1 first": (F2, (F1, [1, 0], (F4, [1, 0], [0, 1])), [0, 1]),
    "f4 first": (F2, (F4, [1, 0], (F1, [1, 0], [0, 1])), [0, 1]),
}
# What the two trees determine of each example; None is free.
ANSWER = {
    "f1 first": [((0, 0, 0, None), 0), ((1, 0, 0, 0), 0), ((None, 1, 0, None), 1), ((1, 0, 1, 1), 1)],
    "f4 first": [((0, 0, 0, 1), 0), ((None, 0, 0, 0), 0), ((None, 1, 0, None), 1), ((1, 0, 1, 1), 1)],
}


def attacked(forest):
    groups = group_by_occurrences(occurrences(forest))
    return reconstruct(build(forest, DOMAIN, groups, TimeBox(60)), Search(TimeBox(60)))


def partly(found):
    """Return the examples of a reconstruction with None for free attributes."""
    return Counter(
        (tuple(None if open_ else int(value) for value, open_ in zip(row, free, strict=True)), int(label))
        for row, free, label in zip(found.consistent, found.free, found.labels, strict=True)
    )


def leaf_counts(tree, examples):
    if isinstance(tree, list):
        return [[sum(label == c for _, label in examples) for c in (0, 1)]]
    column, left, right = tree
    return leaf_counts(left, [e for e in examples if not e[0][column]]) + leaf_counts(
        right, [e for e in examples if e[0][column]]
    )


def published(tree):
    return [tree] if isinstance(tree, list) else [count for child in tree[1:] for count in published(child)]


@pytest.mark.parametrize("order", T2)
def test_the_trees_are_those_of_table_1(order):
    for tree in (T1, T2[order]):
        assert leaf_counts(tree, TABLE_1) == published(tree)


@pytest.mark.parametrize("order", T2)
def test_both_trees_together_give_the_exact_answer(order, by_hand):
    found = attacked(by_hand(4, T1, T2[order]))
    assert (found.status, found.residual, found.ordered) == ("consistent", 0, False)
    assert partly(found) == Counter(ANSWER[order])


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("order", T2)
def test_the_answer_is_all_that_enumeration_leaves(order):
    examples = list(product(product((0, 1), repeat=4), (0, 1)))
    trees = (T1, T2[order])
    consistent = {
        frozenset(Counter(dataset).items())
        for dataset in combinations_with_replacement(examples, 4)
        if all(leaf_counts(tree, dataset) == published(tree) for tree in trees)
    }
    filled = {
        frozenset(Counter(dataset).items())
        for dataset in product(
            *(
                [
                    (values, label)
                    for values in product((0, 1), repeat=4)
                    if all(known in (None, value) for known, value in zip(partial, values, strict=True))
                ]
                for partial, label in ANSWER[order]
            )
        )
    }
    assert consistent == filled
    assert len(consistent) == 8


def test_t1_alone_says_what_the_paper_reads_from_it(by_hand):
    # "the two examples belonging to class 0 have value 0 for both f3 and f2"
    found = attacked(by_hand(4, T1))
    assert found.residual == 0
    assert partly(found) == Counter(
        {((None, 0, 0, None), 0): 2, ((None, 1, 0, None), 1): 1, ((None, None, 1, None), 1): 1}
    )


def test_a_third_tree_that_settles_the_rest_makes_table_1_the_only_dataset(by_hand):
    t3 = (F2, (F4, [1, 0], (F3, [1, 0], [0, 1])), (F1, (F4, [0, 1], [0, 0]), [0, 0]))
    assert leaf_counts(t3, TABLE_1) == published(t3)
    found = attacked(by_hand(4, T1, T2["f1 first"], t3))
    assert (found.status, found.residual) == ("unique", 0)
    assert not found.free.any()
    rebuilt = zip(map(tuple, np.asarray(found.consistent, int).tolist()), found.labels.tolist(), strict=True)
    assert Counter(rebuilt) == Counter(TABLE_1)


def attacked_knowing(forest, known):
    """Attack with the values of some attributes known in every row of Table 1."""
    values = np.array([[example[column] for column in known] for example, _ in TABLE_1], np.float32)
    groups = split_by_values(group_by_occurrences(occurrences(forest)), known, known, values)
    return reconstruct(build(forest, DOMAIN, groups, TimeBox(60)), Search(TimeBox(60)))


# How many of the eight datasets that the trees allow agree with what is known.
LEFT = {
    "f1 first": {(F1,): 4, (F4,): 4, (F1, F4): 2, (F2, F3): 8, (F2, F4): 2, (F1, F2, F4): 1},
    "f4 first": {(F1,): 4, (F4,): 4, (F1, F4): 2, (F2, F3): 8, (F2, F4): 4, (F1, F2, F4): 1},
}


@pytest.mark.nightly
@pytest.mark.parametrize("order", T2)
@pytest.mark.parametrize("known", LEFT["f1 first"])
def test_known_attributes_leave_what_enumeration_leaves(order, known, by_hand):
    found = attacked_knowing(by_hand(4, T1, T2[order]), known)
    told = Counter(tuple(example[column] for column in known) for example, _ in TABLE_1)
    examples = list(product(product((0, 1), repeat=4), (0, 1)))
    consistent = [
        dataset
        for dataset in combinations_with_replacement(examples, 4)
        if all(leaf_counts(tree, dataset) == published(tree) for tree in (T1, T2[order]))
        and Counter(tuple(example[column] for column in known) for example, _ in dataset) == told
    ]
    rebuilt = zip(map(tuple, np.asarray(found.consistent, int).tolist()), found.labels.tolist(), strict=True)
    assert Counter(rebuilt) in [Counter(dataset) for dataset in consistent]
    assert (found.status == "unique") == (len(consistent) == 1)
    assert len(consistent) == LEFT[order][known]
