"""The `Attack` on forests with numeric columns of many thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.attack.numeric.problem import build_numeric
from pytest_draft.attack.numeric.rebuild import rebuild_numeric
from pytest_draft.attack.search import Search
from pytest_draft.data import TrainingData
from pytest_draft.evaluate.identity import confirmed, identify_in_order, identify_values
from pytest_draft.examine.attack import Attack, Shortfall, off_by
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import TimeLimits
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import all_rows, exchangeable_groups

MOSTLY_DECODED = 0.9
"""Where fewer of a forest's drawn thresholds are decoded, more can be had from the file than is used here."""


class NumericAttack(Attack):
    """The attack on values, row by row.

    Parameters
    ----------
    inputs : Inputs
        Of a forest with exact counts; not for an informed adversary.
    search : Search
        Its box ends the decoding of thresholds.
    """

    any_size = True

    def __init__(self, inputs: Inputs, search: Search) -> None:
        self._inputs, self._forest = inputs, inputs.forest
        self._groups = exchangeable_groups(self._forest, inputs.case.adversary, inputs.knowledge, search.timebox)
        self._problem = build_numeric(self._forest, inputs.domain, self._groups, search.timebox)
        self.unused, self.undecoded = self._targets_unused(), self._thresholds_unused()
        self.extremes = self._problem.extremes

    def rebuild(self, search: Search) -> Reconstruction:
        """Anneal, and count again what was found."""
        rebuilt = rebuild_numeric(self._problem, search)
        if self._forest.observation.has_targets and rebuilt.labels is not None:  # its classes were targets
            rebuilt = replace(rebuilt, labels=np.zeros_like(rebuilt.labels))
        return confirmed(rebuilt, self._forest, self._problem.times, self._groups.known)

    def identity(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Identity:
        """Compare with counts and thresholds, in the given order."""
        everyone = all_rows(self._forest, self._inputs.case.adversary, data)
        known_by_row = self._inputs.knowledge is not None
        identity = identify_in_order(self._forest, everyone, known_by_row=known_by_row, timebox=limits.total)
        return identify_values(identity, self._forest, everyone, self._problem.extremes, limits.total)

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say which counts and thresholds it has not reached."""
        limit, remedy = limits.attack_limit()
        reasons: tuple[str, ...] = ()
        if reconstruction.status == "not converged":
            reasons = (limits.not_converged(off_by(reconstruction, "of the forest's counts and thresholds")),)
        elif reconstruction.cut_short:
            reasons = (
                f"the attack was stopped after {limit}, though there was more to find out, so a better one may get "
                f"closer; {remedy}",
            )
        return Shortfall(reasons)

    def _targets_unused(self) -> tuple[str, ...]:
        """Say what a regressor's leaves reveal besides which rows they hold, or how many of each target."""
        problem = self._problem
        if self._forest.unused is None or problem.rows_identified or problem.targets_used == 1:
            return ()
        if not problem.targets_used:
            return (self._forest.unused,)
        return (
            f"the mean targets of {1 - problem.targets_used:.1%} of its leaves are not used yet: an attacker who uses "
            "them gets closer",
        )

    def _thresholds_unused(self) -> tuple[str, ...]:
        """Say how many drawn thresholds reveal more than was read in them."""
        extremes = self._problem.extremes
        if extremes is None or extremes.decoded >= MOSTLY_DECODED * extremes.decodable:
            return ()
        return (
            f"the attack has decoded {extremes.decoded:,} of {extremes.decodable:,} random thresholds: whoever decodes "
            "more gets closer",
        )
