"""Whole numbers of rows that satisfy equations to their tolerance, where most of them are known already."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.attack.boosted.equations import Equations
from pytest_draft.attack.boosted.least_squares import Solved
from pytest_draft.attack.search import Search

_MOST_OPEN = 400
"""Numbers that are looked for at once."""

_SECONDS = 10.0
"""Most seconds of one search: it is ended by the clock alone."""

_SCALED_SLACK = 1e-3
"""What all tolerances become for the solver."""

_LEAST_TOLERANCE = 1e-7
"""Of scaled equations; the solver is no more exact. What it finds is checked."""


_MOST_COMPARED = 1_200
"""Kinds whose columns are compared with each other, at most."""

_LEVEL = 1e-13
"""A kind could as well have rows whose slope is above minus this share of the observed: that is rounding."""

_ENTRY = 1e-3
"""A kind has a part in a direction where its share is above this."""


def loose_kinds(equations: Equations, solved: Solved, limits: tuple[float, ...]) -> Iterator[BoolArray]:
    """Yield the kinds whose numbers can change together with next to no change in any equation, more and more of them.

    Least squares cannot tell such numbers apart: the equations hold to some digits only.

    Parameters
    ----------
    equations : Equations
        Scaled.
    limits : tuple of float
        Singular values, as shares of the largest, below which a direction counts, ascending.

    Yields
    ------
    ndarray of bool, shape (n_kinds,)
    """
    length = np.sqrt(np.asarray(equations.matrix.power(2).sum(axis=0)).ravel())
    slope = (equations.matrix.T @ solved.residual) / np.maximum(length, _LEAST_TOLERANCE)
    rank = np.where(solved.weight > 0, np.inf, slope)
    near = np.argsort(-rank, kind="stable")[:_MOST_COMPARED]
    near = near[(rank[near] == np.inf) | (slope[near] > -_LEVEL * np.linalg.norm(equations.total))]
    triangle = linalg.qr(equations.matrix[:, near].toarray(), mode="r")[0][: len(near)]
    _, size, directions = linalg.svd(triangle)
    size = np.append(size, np.zeros(len(directions) - len(size)))
    n_flat = [int((size < limit * size[0]).sum()) for limit in limits]
    for number in sorted(set(n_flat)):  # the same directions are no other question
        flat = directions[len(directions) - number :]
        found = np.zeros(len(slope), dtype=bool)
        found[near] = (np.abs(flat) > _ENTRY).any(axis=0)
        yield found


def completed(equations: Equations, number: IntArray, open_kinds: BoolArray, search: Search) -> IntArray | None:
    """Return numbers of rows that satisfy the equations, those of the other kinds as they are.

    Parameters
    ----------
    equations : Equations
        Scaled.
    number : ndarray of int64, shape (n_kinds,)
    open_kinds : ndarray of bool, shape (n_kinds,)
        Whose numbers are looked for.

    Returns
    -------
    ndarray of int64, shape (n_kinds,), or None
        None where there are none, or none were found in time.
    """
    places, timebox = np.flatnonzero(open_kinds), search.timebox
    if not 0 < len(places) <= _MOST_OPEN or timebox.over:
        return None
    left = equations.without(np.where(open_kinds, 0, number).astype(np.float64))
    matrix = left.matrix[:, places].tocsr()
    rows = np.flatnonzero(np.diff(matrix.indptr))
    slack = np.maximum(left.tolerance[rows], _LEAST_TOLERANCE)
    scale = sparse.diags_array(_SCALED_SLACK / slack)  # far above what the solver takes for 0
    middle = scale @ left.total[rows]
    within = LinearConstraint((scale @ matrix[rows]).tocsr(), middle - _SCALED_SLACK, middle + _SCALED_SLACK)
    found = milp(
        np.zeros(len(places)),
        integrality=np.ones(len(places)),
        bounds=Bounds(0, np.inf),
        constraints=within,
        options={"time_limit": min(_SECONDS, max(timebox.remaining, 0.1))},
    )
    if found.x is None:
        return None
    whole = np.where(open_kinds, 0, number)
    whole[places] = np.rint(found.x).astype(np.int64)
    result: IntArray = whole.astype(np.int64)
    return result
