"""Fields beside the trees: takes seeds and per-row vectors out of a model's objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from pytest_draft.hardening.walk import WalkedObject, is_tree, objects_in

_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)
_OF_ENSEMBLES = ("_seeds", "_sample_weight", "_n_samples", "_n_samples_bootstrap", "_max_samples")
_BY_ROW = ("transduction_", "labeled_iter_")  # of a SelfTrainingClassifier: a label for each row
_KEYS = ("random_state", "param_random_state")  # of parameters, and of a search's results
_BY_NODE = ("IsolationForest", "RandomTreesEmbedding")


def is_a(value: object, *names: str) -> bool:
    """Whether something is of one of scikit-learn's classes, or of a class made of one."""
    return any(kind.__name__ in names and kind.__module__.startswith("sklearn.") for kind in type(value).__mro__)


def numbers_nodes(value: object) -> bool:
    """Whether a model looks something up by the numbers of its trees' nodes, which must stay as they are then."""
    return is_a(value, *_BY_NODE)


def has_numbered_seed(value: object) -> bool:
    """Whether something is an ensemble whose seed is a number that somebody has chosen."""
    fields = getattr(value, "__dict__", {})
    return "estimators_" in fields and isinstance(fields.get("random_state"), int | np.integer)


def without_seeds(objects: Iterable[WalkedObject]) -> Counter[tuple[str, str]]:
    """Take seeds, out-of-bag results and per-row vectors out of a model's objects, in place.

    Returns how often what became of which field: a counter of both.
    """
    changed: Counter[tuple[str, str]] = Counter()
    for found in objects:
        value = found.value
        if isinstance(value, dict):
            for key in [key for key in value if isinstance(key, str) and key.split("__")[-1] in _KEYS]:
                if value[key] is not None:
                    value[key] = None
                    changed["random_state", "entries of parameters set to None"] += 1
        fields = getattr(value, "__dict__", {})
        for name in list(fields):
            if name == "random_state" or isinstance(fields[name], _GENERATORS):
                if fields[name] is not None:
                    fields[name] = None
                    tree = is_tree(fields.get("tree_"))
                    changed[name, "trees, set to None" if tree else f"set to None ({type(value).__name__})"] += 1
            elif _is_removed(value, name):
                del fields[name]
                changed[name, f"removed ({type(value).__name__})"] += 1
    return changed


def _is_removed(value: Any, name: str) -> bool:
    if name in _OF_ENSEMBLES and "estimators_" in value.__dict__:
        return not (name == "_max_samples" and is_a(value, "IsolationForest"))
    if name in _BY_ROW:
        return is_a(value, "SelfTrainingClassifier")
    return name.startswith("oob_") and name.endswith("_")


def without_inner_path_lengths(forest: Any) -> int:
    """Set to 0, in place, what an IsolationForest keeps of how many rows inner nodes had; return how many numbers.

    Its scores need those of the leaves.
    """
    lengths = forest.__dict__.get("_average_path_length_per_tree")
    if lengths is None:  # before scikit-learn 1.3
        return 0
    pairs = zip(forest.estimators_, lengths, strict=True)
    kept = tuple(np.where(np.asarray(tree.tree_.children_left) < 0, old, 0.0) for tree, old in pairs)
    forest._average_path_length_per_tree = kept
    return sum(int((new != old).sum()) for new, old in zip(kept, lengths, strict=True))


def only_asked_to_transform(objects: Iterable[object]) -> set[int]:
    """Return the ids of what stands before the last step of a pipeline, or beside others that transform."""
    found: set[int] = set()
    for value in objects:
        if is_a(value, "Pipeline"):
            found.update(id(step) for _, step in value.steps[:-1])  # type: ignore[attr-defined]
        elif is_a(value, "FeatureUnion"):
            found.update(id(one) for _, one in value.transformer_list)  # type: ignore[attr-defined]
        elif is_a(value, "ColumnTransformer"):
            found.update(id(one[1]) for one in getattr(value, "transformers_", ()))
    return found


def selected_by_numbers(selector: Any) -> int:
    """Make of a selection by trees a VarianceThreshold that keeps the same columns, in place; return how many are gone.

    A SelectFromModel works its trees' importances out from their counts each time that it is asked.
    """
    from sklearn.feature_selection import VarianceThreshold

    n_trees = sum(is_tree(found.value) for found in objects_in(selector))
    mask = np.asarray(selector.get_support())
    kept = {
        name: value
        for name, value in selector.__dict__.items()
        if name in ("n_features_in_", "feature_names_in_", "_sklearn_output_config")
    }
    kept.setdefault("n_features_in_", len(mask))
    names = getattr(selector, "feature_names_in_", None)
    if names is not None:
        kept["feature_names_in_"] = names
    selector.__class__ = VarianceThreshold
    selector.__dict__ = {"threshold": 0.0, "variances_": mask.astype(np.float64), **kept}
    return n_trees
