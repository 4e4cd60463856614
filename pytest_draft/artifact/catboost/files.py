"""CatBoost's models, as JSON or in its own format (cbm): either becomes the same parts.

A cbm file is the text ``CBM1``, the size of what follows as four bytes, and a table of FlatBuffers
(``catboost/libs/model/flatbuffers/model.fbs`` of CatBoost's sources). Behind it stand tables of categories, where the
model has some: such models are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.boosted_tree import STEPS, Splits
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.catboost.flatbuffers import Table
from pytest_draft.artifact.catboost.parameters import SECTIONS
from pytest_draft.artifact.catboost.statistics import of_cbm, of_json, refused
from pytest_draft.artifact.json_text import anything, are_settings, json_content, unlike
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

CBM = b"CBM1"
_JSON = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*\{\s*\"(?:ctr_data|features_info|model_info|oblivious_trees|scale_and_bias|trees)\"\s*:"
)
_INSIDE = b'"features_info"'
_DEEPEST = 24
"""Levels of a tree of which all leaves are stored; CatBoost itself grows 16."""

_MOST_COLUMNS = 2**24
_IN_GROUP = 254
"""Borders of a column that CatBoost takes together."""

_MISSING_LEFT = {"AsIs": True, "AsFalse": True, "AsTrue": False}
"""Whether a missing value goes left, to values up to a border: no comparison with it holds."""

_NUMBERED = ("AsIs", "AsFalse", "AsTrue")
_INFO = {
    "catboost_version_info": r"[\w\s.:,;/@<>()+-]{0,600}",
    "class_params": anything,
    "model_guid": r"[\da-f-]{0,36}",
    "model_part_ids": r"[\da-f,;-]{0,80}",
    "output_options": lambda value: are_settings(value, 100, 800),
    "params": lambda value: are_settings(value, 420, 2_400, SECTIONS),
    "train_finish_time": r"[\dTZ:-]{0,20}",
    "training": anything,
}
_SPLIT = dict.fromkeys(("border", "float_feature_index", "split_index", "split_type"), anything)
_LEAF = dict.fromkeys(("leaf_values", "leaf_weights"), anything)
_COLUMN = dict.fromkeys(
    ("borders", "feature_id", "feature_index", "flat_feature_index", "has_nans", "nan_value_treatment"), anything
)
_DOCUMENT = {
    "features_info": {"float_features": [_COLUMN], "cat_features_hash": [], "categorical_features": []},
    "model_info": _INFO,
    "oblivious_trees": [_LEAF | {"splits": lambda value: value is None or not any(unlike(value, [_SPLIT]))}],
    "scale_and_bias": anything,
    "trees": anything,
}
"""What CatBoost writes; of its trees and columns numbers are checked where they are read."""


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree."""

    splits: Splits
    value: FloatArray
    """Shape (n_nodes, n_scores). What a leaf adds to each score."""
    weight: FloatArray | None
    """Shape (n_nodes,). Sum of the weights of its rows; None where it is not stored."""


@dataclass(frozen=True, eq=False)
class ModelParts:
    """A model by parts."""

    n_features: int
    names: tuple[str, ...] | None
    trees: tuple[Grown, ...]
    scale: float
    bias: FloatArray
    """Shape (n_scores,)."""
    parameters: dict[str, Any] | None
    """As CatBoost stores them, in sections; None where they are missing."""
    classes: dict[str, Any] | None
    """As CatBoost stores them; None of regressors."""
    n_unknown: int
    """Number of entries that CatBoost itself does not write, such as metadata of one's own."""


@dataclass(frozen=True, eq=False)
class _Columns:
    """The numeric columns of a model."""

    place: IntArray
    """Shape (n_columns,). Each one's position among the columns of the table."""
    missing_left: BoolArray
    borders: tuple[FloatArray, ...]
    n_features: int
    names: tuple[str, ...] | None

    def number_of(self, position: int, border: float) -> int:
        """Return a border's number among those of all columns."""
        before = sum(len(one) for one in self.borders[:position])
        return before + int(np.searchsorted(self.borders[position], border))


def _n_strange(stored: Any, pattern: dict[str, Any], info: dict[str, Any], n_trees: int) -> int:
    """Return how many entries CatBoost does not write; of losses there are at most a few for each round."""
    history = info.get("training")
    plain = history is None or are_settings(history, 60 + 16 * n_trees, 400 + 200 * n_trees)
    return sum(1 for _ in unlike(stored, pattern)) + (not plain)


def is_catboost(packed: bytes) -> bool:
    """Return whether bytes are a model that CatBoost saved, as JSON or as cbm."""
    return packed.startswith(CBM) or (bool(_JSON.match(packed)) and _INSIDE in packed)


def parts_of(packed: bytes, budget: Budget) -> ModelParts:
    """Take a model apart.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    return _of_cbm(packed, budget) if packed.startswith(CBM) else _of_json(packed, budget)


# As JSON


def _of_json(packed: bytes, budget: Budget) -> ModelParts:
    content = _dict(json_content(packed, budget), "its JSON")
    features = _dict(content.get("features_info"), "features_info")
    strange = set(features) - {"float_features", "cat_features_hash", "categorical_features"}
    if "ctr_data" in content or strange or features.get("categorical_features"):
        raise of_json(content.get("ctr_data"), features)
    stored = _list(features.get("float_features"), "float_features")
    columns = _columns([_json_column(one, index, budget) for index, one in enumerate(stored)])
    scale, bias = _scale_and_bias(content.get("scale_and_bias"))
    info = _dict(content.get("model_info", {}), "model_info")
    if "trees" in content:
        grown = [
            _nested(tree, t, columns, len(bias), budget) for t, tree in enumerate(_list(content["trees"], "trees"))
        ]
    else:
        stored = _list(content.get("oblivious_trees"), "oblivious_trees")
        grown = [_json_oblivious(tree, t, columns, len(bias), budget) for t, tree in enumerate(stored)]
    n_unknown = _n_strange(content, _DOCUMENT, info, len(grown))
    return _parts(columns, grown, scale, bias, (info.get("params"), info.get("class_params")), n_unknown, budget)


def _json_column(stored: Any, index: int, budget: Budget) -> tuple[int, str, str, FloatArray]:
    column = _dict(stored, "a column")
    if column.get("feature_index", index) != index or type(column.get("has_nans", False)) is not bool:
        budget.note(f"feature_index or has_nans of column {index}")
    place, name = column.get("flat_feature_index"), column.get("feature_id", "")
    treatment = column.get("nan_value_treatment", "AsIs")
    if type(place) is not int or type(name) is not str or treatment not in _NUMBERED:
        raise CorruptArtifactError("a column of its CatBoost model is malformed")
    return place, name, treatment, _floats(column.get("borders") or [], "the borders of a column")


def _scale_and_bias(stored: Any) -> tuple[float, FloatArray]:
    if stored is None:
        raise UnsupportedArtifactError(
            "it holds a CatBoost model without scale_and_bias, as versions before 1.0 save it: save it with a later one"
        )
    pair = _list(stored, "scale_and_bias")
    if len(pair) != 2:
        raise CorruptArtifactError("scale_and_bias is not a number and numbers")
    scale = _floats(pair[:1], "scale_and_bias")
    bias = _floats(pair[1] if isinstance(pair[1], list) else pair[1:], "scale_and_bias")
    if not len(bias):
        raise CorruptArtifactError("scale_and_bias is not a number and numbers")
    return float(scale[0]), bias


def _json_oblivious(stored: Any, index: int, columns: _Columns, n_scores: int, budget: Budget) -> Grown:
    tree = _dict(stored, f"tree {index}")
    stored_splits = _list(tree.get("splits") or [], f"the splits of tree {index}")
    splits = [_json_split(one, columns) for one in stored_splits]
    numbers = [columns.number_of(*split) for split in splits]
    if [one.get("split_index", number) for one, number in zip(stored_splits, numbers, strict=True)] != numbers:
        budget.note("split_index", f"trees[{index}]")
    position = np.array([position for position, _ in splits], np.int64)
    border = np.array([border for _, border in splits], np.float64)
    value = _floats(tree.get("leaf_values"), f"the leaves of tree {index}")
    weight = _floats(tree.get("leaf_weights") or [], f"the leaves of tree {index}")
    return unrolled(index, columns, position, border, value, weight, n_scores, budget)


def _json_split(stored: Any, columns: _Columns) -> tuple[int, float]:
    """Return a split's column, as a position among the numeric ones, and its border."""
    split = _dict(stored, "a split")
    if split.get("split_type", "FloatFeature") != "FloatFeature":
        raise refused([], [], 0)
    position: Any = split.get("float_feature_index")
    border: Any = split.get("border")
    if type(position) is not int or not 0 <= position < len(columns.place):
        raise CorruptArtifactError("a split of its CatBoost model is malformed")
    return position, float(_floats([border], "the border of a split")[0])


def _nested(stored: Any, index: int, columns: _Columns, n_scores: int, budget: Budget) -> Grown:
    """Return a tree whose nodes stand in each other, numbered from its root down."""
    left: list[int] = []
    right: list[int] = []
    tested: list[tuple[int, float]] = []
    values: list[FloatArray] = []
    weights: dict[int, object] = {}
    budget.spend_opcode(STEPS)
    ahead: list[tuple[Any, list[int] | None, int]] = [(stored, None, 0)]
    while ahead:
        one, of_parent, parent = ahead.pop()
        budget.spend_opcode()
        node, here = _dict(one, f"a node of tree {index}"), len(left)
        if of_parent is not None:
            of_parent[parent] = here
        left.append(-1)
        right.append(-1)
        if "split" in node:
            tested.append(_json_split(node["split"], columns))
            number = columns.number_of(*tested[-1])
            if any(unlike(node, {"split": _SPLIT | {"split_index": number}, "left": anything, "right": anything})):
                budget.note(f"entries of node {here}", f"tree {index}")
            values.append(np.zeros(n_scores))
            ahead += [(node.get("right"), right, here), (node.get("left"), left, here)]
            continue
        if node.keys() - {"value", "weight"}:
            budget.note(f"entries of node {here}", f"trees[{index}]")
        tested.append((0, 0.0))
        value = node.get("value")
        values.append(_floats(value if isinstance(value, list) else [value], f"a leaf of tree {index}"))
        weights[here] = node.get("weight")
    if any(len(value) != n_scores for value in values):
        raise CorruptArtifactError(f"tree {index}: a leaf does not have {n_scores} values")
    position, border = [column for column, _ in tested], [limit for _, limit in tested]
    weight = np.zeros(len(left))
    known = all(type(one) in (int, float) for one in weights.values())
    if known:
        weight[list(weights)] = _floats(list(weights.values()), f"the leaves of tree {index}")
    for here in range(len(left) - 1, -1, -1):
        if left[here] >= 0:
            weight[here] = weight[left[here]] + weight[right[here]]
    places = np.array(position)
    splits = Splits(
        np.array(left), np.array(right), columns.place[places], np.array(border), columns.missing_left[places]
    )
    return Grown(splits, np.stack(values), weight if known else None)


# As cbm


def _of_cbm(packed: bytes, budget: Budget) -> ModelParts:
    size = int.from_bytes(packed[4:8], "little")
    if len(packed) < 8 or size > len(packed) - 8:
        raise CorruptArtifactError("its CatBoost model is cut off")
    behind = len(packed) - 8 - size
    budget.spend_copy(size)
    core = Table.root(packed[8 : 8 + size], budget)
    if core.text(0) not in ("FlabuffersModel_v1", ""):
        raise UnsupportedArtifactError(
            'it holds a CatBoost model of a form that is not known: save it by model.save_model("model.json", '
            'format="json")'
        )
    trees = core.table(1)
    if trees is None:
        raise CorruptArtifactError("its CatBoost model has no trees")
    # Categories, tests of them and tables of them, texts, what is made of texts, embeddings, what stands behind.
    if any(trees.length(field) for field in (4, 6, 7, 12, 13, 18)) or core.length(3) or trees.n_fields > 19:
        raise of_cbm(packed[8 + size :], budget)
    if trees.length(10):
        raise UnsupportedArtifactError(
            "it holds a CatBoost model whose trees are not symmetric, which are read from JSON only: save it by "
            'model.save_model("model.json", format="json")'
        )
    n_scores = int(trees.number(0, "<i", 0))
    bias = trees.vector(16, "<f8").astype(np.float64)
    if not len(bias):
        bias = np.full(1 if n_scores < 1 else min(n_scores, len(packed)), trees.number(15, "<d", 0.0))
    if n_scores < 1 or len(bias) != n_scores or not np.isfinite(bias).all():
        raise CorruptArtifactError("its CatBoost model does not have a bias for each score")
    columns = _columns([_cbm_column(one, index, budget) for index, one in enumerate(trees.tables(5))])
    grown = list(_cbm_trees(trees, columns, n_scores, budget))
    if behind:
        raise CorruptArtifactError(f"{behind} bytes stand behind its CatBoost model")
    info = {one.text(0): one.text(1) for one in core.tables(2)}
    said = (info.get("params"), info.get("class_params"))
    scale, n_unknown = trees.number(14, "<d", 1.0), _n_strange(info, _INFO, info, len(grown))
    sizes, split = (trees.vector(field, "<i4").astype(np.int64) for field in (2, 1))
    ends = np.cumsum([0, *(len(one) for one in columns.borders)])
    position = np.searchsorted(ends, split, side="right") - 1
    group, bit = np.divmod(split - ends[position], _IN_GROUP)  # of what CatBoost makes of splits when it loads them
    first = np.cumsum([0, *(-(-len(one) // _IN_GROUP) for one in columns.borders)])[position]
    repacked = trees.vector(17, "<u4")
    good = not len(repacked) or np.array_equal(repacked, first + group + ((bit + 1) << 24))
    if not np.array_equal(trees.vector(3, "<i4"), np.cumsum(sizes) - sizes) or trees.length(11) or not good:
        budget.note("places of its trees and splits")
    if (unread := core.unread) is not None:
        budget.note(f"byte {8 + unread}, which nothing refers to")
    return _parts(columns, grown, scale, bias, said, n_unknown, budget)


def _cbm_column(table: Table, index: int, budget: Budget) -> tuple[int, str, str, FloatArray]:
    if table.number(1, "<i", -1) != index or table.number(0, "<b", 0) not in (0, 1):
        budget.note(f"index or has_nans of column {index}")
    treatment = int(table.number(5, "<b", 0))
    if not 0 <= treatment < len(_NUMBERED):
        raise CorruptArtifactError("a column of its CatBoost model is malformed")
    borders = table.vector(3, "<f4").astype(np.float64)
    return int(table.number(2, "<i", -1)), table.text(4), _NUMBERED[treatment], borders


def _cbm_trees(trees: Table, columns: _Columns, n_scores: int, budget: Budget) -> Iterator[Grown]:
    """Yield the trees: their splits are numbered through all borders of all columns."""
    ends = np.cumsum([0, *(len(borders) for borders in columns.borders)])
    every = np.concatenate([np.zeros(0), *columns.borders])
    split, size = trees.vector(1, "<i4").astype(np.int64), trees.vector(2, "<i4").astype(np.int64)
    value, weight = trees.vector(8, "<f8").astype(np.float64), trees.vector(9, "<f8").astype(np.float64)
    if ((size < 0) | (size > _DEEPEST)).any() or size.sum() != len(split):
        raise CorruptArtifactError("the sizes of its CatBoost trees are out of range")
    if ((split < 0) | (split >= len(every))).any():
        raise CorruptArtifactError("a split of its CatBoost model is none of its borders")
    starts = np.cumsum([0, *size.tolist()])
    ends_of_leaves = np.cumsum([0, *(2**size).tolist()])
    if ends_of_leaves[-1] * n_scores != len(value) or len(weight) not in (0, ends_of_leaves[-1]):
        raise CorruptArtifactError("its CatBoost model does not have a value for each leaf")
    for index, ((first, last), (start, end)) in enumerate(
        zip(pairwise(starts.tolist()), pairwise(ends_of_leaves.tolist()), strict=True)
    ):
        own = split[first:last]
        position = np.searchsorted(ends, own, side="right") - 1
        of_tree = value[start * n_scores : end * n_scores]
        yield unrolled(index, columns, position, every[own], of_tree, weight[start:end], n_scores, budget)


# Both


def unrolled(
    index: int,
    columns: _Columns,
    position: IntArray,
    border: FloatArray,
    value: FloatArray,
    weight: FloatArray,
    n_scores: int,
    budget: Budget,
) -> Grown:
    """Return a symmetric tree, which tests the same at all nodes of a level, with all its nodes.

    Parameters
    ----------
    index : int
        Of the tree, for messages.
    position : ndarray of int64, shape (depth,)
        Column of each split, of which the first one is the lowest bit of a leaf's number, so it is tested last.
    border : ndarray of float64, shape (depth,)
        A value above it sets the bit.
    value : ndarray of float64, shape (n_leaves * n_scores,)
    weight : ndarray of float64, shape (n_leaves,), or empty
    """
    depth = len(position)
    if depth > _DEEPEST or len(value) != 2**depth * n_scores or len(weight) not in (0, 2**depth):
        raise CorruptArtifactError(f"tree {index}: it does not have a value for each of its leaves")
    n_inner = 2**depth - 1
    n_nodes = 2 * n_inner + 1
    budget.spend_opcode(STEPS)
    here = np.arange(n_nodes)
    inner = here < n_inner
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    tested = np.zeros(n_nodes, np.int64)
    limit = np.zeros(n_nodes)
    tested[inner], limit[inner] = position[::-1][level], border[::-1][level]
    values = np.zeros((n_nodes, n_scores))
    values[n_inner:] = value.reshape(-1, n_scores)
    splits = Splits(
        left=np.where(inner, 2 * here + 1, -1),
        right=np.where(inner, 2 * here + 2, -1),
        feature=columns.place[tested] if len(columns.place) else tested,
        threshold=limit,
        missing_left=columns.missing_left[tested] if len(columns.place) else np.zeros(n_nodes, np.bool_),
    )
    sums = [weight.reshape(2**one, -1).sum(axis=1) for one in range(depth + 1)] if len(weight) else []
    return Grown(splits, values, np.concatenate(sums) if sums else None)


def _columns(stored: list[tuple[int, str, str, FloatArray]]) -> _Columns:
    """Return the numeric columns of a model, and what all its columns are called."""
    places = [place for place, _, _, _ in stored]
    if not places:
        raise UnsupportedArtifactError("it holds a CatBoost model without numeric columns, which is not covered")
    if sorted(places) != list(range(len(places))):
        # Columns of other kinds stand between them.
        raise refused([], [], 0)
    if any(not (borders > -np.inf).all() or (np.diff(borders) <= 0).any() for _, _, _, borders in stored):
        raise CorruptArtifactError("the borders of a column of its CatBoost model are out of order")
    names = [name for _, name, _, _ in sorted(stored, key=lambda one: one[0])]
    made_up = all(name in ("", str(index)) for index, name in enumerate(names))
    return _Columns(
        place=np.array(places),
        missing_left=np.array([_MISSING_LEFT[treatment] for _, _, treatment, _ in stored]),
        borders=tuple(borders for _, _, _, borders in stored),
        n_features=len(places),
        names=None if made_up else tuple(names),
    )


def _parts(
    columns: _Columns,
    grown: list[Grown],
    scale: float,
    bias: FloatArray,
    said: tuple[Any, Any],
    n_unknown: int,
    budget: Budget,
) -> ModelParts:
    if not grown:
        raise UnsupportedArtifactError("it holds a CatBoost model without trees: train it before saving it")
    splits = [np.stack((one.splits.feature, one.splits.threshold))[:, one.splits.left >= 0] for one in grown]
    used = np.unique(np.concatenate([np.unique(one, axis=1) for one in splits], axis=1), axis=1).shape[1]
    if used != sum(len(borders) for borders in columns.borders):
        budget.note("borders that no tree tests")
    parameters, classes = (json_content(one.encode(), budget) if isinstance(one, str) and one else one for one in said)
    return ModelParts(
        columns.n_features,
        columns.names,
        tuple(grown),
        scale,
        bias,
        None if parameters in (None, "") else _dict(parameters, "its parameters"),
        None if classes in (None, "") else _dict(classes, "its classes"),
        n_unknown,
    )


def _dict(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CorruptArtifactError(f"{what}: not an object of JSON")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise CorruptArtifactError(f"{what}: not a list")
    return value


def _floats(value: Any, what: str) -> FloatArray:
    """Return a list of finite numbers."""
    if any(type(one) not in (int, float) for one in _list(value, what)):
        raise CorruptArtifactError(f"{what}: not numbers")
    try:
        found = np.array(value, np.float64)
    except OverflowError:
        raise CorruptArtifactError(f"{what}: numbers out of range") from None
    if not np.isfinite(found).all():
        raise CorruptArtifactError(f"{what}: numbers out of range")
    return found
