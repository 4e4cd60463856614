"""Of several models in a file the gravest result counts, and says where it is."""

from __future__ import annotations

import pytest

from pytest_draft.policy.verdict import Check, gravest, verdict_of


def check(result: str) -> Check:
    return Check("reconstruction-error", "artifact", result, f"it {result}")


def test_failed_beats_inconclusive_beats_passed_and_the_place_is_named():
    checks = [("a", check("passed")), ("b", check("inconclusive")), ("c", check("failed")), ("d", check("failed"))]
    assert gravest(checks).sentence == "model c: it failed (and 1 more of 4 models)"
    assert gravest(checks[:2]).sentence == "model b: it inconclusive"
    assert gravest(checks[:1]) == checks[0][1]


def test_the_only_model_of_a_file_keeps_its_sentence():
    assert gravest([(None, check("failed"))]) == check("failed")


def test_a_check_that_is_not_applicable_to_one_model_is_judged_by_the_others():
    left_out = ("a", check("not applicable"))
    assert gravest([left_out, ("b", check("passed"))]) == check("passed")
    assert gravest([left_out, ("b", check("failed"))]).sentence == "model b: it failed"
    assert gravest([left_out, left_out]) == check("not applicable")


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([("not applicable", True), ("passed", True)], "passed"),
        ([("not applicable", True), ("failed", True)], "failed"),
        ([("not applicable", True), ("inconclusive", True), ("passed", True)], "inconclusive"),
        ([("not applicable", True)], "inconclusive"),
        ([("not applicable", False)], "inconclusive"),
        ([("not applicable", True), ("passed", False)], "inconclusive"),  # a warning that passed
        ([("not applicable", False), ("failed", False)], "passed"),  # by a policy that only warns
        ([], "inconclusive"),
    ],
)
def test_what_is_not_applicable_counts_for_nothing_and_where_nothing_counts_there_is_no_pass(checks, verdict):
    assert verdict_of(checks) == verdict
