"""Certificates against enumeration: every dataset that meets the equations, and what they have in common."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, count, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from profiles import examples
from pytest_draft.attack.counts import prove
from pytest_draft.attack.counts.exact import ExactDatasets, propagate_bounds
from pytest_draft.attack.problem import System
from pytest_draft.attack.search import Search
from pytest_draft.domain import declared
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.timebox import TimeBox

FIGURES = ["certain_cells", "certain_rows", "guaranteed_overlap", "certain_vectors", "guaranteed_vectors"]


def certificate_of(*arguments):
    """Return the certificate of a proof."""
    return prove.prove(*arguments).certificate


def problem_of(matrix, observed, cell, label, n_vectors, n_classes=2):
    """Return what `prove` reads of a problem."""
    system = System(sparse.csc_array(np.asarray(matrix, np.int32)), np.asarray(observed))
    cells = SimpleNamespace(n_vectors=np.asarray(n_vectors), n_cells=len(n_vectors))
    return SimpleNamespace(
        system=system, cells=cells, cell=np.asarray(cell), label=np.asarray(label), n_classes=n_classes
    )


def connected(matrix, columns):
    """Return the columns of each connected part, by flooding."""
    left, parts = set(columns.tolist()), []
    while left:
        part, edge = set(), {left.pop()}
        while edge:
            part |= edge
            touched = matrix[:, sorted(edge)].any(axis=1)
            edge = {j for j in left if matrix[touched, j].any()}
            left -= edge
        parts.append(np.array(sorted(part)))
    return parts


def opened(problem, rows, upper, others=(), complete=False):
    """Return bounds and parts; each part knows the given dataset and some others."""
    lower, upper = propagate_bounds(problem.system, np.asarray(upper), TimeBox(60))
    parts = []
    for columns in connected(problem.system.matrix.toarray(), np.flatnonzero(lower < upper)):
        known = {other[columns].tobytes(): other[columns] for other in (rows, *others)}
        parts.append(ExactDatasets(columns, tuple(known.values()), complete))
    return lower, upper, parts


def totals(kind, datasets, counted=None):
    """Return the rows of each kind in each dataset, by plain sums."""
    kinds = sorted({k for j, k in enumerate(kind) if counted is None or counted[j]})
    table = [datasets[:, [j for j, k in enumerate(kind) if k == which]].sum(axis=1) for which in kinds]
    return np.array(table, int).reshape(len(kinds), len(datasets)).T


def enumerated(problem, rows, datasets):
    """Return the true figures over all datasets."""
    cell, label = problem.cell.tolist(), problem.label.tolist()
    single = [problem.cells.n_vectors[k] == 1 for k in cell]
    at, figures = (datasets == rows).all(axis=1).argmax(), {}
    for names, kind, counted in [
        (("certain_cells", "guaranteed_overlap"), list(zip(cell, label, strict=True)), None),
        (("certain_rows", None), list(zip(cell, label, strict=True)), single),
        (("certain_vectors", "guaranteed_vectors"), cell, single),
    ]:
        table = totals(kind, datasets, counted)
        figures[names[0]] = int(table.min(axis=0).sum())
        figures[names[1]] = int(np.minimum(table, table[at]).sum(axis=1).min())
    return {name: figures[name] for name in FIGURES}


def fewest_of_each_cell(case):
    """Return how many rows of each cell with a single vector all datasets hold."""
    cells = case.problem.cells
    held = [case.datasets[:, case.problem.cell == k].sum(axis=1).min() for k in range(cells.n_cells)]
    return np.where(cells.n_vectors == 1, held, 0)


def lower_of(certificate):
    return {name: getattr(certificate, name).lower for name in FIGURES}


def all_exact(certificate):
    return all(getattr(certificate, name).exact for name in FIGURES)


def assert_right(certificate, truth):
    for name in FIGURES:
        assert getattr(certificate, name).lower <= truth[name] <= getattr(certificate, name).upper


def certified(problem, rows, upper, timebox=None, **options):
    """Return the certificate of a dataset, where nothing but it is known."""
    rows = np.asarray(rows)
    return certificate_of(problem, rows, *opened(problem, rows, upper), Search(timebox or TimeBox(60), **options))


def certificate_in(case, **options):
    """Return the certificate of an instance, and the true figures."""
    found = certified(case.problem, case.rows, case.upper, **options)
    return found, enumerated(case.problem, case.rows, case.datasets)


@st.composite
def instances(draw):
    """One to three independent blocks of groups and equations whose candidates share kinds, and all their datasets."""
    random = np.random.RandomState(draw(st.integers(0, 1_000_000), label="seed"))
    matrices, chosen, upper, datasets = [], [], [], []
    for _ in range(draw(st.integers(1, 3), label="blocks")):
        n_groups = random.randint(1, 3)
        group = np.sort(np.concatenate([np.arange(n_groups), random.randint(n_groups, size=random.randint(1, 4))]))
        size = random.randint(1, 4, n_groups)
        extra = random.randint(0, 3, (random.randint(0, 3), len(group)))
        extra *= random.rand(1, len(group)) < 0.6  # some candidates differ in no equation
        matrix = np.concatenate([extra, group == np.arange(n_groups)[:, None]]).astype(int)
        here = np.zeros(len(group), int)
        for g, number in enumerate(size):
            np.add.at(here, random.choice(np.flatnonzero(group == g), number), 1)
        grid = np.array(list(product(*(range(most + 1) for most in size[group]))))
        grid = grid[(grid @ matrix.T == matrix @ here).all(axis=1)]
        matrices.append(matrix)
        upper.append(size[group])
        datasets.append(grid)
        chosen.append(grid[random.randint(len(grid))])
    if math.prod(map(len, datasets)) > 20_000:
        matrices, chosen, upper, datasets = matrices[:1], chosen[:1], upper[:1], datasets[:1]
    matrix = sparse.block_diag(matrices).toarray().astype(np.int32)
    everything = np.array([np.concatenate(combination) for combination in product(*datasets)])
    n_cells = draw(st.integers(1, 6), label="cells")
    n_columns = matrix.shape[1]
    rows = np.concatenate(chosen)
    problem = problem_of(
        matrix,
        matrix @ rows,
        random.randint(n_cells, size=n_columns),
        random.randint(draw(st.integers(1, 2), label="classes"), size=n_columns),
        random.choice([1, 1, 3], n_cells),
    )
    return SimpleNamespace(problem=problem, rows=rows, upper=np.concatenate(upper), datasets=everything)


@pytest.mark.nightly
def test_certificates_agree_with_enumeration():
    several = []

    @settings(max_examples=examples(300), deadline=None, derandomize=True)
    @given(instances(), st.sampled_from(["none", "some", "all"]))
    def agrees(case, known):
        others = {"none": [], "some": case.datasets[:3], "all": case.datasets}[known]
        lower, upper, parts = opened(case.problem, case.rows, case.upper, others, complete=known == "all")
        found = certificate_of(case.problem, case.rows, lower, upper, parts, Search(TimeBox(60)))
        truth = enumerated(case.problem, case.rows, case.datasets)
        assert all_exact(found)
        assert lower_of(found) == truth
        proof = prove.prove(case.problem, case.rows, lower, upper, parts, Search(TimeBox(60)))
        assert proof.least.tolist() == proof.most.tolist() == fewest_of_each_cell(case).tolist()
        assert found.n_rows == case.rows.sum()
        assert found.unique == (truth["guaranteed_overlap"] == found.n_rows)
        several.append(len(case.datasets) > 1)
        event("unique" if found.unique else "several")

    agrees()
    assert sum(several) > len(several) / 3


@pytest.mark.nightly
@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(instances(), st.integers(0, 60))
def test_figures_hold_whenever_the_clock_ends_the_search(case, looks):
    seen = count()
    found, truth = certificate_in(case, timebox=TimeBox(60, clock=lambda: 0.0 if next(seen) < looks else 100.0))
    event("exact" if all_exact(found) else "cut short")
    assert_right(found, truth)
    assert found.unique in (None, truth["guaranteed_overlap"] == found.n_rows)


@pytest.mark.nightly
@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(instances(), st.sampled_from([1e-9, 1e-5, 1e-4, 1e-3, 1e-2]))
def test_figures_hold_whenever_the_effort_ends_the_search_and_repeat(case, effort):
    (found, truth), again = (certificate_in(case, timebox=TimeBox(60, effort), seed=5) for _ in range(2))
    assert (found, truth) == again
    event("exact" if all_exact(found) else "cut short")
    assert_right(found, truth)


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(instances())
def test_skipped_parts_leave_what_propagation_proves(case):
    lower, _, parts = opened(case.problem, case.rows, case.upper)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove, "_MOST_COLUMNS", 0)
        found, truth = certificate_in(case)
    assert found.certain_cells.lower == found.guaranteed_overlap.lower == lower.sum()
    assert found.guaranteed_overlap.upper == found.n_rows
    assert found.unique is (None if parts else True)
    assert_right(found, truth)


@pytest.mark.nightly
@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(instances(), st.integers(0, 1000))
def test_figures_hold_whatever_questions_stay_open(case, seed):
    random, fewest = np.random.RandomState(seed), prove._Model.fewest

    def hesitant(model, kinds, cap, search):
        found, bound = fewest(model, kinds, cap, search)
        return (None if random.rand() < 0.3 else found), random.choice([0, max(0, bound - 1), bound])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove._Model, "fewest", hesitant)
        found, truth = certificate_in(case)
    event("exact" if all_exact(found) else "open")
    assert_right(found, truth)
    assert found.certain_rows.lower <= found.certain_vectors.lower <= found.guaranteed_vectors.lower
    assert found.certain_rows.lower <= found.certain_cells.lower <= found.guaranteed_overlap.lower


@pytest.mark.nightly
@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(instances())
def test_each_kind_is_asked_for_by_itself_where_questions_for_many_stay_open(case):
    fewest = prove._Model.fewest

    def narrow(model, kinds, cap, search):
        return fewest(model, kinds, cap, search) if len(kinds) == 1 else (None, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove._Model, "fewest", narrow)
        found, truth = certificate_in(case)
    for name in ("certain_cells", "certain_rows", "certain_vectors"):
        assert getattr(found, name) == Bounds(truth[name], truth[name])
    assert found.certain_cells.lower <= found.guaranteed_overlap.lower <= truth["guaranteed_overlap"]


@pytest.mark.nightly
@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(instances())
def test_questions_for_many_kinds_decide_all_that_the_solver_can(case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove, "_PATIENCE", 0)
        found, truth = certificate_in(case)
    assert all_exact(found)
    assert lower_of(found) == truth


def hard(n_columns=60, n_rows=40, n_equations=10):
    """Return a problem in which the solver has a dataset long before it has a proof, and a dataset."""
    random = np.random.RandomState(1)
    matrix = np.concatenate([random.randint(0, 2, (n_equations, n_columns)), np.ones((1, n_columns), int)])
    rows = np.bincount(random.randint(n_columns, size=n_rows), minlength=n_columns)
    return problem_of(matrix, matrix @ rows, np.arange(n_columns), rows * 0, np.ones(n_columns, int)), rows


@pytest.mark.nightly
def test_a_dataset_without_a_proof_is_no_proof(monkeypatch):
    problem, rows = hard()
    exact = certified(problem, rows, np.full(60, 40))
    assert all_exact(exact)
    overlaps = set()
    for effort in (0.001, 0.003, 0.01, 0.02, 0.05):
        monkeypatch.setattr(prove, "_EFFORT", effort)
        found = certified(problem, rows, np.full(60, 40))
        for name in FIGURES:
            assert getattr(found, name).lower <= getattr(exact, name).lower <= getattr(found, name).upper
        overlaps.add(found.guaranteed_overlap.exact)
    assert False in overlaps


def test_listed_datasets_need_no_solver(monkeypatch):
    monkeypatch.setattr(prove._Model, "fewest", lambda *_: pytest.fail("asked the solver"))
    problem = problem_of([[1, 1, 1, 0], [0, 1, 1, 1]], [4, 3], [0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 1, 1])
    rows = np.array([4, 0, 0, 3])
    datasets = np.array([[4 - a - b, a, b, 3 - a - b] for a in range(4) for b in range(4 - a)])
    lower, upper, parts = opened(problem, rows, [4, 4, 4, 3], datasets, complete=True)
    found = certificate_of(problem, rows, lower, upper, parts, Search(TimeBox(60)))
    assert all_exact(found)
    assert lower_of(found) == enumerated(problem, rows, datasets)


def test_a_kind_in_two_parts_is_counted_over_both():
    # Two groups of one row, each of which can be of either cell: if both are of one cell, one row is still shared.
    problem = problem_of([[1, 1, 0, 0], [0, 0, 1, 1]], [1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1])
    found = certified(problem, [1, 0, 0, 1], [1, 1, 1, 1])
    assert found.guaranteed_overlap == found.guaranteed_vectors == Bounds(1, 1)
    assert found.certain_cells == Bounds(0, 0)
    assert found.unique is False


def test_rows_that_swap_groups_are_unique_up_to_their_order_after_one_question(monkeypatch):
    asked, fewest = [], prove._Model.fewest
    monkeypatch.setattr(prove._Model, "fewest", lambda *question: asked.append(1) or fewest(*question))
    problem = problem_of([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], [1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1])
    found = certified(problem, [1, 0, 0, 1], [1, 1, 1, 1])
    assert found.certain_rows == found.guaranteed_overlap == Bounds(2, 2)
    assert found.unique is True
    assert len(asked) == 1


def test_of_equal_rows_some_can_be_certain():
    # Four rows, at most three of which can leave the first cell.
    problem = problem_of([[1, 1, 1], [0, 1, 2], [1, 1, 1]], [4, 0, 4], [0, 1, 2], [0, 0, 0], [1, 1, 1])
    assert certified(problem, [4, 0, 0], [4, 4, 4]).certain_rows == Bounds(4, 4)
    problem = problem_of([[1, 1, 1, 0], [0, 1, 1, 1]], [4, 3], [0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 1, 1])
    found = certified(problem, [4, 0, 0, 3], [4, 4, 4, 3])
    assert found.certain_rows == Bounds(1, 1)
    assert found.guaranteed_overlap == Bounds(1, 1)


def test_a_row_whose_class_is_open_is_a_certain_vector_and_no_certain_row():
    problem = problem_of([[1, 1]], [1], [0, 0], [0, 1], [1])
    found = certified(problem, [1, 0], [1, 1])
    assert (found.certain_rows, found.certain_vectors) == (Bounds(0, 0), Bounds(1, 1))
    assert (found.guaranteed_overlap, found.guaranteed_vectors) == (Bounds(0, 0), Bounds(1, 1))


def test_a_cell_with_open_attributes_holds_no_certain_row():
    problem = problem_of([[1, 0], [0, 1]], [2, 3], [0, 1], [0, 0], [1, 2])
    found = certified(problem, [2, 3], [2, 3])
    assert (found.certain_cells, found.certain_rows, found.certain_vectors) == (
        Bounds(5, 5),
        Bounds(2, 2),
        Bounds(2, 2),
    )
    assert found.unique is True


def test_a_group_that_no_tree_has_seen_costs_one_variable():
    n_cells = prove._MOST_COLUMNS + 1
    problem = problem_of(np.ones((1, n_cells)), [2], np.arange(n_cells), np.zeros(n_cells, int), np.ones(n_cells, int))
    rows = np.zeros(n_cells, int)
    rows[[3, 7]] = 1
    found = certified(problem, rows, np.full(n_cells, 2))
    assert all_exact(found)
    assert found.certain_cells == found.guaranteed_overlap == Bounds(0, 0)


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_and_seeds_change_no_exact_figure(workers):
    random = np.random.RandomState(0)
    matrix = np.concatenate([random.randint(0, 2, (6, 30)), np.ones((1, 30), int)])
    rows = np.bincount(random.randint(30, size=12), minlength=30)
    problem = problem_of(matrix, matrix @ rows, np.arange(30), np.zeros(30, int), np.ones(30, int))
    found = {certified(problem, rows, np.full(30, 12), workers=workers, seed=seed) for seed in range(2)}
    assert len(found) == 1
    assert all_exact(*found)


def test_a_dataset_with_a_residual_is_refused():
    problem = problem_of([[1, 1]], [1], [0, 1], [0, 0], [1, 1])
    with pytest.raises(ValueError, match="a dataset with residual 1 cannot be certified"):
        certificate_of(problem, np.array([1, 1]), np.zeros(2, int), np.ones(2, int), [], Search(TimeBox(60)))


def test_parts_that_leave_something_out_are_refused():
    problem = problem_of([[1, 1]], [1], [0, 1], [0, 0], [1, 1])
    with pytest.raises(ValueError, match="the parts must hold each open candidate once"):
        certificate_of(problem, np.array([1, 0]), np.zeros(2, int), np.ones(2, int), [], Search(TimeBox(60)))


def test_bounds_are_in_order():
    with pytest.raises(ValueError, match="bounds out of order: 3 and 2"):
        Bounds(3, 2)
    assert not Bounds(2, 3).exact


def test_what_is_not_known_is_neither_unique_nor_not():
    none = Bounds(0, 0)
    unique = [Certificate(3, none, none, overlap, none, none).unique for overlap in (Bounds(1, 3), Bounds(1, 2))]
    assert unique == [None, False]


DOMAIN = declared(["a", "b", "c"], {name: {"kind": "binary"} for name in "abc"}, "binary")
PAIRS = list(product(range(8), range(2)))


def fitted(random, bagging):
    """Return a small forest fitted to a few rows."""
    n_rows = random.randint(3, 5 if bagging else 7)
    rows = DOMAIN.vectors()[random.randint(8, size=n_rows)]
    labels = np.concatenate([[0, 1], random.randint(2, size=n_rows - 2)])
    kind = random.choice([RandomForestClassifier, ExtraTreesClassifier])
    model = kind(
        n_estimators=random.randint(1, 5),
        max_depth=random.choice([1, 2, 3]),
        max_features=random.choice([1, 3]),
        bootstrap=bagging,
        random_state=random.randint(10_000),
    )
    return model.fit(rows, labels)


def consistent(model, times, shown):
    """Return all datasets that give what the forest shows: (vector, class) of each row, in any order if all are alike.

    Shape (n_datasets, n_rows, 2).
    """
    leaf = np.array([tree.apply(DOMAIN.vectors()) for tree in model.estimators_])
    adds = []
    for seen in times.T:
        tables = [np.zeros((len(PAIRS), tree.tree_.node_count, 3), int) for tree in model.estimators_]
        for table, of_vector, often in zip(tables, leaf, seen, strict=True):
            for i, (vector, label) in enumerate(PAIRS):
                table[i, of_vector[vector], label] += often
                table[i, of_vector[vector], 2] += often > 0
        adds.append(np.concatenate([table.reshape(len(PAIRS), -1) for table in tables], axis=1))
    n_rows, choices = times.shape[1], range(len(PAIRS))
    chosen = np.array(
        list(product(choices, repeat=n_rows) if model.bootstrap else combinations_with_replacement(choices, n_rows))
    )
    total = sum(adds[row][chosen[:, row]] for row in range(n_rows))
    observed = np.concatenate([table.ravel() for table in shown(model)])
    return np.array(PAIRS)[chosen[(total == observed).all(axis=1)]]


def placed(published, of_vector, dataset):
    """Return a dataset as rows of the problem's candidates."""
    problem = published.problem
    keys = zip(problem.group.tolist(), problem.cell.tolist(), problem.label.tolist(), strict=True)
    candidate = {key: j for j, key in enumerate(keys)}
    rows = np.zeros(problem.n_candidates, int)
    for group, (vector, label) in zip(published.groups.of_row.tolist(), dataset.tolist(), strict=True):
        rows[candidate[group, of_vector[vector], label]] += 1
    return rows


def shared(tables, at):
    """Return, of rows counted by dataset and kind, those that all hold and the fewest that one shares with another."""
    return int(tables.min(axis=0).sum()), int(np.minimum(tables, tables[at]).sum(axis=1).min())


@pytest.mark.nightly
@pytest.mark.parametrize("bagging", [False, True], ids=["no bagging", "bagging"])
def test_certificates_of_forests_agree_with_enumeration(publish, leaves, shown, bagging):
    several = []
    for seed in range(40):
        random = np.random.RandomState(seed)
        published = publish(fitted(random, bagging), DOMAIN)
        problem, groups = published.problem, published.groups
        datasets = consistent(published.model, groups.weight[:, groups.of_row], shown)
        at = random.randint(len(datasets))
        nodes = leaves(published.model, DOMAIN.vectors())
        leaf = [np.flatnonzero(t.left < 0).searchsorted(n) for t, n in zip(published.forest.trees, nodes, strict=True)]
        cell = {tuple(signature): k for k, signature in enumerate(problem.cells.signature.T.tolist())}
        of_vector = np.array([cell.get(tuple(signature), -1) for signature in np.transpose(leaf).tolist()])
        rows = placed(published, of_vector, datasets[at])
        lower, upper, parts = opened(problem, rows, groups.size[problem.group])
        found = certificate_of(problem, rows, lower, upper, parts, Search(TimeBox(60)))
        assert all_exact(found)
        # the definitions themselves, over vectors: no cells but where open attributes are let pass
        vector, label = datasets[:, :, 0], datasets[:, :, 1]
        by_row = np.stack([np.bincount(row, minlength=16) for row in 2 * vector + label])
        by_vector = np.stack([np.bincount(row, minlength=8) for row in vector])
        by_cell = np.stack([np.bincount(row, minlength=2 * len(cell)) for row in 2 * of_vector[vector] + label])
        certain_vectors, perfect_rows = shared(by_vector, at)
        assert found.certain_rows.lower == shared(by_row, at)[0]
        assert found.certain_vectors.lower == certain_vectors
        assert found.certain_vectors.lower <= found.guaranteed_vectors.lower <= perfect_rows
        assert (found.certain_cells.lower, found.guaranteed_overlap.lower) == shared(by_cell, at)
        assert found.unique == bool((by_cell == by_cell[at]).all())
        if (problem.cells.n_vectors == 1).all():
            assert found.guaranteed_vectors.lower == perfect_rows
        several.append(bool((by_row != by_row[at]).any()))
    assert sum(several) > len(several) / 3
