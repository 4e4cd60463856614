"""Hostile files of libraries of boosted trees: nothing goes in, out come `Hostile` files; no library is needed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

from attack_corpus.entry import Hostile, corrupt, too_big, unsupported
from studies.fuzz.targets import SEEDS

MANY = 10**5


def honest(name: str) -> bytes:
    return (SEEDS / name).read_bytes()


def changed(name: str, damage: Callable[[Any], object]) -> bytes:
    """Return an honest JSON file after a change."""
    document = json.loads(honest(name))
    damage(document)
    return json.dumps(document).encode()


def files() -> Iterator[Hostile]:
    yield from _xgboost()
    yield from _ubjson()
    yield from _lightgbm()
    yield from _catboost()
    yield from _cbm()


def _xgboost() -> Iterator[Hostile]:
    def model(damage: Callable[[Any], object]) -> bytes:
        return changed("xgboost-two.json", lambda document: damage(document["learner"]))

    def size(name: str, value: str) -> bytes:
        return model(lambda learner: learner["learner_model_param"].update({name: value}))

    def tree(damage: Callable[[Any], object]) -> bytes:
        return model(lambda learner: damage(learner["gradient_booster"]["model"]["trees"][0]))

    def item(name: str, index: int, value: object) -> bytes:
        return tree(lambda one: one[name].__setitem__(index, value))

    yield too_big("XGBoost, 2^31 columns", size("num_feature", str(2**31)), "columns")
    yield corrupt("XGBoost, 10^17 classes", size("num_class", str(10**17)), "by turns")
    yield corrupt("XGBoost, -1 columns", size("num_feature", "-1"), "not a whole number")
    for word in ("nan", "inf", "1e999", "", "[", "0x1"):
        yield corrupt(f"XGBoost, a base score of {word!r}", size("base_score", word), "base_score")
    yield corrupt("XGBoost, 10^12 nodes", tree(lambda one: one["tree_param"].update(num_nodes=str(10**12))), "nodes")
    yield corrupt("XGBoost, a circle", item("left_children", 0, 0), "two parents")
    yield corrupt("XGBoost, a child at 2^63", item("left_children", 0, 2**63), "left_children")
    yield corrupt("XGBoost, a child that is none", item("left_children", 0, 99), "out of range")
    for value in (float("nan"), float("inf"), 1e308):
        yield corrupt(f"XGBoost, a leaf of {value}", item("split_conditions", -1, value), "not a finite number")
    yield corrupt("XGBoost, leaves beyond squares", item("split_conditions", -1, 3e38), "out of range")
    yield corrupt("XGBoost, hessians of 2^63", item("sum_hessian", -1, 2**63), "children's together")
    yield corrupt("XGBoost, a list in a list", item("sum_hessian", -1, [1.0]), "sum_hessian")
    text = honest("xgboost-two.json").decode()
    start = text[: text.index('"attributes":') + len('"attributes":')]
    yield too_big("XGBoost, lists in lists", (start + "[" * MANY + '"gradient_booster').encode(), "nested too deep")
    known = '},"gradient_booster":{}}}'
    yield corrupt("XGBoost, a key twice", (start + '{"a":1,"a":2' + known).encode(), "a key twice")
    yield corrupt("XGBoost, a number of many digits", (start + '{"a":' + "1" * 10**6 + known).encode(), "digits")
    values = '{"learner":{"gradient_booster":[' + '{"a":1},' * 2 * 10**6 + "1]}}"
    yield too_big("XGBoost, many small objects", values.encode(), "when it is parsed")
    yield corrupt("XGBoost, cut off", text[: len(text) // 2].encode(), "not valid JSON")
    old = "in a format that XGBoost has given up"
    yield unsupported("XGBoost, binary", b"binf" + bytes(100), old)


def _ubjson() -> Iterator[Hostile]:
    begins = b"{L" + struct.pack(">q", 7) + b"learner"

    def inside(content: bytes) -> bytes:
        return begins + content + b"gradient_booster"

    for count in (-1, -(2**31)):
        length = b"l" + struct.pack(">i", count)
        yield corrupt(f"UBJSON, a text of {count} bytes", inside(b"S" + length), "a negative length")
        yield corrupt(f"UBJSON, a list of {count} numbers", inside(b"[$d#" + length), "a negative length")
    huge = b"L" + struct.pack(">q", 2**61)
    yield corrupt("UBJSON, a text of 2^61 bytes", inside(b"S" + huge), "ends too early")
    yield corrupt("UBJSON, a list of 2^61 numbers", inside(b"[$d#" + huge), "longer than the rest")
    yield corrupt("UBJSON, a list of 2^61 values", inside(b"[#" + huge), "longer than the rest")
    yield corrupt("UBJSON, a length that is none", inside(b"Sd" + bytes(4)), "no whole number")
    yield corrupt("UBJSON, a list of lists by type", inside(b"[$[#i\x03"), "no kind of number")
    yield too_big("UBJSON, lists in lists", inside(b"[" * MANY), "deep in each other")
    yield too_big("UBJSON, many values", inside(b"[" + b"Z" * 11 * 10**5), "too many for its size")
    content = honest("xgboost-two.ubj")
    yield corrupt("UBJSON, cut off", content[:-9], "ends too early")
    yield corrupt("UBJSON, more behind", content + b"Z", "1 bytes follow")


def _lightgbm() -> Iterator[Hostile]:
    text = honest("lightgbm-two.txt").decode()

    def field(name: str, value: str) -> bytes:
        begin = text.index(f"\n{name}=") + len(name) + 2
        return (text[:begin] + value + text[text.index("\n", begin) :]).encode()

    yield corrupt("LightGBM, 2^31 columns", field("max_feature_idx", str(2**31)), "out of range")
    yield corrupt("LightGBM, 16 million columns", field("max_feature_idx", str(2**24)), "names of")
    yield corrupt("LightGBM, a million trees a round", field("num_tree_per_iteration", str(10**6)), "one tree a round")
    yield too_big("LightGBM, 16 million leaves", field("num_leaves", str(2**24)), "many times its own size")
    for value in ("nan", "1e999", "1_0", "0x1p3", "\u0663", "1e1e1", "1" * 10**6):
        name = value[:10].encode("ascii", "replace").decode()
        yield corrupt(f"LightGBM, leaves of {name}", field("leaf_value", f"{value} 1 1 1"), "leaf_value")
        yield corrupt(f"LightGBM, counts of {name}", field("leaf_count", f"{value} 1 1 1"), "leaf_count")
    longest = "1 " * MANY + "1" * MANY
    yield corrupt("LightGBM, one long number among many", field("leaf_count", longest), "leaf_count")
    yield corrupt("LightGBM, a circle", field("left_child", "0 0 0"), "one binary tree")
    yield corrupt("LightGBM, a child at 2^63", field("left_child", f"{2**63} 0 0"), "left_child")
    yield corrupt("LightGBM, leaves beyond squares", field("leaf_value", "1e308 1 1 1"), "out of range")
    yield corrupt("LightGBM, ranges that are none", field("feature_infos", "[1:2] [..:1] none"), "feature_infos")
    constant = "".join(f"Tree={index}\nnum_leaves=1\nleaf_value=0\nshrinkage=1\n\n" for index in range(3, 60_000))
    yield too_big("LightGBM, many trees", text.replace("end of trees", constant + "end of trees").encode(), "too many")
    yield corrupt("LightGBM, cut off", text[: text.index("end of trees")].encode(), "cut off")
    yield corrupt("LightGBM, a field twice", text.replace("num_cat=0", "num_cat=0\nnum_cat=0", 1).encode(), "twice")


def _catboost() -> Iterator[Hostile]:
    def tree(**values: object) -> bytes:
        return changed("catboost-two.json", lambda document: document["oblivious_trees"][0].update(values))

    def model(damage: Callable[[Any], object]) -> bytes:
        return changed("catboost-two.json", damage)

    yield corrupt("CatBoost, a leaf too few", tree(leaf_values=[0.0] * 3), "for each of its leaves")
    yield corrupt("CatBoost, leaves beyond squares", tree(leaf_values=[1e308] * 4), "out of range")
    yield corrupt("CatBoost, leaves of 10^400", tree(leaf_values=[10**400] * 4), "out of range")
    split = {"float_feature_index": 0, "split_type": "FloatFeature", "border": 10**400}
    yield corrupt("CatBoost, a border of 10^400", tree(splits=[split, split]), "out of range")
    yield corrupt("CatBoost, 40 splits", tree(splits=[{**split, "border": 0.5}] * 40), "for each of its leaves")
    named = {"class_names": [0, 10**400], "class_label_type": "Float", "class_to_label": [0, 1]}
    wrong_classes = model(lambda document: document["model_info"].update(class_params=named))
    yield corrupt("CatBoost, a class of 10^400", wrong_classes, "out of range")
    flat = model(lambda document: document["features_info"]["float_features"][0].update(flat_feature_index=2**31))
    yield unsupported("CatBoost, a column at 2^31", flat, "categories")
    biases = model(lambda document: document["scale_and_bias"].__setitem__(1, [0.0] * MANY))
    yield corrupt("CatBoost, many scores", biases, "for each of its leaves")
    node: dict[str, Any] = {"value": 0.0, "weight": 1}
    for _ in range(300):
        node = {"left": node, "right": {"value": 0.0, "weight": 1}, "split": {**split, "border": 0.5}}
    deep = json.dumps(node)
    text = json.dumps({**json.loads(honest("catboost-lossguide.json")), "trees": ["here"]})
    once = deep[: deep.index('{"value"')]
    yield too_big("CatBoost, nodes in nodes", text.replace('"here"', once * 300).encode(), "nested too deep")
    bomb = '{"boosting_options":' + "[" * MANY
    yield too_big(
        "CatBoost, deep parameters",
        model(lambda document: document["model_info"].update(params=bomb)),
        "nested too deep",
    )
    nan = model(lambda document: document["scale_and_bias"].__setitem__(0, float("nan")))
    yield corrupt("CatBoost, NaN", nan, "NaN is not a number of JSON")


def _cbm() -> Iterator[Hostile]:
    content = honest("catboost-two.cbm")
    size = len(content) - 8
    yield corrupt("cbm, nothing", b"CBM1", "cut off")
    yield corrupt("cbm, cut off", content[:-1], "cut off")
    yield corrupt("cbm, longer than it is", content[:4] + struct.pack("<I", 2**32 - 1) + content[8:], "cut off")
    for root in (0, size, 2**31, 2**32 - 1):
        damaged = content[:8] + struct.pack("<I", root) + content[12:]
        yield corrupt(f"cbm, a root at {root}", damaged, "FlatBuffers are damaged")
