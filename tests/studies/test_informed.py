"""The informed adversary of the DP paper: the authors' rows and their attack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pytest_draft.artifact import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import under
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import KnownRows
from pytest_draft.domain import declared
from pytest_draft.facts.privacy import Privacy
from studies.papers import dp_informed

SHARED = Path(__file__).parents[3] / "shared"
NAMES = ["x", "y", "z", "old", "rich"]
DOMAIN = declared(
    NAMES,
    {"job": {"kind": "one-hot", "columns": ["x", "y", "z"]}, "old": {"kind": "binary"}, "rich": {"kind": "binary"}},
    "test",
)


def stump(column):
    """Return a tree of one split without counts."""
    leaf = np.array([False, True, True])
    return Tree(
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.where(leaf, -1, column),
        threshold=np.where(leaf, -2.0, 0.5),
        missing_left=np.zeros(3, bool),
        value=np.zeros((3, 2)),
        weight=np.zeros(3),
        n_distinct=np.zeros(3, np.int64),
        seed=None,
    )


def counts_of(tree, rows, labels):
    table = np.zeros((2, 2))
    np.add.at(table, (leaf_positions(tree, np.ascontiguousarray(rows.T)), labels), 1)
    return table


def stumps(rows, labels, scale, seed=0):
    """Return a forest of stumps on all columns that releases ``n + int(Y)`` of some rows."""
    rng = np.random.default_rng(seed)
    trees = []
    for column in range(len(NAMES)):
        tree = stump(column)
        noise = np.trunc(rng.laplace(scale=scale, size=(2, 2)))
        trees.append(replace(tree, value=np.vstack([[0.0, 0.0], counts_of(tree, rows, labels) + noise])))
    return Forest(
        kind="LaplaceForestClassifier",
        trees=tuple(trees),
        n_features=len(NAMES),
        feature_names=None,
        classes=(0, 1),
        draws=Draws(),
        n_samples=None,
        sklearn_version=None,
        observation=under(Privacy("laplace", len(NAMES) / scale, scale=scale, rounding="noise")),
    )


@pytest.fixture
def people():
    """Return rows, labels and all of them as known ones."""
    rng = np.random.default_rng(0)
    rows, labels = DOMAIN.vectors()[rng.integers(12, size=40)], rng.integers(2, size=40)
    return rows, labels, KnownRows(rows, labels, np.ones((len(NAMES), 40), np.int64))


def test_the_attacked_rows_are_drawn_after_the_noise(people):
    rows, labels, _ = people
    np.random.seed(7)  # noqa: NPY002
    for _ in range(5 * 2 * 2):
        np.random.laplace(scale=3.0)  # noqa: NPY002
    expected = np.random.choice(range(500), size=100, replace=False)  # noqa: NPY002
    assert (dp_informed.attacked(stumps(rows, labels, 1.0), 500, 7) == expected).all()


def test_the_majority_leaves_the_row_itself_out():
    rows = np.array([[1, 1], [1, 0], [0, 0]], np.float32)
    everyone = KnownRows(rows, np.zeros(3, np.int64), np.ones((1, 3), np.int64))
    assert (dp_informed.majority(everyone, np.arange(3)) == [[0, 0], [0, 0], [1, 0]]).all()


def test_the_papers_guess_with_no_privacy_is_the_row(people):
    rows, labels, everyone = people
    unknown = np.arange(40)
    guess = dp_informed.papers_guess(stumps(rows, labels, 0.01), DOMAIN, everyone, unknown)
    assert (guess == rows).all()


def test_the_papers_guess_with_strong_noise_is_closest_to_the_others(people):
    rows, labels, everyone = people
    guess = dp_informed.papers_guess(stumps(rows, labels, 5_000.0), DOMAIN, everyone, np.array([3]))
    others, vectors = np.delete(rows, 3, axis=0), DOMAIN.vectors()
    distance = [np.abs(others - vector).sum() for vector in vectors]
    assert np.abs(others - guess).sum() == pytest.approx(min(distance))


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the papers' data and runs in ../shared")
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_the_papers_attack_gives_its_published_error_and_ours_a_smaller_one(epsilon):
    pytest.importorskip("diffprivlib")
    published = pd.read_csv(SHARED / "published" / "draft_dp_informed_runs.csv")
    mine = (published["dataset"] == "compas") & (published["epsilon"] == epsilon) & (published["seed"] == 1)
    error = published[mine & (published["attack"] == "draft-dp")]["example_error_avg"].item()
    run = dp_informed.attack(SHARED / "datasets" / "compas.csv", epsilon, 1)
    assert run["paper_error"] == pytest.approx(error, abs=1e-5)
    assert run["ours_error"] < error
