"""The audit of a file holds whatever becomes of the data, and is narrowed by what all trees tell together."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.enumeration import build
from pytest_draft.audit.entropy import audit_entropy
from pytest_draft.audit.structure import narrowed, narrowed_without_attack, together
from pytest_draft.data import training_data
from pytest_draft.domain import infer
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox

N_ROWS = 40


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.integers(0, 3, (N_ROWS, 4)), columns=list("abcd"))
    return frame.assign(label=(frame["a"] + frame["b"] > 2).astype(int))


@pytest.fixture(scope="module")
def model(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("model") / "model.joblib"
    joblib.dump(ExtraTreesClassifier(3, random_state=0).fit(table[list("abcd")], table["label"]), path)
    return path


@pytest.fixture(scope="module")
def artifact(model):
    return read(model)


@pytest.fixture(scope="module")
def data(artifact, table):
    return training_data(table, artifact.model, "label")


def test_data_that_are_no_table_leave_what_stands_in_the_file(model):
    without, no_table = (examine(Case(str(model)), data=given)[0] for given in (None, (object(), [0])))
    assert no_table.solver_status == "refused"
    assert no_table.artifact.contents == without.artifact.contents is not None


def test_entropy_is_narrowed_only_where_all_is_known_that_the_trees_tell(artifact, data):
    domain, forest = infer(data.columns, data.rows.astype(float)), artifact.model
    entropy = audit_entropy(forest, domain, data, TimeBox(60))
    problem = build(forest, domain, exchangeable_groups(forest, "artifact"), TimeBox(60))
    closer = together(entropy, problem)
    assert narrowed(entropy, problem) == closer
    assert narrowed_without_attack(entropy, forest, domain, "artifact", TimeBox(60)) == closer
    for other in (replace(entropy, examined=1), replace(entropy, reasons=("others' rows",))):
        assert narrowed(other, problem) == other
    assert narrowed(entropy, replace(problem, complete=False)) == entropy


def test_without_the_time_for_a_problem_the_bounds_stand(artifact, data):
    domain, forest = infer(data.columns, data.rows.astype(float)), artifact.model
    entropy = audit_entropy(forest, domain, data, TimeBox(60))
    assert narrowed_without_attack(entropy, forest, domain, "artifact", TimeBox(1e-9)) == entropy
