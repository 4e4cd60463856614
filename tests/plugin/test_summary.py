"""Lines below the table, on figures by hand."""

from __future__ import annotations

import pytest

from pytest_draft.report.measured import of_values


def line(determined: int, free: int) -> str:
    metrics = {"determined_values": determined, "free_values": free, "reconstruction_error": 0.375}
    metrics |= {"determined_error": 0.01 if determined else None, "free_error": 0.5}
    result = {"artifact": {"path": "m"}, "adversary": "artifact", "metrics": metrics, "baselines": {}}
    return of_values(result) or ""


@pytest.mark.parametrize(
    ("determined", "free", "told"), [(319, 1, "more than 99 %"), (1, 319, "less than 1 %"), (3, 1, "75 %")]
)
def test_some_values_are_not_rounded_to_all_or_none(determined, free, told):
    assert f"the forest determines {told} of the values: the error is 0.0100 on these" in line(determined, free)


def test_no_value_that_is_determined_has_no_error():
    assert line(0, 8) == "the forest determines no value: the error of 0.3750 is that of guesses"
