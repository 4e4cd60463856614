"""Optimal rule lists of one test a rule: in go rows of zeros and ones with labels, out come proven `RuleList`.

For each number of rules, the list with the fewest mistakes on the training rows, under CORELS' limits (Angelino et al.,
Learning Certifiably Optimal Rule Lists, JMLR 2018): a rule captures at least so many rows where it stands.

What is left to later rules is the rows for which no test so far holds: a set that depends neither on the tests' order
nor on which tests led to it. Layer by layer, one for each number of rules, the search keeps each such set once, with
the fewest mistakes that were made before (CORELS' permutation bound, for equal sets of rows). It is known by its *dead*
tests, those that hold for none of its rows: where a test led to the set it is dead, and the rows for which no dead test
holds are the set again. So one run to the greatest number of rules finds the best list of every smaller number.

A set is given up where it cannot beat the best list known of any number of rules. With ``r`` rules to go and a default
that predicts one class, no list corrects more of the default's mistakes than rows of the other class exceed its own, in
the feature vectors in which they do: in the whole set (equivalent points), or in the ``r`` tests where that is most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.errors import DataError
from pytest_draft.timebox import TimeBox
from studies.learners.greedy_rules import greedy_tests
from studies.learners.width_one import Antecedent, BoolArray, IntArray, candidates, held, rule_list

Masks = NDArray[np.uint64]

MOST_TESTS = 64
"""Most different tests that are covered: a set of them is one machine word."""

_CHUNK = 4096  # sets that are extended between two looks at the time box
_MOST_PENDING = 4_000_000  # children that are held before equal ones are merged
_UNITS = 5e-10  # measured: one test of one feature vector of one set


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best rule list of at most some number of rules."""

    rules: RuleList
    """The first found of those with the fewest mistakes, and of these with the fewest rules; others can be as good."""
    mistakes: int
    """Training rows that it gets wrong."""
    bound: int
    """No list of so many rules makes fewer mistakes: proven."""

    @property
    def certified(self) -> bool:
        """Whether the list is proven to be optimal."""
        return self.bound == self.mistakes


class _Vectors(NamedTuple):
    """The different feature vectors."""

    holds: Masks
    """Shape (n_vectors,). The tests that hold, as bits."""
    zeros: IntArray
    ones: IntArray
    """`zeros` and `ones`, shape (n_vectors,): rows of each class."""


class _Layer(NamedTuple):
    """Sets of rows that some number of rules leaves over, each with the fewest mistakes."""

    dead: Masks
    """Shape (n_sets,). The tests that hold for none of the rows, as bits."""
    mistakes: IntArray
    """Shape (n_sets,). Of the rules so far."""
    least: IntArray
    """Shape (n_sets,). Mistakes of the rules so far, and those that no list avoids in the rows left."""
    parent: NDArray[np.int32]
    test: NDArray[np.int32]
    """`parent` and `test`, shape (n_sets,): the set before, and the test that led from there."""

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp] | slice) -> _Layer:
        return _Layer._make(part[which] for part in self)


class _Best(NamedTuple):
    """The fewest mistakes known by number of rules, and the last rule of the list: its layer, set and test.

    All have the shape (max_rules + 1,); the layer is -1 where no list was found.
    """

    mistakes: IntArray
    layer: IntArray
    state: IntArray
    test: IntArray


def learn(features: BoolArray, labels: BoolArray, max_rules: int, min_rows: int, box: TimeBox) -> tuple[Optimum, ...]:
    """Return the best rule list of at most 1, 2, ..., `max_rules` rules, the default not counted.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    min_rows : int
        Least number of rows that a rule captures where it stands.
    box : TimeBox
        Where it ends, the greedy list or a better one is returned, with a bound that may be lower than its mistakes.

    Returns
    -------
    tuple of Optimum, length max_rules

    Raises
    ------
    DataError
        Where there are more than `MOST_TESTS` different tests.
    """
    tests, vectors = _prepared(features, labels, min_rows)
    greedy = greedy_tests(features, labels, max_rules, min_rows)
    fallback = [_made(rule_list("greedy rule list", features, labels, greedy[:k])) for k in range(max_rules + 1)]
    shortest = [min(range(k + 1), key=fallback.__getitem__) for k in range(max_rules + 1)]
    # One more than the greedy list's, so that an equally good list is found, if it is shorter.
    limit = np.array([fallback[k] + 1 for k in shortest], dtype=np.int64)
    best = _Best(limit, *(np.full(max_rules + 1, -1, dtype=np.int64) for _ in range(3)))
    layers, n_done, least = _search(vectors, len(tests), max(1, min_rows), best, box)
    result = []
    for k in range(1, max_rules + 1):
        found = best.layer[k] >= 0
        chosen = _chain(layers, best, k, tests) if found else greedy[: shortest[k]]
        made = rule_list("optimal rule list", features, labels, chosen)
        mistakes = _made(made)
        result.append(Optimum(made, mistakes, mistakes if k <= n_done else min(mistakes, least)))
    return tuple(result)


def _prepared(features: BoolArray, labels: BoolArray, min_rows: int) -> tuple[tuple[Antecedent, ...], _Vectors]:
    """Return the first of all tests that hold for the same rows, and the different feature vectors."""
    tests = candidates(features, min_rows)
    holds = held(features, tests)
    _, first = np.unique(holds, axis=1, return_index=True)
    first = np.sort(first)
    if len(first) > MOST_TESTS:
        raise DataError(f"{len(first)} different tests of columns; optimal rule lists are covered up to {MOST_TESTS}")
    bits = np.uint64(1) << np.arange(len(first), dtype=np.uint64)
    masks = (holds[:, first] * bits).sum(axis=1, dtype=np.uint64)
    different, which = np.unique(masks, return_inverse=True)
    n_rows = np.bincount(which, minlength=len(different))
    ones = np.bincount(which[labels], minlength=len(different))
    return tuple(tests[index] for index in first), _Vectors(different, n_rows - ones, ones)


def _made(rules: RuleList) -> int:
    """Return how many training rows a list with counts gets wrong."""
    return sum(sum(rule.counts) - rule.counts[int(rule.prediction == 1)] for rule in rules.rules if rule.counts)


def _search(vectors: _Vectors, n_tests: int, min_rows: int, best: _Best, box: TimeBox) -> tuple[list[_Layer], int, int]:
    """Improve `best`, layer by layer.

    Returns
    -------
    layers : list of _Layer
    n_done : int
        Up to this number of rules, the best lists are optimal.
    least : int
        No list of any number of rules makes fewer mistakes, unless `best` holds it.
    """
    max_rules = len(best.mistakes) - 1
    dead = ~np.bitwise_or.reduce(vectors.holds, keepdims=True)
    unavoidable = np.minimum(vectors.zeros, vectors.ones).sum(keepdims=True)
    origin = np.full(1, -1, dtype=np.int32)
    layers = [_Layer(dead, np.zeros(1, dtype=np.int64), unavoidable, origin, origin)]
    seen = layers[0]
    for n_rules in range(max_rules):
        layer = layers[-1]
        pending = [layer.only(slice(0, 0))]
        for begin in range(0, len(layer.dead), _CHUNK):
            if box.over:
                waiting = [layer.only(slice(begin, None)), *pending]
                return layers, n_rules, int(np.concatenate([part.least for part in waiting]).min())
            chunk = layer.only(slice(begin, begin + _CHUNK))
            box.spend(_UNITS * len(chunk.dead) * len(vectors.holds) * n_tests)
            found = _children(*vectors, n_tests, min_rows, chunk.dead, chunk.mistakes, begin, n_rules, *best)
            pending.append(_Layer(*found))
            if sum(len(part.dead) for part in pending) > _MOST_PENDING:
                pending = [_merged(pending)]
        children = _merged(pending)
        place = np.searchsorted(seen.dead, children.dead).clip(max=len(seen.dead) - 1)
        children = children.only((seen.dead[place] != children.dead) | (children.mistakes < seen.mistakes[place]))
        layers.append(children)
        seen = _merged([seen, children])
    return layers, max_rules, 0


def _merged(parts: list[_Layer]) -> _Layer:
    """Return the sets of all parts, ascending, each once: where it was reached with the fewest mistakes."""
    whole = _Layer._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((whole.mistakes, whole.dead))
    first = np.ones(len(order), dtype=bool)
    first[1:] = whole.dead[order[1:]] != whole.dead[order[:-1]]
    return whole.only(order[first])


def _chain(layers: list[_Layer], best: _Best, n_rules: int, tests: tuple[Antecedent, ...]) -> tuple[Antecedent, ...]:
    """Return the tests, in order, of the best list of at most `n_rules` rules that the search found."""
    backwards = [int(best.test[n_rules])]
    state = int(best.state[n_rules])
    for layer in range(int(best.layer[n_rules]), 0, -1):
        backwards.append(int(layers[layer].test[state]))
        state = int(layers[layer].parent[state])
    return tuple(tests[index] for index in reversed(backwards))


@njit(cache=True, nogil=True)
def _children(  # noqa: PLR0912, PLR0915
    holds: Masks,
    zeros: IntArray,
    ones: IntArray,
    n_tests: int,
    min_rows: int,
    dead: Masks,
    mistakes: IntArray,
    begin: int,
    n_rules: int,
    best: IntArray,
    best_layer: IntArray,
    best_state: IntArray,
    best_test: IntArray,
) -> tuple[Masks, IntArray, IntArray, NDArray[np.int32], NDArray[np.int32]]:
    """Return the sets that one more rule leaves over and that can still improve `best`, which is updated.

    `begin` is the position of the first of the sets `dead` in their layer; the columns returned are those of `_Layer`.
    """
    one = np.uint64(1)
    most = len(best) - 1 - n_rules  # rules to go
    size = len(dead) * n_tests
    out_dead, out_mistakes = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.int64)
    out_least = np.empty(size, dtype=np.int64)
    out_parent, out_test = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    n_out = 0
    count = np.empty((2, n_tests), dtype=np.int64)  # rows of each class for which a test holds
    fixed = np.empty(n_tests, dtype=np.int64)  # mistakes among them that no list avoids
    alive = np.empty(n_tests, dtype=np.uint64)  # tests that hold for one of the other rows
    top = np.empty((2, most + 1), dtype=np.int64)  # most that 0, 1, ... rules correct, by the default's class
    for state in range(len(dead)):
        count[:], fixed[:], alive[:], top[:] = 0, 0, np.uint64(0), 0
        n_zeros = n_ones = n_fixed = 0
        for v in range(len(holds)):
            mask = holds[v]
            if mask & dead[state]:
                continue
            least = min(zeros[v], ones[v])
            n_zeros += zeros[v]
            n_ones += ones[v]
            n_fixed += least
            for test in range(n_tests):
                if mask >> np.uint64(test) & one:
                    count[0, test] += zeros[v]
                    count[1, test] += ones[v]
                    fixed[test] += least
                else:
                    alive[test] |= mask
        for test in range(n_tests):
            n_captured = count[0, test] + count[1, test]
            if n_captured < min_rows or n_captured == n_zeros + n_ones:
                continue
            for default in range(2):
                gain, place = count[1 - default, test] - fixed[test], 1
                while place <= most and top[default, place] >= gain:
                    place += 1
                for later in range(most, place, -1):
                    top[default, later] = top[default, later - 1]
                if place <= most:
                    top[default, place] = gain
            made = mistakes[state] + min(count[0, test], count[1, test])
            made += min(n_zeros - count[0, test], n_ones - count[1, test])
            for k in range(n_rules + 1, len(best)):
                if made < best[k]:
                    best[k], best_layer[k], best_state[k], best_test[k] = made, n_rules, begin + state, test
        for r in range(1, most + 1):
            top[:, r] += top[:, r - 1]
        for test in range(n_tests):
            n_captured = count[0, test] + count[1, test]
            if n_captured < min_rows or n_captured == n_zeros + n_ones:
                continue
            made = mistakes[state] + min(count[0, test], count[1, test])
            wrong_by_zero, wrong_by_one = n_ones - count[1, test], n_zeros - count[0, test]
            left_fixed = n_fixed - fixed[test]
            for r in range(1, most):
                by_zero = max(left_fixed, wrong_by_zero - top[0, r])
                by_one = max(left_fixed, wrong_by_one - top[1, r])
                if made + min(by_zero, by_one) < best[n_rules + 1 + r]:
                    out_dead[n_out] = ~alive[test]
                    out_mistakes[n_out], out_least[n_out] = made, made + left_fixed
                    out_parent[n_out], out_test[n_out] = begin + state, test
                    n_out += 1
                    break
    return out_dead[:n_out], out_mistakes[:n_out], out_least[:n_out], out_parent[:n_out], out_test[:n_out]
