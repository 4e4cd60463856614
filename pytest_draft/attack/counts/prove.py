"""What a dataset that meets all equations proves: a `Certificate` from bounds of its candidates.

Two questions. *Certain*: which rows are in every dataset that meets the equations?
*Guaranteed overlap*: how many rows does any such dataset share with this one? Rows are told apart by their kind: their
cell and class, or, as perfect rows are counted, their feature vector. Nothing here is guessed: each figure has a lower
bound that is proved and an upper bound that known datasets give; they differ where a search was skipped or cut short.

The equations fall into connected parts, and the datasets that meet them are all combinations of the parts' own. With
``H[k]`` the rows of kind ``k``, ``H*[k]`` those of the given dataset, and ``H[k, p]`` the rows in part ``p``:

- ``min H[k] = sum_p min H[k, p]``: certain rows are found part by part, exactly.
- ``min(sum_p H[k, p], sum_p H*[k, p]) >= sum_p min(H[k, p], H*[k, p])``, as each term on the right is at most its
  counterpart in either sum on the left. So the parts' least overlaps add up to a lower bound. It falls short only where
  a kind can be in several open parts; these are then asked together. Rows that all datasets hold (the lower bounds of
  propagation) are in ``H`` and ``H*`` alike: they add to both sides, and bounds are of what is beyond them.
- A kind that the given dataset does not hold in a part has no certain row there and adds nothing to the part's overlap.
  If a candidate of such a kind has the same coefficients in all equations as another candidate, then moving all rows of
  the other to it meets the equations still, and raises no count that matters: one variable does for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model
from scipy import sparse
from scipy.sparse import csgraph

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.attack.counts.exact import ExactDatasets
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.facts.certificate import Bounds, Certificate

_MOST_COMPARED = 10_000_000
"""Most coefficients of a part whose candidates are compared."""

_MOST_COLUMNS = 20_000
"""Most columns of a question. Measured: with 65,000, CP-SAT's presolve alone takes more than a question may."""

_MOST_COEFFICIENTS = 1_000_000
"""Most coefficients of a question."""

_UNITS_PER_COEFFICIENT = 2e-6
"""What one coefficient counts for in the work of making a model."""

_EFFORT = 2.0
"""Units of work for one question."""

_PATIENCE = 3
"""Undecided kinds of a part before the rest of them is left undecided."""


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """A certificate, and which feature vectors it speaks of."""

    certificate: Certificate
    least: IntArray
    most: IntArray
    """`least` and `most`, shape (n_cells,): in cells that hold a single vector: how many rows are in every consistent
    dataset at least, proved, and at most, attested; 0 in all others. What is least adds up to at least
    `Certificate.certain_vectors.lower`, what is most to its upper bound.
    """


def prove(
    problem: Problem,
    rows: IntArray,
    lower: IntArray,
    upper: IntArray,
    parts: Sequence[ExactDatasets],
    search: Search,
) -> Proof:
    """Prove what can be proved of a dataset inside the time box.

    Parameters
    ----------
    problem : Problem
        With exact noise.
    rows : ndarray of int64, shape (n_candidates,)
        A dataset that meets every equation.
    lower, upper : ndarray of int64, shape (n_candidates,)
        Proved bounds of each candidate in all datasets (`propagate`).
    parts : sequence of ExactDatasets
        All connected parts of what the bounds leave open (``lower < upper``): no equation holds open candidates of
        two parts. Other datasets of a part that are known already save the search for them.

    Raises
    ------
    ValueError
        Where the dataset misses an equation, or the parts are not a partition of the open candidates.
    """
    missed = problem.system.missed(rows)
    if missed:
        raise ValueError(f"a dataset with residual {missed} cannot be certified")
    covered = np.concatenate([np.empty(0, dtype=np.int64), *(part.columns for part in parts)])
    if not np.array_equal(np.sort(covered), np.flatnonzero(lower < upper)):
        raise ValueError("the parts must hold each open candidate once")
    single = problem.cells.n_vectors == 1
    n_cells, n_classes = problem.cells.n_cells, problem.n_classes
    datasets = _Datasets(problem.system.matrix, rows, lower, upper)
    labelled = _Ledger(datasets, problem.cell * n_classes + problem.label, n_cells * n_classes)
    vectors = _Ledger(datasets, np.where(single[problem.cell], problem.cell, -1), n_cells)
    with search.clock("certify"):
        for part in sorted(parts, key=lambda part: len(part.columns)):
            known = [other - lower[part.columns] for other in part.rows]
            found = labelled.examine(part.columns, known, part.complete, search)
            # Where no dataset holds fewer rows of any cell and class, none holds fewer of any cell.
            vectors.examine(part.columns, found.datasets, part.complete or found.same, search)
        labelled.examine_together(search)
        vectors.examine_together(search)
    certain_rows = labelled.certain(np.repeat(single, n_classes))
    least, most = vectors.each()
    least = np.maximum(least, labelled.each()[0].reshape(n_cells, n_classes).sum(axis=1) * single)
    certain_vectors = vectors.certain().at_least(certain_rows.lower)
    certificate = Certificate(
        n_rows=int(rows.sum()),
        certain_cells=labelled.certain(),
        certain_rows=certain_rows,
        guaranteed_overlap=labelled.overlap(),
        certain_vectors=certain_vectors,
        guaranteed_vectors=vectors.overlap().at_least(certain_vectors.lower),
    )
    return Proof(certificate, least, most)


@dataclass(frozen=True, eq=False, repr=False)
class _Datasets:
    """The given dataset and the bounds of all of them, over all candidates."""

    matrix: sparse.csc_array
    rows: IntArray
    lower: IntArray
    upper: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class _Examined:
    """What is known of a part when its examination (`_Part`) has ended, beyond the lower bounds of propagation."""

    columns: IntArray
    """Shape (n_columns,)."""
    kinds: IntArray
    """Shape (n_kinds,). Kinds that the given dataset holds in the part, ascending."""
    least: IntArray
    most: IntArray
    """`least` and `most`, shape (n_kinds,): bounds of the fewest rows of each kind."""
    overlap: Bounds
    """Of the least overlap, counted within the part."""
    datasets: list[IntArray]
    """Each of shape (n_columns,). The given one, then the others that were met."""
    furthest: IntArray
    """Shape (n_columns,). The one with the least overlap."""
    same: bool
    """Proved: no dataset holds fewer rows of any kind. So the given one is the best choice for the least overlap,
    whatever is chosen in other parts.
    """


class _Ledger:
    """What is proved so far of all parts together, with one way to tell rows apart (`kind`).

    Parameters
    ----------
    kind : ndarray of int64, shape (n_candidates,)
        -1 for candidates that are not counted.
    """

    def __init__(self, datasets: _Datasets, kind: IntArray, n_kinds: int) -> None:
        self._all = datasets
        self._kind = kind
        self._n_kinds = n_kinds
        self._held = self._count(datasets.rows)
        self._least = self._count(datasets.lower)
        self._most = self._held.copy()
        self._overlap = int(self._least.sum())
        self._furthest = datasets.rows.copy()
        self._several: list[_Examined] = []

    def certain(self, counted: BoolArray | slice = slice(None)) -> Bounds:
        """Return the number of certain rows, of all kinds or of some."""
        return Bounds(int(self._least[counted].sum()), int(self._most[counted].sum()))

    def each(self) -> tuple[IntArray, IntArray]:
        """Return the bounds of the certain rows of each kind, two arrays of shape (n_kinds,)."""
        return self._least.copy(), self._most.copy()

    def overlap(self) -> Bounds:
        """Return the guaranteed overlap."""
        return Bounds(self._overlap, int(np.minimum(self._count(self._furthest), self._held).sum()))

    def examine(self, columns: IntArray, known: Sequence[IntArray], complete: bool, search: Search) -> _Examined:
        """Prove what can be proved of one part.

        Parameters
        ----------
        columns : ndarray of int64, shape (n_columns,)
        known : sequence of ndarray of int64, shape (n_columns,)
            Datasets of the part, without the lower bounds.
        complete : bool
            Whether it is proved that each dataset holds at least the rows of each kind that some known one holds.
        """
        part = _Part(self._all, columns, self._kind[columns])
        for rows in known:  # the given one among them
            part.meet(rows)
        if complete:
            part.settle()
        else:
            part.ask(search)
        found = part.examined()
        self._least[found.kinds] += found.least
        self._most[found.kinds] -= part.held - found.most
        self._overlap += found.overlap.lower
        self._furthest[columns] = self._all.lower[columns] + found.furthest
        if not found.same:
            self._several.append(found)
        return found

    def examine_together(self, search: Search) -> None:
        """Raise the overlap where a kind can be in several parts, whose least overlaps add up to a mere bound."""
        for parts in self._linked():
            apart = sum(part.overlap.lower for part in parts)
            columns = np.concatenate([part.columns for part in parts])
            together = _Part(self._all, columns, self._kind[columns])
            together.meet(np.concatenate([part.furthest for part in parts]))
            if together.overlap.upper == apart or not all(part.overlap.exact for part in parts):
                continue
            together.ask_overlap(search)
            found = together.examined()
            self._overlap += max(0, found.overlap.lower - apart)
            self._furthest[columns] = self._all.lower[columns] + found.furthest

    def _linked(self) -> list[list[_Examined]]:
        """Return the parts with several datasets that are linked by kinds, where two or more are."""
        if len(self._several) < 2:
            return []
        held = np.zeros(self._n_kinds, dtype=bool)
        for part in self._several:
            held[part.kinds] = True
        links = [np.unique(self._kind[part.columns]) for part in self._several]
        links = [kinds[(kinds >= 0) & held[kinds]] for kinds in links]
        pointer = np.cumsum([0, *map(len, links)])
        kinds = np.concatenate(links)
        shape = (len(links), self._n_kinds)
        pattern = sparse.csr_array((np.ones(len(kinds), dtype=np.int8), kinds, pointer), shape=shape)
        _, cluster = csgraph.connected_components(
            sparse.block_array([[None, pattern], [pattern.T, None]]), directed=False
        )
        cluster = cluster[: len(links)]
        clusters = [np.flatnonzero(cluster == c) for c in np.unique(cluster)]
        return [[self._several[i] for i in members] for members in clusters if len(members) > 1]

    def _count(self, rows: IntArray) -> IntArray:
        return _totals(self._kind, rows, self._n_kinds)


class _Part:
    """Open candidates that share no equation with others, under examination; all counts are beyond the lower bounds."""

    def __init__(self, datasets: _Datasets, columns: IntArray, kind: IntArray) -> None:
        self._columns = columns
        self._matrix = datasets.matrix
        self._chosen = datasets.rows[columns] - datasets.lower[columns]
        self._room = datasets.upper[columns] - datasets.lower[columns]
        self._kinds = np.unique(kind[(kind >= 0) & (self._chosen > 0)])
        self._kind = np.where(np.isin(kind, self._kinds), np.searchsorted(self._kinds, kind), -1)
        self.held = _totals(self._kind, self._chosen, len(self._kinds))
        self._most = self.held.copy()
        self._least = np.zeros_like(self.held)
        self.overlap = Bounds(0, int(self.held.sum()))
        self._met: list[IntArray] = []
        self._furthest = self._chosen

    def examined(self) -> _Examined:
        """Return what is known by now."""
        return _Examined(
            columns=self._columns,
            kinds=self._kinds,
            least=self._least,
            most=self._most,
            overlap=self.overlap.at_least(int(self._least.sum())),  # certain rows are shared
            datasets=self._met,
            furthest=self._furthest,
            same=bool((self._least == self.held).all()),
        )

    def meet(self, rows: IntArray) -> bool:
        """Strike out what a dataset does without; return whether that is news."""
        count = _totals(self._kind, rows, len(self._kinds))
        shared = int(np.minimum(count, self.held).sum())
        self._met.append(rows)
        news = bool((count < self._most).any())
        self._most = np.minimum(self._most, count)
        if shared < self.overlap.upper:
            self.overlap = Bounds(self.overlap.lower, shared)
            self._furthest = rows
        return news

    def settle(self) -> None:
        """Take the datasets that were met for all that there are."""
        self._least = self._most
        self.overlap = Bounds(self.overlap.upper, self.overlap.upper)

    def ask_overlap(self, search: Search) -> _Model | None:
        """Bound the least overlap; return the model for more questions, None where none was made."""
        if not self.held.any() or search.timebox.over:
            return None
        if np.diff(self._matrix.indptr)[self._columns].sum() > _MOST_COMPARED:
            return None
        model = _Model.of(self._matrix[:, self._columns], self._chosen, self._room, self._kind, search)
        if model is not None:
            everything = np.arange(len(self._kinds))
            self._ask(model, everything, self.held, search, overlap=True)
        return model

    def ask(self, search: Search) -> None:
        """Bound the least overlap, then the fewest rows of each kind.

        A question for many kinds asks for a dataset that does without as many of their rows as possible; if there is
        none that does without any, all of them are certain at once. Only when it leads no further, each kind is asked
        for by itself.
        """
        if not self.held.any():
            return self.settle()
        model = self.ask_overlap(search)
        if model is None:
            return None
        if self.overlap.lower == self.held.sum():
            return self.settle()
        struck = bool((self._most < self.held).any())  # else the same question again
        while struck and (self._least < self._most).any():
            struck = self._ask(model, np.flatnonzero(self._least < self._most), self._most, search)
        undecided = 0
        for k in np.flatnonzero(self._least < self._most):
            if undecided >= _PATIENCE or search.timebox.over:
                return None
            if self._least[k] < self._most[k]:
                self._ask(model, np.array([k]), self._most, search)
                undecided = undecided + 1 if self._least[k] < self._most[k] else 0
        return None

    def _ask(self, model: _Model, kinds: IntArray, cap: IntArray, search: Search, *, overlap: bool = False) -> bool:
        """Ask for the fewest rows of some kinds, none counted beyond its cap; return whether a dataset was news."""
        cap = cap[kinds]
        rows, bound = model.fewest(kinds, cap, search)
        if overlap:
            self.overlap = self.overlap.at_least(bound)
        # The other kinds count for at most their caps. So one kind alone has the bound, and all have their caps at once
        # where the bound is the sum of these.
        self._least[kinds] = np.maximum(self._least[kinds], bound - (cap.sum() - cap))
        return rows is not None and self.meet(rows)


class _Model:
    """The equations of a part as a CP-SAT model, made once and asked several times."""

    def __init__(
        self, matrix: sparse.csc_array, chosen: IntArray, room: IntArray, kind: IntArray, stands_for: IntArray
    ) -> None:
        self._n_columns = len(chosen)
        self._kept = np.unique(stands_for)
        self._hint = _totals(stands_for, chosen, self._n_columns)[self._kept]
        self._room = _totals(stands_for, room, self._n_columns)[self._kept]
        self._kind = kind[self._kept]
        self._counted: dict[tuple[int, int], cp_model.LinearExprT] = {}
        self._model = cp_model.CpModel()
        self._variables = [self._model.new_int_var(0, most, "") for most in self._room.tolist()]
        equations = matrix[:, self._kept].tocsr()
        observed = matrix @ chosen
        for i in np.flatnonzero(np.diff(equations.indptr)):
            span = slice(equations.indptr[i], equations.indptr[i + 1])
            terms = [self._variables[j] for j in equations.indices[span]]
            total = cp_model.LinearExpr.weighted_sum(terms, equations.data[span].tolist())
            self._model.add(total == int(observed[i]))
        for variable, value in zip(self._variables, self._hint.tolist(), strict=True):
            self._model.add_hint(variable, value)

    @classmethod
    def of(
        cls, matrix: sparse.csc_array, chosen: IntArray, room: IntArray, kind: IntArray, search: Search
    ) -> _Model | None:
        """Return the model, or None where it would be too large or the time does not suffice."""
        stands_for = _representatives(matrix, kind)
        kept = np.unique(stands_for)
        coefficients = int(np.diff(matrix.indptr)[kept].sum())
        cost = _UNITS_PER_COEFFICIENT * coefficients
        if len(kept) > _MOST_COLUMNS or coefficients > _MOST_COEFFICIENTS or not search.timebox.allows(cost):
            return None
        search.timebox.spend(cost)
        return cls(matrix, chosen, room, kind, stands_for)

    def fewest(self, kinds: IntArray, cap: IntArray, search: Search) -> tuple[IntArray | None, int]:
        """Minimise the rows of some kinds, none counted beyond its cap.

        Returns
        -------
        rows : ndarray of int64, shape (n_columns,), or None
            The best dataset that was found.
        bound : int
            Proved: no dataset has fewer.
        """
        timebox = search.timebox
        if timebox.over:
            return None, 0
        counts = [self._capped(k, most) for k, most in zip(kinds.tolist(), cap.tolist(), strict=True)]
        self._model.minimize(cp_model.LinearExpr.sum(counts))
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(timebox.remaining, 1e-3)
        solver.parameters.max_deterministic_time = min(_EFFORT, timebox.effort_left)
        solver.parameters.num_workers = 1  # another number of threads would be another search
        solver.parameters.random_seed = search.seed % 2**31
        status = solver.solve(self._model)
        timebox.spend(solver.response_proto.deterministic_time)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None, 0
        rows = np.zeros(self._n_columns, dtype=np.int64)
        rows[self._kept] = [solver.value(variable) for variable in self._variables]
        return rows, max(0, math.ceil(solver.best_objective_bound - 1e-6))

    def _capped(self, kind: int, cap: int) -> cp_model.LinearExprT:
        """Return an expression that is at least the rows of a kind or the cap, whichever is less, and can be that."""
        if (kind, cap) not in self._counted:
            columns = np.flatnonzero(self._kind == kind)
            count = cp_model.LinearExpr.sum([self._variables[j] for j in columns])
            beyond = int(self._room[columns].sum()) - cap
            if beyond > 0:
                reached = self._model.new_bool_var("")
                capped = self._model.new_int_var(0, cap, "")
                self._model.add(capped >= cap * reached)
                self._model.add(count <= capped + beyond * reached)
                count = capped
            self._counted[kind, cap] = count
        return self._counted[kind, cap]


def _representatives(matrix: sparse.csc_array, kind: IntArray) -> IntArray:
    """Return the column that stands for each one: an equal one that is not counted, where there is one, else itself."""
    itself = np.arange(len(kind))
    keys = np.random.default_rng(0).integers(1, 2**63, size=matrix.shape[0], dtype=np.uint64)
    weighed = matrix.data.astype(np.uint64) * keys[matrix.indices]  # wraps around: a hash
    digest = np.add.reduceat(weighed, matrix.indptr[:-1])
    order = np.lexsort((kind >= 0, digest))  # those that are not counted first
    first = np.searchsorted(digest[order], digest)
    chief = order[first]
    chief = np.where(kind[chief] < 0, chief, itself)
    same: IntArray = np.where(_equal_columns(matrix, chief), chief, itself)
    return same


def _equal_columns(matrix: sparse.csc_array, other: IntArray) -> BoolArray:
    """Return whether each column equals another one."""
    difference = (matrix - matrix[:, other]).tocsc()
    difference.eliminate_zeros()
    equal: BoolArray = np.diff(difference.indptr) == 0
    return equal


def _totals(kind: IntArray, rows: IntArray, n_kinds: int) -> IntArray:
    """Return the rows of each kind, shape (n_kinds,); kind -1 is not counted."""
    counted = kind >= 0
    return np.bincount(kind[counted], rows[counted], minlength=n_kinds).astype(np.int64)  # exact up to 2**53
