"""The CycloneDX bill of materials."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema.validators import validator_for
from referencing import Registry, Resource

from pytest_draft.report import cyclonedx

SCHEMAS = os.environ.get("CYCLONEDX_SCHEMAS")
"""The folder ``schema`` of https://github.com/CycloneDX/specification, for the test against the official ones."""


def bom(report: dict) -> dict:
    found = json.loads(cyclonedx.render(report))
    assert (found["bomFormat"], found["specVersion"], found["version"]) == ("CycloneDX", "1.6", 1)
    for component in found["components"]:
        assert component["type"] == "machine-learning-model"
        card = component["modelCard"]
        assert set(card) == {"quantitativeAnalysis", "considerations", "properties"}
        for metric in card["quantitativeAnalysis"]["performanceMetrics"]:
            assert set(metric) == {"type", "value", "slice"}
            assert all(isinstance(text, str) and text for text in metric.values())
        assert all(isinstance(text, str) for text in card["considerations"]["technicalLimitations"])
        assert all(set(risk) == {"name"} for risk in card["considerations"]["ethicalConsiderations"])
        assert all(set(one) == {"name", "value"} and isinstance(one["value"], str) for one in card["properties"])
    return found


def model(report: dict) -> dict:
    (component,) = bom(report)["components"]
    return component


def said(component: dict, name: str) -> list[str]:
    properties = component["modelCard"]["properties"]
    return [one["value"] for one in properties if one["name"] == f"pytest-draft:{name}"]


@pytest.mark.parametrize(
    ("name", "verdict", "risks"),
    [("leaking", "failed", 3), ("numbers", "inconclusive", 2), ("broken", "inconclusive", 3), ("quiet", "passed", 0)],
)
def test_a_model_has_its_hash_its_verdict_and_what_is_held_against_it(name, verdict, risks, only):
    report = only(name)
    found = model(report)
    assert found["hashes"] == [{"alg": "SHA-256", "content": report["results"][0]["artifact"]["sha256"]}]
    assert said(found, "verdict") == [verdict]
    assert said(found, "adversary") == ["artifact"]
    assert len(found["modelCard"]["considerations"]["ethicalConsiderations"]) == risks


def test_each_known_figure_is_a_metric_and_bounds_are_told_as_such(only):
    report = only("leaking")
    result = report["results"][0]
    result["baselines"]["reconstruction_error_bounds"] = [0.1, 0.2]
    result["metrics"]["reconstruction_error"] = None
    metrics = {
        one["type"].partition(":")[2]: one["value"]
        for one in model(report)["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    }
    assert metrics["reconstruction_error"] == "0.1 to 0.2"
    assert metrics["perfect_rows"] == "40"
    assert set(metrics) == {name for name, value in result["metrics"].items() if value is not None} | {
        "reconstruction_error"
    }


def test_several_models_are_components_and_several_adversaries_slices(report):
    components = bom(report)["components"]
    assert [one["name"] for one in components] == [
        f"models/{name}.joblib" for name in ("broken", "leaking", "numbers", "quiet")
    ]
    other = json.loads(json.dumps(report["results"][3])) | {"adversary": "published", "verdict": "failed"}
    report["results"].append(other)
    found = bom(report)["components"][3]
    assert said(found, "verdict") == ["failed"]
    slices = {one["slice"] for one in found["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]}
    assert slices == {"adversary artifact", "adversary published"}


def test_a_waived_check_is_told_and_so_is_what_did_not_run(only, waived):
    report = only("leaking")
    for check in report["results"][0]["checks"]:
        waived(check)
    report["results"][0]["verdict"] = "passed"
    found = model(report)
    assert said(found, "verdict") == ["waived"]
    report["not_run"] = ["models/leaking.joblib::more[artifact]"]
    found = model(report)
    assert said(found, "verdict") == ["inconclusive"]
    names = [one["name"] for one in found["modelCard"]["considerations"]["ethicalConsiderations"]]
    assert [name.partition(":")[0] for name in names] == ["waived", "waived", "waived", "not run"]


def test_a_file_without_a_hash_has_none(only):
    report = only("broken")
    report["results"][0]["artifact"]["sha256"] = None
    assert model(report)["hashes"] == []


def test_the_time_is_that_of_the_report(only):
    assert "timestamp" not in bom(only("quiet"))["metadata"]
    dated = {**only("quiet"), "judged_at": "2026-11-27T14:00:00Z", "canonical_sha256": "f" * 64}
    found = bom(dated)
    assert found["metadata"]["timestamp"] == "2026-11-27T14:00:00Z"
    assert said(found["components"][0], "judged at") == ["2026-11-27T14:00:00Z"]
    assert said(found["components"][0], "report") == ["f" * 64]


@pytest.mark.nightly
@pytest.mark.skipif(SCHEMAS is None, reason="CYCLONEDX_SCHEMAS names no folder with the official schemas")
@pytest.mark.parametrize("version", ["1.6", "1.7"])
def test_the_official_schemas_take_it(version, report, waived):
    report |= {"judged_at": "2026-11-27T14:00:00Z", "not_run": ["models/quiet.joblib::more[artifact]"]}
    waived(report["results"][1]["checks"][0])
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(str(SCHEMAS)).glob("*.schema.json"))]
    registry = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in found if "$id" in one])
    (schema,) = [one for one in found if one.get("$id", "").endswith(f"bom-{version}.schema.json")]
    validator = validator_for(schema)(schema, registry=registry)
    for told in (report, {**report, "results": []}, {**report, "results": report["results"][:1]}):
        assert not list(validator.iter_errors({**bom(told), "specVersion": version}))
