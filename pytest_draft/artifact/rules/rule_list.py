"""Rule lists as frozen objects: rules in order, of which the first that holds decides."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import IntArray
from pytest_draft.errors import CorruptArtifactError, DataError, one_line
from pytest_draft.facts.rules import ListedRule


@dataclass(frozen=True, eq=False)
class RuleList:
    """An ordered list of rules, closed by a default (Rivest, Learning decision lists, 1987)."""

    kind: str
    """Where it is from, e.g. ``GreedyRuleListClassifier`` or ``CORELS rule list``."""
    rules: tuple[ListedRule, ...]
    """The last one, and no other, is the default."""
    columns: tuple[str, ...] | None
    """Names of the columns that the tests' positions are about; None where the file has no names."""
    n_features: int | None
    """Number of input columns; None where the file names only those that it tests."""
    classes: tuple[object, ...]
    """As plain Python values, in the order of `Rule.counts`."""
    inputs: typing.Literal["single", "double", "binary"] = "single"
    """How it sees a row: its values rounded to single precision, as trees do; in double precision; or as zeros and
    ones, and nothing else.
    """

    def __post_init__(self) -> None:
        if not self.rules or self.rules[-1].literals:
            raise CorruptArtifactError("the list has no default at its end")
        for number, rule in enumerate(self.rules, start=1):
            where = f"rule {number} of {len(self.rules)}"
            if not rule.literals and number < len(self.rules):
                raise CorruptArtifactError(f"{where} tests nothing, so that no later one can ever hold")
            if (rule.counts is None) != (self.rules[0].counts is None):
                raise CorruptArtifactError(f"{where}: either all rules tell how many rows they captured, or none")
            if rule.counts is not None and (len(rule.counts) != len(self.classes) or min(rule.counts) < 0):
                raise CorruptArtifactError(f"{where}: its counts are not one number of rows for each class")
            most = self.n_features if self.columns is None else len(self.columns)
            if most is not None and any(literal.column >= most for literal in rule.literals):
                raise CorruptArtifactError(f"{where} tests a column that there is not")

    @property
    def n_rules(self) -> int:
        """Number of rules, the default among them."""
        return len(self.rules)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of all input columns; None where the file does not name all of them."""
        return None if self.n_features is None else self.columns

    @property
    def tested(self) -> tuple[int, ...]:
        """Positions of the columns that a rule tests, ascending."""
        return tuple(sorted({literal.column for rule in self.rules for literal in rule.literals}))

    @property
    def counts(self) -> IntArray | None:
        """Training rows of each class that each rule captured, shape (n_rules, n_classes); None where not stored."""
        counts = [rule.counts for rule in self.rules if rule.counts is not None]
        return np.array(counts, dtype=np.int64) if counts else None

    def resolved(self, columns: Sequence[str]) -> RuleList:
        """Return the list with tests that are about the positions of all input columns, named in the rows' order.

        Raises
        ------
        DataError
            Where the list tests a column that is not among them.
        """
        if self.columns is None:
            if self.n_features is not None and self.n_features != len(columns):
                raise DataError(f"{len(columns)} columns are given, but the rule list takes {self.n_features}")
            if self.tested and self.tested[-1] >= len(columns):
                raise DataError(f"{len(columns)} columns are given, but the rule list tests column {self.tested[-1]}")
            return replace(self, columns=tuple(columns), n_features=len(columns))
        position = {name: index for index, name in enumerate(columns)}
        missing = [self.columns[column] for column in self.tested if self.columns[column] not in position]
        if missing:
            raise DataError(f"the rule list tests column {one_line(missing[0])!r}, which is not among those given")
        rules = tuple(
            replace(
                rule,
                literals=tuple(
                    replace(literal, column=position[self.columns[literal.column]]) for literal in rule.literals
                ),
            )
            for rule in self.rules
        )
        return replace(self, rules=rules, columns=tuple(columns), n_features=len(columns))

    def captured(self, rows: NDArray[np.floating]) -> IntArray:
        """Return which rule captures each row, shape (n_rows,): the first that holds; no value may be missing."""
        result = np.full(len(rows), -1, dtype=np.int64)
        for index, rule in enumerate(self.rules):
            result[(result < 0) & rule.holds(rows)] = index
        return result

    def counts_of(self, rows: NDArray[np.floating], labels: IntArray) -> IntArray:
        """Return how many rows of each class each rule captures, shape (n_rules, n_classes)."""
        counts = np.zeros((self.n_rules, self.n_classes), dtype=np.int64)
        np.add.at(counts, (self.captured(rows), labels), 1)
        return counts
