"""Boosters of XGBoost: what its JSON says becomes a `Forest` with `BoostedSums`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.draws import Draws, Replay, RoundDraws
from pytest_draft.artifact.forest.observations import DRAWS, WEIGHTS, BoostedSums, Loss, Statements
from pytest_draft.artifact.forest.round_masks import of_exact_xgboost, of_xgboost
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.world.contents import Contents, Stored, stored_categories, stored_values
from pytest_draft.artifact.xgboost.parts import has_text, number, numbers, part, text, whole
from pytest_draft.artifact.xgboost.rates import rates_of
from pytest_draft.artifact.xgboost.settings import (
    NEWEST,
    OLDEST,
    seed_of,
    share_drawn,
    single,
    stated_rates,
    takes_all_rows,
    tree_settings,
    unusual,
)
from pytest_draft.artifact.xgboost.sums import Link, Ways, base_score, counted_in, statements_of, statements_of_values
from pytest_draft.artifact.xgboost.trees import read_tree
from pytest_draft.artifact.xgboost.unread import unlike_sums, unread
from pytest_draft.errors import ArtifactTooBigError, CorruptArtifactError, UnsupportedArtifactError, one_line
from pytest_draft.facts.contents import SPLIT_POINTS

_OBJECTIVES: dict[str, tuple[Loss, Link]] = {
    "binary:logistic": ("logistic", "logit"),
    "binary:logitraw": ("logistic", "none"),
    "multi:softmax": ("softmax", "none"),
    "multi:softprob": ("softmax", "none"),
    "reg:squarederror": ("squared", "none"),
    "reg:linear": ("squared", "none"),
    "count:poisson": ("poisson", "log"),
}
_CLASSIFIED = ("binary:", "multi:")
_OF_CATEGORIES = ("values", "offsets")
_MOST_COLUMNS = 2**24

_UNLIKE = (
    "its nodes do not say the same of its learning rate and lambda, as with reg_alpha, max_delta_step, constraints, a "
    "changing learning rate or a training in several parts, or are too few to tell: train it without, and save it by "
    "joblib"
)
_BARE = (
    "its sums of hessians and base weights were removed, and it tells no learning rate and lambda, or is a regressor: "
    "what its leaves say without these is not used"
)


@dataclass(frozen=True, eq=False)
class _Learner:
    """The parts of a booster."""

    whole: dict[str, Any]
    learner: dict[str, Any]
    booster: dict[str, Any]
    """Its model of trees."""
    version: tuple[int, ...]
    is_dart: bool

    @classmethod
    def of(cls, model: object) -> _Learner:
        if not isinstance(model, dict):
            raise CorruptArtifactError("its booster's model is no object")
        learner = part(model, "learner", "booster")
        booster = part(learner, "gradient_booster", "learner")
        name = text(booster, "name", "gradient_booster")
        if name == "gblinear":
            raise UnsupportedArtifactError("it holds a linear booster of XGBoost (gblinear), which has no trees")
        if name == "dart":
            booster = part(booster, "gbtree", "gradient_booster")
        elif name != "gbtree":
            raise UnsupportedArtifactError(f"it holds a booster of XGBoost of the kind {one_line(name, 40)}")
        version = model.get("version", ())
        if isinstance(version, np.ndarray):
            version = version.tolist()
        if not isinstance(version, (list, tuple)) or any(type(one) is not int for one in version):
            raise CorruptArtifactError("its version is not a list of numbers")
        return cls(model, learner, part(booster, "model", "gradient_booster"), tuple(version), name == "dart")


def booster_of(  # noqa: PLR0915
    model: object,
    config: object,
    budget: Budget,
    kind: str,
    classes: Sequence[object] | None = None,
    not_covered: str | None = None,
) -> ReadForest:
    """Read a booster.

    Parameters
    ----------
    model : object
        What ``save_model`` writes, decoded.
    config : object
        What ``save_config`` returns, decoded; None where the file has none.
    kind : str
        As in `Forest`.
    classes : sequence of object or None
        The classes, where the file has them.
    not_covered : str or None
        What is not covered of what is around the booster.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    parts = _Learner.of(model)
    sizes = part(parts.learner, "learner_model_param", "learner")
    n_features = whole(sizes, "num_feature", "learner_model_param")
    if n_features < 1:
        raise CorruptArtifactError("learner_model_param: it has no columns")
    if n_features > _MOST_COLUMNS:
        raise ArtifactTooBigError(f"it has more than {_MOST_COLUMNS} columns")
    n_scores = max(1, whole(sizes, "num_class", "learner_model_param"))
    if has_text(sizes, "num_target") and whole(sizes, "num_target", "learner_model_param") > 1:
        raise UnsupportedArtifactError(
            "it holds a booster of XGBoost with several outputs, which is not covered: train a model for each output"
        )
    stored = parts.booster.get("trees")
    if not isinstance(stored, list):
        raise CorruptArtifactError("gradient_booster: trees is missing, or no list")
    if not stored:
        raise UnsupportedArtifactError("it holds a booster of XGBoost without trees: fit it before saving it")
    trees = [read_tree(one, index, n_features, budget) for index, one in enumerate(stored)]
    in_parallel = _in_parallel(parts.booster)
    _check_scores(parts.booster.get("tree_info"), len(trees), n_scores, in_parallel)
    objective = part(parts.learner, "objective", "learner")
    name = text(objective, "name", "objective")
    loss, link = _OBJECTIVES.get(name, ("squared", "none"))
    if (loss == "softmax") != (n_scores > 1):
        raise CorruptArtifactError("its number of classes is not its objective's")
    base = base_score(text(sizes, "base_score", "learner_model_param"), n_scores, link, parts.version)
    settings = tree_settings(config)
    limit = _limit(objective) if loss == "poisson" else None
    factor = {"softmax": 2.0, "poisson": float(np.exp(np.float32(limit or 0.0)))}.get(loss, 1.0)
    is_bare = not any(tree.hessian.any() or tree.step.any() for tree in trees)
    rates = stated_rates(settings) if is_bare else rates_of(trees, limit or np.inf, stated_rates(settings))
    share, scale = share_drawn(settings), _scale(objective)
    class_weight = (1.0, single(scale)) if scale != 1 and loss == "logistic" else None
    of_class_one = scale if class_weight else 1.0
    ways = Ways(n_scores, max(1, in_parallel), share, of_class_one)
    counted = counted_in(trees, ways, loss, base, factor, rates)
    reasons = [not_covered, *_refused(parts, objective, name)]
    reasons += unusual(config, settings, poisson=loss == "poisson")
    if is_bare and (rates is None or loss in ("squared", "poisson")):
        reasons.append(_BARE)
    elif rates is None:
        reasons.append(_UNLIKE)
    reason = next((one for one in reasons if one is not None), None)
    statements = tuple(
        Statements.none()
        if rates is None or name not in _OBJECTIVES
        else statements_of_values(tree, factor, rates)
        if is_bare
        else statements_of(tree, loss, factor, rates, limit, counted)
        for tree in trees
    )
    as_one = name in _OBJECTIVES and scale == 1 and not is_bare and counted.is_whole
    once = as_one and takes_all_rows(settings)
    is_counted = loss == "squared" and as_one
    weights = not is_bare and not (counted.is_whole and (scale == 1 or class_weight is not None))
    unknown = WEIGHTS if weights else DRAWS if share < 1 else None
    draws = _draws(config, share, len(trees)) if share < 1 else Draws()
    if classes is None and name.startswith(_CLASSIFIED):
        classes = tuple(range(max(2, n_scores)))
    forest = Forest(
        kind=kind,
        trees=tuple(counted.trees if is_counted else (tree.tree for tree in trees)),
        n_features=n_features,
        feature_names=_names(parts.learner.get("feature_names"), n_features),
        classes=tuple(classes) if classes is not None and name.startswith(_CLASSIFIED) else None,
        observation=BoostedSums(
            loss=loss,
            base=base,
            statements=statements,
            single=True,
            counted=is_counted,
            weighed=True,
            in_parallel=max(1, in_parallel),
            class_weight=None if weights else class_weight,
            unknown=unknown,
        ),
        draws=draws,
        n_samples=counted.n_rows if once else None,
        sklearn_version=None,
    )
    others = unread(parts.whole, config, stored, n_features, max(1, in_parallel) * n_scores)
    if rates is not None and not is_bare and reason is None:
        others |= set(unlike_sums(trees, rates, limit or np.inf))
    not_read = tuple(sorted({one_line(path, 120) for path in others}))
    categories = stored_categories("cats", list(_categories(parts.booster.get("cats"))))
    contents = Contents(categories, opaque=not_read, learned=_conditions(forest))
    return ReadForest(forest, reason, not_read, contents)


def _conditions(forest: Forest) -> tuple[Stored, ...]:
    """Return what each column is compared with: by ``tree_method`` *hist* and *approx* these are values of rows."""
    feature = np.concatenate([tree.feature[tree.left >= 0] for tree in forest.trees])
    threshold = np.concatenate([tree.threshold[tree.left >= 0] for tree in forest.trees]).astype(np.float32)
    condition = np.nextafter(threshold, np.float32(np.inf)).astype(np.float64)
    order = np.lexsort((condition, feature))
    columns, starts = np.unique(feature[order], return_index=True)
    parts, names = np.split(condition[order], starts[1:]), forest.feature_names
    return tuple(
        stored_values(f"{SPLIT_POINTS}{names[column] if names else f'column {column}'}", np.unique(part))
        for column, part in zip(columns.tolist(), parts, strict=False)
    )


def _in_parallel(booster: Mapping[str, Any]) -> int:
    """Return how many trees each round adds for each score."""
    parameters = part(booster, "gbtree_model_param", "gradient_booster")
    return (
        whole(parameters, "num_parallel_tree", "gbtree_model_param") if has_text(parameters, "num_parallel_tree") else 1
    )


def _check_scores(stored: object, n_trees: int, n_scores: int, in_parallel: int) -> None:
    """Check that trees add to the scores by turns."""
    score = numbers(stored, n_trees, "iu")
    if score is None:
        raise CorruptArtifactError("gradient_booster: tree_info does not have a number for each tree")
    if (score != np.arange(n_trees) // max(1, in_parallel) % n_scores).any() or n_trees % n_scores:
        raise CorruptArtifactError("gradient_booster: its trees do not add to its scores by turns")


def _limit(objective: Mapping[str, Any]) -> float:
    """Return the largest step of a Poisson regression."""
    limit = number(text(part(objective, "poisson_regression_param", "objective"), "max_delta_step", "objective"))
    if limit is None or not 0 <= limit <= 80:
        raise CorruptArtifactError("objective: max_delta_step is not a number in range")
    return limit


def _draws(config: object, share: float, n_trees: int) -> RoundDraws:
    """Return the draws of trees that each take a share of the rows."""
    seed = seed_of(config)
    rules: tuple[Replay, ...] = ()
    if seed is not None:
        rules = tuple(partial(of_xgboost, seed, share, skipped, n_trees) for skipped in (1, 0))
        rules += (partial(of_exact_xgboost, seed, share, n_trees),)
    return RoundDraws(rows="without replacement", replays=rules)


def _refused(parts: _Learner, objective: Mapping[str, Any], name: str) -> Sequence[str]:
    """Return a sentence for each thing of a booster that is not covered."""
    found = []
    if parts.version[:2] < OLDEST or parts.version[:2] > NEWEST:
        shown = ".".join(map(str, parts.version[:3])) or "(none)"
        found.append(f"XGBoost {one_line(shown, 40)} wrote it, and 1.7 to 3 are covered: train it with one of these")
    if parts.is_dart:
        found.append("it was trained with booster='dart', which is not covered: train it with booster='gbtree'")
    if name not in _OBJECTIVES:
        found.append(
            f"it was trained with the objective {one_line(name, 60)}, which is not covered: covered are "
            f"{', '.join(_OBJECTIVES)}"
        )
    return found


def _scale(objective: Mapping[str, Any]) -> float:
    """Return what a row of the second class (of a regressor: with the target 1) weighs."""
    given = objective.get("reg_loss_param")
    found = number(given["scale_pos_weight"]) if isinstance(given, dict) and has_text(given, "scale_pos_weight") else 1
    return 1.0 if found is None else found


def _categories(stored: object) -> Iterator[list[object]]:
    """Return the categories of each column, texts or numbers, as XGBoost keeps them from version 3.1 on."""
    columns = stored.get("enc") if isinstance(stored, dict) else None
    for one in columns if isinstance(columns, list) else ():
        values, ends = (np.asarray(one.get(name, [])) if isinstance(one, dict) else None for name in _OF_CATEGORIES)
        if values is None or ends is None or values.ndim != 1 or values.dtype.kind not in "iu":
            yield []
        elif ends.ndim == 1 and ends.dtype.kind in "iu":
            packed = values.astype(np.uint8).tobytes()
            yield [packed[start:end].decode("utf-8", "replace") for start, end in pairwise(ends.tolist())]
        else:
            yield values.tolist()


def _names(stored: object, n_features: int) -> tuple[str, ...] | None:
    """Return the names of the columns; None where it has none."""
    if not isinstance(stored, list) or not stored:
        return None
    if len(stored) != n_features or any(type(name) is not str for name in stored):
        raise CorruptArtifactError("feature_names does not have a text for each column")
    return tuple(stored)
