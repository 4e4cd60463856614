"""What trees say by what they do not test: in go a forest and a dataset with open values, out come likelier values.

A node tests the best of the columns that it drew. So every column that would have split it better was not drawn, and
an impure leaf where growth was not limited had nothing left to split. How probable that is follows from how many
columns a node draws (``max_features``), without any seed, and it depends on values that no test fixes: a column that
varies in impure nodes is tested sooner or later, so one that is never tested is most likely constant. Open values are
drawn from this likelihood and an urn prior by Gibbs sampling; which values fit best is confirmed by refitting, where
the file has its seeds (`refit`). The columns of a node are drawn as in ``sklearn.tree._splitter``: in random order,
until ``max_features`` are visited and one of them is not constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.occurrences import drawn_columns
from pytest_draft.attack.numeric.draws import ALL_CONSTANT, SPLIT, TRIED
from pytest_draft.attack.numeric.replay import columns_drawn, least_in_leaf, outcomes
from pytest_draft.attack.problem import Problem, leaf_positions
from pytest_draft.attack.redacted import redacted
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

MOST_COUNTS = 20_000_000
"""Most numbers that are kept of what nodes hold; of a larger forest only the first trees are asked."""

MANY = 10
"""Of fewer trees it says little that a dataset grows them again."""

_CRITERIA = {"gini": 0, "entropy": 1, "log_loss": 1}
_INNER, _IMPURE, _LIMITED = 0, 1, 2
_CONSTANT, _WORSE, _TIED, _BETTER, _ABSENT = 0, 1, 2, 3, 4
_LIMITS = ("min_weight_fraction_leaf", "min_impurity_decrease", "max_leaf_nodes")
_SETTLE, _BETWEEN, _DESCEND = 6, 2, 3  # sweeps
_IMPOSSIBLE = -12.0
_DISAGREE = -5.0
_TOLERANCE = 1e-9
_UNITS_PER_VISIT = 1e-7  # measured: one value of one row at one node


@redacted
class _Nodes(NamedTuple):
    """The nodes that had a choice, and the rows that reached them.

    Attributes
    ----------
    kind, tree, chosen : ndarray of int64, shape (n_nodes,)
        The column that was chosen, -1 at leaves.
    target : ndarray of float64, shape (n_nodes,)
        Quality of the node's own split.
    totals : ndarray of float64, shape (n_nodes, n_classes)
    n_rows : ndarray of int64, shape (n_nodes,)
        Distinct rows.
    start, node, times : ndarray, shape (n_rows + 1,), (n_visits,), (n_visits,)
        The nodes that each row reaches, and the weight it has there.
    """

    kind: IntArray
    tree: IntArray
    chosen: IntArray
    target: FloatArray
    totals: FloatArray
    n_rows: IntArray
    start: IntArray
    node: IntArray
    times: FloatArray


@redacted
class _Columns(NamedTuple):
    """How values are told apart: each column has indicators, of a value or of all values above one.

    Attributes
    ----------
    start : ndarray of int64, shape (n_columns + 1,)
    value : ndarray of int64, shape (n_indicators,)
    above : ndarray of bool, shape (n_columns,)
        Whether the column's indicators are of all values above.
    first, number : ndarray of int64, shape (n_attributes,)
        Where an attribute's columns stand in `column`.
    column : ndarray of int64, shape (n_columns,)
    """

    start: IntArray
    value: IntArray
    above: BoolArray
    first: IntArray
    number: IntArray
    column: IntArray


@redacted
class _Rules(NamedTuple):
    """How nodes choose.

    Attributes
    ----------
    criterion : int
    least : int
        Fewest distinct rows in a leaf.
    given : ndarray of bool, shape (n_trees, n_columns)
        The columns that a tree was given.
    none_of : ndarray of float64, shape (n_trees, n_columns + 2)
        Probability that none of so many columns is among those drawn at a node.
    """

    criterion: int
    least: int
    given: BoolArray
    none_of: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Choices:
    """What a forest's nodes chose, to be explained by what rows are.

    Attributes
    ----------
    forest : Forest
    problem : Problem
        With exact noise.
    columns : tuple of ndarray of int64
        By tree, the columns that it was given.
    drawn : tuple of int
        By tree, ``max_features``.
    least : int
        Fewest distinct rows in a leaf.
    outcome : tuple of ndarray of int64
        By tree, what became of its nodes (`draws`).
    """

    forest: Forest
    problem: Problem
    columns: tuple[IntArray, ...]
    drawn: tuple[int, ...]
    least: int
    outcome: tuple[IntArray, ...]

    @classmethod
    def of(cls, forest: Forest, problem: Problem, *, seeds_known: bool) -> Choices | None:
        """Return what a forest's choices can tell.

        Parameters
        ----------
        forest : Forest
        problem : Problem
        seeds_known : bool
            Whether the adversary has the seeds, which say what columns a bagging ensemble's trees were given.

        Returns
        -------
        Choices or None
            None where trees did not look at the data, or the file does not tell how they did.
        """
        nested = "estimator__" if forest.seeds_from == "ensemble" else ""
        some = forest.max_features not in (None, forest.n_features) or forest.bootstrap_features
        if forest.is_private or forest.classes is None or problem.groups.noise != "exact":
            return None
        if forest.parameters.get(f"{nested}criterion") not in _CRITERIA or (some and not seeds_known):
            return None
        if forest.parameters.get(f"{nested}ccp_alpha", 0.0) != 0.0:
            return None
        if not _best(forest, nested) and any(attribute.kind == "ordinal" for attribute in problem.domain.attributes):
            return None  # random thresholds: another could have been better
        try:
            everything = np.arange(forest.n_features)
            columns = tuple(drawn_columns(forest, t) if some else everything for t in range(forest.n_trees))
            if any(len(np.unique(given)) < len(given) for given in columns):
                return None
            drawn = tuple(columns_drawn(forest, nested, len(given)) for given in columns)
            n_samples = _n_samples(problem)
            least = least_in_leaf(forest, nested, n_samples)
            outcome = tuple(outcomes(forest, tree, nested, n_samples) for tree in forest.trees)
            return cls(forest, problem, columns, drawn, least, outcome)
        except NotCoveredError:
            return None

    @property
    def many_grown_out(self) -> bool:
        """Whether there are `MANY` trees, all grown out: it says much that such a dataset grows all of them again."""
        return self.forest.n_trees >= MANY and self.grown_out

    @cached_property
    def grown_out(self) -> bool:
        """Whether all trees were grown until nothing was left to split.

        Else few nodes had a choice, and what they say of open values is less than what the spread of the others says.
        """
        return all(
            bool(((outcome == SPLIT) | (outcome == ALL_CONSTANT) | (_pure(tree) & (tree.left < 0))).all())
            for tree, outcome in zip(self.forest.trees, self.outcome, strict=True)
        )

    @cached_property
    def _coded(self) -> _Columns:
        attributes = self.problem.domain.attributes
        indicators: dict[int, list[int]] = {}
        above = np.zeros(self.forest.n_features, dtype=np.bool_)
        for attribute in attributes:
            for place, column in enumerate(attribute.columns):
                if attribute.kind == "one-hot":
                    indicators[column] = [place]
                else:
                    indicators[column] = list(range(attribute.n_values - 1))
                    above[column] = True
        by_column = [indicators[column] for column in range(self.forest.n_features)]
        number = np.array([len(attribute.columns) for attribute in attributes])
        return _Columns(
            np.cumsum([0, *map(len, by_column)]),
            np.array([value for values in by_column for value in values], dtype=np.int64),
            above,
            np.cumsum([0, *number[:-1]]),
            number,
            np.array([column for attribute in attributes for column in attribute.columns]),
        )

    @cached_property
    def _rules(self) -> _Rules:
        forest = self.forest
        nested = "estimator__" if forest.seeds_from == "ensemble" else ""
        given = np.zeros((forest.n_trees, forest.n_features), dtype=np.bool_)
        none_of = np.zeros((forest.n_trees, forest.n_features + 2))
        number = np.arange(forest.n_features + 2)
        for t, (columns, drawn) in enumerate(zip(self.columns, self.drawn, strict=True)):
            given[t, columns] = True
            some = number[number <= len(columns) - drawn]
            none_of[t, some] = np.exp(_log_ways(len(columns) - some, drawn) - _log_ways(len(columns), drawn))
        return _Rules(_CRITERIA[str(forest.parameters[f"{nested}criterion"])], self.least, given, none_of)

    def filled(
        self,
        cells: IntArray,
        labels: IntArray,
        rows: NDArray[np.float32],
        belief: tuple[FloatArray, ...],
        n_samples: int,
        rng: np.random.Generator,
        timebox: TimeBox,
    ) -> tuple[NDArray[np.float32], ...]:
        """Return datasets with other open values, drawn about as likely as they are, the likeliest one first.

        Parameters
        ----------
        cells : ndarray of int64, shape (n_rows,)
        labels : ndarray of int64, shape (n_rows,)
        rows : ndarray of float32, shape (n_rows, n_columns)
            A dataset in these cells, to begin with.
        belief : tuple of ndarray of float64, shape (n_values of the attribute,)
            How often each value occurs besides: an urn of so many rows, which the open values are drawn from too.
        n_samples : int
        rng : numpy.random.Generator
        timebox : TimeBox

        Returns
        -------
        tuple of ndarray of float32, shape (n_rows, n_columns)
            Only `rows` where that would take longer than the time box allows.
        """
        problem, known = self.problem, self.problem.groups.known
        open_values = np.argwhere(~problem.cells.determined[cells])
        if not len(open_values):
            return (rows,)
        nodes = self._nodes(cells, labels)
        n_values = np.array([attribute.n_values for attribute in problem.domain.attributes])
        visits = float((np.diff(nodes.start)[open_values[:, 0]] * n_values[open_values[:, 1]]).sum())
        units = _UNITS_PER_VISIT * visits * (_SETTLE + _BETWEEN * n_samples + _DESCEND)
        if not timebox.allows(units):
            return (rows,)
        timebox.spend(units)
        everyone = rows if known is None else np.concatenate([rows, known.rows])
        all_labels = labels if known is None else np.concatenate([labels, known.labels])
        value = problem.domain.indices(everyone)
        chain = _Chain(nodes, self._coded, self._rules, value, all_labels)
        urns = np.zeros((len(n_values), n_values.max()))
        for a, urn in enumerate(belief):
            urns[a, : len(urn)] = urn
        offsets, allowed = problem.cells.offsets, problem.cells.allowed[cells]
        np.add.at(urns, (open_values[:, 1], value[open_values[:, 0], open_values[:, 1]]), 1.0)
        found = []
        for number in range(n_samples):
            for _ in range(_BETWEEN if number else _SETTLE):
                chain.sweep(rng.permutation(open_values), allowed, offsets, urns, rng, greedy=False)
            found.append(problem.domain.encoded(chain.value[: len(rows)]))
        for _ in range(_DESCEND):
            chain.sweep(open_values, allowed, offsets, urns, rng, greedy=True)
        return (problem.domain.encoded(chain.value[: len(rows)]), *found)

    def _nodes(self, cells: IntArray, labels: IntArray) -> _Nodes:
        """Return the nodes that rows in some cells reach."""
        problem, known, forest = self.problem, self.problem.groups.known, self.forest
        weight = problem.groups.weight[:, problem.groups.of_row]
        labels = labels if known is None else np.concatenate([labels, known.labels])
        n_indicators = max(1, len(self._coded.value))
        parts: list[tuple[NDArray[Any], ...]] = []
        room, first = MOST_COUNTS, 0
        for t, tree in enumerate(forest.trees):
            place = problem.cells.signature[t, cells].astype(np.int64)
            times = weight[t]
            if known is not None:
                place = np.append(place, leaf_positions(tree, np.ascontiguousarray(known.rows.T)))
                times = np.append(times, known.weight[t])
            inner = tree.left >= 0
            kind = np.full(tree.n_nodes, -1)
            kind[inner] = _INNER
            impure = ~inner & ~_pure(tree)
            kind[impure & (self.outcome[t] == ALL_CONSTANT)] = _IMPURE
            if self._only_small_leaves_stop:
                kind[impure & (self.outcome[t] == TRIED)] = _LIMITED
            kept = np.flatnonzero(kind >= 0)
            room -= len(kept) * n_indicators * (forest.n_classes + 1)
            if room < 0 and parts:
                break
            member = _ancestors(tree.left, tree.right)[:, tree.leaves[np.maximum(place, 0)]].T  # rows x nodes
            member &= (times > 0)[:, None]
            add = times * forest.draw_weight[t, labels]
            totals = np.stack([(member * (add * (labels == c))[:, None]).sum(0) for c in range(forest.n_classes)], 1)
            target = np.full(tree.n_nodes, -np.inf)
            target[inner] = _quality(totals[tree.left[inner]], self._rules.criterion)
            target[inner] += _quality(totals[tree.right[inner]], self._rules.criterion)
            row, node = np.nonzero(member[:, kept])
            chosen = np.where(inner, tree.feature, -1)[kept]
            tables = (kind[kept], np.full(len(kept), t), chosen, target[kept], totals[kept], member[:, kept].sum(0))
            parts.append((*tables, row, node + first, add[row]))
            first += len(kept)
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(joined[6], kind="stable")
        start = np.searchsorted(joined[6][order], np.arange(len(labels) + 1))
        kinds, tree_of, chosen, target, totals, n_rows, _, node, add = joined
        return _Nodes(kinds, tree_of, chosen, target, totals, n_rows, start, node[order], add[order].astype(np.float64))

    @cached_property
    def _only_small_leaves_stop(self) -> bool:
        """Whether nothing but ``min_samples_leaf`` kept a node that was tried from being split."""
        nested = "estimator__" if self.forest.seeds_from == "ensemble" else ""
        told = [self.forest.parameters.get(nested + name) for name in _LIMITS]
        return told == [0.0, 0.0, None]


class _Chain:
    """Open values, and what the nodes hold with them."""

    def __init__(self, nodes: _Nodes, columns: _Columns, rules: _Rules, value: IntArray, labels: IntArray) -> None:
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


def _best(forest: Forest, nested: str) -> bool:
    """Return whether each column's best threshold is tried."""
    if forest.kind.startswith(("RandomForest", "ExtraTrees")):
        return forest.kind.startswith("RandomForest")
    return forest.parameters.get(f"{nested}splitter") == "best"


def _n_samples(problem: Problem) -> int:
    """Return how many rows trained the forest."""
    known = problem.groups.known
    return problem.groups.n_rows + (0 if known is None else len(known.rows))


def _pure(tree: Tree) -> BoolArray:
    """Return which nodes hold one class only, shape (n_nodes,)."""
    pure: BoolArray = np.count_nonzero(tree.value, axis=1) <= 1
    return pure


def _log_ways(n: IntArray | int, k: int) -> FloatArray:
    """Return the logarithm of the binomial coefficient."""
    ways: FloatArray = gammaln(np.asarray(n) + 1.0) - math.lgamma(k + 1.0) - gammaln(np.asarray(n) - k + 1.0)
    return ways


def _ancestors(left: IntArray, right: IntArray) -> BoolArray:
    """Return whether each node (rows) is on the path to each node (columns), itself included."""
    above = np.eye(len(left), dtype=np.bool_)
    for node in np.flatnonzero(left >= 0).tolist():  # parents come first
        above[:, left[node]] |= above[:, node]
        above[:, right[node]] |= above[:, node]
    return above


def _quality(totals: FloatArray, criterion: int) -> FloatArray:
    """Return what a child adds to the quality of a split, shape (n_nodes,)."""
    whole = totals.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if criterion == 0:
            added = (totals**2).sum(axis=1) / whole
        else:
            added = np.where(totals > 0, totals * np.log(totals), 0.0).sum(axis=1) - whole * np.log(whole)
    result: FloatArray = np.where(whole > 0, added, 0.0)
    return result


@njit(cache=True, nogil=True)
def _holds(columns: _Columns, column: int, indicator: int, value: int) -> bool:
    """Return whether a value has an indicator."""
    return bool(value > columns.value[indicator] if columns.above[column] else value == columns.value[indicator])


@njit(cache=True, nogil=True)
def _status_of(  # noqa: PLR0912 - compiled as one
    nodes: _Nodes,
    columns: _Columns,
    rules: _Rules,
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


@njit(cache=True, nogil=True)
def _log_chance(
    nodes: _Nodes, rules: _Rules, node: int, constant: int, tied: int, better: int, own: int, n_given: int
) -> float:
    """Return how probable a node's choice is, given how its columns do; `own` is how its own column does."""
    none_of = rules.none_of[nodes.tree[node]]
    varying = n_given - constant
    if nodes.kind[node] == _IMPURE:
        return _DISAGREE * varying
    if nodes.kind[node] == _LIMITED:
        return float(max(_IMPOSSIBLE, np.log(max(1e-300, none_of[better]))))
    if own == _TIED:
        tied -= 1
    elif own == _BETTER:  # its own best threshold is another one
        return _IMPOSSIBLE
    chance = (none_of[better] - none_of[better + tied + 1]) / (tied + 1) + none_of[varying] / max(1, varying)
    return float(max(_IMPOSSIBLE, np.log(max(1e-300, chance))))


@njit(cache=True, nogil=True)
def _begin(
    nodes: _Nodes,
    columns: _Columns,
    rules: _Rules,
    value: IntArray,
    labels: IntArray,
    held: FloatArray,
    rows_held: IntArray,
    status: IntArray,
    number: IntArray,
) -> None:
    """Count what the nodes hold."""
    for row in range(len(value)):
        for visit in range(nodes.start[row], nodes.start[row + 1]):
            node = nodes.node[visit]
            for a in range(len(columns.first)):
                for place in range(columns.first[a], columns.first[a] + columns.number[a]):
                    column = columns.column[place]
                    for j in range(columns.start[column], columns.start[column + 1]):
                        if _holds(columns, column, j, value[row, a]):
                            held[node, j, labels[row]] += nodes.times[visit]
                            rows_held[node, j] += 1
    for node in range(len(nodes.kind)):
        for column in range(len(columns.above)):
            found = _status_of(nodes, columns, rules, held, rows_held, node, column, -1, 0.0, 0, 0)
            status[node, column] = found
            if found != _ABSENT:
                number[node, found] += 1


@njit(cache=True, nogil=True)
def _sweep(  # noqa: PLR0912, PLR0915 - compiled as one
    nodes: _Nodes,
    columns: _Columns,
    rules: _Rules,
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
        for visit in range(nodes.start[row], nodes.start[row + 1]):
            node = nodes.node[visit]
            for place in range(columns.first[a], columns.first[a] + columns.number[a]):
                column = columns.column[place]
                for j in range(columns.start[column], columns.start[column + 1]):
                    change = int(_holds(columns, column, j, best)) - int(_holds(columns, column, j, old))
                    held[node, j, label] += change * nodes.times[visit]
                    rows_held[node, j] += change
                found = _status_of(nodes, columns, rules, held, rows_held, node, column, -1, 0.0, 0, 0)
                before = status[node, column]
                if before != found:
                    status[node, column] = found
                    if before != _ABSENT:
                        number[node, before] -= 1
                        number[node, found] += 1
