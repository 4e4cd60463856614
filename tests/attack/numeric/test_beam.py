"""Rows placed by a beam over trees, against all places that a row can have, listed one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from pytest_draft.artifact import occurrences
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.numeric.beam import (
    MOST_STATES,
    Marginals,
    Messages,
    _kept,
    all_values,
    believe,
    evidence,
    leaves_of,
    tabulate,
)
from pytest_draft.attack.numeric.beliefs import Beliefs
from pytest_draft.attack.numeric.problem import build_numeric
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox
from studies.numeric_agreement import filled, generated

pytestmark = pytest.mark.nightly

GO_ON, STOP = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)
CLIP = 8.0
UNLIMITED = (200_000, CLIP, 600.0, 0.5, 1.0)
MOST_VECTORS = 3_000
N_PROBLEMS = 12
N_COMPONENTS = 2


@cache
def instances(number=N_PROBLEMS, most_vectors=MOST_VECTORS):
    """Return so many generated problems that have few possible rows; not while tests are collected: it compiles."""
    some, seed = [], 0
    while len(some) < number:
        instance = generated([seed, 11])
        seed += 1
        try:
            groups = group_by_occurrences(occurrences(instance.forest))
            problem = build_numeric(instance.forest, instance.domain, groups, TimeBox(60, effort=0.05))
        except NotCoveredError:
            continue
        inner = (~problem.nodes.walks.leaves).any()
        if inner and problem.states.n_states.prod(dtype=float) <= most_vectors:
            some.append(problem)
    return some


def believed(problem, seed):
    """Return leaves, random messages with their tables filled, marginals, and backgrounds."""
    random = np.random.default_rng(seed)
    leaves, size = leaves_of(problem.nodes)
    label = random.integers(problem.n_classes, size=problem.times.shape[1]).astype(np.int32)
    belief = random.random((len(label), len(leaves.node))) ** 3
    for first, last in zip(leaves.first, leaves.first[1:], strict=False):
        belief[:, first:last] /= belief[:, first:last].sum(axis=1, keepdims=True)
    messages = Messages(
        belief.astype(np.float32), label, np.zeros(size), np.zeros((len(leaves.node), problem.n_classes, 5))
    )
    background = random.choice([0.0, 0.05, 0.3], size=len(label))
    tabulate(leaves, messages, problem.times, background, 0, len(leaves.node))
    start, walks = problem.nodes.start, problem.nodes.walks
    below = np.zeros((problem.n_classes, N_COMPONENTS, start[-1] + len(walks.one_hot)))
    for c, z, (a, n) in product(range(problem.n_classes), range(N_COMPONENTS), enumerate(problem.states.n_states)):
        share = random.random(n) + 0.1
        at = start[a] + a
        below[c, z, at + 1 : at + n + 1] = np.cumsum(share / share.sum())
    parts = random.dirichlet(np.ones(N_COMPONENTS), problem.n_classes)
    return leaves, messages, Marginals(start, walks.one_hot, walks.missing, below, parts), background


def chances(problem, leaves, messages, background, k, c, leaf):
    """Return how likely a leaf's counts are with a row in it and without, over all that others may do."""
    t = int(np.searchsorted(leaves.first, leaf, side="right")) - 1
    by_class = leaves.by_class[leaf]
    wanted, distinct = leaves.count[leaf], leaves.distinct[leaf]
    chance = {(tuple([0] * problem.n_classes), 0): 1.0}
    own = c if by_class else 0
    for j, label in enumerate(messages.label):
        b, m = label if by_class else 0, int(problem.times[t, j])
        if j == k or not m or (b != own and not distinct):
            continue
        q = (1 - background[j]) * messages.belief[j, leaf] + background[j] * leaves.start[leaf, label]
        moved = {}
        for (draws, rows), p in chance.items():
            there = tuple(n + m * (i == b) for i, n in enumerate(draws)), rows + 1
            moved[there] = moved.get(there, 0.0) + p * q
            moved[draws, rows] = moved.get((draws, rows), 0.0) + p * (1 - q)
        chance = moved
    target = [n if distinct or i == own else 0 for i, n in enumerate(wanted)]

    def of(m, rows):
        left = tuple(n - m * (i == own) for i, n in enumerate(target))
        return sum(p for (draws, there), p in chance.items() if draws == left and (not distinct or there == rows))

    return of(int(problem.times[t, k]), distinct - 1), of(0, distinct)


@pytest.mark.parametrize("number", range(N_PROBLEMS))
def test_what_a_leaf_says_of_a_row_is_the_exact_ratio_over_all_that_other_rows_may_do(number):
    problem = instances()[number]
    leaves, messages, _, background = believed(problem, number)
    found, scratch = np.zeros(len(leaves.node)), np.empty((4, MOST_STATES + 1))

    for k, c in product(range(min(4, len(messages.label))), range(problem.n_classes)):
        evidence(leaves, messages, problem.times, k, c, background, CLIP, found, scratch)

        for t in np.flatnonzero(problem.times[:, k]):
            for leaf in range(leaves.first[t], leaves.first[t + 1]):
                is_normal = (leaves.table[leaf] == -2).any()
                if is_normal or leaves.count[leaf, c if leaves.by_class[leaf] else 0] < problem.times[t, k]:
                    continue
                exact = chances(problem, leaves, messages, background, k, c, leaf)
                if max(exact) > 1e-9:  # of what is less likely, rounding leaves no digit
                    ratio = np.clip(np.log(np.maximum(exact, 1e-300)) @ [1, -1], -CLIP, CLIP)
                    assert found[leaf] == pytest.approx(ratio, abs=1e-3)


def states_of_all(problem):
    return np.array(list(product(*map(range, problem.states.n_states))), dtype=np.int32)


def leaves_reached(problem, leaves, states):
    """Return the leaf of each row in each tree, shape (n_trees, n_rows)."""
    everywhere = replace(problem, times=np.ones((len(problem.times), len(states)), dtype=np.int32))
    return leaves.of_node[filled(everywhere, states, np.zeros(len(states), dtype=np.int64)).leaf]


@pytest.mark.parametrize("number", range(N_PROBLEMS))
def test_with_room_for_all_boxes_a_row_is_believed_as_likely_in_each_leaf_as_all_its_values_together(number):
    problem = instances()[number]
    leaves, messages, marginals, background = believed(problem, number)
    states = states_of_all(problem)
    at = leaves_reached(problem, leaves, states)
    n_rows = len(messages.label)
    changed, label = np.zeros((n_rows, len(leaves.node)), dtype=np.float32), np.zeros(n_rows, dtype=np.int32)
    drawn = np.zeros((40, n_rows, states.shape[1]), dtype=np.int32)
    unknown = all_values(np.full_like(problem.state, -1), marginals)
    rows = np.arange(n_rows)

    believe(
        problem.nodes, leaves, marginals, messages, problem.times, unknown, rows, True, UNLIMITED, 1.0, background,
        np.arange(n_rows).astype(np.uint64), changed, label, drawn, GO_ON,
    )  # fmt: skip

    found, scratch = np.zeros(len(leaves.node)), np.empty((4, MOST_STATES + 1))
    for k in rows:
        seen = np.flatnonzero(problem.times[:, k])
        evidence(leaves, messages, problem.times, k, int(messages.label[k]), background, CLIP, found, scratch)
        below, parts = marginals.below[messages.label[k]], marginals.share[messages.label[k]]
        of_component = np.repeat(parts[:, None], len(states), axis=1)
        for a, start in enumerate(marginals.start[:-1]):
            of_component *= below[:, start + a + 1 + states[:, a]] - below[:, start + a + states[:, a]]
        weight = of_component.sum(axis=0) * np.exp(found[at[seen]].sum(axis=0))
        for t in seen:
            exact = np.bincount(at[t], weight / weight.sum(), len(leaves.node))
            here = slice(leaves.first[t], leaves.first[t + 1])
            np.testing.assert_allclose(changed[k, here], exact[here], atol=1e-5)
        possible = {tuple(row) for row in states[weight > 1e-12 * weight.sum()]}
        assert {tuple(row) for row in drawn[:, k]} <= possible


def test_known_values_stay_and_a_raised_flag_changes_nothing():
    problem = instances()[0]
    leaves, messages, marginals, background = believed(problem, 0)
    n_rows = len(messages.label)
    known = np.random.default_rng(0).integers(-1, problem.states.n_states, size=problem.state.shape).astype(np.int32)
    changed, label = np.zeros((n_rows, len(leaves.node)), dtype=np.float32), np.zeros(n_rows, dtype=np.int32)
    drawn = np.full((5, *known.shape), -7, dtype=np.int32)
    args = (
        problem.nodes, leaves, marginals, messages, problem.times, all_values(known, marginals), np.arange(n_rows),
        False, (20, 8.0, 10.0, 0.5, 1.0), 0.5, background, np.arange(n_rows).astype(np.uint64), changed, label, drawn,
    )  # fmt: skip

    believe(*args, STOP)
    assert (drawn == -7).all()
    assert (changed == messages.belief).all()
    assert (label == messages.label).all()

    believe(*args, GO_ON)
    assert (drawn[:, known >= 0] == known[known >= 0]).all()
    assert (drawn >= 0).all()


@pytest.mark.parametrize("n", [3, 30, 400])
def test_boxes_are_kept_without_bias_and_the_heaviest_always(n):
    random = np.random.default_rng(n)
    weight = random.exponential(size=n) ** 4
    width, total = 25, np.zeros(n)
    for seed in range(2_000):
        chosen, kept_weight = np.zeros(width, dtype=np.int64), np.zeros(width)
        number = _kept(weight, n, width, np.array([seed], dtype=np.uint64), chosen, kept_weight)
        assert number <= width
        assert len(set(chosen[:number])) == number
        assert weight.argmax() in chosen[:number]
        total[chosen[:number]] += kept_weight[:number]

    np.testing.assert_allclose(total.sum() / 2_000, weight.sum(), rtol=0.02)
    light = weight < np.median(weight)
    np.testing.assert_allclose(total[light].sum() / 2_000, weight[light].sum(), rtol=0.25)


def told_apart():
    return next(
        problem for problem in instances(20, np.inf) if Beliefs.apply(problem, np.inf) and problem.n_unknown > 3
    )


def test_where_rows_do_not_differ_in_their_draws_or_there_is_no_time_nothing_is_believed():
    problem = told_apart()

    assert Beliefs.apply(problem, np.inf)
    assert not Beliefs.apply(replace(problem, times=np.ones_like(problem.times)), np.inf)
    assert not Beliefs.apply(problem, 0.0)
