"""A new observation is a class and a line: it is attacked, bounded and judged, and no other room is touched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import Answers, Observation, Possible, Shares, WinningLabels
from pytest_draft.errors import NotCoveredError
from pytest_draft.examine import inputs as reading
from pytest_draft.examine.flow import examine
from pytest_draft.examine.kinds import Kind, kind_by
from pytest_draft.examine.stripped import Stripped
from pytest_draft.facts.case import Case
from pytest_draft.facts.published import Published
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge


@dataclass(frozen=True, kw_only=True)
class LargerCount(Answers):
    """The number of rows of the larger class at each leaf, in its column, and nothing of the others."""

    named = "larger counts"

    def possible(self, value, n_draws, room):
        winner, most = int(value.argmax()), int(value.max())
        others = [range(most + 1 - (c < winner)) for c in range(len(value)) if c != winner]
        vectors = np.insert(np.array(list(product(*others))), winner, most, axis=1)
        vectors = vectors[vectors.sum(axis=1) <= n_draws]
        if len(vectors) > room:
            raise NotCoveredError("too many counts have its larger one")
        return Possible("listed", winner, vectors[np.argsort(vectors.sum(axis=1), kind="stable")])

    def answered(self, counts):
        return counts * (np.arange(counts.shape[1]) == counts.argmax(axis=1)[:, None])

    def published(self, seeded, draws, value):
        return Published(seeded, draws, None, "the number of rows of the larger class", left=True)


@dataclass(frozen=True, kw_only=True)
class Silent(Observation):
    """What no attack is registered for."""


LARGER = LargerCount(more_left=False)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(2)
    rows = pd.DataFrame(random.integers(0, 3, (40, 5)), columns=list("abcde"))
    return rows.assign(y=(rows.a + rows.b + random.integers(0, 3, 40) > 2).astype(int))


@pytest.fixture
def examined(table, tmp_path, monkeypatch):
    """Return a function that examines a forest whose file says something else of its rows than counts."""

    def examination(observation, answered, data=table, **parameters):
        model = RandomForestClassifier(10, max_depth=4, random_state=None, **parameters)
        joblib.dump(model.fit(table[list("abcde")], table.y), tmp_path / "model.joblib")

        def read_so(*arguments, **named):
            artifact = read(*arguments, **named)
            forest, trees = artifact.forest, []
            for t, tree in enumerate(forest.trees):
                value = np.where((tree.left < 0)[:, None], answered(forest.counts(t).astype(float)), 0.0)
                nothing = np.zeros(tree.n_nodes)
                trees.append(replace(tree, value=value, weight=nothing, n_distinct=nothing.astype(np.int64), seed=None))
            return replace(artifact, model=replace(forest, trees=tuple(trees), observation=observation, n_samples=None))

        monkeypatch.setattr(reading, "read", read_so)
        return examine(Case(str(tmp_path / "model.joblib"), target="y", seconds=20), data)[0]

    return examination


@pytest.mark.nightly
@pytest.mark.parametrize("bootstrap", [False, True])
def test_it_is_attacked_bounded_and_judged(bootstrap, examined):
    found = examined(LARGER, LARGER.answered, bootstrap=bootstrap)
    assert found.solver_status in {"consistent", "likeliest", "not converged"}
    assert found.findings.identity.status == "confirmed"
    assert found.findings.whole.error.upper < found.findings.whole.random.error
    assert found.findings.whole.ideal is not None
    checks = {check.rule: check for check in judge(found, default_policy())}
    assert checks["counts-published"].result == "inconclusive"
    assert "only the number of rows of the larger class in its leaves" in checks["counts-published"].sentence


@pytest.mark.nightly
def test_rows_that_do_not_give_what_it_says_are_others(examined, table):
    others = table.assign(y=1 - table.y)
    found = examined(LARGER, LARGER.answered, data=others, bootstrap=False)
    assert found.findings.identity.status == "mismatch"
    assert "its larger counts cannot come from them" in found.findings.identity.why


@pytest.mark.parametrize("observation", [LARGER, Shares(None, 1e-12, more_left=False), WinningLabels(more_left=False)])
@pytest.mark.parametrize("leaf", [[3, 0], [1, 2], [2, 2], [1, 0, 2], [0, 2, 2]], ids=str)
def test_the_counts_that_a_leaf_can_hold_are_all_that_would_answer_so(observation, leaf):
    counts = np.array([some for some in product(range(9), repeat=len(leaf)) if 0 < sum(some) <= 8], dtype=float)
    (value,) = observation.answered(np.array([leaf], dtype=float))
    same = np.abs(observation.answered(counts) - value).max(axis=1) < 1e-9
    held = observation.possible(value, 8, 1_000)
    if held.kind == "listed":
        expected = (counts[:, None] == held.vectors).all(axis=2).any(axis=1)
    elif held.kind == "multiples":
        expected = (counts == held.vectors[0] * (counts.sum(axis=1) / held.vectors[0].sum())[:, None]).all(axis=1)
    elif held.kind == "one class":
        expected = counts[:, held.winner] == counts.sum(axis=1)
    else:
        expected = counts.argmax(axis=1) == held.winner
    assert same.any()
    assert same.tolist() == expected.tolist()


@pytest.mark.nightly
def test_what_no_attack_is_registered_for_is_not_covered(examined):
    found = examined(Silent(), np.zeros_like)
    assert found.solver_status == "not covered"
    assert any("there is no attack yet" in reason for reason in found.reasons)


def test_a_kind_of_its_own_brings_its_attack_along():
    @dataclass(frozen=True, kw_only=True)
    class Another(Silent):
        """Registered below."""

    kind_by.register(Another, lambda observation, inputs: Kind(Stripped, 0.5))
    assert kind_by(Another(), None).attack is Stripped
    with pytest.raises(NotCoveredError):
        kind_by(Silent(), None)
