"""The `Attack` of an informed adversary on forests that publish counts."""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.attack.informed.guesses import best_by_others, guesses_of
from pytest_draft.attack.numeric.extremes import replay_and_decode
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.search import Search
from pytest_draft.data import TrainingData
from pytest_draft.errors import InfeasibleError, NotCoveredError
from pytest_draft.evaluate.identity import identify_in_order, identify_values
from pytest_draft.examine.attack import WITHOUT_SEEDS, Attack, Shortfall
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import TimeLimits
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import all_rows, known_rows, knows_occurrences, without_seeds
from pytest_draft.matching import encoded_weights


class InformedAttack(Attack):
    """Each row from all others: what its leaves and thresholds leave of it, and a guess in between.

    Parameters
    ----------
    inputs : Inputs
        Of a forest with exact counts, and an informed adversary.
    search : Search
        Its box ends the decoding of thresholds.
    """

    def __init__(self, inputs: Inputs, search: Search) -> None:
        self._inputs, self._forest = inputs, inputs.forest
        if without_seeds(self._forest, inputs.case.adversary):
            self.notes = (WITHOUT_SEEDS,)
        if not is_numeric(inputs.domain):
            self.unused = () if self._forest.unused is None else (self._forest.unused,)
        elif self._forest.splitter == "random":
            self.extremes = replay_and_decode(self._forest, inputs.domain, search.timebox)

    def rebuild(self, search: Search) -> Reconstruction:
        """Guess each row from all others."""
        inputs, knowledge = self._inputs, self._inputs.knowledge
        if knowledge is None:
            raise ValueError("an informed adversary knows rows")
        if not knows_occurrences(self._forest, inputs.case.adversary):
            raise NotCoveredError("an informed adversary that does not know the occurrences is not covered yet")
        everyone = known_rows(self._forest, inputs.case.adversary, knowledge)
        everybody = np.arange(len(everyone.rows))
        with search.clock("informed"):
            held = held_of(self._forest, inputs.domain, everyone, everybody, self.extremes, timebox=inputs.timebox)
            if held is None:
                raise InfeasibleError
            held, unknown = held.with_known(everyone.rows, knowledge.attributes), knowledge.unknown
            guesses = guesses_of(held, everyone, held.rows, held.rows, inputs.timebox)
            weights = encoded_weights(inputs.domain, knowledge.attributes)
            rows = best_by_others(guesses, everyone.rows, weights, inputs.domain)[unknown]
        determined = held.only(unknown).determined()
        seen = np.asarray((everyone.weight[:, unknown] > 0).any(axis=0))
        return Reconstruction(
            status="unique" if determined.all() else "consistent",
            rows=rows,
            consistent=rows,
            labels=np.where(seen, everyone.labels[unknown], _commonest_of_others(everyone.labels)[unknown]),
            cells=None,
            free=~determined,
            ordered=False,
            residual=0,
            certain=determined,
            seen=seen,
            statistics=search.clock.figures,
        )

    def identity(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Identity:
        """Compare with counts and thresholds, in the given order."""
        everyone = all_rows(self._forest, self._inputs.case.adversary, data)
        identity = identify_in_order(self._forest, everyone, known_by_row=True, timebox=limits.total)
        return identify_values(identity, self._forest, everyone, self.extremes)

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say nothing: what is not determined is guessed, and no search is left to end."""
        return Shortfall()


def _commonest_of_others(labels: IntArray) -> IntArray:
    """Return the commonest class of all other rows, for each row."""
    number = np.tile(np.bincount(labels), (len(labels), 1))
    number[np.arange(len(labels)), labels] -= 1
    return np.asarray(number.argmax(axis=1), dtype=np.int64)
