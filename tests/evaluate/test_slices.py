"""The figures on slices, by hand and on guesses whose quality is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from by_hand import flags, measured
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import PolicyError
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.rules import Literal, between
from pytest_draft.facts.slices import LEAST_ROWS, Slice, by_class
from pytest_draft.knowledge import Knowledge
from pytest_draft.policy.rules import RULES
from pytest_draft.timebox import TimeBox

N_COLUMNS = 8
COLUMNS = ("woman", *(f"c{index}" for index in range(1, N_COLUMNS)))
DOMAIN = flags(COLUMNS)


def single(name: str, column: str, value: float) -> Slice:
    """Return a slice of one value of a column."""
    return Slice(name, (column,), (Literal(0, *between(value, value)),), ("here",))


WOMEN, MEN = single("women", "woman", 1), single("men", "woman", 0)


def people(n_rows: int, seed: int, women: int) -> np.ndarray:
    """Return binary rows, of which the first ones are women."""
    rows = np.random.default_rng(seed).integers(0, 2, (n_rows, N_COLUMNS)).astype(np.float32)
    rows[:, 0] = np.arange(n_rows) < women
    return rows


def found(truth, rebuilt, slices, labels=None, guessed=None, knowledge=None, domain=DOMAIN, **more) -> Findings:
    more |= {"slices": slices, "knowledge": knowledge, "labels": labels, "guessed": guessed}
    return measured(truth, rebuilt, domain, ordered=True, **more)


def knowing(truth, attributes=(), known=(), unknown=None, informed=False) -> Knowledge:
    """Return what an adversary knows: attributes of all rows, and some rows whole."""
    known = np.array(known, dtype=np.int64)
    unknown = np.setdiff1d(np.arange(len(truth)), known) if unknown is None else unknown
    labels = np.zeros(len(known), dtype=np.int64)
    columns = tuple(attributes)
    return Knowledge(columns, columns, truth[:, columns], known, truth[known], labels, unknown, informed, ())


@pytest.mark.nightly
def test_a_slice_is_the_mean_of_its_true_rows_and_of_the_rebuilt_rows_in_it():
    truth = np.zeros((20, N_COLUMNS), dtype=np.float32)
    truth[:10, 0] = 1
    rebuilt = truth.copy()
    rebuilt[10:15, 0] = 1  # five men are taken for women
    women, men = found(truth, rebuilt, (WOMEN, MEN)).slices
    assert (women.rows, women.measured.rebuilt_rows) == (10, 15)
    assert women.measured.error.exact == pytest.approx((0 + 5 / 15 / N_COLUMNS) / 2)
    assert women.measured.perfect_rows == 10
    assert women.measured.perfect_share.lower == pytest.approx((10 / 10 + 10 / 15) / 2)
    assert (men.rows, men.measured.rebuilt_rows) == (10, 5)
    assert men.measured.error.exact == pytest.approx((5 / 10 / N_COLUMNS + 0) / 2)
    assert men.measured.perfect_rows == 5
    assert men.measured.perfect_share.lower == pytest.approx((5 / 10 + 5 / 5) / 2)


@pytest.mark.nightly
def test_who_is_given_away_stands_out_from_those_who_are_spared():
    truth, rebuilt = people(100, 0, 20), people(100, 1, 20)
    rebuilt[:20] = truth[:20]
    women, men = found(truth, rebuilt, (WOMEN, MEN)).slices
    assert women.measured.error.exact == 0
    assert women.measured.perfect_share.lower == 1
    assert women.measured.singled_out_rows == women.measured.unique_rows > 0
    assert women.measured.split_half.error > 0.1
    assert men.measured.error.exact > 0.6 * men.measured.split_half.error
    assert men.measured.perfect_share.lower < men.measured.split_half.perfect_share + 0.25


@pytest.mark.nightly
def test_taking_many_others_for_members_does_not_hide_that_a_slice_is_given_away():
    truth, rebuilt = people(200, 0, 20), people(200, 1, 110)
    rebuilt[:20] = truth[:20]
    (women,) = found(truth, rebuilt, (WOMEN,)).slices
    assert women.measured.rebuilt_rows == 110
    assert women.measured.error.exact < 0.5 * women.measured.split_half.error
    assert women.measured.perfect_share.lower > 0.5


@pytest.mark.nightly
@pytest.mark.parametrize("women", [LEAST_ROWS, 30])
@pytest.mark.parametrize("seed", range(5))
def test_other_peoples_rows_are_not_closer_than_half_of_the_split_half_baseline(women, seed):
    for one in found(people(100, seed, women), people(100, 1_000 + seed, women), (WOMEN, MEN)).slices:
        assert one.measured.error.exact > 0.5 * one.measured.split_half.error
        baseline = one.measured.split_half.perfect_share
        assert one.measured.perfect_share.lower < baseline + 0.5 * (1 - baseline)


@pytest.mark.nightly
def test_random_guesses_come_as_close_as_the_random_baseline():
    truth = people(200, 0, 100)
    rebuilt = np.random.default_rng(1).integers(0, 2, truth.shape).astype(np.float32)
    (women,) = found(truth, rebuilt, (WOMEN,)).slices
    assert women.measured.error.exact == pytest.approx(women.measured.random.error, rel=0.2)


@pytest.mark.nightly
@pytest.mark.parametrize("women", [0, LEAST_ROWS - 1])
def test_too_few_rows_are_neither_counted_nor_measured(women):
    truth = people(40, 0, women)
    few, many = found(truth, truth, (WOMEN, MEN)).slices
    assert (few.name, few.rows, few.measured) == ("women", None, None)
    assert many.measured is not None


@pytest.mark.nightly
def test_each_class_is_a_slice_of_its_rows():
    truth, rebuilt = people(60, 0, 30), people(60, 1, 30)
    labels = (np.arange(60) < 20).astype(np.int64)
    rebuilt[:20] = truth[:20]
    no, yes = found(truth, rebuilt, by_class(("no", "yes")), labels, labels).slices
    assert (no.name, no.rows, yes.name, yes.rows) == ("class no", 40, "class yes", 20)
    assert yes.measured.perfect_rows == 20
    assert yes.measured.error.exact < 0.5 * yes.measured.split_half.error < no.measured.error.exact


def test_without_rebuilt_classes_only_the_true_rows_of_a_class_count():
    truth = people(60, 0, 30)
    labels = (np.arange(60) < 20).astype(np.int64)
    (_, yes) = found(truth, truth, by_class((0, 1)), labels, None).slices
    assert (yes.measured.rebuilt_rows, yes.measured.error.exact, yes.measured.perfect_share.lower) == (0, 0, 1)


def test_a_regressor_has_no_classes():
    with pytest.raises(PolicyError, match="by_class, and a regressor has no classes"):
        by_class(None)


@pytest.mark.nightly
def test_rows_that_were_attacked_one_by_one_are_compared_one_by_one():
    truth = people(40, 0, 20)
    knowledge = knowing(truth, known=range(40), unknown=np.arange(40), informed=True)
    swapped = truth[::-1].copy()
    (women,) = found(truth, swapped, (WOMEN,), knowledge=knowledge).slices
    assert women.measured.rebuilt_rows == 20
    assert women.measured.perfect_share.lower == women.measured.perfect_rows / 20 == 0
    assert women.measured.error.exact == pytest.approx(np.abs(truth[:20] - swapped[:20]).mean())


def test_rows_that_no_tree_has_seen_do_not_hide_those_that_were():
    truth, rebuilt = people(60, 0, 30), people(60, 1, 30)
    seen = np.arange(60) % 2 == 0
    rebuilt[seen] = truth[seen]
    (women,) = found(truth, rebuilt, (WOMEN,), seen=seen).slices
    assert (women.rows, women.measured.error.exact, women.measured.perfect_rows) == (15, 0, 15)


def test_rows_that_the_adversary_knows_are_in_no_slice():
    truth = people(60, 0, 30)
    (women,) = found(truth, truth[15:], (WOMEN,), knowledge=knowing(truth, known=range(15))).slices
    assert (women.rows, women.measured.error.exact) == (15, 0)


def test_what_the_adversary_knows_of_all_rows_is_no_error():
    truth, rebuilt = people(60, 0, 30), people(60, 1, 30)
    rebuilt[:, 1:4] = truth[:, 1:4]
    (women,) = found(truth, rebuilt, (WOMEN,), knowledge=knowing(truth, attributes=(1, 2, 3))).slices
    assert women.measured.error.exact == pytest.approx(women.measured.split_half.error, rel=0.5)


@pytest.mark.nightly
def test_numeric_values_are_right_to_within_a_tolerance():
    truth, others = people(60, 0, 30), people(60, 1, 30)
    rng = np.random.default_rng(2)
    truth[:, 1], others[:, 1] = rng.normal(40, 10, 60), rng.normal(40, 10, 60)
    others[:30] = truth[:30]
    others[:30, 1] += rng.uniform(-0.1, 0.1, 30)
    age = Attribute("c1", "numeric", (1,), 0, 100)
    domain = replace(DOMAIN, attributes=(DOMAIN.attributes[0], age, *DOMAIN.attributes[2:]))
    women, men = found(truth, others, (WOMEN, MEN), domain=domain).slices[:2]
    assert 0 < women.measured.error.exact < 0.001
    assert (women.measured.perfect_rows, women.measured.perfect_share.lower) == (30, 1)
    assert men.measured.perfect_share.lower < 0.5


def test_without_time_nothing_is_known_of_an_error():
    now = [0.0]
    timebox = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    (women,) = found(people(40, 0, 20), people(40, 1, 20), (WOMEN,), timebox=timebox).slices
    assert (women.measured.error.lower, women.measured.error.upper) == (0, 1)
    assert women.measured.split_half.error is women.measured.random.error is None


@pytest.mark.nightly
def test_the_same_inputs_give_the_same_figures():
    truth, rebuilt = people(50, 0, 20), people(50, 1, 20)
    assert found(truth, rebuilt, (WOMEN, MEN)).slices == found(truth, rebuilt, (WOMEN, MEN)).slices


def test_other_figures_do_not_depend_on_slices():
    truth, rebuilt = people(50, 0, 20), people(50, 1, 20)
    assert replace(found(truth, rebuilt, (WOMEN, MEN)), slices=()) == found(truth, rebuilt, ())


def test_a_missing_value_is_neither_asked_for_nor_left_out():
    rows = np.full((2, N_COLUMNS), np.nan, dtype=np.float32)
    rows[1] = 1
    columns = ("c1",)
    asked = Slice("one", columns, (Literal(0, *between(1, 1)),), ("",))
    left_out = Slice("not one", columns, (Literal(0, *between(1, 1), negated=True),), ("",))
    assert asked.holds(rows, None, COLUMNS).tolist() == [False, True]
    assert left_out.holds(rows, None, COLUMNS).tolist() == [True, False]


def test_a_column_that_there_is_not_is_told_with_its_place():
    with pytest.raises(PolicyError, match=r"^policy.toml: line 7: slice.0.if.age: there is no column 'age'"):
        Slice("young", ("age",), (Literal(0, 0.0, 1.0),), ("policy.toml: line 7: slice.0.if.age",)).require_columns(
            COLUMNS
        )


def salaries(far_out: float) -> tuple[np.ndarray, np.ndarray, Domain]:
    """Return rows of seven sums, all of one woman far out, rows rebuilt exactly of other women, and their domain."""
    rng = np.random.default_rng(2)
    truth = people(60, 1, women=20)
    truth[:, 1:] = np.round(rng.lognormal(8, 0.4, (60, N_COLUMNS - 1)))
    truth[0, 1:] = far_out
    rebuilt = truth.copy()
    rebuilt[20:, 1:] = rng.permuted(truth[20:, 1:], axis=0)
    rebuilt[0, 1:] = np.median(truth[:, 1:], axis=0)
    numeric = (
        Attribute(name, "numeric", (i,), float(truth[:, i].min()), float(truth[:, i].max()))
        for i, name in enumerate(COLUMNS[1:], start=1)
    )
    return truth, rebuilt, Domain(COLUMNS, (Attribute("woman", "binary", (0,)), *numeric), "by hand")


@pytest.mark.nightly
@pytest.mark.parametrize("far_out", [1e6, 1e9])
def test_slices_are_measured_on_scales_that_no_outlier_stretches(far_out):
    truth, rebuilt, domain = salaries(far_out)
    findings = found(truth, rebuilt, (WOMEN, MEN), domain=domain)

    assert [(one.name, "rank" in one.on, "cut off" in one.on) for one in findings.slices if one.on] == [
        ("women", False, True),
        ("men", False, True),
        ("women", True, False),
        ("men", True, False),
    ]
    assert [one.rows for one in findings.slices if one.on] == [20, 40, 20, 40]
    men = [one.measured for one in findings.slices if one.name == "men"]
    assert men[0].error.exact < 0.001 < 0.01 < min(men[1].error.exact, men[2].error.exact)  # by range all are alike
    plain = found(*salaries(9_000.0)[:2], (WOMEN, MEN), domain=salaries(9_000.0)[2])
    assert plain.slices[1].measured.error.exact > 0.005


def test_without_numeric_columns_there_is_but_one_scale():
    truth = people(40, 0, women=20)
    assert not any(one.on for one in found(truth, truth, (WOMEN, MEN)).slices)


@pytest.mark.nightly
def test_a_slice_fails_by_the_scale_on_which_it_is_rebuilt():
    truth, rebuilt, domain = salaries(1e6)
    findings = found(truth, rebuilt, (WOMEN,), domain=domain)
    rule, bar = RULES["reconstruction-error"], {"max_error_of_split_half": 0.4}
    whole = Distance(1.0, 1.0, 1.0)
    quiet = replace(findings, measures=(replace(findings.whole, error=whole),))
    by_range = replace(quiet, slices=tuple(one for one in quiet.slices if not one.on))
    by_rank = findings.slices[-1]

    assert by_rank.measured.error.exact < 0.4 * by_rank.measured.split_half.error
    assert rule.check(by_range, bar).result == "passed"  # the outlier is all of the error
    assert rule.check(quiet, bar).result == "failed"
    assert rule.check(replace(quiet, slices=(by_rank,)), bar).result == "failed"
    absolute = rule.check(replace(quiet, slices=(by_rank,)), {"max_error": 0.5})
    assert absolute.result == "passed"  # an absolute bar is about the range
