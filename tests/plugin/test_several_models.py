"""A file of several models is judged model by model, and with the first all together; the gravest verdict counts."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pytest_draft.artifact import read
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge

pytestmark = pytest.mark.filterwarnings("ignore")


def leaking():
    return RandomForestClassifier(20, bootstrap=False, random_state=0)


def shallow():
    return RandomForestClassifier(2, bootstrap=False, max_depth=1, random_state=0)


@pytest.fixture
def voting(project, rows):
    """Write a voting of a harmless forest and one that gives its rows away, and return its name."""
    model = VotingClassifier([("a", shallow()), ("b", LogisticRegression()), ("c", leaking())])
    joblib.dump(model.fit(rows.iloc[:, :-1], rows["label"]), project.path / "voting.joblib")
    return "voting.joblib"


@pytest.mark.nightly
def test_one_model_that_fails_fails_the_file_and_is_named(project, voting):
    result = project.judge(voting, "--draft-report=sarif:out.sarif", "--draft-report=html:out.html", "-rA")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    harmless, leaking = project.report()["results"]
    assert [one["artifact"]["path"] for one in (harmless, leaking)] == [
        "voting.joblib[estimators_[0]]",
        "voting.joblib[estimators_[2]]",
    ]
    assert [one["artifact"]["place"] for one in (harmless, leaking)] == ["estimators_[0]", "estimators_[2]"]
    assert (harmless["verdict"], leaking["verdict"]) == ("failed", "failed")
    failed = [check["sentence"] for check in harmless["checks"] if check["result"] == "failed"]
    assert any(one.startswith("together with estimators_[2]: ") for one in failed)
    assert project.report()["verdict"] == "failed"
    assert project.report()["not_run"] == []
    result.stdout.fnmatch_lines(["failed: model estimators_[[]0]: together with estimators_[[]2]: *"])
    said = (project.path / "out.sarif").read_text(encoding="utf-8")
    assert '"uri": "voting.joblib"' in said
    assert "estimators_" in (project.path / "out.html").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_models_pass_where_they_do_together(project, rows):
    features, labels = rows.iloc[:, :-1], rows["label"]
    joblib.dump({"first": shallow().fit(features, labels)}, project.path / "one.joblib")
    assert project.judge("one.joblib").ret == pytest.ExitCode.OK
    assert project.result()["artifact"]["place"] is None
    model = VotingClassifier([("a", shallow()), ("b", shallow())]).fit(features, labels)
    joblib.dump(model, project.path / "two.joblib")
    assert project.judge("two.joblib").ret == pytest.ExitCode.OK
    assert [one["verdict"] for one in project.report()["results"]] == ["passed", "passed"]
    model = [shallow().set_params(max_features=1, random_state=seed).fit(features, labels) for seed in range(30)]
    joblib.dump(model[0], project.path / "first.joblib")
    assert project.judge("first.joblib").ret == pytest.ExitCode.OK
    joblib.dump(model, project.path / "many.joblib")
    assert project.judge("many.joblib").ret == pytest.ExitCode.TESTS_FAILED
    first, *others = project.report()["results"]
    assert first["verdict"] == "failed"
    assert "failed" not in [one["verdict"] for one in others]


@pytest.mark.nightly
def test_a_model_that_was_fitted_before_it_was_given_is_told_with_what_to_do(project, rows):
    features, labels = rows.iloc[:, :-1], rows["label"]
    model = VotingClassifier([("a", shallow().fit(features, labels)), ("b", LogisticRegression())])
    joblib.dump(model.fit(features, labels), project.path / "two.joblib")
    project.judge("two.joblib")
    for one in project.report()["results"]:
        assert any("estimators[0][1]: given after fit, and kept beside its copy: give" in note for note in one["notes"])
    joblib.dump(
        VotingClassifier([("a", shallow()), ("b", LogisticRegression())]).fit(features, labels),
        project.path / "one.joblib",
    )
    assert project.judge("one.joblib").ret == pytest.ExitCode.OK


@pytest.mark.nightly
def test_a_model_without_an_answer_keeps_the_file_from_passing(project, rows):
    stacked = StackingClassifier([("a", shallow())], RandomForestClassifier(2), cv=2)
    joblib.dump(stacked.fit(rows.iloc[:, :-1], rows["label"]), project.path / "stacked.joblib")
    assert project.judge("stacked.joblib").ret == pytest.ExitCode.TESTS_FAILED
    first, last = project.report()["results"]
    assert (first["verdict"], last["verdict"]) == ("inconclusive", "inconclusive")
    assert any("is left out of what the files tell together" in one for one in first["together"]["reasons"])
    assert any("cross_val_predict" in reason for reason in last["reasons"])


@pytest.mark.nightly
def test_a_marked_test_is_judged_by_all_models(project, voting):
    project.configure(voting)
    project.write(
        "test_marked.py",
        """
import pytest

@pytest.mark.reconstruction_budget(max_error=0.1)
def test_release(draft_result): ...

def test_models(draft_result, draft_attack):
    assert draft_result.verdict == "failed"
    assert [model.place for model in draft_result.models] == ["estimators_[0]", "estimators_[2]"]
    assert draft_result.examination is draft_result.models[0].examination  # with the others
    assert draft_attack("artifact") is None
    assert len(draft_attack("artifact", place="estimators_[2]").rows) == 40
""",
    )
    result = project.run("test_marked.py", "--draft-report=json:report.json")
    result.assert_outcomes(failed=1, passed=1)
    assert [one["verdict"] for one in project.report()["results"]] == ["failed", "failed"]


@pytest.mark.nightly
def test_an_earlier_report_is_compared_place_by_place(project, voting, rows):
    worse = (project.path / voting).read_bytes()
    model = VotingClassifier([("a", shallow()), ("b", LogisticRegression()), ("c", shallow())])
    joblib.dump(model.fit(rows.iloc[:, :-1], rows["label"]), project.path / voting)
    project.judge(voting)
    (project.path / voting).write_bytes(worse)
    (project.path / "report.json").rename(project.path / "earlier.json")
    result = project.judge(voting, "--draft-compare=earlier.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    compared = {
        one["artifact"]["place"]: check["result"]
        for one in project.report()["results"]
        for check in one["checks"]
        if check["rule"] == "compared-with-earlier"
    }
    assert compared == {"estimators_[0]": "passed", "estimators_[2]": "failed"}


def with_numbers(labels):
    return np.unique(labels, return_inverse=True)[1]


WRAPPED = {
    "voting": (
        lambda x, y: VotingClassifier([("a", leaking()), ("b", shallow())]).fit(x, y),
        "estimators_[0]",
        lambda m, x, y: (m.estimators_[0], x, with_numbers(y)),
    ),
    "one against rest": (
        lambda x, y: OneVsRestClassifier(ExtraTreesClassifier(8, random_state=1)).fit(x, x["c0"] + x["c1"]),
        "estimators_[1]",
        lambda m, x, y: (m.estimators_[1], x, (x["c0"] + x["c1"] == 1).astype(int)),
    ),
    "a fold": (
        lambda x, y: CalibratedClassifierCV(leaking(), cv=2).fit(x, y),
        "calibrated_classifiers_[1].estimator",
        lambda m, x, y: (
            m.calibrated_classifiers_[1].estimator,
            *(part.iloc[list(StratifiedKFold(2).split(x, y))[1][0]] for part in (x, y)),
        ),
    ),
    "a search": (
        lambda x, y: GridSearchCV(make_pipeline(FunctionTransformer(np.square), leaking()), {}, cv=2).fit(x, y),
        None,
        lambda m, x, y: (m.best_estimator_[-1], x, y),
    ),
    "a dict": (
        lambda x, y: {"model": leaking().fit(x, y), "other": shallow().fit(x, y)},
        "['other']",
        lambda m, x, y: (m["other"], x, y),
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", WRAPPED)
def test_the_verdict_on_a_wrapped_forest_is_that_on_the_forest_alone(kind, tmp_path, rows):
    make, place, alone = WRAPPED[kind]
    features, labels = rows.iloc[:, :-1], rows["label"]
    given = features["c0"] + features["c1"] if kind == "one against rest" else labels
    model = make(features, labels)
    inner, its_features, its_labels = alone(model, features, labels)
    for name, saved in (("wrapped", model), ("alone", inner)):
        joblib.dump(saved, tmp_path / f"{name}.joblib")
    case = Case(str(tmp_path / "wrapped.joblib"), effort=0.02, seconds=120, place=place, by_itself=True)
    wrapped, rebuilt = examine(case, (features, given))
    by_itself, rebuilt_alone = examine(
        replace(case, artifact=str(tmp_path / "alone.joblib"), place=None), (its_features, its_labels)
    )
    assert wrapped.solver_status == by_itself.solver_status
    assert wrapped.findings.whole.error == by_itself.findings.whole.error
    assert wrapped.findings.whole.perfect.lower == by_itself.findings.whole.perfect.lower
    assert wrapped.findings.identity.status == by_itself.findings.identity.status == "confirmed"
    assert np.array_equal(rebuilt.rows, rebuilt_alone.rows)
    verdicts = [[check.result for check in judge(found, default_policy())] for found in (wrapped, by_itself)]
    assert verdicts[0] == verdicts[1]


@pytest.mark.nightly
def test_products_never_pass(tmp_path, rows):
    from sklearn.preprocessing import PolynomialFeatures

    features, labels = rows.iloc[:, :-1], rows["label"]
    model = make_pipeline(PolynomialFeatures(2, interaction_only=True), shallow()).fit(features, labels)
    joblib.dump(model, tmp_path / "products.joblib")
    assert "products" in read(tmp_path / "products.joblib").encoder.unused
    found, _ = examine(Case(str(tmp_path / "products.joblib"), effort=0.02, seconds=120), (features, labels))
    assert any("products of which others" in reason for reason in found.reasons)


@pytest.mark.nightly
def test_arrays_of_all_rows_are_found_beside_a_model_of_some_of_them(tmp_path, rows):
    features, labels = rows.iloc[:, :-1], rows["label"]
    model = CalibratedClassifierCV(shallow(), cv=2).fit(features, labels)
    place, artifact = "calibrated_classifiers_[0].estimator", str(tmp_path / "calibrated.joblib")

    def stored():
        joblib.dump(model, artifact)
        case = Case(artifact, effort=0.02, seconds=120, place=place, attack=False)
        found, _ = examine(case, (features, labels))
        return found.artifact.contents

    assert stored().doubts == ()
    assert stored().n_rows == (20, 40)
    assert (stored().by_row, stored().copies) == ((), ())
    model.scores_ = np.random.default_rng(0).normal(size=40)
    assert [vector.path for vector in stored().by_row] == ["scores_"]
    model.kept_ = features.to_numpy(copy=True)
    assert "kept_" in [copy.path for copy in stored().copies]
