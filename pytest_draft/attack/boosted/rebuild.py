"""The attack on boosted trees: numbers of rows that satisfy all their sums become a `Reconstruction`.

Non-negative least squares over all kinds of rows, rounded, and checked against every tree. What is not whole is solved
by integer programming, with the rest fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import Bounds as Between
from scipy.optimize import LinearConstraint, milp

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.attack.boosted.equations import Equations, Kinds, equations_of, kinds_of
from pytest_draft.attack.boosted.least_squares import Solved, sparse_nonnegative
from pytest_draft.attack.boosted.proof import Proved, prove
from pytest_draft.attack.boosted.staged import boosted, missed
from pytest_draft.attack.boosted.steps import label_equations
from pytest_draft.attack.filling import Filling
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus

_MOST_COEFFICIENTS = 30_000_000
"""Most coefficients of the equations that are solved."""

_MOST_STATEMENTS = 12_000
"""Most of the statements of trees that are solved; all are checked."""

_NEAR = 0.01
"""Numbers of rows so near to whole ones are taken for these, where the others are solved by integer programming."""

_FLAT = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""And so are those that no direction changes whose singular value is below this share of the largest."""

_PROOF_SHARE = 0.4
"""Of what is left of the time box, for the proof."""

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


def rebuild_boosted(forest: Forest, domain: Domain, n_rows: int, search: Search) -> Reconstruction:
    """Rebuild the rows that boosted trees were trained on.

    Parameters
    ----------
    forest : Forest
        Whose observation is `BoostedSums`, and whose trees all saw all rows.
    n_rows : int
        Number of rows.

    Raises
    ------
    NotCoveredError
        Where the domain cannot be enumerated.
    InfeasibleError
        Where no row can be anything.
    OutOfTimeError
    """
    timebox = search.timebox
    with search.clock("build"):
        kinds = kinds_of(forest, domain, timebox)
        n_classes = kinds.n_classes
        if not _weighs_labels(boosted(forest)):
            kinds = replace(kinds, n_classes=1)
        equations = equations_of(forest, kinds, n_rows, _trees_to_solve(forest, kinds), timebox).scaled()
    search.clock.figures.update(cells=kinds.cells.n_cells, candidates=kinds.n_kinds, groups=1)
    with search.clock("solve"):
        number, n_missed = _whole_numbers(forest, kinds, equations, n_rows, search)
    proved = None
    if not n_missed:
        with search.clock("certify"):
            proved = prove(equations, number, kinds.n_classes, timebox.part(_PROOF_SHARE))
    if boosted(forest).steps is not None and n_classes == 2:
        with search.clock("labels"):
            found = _labelled(forest, kinds, number, search)
        if found is not None:
            kinds, number = replace(kinds, n_classes=2), found
            proved = None if proved is None else proved.without_labels(2)
    return _reconstruction(forest, domain, kinds, number, n_missed, proved, search)


def _weighs_labels(said: BoostedSums) -> bool:
    """Return whether some statement depends on labels."""
    return any(own.weight[:, [1, 3]].any() for own in said.statements)


def _trees_to_solve(forest: Forest, kinds: Kinds) -> list[int]:
    """Return which trees' statements are solved: all, or as many as can be, spread over the rounds."""
    said = boosted(forest)
    of_tree = np.array(
        [
            len(own.node) + (len(tree.leaves) if said.counted else 0)
            for own, tree in zip(said.statements, forest.trees, strict=True)
        ]
    )
    depth = np.log2(np.maximum([len(tree.leaves) for tree in forest.trees], 2)) + 1
    cost = kinds.n_kinds * np.maximum(depth, 1)
    share = min(
        1.0,
        _MOST_STATEMENTS / max(of_tree.sum(), 1),
        _MOST_COEFFICIENTS / max(cost.sum(), 1),
    )
    n_trees = max(1, int(share * forest.n_trees))
    if n_trees == forest.n_trees:
        return list(range(n_trees))
    return [int(place) for place in np.unique(np.linspace(0, forest.n_trees - 1, n_trees).astype(np.int64))]


def _whole_numbers(
    forest: Forest, kinds: Kinds, equations: Equations, n_rows: int, search: Search
) -> tuple[IntArray, int]:
    """Return whole numbers of rows, and how many statements of all trees they miss.

    Raises
    ------
    OutOfTimeError
        Where nothing was found in time.
    """
    solved = sparse_nonnegative(equations.matrix, equations.total, search.timebox)
    if solved.ended and not solved.weight.any():
        raise OutOfTimeError
    best = _rounded(solved.weight, n_rows)
    least = missed_by(forest, kinds, best)
    if not least:
        return best, least
    whole = np.rint(solved.weight)
    for loose in loose_kinds(equations, solved, _FLAT):
        if not least or search.timebox.over:
            break
        open_kinds = loose | (np.abs(solved.weight - whole) > _NEAR)
        number = completed(equations, whole.astype(np.int64), open_kinds, search)
        if number is None:
            continue
        n_missed = missed_by(forest, kinds, number)
        if n_missed < least:
            best, least = number, n_missed
    return best, least


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
        bounds=Between(0, np.inf),
        constraints=within,
        options={"time_limit": min(_SECONDS, max(timebox.remaining, 0.1))},
    )
    if found.x is None:
        return None
    whole = np.where(open_kinds, 0, number)
    whole[places] = np.rint(found.x).astype(np.int64)
    result: IntArray = whole.astype(np.int64)
    return result


def _labelled(forest: Forest, kinds: Kinds, by_cell: IntArray, search: Search) -> IntArray | None:
    """Return numbers of rows by class, from those of each cell; None where no tree tells it, or not in time."""
    try:
        equations = label_equations(forest, kinds, by_cell, search.timebox).scaled()
    except OutOfTimeError:
        return None
    held = np.flatnonzero(by_cell)
    if len(equations.total) == len(held):  # no tree tells anything of labels
        return None
    solved = sparse_nonnegative(equations.matrix, equations.total, search.timebox)
    if solved.ended:
        return None
    of_one = np.clip(np.rint(solved.weight[len(held) :]), 0, by_cell[held]).astype(np.int64)
    number = np.zeros((2, kinds.cells.n_cells), dtype=np.int64)
    number[0, held], number[1, held] = by_cell[held] - of_one, of_one
    return number.ravel()


def _rounded(found: FloatArray, n_rows: int) -> IntArray:
    """Return whole numbers that add up to the number of rows, the nearest ones in proportion."""
    share = found if found.any() else np.ones_like(found)
    share = share * (n_rows / share.sum())
    number = np.floor(share)
    short = n_rows - int(number.sum())
    number[np.argsort(number - share, kind="stable")[: max(short, 0)]] += 1
    whole: IntArray = number.astype(np.int64)
    return whole


def missed_by(forest: Forest, kinds: Kinds, number: IntArray) -> int:
    """Return how many statements of all trees some numbers of rows miss, shape (n_kinds,)."""
    held = np.repeat(np.arange(kinds.n_kinds), number)
    label, cell = np.divmod(held, kinds.cells.n_cells)
    return missed(forest, np.ascontiguousarray(kinds.columns[:, cell]), label)


def _reconstruction(
    forest: Forest, domain: Domain, kinds: Kinds, number: IntArray, n_missed: int, proved: Proved | None, search: Search
) -> Reconstruction:
    """Return rows and labels of whole numbers, with open values filled in, and what is proved of them."""
    held = np.repeat(np.arange(kinds.n_kinds), number)
    label, cell = np.divmod(held, kinds.cells.n_cells)
    with search.clock("fill"):
        filling = Filling.of(domain, kinds.cells, kinds.by_cell(number).astype(np.float64))
        rows = filling.likeliest(cell)  # what no tree tests has hardly more than one value
    free = ~kinds.cells.determined[cell]
    status: SolverStatus = "not converged" if n_missed else "consistent"
    certificate = certain = None
    labelled = forest.classes is None or kinds.n_classes > 1
    if proved is not None and not labelled:  # a certificate is of cells with their classes
        proved = replace(proved, fixed=np.zeros_like(proved.fixed))
    if proved is not None:
        certificate, certain = _certificate(kinds, number, proved)
        if certificate.unique and not free.any():
            status = "unique"
    return Reconstruction(
        status=status,
        rows=rows,
        consistent=rows,
        labels=label if labelled else None,  # of which nothing is said
        cells=cell,
        free=free,
        ordered=False,
        residual=n_missed,
        cut_short=search.timebox.over,
        certificate=certificate,
        proved=None if certain is None else filling.likeliest(np.repeat(np.arange(kinds.cells.n_cells), certain)),
        provable=None if certain is None else filling.likeliest(cell[kinds.cells.n_vectors[cell] == 1]),
        seen=np.ones(len(rows), dtype=bool),
        statistics=search.clock.figures,
    )


def _certificate(kinds: Kinds, number: IntArray, proved: Proved) -> tuple[Certificate, IntArray]:
    """Return the certificate of numbers of rows, and how many vectors of each cell are certain, shape (n_cells,)."""
    n_rows, by_cell = int(number.sum()), kinds.by_cell(number)
    single = kinds.cells.n_vectors == 1
    fixed = np.where(proved.fixed, number, 0)
    of_cell = np.where(proved.fixed_cells, by_cell, kinds.by_cell(fixed))
    vectors = of_cell * single
    labelled = int(fixed.sum())
    rows = int((fixed.reshape(kinds.n_classes, -1) * single).sum())
    n_single = int((by_cell * single).sum())
    return (
        Certificate(
            n_rows=n_rows,
            certain_cells=Bounds(labelled, n_rows),
            certain_rows=Bounds(rows, n_single),
            guaranteed_overlap=Bounds(labelled, n_rows),
            certain_vectors=Bounds(int(vectors.sum()), n_single),
            guaranteed_vectors=Bounds(int(vectors.sum()), n_single),
        ),
        vectors,
    )
