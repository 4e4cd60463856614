"""Forests that contradict themselves: nothing goes in, out come `Hostile` files."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from attack_corpus.entry import Hostile, corrupt, dumped, forest, too_big


def with_tree(model, index=0, **changes):
    """Replace a tree's stored state, as no honest writer would."""
    tree = model.estimators_[index].tree_
    state = {**tree.__getstate__(), **changes}

    class Tree:
        def __reduce__(self):
            return type(tree), (tree.n_features, np.array([3]), 1), state

    model.estimators_[index].__dict__["tree_"] = Tree()
    return model


def with_node(model, node=0, **fields):
    nodes = model.estimators_[0].tree_.__getstate__()["nodes"].copy()
    for name, value in fields.items():
        nodes[name][node] = value
    return with_tree(model, nodes=nodes)


def with_attributes(**changes):
    model = forest()
    model.__dict__.update(changes)
    return model


NODES = (
    ({"left_child": 10**9}, "a child's index"),
    ({"left_child": 0}, "a child's index"),
    ({"left_child": -7}, "a child's index"),
    ({"left_child": -1}, "one child only"),
    ({"right_child": 2**62}, "a child's index"),
    ({"right_child": -(2**63)}, "a child's index"),
    ({"feature": 999}, "none of the 6 columns"),
    ({"feature": -1}, "none of the 6 columns"),
    ({"feature": -(2**63)}, "none of the 6 columns"),
    ({"threshold": np.nan}, "threshold"),
    ({"threshold": -np.inf}, "threshold"),
    ({"missing_go_to_left": 2}, "missing values"),
    ({"weighted_n_node_samples": np.inf}, "weight is not a number"),
    ({"impurity": np.nan}, "impurity"),
    ({"impurity": -1.0}, "impurity"),
)
TREES = (
    ({"node_count": 1}, "it says that it has 1 nodes"),
    ({"node_count": 2**70}, "node"),
    ({"node_count": -1}, "node"),
    ({"max_depth": 3}, "depth is 3"),
    ({"max_depth": 2**40}, "depth is"),
    ({"max_depth": "4"}, "max_depth is not a whole number"),
    ({"values": np.zeros((1, 1, 3))}, "a number for each node and class"),
    ({"values": None}, "is not an array"),
    ({"nodes": np.zeros(3)}, "the fields of scikit-learn's"),
    ({"nodes": None}, "is not an array"),
    ({"nodes": np.zeros((3, 3), "O")}, "nodes"),
)
FORESTS = (
    ("estimators_", [], "corrupt", "not a list of trees"),
    ("estimators_", None, "corrupt", "not a list of trees"),
    ("estimators_", [None], "unsupported", "a RandomForestClassifier of None"),
    ("n_features_in_", 7, "corrupt", "forest's columns"),
    ("n_features_in_", -1, "corrupt", "n_features_in_"),
    ("n_features_in_", 2**70, "corrupt", ""),
    ("n_classes_", 2, "corrupt", "n_classes_"),
    ("classes_", np.array(["no", "no", "yes"]), "corrupt", "twice"),
    ("classes_", np.array([b"a", b"b", b"c"]), "unsupported", "neither numbers nor texts"),
    ("classes_", np.array([{}, (), 1], object), "unsupported", "neither numbers nor texts"),
    ("bootstrap", 1, "corrupt", "bootstrap"),
    ("_n_samples", 2, "corrupt", "only 2 were drawn"),
    ("_n_samples", 1.5, "corrupt", "_n_samples"),
    ("_sample_weight", np.ones(3), "corrupt", "_sample_weight"),
    ("_sample_weight", np.full(60, np.nan), "corrupt", "_sample_weight"),
    ("feature_names_in_", np.array(["a"], object), "corrupt", "feature_names_in_"),
)


def files() -> Iterator[Hostile]:
    for fields, words in NODES:
        yield corrupt(f"node 0 with {fields}", dumped(with_node(forest(), **fields)), "tree 0, node 0", words)
    for change, words in TREES:
        name = ", ".join(f"{key}={str(value)[:20]!r}" for key, value in change.items())
        yield corrupt(f"a tree with {name}", dumped(with_tree(forest(), **change)), words)
    for attribute, value, kind, words in FORESTS:
        name = f"{attribute} of {str(value)[:30]!r}, {kind}"
        yield Hostile(name, dumped(with_attributes(**{attribute: value})), kind, (words,))
    yield from _structure()
    yield from _values()
    twice = forest()
    twice.estimators_.append(twice.estimators_[0])
    yield corrupt("the same tree twice", dumped(twice), "same tree twice")
    for seed in (2**32, -1, 2**70):
        seeded = forest()
        seeded.estimators_[0].random_state = seed
        yield corrupt(f"a seed of {seed}", dumped(seeded), "seed")
    yield too_big("one large array of many trees", _shared(), "again and again")


def _structure() -> Iterator[Hostile]:
    tree = forest().estimators_[0].tree_
    left, right = tree.children_left, tree.children_right
    yield corrupt("two parents", dumped(with_node(forest(), 0, right_child=left[0])), "two parents")
    inner = int(np.flatnonzero(left > 0)[-1])
    yield corrupt("a cycle", dumped(with_node(forest(), inner, left_child=0)), "a child's index")
    yield corrupt("an island", dumped(with_node(forest(), inner, left_child=-1, right_child=-1)), "root")
    assert left[int(right[inner])] == -1
    nodes = tree.__getstate__()["nodes"][:0]
    empty = with_tree(forest(), nodes=nodes, values=np.zeros((0, 1, 3)), node_count=0)
    yield corrupt("a tree without nodes", dumped(empty), "tree 0: it has no nodes")


def _values() -> Iterator[Hostile]:
    tree = forest().estimators_[0].tree_
    leaf = int(np.flatnonzero(tree.children_left < 0)[1])
    for value, words in ((np.nan, "not a number"), (np.inf, "not a number"), (-0.1, "negative"), (7.5, "add up")):
        values = tree.value.copy()
        values[leaf, 0, 1] = value
        model = with_tree(forest(), values=values)
        yield corrupt(f"a leaf's value of {value}", dumped(model), f"tree 0, node {leaf}:", words)
    single = tree.value.astype(np.float32)
    yield corrupt("values in single precision", dumped(with_tree(forest(), values=single)), "a number for each node")


def _shared() -> bytes:
    """Return a forest of 50 trees that share one large array."""
    random = np.random.RandomState(0)
    rows = random.normal(size=(20_000, 2))
    model = RandomForestClassifier(1, random_state=0).fit(rows, random.randint(0, 2, 20_000))
    tree = model.estimators_[0]
    state = tree.tree_.__getstate__()

    class Tree:
        def __reduce__(self):
            return type(tree.tree_), (2, np.array([2]), 1), state

    copies = []
    for _ in range(50):
        copy = DecisionTreeClassifier()
        copy.__dict__.update(tree.__dict__)
        copy.__dict__["tree_"] = Tree()
        copies.append(copy)
    model.estimators_ = copies
    return pickle.dumps(model)
