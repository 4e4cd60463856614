"""What somebody knows who knows the population: in go true rows as states, out comes a mixture of products.

A latent class model (as in `pytest_draft.attack.private.sweeps`), fitted to the true rows themselves by expectation
maximisation: whoever knows only the population knows less than that, which is on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.numeric.states import States


@dataclass(frozen=True)
class PopulationParameters:
    """How the mixture is fitted.

    Attributes
    ----------
    rows_a_class : int
        One latent class for each so many rows.
    most_classes : int
    steps : int
        Of expectation maximisation.
    smoothing : float
        Rows of the whole population that are added to each latent class.
    bins : int
        Classes of values, equally many rows in each, by which latent classes tell numeric values apart.
    """

    rows_a_class: int = 25
    most_classes: int = 12
    steps: int = 60
    smoothing: float = 1.0
    bins: int = 10


_PARAMETERS = PopulationParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """A mixture of products over states.

    Attributes
    ----------
    log_share : ndarray of float64, shape (n_classes,)
    log_prior : ndarray of float64, shape (n_classes, n_states of all attributes)
    """

    log_share: FloatArray
    log_prior: FloatArray

    def __repr__(self) -> str:
        return f"Population({len(self.log_share)} latent classes)"


def uniform(states: States) -> Population:
    """Return the prior by which all values that the domain allows are alike.

    Parameters
    ----------
    states : States
    """
    return Population(np.zeros(1), np.log(np.concatenate([_base(states, a) for a in range(len(states.low))]))[None])


def fitted(states: States, state: IntArray, seed: int) -> Population:
    """Return the mixture that fits some rows best.

    Parameters
    ----------
    states : States
    state : ndarray of int, shape (n_rows, n_attributes)
    seed : int
        Of the first guess.
    """
    n_rows, n_attributes = state.shape
    n_classes = int(np.clip(n_rows // _PARAMETERS.rows_a_class, 1, _PARAMETERS.most_classes))
    binned, within = [], []
    for a in range(n_attributes):
        of_state = _bins(states, a, state[:, a])
        number = np.bincount(state[:, a], minlength=len(of_state)).astype(np.float64)
        # Half of it where rows are, half evenly over the values of each class of values.
        base = _base(states, a)
        evenly = base / np.bincount(of_state, base)[of_state]
        held = np.bincount(of_state, number)[of_state]
        own = np.where(held > 0, number / np.maximum(held, 1), evenly)
        binned.append(of_state)
        within.append((own + evenly) / 2)
    one_hot = [np.eye(int(of_state.max()) + 1)[of_state[state[:, a]]] for a, of_state in enumerate(binned)]
    whole = [(hot.sum(axis=0) + 0.5) / (n_rows + 0.5 * hot.shape[1]) for hot in one_hot]
    rng = np.random.default_rng([seed, 61])
    belongs = rng.dirichlet(np.full(n_classes, 0.3), size=n_rows) if n_classes > 1 else np.ones((n_rows, 1))
    log_share, tables = np.zeros(n_classes), []
    for _ in range(_PARAMETERS.steps):
        size = belongs.sum(axis=0)
        log_share = np.log((size + 1) / (size + 1).sum())
        tables = [
            (belongs.T @ hot + _PARAMETERS.smoothing * share) / (size[:, None] + _PARAMETERS.smoothing)
            for hot, share in zip(one_hot, whole, strict=True)
        ]
        log = log_share + sum(hot @ np.log(table).T for hot, table in zip(one_hot, tables, strict=True))
        belongs = np.exp(log - log.max(axis=1, keepdims=True))
        belongs /= belongs.sum(axis=1, keepdims=True)
    log_prior = [
        np.log(table[:, of_state] * share)
        for table, of_state, share in zip(tables, binned, within, strict=True)
    ]
    return Population(log_share, np.ascontiguousarray(np.concatenate(log_prior, axis=1)))


def _base(states: States, a: int) -> FloatArray:
    """Return how likely each state of an attribute is where all values are alike; a missing one as one of all."""
    n_states = int(states.n_states[a])
    attribute = states.domain.attributes[a]
    if attribute.kind != "numeric":
        return np.full(n_states, 1.0 / n_states)
    low, high = states.low[a], states.high[a]
    width = np.where(np.isnan(low), 0.0, high - low)
    even = np.full(n_states, 1.0 / n_states)
    if not width.sum() > 0:
        return even
    return 0.99 * width / width.sum() + 0.01 * even


def _bins(states: States, a: int, state: IntArray) -> IntArray:
    """Return a class of values for each state: each its own, or of an attribute of many states as many rows in each."""
    n_states = int(states.n_states[a])
    if states.domain.attributes[a].kind == "one-hot" or n_states <= _PARAMETERS.bins:
        return np.arange(n_states)
    inner = np.unique(np.quantile(state, np.linspace(0, 1, _PARAMETERS.bins + 1)[1:-1], method="inverted_cdf"))
    of_state = np.searchsorted(inner, np.arange(n_states), side="left")
    if np.isnan(states.low[a][-1]):
        of_state[-1] = of_state.max() + 1
    _, dense = np.unique(of_state, return_inverse=True)
    return dense.reshape(-1)
