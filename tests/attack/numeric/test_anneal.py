"""The sweeps against the energy written down once more, slow and plain."""

from __future__ import annotations

import threading
from itertools import product

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import occurrences
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.moves import Scratch, attributes_tested, gain_of
from pytest_draft.attack.numeric.anneal import exchange, sweep
from pytest_draft.attack.numeric.dataset import count_row
from pytest_draft.attack.numeric.energy import missed
from pytest_draft.attack.numeric.prior import Prior
from pytest_draft.attack.numeric.problem import build_numeric
from pytest_draft.domain import infer
from pytest_draft.timebox import TimeBox
from studies.numeric_agreement import filled, generated

pytestmark = pytest.mark.nightly

SEEDS = range(8)
GO_ON, STOP = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)


def posed(instance):
    """Return the problem of an instance."""
    return build_numeric(
        instance.forest,
        instance.domain,
        group_by_occurrences(occurrences(instance.forest)),
        TimeBox(60, effort=0.05),
    )


def random_state(problem, random):
    return random.integers(problem.states.n_states, size=problem.state.shape)


def begun(seed):
    """Return a generated problem, no prior, and random rows put in."""
    random = np.random.default_rng([seed, 7])
    problem = posed(generated([seed, 3]))
    labels = random.integers(problem.n_classes, size=problem.n_unknown)
    data = filled(problem, random_state(problem, random), labels)
    share = [np.ones(n) for n in problem.states.n_states]
    copula = Prior(0.0, tuple(share), (False,) * len(share)).nothing(problem.n_classes)
    return problem, copula, data, random


def swept(problem, copula, data, rows, temperature, *, fixed_label=True, penalty=1.0, stop=GO_ON):
    room = Scratch.of(problem.nodes.walks, max(problem.n_classes, *problem.states.n_states))
    sweep(problem.nodes._replace(penalty=penalty), copula, data, fixed_label, rows, temperature, room, stop)


def reaching(problem, state, times, t):
    """Return which rows reach each node of a tree, shape (n_nodes of the tree, n_rows), from the states alone."""
    nodes = problem.nodes.walks
    first, last = nodes.root[t : t + 2]
    reach = np.zeros((last - first, len(state)), bool)
    reach[0] = times[t] > 0
    for v in range(first, last):
        if nodes.attribute[v] < 0:
            continue
        own, begin, end = state[:, nodes.attribute[v]], *nodes.right[2 * v : 2 * v + 2]
        right = (begin <= own) & (own < end)
        reach[nodes.child[2 * v] - first] = reach[v - first] & ~right
        reach[nodes.child[2 * v + 1] - first] = reach[v - first] & right
    return reach


def terms(problem, state, label, times):
    """Return by node how far counts and number of different rows are off, and how much speaks against its split."""
    nodes, walks = problem.nodes, problem.nodes.walks
    off, against = np.zeros((2, len(nodes.weight)))
    for t in range(walks.n_trees):
        reach = reaching(problem, state, times, t)
        for v, rows in enumerate(reach, walks.root[t]):
            own = label[rows] if nodes.by_class[v] else np.zeros(rows.sum(), np.int64)
            count = np.bincount(own, weights=times[t, rows], minlength=problem.n_classes)
            off[v] = np.abs(count - nodes.count[v]).sum()
            if nodes.distinct[v] >= 0:
                off[v] += abs(rows.sum() - nodes.distinct[v])
            a = walks.attribute[v]
            if a < 0 or walks.one_hot[a]:
                continue
            own = state[rows, a]
            own = own[own != walks.missing[a]]
            low, high = problem.states.low[a], problem.states.high[a]
            left, right = own[own < walks.right[2 * v]], own[own >= walks.right[2 * v]]
            if not np.isnan(nodes.twice[v]) and len(left) and len(right):
                near, far = left.max(), right.min()
                against[v] += not low[near] + low[far] <= nodes.twice[v] <= high[near] + high[far]
            for bound, outside in (
                (nodes.lowest[v], own < nodes.lowest[v]),
                (nodes.highest[v], own > nodes.highest[v]),
            ):
                if bound >= 0:
                    against[v] += outside.sum() + (bound not in own)
    return off, against


def energy(problem, state, label, times, penalty):
    off, against = terms(problem, state, label, times)
    return float((problem.nodes.weight * off).sum() + penalty * against.sum())


def agrees(problem, data):
    """Return whether all that follows from a dataset's rows is as if they had just been put in."""
    fresh = filled(problem, data.state, data.label)
    for field in ("draws", "present", "leaf"):
        if (getattr(data, field) != getattr(fresh, field)).any():
            return False
    best = ~np.isnan(problem.nodes.twice)
    nearest = (data.below == fresh.below) & (data.above == fresh.above)
    number = (data.n_below == fresh.n_below) & (data.n_above == fresh.n_above)
    return bool((nearest | ~best).all() and number.all() and listed(problem, data))


def listed(problem, data):
    """Return whether each leaf's list holds the rows that are in it, each once, forwards and backwards."""
    for t, leaf in enumerate(data.leaf):
        first, last = problem.nodes.walks.root[t : t + 2]
        for at in first + np.flatnonzero(problem.nodes.walks.leaves[first:last]):
            k, previous, held = data.first[at], -1, []
            while k >= 0 and len(held) <= len(leaf):
                if data.before[t, k] != previous:
                    return False
                held.append(k)
                previous, k = k, data.after[t, k]
            if sorted(held) != np.flatnonzero(leaf == at).tolist():
                return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_what_follows_from_the_rows_is_kept_by_all_that_changes_them(seed):
    problem, copula, data, random = begun(seed)
    nodes, n = problem.nodes, problem.n_unknown
    before = data.state.copy()
    pairs = random.integers(n, size=(3 * n, 2))

    for k in random.permutation(n):
        count_row(nodes, data, k, -1)
        data.state[k] = random.integers(problem.states.n_states)
        count_row(nodes, data, k, 1)
    assert agrees(problem, data)
    swept(problem, copula, data, random.permutation(n), 1.0, fixed_label=False)
    assert agrees(problem, data)
    exchange(nodes, data, pairs, 5.0, GO_ON)
    assert agrees(problem, data)

    assert (data.state != before).any()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_what_a_row_costs_is_what_it_adds_to_the_energy(seed, penalty):
    problem, _, data, _ = begun(seed)
    for k in range(min(6, problem.n_unknown)):
        times = problem.times.copy()
        with_it = energy(problem, data.state, data.label, times, penalty)
        times[:, k] = 0
        without = energy(problem, data.state, data.label, times, penalty)

        nodes = problem.nodes._replace(penalty=penalty)
        count_row(nodes, data, k, -1)
        gain = gain_of(nodes.walks, nodes, data, data.state[k], data.label[k], data.times[:, k])
        count_row(nodes, data, k, 1)

        assert np.isclose(-gain, with_it - without, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_missed_is_what_the_leaves_lack_and_the_splits_contradict(seed):
    problem, _, data, _ = begun(seed)
    off, against = terms(problem, data.state, data.label, problem.times)

    found = missed(problem.nodes, data)

    assert found == (off[problem.nodes.walks.leaves].sum(), against.sum())
    assert sum(found) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_an_attribute_is_tested_where_a_node_on_the_way_tests_it(seed):
    problem, _, data, _ = begun(seed)
    expected = np.zeros(data.state.shape, bool)
    walks = problem.nodes.walks
    for t in range(walks.n_trees):
        for v, rows in enumerate(reaching(problem, data.state, problem.times, t), walks.root[t]):
            if walks.attribute[v] >= 0:
                expected[rows, walks.attribute[v]] = True

    assert (attributes_tested(walks, data.state, problem.times) == expected).all()


def tiny(gaps):
    """Return a problem of five rows with a numeric attribute and a one-hot group, grown with bagging."""
    random = np.random.default_rng(3)
    rows = np.column_stack([random.normal(size=5), np.eye(3)[[0, 1, 2, 0, 1]]]).astype(np.float32)
    rows[:1, 0] = np.nan if gaps else rows[0, 0]
    names, path = ["a", "b_x", "b_y", "b_z"], RandomForestClassifier(3, max_features=None, random_state=1)
    return rows, infer(names, rows.astype(float)), path.fit(rows, [0, 1, 0, 1, 1])


@pytest.mark.parametrize("gaps", [False, True], ids=["no gaps", "gaps"])
@pytest.mark.parametrize("penalty", [0.0, 1.5])
def test_two_rows_are_drawn_as_likely_as_their_energy_says(published, gaps, penalty):
    rows, domain, model = tiny(gaps)
    forest, _ = published(model, rows)
    problem = build_numeric(forest, domain, group_by_occurrences(occurrences(forest)), TimeBox(60))
    sizes = problem.states.n_states
    base = tuple((1 + np.arange(n)) / (1 + np.arange(n)).sum() for n in sizes)
    copula = Prior(0.0, base, (False, False)).nothing(2)
    data = filled(problem, problem.states.of_rows(rows), np.array([0, 1, 0, 1, 1]))
    temperature = 0.8
    two = np.array([0, 1])
    kinds = list(product(range(sizes[0]), range(sizes[1]), range(2), range(sizes[0]), range(sizes[1]), range(2)))
    chance = np.empty(len(kinds))
    for i, (a, b, c, d, e, f) in enumerate(kinds):
        state, label = data.state.copy(), data.label.copy()
        state[two], label[two] = [[a, b], [d, e]], [c, f]
        prior = np.prod([base[0][a], base[1][b], base[0][d], base[1][e]])
        chance[i] = prior * np.exp(-energy(problem, state, label, problem.times, penalty) / temperature)
    chance /= chance.sum()

    found = np.zeros(len(kinds))
    shape = (sizes[0], sizes[1], 2, sizes[0], sizes[1], 2)
    for _ in range(6_000):
        swept(problem, copula, data, np.tile(two, 3), temperature, fixed_label=False, penalty=penalty)
        drawn = np.column_stack([data.state[two], data.label[two]]).ravel()
        found[np.ravel_multi_index(drawn, shape)] += 1

    assert 0.5 * np.abs(found / found.sum() - chance).sum() < 0.08


@pytest.mark.parametrize("seed", SEEDS)
def test_known_values_labels_and_other_rows_stay_as_they_are(seed):
    problem, copula, data, random = begun(seed)
    state, label = data.state.copy(), data.label.copy()
    known = random.random(state.shape) < 0.5
    data.fixed[:] = known
    rows = np.arange(problem.n_unknown // 2)

    for _ in range(3):
        swept(problem, copula, data, rows, 50.0)

    assert (data.state == state)[known].all()
    assert (data.state == state)[len(rows) :].all()
    assert (data.label == label).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_change_places_leave_their_known_values_behind(seed):
    problem, _, data, random = begun(seed)
    state = data.state.copy()
    data.fixed[:, 0] = True
    pairs = random.integers(problem.n_unknown, size=(100, 2))

    exchange(problem.nodes, data, pairs, 50.0, GO_ON)

    assert (data.state[:, 0] == state[:, 0]).all()
    assert (np.sort(data.state, axis=0) == np.sort(state, axis=0)).all()
    assert agrees(problem, data)


def test_the_seed_alone_decides_what_is_drawn():
    states = []
    for start in (1, 1, 2):
        problem, copula, data, _ = begun(0)
        data.random[0] = start
        swept(problem, copula, data, np.arange(problem.n_unknown), 1.0, fixed_label=False)
        states.append(data.state)

    assert (states[0] == states[1]).all()
    assert (states[0] != states[2]).any()


def test_only_better_exchanges_are_made_in_the_cold():
    problem, _, data, random = begun(5)
    before = energy(problem, data.state, data.label, problem.times, 1.0)
    kinds = np.unique(data.state, axis=0, return_counts=True)

    pairs = random.integers(problem.n_unknown, size=(200, 2))
    done = exchange(problem.nodes, data, pairs, 1e-9, GO_ON)

    after = energy(problem, data.state, data.label, problem.times, 1.0)
    assert done > 0
    assert after < before
    assert all(
        (one == other).all()
        for one, other in zip(kinds, np.unique(data.state, axis=0, return_counts=True), strict=True)
    )


def test_no_row_is_shown():
    problem, _, data, _ = begun(0)

    assert repr(data) == f"Dataset({problem.n_unknown} rows, not shown)"
    assert repr(problem.nodes) == f"NodeArrays({len(problem.nodes.weight)} nodes)"


def test_no_row_changes_after_a_stop():
    problem, copula, data, random = begun(0)
    state, label = data.state.copy(), data.label.copy()
    rows = np.arange(problem.n_unknown)
    pairs = random.integers(len(rows), size=(50, 2))

    swept(problem, copula, data, rows, 50.0, fixed_label=False, stop=STOP)
    done = exchange(problem.nodes, data, pairs, 50.0, STOP)

    assert done == 0
    assert (data.state == state).all()
    assert (data.label == label).all()


def test_a_sweep_ends_soon_after_a_stop_and_leaves_whole_rows():
    problem, copula, data, _ = begun(1)
    stop = GO_ON.copy()
    rows = np.tile(np.arange(problem.n_unknown), 20_000)
    before = data.state.copy()
    ended = threading.Event()

    def run() -> None:
        swept(problem, copula, data, rows, 50.0, fixed_label=False, penalty=0.0, stop=stop)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    while (data.state == before).all():
        ended.wait(0.001)
    stop[0] = 1

    assert ended.wait(60)
    other = filled(problem, data.state, data.label)
    assert (other.draws == data.draws).all()
