"""Small boosters as XGBoost would write them, made without it: on given splits, with its arithmetic."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

LEFT, RIGHT = [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1]
RATE, REG_LAMBDA = np.float32(0.3), 1.0


def rows(n_rows: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return columns, shape (n_rows, 3), and classes 0 and 1 that depend on them."""
    random = np.random.default_rng(seed)
    columns = random.normal(size=(n_rows, 3)).round(1).astype(np.float32)
    return columns, (columns[:, 0] + random.normal(size=n_rows) > 0).astype(int)


def booster(
    columns: np.ndarray, label: np.ndarray, n_trees: int = 6, objective: str = "binary:logistic"
) -> dict[str, Any]:
    """Return what ``save_model`` of XGBoost 3.2 would write as JSON."""
    logistic = objective.startswith("binary")
    base = np.float32(0.5)
    score = np.full(len(label), 0.0 if logistic else base, np.float32)
    random = np.random.default_rng(1)
    trees = []
    for index in range(n_trees):
        p = (1 / (1 + np.exp(-score))).astype(np.float32) if logistic else score
        gradient = (p - label).astype(np.float32).astype(float)
        hessian = (p * (1 - p) if logistic else np.ones_like(p)).astype(np.float32).astype(float)
        feature = [*random.permutation(3).tolist(), 0, 0, 0, 0]
        condition = [float(np.float32(random.choice(columns[:, feature[node]]))) for node in range(3)] + [0.0] * 4
        node = np.zeros(len(label), int)
        at = {0: np.arange(len(label))}
        for parent in range(3):
            below = columns[at[parent], feature[parent]] < condition[parent]
            at[LEFT[parent]], at[RIGHT[parent]] = at[parent][below], at[parent][~below]
        for number, those in at.items():
            node[those] = number
        sums = [(gradient[at[number]].sum(), hessian[at[number]].sum()) for number in range(7)]
        step = [np.float32(-g / (h + REG_LAMBDA)) if h > 0 else np.float32(0) for g, h in sums]
        leaf = [np.float32(one * RATE) for one in step]
        for number in range(3, 7):
            condition[number] = float(leaf[number])
            step[number] = leaf[number]
        score = (score + np.array(leaf, np.float32)[node]).astype(np.float32)
        gained = [float(np.float32(g) ** 2 / (np.float32(h) + REG_LAMBDA)) for g, h in sums]
        trees.append(
            {
                "base_weights": [float(one) for one in step],
                "categories": [],
                "categories_nodes": [],
                "categories_segments": [],
                "categories_sizes": [],
                "default_left": [0] * 7,
                "id": index,
                "left_children": LEFT,
                "loss_changes": [
                    *(float(np.float32(gained[LEFT[p]] + gained[RIGHT[p]] - gained[p])) for p in range(3)),
                    *([0.0] * 4),
                ],
                "parents": [2147483647, 0, 0, 1, 1, 2, 2],
                "right_children": RIGHT,
                "split_conditions": condition,
                "split_indices": feature,
                "split_type": [0] * 7,
                "sum_hessian": [float(np.float32(h)) for _, h in sums],
                "tree_param": {"num_deleted": "0", "num_feature": "3", "num_nodes": "7", "size_leaf_vector": "1"},
            }
        )
    model = {
        "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n_trees)},
        "iteration_indptr": list(range(n_trees + 1)),
        "tree_info": [0] * n_trees,
        "trees": trees,
    }
    return {
        "learner": {
            "attributes": {},
            "feature_names": ["a", "b", "c"],
            "feature_types": ["float"] * 3,
            "gradient_booster": {"model": model, "name": "gbtree"},
            "learner_model_param": {
                "base_score": "[5E-1]",
                "boost_from_average": "1",
                "num_class": "0",
                "num_feature": "3",
                "num_target": "1",
            },
            "objective": {"name": objective, "reg_loss_param": {"scale_pos_weight": "1"}},
        },
        "version": [3, 2, 0],
    }


def as_json(model: object) -> bytes:
    """Return the JSON text, with as many digits as numbers in single precision need."""
    short = json.loads(json.dumps(model), parse_float=lambda text: float(str(np.float32(text))))
    return json.dumps(short, separators=(",", ":")).encode()


def as_ubjson(value: object) -> bytes:
    """Return Universal Binary JSON, with typed lists of numbers, as XGBoost writes it."""
    if isinstance(value, dict):
        return b"{" + b"".join(_text(name) + as_ubjson(inner) for name, inner in value.items()) + b"}"
    if isinstance(value, list):
        length = b"#L" + struct.pack(">q", len(value))
        if value and all(type(one) is float for one in value):
            return b"[$d" + length + struct.pack(f">{len(value)}f", *value)
        if value and all(type(one) is int for one in value):
            return b"[$l" + length + struct.pack(f">{len(value)}i", *value)
        return b"[" + length + b"".join(map(as_ubjson, value))
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, float):
        return b"d" + struct.pack(">f", value)
    return b"l" + struct.pack(">i", value)


def _text(text: str) -> bytes:
    return b"L" + struct.pack(">q", len(text.encode())) + text.encode()
