"""The search for other datasets ends when the time is out, also while it prepares."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.ambiguity.alternatives import alternatives_to
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


def test_a_search_whose_time_is_out_finds_nothing(told):
    with pytest.raises(OutOfTimeError):
        alternatives_to(*told, 0, TimeBox(1e-9), unknown=np.arange(50))


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("n_rows", [2, 4, 6])
def test_a_table_of_few_rows_gets_as_many_samples_as_any(n_rows, bootstrap):
    rows = np.random.default_rng(n_rows).integers(0, 2, (n_rows, 4)).astype(np.float32)
    labels = np.arange(n_rows) % 2
    model = RandomForestClassifier(3, max_depth=1, bootstrap=bootstrap, random_state=0)
    forest = through_file(model.fit(rows, labels))
    domain = infer(list("abcd"), np.vstack([rows, 1 - rows]).astype(float))
    given = forest, domain, rows, labels, occurrences(forest)

    found = alternatives_to(*given, 0, TimeBox(600), unknown=np.arange(n_rows))

    assert found is not None
    assert found.facts.samples == kept(len(rows))
    assert {len(one.datasets) for one in found.sampled} == {kept(len(rows))}


def test_nodes_are_made_tree_by_tree(told):
    forest = told[0]
    made, calls = explained(*told), []
    assert made is not None

    nodes_of(forest, made.states, None, lambda: calls.append(1))

    assert len(calls) == forest.n_trees
