"""The figures of a judgement, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_draft.attack.reconstruct import Reconstruction
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate import baselines
from pytest_draft.evaluate.baselines import random_baseline, split_half_baseline
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.evaluate.identity import Identity
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox

COLUMNS = ("a", "b", "c", "d")
DOMAIN = Domain(COLUMNS, tuple(Attribute(name, "binary", (i,)) for i, name in enumerate(COLUMNS)), "by hand")
WEIGHTS = encoded_weights(DOMAIN)

TRUTH = [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
REBUILT = [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]


def array(rows) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def found(truth, rebuilt, ordered=True, identity="confirmed", seed=0, timebox=None):
    """Return the findings of a reconstruction by hand."""
    labels = np.zeros(len(truth), dtype=np.int64)
    reconstruction = Reconstruction(
        "consistent",
        array(rebuilt),
        labels,
        labels,
        np.zeros((len(truth), len(COLUMNS)), bool),
        ordered,
        0,
    )
    data = TrainingData(array(truth), labels, COLUMNS, None, "by hand")
    why = Identity(identity, "by hand")
    return evaluate(reconstruction, data, DOMAIN, why, seed=seed, timebox=timebox or TimeBox(60))


def over() -> TimeBox:
    """Return a time box whose time is out."""
    now = [0.0]
    timebox = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    return timebox


def test_perfect_and_singled_out_rows_and_the_worst_are_those_counted_by_hand():
    findings = found(TRUTH, REBUILT)
    assert findings.n_rows == 5
    assert findings.perfect_rows == 3  # twice 0000, once 1000
    assert findings.unique_rows == 3
    assert findings.singled_out_rows == 1  # 1000; 0000 is there twice
    assert findings.error.exact == pytest.approx((1 + 1) / 4 / 5)  # 1100 with 1110, 1111 with 1101
    assert findings.error.worst == pytest.approx(1 / 4)
    assert findings.rows_in_order == 1  # only the second


def test_a_row_that_is_rebuilt_too_often_counts_as_often_as_it_is_there():
    findings = found([[0, 0, 0, 0], [1, 0, 0, 0]], [[0, 0, 0, 0], [0, 0, 0, 0]])
    assert (findings.perfect_rows, findings.singled_out_rows, findings.unique_rows) == (1, 1, 2)


def test_everything_is_found_when_the_reconstruction_is_the_truth():
    findings = found(TRUTH, TRUTH)
    assert findings.error.exact == findings.original_error.exact == findings.error.worst == 0
    assert findings.perfect_rows == findings.rows_in_order == 5
    assert findings.singled_out_rows == findings.unique_rows == 3


@pytest.mark.parametrize(("ordered", "identity"), [(False, "confirmed"), (True, "order differs"), (True, "mismatch")])
def test_the_order_counts_only_when_adversary_and_data_know_it(ordered, identity):
    assert found(TRUTH, TRUTH, ordered, identity).rows_in_order is None


def test_a_single_row_has_no_split_half():
    findings = found([[1, 0, 0, 1]], [[1, 0, 0, 0]])
    assert findings.split_half.error is None
    assert findings.split_half.perfect_rows is None
    assert findings.error.exact == pytest.approx(1 / 4)
    assert findings.random.draws == baselines.RANDOM_DRAWS


def test_perfect_rows_are_counted_when_the_time_is_out():
    findings = found(TRUTH, REBUILT, timebox=over())
    assert findings.perfect_rows == 3
    assert findings.error.exact is None
    assert findings.error.lower <= 0.1 <= findings.error.upper
    assert findings.random.error is findings.split_half.error is None
    assert findings.random.draws == findings.split_half.draws == 0


def test_nothing_is_evaluated_without_rows():
    nothing = Reconstruction("no solution", None, None, None, None, False, None)
    data = TrainingData(array(TRUTH), np.zeros(5, np.int64), COLUMNS, None, "by hand")
    with pytest.raises(ValueError, match="no reconstruction"):
        evaluate(nothing, data, DOMAIN, Identity("unknown", ""), seed=0, timebox=TimeBox(60))


def test_baselines_are_the_same_when_the_seed_is_the_same():
    truth = DOMAIN.uniform(30, np.random.default_rng(5))
    one, again, other = (random_baseline(truth, DOMAIN, WEIGHTS, seed, TimeBox(60)) for seed in (1, 1, 2))
    assert one == again != other
    one, again, other = (split_half_baseline(truth, WEIGHTS, seed, TimeBox(60)) for seed in (1, 1, 2))
    assert one == again != other


def test_the_random_baseline_meets_what_can_be_calculated():
    domain = Domain(("a",), (Attribute("a", "binary", (0,)),), "by hand")
    baseline = random_baseline(array([[1]]), domain, encoded_weights(domain), 0, TimeBox(60))
    assert (baseline.draws, baseline.rows) == (100, 1)
    assert baseline.error == pytest.approx(0.5, abs=0.15)  # 100 throws of a coin
    assert baseline.perfect_rows == pytest.approx(0.5)


def test_the_split_half_baseline_is_zero_when_all_rows_are_equal():
    baseline = split_half_baseline(array([[1, 0, 1, 0]] * 7), WEIGHTS, 0, TimeBox(60))
    assert baseline.error == 0
    assert baseline.rows == 3
    assert baseline.perfect_rows == pytest.approx(7)  # scaled from three to all rows


def test_large_data_are_sampled_and_say_so(monkeypatch):
    monkeypatch.setattr(baselines, "SAMPLE_ROWS", 10)
    truth = DOMAIN.uniform(25, np.random.default_rng(5))
    assert random_baseline(truth, DOMAIN, WEIGHTS, 0, TimeBox(60)).rows == 10
    assert split_half_baseline(truth, WEIGHTS, 0, TimeBox(60)).draws == baselines.SPLITS_WHEN_LARGE


def test_no_row_is_shown_by_a_reconstruction_or_its_findings():
    planted = [[1, 0, 1, 1]] * 5
    labels = np.zeros(5, np.int64)
    shown = repr(Reconstruction("consistent", array(planted), labels, labels, None, True, 0))
    assert shown == "<Reconstruction: consistent, 5 rows, residual 0>"
    assert "array" not in repr(found(planted, planted))
