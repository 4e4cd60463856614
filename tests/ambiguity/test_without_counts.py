"""Datasets behind leaves without counts: rows stay in all their leaves, and bounds are on the safe side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.ambiguity.alternatives import Alternatives, alternatives_to
from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.ambiguity.population import row_kinds
from pytest_draft.ambiguity.sampled import ideal_of
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.states import states_of
from pytest_draft.domain import Attribute, Domain
from pytest_draft.hardening.model import hardened
from pytest_draft.matching import encoded_weights, matched_distance, row_identities, unmatched
from pytest_draft.timebox import TimeBox
from studies.files import through_file
from tests.shared.stripping import stripped

pytestmark = pytest.mark.nightly

DOMAIN = Domain(("a", "b", "c"), tuple(Attribute(name, "binary", (c,)) for c, name in enumerate("abc")), "made")
CODES = Domain(
    ("a", "b", "c"),
    (*(Attribute(name, "binary", (c,)) for c, name in enumerate("ab")), Attribute("c", "ordinal", (2,), 0.0, 3.0)),
    "made",
)


def made(n_rows: int, seed: int, domain: Domain = DOMAIN) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a domain, and labels of which both occur."""
    rng = np.random.default_rng(seed)
    sizes = [attribute.n_values for attribute in domain.attributes]
    rows = rng.integers(0, sizes, (n_rows, 3)).astype(np.float32)
    labels = rng.integers(0, 2, n_rows)
    labels[:2] = 0, 1
    return rows, labels


def behind(rows: np.ndarray, labels: np.ndarray, level: str = "counts", **parameters: object) -> Forest:
    """Return a forest that was trained on some rows, without its counts."""
    model = RandomForestClassifier(random_state=0, **{"n_estimators": 3, "max_depth": 2, **parameters})
    return through_file(stripped(model.fit(rows, labels), level))


def search(
    forest: Forest, domain: Domain, rows: np.ndarray, labels: np.ndarray, seed: int = 0, **known: object
) -> Alternatives | None:
    """Return datasets that explain the file as well, of all rows unless some are known."""
    known = {"unknown": np.arange(len(rows)), **known}
    return alternatives_to(forest, domain, rows, labels, None, seed, TimeBox(1e9), **known)


def test_rows_of_a_holdout_are_among_the_kinds_and_labels_are_as_the_rows_have_them():
    rows, labels = np.zeros((30, 3), np.int64), np.repeat([0, 1], 15)
    rows[15:, 0] = 1
    states = states_of(behind(rows.astype(np.float32), labels), CODES, {}, points=False)
    others = np.tile([[0, 1, 3]], (30, 1))
    alone, beside = (row_kinds(states, rows, labels, 2, 0, held) for held in (others[:0], others))

    def share(found, row):
        return np.exp(found.log_prior[(found.state == row).all(axis=1)]).sum(axis=0)

    assert beside.log_prior.shape[1] == 2
    assert np.exp(beside.log_prior).sum() == pytest.approx(1)
    assert share(beside, [0, 1, 3]).sum() > 0.4 > 0.1 > share(alone, [0, 1, 3]).sum()
    assert share(alone, [1, 0, 0])[1] > 5 * share(alone, [1, 0, 0])[0]
    assert (beside.drawn(states, np.random.default_rng(0), np.arange(200)) == [0, 1, 3]).all(axis=1).sum() > 60


def test_a_row_that_is_seen_once_is_less_likely_than_its_share_and_what_is_missing_goes_to_rows_unseen():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, [2, 2, 4], (12, 3))
    states = states_of(behind(rows.astype(np.float32), rng.integers(0, 2, 12)), CODES, {}, points=False)
    labels = np.arange(12) % 2
    found = row_kinds(states, rows, labels, 2, 0, rows[:0])
    vector, number = np.unique(rows, axis=0, return_counts=True)
    seen = (found.state[:, None] == vector).all(axis=2)
    assert (number == 1).any()
    assert (number == 2).any()
    assert len(found.state) > len(vector)
    by_kind = np.exp(found.log_prior).sum(axis=1)
    assert by_kind[~seen.any(axis=1)].sum() > 0.02
    assert by_kind[seen.any(axis=1)].sum() < 0.98


@pytest.mark.parametrize("level", ["counts", "decimals:2", "labels"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_true_rows_tell_the_counts_that_were_removed(level, kind):
    rows, labels = made(30, 0, CODES)
    model = kind(4, bootstrap=False, random_state=0, max_depth=3).fit(rows, labels)
    whole, without = through_file(model), through_file(stripped(model, level))
    counted = counted_by(without, rows, labels)
    assert counted is not None
    for t, tree in enumerate(counted.trees):
        assert counted.counts(t)[0].tolist() == whole.counts(t)[0].tolist()
        if level != "labels":  # where equal neighbours are one leaf
            assert (counted.counts(t) == whole.counts(t)).all()
        assert (tree.n_distinct == counted.counts(t).sum(axis=1)).all()


@pytest.mark.parametrize("level", ["seeds", "counts", "labels"])
def test_rows_of_every_dataset_lie_in_the_same_leaves_of_all_trees(level):
    rows, labels = made(30, 2, CODES)
    forest = behind(rows, labels, level)
    for one in search(forest, CODES, rows, labels).sampled:
        assert any((sample != rows).any() for sample in one.datasets)
        for sample in one.datasets:
            for tree in forest.trees:
                here, there = (leaf_positions(tree, np.ascontiguousarray(table.T)) for table in (sample, rows))
                assert (here == there).all()


@pytest.mark.parametrize("bootstrap", [False, True])
def test_nothing_is_said_of_rows_that_do_not_explain_the_leaves(bootstrap):
    rows, labels = made(30, 0, CODES)
    forest = behind(rows, labels, bootstrap=bootstrap, max_depth=None, n_estimators=8)
    others, their_labels = made(30, 5, CODES)
    assert search(forest, CODES, others, their_labels) is None


NUMERIC = replace(CODES, attributes=(*CODES.attributes[:2], Attribute("c", "numeric", (2,), 0.0, 9.0)))


def test_numeric_columns_with_bootstrap_are_left_out_where_thresholds_lie_midway_between_values():
    rows, labels = made(20, 0, CODES)
    rows[:, 2] = np.random.default_rng(0).uniform(0, 9, 20)
    assert search(behind(rows, labels), NUMERIC, rows, labels) is None


def test_numeric_columns_with_bootstrap_are_sampled_where_thresholds_tell_gaps_only():
    rows, labels = made(20, 0, CODES)
    rows[:, 2] = np.random.default_rng(0).uniform(0, 9, 20)
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(rows, labels)
    without, _ = hardened(model, "counts", rows)
    forest = through_file(without)
    found = search(forest, NUMERIC, rows, labels)
    assert found is not None
    states = states_of(forest, NUMERIC, {}, points=False)
    for dataset in found.sampled[0].datasets:
        assert (dataset[:, 2] >= 0).all() and (dataset[:, 2] <= 9).all()
        assert (states.of_rows(dataset) >= 0).all()
    assert len(np.unique(np.stack([dataset[:, 2] for dataset in found.sampled[0].datasets]))) > 20


@pytest.mark.parametrize("bootstrap", [False, True])
def test_few_shallow_trees_leave_datasets_far_apart_and_bounds_between_nothing_and_the_guess_without_a_file(bootstrap):
    rows, labels = made(40, 3, CODES)
    forest = behind(rows, labels, bootstrap=bootstrap, n_estimators=2)
    found = search(forest, CODES, rows, labels)
    assert found is not None
    assert found.facts.bits > 10
    assert [one.prior for one in found.sampled] == ["population", "uniform", *(["other rows"] if bootstrap else [])]
    ideal = ideal_of(found.sampled, encoded_weights(CODES), 40, TimeBox(1e9))
    assert ideal is not None
    assert 0 < ideal.least_error <= 1.2 * ideal.error_without_file


def test_known_values_and_rows_stay():
    rows, labels = made(30, 3, CODES)
    forest = behind(rows, labels)
    unknown = np.arange(10, 30)
    found = search(forest, CODES, rows, labels, unknown=unknown, known=(1,))
    assert found is not None
    for one in found.sampled:
        assert one.rows.tolist() == unknown.tolist()
        for dataset in one.datasets:
            assert (dataset[:, 1] == rows[unknown, 1]).all()
            assert (dataset != rows[unknown]).any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", ["counts", "labels"])
def test_other_peoples_rows_alone_get_no_closer_and_meet_no_more_than_is_told_of_a_file(level, seed):
    """A population of few kinds of rows, some of them common: as many other rows come close without any file."""
    rng = np.random.default_rng([seed, 8])
    domain = Domain(tuple("abcdefgh"), tuple(Attribute(n, "binary", (c,)) for c, n in enumerate("abcdefgh")), "made")
    people = rng.integers(0, 2, (25, 8)).astype(np.float32)
    share = 1 / np.arange(1, 26)
    rows = people[rng.choice(25, 60, p=share / share.sum())]
    labels = (rows[:, 0] + rows[:, 1] > rng.integers(0, 3, 60)).astype(np.int64)
    labels[:2] = 0, 1
    forest = behind(rows, labels, level, min_samples_leaf=8)
    found = search(forest, domain, rows, labels, seed)
    assert found is not None
    weights = encoded_weights(domain)
    ideal = ideal_of(found.sampled, weights, 60, TimeBox(1e9))
    others = [people[rng.choice(25, 60, p=share / share.sum())] for _ in range(12)]
    error = np.mean([matched_distance(rows, other, weights, TimeBox(1e9)).upper for other in others])
    met = [60 - len(unmatched(*row_identities(rows, other))[0]) for other in others]
    assert ideal.least_error <= error
    assert ideal.most_perfect_rows >= np.mean(met)


def test_what_is_known_of_a_row_stays_and_the_rest_is_drawn_among_other_peoples_rows():
    rows, labels = made(40, 3, CODES)
    forest = behind(rows, labels, n_estimators=2)
    found = search(forest, CODES, rows, labels, unknown=np.arange(30), known=[1])
    assert found is not None
    among = next(one for one in found.sampled if one.prior == "other rows")
    assert all((dataset[:, 1] == rows[:30, 1]).all() for dataset in among.datasets)
    assert any((dataset[:, 2] != rows[:30, 2]).any() for dataset in among.datasets)
