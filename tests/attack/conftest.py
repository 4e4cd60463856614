"""Trained models, the attack on their files, and a recount of leaves that shares no code with the engine."""

from __future__ import annotations

from dataclasses import dataclass

import joblib
import numpy as np
import pytest

from pytest_draft.artifact import Forest, occurrences, read
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import Groups, group_by_occurrences
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.refit import evidence_by_refitting
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.attack.untested_values import Choices
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class Published:
    """A fitted model as its file shows it, ready to be attacked."""

    model: object
    forest: Forest
    groups: Groups
    problem: Problem

    def attack(self, seed=0, workers=1):
        """Return the reconstruction."""
        search = Search(TimeBox(60), seed=seed, workers=workers)
        choices = Choices.of(self.forest, self.problem, seeds_known=True)
        return reconstruct(self.problem, search, evidence_by_refitting(self.forest, self.groups), choices)


@pytest.fixture(scope="session")
def publish(tmp_path_factory):
    """Return a function that writes a fitted model to a file and reads only that."""
    path = tmp_path_factory.mktemp("published") / "model.joblib"

    def written(model, domain: Domain) -> Published:
        joblib.dump(model, path)
        forest = read(path).forest
        groups = group_by_occurrences(occurrences(forest))
        return Published(model, forest, groups, build(forest, domain, groups, TimeBox(60)))

    return written


def _trees(model):
    """Return (tree, its columns, its draws) of a scikit-learn classifier, by its public attributes."""
    trees = getattr(model, "estimators_", [model])
    columns = getattr(model, "estimators_features_", [slice(None)] * len(trees))
    draws = [None] * len(trees)
    if getattr(model, "bootstrap", False) or hasattr(model, "estimators_features_"):
        draws = model.estimators_samples_
    return list(zip(trees, columns, draws, strict=True))


@pytest.fixture(scope="session")
def leaves():
    """Return a function that gives each row's leaf (its node) in each tree, by scikit-learn's ``apply``."""

    def applied(model, rows):
        rows = np.asarray(rows)
        found = [tree.apply(rows[:, columns].astype(np.float32)) for tree, columns, _ in _trees(model)]
        return np.stack(found)

    return applied


@pytest.fixture(scope="session")
def recount(leaves):
    """Return a function that counts draws by class, and distinct rows, at each leaf of each tree."""

    def counted(model, rows, labels):
        n_classes = len(model.classes_)
        tables = []
        for (tree, _, draws), leaf in zip(_trees(model), leaves(model, rows), strict=True):
            times = np.ones(len(rows), int) if draws is None else np.bincount(draws, minlength=len(rows))
            n_nodes = tree.tree_.node_count
            of_class = np.bincount(leaf * n_classes + labels, times, minlength=n_nodes * n_classes)
            distinct = np.bincount(leaf, times > 0, minlength=n_nodes)
            tables.append(np.column_stack([of_class.reshape(n_nodes, n_classes), distinct]))
        return tables

    return counted


@pytest.fixture(scope="session")
def shown():
    """Return a function that gives what the fitted model itself shows of each leaf, in `recount`'s form."""

    def values(model):
        tables = []
        for tree, _, _ in _trees(model):
            nodes = tree.tree_
            of_class = np.rint(nodes.value[:, 0] * nodes.weighted_n_node_samples[:, None])
            table = np.column_stack([of_class, nodes.n_node_samples])
            table[nodes.children_left >= 0] = 0
            tables.append(table)
        return tables

    return values
