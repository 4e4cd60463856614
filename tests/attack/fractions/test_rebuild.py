"""Datasets behind leaves without counts: the Markov chain against enumeration, and whole attacks on fitted forests."""

from __future__ import annotations

from collections import Counter
from itertools import product

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import Shares, WinningLabels
from pytest_draft.attack.evidence.evidence import model_of
from pytest_draft.attack.fractions.problem import build_stripped, states_in
from pytest_draft.attack.fractions.rebuild import rebuild_from_outputs
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk.chain import RowChain
from pytest_draft.attack.walk.expected import expected_rows
from pytest_draft.attack.walk.problem import indices_of
from pytest_draft.attack.walk.sweeps import JumpCandidates
from pytest_draft.domain import declared
from pytest_draft.errors import DataError
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly

PEOPLE = declared(
    ["x", "y", "z", "old", "children"],
    {
        "job": {"kind": "one-hot", "columns": ["x", "y", "z"]},
        "old": {"kind": "binary"},
        "children": {"kind": "ordinal", "low": 1, "high": 5},
    },
    "test",
)
TINY = declared(["a", "b"], {"a": {"kind": "binary"}, "b": {"kind": "ordinal", "low": 0, "high": 2}}, "test")
NUMBERS = declared(["u", "v"], {"u": {"kind": "numeric", "low": 0, "high": 1}, "v": {"kind": "binary"}}, "test")
EXACT = Shares(None, 1e-12, more_left=False)


def published(model, rows, labels, path):
    """Return what a file tells of a forest that is fitted to rows, whose draws nobody knows."""
    joblib.dump(model.fit(rows, labels), path)
    return read(path).forest


def drawn(domain, n_rows, seed):
    rng = np.random.default_rng(seed)
    rows = np.concatenate([attribute.uniform(n_rows, rng) for attribute in domain.attributes], axis=1)
    place = [column for attribute in domain.attributes for column in attribute.columns]
    return rows[:, np.argsort(place)], rng.integers(0, 2, n_rows)


def fitted(rows, labels, outputs=EXACT, **parameters):
    """Return a fitted forest, its counts left out."""
    model = RandomForestClassifier(random_state=0, **{"n_estimators": 30, **parameters}).fit(rows, labels)
    trees = []
    for one in model.estimators_:
        tree = one.tree_
        share = outputs.answered(tree.value[:, 0])
        leaf = tree.children_left < 0
        nothing = np.zeros(tree.node_count)
        links = tree.children_left.astype(np.int64), tree.children_right.astype(np.int64)
        feature, never = np.where(leaf, -1, tree.feature).astype(np.int64), np.zeros(tree.node_count, bool)
        value = np.where(leaf[:, None], share, 0.0)
        trees.append(Tree(*links, feature, tree.threshold, never, value, nothing, nothing.astype(np.int64), None))
    return Forest(
        kind="RandomForestClassifier", trees=tuple(trees), n_features=rows.shape[1], feature_names=None,
        classes=tuple(range(share.shape[1])), draws=Draws(rows="with replacement" if model.bootstrap else "all"),
        n_samples=None, sklearn_version="1.9.1", parameters=model.get_params(),
        observation=outputs,
    )  # fmt: skip


def search(seconds=60.0, effort=0.6, seed=0, workers=1):
    return Search(TimeBox(seconds, effort), seed, workers)


def error(truth, guess, domain):
    return matched_distance(truth, guess, encoded_weights(domain), TimeBox(60)).upper


def posterior(model, n_rows, log_prior, known=()):
    """Enumerate all ordered datasets that begin with known rows; return the probability of each as a multiset."""
    sizes = [attribute.n_values for attribute in model.domain.attributes]
    offset = np.cumsum([0, *sizes])
    kinds = list(product(*(range(size) for size in sizes), range(model.n_classes)))
    weight = Counter()
    for others in product(kinds, repeat=n_rows - len(known)):
        dataset = (*known, *others)
        table = np.array(dataset)
        value, label = table[:, :-1].astype(np.int32), table[:, -1].astype(np.int64)
        prior = sum(log_prior[c, offset[a] + v] for *row, c in dataset for a, v in enumerate(row))
        weight[tuple(sorted(dataset))] += np.exp(model.log_likelihood(value, label) + prior)
    total = sum(weight.values())
    return {dataset: one / total for dataset, one in weight.items()}


@pytest.mark.parametrize("outputs", [EXACT, WinningLabels(more_left=False)], ids=["fractions", "labels"])
def test_the_chain_draws_from_the_posterior_that_enumeration_gives(outputs):
    rows, labels = drawn(TINY, 3, 1)
    labels = np.array([0, 1, 1])
    forest = fitted(rows, labels, outputs, n_estimators=4, max_depth=2)
    problem = build_stripped(forest, TINY, 3)
    log_prior = np.log(np.array([[0.6, 0.4, 0.2, 0.3, 0.5], [0.5, 0.5, 0.4, 0.4, 0.2]]))
    exact = posterior(problem.model, 3, log_prior)
    value = indices_of(TINY, None, rows)
    chain = RowChain(problem, (value, labels), [3], log_prior)
    found = Counter()
    n = 3_000
    for _ in range(n):
        chain.sweep(2, 1.0, 1.0)
        value, label = chain.dataset
        found[tuple(sorted(tuple(row) for row in np.column_stack([value, label]).tolist()))] += 1
    apart = sum(abs(found[dataset] / n - chance) for dataset, chance in exact.items()) / 2
    assert apart < 0.1


@pytest.mark.parametrize("n_known", [0, 1])
def test_the_chain_draws_from_the_posterior_of_counts_with_different_rows_of_both_classes(tmp_path, n_known):
    rows, labels = np.array([[0, 0], [0, 0], [1, 2]], np.float32), np.array([0, 1, 1])
    model = RandomForestClassifier(3, max_depth=1, max_features=None, random_state=2)
    forest = published(model, rows, labels, tmp_path / "model.joblib")
    outputs = model_of(forest, TINY, 3).evidence.outputs
    assert ((outputs.vectors[outputs.first] > 0).all(axis=1) & (outputs.distinct > 1)).any()
    known_value, known_label = np.full((3, 2), -1, np.int32), np.full(3, -1)
    known_value[:n_known], known_label[:n_known] = rows[:n_known], labels[:n_known]
    problem = build_stripped(forest, TINY, 3, known_value, known_label)
    log_prior = np.log(np.array([[0.6, 0.4, 0.2, 0.3, 0.5], [0.5, 0.5, 0.4, 0.4, 0.2]]))
    exact = posterior(problem.model, 3, log_prior, [(0, 0, 0)] * n_known)
    chain, found, n = RowChain(problem, (rows.astype(np.int32), labels), [3], log_prior), Counter(), 3_000
    for _ in range(n):
        chain.sweep(2, 1.0, 1.0)
        found[tuple(sorted(tuple(row) for row in np.column_stack(chain.dataset).tolist()))] += 1
    apart = sum(abs(found[dataset] / n - chance) for dataset, chance in exact.items()) / 2
    assert apart < 0.1


def test_the_chain_keeps_its_counts_right():
    rows, labels = drawn(PEOPLE, 30, 2)
    problem = build_stripped(fitted(rows, labels), PEOPLE, 30)
    expected = expected_rows(problem.model, 30, search(), 20)
    top = expected.likeliest(20)
    chain = RowChain(problem, (problem.indices(rows), labels), [1])
    for _ in range(3):
        chain.sweep(2, 4.0, 1.0)
        chain.jump(
            JumpCandidates(np.ascontiguousarray(expected.value[top]), np.ascontiguousarray(expected.leaf[top])), 2.0
        )
        assert chain.log_likelihood == pytest.approx(problem.model.log_likelihood(*chain.dataset))


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize(
    "outputs", [EXACT, Shares(2, 0.005, more_left=False), WinningLabels(more_left=False)], ids=repr
)
def test_the_right_rows_lack_nothing(outputs, bootstrap):
    rows, labels = drawn(PEOPLE, 60, 3)
    for parameters in ({}, {"max_depth": 2}, {"min_samples_leaf": 5}):
        model = model_of(fitted(rows, labels, outputs, bootstrap=bootstrap, **parameters), PEOPLE, 60)
        at_leaves = model.rows_at_leaves(indices_of(PEOPLE, None, rows), labels)
        assert model.lacking(at_leaves) == 0


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("kind", ["fractions", "labels"])
def test_a_forest_without_counts_gives_its_rows_away(kind, bootstrap):
    rows, labels = drawn(PEOPLE, 40, 4)
    outputs = EXACT if kind == "fractions" else WinningLabels(more_left=False)
    problem = build_stripped(fitted(rows, labels, outputs, bootstrap=bootstrap), PEOPLE, 40)
    rebuilt = rebuild_from_outputs(problem, search())
    others = drawn(PEOPLE, 40, 5)[0]
    assert error(rows, rebuilt.rows, PEOPLE) < error(rows, others, PEOPLE)
    assert PEOPLE.outside(rebuilt.rows.astype(np.float64)) == {}
    assert rebuilt.free.shape == (40, 3)


MODELS = {
    "random forest": RandomForestClassifier(40, random_state=0),
    "half samples": RandomForestClassifier(40, max_samples=0.5, random_state=0),
    "extra trees": ExtraTreesClassifier(40, bootstrap=True, random_state=0),
    "bagging": BaggingClassifier(n_estimators=40, random_state=0),
    "without replacement": BaggingClassifier(n_estimators=40, bootstrap=False, max_samples=0.6, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_counts_of_unknown_draws_rebuild_most_of_the_data(name, tmp_path):
    errors, others = [], []
    for seed in range(3):
        rows, labels = drawn(PEOPLE, 30, seed)
        forest = published(clone(MODELS[name]), rows, labels, tmp_path / "model.joblib")
        rebuilt = rebuild_from_outputs(build_stripped(forest, PEOPLE, 30), search(effort=3.0, seed=seed))
        assert rebuilt.status in ("likeliest", "not converged")
        errors.append(error(rows, rebuilt.rows, PEOPLE))
        others.append(error(rows, drawn(PEOPLE, 30, seed + 50)[0], PEOPLE))
    assert np.mean(errors) < 0.25 * np.mean(others)


def test_three_classes_are_rebuilt_with_their_labels(tmp_path):
    rows, labels = drawn(PEOPLE, 30, 0)
    labels[:8] = 2
    forest = published(RandomForestClassifier(60, random_state=0), rows, labels, tmp_path / "model.joblib")
    rebuilt = rebuild_from_outputs(build_stripped(forest, PEOPLE, 30), search(effort=3.0))
    assert error(rows, rebuilt.rows, PEOPLE) < 0.1
    assert np.abs(np.bincount(rebuilt.labels, minlength=3) - np.bincount(labels)).sum() <= 4


def test_what_leaves_leave_open_is_said_to_be_guessed(tmp_path):
    rows, labels = drawn(PEOPLE, 30, 1)
    forest = published(RandomForestClassifier(2, max_depth=1, random_state=0), rows, labels, tmp_path / "model.joblib")
    rebuilt = rebuild_from_outputs(build_stripped(forest, PEOPLE, 30), search())
    assert rebuilt.free[:, 2].all()  # one test leaves several numbers of children


def test_numeric_columns_are_rebuilt_to_their_intervals():
    rows, labels = drawn(NUMBERS, 40, 6)
    forest = fitted(rows, labels)
    problem = build_stripped(forest, NUMBERS, 40)
    assert "numeric" not in {attribute.kind for attribute in problem.model.domain.attributes}
    rebuilt = rebuild_from_outputs(problem, search())
    assert error(rows, rebuilt.rows, NUMBERS) < 0.7 * error(rows, drawn(NUMBERS, 40, 7)[0], NUMBERS)
    states = states_in(forest, NUMBERS)[2]
    assert (indices_of(NUMBERS, states, problem.written(problem.indices(rows))) == problem.indices(rows)).all()


def test_the_same_seed_rebuilds_the_same_rows_with_any_number_of_workers():
    rows, labels = drawn(PEOPLE, 20, 8)
    problem = build_stripped(fitted(rows, labels), PEOPLE, 20)
    one, two = (rebuild_from_outputs(problem, search(effort=0.5, seed=3, workers=n)) for n in (1, 2))
    assert (one.rows == two.rows).all()
    assert (one.labels == two.labels).all()


def test_known_rows_and_columns_stay_as_they_are():
    rows, labels = drawn(PEOPLE, 20, 9)
    value = np.full((20, 3), -1, dtype=np.int32)
    label = np.full(20, -1, dtype=np.int64)
    value[:, 1] = indices_of(PEOPLE, None, rows, [1])[:, 1]
    value[:5], label[:5] = indices_of(PEOPLE, None, rows[:5]), labels[:5]
    problem = build_stripped(fitted(rows, labels), PEOPLE, 20, value, label)
    rebuilt = rebuild_from_outputs(problem, search(effort=0.5))
    assert len(rebuilt.rows) == 15
    assert (rebuilt.rows[:, 3] == rows[5:, 3]).all()


def test_the_number_of_rows_is_estimated_where_nobody_knows_it():
    rows, labels = drawn(PEOPLE, 40, 10)
    problem = build_stripped(fitted(rows, labels), PEOPLE, None)
    rebuilt = rebuild_from_outputs(problem, search(effort=1.0))
    assert 30 <= len(rebuilt.rows) <= 55


def test_a_time_box_that_is_over_gives_no_rows_and_a_short_one_some():
    rows, labels = drawn(PEOPLE, 30, 11)
    problem = build_stripped(fitted(rows, labels), PEOPLE, 30)
    box = TimeBox(60.0, 1.0)
    box.spend(2.0)
    assert rebuild_from_outputs(problem, Search(box)).status == "no solution"
    rebuilt = rebuild_from_outputs(problem, search(effort=0.01))
    assert len(rebuilt.rows) == 30


def test_a_domain_too_large_to_enumerate_is_searched_from_random_rows():
    names = [f"c{i}" for i in range(24)]
    domain = declared(names, {name: {"kind": "binary"} for name in names}, "test")
    rows, labels = drawn(domain, 30, 12)
    problem = build_stripped(fitted(rows, labels), domain, 30)
    assert expected_rows(problem.model, 30, search()) is None
    rebuilt = rebuild_from_outputs(problem, search(effort=3.0))
    assert error(rows, rebuilt.rows, domain) < error(rows, drawn(domain, 30, 13)[0], domain)


def test_values_that_the_domain_excludes_are_refused():
    rows, _ = drawn(PEOPLE, 5, 14)
    rows[2, 4] = 9.0
    with pytest.raises(DataError, match="'children'"):
        indices_of(PEOPLE, None, rows)


def test_no_repr_shows_a_row():
    rows, labels = drawn(PEOPLE, 10, 15)
    problem = build_stripped(fitted(rows, labels), PEOPLE, 10)
    expected = expected_rows(problem.model, 10, search(), 3)
    shown = f"{problem!r} {problem.model!r} {expected!r} {problem.model.evidence!r}"
    assert "array" not in shown
