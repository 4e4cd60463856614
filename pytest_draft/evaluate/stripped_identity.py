"""Are these the rows behind a file without counts? Judges their likelihood and returns an `Identity`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers
from pytest_draft.attack.evidence.answers import OutputEvidence, outputs_of, rows_drawn
from pytest_draft.attack.evidence.evidence import LeafModel
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.facts.identity import Identity

SIMULATIONS = 20
"""Draws of the given rows, by which it is known how likely the leaves of right rows are."""

MOST_DEVIATIONS = 6.0
"""Standard deviations below the mean from where on rows are said to be others'."""

OTHER_RATES = (0.5, 0.7, 0.85, 1.2, 1.4, 2.0)
"""As if so many times as many draws had been made of each row: as where more rows are given than trained on, or fewer.
Of right rows none of these explained shares better by more than 1 in log-probability (COMPAS, Adult)."""

MOST_BETTER = 10.0
"""Log-probability by which another rate explains shares better, from where on rows are said to be too many or few."""

CHANCE = 1e-4
"""Leaves of drawn rows answer as all rows would with this probability at most, where it is not taken for chance."""


def rows_at_leaves(forest: Forest, rows: Rows, labels: IntArray) -> FloatArray:
    """Return how many rows lie at each leaf and class, as `LeafModel.total` takes them, whatever the domain excludes.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)

    Returns
    -------
    ndarray of float64, shape (n_leaves * n_classes,)
    """
    everyone = KnownRows(rows, labels, np.empty((forest.n_trees, 0), dtype=np.int64))
    once = np.ones(len(rows), dtype=np.int64)
    return np.concatenate([everyone.at_leaves(tree, once, forest.n_classes).ravel() for tree in forest.trees]).astype(
        np.float64
    )


def entries_of(forest: Forest, problem: RowProblem, rows: Rows, labels: IntArray) -> FloatArray:
    """Return the same for a problem, by kind where its leaves tell of values.

    Raises
    ------
    DataError
        Where they do, and rows hold values that the domain excludes.
    """
    if not problem.model.evidence.reads:
        return rows_at_leaves(forest, rows, labels)
    return problem.model.rows_at_leaves(problem.indices(rows), labels)


def with_draws(forest: Forest, rows: Rows, labels: IntArray, seed: int) -> Forest:
    """Return a forest without counts with what its rows say of how they were drawn. An adversary can try both.

    Where all rows give exactly what each leaf answers, each tree has seen all of them. A file that says that rows were
    drawn is believed where draws of these rows would as likely answer so: its ``bootstrap`` is a word that anybody can
    change.

    Parameters
    ----------
    forest : Forest
        With `Answers`.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    seed : int
        Of simulated draws.
    """
    draws, all_rows = forest.draws, counted_by(forest, rows, labels) is not None
    if not draws.stored:
        return replace(forest, draws=replace(draws, rows="all" if all_rows else "with replacement"))
    if forest.observation.reads or not (all_rows and draws.rows == "with replacement" and forest.classes is not None):
        return forest
    if _chance_of_agreement(forest, rows, labels, seed) > CHANCE:
        return forest
    return replace(forest, draws=replace(draws, rows="all", per_tree=None))


def _chance_of_agreement(forest: Forest, rows: Rows, labels: IntArray, seed: int) -> float:
    """Return at most how likely draws of rows let every leaf answer as it does."""
    rng, answers = np.random.default_rng([seed, 32]), _answers_of(forest)
    by_class = rows_at_leaves(forest, rows, labels).reshape(-1, forest.n_classes)
    entry = np.repeat(np.arange(by_class.size), by_class.ravel().astype(np.int64))
    said = np.concatenate([tree.value[tree.leaves] for tree in forest.trees])
    agree = np.ones(len(said))
    for _ in range(SIMULATIONS):
        draws = _drawn(entry, by_class, rows_drawn(forest, len(rows)) / len(rows), rng)
        agree += np.abs(answers.answered(draws) - said).max(axis=1) <= 1e-9
    return float(np.exp(np.log(agree / (SIMULATIONS + 1)).sum()))


def identify_stripped(forest: Forest, problem: RowProblem, rows: Rows, labels: IntArray, seed: int) -> Identity:
    """Say whether rows can be behind what leaves say.

    Without bootstrap each leaf's rows must give its fractions or label. With it, each class that a leaf has draws of
    must have a row there; and what the leaves say must not be far less likely than what draws of these rows say.

    Parameters
    ----------
    forest : Forest
        With `Answers`.
    problem : RowProblem
        With its likelihood.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    seed : int
        Of simulated draws.

    Returns
    -------
    Identity
        ``confirmed``, ``mismatch`` or ``unknown``.
    """
    at_leaves, model = entries_of(forest, problem, rows, labels), problem.model
    if lacking := model.lacking(at_leaves):
        return Identity(
            "mismatch",
            f"this forest was not trained on these rows: its {forest.observation.named} cannot come from them "
            + (
                f"({lacking:,} of its leaves' classes have no row)"
                if forest.draws.drawn
                else f"({lacking:,} rows misfit)"
            ),
        )
    if not forest.draws.drawn:
        return Identity("confirmed", "these rows give what each leaf of the forest answers")
    if not isinstance(model.evidence, OutputEvidence):
        return Identity("unknown", "how likely draws of these rows would give what its leaves say is not known yet")
    mean, deviation = _expected_of_right_rows(_answers_of(forest), model, at_leaves, seed)
    below = mean - model.total(at_leaves)
    if below > MOST_DEVIATIONS * max(deviation, 1.0):
        return Identity(
            "unknown",
            "this forest was hardly trained on these rows: what its leaves answer is far less likely than what draws "
            f"of these rows would give ({below:.0f} less in log-probability)",
        )
    better, times = _better_rate(model, at_leaves)
    if forest.observation.varies_with_rate and better > MOST_BETTER:
        return Identity(
            "unknown",
            "it is not certain that this forest was trained on just these rows: its leaves answer as if about "
            f"{times:g} times as many rows had been drawn for each tree; if rows are missing or too many, give exactly "
            "those that it was trained on",
        )
    return Identity("confirmed", "draws of these rows can give what each leaf of the forest answers")


def _answers_of(forest: Forest) -> Answers:
    if not isinstance(forest.observation, Answers):
        raise ValueError("this forest holds counts")
    return forest.observation


def _better_rate(model: LeafModel, at_leaves: FloatArray) -> tuple[float, float]:
    """Return by how much another rate of draws explains the leaves better, and how many times the stated one it is."""
    stated = model.total(at_leaves)
    found = [
        (replace(model, evidence=model.evidence._replace(rate=times * model.evidence.rate)).total(at_leaves), times)
        for times in OTHER_RATES
    ]
    best, times = max(found)
    return best - stated, times


def _expected_of_right_rows(
    answers: Answers, model: LeafModel, at_leaves: FloatArray, seed: int
) -> tuple[float, float]:
    """Return mean and deviation of the log-likelihood of what leaves say that hold draws of these rows."""
    rng = np.random.default_rng([seed, 31])
    by_class = at_leaves.reshape(-1, model.n_classes)
    most = len(model.evidence.log_factorial) - 1
    entry = np.repeat(np.arange(by_class.size), by_class.ravel().astype(np.int64))
    found = []
    for _ in range(SIMULATIONS):
        draws = _drawn(entry, by_class, model.evidence.rate, rng)
        too_many = draws.sum(axis=1) > most
        draws[too_many] = np.minimum(by_class[too_many], 1)
        outputs = outputs_of(answers, answers.answered(draws), most)
        found.append(replace(model, evidence=model.evidence._replace(outputs=outputs)).total(at_leaves))
    return float(np.mean(found)), float(np.std(found))


def _drawn(entry: IntArray, by_class: FloatArray, rate: float, rng: np.random.Generator) -> FloatArray:
    """Return draws of the rows at each leaf and class, none of them empty."""
    draws = np.zeros(by_class.shape)
    empty = np.ones(len(by_class), dtype=bool)
    while empty.any():
        again = empty[entry // by_class.shape[1]]
        times = rng.poisson(rate, int(again.sum()))
        draws[empty] = np.bincount(entry[again], times, by_class.size).reshape(by_class.shape)[empty]
        empty = draws.sum(axis=1) == 0
    return draws
