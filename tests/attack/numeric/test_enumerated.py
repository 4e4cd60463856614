"""Numeric columns with few thresholds: as if somebody had written their intervals down as ordinal values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.attack.groups import KnownRows, group_by_occurrences, split_by_values
from pytest_draft.attack.large_domains.candidates import build_any
from pytest_draft.attack.numeric.enumerated import MOST_VECTORS, enumerate_states
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.attack.states import states_of
from pytest_draft.domain import Attribute, Domain
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.timebox import TimeBox

NUMERIC = Domain(("a", "b"), (Attribute("a", "numeric", (0,), -1.0, 4.0), Attribute("b", "binary", (1,))), "declared")
BY_HAND = Domain(("a", "b"), (Attribute("a", "ordinal", (0,), 0.0, 2.0), Attribute("b", "binary", (1,))), "declared")
TIMES = group_by_occurrences(np.ones((2, 6), np.int64))


def trees(low, high):
    """Return two trees of six rows that test the first column at two thresholds."""
    return (0, low, (1, [1, 0], [1, 0]), [1, 3]), (0, high, [3, 1], (1, [0, 1], [0, 1]))


def solved(forest, domain, groups=TIMES):
    search = Search(TimeBox(60))
    return reconstruct(build_any(forest, domain, groups, search), search)


def test_the_result_is_that_of_an_ordinal_column_written_by_hand(by_hand):
    numbered = enumerate_states(by_hand(2, *trees(0.37, 1.9)), NUMERIC)

    found = solved(numbered.forest, numbered.domain)
    expected = solved(by_hand(2, *trees(0.5, 1.5)), BY_HAND)

    assert numbered.domain.attributes == BY_HAND.attributes
    assert (found.status, found.residual) == (expected.status, expected.residual)
    assert (found.cells == expected.cells).all()
    assert (found.rows == expected.rows).all()


def test_values_lie_inside_the_states_that_were_solved_for_and_prove_nothing(by_hand):
    numbered = enumerate_states(by_hand(2, *trees(0.37, 1.9)), NUMERIC)
    found = solved(numbered.forest, numbered.domain)

    decoded = numbered.decoded(replace(found, status="unique"), TIMES)

    state = found.consistent[:, 0].astype(int)
    low, high = np.array([-1, 0.37, 1.9])[state], np.array([0.37, 1.9, 4])[state]
    assert len(np.unique(state)) > 1
    assert ((low <= decoded.consistent[:, 0]) & (decoded.consistent[:, 0] <= high)).all()
    assert (decoded.consistent[:, 1] == found.consistent[:, 1]).all()
    assert (decoded.status, decoded.certificate) == ("consistent", None)
    assert NUMERIC.outside(decoded.rows.astype(float)) == {}


def test_values_that_the_adversary_knows_come_back_as_they_are(by_hand):
    numbered = enumerate_states(by_hand(2, *trees(0.37, 1.9)), NUMERIC)
    n_rows = TIMES.n_rows
    known = np.linspace(-0.9, 3.9, n_rows, dtype=np.float32)
    groups = split_by_values(TIMES, (0,), (0,), known[:, None])
    rows = np.zeros((n_rows, 2), dtype=np.float32)
    found = Reconstruction("consistent", rows, None, None, None, False, 0, consistent=rows)

    decoded = numbered.decoded(found, groups)

    assert (decoded.rows[:, 0] == known).all()
    assert (decoded.consistent[:, 0] == known).all()


@pytest.mark.parametrize("seed", range(5))
def test_rows_reach_the_same_leaves_by_their_states_as_by_their_values(published, seed):
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.normal(size=30), random.integers(2, size=30)]).astype(np.float32)
    labels = random.integers(2, size=30)
    forest, grown = published(RandomForestClassifier(4, max_depth=2, random_state=seed).fit(rows, labels), rows)
    domain = Domain(
        ("a", "b"),
        (Attribute("a", "numeric", (0,), float(rows[:, 0].min()), float(rows[:, 0].max())), NUMERIC.attributes[1]),
        "declared",
    )

    numbered = enumerate_states(forest, domain)

    as_numbers = rows.copy()
    as_numbers[:, 0] = states_of(forest, domain, {}, points=False).of_rows(rows)[:, 0]
    for t, one in enumerate(grown):
        expected = one.tree.apply(rows)
        one.nodes.threshold[:] = numbered.forest.trees[t].threshold
        assert (one.tree.apply(as_numbers) == expected).all()


def test_known_values_and_rows_become_the_numbers_of_their_states(by_hand):
    numbered = enumerate_states(by_hand(2, *trees(0.37, 1.9)), NUMERIC)
    values = np.array([[-1.0], [0.2], [1.0], [3.0]], np.float32)
    groups = split_by_values(group_by_occurrences(np.ones((2, 4), np.int64)), (0,), (0,), values)
    rows = np.array([[4.0, 1], [1.5, 0]], np.float32)
    groups = replace(groups, known=KnownRows(rows, np.array([0, 1]), np.ones((2, 2), np.int64)))

    found = numbered.groups(groups)

    assert found.values.of_group[found.of_row][:, 0].tolist() == [0, 0, 1, 2]
    assert found.known.rows.tolist() == [[2, 1], [1, 0]]
    assert (groups.known.rows == rows).all()


def test_many_thresholds_random_thresholds_and_gaps_are_not_enumerated(published, by_hand):
    random = np.random.default_rng(0)
    rows = random.normal(size=(150, 2)).astype(np.float32)
    labels = random.integers(2, size=150)
    bounds = [(float(column.min()), float(column.max())) for column in rows.T]
    two = tuple(Attribute(name, "numeric", (c,), *bounds[c]) for c, name in enumerate("ab"))
    domain = Domain(("a", "b"), two, "declared")
    deep, _ = published(RandomForestClassifier(20, random_state=0).fit(rows, labels), rows)
    drawn, _ = published(ExtraTreesClassifier(1, max_depth=1, random_state=0).fit(rows, labels), rows)
    few = by_hand(2, *trees(0.37, 1.9))
    gaps = replace(NUMERIC, attributes=(replace(NUMERIC.attributes[0], missing=True), NUMERIC.attributes[1]))

    assert np.prod(states_of(deep, domain, {}).n_states) > MOST_VECTORS
    assert enumerate_states(deep, domain) is None
    assert enumerate_states(drawn, domain) is None
    assert enumerate_states(few, gaps) is None
    assert enumerate_states(few, NUMERIC) is not None
