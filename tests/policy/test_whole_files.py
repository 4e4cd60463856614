"""Rows beside a forest keep its file from passing under every shipped policy, and ordinary files are left alone."""

from __future__ import annotations

import warnings

import joblib
import pytest

from pytest_draft.artifact import read
from pytest_draft.documents import rules_folder
from pytest_draft.errors import SeveralModelsError
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import read_policy
from pytest_draft.policy.verdict import judge, verdict_of
from studies import ordinary_files

POLICIES = [read_policy(path) for path in sorted(rules_folder().glob("*.toml"))]
HIDDEN = ordinary_files.hidden()
ORDINARY = {name: made for name, (made, holds) in ordinary_files.ordinary().items() if not holds}


@pytest.fixture(scope="module")
def table():
    return ordinary_files.staff(90, seed=7)


@pytest.fixture
def examined(tmp_path, table):
    """Return a function that examines a model's file, without an attack."""

    def of(made):
        path, target = str(tmp_path / "model.joblib"), ordinary_files.LABEL
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            joblib.dump(made(table.drop(columns=target), table[target]), path)
        table.to_csv(tmp_path / "train.csv", index=False)
        try:
            read(path)
            places = [None]
        except SeveralModelsError as several:
            places = list(several.places)
        cases = [Case(path, str(tmp_path / "train.csv"), target=target, place=place, attack=False) for place in places]
        return [examine(case)[0] for case in cases]

    return of


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("name", [name for name in HIDDEN if name != "all rows as one number"])
def test_rows_beside_a_forest_are_no_pass_under_any_shipped_policy(name, examined):
    found = examined(HIDDEN[name])
    for policy in POLICIES:
        checks = [check for examination in found for check in judge(examination, policy)]
        assert verdict_of((check.result, check.counts) for check in checks) != "passed"
        stopped = [c for c in checks if c.rule == "verbatim-data" and c.result != "passed" and c.counts]
        assert stopped or any(c.rule == "per-row-vectors" and c.result == "failed" for c in checks), policy.name


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["model card", "voting, MLP", "search of a pipeline", "stacking, logistic"])
def test_an_ordinary_file_is_not_stopped_by_what_stands_in_it(name, examined):
    for examination in examined(ORDINARY[name]):
        assert examination.artifact.contents.why_not_judged is None
        for policy in POLICIES:
            checks = {check.rule: check.result for check in judge(examination, policy)}
            assert checks["verbatim-data"] == "passed"
