"""Attacks with side knowledge, on forests that were really trained, against enumeration and the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import joblib
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from profiles import examples
from pytest_draft.artifact import Forest, read
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.refit import evidence_by_refitting
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.data import TrainingData
from pytest_draft.domain import declared
from pytest_draft.errors import InfeasibleError
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.threshold_check import missed_splits
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import Knowledge, exchangeable_groups, grant, known_rows
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox

COLUMNS = ("a", "job_x", "job_y", "job_z", "age")
DOMAIN = declared(
    COLUMNS,
    {
        "a": {"kind": "binary"},
        "job": {"kind": "one-hot", "columns": [1, 2, 3]},
        "age": {"kind": "ordinal", "low": 2, "high": 4},
    },
    "by hand",
)


@dataclass(frozen=True)
class Released:
    """A forest's file and the rows that it was trained on."""

    model: RandomForestClassifier
    forest: Forest
    data: TrainingData

    def knowledge(self, text: str, seed: int = 0) -> Knowledge | None:
        return grant(Adversary.parse(text), self.data, DOMAIN, self.forest, seed)

    def problem(self, text: str, seed: int = 0) -> Problem:
        groups = exchangeable_groups(self.forest, text, self.knowledge(text, seed))
        return build(self.forest, DOMAIN, groups, TimeBox(60))

    def attacked(self, text: str, seed: int = 0) -> Reconstruction:
        return reconstruct(self.problem(text, seed), Search(TimeBox(60), seed))


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Return a function that trains a forest on random rows of the domain and reads its file."""
    path = tmp_path_factory.mktemp("released") / "model.joblib"

    def trained(seed: int, n_rows: int, n_trees: int, depth: int | None, bootstrap: bool) -> Released:
        rng = np.random.default_rng(seed)
        rows, labels = DOMAIN.uniform(n_rows, rng), rng.integers(0, 2, n_rows)
        labels[:2] = [0, 1]  # a single class makes no splits
        model = RandomForestClassifier(n_trees, max_depth=depth, bootstrap=bootstrap, random_state=seed)
        joblib.dump(model.fit(rows, labels), path)
        return Released(model, read(path).forest, TrainingData(rows, labels, COLUMNS, None, "by hand"))

    return trained


SIZES = {
    "seed": st.integers(0, 10_000),
    "n_rows": st.integers(4, 12),
    "n_trees": st.integers(1, 6),
    "depth": st.sampled_from([1, 2, None]),
    "bootstrap": st.booleans(),
}
KNOWN = ["columns:a", "columns:job", "columns:age,a", "columns:job,age", "rows:1", "rows:50%", "columns:job+rows:2"]


def of_truth(problem: Problem, released: Released, knowledge: Knowledge) -> np.ndarray:
    """Return the truth as numbers of rows by candidate; fails where a true row is no candidate."""
    rows, labels = released.data.rows[knowledge.unknown], released.data.labels[knowledge.unknown]
    chosen = np.zeros(problem.n_candidates, dtype=np.int64)
    values = [
        np.argmax(rows[:, list(a.columns)], axis=1) if a.kind == "one-hot" else rows[:, a.columns[0]] - a.low
        for a in DOMAIN.attributes
    ]
    place = np.stack(values, axis=1).astype(int) + problem.cells.offsets[:-1]
    leaves = released.model.apply(rows).T
    at = [
        tree.leaves[signature] for tree, signature in zip(released.forest.trees, problem.cells.signature, strict=True)
    ]
    same = np.all([here[:, None] == leaf for here, leaf in zip(at, leaves, strict=True)], axis=0)
    for row, (mine, label) in enumerate(zip(place, labels, strict=True)):
        cell = np.flatnonzero(same[:, row] & problem.cells.allowed[:, mine].all(axis=1))
        assert len(cell) == 1
        found = (problem.group == problem.groups.of_row[row]) & (problem.cell == cell[0]) & (problem.label == label)
        assert found.sum() == 1
        chosen[found] += 1
    return chosen


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(known=st.sampled_from(KNOWN), **SIZES)
def test_the_truth_is_a_candidate_with_residual_0_whatever_is_known(release, known, **sizes):
    released = release(**sizes)
    knowledge, problem = released.knowledge(f"artifact+{known}"), released.problem(f"artifact+{known}")
    assert problem.system.missed(of_truth(problem, released, knowledge)) == 0
    assert problem.groups.n_rows == len(knowledge.unknown)


@pytest.mark.nightly
@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(known=st.sampled_from(KNOWN), **SIZES)
def test_what_is_known_is_never_changed_and_never_called_free(release, known, **sizes):
    released = release(**sizes)
    knowledge, found = released.knowledge(f"artifact+{known}"), released.attacked(f"artifact+{known}")
    columns = list(knowledge.columns)
    assert found.residual == 0
    assert (found.consistent[:, columns] == released.data.rows[knowledge.unknown][:, columns]).all()
    assert not found.free[:, list(knowledge.attributes)].any()


def consistent(released: Released, knowledge: Knowledge | None) -> set[tuple]:
    """Return every dataset that meets the model's own leaves, and what is known: rows as indices of vectors."""
    vectors, n_rows = DOMAIN.vectors(), released.data.n_rows
    pairs = list(product(range(len(vectors)), range(2)))
    leaf = released.model.apply(vectors)
    draws = [np.ones(n_rows, int)] * len(leaf[0])
    if released.model.bootstrap:
        draws = [np.bincount(drawn, minlength=n_rows) for drawn in released.model.estimators_samples_]

    def counted(rows, labels):
        tables = []
        for t, times in enumerate(draws):
            here = released.model.estimators_[t].apply(rows)
            for weight in (times, times > 0):
                tables.append(np.bincount(2 * here + labels, weight, minlength=2 * leaf.max() + 2))
        # of distinct rows the file tells the sum over classes only
        return np.concatenate([w if i % 2 == 0 else w.reshape(-1, 2).sum(axis=1) for i, w in enumerate(tables)])

    data = released.data
    target = counted(data.rows, data.labels)
    adds = np.array(
        [
            [
                np.concatenate(
                    [
                        part
                        for t, times in enumerate(draws)
                        for part in (
                            times[row] * (np.arange(2 * leaf.max() + 2) == 2 * leaf[v, t] + label),
                            (times[row] > 0) * (np.arange(leaf.max() + 1) == leaf[v, t]),
                        )
                    ]
                )
                for v, label in pairs
            ]
            for row in range(n_rows)
        ]
    )
    choices = []
    for row in range(n_rows):
        fits = np.ones(len(pairs), bool)
        if knowledge is not None:
            columns = list(knowledge.columns)
            fits = np.array([(vectors[v, columns] == data.rows[row, columns]).all() for v, _ in pairs])
            if row in knowledge.known:
                fits &= [(vectors[v] == data.rows[row]).all() and label == data.labels[row] for v, label in pairs]
        fits &= (adds[row] <= target).all(axis=1)
        choices.append(np.flatnonzero(fits))
    chosen, total = np.zeros((1, 0), int), np.zeros((1, len(target)), int)
    for row in range(n_rows):
        grown = (total[:, None] + adds[row][choices[row]]).reshape(-1, len(target))
        longer = np.column_stack([np.repeat(chosen, len(choices[row]), axis=0), np.tile(choices[row], len(chosen))])
        fits = (grown <= target).all(axis=1)
        chosen, total = longer[fits], grown[fits]
    return set(map(tuple, chosen[(total == target).all(axis=1)].tolist()))


def worst_error(released: Released, datasets: set[tuple], known: tuple[int, ...]) -> float:
    """Return the largest error, on attributes that are not in `known`, of any of some datasets."""
    vectors, weights = DOMAIN.vectors(), encoded_weights(DOMAIN, known)
    return max(
        Comparison().distance(released.data.rows, vectors[[c // 2 for c in chosen]], weights, TimeBox(60)).exact
        for chosen in datasets
    )


@pytest.mark.nightly
@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(
    known=st.sampled_from(["columns:a", "columns:job,age", "rows:1", "columns:age+rows:1"]),
    seed=st.integers(0, 10_000),
    n_trees=st.integers(2, 5),
    depth=st.sampled_from([2, None]),
    bootstrap=st.booleans(),
)
def test_the_engine_agrees_with_enumeration_of_all_that_is_known(release, known, seed, n_trees, depth, bootstrap):
    released = release(seed, 4, n_trees, depth, bootstrap)
    text = f"artifact+{known}"
    knowledge, found = released.knowledge(text), released.attacked(text)
    datasets = consistent(released, knowledge)
    if len(datasets) > 3_000:
        event("many")
        return
    index = {tuple(vector): v for v, vector in enumerate(DOMAIN.vectors().tolist())}
    pair = {(*vector, label): 2 * v + label for vector, v in index.items() for label in (0, 1)}
    whole_rows, whole_labels = released.data.rows.copy(), released.data.labels.copy()
    whole_rows[knowledge.unknown], whole_labels[knowledge.unknown] = found.consistent, found.labels
    rebuilt = tuple(pair[(*r, y)] for r, y in zip(whole_rows.tolist(), whole_labels.tolist(), strict=True))
    assert rebuilt in datasets
    group = exchangeable_groups(released.forest, "artifact+columns:a", knowledge).of_row.tolist()
    distinct = {as_multiset(group, knowledge, dataset) for dataset in datasets}
    event(f"{'one' if len(distinct) == 1 else 'several'} {found.status}")
    assert (found.status == "unique") == (len(distinct) == 1)
    less = consistent(released, None)
    assert datasets <= less
    if len(less) <= 3_000 and not len(knowledge.known):
        assert worst_error(released, datasets, ()) <= worst_error(released, less, ()) + 1e-12


def as_multiset(group: list[int], knowledge: Knowledge, dataset: tuple) -> frozenset:
    """Return a dataset's unknown rows without the order of those that nothing tells apart: those of one group."""
    rows = sorted((group[i], dataset[row]) for i, row in enumerate(knowledge.unknown))
    return frozenset((key, rows.count(key)) for key in rows)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("known", ["rows:30%", "columns:a+rows:5"])
def test_refitting_includes_the_known_rows(release, bootstrap, known):
    released = release(3, 30, 25, None, bootstrap)
    knowledge, problem = released.knowledge(f"artifact+{known}"), released.problem(f"artifact+{known}")
    evidence = evidence_by_refitting(released.forest, problem.groups)
    data = released.data
    assert evidence(data.rows[knowledge.unknown], data.labels[knowledge.unknown]) == 25
    wrong = data.rows[knowledge.unknown].copy()
    wrong[:, 0] = 1 - wrong[:, 0]
    assert evidence(wrong, data.labels[knowledge.unknown]) < 25


def test_known_rows_that_exceed_the_counts_are_no_training_rows(release):
    released = release(3, 30, 25, None, True)
    knowledge = released.knowledge("artifact+rows:10")
    others = replace(knowledge, rows=DOMAIN.uniform(10, np.random.default_rng(99)))
    groups = exchangeable_groups(released.forest, "artifact+rows:10", others)
    with pytest.raises(InfeasibleError):
        build(released.forest, DOMAIN, groups, TimeBox(60))


def test_a_problem_says_how_many_known_rows_lie_at_each_leaf(release):
    released = release(3, 30, 5, 3, True)
    knowledge, problem = released.knowledge("artifact+rows:10"), released.problem("artifact+rows:10")
    labels = released.data.labels[knowledge.known]
    for t, tree in enumerate(released.forest.trees):
        leaf = released.model.estimators_[t].apply(released.data.rows[knowledge.known])
        expected = [[((leaf == node) & (labels == c)).sum() for c in (0, 1)] for node in tree.leaves]
        assert (problem.known[t] == expected).all()
    assert released.problem("artifact+columns:a").known is None


@pytest.mark.nightly
@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(known=st.sampled_from(["", "+columns:a", "+columns:job,age"]), **SIZES)
def test_an_informed_adversary_is_left_with_exactly_what_explains_the_file(release, known, **sizes):
    released, text = release(**sizes), f"artifact+informed{known}"
    knowledge, vectors = released.knowledge(text), DOMAIN.vectors()
    everyone = known_rows(released.forest, text, knowledge)
    held = held_of(released.forest, DOMAIN, everyone, knowledge.unknown).with_known(
        knowledge.rows, knowledge.attributes
    )
    states = [held.states(a)[:, value] for a, value in enumerate(DOMAIN.indices(vectors).T)]
    inside = np.logical_and.reduce(states)
    leaf, columns = released.model.apply(vectors), list(knowledge.columns)
    for row, own in enumerate(everyone.rows):
        drawn = everyone.weight[:, row] > 0
        fits = (leaf == released.model.apply(own[None]))[:, drawn].all(axis=1)
        fits &= (vectors[:, columns] == own[columns]).all(axis=1)
        for v in np.flatnonzero(fits):
            rows = everyone.rows.copy()
            rows[row] = vectors[v]
            fits[v] = not missed_splits(released.forest, replace(everyone, rows=rows), None).inexact
        assert (inside[row] == fits).all()
    assert (held.determined().all(axis=1) == (inside.sum(axis=1) == 1)).all()


def test_another_known_row_than_the_forest_was_trained_on_fits_nothing(release):
    released = release(3, 30, 25, None, True)
    everyone = known_rows(released.forest, "artifact+informed", released.knowledge("artifact+informed"))
    rows = everyone.rows.copy()
    rows[0] = DOMAIN.vectors()[np.flatnonzero((DOMAIN.vectors() != rows[0]).any(axis=1))[0]]
    assert held_of(released.forest, DOMAIN, replace(everyone, rows=rows), np.arange(30)) is None
