"""What rows usually look like, learnt from the dataset that is being rebuilt: in go states, out comes a prior.

Nobody tells the attacker how columns go together; the rows rebuilt so far do, the better they fit the file. A Gaussian
copula with class means: each attribute's states get a normal score by how common they are, and each score is expected
where a linear regression on the row's other scores puts it (a copula helped in the measurements of ``numeric.md``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array
from pytest_draft.attack.numeric.dataset import Copula, Dataset
from pytest_draft.attack.numeric.energy import NodeArrays

SHRINKAGE = 0.2
"""Share of the correlation matrix that is taken from the identity."""

EVERY = 10
"""A prior is learnt again after this many sweeps."""

_PSEUDO = 0.3
"""How many rows the base counts as, for each row of the dataset, beside the states that it has."""

_SMOOTHED = 10
"""What is learnt of a numeric attribute's states is averaged over one part in so many of them."""

_UNSEEN = 2.0
"""How many rows in the middle of an attribute a class's mean counts besides its own: small classes stay near it."""


@dataclass(frozen=True, repr=False)
class Prior:
    """How a prior is learnt."""

    strength: float
    """The power that what is learnt is raised to; with 0 only `base` holds."""
    base: tuple[FloatArray, ...]
    """By attribute: the probability of each state before anything is learnt."""
    smooth: tuple[bool, ...]
    """By attribute: whether neighbouring states are about as likely, in proportion to `base`."""

    def learn(self, nodes: NodeArrays, data: Dataset) -> Copula:
        """Return what the rows of a dataset suggest."""
        n_rows, n_attributes = data.state.shape
        log_prior, score, one_hot = *np.empty((2, nodes.start[-1])), nodes.walks.one_hot
        scores = np.zeros((n_rows, n_attributes))
        for a, base in enumerate(self.base):
            here = slice(nodes.start[a], nodes.start[a + 1])
            share = np.bincount(data.state[:, a], minlength=len(base)) + _PSEUDO * n_rows * base
            if self.smooth[a]:
                share = smoothed(share, base)
            share = share / share.sum()
            score[here] = norm.ppf(np.clip(np.cumsum(share) - share / 2, 1e-6, 1 - 1e-6))
            learnt = np.log(np.maximum(share, 1e-12) / base)
            if not one_hot[a]:
                learnt += score[here] ** 2 / 2
                scores[:, a] = score[here][data.state[:, a]]
            log_prior[here] = np.log(base) + self.strength * learnt
        return Copula(log_prior, score, self.strength, *_regressions(scores, data.label, nodes.count.shape[1], one_hot))

    def nothing(self, n_classes: int) -> Copula:
        """Return what holds before anything is learnt."""
        log_prior, n_attributes = np.log(np.concatenate(self.base)), len(self.base)
        flat, none = np.zeros((n_classes, n_attributes)), np.zeros((n_attributes, n_attributes))
        return Copula(log_prior, np.zeros(len(log_prior)), 0.0, flat, none, np.ones(n_attributes))


def _regressions(
    scores: FloatArray, label: Int32Array, n_classes: int, one_hot: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `mean`, `slope` and `deviation` of a `Copula` that are learnt from rows' scores."""
    n_rows, n_attributes = scores.shape
    members = np.bincount(label, minlength=n_classes)
    mean = np.zeros((n_classes, n_attributes))
    np.add.at(mean, label, scores)
    mean /= members[:, None] + _UNSEEN
    away = scores - mean[label]
    covariance = (1 - SHRINKAGE) * (away.T @ away) / n_rows + SHRINKAGE * np.eye(n_attributes)
    precision = np.linalg.inv(covariance)
    slope = -precision / np.diag(precision)[:, None]
    np.fill_diagonal(slope, 0.0)
    slope[one_hot], slope[:, one_hot] = 0.0, 0.0
    deviation = np.where(one_hot, np.inf, 1 / np.sqrt(np.diag(precision)))
    return mean, np.ascontiguousarray(slope), deviation


def smoothed(share: FloatArray, base: FloatArray) -> FloatArray:
    """Return shares of neighbouring states that are about as likely in proportion to `base`: a moving average."""
    kernel = np.ones(max(1, len(share) // _SMOOTHED))
    averaged: FloatArray = base * np.convolve(share, kernel, "same") / np.convolve(base, kernel, "same")
    return averaged
