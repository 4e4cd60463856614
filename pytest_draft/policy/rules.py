"""The rules that a policy can name, by id."""

from __future__ import annotations

from typing import Any

from pytest_draft.policy import (
    declared_epsilon_but_exact_counts,
    dp_required,
    entropy_reduction,
    epsilon_cap,
    perfect_rows,
    reconstruction_error,
    singled_out_rows,
)
from pytest_draft.policy.rule import Rule

_ALL: tuple[Rule[Any], ...] = (
    reconstruction_error.RULE,
    perfect_rows.RULE,
    singled_out_rows.RULE,
    entropy_reduction.RULE,
    dp_required.RULE,
    epsilon_cap.RULE,
    declared_epsilon_but_exact_counts.RULE,
)
RULES: dict[str, Rule[Any]] = {rule.id: rule for rule in _ALL}
