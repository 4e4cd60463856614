"""The invariances: what they find when it is there, what they leave alone, and a quick cut of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.facts.findings import Findings
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.rules import RULES
from studies import invariances
from studies.__main__ import main
from studies.invariances import broken_promises, run, trials
from studies.judging import Judgement, loosened
from studies.relations import RELATIONS, RETRAINED, SAME, VERDICT, Relation
from studies.specimens import MODELS, TABLES, specimen

FAILED = Judgement(
    verdict="failed",
    clear="failed",
    rules={"reconstruction-error": "failed"},
    clear_rules={"reconstruction-error": "failed"},
    status="consistent",
    lacked_time=False,
    n_rows=60,
    error=0.0,
    perfect=60,
    certain=60,
    sentences=(),
    seconds=1.0,
)
PASSED = replace(
    FAILED,
    verdict="passed",
    clear="passed",
    rules={"reconstruction-error": "passed"},
    clear_rules={"reconstruction-error": "passed"},
    error=0.2,
    perfect=3,
    certain=0,
)


def relation(promises=SAME, **others):
    return Relation("made up", lambda one: one, promises, **{"both_ways": promises is SAME, **others})


def fates(done):
    return {trial.relation: (trial.fate, trial.broken) for trial in done}


# What is a violation.


def test_a_leak_that_passes_in_another_writing_breaks_each_promise():
    broken = broken_promises(relation(), FAILED, PASSED)
    assert broken == (
        "the verdict was failed and is passed",
        "rule reconstruction-error was failed and is passed",
        "60 of 60 rows were perfect, and 3 are",
        "60 of 60 rows were certain, and 0 are",
        "the error was 0.000, and is 0.200",
    )


def test_only_what_is_promised_is_held_against_a_writing():
    assert broken_promises(relation(VERDICT), FAILED, replace(FAILED, perfect=0, certain=0, error=0.5)) == ()


def test_a_pass_of_what_fails_in_the_other_writing_is_told_where_both_hold_the_same():
    assert (
        broken_promises(relation(), PASSED, FAILED)[0]
        == "the verdict was passed and is failed, of the same information"
    )
    assert broken_promises(relation(VERDICT), PASSED, FAILED) == ()


def test_a_failure_that_became_inconclusive_is_milder():
    inconclusive = replace(FAILED, verdict="inconclusive", clear="inconclusive", status="refused")
    assert broken_promises(relation(VERDICT), FAILED, inconclusive) == ("the verdict was failed and is inconclusive",)


def test_an_inconclusive_verdict_for_want_of_time_keeps_nothing_from_passing():
    inconclusive = replace(FAILED, verdict="inconclusive", clear="inconclusive")
    assert broken_promises(relation(VERDICT), inconclusive, PASSED) == ("the verdict was inconclusive and is passed",)
    assert broken_promises(relation(VERDICT), replace(inconclusive, lacked_time=True), PASSED) == ()


def test_there_is_room_at_thresholds_and_in_figures():
    close = replace(FAILED, clear="passed", clear_rules={"reconstruction-error": "passed"})
    near = replace(PASSED, perfect=55, certain=55, error=0.02)
    assert broken_promises(relation(), close, near) == ()


def test_what_is_hidden_in_another_file_must_not_pass_and_may_be_inconclusive():
    hidden = relation(VERDICT, hidden=True)
    inconclusive = replace(FAILED, verdict="inconclusive")
    assert broken_promises(hidden, FAILED, PASSED) == ("the verdict by itself is failed, hidden it is passed",)
    assert broken_promises(hidden, FAILED, inconclusive) == ()
    assert broken_promises(hidden, PASSED, PASSED) == ()


def test_of_other_trees_only_a_breakdown_is_told():
    other = relation(RETRAINED, retrained=True)
    assert broken_promises(other, FAILED, replace(FAILED, perfect=45)) == ()
    assert broken_promises(other, FAILED, replace(FAILED, perfect=20)) == ("60 of 60 rows were perfect, and 20 are",)
    assert broken_promises(other, replace(FAILED, perfect=40), replace(FAILED, perfect=2)) == ()


def test_loosened_thresholds_are_harder_to_cross():
    policy = replace(default_policy(), rules={**default_policy().rules, "certain-rows": {"max_certain_rows": 0}})
    loose = loosened(policy, 0.2).rules
    assert loose["reconstruction-error"]["max_error_of_split_half"] == pytest.approx(0.4)
    assert loose["perfect-rows"]["max_share_beyond_split_half"] == pytest.approx(0.7)
    assert loose["certain-rows"]["max_certain_rows"] == 1


# What is found when it is planted.


def test_a_rewriting_that_tells_less_is_found():
    leak = Relation(
        "planted", lambda one: replace(one, estimator=DecisionTreeClassifier(max_depth=1, random_state=0)), SAME
    )
    fate, broken = fates(trials(specimen("classes", "forest without bootstrap"), [leak]))["planted"]
    assert fate == "milder"
    assert any(told.startswith("the verdict was failed and is ") for told in broken)


def test_rules_that_pass_whatever_has_an_even_number_of_columns_are_found(monkeypatch):
    def blind(rule):
        def check(evidence, thresholds):
            sound = rule.check(evidence, thresholds)
            findings = evidence if rule.needs is Findings else evidence.findings
            return Outcome("passed", "blind") if findings.whole.columns % 2 == 0 else sound

        return replace(rule, check=check)

    one = specimen("classes", "forest without bootstrap", n_rows=30)
    assert one.frame.shape[1] % 2, "so that one more column is the planted leak"
    names = ["a constant column", "columns given in another order"]
    assert {fate for fate, _ in fates(trials(one, [RELATIONS[name] for name in names])).values()} == {"held"}
    for name, rule in list(RULES.items()):
        if rule.needs is Findings or name in ("determined-rows", "given-all-other-rows", "label-told"):
            monkeypatch.setitem(RULES, name, blind(rule))
    found = fates(trials(one, [RELATIONS[name] for name in names]))
    assert found["a constant column"] == ("milder", ("the verdict was failed and is passed",))
    assert found["columns given in another order"][0] == "held"


def test_what_only_lacked_effort_is_counted_apart():
    def judge(one):
        return FAILED if one.effort > 1 else replace(FAILED, perfect=60 if one.given == "frame" else 0)

    one = replace(specimen("classes", "tree"), effort=1.0)
    done = trials(one, [RELATIONS["data given as csv"]], judge=judge)
    assert fates(done)["data given as csv"] == ("lacked time", ("60 of 60 rows were perfect, and 0 are",))


def test_more_effort_excuses_no_pass_of_a_leak():
    def judge(one):
        return FAILED if one.effort > 1 or one.given == "frame" else PASSED

    done = trials(replace(specimen("classes", "tree"), effort=1.0), [RELATIONS["data given as csv"]], judge=judge)
    assert fates(done)["data given as csv"][0] == "milder"


# What the relations are.


def test_there_are_tables_models_and_relations_enough():
    assert len(RELATIONS) >= 20
    assert len(invariances.TABLES) >= 6
    assert len(invariances.JUDGED_MODELS) >= 6


@pytest.mark.parametrize("name", RELATIONS)
def test_each_relation_applies_somewhere(name):
    applied = (
        RELATIONS[name].rewrite(specimen(table, model)) for table in invariances.TABLES for model in ("forest", "tree")
    )
    assert any(one is not None for one in applied)


@pytest.mark.parametrize("name", [name for name, one in RELATIONS.items() if one.promises is SAME and one.both_ways])
def test_a_relation_that_promises_all_leaves_every_node_its_rows(name):
    for table in ("classes", "mixed"):
        one = specimen(table, "forest")
        other = RELATIONS[name].rewrite(one)
        if other is None:
            continue
        sizes = [sizes_of(each.trained()) for each in (one, other)]
        assert sizes[0] == sizes[1]


def sizes_of(model):
    model = getattr(model, "best_estimator_", model)
    model = model.steps[-1][1] if hasattr(model, "steps") else model
    return sorted(tree.tree_.n_node_samples.tolist() for tree in model.estimators_)


@pytest.mark.parametrize("table", TABLES)
def test_a_specimen_repeats_and_shows_no_row(table):
    one, again = specimen(table, "tree", 3), specimen(table, "tree", 3)
    assert one.frame.equals(again.frame)
    assert np.array_equal(one.labels, again.labels)
    assert set(one.roles) == set(one.frame.columns)
    assert repr(one) == f"<Specimen: {table}/tree, 60 rows>"


def test_a_domain_file_declares_attributes_in_the_order_of_their_columns():
    one = specimen("discrete", "tree")
    wider = RELATIONS["yes or no declared as 0 to 9"].rewrite(replace(one, frame=one.frame.iloc[:, ::-1]))
    named = [line.split('"')[1] for line in wider.domain.splitlines() if line.startswith("[attributes")]
    assert named == ["home", "job", "urban", "rich", "old"]


def test_every_model_is_a_fresh_estimator():
    assert all(make(0) is not make(0) for make in MODELS.values())


# The command.


def test_the_command_tells_what_repeats_a_violation(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(invariances, "judged", lambda one: PASSED if one.given == ".csv" else FAILED)
    output = tmp_path / "out.json"
    milder = run(["classes"], ["forest without bootstrap"], ["data given as csv", "narrow dtypes"], output=output)
    printed = capsys.readouterr().out
    assert milder == 1
    assert (
        "python -m studies invariances --tables classes --models 'forest without bootstrap' "
        "--relations 'data given as csv' --seed 0"
    ) in printed
    assert "2 trials of 2 relations" in printed
    assert [trial["fate"] for trial in json.loads(output.read_text())] == ["milder", "held"]


def test_the_command_refuses_a_relation_that_there_is_not(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["invariances", "--relations", "no such thing"])
    assert "invalid choice: 'no such thing'" in capsys.readouterr().err


def test_a_violation_is_the_exit_status(monkeypatch, capsys):
    monkeypatch.setattr(invariances, "judged", lambda one: PASSED if one.given == ".csv" else FAILED)
    chosen = ["--tables", "classes", "--models", "tree", "--relations"]
    for relation, status in (("data given as csv", 1), ("narrow dtypes", 0)):
        assert main(["invariances", *chosen, relation]) == status
    capsys.readouterr()


# A quick cut; the whole study is `python -m studies invariances`.

QUICK = [
    "columns given in another order",
    "columns renamed without prefixes",
    "data given as npz",
    "rows in another order, where it is not used",
    "a pipeline that passes through",
    "a search",
    "trees in the opposite order",
    "codes as one-hot groups",
    "from artifact to artifact+rows:25%",
    "two values 0 and 30",
    "ordinal codes seven apart",
    "a constant column",
    "hidden as what a search starts from",
]


@pytest.fixture(scope="module")
def one():
    """Return a specimen that leaks."""
    return specimen("classes", "extra trees", 1, n_rows=40)


@pytest.fixture(scope="module")
def judge(one):
    """Return what judges a specimen, and the one that relations start from only once."""
    known = []

    def judged(other):
        if other is not one:
            return invariances.judged(other)
        if not known:
            known.append(invariances.judged(one))
        return known[0]

    return judged


@pytest.mark.parametrize("name", QUICK)
def test_nothing_becomes_milder(name, one, judge):
    done = trials(one, [RELATIONS[name]], judge=judge)
    assert {trial.relation: trial.broken for trial in done} == {name: ()}
