"""The problem behind a file without counts: the forest, its domain, and the values that the adversary knows.

Numeric columns stand for the intervals between their thresholds, which no tree tells apart.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers
from pytest_draft.attack.enumeration import parted_at_gaps
from pytest_draft.attack.evidence.evidence import model_of
from pytest_draft.attack.numeric.enumerated import number_states
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.states import States
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError

MOST_TIMES_LEAST = 4
"""Where the number of rows is not known, at most so many times the least that the leaves allow are looked for."""


def states_in(forest: Forest, domain: Domain) -> tuple[Forest, Domain, States | None]:
    """Return forest and domain with numbers of states in place of numeric values, and the states, where there are any.

    Raises
    ------
    NotCoveredError
        Where values may be missing.
    """
    if any(attribute.missing for attribute in domain.attributes):
        raise NotCoveredError("its file holds no counts, and values may be missing: not covered yet")
    if not is_numeric(domain):
        return forest, domain, None
    if any(domain.attributes[domain.attribute_of_column[c]].kind == "numeric" for c in forest.observation.reads):
        raise NotCoveredError("its leaves tell of values of numeric columns: not covered yet")
    numbered = number_states(forest, domain)
    return numbered.forest, numbered.domain, numbered.states


def with_gaps(forest: Forest, domain: Domain) -> Forest:
    """Return the forest whose leaves are said to hold rows: where draws are counted, gaps of codes are leaves, too."""
    return forest if isinstance(forest.observation, Answers) else parted_at_gaps(forest, domain)


def build_stripped(
    forest: Forest,
    domain: Domain,
    n_rows: int | None,
    known_value: Int32Array | None = None,
    known_label: IntArray | None = None,
) -> RowProblem:
    """Return the problem of a forest whose file holds no counts.

    Parameters
    ----------
    forest : Forest
        With `Answers`.
    n_rows : int or None
        Number of training rows; None where the adversary does not know it.
    known_value, known_label : ndarray or None
        What is known of each row, as in `RowProblem`; None for nothing.

    Raises
    ------
    NotCoveredError
        As `model_of`, and where values may be missing.
    """
    walked, numbered, states = states_in(with_gaps(forest, domain), domain)
    if n_rows is not None:
        bounds = (n_rows, n_rows)
    else:
        least = least_rows(forest)
        n_known = 0 if known_value is None else int((known_value >= 0).all(axis=1).sum())
        least = max(least, n_known + 1)
        bounds = (least, MOST_TIMES_LEAST * least)
    model = model_of(walked, numbered, *bounds)
    value = np.full((bounds[1], len(domain.attributes)), -1, dtype=np.int32)
    label = np.full(bounds[1], -1, dtype=np.int64)
    if known_value is not None and known_label is not None:
        value[: len(known_value)], label[: len(known_label)] = known_value, known_label
    return RowProblem(domain, states, model, value, label, bounds)


def least_rows(forest: Forest) -> int:
    """Return how many rows (with bootstrap: draws) there are at least: one for each leaf of the largest tree."""
    return max(len(tree.leaves) for tree in forest.trees)
