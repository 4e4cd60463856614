"""The published schema of the JSON report."""

from __future__ import annotations

import copy
import json
import os
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

from builders import FINDINGS, PART, changed
from made_up_facts import filled
from pytest_draft.facts.ambiguity import Ambiguity, Attacker, Ideal
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Exact
from pytest_draft.facts.findings import Of
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.status import SOLVER_STATUSES
from pytest_draft.policy.policy import Policy
from pytest_draft.report.canonical import with_hash
from pytest_draft.report.result import metrics_of, result_of
from pytest_draft.report.schema import METRICS, schema

OPEN = {"rules", "versions", "statistics", "baselines", "evidence", "context"}
"""Objects whose keys are not ours, or that can be empty."""

SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NUMBER = {"type": ["number", "null"], "minimum": 0}
KINDS = {
    "yes or no": {"type": ["boolean", "null"]},
    "error": NUMBER,
    "rows on average": NUMBER,
    "share": SHARE,
    "probability": SHARE,
}
"""What metrics of a unit are; of any other, whole numbers."""

ADDED = (
    *(
        "ambiguity",
        "given_all_other_rows",
        "limit",
        "retried",
        "column_figures",
        "asked_by",
        "commands",
        "bits_ended",
        "decided_by",
        "regressor",
        "label_told",
        "told_of_all",
        "capacity",
        "context",
        "evidence",
        "sensitive",
        "membership",
    ),
)
"""Keys that results and checks of an earlier pytest-draft, in reports of the same schema version, do not have."""


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(schema())
    return Draft202012Validator(schema())


def places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Yield the way to each object whose keys are ours."""
    if isinstance(value, dict):
        if not OPEN & set(path[-2:]):
            yield path
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:2]):
            yield from places(inner, (*path, index))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def test_real_reports_are_valid(report, validator):
    validator.validate(report)
    assert {result["verdict"] for result in report["results"]} == {"failed", "passed", "inconclusive"}
    assert any("numeric" in result["baselines"] for result in report["results"])


def test_everything_that_a_report_can_hold_besides_is_valid(report, validator, waived, with_plots):
    for result in report["results"]:
        waived(with_plots(result)["checks"][0])
        result["policy"]["allow_inconclusive"] = False
        result["artifact"]["privacy"] = asdict(Privacy("laplace", 1.0, scale=10.0, rounding="sum"))
        result["artifact"]["privacy"]["broken_by"] = ["x"]
        result["holdout"] = dict(result["data"])
        result["policy"]["rules"]["allowed-models"] = {"kinds": ["RandomForestClassifier"]}
    report["not_run"] = ["models/quiet.joblib::more[artifact]"]
    validator.validate(with_hash(report))


def test_what_other_datasets_explain_the_file_is_told_with_the_whole_and_each_part(only, validator):
    among = Attacker("other rows", 0.021, 12.5, 0.04, 9.0)
    ideal = Ideal(0.021, 12.5, 40, 0.3, 0.04, 9.0, (among,))
    parts = changed(PART, ideal=None), changed(PART, of="seen", ideal=replace(ideal, rows=20))
    findings = replace(changed(FINDINGS, ideal=ideal), ambiguity=filled(Ambiguity))
    findings = replace(findings, measures=(*findings.measures, *parts))
    policy = Policy("ours", "policy.toml", {"verbatim-data": {}})
    result = result_of(filled(Examination, findings=findings), (), policy)
    report = only("leaking")
    report["results"][0]["ambiguity"] = json.loads(json.dumps(result["ambiguity"]))
    validator.validate(report)
    told = report["results"][0]["ambiguity"]
    assert told["ideal"][0] == {"on": "", "scale": "range", "rows": findings.whole.rows} | {
        **asdict(ideal),
        "attackers": [asdict(among)],
    }
    assert [one["on"] for one in told["ideal"]] == ["", " on a part"]
    for key in told:
        assert not validator.is_valid(changed_report(report, key)), key


def changed_report(report: dict, key: str) -> dict:
    """Return a report without a key of what other datasets explain the file."""
    less = copy.deepcopy(report)
    del less["results"][0]["ambiguity"][key]
    return less


def test_the_metrics_are_those_of_the_table():
    """``GOLDEN=write`` writes them into the schema."""
    kinds = {name: KINDS.get(one.unit, {"type": ["integer", "null"], "minimum": 0}) for name, one in METRICS.items()}
    if os.environ.get("GOLDEN") == "write":
        path = Path(str(resources.files("pytest_draft.report"))) / "report.schema.json"
        names = textwrap.fill(", ".join(map(json.dumps, kinds)), 112, initial_indent=" " * 8, subsequent_indent=" " * 8)
        lines = ",\n".join(f"        {json.dumps(name)}: {json.dumps(kind)}" for name, kind in kinds.items())
        begin, middle, end = '"required": [\n', '\n      ],\n      "properties": {\n', "\n      }\n    }"
        head, place, rest = path.read_text(encoding="utf-8").partition('    "metrics": {\n')
        before, after = rest.split(begin, 1)[0], rest.split(end, 1)[1]
        path.write_text(head + place + before + begin + names + middle + lines + end + after, encoding="utf-8")
    described = schema()["$defs"]["metrics"]
    assert described["properties"] == kinds
    assert described["required"] == list(kinds)


def test_each_metric_stands_where_the_table_says():
    parts = [changed(PART, of=of) for of in get_args(Of)[1:]] + [
        changed(PART, of="everything", scale="rank", exact=filled(Exact))
    ]
    found = filled(Examination)
    findings = replace(found.findings, measures=(*found.findings.measures, *parts))
    assert None not in metrics_of(replace(found, findings=findings, decided_by=None)).values()


def test_the_statuses_are_those_of_an_examination():
    assert tuple(schema()["$defs"]["judgement"]["properties"]["solver_status"]["enum"]) == SOLVER_STATUSES


@pytest.mark.nightly
def test_a_key_that_is_not_described_is_refused_wherever_it_stands(report, validator):
    for path in places(report):
        changed = copy.deepcopy(report)
        at(changed, path)["unheard_of"] = 1
        assert not validator.is_valid(changed), path


@pytest.mark.nightly
def test_a_key_that_is_missing_is_refused_wherever_it_stands(only, validator):
    report = only("leaking")
    for path in places(report):
        for key in list(at(report, path)):
            changed = copy.deepcopy(report)
            del at(changed, path)[key]
            assert validator.is_valid(changed) == (key in ("trees", *ADDED) and path[-1:] != ("metrics",)), (*path, key)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "skipped"),
        (("schema_version",), 3),
        (("results", 0, "metrics", "perfect_rows"), "many"),
        (("results", 0, "metrics", "perfect_rows"), -1),
        (("results", 0, "artifact", "sha256"), "ABC"),
        (("results", 0, "checks", 0, "result"), "waived"),
        (("results", 0, "solver_status"), "fine"),
        (("results", 0, "entropy", "row_ratio_quantiles"), [0.5]),
        (("results", 0, "baselines", "reconstruction_error_bounds"), [0.1]),
    ],
)
def test_a_wrong_value_is_refused(path, value, only, validator):
    report = only("leaking")
    at(report, path[:-1])[path[-1]] = value
    assert not validator.is_valid(report)
