"""Evidence that the package doesn't know: made up here, and attacked, bounded, guessed and judged as any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from numba import njit
from numba.core.caching import Cache
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import Answers
from pytest_draft.attack.evidence.evidence import evidence_of, model_of, scored_by
from pytest_draft.attack.redacted import redacted
from pytest_draft.attack.walk.chain import RowChain
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.domain import declared
from pytest_draft.examine import inputs as reading
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.published import Published
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge
from studies.files import through_file


@dataclass(frozen=True, kw_only=True)
class ColumnMeans(Answers):
    """Of each leaf only the mean of one column over its rows."""

    named = "column means"

    def answered_by_kind(self, counts, values):
        with_value = counts.sum(axis=2)
        return (with_value @ values / with_value.sum(axis=1, keepdims=True))[:, :1]

    def published(self, seeded, draws, value):
        return Published(seeded, draws, None, "the mean of a column", left=True)


@njit
def off(evidence, rows, leaf, n_kinds):
    """Return minus what it costs that a leaf's sum is not its rows times the mean."""
    n_rows, total = 0.0, 0.0
    for kind in range(n_kinds):
        n_rows += rows[leaf * n_kinds + kind]
        total += rows[leaf * n_kinds + kind] * evidence.worth[kind]
    return -6.0 * (abs(total - n_rows * evidence.mean[leaf]) + (n_rows < 1.0))


@scored_by(off, exact=True)
@redacted
class Means(NamedTuple):
    """The means, and what a row of each kind adds to a sum."""

    reads: tuple[int, ...]
    worth: np.ndarray
    mean: np.ndarray

    def lacking(self, rows):
        number = rows.sum(axis=1)
        return int(np.ceil(np.abs(rows @ self.worth - number * self.mean) - 1e-9).sum() + (number == 0).sum())


@evidence_of.register(ColumnMeans)
def _(observation, forest, domain, n_rows, most_rows=None):
    attribute = int(domain.attribute_of_column[observation.reads[0]])
    made = domain.attributes[attribute]
    worth = np.repeat(made.encoded(np.arange(made.n_values))[:, 0].astype(float), forest.n_classes)
    mean = np.concatenate([tree.value[tree.leaves, 0] for tree in forest.trees])
    return Means((attribute,), worth, mean)


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_kept_of_what_is_compiled_here():
    """Another process could not load it: it doesn't know the class."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "save_overload", lambda *_: None)
        yield


def telling_means(forest, rows, column):
    """Return a forest whose leaves tell the mean of a column, as rows give it."""
    said = ColumnMeans(more_left=False, reads=(column,))
    trees = []
    for tree in forest.trees:
        value = np.zeros((tree.n_nodes, 1))
        node = np.zeros(len(rows), dtype=int)
        while (inner := tree.left[node] >= 0).any():
            here = node[inner]
            left = rows[inner, tree.feature[here]] <= tree.threshold[here]
            node[inner] = np.where(left, tree.left[here], tree.right[here])
        for leaf in tree.leaves:
            value[leaf, 0] = rows[node == leaf, column].astype(float).mean()
        nothing = np.zeros(tree.n_nodes)
        trees.append(replace(tree, value=value, weight=nothing, n_distinct=nothing.astype(np.int64), seed=None))
    return replace(forest, trees=tuple(trees), observation=said, n_samples=None)


TINY = declared(["a", "b"], {"a": {"kind": "ordinal", "low": 0, "high": 2}, "b": {"kind": "binary"}}, "test")


def test_by_enumeration_the_walk_draws_each_dataset_as_often_as_it_is_likely():
    rows, labels = np.array([[0, 0], [2, 1], [1, 1]], dtype=np.float32), np.array([0, 1, 1])
    model = RandomForestClassifier(2, bootstrap=False, max_depth=1, random_state=1).fit(rows, labels)
    forest = telling_means(through_file(model), rows, 0)
    leaves = model_of(forest, TINY, 3)
    nothing = np.full((3, 2), -1, np.int32), labels  # labels are known, so that there are few datasets
    problem = RowProblem(TINY, None, leaves, *nothing, (3, 3))
    chain = RowChain(problem, 3, [0], log_prior=np.zeros((2, 5)))
    chain.sweep(20, 4.0, 1.0)
    of = list(product(product(range(3), range(2)), repeat=3))
    chance = np.exp([leaves.log_likelihood(np.array(one, dtype=np.int32), labels) for one in of])
    right = np.array([leaves.lacking(leaves.rows_at_leaves(np.array(one, dtype=np.int32), labels)) == 0 for one in of])
    assert 0 < right.sum() < len(of)
    assert (chance[right] == 1.0).all()
    assert (chance[~right] < 0.2).all()
    fresh = leaves.counts(leaves.rows_at_leaves(*chain.dataset))
    for kept, counted in zip(chain._counts[:4], fresh[:4], strict=True):
        assert kept == pytest.approx(counted)
    times = dict.fromkeys(of, 0)
    for _ in range(20_000):
        chain.sweep(1, 2.0, 2.0, fixed=True)  # half as likely on a log scale, so that the chain gets around
        times[tuple(map(tuple, chain.dataset[0].tolist()))] += 1
    share = chance**0.5 / (chance**0.5).sum()
    assert np.abs(np.array([times[one] for one in of]) / 20_000 - share).sum() < 0.15


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(2)
    rows = pd.DataFrame(random.integers(0, 3, (40, 5)), columns=list("abcde"))
    return rows.assign(y=(rows.a + rows.b + random.integers(0, 3, 40) > 2).astype(int))


@pytest.fixture
def examined(table, tmp_path, monkeypatch):
    """Return a function that examines a forest whose file tells the means of one column only."""

    def examination(data=table, **parameters):
        model = RandomForestClassifier(10, max_depth=4, random_state=None, **parameters)
        joblib.dump(model.fit(table[list("abcde")], table.y), tmp_path / "model.joblib")

        def read_so(*arguments, **named):
            artifact = read(*arguments, **named)
            of_means = telling_means(artifact.forest, table[list("abcde")].to_numpy(np.float32), 2)
            return replace(artifact, model=of_means)

        monkeypatch.setattr(reading, "read", read_so)
        return examine(Case(str(tmp_path / "model.joblib"), target="y", seconds=20), data)[0]

    return examination


@pytest.mark.nightly
def test_it_is_attacked_bounded_guessed_and_judged(examined):
    found = examined(bootstrap=False)
    whole, told = found.findings.whole, {column.name: column.told for column in found.informed.columns}
    assert found.findings.identity.status == "confirmed"
    assert whole.error.upper < whole.random.error
    assert whole.ideal.least_error <= whole.error.upper
    assert told["c"] == 1.0  # whoever knows all other rows reads the column that it tells of
    checks = {check.rule: check for check in judge(found, default_policy())}
    assert "only the mean of a column in its leaves" in checks["counts-published"].sentence
    unread = ("given-all-other-rows", "determined-rows", "label-told", "membership")
    assert not [rule for rule in unread if checks[rule].result == "passed"]


@pytest.mark.nightly
def test_rows_that_do_not_give_what_it_says_are_others(examined, table):
    found = examined(data=table.assign(c=2 - table.c), bootstrap=False)
    assert found.findings.identity.status == "mismatch"
    assert "its column means cannot come from them" in found.findings.identity.why
