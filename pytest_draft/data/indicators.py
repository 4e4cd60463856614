"""Replaces columns of two values by zeros and ones, in tables and models alike.

Whether yes and no are written as 0 and 1, as -1 and +1 or, scaled, as -0.31 and 3.2 says nothing about anybody. So each
column of two values holds zeros and ones from here on, and every writing of a table is judged alike. Thresholds follow
their column: a midpoint stays one, and a drawn one becomes what the same draw gives between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.facts.rules import ListedRule, Literal

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


_RAND_R_MAX = 2**31 - 1
"""The largest number that scikit-learn's generator gives."""

_MIDDLE = 1e-10
"""Nearer to the middle than any draw but that of a midpoint: draws are 5e-10 apart."""


@dataclass(frozen=True, eq=False, repr=False)
class Indicators:
    """The columns of two values that are not 0 and 1, and what these are."""

    columns: IntArray
    """Shape (n_indicators,)."""
    low: FloatArray
    high: FloatArray
    """`low` and `high`, shape (n_indicators,)."""

    def __repr__(self) -> str:
        return f"Indicators({len(self.columns)} columns, values not shown)"

    @classmethod
    def of(cls, rows: Rows, spared: Collection[int] = ()) -> Indicators:
        """Return the columns of training rows with two values, a missing one aside, but for those that are spared."""
        found = []
        for column in range(rows.shape[1]):
            values = np.unique(rows[:, column])
            values = values[~np.isnan(values)].astype(np.float64)
            if len(values) == 2 and tuple(values) != (0.0, 1.0) and column not in spared:
                found.append((column, *values))
        columns, low, high = np.array(found, dtype=np.float64).reshape(-1, 3).T
        return cls(columns.astype(np.int64), low, high)

    @classmethod
    def none(cls) -> Indicators:
        """Return no columns: all is as it is written."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))

    def rows(self, written: Rows) -> Rows:
        """Return rows with indicators; other values than the two lie between or beside 0 and 1."""
        rows: Rows = written.copy()
        rows[:, self.columns] = (written[:, self.columns] - self.low) / (self.high - self.low)
        return rows

    def written(self, rows: Rows) -> Rows:
        """Return rows with indicators as they are written."""
        written: Rows = rows.copy()
        share = rows[:, self.columns].astype(np.float64)
        written[:, self.columns] = np.where(share == 1, self.high, self.low + share * (self.high - self.low))
        return written

    def model(self, model: Forest | RuleList) -> Forest | RuleList:
        """Return a model that does with indicators what it does with what is written."""
        if not len(self.columns):
            return model
        if isinstance(model, Forest):
            return replace(model, trees=tuple(self._tree(tree) for tree in model.trees))
        return replace(model, rules=tuple(self._rule(rule) for rule in model.rules))

    def literal(self, literal: Literal, column: int) -> Literal:
        """Return a test of a column as it is written as one of the indicator, where the column is one."""
        found = np.flatnonzero(self.columns == column)
        if not len(found):
            return literal
        place = int(found[0])
        of_low, of_high = literal.holds(np.array([self.low[place], self.high[place]]))
        inside = {(True, True): (-1.0, 1.0), (True, False): (-1.0, 0.0), (False, True): (0.0, 1.0)}
        low, high = inside.get((bool(of_low), bool(of_high)), (1.0, 2.0))
        return replace(literal, low=low, high=high, negated=False)

    def _rule(self, rule: ListedRule) -> ListedRule:
        return replace(rule, literals=tuple(self.literal(one, one.column) for one in rule.literals))

    def _tree(self, tree: Tree) -> Tree:
        threshold = tree.threshold.copy()
        for column, low, high in zip(self.columns, self.low, self.high, strict=True):
            here = (tree.feature == column) & np.isfinite(threshold)
            place = (threshold[here] - low) / (high - low)
            drawn = np.rint(place * _RAND_R_MAX) / _RAND_R_MAX  # as scikit-learn computes it between 0 and 1
            inside = np.where(np.abs(place - 0.5) <= _MIDDLE, 0.5, np.clip(drawn, 0.0, np.nextafter(1.0, 0.0)))
            beside = np.where(threshold[here] < low, -1.0, 2.0)
            threshold[here] = np.where((threshold[here] >= low) & (threshold[here] < high), inside, beside)
        return replace(tree, threshold=threshold)
