"""What stands in an XGBoost model, and is neither read nor as XGBoost writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pytest_draft.artifact.json_text import anything, are_settings, unlike
from pytest_draft.artifact.xgboost.parts import numbers
from pytest_draft.artifact.xgboost.rates import Rates
from pytest_draft.artifact.xgboost.settings import SETTINGS
from pytest_draft.artifact.xgboost.trees import XGBoostTree

_GAIN = 4e-6
"""How far a gain is off in single precision, relative to what it is the difference of."""

_MOST_IN_CONFIG, _MOST_LETTERS = 256, 900
"""Names and values in a configuration, and letters of those that are not known; 1.7 writes 192 and 700."""

_WHOLE = r"\d{1,9}"
_NUMBER = r"-?\d{0,9}\.?\d{0,20}(?:[eE][-+]?\d{1,3})?"
_NUMBERS = rf"\[?{_NUMBER}(?:,{_NUMBER})*\]?"
_TREE: dict[str, Any] = {"categories": [], "categories_nodes": [], "categories_segments": [], "categories_sizes": []}
_LISTS = (
    *("base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children"),
    *("split_conditions", "split_indices", "split_type", "sum_hessian"),
)
_LEARNER = {
    "attributes": {
        **{"best_iteration": _WHOLE, "best_ntree_limit": _WHOLE, "best_score": _NUMBER},
        "scikit_learn": r'[\w{}": ,.-]{0,400}',
    },
    "feature_names": anything,
    "feature_types": [r"float|int|i|q|c|quantitative|indicator"],
    "learner_model_param": dict.fromkeys(
        ("base_score", "boost_from_average", "num_class", "num_feature", "num_target"), _NUMBERS
    ),
    "objective": {"name": anything, "*": {"*": _NUMBER}},
}


def unread(model: Mapping[str, Any], config: object, trees: list[Any], n_features: int, per_round: int) -> set[str]:
    """Return the paths of what is not read in a model, and in the configuration beside it.

    Parameters
    ----------
    model : mapping
        Which has been read.
    trees : list
        Its trees, as they stand in it.
    n_features, per_round : int
        Numbers of columns, and of trees in each round.
    """
    inside = {
        "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
        "gbtree_model_param": {"num_parallel_tree": _WHOLE, "num_trees": _WHOLE, "size_leaf_vector": r"[01]"},
        "iteration_indptr": list(range(0, len(trees) + 1, per_round)),
        **{"tree_info": anything, "trees": anything},
    }
    booster = {"gbtree": {"model": inside, "name": "gbtree"}, "model": inside, "name": "gbtree|dart"}
    booster["weight_drop"] = [lambda value: type(value) in (int, float)]
    version = lambda value: len(value) <= 3 and all(0 <= one < 1000 for one in value)  # noqa: E731
    found = set(unlike(model, {"learner": {**_LEARNER, "gradient_booster": booster}, "version": version}))
    if config is not None and not are_settings(config, _MOST_IN_CONFIG, _MOST_LETTERS, SETTINGS):
        found.add("Config")
    sizes = {"num_deleted": _WHOLE, "num_feature": f"{n_features}|0", "num_nodes": _WHOLE, "size_leaf_vector": r"[01]"}
    for index, tree in enumerate(trees):
        n_nodes = len(tree["left_children"])
        found.update(
            unlike(tree, {**_TREE, **dict.fromkeys(_LISTS, anything), "id": index, "tree_param": sizes}, "trees[*]")
        )
        found.update(
            f"trees[*].{name}" for name in _LISTS if name in tree and numbers(tree[name], n_nodes, "biuf") is None
        )
    return found


def unlike_sums(trees: list[XGBoostTree], rates: Rates, limit: float) -> Iterator[str]:
    """Yield gains and weights of leaves, which nobody reads, that do not follow from sums in a tree.

    Those of steps that were cut off at a limit do not.
    """
    for index, one in enumerate(trees):
        tree, inner, leaf = one.tree, one.inner, one.tree.value[:, 0]
        step = np.where(tree.left < 0, leaf / rates.learning_rate, one.step)
        score = step**2 * (one.hessian + rates.reg_lambda)
        below = score[tree.left[inner]] + score[tree.right[inner]]
        cut = np.abs(step) >= limit * (1 - _GAIN)
        whole = ~(cut[inner] | cut[tree.left[inner]] | cut[tree.right[inner]])
        far = whole & (np.abs(one.gain[inner] - below + score[inner]) > _GAIN * (below + score[inner]) + 1e-9)
        other = np.minimum(np.abs(one.step - leaf), np.abs(one.step - step)) > _GAIN * np.abs(step) + 1e-12
        if far.any() or other[tree.left < 0].any():
            yield f"trees[{index}].{'loss_changes' if far.any() else 'base_weights'}"
