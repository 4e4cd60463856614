"""A bill of materials: in goes a plain report, out comes a CycloneDX 1.6 BOM, each model with its model card."""

from __future__ import annotations

from typing import Any

from pytest_draft.foreign_text import harmless_values
from pytest_draft.report import sentences
from pytest_draft.report.bounds import bounds_of, span
from pytest_draft.report.json_report import indented
from pytest_draft.report.result import Report
from pytest_draft.report.standings import by_model


def render(report: Report) -> str:
    """Return the text of the BOM."""
    tool = {key: value for key, value in report["tool"].items() if value}
    when = {"timestamp": report["judged_at"]} if report.get("judged_at") else {}
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [{"type": "application", **tool}]}, **when},
        "components": [_component(path, {**report, "results": of}) for path, of in by_model(report["results"]).items()],
    }
    return indented(harmless_values(bom))


def _component(path: str, report: Report) -> dict[str, Any]:
    results = report["results"]
    hashes = dict.fromkeys(of["artifact"]["sha256"] for of in results)
    said = [("verdict", sentences.headlines(report)[0][0]), *sentences.origins(report)]
    metrics = [
        {"type": f"pytest-draft:{name}", "value": span(bounds, ""), "slice": f"adversary {of['adversary']}"}
        for of in results
        for name in of["metrics"]
        if (bounds := bounds_of(of, name))
    ]
    return {
        "type": "machine-learning-model",
        "name": path,
        "hashes": [{"alg": "SHA-256", "content": sha256} for sha256 in hashes if sha256],
        "modelCard": {
            "quantitativeAnalysis": {"performanceMetrics": metrics},
            "considerations": {
                "technicalLimitations": [sentences.LIMITS],
                "ethicalConsiderations": [{"name": ": ".join(one)} for one in sentences.held_against(report)],
            },
            "properties": [{"name": f"pytest-draft:{name}", "value": what} for name, what in dict.fromkeys(said)],
        },
    }
