"""Other datasets that explain a file as well as the true rows do: in go these, out come samples and figures of them.

Somebody who knows in which leaf of each tree every row lies, all values that leaves tell of, and on which values a
midpoint or a decoded extreme rests, knows no less than whoever has the file. What they lack of each row is a box
(`pytest_draft.ambiguity.bits`), and no box depends on another row's: however all are filled, the file is explained. So
rows are drawn from their boxes one by one, as likely as a prior has them, and each dataset is independent of the truth
and of all others but for the boxes. No guess is expected to come closer to these than `pytest_draft.ambiguity.bounds`
says, and nobody can tell which is true.

Without counts the true rows determine them. Where nobody knows the draws, all rows count in all trees: rows that stay
in their leaves leave what these say as it is, whichever were drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from pytest_draft.ambiguity.bits import cell_bits, open_states
from pytest_draft.ambiguity.bounds import kept
from pytest_draft.ambiguity.counted import counted_by, in_all_trees
from pytest_draft.ambiguity.explained import ExplainedRows, explained
from pytest_draft.ambiguity.gaps import thresholds_only_mark_gaps
from pytest_draft.ambiguity.population import Population, RowKinds, fitted, row_kinds, uniform
from pytest_draft.ambiguity.sampled import Sampled, facts_of
from pytest_draft.ambiguity.values import StateValues
from pytest_draft.arrays import BoolArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.informed.gaps import ends_of_gaps
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.facts.ambiguity import Ambiguity, Prior
from pytest_draft.timebox import TimeBox

MOST_MOVING = 500
"""Of more rows than this, about so many are drawn anew, in neighbourhoods of `NEIGHBOURHOOD` rows: so close together
that each can be matched to about as many as among all rows. All others are as they are, and whoever guesses knows them.
"""

NEIGHBOURHOOD = 25

LEAST_SAMPLES = 4
"""With fewer samples nothing is known. The fewer there are, the better the best guess fits them: on the safe side."""


@dataclass(frozen=True, eq=False, repr=False)
class Alternatives:
    """Other datasets, and figures of them. Its repr shows no row."""

    sampled: tuple[Sampled, ...]
    facts: Ambiguity

    def __repr__(self) -> str:
        return f"Alternatives({', '.join(map(repr, self.sampled))})"


def alternatives_to(
    forest: Forest,
    domain: Domain,
    rows: Rows,
    labels: IntArray,
    times: IntArray | None,
    seed: int,
    timebox: TimeBox,
    *,
    unknown: IntArray,
    known: Sequence[int] = (),
    extremes: Extremes | None = None,
    others: Rows | None = None,
) -> Alternatives | None:
    """Draw other datasets that explain a file.

    Parameters
    ----------
    forest : Forest
        With counts, or with `Answers`.
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    labels : ndarray of int64, shape (n_rows,)
    times : ndarray of int64, shape (n_trees, n_rows), or None
        How often each tree saw each row; None where the file does not say.
    unknown : ndarray of int64, shape (n_unknown,)
        The rows that are to be rebuilt; the adversary knows the others whole.
    known : sequence of int
        Attributes that it knows in every row.
    extremes : Extremes or None
        Of the nodes of random splits.
    others : ndarray of float32, shape (n_others, n_columns), or None
        Rows of the population that were not trained on.

    Returns
    -------
    Alternatives or None
        None where the true rows, in their order, do not explain the file, and where it is not known what it reveals: of
        numeric columns with bootstrap whose thresholds lie midway between values of rows that were drawn, and of counts
        of a regressor's draws.

    Raises
    ------
    OutOfTimeError
        Where the time does not suffice for `LEAST_SAMPLES`.
    """
    among_rows = times is None and forest.draws.drawn and forest.classes is not None
    if times is None:
        counted = _with_counts(forest, domain, rows, labels, timebox)
        if counted is None:
            return None
        forest, times = counted, np.ones((forest.n_trees, len(rows)), dtype=np.int64)
    known_rows = np.setdiff1d(np.arange(len(rows)), unknown)
    truth = explained(forest, domain, rows, labels, times, known, known_rows, extremes, timebox.require)
    if truth is None:
        return None
    states, state = truth.states, truth.state.astype(np.int64)
    at_gap = ends_of_gaps(forest, domain, rows)
    if forest.told is not None:
        at_gap[:, list(forest.told.reads)] = True
    fixed = [truth.fixed[:, a] | at_gap[:, list(one.columns)].any(axis=1) for a, one in enumerate(domain.attributes)]
    truth = replace(truth, fixed=np.column_stack(fixed))
    moving = _moving(truth, unknown, seed)
    with timebox.flag() as stop:
        inside = open_states(truth, moving, stop)
    if inside is None:
        raise OutOfTimeError
    seen = np.empty((0, state.shape[1]), dtype=np.int64) if others is None else states.of_rows(others)
    seen = seen[(seen >= 0).all(axis=1)]
    priors: dict[Prior, Population | RowKinds] = {
        "population": fitted(states, state, seed, seen),
        "uniform": uniform(states, len(rows)),
    }
    if among_rows:
        priors["other rows"] = row_kinds(states, state, labels, forest.n_classes, seed, seen)
    values = StateValues.behind(truth, rows, forest, extremes, timebox)
    sampled = _sampled(truth, priors, values, moving, inside, seed, timebox)
    unchanged = float((inside.sum(axis=1) == state.shape[1]).mean())
    facts = facts_of(sampled, domain, rows, cell_bits(truth, moving, inside), unchanged, timebox)
    return Alternatives(sampled, facts)


def _with_counts(forest: Forest, domain: Domain, rows: Rows, labels: IntArray, timebox: TimeBox) -> Forest | None:
    """Return a forest with counts that tell no less than a file that does not say what its trees drew."""
    known = not forest.observation.exact  # which the true rows determine, if each is in each tree
    if known and not forest.draws.drawn:
        return counted_by(forest, rows, labels, timebox)
    if is_numeric(domain) and not thresholds_only_mark_gaps(forest, domain, rows):
        return None
    if forest.classes is not None:
        return in_all_trees(forest, domain, rows, labels, timebox)
    return counted_by(forest, rows, labels, timebox) if known else None


def _moving(truth: ExplainedRows, unknown: IntArray, seed: int) -> IntArray:
    """Return the rows that are drawn anew: all, or neighbourhoods of some.

    Neighbours are of one label, and near by the places of their states.
    """
    if len(unknown) <= MOST_MOVING:
        return unknown
    size = truth.states.n_states.astype(np.float64)
    points = truth.state[unknown] / np.maximum(size - 1, 1)
    grouped = np.array([attribute.kind == "one-hot" for attribute in truth.domain.attributes])
    spread = [points[:, ~grouped], truth.label[unknown][:, None] * 1e3]
    spread += [np.eye(int(size[a]))[truth.state[unknown, a]] / 2 for a in np.flatnonzero(grouped).tolist()]
    points = np.column_stack(spread)
    rng = np.random.default_rng([seed, 63])
    anchors = rng.choice(len(unknown), MOST_MOVING // NEIGHBOURHOOD, replace=False)
    _, near = cKDTree(points).query(points[anchors], k=NEIGHBOURHOOD, p=1)
    moving: IntArray = unknown[np.unique(near)]
    return moving


def _sampled(
    truth: ExplainedRows,
    priors: Mapping[Prior, Population | RowKinds],
    values: StateValues,
    moving: IntArray,
    inside: BoolArray,
    seed: int,
    timebox: TimeBox,
) -> tuple[Sampled, ...]:
    """Return datasets with all their values, under each prior as many."""
    rngs = {name: np.random.default_rng([seed, 64, len(name)]) for name in priors}
    datasets, without = ({name: list[Rows]() for name in priors} for _ in range(2))
    states = truth.states
    for place in range(kept(len(moving))):
        if timebox.over:
            if place < LEAST_SAMPLES:
                raise OutOfTimeError
            break
        for name, prior in priors.items():
            both = truth.state.astype(np.int64), truth.state.astype(np.int64)
            with_file, alone = prior.drawn(states, rngs[name], moving, inside), prior.drawn(states, rngs[name], moving)
            both[0][moving] = with_file
            both[1][moving] = np.where(truth.fixed[moving], truth.state[moving], alone)
            datasets[name].append(values.of(both[0], rngs[name])[moving])
            without[name].append(values.of(both[1], rngs[name], with_file=False)[moving])
    return tuple(Sampled(name, tuple(datasets[name]), tuple(without[name]), moving) for name in priors)
