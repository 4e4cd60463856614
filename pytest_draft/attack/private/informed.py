"""The informed adversary on noisy counts: guesses one row from all others.

Each row is attacked by itself. Every vector of the domain with every class is scored exactly: how much likelier the
released counts become when the row that is missing is this one (DRAFT-DP, SaTML 2026, appendix G). The paper adds a
penalty for the distance to the known rows; here the score is a likelihood, and Bayes' rule puts it together with how
the known rows are spread. From that posterior come the guesses, each the best one for another question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import MAX_BYTES
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.groups import Groups, KnownRows
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.timebox import TimeBox

VectorScore = Callable[[int], FloatArray]
"""Log-likelihood of what was released, up to a constant, when one unknown row is each vector of each class.

Takes the row's position among the unknown ones; returns an array of shape (n_vectors, n_classes), -inf for what is
excluded. All other rows are known.
"""

RATES = (0.0, 1 / 64, 1 / 16, 1 / 4)
"""How likely each attribute of a further row is to be redrawn, when it resembles a known one."""

_PRIOR_ROWS = 1.0
"""Rows that the smoothing of shares and frequencies is worth."""

_ROUNDS = 50
"""Rounds of expectation maximisation."""

_TABLES = 12
"""Most tables over the domain that are alive at a time."""

_SECONDS_PER_ENTRY = 2e-7
"""Of a table, for one row; measured with 10 trees."""


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """What an informed adversary guesses of each unknown row. Its repr shows no row."""

    closest: Rows
    """Shape (n_unknown, n_columns). Of all rows of zeros, ones and values the one with the least expected error on
    encoded columns, which is the papers' number: column by column the likelier value, of ordinals the median. It may
    break a one-hot group: two columns are wrong in a wrong value, one where the group is left all zero.
    """
    valid: Rows
    """Shape (n_unknown, n_columns). The same among the rows that the domain allows: of one-hot groups the likeliest
    value. Also the least expected error on original attributes.
    """
    likeliest: Rows
    """Shape (n_unknown, n_columns). The likeliest vector of the domain: the best guess at a whole row."""
    labels: IntArray
    """Shape (n_unknown,). The likelier class, as an index into the forest's classes."""
    chance: FloatArray
    """Shape (n_unknown,). The posterior probability of `likeliest`."""

    def __repr__(self) -> str:
        return f"<Guesses: {len(self.closest)} rows>"


def noisy_score(
    forest: Forest, domain: Domain, noise: CountNoise, everyone: KnownRows, unknown: IntArray
) -> VectorScore:
    """Return the score of a forest that releases noisy counts.

    A vector and class is scored by the sum over the trees of ``log P(released | known + 1) - log P(released | known)``
    at its leaf and class; all other counts are known.

    Parameters
    ----------
    domain : Domain
        Without numeric attributes.
    everyone : KnownRows
        All training rows. Of each unknown row nothing is used in its own attack.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the unknown rows among all training rows.

    Raises
    ------
    NotCoveredError
        Where the domain is numeric or too large to enumerate.
    """
    _require_size(domain, forest.n_classes, forest.n_trees)
    vectors = np.ascontiguousarray(domain.vectors().T)
    leaves = [leaf_positions(tree, vectors).astype(np.intp) for tree in forest.trees]
    columns, labels = np.ascontiguousarray(everyone.rows[unknown].T), everyone.labels[unknown]
    own = [leaf_positions(tree, columns) for tree in forest.trees]
    once = np.ones(len(everyone.rows), dtype=np.int64)
    counts = [everyone.at_leaves(tree, once, forest.n_classes) for tree in forest.trees]
    released = [forest.released(t) for t in range(forest.n_trees)]

    def score(row: int) -> FloatArray:
        total = np.zeros((vectors.shape[1], forest.n_classes))
        for t, leaf in enumerate(leaves):
            known = counts[t].copy()
            known[own[t][row], labels[row]] -= 1
            gain = noise.log_probability(released[t], known + 1) - noise.log_probability(released[t], known)
            total += np.take(gain, leaf, axis=0)
        return total

    return score


def guess_alone(
    domain: Domain,
    groups: Groups,
    everyone: KnownRows,
    unknown: IntArray,
    score: VectorScore,
    n_classes: int,
    timebox: TimeBox,
) -> Guesses:
    """Guess each unknown row from all the others.

    Parameters
    ----------
    domain : Domain
        Without numeric attributes.
    groups : Groups
        Of the unknown rows: what the adversary knows of their values.
    everyone : KnownRows
        All training rows. Of each unknown row nothing is used in its own attack.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the unknown rows among all training rows.

    Raises
    ------
    InfeasibleError
        Where a row can be nothing that the domain allows.
    NotCoveredError
        Where the domain is numeric or too large to enumerate.
    OutOfTimeError
    """
    _require_size(domain, n_classes)
    vectors = domain.vectors()
    population = KnownPopulation.of(domain, everyone.rows, everyone.labels, n_classes)
    closest, valid, likeliest = (np.empty((len(unknown), domain.n_columns), dtype=np.float32) for _ in range(3))
    labels = np.empty(len(unknown), dtype=np.int64)
    chance = np.empty(len(unknown))
    for row, position in enumerate(unknown.tolist()):
        if timebox.over:
            raise OutOfTimeError
        belief = _posterior(population.without(position), score(row), _agreeing(vectors, groups, row))
        timebox.spend(_SECONDS_PER_ENTRY * belief.size)
        labels[row] = belief.sum(axis=0).argmax()
        of_vector = belief @ np.ones(n_classes)
        likeliest[row], chance[row] = vectors[of_vector.argmax()], of_vector.max()
        closest[row], valid[row] = _least_error(domain, of_vector)
    return Guesses(closest, valid, likeliest, labels, chance)


@dataclass(frozen=True, eq=False, repr=False)
class KnownPopulation:
    """How likely one more row of the same population is each vector and class, given those that are known.

    A mixture: either the row resembles a known one, drawn at random, and each of its attributes (the class too) is
    redrawn uniformly at one of the `RATES`; or its attributes are independent, each as frequent as among the known
    rows. The shares of the mixture are those by which each known row is likeliest given the others (leave-one-out
    likelihood, by expectation maximisation). Shares and frequencies are smoothed by `_PRIOR_ROWS`, spread uniformly.
    """

    shape: tuple[int, ...]
    """Number of values of each attribute, then of classes. Tables of this shape list the domain's vectors in the order
    of `Domain.vectors`.
    """
    values: IntArray
    """Shape (n_rows, n_attributes + 1). Each row's attributes as indices of values, then its class."""
    entry: IntArray
    """Shape (n_rows,). Each row's place in a flat table."""
    around: FloatArray
    """Shape (len(RATES), n_entries). What all rows, each resembled once, put on each entry."""

    def __repr__(self) -> str:
        return f"<KnownPopulation: {len(self.entry)} rows>"

    @classmethod
    def of(cls, domain: Domain, rows: Rows, labels: IntArray, n_classes: int) -> KnownPopulation:
        """Return the population of encoded rows.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_rows, n_columns)
            Values that the domain excludes count as the nearest that it allows.
        labels : ndarray of int64, shape (n_rows,)
        """
        shape = (*(attribute.n_values for attribute in domain.attributes), n_classes)
        nearest = np.clip(domain.indices(rows), 0, np.array(shape[:-1]) - 1)
        values = np.column_stack([nearest, labels])
        entry = np.ravel_multi_index(tuple(values.T), shape).astype(np.int64)
        times = np.bincount(entry, minlength=math.prod(shape)).astype(np.float64)
        return cls(shape, values, entry, np.stack([_blurred(times, shape, rate) for rate in RATES]))

    def without(self, row: int) -> FloatArray:
        """Return the distribution that all rows but one support, shape (n_vectors, n_classes).

        Parameters
        ----------
        row : int
            Position of the row that is left out.
        """
        n_others = len(self.entry) - 1
        own = [_kernel(self.values[row], self.shape, rate) for rate in RATES]
        entry, first, times = np.unique(np.delete(self.entry, row), return_index=True, return_counts=True)
        values = np.delete(self.values, row, axis=0)
        distinct = values[first]
        around = self.around[:, entry] - np.stack([_product_at(factors, distinct) for factors in own])
        shares = self._shares(values, distinct, times, around)
        frequency = self._frequency(values)
        total = (shares[:-1] / n_others) @ self.around
        for share, factors in zip(shares, own, strict=False):
            total -= _product([share / n_others * factors[0], *factors[1:]])
        np.maximum(total, 0.0, out=total)  # differences of equal numbers are 0 but for rounding
        total += _product([shares[-1] * frequency[0], *frequency[1:]])
        return total.reshape(-1, self.shape[-1])

    def _frequency(self, values: IntArray, taken_off: int = 0) -> list[FloatArray]:
        """Return how frequent each value of each attribute is among some rows, or what it is without one that holds it.

        Parameters
        ----------
        values : ndarray of int64, shape (n_rows, n_attributes + 1)
        taken_off : int
            1 for frequencies of a value among the other rows than one that holds it.
        """
        n_rows = len(values) - taken_off + _PRIOR_ROWS
        return [
            np.asarray((np.bincount(column, minlength=n) - taken_off + _PRIOR_ROWS / n) / n_rows, dtype=np.float64)
            for column, n in zip(values.T, self.shape, strict=True)
        ]

    def _shares(self, values: IntArray, distinct: IntArray, times: IntArray, around: FloatArray) -> FloatArray:
        """Return the shares of the mixture by which each of some rows is likeliest given the others.

        Parameters
        ----------
        values : ndarray of int64, shape (n_rows, n_attributes + 1)
        distinct : ndarray of int64, shape (n_distinct, n_attributes + 1)
        times : ndarray of int64, shape (n_distinct,)
        around : ndarray of float64, shape (len(RATES), n_distinct)
            What the rows put on each distinct one.

        Returns
        -------
        ndarray of float64, shape (len(RATES) + 1,)
            The last is that of independent attributes.
        """
        shares = np.full(len(RATES) + 1, 1 / (len(RATES) + 1))
        others = len(values) - 1
        if not others:
            return shares
        sizes = np.array(self.shape)
        itself = np.array([np.prod(1 - rate + rate / sizes) for rate in RATES])[:, None]
        resembling = np.maximum(around - itself, 0.0) / others
        independent = _product_at(self._frequency(values, taken_off=1), distinct)
        chance = np.concatenate([resembling, independent[None]])
        for _ in range(_ROUNDS):
            joint = shares[:, None] * chance
            held = joint / joint.sum(axis=0) @ times + _PRIOR_ROWS / len(shares)
            shares = held / held.sum()
        return shares


def _posterior(prior: FloatArray, score: FloatArray, possible: BoolArray) -> FloatArray:
    """Return the posterior of each vector and class, shape (n_vectors, n_classes)."""
    with np.errstate(divide="ignore"):
        log_posterior = np.where(possible[:, None], np.log(prior) + score, -np.inf)
    most = log_posterior.max()
    if most == -np.inf:
        raise InfeasibleError
    posterior: FloatArray = np.exp(log_posterior - most)
    posterior /= posterior.sum()
    return posterior


def _agreeing(vectors: Rows, groups: Groups, row: int) -> BoolArray:
    """Return which vectors hold what the adversary knows of a row's values, shape (n_vectors,)."""
    known = groups.values
    if known is None:
        return np.ones(len(vectors), dtype=bool)
    agree: BoolArray = (vectors[:, list(known.columns)] == known.of_group[groups.of_row[row]]).all(axis=1)
    return agree


def _least_error(domain: Domain, of_vector: FloatArray) -> tuple[Rows, Rows]:
    """Return the rows of least expected error: among all rows, and among those that the domain allows.

    Parameters
    ----------
    of_vector : ndarray of float64, shape (n_vectors,)
        The probability of each vector.
    """
    closest, valid = (np.empty(domain.n_columns, dtype=np.float32) for _ in range(2))
    for attribute in domain.attributes:
        table = of_vector.reshape(attribute.n_values, -1)
        chance, of_vector = table.sum(axis=1), table.sum(axis=0)
        columns = list(attribute.columns)
        if attribute.kind == "one-hot":
            value = int(np.argmax(chance))
            indicators = attribute.encoded(np.arange(attribute.n_values))  # of a dropped value all are 0
            closest[columns] = chance @ indicators > 0.5
        else:
            value = int(np.argmax(np.cumsum(chance) >= 0.5 * chance.sum()))
            closest[columns] = attribute.encoded(np.array([value]))[0]
        valid[columns] = attribute.encoded(np.array([value]))[0]
    return closest, valid


def _axes(shape: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Yield, for each axis of a table, how many entries lie before it, its length, and how many lie behind it."""
    before, after = 1, math.prod(shape)
    for n in shape:
        after //= n
        yield before, n, after
        before *= n


def _blurred(table: FloatArray, shape: tuple[int, ...], rate: float) -> FloatArray:
    """Return a flat table after each attribute of each of its rows was redrawn uniformly at a rate."""
    for axis in _axes(shape) if rate else ():
        part = table.reshape(axis)
        table = ((1 - rate) * part + rate / axis[1] * part.sum(axis=1, keepdims=True)).ravel()
    return table


def _kernel(values: IntArray, shape: tuple[int, ...], rate: float) -> list[FloatArray]:
    """Return the factors, one for each axis, of what one row puts on each entry of a table."""
    return [(1 - rate) * (np.arange(n) == value) + rate / n for value, n in zip(values, shape, strict=True)]


def _product_at(factors: list[FloatArray], values: IntArray) -> FloatArray:
    """Return the products of one entry of each factor, which are given for each row of `values`."""
    chosen = [factor[column] for factor, column in zip(factors, values.T, strict=True)]
    return np.asarray(np.prod(chosen, axis=0), dtype=np.float64)


def _product(factors: list[FloatArray]) -> FloatArray:
    """Return the flat table of all products of one entry of each factor."""
    table = np.ones(1)
    for factor in reversed(factors):  # from the last axis on, so that the long one is the inner one
        table = np.multiply.outer(factor, table).ravel()
    return table


def _require_size(domain: Domain, n_classes: int, n_trees: int = 0) -> None:
    """Refuse a domain whose tables take too much memory."""
    needed = domain.n_vectors * (8 * _TABLES * n_classes + 4 * domain.n_columns + 8 * n_trees)
    if needed > MAX_BYTES:
        raise NotCoveredError(
            f"an informed adversary would need {needed / 1024**3:.1f} GiB for the {domain.n_vectors:,} vectors of the "
            "domain; larger ones are not covered yet"
        )
