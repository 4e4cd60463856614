"""Chooses the kind of `Attack` that covers the `Inputs`.

It goes by the class of the forest's observation: a new one adds its attack beside this file, and a function here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, singledispatch

from pytest_draft.artifact.forest.observations import (
    Answers,
    BoostedSums,
    NodeCounts,
    Observation,
    ReleasedCounts,
    ReleasedLabels,
)
from pytest_draft.artifact.forest.together import ForestOfSeveral
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.enumeration import TooManyError
from pytest_draft.attack.numeric.enumerated import enumerate_states
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.search import Search
from pytest_draft.errors import NotCoveredError
from pytest_draft.examine.attack import Attack
from pytest_draft.examine.boosted import (
    BoostedAttack,
    InformedOfBoosted,
    RowNumbersAlone,
    Unsearched,
    of_row_numbers,
)
from pytest_draft.examine.counted import Counted, CountedStates
from pytest_draft.examine.informed import InformedAttack
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import ATTACK_SHARE, NUMERIC_SHARE
from pytest_draft.examine.numeric import NumericAttack
from pytest_draft.examine.private import Labels, NoisyCounts, NoisyCountsAlone
from pytest_draft.examine.stripped import Stripped
from pytest_draft.knowledge import knows_occurrences


@dataclass(frozen=True)
class Kind:
    """A kind of attack."""

    attack: Callable[[Inputs, Search], Attack]
    """Makes it of `Inputs` and a search for what can only be built by searching."""
    share: float = ATTACK_SHARE
    """Share of the time box after which it must have ended."""


def kind_of(inputs: Inputs) -> Kind:
    """Return the kind of attack for what was read.

    Raises
    ------
    NotCoveredError
        Where there is none.
    """
    if isinstance(inputs.model, RuleList):
        raise NotCoveredError(
            "there is no attack on rule lists: judge this one with --draft-policy interpretable, which needs none"
        )
    if all(attribute.low == attribute.high for attribute in inputs.domain.attributes):
        raise NotCoveredError(
            "all training rows are equal, so there is nothing to rebuild: what a row can be follows from them alone; "
            "give all rows that it was trained on, or name a domain file by its hash in the policy (domain_sha256)"
        )
    if isinstance(inputs.model, ForestOfSeveral) and not inputs.model.searched:
        return Kind(partial(Unsearched, why="no attack searches for rows by sums in several files"))
    return kind_by(inputs.model.observation, inputs)


@singledispatch
def kind_by(observation: Observation, inputs: Inputs) -> Kind:
    """Return the kind of attack for what the leaves of a forest say, by its class; a new one is registered here.

    Raises
    ------
    NotCoveredError
        Where there is none.
    """
    raise NotCoveredError("there is no attack yet on what its leaves say")


@kind_by.register
def _(observation: NodeCounts, inputs: Inputs) -> Kind:
    forest, informed = inputs.forest, _is_informed(inputs)
    if not knows_occurrences(forest, inputs.case.adversary):
        return Kind(Stripped)
    if not is_numeric(inputs.domain):
        return Kind(InformedAttack if informed else partial(_listed, Counted))
    if forest.draws.drawn and forest.distinct is None:
        raise NotCoveredError(
            "the file does not hold the numbers of different rows: without them, numeric columns are not covered yet"
        )
    if informed:
        return Kind(InformedAttack)
    numbered = enumerate_states(forest, inputs.domain)
    if numbered is not None:
        return Kind(partial(_listed, partial(CountedStates, numbered=numbered)))
    return Kind(NumericAttack, NUMERIC_SHARE if inputs.is_small else ATTACK_SHARE)


def _listed(kind: Callable[[Inputs, Search], Attack], inputs: Inputs, search: Search) -> Attack:
    """Return the attack on all that rows can be or, where that is more than can be listed, on the rows themselves."""
    try:
        return kind(inputs, search)
    except TooManyError:
        return NumericAttack(inputs, search)


@kind_by.register
def _(observation: BoostedSums, inputs: Inputs) -> Kind:
    tuned = observation.unknown is not None or observation.class_weight is not None or inputs.forest.draws.drawn
    if tuned and (_is_informed(inputs) or inputs.knowledge is not None):
        raise NotCoveredError("boosted trees with weights or draws of rows are not covered with side knowledge yet")
    if tuned:
        return _of_row_numbers_if_known(inputs)
    if _is_informed(inputs):
        return Kind(InformedOfBoosted)
    if inputs.knowledge is not None:
        return _of_row_numbers(inputs, "which is not covered with side knowledge")
    if is_numeric(inputs.domain):
        return _of_row_numbers(inputs, "which is not covered with numeric columns yet")

    def otherwise(why: str, search: Search) -> Attack:
        return _of_row_numbers(inputs, f"as {why}").attack(inputs, search)

    return Kind(partial(BoostedAttack, otherwise=otherwise))


def _of_row_numbers(inputs: Inputs, why: str) -> Kind:
    """Return the attack on the numbers of rows in boosted trees alone."""
    counted = of_row_numbers(inputs)
    kind = kind_by(counted.forest.observation, counted)
    return replace(kind, attack=partial(RowNumbersAlone, attack=kind.attack, why=why))


def _of_row_numbers_if_known(inputs: Inputs) -> Kind:
    """Return the attack on numbers of rows, or none where it is not known which rows these are."""
    if (unknown := inputs.forest.observation.unknown) is not None:  # type: ignore[attr-defined]
        return Kind(partial(Unsearched, why=f"no attack searches for rows by sums without {unknown}"))
    try:
        return _of_row_numbers(inputs, "which is not covered with weights or draws of rows yet")
    except NotCoveredError:
        return Kind(partial(Unsearched, why="no attack searches for rows by weighted sums"))


@kind_by.register
def _(observation: Answers, inputs: Inputs) -> Kind:
    if inputs.forest.draws.may_scale(inputs.forest.sklearn_minor):
        raise NotCoveredError(
            "class weights have scaled the shares in its leaves, and a file without counts does not tell by how much"
        )
    return Kind(Stripped)


@kind_by.register
def _(observation: ReleasedCounts, inputs: Inputs) -> Kind:
    return Kind(NoisyCountsAlone if _is_informed(inputs) else NoisyCounts)


@kind_by.register
def _(observation: ReleasedLabels, inputs: Inputs) -> Kind:
    return Kind(Labels)


def _is_informed(inputs: Inputs) -> bool:
    return inputs.knowledge is not None and inputs.knowledge.informed
