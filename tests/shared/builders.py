"""Findings and examinations by hand, from which tests make theirs: nothing goes in, or what is to differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Distance
from pytest_draft.facts.files import ArtifactFacts, DataFacts
from pytest_draft.facts.findings import Findings, Measure, Of
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.informed import Informed

FINDINGS = Findings(
    measures=(
        Measure(
            of="everything",
            on="",
            rows=40,
            columns=8,
            error=Distance(0.1, 0.1, 0.3),
            perfect=Bounds(10, 10),
            random=Baseline(0.4, 1.0, 100, 40),
            split_half=Baseline(0.2, 4.0, 20, 20),
        ),
    ),
    original_error=Distance(0.1, 0.1, 0.3),
    singled_out=Bounds(4, 4),
    unique_rows=30,
    identity=Identity("confirmed", "by hand"),
)
"""Of 40 rows, 10 come back, and other rows like these would meet 4; the error is a fourth of uniform guesses' one."""

PART = Measure(
    of="informative",
    on=" on a part",
    rows=20,
    columns=3,
    error=Distance(0.0, 0.0, 0.0),
    perfect=Bounds(19, 19),
    random=Baseline(0.4, None, 100, 20),
    split_half=Baseline(0.2, 4.0, 20, 10),
)
"""A part that comes back whole but for one row."""


def changed(facts: Any, **changes: Any) -> Any:
    """Return figures with others in place of some: of findings also those of the whole, and parts by what they are of.

    A number of rows stands for bounds that meet; `rescaled` are the measures on other scales.
    """
    for name, value in changes.items():
        changes[name] = Bounds(value, value) if name in _ROWS and isinstance(value, int) else value
    if not isinstance(facts, Findings):
        return replace(facts, **changes)
    whole, parts = facts.measures[0], {one.of: one for one in facts.measures[1:] if one.scale == "range"}
    rescaled = changes.pop("rescaled", [one for one in facts.measures if one.scale != "range"])
    for name in get_args(Of)[1:]:
        part = changes.pop(name, parts.get(name))
        parts[name] = None if part is None else replace(part, of=name)
    figures = {name: changes.pop(name) for name in vars(whole) if name in changes}
    values = {name: changes.pop(name) for name in vars(facts.values) if name in changes}
    measures = [replace(whole, **figures), *parts.values(), *rescaled]
    return replace(
        facts,
        measures=tuple(one for one in measures if one is not None),
        values=replace(facts.values, **values),
        **changes,
    )


_ROWS = ("perfect", "singled_out", "certain_rows", "certain_unique")

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
