"""Somebody who knows the population, and nobody's row: in go the training rows, out come guesses beside a truth.

Other people's rows are reweighted until they give what the file says (`attack.informed.raking`), and rounded to rows.
Whoever has the file has them, too, as they are and in proportion to how frequent they are: without the file.

With a holdout these are its rows, and the truth is the training rows. A table shows how many of its kinds of rows are
rare, but not which others there are. So without a holdout, other people and new training rows are both drawn from a
model of the training rows: of what is seen `r` times, a constant share of one row is taken off (absolute discounting,
by Good and Turing's estimate), and goes to new rows, in each of which some attributes are those of another row of its
class. The trees are the file's; what their leaves say is that of the drawn rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.raking import leaf_sums, raked, repeated, rounded
from pytest_draft.domain import Domain
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.facts.informed import OtherPeople
from pytest_draft.matching import Weights, row_identities
from pytest_draft.timebox import TimeBox

MOST_ROWS = 1_000
MOST_NUMERIC_ROWS = 300
"""`MOST_ROWS` and `MOST_NUMERIC_ROWS`: rows that are guessed, at most; numeric ones are hardly ever equal, so that all
of them are matched.
"""

OTHERS = 8
"""Other people for each row that is guessed, where they are drawn."""

MOST_OTHERS = 8_000

MOST_SUMS = 2_000
"""Sums of leaves that are used, those of the first trees: their covariance is solved whole."""

_DRAWS = 5
"""Tables that are drawn where all columns are discrete, so that many rows are equal and few must be matched."""

_NUMERIC_DRAWS = 2

_CHANGED = 0.3
"""Share of the attributes that a new row has from another one."""


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """Rows, and guesses of them by somebody who knows other people's. Its repr shows no row."""

    truth: Rows
    """Shape (n_rows, n_columns)."""
    guesses: tuple[Rows, ...]
    without_file: tuple[Rows, ...]
    """`guesses` and `without_file`, each of shape (n_rows, n_columns): several, of which the nearest counts."""
    measured: bool
    """As in `OtherPeople`."""

    def mapped(self, change: Callable[[Rows], Rows]) -> Population:
        """Return the same rows and guesses with each table changed in the same way."""
        guesses, without_file = (tuple(map(change, one)) for one in (self.guesses, self.without_file))
        return replace(self, truth=change(self.truth), guesses=guesses, without_file=without_file)

    def figures(self, weights: Weights, timebox: TimeBox) -> OtherPeople | None:
        """Return how close the guesses are; None where the time was out."""
        errors, met = [], list[int]()
        numeric = bool(weights.tolerance.any())  # drawn rows have values that others have, so that numbers are met
        for tables in (self.guesses, self.without_file):
            found = [Comparison().distance(self.truth, guess, weights, timebox) for guess in tables]
            if any(one.exact is None for one in found):
                return None
            errors.append([one.lower for one in found])
            met.append(0 if numeric else max(len(Comparison().perfect(self.truth, guess)) for guess in tables))
        with_file, without = errors
        rows = len(self.truth)
        return OtherPeople(
            rows=rows,
            error=min(*with_file, *without),
            error_without_file=min(without),
            others_error=without[0],
            near_rows=max(met) / rows,
            near_rows_without_file=met[1] / rows,
            measured=self.measured,
        )


def population_of(
    forest: Forest,
    domain: Domain,
    everyone: KnownRows,
    unknown: IntArray,
    seed: int,
    timebox: TimeBox,
    others: KnownRows | None = None,
    targets: FloatArray | None = None,
) -> tuple[Population, ...]:
    """Guess rows from other people's and what the file says: drawn ones, and those of a holdout from its rows.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    everyone : KnownRows
        All training rows, with how often each tree drew them.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the rows that are to be rebuilt.
    others : KnownRows or None
        Of a holdout, with labels.
    targets : ndarray of float64, shape (n_training_rows,), or None
        Of a regressor: what drawn rows sum to in each leaf is known, too.

    Returns
    -------
    tuple of Population

    Raises
    ------
    OutOfTimeError
    """
    rng = np.random.default_rng([seed, 72])
    is_numeric = any(attribute.kind == "numeric" for attribute in domain.attributes)
    size = min(len(unknown), MOST_NUMERIC_ROWS if is_numeric else MOST_ROWS)
    if size < 2:
        return ()
    n_others = min(OTHERS * size, MOST_OTHERS)
    found = []
    for _ in range(_NUMERIC_DRAWS if is_numeric else _DRAWS):
        timebox.require()
        mine = rng.choice(unknown, size, replace=False)
        (rows, own), (other_rows, of_others) = (_people(domain, everyone, n, rng) for n in (size, n_others))
        truth = KnownRows(rows, everyone.labels[own], everyone.weight[:, mine])
        pool = KnownRows(other_rows, everyone.labels[of_others], everyone.weight[:, :0])
        both = None if targets is None else (targets[own], targets[of_others])
        found.append(_guessed(forest, truth, pool, False, rng, both))
    if others is not None and len(others.rows) >= size:
        timebox.require()
        mine = np.sort(rng.choice(unknown, size, replace=False))
        truth = KnownRows(everyone.rows[mine], everyone.labels[mine], everyone.weight[:, mine])
        few = rng.choice(len(others.rows), min(len(others.rows), MOST_OTHERS), replace=False)
        pool = KnownRows(others.rows[few], others.labels[few], others.weight[:, :0])
        found.append(_guessed(forest, truth, pool, True, rng))
    return tuple(found)


def _guessed(
    forest: Forest,
    truth: KnownRows,
    pool: KnownRows,
    measured: bool,
    rng: np.random.Generator,
    targets: tuple[FloatArray, FloatArray] | None = None,
) -> Population:
    """Guess rows from other people's and the sums of their leaves, and from the others alone.

    Parameters
    ----------
    targets : tuple of ndarray of float64 or None
        Of the truth and of the pool.
    """
    n_rows, n_classes = len(truth.rows), forest.n_classes
    (identity,) = row_identities(np.column_stack([pool.rows, pool.labels.astype(np.float32)]))
    _, first, weight = np.unique(identity, return_index=True, return_counts=True)
    rows, label = pool.rows[first], pool.labels[first]
    columns, own = (np.ascontiguousarray(table.T) for table in (rows, truth.rows))
    mine, values = (np.eye(n_classes)[one] for one in (truth.labels, label))
    if targets is not None:
        mine, values = (np.column_stack([a, b]) for a, b in ((mine, targets[0]), (values, targets[1][first])))
    leaves, sums, noise = list[IntArray](), list[FloatArray](), list[float]()
    for tree, drawn in zip(forest.trees, truth.weight, strict=True):
        if not drawn.sum() or sum(one.size for one in sums) + len(tree.leaves) * mine.shape[1] > MOST_SUMS:
            continue
        times = drawn / drawn.mean()
        there, here = leaf_positions(tree, columns), leaf_positions(tree, own)
        leaves.append(there.astype(np.int64))
        sums.append(leaf_sums(here.astype(np.int64), mine, times, len(tree.leaves)))
        noise.append(float(np.mean((times - 1) ** 2)))
    frequency = weight.astype(np.float64)
    order = np.lexsort([rng.random(len(rows)), label, *leaves[-1:]])
    strangers = pool.rows[rng.permutation(len(pool.rows))[:n_rows]]
    without = [strangers, *_rounded_both(rows, frequency, n_rows, order)]
    with_file: tuple[Rows, ...] = ()
    if leaves:
        with_file = _rounded_both(rows, raked(leaves, values, frequency, n_rows, sums, np.array(noise)), n_rows, order)
    return Population(truth.rows, with_file or tuple(without), tuple(without), measured)


def _rounded_both(rows: Rows, frequency: FloatArray, n_rows: int, order: IntArray) -> tuple[Rows, ...]:
    """Return rows in proportion to frequencies: the largest first, and one after every so many in an order."""
    (identity,) = row_identities(rows)
    _, first, kind = np.unique(identity, return_index=True, return_inverse=True)
    whole = rounded(np.bincount(kind.reshape(-1), frequency).astype(np.float64), n_rows)
    return repeated(rows[first], whole), repeated(rows, rounded(frequency, n_rows, order))


def _people(domain: Domain, everyone: KnownRows, number: int, rng: np.random.Generator) -> tuple[Rows, IntArray]:
    """Return rows that the population might have, drawn from a model of the training rows, and whose label each has."""
    (identity,) = row_identities(np.column_stack([everyone.rows, everyone.labels.astype(np.float32)]))
    times = np.bincount(identity)
    once, twice = int((times == 1).sum()), int((times == 2).sum())
    off = once / max(once + 2 * twice, 1)
    drawn = rng.integers(len(everyone.rows), size=number)
    rows, labels = everyone.rows[drawn], everyone.labels[drawn]
    new = np.flatnonzero(rng.random(number) < off / times[identity[drawn]])
    others = np.empty(len(new), dtype=np.int64)
    for place, alike in _by_label(labels[new], everyone.labels):
        others[place] = alike[rng.integers(len(alike), size=len(place))]
    changed = rng.random((len(new), len(domain.attributes))) < _CHANGED
    by_column = changed[:, domain.attribute_of_column]
    rows[new] = np.where(by_column, everyone.rows[others], rows[new])
    return rows, drawn


def _by_label(labels: IntArray, of_everyone: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    for label in np.unique(labels):
        yield np.flatnonzero(labels == label), np.flatnonzero(of_everyone == label)
