"""One Markov chain of datasets: it holds one dataset at a time, and each sweep draws its values and labels anew.

With both temperatures 1, as in `RowChain(problem, start, seed).sweep(n, 1.0, 1.0)`, it samples the posterior.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import Flag, FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import NONE, leaves_of
from pytest_draft.attack.evidence.evidence import LeafCounts
from pytest_draft.attack.moves import Scratch
from pytest_draft.attack.walk.mixture import COMPONENTS, NO_PRIOR, Mixture, SampledRows
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.attack.walk.sweeps import JumpCandidates, jump, sweep

Dataset = tuple[Int32Array, IntArray]
"""Indices of values, shape (n_rows, n_attributes), and of labels, shape (n_rows,)."""

GO_ON: Flag = np.zeros(1, dtype=np.uint8)
"""A stop flag that nobody raises."""


class RowChain:
    """The dataset of a chain. It has a slot for each row that there can be (`RowProblem`); some may be empty.

    Parameters
    ----------
    start : Dataset or int
        The first dataset, in the order of the slots and with the rows that the adversary knows; or its number of rows,
        whose unknown values are then drawn evenly. The rows that the adversary knows are always there.
    log_prior : ndarray of float64, shape (n_classes, n_values)
        Of each value by class; replaces the prior that `Mixture` learns from the rows. Empty for none.
    """

    def __init__(
        self, problem: RowProblem, start: Dataset | int, seed: Sequence[int], log_prior: FloatArray = NO_PRIOR
    ) -> None:
        self._problem, self._model = problem, problem.model
        self._rng = np.random.default_rng(list(seed))
        self._log_prior = log_prior
        self._rows = self._initial_rows(start)
        self._counts, self._mixture = self._counts_and_mixture()
        sizes = [attribute.n_values for attribute in self._model.domain.attributes]
        self._scratch = Scratch.of(self._model.walks, max(*sizes, COMPONENTS, self._model.n_classes))

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

    def sweep(self, n_sweeps: int, hot: float, cold: float, *, fixed: bool = False, stop: Flag = GO_ON) -> None:
        """Draw each value and label of each row anew, `n_sweeps` times, while the temperature falls.

        Parameters
        ----------
        hot, cold : float
            First and last temperature of the likelihood; 1 is that of the posterior.
        fixed : bool
            Whether to keep the number of rows.
        stop : ndarray of uint8, shape (1,)
            Once it is set, by another thread, the sweeps end.
        """
        n_known = int((~self._rows.removable).sum())
        least, most = (size - n_known for size in self._problem.n_rows)
        if fixed:
            least = most = self.n_rows - n_known
        whole = self._problem.seen is not None and not len(self._log_prior)  # rows are imagined by the mixture
        sweep(
            self._model.walks, self._model.evidence, self._counts, self._rows, self._mixture, least, most, whole,
            n_sweeps, hot, cold, self._scratch, self._rng, stop,
        )  # fmt: skip

    def jump(self, candidates: JumpCandidates, temperature: float, *, stop: Flag = GO_ON) -> None:
        """Let rows jump to candidates, as `pytest_draft.attack.walk.sweeps.jump` does."""
        jump(
            self._model.evidence, self._counts, self._rows, self._mixture, candidates, temperature, self._rng, stop,
        )  # fmt: skip

    def resize(self, size: int) -> None:
        """Empty or fill slots, drawn at random, until the dataset has `size` rows."""
        rows, missing = self._rows, size - self.n_rows
        if not missing:
            return
        slots = np.flatnonzero(rows.removable & (rows.present == (missing < 0)))
        rows.present[self._rng.permutation(slots)[: abs(missing)]] = missing > 0
        self._counts, self._mixture = self._counts_and_mixture()

    def _initial_rows(self, start: Dataset | int) -> SampledRows:
        problem, rng, n_slots = self._problem, self._rng, len(self._problem.value)
        sizes = np.array([attribute.n_values for attribute in self._model.domain.attributes])
        value = rng.integers(0, sizes, size=problem.value.shape).astype(np.int32)
        label = rng.integers(0, self._model.n_classes, n_slots)
        component = rng.integers(0, COMPONENTS, n_slots)
        present = problem.known.copy()
        n_rows = start if isinstance(start, int) else len(start[1])
        present[np.flatnonzero(~present)[: max(0, n_rows - int(present.sum()))]] = True
        if not isinstance(start, int):
            value[present], label[present] = start
        open_value, open_label = problem.value < 0, problem.label < 0
        value = np.where(open_value, value, problem.value).astype(np.int32)
        label = np.where(open_label, label, problem.label).astype(np.int64)
        least, most = problem.n_rows
        removable = ~problem.known & (least < most)
        leaf = leaves_of(self._model.walks, value)
        times = np.ones_like(leaf) if problem.seen is None else problem.seen.astype(np.int32)
        leaf[times == 0] = NONE
        return SampledRows(value, label, component, present, open_value, open_label, removable, times, leaf)

    def _counts_and_mixture(self) -> tuple[LeafCounts, Mixture]:
        model = self._model
        prior = Mixture.of(self._rows, model.domain, model.n_classes, self._problem.prior_rows, self._log_prior)
        seen = None if self._problem.seen is None else self._problem.seen[self._rows.present]
        return model.counts(model.rows_at_leaves(*self.dataset, seen)), prior
