"""Labels of people who are only in one of two files, by the difference of these files."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.attack.differences import _boxes
from studies.files import through_file


def test_boxes_are_told_apart_where_all_thresholds_are_a_half():
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 2, (300, 14)), rng.integers(0, 2, 300)
    forest = through_file(RandomForestClassifier(20, bootstrap=False, random_state=0).fit(rows, labels))
    keys = rng.integers(1, 2**63, (2, 14), dtype=np.uint64)
    everyone, number = rows.astype(np.float32), dict[int, tuple[int, ...]]()
    for tree in forest.trees:
        reached = np.zeros((tree.n_nodes, len(rows)), dtype=np.bool_)
        reached[0] = True
        for node in range(tree.n_nodes):
            if tree.left[node] >= 0:
                goes_left = everyone[:, tree.feature[node]] <= tree.threshold[node]
                reached[tree.left[node]] = reached[node] & goes_left
                reached[tree.right[node]] = reached[node] & ~goes_left
        for box, inside in zip(_boxes(tree, keys).tolist(), reached, strict=True):
            those = tuple(np.flatnonzero(inside).tolist())
            assert number.setdefault(box, those) == those
