"""How probable the splits that nodes chose are: resamples open values of a dataset by that.

Compiled: of each node and column it is kept how many rows have each indicator, and how the column does against the one
that the node chose; one value that changes brings a few of these up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled

CRITERIA = {"gini": 0, "entropy": 1, "log_loss": 1}
"""scikit-learn's names of the criteria, and what they are to compiled code."""

INNER, IMPURE, LIMITED = 0, 1, 2
"""Kinds of nodes: one that was split, an impure leaf without anything to split, one with too small children only."""

_CONSTANT, _WORSE, _TIED, _BETTER, _ABSENT = 0, 1, 2, 3, 4
"""How a column does at a node against the chosen one; absent where the tree was not given the column."""

_IMPOSSIBLE = -12.0
"""Least log-probability of a node's choice: bounds what one node can say, where rounding makes it look impossible."""

_DISAGREE = -5.0
"""Log-probability of each column that varies in a leaf where nothing was left to split: none should."""

_TOLERANCE = 1e-9
"""Relative difference of two qualities up to which they are tied: wide of rounding, narrow of one row's weight."""


@redacted
class ChoosingNodes(NamedTuple):
    """The nodes that had a choice, and the rows that reached them."""

    kind: IntArray
    tree: IntArray
    chosen: IntArray
    """`kind`, `tree` and `chosen`, shape (n_nodes,): the column that was chosen, -1 at leaves."""
    target: FloatArray
    """Shape (n_nodes,). Quality of the node's own split."""
    totals: FloatArray
    """Shape (n_nodes, n_classes)."""
    n_rows: IntArray
    """Shape (n_nodes,). Distinct rows."""
    start: IntArray
    node: IntArray
    times: FloatArray
    """`start`, `node` and `times`, shapes (n_rows + 1,), (n_visits,), (n_visits,): the nodes that each row reaches, and
    the weight it has there.
    """


@redacted
class ColumnIndicators(NamedTuple):
    """How values are told apart: each column has indicators, of a value or of all values above one."""

    start: IntArray
    """Shape (n_columns + 1,)."""
    value: IntArray
    """Shape (n_indicators,)."""
    above: BoolArray
    """Shape (n_columns,). Whether the column's indicators are of all values above."""
    first: IntArray
    number: IntArray
    """`first` and `number`, shape (n_attributes,): where an attribute's columns stand in `column`."""
    column: IntArray
    """Shape (n_columns,)."""


@redacted
class ChoiceRules(NamedTuple):
    """How nodes choose."""

    criterion: int
    least: int
    """Fewest distinct rows in a leaf."""
    given: BoolArray
    """Shape (n_trees, n_columns). The columns that a tree was given."""
    none_of: FloatArray
    """Shape (n_trees, n_columns + 2). Probability that none of so many columns is among those drawn at a node."""


class OpenValues:
    """Open values, and what the nodes hold with them."""

    def __init__(
        self, nodes: ChoosingNodes, columns: ColumnIndicators, rules: ChoiceRules, value: IntArray, labels: IntArray
    ) -> None:
        n_nodes, n_classes = nodes.totals.shape
        self.nodes, self.columns, self.rules, self.value, self.labels = nodes, columns, rules, value, labels
        self.held = np.zeros((n_nodes, len(columns.value), n_classes))
        self.rows_held = np.zeros((n_nodes, len(columns.value)), dtype=np.int64)
        self.status = np.full((n_nodes, len(columns.above)), _ABSENT, dtype=np.int64)
        self.number = np.zeros((n_nodes, 4), dtype=np.int64)
        _begin(nodes, columns, rules, value, labels, self.held, self.rows_held, self.status, self.number)

    def sweep(
        self,
        open_values: IntArray,
        allowed: BoolArray,
        offsets: IntArray,
        urns: FloatArray,
        rng: np.random.Generator,
        *,
        greedy: bool,
    ) -> None:
        """Draw each open value given all others; the likeliest where greedy."""
        _sweep(
            self.nodes,
            self.columns,
            self.rules,
            self.value,
            self.labels,
            self.held,
            self.rows_held,
            self.status,
            self.number,
            open_values,
            allowed,
            offsets,
            urns,
            rng.random(len(open_values)),
            greedy,
        )


@compiled
def _holds(columns: ColumnIndicators, column: int, indicator: int, value: int) -> bool:
    """Return whether a value has an indicator."""
    return bool(value > columns.value[indicator] if columns.above[column] else value == columns.value[indicator])


@compiled
def _status_of(  # noqa: PLR0912 - compiled as one
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    rules: ChoiceRules,
    held: FloatArray,
    rows_held: IntArray,
    node: int,
    column: int,
    label: int,
    weight: float,
    old: int,
    new: int,
) -> int:
    """Return how a column does at a node against what was chosen, were one row's value another."""
    if not rules.given[nodes.tree[node], column]:
        return _ABSENT
    n_classes, best, varies, n_rows = nodes.totals.shape[1], -np.inf, False, nodes.n_rows[node]
    for j in range(columns.start[column], columns.start[column + 1]):
        change = 0
        if old != new:
            change = int(_holds(columns, column, j, new)) - int(_holds(columns, column, j, old))
        inside = rows_held[node, j] + change
        if inside in (0, n_rows):
            continue
        varies = True
        if min(inside, n_rows - inside) < rules.least:
            continue
        quality, in_all, out_all = 0.0, 0.0, 0.0
        for k in range(n_classes):
            here = held[node, j, k]
            if k == label:
                here += change * weight
            there = nodes.totals[node, k] - here
            in_all += here
            out_all += there
        for k in range(n_classes):
            here = held[node, j, k]
            if k == label:
                here += change * weight
            there = nodes.totals[node, k] - here
            if rules.criterion == 0:
                quality += here * here / in_all + there * there / out_all
            else:
                if here > _TOLERANCE:
                    quality += here * np.log(here / in_all)
                if there > _TOLERANCE:
                    quality += there * np.log(there / out_all)
        best = max(best, quality)
    if not varies:
        return _CONSTANT
    if best == -np.inf:
        return _WORSE
    gap = best - nodes.target[node]
    if gap > _TOLERANCE * (1.0 + abs(best)):
        return _BETTER
    return _WORSE if gap < -_TOLERANCE * (1.0 + abs(best)) else _TIED


@compiled
def _log_chance(
    nodes: ChoosingNodes, rules: ChoiceRules, node: int, constant: int, tied: int, better: int, own: int, n_given: int
) -> float:
    """Return how probable a node's choice is, given how its columns do; `own` is how its own column does."""
    none_of = rules.none_of[nodes.tree[node]]
    varying = n_given - constant
    if nodes.kind[node] == IMPURE:
        return _DISAGREE * varying
    if nodes.kind[node] == LIMITED:
        return float(max(_IMPOSSIBLE, np.log(max(1e-300, none_of[better]))))
    if own == _TIED:
        tied -= 1
    elif own == _BETTER:  # its own best threshold is another one
        return _IMPOSSIBLE
    chance = (none_of[better] - none_of[better + tied + 1]) / (tied + 1) + none_of[varying] / max(1, varying)
    return float(max(_IMPOSSIBLE, np.log(max(1e-300, chance))))


@compiled
def _recount(
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    row: int,
    a: int,
    label: int,
    old: int,
    new: int,
    held: FloatArray,
    rows_held: IntArray,
) -> None:
    """Count a row with another value of an attribute at all nodes that it reaches; `old` is -1 where it had none."""
    for visit in range(nodes.start[row], nodes.start[row + 1]):
        node = nodes.node[visit]
        for place in range(columns.first[a], columns.first[a] + columns.number[a]):
            column = columns.column[place]
            for j in range(columns.start[column], columns.start[column + 1]):
                change = int(_holds(columns, column, j, new)) - int(_holds(columns, column, j, old))
                held[node, j, label] += change * nodes.times[visit]
                rows_held[node, j] += change


@compiled
def _judge(
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    rules: ChoiceRules,
    held: FloatArray,
    rows_held: IntArray,
    status: IntArray,
    number: IntArray,
    node: int,
    column: int,
) -> None:
    """Bring up to date how a column does at a node, and how many columns of the node do so."""
    found = _status_of(nodes, columns, rules, held, rows_held, node, column, -1, 0.0, 0, 0)
    before = status[node, column]
    if before == found:
        return
    status[node, column] = found
    if before != _ABSENT:
        number[node, before] -= 1
    number[node, found] += 1


@compiled
def _begin(
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    rules: ChoiceRules,
    value: IntArray,
    labels: IntArray,
    held: FloatArray,
    rows_held: IntArray,
    status: IntArray,
    number: IntArray,
) -> None:
    """Count what the nodes hold."""
    for row in range(len(value)):
        for a in range(len(columns.first)):
            _recount(nodes, columns, row, a, labels[row], -1, value[row, a], held, rows_held)
    for node in range(len(nodes.kind)):
        for column in range(len(columns.above)):
            _judge(nodes, columns, rules, held, rows_held, status, number, node, column)


@compiled
def _sweep(  # noqa: PLR0912 - compiled as one
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    rules: ChoiceRules,
    value: IntArray,
    labels: IntArray,
    held: FloatArray,
    rows_held: IntArray,
    status: IntArray,
    number: IntArray,
    open_values: IntArray,
    allowed: BoolArray,
    offsets: IntArray,
    urns: FloatArray,
    uniform: FloatArray,
    greedy: bool,
) -> None:
    """Draw each open value given all others."""
    score = np.empty(urns.shape[1])
    now = np.empty(4, dtype=np.int64)
    for entry in range(len(open_values)):
        row, a = open_values[entry, 0], open_values[entry, 1]
        old, label = value[row, a], labels[row]
        n_values = offsets[a + 1] - offsets[a]
        urns[a, old] -= 1.0
        for new in range(n_values):
            score[new] = -np.inf
            if not allowed[row, offsets[a] + new]:
                continue
            score[new] = np.log(urns[a, new])
            if new == old:
                continue
            for visit in range(nodes.start[row], nodes.start[row + 1]):
                node = nodes.node[visit]
                chosen, changed = nodes.chosen[node], False
                own = status[node, chosen] if chosen >= 0 else _WORSE
                n_given = number[node].sum()
                before = own
                now[:] = number[node]
                for place in range(columns.first[a], columns.first[a] + columns.number[a]):
                    column = columns.column[place]
                    found = _status_of(
                        nodes, columns, rules, held, rows_held, node, column, label, nodes.times[visit], old, new
                    )
                    if found == status[node, column]:
                        continue
                    changed = True
                    now[status[node, column]] -= 1
                    now[found] += 1
                    if column == chosen:
                        own = found
                if changed:
                    score[new] += _log_chance(
                        nodes, rules, node, now[_CONSTANT], now[_TIED], now[_BETTER], own, n_given
                    ) - _log_chance(
                        nodes,
                        rules,
                        node,
                        number[node, _CONSTANT],
                        number[node, _TIED],
                        number[node, _BETTER],
                        before,
                        n_given,
                    )
        best = old if greedy else -1
        if greedy:
            for new in range(n_values):
                if score[new] > score[best]:
                    best = new
        else:
            top = score[:n_values].max()
            total = 0.0
            for new in range(n_values):
                total += np.exp(score[new] - top)
            level, best = uniform[entry] * total, old
            for new in range(n_values):
                level -= np.exp(score[new] - top)
                if level <= 0.0 and allowed[row, offsets[a] + new]:
                    best = new
                    break
        urns[a, best] += 1.0
        if best == old:
            continue
        value[row, a] = best
        _recount(nodes, columns, row, a, label, old, best, held, rows_held)
        for visit in range(nodes.start[row], nodes.start[row + 1]):
            for place in range(columns.first[a], columns.first[a] + columns.number[a]):
                _judge(nodes, columns, rules, held, rows_held, status, number, nodes.node[visit], columns.column[place])
