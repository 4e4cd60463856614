"""Which of LightGBM's parameters change what a tree's numbers say of its rows, and what to do where they do."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from pytest_draft.artifact.forest.draws import Draws, Replay, RoundDraws
from pytest_draft.artifact.forest.observations import ClassWeight, Loss
from pytest_draft.artifact.forest.round_masks import of_lightgbm
from pytest_draft.artifact.lightgbm.text import Fields
from pytest_draft.artifact.parameters import Parameters, among, is_number
from pytest_draft.errors import one_line

_ZERO, _ONE = is_number(0), is_number(1)
_PARAMETERS = Parameters(
    harmless=frozenset(
        (
            *("objective", "metric", "data", "valid", "num_iterations", "learning_rate", "num_leaves", "num_threads"),
            *("seed", "deterministic", "force_col_wise", "force_row_wise", "histogram_pool_size", "max_depth"),
            *("min_data_in_leaf", "min_sum_hessian_in_leaf", "bagging_seed", "bagging_by_query", "feature_fraction"),
            *("feature_fraction_bynode", "feature_fraction_seed", "extra_trees", "extra_seed", "early_stopping_round"),
            *("early_stopping_min_delta", "first_metric_only", "lambda_l2", "linear_lambda", "min_gain_to_split"),
            *("drop_rate", "max_drop", "skip_drop", "xgboost_dart_mode", "uniform_drop", "drop_seed", "top_rate"),
            *("other_rate", "min_data_per_group", "max_cat_threshold", "cat_l2", "cat_smooth", "max_cat_to_onehot"),
            *("top_k", "monotone_constraints_method", "monotone_penalty", "feature_contri", "forcedsplits_filename"),
            *("refit_decay_rate", "cegb_tradeoff", "cegb_penalty_split", "cegb_penalty_feature_lazy"),
            *("cegb_penalty_feature_coupled", "interaction_constraints", "verbosity", "saved_feature_importance_type"),
            *("num_grad_quant_bins", "quant_train_renew_leaf", "stochastic_rounding", "max_bin", "max_bin_by_feature"),
            *("min_data_in_bin", "bin_construct_sample_cnt", "data_random_seed", "is_enable_sparse", "enable_bundle"),
            *("use_missing", "zero_as_missing", "feature_pre_filter", "pre_partition", "two_round", "header"),
            *("label_column", "group_column", "ignore_column", "categorical_feature", "forcedbins_filename"),
            *("precise_float_parser", "parser_config_file", "objective_seed", "num_class", "boost_from_average"),
            *("alpha", "fair_c", "poisson_max_delta_step", "tweedie_variance_power", "lambdarank_truncation_level"),
            *("lambdarank_norm", "lambdarank_position_bias_regularization", "label_gain", "eval_at"),
            *("multi_error_top_k", "auc_mu_weights", "local_listen_port", "time_out", "machine_list_filename"),
            *("machines", "gpu_platform_id", "gpu_device_id", "gpu_device_id_list", "gpu_use_dp", "num_gpu"),
            *("bagging_freq", "bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction"),
            *("snapshot_freq", "output_model", "save_binary", "use_two_round_loading", "max_conflict_rate"),
            *("sparse_threshold", "histogram_type", "is_unbalance", "scale_pos_weight"),
        )
    ),
    needed={
        "boosting": (among("gbdt", "gbrt"), "trees were dropped, averaged or given chosen rows"),
        "data_sample_strategy": (among("bagging"), "rows were chosen by their gradients"),
        "tree_learner": (among("serial"), "trees were grown on parts of the rows"),
        "device_type": (among("cpu"), "sums were made in another precision"),
        "num_machines": (_ONE, "trees were grown on parts of the rows"),
        "linear_tree": (_ZERO, "leaves hold linear models"),
        "use_quantized_grad": (_ZERO, "gradients were rounded by chance"),
        "lambda_l1": (_ZERO, "leaves' values are drawn to zero"),
        "max_delta_step": (_ZERO, "leaves' values are cut off"),
        "path_smooth": (_ZERO, "leaves' values are mixed with their parents'"),
        "monotone_constraints": (among(""), "leaves' values are bounded by others"),
        "weight_column": (among(""), "rows have weights"),
        "sigmoid": (_ONE, "scores are scaled"),
        "reg_sqrt": (_ZERO, "targets are square roots"),
    },
)


def takes_all_rows(parameters: Fields) -> bool:
    """Return whether each tree was grown on all rows, as far as is known."""
    fractions = ("bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction")
    drawn = any(not _ONE(parameters[name]) for name in fractions if name in parameters)
    chosen = parameters.get("boosting") in (None, "goss", "rf") or parameters.get("data_sample_strategy") == "goss"
    return not chosen and (not drawn or _ZERO(parameters.get("bagging_freq", "0")))


def draws_of(parameters: Fields, loss: Loss, n_trees: int, per_round: int) -> Draws:
    """Return which rows each tree was grown on, as far as the parameters tell."""
    if takes_all_rows(parameters):
        return Draws()
    replays: tuple[Replay, ...] = ()
    names = ("bagging_seed", "bagging_freq", "bagging_fraction", "neg_bagging_fraction", "pos_bagging_fraction")
    with suppress(ValueError):
        seed, every, share, of_zero, of_one = (float(parameters.get(name, "1")) for name in names)
        shares = (of_zero, of_one) if loss == "logistic" and min(of_zero, of_one) < 1 else (share, share)
        if seed.is_integer() and 0 <= seed < 2**31 and every.is_integer() and every >= 1:
            replays = (partial(of_lightgbm, int(seed), shares, int(every), n_trees, per_round),)
    return RoundDraws(rows="without replacement", replays=replays)


def class_weight_in(parameters: Fields, loss: Loss) -> ClassWeight:
    """Return what each row of a class weighs by the parameters."""
    if loss != "logistic":
        return None
    if not _ZERO(parameters.get("is_unbalance", "0")):
        return "unbalanced"
    if _ONE(scale := parameters.get("scale_pos_weight", "1")):
        return None
    return 1.0, float(scale)


def not_covered_parameter(parameters: Fields) -> str | None:
    """Return why trees grown with these parameters do not follow from the rows as it is known here; None where they do.

    Only what the parameters say: row weights, for example, are not in them.
    """
    if not {"boosting", "learning_rate", "lambda_l2"} <= parameters.keys():
        return "its LightGBM text has no parameters, so it is not known how its trees were grown: save it again"
    for name, value, meaning in _PARAMETERS.strange(parameters):
        if meaning is None:
            return f"it was trained with LightGBM's parameter {one_line(name, 60)}, which is not known here"
        return f"it was trained with LightGBM's {name} = {one_line(value, 40)} ({meaning}): train without it"
    return None
