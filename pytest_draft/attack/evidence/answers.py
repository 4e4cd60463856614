"""How well rows explain leaves without counts: the log-likelihood of rows by leaf and class.

With bootstrap the draws of each class at a leaf are about Poisson with the rows there as their mean, and what the leaf
says is that they are in a set: the log-likelihood is that of the set. Without bootstrap the rows themselves are in the
set, and what is missing to it is punished.

A fraction p / q in lowest terms says that the leaf holds m * p draws of each class for some whole m; a rounded one,
that it holds one of finitely many vectors of counts; a label, that no class has more. Leaves that say the same share
one set (`LeafOutputs`). Of a forest with counts whose draws nobody knows, each leaf says its one vector.

`evidence_of` is the place to start.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers, NodeCounts, Observation, Possible
from pytest_draft.artifact.forest.observations.answers import MOST_LISTED
from pytest_draft.attack.evidence.evidence import evidence_of, scored_by, total_score
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError

PURE, RATIO, LISTED, LABEL, COUNTED = 0, 1, 2, 3, 4
"""Kinds of leaves: draws of one class; multiples of one vector of counts; one of several vectors; only the winner; the
counts of the draws themselves, with the number of different rows where that is published."""

_KINDS = {"one class": PURE, "multiples": RATIO, "listed": LISTED, "winner": LABEL}


@redacted
class LeafOutputs(NamedTuple):
    """What all leaves of a forest say, tree by tree, in the order of `Tree.leaves`."""

    kind: NDArray[np.int8]
    """Shape (n_leaves,). `PURE`, `RATIO`, `LISTED`, `LABEL` or `COUNTED`."""
    winner: IntArray
    """Shape (n_leaves,). The class with most draws, the first of equal ones; -1 where several can be."""
    first: IntArray
    last: IntArray
    """`first` and `last`, shape (n_leaves,): the leaf's vectors are ``vectors[first:last]``: one for `RATIO` and
    `COUNTED`, by ascending sum for `LISTED`, else none.
    """
    vectors: IntArray
    """Shape (n_vectors, n_classes)."""
    said: IntArray
    """Shape (n_leaves,). Equal for leaves that say the same."""
    distinct: IntArray
    """Shape (n_leaves,). Different rows among the draws; 0 where that is not published."""


def leaf_outputs(forest: Forest, n_draws: int) -> LeafOutputs:
    """Return what the leaves of a forest say.

    Parameters
    ----------
    forest : Forest
        With `Answers`, or with counts of draws that nobody knows.
    n_draws : int
        Most draws (without bootstrap: rows) that a leaf can hold.

    Raises
    ------
    NotCoveredError
        Where fractions are rounded so much that too many counts have them.
    """
    if not isinstance(forest.observation, Answers):
        return counted_leaves(*drawn_at_leaves(forest))
    values = np.concatenate([tree.value[tree.leaves] for tree in forest.trees])
    return outputs_of(forest.observation, values, n_draws)


def outputs_of(answers: Answers, values: FloatArray, n_draws: int) -> LeafOutputs:
    """Return what leaves say that answer so.

    Parameters
    ----------
    values : ndarray of float64, shape (n_leaves, n_values)
    n_draws : int
        As to `leaf_outputs`.
    """
    different, said_by = np.unique(values, axis=0, return_inverse=True)
    said: list[Possible] = []
    room = MOST_LISTED
    for value in different:
        said.append(answers.possible(value, n_draws, room))
        room -= len(said[-1].vectors)
    last = np.cumsum([len(one.vectors) for one in said])
    first = last - [len(one.vectors) for one in said]
    by_leaf = said_by.reshape(-1)
    return LeafOutputs(
        np.array([_KINDS[one.kind] for one in said], dtype=np.int8)[by_leaf],
        np.array([one.winner for one in said], dtype=np.int64)[by_leaf],
        first.astype(np.int64)[by_leaf],
        last.astype(np.int64)[by_leaf],
        np.ascontiguousarray(np.concatenate([one.vectors for one in said]), dtype=np.int64),
        by_leaf.astype(np.int64),
        np.zeros(len(by_leaf), dtype=np.int64),
    )


def drawn_at_leaves(forest: Forest) -> tuple[IntArray, IntArray]:
    """Return the draws at all leaves of a forest with counts, and how many different rows are among them.

    Returns
    -------
    counts : ndarray of int64, shape (n_leaves, n_classes)
    distinct : ndarray of int64, shape (n_leaves,)
        0 where that is not published.
    """
    counts = np.concatenate([forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees)])
    return counts, np.zeros(len(counts), np.int64) if forest.distinct is None else np.concatenate(forest.distinct)


def counted_leaves(counts: IntArray, distinct: IntArray) -> LeafOutputs:
    """Return what leaves say that publish their draws.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_leaves, n_classes)
    distinct : ndarray of int64, shape (n_leaves,)
        Different rows among them; 0 where that is not published.
    """
    distinct = np.where(((counts > 0).sum(axis=1) > 1) & (counts.max(axis=1) > MOST_DRAWS), 0, distinct)
    different, by_leaf = np.unique(np.column_stack([counts, distinct]), axis=0, return_inverse=True)
    said = by_leaf.reshape(-1).astype(np.int64)
    kind = np.full(len(said), COUNTED, dtype=np.int8)
    vectors = np.ascontiguousarray(different[:, :-1], dtype=np.int64)
    return LeafOutputs(kind, counts.argmax(axis=1).astype(np.int64), said, said + 1, vectors, said, distinct)


def log_stirling(most: int) -> FloatArray:
    """Return ``log S(n, d)``, the Stirling numbers of the second kind, for 0 <= d <= n <= most."""
    table = np.full((most + 1, most + 1), -np.inf)
    table[0, 0] = 0.0
    log = np.log(np.maximum(np.arange(most + 1), 1))
    for n in range(1, most + 1):
        table[n, 1 : n + 1] = np.logaddexp(table[n - 1, :n], log[1 : n + 1] + table[n - 1, 1 : n + 1])
    return table


def rows_lacking(counts: IntArray, distinct: IntArray, rows: NDArray[Any]) -> int:
    """Return how many rows the leaves lack at least for what they hold of draws: 0 where all counts are possible.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_leaves, n_classes)
        Draws.
    distinct : ndarray of int64, shape (n_leaves,)
        Different rows among them; 0 where that is not published.
    rows : ndarray, shape (n_leaves, n_classes)
    """
    drawn = counts > 0
    most = np.where(drawn, np.minimum(rows, counts), 0).sum(axis=1)
    return int(np.maximum((drawn & (rows < 1)).sum(axis=1), distinct - most).sum())


MOST_DRAWS = 1_500
"""Most draws of one class, at a leaf of several, whose different rows are used: the table of Stirling numbers is
square.
"""

FLOOR = 1e-6
"""Rows that a class without any counts as where its draws are needed: what is impossible is only very unlikely."""

MIXED = 0.1
"""In a tree that is grown to its end a leaf holds draws of several classes only where their values are all equal."""

PENALTY = 12.0
"""What one row too many or too few costs without bootstrap, in log-likelihood."""


_GROWN: dict[str, object] = {
    "max_depth": None,
    "max_leaf_nodes": None,
    "min_samples_leaf": 1,
    "min_samples_split": 2,
    "min_weight_fraction_leaf": 0.0,
    "min_impurity_decrease": 0.0,
    "ccp_alpha": 0.0,
}


def grown_to_the_end(forest: Forest) -> bool:
    """Whether the file's parameters say that a node was parted wherever draws of several classes could be."""
    given = forest.tree_parameters
    return all(given.get(name, "unknown") == value for name, value in _GROWN.items())


@compiled
def _add_logs(total, term):  # type: ignore[no-untyped-def]
    """Return the log of a sum of two numbers given by their logs."""
    if total < term:
        total, term = term, total
    return total + math.log1p(math.exp(term - total))


@compiled
def _log_label(winner, rate, rows, first, n_classes):  # type: ignore[no-untyped-def]
    """Return the log of the sum over counts in which a class wins of the product of rate**count / count!."""
    mean = rate * max(rows[first + winner], FLOOR)
    most = int(mean + 8.0 * math.sqrt(mean) + 12.0)
    others = np.empty(n_classes)  # sums of the terms of each other class up to what it may have
    terms = np.empty(n_classes)
    upto = np.full(n_classes, -1)
    others[:] = 0.0
    term, total = 0.0, -np.inf
    for k in range(most + 1):
        if k:
            term += math.log(mean) - math.log(k)
        value, possible = term, True
        for c in range(n_classes):
            if c == winner:
                continue
            top = k - (c < winner)
            if top < 0:
                possible = False
                break
            rest = rate * rows[first + c]
            while upto[c] < top:
                upto[c] += 1
                if upto[c] == 0:
                    terms[c], others[c] = 1.0, 1.0
                else:
                    terms[c] *= rest / upto[c]
                    others[c] += terms[c]
            value += math.log(others[c])
        if possible and k > 0:
            total = _add_logs(total, value)
    return total


@compiled
def _log_ratio(evidence, rows, leaf, n_classes):  # type: ignore[no-untyped-def]
    """Return the log of the sum over multiples of one vector of the product of mean**count / count!."""
    vectors, v, first = evidence.outputs.vectors, evidence.outputs.first[leaf], leaf * n_classes
    slope, most = 0.0, 0
    for c in range(n_classes):
        most = max(most, vectors[v, c])
        if vectors[v, c]:
            slope += vectors[v, c] * math.log(evidence.rate * max(rows[first + c], FLOOR))
    total, before = -np.inf, -np.inf
    for m in range(1, (len(evidence.log_factorial) - 1) // most + 1):
        term = m * slope
        for c in range(n_classes):
            term -= evidence.log_factorial[m * vectors[v, c]]
        total = _add_logs(total, term)
        if term < before and term < total - 20.0:
            break
        before = term
    return total


@compiled
def _log_listed(evidence, rows, leaf, n_classes, mean):  # type: ignore[no-untyped-def]
    """Return the log of the sum over listed vectors of the product of mean**count / count!."""
    vectors, first = evidence.outputs.vectors, leaf * n_classes
    total, most = -np.inf, mean + 8.0 * math.sqrt(mean) + 40.0
    for v in range(evidence.outputs.first[leaf], evidence.outputs.last[leaf]):
        term, size = 0.0, 0
        for c in range(n_classes):
            if vectors[v, c]:
                term += vectors[v, c] * math.log(evidence.rate * max(rows[first + c], FLOOR))
                term -= evidence.log_factorial[vectors[v, c]]
                size += vectors[v, c]
        if size > most and total > -np.inf:
            break
        total = _add_logs(total, term)
    return total


@compiled
def _log_counted(evidence, rows, leaf, n_classes):  # type: ignore[no-untyped-def]
    """Return the log of the product of mean**count / count!, given how many different rows were drawn.

    The draws of each class then hit d_c of its s_c rows, in S(count, d_c) * s_c! / (s_c - d_c)! ways, where S are
    Stirling numbers of the second kind; the sum is over how the d different rows may be shared out among the classes.
    Each row that is lacking makes that less likely by the factor `FLOOR`.
    """
    outputs, first = evidence.outputs, leaf * n_classes
    v, distinct = outputs.first[leaf], outputs.distinct[leaf]
    total, drawn = 0.0, 0
    for c in range(n_classes):
        count = outputs.vectors[v, c]
        total += count * math.log(evidence.rate) - evidence.log_factorial[count]
        drawn += count > 0
        if count and not distinct:
            total += (count - 1) * math.log(max(rows[first + c], 1.0)) + math.log(max(rows[first + c], FLOOR))
    if not distinct:
        return total
    before, ways, own = np.full((3, distinct + 1), -np.inf)  # of the classes so far, with one more, of that one
    before[0], reach, left = 0.0, 0, drawn
    for c in range(n_classes):
        count = outputs.vectors[v, c]
        if not count:
            continue
        left -= 1
        most, held = min(count, distinct - drawn + 1), 0.0
        for d in range(1, most + 1):
            held += math.log(max(rows[first + c] - d + 1.0, FLOOR))
            own[d] = held + evidence.log_stirling[count, d] if drawn > 1 else held
        for d in range(distinct * (left == 0), distinct + 1):
            low, high, best = max(1, d - reach), min(most, d), -np.inf
            for i in range(low, high + 1):
                best = max(best, before[d - i] + own[i])
            ways[d] = best
            if best > -np.inf:
                share = 0.0
                for i in range(low, high + 1):
                    share += math.exp(before[d - i] + own[i] - best)
                ways[d] += math.log(share)
        before, ways, reach = ways, before, min(distinct, reach + most)
    return total + before[distinct]


@compiled
def drawn_score(evidence, rows, leaf, n_classes):  # type: ignore[no-untyped-def]
    """Return the log-probability of what a leaf says, of rows that need not be whole, but for an additive constant.

    The draws of class c are Poisson with mean ``rate * rows[c]``; the log-probability of no draws at all, which adds up
    to the same for all datasets of as many rows, is part of it.
    """
    outputs, rate = evidence.outputs, evidence.rate
    first, kind = leaf * n_classes, outputs.kind[leaf]
    nothing = 0.0
    for c in range(n_classes):
        nothing += rate * rows[first + c]
    if kind == PURE:
        mean = rate * max(rows[first + outputs.winner[leaf]], FLOOR)
        return mean + math.log(-math.expm1(-mean)) - nothing
    if kind == LABEL:
        won = _log_label(outputs.winner[leaf], rate, rows, first, n_classes)
        if evidence.mixed < 1.0:
            mean = rate * max(rows[first + outputs.winner[leaf]], FLOOR)
            pure = mean + math.log(-math.expm1(-mean))
            won = _add_logs(pure + math.log1p(-evidence.mixed), won + math.log(evidence.mixed))
        return won - nothing
    if kind == RATIO:
        return _log_ratio(evidence, rows, leaf, n_classes) - nothing
    if kind == COUNTED:
        return _log_counted(evidence, rows, leaf, n_classes) - nothing
    return _log_listed(evidence, rows, leaf, n_classes, nothing) - nothing


@compiled
def exact_score(evidence, rows, leaf, n_classes):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Return minus the penalty of the rows that are too many or too few for what a leaf says of each row."""
    outputs = evidence.outputs
    first, kind = leaf * n_classes, outputs.kind[leaf]
    winner, vectors = outputs.winner[leaf], outputs.vectors
    away = 0.0
    if kind == PURE:
        for c in range(n_classes):
            away += max(0.0, 1.0 - rows[first + c]) if c == winner else rows[first + c]
        return -evidence.penalty * away
    if kind == LABEL:
        won = rows[first + winner]
        for c in range(n_classes):
            if c != winner:
                away = max(away, rows[first + c] + (c < winner) - won)
        return -evidence.penalty * max(away, 1.0 - won)
    if kind == RATIO:
        v, size, total = outputs.first[leaf], 0.0, 0.0
        for c in range(n_classes):
            size += vectors[v, c]
            total += rows[first + c]
        # The nearest multiple lies between the smallest and the largest that any class asks for.
        low, high = np.inf, 0.0
        for c in range(n_classes):
            if vectors[v, c]:
                low = min(low, math.floor(rows[first + c] / vectors[v, c]))
                high = max(high, math.ceil(rows[first + c] / vectors[v, c]))
        best = np.inf
        for m in range(max(1, int(low)), max(1, int(high)) + 1):
            away = 0.0
            for c in range(n_classes):
                away += abs(rows[first + c] - m * vectors[v, c])
            best = min(best, away)
        return -evidence.penalty * best
    best = np.inf
    for v in range(outputs.first[leaf], outputs.last[leaf]):
        away = 0.0
        for c in range(n_classes):
            away += abs(rows[first + c] - vectors[v, c])
        best = min(best, away)
    return -evidence.penalty * best


@compiled
def score_outputs(evidence, rows, leaf, n_kinds):  # type: ignore[no-untyped-def]
    """Return what a leaf adds to the log-likelihood."""
    if evidence.rate > 0.0:
        return drawn_score(evidence, rows, leaf, n_kinds)
    return exact_score(evidence, rows, leaf, n_kinds)


@scored_by(score_outputs, exact=True)
@redacted
class OutputEvidence(NamedTuple):
    """What the leaves say, and how draws come from rows."""

    outputs: LeafOutputs
    rate: float
    """Draws for each row; 0 where each row is seen once."""
    penalty: float
    """`PENALTY`."""
    log_factorial: FloatArray
    """Of 0, 1, 2 and so on."""
    log_stirling: FloatArray
    """Shape (n + 1, n + 1). ``log S(n, d)``, up to the most draws at a leaf of several classes and different rows."""
    mixed: float
    """Of leaves that answer labels: the weight of draws of several classes beside draws of one. 1 where nothing is
    known; `MIXED` where trees were grown until no leaf could be parted.
    """

    @property
    def exact(self) -> bool:
        """Whether each row is seen once."""
        return self.rate == 0.0

    @property
    def counts_told(self) -> bool:
        """Whether each leaf says its draws of each class."""
        return bool((self.outputs.kind == COUNTED).all())

    @property
    def alike(self) -> IntArray:
        """Leaves that say the same have the same number."""
        return self.outputs.said

    def lacking(self, rows: FloatArray) -> int:
        """Return how many leaves and classes lack a row for a draw; without bootstrap, by how many rows leaves misfit.

        0 for the right rows.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_leaves, n_classes)
        """
        outputs = self.outputs
        if self.rate == 0.0:
            return round(-float(total_score(self, rows.ravel(), rows.shape[1])) / self.penalty)
        without = (outputs.winner >= 0) & (rows[np.arange(len(rows)), outputs.winner] == 0)
        lacks = int(without[(outputs.kind == PURE) | (outputs.kind == LABEL)].sum())
        for leaf in np.flatnonzero(np.isin(outputs.kind, (RATIO, LISTED))):
            vectors = outputs.vectors[outputs.first[leaf] : outputs.last[leaf]]
            lacks += int(((vectors > 0) & (rows[leaf] == 0)).sum(axis=1).min())
        counted = outputs.kind == COUNTED
        said = outputs.vectors[outputs.first[counted]]
        return lacks + rows_lacking(said, outputs.distinct[counted], rows[counted])


def rows_drawn(forest: Forest, n_rows: int) -> int:
    """Return how many rows were drawn for each tree, by the file or by its parameters."""
    given = forest.draws.per_tree or forest.parameters.get("max_samples")
    if isinstance(given, float):
        return max(1, round(n_rows * given))
    return given if isinstance(given, int) else n_rows


@evidence_of.register(Answers)
@evidence_of.register(NodeCounts)
def _(
    observation: Observation, forest: Forest, domain: Domain, n_rows: int, most_rows: int | None = None
) -> OutputEvidence:
    """Return what leaves answer, or the counts of draws that nobody knows.

    Raises
    ------
    NotCoveredError
        Where rows were drawn without replacement or weighted, and there are no counts, or with unequal chances.
    """
    if isinstance(forest.observation, Answers) and forest.draws.rows == "without replacement":
        raise NotCoveredError("nobody knows its draws, and rows were drawn without replacement: not covered yet")
    if forest.draws.uneven or (isinstance(forest.observation, Answers) and forest.draws.class_weight is not None):
        raise NotCoveredError("nobody knows its draws, and its rows were weighted: not covered yet")
    most_rows = n_rows if most_rows is None else most_rows
    most, rate = most_rows, 0.0
    if forest.draws.drawn:
        rate = rows_drawn(forest, n_rows) / n_rows
        most = rows_drawn(forest, most_rows)
    mixed = MIXED if grown_to_the_end(forest) else 1.0
    outputs = leaf_outputs(forest, most)
    shared = outputs.vectors[outputs.first[outputs.distinct > 0]]
    most_shared = int(shared[(shared > 0).sum(axis=1) > 1].max(initial=0))
    log_factorial = gammaln(np.arange(1.0, most + 2.0))
    return OutputEvidence(outputs, rate, PENALTY, log_factorial, log_stirling(most_shared), mixed)
