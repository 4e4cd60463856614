"""The search for other datasets ends when the time is out, or nobody waits, also while it prepares."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.ambiguity import behind_counts
from pytest_draft.ambiguity.alternatives import AlternativesSearch, Stop
from pytest_draft.ambiguity.bounds import kept
from pytest_draft.ambiguity.explained import explained
from pytest_draft.artifact import occurrences
from pytest_draft.attack.numeric.energy import nodes_of
from pytest_draft.domain import infer
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox
from studies.files import through_file

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def told():
    rows = np.random.default_rng(0).integers(0, 3, (50, 4)).astype(np.float32)
    labels = np.arange(50) % 2
    forest = through_file(RandomForestClassifier(6, random_state=0).fit(rows, labels))
    return forest, infer(list("abcd"), rows.astype(float)), rows, labels, occurrences(forest)


def test_no_step_of_its_preparation_ignores_the_end(told):
    asked = []
    assert explained(*told, in_time=lambda: asked.append(1)) is not None
    assert len(asked) >= told[0].n_trees + 3

    for place in range(len(asked)):
        left = iter(range(place))

        def end(left=left):
            if next(left, None) is None:
                raise OutOfTimeError

        with pytest.raises(OutOfTimeError):
            explained(*told, in_time=end)


def test_a_search_whose_time_is_out_finds_nothing_and_denies_nothing(told):
    forest, domain, rows, labels, times = told

    search = behind_counts.search(forest, domain, rows, labels, times, 0, TimeBox(1e-9), unknown=np.arange(50))

    assert search.result() is None
    assert search.explained


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("n_rows", [2, 4, 6])
def test_a_table_of_few_rows_gets_as_many_samples_as_any(n_rows, bootstrap):
    rows = np.random.default_rng(n_rows).integers(0, 2, (n_rows, 4)).astype(np.float32)
    labels = np.arange(n_rows) % 2
    model = RandomForestClassifier(3, max_depth=1, bootstrap=bootstrap, random_state=0)
    forest = through_file(model.fit(rows, labels))
    domain = infer(list("abcd"), np.vstack([rows, 1 - rows]).astype(float))
    given = forest, domain, rows, labels, occurrences(forest)

    found = behind_counts.search(*given, 0, TimeBox(600), unknown=np.arange(n_rows)).result()

    assert found is not None
    assert found.facts.samples == kept(len(rows))
    assert {len(one.datasets) for one in found.sampled} == {kept(len(rows))}


@pytest.mark.parametrize(("share", "ended"), [(1e-9, False), (1.0, True)])
def test_that_the_time_ended_the_count_of_datasets_is_known(told, share, ended, monkeypatch):
    forest, domain, rows, labels, times = told
    monkeypatch.setattr(behind_counts, "MOVING_SHARE", share)
    monkeypatch.setattr(behind_counts, "ENOUGH_SWEEPS", 1)

    found = behind_counts.search(forest, domain, rows, labels, times, 0, TimeBox(600), unknown=np.arange(50)).result()

    assert found.facts.bits_ended == ended


def test_a_search_that_nobody_waits_for_ends_in_its_preparation():
    stop = Stop(TimeBox(600))
    stop.require()
    stop.ask()

    with pytest.raises(OutOfTimeError):
        stop.require()


def test_what_is_wrong_is_still_told():
    def look(stop):
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        AlternativesSearch(look, TimeBox(600)).result()


def test_nodes_are_made_tree_by_tree(told):
    forest = told[0]
    made, calls = explained(*told), []
    assert made is not None

    nodes_of(forest, made.states, None, lambda: calls.append(1))

    assert len(calls) == forest.n_trees
