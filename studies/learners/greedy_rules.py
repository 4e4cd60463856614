"""Greedy rule lists of one test a rule: in go rows of zeros and ones with labels, out comes a `RuleList`.

CART's way of growing, for lists: the next rule is the test that divides the rows left over into those that it captures
and the rest with the least Gini impurity. It is the paper's GreedyRL, written anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.rules.rule_list import RuleList
from studies.learners.width_one import Antecedent, BoolArray, candidates, held, rule_list

FloatArray = NDArray[np.float64]


def learn(features: BoolArray, labels: BoolArray, max_rules: int, min_rows: int) -> RuleList:
    """Return the greedy rule list; the list of fewer rules is its beginning.

    It ends early where no test captures at least `min_rows` of the rows left over and leaves one, or where those are of
    one class. Of two tests that make the same division the purer one is taken, by its share of the impurity; else
    the first.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    max_rules : int
        Without the default.
    min_rows : int
        Least number of rows that a rule captures where it stands.
    """
    return rule_list("greedy rule list", features, labels, greedy_tests(features, labels, max_rules, min_rows))


def greedy_tests(features: BoolArray, labels: BoolArray, max_rules: int, min_rows: int) -> tuple[Antecedent, ...]:
    """Return the tests of `learn` in order."""
    tests = candidates(features, min_rows)
    holds = held(features, tests)
    chosen: list[int] = []
    left = np.ones(len(features), dtype=bool)
    while len(chosen) < max_rules:
        n_left, n_ones = int(left.sum()), int(labels[left].sum())
        captured, ones = holds[left].sum(axis=0), holds[left & labels].sum(axis=0)
        allowed = np.flatnonzero((captured >= max(1, min_rows)) & (captured < n_left))
        if not len(allowed) or n_ones in (0, n_left):
            break
        own = _impurity(captured[allowed], ones[allowed])
        total = own + _impurity(n_left - captured[allowed], n_ones - ones[allowed])
        chosen.append(int(allowed[np.lexsort((own, total))[0]]))
        left &= ~holds[:, chosen[-1]]
    return tuple(tests[index] for index in chosen)


def _impurity(n_rows: NDArray[np.int64], n_ones: NDArray[np.int64]) -> FloatArray:
    """Return Gini's impurity times half the number of rows; there is at least one."""
    result: FloatArray = n_ones * (n_rows - n_ones) / n_rows
    return result
