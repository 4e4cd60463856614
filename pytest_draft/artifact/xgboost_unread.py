"""What stands in an XGBoost model, and is neither read nor too small to hold data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_KNOWN = {
    "": frozenset(("learner", "version")),
    "learner": frozenset(
        ("attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective")
    ),
    "learner.gradient_booster": frozenset(("model", "name", "gbtree", "weight_drop")),
    "learner.gradient_booster.model": frozenset(
        ("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees")
    ),
}
"""What each object of a model has."""

_OF_TREE = frozenset(
    (
        *("base_weights", "default_left", "id", "left_children", "loss_changes", "parents", "right_children"),
        *("split_conditions", "split_indices", "split_type", "sum_hessian", "tree_param"),
    )
)
_CATEGORIES = frozenset(("categories", "categories_nodes", "categories_segments", "categories_sizes"))
_OF_NODE = ("loss_changes", "parents", "split_type")
"""Lists of a number for each node that nobody needs."""

_FEW = 32
"""Most values of an object or a list that is too small to hold data."""

_SHORT = 200
"""Most letters of a text that is."""

_MOST_DEEP = 8
_MOST_LETTERS = 1_000
_MOST_IN_CONFIG = 20_000
"""Most letters of all that is small in one place, written out; a configuration has some 6,000."""


def unread(model: Mapping[str, Any], config: object, trees: list[Any]) -> set[str]:
    """Return the paths of what is not read in a model, and in the configuration beside it.

    Parameters
    ----------
    model : mapping
        Which has been read.
    trees : list
        Its trees, as they stand in it.
    """
    learner = model["learner"]
    booster = learner["gradient_booster"]
    objects = {
        "": model,
        "learner": learner,
        "learner.gradient_booster": booster,
        "learner.gradient_booster.model": booster.get("gbtree", booster).get("model", {}),
    }
    found: set[str] = set()
    for path, holder in objects.items():
        dotted = f"{path}." if path else ""
        found.update(f"{dotted}{name}" for name in holder if name not in _KNOWN[path])
    looked_at = [
        *((f"learner.{name}", learner.get(name)) for name in ("attributes", "learner_model_param", "objective")),
        *((f"learner.feature_types[{index}]", one) for index, one in enumerate(_items(learner.get("feature_types")))),
        *((f"learner.gradient_booster.model.{name}", objects["learner.gradient_booster.model"].get(name))
          for name in ("cats", "gbtree_model_param")),
        ("Config", config),
    ]  # fmt: skip
    for path, value in looked_at:
        large = set(_large(path, value))
        most = _MOST_IN_CONFIG if path == "Config" else _MOST_LETTERS
        found |= large or ({path} if len(repr(value)) > most else set())
    indptr = objects["learner.gradient_booster.model"].get("iteration_indptr")
    if len(_items(indptr)) > len(trees) + 1 or not _is_plain(indptr):
        found.add("learner.gradient_booster.model.iteration_indptr")
    if len(_items(booster.get("weight_drop"))) > len(trees) or not _is_plain(booster.get("weight_drop")):
        found.add("learner.gradient_booster.weight_drop")
    for tree in trees:
        found.update(f"trees[*].{name}" for name in tree if name not in _OF_TREE | _CATEGORIES)
        found.update(f"trees[*].{name}" for name in _CATEGORIES if len(_items(tree.get(name))))
        found.update(large for large in _large("trees[*].tree_param", tree.get("tree_param")))
        n_nodes = len(_items(tree.get("left_children")))
        found.update(
            f"trees[*].{name}"
            for name in _OF_NODE
            if len(_items(tree.get(name))) > n_nodes or not _is_plain(tree.get(name))
        )
        if isinstance(tree.get("id"), (str, list, dict, np.ndarray)):
            found.add("trees[*].id")
    return found


def _items(value: object) -> Any:
    return value if isinstance(value, (list, np.ndarray)) else ()


def _is_plain(value: object) -> bool:
    """Return whether a value is missing, or a list of numbers."""
    if value is None or isinstance(value, np.ndarray):
        return True
    return isinstance(value, list) and all(type(one) in (int, float, bool) for one in value)


def _large(path: str, value: object, deep: int = 0) -> Iterator[str]:
    """Yield the paths of what is large in a value."""
    if isinstance(value, str):
        large = len(value) > _SHORT
    elif isinstance(value, (dict, list, np.ndarray)):
        large = len(value) > _FEW or deep > _MOST_DEEP
    else:
        large = isinstance(value, int) and value.bit_length() > 64
    if large:
        yield path
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _large(f"{path}.{name}", inner, deep + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _large(f"{path}[*]", inner, deep + 1)
