"""Small forests whose every dataset can be listed: in goes a seed, out comes an `Instance`, grown and read from a file.

One in three has counts that were changed afterwards, so that its rows no longer explain them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.artifact import Forest, occurrences
from pytest_draft.artifact.forest.observations import ClassCounts
from pytest_draft.domain import Attribute, Domain, Kind
from studies.files import through_file
from studies.paper_models.published import ModelDataset

IntArray = NDArray[np.int64]
Setting = Literal["no bagging", "occurrences known", "occurrences unknown"]

SETTINGS: tuple[Setting, ...] = ("no bagging", "occurrences known", "occurrences unknown")

_KINDS: tuple[Kind, ...] = ("binary", "one-hot", "ordinal")

_MOST_VECTORS, _MOST_ROWS = 24, 6
"""Of an instance: more would take too many steps to enumerate."""

_MOST_VECTORS_UNKNOWN, _MOST_ROWS_UNKNOWN = 12, 4
"""Limits of an instance whose occurrences are unknown: all multisets of (vector, class) pairs are listed then."""

_MOST_TREES = 10
"""Of a forest: any number from 1 to this is drawn, so that one dataset or many explain the counts."""

_RANDOM_FORESTS = 3 / 4
"""Share of random forests, whose thresholds are midpoints; the others are extra trees."""

_CHANGED = 1 / 3
"""Share of instances whose counts are changed."""

_DROPPED, _CODED = 1 / 3, 1 / 2
"""Shares of one-hot groups without their first level, and of ordinal columns whose codes have gaps."""


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A small forest with the rows that it was grown on. Its repr shows no row."""

    setting: Setting
    forest: Forest
    domain: Domain
    truth: ModelDataset | None
    """None where the forest's counts were changed afterwards, so that these rows no longer explain them."""
    occurrences: IntArray
    """Shape (n_trees, n_rows). As the seeds tell; no model gets them where they are unknown."""

    def __repr__(self) -> str:
        return f"<Instance: {self.setting}, {self.n_rows} rows, {self.domain.n_vectors} vectors>"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.occurrences.shape[1])


def generated(setting: Setting, seed: Sequence[int], *, coded: bool = False) -> Instance:
    """Grow a forest on a few random rows, write it to a file and read that; change the counts of one in three.

    Parameters
    ----------
    setting : {"no bagging", "occurrences known", "occurrences unknown"}
    coded : bool
        Whether there are code books and one-hot groups whose first level was dropped, which the papers do not know.
    """
    rng = np.random.default_rng(seed)
    most_vectors, most_rows = _MOST_VECTORS, _MOST_ROWS
    if setting == "occurrences unknown":
        most_vectors, most_rows = _MOST_VECTORS_UNKNOWN, _MOST_ROWS_UNKNOWN
    domain = random_domain(rng, most_vectors, coded=coded)
    n_rows = int(rng.integers(2, most_rows + 1))
    rows = domain.vectors()[rng.integers(domain.n_vectors, size=n_rows)]
    n_classes = int(rng.integers(2, 4))
    classes, labels = np.unique(rng.integers(n_classes, size=n_rows), return_inverse=True)
    bagging = setting != "no bagging"
    kind = RandomForestClassifier if rng.random() < _RANDOM_FORESTS else ExtraTreesClassifier
    model = kind(
        n_estimators=int(rng.integers(1, _MOST_TREES + 1)),
        max_depth=[1, 2, 3, None, None][rng.integers(5)],
        max_features=[1, None][rng.integers(2)],
        bootstrap=bagging,
        random_state=int(rng.integers(2**31)),
    )
    forest = through_file(model.fit(rows, classes[labels]))
    truth = ModelDataset(rows, labels.reshape(-1).astype(np.int64))
    times = occurrences(forest)
    if rng.random() >= _CHANGED:
        return Instance(setting, forest, domain, truth, times)
    return Instance(setting, changed(forest, rng), domain, None, times)


def changed(forest: Forest, rng: np.random.Generator) -> Forest:
    """Return a forest one of whose trees has one row, or draw, in another leaf.

    Returns
    -------
    Forest
        Its counts are still consistent within each tree.
    """
    counts = [forest.counts(t) for t in range(forest.n_trees)]
    t = int(rng.integers(forest.n_trees))
    leaves = forest.trees[t].leaves
    source, c = rng.permutation(np.argwhere(counts[t][leaves] > 0))[0]
    target = int(rng.integers(len(leaves)))
    table = np.zeros_like(counts[t])
    table[leaves] = counts[t][leaves]
    table[leaves[source], c] -= 1
    table[leaves[target], c] += 1
    trees = list(forest.trees)
    counts[t] = table
    for i, tree in enumerate(trees):
        for v in np.flatnonzero(tree.left >= 0)[::-1]:
            counts[i][v] = counts[i][tree.left[v]] + counts[i][tree.right[v]]
        weight = counts[i].sum(axis=1)
        distinct = np.minimum(tree.n_distinct, weight) if forest.draws.drawn else weight
        trees[i] = replace(tree, value=counts[i].astype(float), weight=weight.astype(float), n_distinct=distinct)
    return replace(forest, trees=tuple(trees), observation=ClassCounts("totals"))


def random_domain(rng: np.random.Generator, most: int, *, coded: bool) -> Domain:
    """Return one to four random attributes with at most so many vectors."""
    attributes: list[Attribute] = []
    columns: list[str] = []
    n_vectors = 1
    for a in range(rng.integers(1, 5)):
        kind = _KINDS[rng.integers(len(_KINDS))]
        size = 2 if kind == "binary" else int(rng.integers(3, 5))
        if n_vectors * size > most:
            break
        n_vectors *= size
        dropped = coded and kind == "one-hot" and rng.random() < _DROPPED
        own = tuple(range(len(columns), len(columns) + (size - dropped if kind == "one-hot" else 1)))
        columns += [f"a{a}_{i}" for i in range(len(own))]
        if kind == "ordinal":
            if coded and rng.random() < _CODED:
                book = np.cumsum(rng.integers(1, 5, size=size)) - 4
            else:
                book = np.arange(size) + rng.integers(-2, 3)
            attributes.append(Attribute.coded(f"a{a}", own[0], book.tolist()))
        else:
            attributes.append(Attribute(f"a{a}", kind, own, dropped=dropped))
    return Domain(tuple(columns), tuple(attributes), "generated")
