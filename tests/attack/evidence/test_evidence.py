"""A kind of evidence that the package doesn't know: made up here, in one class, and attacked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.caching import Cache
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.attack.compiled_trees import Walks
from pytest_draft.attack.evidence.evidence import LeafModel, scored_by
from pytest_draft.attack.redacted import redacted
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk.chain import RowChain
from pytest_draft.attack.walk.posterior import PosteriorParameters, sample_posterior
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.domain import declared
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox
from studies.files import through_file

DOMAIN = declared(
    ["x", "y", "z", "old", "children"],
    {
        "job": {"kind": "one-hot", "columns": ["x", "y", "z"]},
        "old": {"kind": "binary"},
        "children": {"kind": "ordinal", "low": 1, "high": 5},
    },
    "test",
)
N_ROWS = 30


@njit
def misses(evidence, rows, leaf, n_classes):
    """Return minus what it costs that the larger class has another count than the leaf says."""
    largest = 0.0
    for c in range(n_classes):
        largest = max(largest, rows[leaf * n_classes + c])
    return -3.0 * abs(largest - evidence.largest[leaf])


@scored_by(misses)
@redacted
class LargestCounts(NamedTuple):
    """Of each leaf only how many rows its larger class has, not which class that is."""

    largest: np.ndarray

    @property
    def by_class(self):
        return False

    @property
    def alike(self):
        return np.zeros(0, dtype=np.int64)

    def lacking(self, rows):
        return int(np.abs(rows.max(axis=1) - self.largest).sum())


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_kept_of_what_is_compiled_here():
    """Another process could not load it: it doesn't know the class."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "save_overload", lambda *_: None)
        yield


def drawn(seed):
    rng = np.random.default_rng(seed)
    value = rng.integers(0, [3, 2, 5], (N_ROWS, 3))
    value[:, 2] = np.where(value[:, 0] == 1, 4, value[:, 2] % 2)
    return DOMAIN.encoded(value), (value[:, 1] + (value[:, 2] > 2) > rng.integers(0, 2, N_ROWS)).astype(np.int64)


@pytest.fixture(scope="module", params=range(3))
def attacked(request):
    """Rows, labels, and the problem of a forest of which only `LargestCounts` are known."""
    rows, labels = drawn(request.param)
    model = RandomForestClassifier(12, bootstrap=False, max_depth=4, max_features=2, random_state=request.param)
    forest = through_file(model.fit(rows, labels))
    counts = np.concatenate([forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees)])
    evidence = LargestCounts(counts.max(axis=1).astype(np.float64))
    leaves = LeafModel(DOMAIN, Walks.of(forest, DOMAIN), evidence, *counts.shape)
    unknown = np.full((N_ROWS, 3), -1, np.int32), np.full(N_ROWS, -1)
    return rows, labels, RowProblem(DOMAIN, None, leaves, *unknown, (N_ROWS, N_ROWS))


@pytest.mark.nightly
def test_its_datasets_explain_it_and_their_consensus_is_closer_than_other_rows(attacked):
    rows, labels, problem = attacked
    true = problem.indices(rows), labels
    assert problem.model.log_likelihood(*true) == 0.0
    assert problem.model.lacking(problem.model.rows_at_leaves(*true)) == 0
    posterior = sample_posterior(problem, Search(TimeBox(60.0, 5.0)), PosteriorParameters())
    error, others = (
        matched_distance(rows, guess, encoded_weights(DOMAIN), TimeBox(60.0)).upper
        for guess in (posterior.guess, drawn(99)[0])
    )
    assert posterior.log_likelihood > problem.model.log_likelihood(*RowChain(problem, N_ROWS, [0]).dataset)
    assert error < 0.7 * others


@pytest.mark.nightly
def test_gains_stay_in_step_with_the_rows(attacked):
    _, _, problem = attacked
    chain = RowChain(problem, N_ROWS, [1])
    chain.sweep(20, 4.0, 1.0)
    fresh = problem.model.counts(problem.model.rows_at_leaves(*chain.dataset))
    for kept, counted in zip(chain._counts[:4], fresh[:4], strict=True):
        assert kept == pytest.approx(counted)
