"""What of XGBoost's settings changes how sums follow from rows: a sentence for the first one that does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pytest_draft.artifact.parameters import Parameters, among
from pytest_draft.artifact.xgboost.parts import number
from pytest_draft.artifact.xgboost.rates import Rates
from pytest_draft.errors import one_line

OLDEST, NEWEST = (1, 7), (3, 99)
"""Versions of which it is known what their files mean."""

_INSTEAD = "train it without, to have it judged"
_OF_LEAVES = ("alpha", "reg_alpha", "max_delta_step", "monotone_constraints")
_PARAMETERS = Parameters(
    harmless=frozenset(
        (
            *("cache_opt", "colsample_bylevel", "colsample_bynode", "colsample_bytree", "default_direction"),
            *("grow_policy", "interaction_constraints", "max_bin", "max_cat_threshold", "max_cat_to_onehot"),
            *("max_depth", "max_leaves", "min_child_weight", "min_split_loss", "gamma", "opt_dense_col"),
            *("refresh_leaf", "sketch_ratio", "sparse_threshold"),
            *("eta", "learning_rate", "lambda", "reg_lambda", "subsample"),  # which are read
        )
    ),
    needed={
        **dict.fromkeys(
            _OF_LEAVES[:3], (lambda value: number(value) == 0, "leaves' values are cut off, or drawn to zero")
        ),
        "sampling_method": (among("uniform"), "each tree draws its rows"),
        "monotone_constraints": (lambda value: not value.strip("()[]0, "), "leaves' values are bounded by others"),
    },
)
"""Of trees."""

_UPDATERS = frozenset(
    (
        *("grow_quantile_histmaker", "grow_colmaker", "grow_histmaker", "grow_local_histmaker", "prune", "refresh"),
        *("sync", "grow_fast_histmaker"),
    )
)
SETTINGS = _PARAMETERS.names | _UPDATERS
"""What is known by name."""

_STATED = ("lambda", "reg_lambda")
_RATES = ("eta", "learning_rate")


def tree_settings(config: object) -> dict[str, str]:
    """Return the settings of trees from a booster's configuration; empty where there are none."""
    if not isinstance(config, dict):
        return {}
    learner = config.get("learner")
    booster = learner.get("gradient_booster") if isinstance(learner, dict) else None
    if isinstance(booster, dict) and isinstance(booster.get("gbtree"), dict):
        booster = booster["gbtree"]
    if not isinstance(booster, dict):
        return {}
    found: dict[str, str] = {}
    updaters = booster.get("updater")
    of_updaters = (
        [one.get("train_param") for one in updaters.values() if isinstance(one, dict)]
        if isinstance(updaters, dict)
        else []
    )
    for settings in (booster.get("tree_train_param"), *of_updaters):
        if isinstance(settings, dict):
            found.update((name, value) for name, value in settings.items() if isinstance(value, str))
    return found


def share_drawn(settings: Mapping[str, str]) -> float:
    """Return the share of the rows that each tree draws, in single precision; 1 for all."""
    share = number(settings["subsample"]) if "subsample" in settings else 1.0
    return single(share) if share is not None and 0 < share < 1 else 1.0


def seed_of(config: object) -> int | None:
    """Return the seed of a booster's configuration; None where it is not said, or not what the draws go by."""
    learner = config.get("learner") if isinstance(config, dict) else None
    said = learner.get("generic_param") if isinstance(learner, dict) else None
    seed = number(str(said.get("seed", "-1"))) if isinstance(said, dict) else None
    return int(seed) if seed is not None and 0 <= seed < 2**32 and float(seed).is_integer() else None


def takes_all_rows(settings: Mapping[str, str]) -> bool:
    """Return whether settings give each tree all rows, as far as they are known here."""
    strange = all(name in _OF_LEAVES for name, _, _ in _PARAMETERS.strange(settings))
    return strange and share_drawn(settings) == 1


def stated_rates(settings: Mapping[str, str]) -> Rates | None:
    """Return the learning rate and lambda that settings state."""
    rate = next((number(settings[name]) for name in _RATES if name in settings), None)
    reg_lambda = next((number(settings[name]) for name in _STATED if name in settings), None)
    if rate is None or reg_lambda is None:
        return None
    rates = Rates(single(rate), single(reg_lambda))
    return rates if 0 < rates.learning_rate < np.inf and 0 <= rates.reg_lambda < np.inf else None


def unusual(config: object, settings: Mapping[str, str], *, poisson: bool) -> Iterator[str]:
    """Yield a sentence for each setting of a booster's configuration that is not covered."""
    for name, value, _ in _PARAMETERS.strange(settings):
        if name == "max_delta_step" and poisson:
            continue
        shown = value if (found := number(value)) is None else str(np.float32(found))
        yield f"it was trained with {one_line(name, 40)}={one_line(shown, 40)}, which is not covered: {_INSTEAD}"
    if config is None:
        return
    learner = config.get("learner") if isinstance(config, dict) else None
    if not isinstance(learner, dict) or not settings:
        yield "its configuration does not tell how its trees were trained: save it by XGBoost 1.7 to 3"
        return
    generic = learner.get("generic_param")
    if isinstance(generic, dict):
        device, gpu = generic.get("device", "cpu"), generic.get("gpu_id", "-1")
        if device != "cpu" or gpu != "-1":
            yield "it was trained on a GPU, which adds up otherwise, and is not covered: train it with device='cpu'"
    booster = learner.get("gradient_booster")
    if isinstance(booster, dict) and isinstance(booster.get("gbtree"), dict):
        booster = booster["gbtree"]
    trained = booster.get("gbtree_train_param") if isinstance(booster, dict) else None
    if isinstance(trained, dict):
        if trained.get("process_type", "default") != "default":
            yield f"it was trained with process_type='update', which is not covered: {_INSTEAD}"
        updaters = trained.get("updater_seq", trained.get("updater"))
        if isinstance(updaters, str) and not set(filter(None, updaters.split(","))) <= _UPDATERS:
            yield f"it was trained with the updater {one_line(updaters, 60)}, which is not covered: {_INSTEAD}"


def single(number_: float) -> float:
    """Return a number in single precision, in which XGBoost has it."""
    return float(np.float32(number_))
