"""Are these the rows that the forest was trained on? Compares a problem with the truth and returns an `Identity`.

With exact noise the truth's own residual must be 0. Without this check a stranger's table would make a leaking
forest pass, because an exact reconstruction of other rows is far from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.counts.exact import solve_exactly
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.evidence.answers import drawn_at_leaves, rows_lacking
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.observations import unexplained
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.data import TrainingData
from pytest_draft.errors import InfeasibleError, OutOfTimeError, listed, one_line
from pytest_draft.evaluate.threshold_check import missed_splits
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.timebox import TimeBox

OR_IN_ANOTHER_ORDER = (
    "or these rows are in another order than the seeds tell, so that what the adversary was told of a row is another's"
)
"""What else can be wrong where the occurrences are known and side knowledge was taken row by row."""


@dataclass(frozen=True)
class IdentityLimits:
    """From where on rows are said to be others', and how far it is searched whether they are."""

    most_candidates: int = 300_000
    """No other order of the rows is searched for in a system of more candidates."""
    simulations: int = 40
    """Draws of the given rows, by which it is known how far draws lie from what is expected."""
    most_deviations: float = 4.0
    """Standard deviations from what is expected. Measured: right rows reach 3.0, 100 to 1,000 others of the same table
    4.6 and more.
    """
    rounding: float = 1e-6
    """Logarithms of likelihoods that differ by no more are taken for equal."""
    most_reported: float = 1e6
    """A lack of log-probability is given as no more than this; it can be infinite."""
    rare: float = 1e-9
    """A draw of noise as rare as this is granted besides: where noise is weak, a single one is many deviations away."""


LIMITS = IdentityLimits()


def identify(
    forest: Forest, problem: Problem, data: TrainingData, reconstruction: Reconstruction, search: Search
) -> Identity:
    """Compare what the forest publishes with what the given rows would have published.

    Parameters
    ----------
    reconstruction : Reconstruction
        Spares a search where it holds the same rows in another order, or where it is unique.
    """
    n_rows = problem.groups.n_rows
    if len(data.rows) != n_rows:
        return Identity(
            "mismatch",
            f"this forest was trained on {n_rows:,} rows, and the data have {len(data.rows):,}: give the rows it was "
            "trained on",
        )
    leaves = _leaves(forest, data.rows)
    missed = _missed(problem, leaves, data.labels)
    if not missed:
        return Identity("confirmed", "the rows explain every count in the file")
    stranger = Identity(
        "mismatch", f"this forest was not trained on these rows: {_differ(forest, data.rows, f'{missed:,} counts')}"
    )
    if not problem.groups.ordered:
        return stranger
    if not problem.complete or (problem.cells.signature < 0).any():
        return Identity("unknown", _in_this_order(forest, data.rows, missed))
    cell = _cells_of(problem, leaves)
    if (cell < 0).any():
        return stranger
    return _in_another_order(problem, cell, data.labels, reconstruction, search, stranger)


def identify_granted(forest: Forest, everyone: KnownRows, timebox: TimeBox | None = None) -> Identity:
    """Say whether side knowledge was taken from the rows that the forest was trained on, row by row.

    Where the occurrences are known, the adversary was told something of the row in a certain place. Of rows in another
    order that is wrong, and an attack that relies on it can look weaker than it is: unlike `identify`, this never says
    that only the order differs.

    Parameters
    ----------
    everyone : KnownRows
        All given rows.
    timebox : TimeBox or None
        Ends a check of many rows and trees, if any.

    Returns
    -------
    Identity
        ``confirmed``, ``mismatch``, or ``unknown``: where another order could be right.
    """
    missed = unexplained(forest, everyone, timebox)
    if not missed:
        return Identity("confirmed", "the rows explain every count in the file")
    stranger = f"this forest was not trained on these rows: {_differ(forest, everyone.rows, f'{missed:,} counts')}"
    if (everyone.weight == everyone.weight[:, :1]).all():
        return Identity("mismatch", stranger)
    return Identity("unknown", f"{stranger}; {OR_IN_ANOTHER_ORDER}")


def identify_boosted(forest: Forest, everyone: KnownRows, timebox: TimeBox | None = None) -> Identity:
    """Say whether rows explain what boosted trees say of them, in whatever order they are.

    Parameters
    ----------
    everyone : KnownRows
        All given rows.
    timebox : TimeBox or None
        Of the check of thresholds.
    """
    n_rows, what = forest.n_samples, "sum of gradients in the file" if forest.classes else "number of rows in the file"
    if n_rows is not None and len(everyone.rows) != n_rows:
        return Identity("mismatch", f"{forest.trained_on}, and the data hold {len(everyone.rows):,}")
    if missed := unexplained(forest, everyone):
        return Identity(
            "mismatch",
            "this forest was not trained on these rows: "
            + _differ(forest, everyone.rows, f"{missed:,} of its sums and counts"),
        )
    found = Identity("confirmed", f"the rows explain every {what}")
    return identify_values(found, forest, everyone, None, timebox) if everyone.weight.any() else found


def confirmed(
    reconstruction: Reconstruction, forest: Forest, times: NDArray[np.integer[Any]], known: KnownRows | None = None
) -> Reconstruction:
    """Return a reconstruction whose residual is 0 only where its own rows, sent down the trees, explain every count.

    Parameters
    ----------
    times : ndarray of int, shape (n_trees, n_rows)
        How often each tree saw each row: the rebuilt ones first, then the known ones.
    known : KnownRows or None
        The rows that the adversary knows whole.
    """
    rows, labels = reconstruction.consistent, reconstruction.labels
    if reconstruction.status != "consistent" or rows is None or labels is None:
        return reconstruction
    if known is not None:
        rows, labels = np.concatenate([rows, known.rows]), np.concatenate([labels, known.labels])
    missed = unexplained(forest, KnownRows(rows, labels, times.astype(np.int64)))
    return replace(reconstruction, status="not converged", residual=missed) if missed else reconstruction


def identify_in_order(
    forest: Forest, everyone: KnownRows, *, known_by_row: bool, timebox: TimeBox | None = None
) -> Identity:
    """Say whether rows in the given order explain every count, where no other order is looked for.

    Parameters
    ----------
    everyone : KnownRows
        All given rows, with exact occurrences.
    known_by_row : bool
        Whether the adversary was told something of a row in a certain place.
    """
    if everyone.weight.shape[1] != len(everyone.rows):
        n_rows = everyone.weight.shape[1]
        return Identity(
            "mismatch", f"this forest was trained on {n_rows:,} rows, and the data hold {len(everyone.rows):,}"
        )
    found = identify_granted(forest, everyone, timebox)
    if found.status != "unknown" or known_by_row:
        return found
    return Identity("unknown", _in_this_order(forest, everyone.rows, unexplained(forest, everyone, timebox)))


def _in_this_order(forest: Forest, rows: Rows, missed: int) -> str:
    """Say that rows do not explain a file as they come, where it is not known whether they do in another order."""
    return f"in this order, these rows do not explain the file: {_differ(forest, rows, f'{missed:,} counts')}"


def _differ(forest: Forest, rows: Rows, what: str) -> str:
    """Say what of a file differs from what rows give, and what to do about it."""
    mend = unlike(forest, rows) or "give the table exactly as fit() got it, with its rows in the same order"
    return f"{what} differ (0 with the right rows); {mend}"


def unlike(forest: Forest, rows: Rows) -> str | None:
    """Say in words of the table why rows cannot be, or hardly are, those that a forest was trained on; None if unknown.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All given ones.
    """
    said = []
    if forest.n_samples is not None and len(rows) != forest.n_samples:
        said.append(f"{forest.trained_on}, and the data have {len(rows):,}: give the rows it was trained on")
    feature = np.concatenate([tree.feature[tree.left >= 0] for tree in forest.trees])
    threshold = np.concatenate([tree.threshold[tree.left >= 0] for tree in forest.trees])
    tests = {int(column): threshold[feature == column] for column in np.unique(feature)}
    least, most = (bound.reduce(rows.astype(np.float64), axis=0) for bound in (np.fmin, np.fmax))
    outside = [c for c, tested in tests.items() if most[c] >= least[c] and not _among(tested, least[c], most[c]).any()]
    names = forest.feature_names
    name_of = {c: f"column {c}" if names is None else repr(one_line(names[c])) for c in tests}
    if outside and names is None and _fit_in_another_order(tests, least, most):
        said.append("thresholds lie among the values of other columns: is the order of the columns that of fit()?")
    elif outside:
        named = f"{listed([name_of[c] for c in outside])} lies among the values there ({len(outside)} of {len(tests)}"
        asked = "tested columns): was the table scaled or encoded differently before fit()?"
        said.append(f"no threshold on {named} {asked}{forest.scaled}")
    gaps = {c: int(n_gaps) for c in tests if (n_gaps := np.isnan(rows[:, c]).sum()) and c not in outside}
    said += [
        f"{name_of[c]} is empty in {n:,} row{'s' * (n != 1)}: was it filled before fit()?" for c, n in gaps.items()
    ][:1]
    return "; ".join(said) or None


def _among(tested: FloatArray, least: float, most: float) -> BoolArray:
    """Return which thresholds have values of a column on both sides."""
    found: BoolArray = (tested >= least) & (tested < most)
    return found


def _fit_in_another_order(tests: Mapping[int, FloatArray], least: FloatArray, most: FloatArray) -> bool:
    """Return whether each column's thresholds all lie among the values of a column of its own in some other order."""
    fits = np.ones((len(least), len(least)), dtype=np.bool_)
    for column, tested in tests.items():
        fits[column] = (tested.min() >= least) & (tested.max() < most)
    return bool(fits[linear_sum_assignment(fits, maximize=True)].all())


def identify_values(
    identity: Identity,
    forest: Forest,
    everyone: KnownRows,
    extremes: Extremes | None = None,
    timebox: TimeBox | None = None,
) -> Identity:
    """Say whether rows that explain every count in the given order also explain the thresholds.

    Parameters
    ----------
    identity : Identity
        By counts alone.
    everyone : KnownRows
        All given rows, with exact occurrences.
    extremes : Extremes or None
        As in `missed_splits`.

    Raises
    ------
    OutOfTimeError
        Where it ends before that is known.
    """
    if identity.status != "confirmed":
        return identity
    missed = missed_splits(forest, everyone, extremes, timebox)
    if not missed.inexact:
        return identity
    if not missed.wrong:
        why = (
            f"the rows explain every count in the file, but {missed.inexact:,} of its {missed.checked:,} thresholds "
            "not to the last digit: values that are rebuilt exactly are counted too low"
        )
        return replace(identity, why=why, to_the_digit=False)
    stranger = (
        f"this forest was not trained on these rows: they explain its counts, but not {missed.wrong:,} of its "
        f"{missed.checked:,} thresholds (the right rows explain all)"
    )
    if (everyone.weight == everyone.weight[:, :1]).all():
        return Identity("mismatch", stranger)
    return Identity("unknown", f"{stranger}, or these rows are in another order than the seeds tell")


def entries_of(forest: Forest, rows: Rows, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Return what was released at each leaf and class of a private forest, and how many of some rows lie there."""
    everyone = KnownRows(rows, labels, np.empty((forest.n_trees, 0), dtype=np.int64))
    once = np.ones(len(rows), dtype=np.int64)
    released = np.concatenate([forest.released(t).ravel() for t in range(forest.n_trees)])
    true = np.concatenate([everyone.at_leaves(tree, once, forest.n_classes).ravel() for tree in forest.trees])
    return released, true


def identify_noisy(forest: Forest, noise: CountNoise, rows: Rows, labels: IntArray) -> Identity:
    """Say whether rows can be behind noisy counts: whether the noise that they would need is likely.

    The log-probability of all released counts, given these rows, is compared with its mean and deviation under the
    mechanism: far below, the rows are others'; far above, in all or in single trees, less noise was added than is
    declared. Where the noise is strong, other rows need hardly less likely noise, and nobody can tell them apart.

    Parameters
    ----------
    forest : Forest
        Releases noisy counts.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)

    Returns
    -------
    Identity
        ``confirmed`` or ``unknown``: noise proves nothing.
    """
    released, true = entries_of(forest, rows, labels)
    distinct, of_entry = np.unique(true, return_inverse=True)
    moments = np.array([noise.log_moments(count) for count in distinct.tolist()])[of_entry.reshape(-1)]
    sizes = np.array([forest.released(t).size for t in range(forest.n_trees)])
    begin = np.cumsum(sizes) - sizes
    lacking = np.add.reduceat(moments[:, 0] - noise.log_probability(released, true), begin)
    variance = np.add.reduceat(moments[:, 1], begin)
    if lacking.sum() > LIMITS.most_deviations * float(np.sqrt(variance.sum())) - np.log(LIMITS.rare):
        return Identity(
            "unknown",
            "this forest was hardly trained on these rows, or with other noise than it declares: the noise that they "
            "would need is far less likely than that of the right rows "
            f"({min(lacking.sum(), LIMITS.most_reported):.0f} less in log-probability)",
        )
    calm = lacking < -LIMITS.most_deviations * np.sqrt(variance)
    if calm.any() or lacking.sum() < -LIMITS.most_deviations * float(np.sqrt(variance.sum())):
        where = f"{int(calm.sum())} of its {forest.n_trees} trees" if calm.any() else "the file"
        return Identity(
            "unknown",
            f"there is far less noise in {where} than it declares: its counts are nearly exact, and an attack that "
            "knows that gets closer",
        )
    return Identity("confirmed", "the noise that these rows would need cannot be told apart from the right rows' noise")


def identify_drawn(forest: Forest, rows: Rows, labels: IntArray) -> Identity:
    """Say whether rows, drawn nobody knows how often, can have given the counts, and whether that is likely.

    Two tests: a leaf must hold the rows that were drawn there; and the chi-square distance of the draws to what they
    are expected to be must not be far above that of simulated draws of the same rows.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    """
    if forest.n_samples is not None and len(rows) != forest.n_samples:
        told = f"{forest.trained_on}, and the data have {len(rows):,}: give the rows it was trained on"
        return Identity("mismatch", told)
    once = np.ones(len(rows), dtype=np.int64)
    everyone = KnownRows(rows, labels, np.tile(once, (forest.n_trees, 1)))
    counts = [forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees)]
    tables = [everyone.at_leaves(tree, once, forest.n_classes) for tree in forest.trees]
    if lacking := rows_lacking(*drawn_at_leaves(forest), np.concatenate(tables)):
        return Identity(
            "mismatch",
            f"this forest was not trained on these rows: its leaves lack {lacking:,} of them (of the right rows none)",
        )
    rng = np.random.default_rng(0)
    expected = [drawn.sum() * table / table.sum() for drawn, table in zip(counts, tables, strict=True)]
    observed = _distance(counts, expected)
    simulated = [
        _distance([rng.multinomial(mean.sum().round(), mean.ravel() / mean.sum()) for mean in expected], expected)
        for _ in range(LIMITS.simulations)
    ]
    deviation = (observed - np.mean(simulated)) / max(float(np.std(simulated)), 1e-9)
    if deviation > LIMITS.most_deviations:
        return Identity(
            "unknown",
            "this forest was hardly trained on these rows: its draws are "
            f"{deviation:.1f} standard deviations farther from what they would be than draws of the right rows are",
        )
    return Identity("confirmed", "draws of these rows can have given every count in the file, and are likely to")


def _distance(drawn: Sequence[IntArray], expected: Sequence[FloatArray]) -> float:
    """Return the chi-square distance of draws, tree by tree, to what they are expected to be."""
    total = 0.0
    for counts, mean in zip(drawn, expected, strict=True):
        held = mean.ravel() > 0
        total += float(((counts.ravel() - mean.ravel())[held] ** 2 / mean.ravel()[held]).sum())
    return total


def _leaves(forest: Forest, rows: Rows) -> IntArray:
    """Return the leaf of each row in each tree, shape (n_trees, n_rows)."""
    columns = np.ascontiguousarray(rows.T)
    return np.stack([leaf_positions(tree, columns) for tree in forest.trees]).astype(np.int64)


def _missed(problem: Problem, leaves: IntArray, labels: IntArray) -> int:
    """Return the residual of rows in the given order: counts by class, and distinct rows where published."""
    missed = 0
    for t, counts in enumerate(problem.counts):
        weight = problem.groups.weight[t, problem.groups.of_row]
        found = np.zeros_like(counts)
        np.add.at(found, (leaves[t], labels), weight)
        missed += int(np.abs(found - counts).sum())
        if problem.distinct is not None:
            distinct = np.bincount(leaves[t], weight > 0, minlength=len(counts))
            missed += int(np.abs(distinct - problem.distinct[t]).sum())
    return missed


def _cells_of(problem: Problem, leaves: IntArray) -> IntArray:
    """Return the problem's cell of each row; -1 where domain reduction has struck it out for every group."""
    known = {signature.tobytes(): k for k, signature in enumerate(np.ascontiguousarray(problem.cells.signature.T))}
    rows = np.ascontiguousarray(leaves.T.astype(np.int32))
    return np.array([known.get(row.tobytes(), -1) for row in rows], dtype=np.int64)


def _in_another_order(
    problem: Problem,
    cell: IntArray,
    labels: IntArray,
    reconstruction: Reconstruction,
    search: Search,
    stranger: Identity,
) -> Identity:
    """Decide whether some order of the given rows explains every count."""
    only_order = Identity(
        "order differs", "the rows explain every count in the file in another order; only the order differs"
    )
    kind = cell * problem.n_classes + labels
    if reconstruction.cells is not None and reconstruction.labels is not None and reconstruction.residual == 0:
        rebuilt = reconstruction.cells * problem.n_classes + reconstruction.labels
        if np.array_equal(np.sort(rebuilt), np.sort(kind)):
            return only_order
    if reconstruction.status == "unique":
        return stranger
    kinds, times = np.unique(kind, return_counts=True)
    of_candidate = problem.cell * problem.n_classes + problem.label
    columns = np.flatnonzero(np.isin(of_candidate, kinds))
    group = problem.group[columns]
    if len(np.unique(group)) < problem.groups.n_groups:
        return stranger
    if len(columns) > LIMITS.most_candidates:
        return Identity("unknown", "too many orders of these rows are possible to decide whether they fit")
    part = problem.system.only(columns)
    totals = np.searchsorted(kinds, of_candidate[columns])
    system = part.with_totals(totals, times.astype(np.int64))
    try:
        solution = solve_exactly(system, problem.pool[columns], problem.pool_size, np.ones(len(columns)), search)
    except InfeasibleError:
        return stranger
    except OutOfTimeError:
        solution = None
    if solution is not None and not solution.residual:
        return only_order
    return Identity(
        "unknown",
        "in the given order these rows miss the forest's counts, and the time was out before another order "
        "was found or excluded",
    )
