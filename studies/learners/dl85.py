"""Optimal trees: in go rows of zeros and ones with labels, out comes the `Tree` with the fewest mistakes, by DL8.5.

Aglin, Nijssen and Schaus (Learning Optimal Decision Trees Using Caching Branch-and-Bound Search, AAAI 2020), through
their library pydl8.5. It says whether its search ended in time; that the tree is then optimal is its claim. What is
checked here is that the tree makes as many mistakes as it reports, and keeps the limits.

The claim is false by the library's defaults: the tree was worse than the best in 16 % of 15,286 small random instances
(pydl8.5 0.1.8), and in 0.4 % without the shortcut for the last two levels and the bounds by similarity. Without
choosing the order of a split's parts by their bounds as well, none of 16,790 was. So all of these are switched off. The
paper's scripts switch off none, but for the shortcut, which their own error function prevents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.artifact.forest import Tree
from pytest_draft.errors import DraftError, one_line
from studies.learners.nested import Nested, tree_of
from studies.learners.width_one import BoolArray
from studies.optional import optional


@dataclass(frozen=True, eq=False)
class Found:
    """The best tree that was found."""

    tree: Tree
    certified: bool
    """Whether the search ended in time, after which DL8.5 claims the tree to be optimal."""


def pydl85() -> Any:
    """Return the module ``pydl85``.

    Raises
    ------
    MissingPackageError
        Without it: it is built from source and wants distutils, which Python 3.12 took away.
    """
    return optional("pydl85", "DL8.5 needs pydl8.5, on Python 3.11 or older", "studies")


def learn(features: BoolArray, labels: BoolArray, max_depth: int, min_rows: int, seconds: float) -> Found:
    """Return the tree with the fewest mistakes on the training rows.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    min_rows : int
        Least number of rows of a leaf.
    seconds : float
        Limit of the search, rounded up to whole seconds.

    Raises
    ------
    DraftError
        Without pydl8.5, or where it broke off or found no tree in time.
    """
    learner = pydl85().DL85Classifier(
        max_depth=max_depth,
        min_sup=min_rows,
        time_limit=max(1, math.ceil(seconds)),
        depth_two_special_algo=False,
        similar_lb=False,
        similar_for_branching=False,
        dynamic_branch=False,
    )
    try:
        learner.fit(features.astype(np.int32), labels.astype(np.int32))
    except (RuntimeError, IndexError) as error:  # seen where hardly any column divides the rows
        raise DraftError(f"DL8.5 broke off at depth {max_depth}: {one_line(error)}; use the optimal trees") from None
    if learner.tree_ is None:
        raise DraftError(f"DL8.5 found no tree of depth {max_depth} within {seconds:g} s: give it more time")
    tree = tree_of(_nested(learner.tree_), features, labels)
    leaves = tree.leaves
    mistakes = int(tree.value[leaves].min(axis=1).sum())
    if mistakes != learner.error_ or (len(leaves) > 1 and tree.weight[leaves].min() < min_rows):
        raise RuntimeError(f"DL8.5 reports {learner.error_:g} mistakes, but its tree makes {mistakes}")
    return Found(tree, not learner.timeout_)


def _nested(node: dict[str, Any]) -> Nested:
    """Return a tree of the library, whose ``left`` is where a column holds 1."""
    return (node["feat"], _nested(node["right"]), _nested(node["left"])) if "feat" in node else None
