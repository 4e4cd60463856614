"""The relaxed problem: a fractional dataset that fits the equations, given a prior.

Multiplicative updates (``h <- h * (A'(n / A h) / A'1)^gamma``, renormalised per group) with momentum in
the logarithm, over an active set that drops what has become negligible. From a prior, they stay as close to
it as the observations allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.problem import System
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class RelaxParameters:
    """How the multiplicative updates move."""

    exponent: float = 1.5
    """Of a step; 1 would be plain iterative scaling, more is over-relaxed."""
    momentum: float = 0.8
    """Share of the last step that is taken once more beforehand."""
    negligible: float = 0.02
    """Share of its group's largest mass below which a column is dropped, where columns are."""
    warm_up: int = 5
    """First steps without momentum."""
    least: float = 1e-9
    """Expected counts are taken as at least so large before something is divided by them."""
    tiny: float = 1e-200
    """Masses and their sums are taken as at least so large before something is divided by them."""
    fastest: float = 10.0
    """Most times that a mass is taken as having grown in the last step."""


_PARAMETERS = RelaxParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Relaxed:
    """A fractional dataset over the active columns."""

    columns: IntArray
    """Shape (n_active,). Columns of the system that are still active."""
    mass: FloatArray
    """Shape (n_active,). Expected rows of each."""
    residual: float
    """Sum of absolute differences between the observed and the expected counts."""


def relax(
    system: System,
    prior: FloatArray,
    group: IntArray,
    size: IntArray,
    *,
    every: int,
    prune: bool,
    timebox: TimeBox,
) -> Iterator[Relaxed]:
    """Yield better and better fractional datasets, one after every so many updates, without end.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_candidates,)
        Positive; only its proportions within a group matter.
    group : ndarray of int64, shape (n_candidates,)
    size : ndarray of int64, shape (n_groups,)
        Rows to place per group; 0 for groups without columns.
    every : int
        Updates between two results.
    prune : bool
        Whether columns below a share (`RelaxParameters.negligible`) of their group's largest are dropped, for groups of
        one row. A heuristic: the right column may be among them.
    timebox : TimeBox
        Looked at after each update; a result is due at once when the time is out.
    """
    n_groups = len(size)
    columns = np.arange(len(group))
    matrix = system.matrix.astype(np.float64)
    observed = system.observed.astype(np.float64)
    total = np.asarray(matrix.sum(axis=0)).ravel()
    single = size[group] == 1

    def normalised(mass: FloatArray) -> FloatArray:
        scale = size / np.maximum(np.bincount(group, mass, minlength=n_groups), _PARAMETERS.tiny)
        result: FloatArray = mass * scale[group]
        return result

    mass = before = normalised(prior)
    step = 0
    while True:
        for _ in range(every):
            step += 1
            ahead = mass
            if step > _PARAMETERS.warm_up:
                ahead = normalised(
                    mass
                    * np.minimum(mass / np.maximum(before, _PARAMETERS.tiny), _PARAMETERS.fastest)
                    ** _PARAMETERS.momentum
                )
            ratio = observed / np.maximum(matrix @ ahead, _PARAMETERS.least)
            before = mass
            mass = normalised(ahead * (matrix.T @ ratio / total) ** _PARAMETERS.exponent)
            if timebox.over:
                break
        if prune:
            largest = np.zeros(n_groups)
            np.maximum.at(largest, group, mass)
            keep = ~single | (mass > _PARAMETERS.negligible * largest[group])
            if keep.mean() < 0.9:
                columns, matrix, total = columns[keep], matrix[:, keep], total[keep]
                group, single, before = group[keep], single[keep], before[keep]
                mass = normalised(mass[keep])
        yield Relaxed(columns, mass, float(np.abs(matrix @ mass - observed).sum()))
