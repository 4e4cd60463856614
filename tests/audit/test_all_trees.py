"""What all trees tell together, beside the number of all worlds."""

from __future__ import annotations

import itertools
import math

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import occurrences, read
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.audit.entropy import audit_entropy
from pytest_draft.audit.structure import most_left, together
from pytest_draft.data import training_data
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox
from small_models import booleans


def n_worlds(forest: Forest, domain: Domain, labels: np.ndarray) -> int:
    """Count the worlds of a small forest by listing all datasets.

    Rows are in no order but for those of one cell; without bootstrap, the class of each row is known.
    """
    vectors, times = domain.vectors(), occurrences(forest)
    leaves = [leaf_positions(tree, np.ascontiguousarray(vectors.T)) for tree in forest.trees]
    counts = [forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees)]
    given = itertools.product(range(2), repeat=len(labels)) if forest.draws.drawn else [tuple(labels.tolist())]
    worlds = set()
    for label, chosen in itertools.product(given, itertools.product(range(len(vectors)), repeat=len(labels))):
        tables = [np.zeros_like(table) for table in counts]
        for t, table in enumerate(tables):
            np.add.at(table, (leaves[t][list(chosen)], list(label)), times[t])
        if all((table == count).all() for table, count in zip(tables, counts, strict=True)):
            slots = [
                (0 if forest.draws.drawn else label[i], tuple(int(leaf[v]) for leaf in leaves), i, v)
                for i, v in enumerate(chosen)
            ]
            worlds.add(tuple((*slot[:2], slot[3]) for slot in sorted(slots)))
    return len(worlds)


@pytest.mark.nightly
@pytest.mark.parametrize("bootstrap", [False, True])
def test_what_all_trees_tell_together_lies_between_the_bounds(bootstrap, tmp_path):
    exact = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n_rows = 3 if bootstrap else 4
        rows, labels = rng.integers(0, 2, (n_rows, 3)).astype(np.float32), np.arange(n_rows) % 2
        model = RandomForestClassifier(3, max_depth=2, max_features=1, bootstrap=bootstrap, random_state=seed)
        joblib.dump(model.fit(rows, labels), tmp_path / "model.joblib")
        forest, domain = read(tmp_path / "model.joblib").forest, booleans(3)
        problem = build(forest, domain, group_by_occurrences(occurrences(forest)), TimeBox(60))
        joint = math.log2(n_worlds(forest, domain, labels)) / (n_rows * 3)
        alone = audit_entropy(forest, domain, training_data((rows, labels), forest), TimeBox(60))
        before = together(alone, problem)
        after = together(alone, problem, reconstruct(problem, Search(TimeBox(60), 0, 1)))
        for found in (alone, before, after):
            assert found.ratio.lower - 1e-12 <= joint <= found.ratio.upper + 1e-12
        assert joint <= most_left(problem) / (n_rows * 3) + 1e-12
        assert before.ratio.upper <= alone.ratio.upper
        if after.measured_on == "all trees together":
            exact += 1
            assert after.ratio.exact == pytest.approx(joint, abs=1e-12)
    assert exact > 0 or bootstrap
