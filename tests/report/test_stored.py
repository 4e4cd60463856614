"""The stored report is what judgements of today give, but for seconds, versions and hashes."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import judge
from pytest_draft.report.document import document, merged
from pytest_draft.report.result import result_of
from pytest_draft.report.schema import schema

PLANTED = (9_871_712, 9_871_713)
RULES = {
    "reconstruction-error": {"max_error_of_split_half": 0.5},
    "perfect-rows": {"max_share_beyond_split_half": 0.5},
    "entropy-reduction": {"max_entropy_reduction": 0.9},
}


def judged(folder) -> dict:
    """Return the report of a forest that leaks, one that does not, one of numbers, and a damaged file."""
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


def keys(value: object) -> object:
    """Return the keys of an object and all in it, without those whose keys are not ours."""
    if isinstance(value, dict):
        return {key: keys(one) for key, one in value.items() if key not in ("statistics", "versions")}
    return keys(value[0]) if isinstance(value, list) and value else None


@pytest.mark.nightly
def test_the_stored_report_is_what_is_judged_today(report, tmp_path):
    now = judged(tmp_path)
    assert not list(Draft202012Validator(schema()).iter_errors(now))
    verdicts, stored = ({one["artifact"]["path"]: one["verdict"] for one in of["results"]} for of in (now, report))
    assert verdicts == stored | {"models/numbers.joblib": verdicts["models/numbers.joblib"]}  # by the machine's speed
    assert keys(now["results"][1]) == keys(report["results"][1])
