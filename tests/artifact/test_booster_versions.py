"""Boosters that several versions of LightGBM and CatBoost wrote: what is read agrees with their rows alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_draft.artifact import read
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.errors import ArtifactError

FOLDER = Path(__file__).parent / "files" / "boosters"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".txt", ".cbm", ".json"))


@pytest.fixture(scope="module")
def rows():
    with np.load(FOLDER / "rows.npz") as stored:
        return dict(stored)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_booster_of_another_version_agrees_with_its_rows_alone(path, rows):
    artifact = read(path)
    forest, label = artifact.forest, rows["two" if "two" in path.name else "three"]
    assert artifact.not_covered is None
    assert forest.n_samples == len(label)
    assert forest.classes == tuple(range(label.max() + 1))
    assert missed(forest, rows["columns"], label) == 0
    assert missed(forest, rows["columns"][::-1], label) > 10
    if "two" in path.name or path.name.startswith("lightgbm"):
        assert missed(forest, rows["columns"], np.roll(label, 1)) > 10


@pytest.mark.parametrize("name", ["catboost-1.2.10-two.cbm", "catboost-1.2.10-two.json"])
def test_both_formats_of_catboost_say_the_same(name, rows):
    one, other = read(FOLDER / name).forest, read(FOLDER / "catboost-1.2.10-two.cbm").forest
    for tree, same in zip(one.trees, other.trees, strict=True):
        np.testing.assert_array_equal(tree.threshold, same.threshold)
        np.testing.assert_array_equal(tree.value, same.value)
        np.testing.assert_array_equal(tree.n_distinct, same.n_distinct)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_cut_of_a_file_is_refused_in_one_line(path, dump):
    content = path.read_bytes()
    end = content.index(b"end of trees") if path.suffix == ".txt" else len(content) - 1
    for cut in np.linspace(1, end, 20).astype(int):
        with pytest.raises(ArtifactError) as refusal:
            read(dump(content[:cut], "cut"))
        assert "\n" not in str(refusal.value)
