"""A file that holds other fitted trees than the model's is never passed by what the model's own tell."""

from __future__ import annotations

import copy
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.storage import as_text, from_text
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rules import RULES
from pytest_draft.policy.verdict import check_rule, judge, overall
from pytest_draft.report.sentences import not_read

N_ROWS = 40
WHY = "the file holds 2 fitted trees that are no part of the model and were not judged (2 in kept)"


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(5)
    columns = random.integers(0, 2, (N_ROWS, 8))
    return columns, (columns[:, 0] + random.integers(0, 2, N_ROWS) > 0).astype(int)


@pytest.fixture(scope="module")
def leaking(rows):
    """Return a forest that tells all rows."""
    return RandomForestClassifier(20, random_state=1).fit(*rows)


@pytest.fixture
def told(tmp_path, rows):
    """Return a function that judges a model by its file, and gives the examination and the policy's verdict."""

    def of(model, *, attack: bool = True):
        joblib.dump(model, tmp_path / "model.joblib")
        found, _ = examine(Case(str(tmp_path / "model.joblib"), seconds=30, attack=attack), rows)
        checks = judge(found, default_policy())
        return found, overall(check.result for check in checks if check.counts)

    return of


def harmless():
    return RandomForestClassifier(2, max_depth=1, min_samples_leaf=10, random_state=3)


def with_(model, **attributes):
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


MODELS = {
    "a search's scorer": lambda rows, leaking: with_(
        GridSearchCV(leaking, {"max_depth": [1], "min_samples_leaf": [10], "n_estimators": [2]}, cv=2).fit(*rows),
        estimator=clone(leaking),  # a fitted one is judged by itself; the scorer still keeps it
    ),
    "a fitted base tree": lambda rows, leaking: BaggingClassifier(
        DecisionTreeClassifier(max_depth=1, min_samples_leaf=10).fit(*rows), 2, random_state=0
    ).fit(*rows),
    "trees in an attribute": lambda rows, leaking: with_(harmless().fit(*rows), backup_=leaking.estimators_),
    "a forest in a pipeline's attribute": lambda rows, leaking: with_(
        make_pipeline(StandardScaler(), harmless()).fit(*rows), note_=leaking
    ),
    "a state in a step's dict": lambda rows, leaking: make_pipeline(
        with_(StandardScaler(), notes={"a": [leaking[0].tree_.__getstate__()]}), harmless()
    ).fit(*rows),
}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", MODELS)
def test_a_file_with_other_fitted_trees_is_not_passed_and_says_where_they_stand(kind, told, rows, leaking):
    found, _ = told(MODELS[kind](rows, leaking), attack=False)
    assert found.reasons[0] == found.artifact.unjudged
    assert all(reason == found.artifact.contents.why_not_judged for reason in found.reasons[1:])
    assert "no part of the model" in found.reasons[0]
    assert from_text(found.case, as_text(found)).artifact == found.artifact


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["a search's scorer", "trees in an attribute"])
def test_a_file_whose_model_tells_little_is_inconclusive_with_another_in_it(kind, told, rows, leaking):
    found, verdict = told(MODELS[kind](rows, leaking))
    assert (verdict, found.reasons) == ("inconclusive", (found.artifact.unjudged,))


@pytest.mark.nightly
def test_what_the_reason_advises_helps(told, rows, leaking):
    search = MODELS["a search's scorer"](rows, leaking)
    bagged = MODELS["a fitted base tree"](rows, leaking)
    bagged.estimator = bagged.estimator_ = clone(bagged.estimator)
    kept = MODELS["trees in an attribute"](rows, leaking)
    del kept.backup_
    for model in (bagged, kept):
        assert told(model, attack=False)[0].reasons == ()
    found, verdict = told(search.best_estimator_)
    assert (found.reasons, verdict) == ((), "passed")
    assert told(leaking)[1] == "failed"  # what is judged by itself is judged


@pytest.mark.nightly
@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: GridSearchCV(make_pipeline(model), {"randomforestclassifier__max_depth": [1]}, cv=2),
        lambda model: BaggingClassifier(DecisionTreeClassifier(max_depth=1, min_samples_leaf=10), 2, random_state=0),
    ],
    ids=["forest", "pipeline", "search", "bagging"],
)
def test_an_honest_file_has_no_reason_and_nothing_of_it_is_told_as_not_read(wrap, told, rows):
    found, _ = told(wrap(harmless()).fit(*rows), attack=False)
    assert (found.reasons, found.artifact.unjudged) == ((), None)
    assert not_read({"artifact": {"not_read": list(found.artifact.not_read)}}) is None


@pytest.mark.nightly
def test_a_crossed_budget_stays_crossed(told, leaking):
    found, verdict = told(with_(copy.deepcopy(leaking), kept=leaking.estimators_[:2]))
    assert found.reasons[0].startswith(WHY)
    assert verdict == "failed"


ASKED = {
    "allowed-models": {"kinds": ["RandomForestClassifier"]},
    "smallest-leaf": {"min_rows": 2},
    "pure-leaves": {"max_share": 1.0},
    "leaves-of-one-person": {"max_share": 1.0},
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    "rule", [rule for rule, judged in RULES.items() if judged.needs is ArtifactFacts or rule == "allowed-models"]
)
def test_no_rule_on_files_passes_by_the_model_alone(rule, told, rows, leaking):
    found, _ = told(with_(harmless().fit(*rows), kept=leaking.estimators_[:2]), attack=False)
    policy = default_policy()
    rules, severities = {rule: RULES[rule].in_force(ASKED.get(rule, {}))}, {rule: "error"}
    check = check_rule(found, replace(policy, rules=rules, severities=severities), rule)
    assert check.result == "failed" or check.sentence.startswith(WHY)


@pytest.mark.nightly
def test_what_was_not_read_is_named_in_one_line_without_what_is_always_there(told, rows, leaking):
    model = with_(harmless().fit(*rows), **{f"kept{i}": [np.zeros(3)] for i in range(8)}, estimator=clone(leaking))
    found, _ = told(model, attack=False)
    assert not_read({"artifact": {"not_read": list(found.artifact.not_read)}}) == (
        "scanned only for training data and fitted trees: kept0, kept1, kept2, kept3, kept4, kept5 and 2 more"
    )
