"""The relaxed problem: in go equations, groups and a prior, out comes a fractional dataset that fits them.

Multiplicative updates (design: ``h <- h * (A'(n / A h) / A'1)^gamma``, renormalised per group) with momentum in
the logarithm, over an active set that drops what has become negligible. From a prior, they stay as close to
it as the observations allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.system import System
from pytest_draft.timebox import TimeBox

_EXPONENT = 1.5
_MOMENTUM = 0.8
_NEGLIGIBLE = 0.02
_WARM_UP = 5
_LEAST = 1e-9
_TINY = 1e-200
_FASTEST = 10.0


@dataclass(frozen=True, eq=False, repr=False)
class Relaxed:
    """A fractional dataset over the active columns.

    Attributes
    ----------
    columns : ndarray of int64, shape (n_active,)
        Columns of the system that are still active.
    mass : ndarray of float64, shape (n_active,)
        Expected rows of each.
    residual : float
        Sum of absolute differences between the observed and the expected counts.
    """

    columns: IntArray
    mass: FloatArray
    residual: float


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
    system : System
    prior : ndarray of float64, shape (n_candidates,)
        Positive; only its proportions within a group matter.
    group : ndarray of int64, shape (n_candidates,)
    size : ndarray of int64, shape (n_groups,)
        Rows to place per group; 0 for groups without columns.
    every : int
        Updates between two results.
    prune : bool
        Whether columns below `_NEGLIGIBLE` of their group's largest are dropped, for groups of one row. A
        heuristic: the right column may be among them.
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
        scale = size / np.maximum(np.bincount(group, mass, minlength=n_groups), _TINY)
        result: FloatArray = mass * scale[group]
        return result

    mass = before = normalised(prior)
    step = 0
    while True:
        for _ in range(every):
            step += 1
            ahead = mass
            if step > _WARM_UP:
                ahead = normalised(mass * np.minimum(mass / np.maximum(before, _TINY), _FASTEST) ** _MOMENTUM)
            ratio = observed / np.maximum(matrix @ ahead, _LEAST)
            before = mass
            mass = normalised(ahead * (matrix.T @ ratio / total) ** _EXPONENT)
            if timebox.over:
                break
        if prune:
            largest = np.zeros(n_groups)
            np.maximum.at(largest, group, mass)
            keep = ~single | (mass > _NEGLIGIBLE * largest[group])
            if keep.mean() < 0.9:
                columns, matrix, total = columns[keep], matrix[:, keep], total[keep]
                group, single, before = group[keep], single[keep], before[keep]
                mass = normalised(mass[keep])
        yield Relaxed(columns, mass, float(np.abs(matrix @ mass - observed).sum()))
