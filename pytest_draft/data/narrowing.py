"""A declared domain beside the training data: what the two together grant the adversary.

A domain file can only ever add to what the adversary knows. Were it taken as it stands, one that allows values which
never occur would hide a leak: the attack would look for them, and errors and baselines alike would shrink with the
wider range. A policy that names the file by its hash vouches for it; then it is taken as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import Rows
from pytest_draft.domain import Attribute, Domain, infer


@dataclass(frozen=True)
class Narrowed:
    """What is granted, and what had to be narrowed for it."""

    domain: Domain
    widened: tuple[str, ...]
    """Declared attributes that allow values which no training row has, by name."""


def narrowed(declared: Domain, inferred: Domain, rows: Rows) -> Narrowed:
    """Return a declared domain without what is known not to occur.

    Declared one-hot groups stay; an attribute of one column is what is inferred from it, within what is declared.

    Parameters
    ----------
    declared : Domain
        It excludes none of the rows.
    inferred : Domain
        From the rows, with indicators in place of any two values.
    rows : ndarray of float32, shape (n_rows, n_columns)
        The training rows, with indicators.
    """
    groups = [attribute for attribute in declared.attributes if attribute.kind == "one-hot"]
    held = {column for group in groups for column in group.columns}
    named = {attribute.columns[0]: attribute for attribute in declared.attributes if attribute.kind != "one-hot"}
    attributes, widened = list(groups), []
    for found in inferred.attributes:
        own = [column for column in found.columns if column not in held]
        if len(own) > 1 and len(own) == len(found.columns):
            attributes.append(found)
            widened += [named[column].name for column in own if _allows_more(named[column], 2)]
            continue
        for column in own:
            single = found
            if len(found.columns) > 1:  # what a declared group has left of an inferred one
                alone = infer((declared.columns[column],), rows[:, [column]].astype(np.float64)).attributes[0]
                single = replace(alone, columns=(column,))
            attributes.append(_within(named[column], single))
            if single.kind != "numeric" and _allows_more(named[column], single.n_states):
                widened.append(named[column].name)
    attributes.sort(key=lambda attribute: attribute.columns)
    source = f"{declared.source}, and the training data where they tell more"
    return Narrowed(Domain(declared.columns, tuple(attributes), source), tuple(dict.fromkeys(widened)))


def _within(declared: Attribute, inferred: Attribute) -> Attribute:
    """Return an attribute of one column that allows what both allow, by its declared name."""
    if inferred.kind == "numeric" and declared.kind == "ordinal":  # both hold all values that occur
        if declared.values is None:
            return replace(declared, low=inferred.low, high=inferred.high, missing=inferred.missing)
        inside = [value for value in declared.values if inferred.low <= np.float32(value) <= inferred.high]
        return Attribute.coded(declared.name, declared.columns[0], inside, inferred.missing)
    return replace(inferred, name=declared.name)


def _allows_more(declared: Attribute, n_states: int) -> bool:
    """Return whether a declared attribute of one column allows more than so many values."""
    return declared.kind == "numeric" or declared.n_states > n_states
