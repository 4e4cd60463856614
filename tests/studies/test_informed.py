"""The study of the informed adversary: the authors' rows, their attack, and the reconstruction network."""

from __future__ import annotations

import math
import sys
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
from studies import informed, reconn
from studies.__main__ import main

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
    assert (informed.attacked(stumps(rows, labels, 1.0), 500, 7) == expected).all()


def test_the_majority_leaves_the_row_itself_out():
    rows = np.array([[1, 1], [1, 0], [0, 0]], np.float32)
    everyone = KnownRows(rows, np.zeros(3, np.int64), np.ones((1, 3), np.int64))
    assert (informed.majority(everyone, np.arange(3)) == [[0, 0], [0, 0], [1, 0]]).all()


def test_the_papers_guess_with_no_privacy_is_the_row(people):
    rows, labels, everyone = people
    unknown = np.arange(40)
    guess = informed.papers_guess(stumps(rows, labels, 0.01), DOMAIN, everyone, unknown)
    assert (guess == rows).all()


def test_the_papers_guess_with_strong_noise_is_closest_to_the_others(people):
    rows, labels, everyone = people
    guess = informed.papers_guess(stumps(rows, labels, 5_000.0), DOMAIN, everyone, np.array([3]))
    others, vectors = np.delete(rows, 3, axis=0), DOMAIN.vectors()
    distance = [np.abs(others - vector).sum() for vector in vectors]
    assert np.abs(others - guess).sum() == pytest.approx(min(distance))


def test_a_shadow_pair_is_that_of_a_trained_forest(people):
    rows, labels, _ = people
    forest = stumps(rows, labels, 2.0)
    inputs, targets = reconn.shadow_pairs(forest, rows, labels, n_rows=25, seed=5, n_pairs=4)
    assert inputs.dtype == targets.dtype == np.float32
    for i in range(4):
        mine = np.random.RandomState(5 + i).choice(40, 25, replace=False)
        noise = np.random.RandomState(5 + i).laplace(scale=2.0, size=20)[::-1].reshape(5, 2, 2)
        left = [
            counts_of(tree, rows[mine], labels[mine])
            + np.trunc(noise[t])
            - counts_of(tree, rows[mine[:-1]], labels[mine[:-1]])
            for t, tree in enumerate(forest.trees)
        ]
        assert (inputs[i] == np.maximum(np.ravel(left), 0)).all()
        assert (targets[i] == rows[mine[-1]]).all()


def test_the_network_sees_what_the_other_rows_leave(people):
    rows, labels, everyone = people
    forest = stumps(rows, labels, 2.0)
    found = reconn.serialized(forest, everyone, np.array([9, 1]))
    for i, row in enumerate([9, 1]):
        others, classes = np.delete(rows, row, axis=0), np.delete(labels, row)
        left = [forest.released(t) - counts_of(tree, others, classes) for t, tree in enumerate(forest.trees)]
        assert (found[i] == np.maximum(np.ravel(left), 0)).all()


def test_shadow_forests_need_the_authors_noise(people):
    rows, labels, _ = people
    forest = stumps(rows, labels, 2.0)
    forest = replace(forest, observation=under(replace(forest.observation.privacy, rounding="sum")))
    with pytest.raises(ValueError, match=r"n \+ int\(Laplace\)"):
        reconn.shadow_pairs(forest, rows, labels, 25, 0)


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    needed = r"^the reconstruction network needs PyTorch \(.*\): pip install 'pytest-draft\[reconn\]'$"
    with pytest.raises(ImportError, match=needed):
        reconn.train(np.zeros((4, 2), np.float32), np.zeros((4, 1), np.float32), 0)
    with pytest.raises(ImportError, match=needed):
        informed.study(SHARED, ["compas"], [1.0], [0], network=True)


def test_the_network_learns_what_it_sees():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(800, 6)).astype(np.float32)
    network = reconn.train(rows[:700], rows[:700], seed=0)
    assert np.abs(reconn.rebuilt(network, rows[700:]) - rows[700:]).mean() < 0.05
    again = reconn.train(rows[:700], rows[:700], seed=0)
    assert (reconn.rebuilt(again, rows[700:]) == reconn.rebuilt(network, rows[700:])).all()


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the papers' data and runs in ../shared")
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_the_papers_attack_gives_its_published_error_and_ours_a_smaller_one(epsilon):
    pytest.importorskip("diffprivlib")
    published = pd.read_csv(SHARED / "published" / "draft_dp_informed_runs.csv")
    mine = (published["dataset"] == "compas") & (published["epsilon"] == epsilon) & (published["seed"] == 1)
    error = published[mine & (published["attack"] == "draft-dp")]["example_error_avg"].item()
    run = informed.attack(SHARED / "datasets" / "compas.csv", epsilon, 1)
    assert run.errors["paper"] == pytest.approx(error, abs=1e-5)
    assert run.errors["ours"] < error
    assert math.isnan(run.errors["reconn"])


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the papers' data and runs in ../shared")
def test_the_table_says_whether_both_attacks_are_met(cells_here, tmp_path, capsys):
    pytest.importorskip("diffprivlib")
    runs = SHARED / "published" / "draft_dp_informed_runs.csv"
    words = ["informed", "--datasets", str(SHARED / "datasets"), "--published", str(runs), "--names", "compas"]
    assert main([*words, "--epsilons", "5", "--seeds", "0", "1", "--store", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("compas")
    assert lines[2].endswith("yes")
    assert "0 above a published error" in lines[3]
