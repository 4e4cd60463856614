"""Refuses rows with missing values that a forest's counts cannot be compared with.

Since 1.3 scikit-learn's trees take missing values (NaN), and each node stores where it sends them. Before 1.9, though,
the rows that a node counted in training need not be those that its ancestors send to it: up to 1.7 this happened in
most trees of some data sets, in 1.8 in about 2 of 1,000 trees, and the file does not say in which. Conclusions from
such counts can be wrong. In 1.9 it happened in none of 16,000 trees. So older files are judged only where the given
rows, drawn as the file says, reach the leaves in the numbers that it counts there: then the counts are right for these
rows.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact.forest.forest import Forest, Tree
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.errors import DataError, NotCoveredError

_SINCE = {
    "DecisionTree": (1, 3),
    "Bagging": (1, 3),
    "RandomForest": (1, 4),
    "ExtraTree": (1, 6),
    "ExtraTrees": (1, 6),
}
"""The first version of scikit-learn in which each kind takes missing values."""

COUNTED_SINCE = (1, 9)
"""From this version on, nodes count the rows that are sent to them, also with missing values."""


def require_missing_covered(forest: Forest, missing: str, rows: Rows, labels: IntArray) -> None:
    """Refuse training rows with missing values that a forest cannot have seen, or does not count as it splits them.

    Parameters
    ----------
    missing : str
        How many values are missing and where, for the message.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
        Indices into the forest's classes.

    Raises
    ------
    DataError
        Where the forest is private, or of a version that takes no missing values.
    NotCoveredError
        Where the version counts some of them wrongly, or the file does not say which it is.
    """
    if forest.observation.privacy is not None:
        raise DataError(f"{missing}, which private forests do not take; give the data as it was trained on")
    if isinstance(forest.observation, BoostedSums):
        if forest.kind.startswith("GradientBoosting"):
            raise DataError(f"{missing}, which {forest.kind} does not take; give the data encoded as it was trained")
        return
    version = forest.sklearn_minor
    if version is None:
        raise NotCoveredError(
            f"{missing}, and the model file does not tell which scikit-learn counted them: save it from its estimator"
        )
    release = f"scikit-learn {version[0]}.{version[1]}"
    since = _SINCE.get(forest.kind.removesuffix("Classifier").removesuffix("Regressor"))
    if since is None:
        raise NotCoveredError(f"{missing}, which are not covered with {forest.kind}")
    if version < since:
        raise DataError(
            f"{missing}, which {forest.kind} of {release} does not take; give the data encoded as it was trained"
        )
    if version < COUNTED_SINCE and not _counted_where_sent(forest, rows, labels):
        raise NotCoveredError(
            f"{missing}, and {release} need not count them where it sends them, nor does this file (or the rows are "
            "others than it was trained on): train with 1.9 or later"
        )


def _counted_where_sent(forest: Forest, rows: Rows, labels: IntArray) -> bool:
    """Return whether rows, drawn as the file says, reach each leaf in the numbers of each class that it counts."""
    if not forest.observation.exact:
        return False
    try:
        drawn = occurrences(forest)
        if drawn.shape[1] != len(rows):
            return False
        for index, tree in enumerate(forest.trees):
            found = np.zeros((tree.n_nodes, forest.n_classes), dtype=np.int64)
            np.add.at(found, (_reached(tree, rows), labels), drawn[index])
            if not np.array_equal(found[tree.leaves], forest.counts(index)[tree.leaves]):
                return False
    except NotCoveredError:
        return False
    return True


def _reached(tree: Tree, rows: Rows) -> IntArray:
    """Return the leaf that each row is sent to, shape (n_rows,)."""
    node = np.zeros(len(rows), dtype=np.int64)
    moving = np.arange(len(rows))
    while len(moving := moving[tree.left[node[moving]] >= 0]):
        at = node[moving]
        values = rows[moving, tree.feature[at]]
        left = np.where(np.isnan(values), tree.missing_left[at], values <= tree.threshold[at])
        node[moving] = np.where(left, tree.left[at], tree.right[at])
    return node
