"""What the attacker knows besides the domain: `Groups` of rows, by the adversary's name and the data.

An adversary is written as a name, with side knowledge behind it: ``artifact+columns:age,sex``,
``published+rows:25%``, ``artifact+informed``. Side knowledge is the one way by which the truth enters an attack, so
all of it goes through one object, `Knowledge`, and is listed in `Knowledge.granted`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.occurrences import lacks_seeds, occurrences
from pytest_draft.attack.groups import Groups, KnownRows, group_by_occurrences, split_by_values
from pytest_draft.attack.private.noisy_counts import NoisyProblem, build_noisy
from pytest_draft.attack.walk.problem import indices_of
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import DataError, NotCoveredError, UsageError, one_line
from pytest_draft.facts.adversary import Adversary
from pytest_draft.timebox import TimeBox

MOST_INFORMED_ROWS = 100
"""Most rows that are taken as the unknown one of an informed adversary; of more rows a sample is."""


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """What an adversary is granted of the training data. Its repr shows no row."""

    attributes: tuple[int, ...]
    """Positions, among the domain's, of the attributes that are known in every row."""
    columns: tuple[int, ...]
    """Their encoded columns."""
    values: NDArray[np.float32]
    """Shape (n_rows, len(columns)). What every training row holds there."""
    known: IntArray
    """Shape (n_known,). Positions of the training rows that are known whole; all of them when `informed`."""
    rows: NDArray[np.float32]
    """Shape (n_known, n_columns)."""
    labels: IntArray
    """Shape (n_known,)."""
    unknown: IntArray
    """Shape (n_unknown,). Positions of the rows to rebuild, ascending; when `informed`, each by itself, with all others
    known.
    """
    informed: bool
    granted: tuple[str, ...]
    """All of this in words: names and numbers only."""

    def __repr__(self) -> str:
        return f"Knowledge({'; '.join(self.granted)})"


def grant(adversary: Adversary, data: TrainingData, domain: Domain, forest: Forest, seed: int) -> Knowledge | None:
    """Take an adversary's side knowledge from the training data.

    Parameters
    ----------
    seed : int
        Draws the attributes and the rows, where only their number is given. A larger number keeps what a smaller
        one has drawn, so that a seed's adversaries know more and more.

    Returns
    -------
    Knowledge or None
        None without side knowledge.

    Raises
    ------
    UsageError
        Where an attribute is not in the domain, or nothing would be left to rebuild.
    DataError
        Where the forest was trained on another number of rows, or the domain excludes a value that is to be known.
    """
    if not adversary.has_side_knowledge:
        return None
    n_rows = data.n_rows
    if forest.n_samples is not None and forest.n_samples != n_rows:
        raise DataError(f"{forest.trained_on}, and the data have {n_rows:,}")
    attributes = _known_attributes(adversary, domain, np.random.default_rng([seed, 11]))
    columns = tuple(column for a in attributes for column in domain.attributes[a].columns)
    outside = domain.outside(data.rows.astype(np.float64))
    for attribute in domain.attributes if adversary.informed else [domain.attributes[a] for a in attributes]:
        if attribute.name in outside:
            raise DataError(
                f"the domain of {one_line(domain.source)} excludes {outside[attribute.name]:,} training rows by "
                f"attribute {one_line(attribute.name)!r}, which the adversary knows: correct the domain"
            )
    known, unknown = _known_rows(adversary, n_rows, np.random.default_rng([seed, 12]))
    granted = []
    if attributes:
        names = ", ".join(one_line(domain.attributes[a].name) for a in attributes)
        granted.append(f"values of {len(attributes)} of {len(domain.attributes)} attributes in every row: {names}")
    if adversary.informed:
        granted.append(
            f"all rows but one, with their labels: {len(unknown):,} of {n_rows:,} rows each taken as the one"
        )
    elif len(known):
        granted.append(f"{len(known):,} of {n_rows:,} rows, with their labels")
    return Knowledge(
        attributes,
        columns,
        data.rows[:, list(columns)],
        known,
        data.rows[known],
        data.labels[known],
        unknown,
        adversary.informed,
        tuple(granted),
    )


def _known_attributes(adversary: Adversary, domain: Domain, rng: np.random.Generator) -> tuple[int, ...]:
    """Return the positions of the known attributes, ascending."""
    n_attributes = len(domain.attributes)
    if isinstance(adversary.columns, int):
        known = rng.permutation(n_attributes)[: adversary.columns].tolist()
    else:
        known = [_position(domain.attributes, domain.columns, name) for name in adversary.columns]
    if len(known) >= n_attributes:
        raise UsageError(f"side knowledge 'columns': at least one of the {n_attributes:,} attributes must stay unknown")
    return tuple(sorted(known))


def _position(attributes: tuple[Attribute, ...], columns: tuple[str, ...], name: str) -> int:
    """Return the position of the attribute of a name."""
    found = [a for a, attribute in enumerate(attributes) if attribute.name == name]
    if len(found) == 1:
        return found[0]
    shown = f"side knowledge 'columns': {one_line(name)!r}"
    if found:
        raise UsageError(f"{shown} is the name of {len(found)} attributes; give them different names in a domain file")
    if name in columns:
        owner = next(attribute for attribute in attributes if columns.index(name) in attribute.columns)
        raise UsageError(f"{shown} is a column of attribute {one_line(owner.name)!r}; name the attribute")
    known = ", ".join(one_line(attribute.name, 60) for attribute in attributes)
    raise UsageError(f"{shown} is no attribute of the domain; known are: {one_line(known)}")


def _known_rows(adversary: Adversary, n_rows: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return the positions of the rows that are known and of those to rebuild, ascending."""
    order = rng.permutation(n_rows).astype(np.int64)
    if adversary.informed:
        if n_rows < 2:
            raise UsageError("side knowledge 'informed' needs at least 2 training rows")
        return np.arange(n_rows, dtype=np.int64), np.sort(order[:MOST_INFORMED_ROWS])
    n_known = adversary.rows or round(n_rows * adversary.percent / 100)
    if n_known >= n_rows:
        raise UsageError(f"side knowledge 'rows': at least one of the {n_rows:,} training rows must stay unknown")
    if adversary.percent and not n_known:
        raise UsageError(f"side knowledge 'rows': {adversary.percent:g}% of {n_rows:,} training rows is none")
    return np.sort(order[:n_known]), np.sort(order[n_known:])


def exchangeable_groups(
    forest: Forest, adversary: str, knowledge: Knowledge | None = None, timebox: TimeBox | None = None
) -> Groups:
    """Return the sets of rows that the adversary cannot tell apart.

    Parameters
    ----------
    knowledge : Knowledge or None
        Its side knowledge.
    timebox : TimeBox or None
        Looked at from tree to tree, if any.

    Returns
    -------
    Groups
        Of the rows to rebuild. When informed, with no known rows: each row has others.

    Raises
    ------
    NotCoveredError
        Where the file lacks what the replay of its seeds needs, or rows were drawn with chances that are not known.
    OutOfTimeError
    """
    in_time = None if timebox is None else timebox.require
    weight = known_occurrences(forest, adversary, in_time)
    known = knows_occurrences(forest, adversary)
    if knowledge is None:
        return replace(group_by_occurrences(weight), draws_known=known)
    groups = replace(group_by_occurrences(weight[:, knowledge.unknown]), draws_known=known)
    if knowledge.columns:
        values = knowledge.values[knowledge.unknown]
        groups = split_by_values(groups, knowledge.attributes, knowledge.columns, values)
    if len(knowledge.known) and not knowledge.informed:
        groups = replace(groups, known=known_rows(forest, adversary, knowledge))
    return groups


def known_rows(forest: Forest, adversary: str, knowledge: Knowledge) -> KnownRows:
    """Return the rows that are known whole, with their occurrences; all rows when informed.

    Raises
    ------
    NotCoveredError
        As `exchangeable_groups`.
    """
    return KnownRows(knowledge.rows, knowledge.labels, known_occurrences(forest, adversary)[:, knowledge.known])


def all_rows(forest: Forest, adversary: str, data: TrainingData) -> KnownRows:
    """Return all rows, with how often each tree saw them as far as the adversary knows.

    Raises
    ------
    NotCoveredError
        As `exchangeable_groups`.
    """
    return KnownRows(data.rows, data.labels, known_occurrences(forest, adversary))


def known_occurrences(forest: Forest, adversary: str, in_time: Callable[[], None] | None = None) -> IntArray:
    """Return how often each tree saw each row, as far as the adversary knows, shape (n_trees, n_rows).

    Parameters
    ----------
    in_time : callable or None
        Called before each tree is replayed; it can raise `OutOfTimeError`.

    Raises
    ------
    NotCoveredError
        As `exchangeable_groups`.
    """
    if knows_occurrences(forest, adversary):
        return occurrences(forest, in_time)
    if forest.n_samples is None:
        raise NotCoveredError("the file does not tell the number of training rows; without it nothing is covered yet")
    if forest.draws.uneven:
        raise NotCoveredError(
            "rows were drawn with unequal chances, and an adversary who does not know which is not covered yet"
        )
    return np.ones((forest.n_trees, forest.n_samples), dtype=np.int64)


def noisy_problem(
    forest: Forest, domain: Domain, adversary: str, knowledge: Knowledge | None, n_rows: int | None
) -> NoisyProblem:
    """Return what an adversary knows of the rows behind noisy counts.

    Parameters
    ----------
    forest : Forest
        Releases noisy counts.
    knowledge : Knowledge or None
        Not of an informed adversary.
    n_rows : int or None
        The number of training rows, where it is known to anybody.

    Returns
    -------
    NoisyProblem
        With a slot for each training row, in their order; without `n_rows`, or for an adversary that doesn't know it,
        with slots for as many as there can be.
    """
    if n_rows is None or Adversary.parse(adversary).size_unknown:
        n_rows, size_known = 0, False
    else:
        size_known = True
    value = np.full((n_rows, len(domain.attributes)), -1, dtype=np.int32)
    label = np.full(n_rows, -1, dtype=np.int64)
    if knowledge is not None:
        if domain.outside(knowledge.rows.astype(np.float64)):
            raise DataError(
                f"the domain of {one_line(domain.source)} excludes rows that the adversary knows: correct the domain"
            )
        if knowledge.attributes:
            rows = np.zeros((n_rows, domain.n_columns), dtype=np.float32)
            rows[:, list(knowledge.columns)] = knowledge.values
            value = indices_of(domain, None, rows, knowledge.attributes)
        value[knowledge.known] = indices_of(domain, None, knowledge.rows)
        label[knowledge.known] = knowledge.labels
    return build_noisy(forest, domain, value, label, size_known=size_known)


def without_seeds(forest: Forest, adversary: str) -> bool:
    """Return whether an adversary would use seeds that the file lacks, and has to do without the occurrences."""
    return Adversary.parse(adversary).name != "published" and lacks_seeds(forest)


def knows_occurrences(forest: Forest, adversary: str) -> bool:
    """Return whether an adversary knows how often each tree saw each row, if only by the seeds."""
    return not forest.draws.drawn or not (Adversary.parse(adversary).name == "published" or lacks_seeds(forest))
