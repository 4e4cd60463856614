"""The ideal attacker's exact figures: in go all datasets that explain a small file, out come an error and perfect rows.

The ideal attacker knows all datasets that explain the file, takes each assignment of vectors to rows for equally
likely, and names the one multiset of the domain's vectors that does best in expectation. Here every such guess is
tried, so that bounds can be held against what is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact import occurrences
from pytest_draft.domain import Domain
from pytest_draft.matching import comparable, encoded_weights
from studies.agreement_enumeration import Enumeration, TooManyError
from studies.agreement_instances import Instance, Setting, random_domain
from studies.files import through_file
from studies.paper_models.published import ModelDataset

MOST_SUMS = 20_000_000
"""Distances of pairs of rows that are added up before an instance is given up: some tenths of a second."""

_MOST_STEPS = 5_000
"""Rows that an enumeration places before an instance is given up."""

_SETTINGS: tuple[Setting, ...] = ("no bagging", "occurrences known")
_FEWEST_ROWS, _MOST_ROWS = 3, 5
_MOST_TREES = 4
_MOST_VECTORS = 12
_RANDOM_FORESTS = 3 / 4
_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Explanations:
    """A small file, and all datasets that explain it. Its repr shows no row."""

    instance: Instance
    datasets: NDArray[np.float32]
    """Shape (n_datasets, n_rows, n_columns). In the order of the instance's rows where they can be told apart; of rows
    that can change places, one order of all.
    """
    weight: FloatArray
    """Shape (n_datasets,). How many assignments of vectors to rows each of them stands for."""
    number: int
    """How many they are where the order of labelled rows does not count."""
    least_error: float
    most_perfect_rows: float
    """`least_error` and `most_perfect_rows`: as `exact_ideal` returns them."""

    def __repr__(self) -> str:
        return f"<Explanations: {len(self.datasets)} datasets of {self.instance!r}>"

    def assignments(self) -> list[Rows]:
        """Return datasets as often as they are likely, so that all in the list are equally likely."""
        times = np.round(self.weight / self.weight.min()).astype(np.int64)
        if not np.allclose(times, self.weight / self.weight.min()):
            times = np.round(self.weight).astype(np.int64)
        return [rows for rows, number in zip(self.datasets, times.tolist(), strict=True) for _ in range(number)]


def exact_ideal(
    datasets: Sequence[Rows] | NDArray[np.float32], domain: Domain, weight: FloatArray | None = None
) -> tuple[float, float]:
    """Return the least expected error of a guess, and the most rows that a guess meets perfectly in expectation.

    Both guesses are multisets of vectors of the domain, one for each row; they need not be the same. The error is the
    mean distance of matched rows on encoded columns (`encoded_weights`); all guesses are tried. A row is met as often
    as both sides have it, so that the most is the sum of the largest probabilities that a vector occurs at least so
    often, one for each row.

    Parameters
    ----------
    datasets : sequence of ndarray of float32, shape (n_rows, n_columns)
        Rows of the domain, in any order.
    weight : ndarray of float64, shape (n_datasets,), optional
        How likely they are; by default all alike.

    Returns
    -------
    least_error : float
    most_perfect_rows : float

    Raises
    ------
    TooManyError
        Where there are more than `MOST_SUMS` distances to be added up.
    """
    vectors = domain.vectors()
    sets, likely = _multisets(np.asarray(datasets, dtype=np.float32), vectors, weight)
    n_rows = sets.shape[1]
    return _least_error(sets, likely, vectors, domain), _most_perfect(sets, likely, n_rows)


def _multisets(
    datasets: NDArray[np.float32], vectors: NDArray[np.float32], weight: FloatArray | None
) -> tuple[IntArray, FloatArray]:
    """Return different datasets, as ascending numbers of vectors, and how likely each is."""
    same = (datasets[:, :, None] == vectors).all(axis=3)
    if not same.any(axis=2).all():
        raise ValueError("a dataset has a row that the domain does not have")
    numbered = np.sort(same.argmax(axis=2), axis=1)
    sets, of_dataset = np.unique(numbered, axis=0, return_inverse=True)
    likely = np.bincount(of_dataset.reshape(-1), weight, minlength=len(sets)).astype(np.float64)
    return sets.astype(np.int64), likely / likely.sum()


def _least_error(sets: IntArray, likely: FloatArray, vectors: NDArray[np.float32], domain: Domain) -> float:
    """Return the least expected distance of any multiset to these after matching."""
    n_rows = sets.shape[1]
    if comb(len(vectors) + n_rows - 1, n_rows) * len(sets) * factorial(n_rows) * n_rows > MOST_SUMS:
        raise TooManyError
    weights = encoded_weights(domain)
    apart = cdist(*comparable(vectors, vectors, weights), "cityblock") / weights.total
    guesses = np.array(list(combinations_with_replacement(range(len(vectors)), n_rows)), dtype=np.int64)
    best = np.inf
    step = max(1, _AT_ONCE // len(sets))
    for start in range(0, len(guesses), step):
        some = guesses[start : start + step]
        pairs = [[apart[some[:, i]][:, sets[:, j]] for j in range(n_rows)] for i in range(n_rows)]
        least = np.full((len(some), len(sets)), np.inf)
        for order in permutations(range(n_rows)):
            np.minimum(least, sum(pairs[i][j] for i, j in enumerate(order)), out=least)
        best = min(best, float((least @ likely).min()))
    return float(best / n_rows)


def _most_perfect(sets: IntArray, likely: FloatArray, n_rows: int) -> float:
    """Return the sum of the largest probabilities that some vector occurs at least so often."""
    times = np.stack([(sets == v).sum(axis=1) for v in range(int(sets.max()) + 1)], axis=1)
    slots = np.concatenate([likely @ (times >= j) for j in range(1, n_rows + 1)])
    return float(np.sort(slots)[::-1][:n_rows].sum())


def explanations(instance: Instance, *, labels_fixed: bool = False) -> Explanations:
    """Return all datasets that explain an instance: its counts by class, its distinct rows, its midpoints.

    Parameters
    ----------
    instance : Instance
        With a truth; of no bagging, or of known occurrences.
    labels_fixed : bool
        Whether each row keeps its true label; else it is one more value that the file may leave open.

    Raises
    ------
    TooManyError
        Where there are too many.
    """
    if instance.truth is None:
        raise ValueError("these rows do not explain the forest's counts")
    equations = Enumeration.of(instance, distinct=True, thresholds=True)
    pairs, group, n_classes = equations.datasets(_MOST_STEPS), equations.group, equations.n_classes
    labels = instance.truth.labels[equations.order]
    if labels_fixed:
        by_class = [pairs % n_classes == c for c in range(n_classes)]
        fits = np.ones(len(pairs), dtype=bool)
        for g in np.unique(group):
            for c, of_class in enumerate(by_class):
                fits &= of_class[:, group == g].sum(axis=1) == (labels[group == g] == c).sum()
        pairs = pairs[fits]
    weight = np.array([_orders(row, group, n_classes, labels_fixed=labels_fixed) for row in pairs])
    datasets = np.empty((*pairs.shape, equations.vectors.shape[1]), dtype=np.float32)
    datasets[:, equations.order] = equations.vectors[pairs // n_classes]
    number = len(np.unique(np.sort(pairs, axis=1), axis=0))
    return Explanations(instance, datasets, weight, number, *exact_ideal(datasets, instance.domain, weight))


def _orders(pairs: IntArray, group: IntArray, n_classes: int, *, labels_fixed: bool) -> float:
    """Return in how many ways pairs can be given out to the rows of their groups."""
    ways = 1
    for g in np.unique(group):
        inside = pairs[group == g]
        places = np.bincount(inside % n_classes) if labels_fixed else np.array([len(inside)])
        for size in places.tolist():
            ways *= factorial(size)
        for size in np.unique(inside, return_counts=True)[1].tolist():
            ways //= factorial(size)
    return float(ways)


def generated(number: int, seed: int = 0, *, labels_fixed: bool = False) -> Iterator[Explanations]:
    """Grow small forests on random rows and list all that explains them; those with too many datasets are left out.

    Half of them are without bagging, the others with occurrences that the seeds tell.

    Parameters
    ----------
    labels_fixed : bool
        As in `explanations`.
    """
    made, tried = 0, 0
    while made < number:
        instance = small(_SETTINGS[made % len(_SETTINGS)], (seed, tried))
        tried += 1
        try:
            found = explanations(instance, labels_fixed=labels_fixed)
        except TooManyError:
            continue
        made += 1
        yield found


def small(setting: Setting, seed: Sequence[int]) -> Instance:
    """Grow a forest of few trees on few random rows of two or three classes, write it to a file and read that.

    Parameters
    ----------
    setting : {"no bagging", "occurrences known"}
    """
    rng = np.random.default_rng(seed)
    domain = random_domain(rng, _MOST_VECTORS, coded=False)
    while len(domain.attributes) < 2:
        domain = random_domain(rng, _MOST_VECTORS, coded=False)
    n_rows = int(rng.integers(_FEWEST_ROWS, _MOST_ROWS + 1))
    rows = domain.vectors()[rng.integers(domain.n_vectors, size=n_rows)]
    n_classes = int(rng.integers(2, 4))
    classes, labels = np.unique(rng.integers(n_classes, size=n_rows), return_inverse=True)
    kind = RandomForestClassifier if rng.random() < _RANDOM_FORESTS else ExtraTreesClassifier
    model = kind(
        n_estimators=int(rng.integers(1, _MOST_TREES + 1)),
        max_depth=[1, 2, 3, None][rng.integers(4)],
        max_features=[1, None][rng.integers(2)],
        bootstrap=setting != "no bagging",
        random_state=int(rng.integers(2**31)),
    )
    forest = through_file(model.fit(rows, classes[labels]))
    truth = ModelDataset(rows, labels.reshape(-1).astype(np.int64))
    return Instance(setting, forest, domain, truth, occurrences(forest))
