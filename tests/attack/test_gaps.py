"""What midpoints exclude of a code book."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.enumeration import gaps_of
from pytest_draft.domain import Attribute, Domain, infer

BOOKS = ([0, 1, 2, 3, 4], [9, 12, 14, 16, 17, 20], [-3.5, 0.1, 0.2, 7.0, 1e4], [0, 30, 60, 999])


def forest_of(tmp_path, model, rows, labels):
    joblib.dump(model.fit(rows, labels), tmp_path / "model.joblib")
    return read(tmp_path / "model.joblib").forest


@pytest.mark.parametrize("seed", range(8))
def test_no_row_that_a_tree_saw_is_excluded_by_it(tmp_path, seed):
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.choice(BOOKS[i], 50) for i in rng.integers(len(BOOKS), size=4)], axis=1).astype(np.float32)
    labels = rng.integers(0, 2, size=50)
    forest = forest_of(tmp_path, RandomForestClassifier(8, bootstrap=False, random_state=seed), rows, labels)
    domain = infer("abcd", rows.astype(np.float64))
    gaps = gaps_of(forest, domain)
    assert any(gap is not None for gap in gaps)
    for tree, gap in zip(forest.trees, gaps, strict=True):
        assert gap is None or not gap.crossed(tree, np.ascontiguousarray(rows.T)).any()


def domain_of(book):
    return Domain(("a",), (Attribute.coded("a", 0, book),), "here")


@pytest.mark.parametrize(
    ("book", "present", "excluded"),
    [
        ((0, 1, 2, 3), (0, 3), ()),  # 1 and 2 have the same midpoint
        ((0, 1, 2, 3, 4), (1, 3), (2,)),
        ((9, 12, 14, 16, 17, 20), (12, 20), (14, 16, 17)),
        ((0, 1, 5), (0, 5), (1,)),
        ((0, 1, 5), (1, 5), ()),
    ],
    ids=str,
)
def test_what_lies_inside_the_narrowest_pair_is_excluded(tmp_path, book, present, excluded):
    rows = np.repeat(np.float32(present), 3)[:, None]
    forest = forest_of(tmp_path, RandomForestClassifier(1, bootstrap=False), rows, [0] * 3 + [1] * 3)
    (gap,) = gaps_of(forest, domain_of(book))
    crossed = [] if gap is None else np.array(book)[gap.crossed(forest.trees[0], np.float32(book)[None])].tolist()
    assert crossed == list(excluded)


def test_thresholds_that_were_drawn_exclude_nothing(tmp_path):
    rows = np.repeat(np.float32([0, 5]), 3)[:, None]
    forest = forest_of(tmp_path, ExtraTreesClassifier(3), rows, [0] * 3 + [1] * 3)
    assert gaps_of(forest, domain_of((0, 1, 5))) == (None,) * 3


def test_a_threshold_that_no_pair_explains_excludes_nothing(tmp_path):
    rows = np.repeat(np.float32([0, 5.5]), 3)[:, None]
    forest = forest_of(tmp_path, RandomForestClassifier(1, bootstrap=False), rows, [0] * 3 + [1] * 3)
    assert gaps_of(forest, domain_of((0, 1, 5))) == (None,)
