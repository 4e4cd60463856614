"""The `Attack` on forests whose draws nobody knows, with counts or without.

Leaves of files without counts hold fractions or labels; those of a regressor show only that they hold rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.ambiguity.gaps import thresholds_only_mark_gaps
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers
from pytest_draft.attack.fractions.problem import build_stripped, states_in, with_gaps
from pytest_draft.attack.fractions.rebuild import rebuild_from_outputs
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk.problem import RowProblem, indices_of
from pytest_draft.data import TrainingData
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.evaluate.identity import identify_drawn
from pytest_draft.evaluate.stripped_identity import entries_of, identify_stripped
from pytest_draft.examine.attack import TRUTH_IS_LIKELIER, WITHOUT_SEEDS, Attack, Shortfall
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import TimeLimits
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import Knowledge, without_seeds

_ROUNDING = 1e-6


def row_problem(forest: Forest, domain: Domain, n_rows: int | None, knowledge: Knowledge | None) -> RowProblem:
    """Return what the leaves say, and what is known of the rows.

    Parameters
    ----------
    n_rows : int or None
        Number of training rows; None where the adversary does not know it.

    Raises
    ------
    NotCoveredError
        As `build_stripped`.
    """
    if knowledge is None:
        return build_stripped(forest, domain, n_rows)
    n_slots = len(knowledge.known) + len(knowledge.unknown)
    states = states_in(forest, domain)[2]
    value = np.full((n_slots, len(domain.attributes)), -1, dtype=np.int32)
    label = np.full(n_slots, -1, dtype=np.int64)
    if knowledge.attributes:
        rows = np.zeros((n_slots, domain.n_columns), dtype=np.float32)
        rows[:, list(knowledge.columns)] = knowledge.values
        value = indices_of(domain, states, rows, knowledge.attributes)
    value[knowledge.known] = indices_of(domain, states, knowledge.rows)
    label[knowledge.known] = knowledge.labels
    return build_stripped(forest, domain, n_rows, value, label)


class Stripped(Attack):
    """The attack on what leaves say, without knowing the draws behind them.

    Parameters
    ----------
    inputs : Inputs
        Of a forest with `Answers`, or with counts of draws that the adversary does not know.
    search : Search
        Not used: nothing is searched before `rebuild`.
    """

    any_size = True

    def __init__(self, inputs: Inputs, search: Search) -> None:
        forest, knowledge = inputs.forest, inputs.knowledge
        if knowledge is not None and knowledge.informed:
            raise NotCoveredError("an informed adversary is not covered yet where nobody knows the draws")
        self._inputs, self._forest = inputs, forest
        size_unknown = Adversary.parse(inputs.case.adversary).size_unknown
        n_rows = forest.n_samples
        if n_rows is None and inputs.n_rows is not None and not size_unknown:
            n_rows = inputs.n_rows
            self.granted = ("number of training rows",)
        self._problem = row_problem(forest, inputs.domain, n_rows, knowledge)
        self.unused = () if forest.unused is None else (forest.unused,)
        if without_seeds(forest, inputs.case.adversary) and forest.observation.exact:
            self.notes = (WITHOUT_SEEDS,)
        if Adversary.parse(inputs.case.adversary).name != "published":
            self.undecoded += _unused_seeds(forest)

    def rebuild(self, search: Search) -> Reconstruction:
        """Draw datasets from the posterior."""
        rebuilt, knowledge = rebuild_from_outputs(self._problem, search), self._inputs.knowledge
        if knowledge is None or not knowledge.columns or rebuilt.rows is None:
            return rebuilt
        rows = rebuilt.rows.copy()  # of numeric columns only states are known there
        common = min(len(rows), len(knowledge.unknown))
        rows[:common, list(knowledge.columns)] = knowledge.values[knowledge.unknown[:common]]
        return replace(rebuilt, rows=rows)

    def identity(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Identity:
        """Ask whether these rows, or draws of them, can give what the leaves say."""
        if not isinstance(self._forest.observation, Answers):
            return identify_drawn(self._forest, data.rows, data.labels)
        return identify_stripped(self._forest, self._problem, data.rows, data.labels, self._inputs.case.seed)

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say that the attack has not converged, or that thresholds reveal more than it uses."""
        found, forest, reasons = self._not_converged(data, reconstruction, limits), self._forest, list[str]()
        if isinstance(forest.observation, Answers) and forest.observation.more_left:
            reasons.append("which child of each node more rows reached (missing_go_to_left)")
        if self._problem.states is not None and not thresholds_only_mark_gaps(forest, self._inputs.domain, data.rows):
            reasons.append("what thresholds on numeric columns say of the values next to them")
        told = (
            f"the attack does not use yet {one}: whoever does gets closer; release what python -m pytest_draft harden "
            "writes of the estimator with --data or, if this is it, smaller trees as they were trained"
            for one in reasons
        )
        return replace(found, reasons=(*found.reasons, *told))

    def _not_converged(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say that the truth is likelier than all that was drawn, or that the search ended before it settled."""
        walked = with_gaps(self._forest, self._inputs.domain)
        truth = self._problem.model.total(entries_of(walked, self._problem, data.rows, data.labels))
        reached = reconstruction.log_posterior
        if reached is None or truth > reached + _ROUNDING:
            return Shortfall((limits.not_converged(TRUTH_IS_LIKELIER),), truth_is_likelier=True)
        if reconstruction.residual:
            missed = (
                f"its rows do not fit what {reconstruction.residual:,} leaves tell of a class (the right rows fit all)"
            )
            return Shortfall((limits.not_converged(missed),))
        if reconstruction.cut_short:
            return Shortfall((limits.not_converged("several searches ended with different rows"),))
        return Shortfall()


def _unused_seeds(forest: Forest) -> tuple[str, ...]:
    """Return why what was drawn by seeds that are known keeps a file from passing; nothing where nothing was."""
    if all(tree.seed is None for tree in forest.trees):
        return ()
    if forest.draws.drawn:
        drawn = "which rows were drawn for which tree"
    elif forest.splitter == "random":
        drawn = "between which values its thresholds were drawn"
    elif forest.draws.seeded:
        drawn = "in which order columns were drawn for its trees"
    else:
        return ()
    return (
        f"its seeds are known (left in the file, or guessed), and tell {drawn}; the attack on files without counts "
        "does not use that yet: whoever does gets closer; train it with random_state=None and write it with python -m "
        "pytest_draft harden",
    )
