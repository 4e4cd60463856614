"""Judging a model for somebody who never gets its file, and may ask it as often as they like."""

from __future__ import annotations

from dataclasses import fields, replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import MeanTargets, Shares
from pytest_draft.artifact.model import as_answered
from pytest_draft.artifact.sklearn.outputs import copied
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import judge

BY_ATTACK = {
    "reconstruction-error": {"max_error_of_split_half": 0.5},
    "given-all-other-rows": {"min_error_of_split_half": 0.33},
    "label-told": {"max_told_share": 0.33},
}
IN_FILE = ("seeds-published", "counts-published", "verbatim-data", "per-row-vectors")
POLICY = Policy("ours", "by hand", {**BY_ATTACK, **{rule: {} for rule in IN_FILE}})
MODELS = {
    "bagged": RandomForestClassifier(8, max_depth=4, random_state=2**31 + 7),
    "all rows": RandomForestClassifier(8, bootstrap=False, max_features=3, max_depth=4, random_state=2**31 + 7),
    "grown to the end": RandomForestClassifier(5, random_state=2**31 + 7),
    "drawn thresholds": ExtraTreesClassifier(5, max_depth=4, random_state=2**31 + 7),
    "one tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "numbers": RandomForestRegressor(5, max_depth=4, random_state=2**31 + 7),
    "ages": RandomForestClassifier(6, max_depth=3, random_state=2**31 + 7),
}


def people(n_rows=60, *, ages=False):
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(rng.integers(0, 3, (n_rows, 5)), columns=[f"c{i}" for i in range(5)])
    if ages:
        rows["age"] = rng.normal(50, 15, n_rows).round(2)
    return rows.assign(label=(rows.c0 + rows.c1 + rng.integers(0, 3, n_rows) > 3).astype(int))


@pytest.fixture
def judged(tmp_path):
    """Return a function that fits and saves a model, changes it where asked, and judges it for an adversary."""

    def judge_it(model, adversary="served", *, change=None, ages=False, policy=POLICY):
        rows = people(ages=ages)
        model.fit(rows.drop(columns="label"), rows.label)
        joblib.dump(model if change is None else change(model), tmp_path / "model.joblib")
        rows.to_csv(tmp_path / "train.csv", index=False)
        files = str(tmp_path / "model.joblib"), str(tmp_path / "train.csv")
        found, _ = examine(Case(*files, target="label", adversary=adversary, seconds=600.0, effort=0.3))
        return found, {check.rule: check for check in judge(found, policy)}

    return judge_it


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("kind", MODELS)
def test_it_is_judged_as_the_copy_without_counts_that_hardening_writes(judged, kind):
    asked, of_asked = judged(MODELS[kind], ages=kind == "ages")
    copy, of_copy = judged(MODELS[kind], "artifact", change=lambda model: hardened(model)[0], ages=kind == "ages")
    assert asked.solver_status == copy.solver_status
    assert asked.findings is not None
    for one in (asked, copy):
        assert one.findings.whole.error.upper > 0
    assert asked.findings == copy.findings
    assert asked.informed == copy.informed
    assert asked.label_told == copy.label_told
    assert (asked.doubts, asked.shortfalls) == (copy.doubts, copy.shortfalls)
    assert asked.domain == copy.domain
    for rule in BY_ATTACK:
        if of_copy[rule].result != "inconclusive":  # else whoever has the file may settle it
            assert of_asked[rule].result == of_copy[rule].result


@pytest.mark.parametrize("kind", MODELS)
def test_neither_counts_nor_seeds_are_in_what_is_judged(tmp_path, kind):
    rows = people(ages=kind == "ages")
    joblib.dump(MODELS[kind].fit(rows.drop(columns="label"), rows.label), tmp_path / "model.joblib")
    forest, rng = read(str(tmp_path / "model.joblib")).model, np.random.default_rng(0)

    def other(tree):
        return replace(
            tree,
            weight=rng.random(tree.n_nodes),
            n_distinct=rng.integers(1, 9, tree.n_nodes),
            seed=int(rng.integers(99)),
            impurity=rng.random(tree.n_nodes),
            value=np.where((tree.left < 0)[:, None], tree.value, rng.random(tree.value.shape)),
        )

    forged = replace(
        forest,
        trees=tuple(map(other, forest.trees)),
        n_samples=99,
        parameters={**forest.parameters, "random_state": 5},
        draws=replace(forest.draws, per_tree=98 if forest.draws.drawn else None),
    )
    one, two = copied(forest), copied(forged)
    assert one is not None and two is not None
    for a, b in zip(one.trees, two.trees, strict=True):
        for field in fields(a):
            np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))
        assert (a.seed, a.impurity, a.weight.any(), a.n_distinct.any()) == (None, None, False, False)
    assert (one.observation, one.parameters, one.n_samples) == (two.observation, two.parameters, None)
    assert (one.draws.per_tree, two.draws.per_tree) == (None, None)
    assert isinstance(one.observation, MeanTargets if kind == "numbers" else Shares)


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(n_estimators=30, max_depth=6), AdaBoostClassifier(n_estimators=3)]
)
@pytest.mark.nightly
def test_what_is_judged_by_more_than_its_answers_fails_by_none_of_that(judged, model):
    found, checks = judged(model)
    assert found.artifact.beyond == f"more than its answers: all that the file holds of its {type(model).__name__}"
    assert any(found.artifact.beyond in note for note in found.notes)
    _, by_file = judged(model, "artifact")
    failed = [rule for rule in BY_ATTACK if by_file[rule].result == "failed"]
    for rule in failed:
        assert checks[rule].result == "inconclusive"
        assert checks[rule].sentence.endswith(f"; but that is by {found.artifact.beyond}")
    assert failed or isinstance(model, AdaBoostClassifier)
    assert {checks[rule].result for rule in IN_FILE} == {"not applicable"}


def test_leaves_that_answer_how_many_rows_they_hold_are_judged_with_that(tmp_path):
    rows = people().drop(columns="label")
    joblib.dump(IsolationForest(n_estimators=3, random_state=0).fit(rows), tmp_path / "model.joblib")
    artifact = as_answered(read(str(tmp_path / "model.joblib")))
    assert artifact.model.observation.exact
    assert artifact.beyond is not None


@pytest.mark.nightly
def test_of_labels_a_copy_of_probabilities_is_judged_which_can_only_pass(judged):
    model = RandomForestClassifier(5, bootstrap=False, random_state=2**31 + 7)
    policy = Policy(
        "ours", "by hand", {"label-told": {"max_told_share": 0.01}, "given-all-other-rows": {"max_told_share": 0.0}}
    )
    _, by_shares = judged(model, policy=policy)
    found, by_labels = judged(model, "served+labels", policy=policy)
    assert found.artifact.beyond == "probabilities, where it answers labels alone"
    assert by_shares["label-told"].result == "failed"
    for rule, check in by_shares.items():
        assert by_labels[rule].result == ("inconclusive" if check.result == "failed" else check.result)
    assert "but that is by probabilities, where it answers labels alone" in by_labels["label-told"].sentence
    numbers, _ = judged(MODELS["numbers"], "served+labels")
    assert numbers.artifact.beyond is None  # it answers numbers either way


@pytest.mark.nightly
def test_what_stands_beside_the_model_is_not_told_by_asking_it(judged):
    def with_table(model):
        return {"model": model, "rows": people().to_numpy(dtype=float), "ids": np.arange(1000, 1060)}

    _, by_file = judged(MODELS["bagged"], "artifact", change=with_table)
    assert {by_file[rule].result for rule in IN_FILE} == {"failed"}
    found, asked = judged(MODELS["bagged"], change=with_table)
    assert {asked[rule].result for rule in IN_FILE} == {"not applicable"}
    assert not found.doubts


def test_a_class_of_one_person_is_told_by_asking(judged, tmp_path):
    rows = people()
    rows["label"] = rows.label.map({0: "no", 1: "yes"})
    rows.loc[0, "label"] = "Ms Miller"
    joblib.dump(DecisionTreeClassifier(max_depth=3).fit(rows.iloc[:, :-1], rows.label), tmp_path / "m.joblib")
    rows.to_csv(tmp_path / "t.csv", index=False)
    files = str(tmp_path / "m.joblib"), str(tmp_path / "t.csv")
    found, _ = examine(Case(*files, target="label", adversary="served", seconds=60.0, effort=0.1))
    checks = {check.rule: check for check in judge(found, POLICY)}
    assert checks["verbatim-data"].result == "failed"


def test_it_is_of_the_model_in_the_file_how_few_people_are_in_a_leaf(judged):
    policy = Policy("ours", "by hand", {"smallest-leaf": {"min_rows": 5}})
    _, small = judged(DecisionTreeClassifier(min_samples_leaf=2), policy=policy)
    _, large = judged(DecisionTreeClassifier(min_samples_leaf=6), policy=policy)
    assert (small["smallest-leaf"].result, large["smallest-leaf"].result) == ("failed", "passed")


@pytest.mark.nightly
def test_a_guessed_random_state_is_found_in_what_is_asked_too(judged):
    found, checks = judged(RandomForestClassifier(40, max_depth=6, random_state=7))
    assert found.artifact.published.found == 7
    assert checks["seeds-published"].result == "failed"
    assert any("random_state=None" in one for one in found.reasons)


def test_whoever_asks_gets_no_more_than_whoever_has_the_file(judged):
    model = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    case = Case("m", adversary="served", hardened_from=None)
    assert case.basis == replace(case, adversary="artifact")
    assert replace(case, hardened_from="raw").basis == replace(case, artifact="raw", adversary="artifact", moved=True)
    assert replace(case, adversary="served+rows:3").basis is None
    found, checks = judged(model)
    _, by_file = judged(model, "artifact")
    assert found.basis is not None
    for rule, check in by_file.items():
        if rule in BY_ATTACK and check.result == "passed":
            assert checks[rule].result == "passed"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("adversary", ["served+rows:25%", "served+columns:c1", "served+n-unknown"])
def test_side_knowledge_is_as_others_have_it(judged, adversary):
    found, _ = judged(MODELS["bagged"], adversary)
    assert found.findings is not None
    assert found.doubts == ()


def test_an_informed_one_is_not_covered(judged):
    found, checks = judged(MODELS["bagged"], "served+informed")
    assert found.solver_status == "not covered"
    assert checks["reconstruction-error"].result == "inconclusive"
