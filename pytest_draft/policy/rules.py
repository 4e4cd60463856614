"""The rules that a policy can name, by id."""

from __future__ import annotations

from typing import Any

from pytest_draft.policy import (
    allowed_models,
    artifact_pinned,
    certain_rows,
    declared_epsilon_but_exact_counts,
    dp_required,
    entropy_reduction,
    epsilon_cap,
    leak_p_value,
    perfect_rows,
    reconstruction_error,
    singled_out_rows,
    time_box,
    training_data_mismatch,
    worst_row,
)
from pytest_draft.policy.rule import Rule

_ALL: tuple[Rule[Any], ...] = (
    reconstruction_error.RULE,
    perfect_rows.RULE,
    singled_out_rows.RULE,
    certain_rows.RULE,
    worst_row.RULE,
    leak_p_value.RULE,
    entropy_reduction.RULE,
    dp_required.RULE,
    epsilon_cap.RULE,
    declared_epsilon_but_exact_counts.RULE,
    training_data_mismatch.RULE,
    time_box.RULE,
    allowed_models.RULE,
    artifact_pinned.RULE,
)
RULES: dict[str, Rule[Any]] = {rule.id: rule for rule in _ALL}
