"""The rules that a policy can name, by id."""

from __future__ import annotations

from pytest_draft.policy import perfect_rows, reconstruction_error, singled_out_rows
from pytest_draft.policy.rule import Rule

RULES: dict[str, Rule] = {
    rule.id: rule for rule in (reconstruction_error.RULE, perfect_rows.RULE, singled_out_rows.RULE)
}
