"""Leaks that an outlier hid are seen on other scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from builders import changed
from by_hand import array, measured
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.evaluate import baselines
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.numeric import exact_values
from pytest_draft.evaluate.rescaled import FEW_ROWS
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings, Measure
from pytest_draft.matching import encoded_weights
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.rules import RULES
from pytest_draft.scales import by_rank
from pytest_draft.timebox import TimeBox

N_ROWS, N_COLUMNS = 80, 5
SALARY = 5e7
GAP = np.nan


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """The random baseline, of which nothing is asked here, takes the longest."""
    monkeypatch.setattr(baselines, "DRAW_NUMBERS", replace(baselines.DRAW_NUMBERS, random=1))


def people(seed: int, n_rows: int = N_ROWS) -> np.ndarray:
    """Return rows with normal columns that depend on each other, shape (n_rows, N_COLUMNS)."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, N_COLUMNS))
    return (50 + 10 * (shared + rng.normal(size=(n_rows, N_COLUMNS)))).round(2)


def salaries(rows: np.ndarray) -> np.ndarray:
    """Return rows with one salary of 50 million in each column."""
    rows = rows.copy()
    for c in range(N_COLUMNS):
        rows[7 * c, c] = SALARY
    return rows


def on_both_sides(rows: np.ndarray) -> np.ndarray:
    rows = salaries(rows)
    for c in range(N_COLUMNS):
        rows[7 * c + 3, c] = -SALARY
    return rows


def log_normal(rows: np.ndarray) -> np.ndarray:
    return np.exp((rows - 50) / 5)


def coded_missing(code: float) -> Callable[[np.ndarray], np.ndarray]:
    def coded(rows: np.ndarray) -> np.ndarray:
        return np.where(np.random.default_rng(8).random(rows.shape) < 0.2, code, rows)

    return coded


def mostly_zero(rows: np.ndarray) -> np.ndarray:
    return salaries(np.where(np.random.default_rng(8).random(rows.shape) < 0.6, 0.0, rows))


TABLES = {
    "as they are": lambda rows: rows,
    "other units": lambda rows: 1e3 * rows + 7,
    "one salary": lambda rows: np.where(rows == rows.max(), SALARY, rows),
    "a salary in each column": salaries,
    "on both sides": on_both_sides,
    "log-normal": log_normal,
    "-999 for missing": coded_missing(-999.0),
    "1e9 for missing": coded_missing(1e9),
    "mostly zero": mostly_zero,
}


def found(truth: np.ndarray, rebuilt: np.ndarray, domain: Domain | None = None) -> Findings:
    """Return the findings of rebuilt rows."""
    names = tuple(f"c{c}" for c in range(truth.shape[1]))
    domain = domain or infer(names, array(truth).astype(np.float64))
    return measured(truth, rebuilt, domain, inside=np.ones(len(truth), bool))


def on_scales(findings: Findings) -> list[Measure]:
    """Return the measures on other scales than the range."""
    return [one for one in findings.measures if one.scale != "range"]


def judged(findings: Findings) -> dict[str, Outcome]:
    """Return what the default policy's rules on findings say."""
    policy = default_policy()
    findings = changed(findings, certain_unique=findings.certain_unique or 0)
    return {name: RULES[name].check(findings, policy.rules[name]) for name in ("reconstruction-error", "perfect-rows")}


def leaking(truth: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return rows of which two thirds of the values are right, and one guess is as far off as can be.

    The other values are other people's, and the largest value of each column is guessed for somebody else, as a search
    does where it has nothing to go by.
    """
    rng = np.random.default_rng(seed)
    rebuilt = truth.copy()
    others = np.stack([rng.permutation(truth[:, c]) for c in range(truth.shape[1])], axis=1)
    wrong = rng.random(truth.shape) > 0.65
    rebuilt[wrong] = others[wrong]
    for c in range(truth.shape[1]):
        first, last = rebuilt[:, c].argmax(), rng.integers(len(truth))
        rebuilt[[first, last], c] = rebuilt[[last, first], c]
    return rebuilt


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("table", TABLES)
def test_values_that_come_back_exactly_fail_whatever_is_far_out(table):
    truth = TABLES[table](people(1))
    verdict = judged(found(truth, leaking(truth, 1)))["perfect-rows"]
    assert verdict.result == "failed"
    assert "numeric values exactly" in verdict.sentence


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("table", [name for name in TABLES if "zero" not in name and "missing" not in name])
def test_rows_that_are_nearly_right_fail_whatever_is_far_out(table):
    """All values are a little off, but the largest one of each column is guessed for somebody else."""
    truth, rng = people(3), np.random.default_rng(3)
    near_by = truth + 2.0 * rng.normal(size=truth.shape)
    of_both = TABLES[table](np.vstack([truth, near_by]))
    truth, rebuilt = of_both[:N_ROWS], of_both[N_ROWS:]
    for c in range(N_COLUMNS):
        first = truth[:, c].argmax()
        rebuilt[[first, first - 1], c] = truth[[first - 1, first], c]
    assert judged(found(truth, rebuilt))["reconstruction-error"].result == "failed"


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("table", TABLES)
def test_other_peoples_rows_fail_nowhere(table):
    both = TABLES[table](people(1, 2 * N_ROWS))
    rows = both[np.random.default_rng(1).permutation(2 * N_ROWS)]
    truth, others = rows[:N_ROWS], rows[N_ROWS:]
    assert {name: verdict.result for name, verdict in judged(found(truth, others)).items()} == {
        "reconstruction-error": "passed",
        "perfect-rows": "passed",
    }


def test_an_outlier_makes_nobodys_row_perfect():
    truth, others = salaries(people(0)), people(1)
    findings = found(truth, others)
    assert findings.whole.perfect.lower == 0
    assert findings.numeric.attack.close_values < 0.2
    assert findings.whole.split_half.perfect_rows == 0


def test_errors_are_told_by_range_and_on_scales_that_no_outlier_stretches():
    plain, stretched = (found(truth, leaking(truth)) for truth in (people(0), salaries(people(0))))
    assert [part.scale for part in on_scales(plain)] == ["rank"]
    inner, by_ranks = on_scales(stretched)
    assert (inner.scale, by_ranks.scale) == ("inner range", "rank")
    assert stretched.whole.split_half.error < plain.whole.split_half.error / 4
    assert inner.split_half.error == pytest.approx(plain.whole.split_half.error, rel=0.1)
    assert by_ranks.split_half.error == pytest.approx(on_scales(plain)[0].split_half.error, rel=0.1)
    assert by_ranks.exact.values == N_ROWS * N_COLUMNS
    assert by_ranks.exact.split_half < 0.01 < 0.25 < by_ranks.exact.beyond


def test_a_domain_that_is_declared_wider_stretches_no_scale():
    truth = people(0)
    names = tuple(f"c{c}" for c in range(N_COLUMNS))
    wide = Domain(names, tuple(Attribute(name, "numeric", (c,), -1e6, 1e6) for c, name in enumerate(names)), "wide")
    narrow, declared = found(truth, leaking(truth)), found(truth, leaking(truth), wide)
    assert declared.whole.perfect == narrow.whole.perfect
    assert [part.scale for part in on_scales(declared)] == ["inner range", "rank"]
    assert on_scales(declared)[0].error.exact == pytest.approx(narrow.whole.error.exact, rel=1e-6)


@pytest.mark.nightly
def test_a_value_is_exact_to_the_last_digit_but_one_and_not_farther():
    truth = people(0)
    step = np.random.default_rng(0).choice([-1, 1], truth.shape)
    for off, share in ((0.0, 1.0), (1e-5, 1.0), (0.5, 0.0)):
        exact = found(truth, truth + off * step).measures[-1].exact
        assert exact.share == pytest.approx(share, abs=0.1)


def test_values_that_everybody_has_are_no_leak():
    truth = np.where(np.random.default_rng(0).random((N_ROWS, N_COLUMNS)) < 0.9, 0.0, people(0))
    guess = np.where(truth == 0, 0.0, np.median(people(0), axis=0))
    bounds = [
        (f"c{c}", float(low), float(high)) for c, (low, high) in enumerate(zip(truth.min(0), truth.max(0), strict=True))
    ]
    numbers = tuple(Attribute(name, "numeric", (c,), low, high) for c, (name, low, high) in enumerate(bounds))
    exact = found(truth, guess, Domain(tuple(name for name, *_ in bounds), numbers, "by hand")).measures[-1].exact
    assert exact.share > 0.85
    assert exact.beyond < 0.25


def wide(seed: int, n_rows: int) -> np.ndarray:
    """Return many rows, an outlier in each column and half of the values of one column equal."""
    rows = salaries(people(seed, n_rows))
    rows[rng_of(seed).random(n_rows) < 0.5, 0] = 0
    return rows


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def attacks(truth: np.ndarray) -> dict[str, np.ndarray]:
    """Return rebuilt rows: a leak of exact values, one of near ones, and what tells nothing of anybody."""
    rng, spread = rng_of(9), np.subtract(*np.percentile(truth, [75, 25], axis=0))
    wrong = rng.random(truth.shape) < 0.4
    return {
        "exact": np.where(wrong, rng.permuted(truth, axis=0), truth),
        "near": truth + 0.1 * spread * rng.normal(size=truth.shape),
        "median": np.repeat(np.median(truth, axis=0)[None], len(truth), axis=0),
        "columns": rng.permuted(truth, axis=0),
    }


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("attack", "fails"),
    [
        ("exact", {"perfect-rows"}),
        ("near", {"reconstruction-error"}),
        ("median", set()),
        ("columns", set()),
    ],
)
def test_of_many_rows_a_sample_is_compared_with_all(attack, fails):
    truth = wide(0, 600)
    findings = found(truth, attacks(truth)[attack])
    assert [part.rows for part in on_scales(findings)] == [FEW_ROWS, FEW_ROWS]
    assert on_scales(findings)[1].exact.values == FEW_ROWS * N_COLUMNS
    assert " in a sample of 300 rows" in on_scales(findings)[1].on
    only_scaled = changed(findings, error=Distance(1.0, 1.0, 1.0))  # by range the outliers decide
    assert {name for name, outcome in judged(only_scaled).items() if outcome.result == "failed"} == fails


def test_without_time_to_match_no_value_is_counted_and_nothing_passes():
    now = [0.0]
    box = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    rows = array(people(0))
    scale = by_rank(rows, infer([f"c{c}" for c in range(N_COLUMNS)], rows.astype(np.float64)))
    rebuilt = scale(rows + np.float32(0.5))
    weights = encoded_weights(scale.domain)
    assert exact_values(scale(rows), np.arange(N_ROWS), rebuilt, weights, Comparison(), 0, box) is None


@pytest.mark.nightly
@pytest.mark.parametrize("n_rows", [501, 553, 599])
def test_a_sample_is_never_larger_than_what_is_left_to_compare_it_with(n_rows):
    truth = wide(0, n_rows)
    findings = found(truth, attacks(truth)["exact"])
    assert [part.rows for part in on_scales(findings)] == [n_rows // 2] * 2
