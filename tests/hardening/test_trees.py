"""One tree in canonical form: its order, its merged leaves, its rounded fractions, and bytes that nobody owns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.artifact.forest.nodes import depth_first, levels
from pytest_draft.hardening.model import hardened
from pytest_draft.hardening.trees import Wanted, arrays_of, merged, rewritten, rounded, with_arrays


@st.composite
def trees(draw):
    """Return children of a random tree, numbered in any order in which parents come first."""
    left, right, leaves = [-1], [-1], [0]
    for _ in range(draw(st.integers(0, 12))):
        node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        pair = [len(left), len(left) + 1]
        if draw(st.booleans()):
            pair.reverse()
        left[node], right[node] = pair
        left += [-1, -1]
        right += [-1, -1]
        leaves += pair
    return np.array(left), np.array(right)


def _walk(left, right, node=0):
    if left[node] < 0:
        return [node], 0
    a, down_a = _walk(left, right, left[node])
    b, down_b = _walk(left, right, right[node])
    return [node, *a, *b], 1 + max(down_a, down_b)


@given(trees())
def test_depth_first_order_is_what_a_recursion_gives(tree):
    left, right = tree
    order, size = depth_first(left, right)
    expected, down = _walk(left, right)
    assert order.tolist() == expected and len(levels(left, right)) - 1 == down
    assert all(size[node] == len(_walk(left, right, node)[0]) for node in range(len(left)))


@given(trees(), st.data())
def test_merging_goes_on_until_no_siblings_are_leaves_with_one_label(tree, data):
    left, right = tree
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(left), max_size=len(left))))
    values = np.eye(2)[labels][:, None, :]
    less, more, after = merged(left, right, values)
    reached, _ = _walk(less, more)
    for node in reached:
        below = [one for one in _walk(left, right, node)[0] if left[one] < 0]
        alike = len({labels[one] for one in below}) == 1
        assert (less[node] < 0) == alike  # a leaf exactly where all leaves below have one label
        if alike:
            assert after[node, 0].argmax() == labels[below[0]]
    assert (left >= 0).sum() == 0 or left is not less  # the given arrays are not changed


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), min_size=1, max_size=20),
    st.integers(1, 6),
)
def test_rounded_fractions_sum_to_one_and_are_off_by_less_than_a_unit(counts, decimals):
    exact = [[Fraction(count, sum(row)) for count in row] for row in counts]
    given_as = np.array([[float(one) for one in row] for row in exact])
    found = rounded(given_as, decimals, 3)
    units = np.round(found * 10**decimals)
    assert (units.sum(axis=1) == 10**decimals).all()
    assert np.array_equal(units / 10**decimals, found)
    assert all(
        abs(Fraction(int(unit), 10**decimals) - one) < Fraction(1, 10**decimals) + Fraction(1, 10**9)
        for row, one_row in zip(units, exact, strict=True)
        for unit, one in zip(row, one_row, strict=True)
    )
    assert np.array_equal(found, rounded(given_as, decimals, 3))
    # Which class gets the last unit does not hang on the last bit.
    assert np.array_equal(found, rounded(np.nextafter(given_as, 0), decimals, 3))


def test_ties_of_remainders_go_to_the_first_class_and_padding_stays_empty():
    assert rounded(np.array([[0.125, 0.875, 0.0]]), 2, 2).tolist() == [[0.13, 0.87, 0.0]]
    assert rounded(np.array([[1 / 3, 1 / 3, 1 / 3]]), 1, 3).tolist() == [[0.4, 0.3, 0.3]]


def test_best_first_trees_are_rewritten_depth_first_and_go_on_answering():
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    model = RandomForestClassifier(6, max_leaf_nodes=20, random_state=0).fit(rows, labels)
    new, result = hardened(model, "counts", rows)
    moved = {change.field: change.count for change in result.changes}["order of nodes"]
    assert moved == 6
    assert any("apply" in line for line in result.stops)
    assert (model.apply(rows) != new.apply(rows)).any()
    assert np.array_equal(model.predict_proba(rows), new.predict_proba(rows))
    # Depth-first trees keep their numbers.
    model = RandomForestClassifier(6, random_state=0).fit(rows, labels)
    new, result = hardened(model, "counts", rows)
    assert np.array_equal(model.apply(rows), new.apply(rows)) and not any("apply" in line for line in result.stops)


def test_trees_of_equal_answers_and_splits_become_the_same_bytes_whatever_their_rows():
    rows, labels = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    many = np.repeat(np.arange(4), [5, 1, 9, 2])
    few = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    more = DecisionTreeClassifier(random_state=9).fit(rows[many], labels[many])
    one, other = (hardened(model, "counts", rows)[0].tree_ for model in (few, more))
    assert one.__getstate__()["nodes"].tobytes() == other.__getstate__()["nodes"].tobytes()  # padding included
    assert one.__getstate__()["values"].tobytes() == other.__getstate__()["values"].tobytes()


def test_several_outputs_merge_only_where_all_of_them_agree():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 3))
    labels = np.column_stack([rows[:, 0] > 0, (rows[:, 1] > 0) * 2]).astype(int)
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(rows, labels)
    before, counts = model.predict_proba(rows), hardened(model, "counts", rows)[0].predict_proba(rows)
    assert all(np.array_equal(one, two) for one, two in zip(before, counts, strict=True))
    new, _ = hardened(model, "labels", rows)
    for old, tree in zip(model.estimators_, new.estimators_, strict=True):
        assert np.array_equal(old.predict(rows), tree.predict(rows))
    rounded_to, _ = hardened(model, "decimals:2", rows)
    for tree in rounded_to.estimators_:
        values = tree.tree_.value[tree.tree_.children_left < 0]
        assert np.allclose(values.sum(axis=2), 1) and np.allclose(values * 100, np.round(values * 100))


def test_a_single_leaf_is_a_tree_too():
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], [1, 1])
    new, result = hardened(model, "labels", [[1.0], [2.0]])
    assert result.identical and new.tree_.node_count == 1 and new.tree_.n_node_samples.tolist() == [1]


def test_a_regressor_keeps_its_leaves_means_at_every_level():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    model = DecisionTreeRegressor(max_depth=4).fit(rows, rows[:, 0])
    for level in ("counts", "decimals:1", "labels"):
        new, result = hardened(model, level, rows)
        assert np.array_equal(model.predict(rows), new.predict(rows))
        assert any("mean targets" in line for line in result.stays)


def test_values_that_nothing_uses_can_be_taken_out_and_numbers_kept():
    rng = np.random.default_rng(0)
    model = DecisionTreeRegressor(max_leaf_nodes=8).fit(rng.normal(size=(60, 2)), rng.normal(size=60))
    tree = model.tree_
    kept = rewritten(
        tree, tree.threshold, np.zeros(2, dtype=bool), Wanted(False, without_values=True, reorder=False)
    ).tree
    assert not kept.value.any()
    assert np.array_equal(kept.children_left, tree.children_left)


def test_totals_of_classes_which_scikit_learn_1_3_stores_become_fractions():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    tree = DecisionTreeClassifier(max_depth=3).fit(rows, rows[:, 0] > rng.normal(size=60)).tree_
    nodes, values = arrays_of(tree)
    totals = with_arrays(tree, nodes, values * nodes["weighted_n_node_samples"][:, None, None], tree.max_depth)
    found = rewritten(totals, tree.threshold, np.zeros(2, dtype=bool), Wanted(True))
    leaves = found.tree.children_left < 0
    assert found.n_totals == (nodes["weighted_n_node_samples"][leaves] > 1).sum()
    assert np.allclose(found.tree.value[leaves], values[leaves], rtol=1e-15)
