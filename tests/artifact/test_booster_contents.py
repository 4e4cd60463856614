"""Numbers in files of boosted trees that are values of rows are compared with the training data; names of columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.data import training_data
from pytest_draft.errors import CorruptArtifactError, DataError
from pytest_draft.facts.contents import SPLIT_POINTS
from pytest_draft.timebox import TimeBox
from small_boosters import as_json, as_ubjson, booster, rows
from studies.fuzz.targets import SEEDS


def text_of(name="lightgbm-two.txt", **fields):
    """Return an honest text of LightGBM with other fields in its header."""
    text = (SEEDS / name).read_text()
    for field, value in fields.items():
        begin = text.index(f"\n{field}=") + len(field) + 2
        text = text[:begin] + value + text[text.index("\n", begin) :]
    return text


def read_text(tmp_path, text):
    path = tmp_path / "model.txt"
    path.write_text(text)
    return read(path)


def learned(artifact):
    return {stored.path: stored.values() for stored in artifact.contents.learned}


def table(names):
    random = np.random.RandomState(4)
    frame = pd.DataFrame(random.normal(size=(40, len(names))).round(4), columns=names)
    return frame.assign(label=np.arange(40) % 2)


def test_ranges_of_lightgbm_are_compared_with_the_data(tmp_path):
    frame = table(["a", "b", "c"])
    ranges = " ".join(f"[{frame[name].min():.17g}:{frame[name].max():.17g}]" for name in "abc")
    artifact = read_text(tmp_path, text_of(feature_names="a b c", feature_infos=ranges))
    assert learned(artifact)["feature_infos"].shape == (3, 2)
    data = training_data(frame, artifact.forest, "label")
    met = inspect_contents(artifact, frame, data, TimeBox(10)).single_values
    assert met.places == ("feature_infos",)
    assert met.share == pytest.approx(2 / 40)


def test_columns_without_a_range_have_none(tmp_path):
    found = learned(read_text(tmp_path, text_of(feature_infos="none 0:1:2 [-inf:1e-3]")))["feature_infos"]
    assert np.isnan(found[:2]).all()
    assert found[2].tolist() == [-np.inf, 1e-3]


@pytest.mark.parametrize("ranges", ["[0:1] [0:1]", "[1:2] [1.2.3:4] none", "[--1:2] none none"])
def test_ranges_that_are_none_are_corrupt(ranges, tmp_path):
    with pytest.raises(CorruptArtifactError, match="feature_infos"):
        read_text(tmp_path, text_of(feature_infos=ranges))


@pytest.mark.parametrize("write", [as_json, as_ubjson])
def test_conditions_of_xgboost_are_values_of_rows(write, tmp_path):
    random = np.random.default_rng(5)
    columns, label = random.normal(size=(60, 3)).astype(np.float32), rows(60)[1]
    path = tmp_path / "model"
    path.write_bytes(write(booster(columns, label, 30)))
    artifact = read(path)
    for column, name in enumerate(f"{SPLIT_POINTS}{one}" for one in artifact.forest.feature_names):
        assert np.isin(learned(artifact)[name], columns[:, column].astype(float)).all()
    frame = pd.DataFrame(columns, columns=["a", "b", "c"]).assign(label=label)
    data = training_data(frame, artifact.forest, "label")
    met = inspect_contents(artifact, frame, data, TimeBox(10)).single_values
    assert met.share > 0.1 > met.others
    moved = frame.assign(a=frame["a"] + 1e-3, b=frame["b"] + 1e-3, c=frame["c"] + 1e-3)
    data = training_data(moved, artifact.forest, "label")
    assert inspect_contents(artifact, moved, data, TimeBox(10)).single_values is None


NAMED = {"feature_names": "mean_radius b c"}


@pytest.mark.parametrize("target", ["label", None])
@pytest.mark.parametrize("names", [["mean radius", "b", "c"], ["c", "mean radius", "b"], ["mean_radius", "c", "b"]])
def test_lightgbm_writes_underlines_for_blanks(names, target, tmp_path):
    forest = read_text(tmp_path, text_of(**NAMED)).forest
    frame = table(names)
    data = training_data(frame, forest, target)
    first = next(name for name in names if name.startswith("mean"))
    assert data.columns == ("mean_radius", "b", "c")
    assert (data.rows == frame[[first, "b", "c"]].to_numpy(np.float32)).all()


def test_the_name_itself_goes_before_one_with_blanks(tmp_path):
    forest = read_text(tmp_path, text_of(**NAMED)).forest
    frame = table(["mean radius", "mean_radius", "b", "c"])
    assert (training_data(frame, forest, "label").rows[:, 0] == frame["mean_radius"].to_numpy(np.float32)).all()


def test_two_columns_that_could_be_the_one_are_none(tmp_path):
    forest = read_text(tmp_path, text_of(feature_names="a_b_c b c")).forest
    with pytest.raises(DataError, match="'a_b_c'"):
        training_data(table(["a b_c", "a_b c", "b", "c"]), forest, "label")


def test_names_that_differ_by_blanks_alone_are_taken_with_a_note(tmp_path):
    document = json.loads((SEEDS / "xgboost-two.json").read_bytes())
    document["learner"]["feature_names"] = ["mean_radius", "b", "c"]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    data = training_data(table(["mean radius", "b", "c"]), read(path).forest, "label")
    assert data.columns[0] == "mean_radius"
    assert any("mean radius" in note for note in data.notes)


@pytest.mark.parametrize(
    "name", ["xgboost-two.json", "xgboost-two.ubj", "lightgbm-two.txt", "catboost-two.json", "catboost-two.cbm"]
)
def test_models_that_were_trained_on_arrays_take_columns_in_their_order(name):
    forest = read(SEEDS / name).forest
    assert forest.feature_names is None
    frame = table(["p", "q", "r"])
    data = training_data(frame, forest, "label")
    assert data.columns == ("p", "q", "r")
    assert (data.rows == frame[["p", "q", "r"]].to_numpy(np.float32)).all()
    assert training_data((frame[["p", "q", "r"]].to_numpy(), frame["label"]), forest).n_columns == 3
