"""What several files tell together, against enumeration: each value of one row, and each dataset, that all explain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.artifact.forest.together import Part, together
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.attack.leaf_answers import possible_classes
from pytest_draft.attack.membership import membership
from pytest_draft.data.training import TrainingData
from pytest_draft.data.united import Known, united
from pytest_draft.domain import declared
from pytest_draft.evaluate.informed import known_others
from pytest_draft.timebox import TimeBox

DOMAINS = [
    declared(["a", "b", "c"], {name: {"kind": "binary"} for name in "abc"}, "flags"),
    declared(["a", "age"], {"a": {"kind": "binary"}, "age": {"kind": "ordinal", "low": 0, "high": 3}}, "codes"),
]
CLASSIFIERS = [
    lambda n, seed: RandomForestClassifier(n, random_state=seed),
    lambda n, seed: RandomForestClassifier(n, max_depth=1, random_state=seed),
    lambda n, seed: RandomForestClassifier(n, bootstrap=False, max_features=1, random_state=seed),
    lambda n, seed: DecisionTreeClassifier(max_depth=2, random_state=seed),
    lambda n, seed: DecisionTreeClassifier(splitter="random", random_state=seed),
    lambda n, seed: ExtraTreesClassifier(n, max_depth=2, random_state=seed),
]
REGRESSORS = [
    lambda n, seed: RandomForestRegressor(n, max_depth=2, random_state=seed),
    lambda n, seed: RandomForestRegressor(n, bootstrap=False, max_features=1, max_depth=2, random_state=seed),
    lambda n, seed: RandomForestRegressor(n, criterion="absolute_error", max_depth=1, random_state=seed),
    lambda n, seed: ExtraTreesRegressor(n, max_depth=1, random_state=seed),
    lambda n, seed: DecisionTreeRegressor(max_depth=2, random_state=seed),
]
LABELLED = ("classes", "targets", "both", "classes of two kinds")
"""What the files of a set predict: the latter two are of different things, so that rows alone are counted."""


@dataclass
class Set:
    """Some files of some of the same people, and all of them as one forest."""

    domain: object
    rows: np.ndarray
    """Shape (n_people, n_columns)."""
    files: list
    """Of each its model, whose rows it has, and their labels."""
    forests: list
    times: list
    people: object
    forest: object

    @property
    def everyone(self):
        """What somebody knows who knows all rows."""
        return KnownRows(self.people.data.rows, self.people.data.labels, occurrences(self.forest))


def small_set(folder, seed, *, most=6, of=None):
    """Fit two or three models of one to three trees, each on some of a few people, and put them together."""
    rng = np.random.default_rng(seed)
    domain, of = DOMAINS[seed % 2], of or LABELLED[seed // 2 % 4]
    n = int(rng.integers(3, most + 1))
    rows = domain.vectors()[rng.integers(0, len(domain.vectors()), n)].astype(np.float32)
    labels, other = rng.integers(0, 2, (2, n))
    files, forests, tables = [], [], []
    for k in range(int(rng.integers(2, 4))):
        own = np.sort(rng.choice(n, int(rng.integers(2, n + 1)), replace=False))
        own = np.arange(n) if k == 0 else rng.permutation(own)
        of_classes = of != "targets" and (of != "both" or k == 0)
        said = other if of == "classes of two kinds" and k else labels
        said = said[own] if of_classes else (10.0 * other + np.arange(n))[own]
        kinds = CLASSIFIERS if of_classes else REGRESSORS
        model = kinds[int(rng.integers(len(kinds)))](int(rng.integers(1, 4)), int(rng.integers(1000)))
        joblib.dump(model.fit(rows[own], said), folder / "model.joblib")
        files.append((model, own, said))
        forests.append(read(folder / "model.joblib").forest)
        classes = forests[-1].classes
        held = np.array([classes.index(one) for one in said] if classes else [0] * len(own), np.int64)
        data = TrainingData(rows[own], held, domain.columns, None, str(k), targets=None if classes else said)
        raw = pd.DataFrame(data.rows, columns=list(data.columns))
        tables.append(Known(str(k), data, classes, raw, None, own.astype(object)))
    people = united(tables)
    times = [occurrences(forest) for forest in forests]
    parts = [
        Part(forest, seen, people.rows[k], people.columns[k], people.codes[k])
        for k, (forest, seen) in enumerate(zip(forests, times, strict=True))
    ]
    forest = together(parts, people.data.n_rows, people.data.columns, people.classes)
    return Set(domain, people.data.rows, files, forests, times, people, forest)


def leaves_of(tree, rows):
    """Return the way of each row down a tree: the nodes that it goes through, shape (n_rows, n_nodes)."""
    through = np.zeros((len(rows), tree.n_nodes), bool)
    through[:, 0] = True
    for node in np.flatnonzero(tree.left >= 0):
        left = rows[:, tree.feature[node]] <= tree.threshold[node]
        through[:, tree.left[node]] = through[:, node] & left
        through[:, tree.right[node]] = through[:, node] & ~left
    return through


def explained(one, rows, labels):
    """Return whether rows explain all counts and thresholds of all files, shape (n_datasets,).

    The shapes are (n_datasets, n_people, n_columns) and (n_datasets, n_people).
    """
    fits = np.ones(len(rows), bool)
    for part in one.forest.parts:
        inside = rows[:, part.rows]
        said = labels[:, part.rows] if part.classes is not None else np.zeros(inside.shape[:2], int)
        of = len(one.forest.classes) if part.classes is not None else 1
        for t, tree in enumerate(part.forest.trees):
            through = leaves_of(tree, inside.reshape(-1, rows.shape[2])).reshape(*inside.shape[:2], -1)
            own = part.forest.counts(t)
            counts = np.zeros((tree.n_nodes, of), int)
            if part.classes is None:
                counts[:, 0] = own.sum(axis=1)
            else:
                counts[:, part.classes] = own
            for label in range(of):
                seen = np.einsum("drn,r,dr->dn", through, part.times[t], said == label)
                fits &= (seen == counts[:, label]).all(axis=1)
            for node in np.flatnonzero(tree.left >= 0) if part.forest.splitter == "best" else ():
                value = inside[:, :, tree.feature[node]].astype(float)
                drawn = through[:, :, node] & (part.times[t] > 0)
                below = np.where(drawn & (value <= tree.threshold[node]), value, -np.inf).max(axis=1)
                above = np.where(drawn & (value > tree.threshold[node]), value, np.inf).min(axis=1)
                fits &= np.isfinite(below) & np.isfinite(above)
                fits[fits] &= (below[fits] + above[fits]) / 2 == tree.threshold[node]
    return fits


def others_of(one, row):
    """Return which vectors of the domain a row can have, all others known, shape (n_vectors,)."""
    vectors = one.domain.vectors().astype(np.float32)
    rows = np.repeat(one.rows[None], len(vectors), axis=0)
    rows[:, row] = vectors
    return explained(one, rows, np.repeat(one.people.data.labels[None], len(vectors), axis=0))


def inside(held, row, domain):
    """Return which vectors of the domain are left of a row."""
    at = domain.indices(domain.vectors().astype(np.float32))
    return np.all([held.states(a)[row][at[:, a]] for a in range(len(domain.attributes))], axis=0)


@pytest.mark.nightly(quick=12)
@pytest.mark.parametrize("seed", range(200))
def test_exactly_what_has_no_other_value_is_told_to_who_knows_all_others(tmp_path, seed):
    one = small_set(tmp_path, seed)
    n = len(one.rows)
    held = held_of(one.forest, one.domain, one.everyone, np.arange(n))
    found = known_others(one.forest, one.domain, one.everyone, np.arange(n), 0, TimeBox(60))
    assert found.proved
    vectors = one.domain.vectors()
    for row in range(n):
        possible = others_of(one, row)
        assert (inside(held, row, one.domain) == possible).all()
        left = one.domain.indices(vectors[possible].astype(np.float32))
        assert (found.determined[row] == [len(set(values)) == 1 for values in left.T]).all()
    for (_, own, _), forest, seen, mine in zip(one.files, one.forests, one.times, one.people.rows, strict=True):
        data = one.people.data
        alone = KnownRows(data.rows[mine], np.zeros(len(own), np.int64), seen)
        if forest.classes is not None and one.people.classes is not None:
            alone = KnownRows(data.rows[mine], labels_of(forest, one, data.labels[mine]), seen)
        elif forest.classes is not None:
            continue  # its labels are left out
        told = held_of(forest, one.domain, alone, np.arange(len(own))).determined()
        assert (found.determined[mine] >= told).all()


def labels_of(forest, one, labels):
    """Return labels as a file's own classes."""
    return np.array([forest.classes.index(one.people.classes[label]) for label in labels], np.int64)


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("seed", range(200))
def test_labels_and_members_are_proved_of_no_dataset_that_has_others(tmp_path, seed):
    one = small_set(tmp_path, 2000 + seed, most=4, of="classes")
    vectors, n, classes = one.domain.vectors().astype(np.float32), len(one.rows), range(len(one.people.classes))
    pairs = np.array(list(product(range(len(vectors)), classes)))
    chosen = np.array(list(product(range(len(pairs)), repeat=n)))
    kept = np.concatenate(
        [
            some[explained(one, vectors[pairs[some, 0]], pairs[some, 1])]
            for some in np.array_split(chosen, max(1, len(chosen) // 8192))
        ]
    )
    assert len(kept)
    times, needed = occurrences(one.forest), np.unique(kept)
    possible = possible_classes(one.forest, vectors, times, n, TimeBox(60))
    assert possible[pairs[needed, 0], pairs[needed, 1]].all()
    found = membership(one.forest, vectors[pairs[:, 0]], pairs[:, 1].astype(float), times, n, one.domain, TimeBox(60))
    assert found.possible[needed].all()
    always = np.flatnonzero([(kept == pair).any(axis=1).all() for pair in range(len(pairs))])
    assert set(np.flatnonzero(found.certain)) <= set(always)


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("seed", range(100))
def test_nobody_is_proved_out_by_targets_who_is_in(tmp_path, seed):
    one = small_set(tmp_path, 8000 + seed, of="targets")
    data, times = one.people.data, occurrences(one.forest)
    found = membership(one.forest, data.rows, data.targets, times, data.n_rows, one.domain, TimeBox(60))
    assert found.possible.all()


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("seed", range(20))
def test_whatever_gives_the_same_files_is_left_open(tmp_path, seed):
    one = small_set(tmp_path, 5000 + seed, of="classes")
    held = held_of(one.forest, one.domain, one.everyone, np.arange(len(one.rows)))
    vectors = one.domain.vectors().astype(np.float32)
    for row in range(len(one.rows)):
        left = inside(held, row, one.domain)
        for vector in np.flatnonzero(~left):
            assert not all(same_file(one, k, row, vectors[vector]) for k in range(len(one.files)))


def same_file(one, k, row, vector):
    """Return whether a model that is fitted anew with another row in place of one of its own gives the same trees."""
    model, _, labels = one.files[k]
    mine = one.people.rows[k]
    rows = one.rows[mine].copy()
    rows[mine == row] = vector
    trees = [getattr(fitted, "estimators_", [fitted]) for fitted in (model, clone(model).fit(rows, labels))]
    return all(
        before.tree_.node_count == after.tree_.node_count
        and all(
            np.array_equal(getattr(before.tree_, name), getattr(after.tree_, name))
            for name in ("feature", "threshold", "value", "n_node_samples", "weighted_n_node_samples")
        )
        for before, after in zip(*trees, strict=True)
    )
