"""Rule lists of one test a rule: in go rows of zeros and ones and the tests in order, out comes the `RuleList`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.facts.rules import ListedRule, Literal

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


class Antecedent(NamedTuple):
    """Whether a column holds a value."""

    column: int
    value: bool


def candidates(features: BoolArray, min_rows: int) -> tuple[Antecedent, ...]:
    """Return the tests that a rule may hold, column by column, 1 before 0.

    As for CORELS and the paper's greedy learner, these hold for at least `min_rows` of all rows, and for all but at
    least as many.
    """
    ones, n_rows = features.sum(axis=0), len(features)
    return tuple(
        Antecedent(column, value)
        for column in range(features.shape[1])
        for value in (True, False)
        if min_rows <= (ones[column] if value else n_rows - ones[column]) <= n_rows - min_rows
    )


def held(features: BoolArray, tests: Sequence[Antecedent]) -> BoolArray:
    """Return which tests hold for which rows, shape (n_rows, n_tests)."""
    columns = [test.column for test in tests]
    result: BoolArray = features[:, columns] == np.array([test.value for test in tests], dtype=bool)
    return result


def rule_list(kind: str, features: BoolArray, labels: BoolArray, tests: Sequence[Antecedent]) -> RuleList:
    """Return the rule list of some tests in order, closed by a default.

    Each rule predicts the class of most rows that it captures, 1 where there are as many of both; a default without
    rows that of most rows of all.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    """
    rules, left = [], np.ones(len(features), dtype=bool)
    for column, value in tests:
        captured = left & (features[:, column] == value)
        rules.append(_rule((Literal(column, 0.5, math.inf, negated=not value),), labels[captured], labels))
        left &= ~captured
    rules.append(_rule((), labels[left], labels))
    return RuleList(kind, tuple(rules), None, features.shape[1], (0, 1))


def _rule(literals: tuple[Literal, ...], captured: BoolArray, labels: BoolArray) -> ListedRule:
    ones, share = int(captured.sum()), (captured if len(captured) else labels).mean()
    return ListedRule(literals, int(share >= 0.5), (len(captured) - ones, ones))
