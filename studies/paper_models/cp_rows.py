"""The parts of a CP model that rows have with and without bagging: in go row variables, out come datasets.

The model is that of DRAFT (ICML 2024), section 6 with appendices C and D; `RowVariables` holds its variables x_ki.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from pytest_draft.arrays import IntArray
from pytest_draft.timebox import TimeBox
from studies.paper_models.published import ModelDataset, ModelStatus, RowModelInput

_STATUS: dict[cp_model.CpSolverStatus, ModelStatus] = {
    cp_model.OPTIMAL: "optimal",
    cp_model.FEASIBLE: "feasible",
    cp_model.INFEASIBLE: "infeasible",
    cp_model.UNKNOWN: "no solution",
}


class RowVariables:
    """The variables x_ki of a CP model: the position of each column's value in each row.

    Columns of two values are Booleans, as in section 6; others whole numbers, as in appendix D.

    Parameters
    ----------
    model : cp_model.CpModel
    published : RowModelInput
    n_rows : int
    """

    def __init__(self, model: cp_model.CpModel, published: RowModelInput, n_rows: int) -> None:
        self.model = model
        self._last = [len(values) - 1 for values in published.values]
        self._x = [
            [model.new_bool_var("") if last == 1 else model.new_int_var(0, last, "") for last in self._last]
            for _ in range(n_rows)
        ]
        for row in self._x:
            for group in published.one_hot:
                model.add_exactly_one([row[i] for i in group])

    def require(self, literal: cp_model.IntVar, row: int, low: IntArray, high: IntArray) -> None:
        """Let a literal imply that a row's positions lie within bounds, both of shape (n_columns,)."""
        literals: list[cp_model.LiteralT] = []
        for i, last in enumerate(self._last):
            x, least, most = self._x[row][i], int(low[i]), int(high[i])
            if least > most:
                self.model.add(literal == 0)
                return
            if last == 1:
                if least == 1:
                    literals.append(x)
                elif most == 0:
                    literals.append(~x)
            elif least > 0 or most < last:
                self.model.add_linear_constraint(x, least, most).only_enforce_if(literal)
        if literals:
            self.model.add_bool_and(literals).only_enforce_if(literal)

    def forbid(
        self, published: RowModelInput, datasets: Sequence[ModelDataset], is_class: NDArray[np.object_], group: IntArray
    ) -> None:
        """Leave datasets out of the model.

        Parameters
        ----------
        is_class : ndarray of object, shape (n_rows, n_classes)
            Literals z_kc, or bools.
        group : ndarray of int64, shape (n_rows,)
            Rows of one group can change places: their order makes no difference.
        """
        for dataset in datasets:
            self._differ_from(published.positions(dataset.rows), dataset.labels, is_class, group)

    def _differ_from(self, known: IntArray, labels: IntArray, is_class: NDArray[np.object_], group: IntArray) -> None:
        """Let fewer rows of some group than in a dataset hold one of its vectors and classes."""
        held = Counter(zip(group.tolist(), map(tuple, known.tolist()), labels.tolist(), strict=True))
        fewer = []
        for (g, vector, c), number in held.items():
            same = [self._is(k, vector, is_class[k, c]) for k in np.flatnonzero(group == g).tolist()]
            fewer.append(self.model.new_bool_var(""))
            self.model.add(cp_model.LinearExpr.sum(same) <= number - 1).only_enforce_if(fewer[-1])
        self.model.add_bool_or(fewer)

    def _is(self, row: int, vector: Sequence[int], is_class: cp_model.LiteralT) -> cp_model.IntVar:
        """Return a literal that is true wherever a row holds a vector and is of a class."""
        same = self.model.new_bool_var("")
        otherwise = [same, ~is_class if isinstance(is_class, cp_model.IntVar) else not is_class]
        for x, last, value in zip(self._x[row], self._last, vector, strict=True):
            if last == 1:
                otherwise.append(~x if value else x)
            elif last > 1:
                other = self.model.new_bool_var("")
                self.model.add(x != value).only_enforce_if(other)
                otherwise.append(other)
        self.model.add_bool_or(otherwise)
        return same

    def found(self, solver: cp_model.CpSolver) -> IntArray:
        """Return the positions of a solution, shape (n_rows, n_columns)."""
        return np.array([[solver.value(x) for x in row] for row in self._x], dtype=np.int64)


def solved(model: cp_model.CpModel, timebox: TimeBox, seed: int) -> tuple[ModelStatus, cp_model.CpSolver]:
    """Ask CP-SAT within a time box; the answer depends on the seed, not on the machine's speed.

    Returns
    -------
    status : str
    solver : cp_model.CpSolver
        Holds the solution.
    """
    solver = cp_model.CpSolver()
    if timebox.over:
        return "no solution", solver
    solver.parameters.max_time_in_seconds = max(timebox.remaining, 1e-3)
    solver.parameters.max_deterministic_time = timebox.effort_left
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed % 2**31
    status = solver.solve(model)
    timebox.spend(solver.response_proto.deterministic_time)
    if status not in _STATUS:
        raise RuntimeError(f"CP-SAT refused the model: {model.validate()}")
    return _STATUS[status], solver
