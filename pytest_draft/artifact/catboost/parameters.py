"""Which of CatBoost's parameters change what a tree's numbers say of its rows, and what to do where they do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.artifact.forest.observations import Loss
from pytest_draft.artifact.parameters import Parameters, among
from pytest_draft.errors import CorruptArtifactError, one_line

LOSSES: dict[str, Loss] = {"Logloss": "logistic", "MultiClass": "softmax", "RMSE": "squared", "Poisson": "poisson"}

_TOP = "the top level"
_KNOWN: dict[str, Parameters] = {
    _TOP: Parameters(
        harmless=(
            *("boosting_options", "cat_feature_params", "data_processing_options", "detailed_profile"),
            *("flat_params", "logging_level", "loss_function", "metadata", "metrics", "pool_metainfo_options"),
            *("random_seed", "system_options", "task_type", "tree_learner_options"),
        ),
        needed={},
    ),
    "boosting_options": Parameters(
        harmless=(
            *("boost_from_average", "fold_len_multiplier", "fold_permutation_block", "iterations"),
            *("learning_rate", "model_shrink_mode", "od_config", "permutation_count"),
        ),
        needed={
            "approx_on_full_history": (among(False), "scores are of parts of the rows"),
            "boosting_type": (among("Plain"), "trees see scores of parts of the rows"),
            "model_shrink_rate": (among(0), "earlier trees shrink with each round"),
            "posterior_sampling": (among(False), "noise is added to leaves"),
            "langevin": (among(False), "noise is added to leaves"),
            "diffusion_temperature": (among(0, 10000), "noise is added to leaves"),
        },
    ),
    "tree_learner_options": Parameters(
        harmless=(
            *("bayesian_matrix_reg", "bootstrap", "depth", "dev_efb_max_buckets"),
            *("dev_score_calc_obj_block_size", "grow_policy", "l2_leaf_reg", "leaf_estimation_iterations"),
            *("leaf_estimation_method", "max_leaves", "min_data_in_leaf", "model_size_reg", "penalties"),
            *("random_score_type", "random_strength", "rsm", "sampling_frequency", "score_function"),
        ),
        needed={
            "monotone_constraints": (among({}, [], ""), "leaves' values are bounded by others"),
            "dev_leafwise_approxes": (among(False), "leaves' values are found one by one"),
            "leaf_estimation_backtracking": (among("AnyImprovement", "No"), "steps are cut off"),
            "sparse_features_conflict_fraction": (among(0), "values of sparse columns are mixed up"),
        },
    ),
    "data_processing_options": Parameters(
        harmless=(
            *("allow_const_label", "class_names", "classes_count", "dev_default_value_fraction_for_sparse"),
            *("dev_group_features", "dev_leafwise_scoring", "dev_sparse_array_indexing"),
            *("embedding_processing_options", "float_features_binarization", "force_unit_auto_pair_weights"),
            *("has_time", "ignored_features", "per_float_feature_quantization", "text_processing_options"),
        ),
        needed={
            "auto_class_weights": (among("None"), "rows have weights by class"),
            "class_weights": (among([], {}, ""), "rows have weights by class"),
            "eval_fraction": (among(0), "a part of the rows was held out"),
            "target_border": (among(None), "labels were cut in two"),
        },
    ),
}
"""What is known of each section."""

SECTIONS = frozenset().union(*(section.names for section in _KNOWN.values()))
"""All names."""

_WEIGHTS = ("auto_class_weights", "class_weights", "eval_fraction")


def weighs_all_rows_alike(parameters: dict[str, Any] | None) -> bool:
    """Return whether parameters leave each row its weight of 1."""
    options = (parameters or {}).get("data_processing_options")
    if not isinstance(options, dict):
        return True
    needed = _KNOWN["data_processing_options"].needed
    return all(options.get(name) is None or needed[name][0](options[name]) for name in _WEIGHTS)


_MOST_STEPS = 100
"""Most steps of a leaf: each is computed again, many times over."""


@dataclass(frozen=True)
class LeafEstimation:
    """How leaves get their values."""

    loss: Loss
    learning_rate: float
    l2: float
    steps: int
    newton: bool
    """Whether sums are divided by hessians, not by numbers of rows."""
    backtracking: bool
    """Whether a step that does not better the loss is halved, or left out."""


def leaf_estimation(parameters: dict[str, Any], n_trees: int, n_scores: int) -> LeafEstimation | str:
    """Return how leaves got their values, or why that is not known here.

    Parameters
    ----------
    parameters : dict
        As CatBoost stores them, in sections.
    n_trees : int
        That the model has, a round each.

    Raises
    ------
    CorruptArtifactError
        If a number that is needed is missing, or out of range.
    """
    if parameters.get("task_type") != "CPU":
        return "it was trained with CatBoost on a GPU, where sums are made in another precision: train it on a CPU"
    for section, known in _KNOWN.items():
        own = parameters if section == _TOP else parameters.get(section)
        if not isinstance(own, dict):
            raise CorruptArtifactError(f"its parameters do not have {section}")
        for name, value, meaning in known.strange(own):
            if meaning is None:
                return f"it was trained with CatBoost's parameter {one_line(name, 60)}, which is not known here"
            shown = f"{name} = {one_line(str(value)[:40], 40)}"
            return f"it was trained with CatBoost's {shown} ({meaning}), which is not covered: train without it"
    if not isinstance(node := parameters.get("system_options"), dict) or node.get("node_type") != "SingleHost":
        return "it was trained with CatBoost on several machines, which is not covered: train it on one"
    said = parameters["loss_function"] if isinstance(parameters.get("loss_function"), dict) else {}
    loss = said.get("type")
    if type(loss) is not str or loss not in LOSSES or said.get("params"):
        return (
            f"it was trained with a loss that is not covered ({one_line(str(loss)[:40], 40)}): covered are "
            f"{', '.join(LOSSES)}, without options"
        )
    return _estimation(parameters, LOSSES[loss], n_trees, n_scores)


def _estimation(parameters: dict[str, Any], loss: Loss, n_trees: int, n_scores: int) -> LeafEstimation | str:
    boosting, tree = parameters["boosting_options"], parameters["tree_learner_options"]
    if (n_scores > 1) != (loss == "softmax"):
        raise CorruptArtifactError("its loss is none of its number of scores")
    rounds = _number(boosting, "iterations", 1)
    if n_trees > rounds:
        return f"it has {n_trees} trees and was trained for {rounds:g}: training it on (init_model) is not covered"
    method = tree.get("leaf_estimation_method")
    if method not in ("Newton", "Gradient"):
        return f"its leaves' values were found by a way that is not covered ({one_line(str(method)[:40], 40)})"
    steps = int(_number(tree, "leaf_estimation_iterations", 1))
    if steps > _MOST_STEPS:
        return (
            f"it was trained with leaf_estimation_iterations = {steps}, and up to {_MOST_STEPS} are covered: train it "
            "with fewer"
        )
    return LeafEstimation(
        loss=loss,
        learning_rate=_single(_number(boosting, "learning_rate", 1e-30)),
        l2=_single(_number(tree, "l2_leaf_reg", 0)),
        steps=steps,
        newton=method == "Newton",
        backtracking=tree.get("leaf_estimation_backtracking", "AnyImprovement") != "No",
    )


def _single(value: float) -> float:
    """Return a number in single precision, in which CatBoost has it and prints it with fewer digits."""
    return float(np.float32(value))


def _number(section: dict[str, Any], name: str, least: float) -> float:
    value: Any = section.get(name)
    if type(value) not in (int, float) or not math.isfinite(value) or not least <= value < 2**53:
        raise CorruptArtifactError(f"its parameter {name} is missing or out of range")
    return float(value)
