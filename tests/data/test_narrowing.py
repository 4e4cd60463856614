"""A domain file can only add to what the adversary knows."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_draft.data import narrowed
from pytest_draft.domain import declared, infer

RNG = np.random.default_rng(0)
ROWS = np.column_stack(
    [
        RNG.integers(0, 2, 80),
        RNG.choice([9, 12, 16], 80),
        RNG.normal(size=80),
        *np.eye(3)[RNG.integers(3, size=80)].T,
    ]
).astype(np.float32)
COLUMNS = ("yes", "years", "income", "a", "b", "c")


def narrow(**spec):
    whole = {
        "yes": {"kind": "binary"},
        "years": {"kind": "ordinal", "low": 9, "high": 16},
        "income": {"kind": "numeric", "low": -10, "high": 10},
        **{name: {"kind": "binary"} for name in "abc"},
        **spec,
    }
    whole = {name: entry for name, entry in whole.items() if entry}
    domain = declared(COLUMNS, whole, "domain.toml")
    return narrowed(domain, infer(COLUMNS, ROWS.astype(np.float64)), ROWS)


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "ordinal", "low": 0, "high": 2},
        {"kind": "ordinal", "low": -1, "high": 1},
        {"kind": "numeric", "low": 0, "high": 1},
        {"kind": "ordinal", "values": [0, 1, 5]},
    ],
    ids=str,
)
def test_a_yes_or_no_that_is_declared_wider_is_one(entry):
    found = narrow(yes=entry)
    assert (found.domain.attributes[0].kind, found.domain.attributes[0].n_values) == ("binary", 2)
    assert "yes" in found.widened


def test_codes_that_never_occur_are_told_and_the_others_stay():
    found = narrow()
    assert found.domain.attributes[1].values == (9, 12, 16)
    assert found.widened == ("years",)


def test_bounds_of_numbers_are_those_that_occur_and_the_digits_of_declared_ones_stay():
    attribute = narrow().domain.attributes[2]
    assert (attribute.kind, attribute.low, attribute.high) == ("numeric", ROWS[:, 2].min(), ROWS[:, 2].max())


def test_a_declared_group_stays_and_what_it_leaves_of_an_inferred_one_is_taken_alone():
    group = {"kind": "one-hot", "columns": ["a", "b"], "dropped": True}
    found = narrow(pair=group, a=None, b=None)
    kinds = {attribute.name: (attribute.kind, attribute.columns) for attribute in found.domain.attributes}
    assert kinds["pair"] == ("one-hot", (3, 4))
    assert kinds["c"] == ("binary", (5,))


def test_what_is_declared_as_it_occurs_is_not_told_of():
    group = {"kind": "one-hot", "columns": ["a", "b", "c"]}
    book = {"kind": "ordinal", "values": [9, 12, 16]}
    assert narrow(abc=group, a=None, b=None, c=None, years=book).widened == ()
