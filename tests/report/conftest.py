"""A report of real judgements, which every format renders, and names that would break a careless one."""

from __future__ import annotations

import copy
import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import judge
from pytest_draft.report.document import document, merged
from pytest_draft.report.result import result_of

PLANTED = (9_871_712, 9_871_713)

RULES = {
    "reconstruction-error": {"max_error_of_split_half": 0.5},
    "perfect-rows": {"max_share_beyond_split_half": 0.5},
    "entropy-reduction": {"max_entropy_reduction": 0.9},
}


@pytest.fixture(scope="session")
def judged(tmp_path_factory) -> dict:
    """Return the report of a forest that leaks, one that does not, one of numbers, and a damaged file."""
    folder = tmp_path_factory.mktemp("judged")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (40, 8)), columns=[f"c{i}" for i in range(8)])
    rows.insert(0, "age", rng.choice([PLANTED[0] - 1, PLANTED[1] + 1, *PLANTED], 40))
    rows["label"] = np.where(rows.iloc[:, 1:].sum(axis=1) + rng.integers(0, 3, 40) > 5, "yes", "no")
    numbers = pd.DataFrame({"x": rng.normal(size=30), "y": rng.normal(size=30)})
    numbers["label"] = np.where(numbers.x > 0, "yes", "no")
    cases = {
        "leaking": (RandomForestClassifier(20, bootstrap=False, random_state=0), rows),
        "quiet": (RandomForestClassifier(2, bootstrap=False, max_depth=1, random_state=0), rows),
        "numbers": (RandomForestClassifier(5, max_depth=3, random_state=0), numbers),
    }
    for name, (forest, frame) in cases.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
        joblib.dump(forest.fit(frame.iloc[:, :-1], frame.label), folder / f"{name}.joblib")
    (folder / "broken.joblib").write_bytes((folder / "leaking.joblib").read_bytes()[:999])
    rows.to_csv(folder / "broken.csv", index=False)
    policy, results = Policy("ours", str(folder / "policy.toml"), RULES), []
    for name in (*cases, "broken"):
        case = Case(str(folder / f"{name}.joblib"), str(folder / f"{name}.csv"), seconds=120, effort=12.0)
        examination, _ = examine(case)
        result = result_of(examination, judge(examination, policy), policy)
        for table, ending in (("artifact", "joblib"), ("data", "csv")):
            result[table]["path"] = f"models/{name}.{ending}"
        for check in result["checks"]:
            check["item"] = f"models/{name}.joblib::{check['rule']}[artifact]"
        results.append(result)
    return json.loads(json.dumps(document(merged(results), [], "1.2.3")))


@pytest.fixture
def report(judged) -> dict:
    """Return a copy of the report: leaking fails, quiet passes, broken is inconclusive."""
    return copy.deepcopy(judged)


@pytest.fixture
def only(report):
    """Return a function that gives the report of one model."""

    def of(name: str) -> dict:
        results = [result for result in report["results"] if name in result["artifact"]["path"]]
        return {**report, "verdict": results[0]["verdict"], "results": results}

    return of


@pytest.fixture
def waived():
    """Return a function that waives a check."""

    def waive(check: dict) -> None:
        told = {"reason": "internal use", "owner": "privacy office", "expires": "2099-12-31"}
        check["waiver"] = {"rule": check["rule"], "artifact_sha256": "0" * 64, **told}

    return waive


@pytest.fixture
def with_plots():
    """Return a function that adds the aggregates of all plots to a result."""

    def add(result: dict) -> dict:
        quantiles = [k / 400 for k in range(101)]
        result["row_errors"] = {"quantiles": quantiles}
        result["leaf_sizes"] = {"at_least": [1, 2, 5], "leaves": [30, 4, 1]}
        return result

    return add
