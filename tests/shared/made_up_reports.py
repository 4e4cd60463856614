"""Reports by hand: in goes what is known of how close anybody could get, out comes a report with one judged model."""

from __future__ import annotations

import json
from typing import Any

from made_up_facts import filled
from pytest_draft.facts.ambiguity import Ambiguity, Ideal
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Distance
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.findings import Findings, Measure
from pytest_draft.facts.informed import Informed, InformedColumn, InformedSlice
from pytest_draft.facts.slices import SliceFigures
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import judge
from pytest_draft.report.document import document, merged
from pytest_draft.report.result import result_of

POLICY = Policy("ours", "policy.toml", {"reconstruction-error": {"max_error": 0.029}})

AMBIGUITY = Ambiguity(
    priors=("uniform", "population"),
    samples=40,
    unchanged_rows=0.25,
    bits=63.4,
    distance=0.125,
    shared_unique_rows=9,
)

IDEAL = Ideal(0.021, 12.5, 100)

INFORMED = Informed(
    rows=1_000,
    of_rows=7_205,
    error=0.0312,
    error_without_file=0.1243,
    half_rows=300,
    matched_error=0.029,
    matched_error_without_file=0.08,
    split_half_error=0.1,
    shrinks=0.9,
    told_values=0.34,
    told_rows=0.002,
    near_values=0.8,
    near_rows=0.12,
    near_values_without_file=0.6,
    near_rows_without_file=0.02,
    proved=True,
    bits=90.0,
    row_errors=tuple(k / 1000 for k in range(101)),
    columns=(InformedColumn("age|x", 0.1, 0.5, 0.4), InformedColumn("sex", 0.0, 0.9, 0.5)),
    slices=(InformedSlice("women", 40, 0.05, 0.2, 0.4, 0.1, 0.2, 0.05),),
)


def reported(
    found: Ambiguity | None = AMBIGUITY,
    ideal: Ideal | None = IDEAL,
    error: float = 0.034,
    informed: Informed | None = INFORMED,
) -> dict[str, Any]:
    """Return the plain report of one result."""
    whole = filled(
        Measure,
        on="",
        scale="range",
        rows=100,
        perfect=Bounds(10, 10),
        error=Distance(error, error, 0.5),
        split_half=Baseline(0.06, 5.0, 20, 50),
        ideal=ideal,
        informed=informed,
    )
    parts = filled(Measure, of="fully_determined", scale="range"), filled(Measure, of="everything", scale="rank")
    slices = filled(SliceFigures, on=""), filled(SliceFigures, on=""), filled(SliceFigures)
    findings = filled(Findings, measures=(whole, *parts), slices=slices, ambiguity=found, certain_unique=Bounds(1, 2))
    artifact = filled(ArtifactFacts, beyond=None)
    made_up = {"artifact": artifact, "findings": findings, "informed": informed}
    examination = filled(Examination, **made_up, reasons=(), shortfalls=(), barred=None)
    result = result_of(examination, judge(examination, POLICY), POLICY)
    for check in result["checks"]:
        check["item"] = "m.joblib::reconstruction-error[artifact]"
    made: dict[str, Any] = json.loads(json.dumps(document(merged([result]), [], "1.2.3")))
    return made
