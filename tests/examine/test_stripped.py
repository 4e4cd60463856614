"""The answers of the attack on files without counts: whose rows these are, and whether it has converged."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import Shares, WinningLabels
from pytest_draft.attack.search import Search
from pytest_draft.errors import NotCoveredError
from pytest_draft.examine.inputs import complete, open_files
from pytest_draft.examine.kinds import kind_of
from pytest_draft.examine.record import FlowRecord
from pytest_draft.examine.stripped import Stripped
from pytest_draft.facts.case import Case
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly

EXACT = Shares(None, 1e-12, more_left=False)
LABELS = WinningLabels(more_left=False)
HUNDREDTHS = Shares(2, 0.005, more_left=False)


def people(n_rows, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"old": rng.integers(0, 2, n_rows), "children": rng.integers(0, 5, n_rows), "rich": rng.integers(0, 2, n_rows)}
    )
    table.loc[:1, ["old", "children", "rich"]] = [[0, 0, 0], [1, 4, 1]]  # the same domain for all
    table["target"] = (rng.random(n_rows) < 0.2 + 0.3 * table["old"] + 0.3 * table["rich"]).astype(int)
    return table


@pytest.fixture
def attack(tmp_path):
    """Return a function that makes the attack on a fitted forest without its counts, beside any table."""

    def made(outputs=EXACT, *, table=None, beside=None, adversary="artifact", n_rows=60, **parameters):
        table = people(n_rows, 0) if table is None else table
        model = RandomForestClassifier(**{"n_estimators": 10, "random_state": 0, **parameters})
        joblib.dump(model.fit(table.drop(columns="target"), table["target"]), tmp_path / "model.joblib")
        (table if beside is None else beside).to_csv(tmp_path / "data.csv", index=False)
        case = Case(
            artifact=str(tmp_path / "model.joblib"), data=str(tmp_path / "data.csv"), target="target",
            adversary=adversary, seconds=60.0,
        )  # fmt: skip
        record = FlowRecord(case)
        inputs = complete(open_files(case, None, record, search=False), case, record)
        forest = inputs.forest
        trees = []
        for t, tree in enumerate(forest.trees):
            counts = forest.counts(t)
            share = outputs.answered(counts)
            value = np.where((tree.left < 0)[:, None], share, 0.0)
            nothing = np.zeros(tree.n_nodes)
            trees.append(replace(tree, value=value, weight=nothing, n_distinct=nothing.astype(np.int64), seed=None))
        forest = replace(
            forest, trees=tuple(trees), observation=outputs, n_samples=None,
            draws=Draws(rows=forest.draws.rows),
        )  # fmt: skip
        inputs = replace(inputs, model=forest)
        assert kind_of(inputs).attack is Stripped
        return Stripped(inputs, search()), inputs, record

    return made


def search(effort=0.1):
    return Search(TimeBox(60.0, effort))


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("outputs", [EXACT, HUNDREDTHS, LABELS], ids=["fractions", "hundredths", "labels"])
@pytest.mark.parametrize("depth", [None, 2])
def test_the_rows_that_trained_it_are_confirmed(attack, outputs, bootstrap, depth):
    made, inputs, record = attack(outputs, bootstrap=bootstrap, max_depth=depth)
    rebuilt = made.rebuild(search())
    assert made.identity(inputs.data, rebuilt, record.limits).status == "confirmed"
    assert made.granted == ("number of training rows",)
    assert len(rebuilt.rows) == 60


@pytest.mark.parametrize("bootstrap", [True, False])
def test_rows_that_cannot_give_the_fractions_are_a_mismatch(attack, bootstrap):
    made, inputs, record = attack(beside=people(60, 1), bootstrap=bootstrap)
    identity = made.identity(inputs.data, made.rebuild(search()), record.limits)
    assert identity.status == "mismatch"
    assert "\n" not in identity.why


def test_rows_that_hardly_give_the_fractions_are_unknown(attack):
    others = people(300, 2)
    others["target"] = 1 - others["target"]
    made, inputs, record = attack(n_rows=300, beside=others, max_depth=1)
    identity = made.identity(inputs.data, made.rebuild(search()), record.limits)
    assert identity.status == "unknown"
    assert "hardly" in identity.why


@pytest.mark.parametrize("outputs", [EXACT, HUNDREDTHS], ids=["fractions", "hundredths"])
@pytest.mark.parametrize("more", [people(60, 7), people(60, 0)], ids=["others", "twice"])
@pytest.mark.parametrize("depth", [None, 3])
def test_rows_of_which_only_some_were_trained_on_are_unknown(attack, outputs, more, depth):
    made, inputs, record = attack(outputs, beside=pd.concat([people(60, 0), more]), max_depth=depth)
    identity = made.identity(inputs.data, made.rebuild(search()), record.limits)
    assert identity.status == "unknown"
    doubts = (
        "this forest was hardly trained on these rows: ",
        "it is not certain that this forest was trained on just ",
    )
    assert identity.why.startswith(doubts)


def test_where_the_right_rows_are_likelier_the_attack_has_not_converged(attack):
    made, inputs, record = attack()
    rebuilt = made.rebuild(search())
    assert not made.shortfall(inputs.data, rebuilt, record.limits).truth_is_likelier
    short = made.shortfall(inputs.data, replace(rebuilt, log_posterior=-1e9), record.limits)
    assert short.truth_is_likelier
    assert "explain the file better than all that it found" in short.reasons[0]


def test_rows_that_lack_something_have_not_converged(attack):
    made, inputs, record = attack()
    rebuilt = replace(made.rebuild(search()), residual=3)
    assert "what 3 leaves tell" in made.shortfall(inputs.data, rebuilt, record.limits).reasons[0]
    cut = replace(rebuilt, residual=0, cut_short=True)
    assert "several searches ended with different rows" in made.shortfall(inputs.data, cut, record.limits).reasons[0]


def test_side_knowledge_is_used_and_the_number_of_rows_can_be_withheld(attack):
    made, inputs, _ = attack(adversary="artifact+columns:old+rows:10")
    rebuilt = made.rebuild(search())
    assert len(rebuilt.rows) == 50
    column = inputs.domain.columns.index("old")
    assert (rebuilt.rows[:, column] == inputs.data.rows[inputs.knowledge.unknown, column]).all()
    made, _, _ = attack(adversary="artifact+n-unknown")
    assert made.granted == ()
    assert made.any_size


def test_what_the_attack_does_not_use_is_told(attack):
    made, inputs, record = attack(replace(EXACT, more_left=True))
    told = made.shortfall(inputs.data, made.rebuild(search()), record.limits).reasons
    assert "missing_go_to_left" in told[-1]
    made, inputs, record = attack()
    assert made.shortfall(inputs.data, made.rebuild(search()), record.limits).reasons == told[:-1]
    assert made.undecoded == ()
    table = people(60, 0)
    rng = np.random.default_rng(0)
    table["income"] = rng.random(60).round(3)
    made, inputs, record = attack(table=table)
    told = made.shortfall(inputs.data, made.rebuild(search()), record.limits).reasons
    assert "thresholds on numeric columns" in told[-1]


def test_informed_adversaries_are_not_covered(attack):
    with pytest.raises(NotCoveredError, match="informed"):
        attack(adversary="artifact+informed")


def test_the_truth_does_not_reach_the_attack(attack):
    made, inputs, _ = attack()
    other = replace(inputs, data=replace(inputs.data, rows=inputs.data.rows[::-1].copy()))
    one, two = made.rebuild(search()), Stripped(other, search()).rebuild(search())
    assert (one.rows == two.rows).all()
