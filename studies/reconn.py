"""The reconstruction network of an informed adversary: in go a noisy forest and other people's rows, out come rows.

Balle, Cherubin and Hayes ("Reconstructing training data with informed adversaries", IEEE S&P 2022) train a network on
shadow models to tell the missing row from a model's parameters; DRAFT-DP (SaTML 2026, appendix G) adapts it to private
forests. It is here to be compared with, runs on the CPU, and needs PyTorch (``pip install 'pytest-draft[reconn]'``).

A shadow forest has the structure of the attacked one and N rows of others, one of them its unknown row. What the
network sees are its noisy counts less those of the N - 1 known rows, clipped at 0. As the authors add ``int(Y)`` to
each count, the known rows cancel: what is left is the unknown row alone with its noise, so no forest is grown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import KnownRows
from studies.optional import optional

Rows = NDArray[np.float32]

HIDDEN = (1024, 512, 256)
"""Widths of the layers between; these and the following are those of DRAFT-DP, appendix G."""

N_PAIRS = 1_600
"""Shadow forests that the network is trained on."""

BATCH, EPOCHS = 32, 5
"""Pairs of a step, and how often each pair is seen."""

LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-4
"""Of the optimizer, AdamW."""


def pytorch() -> Any:
    """Return the module ``torch``.

    Raises
    ------
    MissingPackageError
        Without PyTorch.
    """
    return optional("torch", "the reconstruction network needs PyTorch", "reconn")


def shadow_pairs(
    forest: Forest, rows: Rows, labels: IntArray, n_rows: int, seed: int, n_pairs: int = N_PAIRS
) -> tuple[Rows, Rows]:
    """Return what the network is trained on: serialized shadow forests, and the unknown row of each.

    Parameters
    ----------
    forest : Forest
        The attacked one, its counts released as ``n + int(Y)``; it gives the structure and the noise.
    rows : ndarray of float32, shape (n_auxiliary, n_columns)
        Of the same distribution as the training rows, none of which is among them.
    labels : ndarray of int64, shape (n_auxiliary,)
    n_rows : int
        N; at most `n_auxiliary`.
    seed : int
        Pair ``i`` is drawn with ``seed + i``, as the authors do; pair 0 has the noise of the forest of that seed.

    Returns
    -------
    inputs : ndarray of float32, shape (n_pairs, n_trees * n_leaves * n_classes)
    targets : ndarray of float32, shape (n_pairs, n_columns)
    """
    noise = _noise(forest)
    targets = np.empty(n_pairs, dtype=np.int64)
    shape = (forest.n_trees, len(forest.trees[0].leaves), forest.n_classes)
    inputs = np.empty((n_pairs, *shape))
    for i in range(n_pairs):
        targets[i] = np.random.RandomState(seed + i).choice(len(rows), n_rows, replace=False)[-1]
        drawn = np.random.RandomState(seed + i).laplace(scale=noise, size=int(np.prod(shape)))
        inputs[i] = np.trunc(drawn[::-1].reshape(shape))
    columns = np.ascontiguousarray(rows[targets].T)
    for t, tree in enumerate(forest.trees):
        inputs[np.arange(n_pairs), t, leaf_positions(tree, columns), labels[targets]] += 1
    return np.maximum(inputs, 0.0).reshape(n_pairs, -1).astype(np.float32), rows[targets]


def serialized(forest: Forest, everyone: KnownRows, unknown: IntArray) -> Rows:
    """Return what the network sees of each unknown row, shape (n_unknown, n_trees * n_leaves * n_classes).

    Parameters
    ----------
    everyone : KnownRows
        All training rows.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the unknown rows among them.
    """
    once = np.ones(len(everyone.rows), dtype=np.int64)
    columns, labels = np.ascontiguousarray(everyone.rows[unknown].T), everyone.labels[unknown]
    left = []
    for t, tree in enumerate(forest.trees):
        rest = np.tile(forest.released(t) - everyone.at_leaves(tree, once, forest.n_classes), (len(unknown), 1, 1))
        rest[np.arange(len(unknown)), leaf_positions(tree, columns), labels] += 1  # the row is not among the known
        left.append(np.maximum(rest, 0).reshape(len(unknown), -1))
    return np.concatenate(left, axis=1).astype(np.float32)


def train(inputs: Rows, targets: Rows, seed: int) -> Any:
    """Return the trained network, a ``torch.nn.Module`` that gives logits.

    Parameters
    ----------
    inputs : ndarray of float32, shape (n_pairs, n_inputs)
    targets : ndarray of float32, shape (n_pairs, n_columns)
        Zeros and ones.
    seed : int
        Of the first weights and of the batches.

    Raises
    ------
    MissingPackageError
        Without PyTorch.
    """
    torch = pytorch()
    torch.manual_seed(seed)
    layers: list[Any] = []
    width = inputs.shape[1]
    for size in HIDDEN:
        layers += [torch.nn.Linear(width, size), torch.nn.ReLU(), torch.nn.LayerNorm(size)]
        width = size
    network = torch.nn.Sequential(*layers, torch.nn.Linear(width, targets.shape[1]))
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    criterion = torch.nn.BCEWithLogitsLoss()
    seen, wanted = torch.from_numpy(inputs), torch.from_numpy(targets)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(seen)).split(BATCH):
            optimizer.zero_grad()
            criterion(network(seen[batch]), wanted[batch]).backward()
            optimizer.step()
    return network


def rebuilt(network: Any, inputs: Rows) -> Rows:
    """Return the rows that a network rebuilds, each column by itself.

    Parameters
    ----------
    network : torch.nn.Module
    inputs : ndarray of float32, shape (n_unknown, n_inputs)

    Returns
    -------
    ndarray of float32, shape (n_unknown, n_columns)
        Zeros and ones; one-hot groups can be broken.
    """
    torch = pytorch()
    with torch.no_grad():
        logits: Rows = network(torch.from_numpy(inputs)).numpy()
    return (logits >= 0).astype(np.float32)


def _noise(forest: Forest) -> float:
    """Return the scale of the noise on each count of a forest."""
    privacy = forest.observation.privacy
    if privacy is None or privacy.mechanism != "laplace" or privacy.rounding != "noise":
        raise ValueError("shadow forests are made for counts that are released as n + int(Laplace)")
    return privacy.scale
