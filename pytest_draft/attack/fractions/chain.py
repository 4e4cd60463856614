"""One dataset that sweeps change: in go a `StrippedProblem` and a start, out come datasets of the posterior.

`Chain(problem, start, seed).sweep(n, 1.0, 1.0)` is a Markov chain of the posterior itself, from any start.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import Flag, FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import leaves_of, tests_of
from pytest_draft.attack.filling import INDICATOR_ODDS
from pytest_draft.attack.fractions.problem import StrippedProblem
from pytest_draft.attack.fractions.sweeps import Candidates, cuts_of, jump, sweep
from pytest_draft.attack.private.sweeps import GO_ON, Mixture, SampledRows

COMPONENTS = 5
"""Components of the mixture that rows are drawn from."""

CONCENTRATION = 1.0
"""Rows that the prior of the components' shares is worth."""

MOST_PRIOR_ROWS = 8.0
"""Rows that the prior of an attribute's values is worth at most; each value at most one."""

Dataset = tuple[Int32Array, IntArray]
"""Indices of values, shape (n_rows, n_attributes), and of labels, shape (n_rows,)."""

NO_PRIOR: FloatArray = np.zeros((0, 0))
"""In place of a given prior: that of the mixture, learnt from the dataset itself."""


class Chain:
    """One dataset that sweeps change.

    Parameters
    ----------
    problem : StrippedProblem
    start : Dataset
        Of as many rows as are there at first, those that the adversary knows included, in the order of the slots.
    seed : sequence of int
    log_prior : ndarray of float64, shape (n_classes, n_values), or None
        Log-probability of each value of each attribute by class, the attributes' values side by side; up to a constant
        for each class, the log-probability of the class included in that of one attribute. None for the mixture.
    """

    def __init__(
        self, problem: StrippedProblem, start: Dataset, seed: Sequence[int], log_prior: FloatArray | None = None
    ) -> None:
        self._problem, self._model = problem, problem.model
        self._rng = np.random.default_rng(list(seed))
        self._log_prior = NO_PRIOR if log_prior is None else np.ascontiguousarray(log_prior, dtype=np.float64)
        domain = self._model.domain
        self._cut = cuts_of(self._model.walks, domain)
        self._one_hot = np.array([attribute.kind == "one-hot" for attribute in domain.attributes])
        self._rows = self._started(*start)
        self._counts = self._model.counts(*self.dataset)
        self._mixture = self._mixed()

    @property
    def dataset(self) -> Dataset:
        """A copy of the dataset as it is."""
        present = self._rows.present
        return self._rows.value[present].copy(), self._rows.label[present].copy()

    @property
    def n_rows(self) -> int:
        """Number of its rows."""
        return int(self._rows.present.sum())

    @property
    def log_likelihood(self) -> float:
        """Of the dataset as it is."""
        return self._model.total(self._counts.rows)

    @property
    def lacking(self) -> int:
        """What the dataset as it is lacks: see `Model.lacking`."""
        return self._model.lacking(self._counts.rows)

    def sweep(self, n_sweeps: int, hot: float, cold: float, *, fixed: bool = False, stop: Flag = GO_ON) -> None:
        """Draw each value and label of each row anew so many times, cooling.

        Parameters
        ----------
        n_sweeps : int
        hot, cold : float
            First and last temperature of the likelihood; 1 is that of the posterior.
        fixed : bool
            Whether the number of rows stays as it is.
        stop : ndarray of uint8, shape (1,)
            Ends it where it is raised.
        """
        n_known = int((~self._rows.removable).sum())
        least, most = (size - n_known for size in self._problem.n_rows)
        if fixed:
            least = most = self.n_rows - n_known
        sweep(
            self._model.walks, self._cut, self._one_hot, self._model.evidence, self._counts, self._rows, self._mixture,
            self._log_prior, least, most, n_sweeps, hot, cold, self._rng, stop,
        )  # fmt: skip

    def jump(self, candidates: Candidates, temperature: float, *, stop: Flag = GO_ON) -> None:
        """Let rows jump to candidates, as `pytest_draft.attack.fractions.sweeps.jump` does."""
        jump(
            self._model.walks, self._model.evidence, self._counts, self._rows, self._mixture, candidates, temperature,
            self._rng, stop,
        )  # fmt: skip

    def resize(self, size: int) -> None:
        """Empty or fill slots, by chance, until there are so many rows."""
        rows, missing = self._rows, size - self.n_rows
        if not missing:
            return
        slots = np.flatnonzero(rows.removable & (rows.present == (missing < 0)))
        rows.present[self._rng.permutation(slots)[: abs(missing)]] = missing > 0
        self._counts, self._mixture = self._model.counts(*self.dataset), self._mixed()

    def _started(self, value: Int32Array, label: IntArray) -> SampledRows:
        problem, n_slots, n_rows = self._problem, len(self._problem.value), len(label)
        sizes = np.array([attribute.n_values for attribute in self._model.domain.attributes])
        all_values = self._rng.integers(0, sizes, size=(n_slots, len(sizes))).astype(np.int32)
        all_labels = self._rng.integers(0, self._model.n_classes, n_slots)
        all_values[:n_rows], all_labels[:n_rows] = value, label
        open_value, open_label = problem.value < 0, problem.label < 0
        all_values, all_labels = (
            np.where(open_value, all_values, problem.value).astype(np.int32),
            np.where(open_label, all_labels, problem.label).astype(np.int64),
        )
        least, most = problem.n_rows
        return SampledRows(
            all_values,
            all_labels,
            self._rng.integers(0, COMPONENTS, n_slots),
            np.arange(n_slots) < n_rows,
            open_value,
            open_label,
            (open_value.any(axis=1) | open_label) & (least < most),
            leaves_of(self._model.walks, all_values),
            tests_of(self._model.walks, all_values),
        )

    def _mixed(self) -> Mixture:
        model, rows = self._model, self._rows
        weight = []
        for attribute in model.domain.attributes:
            each = min(1.0, MOST_PRIOR_ROWS / attribute.n_values)
            odds = INDICATOR_ODDS if attribute.kind == "binary" else 1.0
            weight.append(
                np.array([1.0, odds]) * 2 / (1 + odds)
                if attribute.kind == "binary"
                else np.full(attribute.n_values, each)
            )
        offset = np.cumsum([0, *(len(part) for part in weight)])
        k, value, label = rows.component[rows.present], rows.value[rows.present], rows.label[rows.present]
        labels = np.zeros((COMPONENTS, model.n_classes), dtype=np.int64)
        np.add.at(labels, (k, label), 1)
        values = np.zeros((COMPONENTS, int(offset[-1])), dtype=np.int64)
        np.add.at(values, (k[:, None], value + offset[:-1]), 1)
        total = np.array([part.sum() for part in weight])
        return Mixture(labels.sum(axis=1), labels, values, offset, np.concatenate(weight), total, CONCENTRATION)
