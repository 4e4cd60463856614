"""What the population alone says of rows: states of rows go in, `Population` (mixtures) or `RowKinds` (rows) comes out.

A mixture of products over states, a latent class model (as in `pytest_draft.attack.walk.mixture`), is fitted by
expectation maximisation. Each row's prior is fitted to the rows of the other folds: it follows from other people's
rows, and never the row itself.

Whoever has many other rows like these knows more than a mixture says: which vectors there are, and how often
(`RowKinds`). That is estimated from the training rows themselves, and those of a holdout, each with its own place: of
what is seen `r` times a constant share of one row is taken off (absolute discounting), so that a vector that is seen
once is as likely as the population makes it on average. What is taken off goes to rows that the mixtures draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.states import States


@dataclass(frozen=True)
class PopulationParameters:
    """How the mixture is fitted."""

    folds: int = 5
    """Parts of the rows; each is foreseen by all others."""
    most_rows: int = 2_000
    """Of more rows so many are drawn to fit each mixture."""
    rows_a_class: int = 25
    """One latent class for each so many rows."""
    most_classes: int = 12
    steps: int = 60
    """Of expectation maximisation."""
    smoothing: float = 1.0
    """Rows of the whole population that are added to each latent class."""
    bins: int = 10
    """Classes of values, equally many rows in each, by which latent classes tell numeric values apart."""
    most_other_rows: int = 2_000
    """Of a holdout's rows so many are drawn where there are more."""
    drawn_a_row: int = 2
    most_drawn: int = 800
    """`drawn_a_row` and `most_drawn`: rows that the mixtures draw for each row that is known, and at most."""


_PARAMETERS = PopulationParameters()

_LEAST = 1e-9
"""Of one row: what is left at least of a vector that is seen, so that each row has a kind in its box."""


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """A mixture of products over states, one for each fold of the rows."""

    log_share: FloatArray
    """Shape (n_folds, n_classes)."""
    log_prior: FloatArray
    """Shape (n_folds, n_classes, n_states of all attributes)."""
    fold: IntArray
    """Shape (n_rows,)."""

    def __repr__(self) -> str:
        n_folds, n_classes = self.log_share.shape
        return f"Population({n_folds} folds of {n_classes} latent classes)"

    def drawn(
        self, states: States, rng: np.random.Generator, rows: IntArray, inside: BoolArray | None = None
    ) -> IntArray:
        """Return states that are drawn for some rows, shape (n_drawn, n_attributes).

        Parameters
        ----------
        rows : ndarray of int64, shape (n_drawn,)
            Their positions.
        inside : ndarray of bool, shape (n_drawn, n_states of all attributes), or None
            Which states each of them can have; None for all.
        """
        slices = [slice(*ends) for ends in pairwise(np.concatenate([[0], np.cumsum(states.n_states)]).tolist())]
        state = np.empty((len(rows), len(slices)), dtype=np.int64)
        for fold, log_share in enumerate(self.log_share):
            mine = np.flatnonzero(self.fold[rows] == fold)
            prior = np.exp(self.log_prior[fold])
            log = np.tile(log_share, (len(mine), 1))
            left = None if inside is None else inside[mine].astype(np.float64)
            if left is not None:
                log += sum(np.log(left[:, own] @ prior[:, own].T) for own in slices)
            latent = _one_of_each(np.exp(log - log.max(axis=1, keepdims=True)), rng)
            for a, own in enumerate(slices):
                weight = prior[latent, own]
                state[mine, a] = _one_of_each(weight if left is None else weight * left[:, own], rng)
        return state


def _one_of_each(weight: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return for each row of weights one place that is drawn in proportion to them."""
    below = np.cumsum(weight, axis=1)
    drawn: IntArray = (below <= rng.random((len(weight), 1)) * below[:, -1:]).sum(axis=1)
    return drawn


def uniform(states: States, n_rows: int) -> Population:
    """Return the prior by which all values that the domain allows are alike."""
    log_prior = np.log(np.concatenate([_base(states, a) for a in range(len(states.low))]))
    return Population(np.zeros((1, 1)), log_prior[None, None], np.zeros(n_rows, dtype=np.int64))


def fitted(states: States, state: IntArray, seed: int, others: IntArray | None = None) -> Population:
    """Return for each row the mixture that fits the rows of all other folds, and of other people, best.

    Parameters
    ----------
    state : ndarray of int, shape (n_rows, n_attributes)
    seed : int
        Of the folds and the first guess.
    others : ndarray of int, shape (n_others, n_attributes), or None
        Rows of the population that were not trained on.
    """
    n_rows = len(state)
    n_folds = min(_PARAMETERS.folds, n_rows)
    if n_folds < 2:
        return uniform(states, n_rows)
    rng = np.random.default_rng([seed, 61])
    fold = rng.permutation(n_rows) % n_folds
    n_known = n_rows + (0 if others is None else len(others))
    n_classes = int(np.clip(n_known // _PARAMETERS.rows_a_class, 1, _PARAMETERS.most_classes))
    parts = []
    for one in range(n_folds):
        known = state[fold != one] if others is None else np.concatenate([state[fold != one], others])
        if len(known) > _PARAMETERS.most_rows:
            known = known[rng.choice(len(known), _PARAMETERS.most_rows, replace=False)]
        parts.append(_mixture(states, known, n_classes, rng))
    log_share, log_prior = (np.ascontiguousarray(np.stack(part)) for part in zip(*parts, strict=True))
    return Population(log_share, log_prior, fold.astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class RowKinds:
    """Whole rows that the population has, and how often. Its repr shows no row."""

    state: IntArray
    """Shape (n_kinds, n_attributes)."""
    log_prior: FloatArray
    """Shape (n_kinds, n_classes). Log-probability of each with each label."""
    label: IntArray
    """Shape (n_rows,). Of the training rows."""

    def __repr__(self) -> str:
        return f"RowKinds({len(self.state):,} kinds of rows, not shown)"

    def drawn(
        self, states: States, rng: np.random.Generator, rows: IntArray, inside: BoolArray | None = None
    ) -> IntArray:
        """Return states that are drawn for some rows, as `Population.drawn`; with `inside`, those of their labels."""
        weight = np.exp(self.log_prior)
        if inside is None:
            return self.state[rng.choice(len(weight), len(rows), p=weight.sum(axis=1) / weight.sum())]
        at = self.state + np.concatenate([[0], np.cumsum(states.n_states)[:-1]])
        weight = weight[:, self.label[rows]].T
        for place in at.T:
            weight = weight * inside[:, place]
        return self.state[_one_of_each(weight, rng)]


def row_kinds(
    states: States, state: IntArray, label: IntArray, n_classes: int, seed: int, others: IntArray
) -> RowKinds:
    """Return the kinds of rows that the population is thought to have, by absolute discounting (see the module).

    Parameters
    ----------
    state : ndarray of int, shape (n_rows, n_attributes)
        Of the training rows.
    label : ndarray of int, shape (n_rows,)
    others : ndarray of int, shape (n_others, n_attributes)
        Of rows of a holdout, whose labels are not known; may be none.
    """
    rng = np.random.default_rng([seed, 69])
    if len(others) > _PARAMETERS.most_other_rows:
        others = others[rng.choice(len(others), _PARAMETERS.most_other_rows, replace=False)]
    known = np.concatenate([state, others]).astype(np.int64)
    mixtures = _mixture_of_each_class(states, state.astype(np.int64), label, n_classes, rng)
    share = (np.bincount(label, minlength=n_classes).astype(np.float64) + 0.5) / (len(label) + 0.5 * n_classes)
    n_drawn = min(_PARAMETERS.drawn_a_row * len(known), _PARAMETERS.most_drawn)
    drawn = _drawn_rows(states, mixtures, share, n_drawn, rng)
    vector, place = np.unique(np.concatenate([known, drawn]), axis=0, return_inverse=True)
    place = place.reshape(-1)
    n_seen = np.bincount(place[: len(known)], minlength=len(vector)).astype(np.float64)
    n_drawn_as = np.bincount(place[len(known) :], minlength=len(vector))
    # What is taken off what was seen, by Good and Turing's estimate, goes to vectors as often as they were drawn.
    once, twice = int((n_seen == 1).sum()), int((n_seen == 2).sum())
    off = once / max(once + 2 * twice, 1)
    weight = np.maximum(n_seen - off, _LEAST) / len(known)
    weight += off * (n_seen > 0).sum() / len(known) * n_drawn_as / n_drawn
    # A vector's labels are those that it was seen with; the mixtures count as one more row of it.
    labelled = np.zeros((len(vector), n_classes))
    np.add.at(labelled, (place[: len(state)], label), 1.0)
    unlabelled = n_seen - labelled.sum(axis=1)
    of_label = _label_chances(states, mixtures, share, vector)
    split = (labelled + (unlabelled + 1)[:, None] * of_label) / (n_seen + 1)[:, None]
    return RowKinds(vector, np.log(np.maximum(weight[:, None] * split, 1e-300)), label)


def _mixture_of_each_class(
    states: States, state: IntArray, label: IntArray, n_classes: int, rng: np.random.Generator
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the mixture that fits the rows of each class; that of all rows where a class has none."""
    mixtures = []
    for c in range(n_classes):
        own = state[label == c]
        if not len(own):
            own = state
        n_latent = int(np.clip(len(own) // _PARAMETERS.rows_a_class, 1, _PARAMETERS.most_classes))
        mixtures.append(_mixture(states, own, n_latent, rng))
    return mixtures


def _drawn_rows(
    states: States,
    mixtures: list[tuple[FloatArray, FloatArray]],
    share: FloatArray,
    n_drawn: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return rows drawn from the classes' mixtures, each class by its share, shape (n_drawn, n_attributes)."""
    of_draw = rng.choice(len(mixtures), n_drawn, p=share)
    drawn = np.empty((n_drawn, len(states.n_states)), dtype=np.int64)
    for c, (log_share, log_prior) in enumerate(mixtures):
        places = np.flatnonzero(of_draw == c)
        alone = Population(log_share[None], log_prior[None], np.zeros(len(places), dtype=np.int64))
        drawn[places] = alone.drawn(states, rng, np.arange(len(places)))
    return drawn


def _label_chances(
    states: States, mixtures: list[tuple[FloatArray, FloatArray]], share: FloatArray, vector: IntArray
) -> FloatArray:
    """Return how likely each label is for vectors, by the classes' mixtures, shape (n_vectors, n_classes)."""
    start = np.concatenate([[0], np.cumsum(states.n_states)])[:-1]
    log = np.stack(
        [
            np.log(share[c]) + np.logaddexp.reduce(log_share + log_prior[:, vector + start].sum(axis=2).T, axis=1)
            for c, (log_share, log_prior) in enumerate(mixtures)
        ],
        axis=1,
    )
    chances: FloatArray = np.exp(log - np.logaddexp.reduce(log, axis=1)[:, None])
    return chances


def _mixture(
    states: States, state: IntArray, n_classes: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of the shares of latent classes, and of each state in each of them."""
    n_rows, n_attributes = state.shape
    binned, within = [], []
    for a in range(n_attributes):
        of_state = _bins(states, a, state[:, a])
        number = np.bincount(state[:, a], minlength=len(of_state)).astype(np.float64)
        # Half of it where other rows are, half evenly over the values of each class of values.
        base = _base(states, a)
        evenly = base / np.bincount(of_state, base)[of_state]
        held = np.bincount(of_state, number)[of_state]
        own = np.where(held > 0, number / np.maximum(held, 1), evenly)
        binned.append(of_state)
        within.append((own + evenly) / 2)
    one_hot = [np.eye(int(of_state.max()) + 1)[of_state[state[:, a]]] for a, of_state in enumerate(binned)]
    overall = [(hot.sum(axis=0) + 0.5) / (n_rows + 0.5 * hot.shape[1]) for hot in one_hot]
    belongs = rng.dirichlet(np.full(n_classes, 0.3), size=n_rows) if n_classes > 1 else np.ones((n_rows, 1))
    log_share, tables = np.zeros(n_classes), list[FloatArray]()
    for _ in range(_PARAMETERS.steps):
        size = belongs.sum(axis=0)
        log_share = np.log((size + 1) / (size + 1).sum())
        tables = [
            (belongs.T @ hot + _PARAMETERS.smoothing * share) / (size[:, None] + _PARAMETERS.smoothing)
            for hot, share in zip(one_hot, overall, strict=True)
        ]
        log = log_share + sum(hot @ np.log(table).T for hot, table in zip(one_hot, tables, strict=True))
        belongs = np.exp(log - log.max(axis=1, keepdims=True))
        belongs /= belongs.sum(axis=1, keepdims=True)
    log_prior = [
        np.log(table[:, of_state] * share) for table, of_state, share in zip(tables, binned, within, strict=True)
    ]
    return log_share, np.concatenate(log_prior, axis=1)


def _base(states: States, a: int) -> FloatArray:
    """Return how likely each state of an attribute is where all its values are equally likely."""
    n_states = int(states.n_states[a])
    attribute = states.domain.attributes[a]
    even = np.full(n_states, 1.0 / n_states)
    if attribute.kind != "numeric":
        return even
    low, high = states.low[a], states.high[a]
    width = np.where(np.isnan(low), 0.0, high - low)
    if not width.sum() > 0:
        return even
    by_width: FloatArray = 0.99 * width / width.sum() + 0.01 * even
    return by_width


def _bins(states: States, a: int, state: IntArray) -> IntArray:
    """Return the bin of each state: one for each state, or of an attribute with many, bins of equally many rows."""
    n_states = int(states.n_states[a])
    if states.domain.attributes[a].kind == "one-hot" or n_states <= _PARAMETERS.bins:
        return np.arange(n_states)
    inner = np.unique(np.quantile(state, np.linspace(0, 1, _PARAMETERS.bins + 1)[1:-1], method="inverted_cdf"))
    of_state = np.searchsorted(inner, np.arange(n_states), side="left")
    if np.isnan(states.low[a][-1]):
        of_state[-1] = of_state.max() + 1
    _, dense = np.unique(of_state, return_inverse=True)
    return dense.reshape(-1).astype(np.int64)
