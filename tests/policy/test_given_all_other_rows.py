"""The rule on what a file tells somebody who knows all other rows, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scipy import stats

from builders import FINDINGS, INFORMED, PART, changed, examination
from pytest_draft.facts.informed import CUT_SHORT, Informed
from pytest_draft.facts.published import Published
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.rules import RULES

ERROR, TOLD = "max_error_of_split_half", "max_told_rows_share"
MANY = replace(INFORMED, told_rows=0.28)  # a fifth is guessed without the file, and a tenth of the rest is told


def outcome(informed: Informed | None = INFORMED, reasons=(), **thresholds: float) -> Outcome:
    return RULES["given-all-other-rows"].check(examination(informed=informed, reasons=reasons), thresholds)


@pytest.mark.parametrize(
    ("share", "result"), [(1.0, "failed"), (0.25, "failed"), (0.2499, "passed"), (0.1, "passed"), (0.0, "passed")]
)
def test_a_matched_error_within_the_share_of_the_split_half_error_fails(share, result):
    assert outcome(**{ERROR: share}).result == result


def test_a_failure_says_the_error_that_without_the_file_and_the_limit():
    assert outcome(**{ERROR: 0.5}).sentence == (
        "somebody who knows all rows but one rebuilds that one with an error of 0.0500; without the file: 0.1800; "
        "limit: 0.1000 (0.5 x 0.2000, what other rows like these get)"
    )


@pytest.mark.parametrize(
    ("share", "result"), [(0.0, "failed"), (0.0999, "failed"), (0.1001, "passed"), (0.5, "passed"), (1.0, "passed")]
)
def test_more_rows_that_are_told_whole_than_the_budget_fail(share, result):
    assert outcome(MANY, **{TOLD: share}).result == result
    assert outcome(**{TOLD: share}).result == "passed"  # no more than are guessed


@pytest.mark.parametrize(("share", "result"), [(0.24, "passed"), (0.26, "failed"), (0.5, "failed"), (0.0, "passed")])
def test_rows_guessed_one_by_one_are_held_against_the_same_without_the_file(share, result):
    found = outcome(max_row_error_of_without_file=share)  # 0.06 with the file, 0.24 without
    assert found.result == result
    assert "error of 0.0600; without the file: 0.2400; limit: " in found.sentence


def test_a_failure_by_rows_says_how_many_and_the_limit():
    assert outcome(MANY, **{TOLD: 0.04}).sentence == (
        "somebody who knows all rows but one reads that one out of the file with certainty: 28.0% of the rows, 30.0% "
        "of the values; limit: 23.2% (the 20.0% of the rows that are guessed without the file, and 4 % of the rest)"
    )


@pytest.mark.parametrize(
    ("share", "result"), [(0.0, "failed"), (0.4999, "failed"), (0.5001, "passed"), (1.0, "passed")]
)
def test_more_numbers_that_are_guessed_exactly_than_the_budget_fail(share, result):
    numbers = replace(INFORMED, exact_numeric=0.6, exact_numeric_without_file=0.2)
    assert outcome(numbers, max_exact_values_share=share).result == result
    assert outcome(max_exact_values_share=share).result == "inconclusive"  # not known, or there are none
    if result == "failed":
        assert outcome(replace(numbers, proved=False), max_exact_values_share=share).result == "passed"


@pytest.mark.parametrize(
    ("share", "told", "result"), [(0.2, 0.5, "passed"), (0.2, 0.05, "failed"), (0.3, 0.5, "failed")]
)
def test_any_budget_that_is_crossed_fails(share, told, result):
    found = outcome(MANY, **{ERROR: share, TOLD: told})
    assert found.result == result
    if result == "passed":
        assert "what other rows like these get" in found.sentence
        assert "with certainty: 28.0% of the rows" in found.sentence


@pytest.mark.parametrize("thresholds", [{ERROR: 0.5}, {ERROR: 0.1}, {TOLD: 0.0}, {TOLD: 0.5}])
def test_of_a_sample_is_said_how_many_rows_it_has_and_of_all_rows_nothing(thresholds):
    sampled = outcome(replace(INFORMED, of_rows=1_234), **thresholds)
    assert "(tried on 40 of 1,234 rows, drawn at random)" in sampled.sentence
    assert "at random" not in outcome(**thresholds).sentence


@pytest.mark.parametrize("thresholds", [{ERROR: 0.5}, {TOLD: 0.0}])
def test_what_only_somebody_gets_who_knows_more_than_the_adversary_convicts_nobody(thresholds):
    found = outcome(replace(MANY, proved=False), **thresholds)
    assert found.result == "passed"
    assert found.sentence.endswith(
        "; but that takes somebody who knows how many rows of each class a leaf holds, and the file does not tell"
    )
    kept = {ERROR: 0.1, TOLD: 0.5}
    assert "file does not tell" not in outcome(replace(INFORMED, proved=False), **kept).sentence


@pytest.mark.parametrize(
    ("adversary", "published", "expected", "words"),
    [
        (
            "artifact",
            Published(9, "rows", None, "shares"),
            "inconclusive",
            "the file's seeds may give that away",
        ),
        ("artifact", Published(9, "rows", None, "shares", found=0), "inconclusive", "random_state=0 can be guessed"),
        ("artifact", Published(0, "rows", None, "shares"), "passed", "and the file does not tell"),
        ("published", Published(9, "rows", None, "shares"), "passed", "and the file does not tell"),
        ("artifact", Published(0, "rows", "sums of gradients"), "inconclusive", "whether its sums tell is not known"),
        ("artifact", Published(0, None, "rows and sums of gradients"), "inconclusive", "the weights of rows"),
    ],
)
def test_where_the_adversary_has_the_seeds_knowing_more_clears_nobody(adversary, published, expected, words):
    known = examination(informed=replace(MANY, proved=False))
    known = replace(known, artifact=replace(known.artifact, published=published))
    known = replace(known, case=replace(known.case, adversary=adversary))
    found = RULES["given-all-other-rows"].check(known, {ERROR: 0.5})
    assert found.result == expected
    assert words in found.sentence


def test_rows_that_are_all_alike_are_no_nearer_than_other_peoples():
    alike = replace(INFORMED, matched_error=0.0, matched_error_without_file=0.0, split_half_error=0.0)
    assert outcome(alike, **{ERROR: 0.9}).result == "passed"


@pytest.mark.parametrize("thresholds", [{ERROR: 0.0}, {TOLD: 1.0}, {ERROR: 0.5, TOLD: 0.5}])
def test_without_figures_there_is_no_pass_while_anything_is_in_doubt(thresholds):
    doubted = outcome(None, ("the file was refused", "no data", "the file was refused"), **thresholds)
    assert doubted == Outcome("inconclusive", "the file was refused; no data")


@pytest.mark.parametrize("thresholds", [{ERROR: 0.0}, {TOLD: 1.0}])
@pytest.mark.parametrize("reasons", [(), ("the attack did not converge",)])
def test_without_figures_there_is_no_pass_and_why_there_are_none_is_told(thresholds, reasons):
    check, not_known = (
        RULES["given-all-other-rows"].check,
        "what somebody gets who knows all other rows was not found out",
    )
    assert outcome(None, **thresholds) == Outcome("inconclusive", not_known)
    unread = examination(reasons=reasons, not_informed="its draws are unknown")
    assert check(unread, thresholds) == Outcome("inconclusive", f"{not_known}: its draws are unknown")
    of_less = replace(unread, informed=INFORMED)  # by whoever decodes no extremes
    assert check(of_less, thresholds) == Outcome("inconclusive", f"{not_known}: its draws are unknown")
    assert check(of_less, {ERROR: 0.5}).result == "failed"


def test_a_doubt_about_the_attack_takes_nothing_from_what_needs_none():
    assert outcome(reasons=("the attack did not converge",), **{ERROR: 0.1}).result == "passed"
    assert outcome(reasons=("the attack did not converge",), **{ERROR: 0.5}).result == "failed"


@pytest.mark.parametrize(("share", "result"), [(0.1, "inconclusive"), (0.5, "failed")])
def test_figures_of_somebody_who_knows_less_are_no_pass_and_fail_all_the_same(share, result):
    found = replace(examination(informed=INFORMED, reasons=(CUT_SHORT,)), shortfalls=(CUT_SHORT,))
    assert RULES["given-all-other-rows"].check(found, {ERROR: share}).result == result


@pytest.mark.parametrize(
    ("part", "matched", "result"),
    [("informative", 0.02, "failed"), ("informative", 0.17, "passed"), ("mostly_determined", 0.02, "passed")],
)
def test_constant_columns_dilute_nothing_and_columns_are_not_chosen_by_what_is_determined(part, matched, result):
    whole = replace(INFORMED, matched_error=0.17)
    parts = {part: changed(PART, informed=replace(INFORMED, matched_error=matched))}
    found = examination(informed=whole, findings=changed(FINDINGS, informed=whole, **parts))
    assert RULES["given-all-other-rows"].check(found, {ERROR: 0.5}).result == result
    assert outcome(whole, **{ERROR: 0.5}).result == "passed"


@pytest.mark.parametrize("columns", ["informative", "mostly_determined"])
def test_a_part_that_would_be_judged_and_was_not_measured_is_no_pass(columns):
    found = examination(informed=INFORMED, findings=changed(FINDINGS, **{columns: PART}))
    result = RULES["given-all-other-rows"].check(found, {ERROR: 0.1}).result
    assert result == ("inconclusive" if columns == "informative" else "passed")


@pytest.mark.parametrize(("rows", "told"), [(40, 0.0), (400, 0.0), (400, 0.2), (4_000, 1.0)])
def test_of_a_sample_more_may_be_told_than_was_seen_and_of_all_rows_nothing_more(rows, told):
    whole = replace(INFORMED, rows=rows, of_rows=rows, half_rows=20, told_rows=told)
    sampled = changed(whole, of_rows=10 * rows)
    assert whole.most_determined_rows == told
    assert told <= sampled.most_determined_rows <= 1
    assert sampled.most_determined_rows == pytest.approx(binom_upper(told, rows), abs=0.04)


def binom_upper(share: float, n: int) -> float:
    """Return Clopper and Pearson's upper limit at three standard deviations."""
    return 1.0 if share == 1 else float(stats.beta.ppf(stats.norm.cdf(3), share * n + 1, n - share * n))
