"""The example that can be followed by hand: every number on its page, by enumeration and by the engine."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations_with_replacement, product

import pytest

from pytest_draft.artifact import occurrences
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.domain import declared
from pytest_draft.timebox import TimeBox

VECTORS = list(product((0, 1), repeat=3))
SMOKER, OVER_60, DIABETIC = range(3)
NAMES = ["smoker", "over 60", "diabetic"]


def leaf_of_tree_1(row):
    if row[OVER_60]:
        return "c"
    return "b" if row[SMOKER] else "a"


def leaf_of_tree_2(row):
    if row[DIABETIC]:
        return "f"
    return "e" if row[SMOKER] else "d"


TREES = (leaf_of_tree_1, leaf_of_tree_2)


@pytest.fixture(scope="module")
def text(read_page):
    """The page."""
    return read_page("explanation/attack")


@pytest.fixture(scope="module")
def patients(text):
    """The six rows, each with its diagnosis."""
    found = re.findall(r"^\| ([01]) \| ([01]) \| ([01]) \| (healthy|ill) \|$", text, re.MULTILINE)
    return [(tuple(map(int, values)), diagnosis) for *values, diagnosis in found]


def counts(tree, rows):
    return Counter(tree(row) for row in rows)


def explaining(trees, patients, diagnosis):
    """Return all sets of rows that have the published counts of a class in some trees."""
    mine = [row for row, of in patients if of == diagnosis]
    return [
        rows
        for rows in combinations_with_replacement(VECTORS, len(mine))
        if all(counts(tree, rows) == counts(tree, mine) for tree in trees)
    ]


def test_the_published_counts_are_those_of_the_patients(text, patients):
    published = re.findall(r"(\d) healthy, (\d) ill +\(leaf (\w)\)", text)
    assert len(published) == len(patients) == 6
    for healthy, ill, leaf in published:
        here = Counter(of for row, of in patients if leaf in (leaf_of_tree_1(row), leaf_of_tree_2(row)))
        assert (here["healthy"], here["ill"]) == (int(healthy), int(ill))


def test_the_cells_are_the_rows_that_no_tree_tells_apart(text):
    listed = re.findall(r"^\| \d \| ([01 or]+) \| (\w) \| (\w) \|$", text, re.MULTILINE)
    cells = {
        (first, second): {tuple(map(int, row.split())) for row in rows.split(" or ")} for rows, first, second in listed
    }
    found = {}
    for row in VECTORS:
        found.setdefault((leaf_of_tree_1(row), leaf_of_tree_2(row)), set()).add(row)
    assert cells == found
    assert len(found) == 7


def test_the_numbers_of_tables_that_are_left(text, patients):
    def left(trees):
        return len(explaining(trees, patients, "healthy")) * len(explaining(trees, patients, "ill"))

    numbers = tuple(map(left, ((), TREES[:1], TREES[1:], TREES)))
    told = re.search(r"could be ([\d,]+) different tables; tree 1\s+alone leaves (\d+), tree 2 alone (\d+)", text)
    assert numbers == (*(int(number.replace(",", "")) for number in told.groups()), 1)


def test_the_engine_finds_the_six_patients_and_proves_them(text, patients, by_hand):
    a, b, c, d, e, f = (
        [int(healthy), int(ill)] for healthy, ill, _ in re.findall(r"(\d) healthy, (\d) ill +\(leaf (\w)\)", text)
    )
    forest = by_hand(3, (OVER_60, (SMOKER, a, b), c), (DIABETIC, (SMOKER, d, e), f))
    domain = declared(NAMES, {name: {"kind": "binary"} for name in NAMES}, "the page")
    problem = build(forest, domain, group_by_occurrences(occurrences(forest)), TimeBox(60))
    found = reconstruct(problem, Search(TimeBox(60)))
    assert (found.status, found.residual, found.free.any()) == ("unique", 0, False)
    rebuilt = zip(map(tuple, found.consistent.astype(int).tolist()), found.labels.tolist(), strict=True)
    assert Counter((row, ["healthy", "ill"][label]) for row, label in rebuilt) == Counter(patients)
