"""What midpoints exclude of a code book."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.attack.enumeration import gaps_of, parted_at_gaps
from pytest_draft.attack.evidence.evidence import model_of
from pytest_draft.attack.groups import KnownRows
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


@pytest.mark.parametrize("seed", range(8))
def test_no_row_that_was_drawn_lies_in_the_leaf_of_a_gap_and_some_others_do(tmp_path, seed):
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.choice(BOOKS[i], 50) for i in rng.integers(len(BOOKS), size=4)], axis=1).astype(np.float32)
    labels = rng.integers(0, 2, size=50)
    forest = forest_of(tmp_path, RandomForestClassifier(8, random_state=seed), rows, labels)
    parted = parted_at_gaps(forest, infer("abcd", rows.astype(np.float64)))
    drawn = KnownRows(rows, labels, occurrences(forest))
    in_gaps = 0
    for t, (tree, old) in enumerate(zip(parted.trees, forest.trees, strict=True)):
        counts = parted.counts(t)[tree.leaves]
        assert (drawn.at_leaves(tree, drawn.weight[t], 2) == counts).all()
        assert (drawn.at_leaves(tree, drawn.weight[t] > 0, 2).sum(axis=1) == tree.n_distinct[tree.leaves]).all()
        assert (counts[counts.any(axis=1)] == forest.counts(t)[old.leaves]).all()
        in_gaps += int((drawn.at_leaves(tree, np.ones(50, int), 2)[~counts.any(axis=1)]).sum())
    assert in_gaps > 0


def test_a_row_in_a_gap_is_as_likely_as_not_to_be_drawn(tmp_path):
    rows, labels = np.float32([0, 0, 0, 5, 5, 5])[:, None], np.array([0] * 3 + [1] * 3)
    forest = forest_of(tmp_path, RandomForestClassifier(1, random_state=0), rows, labels)
    forest = replace(forest, trees=tuple(replace(tree, seed=None) for tree in forest.trees))
    domain = domain_of((0, 1, 5))
    model = model_of(parted_at_gaps(forest, domain), domain, 6, 6)
    (drawn,) = forest.counts(0)[forest.trees[0].leaves].tolist()[:1]
    n_draws = drawn[0]  # of the left leaf, which holds class 0 alone
    two, three = (
        model.log_likelihood(np.array(values, np.int32)[:, None], labels)
        for values in ([0, 0, 1, 2, 2, 2], [0, 0, 0, 2, 2, 2])
    )
    distinct = int(forest.trees[0].n_distinct[forest.trees[0].leaves][0])
    ways = {1: (2, 3), 2: (2, 6), 3: (0, 6)}[distinct]
    assert n_draws >= distinct
    assert np.exp(two - three) == pytest.approx(ways[0] / ways[1])
