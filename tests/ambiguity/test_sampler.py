"""Chains from the truth: they visit what explains the file, nothing else, and as often as the prior says."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from pytest_draft.ambiguity import sampler
from pytest_draft.ambiguity.bits_of_counts import block_bits, boxes, cell_bits
from pytest_draft.ambiguity.explained import ExplainedRows, explained
from pytest_draft.ambiguity.population import fitted, uniform
from pytest_draft.ambiguity.sampler import ExplainingChain
from pytest_draft.ambiguity.values import StateValues
from pytest_draft.artifact import occurrences
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


def truth_of(model, rows, labels, domain, **known) -> tuple[ExplainedRows, StateValues, object]:
    forest = through_file(model.fit(rows, labels))
    is_class = forest.classes is not None
    made = explained(
        forest, domain, rows, labels if is_class else np.zeros(len(rows), np.int64), occurrences(forest), **known
    )
    assert made is not None
    return made, StateValues(made.states, made.fixed, made.times, rows, forest, None), forest


MODELS = {
    "bagging": lambda: RandomForestClassifier(8, max_depth=3, random_state=0),
    "all rows": lambda: RandomForestClassifier(3, max_depth=2, bootstrap=False, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(3, max_depth=2, random_state=0),
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("columns", [discrete, numeric])
def test_every_sample_explains_every_observation_and_some_rows_move(kind, columns):
    rows, labels, domain = columns()
    truth, values, forest = truth_of(MODELS[kind](), rows, labels, domain)
    assert truth.unexplained == 0
    chain = ExplainingChain(truth, fitted(truth.states, truth.state.astype(np.int64), 0), 0)
    for _ in range(60):
        chain.turn()
    assert chain.changed.any()
    rng = np.random.default_rng(0)
    for state in chain.samples[-3:]:
        data = truth.dataset(0)
        data.state[:] = state
        fill(truth.nodes, data)
        assert missed(truth.nodes, data) == (0, 0)
        sample = values.of(state.astype(np.int64), rng, BOX)
        everyone = KnownRows(sample, labels, truth.times.astype(np.int64))
        found = identify_in_order(forest, everyone, known_by_row=False)
        assert found.status == "confirmed"
        assert not domain.outside(sample.astype(np.float64))


def test_whatever_the_adversary_knows_stays_as_it_is():
    rows, labels, domain = discrete()
    truth, values, _ = truth_of(MODELS["all rows"](), rows, labels, domain, known=(1,), known_rows=np.arange(9))
    chain = ExplainingChain(truth, uniform(truth.states, len(rows)), 0, moving=np.arange(9, 40))
    for _ in range(40):
        chain.turn()
    sample = values.of(chain.samples[-1].astype(np.int64), np.random.default_rng(0), BOX)
    assert chain.changed.any()
    assert not chain.changed[:9].any()
    assert (sample[:, 1] == rows[:, 1]).all()
    assert (sample[:9] == rows[:9]).all()


def test_a_regressors_rows_stay_in_their_leaves():
    rows, _, domain = discrete()
    model = RandomForestRegressor(5, max_depth=2, random_state=0)
    truth, _, forest = truth_of(model, rows, rows @ np.arange(7), domain)
    chain = ExplainingChain(truth, uniform(truth.states, len(rows)), 0, within_cells=True)
    for _ in range(40):
        chain.turn()
    leaf = truth.dataset(0).leaf
    data = truth.dataset(0)
    data.state[:] = chain.samples[-1]
    fill(truth.nodes, data)
    assert chain.changed.any()
    assert (data.leaf == leaf).all()
    assert forest.classes is None


def test_rows_that_do_not_explain_the_file_are_no_truth():
    rows, labels, domain = discrete()
    forest = through_file(MODELS["bagging"]().fit(rows, labels))
    assert explained(forest, domain, rows[::-1].copy(), labels, occurrences(forest)) is None


def multiset(dataset: np.ndarray) -> tuple:
    """Return a dataset as something that is equal for equal rows in any order."""
    return tuple(sorted(map(tuple, dataset.tolist())))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_what_explains_a_small_file_is_visited_as_often_as_it_is_likely(seed):
    """Under the uniform prior all assignments are alike: the shares of a long chain are those of their numbers."""
    one = next(
        found
        for found in generated(40, seed, labels_fixed=True)
        if 3 <= len(found.datasets) <= 12 and not found.instance.forest.kind.startswith("RandomForest")
    )
    instance = one.instance
    rows, labels = instance.truth.rows.astype(np.float32), instance.truth.labels
    truth = explained(instance.forest, instance.domain, rows, labels, instance.occurrences)
    chain = ExplainingChain(truth, uniform(truth.states, len(rows)), 3)
    values = StateValues(truth.states, truth.fixed, truth.times, rows, instance.forest, None)
    rng, met = np.random.default_rng(0), Counter()
    for _ in range(1_500):
        chain.turn()
        dataset = values.of(chain._data.state.astype(np.int64), rng, BOX)
        met[multiset(dataset)] += 1
    likely = Counter()
    for dataset, weight in zip(one.datasets, one.weight, strict=True):
        likely[multiset(dataset)] += weight
    assert set(met) <= set(likely)
    whole = sum(likely.values())
    assert sum(abs(met[key] / 1_500 - weight / whole) for key, weight in likely.items()) < 0.2


@pytest.mark.nightly
@pytest.mark.parametrize("partition", [1, 2, 4])
def test_no_more_datasets_are_counted_than_explain_a_small_file_in_any_order(partition, monkeypatch):
    monkeypatch.setattr(sampler, "PARAMETERS", replace(sampler.PARAMETERS, partition=partition))
    short = []
    for one in generated(60, 20, labels_fixed=True):
        instance = one.instance
        rows, labels = instance.truth.rows.astype(np.float32), instance.truth.labels
        truth = explained(instance.forest, instance.domain, rows, labels, instance.occurrences)
        chain = ExplainingChain(truth, uniform(truth.states, len(rows)), 3)
        within = cell_bits(truth, np.arange(len(rows)), GO_ON)
        monkeypatch.setattr(sampler, "cell_bits", lambda *_: 0.0)
        of_blocks = chain.bits(lambda: False)
        monkeypatch.setattr(sampler, "cell_bits", cell_bits)
        assert max(within, of_blocks) <= np.log2(one.number) + 1e-9
        short.append(np.log2(one.number) - max(within, of_blocks))
    assert np.mean(short) < 1.0


@pytest.mark.parametrize("bootstrap", [False, True])
def test_known_rows_add_no_datasets(bootstrap):
    rows, labels, domain = discrete()
    forest = through_file(RandomForestClassifier(3, max_depth=2, bootstrap=bootstrap, random_state=0).fit(rows, labels))
    known, unknown = np.arange(38), np.arange(38, 40)
    truth = explained(forest, domain, rows, labels, occurrences(forest), known_rows=known)
    assert 0 <= cell_bits(truth, unknown, GO_ON) <= 2 * np.log2(domain.n_vectors)
    assert cell_bits(truth, known, GO_ON) == 0


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
        counted[bootstrap] = cell_bits(truth, np.arange(30), GO_ON)
    assert counted[False] == pytest.approx(all_of_them)
    assert counted[True] == pytest.approx(all_of_them)


def test_choices_of_blocks_that_make_the_same_multiset_are_one():
    assert block_bits([{(1, 2), (1, 3)}, {(2, 4), (3, 4)}]) == 1.0
    assert block_bits([{(1, 2), (1, 3)}, {(5, 4), (6, 4)}]) == 2.0
    assert block_bits([{(1, 2), (1, 3)}, {(2, 3)}, set()]) == 1.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        met = [
            {tuple(sorted(row)) for row in rng.integers(0, rng.integers(3, 9), (rng.integers(1, 6), 2)).tolist()}
            for _ in range(3)
        ]
        different = {tuple(sorted(sum(choice, ()))) for choice in product(*met)}
        assert block_bits(met) <= np.log2(len(different)) + 1e-9


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
    truth, _, _ = truth_of(MODELS[name](), *table())
    alone = np.arange(truth.n_rows)

    for k in alone[::7]:
        # A single row that moves: what holds the others' bounds is fixed, so that all of its own states are compared.
        inside, _ = boxes(truth.nodes, truth.dataset(0), np.array([k]), GO_ON)
        for a, first in enumerate(truth.nodes.start[:-1]):
            size = truth.nodes.start[a + 1] - first
            expected = np.array([stays_where_it_is(truth, int(k), a, s) for s in range(size)])
            found = inside[0, first : first + size]
            held = found.sum() == 1 and found[truth.state[k, a]]  # the row may be needed by a bound
            assert (found == expected).all() or held
            assert expected[truth.state[k, a]]


def test_nothing_moves_and_nothing_is_counted_after_a_stop():
    truth, _, _ = truth_of(MODELS["bagging"](), *discrete())
    chain = ExplainingChain(truth, uniform(truth.states, truth.n_rows), 0, stop=STOP)

    for _ in range(5):
        chain.turn()

    assert not chain.changed.any()
    assert all((sample == truth.state).all() for sample in chain.samples)
    assert chain.bits(lambda: False) == 0.0


def test_a_stop_in_the_middle_of_a_turn_leaves_a_dataset_that_explains_everything():
    truth, _, _ = truth_of(MODELS["bagging"](), *discrete())
    stop = GO_ON.copy()
    chain = ExplainingChain(truth, uniform(truth.states, truth.n_rows), 0, stop=stop)
    ended = threading.Event()

    def turns() -> None:
        while not stop[0]:
            chain.turn()
        ended.set()

    thread = threading.Thread(target=turns, daemon=True)
    thread.start()
    while not chain.changed.any():
        ended.wait(0.01)
    stop[0] = 1

    assert ended.wait(60)
    data = truth.dataset(0)
    for sample in chain.samples:
        data = data._replace(state=sample.copy())
        fill(truth.nodes, data)
        assert sum(missed(truth.nodes, data)) == 0
