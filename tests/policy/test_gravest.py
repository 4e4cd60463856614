"""Of several models in a file the gravest result counts, and says where it is."""

from __future__ import annotations

from pytest_draft.policy.verdict import Check, gravest


def check(result: str) -> Check:
    return Check("reconstruction-error", "artifact", result, f"it {result}")


def test_failed_beats_inconclusive_beats_passed_and_the_place_is_named():
    checks = [("a", check("passed")), ("b", check("inconclusive")), ("c", check("failed")), ("d", check("failed"))]
    assert gravest(checks).sentence == "model c: it failed (and 1 more of 4 models)"
    assert gravest(checks[:2]).sentence == "model b: it inconclusive"
    assert gravest(checks[:1]) == checks[0][1]


def test_the_only_model_of_a_file_keeps_its_sentence():
    assert gravest([(None, check("failed"))]) == check("failed")
