"""The boxes of leaves against the leaves that all vectors of a domain reach."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.ambiguity.boxes import Boxes, boxes_of, leaves_of_rows
from pytest_draft.domain import Attribute
from small_models import domain_of
from studies.files import through_file

ONE_OF_65, ONE_OF_100, ONE_OF_130 = (np.eye(n) for n in (65, 100, 130))
DROPPED = np.eye(66)[:, :-1]
FLAG = np.array([[0.0], [1.0]])
ORDERED = np.arange(6.0)[:, None]
MANY_ORDERED = np.arange(100.0)[:, None]
WITH_MISSING = np.append(np.arange(70.0), np.nan)[:, None]
TABLES = {
    "64": [np.eye(64), FLAG],
    "65": [ONE_OF_65],
    "100": [ONE_OF_100],
    "130": [ONE_OF_130],
    "dropped": [DROPPED, FLAG],
    "ordered": [ONE_OF_65, ORDERED],
    "between": [FLAG, ONE_OF_130, ORDERED],
    "two": [ONE_OF_65, np.eye(70)],
    "many ordered": [MANY_ORDERED, FLAG],
    "missing": [WITH_MISSING, FLAG],
    "missing beside": [WITH_MISSING, ONE_OF_65],
}
MODELS = {
    "forest": RandomForestClassifier(3, max_features=1, random_state=0),
    "shallow": RandomForestClassifier(40, max_features=1, max_depth=5, random_state=0),
    "extra": ExtraTreesClassifier(3, max_features=1, random_state=0),
}


def of_values(parts):
    """A domain of an attribute for each part, and all its vectors."""
    attributes, column = [], 0
    for i, part in enumerate(parts):
        columns = tuple(range(column, column := column + part.shape[1]))
        if len(columns) > 1:
            attributes.append(Attribute(f"a{i}", "one-hot", columns, dropped=len(part) > len(columns)))
        elif len(part) == 2:
            attributes.append(Attribute(f"a{i}", "binary", columns))
        else:
            most, missing = float(np.nanmax(part)), bool(np.isnan(part).any())
            attributes.append(Attribute(f"a{i}", "ordinal", columns, 0.0, most, missing))
    rows = [np.concatenate(values) for values in itertools.product(*parts)]
    return domain_of(*attributes), np.array(rows, dtype=np.float32)


def held_by(boxes: Boxes, rows: np.ndarray) -> np.ndarray:
    """Whether the box of each leaf holds each row, shape (n_leaves, n_rows)."""
    words, spans = boxes.of_rows(rows, range(len(boxes.packed)))
    leaf = boxes.leaf
    held = np.ones((boxes.first_leaf[-1], len(rows)), dtype=bool)
    for k in range(len(held)):
        for e in range(leaf.first_bits[k], leaf.first_bits[k + 1]):
            held[k] &= words[:, leaf.word[e]] & leaf.mask[e] & ~leaf.held[e] == 0
        for e in range(leaf.first_spans[k], leaf.first_spans[k + 1]):
            at, low, high, may_miss = leaf.span[e]
            first, last, is_missing = spans[:, at].T
            held[k] &= np.where(is_missing == 1, may_miss == 1, (low <= first) & (last <= high))
    return held


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("table", TABLES)
def test_a_leafs_box_holds_what_reaches_the_leaf_and_nothing_else(table, model):
    domain, rows = of_values(TABLES[table])
    labels = np.random.default_rng(0).integers(2, size=len(rows))
    forest = through_file(MODELS[model].fit(rows, labels))
    boxes = boxes_of(forest, domain)
    leaves = leaves_of_rows(forest, boxes, rows)
    reached = np.zeros((boxes.first_leaf[-1], len(rows)), dtype=bool)
    reached[leaves, np.arange(len(rows))] = True
    held = held_by(boxes, rows)
    assert held[leaves, np.arange(len(rows))].all()
    assert (held == reached).all()


@pytest.mark.parametrize("n_values", [65, 100, 130])
def test_only_ordered_attributes_are_spans(n_values):
    domain, rows = of_values([np.eye(n_values), MANY_ORDERED, FLAG])
    labels = np.random.default_rng(0).integers(2, size=len(rows))
    boxes = boxes_of(through_file(RandomForestClassifier(1, random_state=0).fit(rows, labels)), domain)
    assert boxes.bin_of[0].max() >= 64
    assert boxes.packed.tolist() == [True, False, True]
    assert sum(int(word).bit_count() for word in boxes.bits([0])) == boxes.bin_of[0].max() + 1
    assert not (boxes.bits([0]) & boxes.bits([2])).any()
