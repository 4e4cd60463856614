"""Compiled moves from one dataset that explains a file to another, by changing blocks of rows.

The rows of a block move by heat bath at a temperature, all other rows as they are
(`pytest_draft.attack.numeric.anneal`); where every observation holds again in the end, the block stays, else it goes
back. Each step draws a row at random and its attributes in random order. So the whole is reversible with respect to the
prior times what the temperature allows and, restricted to the datasets that explain everything, with respect to the
prior (Metropolis).
"""

from __future__ import annotations

import numpy as np

from pytest_draft.attack.numeric.anneal import exchange, sweep, uniform
from pytest_draft.attack.numeric.dataset import compiled, put, take, with_prior
from pytest_draft.attack.numeric.energy import missed

MOVED = 2
"""The answer for a block some row of which has changed."""


@compiled
def _latent_class(random, log_share, log_prior, start, row):  # type: ignore[no-untyped-def]
    """Draw the latent class of a row, given its states."""
    n_classes = len(log_share)
    if n_classes == 1:
        return 0
    log = np.empty(n_classes)
    for z in range(n_classes):
        log[z] = log_share[z]
        for a in range(len(row)):
            log[z] += log_prior[z, start[a] + row[a]]
    top = log.max()
    total = 0.0
    for z in range(n_classes):
        log[z] = np.exp(log[z] - top)
        total += log[z]
    left = uniform(random) * total
    for z in range(n_classes):
        left -= log[z]
        if left < 0:
            return z
    return n_classes - 1


@compiled
def excursions(  # type: ignore[no-untyped-def]  # noqa: PLR0912
    nodes, attributes, copula, data, times, fixed, blocks, n_steps, temperature, penalty, ordered, log_share,
    log_prior, fold, stop,
):  # fmt: skip
    """Let blocks of rows move, one after the other.

    Parameters
    ----------
    nodes : NodeArrays
    attributes : Attributes
        Their prior is not used.
    copula : Copula
        Of strength 0.
    data : Dataset
        Explains everything; changed in place.
    times : ndarray of int32, shape (n_trees, n_rows)
    fixed : ndarray of bool, shape (n_rows, n_attributes)
    blocks : ndarray of int64, shape (n_blocks, block_size)
        Rows of one label each, where labels matter.
    n_steps : int
        Rows that are drawn anew in a block.
    temperature : float
    penalty : float
        Of a split that the rows contradict.
    ordered : bool
        Whether rows are also exchanged.
    log_share, log_prior, fold
        As in `Population`.
    stop : ndarray of uint8, shape (1,)
        Looked at before each draw. Where it is raised, the block that moves is left where it is, if everything holds
        there, and no other one moves.

    Returns
    -------
    ndarray of int64, shape (n_blocks,)
        0 where a block went back, 1 where it stays as it was, 2 where some row of it has changed.
    """
    n_blocks, size = blocks.shape
    result = np.zeros(n_blocks, np.int64)
    before = np.empty((size, data.state.shape[1]), np.int32)
    one, pair = np.empty(1, np.int64), np.empty((1, 2), np.int64)
    for b in range(n_blocks):
        if stop[0] != 0:
            break
        for i in range(size):
            before[i] = data.state[blocks[b, i]]
        for _ in range(n_steps):
            if stop[0] != 0:
                break
            k = blocks[b, int(uniform(data.random) * size)]
            if ordered and size > 1 and uniform(data.random) < 0.25:
                pair[0, 0], pair[0, 1] = k, blocks[b, int(uniform(data.random) * size)]
                if data.label[pair[0, 0]] == data.label[pair[0, 1]]:
                    exchange(nodes, attributes, data, times, fixed, pair, temperature, penalty, stop)
                continue
            f = fold[k]
            z = _latent_class(data.random, log_share[f], log_prior[f], attributes.start, data.state[k])
            by_class = with_prior(attributes, log_prior[f, z])
            one[0] = k
            sweep(nodes, by_class, copula, data, times, True, fixed, one, temperature, penalty, stop)
        changed = False
        for i in range(size):
            for a in range(before.shape[1]):
                if before[i, a] != data.state[blocks[b, i], a]:
                    changed = True
        if not changed:
            result[b] = 1
            continue
        counts, splits = missed(nodes, attributes, data)
        if counts + splits == 0:
            result[b] = MOVED
            continue
        for i in range(size):
            k = blocks[b, i]
            same = True
            for a in range(before.shape[1]):
                if before[i, a] != data.state[k, a]:
                    same = False
            if not same:
                take(nodes, attributes, data, times, k)
                data.state[k] = before[i]
                put(nodes, attributes, data, times, k)
    return result
