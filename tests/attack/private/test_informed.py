"""The informed adversary on noisy counts: what it scores, what it believes, what it guesses."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest

from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.groups import Groups, KnownRows, KnownValues
from pytest_draft.attack.private.informed import KnownPopulation, _least_error, guess_alone, noisy_score
from pytest_draft.domain import declared
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.timebox import TimeBox

SPEC = {
    "job": {"kind": "one-hot", "columns": ["x", "y", "z"]},
    "old": {"kind": "binary"},
    "children": {"kind": "ordinal", "low": 1, "high": 4},
    **{name: {"kind": "binary"} for name in "abcd"},
}
DOMAIN = declared(["x", "y", "z", "old", "children", *"abcd"], SPEC, "test")
N_CLASSES = 2


def people(n_rows, seed=0):
    """Return rows of a few kinds of people, each attribute changed now and then, and their labels."""
    rng = np.random.default_rng(seed)
    vectors = DOMAIN.vectors()
    kinds = vectors[rng.integers(len(vectors), size=6)]
    kind = rng.integers(6, size=n_rows)
    rows, others = kinds[kind], vectors[rng.integers(len(vectors), size=n_rows)]
    for attribute in DOMAIN.attributes:
        columns = list(attribute.columns)
        changed = rng.random(n_rows) < 0.15
        rows[np.ix_(changed, columns)] = others[np.ix_(changed, columns)]
    return rows, (kind + (rng.random(n_rows) < 0.1)) % 2


def counts_of(tree, rows, labels):
    table = np.zeros((len(tree.leaves), N_CLASSES), np.int64)
    np.add.at(table, (leaf_positions(tree, np.ascontiguousarray(rows.T)), labels), 1)
    return table


@pytest.fixture(scope="module")
def released(released):
    """Return a function that makes a forest which releases noisy counts of some rows of `DOMAIN`."""
    return partial(released, DOMAIN, n_trees=8, depth=4)


def known(rows, labels, n_trees=1):
    return KnownRows(rows, labels, np.ones((n_trees, len(rows)), np.int64))


def alone(n_rows, values=None):
    return Groups(np.zeros(n_rows, np.int64), np.array([n_rows]), np.ones((1, 1), np.int64), values)


def guesses(forest, rows, labels, unknown, groups=None, timebox=None):
    everyone = known(rows, labels, forest.n_trees)
    score = noisy_score(forest, DOMAIN, CountNoise.of(forest.observation.privacy), everyone, unknown)
    return guess_alone(
        DOMAIN, groups or alone(len(unknown)), everyone, unknown, score, N_CLASSES, timebox or TimeBox(60)
    )


def by_score(score, unknown=(0,), n_rows=30, values=None, labels=None):
    """Return guesses at rows that some scores, shape (n_vectors, n_classes), are all that is told of."""
    rows, drawn = people(n_rows)
    unknown = np.array(unknown)
    everyone = known(rows, drawn if labels is None else labels)
    groups = alone(len(unknown), values)
    return guess_alone(DOMAIN, groups, everyone, unknown, lambda _: score, N_CLASSES, TimeBox(60))


def belief_at(row, score, n_rows=30):
    """Return the posterior of each vector, by the population and Bayes' rule."""
    rows, labels = people(n_rows)
    joint = KnownPopulation.of(DOMAIN, rows, labels, N_CLASSES).without(row) * np.exp(score)
    return joint.sum(axis=1) / joint.sum()


@pytest.mark.nightly
@pytest.mark.parametrize(("mechanism", "rounding"), [("laplace", "sum"), ("laplace", "noise"), ("gaussian", "sum")])
def test_a_score_is_how_much_likelier_the_release_becomes(released, mechanism, rounding):
    rows, labels = people(12)
    forest = released(rows, labels, mechanism=mechanism, rounding=rounding, n_trees=3)
    noise, unknown = CountNoise.of(forest.observation.privacy), np.array([7, 2])
    score = noisy_score(forest, DOMAIN, noise, known(rows, labels, 3), unknown)

    def log_likelihood(rows, labels):
        parts = [
            noise.log_probability(forest.released(t), counts_of(tree, rows, labels)).sum()
            for t, tree in enumerate(forest.trees)
        ]
        return sum(parts)

    for i, row in enumerate(unknown):
        others, classes = np.delete(rows, row, axis=0), np.delete(labels, row)
        without, found = log_likelihood(others, classes), score(i)
        for v in range(0, len(found), 17):
            for c in range(N_CLASSES):
                one_more = log_likelihood(np.vstack([others, DOMAIN.vectors()[v]]), np.append(classes, c))
                assert found[v, c] == pytest.approx(one_more - without)


def test_nothing_of_a_row_is_used_in_its_own_attack(released):
    rows, labels = people(40)
    forest = released(rows, labels)
    before = guesses(forest, rows, labels, np.array([5]))
    rows, labels = rows.copy(), labels.copy()
    rows[5], labels[5] = DOMAIN.vectors()[-1], 1 - labels[5]
    after = guesses(forest, rows, labels, np.array([5]))
    assert all((getattr(before, name) == getattr(after, name)).all() for name in ("closest", "valid", "likeliest"))
    assert before.labels == after.labels
    assert before.chance == pytest.approx(after.chance, rel=1e-9)


def test_a_population_is_a_distribution_of_the_other_rows():
    rows, labels = people(50)
    some = KnownPopulation.of(DOMAIN, rows, labels, N_CLASSES)
    found = some.without(3)
    assert found.shape == (DOMAIN.n_vectors, N_CLASSES)
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1)
    rows, labels = rows.copy(), labels.copy()
    rows[3], labels[3] = DOMAIN.vectors()[0], 1 - labels[3]
    assert np.allclose(KnownPopulation.of(DOMAIN, rows, labels, N_CLASSES).without(3), found, rtol=1e-6, atol=0)


def test_a_population_gives_new_rows_more_than_independent_attributes_do():
    rows, labels = people(400)
    new, new_labels = people(4_000)
    vectors = DOMAIN.vectors()
    place = [int((vectors == row).all(axis=1).argmax()) for row in new[400:]]
    found = KnownPopulation.of(DOMAIN, rows, labels, N_CLASSES).without(0)[place, new_labels[400:]]
    independent = np.ones(len(place))
    for attribute in DOMAIN.attributes:
        columns = list(attribute.columns)
        same = (rows[None, :, columns] == new[400:, None, columns]).all(axis=2)
        independent *= (same.sum(axis=1) + 1) / (len(rows) + attribute.n_values)
    independent *= np.bincount(labels)[new_labels[400:]] / len(rows)
    assert np.log(found).mean() > np.log(independent).mean() + 0.5


def test_a_population_of_one_other_row_is_a_distribution_too():
    rows, labels = people(2)
    found = KnownPopulation.of(DOMAIN, rows, labels, N_CLASSES).without(0)
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_guesses_are_the_best_ones_under_the_posterior(seed):
    score = 2 * np.random.default_rng(seed).normal(size=(DOMAIN.n_vectors, N_CLASSES))
    found, belief, vectors = by_score(score), belief_at(0, score), DOMAIN.vectors()

    def expected_error(row):
        return belief @ (np.abs(vectors - row) / DOMAIN.ranges).sum(axis=1)

    columns = [[1, 2, 3, 4] if column == 4 else [0, 1] for column in range(DOMAIN.n_columns)]
    any_rows = np.array(list(product(*columns)), np.float32)
    assert expected_error(found.closest[0]) == pytest.approx(min(map(expected_error, any_rows)))
    assert expected_error(found.valid[0]) == pytest.approx(min(map(expected_error, vectors)))
    assert not DOMAIN.outside(found.valid.astype(float))
    assert (vectors[belief.argmax()] == found.likeliest[0]).all()
    assert found.chance[0] == pytest.approx(belief.max())


def test_a_one_hot_group_without_a_likely_value_is_left_zero_where_that_is_closer():
    vectors = DOMAIN.vectors()
    score = np.full((len(vectors), N_CLASSES), -np.inf)
    for value, share in zip(range(3), (0.4, 0.3, 0.3), strict=True):
        mine = int(np.flatnonzero((vectors[:, value] == 1) & (vectors[:, 3:] == [0, 1, 0, 0, 0, 0]).all(axis=1))[0])
        rows, labels = people(30)
        prior = KnownPopulation.of(DOMAIN, rows, labels, N_CLASSES).without(0)
        score[mine, 0] = np.log(share / prior[mine, 0])
    found = by_score(score)
    assert (found.closest[0, :3] == 0).all()
    assert (found.valid[0, :3] == [1, 0, 0]).all()


def test_almost_exact_counts_are_almost_always_rebuilt(released):
    rows, labels = people(300)
    unknown = np.arange(0, 300, 10)
    found = guesses(released(rows, labels, scale=0.01, n_trees=20), rows, labels, unknown)
    assert (found.likeliest == rows[unknown]).all(axis=1).mean() > 0.9
    assert (found.labels == labels[unknown]).all()


@pytest.mark.nightly
def test_what_is_believed_is_as_often_right(released):
    chance, right, closer = [], [], []
    for seed in range(6):
        rows, labels = people(300, seed)
        unknown = np.arange(0, 300, 4)
        found = guesses(released(rows, labels, seed=seed, scale=1.0), rows, labels, unknown)
        chance += found.chance.tolist()
        right += (found.likeliest == rows[unknown]).all(axis=1).tolist()
        truth, majority = rows[unknown], (rows.mean(axis=0) > 0.5).astype(np.float32)
        majority[4] = np.median(rows[:, 4])
        closer.append((np.abs(majority - truth) - np.abs(found.closest - truth)).mean())
    assert 0.2 < np.mean(right) < 0.95
    assert np.mean(chance) == pytest.approx(np.mean(right), abs=0.08)
    assert np.mean(closer) > 0.05


def test_known_values_are_kept():
    columns = (3, 4)
    values = KnownValues((1, 2), columns, np.array([[1.0, 3.0]], np.float32))
    found = by_score(np.zeros((DOMAIN.n_vectors, N_CLASSES)), unknown=(0, 1), values=values)
    for rows in (found.closest, found.valid, found.likeliest):
        assert (rows[:, columns] == [1, 3]).all()


def test_a_class_that_no_known_row_has_can_be_guessed():
    score = np.zeros((DOMAIN.n_vectors, N_CLASSES))
    score[:, 1] = 50
    assert (by_score(score, labels=np.zeros(30, np.int64)).labels == 1).all()


def test_a_row_that_can_be_nothing_is_infeasible():
    with pytest.raises(InfeasibleError):
        by_score(np.full((DOMAIN.n_vectors, N_CLASSES), -np.inf))


def test_it_stops_when_the_time_is_out(released):
    rows, labels = people(20)
    box = TimeBox(60, effort=1e-6)
    with pytest.raises(OutOfTimeError):
        guesses(released(rows, labels), rows, labels, np.array([0, 1]), timebox=box)


@pytest.mark.parametrize("kind", [{"kind": "binary"}, {"kind": "numeric", "low": 0.0, "high": 1.0}])
def test_domains_that_cannot_be_enumerated_are_refused(released, kind):
    names = [f"c{i}" for i in range(40)]
    domain = declared(names, dict.fromkeys(names, kind), "test")
    rows, labels = people(5)
    forest = released(rows, labels)
    with pytest.raises(NotCoveredError):
        noisy_score(forest, domain, CountNoise.of(forest.observation.privacy), known(rows, labels), np.array([0]))


def test_reprs_show_no_row(released):
    rows, labels = people(20)
    found = guesses(released(rows, labels), rows, labels, np.array([0, 1]))
    assert repr(found) == "<Guesses: 2 rows>"
    assert repr(KnownPopulation.of(DOMAIN, rows, labels, N_CLASSES)) == "<KnownPopulation: 20 rows>"


@pytest.mark.parametrize("job", [["x", "y"], ["x", "y", "z"], ["w", "x", "y", "z"]])
def test_a_guess_may_be_the_value_that_a_one_hot_group_has_no_column_for(job):
    spec = {"job": {"kind": "one-hot", "columns": job, "dropped": True}, "old": {"kind": "binary"}}
    domain = declared([*job, "old"], spec, "test")
    vectors, rng = domain.vectors(), np.random.default_rng(len(job))
    rows, labels = vectors[rng.integers(len(vectors), size=30)], rng.integers(2, size=30)
    for truth, vector in enumerate(vectors):
        score = np.full((len(vectors), N_CLASSES), -50.0)
        score[truth] = 0.0
        found = guess_alone(
            domain, alone(1), known(rows, labels), np.array([3]), lambda _, s=score: s, N_CLASSES, TimeBox(60)
        )
        assert all((getattr(found, name) == vector).all() for name in ("closest", "valid", "likeliest"))


def test_the_closest_guess_of_a_group_with_a_dropped_value_has_the_least_expected_error():
    spec = {"job": {"kind": "one-hot", "columns": ["x", "y"], "dropped": True}, "old": {"kind": "binary"}}
    domain = declared(["x", "y", "old"], spec, "test")
    rng = np.random.default_rng(1)
    for _ in range(20):
        chance = rng.dirichlet(np.ones(domain.n_vectors))
        closest, valid = _least_error(domain, chance)
        expected = {row: chance @ np.abs(domain.vectors() - row).mean(axis=1) for row in product((0.0, 1.0), repeat=3)}
        assert expected[tuple(closest)] == pytest.approx(min(expected.values()))
        assert (domain.vectors() == valid).all(axis=1).any()
