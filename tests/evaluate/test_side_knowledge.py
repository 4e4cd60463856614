"""What an adversary knows is not measured, and the baselines know it too."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples
from pytest_draft import matching
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate.baselines import expected_perfect_rows, random_baseline, split_half_baseline
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import grant
from pytest_draft.matching import encoded_weights, matched_distance, original_weights, paired_distance
from pytest_draft.timebox import TimeBox

COLUMNS = ("sex", "job_x", "job_y", "job_z", "age")
SEX, JOB, AGE = range(3)
DOMAIN = Domain(
    COLUMNS,
    (
        Attribute("sex", "binary", (0,)),
        Attribute("job", "one-hot", (1, 2, 3)),
        Attribute("age", "ordinal", (4,), 10.0, 14.0),
    ),
    "by hand",
)


def rows_of(*people: tuple[int, int, int]) -> np.ndarray:
    """Return encoded rows of (sex, job, age)."""
    return np.array([[sex, *np.eye(3)[job], age] for sex, job, age in people], dtype=np.float32)


def two_sets(most: int):
    """Draw two equally large sets of rows; a small domain, so that many rows are equal."""
    person = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(10, 14))
    return st.lists(st.tuples(person, person), min_size=1, max_size=most).map(
        lambda pairs: tuple(rows_of(*people) for people in zip(*pairs, strict=True))
    )


# All different, and told apart by job and age.
PEOPLE = rows_of(*[(0, job, age) for job in range(3) for age in range(10, 14)])

KNOWN = st.sampled_from([(SEX,), (JOB,), (AGE,), (SEX, AGE), (JOB, AGE)])


@pytest.mark.parametrize("weights_of", [encoded_weights, original_weights])
@given(sets=two_sets(5), known=KNOWN)
@settings(max_examples=examples(100), deadline=None)
def test_rows_are_matched_on_all_columns_and_measured_on_the_unknown_ones(weights_of, sets, known):
    first, second = sets
    whole, weights = weights_of(DOMAIN), weights_of(DOMAIN, known)
    apart = np.abs(first[:, None] - second[None]) * whole.columns
    costs, measured = apart.sum(axis=2), apart[:, :, weights.counted].sum(axis=2) / weights.total
    indices = range(len(first))
    best = min(
        (sum(costs[i, p[i]] for i in indices), sum(measured[i, p[i]] for i in indices)) for p in permutations(indices)
    )
    found = matched_distance(first, second, weights, TimeBox(60))
    assert found.exact == pytest.approx(best[1] / len(first))


@given(sets=two_sets(30), known=KNOWN)
@settings(max_examples=examples(60), deadline=None)
def test_bounds_enclose_the_distance_on_unknown_columns(sets, known):
    weights = encoded_weights(DOMAIN, known)
    exact = matched_distance(*sets, weights, TimeBox(60)).exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_ROWS", 0)
        patch.setattr(matching, "_BLOCK", 7)
        bounded = matched_distance(*sets, weights, TimeBox(60))
    assert bounded.lower <= exact + 1e-12
    assert bounded.upper >= exact - 1e-12


@pytest.mark.parametrize(
    ("known", "encoded", "original"),
    [((), 3.25 / 5, 2.25 / 3), ((SEX,), 2.25 / 4, 1.25 / 2), ((JOB,), 1.25 / 2, 1.25 / 2), ((SEX, JOB), 0.25, 0.25)],
)
def test_the_mean_is_taken_over_what_is_unknown(known, encoded, original):
    first, second = rows_of((0, 0, 10)), rows_of((1, 1, 11))
    assert matched_distance(first, second, encoded_weights(DOMAIN, known), TimeBox(60)).exact == pytest.approx(encoded)
    assert paired_distance(first, second, original_weights(DOMAIN, known)).exact == pytest.approx(original)


def test_rows_that_were_attacked_alone_are_compared_one_by_one():
    first, second = rows_of((0, 0, 10), (1, 0, 10)), rows_of((1, 0, 10), (0, 0, 10))
    weights, alone = encoded_weights(DOMAIN), Comparison(alone=True)
    assert Comparison().distance(first, second, weights, TimeBox(60)).exact == 0
    assert alone.distance(first, second, weights, TimeBox(60)) == Distance(0.2, 0.2, 0.2)
    assert len(Comparison().perfect(first, second)) == 2
    assert len(alone.perfect(first, second)) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("known", [(), (SEX,), (JOB, AGE)])
@pytest.mark.parametrize("alone", [False, True])
def test_the_expected_perfect_rows_are_those_of_many_draws(known, alone):
    rng = np.random.default_rng(1)
    truth = DOMAIN.uniform(12, rng)
    weights, comparison = encoded_weights(DOMAIN, known), Comparison(alone)
    met = [
        len(comparison.perfect(truth, np.where(weights.counted, DOMAIN.uniform(12, rng), truth))) for _ in range(4_000)
    ]
    assert expected_perfect_rows(truth, DOMAIN, weights, comparison) == pytest.approx(np.mean(met), abs=0.1)


def test_the_random_guesser_knows_what_the_adversary_knows():
    told = random_baseline(PEOPLE, DOMAIN, encoded_weights(DOMAIN, (JOB, AGE)), 0, TimeBox(60))
    assert told.error == pytest.approx(0.5, abs=0.1)  # a coin for the sex of each, whom job and age tell apart
    assert told.perfect_rows == pytest.approx(6)
    blind = random_baseline(PEOPLE, DOMAIN, encoded_weights(DOMAIN), 0, TimeBox(60))
    assert blind.perfect_rows < 6


def test_the_other_half_is_laid_on_what_is_known():
    # whoever knows the job knows the sex, from any of the other rows with this job
    truth = rows_of(*[(job % 2, job, 10) for job in (0, 1, 2) * 20])
    found = split_half_baseline(truth, encoded_weights(DOMAIN, (JOB,)), 0, TimeBox(60))
    assert found.error < 0.05
    assert found.perfect_rows > 50


def test_an_informed_guesser_takes_a_row_that_is_nearest_in_what_is_known():
    truth = rows_of(*[(job % 2, job, 10) for job in (0, 1, 2) * 20])
    unknown = np.arange(10)
    told = split_half_baseline(truth, encoded_weights(DOMAIN, (JOB,)), 0, TimeBox(60), unknown, Comparison(alone=True))
    assert (told.error, told.perfect_rows, told.rows) == (0.0, 10.0, 10)
    blind = split_half_baseline(truth, encoded_weights(DOMAIN), 0, TimeBox(60), unknown, Comparison(alone=True))
    assert blind.perfect_rows == pytest.approx(10 * 19 / 59, abs=1.5)


def test_an_informed_guesser_never_takes_the_row_itself():
    truth = rows_of((0, 0, 10), (1, 1, 14))
    found = split_half_baseline(truth, encoded_weights(DOMAIN), 0, TimeBox(60), np.arange(2), Comparison(alone=True))
    assert found.error == pytest.approx(4 / 5)


def test_known_rows_are_guessed_from_and_never_guessed():
    truth = np.concatenate([rows_of(*[(0, 0, 10)] * 10), rows_of(*[(1, 1, 14)] * 10)])
    found = split_half_baseline(truth, encoded_weights(DOMAIN), 0, TimeBox(60), np.arange(10))
    assert found.rows == 10
    assert found.error == pytest.approx(4 / 5)  # all others are rows of the other kind


def found(text: str, rows: np.ndarray, rebuild) -> Findings:
    """Return the findings of a reconstruction by hand, for an adversary with side knowledge."""
    labels = np.zeros(len(rows), dtype=np.int64)
    data = TrainingData(rows, labels, COLUMNS, None, "by hand")
    knowledge = grant(Adversary.parse(text), data, DOMAIN, SimpleNamespace(n_samples=len(rows)), 0)
    rebuilt = rebuild(rows[knowledge.unknown].copy())
    classes = np.zeros(len(rebuilt), dtype=np.int64)
    free = np.zeros((len(rebuilt), 3), bool)
    free[:, SEX] = True
    attacked = Reconstruction("consistent", rebuilt, classes, classes, free, True, 0)
    why = Identity("confirmed", "by hand")
    return evaluate(attacked, data, DOMAIN, why, seed=0, timebox=TimeBox(60), knowledge=knowledge)


def wrong_sex(rows: np.ndarray) -> np.ndarray:
    rows[0, 0] = 1 - rows[0, 0]
    return rows


@pytest.mark.nightly
def test_only_unknown_rows_are_measured():
    findings = found("artifact+rows:25%", PEOPLE, wrong_sex)
    assert (findings.whole.rows, findings.known_rows, findings.known_attributes) == (9, 3, 0)
    assert (findings.whole.perfect.lower, findings.singled_out.lower, findings.unique_rows) == (8, 8, 9)
    assert findings.whole.error.exact == pytest.approx(1 / 5 / 9)
    assert findings.rows_in_order == 8


def test_only_unknown_attributes_are_measured():
    findings = found("artifact+columns:job,age", PEOPLE, wrong_sex)
    assert (findings.whole.rows, findings.known_rows, findings.known_attributes) == (12, 0, 2)
    assert findings.whole.error.exact == findings.original_error.exact == pytest.approx(1 / 12)
    assert findings.whole.perfect.lower == 11
    assert findings.values.free_share == 1  # the only attribute that is not known


def test_an_informed_adversary_is_measured_row_by_row():
    findings = found("artifact+informed", PEOPLE, lambda rows: np.roll(rows, 1, axis=0))
    assert (findings.whole.rows, findings.known_rows, findings.whole.perfect.lower) == (12, 11, 0)
    assert findings.whole.error.exact > 0
    right = found("artifact+informed", PEOPLE, lambda rows: rows)
    assert (right.whole.perfect.lower, right.singled_out.lower, right.whole.error.exact) == (12, 12, 0)


def test_an_informed_adversarys_rows_are_as_many_as_the_true_ones():
    with pytest.raises(ValueError, match="as many are needed"):
        found("artifact+informed", PEOPLE, lambda rows: rows[:-1])


@pytest.mark.nightly
def test_more_rebuilt_rows_than_unknown_ones_are_no_known_ones():
    findings = found("artifact+rows:25%", PEOPLE, lambda rows: np.concatenate([rows, rows]))
    assert (findings.whole.rows, findings.known_rows, findings.rebuilt_rows) == (9, 3, 18)


@pytest.mark.nightly
def test_a_row_that_a_known_row_equals_is_not_singled_out():
    findings = found("artifact+rows:1", rows_of((0, 0, 10), (0, 0, 10)), lambda rows: rows)
    assert (findings.whole.perfect.lower, findings.singled_out.lower, findings.unique_rows) == (1, 0, 0)
