"""Other datasets: each explains the file, and they are as frequent as the prior says."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from pytest_draft.ambiguity import alternatives
from pytest_draft.ambiguity.alternatives import alternatives_to
from pytest_draft.ambiguity.bits import cell_bits, open_states
from pytest_draft.ambiguity.bounds import kept
from pytest_draft.ambiguity.explained import ExplainedRows, explained
from pytest_draft.ambiguity.population import fitted, row_kinds, uniform
from pytest_draft.artifact import occurrences
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.numeric.dataset import fill
from pytest_draft.attack.numeric.energy import missed
from pytest_draft.attack.states import states_of
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate.identity import identify_in_order
from pytest_draft.knowledge import KnownRows
from pytest_draft.timebox import TimeBox
from studies.files import through_file
from studies.ideal import generated

pytestmark = pytest.mark.nightly

BOX = TimeBox(1e9)  # begins when tests are collected
GO_ON, STOP = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)


def discrete(n_rows: int = 40) -> tuple[np.ndarray, np.ndarray, Domain]:
    """Return rows of three binary columns, one of four codes and a group of three, their labels and domain."""
    rng = np.random.default_rng(0)
    group = np.eye(3)[rng.integers(0, 3, n_rows)]
    rows = np.hstack([rng.integers(0, 2, (n_rows, 3)), rng.integers(0, 4, (n_rows, 1)), group]).astype(np.float32)
    attributes = (
        *(Attribute(name, "binary", (c,)) for c, name in enumerate("abc")),
        Attribute("code", "ordinal", (3,), 0.0, 3.0),
        Attribute("group", "one-hot", (4, 5, 6)),
    )
    return rows, rng.integers(0, 2, n_rows), Domain(("a", "b", "c", "code", "x", "y", "z"), attributes, "made")


def numeric() -> tuple[np.ndarray, np.ndarray, Domain]:
    """Return some wines, their classes and the domain of five numeric columns."""
    rows, labels = load_wine(return_X_y=True)
    chosen = np.random.default_rng(1).choice(len(rows), 40, replace=False)
    rows = rows[chosen][:, :5].astype(np.float32)
    names = tuple("vwxyz")
    attributes = tuple(
        Attribute(name, "numeric", (c,), float(rows[:, c].min()), float(rows[:, c].max()))
        for c, name in enumerate(names)
    )
    return rows, labels[chosen], Domain(names, attributes, "wine")


def truth_of(model, rows, labels, domain) -> tuple[ExplainedRows, Forest]:
    forest = through_file(model.fit(rows, labels))
    is_class = forest.classes is not None
    labels = labels if is_class else np.zeros(len(rows), np.int64)
    made = explained(forest, domain, rows, labels, occurrences(forest))
    assert made is not None
    return made, forest


MODELS = {
    "bagging": lambda: RandomForestClassifier(8, max_depth=3, random_state=0),
    "all rows": lambda: RandomForestClassifier(3, max_depth=2, bootstrap=False, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(3, max_depth=2, random_state=0),
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("columns", [discrete, numeric])
def test_every_sample_explains_every_observation_and_some_rows_are_others(kind, columns):
    rows, labels, domain = columns()
    truth, forest = truth_of(MODELS[kind](), rows, labels, domain)
    assert truth.unexplained == 0
    found = alternatives_to(forest, domain, rows, labels, occurrences(forest), 0, BOX, unknown=np.arange(len(rows)))
    assert found.facts.samples == kept(len(rows))
    assert "40 rows, not shown" in repr(found)
    for one in found.sampled:
        assert any((sample != rows).any() for sample in one.datasets)
        for sample in one.datasets[:3]:
            everyone = KnownRows(sample, labels, truth.times.astype(np.int64))
            assert identify_in_order(forest, everyone, known_by_row=False).status == "confirmed"
            assert not domain.outside(sample.astype(np.float64))
            assert truth_explains(truth, sample)


def truth_explains(truth: ExplainedRows, sample: np.ndarray) -> bool:
    """Return whether rows miss no count and no split."""
    data = truth.dataset(0)
    data.state[:] = truth.states.of_rows(sample)
    fill(truth.nodes, data)
    return missed(truth.nodes, data) == (0, 0)


def test_whatever_the_adversary_knows_stays_as_it_is():
    rows, labels, domain = discrete()
    _, forest = truth_of(MODELS["all rows"](), rows, labels, domain)
    unknown = np.arange(9, 40)
    given = forest, domain, rows, labels, occurrences(forest), 0, BOX
    for one in alternatives_to(*given, unknown=unknown, known=(1,)).sampled:
        assert one.rows.tolist() == unknown.tolist()
        assert any((sample != rows[9:]).any() for sample in one.datasets)
        assert all((sample[:, 1] == rows[9:, 1]).all() for sample in (*one.datasets, *one.without))


def test_a_regressors_rows_stay_in_their_leaves():
    rows, _, domain = discrete()
    model = RandomForestRegressor(5, max_depth=2, random_state=0)
    truth, forest = truth_of(model, rows, rows @ np.arange(7), domain)
    given = forest, domain, rows, np.zeros(len(rows), np.int64), occurrences(forest)
    (sample, *_) = alternatives_to(*given, 0, BOX, unknown=np.arange(len(rows))).sampled[0].datasets
    data = truth.dataset(0)
    leaf = data.leaf.copy()
    data.state[:] = truth.states.of_rows(sample)
    fill(truth.nodes, data)
    assert (sample != rows).any()
    assert (data.leaf == leaf).all()
    assert forest.classes is None


def test_of_many_rows_neighbourhoods_are_drawn_anew(monkeypatch):
    monkeypatch.setattr(alternatives, "MOST_MOVING", 20)
    monkeypatch.setattr(alternatives, "NEIGHBOURHOOD", 10)
    rows, labels, domain = discrete()
    _, forest = truth_of(MODELS["all rows"](), rows, labels, domain)
    found = alternatives_to(forest, domain, rows, labels, occurrences(forest), 0, BOX, unknown=np.arange(len(rows)))
    for one in found.sampled:
        assert 10 <= len(one.rows) <= 20
        assert all(sample.shape == (len(one.rows), 7) for sample in one.datasets)


def test_rows_that_do_not_explain_the_file_are_no_truth():
    rows, labels, domain = discrete()
    forest = through_file(MODELS["bagging"]().fit(rows, labels))
    assert explained(forest, domain, rows[::-1].copy(), labels, occurrences(forest)) is None


@pytest.mark.parametrize("name", ["population", "uniform", "other rows"])
def test_rows_are_drawn_within_boxes_as_often_as_the_prior_has_them_there(name):
    rows, labels, domain = discrete()
    truth, _ = truth_of(MODELS["all rows"](), rows, labels, domain)
    states, state = truth.states, truth.state.astype(np.int64)
    prior = {
        "population": fitted(states, state, 0),
        "uniform": uniform(states, len(state)),
        "other rows": row_kinds(states, state, labels, 2, 0, state[:0]),
    }[name]
    vectors = np.array(list(product(*map(range, states.n_states.tolist()))))
    at = vectors + np.concatenate([[0], np.cumsum(states.n_states)[:-1]])
    inside = open_states(truth, np.arange(3), GO_ON)
    drawn = prior.drawn(states, np.random.default_rng(0), np.repeat(np.arange(3), 4_000), np.repeat(inside, 4_000, 0))
    for row in range(3):
        if name == "other rows":
            of_kind = (prior.state[:, None] == vectors).all(axis=2)
            likely = np.exp(prior.log_prior[:, labels[row]]) @ of_kind
        else:
            fold = prior.fold[row]
            likely = np.exp(prior.log_share[fold] + prior.log_prior[fold][:, at].sum(axis=2).T).sum(axis=1)
        likely *= inside[row][at].all(axis=1)
        met = (drawn.reshape(3, 4_000, -1)[row][:, None] == vectors).all(axis=2).mean(axis=0)
        assert np.abs(met - likely / likely.sum()).sum() / 2 < 0.06


@pytest.mark.nightly
def test_no_more_datasets_are_counted_than_explain_a_small_file_in_any_order():
    short = []
    for one in generated(60, 20, labels_fixed=True):
        instance = one.instance
        rows, labels = instance.truth.rows.astype(np.float32), instance.truth.labels
        truth = explained(instance.forest, instance.domain, rows, labels, instance.occurrences)
        counted = bits_of(truth, np.arange(len(rows)))
        assert counted <= np.log2(one.number) + 1e-9
        short.append(np.log2(one.number) - counted)
    assert np.mean(short) < 1.0


def bits_of(truth: ExplainedRows, rows: np.ndarray) -> float:
    """Return how many bits the boxes of some rows have, together."""
    return cell_bits(truth, rows, open_states(truth, rows, GO_ON))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_known_rows_add_no_datasets(bootstrap):
    rows, labels, domain = discrete()
    forest = through_file(RandomForestClassifier(3, max_depth=2, bootstrap=bootstrap, random_state=0).fit(rows, labels))
    known, unknown = np.arange(38), np.arange(38, 40)
    truth = explained(forest, domain, rows, labels, occurrences(forest), known_rows=known)
    assert 0 <= bits_of(truth, unknown) <= 2 * np.log2(domain.n_vectors)
    assert bits_of(truth, known) == 0


def test_rows_of_the_same_vectors_are_counted_in_any_order():
    """Of one leaf, a multiset of 30 of 96 vectors: with bootstrap, where places differ, no more than without."""
    rows, _, domain = discrete(30)
    labels = np.zeros(30, dtype=np.int64)
    all_of_them = (gammaln(126) - gammaln(96) - gammaln(31)) / np.log(2)
    counted = {}
    for bootstrap in False, True:
        model = RandomForestClassifier(3, bootstrap=bootstrap, random_state=0).fit(rows, labels)
        forest = through_file(model)
        truth = explained(forest, domain, rows, labels, occurrences(forest))
        counted[bootstrap] = bits_of(truth, np.arange(30))
    assert counted[False] == pytest.approx(all_of_them)
    assert counted[True] == pytest.approx(all_of_them)


def test_a_population_is_learnt_from_other_rows_only():
    rows, labels, domain = discrete(60)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(rows, labels)
    truth_rows = rows.copy()
    truth_rows[0, :3] = 1.0  # whatever a row holds, its own prior is the same
    states = states_of(through_file(forest), domain, {}, points=False)
    one, other = (fitted(states, states.of_rows(table), 0) for table in (rows, truth_rows))
    fold = one.fold[0]
    assert np.array_equal(one.log_prior[fold], other.log_prior[fold])
    shares = np.exp(one.log_prior[0])
    start = np.concatenate([[0], np.cumsum(states.n_states)])
    for first, last in pairwise(start):
        assert shares[:, first:last].sum(axis=1) == pytest.approx(1.0)


def stays_where_it_is(truth: ExplainedRows, k: int, a: int, s: int) -> bool:
    """Return whether a row stays in its leaves and leaves every split its bounds if one attribute has another state."""
    nodes, walks, data = truth.nodes, truth.nodes.walks, truth.dataset(0)
    for t in np.flatnonzero(truth.times[:, k]):
        v = walks.root[t]
        while walks.attribute[v] >= 0:
            of, begin, end = walks.attribute[v], *walks.right[2 * v : 2 * v + 2]
            ways = [begin <= state < end for state in (data.state[k, of], s if of == a else data.state[k, of])]
            if ways[0] != ways[1]:
                return False
            if of == a and not walks.one_hot[a] and s != walks.missing[a]:
                if np.isnan(nodes.twice[v]):
                    least, most = nodes.lowest[v], nodes.highest[v]
                    if s < least or 0 <= most < s:
                        return False
                elif (s < data.above[v]) if ways[0] else (s > data.below[v]):
                    return False
            v = walks.child[2 * v + ways[0]]
    return True


def with_gaps() -> tuple[np.ndarray, np.ndarray, Domain]:
    """Return the wines of `numeric` with gaps in two columns."""
    rows, labels, domain = numeric()
    rows = rows.copy()
    rows[np.random.default_rng(2).random(rows.shape) < 0.2] = np.nan
    rows[:, 2:] = np.where(np.isnan(rows[:, 2:]), np.nanmedian(rows[:, 2:], axis=0), rows[:, 2:])
    attributes = tuple(replace(one, missing=c < 2) for c, one in enumerate(domain.attributes))
    return rows, labels, replace(domain, attributes=attributes)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("table", [discrete, numeric, with_gaps])
@pytest.mark.parametrize("name", ["bagging", "all rows"])
def test_the_states_in_a_box_are_those_that_change_no_leaf_and_no_bound(table, name):
    truth, _ = truth_of(MODELS[name](), *table())
    alone = np.arange(truth.n_rows)

    for k in alone[::7]:
        # A single row that moves: what holds the others' bounds is fixed, so that all of its own states are compared.
        inside = open_states(truth, np.array([k]), GO_ON)
        for a, first in enumerate(truth.nodes.start[:-1]):
            size = truth.nodes.start[a + 1] - first
            expected = np.array([stays_where_it_is(truth, int(k), a, s) for s in range(size)])
            found = inside[0, first : first + size]
            held = found.sum() == 1 and found[truth.state[k, a]]  # the row may be needed by a bound
            assert (found == expected).all() or held
            assert expected[truth.state[k, a]]


def test_nothing_follows_after_a_stop():
    truth, _ = truth_of(MODELS["bagging"](), *discrete())
    assert open_states(truth, np.arange(truth.n_rows), STOP) is None
