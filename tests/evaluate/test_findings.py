"""The figures of a judgement, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from by_hand import data_of, flags, measured, over, rebuilt_as
from pytest_draft.evaluate.baseline_draws import DRAW_NUMBERS
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.facts.findings import ValueFigures
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox

DOMAIN = flags("abcd")
WEIGHTS = encoded_weights(DOMAIN)

TRUTH = [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
REBUILT = [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]


def found(truth, rebuilt, ordered=True, identity="confirmed", **more):
    return measured(truth, rebuilt, DOMAIN, ordered=ordered, identity=identity, **more)


def test_perfect_and_singled_out_rows_and_the_worst_are_those_counted_by_hand():
    findings = found(TRUTH, REBUILT)
    assert findings.whole.rows == 5
    assert findings.whole.perfect.lower == 3  # twice 0000, once 1000
    assert findings.unique_rows == 3
    assert findings.singled_out.lower == 1  # 1000; 0000 is there twice
    assert findings.whole.error.exact == pytest.approx((1 + 1) / 4 / 5)  # 1100 with 1110, 1111 with 1101
    assert findings.whole.error.worst == pytest.approx(1 / 4)
    assert findings.rows_in_order == 1  # only the second


def test_a_row_that_is_rebuilt_too_often_counts_as_often_as_it_is_there():
    findings = found([[0, 0, 0, 0], [1, 0, 0, 0]], [[0, 0, 0, 0], [0, 0, 0, 0]])
    assert (findings.whole.perfect.lower, findings.singled_out.lower, findings.unique_rows) == (1, 1, 2)


def test_everything_is_found_when_the_reconstruction_is_the_truth():
    findings = found(TRUTH, TRUTH)
    assert findings.whole.error.exact == findings.original_error.exact == findings.whole.error.worst == 0
    assert findings.whole.perfect.lower == findings.rows_in_order == 5
    assert findings.singled_out.lower == findings.unique_rows == 3


@pytest.mark.parametrize(("ordered", "identity"), [(False, "confirmed"), (True, "order differs"), (True, "mismatch")])
def test_the_order_counts_only_when_adversary_and_data_know_it(ordered, identity):
    assert found(TRUTH, TRUTH, ordered, identity).rows_in_order is None


def test_a_single_row_has_no_split_half():
    findings = found([[1, 0, 0, 1]], [[1, 0, 0, 0]])
    assert findings.whole.split_half.error is None
    assert findings.whole.split_half.perfect_rows is None
    assert findings.whole.error.exact == pytest.approx(1 / 4)
    assert findings.whole.random.draws == DRAW_NUMBERS.random


def test_perfect_rows_are_counted_when_the_time_is_out():
    findings = found(TRUTH, REBUILT, timebox=over())
    assert findings.whole.perfect.lower == 3
    assert findings.whole.error.exact is None
    assert findings.whole.error.lower <= 0.1 <= findings.whole.error.upper
    assert findings.whole.random.error is findings.whole.split_half.error is None
    assert findings.whole.random.draws == findings.whole.split_half.draws == 0


def test_as_many_rows_need_no_choice():
    assert found(TRUTH, TRUTH).rebuilt_rows is None


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("seed", range(5))
def test_of_more_rebuilt_rows_a_random_part_is_compared(seed):
    findings = found(TRUTH, TRUTH * 3, seed=seed)
    assert (findings.whole.rows, findings.rebuilt_rows, findings.rows_in_order) == (5, 15, None)
    assert findings.values.determined.number == 20
    assert findings.inliers.number + findings.outliers.number == 5
    assert found(TRUTH, TRUTH * 3, seed=seed) == findings


@pytest.mark.nightly
def test_each_rebuilt_row_is_taken_at_most_once_where_there_are_more():
    others = [[0, 0, 1, 0], *TRUTH]
    assert {found(TRUTH, others, seed=seed).whole.perfect.lower for seed in range(8)} == {4, 5}


@pytest.mark.nightly
def test_which_part_is_compared_depends_on_the_seed():
    counts = [found([[0, 0, 0, 0]] * 5, TRUTH * 3, seed=seed).whole.perfect.lower for seed in range(15)]
    assert np.mean(counts) == pytest.approx(2, abs=0.5)  # 0000 is two fifths of all
    assert len(set(counts)) > 2


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_fewer_rebuilt_rows_are_all_compared_and_some_again(seed):
    findings = found(TRUTH, [[1, 1, 1, 1], [0, 0, 0, 0]], seed=seed)
    assert (findings.whole.rows, findings.rebuilt_rows) == (5, 2)
    assert findings.whole.perfect.lower in (2, 3)  # 1111 once, and 0000 once or twice
    assert findings.singled_out.lower == 1
    assert findings.whole.error.exact > 0
    # three repetitions: any of the two rows
    assert found([[1, 1, 1, 1]] * 5, [[1, 1, 1, 1]], seed=seed).whole.error.exact == 0


def test_what_is_open_goes_along_with_the_rows_that_are_compared():
    rebuilt = [[0, 0, 0, 0]] * 5 + [[1, 1, 1, 1]] * 5
    free = np.repeat([[False] * 4, [True] * 4], 5, axis=0)
    findings = found([[0, 0, 0, 0]] * 5, rebuilt, free=free)
    assert findings.values.determined == ValueFigures(4 * findings.whole.perfect.lower, 0.0)
    assert findings.values.free == ValueFigures(20 - 4 * findings.whole.perfect.lower, 1.0)
    assert findings.values.free_share == pytest.approx(findings.values.free.number / 20)


def test_nobody_knows_which_rows_were_seen_when_there_are_more_or_fewer():
    assert found(TRUTH, TRUTH[:4], seen=np.array([True, True, True, False])).by_name.get("seen") is None


def test_a_reconstruction_without_rows_is_none():
    with pytest.raises(ValueError, match="no reconstruction"):
        found(TRUTH, np.empty((0, 4)))


OPEN = [[False, False, True, True]] * 5


def test_errors_of_determined_and_of_free_values_are_those_counted_by_hand():
    findings = found(TRUTH, REBUILT, free=OPEN)
    # 1100 with 1110 and 1111 with 1101: two wrong values, both in the third column
    assert findings.values.determined == ValueFigures(10, 0.0)
    assert (findings.values.free.number, findings.values.free.error) == (10, pytest.approx(2 / 10))
    assert found(TRUTH, REBUILT).values.free == ValueFigures(0, None)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("seed", range(8))
def test_the_two_errors_weighted_by_their_numbers_are_the_error(seed):
    random = np.random.default_rng(seed)
    truth, rebuilt = random.integers(0, 2, (2, 12, 4))
    findings = found(truth, rebuilt, free=random.random((12, 4)) < 0.4)
    parts = (findings.values.determined, findings.values.free)
    assert sum(part.number for part in parts) == 12 * 4
    assert sum(part.number * part.error for part in parts) / 48 == pytest.approx(findings.whole.error.exact)


def test_errors_of_values_are_unknown_when_the_time_is_out():
    findings = found(TRUTH, REBUILT, free=OPEN, timebox=over())
    assert findings.values.determined == findings.values.free == ValueFigures(10, None)


HALF_OF_FOUR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def test_figures_on_mostly_determined_columns_leave_out_the_others_where_they_tell_people_apart():
    truth = np.hstack([HALF_OF_FOUR, HALF_OF_FOUR])
    rebuilt = np.hstack([HALF_OF_FOUR, 1 - HALF_OF_FOUR])
    free = np.zeros((4, 4), bool)
    free[:2, 2:] = True
    assert (
        found(truth, rebuilt, free=free).by_name.get("mostly_determined") is None
    )  # determined in half of the rows: all four
    free[2, 2:] = True
    part = found(truth, rebuilt, free=free).by_name.get("mostly_determined")
    assert (part.rows, part.columns, part.perfect.lower, part.error.exact) == (4, 2, 4, 0.0)
    assert not part.absolute
    assert part.split_half.perfect_rows == 0  # all four are different
    assert part.random.error > 0


@pytest.mark.nightly
def test_columns_on_which_others_meet_most_rows_do_not_tell_people_apart():
    truth = np.hstack([np.repeat(HALF_OF_FOUR[1:3], 10, axis=0), np.eye(20)[:, :2]])
    free = np.tile([False, False, True, True], (20, 1))
    findings = found(truth, truth, free=free)
    assert findings.by_name.get("mostly_determined") is None
    assert found(truth, truth, free=~free).by_name.get("mostly_determined") is None  # two rare ones


def test_rows_that_no_tree_has_seen_do_not_dilute_the_others():
    seen = np.array([True, True, True, False, False])
    findings = found(TRUTH, REBUILT[1:2] + TRUTH[1:3] + [[0, 1, 1, 0], [0, 1, 0, 1]], seen=seen)
    part = findings.by_name["seen"]
    assert findings.whole.error.exact > 0
    assert (part.rows, part.columns, part.perfect.lower, part.error.exact) == (3, 4, 3, 0.0)
    assert part.absolute
    assert found(TRUTH, REBUILT, seen=np.ones(5, bool)).by_name.get("seen") is None


def test_rows_in_their_order_are_compared_with_those_that_were_seen():
    seen = np.array([False, False, True, True, True])
    rebuilt = [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    part = found(TRUTH, rebuilt, seen=seen).by_name.get("seen")
    assert (part.perfect.lower, part.error.exact) == (1, pytest.approx((1 + 2) / 4 / 3))


def test_rows_in_another_order_are_matched_into_all_rows():
    seen = np.array([False, False, True, True, True])
    rebuilt = [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    part = found(TRUTH, rebuilt, seen=seen, identity="order differs").by_name.get("seen")
    # 0000 is there twice; 1110 is one value away from 1100 and from 1111
    assert (part.rows, part.perfect.lower, part.error.exact) == (3, 2, pytest.approx(1 / 4 / 3))
    assert part.split_half.draws == DRAW_NUMBERS.splits


@pytest.mark.parametrize("identity", ["mismatch", "unknown"])
def test_nobody_knows_which_rows_were_seen_when_the_rows_are_others(identity):
    assert found(TRUTH, REBUILT, seen=np.arange(5) < 3, identity=identity).by_name.get("seen") is None


def test_nothing_is_evaluated_without_rows():
    nothing = Reconstruction("no solution", None, None, None, None, False, None)
    with pytest.raises(ValueError, match="no reconstruction"):
        evaluate(nothing, data_of(TRUTH, DOMAIN), DOMAIN, Identity("unknown", ""), seed=0, timebox=TimeBox(60))


def test_no_row_is_shown_by_a_reconstruction_or_its_findings():
    planted = [[1, 0, 1, 1]] * 5
    shown = repr(rebuilt_as(planted, DOMAIN))
    assert shown == "<Reconstruction: consistent, 5 rows, residual 0>"
    assert "array" not in repr(found(planted, planted))
