"""The audit's one entrance tells the same as its pieces, and holds whatever becomes of the data."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.enumeration import build
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.entropy import audit_entropy
from pytest_draft.audit.file_audit import FileAudit, audit_file, narrowed, narrowed_without_attack
from pytest_draft.audit.structure import structure_of, together
from pytest_draft.data import training_data
from pytest_draft.domain import infer
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox

N_ROWS = 40


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.integers(0, 3, (N_ROWS, 4)), columns=list("abcd"))
    return frame.assign(label=(frame["a"] + frame["b"] > 2).astype(int))


@pytest.fixture(scope="module")
def artifact(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("model") / "model.joblib"
    joblib.dump(ExtraTreesClassifier(3, random_state=0).fit(table[list("abcd")], table["label"]), path)
    return read(path)


@pytest.fixture(scope="module")
def data(artifact, table):
    return training_data(table, artifact.model, "label")


def test_a_file_is_audited_as_by_its_pieces(artifact, table, data):
    found = audit_file(artifact, table, data, TimeBox(60))
    box = TimeBox(60)
    structure = structure_of(artifact.model, data, box)
    assert found == FileAudit(inspect_contents(artifact, table, data, box), structure)


def test_data_that_are_no_table_leave_what_stands_in_the_file(artifact):
    no_table = (object(), [0])
    assert audit_file(artifact, no_table, None, TimeBox(60)) == audit_file(artifact, None, None, TimeBox(60))


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
