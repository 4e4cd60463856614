"""Facts that cannot be are refused where they are made."""

from __future__ import annotations

import math

import pytest

from made_up_facts import filled
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares
from pytest_draft.facts.contents import StoredFacts
from pytest_draft.facts.entropy import Entropy, RowGroup
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Distance, Exact, Individuals, Numeric, Significance
from pytest_draft.facts.files import ArtifactFacts, DataFacts
from pytest_draft.facts.findings import Findings, Labelled, Measure, ProvedValues, Raw, ValueFigures, Values
from pytest_draft.facts.informed import Informed, InformedColumn, InformedSlice
from pytest_draft.facts.rules import Literal
from pytest_draft.facts.slices import Measured, Slice, SliceBaseline, SliceFigures
from pytest_draft.facts.structure import StructureFacts

WRONG = [
    (Adversary, {"name": "nobody"}),
    (Adversary, {"name": "artifact", "percent": 100.0}),
    (Baseline, {"error": -0.1}),
    (Baseline, {"error": math.nan}),
    (Bounds, {"lower": 2, "upper": 1}),
    (Case, {"artifact": "x", "seconds": 0.0}),
    (Case, {"artifact": "x", "workers": 0}),
    (Case, {"artifact": "x", "seed": -1}),
    (Case, {"artifact": "x", "effort": 0.0}),
    (Case, {"artifact": "x", "memory": 0}),
    (Certificate, {"n_rows": 0}),
    (Certificate, {"certain_cells": Bounds(0, 2)}),
    (StoredFacts, {"n_rows": (0,)}),
    (DataFacts, {"rows": -1}),
    (ArtifactFacts, {"size": -1}),
    (Distance, {"lower": 2.0}),
    (Distance, {"worst": -1.0}),
    (Entropy, {"quantiles": (0.5,)}),
    (Informed, {"row_errors": (0.5,)}),
    (Informed, {"half_rows": 2, "rows": 1}),
    (Informed, {"told_rows": 1.5}),
    (InformedColumn, {"told": -0.5}),
    (InformedSlice, {"near_rows": 1.5}),
    (InformedSlice, {"error": -0.5}),
    (Entropy, {"trees": (0.5, 0.4, 0.6)}),
    (Entropy, {"dist": 1.1}),
    (Entropy, {"most_exposed": tuple(range(11))}),
    (Exact, {"share": 1.1}),
    (Examination, {"solver_status": "fine"}),
    (Examination, {"seconds": -1.0}),
    (Findings, {"measures": ()}),
    (Findings, {"singled_out": Bounds(2, 2)}),
    (Findings, {"certain_unique": Bounds(0, 2)}),
    (Findings, {"row_errors": (0.5,)}),
    (Individuals, {"perfect_rows": 2}),
    (Labelled, {"commonest": 2}),
    (Measure, {"perfect": Bounds(2, 2)}),
    (Measure, {"rows": 2}),  # beside a limit of one
    (Measured, {"singled_out_rows": 2}),
    (Numeric, {"without_spread": 2}),
    (ProvedValues, {"columns": 2}),
    (Raw, {"columns": -1}),
    (RowGroup, {"rows": 0}),
    (RowGroup, {"mean": 0.5}),
    (Significance, {"as_close": 2}),
    (Significance, {"p_value": 1.1}),
    (SliceBaseline, {"perfect_share": -0.1}),
    (SliceFigures, {"rows": -1}),
    (StructureFacts, {"leaves": 1}),
    (ValueFigures, {"error": -0.1}),
    (Values, {"free_share": 1.1}),
]


@pytest.mark.parametrize(("kind", "values"), WRONG, ids=lambda one: getattr(one, "__name__", str(one)))
def test_a_fact_that_cannot_be_is_refused_with_one_line(kind, values):
    with pytest.raises(ValueError) as refused:
        kind(**values) if kind in (Case, Adversary) else filled(kind, **values)
    assert len(str(refused.value).splitlines()) == 1


def test_a_slice_tests_only_columns_that_it_names():
    with pytest.raises(ValueError, match="does not name"):
        Slice("old", ("age",), (Literal(1, 0.0, 1.0),), ("it",))


def test_a_last_digit_makes_no_share_impossible():
    require_shares(share=1 + 1e-15)
    require_rising(lowest=0.1 + 0.2, mean=0.3)


def test_what_is_not_known_is_not_checked():
    require_not_negative(error=None)
    require_shares(share=None)
    require_rising(found=1, most=None, rows=2)
    with pytest.raises(ValueError, match="rows of 0: less than found of 1"):
        require_rising(found=1, most=None, rows=0)
