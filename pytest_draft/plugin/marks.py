"""The marker ``reconstruction_budget``: its signature, its check at collection, its check after a test."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_draft.policy.policy import Budgets, Policy

NAME = "reconstruction_budget"


def reconstruction_budget(
    *,
    max_error: float | None = None,
    max_perfect_rows: int | None = None,
    max_singled_out_rows: int | None = None,
    max_entropy_reduction: float | None = None,
    max_row_entropy_reduction: float | None = None,
) -> None:
    """Fail the test when the attack's error is max_error or less (low is bad), or it rebuilds too many rows."""


def registered() -> str:
    """Return the marker's line for ``pytest --markers``, from its own signature."""
    signature = str(inspect.signature(reconstruction_budget)).replace(" -> None", "").replace("'", "")
    return f"{NAME}{signature}: {reconstruction_budget.__doc__}"


def checked(marker: pytest.Mark, test: str) -> Budgets:
    """Return the budgets of a marker of a test, or stop the collection of that with one line."""
    from pytest_draft.errors import PolicyError
    from pytest_draft.policy.policy import budgets_of_marker

    try:
        if marker.args:
            raise PolicyError(f"{NAME} takes keyword arguments only")
        return budgets_of_marker(marker.kwargs)
    except PolicyError as error:
        raise pytest.fail.Exception(f"{test}: {error}", pytrace=False) from None


def policy_of(item: pytest.Item, explicit: Policy | None) -> Policy | None:
    """Return what a marked test is judged by: its budgets, on top of an explicit policy's."""
    from pytest_draft.policy.policy import MARKER, Policy

    policy = explicit
    for marker in item.iter_markers(NAME):
        base = policy or Policy(MARKER, f"marker of {item.nodeid}", {})
        policy = base.tightened(checked(marker, item.nodeid))
    return policy
