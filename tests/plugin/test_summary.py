"""Lines below the table, on figures by hand."""

from __future__ import annotations

import pytest

from pytest_draft.report.sentences import of_values


def line(determined: int, free: int, told: float | None = None) -> str:
    metrics = {"determined_values": determined, "free_values": free, "reconstruction_error": 0.375}
    metrics |= {"determined_error": 0.01 if determined else None, "free_error": 0.5}
    result = {"artifact": {"path": "m"}, "adversary": "artifact", "metrics": metrics, "baselines": {}}
    result["given_all_other_rows"] = None if told is None else {"told_values": told}
    return of_values(result) or ""


@pytest.mark.parametrize(
    ("determined", "free", "told"), [(319, 1, "more than 99 %"), (1, 319, "less than 1 %"), (3, 1, "75 %")]
)
def test_some_values_are_not_rounded_to_all_or_none(determined, free, told):
    assert line(determined, free) == (
        f"trees test {told} of the values; the attack's error on these is 0.0100, and on the rest, which it can only "
        "guess, 0.5000"
    )


@pytest.mark.parametrize(
    ("determined", "free", "known"), [(319, 1, 0.41), (3, 1, 0.7), (1, 1, 0.0), (3, 1, 0.75), (3, 1, 0.9), (3, 1, None)]
)
def test_whoever_knows_more_is_not_said_to_know_less(determined, free, known):
    """What is tested can be more than what is told to somebody who knows all other rows: then both are said."""
    tested = determined / (determined + free)
    both = known is not None and known < tested
    assert ("(somebody who knows all other rows can work out " in line(determined, free, known)) == both
    if both:
        assert f"can work out {known:.0%} of all" in line(determined, free, known).replace(" %", "%")


def test_no_value_that_is_determined_has_no_error():
    assert line(0, 8) == "trees test no value: the error of 0.3750 is that of guesses"
