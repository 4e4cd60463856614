"""The gate on the papers' data sets, where they stand beside the checkout; never copied into the project."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import joblib
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.rules import RULES
from pytest_draft.policy.verdict import judge, overall
from studies.public_data import TARGETS

DATASETS = Path(__file__).parents[3] / "shared" / "datasets"
pytestmark = pytest.mark.skipif(not DATASETS.is_dir(), reason="needs the papers' data sets in ../shared/datasets")


@pytest.fixture
def examined(tmp_path):
    """Return a function that trains a forest on rows drawn from a data set, and examines its file."""

    def run(name, *, seed=0, n_rows=100, data=lambda rows, table: rows, domain=None, **parameters):
        table = pd.read_csv(DATASETS / f"{name}.csv")
        rows = table.sample(n_rows, random_state=seed)
        target = TARGETS[name]
        forest = RandomForestClassifier(random_state=seed, **parameters)
        joblib.dump(forest.fit(rows.drop(columns=target), rows[target]), tmp_path / "model.joblib")
        data(rows, table).to_csv(tmp_path / "train.csv", index=False)
        case = Case(str(tmp_path / "model.joblib"), str(tmp_path / "train.csv"), target)
        if domain is not None:  # taken as it stands
            (tmp_path / "domain.toml").write_text(domain)
            digest = hashlib.sha256(domain.encode()).hexdigest()
            case = replace(case, domain=str(tmp_path / "domain.toml"), domain_sha256=digest)
        return examine(case)[0]

    return run


def verdict(examination, policy=None):
    """Return the verdict by a policy, the default one if none is given."""
    checks = judge(examination, policy or default_policy())
    return overall(check.result for check in checks if RULES[check.rule].attack)


@pytest.mark.nightly
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_every_row_of_a_default_forest_is_rebuilt_and_the_gate_fails_it(examined, name, bootstrap):
    found = examined(name, bootstrap=bootstrap)
    assert verdict(found) == "failed"
    assert found.findings.whole.error.exact == 0
    assert found.findings.whole.perfect.lower == 100
    assert found.findings.rows_in_order == (100 if bootstrap else None)


@pytest.mark.nightly
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_five_trees_of_depth_two_do_not_fail(examined, name, bootstrap):
    found = examined(name, bootstrap=bootstrap, n_estimators=5, max_depth=2)
    budget = Policy("budget", "by hand", {"reconstruction-error": {"max_error": 0.05}})
    assert verdict(found, budget) != "failed"
    assert verdict(found) != "failed"  # of 100 rows, who knows the population comes close to a bar
    assert found.findings.whole.error.upper > 0.05


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [4, 5, 11])
def test_where_counts_allow_several_datasets_refitting_finds_the_right_one(examined, seed):
    found = examined("adult", seed=seed, bootstrap=False, domain='others = "binary"\n')
    assert found.solver_status == "consistent"
    assert found.reproduced_trees == 100
    assert found.findings.whole.perfect.lower == 100


@pytest.mark.nightly
def test_a_thousand_rows_come_back_in_their_original_order(examined):
    found = examined("compas", n_rows=1000)
    assert found.findings.rows_in_order == 1000


@pytest.mark.nightly
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_other_rows_of_the_same_table_are_inconclusive_and_said_to_be_others(examined, name, bootstrap):
    found = examined(
        name, bootstrap=bootstrap, data=lambda rows, table: table.drop(rows.index).sample(100, random_state=1)
    )
    assert verdict(found) == "inconclusive"
    assert "was not trained on these rows" in found.reasons[0]


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_the_right_rows_in_another_order_are_judged_and_said_to_be_so(examined, name):
    found = examined(name, data=lambda rows, _: rows.sample(frac=1, random_state=3))
    assert verdict(found) == "failed"
    assert found.reasons == ()
    assert found.findings.rows_in_order is None
    assert any("only the order differs" in note for note in found.notes)
