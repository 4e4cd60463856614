"""Findings and examinations by hand, from which tests make theirs: nothing goes in, or what is to differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Distance
from pytest_draft.facts.files import ArtifactFacts, DataFacts
from pytest_draft.facts.findings import Findings, Part
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.informed import Informed

FINDINGS = Findings(
    n_rows=40,
    n_columns=8,
    error=Distance(0.1, 0.1, 0.3),
    original_error=Distance(0.1, 0.1, 0.3),
    perfect_rows=10,
    singled_out_rows=4,
    unique_rows=30,
    rows_in_order=None,
    free_share=0.0,
    random=Baseline(0.4, 1.0, 100, 40),
    split_half=Baseline(0.2, 4.0, 20, 20),
    identity=Identity("confirmed", "by hand"),
)
"""Of 40 rows, 10 come back, and other rows like these would meet 4; the error is a fourth of uniform guesses' one."""

PART = Part(
    on=" on a part",
    absolute=False,
    n_rows=20,
    columns=3,
    error=Distance(0.0, 0.0, 0.0),
    perfect_rows=19,
    random_error=0.4,
    split_half=Baseline(0.2, 4.0, 20, 10),
)
"""A part that comes back whole but for one row."""


INFORMED = Informed(
    rows=40,
    of_rows=40,
    error=0.06,
    error_without_file=0.24,
    half_rows=20,
    matched_error=0.05,
    matched_error_without_file=0.18,
    split_half_error=0.2,
    shrinks=1.0,
    told_values=0.3,
    told_rows=0.1,
    near_values=0.5,
    near_rows=0.3,
    near_values_without_file=0.4,
    near_rows_without_file=0.2,
    proved=True,
    bits=90.0,
)
"""Whoever knows all other rows comes to a fourth of other people's error, and is told a tenth of the rows whole."""


def examination(**changes: Any) -> Examination:
    """Return an examination without findings, with what is given in place of its fields."""
    return replace(
        Examination(
            case=Case("model.joblib"),
            artifact=ArtifactFacts("model.joblib"),
            data=DataFacts("train.csv"),
            domain=None,
            solver_status="consistent",
            residual=0,
            reproduced_trees=None,
            statistics={},
            findings=None,
            reasons=(),
            notes=(),
            seconds=1.0,
            versions={},
        ),
        **changes,
    )
