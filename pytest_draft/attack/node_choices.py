"""How probable the splits that nodes chose are: resamples open values of a dataset by that.

Compiled: of each node and column it is kept how many rows have each indicator, and how the column does against the one
that the node chose; one value that changes brings a few of these up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

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
    holds: BoolArray
    """Shape (n_values, n_indicators). Which values of its attribute have each indicator."""
    attribute: IntArray
    """Shape (n_indicators,)."""
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


@redacted
class _Kept(NamedTuple):
    """Values, and what the nodes hold with them."""

    value: IntArray
    """Shape (n_rows, n_attributes)."""
    labels: IntArray
    """Shape (n_rows,)."""
    held: FloatArray
    """Shape (n_nodes, n_indicators, n_classes). Weight of the rows with each indicator."""
    rows_held: IntArray
    """Shape (n_nodes, n_indicators). Their number."""
    status: IntArray
    """Shape (n_nodes, n_columns)."""
    number: IntArray
    """Shape (n_nodes, 4). How many columns have each status."""


class OpenValues:
    """Open values, and what the nodes hold with them."""

    def __init__(
        self, nodes: ChoosingNodes, columns: ColumnIndicators, rules: ChoiceRules, value: IntArray, labels: IntArray
    ) -> None:
        (n_nodes, n_classes), n_columns = nodes.totals.shape, rules.given.shape[1]
        has = columns.holds[value[:, columns.attribute], np.arange(len(columns.attribute))].astype(np.float64)
        reached = sparse.csr_array((nodes.times, nodes.node, nodes.start), shape=(len(value), n_nodes))
        held = [reached.T @ (has * (labels == label)[:, None]) for label in range(n_classes)]
        reached.data = np.ones_like(nodes.times)
        self.nodes, self.columns, self.rules = nodes, columns, rules
        self.kept = _Kept(
            value,
            labels,
            np.stack(held, axis=2),
            np.rint(reached.T @ has).astype(np.int64),
            np.full((n_nodes, n_columns), _ABSENT, dtype=np.int64),
            np.zeros((n_nodes, 4), dtype=np.int64),
        )
        _judge(nodes, columns, rules, self.kept, np.arange(n_nodes), np.arange(n_columns))

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
        given = self.nodes, self.columns, self.rules, self.kept
        _sweep(*given, open_values, allowed, offsets, urns, rng.random(len(open_values)), greedy)


@compiled
def _status_of(  # noqa: PLR0912 - compiled as one
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    rules: ChoiceRules,
    kept: _Kept,
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
        change = int(columns.holds[new, j]) - int(columns.holds[old, j])
        inside = kept.rows_held[node, j] + change
        if inside in (0, n_rows):
            continue
        varies = True
        if min(inside, n_rows - inside) < rules.least:
            continue
        quality, in_all, out_all = 0.0, 0.0, 0.0
        for k in range(n_classes):
            in_all += kept.held[node, j, k]
            out_all += nodes.totals[node, k] - kept.held[node, j, k]
        in_all, out_all = in_all + change * weight, out_all - change * weight
        for k in range(n_classes):
            here = kept.held[node, j, k]
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
def _log_chance(nodes: ChoosingNodes, rules: ChoiceRules, node: int, number: IntArray, own: int) -> float:
    """Return how probable a node's choice is, given how many of its columns do how, and how its own does."""
    none_of = rules.none_of[nodes.tree[node]]
    varying, tied, better = number.sum() - number[_CONSTANT], number[_TIED], number[_BETTER]
    if nodes.kind[node] == IMPURE:
        return float(_DISAGREE * varying)
    if nodes.kind[node] == LIMITED:
        return float(max(_IMPOSSIBLE, np.log(max(1e-300, none_of[better]))))
    if own == _TIED:
        tied -= 1
    elif own == _BETTER:  # its own best threshold is another one
        return _IMPOSSIBLE
    chance = (none_of[better] - none_of[better + tied + 1]) / (tied + 1) + none_of[varying] / max(1, varying)
    return float(max(_IMPOSSIBLE, np.log(max(1e-300, chance))))


@compiled
def _judge(
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    rules: ChoiceRules,
    kept: _Kept,
    of_nodes: IntArray,
    of_columns: IntArray,
) -> None:
    """Bring up to date how some columns do at some nodes, and how many do so."""
    for node in of_nodes:
        for column in of_columns:
            found = _status_of(nodes, columns, rules, kept, node, column, -1, 0.0, 0, 0)
            before = kept.status[node, column]
            if before == found:
                continue
            kept.status[node, column] = found
            if before != _ABSENT:
                kept.number[node, before] -= 1
            kept.number[node, found] += 1


@compiled
def _sweep(  # noqa: PLR0912 - compiled as one
    nodes: ChoosingNodes,
    columns: ColumnIndicators,
    rules: ChoiceRules,
    kept: _Kept,
    open_values: IntArray,
    allowed: BoolArray,
    offsets: IntArray,
    urns: FloatArray,
    uniform: FloatArray,
    greedy: bool,
) -> None:
    """Draw each open value given all others."""
    now = np.empty(4, dtype=np.int64)
    for entry in range(len(open_values)):
        row, a = open_values[entry, 0], open_values[entry, 1]
        old, label = kept.value[row, a], kept.labels[row]
        first, last = nodes.start[row], nodes.start[row + 1]
        of_attribute = columns.column[columns.first[a] : columns.first[a] + columns.number[a]]
        urns[a, old] -= 1.0
        score = np.full(offsets[a + 1] - offsets[a], -np.inf)
        for new in range(len(score)):
            if not allowed[row, offsets[a] + new]:
                continue
            score[new] = np.log(urns[a, new])
            if new == old:
                continue
            for visit in range(first, last):
                node, changed = nodes.node[visit], False
                chosen = nodes.chosen[node]
                before = kept.status[node, chosen] if chosen >= 0 else _WORSE
                own, now[:] = before, kept.number[node]
                for column in of_attribute:
                    found = _status_of(nodes, columns, rules, kept, node, column, label, nodes.times[visit], old, new)
                    if found != kept.status[node, column]:
                        changed = True
                        now[kept.status[node, column]] -= 1
                        now[found] += 1
                        own = found if column == chosen else own
                if changed:
                    score[new] += _log_chance(nodes, rules, node, now, own)
                    score[new] -= _log_chance(nodes, rules, node, kept.number[node], before)
        best = int(np.argmax(score))
        if not greedy:
            share = np.cumsum(np.exp(score - score[best]))
            best = min(int(np.searchsorted(share, uniform[entry] * share[-1], side="right")), len(score) - 1)
        elif score[old] == score[best]:
            best = old
        urns[a, best] += 1.0
        if best == old:
            continue
        kept.value[row, a] = best
        for visit in range(first, last):
            node = nodes.node[visit]
            for column in of_attribute:
                for j in range(columns.start[column], columns.start[column + 1]):
                    change = int(columns.holds[best, j]) - int(columns.holds[old, j])
                    kept.held[node, j, label] += change * nodes.times[visit]
                    kept.rows_held[node, j] += change
        _judge(nodes, columns, rules, kept, nodes.node[first:last], of_attribute)
