"""Determined rows against enumeration of all that the rows of a block can be."""

from __future__ import annotations

import itertools
import math

import joblib
import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.occurrences import occurrences
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate.ambiguity.block_search import FIXED, OTHER, UNDECIDED
from pytest_draft.evaluate.ambiguity.determined import Blocks
from pytest_draft.timebox import TimeBox
from small_models import booleans, domain_of

ONE_HOT = domain_of(
    Attribute("g", "one-hot", (0, 1, 2)), Attribute("b", "binary", (3,)), Attribute("c", "binary", (4,))
)
DROPPED = domain_of(
    Attribute("g", "one-hot", (0, 1), dropped=True), *(Attribute(f"b{i}", "binary", (i,)) for i in (2, 3))
)
CONSTANT = domain_of(
    Attribute("b", "binary", (0,)), Attribute("k", "ordinal", (1,), 7.0, 7.0), Attribute("c", "binary", (2,))
)
ORDINAL = domain_of(Attribute("o", "ordinal", (0,), 0.0, 5.0), Attribute("b", "binary", (1,)))
CODES = domain_of(
    Attribute("o", "ordinal", (0,), 1.0, 9.0, values=(1.0, 2.0, 5.0, 9.0)), Attribute("b", "binary", (1,))
)
MISSING = domain_of(Attribute("o", "ordinal", (0,), 0.0, 3.0, missing=True), Attribute("b", "binary", (1,)))
DISCRETE = {"binary": booleans(4), "one-hot": ONE_HOT, "dropped": DROPPED, "constant": CONSTANT}
ORDERED = {"ordinal": ORDINAL, "codes": CODES, "missing": MISSING}


def vectors_of(domain: Domain) -> np.ndarray:
    """All that the domain allows, missing values included."""
    parts = []
    for attribute in domain.attributes:
        part = attribute.encoded(np.arange(attribute.n_states))
        if attribute.missing:
            part[-1] = np.nan
        parts.append(part)
    rows = []
    for states in itertools.product(*(range(len(part)) for part in parts)):
        row = np.empty(domain.n_columns, dtype=np.float32)
        for attribute, part, state in zip(domain.attributes, parts, states, strict=True):
            row[list(attribute.columns)] = part[state]
        rows.append(row)
    return np.array(rows)


def made(tmp_path, model, domain, rng, n_rows, n_classes=2, vectors=None):
    """A fitted forest as it is read from its file, its rows and labels, and how often each tree saw them."""
    pool = vectors_of(domain) if vectors is None else vectors
    rows = pool[rng.integers(len(pool), size=n_rows)]
    labels = np.arange(n_rows) % n_classes
    joblib.dump(model.fit(rows, labels), tmp_path / "model.joblib")
    forest = read(str(tmp_path / "model.joblib")).forest
    return forest, rows, labels, occurrences(forest)


def midpoints_hold(forest: Forest, domain: Domain, rows: np.ndarray, times: np.ndarray) -> bool:
    """Whether each finite threshold of a column in no group is the midpoint of the nearest values on its two sides."""
    for t, tree in enumerate(forest.trees):
        here = {0: np.flatnonzero(times[t] > 0)}
        for node in range(tree.n_nodes):
            if tree.left[node] < 0:
                continue
            of_node, threshold = here[node], tree.threshold[node]
            values = rows[of_node, tree.feature[node]].astype(np.float64)
            below = np.where(np.isnan(values), tree.missing_left[node], values <= threshold)
            here[int(tree.left[node])], here[int(tree.right[node])] = of_node[below], of_node[~below]
            if not math.isfinite(threshold):
                continue
            left, right = values[below & ~np.isnan(values)], values[~below & ~np.isnan(values)]
            if not len(left) or not len(right) or left.max() / 2 + right.min() / 2 != threshold:
                return False
    return True


def enumerated(forest, domain, rows, labels, times, block, n_classes, midpoints, known=()):
    """Of each row of a block, whether its values occur at least as often in every assignment that fits."""
    vectors = vectors_of(domain)
    leaf = [leaf_positions(tree, np.ascontiguousarray(vectors.T)) for tree in forest.trees]
    true_leaf = [leaf_positions(tree, np.ascontiguousarray(rows.T)) for tree in forest.trees]
    columns = domain.columns_of(known)
    can_be = [
        [
            (v, c)
            for v in range(len(vectors))
            for c in range(n_classes)
            if np.array_equal(vectors[v, columns], rows[row, columns], equal_nan=True)
        ]
        for row in block
    ]
    wanted = []
    for t, tree in enumerate(forest.trees):
        draws = np.zeros((len(tree.leaves), n_classes + 1), dtype=int)
        for row in block:
            draws[true_leaf[t][row], labels[row]] += times[t, row]
            draws[true_leaf[t][row], -1] += times[t, row] > 0
        wanted.append(draws)

    def key(row):
        return rows[row].tobytes()

    fixed = np.ones(len(block), dtype=bool)
    partial: list[tuple[int, int]] = []

    def place(i: int) -> None:
        if i == len(block):
            if any(draws.any() for draws in wanted):
                return
            changed = rows.copy()
            changed[block] = vectors[[v for v, _ in partial]]
            if midpoints and not midpoints_hold(forest, domain, changed, times):
                return
            got = [changed[row].tobytes() for row in block]
            for k, row in enumerate(block):
                fixed[k] &= got.count(key(row)) >= sum(key(other) == key(row) for other in block)
            return
        for v, c in can_be[i]:
            ways = [(t, leaf[t][v], times[t, block[i]]) for t in range(len(leaf)) if times[t, block[i]] > 0]
            if all(wanted[t][j, c] >= w and wanted[t][j, -1] > 0 for t, j, w in ways):
                for t, j, w in ways:
                    wanted[t][j, c] -= w
                    wanted[t][j, -1] -= 1
                partial.append((v, c))
                place(i + 1)
                partial.pop()
                for t, j, w in ways:
                    wanted[t][j, c] += w
                    wanted[t][j, -1] += 1

    place(0)
    return fixed


MODELS = {
    "whole": lambda s: RandomForestClassifier(4, max_depth=3, bootstrap=False, random_state=s, max_features=1),
    "bootstrap": lambda s: RandomForestClassifier(5, max_depth=3, random_state=s, max_features=1),
    "many": lambda s: RandomForestClassifier(20, random_state=s),
    "leaves": lambda s: RandomForestClassifier(8, min_samples_leaf=3, random_state=s),
    "bagging": lambda s: BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), 5, bootstrap=False, max_samples=0.6, random_state=s
    ),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("domain", DISCRETE)
def test_equals_enumeration(tmp_path, domain, model, n_classes):
    seen = set()
    for seed in range(4):
        rng = np.random.default_rng([seed, n_classes])
        made_up = made(tmp_path, MODELS[model](seed), DISCRETE[domain], rng, 14, n_classes)
        blocks = Blocks.of(made_up[0], DISCRETE[domain], *made_up[1:])
        assert blocks is not None
        for size in (1, 2, 3):
            block = rng.choice(14, size, replace=False)
            state = blocks.examined(block, np.ones(size, dtype=bool), TimeBox(60.0))
            expected = enumerated(made_up[0], DISCRETE[domain], *made_up[1:], block, n_classes, midpoints=False)
            assert state.tolist() == np.where(expected, FIXED, OTHER).tolist()
            seen |= set(expected.tolist())
    assert seen  # not nothing


@pytest.mark.parametrize("model", ["whole", "bootstrap", "many"])
def test_equals_enumeration_with_known_attributes(tmp_path, model):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        forest, rows, labels, times = made(tmp_path, MODELS[model](seed), ONE_HOT, rng, 12)
        blocks = Blocks.of(forest, ONE_HOT, rows, labels, times, known=(0,))
        assert blocks is not None
        block = rng.choice(12, 3, replace=False)
        state = blocks.examined(block, np.ones(3, dtype=bool), TimeBox(60.0))
        expected = enumerated(forest, ONE_HOT, rows, labels, times, block, 2, midpoints=False, known=(0,))
        assert state.tolist() == np.where(expected, FIXED, OTHER).tolist()


@pytest.mark.parametrize("model", ["whole", "bootstrap", "many", "leaves"])
@pytest.mark.parametrize("domain", ORDERED)
def test_is_true_of_ordered_columns(tmp_path, domain, model):
    n_sure = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        forest, rows, labels, times = made(tmp_path, MODELS[model](seed), ORDERED[domain], rng, 14)
        blocks = Blocks.of(forest, ORDERED[domain], rows, labels, times)
        assert blocks is not None
        for size in (1, 2, 3):
            block = rng.choice(14, size, replace=False)
            state = blocks.examined(block, np.ones(size, dtype=bool), TimeBox(60.0))
            expected = enumerated(forest, ORDERED[domain], rows, labels, times, block, 2, midpoints=True)
            assert expected[state == FIXED].all()
            assert not expected[state == OTHER].any()
            n_sure += int((state != UNDECIDED).sum())
    assert n_sure > 18
