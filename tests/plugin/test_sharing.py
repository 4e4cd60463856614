"""What one process has found out is the same to all others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.contents import Copy, Rarest, StoredFacts, Vector
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Closeness, Distance, Exact, Individuals, Numeric, Significance
from pytest_draft.facts.files import ArtifactFacts, DataFacts, DomainFacts
from pytest_draft.facts.findings import Findings, Labelled, Part, ProvedValues, Raw, Values
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Published
from pytest_draft.facts.rules import Literal
from pytest_draft.facts.slices import Measured, Slice, SliceBaseline, SliceFigures
from pytest_draft.facts.structure import StructureFacts
from pytest_draft.plugin.sharing import Shared, stamps

PART = Part(" on a part", False, 30, 3, Distance(0.1, 0.2, None), 7, None, Baseline(0.2, 4.0, 20, 10))
FINDINGS = Findings(
    n_rows=40,
    n_columns=8,
    error=Distance(0.1, 0.1, 0.3),
    original_error=Distance(0.1, 0.2, None),
    perfect_rows=10,
    singled_out_rows=4,
    unique_rows=30,
    rows_in_order=None,
    free_share=0.5,
    random=Baseline(0.4, 1.0, 100, 40),
    split_half=Baseline(None, None, 0, 20),
    identity=Identity("confirmed", "by hand"),
    determined=Values(160, 0.05),
    free=Values(160, None),
)
WHOLE = Examination(
    case=Case("model.joblib", "train.csv"),
    artifact=ArtifactFacts("model.joblib", not_read=("a", "b")),
    data=DataFacts("train.csv"),
    domain=DomainFacts("by hand", ("names", "bounds")),
    solver_status="consistent",
    residual=0,
    reproduced_trees=3,
    statistics={"cells": 7},
    findings=FINDINGS,
    reasons=("one",),
    notes=(),
    seconds=1.5,
    versions={"python": "3"},
    certificate=Certificate(40, *(Bounds(n, 40) for n in range(5))),
)
EXAMINATIONS = {
    "nothing found": replace(WHOLE, findings=None, certificate=None, domain=None),
    "whole": WHOLE,
    "privacy declared": replace(
        WHOLE,
        artifact=ArtifactFacts("model.joblib", privacy=Privacy("laplace", 5.0, 0.0, 2.0, "sum", True, ("one", "two"))),
    ),
    "what stands in the file": replace(
        WHOLE,
        artifact=ArtifactFacts(
            "model.joblib",
            published=Published(7, "rows", "rows of each class"),
            contents=StoredFacts(
                arrays=3,
                n_rows=(40, 50),
                by_row=(Vector("a", (40,)), Vector("b", (40, 2))),
                perhaps_by_row=(Vector("c", (8, 40)),),
                copies=(Copy("d", (40, 3), 40, 3),),
                rarest=(Rarest("e", 1, 2),),
                doubts=("one", "two"),
            ),
            structure=StructureFacts("leaf", 5, 1, 1.5, (1, 4), Between(0.1, 0.2), (4, 8), Between(0.5, 0.5)),
        ),
    ),
    "holdout": replace(
        WHOLE,
        case=Case("model.joblib", "train.csv", holdout="others.csv"),
        holdout=DataFacts("others.csv", "0" * 64, 500, 8, ("label",)),
        findings=replace(
            FINDINGS,
            inliers=Individuals(30, 0.1, 9),
            outliers=Individuals(10, None, 1),
            significance=Significance(100, 40, 43, 0.1, 0.2, 0.01, 3, 1e-23, 500, 7, 6.5, False),
            rebuilt_rows=43,
        ),
    ),
    "seen": replace(WHOLE, findings=replace(FINDINGS, seen=PART)),
    "raw": replace(WHOLE, findings=replace(FINDINGS, raw=Raw(3, Distance(0.1, 0.2, None)))),
    "numeric": replace(
        WHOLE,
        findings=replace(
            FINDINGS,
            most_perfect_rows=12,
            most_singled_out_rows=5,
            certain=Values(100, 0.0),
            constrained=Values(60, None),
            certain_rows=3,
            proved_values=ProvedValues(17, 4, 0.25),
            numeric=Numeric(
                4,
                1,
                False,
                Closeness(0.1, 0.2, 0.3, 0.4, 0.25, 0.1),
                Closeness(),
                Closeness(0.3, 0.4, 0.1, 0.0, 0.0, 0.0),
                Baseline(0.3, 0.0, 1, 40),
            ),
        ),
    ),
    "slices": replace(
        WHOLE,
        case=Case(
            "model.joblib", "train.csv", slices=(Slice("old", ("age",), (Literal(0, 60.0, float("inf")),), ("it",)),)
        ),
        findings=replace(
            FINDINGS,
            slices=(
                SliceFigures("few", 3, None),
                SliceFigures(
                    "old",
                    20,
                    Measured(
                        22,
                        Distance(0.1, 0.1, 0.3),
                        5,
                        0.2,
                        0.3,
                        2,
                        9,
                        SliceBaseline(0.4, 0.1, 7),
                        SliceBaseline(0.2, 0.1, 9),
                    ),
                ),
                SliceFigures("no time", 20, Measured(22, Distance(0.0, 1.0, None), 5, 0.2, None, 2, 9)),
            ),
        ),
    ),
    "other scales": replace(
        WHOLE,
        findings=replace(
            FINDINGS,
            rescaled=(
                replace(PART, numeric=True, scale="inner range"),
                replace(PART, numeric=True, scale="rank", exact=Exact(400, 0.5, 0.125)),
            ),
        ),
    ),
    "whole rows": replace(
        WHOLE,
        findings=replace(
            FINDINGS,
            fully_determined=PART,
            fully_determined_rows=31,
            certain_unique_rows=3,
            most_certain_unique_rows=5,
            labelled=Labelled(40, Distance(0.1, 0.2, None), 7, 9, Baseline(0.2, 4.0, 20, 10), 12, 8, True),
        ),
    ),
    "told and determined": replace(WHOLE, findings=replace(FINDINGS, informative=PART, mostly_determined=PART)),
}


@pytest.mark.parametrize("kind", EXAMINATIONS)
def test_an_examination_is_the_same_to_the_process_that_finds_it_out_and_to_the_next(kind, tmp_path):
    examination, shared = EXAMINATIONS[kind], Shared(tmp_path)
    first = shared.once(examination.case, lambda: examination)
    second = shared.once(examination.case, lambda: pytest.fail("it is found out already"))
    assert first == second == examination


@pytest.mark.parametrize("name", ["artifact", "data", "domain", "holdout"])
def test_a_file_that_was_replaced_is_examined_again(name, tmp_path):
    files = {kind: tmp_path / kind for kind in ("artifact", "data", "domain", "holdout")}
    for path in files.values():
        path.write_text("one", encoding="utf-8")
    case = Case(**{kind: str(path) for kind, path in files.items()})
    before = stamps(case)
    assert stamps(case) == before
    files[name].write_text("another", encoding="utf-8")
    assert stamps(case) != before
