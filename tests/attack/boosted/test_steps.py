"""Labels behind values that took several steps: made by the steps themselves, and found again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_draft.artifact.forest.observations import NewtonSteps, Statements
from pytest_draft.attack.boosted.equations import kinds_of
from pytest_draft.attack.boosted.rebuild import rebuild_boosted
from pytest_draft.attack.boosted.staged import stages
from pytest_draft.attack.boosted.steps import label_equations, value_of
from pytest_draft.attack.search import Search
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox

DOMAIN = Domain(
    tuple("abc"),
    (Attribute("a", "binary", (0,)), Attribute.coded("b", 1, [0, 1, 2]), Attribute.coded("c", 2, [0, 2, 5, 6])),
    "made by hand",
)


def slow_value(steps, labels, scores):
    """Return where steps lead rows of one leaf, one by one."""
    moved = 0.0
    for _ in range(steps.steps):
        p = 1 / (1 + np.exp(-(scores + moved)))
        moved += (labels - p).sum() / ((p * (1 - p)).sum() + steps.l2)
    return steps.learning_rate * moved


def stepped(by_hand, steps, rows, labels, shortened=(), rounds=8, depth=2):
    """Return a booster of which only counts are stated, whose leaves took these steps; some trees were shortened."""
    forest = by_hand(rows, labels, rounds=rounds, depth=depth)
    said, trees = forest.observation, list(forest.trees)
    columns = np.ascontiguousarray(rows.T.astype(np.float64))
    score = np.full(len(rows), said.base[0])
    for t, tree in enumerate(trees):
        leaf = next(
            stages(replace(forest, trees=(tree,), observation=replace(said, statements=(Statements.none(),))), columns)
        ).leaf
        value = np.array([slow_value(steps, labels[leaf == k], score[leaf == k]) for k in range(len(tree.leaves))])
        value *= 0.37 if t in shortened else 1.0
        added = np.zeros((tree.n_nodes, 1))
        added[tree.leaves, 0] = value
        trees[t] = replace(tree, value=added)
        score = score + value[leaf]
    sums = replace(said, statements=(Statements.none(),) * len(trees), steps=steps)
    return replace(forest, trees=tuple(trees), observation=sums)


def people(seed=0, n_rows=60):
    """Return rows and labels that depend on them."""
    rng = np.random.default_rng(seed)
    rows = DOMAIN.uniform(n_rows, rng)
    return rows, (rows[:, 0] + rows[:, 1] + rng.normal(size=n_rows) > 1.5).astype(int)


@pytest.mark.parametrize("steps", [NewtonSteps(1, 3.0, 0.1), NewtonSteps(5, 1.0, 0.3), NewtonSteps(10, 3.0, 0.03)])
def test_values_are_those_of_rows_one_by_one(steps):
    rng = np.random.default_rng(steps.steps)
    leaf, score = rng.integers(4, size=50).astype(np.int32), rng.normal(size=50)
    leaf[:4] = range(4)
    labels = rng.integers(2, size=50)
    of_one = np.bincount(leaf, labels)
    found = value_of(steps, of_one, leaf, score, np.ones(50))
    want = [slow_value(steps, labels[leaf == k], score[leaf == k]) for k in range(4)]
    np.testing.assert_allclose(found, want, atol=1e-12)


def test_rows_of_one_cell_count_as_often_as_they_are():
    steps = NewtonSteps(4, 2.0, 0.2)
    once = value_of(steps, np.array([3.0]), np.zeros(5, np.int32), np.array([0.2, 0.2, -1, -1, -1]), np.ones(5))
    together = value_of(steps, np.array([3.0]), np.zeros(2, np.int32), np.array([0.2, -1]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(once, together)


@pytest.mark.nightly
@pytest.mark.parametrize("steps", [NewtonSteps(1, 3.0, 0.1), NewtonSteps(5, 1.0, 0.3), NewtonSteps(10, 3.0, 0.03)])
@pytest.mark.parametrize("seed", range(3))
def test_label_equations_are_met_by_the_right_labels_alone(by_hand, steps, seed):
    rows, labels = people(seed)
    forest = stepped(by_hand, steps, rows, labels, shortened=(2, 5))
    kinds = replace(kinds_of(forest, DOMAIN, TimeBox(60)), n_classes=1)
    signature = np.stack([stage.leaf for stage in stages(forest, np.ascontiguousarray(rows.T.astype(np.float64)))])
    cell = np.array(
        [int(np.flatnonzero((kinds.cells.signature == one[:, None]).all(axis=0))[0]) for one in signature.T]
    )
    by_cell = np.bincount(cell, minlength=kinds.cells.n_cells)
    equations = label_equations(forest, kinds, by_cell, TimeBox(60))
    held = np.flatnonzero(by_cell)
    of_one = np.bincount(cell, labels, minlength=kinds.cells.n_cells)[held].astype(np.int64)
    assert equations.missed(np.append(by_cell[held] - of_one, of_one)) == 0
    assert len(equations.total) > len(held)
    moved = of_one.copy()
    moved[0] += 1 if moved[0] < by_cell[held][0] else -1
    assert equations.missed(np.append(by_cell[held] - moved, moved)) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_labels_are_rebuilt(by_hand, seed):
    rows, labels = people(seed)
    forest = stepped(by_hand, NewtonSteps(10, 3.0, 0.1), rows, labels, shortened=(1,), rounds=25, depth=4)
    found = rebuild_boosted(forest, DOMAIN, len(rows), Search(TimeBox(60)))
    assert found.residual == 0
    assert found.status == "consistent"  # of labels nothing is proved
    assert found.certificate.certain_cells.lower == 0
    mine, theirs = (
        sorted(map(tuple, np.column_stack(one).tolist())) for one in ((found.rows, found.labels), (rows, labels))
    )
    assert mine == theirs


def test_labels_are_not_asked_after_the_time_box(by_hand):
    rows, labels = people()
    forest = stepped(by_hand, NewtonSteps(3, 3.0, 0.1), rows, labels)
    kinds, box = replace(kinds_of(forest, DOMAIN, TimeBox(60)), n_classes=1), TimeBox(1e-9)
    while not box.over:
        pass
    with pytest.raises(OutOfTimeError):
        label_equations(forest, kinds, np.ones(kinds.cells.n_cells, dtype=np.int64), box)


def test_one_step_is_no_case_for_it(by_hand):
    rows, labels = people()
    forest = by_hand(rows, labels)
    kinds = kinds_of(forest, DOMAIN, TimeBox(60))
    with pytest.raises(ValueError, match="one step"):
        label_equations(forest, kinds, np.ones(kinds.cells.n_cells, dtype=np.int64), TimeBox(60))


@pytest.mark.parametrize("seed", range(3))
def test_no_label_is_made_up_where_no_tree_tells_whole_numbers(by_hand, seed):
    rows, labels = people(seed)
    forest = stepped(by_hand, NewtonSteps(10, 3.0, 0.1), rows, labels, shortened=range(8))
    rebuilt = rebuild_boosted(forest, DOMAIN, len(rows), Search(TimeBox(60)))
    assert rebuilt.rows is not None
    assert rebuilt.labels is None
