"""The rules that a policy can name, by id."""

from __future__ import annotations

from typing import Any

from pytest_draft.errors import PolicyError, known_are, one_line
from pytest_draft.policy import (
    allowed_models,
    artifact_pinned,
    certain_rows,
    compared_with_earlier,
    counts_published,
    declared_epsilon_but_exact_counts,
    determined_rows,
    dp_required,
    entropy_reduction,
    epsilon_cap,
    given_all_other_rows,
    label_told,
    leak_p_value,
    leaves_of_one_person,
    membership,
    per_row_vectors,
    perfect_rows,
    pure_leaves,
    reconstruction_error,
    seeds_published,
    sensitive_columns,
    singled_out_rows,
    smallest_leaf,
    time_box,
    training_data_mismatch,
    verbatim_data,
    worst_row,
)
from pytest_draft.policy.own_rules import distributions_of, own_ids, own_rule
from pytest_draft.policy.rule import Rule

_ALL: tuple[Rule[Any], ...] = (
    reconstruction_error.RULE,
    perfect_rows.RULE,
    singled_out_rows.RULE,
    certain_rows.RULE,
    determined_rows.RULE,
    given_all_other_rows.RULE,
    label_told.RULE,
    sensitive_columns.RULE,
    membership.RULE,
    worst_row.RULE,
    leak_p_value.RULE,
    entropy_reduction.RULE,
    seeds_published.RULE,
    counts_published.RULE,
    per_row_vectors.RULE,
    verbatim_data.RULE,
    smallest_leaf.RULE,
    pure_leaves.RULE,
    leaves_of_one_person.RULE,
    dp_required.RULE,
    epsilon_cap.RULE,
    declared_epsilon_but_exact_counts.RULE,
    training_data_mismatch.RULE,
    time_box.RULE,
    allowed_models.RULE,
    artifact_pinned.RULE,
)
RULES: dict[str, Rule[Any]] = {rule.id: rule for rule in _ALL}
"""Ours that a policy names under ``[rules]``."""

COMPARED = compared_with_earlier.RULE
"""In force where an earlier report is given, with the allowances under ``[compare]``."""


def rule_of(rule: str) -> Rule[Any]:
    """Return a rule by its id: one of ours, else one of another distribution.

    Raises
    ------
    PolicyError
        Where there is none, or it is broken.
    """
    if rule in RULES or rule == COMPARED.id:
        return RULES.get(rule, COMPARED)
    found = own_rule(rule)
    if found is None:
        raise PolicyError(f"there is no rule {one_line(rule)!r}; {known_are(rule, (*RULES, *own_ids()))}")
    return found


def nameable(rule: str) -> Rule[Any]:
    """Return a rule that a policy names under ``[rules]``.

    Raises
    ------
    PolicyError
        As `rule_of`; and where another distribution takes one of our ids for its own.
    """
    if rule == COMPARED.id:
        raise PolicyError(f"{rule!r} is no rule to name: its allowances stand under [compare]")
    if rule in RULES and (others := distributions_of(rule)):
        raise PolicyError(f"rule {rule!r} is pytest-draft's, and {', '.join(others)} has one of that id: rename that")
    return rule_of(rule)


def known_rule(rule: str) -> Rule[Any] | None:
    """Return a rule by its id; None where there is none here, as when a report comes from elsewhere."""
    try:
        return rule_of(rule)
    except PolicyError:
        return None
