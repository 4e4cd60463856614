"""Files whose counts were removed by halves are judged by them; whole ones wait for an attack of their own."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from stripping import stripped


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(2)
    rows = pd.DataFrame(random.integers(0, 3, (40, 5)), columns=list("abcde"))
    return rows.assign(y=rows.a + rows.b + random.integers(0, 3, 40) > 2)


@pytest.fixture
def examined(table, tmp_path):
    def judge(model, level, **options):
        fitted = model.fit(table[list("abcde")], table.y)
        joblib.dump(stripped(fitted, level, **options), tmp_path / "model.joblib")
        return examine(Case(str(tmp_path / "model.joblib"), target="y", seconds=30), table)[0]

    return judge


@pytest.mark.parametrize("left", [("inner fractions",), ("impurity",), ("weighted_n_node_samples",)], ids=str)
def test_counts_that_were_restored_are_attacked_without_numbers_of_different_rows(left, examined):
    found = examined(RandomForestClassifier(10, random_state=0), "counts", left=left)
    assert found.artifact.published.restored is not None
    assert found.findings.identity.status == "confirmed"
    assert found.findings.error.upper < found.findings.random.error
    assert found.artifact.structure is None
    assert "removed from its file" in found.not_audited


def test_a_tree_whose_counts_were_restored_is_examined_as_if_they_were_there(examined):
    whole = examined(DecisionTreeClassifier(random_state=0), "seeds")
    found = examined(DecisionTreeClassifier(random_state=0), "counts", left=("inner fractions",))
    assert found.artifact.published.restored == "inner fractions"
    assert found.findings.identity == whole.findings.identity
    assert found.findings.error == whole.findings.error
    assert found.artifact.structure == whole.artifact.structure


def test_a_regressor_without_counts_is_read_and_not_covered(examined):
    found = examined(RandomForestRegressor(3, random_state=0), "counts")
    assert found.solver_status == "not covered"
    assert "its file holds no counts of training rows" in found.reasons[0]
    assert found.findings is None
