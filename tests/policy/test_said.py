"""Nothing is said that is not known: of counts, causes and remedies, on files that were really judged."""

from __future__ import annotations

import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.verdict import judge

RULES = {
    "reconstruction-error": {"max_error": 1.0},
    "training-data-mismatch": {},
    "certain-rows": {"max_certain_rows": 0},
    "counts-published": {},
    "seeds-published": {},
    "per-row-vectors": {},
    "verbatim-data": {},
    "smallest-leaf": {"min_rows": 20},
    "pure-leaves": {"max_share": 0.0},
}
POLICY = Policy("ours", "by hand", RULES)


def people(seed: int = 0, n_rows: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.integers(0, 2, (n_rows, 6)), columns=[f"c{i}" for i in range(6)])
    return rows.assign(label=(rows.sum(axis=1) + rng.integers(0, 3, n_rows) > 4).astype(int))


@pytest.fixture
def checks(tmp_path):
    """Return a function that fits a model to some people and gives what each rule says of it, by rule."""

    def judged(model, data=None, change=None, **case):
        case = {"seconds": 10.0, "effort": 0.3, **case}
        rows = people()
        model.fit(rows.iloc[:, :-1], rows.label)
        if change is not None:
            change(model)
        joblib.dump(model, tmp_path / "model.joblib")
        if data is not False:
            (rows if data is None else data).to_csv(tmp_path / "train.csv", index=False)
            case["data"] = str(tmp_path / "train.csv")
        examination, _ = examine(Case(str(tmp_path / "model.joblib"), target="label", **case))
        return {check.rule: check for check in judge(examination, POLICY)}

    return judged


def small(**parameters) -> RandomForestClassifier:
    return RandomForestClassifier(5, random_state=0, **parameters)


@pytest.mark.nightly
def test_counts_are_only_called_the_training_datas_where_these_explain_them(checks):
    lead = "the file stores the number of rows of each class at every node of 5 trees"
    assert checks(small())["counts-published"].sentence == f"{lead}; your table agrees with it"
    other = checks(small(), people(1), seconds=60.0, full=True)["counts-published"]
    assert (other.result, other.sentence) == ("failed", f"{lead}; your table contradicts it")
    for unchecked in (checks(small(), data=False), checks(small(), people(0, 19))):
        assert unchecked["counts-published"].sentence.startswith(lead)
        assert "are consistent with" not in unchecked["counts-published"].sentence


def halved(model) -> None:
    for tree in model.estimators_:
        tree.tree_.value[:] = 0.5


def all_ones(model) -> None:
    """Write a count of one into every leaf, and its sums above."""
    for tree in model.estimators_:
        state = tree.tree_.__getstate__()
        nodes, values = state["nodes"], state["values"]
        values[:] = [[1.0, 0.0]]
        for i in reversed(range(len(nodes))):
            children = nodes[i]["left_child"], nodes[i]["right_child"]
            for name in ("weighted_n_node_samples", "n_node_samples"):
                nodes[name][i] = 1 if children[0] < 0 else nodes[name][children[0]] + nodes[name][children[1]]
        tree.tree_.__setstate__(state)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(("change", "bootstrap"), [(halved, True), (halved, False), (all_ones, True)])
def test_made_up_counts_are_not_said_to_be_exact_or_true(checks, change, bootstrap):
    found = checks(small(bootstrap=bootstrap), change=change)
    assert found["counts-published"].result == "failed"
    assert not re.search("exact|are consistent", found["counts-published"].sentence)
    assert "was trained with weights" not in found["reconstruction-error"].sentence


@pytest.mark.nightly
def test_a_mismatch_is_not_put_down_to_what_the_file_stores(checks):
    found = checks(small(), people(1), seconds=60.0, full=True)
    assert found["training-data-mismatch"].result == "failed"
    assert found["training-data-mismatch"].cause is None
    assert checks(small())["reconstruction-error"].cause is not None


@pytest.mark.nightly
@pytest.mark.parametrize("model", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_regressor_is_not_said_to_hold_classes(checks, model):
    found = checks(model(5, random_state=0, max_depth=3))
    told = " ".join(f"{check.sentence} {check.cause}" for check in found.values())
    assert found["counts-published"].result == "failed"
    assert "class" not in told.replace(model.__name__, "")


NAMED = re.compile(r"\b_\w+|\b\w+_\b|random_state|n_estimators|KNNImputer")
MODELS = {
    "forest": small(),
    "balanced forest": small(class_weight="balanced"),
    "votes": small(oob_score=True),
    "bagging": BaggingClassifier(n_estimators=5, random_state=0),
    "one tree": DecisionTreeClassifier(random_state=0),
    "neighbours": make_pipeline(KNNImputer(), small()),
}


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", MODELS)
def test_a_remedy_names_only_attributes_that_the_file_holds(checks, tmp_path, name):
    found = checks(MODELS[name])
    held = (tmp_path / "model.joblib").read_bytes()
    for check in found.values():
        for attribute in NAMED.findall((check.remedy or "").replace("min_samples_leaf", "").replace("max_depth", "")):
            assert attribute.encode() in held, (check.rule, check.remedy)
    vectors = {"balanced forest": "_sample_weight", "votes": "oob_decision_function_"}.get(name)
    if vectors is not None:
        assert vectors in found["per-row-vectors"].remedy
    if name == "neighbours":
        assert "_fit_X" in found["verbatim-data"].remedy
    if name in ("forest", "bagging"):
        assert ("_seeds" in found["seeds-published"].remedy) == (name == "bagging")
    if name == "one tree":
        assert "seeds" not in found["reconstruction-error"].remedy
        assert "fewer" not in found["reconstruction-error"].remedy


def test_a_file_without_a_model_fails_by_the_rows_that_it_keeps(tmp_path):
    random = np.random.RandomState(3)
    rows = pd.DataFrame(random.normal(size=(60, 4)).round(3), columns=list("abcd"))
    files = {"rows": {"kept": rows.to_numpy()[:25]}, "others": {"kept": random.normal(size=(25, 4)).round(3)}}
    for name, content in files.items():
        joblib.dump(content, tmp_path / f"{name}.joblib")
        examination, _ = examine(Case(str(tmp_path / f"{name}.joblib"), target="d"), rows)
        checks = {check.rule: check for check in judge(examination, default_policy())}
        assert examination.solver_status == "refused"
        expected = "failed" if name == "rows" else "inconclusive"
        assert checks.pop("verbatim-data").result == expected
        assert {check.result for check in checks.values()} == {"inconclusive"}
