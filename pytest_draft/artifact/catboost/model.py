"""Reads CatBoost's models: JSON and cbm files become a `Forest`, with what each leaf says of its rows.

Whatever rows a tree's structure was found with (bootstrap), the values of its leaves come from all rows, and the weight
of a leaf is their number, where they have no weights. Scores, sums and values are in double precision.

One step (RMSE, MultiClass, and short runs of others): a leaf's value v satisfies

    sum of (g + (v / learning rate) h) = -(v / learning rate) l2,

with h = 1 where the method is *Gradient*. With MultiClass all classes' values of a leaf are found at once, from
products of their probabilities, which `Statements` cannot say: of these models only the numbers of rows are stated.

Several steps (Logloss, 10 by default in long runs): each adds -(sum of g) / (sum of h + l2), both at the score so far.
With backtracking, all leaves of a tree take the same steps: one that does not lower the loss of all rows is tried
again at half its length, which counts as a step too. In CatBoost 1.2.10 most trees take the full number of full steps
(917 of 1,000 by COMPAS, 969 by Adult, 999 and 1,000 by two numeric tables), and values agree to 1e-12 of
the largest one in the tree, in tree 1,000 as in tree 1. The others stop earlier, or have halved steps: each of them
agrees to 1e-11 with one of the 1,023 ways that there are, but for one tree that took no step at all. The file does not
say which way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray
from pytest_draft.artifact.boosted_tree import checked_tree
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.catboost.files import CBM, Grown, ModelParts, is_catboost, parts_of
from pytest_draft.artifact.catboost.parameters import LOSSES, LeafEstimation, leaf_estimation, weighs_all_rows_alike
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import BoostedSums, NewtonSteps, Statements, sensitivities
from pytest_draft.artifact.objects import Object, with_article
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.world.contents import Contents
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_DOUBLE = 1e-10
"""How far sums in double precision can be off, relative to what is added up: far more than they are."""

_OF_TARGETS = 2.0**-22
"""How far sums can be off where labels are no whole numbers: these are rounded to single precision."""

_WHOLE = 1e-8
"""How far a number of rows of a class can be off that follows from a leaf's value."""

_MOST_STEPS = 10
_HALVINGS = 50
_NOT_READ = ("feature borders", "info")
_WEIGHTS = (
    "the weights of its leaves are not numbers of rows, as with weights of rows or classes, which are not covered: "
    "train without them"
)
_FIRST = (
    "its first tree does not follow from numbers of rows of each class, as with weights of rows or scores given to "
    "begin with (baseline), none of which is in the file: train without them"
)

CATBOOST = frozenset(
    ("catboost.core", name) for name in ("CatBoost", "CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker")
)
"""The classes of CatBoost whose instances are read."""

_MODEL = "__model"


def read_catboost(packed: bytes, budget: Budget) -> ReadForest | None:
    """Read a model that CatBoost saved as JSON or cbm; None where the bytes are no such file.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    if not is_catboost(packed):
        return None
    return catboost_in_bytes(packed, budget, "CatBoost booster")


def catboost_in_bytes(packed: bytes, budget: Budget, kind: str) -> ReadForest:
    """Read a model from the bytes of a file, or from those inside a pickle.

    Parameters
    ----------
    kind : str
        As in `Forest`.

    Raises
    ------
    ArtifactError
        As `read_catboost`.
    """
    parts = parts_of(packed, budget)
    opaque = ("(entries of other names)",) if parts.n_unknown else ()
    not_read, contents = (*_NOT_READ, *opaque), Contents(opaque=opaque)
    n_scores = len(parts.bias)
    weights = [tree.weight for tree in parts.trees]
    rows = [_rows(weight) for weight in weights]
    counted = all(own is not None for own in rows) and len({int(own[0]) for own in rows if own is not None}) == 1
    counted = counted and weighs_all_rows_alike(parts.parameters)
    trees: list[Tree] = []
    for index, (tree, own) in enumerate(zip(parts.trees, rows, strict=True)):
        trees += _trees(index, tree, own if counted else None, parts.n_features)
    nothing = Statements.none()
    loss = _loss_of(parts)
    forest = Forest(
        kind=kind,
        trees=tuple(trees),
        n_features=parts.n_features,
        feature_names=parts.names,
        classes=_classes(parts, loss),
        observation=BoostedSums(
            loss=LOSSES.get(loss, "squared"),
            base=parts.bias,
            statements=tuple(nothing for _ in trees),
            counted=counted,
            weighed=True,
        ),
        draws=Draws(),
        n_samples=int(trees[0].n_distinct[0]) if counted else None,
        sklearn_version=None,
        parameters={"loss_function": loss} if loss else {},
    )
    how = _how(parts, len(parts.trees), n_scores, counted=counted)
    if isinstance(how, str):
        return ReadForest(forest, how, not_read, contents)
    said = forest.observation
    assert isinstance(said, BoostedSums)
    if not _first_tree_holds(forest, parts.trees[0], how):
        bare = [one for index, tree in enumerate(parts.trees) for one in _trees(index, tree, None, parts.n_features)]
        forest = replace(forest, trees=tuple(bare), observation=replace(said, counted=False), n_samples=None)
        return ReadForest(forest, _FIRST, not_read, contents)
    scale = max(
        1.0, *(float(np.abs(tree.value).max()) / how.learning_rate for tree in trees), float(np.abs(said.base).max())
    )
    stated = replace(
        said,
        statements=tuple(_statements(tree, how, scale) for tree in trees),
        steps=_steps(how),
    )
    parameters = {
        **forest.parameters,
        "learning_rate": how.learning_rate,
        "l2_leaf_reg": how.l2,
        "leaf_estimation_iterations": how.steps,
    }
    return ReadForest(replace(forest, observation=stated, parameters=parameters), None, not_read, contents)


def read_catboost_record(model: Object, budget: Budget) -> tuple[ReadForest, list[Object]]:
    """Read a model of one of the classes in `CATBOOST`.

    Returns
    -------
    ReadForest, list of Object
        The model, and no inner objects.

    Raises
    ------
    UnsupportedArtifactError
        If it was not fitted.
    ArtifactError
        As `read_catboost`.
    """
    content = model.get(_MODEL)
    if content is None:
        raise UnsupportedArtifactError(
            f"it holds {with_article(model.kind)} that was not fitted: fit it before saving it"
        )
    if not isinstance(content, (bytes, bytearray, memoryview)) or bytes(content[:4]) != CBM:
        raise CorruptArtifactError(f"{model.path}{_MODEL} is no model of CatBoost")
    found = catboost_in_bytes(bytes(content), budget, model.kind)
    is_classifier = found.forest.classes is not None
    if found.not_covered is None and is_classifier != {"CatBoostClassifier": True, "CatBoostRegressor": False}.get(
        model.record.cls.name, is_classifier
    ):
        raise CorruptArtifactError(f"{model.path}{_MODEL} is none of a {model.kind}")
    parameters = {**model.parameters(), **found.forest.parameters}
    parameters.pop(_MODEL, None)
    not_read = tuple(f"{model.path}{_MODEL}: {name}" for name in found.not_read)
    return replace(found, forest=replace(found.forest, parameters=parameters), not_read=not_read), []


def _rows(weight: FloatArray | None) -> AnyArray | None:
    """Return the numbers of rows that weights are, None where they are none."""
    if weight is None or not np.isfinite(weight).all() or (weight != np.rint(weight)).any():
        return None
    return None if (np.abs(weight) > 2**53).any() or (weight < 0).any() else weight.astype(np.int64)


def _trees(index: int, grown: Grown, rows: AnyArray | None, n_features: int) -> list[Tree]:
    """Return a tree for each score, all of one structure."""
    first = checked_tree(index, grown.splits, n_features, grown.value[:, 0], rows)
    found = [first]
    for score in range(1, grown.value.shape[1]):
        value = np.where(first.left >= 0, 0.0, grown.value[:, score])[:, None]
        if not np.isfinite(value).all():
            raise CorruptArtifactError(f"tree {index}: a leaf's value is not a number")
        value.setflags(write=False)
        found.append(replace(first, value=value))
    return found


def _loss_of(parts: ModelParts) -> str:
    said = (parts.parameters or {}).get("loss_function")
    name = said.get("type") if isinstance(said, dict) else None
    return name if type(name) is str and len(name) <= 80 else ""


def _classes(parts: ModelParts, loss: str) -> tuple[object, ...] | None:
    """Return the classes by their numbers; None for a regressor."""
    if loss not in ("Logloss", "MultiClass"):
        return None
    count = max(2, len(parts.bias))
    stored = parts.classes or {}
    names, kind = stored.get("class_names"), stored.get("class_label_type")
    if not names:
        return tuple(range(count))
    if (
        not isinstance(names, list)
        or len(names) != count
        or any(type(one) not in (bool, int, float, str) for one in names)
    ):
        raise CorruptArtifactError(f"its CatBoost model does not have {count} classes")
    labels = stored.get("class_to_label", list(range(count)))
    if labels != list(range(count)) or len(set(names)) != count:
        raise CorruptArtifactError("the classes of its CatBoost model are not in order, or there twice")
    if any(type(one) in (int, float) and not abs(one) < 2**53 for one in names):
        raise CorruptArtifactError("the classes of its CatBoost model are out of range")
    return tuple(float(one) if kind == "Float" and type(one) is int else one for one in names)


def _how(parts: ModelParts, n_trees: int, n_scores: int, *, counted: bool) -> LeafEstimation | str:
    """Return how leaves got their values, or why that is not known."""
    if parts.parameters is None:
        return "its CatBoost model has no parameters, as after sum_models: release one that was trained as it is"
    if parts.scale != 1:
        return "the scores of its CatBoost model were scaled (set_scale_and_bias), which is not covered: undo that"
    how = leaf_estimation(parts.parameters, n_trees, n_scores)
    if not isinstance(how, str) and not counted:
        return _WEIGHTS
    return how


def _steps(how: LeafEstimation) -> NewtonSteps | None:
    several = how.steps > 1 and how.newton and how.loss == "logistic"
    return NewtonSteps(how.steps, how.l2, how.learning_rate) if several else None


def _statements(tree: Tree, how: LeafEstimation, scale: float) -> Statements:
    """Return what the values of a tree's leaves say, where that is linear in its rows."""
    leaves = tree.leaves[tree.n_distinct[tree.leaves] > 0]
    value = tree.value[leaves, 0] / how.learning_rate
    linear = how.steps == 1 and how.loss != "softmax"
    if not linear or (how.backtracking and not value.any()):  # no step was taken at all
        leaves, value = leaves[:0], value[:0]
    share = np.abs(value) * (tree.n_distinct[leaves] + how.l2)
    if how.loss in ("squared", "poisson"):
        off = _OF_TARGETS * (share + scale * tree.n_distinct[leaves])
    else:
        off = _DOUBLE * (share + tree.n_distinct[0])
    weight = (0, 1, value, 0) if how.newton else (value, 1, 0, 0)
    return Statements.of(leaves, weight, -value * how.l2, off)


def _first_tree_holds(forest: Forest, first: Grown, how: LeafEstimation) -> bool:
    """Return whether the first tree's values follow from whole numbers of rows of each class.

    All rows have the same score before it, so that is a question about each leaf alone.
    """
    by_class = how.loss == "logistic" or (how.loss == "softmax" and how.newton)
    if not by_class or first.weight is None:
        return True
    said = forest.observation
    assert isinstance(said, BoostedSums)
    leaves = np.flatnonzero((first.splits.left < 0) & (first.weight > 0))
    rows, step = first.weight[leaves], first.value[leaves] / how.learning_rate
    if not step.any():
        return True
    if how.loss == "softmax":
        p = sensitivities("softmax", said.base)[0]
        of_class = rows[:, None] * (p + p * (step - (step @ p)[:, None])) + how.l2 * step
        return how.steps > 1 or _are_whole(of_class, rows[:, None])
    base, own = float(said.base[0]), step[:, 0]
    if not how.newton:
        p = 1 / (1 + np.exp(-base))
        return how.steps > 1 or _are_whole(rows * p + own * (rows + how.l2), rows)
    if how.steps > _MOST_STEPS:
        return True
    straight = np.ones((1, how.steps))
    ways = [straight, _ways(how.steps)] if how.backtracking else [straight]
    return any(_are_whole(one, rows) for lengths in ways for one in _inverted(own, rows, base, how.l2, lengths))


def _are_whole(of_class: FloatArray, rows: FloatArray) -> bool:
    off = _WHOLE + 1e-11 * rows
    whole = np.rint(of_class)
    return bool(((np.abs(of_class - whole) <= off) & (whole >= 0) & (whole <= rows)).all())


def _ways(steps: int) -> FloatArray:
    """Return the lengths of the steps of all ways that backtracking allows, shape (n_ways, steps), 0 after the last."""
    ways: list[list[float]] = []
    ahead: list[tuple[list[float], int]] = [([], steps)]
    while ahead:
        taken, left = ahead.pop()
        if taken:
            ways.append(taken + [0.0] * (steps - len(taken)))
        ahead += [([*taken, 0.5**halvings], left - 1 - halvings) for halvings in range(left)]
    return np.array(ways)


def _inverted(step: FloatArray, rows: FloatArray, base: float, l2: float, lengths: FloatArray) -> FloatArray:
    """Return how many rows of the second class bring leaves to these sums of steps; NaN where no number does.

    Returns
    -------
    ndarray of float64, shape (n_ways, n_leaves)
    """
    low, high = np.zeros((len(lengths), len(step))), np.tile(rows, (len(lengths), 1))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = _stepped(middle, rows, base, l2, lengths) < step
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found = (low + high) / 2
    off = np.abs(_stepped(found, rows, base, l2, lengths) - step)
    return np.where(off <= 1e-9 * (1 + np.abs(step)), found, np.nan)


def _stepped(of_class: FloatArray, rows: FloatArray, base: float, l2: float, lengths: FloatArray) -> FloatArray:
    """Return where steps lead with so many rows of the second class, of the shape of `of_class`."""
    reached = np.zeros_like(of_class)
    for length in lengths.T:
        p = 1 / (1 + np.exp(-(base + reached)))
        reached = reached + length[:, None] * (of_class - rows * p) / (rows * p * (1 - p) + l2)
    return reached
