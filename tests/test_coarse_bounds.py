"""Coarse bounds tell signs and orders of magnitude, and no value."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_draft.domain.domain import coarsened
from pytest_draft.errors import PolicyError
from pytest_draft.policy.policy import read_policy

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
@example(0.0, -2.2250738585e-313)  # the smallest powers of ten have no exact logarithm
@example(0.0, 5e-324)
def test_coarse_bounds_hold_both_values_and_are_neither(one, other):
    low, high = sorted((one, other))
    below, above = coarsened(low, high)
    assert below <= low <= high <= above
    for bound in (-below, above):
        assert bound in (0.0, math.inf) or bound == float(f"1e{round(math.log10(bound))}")
    assert {below, above} & {low, high} <= {0.0}


@given(st.floats(1, 9.99), st.integers(-300, 300))
def test_values_of_one_order_of_magnitude_have_the_same_bounds(digits, exponent):
    value = float(f"{digits!r}e{exponent}")
    assert coarsened(-value, value) == coarsened(-float(f"1e{exponent}"), float(f"1e{exponent}"))
    assert coarsened(-value, value) == (-float(f"1e{exponent + 1}"), float(f"1e{exponent + 1}"))


def test_the_largest_number_has_a_bound():
    assert coarsened(0.0, sys.float_info.max) == (0.0, math.inf)
    assert math.copysign(1, coarsened(5.0, 7.0)[0]) == 1


@pytest.mark.parametrize("text", ['bounds = "coarse"', 'bounds = "left out"', ""])
def test_a_policy_says_whether_reports_tell_coarse_bounds(tmp_path, text):
    path = tmp_path / "policy.toml"
    path.write_text(f'schema_version = 1\nname = "ours"\n{text}\n[rules.smallest-leaf]\nmin_rows = 4\n', "utf-8")
    assert read_policy(path).coarse_bounds == ("coarse" in text)


@pytest.mark.parametrize("value", ['"exact"', "true", '""'])
def test_no_policy_has_exact_bounds_told(tmp_path, value):
    path = tmp_path / "policy.toml"
    path.write_text(f'schema_version = 1\nname = "o"\nbounds = {value}\n[rules.smallest-leaf]\nmin_rows = 4\n', "utf-8")
    with pytest.raises(PolicyError, match="bounds"):
        read_policy(path)
