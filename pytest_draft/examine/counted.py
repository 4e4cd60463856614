"""The `Attack` on forests that publish counts of their rows or draws.

Of columns that can be enumerated, and of numeric ones with so few thresholds that their states can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.large_domains.candidates import build_any
from pytest_draft.attack.numeric.enumerated import Enumerated
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.refit import evidence_by_refitting
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.attack.target_classes import TargetCounts, target_counts
from pytest_draft.attack.untested_values import Choices
from pytest_draft.data import TrainingData
from pytest_draft.evaluate.identity import identify, identify_granted, identify_values
from pytest_draft.examine.attack import WITHOUT_SEEDS, Attack, Shortfall, off_by
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import IDENTITY_SHARE, TimeLimits
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import all_rows, exchangeable_groups, without_seeds


class Counted(Attack):
    """The attack on counts.

    Parameters
    ----------
    inputs : Inputs
        Of a forest with exact counts.
    search : Search
        For what can only be built by searching.
    """

    def __init__(self, inputs: Inputs, search: Search) -> None:
        self._inputs, self._forest = inputs, inputs.forest
        self._targets: TargetCounts | None = None
        self._problem = self._build(search)
        if self._targets is None:
            self.unused = () if self._forest.unused is None else (self._forest.unused,)
            self.exact = self._problem
        if without_seeds(self._forest, inputs.case.adversary):
            self.notes = (WITHOUT_SEEDS,)

    def _build(self, search: Search) -> Problem:
        """Return what the forest says of its rows."""
        forest, inputs = self._forest, self._inputs
        groups = exchangeable_groups(forest, inputs.case.adversary, inputs.knowledge, search.timebox)
        return build_any(self._counted(forest, groups), inputs.domain, groups, search)

    def _counted(self, forest: Forest, groups: Groups) -> Forest:
        """Return a regressor whose leaves show how many of each target they hold as the classifier that it then is."""
        knowledge = self._inputs.knowledge
        if groups.known is not None or (knowledge is not None and knowledge.informed):
            return forest  # the targets of known rows are not known
        targets = target_counts(forest, groups.weight)
        if targets is None or not targets.complete:
            return forest
        self._targets = targets
        return targets.classifier(forest)

    def rebuild(self, search: Search) -> Reconstruction:
        """Solve for cells; seeds, where they are known, tell datasets apart."""
        rebuilt = self._solve(search)
        if self._targets is not None and rebuilt.labels is not None:  # its classes were targets
            rebuilt = replace(rebuilt, labels=np.zeros_like(rebuilt.labels))
        return rebuilt

    def _solve(self, search: Search) -> Reconstruction:
        problem = self._problem
        forest = self._forest if self._targets is None else self._targets.classifier(self._forest)
        seeds_known = Adversary.parse(self._inputs.case.adversary).name == "artifact"
        evidence = evidence_by_refitting(forest, problem.groups) if seeds_known else None
        return reconstruct(problem, search, evidence, Choices.of(forest, problem, seeds_known=seeds_known))

    def identity(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Identity:
        """Compare with the counts: in any order, or row by row where the adversary knows some of them."""
        inputs, forest = self._inputs, self._forest
        box = limits.box(IDENTITY_SHARE)
        if inputs.knowledge is None:
            search = Search(box, inputs.case.seed, inputs.case.workers)
            problem = self._problem if self._targets is None else self._problem.without_classes()
            found = identify(forest, problem, data, reconstruction, search)
        else:
            everyone = all_rows(forest, inputs.case.adversary, data)
            found = identify_granted(forest, everyone, limits.total)
        found = self._by_thresholds(found, data, limits)
        limits.note_clock(box, "identity check")
        return found

    def _by_thresholds(self, identity: Identity, data: TrainingData, limits: TimeLimits) -> Identity:
        """Return an identity by counts, which is all that thresholds between codes reveal."""
        return identity

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say which counts it has not reached."""
        limit, remedy = limits.attack_limit()
        reasons: tuple[str, ...] = ()
        if reconstruction.status == "not converged":
            reasons += (limits.not_converged(off_by(reconstruction, "of the forest's counts")),)
        elif reconstruction.cut_short:
            reasons += (f"the attack was stopped after {limit}, so a better one may get closer; {remedy}",)
        return Shortfall(reasons)


class CountedStates(Counted):
    """The same for numeric columns with few thresholds: solved for states, which are decoded to values."""

    def __init__(self, inputs: Inputs, search: Search, numbered: Enumerated) -> None:
        self._numbered = numbered
        super().__init__(inputs, search)
        self.exact = None  # thresholds reveal more than counts

    def _build(self, search: Search) -> Problem:
        inputs, numbered = self._inputs, self._numbered
        self._groups = exchangeable_groups(self._forest, inputs.case.adversary, inputs.knowledge, search.timebox)
        groups = numbered.groups(self._groups)
        return build_any(self._counted(numbered.forest, groups), numbered.domain, groups, search)

    def _solve(self, search: Search) -> Reconstruction:
        """Solve for states, and fill in values."""
        return self._numbered.decoded(reconstruct(self._problem, search), self._groups)

    def _by_thresholds(self, identity: Identity, data: TrainingData, limits: TimeLimits) -> Identity:
        """Return an identity by the values that midpoints lie between, too."""
        everyone = all_rows(self._forest, self._inputs.case.adversary, data)
        return identify_values(identity, self._forest, everyone, timebox=limits.total)
