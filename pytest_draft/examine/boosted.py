"""The `Attack` on boosted trees: on all their sums, or where that cannot be on the numbers of rows alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.attack.boosted.counted import row_numbers
from pytest_draft.attack.boosted.rebuild import rebuild_boosted
from pytest_draft.attack.boosted.staged import known_amounts
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.search import Search
from pytest_draft.data import TrainingData
from pytest_draft.errors import DataError, InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.evaluate.identity import identify_boosted
from pytest_draft.examine.attack import Attack, Shortfall, off_by
from pytest_draft.examine.informed import InformedAttack
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import TimeLimits
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction

AttackOf = Callable[[Inputs, Search], Attack]
"""Makes an attack on exact numbers of rows."""


def of_row_numbers(inputs: Inputs) -> Inputs:
    """Return the inputs of an attack on the numbers of rows in boosted trees alone.

    Raises
    ------
    NotCoveredError
        Where they are known of no tree.
    """
    data, knowledge = inputs.data, inputs.knowledge
    if knowledge is not None:
        knowledge = replace(knowledge, labels=np.zeros_like(knowledge.labels))
    return replace(
        inputs,
        model=row_numbers(inputs.forest),
        data=None if data is None else _without_classes(data),
        knowledge=knowledge,
    )


def _without_classes(data: TrainingData) -> TrainingData:
    """Return training data of a model that tells no classes apart."""
    return replace(data, labels=np.zeros_like(data.labels))


class _Boosted(Attack):
    """What the attacks on boosted trees have in common."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs, self._forest = inputs, inputs.forest

    def identity(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Identity:
        """Compare with what the trees say of all rows: their order means nothing."""
        once = known_amounts(self._forest, data.n_rows)
        if once is None:  # thresholds say nothing where it is not known between whose values they lie
            once = np.zeros((self._forest.n_trees, data.n_rows), dtype=np.int64)
        return identify_boosted(self._forest, KnownRows(data.rows, data.labels, once), limits.total)


class InformedOfBoosted(_Boosted):
    """The attack of somebody who knows all rows but one, with counts in place of sums.

    Each sum leaves, given all other rows, what the one row adds: so the leaf and the class that counts tell.

    Raises
    ------
    InfeasibleError
        Where the rows are not those that the trees were trained on.
    """

    def __init__(self, inputs: Inputs, search: Search) -> None:
        super().__init__(inputs)
        if inputs.data is None:
            raise ValueError("nobody knows rows that are not given")
        counted = counted_by(inputs.forest, inputs.data.rows, inputs.data.labels)
        if counted is None:
            raise InfeasibleError
        self._attack = InformedAttack(replace(inputs, model=counted), search)

    def rebuild(self, search: Search) -> Reconstruction:
        """Rebuild each row from all others."""
        return self._attack.rebuild(search)

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say nothing: no search is left to end."""
        return Shortfall()


class RowNumbersAlone(_Boosted):
    """The attack on numbers of rows, where sums are not used.

    Parameters
    ----------
    inputs : Inputs
        Of boosted trees.
    attack : callable
        Makes the attack on their numbers of rows.
    why : str
        Why their sums are not used.
    """

    def __init__(self, inputs: Inputs, search: Search, attack: AttackOf, why: str) -> None:
        super().__init__(inputs)
        counted = of_row_numbers(inputs)
        self._why, self._n_counted = why, counted.forest.n_trees
        self._attack = attack(counted, search)
        self.notes = self._attack.notes
        self.any_size = self._attack.any_size

    def rebuild(self, search: Search) -> Reconstruction:
        """Rebuild rows without their labels."""
        return replace(self._attack.rebuild(search), labels=None)

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say what it has not reached, and what it does not use."""
        found = self._attack.shortfall(_without_classes(data), reconstruction, limits)
        of_trees = "in its leaves"
        if self._n_counted < self._forest.n_trees:
            of_trees = f"in the leaves of the first round ({self._n_counted:,} of {self._forest.n_trees:,} trees)"
        unused = (
            f"only the numbers of rows {of_trees} were used, and not the sums of gradients, {self._why}: "
            "whoever uses them gets closer"
        )
        return replace(found, reasons=(*found.reasons, unused))


class Unsearched(_Boosted):
    """No attack: what is measured of the file is what somebody gets who knows all other rows.

    Parameters
    ----------
    why : str
        Why no rows are searched for.
    """

    def __init__(self, inputs: Inputs, search: Search, why: str) -> None:
        super().__init__(inputs)
        self._why = f"{why}: whoever does gets closer"

    def rebuild(self, search: Search) -> Reconstruction:
        """Say that there is none."""
        raise OutOfTimeError(self._why)

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say why there is none."""
        return Shortfall((self._why,))


class BoostedAttack(_Boosted):
    """The attack on all that the trees say; on numbers of rows alone where the domain is too large for it.

    Parameters
    ----------
    inputs : Inputs
        Of boosted trees whose columns hold few values, for an adversary without side knowledge.
    search : Search
        Not used.
    otherwise : callable
        Returns the attack on numbers of rows alone, by why it is not covered.

    Raises
    ------
    DataError
        Where the file does not say of how many rows it was made, nor do given data.
    NotCoveredError
        Where the adversary does not know it.
    """

    def __init__(self, inputs: Inputs, search: Search, otherwise: Callable[[str, Search], Attack]) -> None:
        super().__init__(inputs)
        self._otherwise = otherwise
        n_rows = self._forest.n_samples
        if n_rows is None:
            if Adversary.parse(inputs.case.adversary).size_unknown:
                raise NotCoveredError(
                    "the file does not tell the number of training rows, and an adversary who does not know it is not "
                    "covered yet: judge the file with the adversary 'artifact'"
                )
            if inputs.n_rows is None:
                raise DataError("the file does not tell how many training rows there were: add --draft-data")
            n_rows, self.granted = inputs.n_rows, ("number of training rows",)
        self._n_rows = n_rows
        self._instead: Attack | None = None

    def rebuild(self, search: Search) -> Reconstruction:
        """Solve the equations that the trees are."""
        try:
            return rebuild_boosted(self._forest, self._inputs.domain, self._n_rows, search)
        except NotCoveredError as error:
            self._instead = self._otherwise(str(error), search)
        return self._instead.rebuild(search)

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say what it has not reached."""
        if self._instead is not None:
            return self._instead.shortfall(data, reconstruction, limits)
        limit, remedy = limits.attack_limit()
        reasons: tuple[str, ...] = ()
        if reconstruction.status == "not converged":
            reasons = (limits.not_converged(off_by(reconstruction, "of the sums and counts in the file")),)
        elif reconstruction.cut_short:
            reasons = (f"the attack was stopped after {limit}, so a better one may get closer; {remedy}",)
        if self._forest.classes is None:
            reasons += (
                f"the attack does not use the targets behind the sums of a {self._forest.kind} yet: whoever does gets "
                "closer",
            )
        return Shortfall(reasons)
