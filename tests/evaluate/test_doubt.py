"""Whatever makes an attack look weaker than it is, is never a pass."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft import gate
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, overall


@pytest.fixture
def examined(tmp_path):
    """Return a function that trains a forest on rows and examines its file."""

    def run(rows: np.ndarray, **parameters) -> gate.Examination:
        table = pd.DataFrame(rows, columns=[f"c{index}" for index in range(rows.shape[1])])
        labels = np.random.default_rng(1).integers(0, 2, len(rows))
        forest = RandomForestClassifier(random_state=0, **parameters)
        joblib.dump(forest.fit(table, labels), tmp_path / "model.joblib")
        table.assign(label=labels).to_csv(tmp_path / "train.csv", index=False)
        return gate.examine(gate.Case(str(tmp_path / "model.joblib"), str(tmp_path / "train.csv"), "label"))[0]

    return run


def verdict(examination):
    """Return the verdict by the default policy."""
    return overall(check.result for check in judge(examination, default_policy()))


@pytest.mark.parametrize("constants", [1, 2, 3])
def test_columns_that_are_always_one_never_hide_that_all_else_is_rebuilt(examined, constants):
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    found = examined(np.hstack([rows, np.ones((60, constants), int)]), n_estimators=50)
    assert found.findings.perfect_rows == 0  # no tree tests the constant columns, and they are guessed wrong
    assert (found.findings.told.columns, found.findings.told.perfect_rows) == (6, 60)
    assert verdict(found) == "failed"


def test_a_column_that_varies_counts_even_where_no_tree_tests_it(examined):
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    found = examined(rows, n_estimators=1, max_depth=1)
    assert found.findings.told is None
    assert verdict(found) == "passed"


def test_an_attack_that_the_clock_has_cut_short_is_no_pass(examined, monkeypatch):
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    whole = gate.reconstruct
    assert verdict(examined(rows, n_estimators=1, max_depth=1)) == "passed"
    monkeypatch.setattr(gate, "reconstruct", lambda *arguments: replace(whole(*arguments), cut_short=True))
    found = examined(rows, n_estimators=1, max_depth=1)
    assert verdict(found) == "inconclusive"
    assert "cut short" in found.reasons[0]
    assert verdict(examined(rows, n_estimators=50)) == "failed"
