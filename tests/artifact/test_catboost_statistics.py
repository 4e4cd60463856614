"""What a CatBoost model of categories keeps of them is read: of how many rows each is; and judged."""

from __future__ import annotations

import json
import pickle
import shutil
import struct

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.catboost.statistics import of_cbm, of_json
from pytest_draft.errors import UnsupportedArtifactError
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge

catboost = pytest.importorskip("catboost")


def table_with(rarest: int) -> pd.DataFrame:
    """Return 120 rows with a town that so many have."""
    random = np.random.default_rng(0)
    towns = ["rare"] * rarest + random.choice(["A", "B", "C", "D"], 120 - rarest).tolist()
    table = pd.DataFrame({"a": random.normal(size=120).round(2), "town": towns})
    return table.assign(y=((table["a"] > 0) ^ table["town"].isin(["A", "B"])).astype(int))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a function that returns the files of a model whose rarest category so many rows have."""
    made = {}

    def files(rarest):
        if rarest not in made:
            folder, table = tmp_path_factory.mktemp("categories"), table_with(rarest)
            pool = catboost.Pool(table[["a", "town"]], table["y"], cat_features=["town"])
            model = catboost.CatBoostClassifier(
                iterations=8, depth=2, verbose=0, thread_count=1, one_hot_max_size=2, allow_writing_files=False
            ).fit(pool)
            made[rarest] = [folder / name for name in ("model.json", "model.cbm", "model.pkl")]
            model.save_model(str(made[rarest][0]), format="json", pool=pool)
            model.save_model(str(made[rarest][1]))
            made[rarest][2].write_bytes(pickle.dumps(model))
        return made[rarest]

    return files


@pytest.mark.parametrize("number", [0, 1, 2], ids=["json", "cbm", "pickle"])
def test_the_fewest_rows_of_a_category_are_those_of_the_table(number, saved):
    with pytest.raises(UnsupportedArtifactError, match=r"with which labels \(the fewest: 3\)") as caught:
        read(saved(3)[number])
    counted = caught.value.beside.contents.counted
    assert counted
    assert {least for _, least in counted} == {3}


@pytest.mark.parametrize(("rarest", "result"), [(1, "failed"), (3, "inconclusive")])
@pytest.mark.parametrize("number", [0, 1], ids=["json", "cbm"])
def test_a_category_of_one_row_fails(rarest, result, number, saved):
    case = Case(str(saved(rarest)[number]), target="y")
    examination, _ = examine(case, table_with(rarest))
    (check,) = [one for one in judge(examination, default_policy()) if one.rule == "verbatim-data"]
    assert check.result == result
    assert ("that only 1 training row has" in check.sentence) == (result == "failed")


@pytest.mark.parametrize("number", [0, 1, 2], ids=["json", "cbm", "pickle"])
def test_the_categories_of_a_model_that_is_not_read_count_in_a_release(number, saved, tmp_path):
    file, table = saved(3)[number], table_with(3)
    joblib.dump(RandomForestClassifier(3, random_state=0).fit(table[["a"]], table["y"]), tmp_path / "forest.joblib")
    shutil.copy(file, tmp_path)
    counted = read(tmp_path).contents.counted
    assert {least for _, least in counted} == {3}
    assert all(path.startswith(f"{file.name}: ") for path, _ in counted)


@pytest.mark.parametrize(
    "table",
    [
        None,
        {"hash_map": ["1", 1e400], "hash_stride": 2},
        {"hash_map": ["1", "x"], "hash_stride": 2},
        {"hash_map": [[], 1], "hash_stride": 0},
        {"hash_map": 3, "hash_stride": 2},
        {"hash_map": ["1"], "hash_stride": 2},
        {"hash_map": [["1"], [1, [2]]], "hash_stride": 2},
    ],
)
def test_malformed_tables_in_json_are_left_out(table):
    for name in (json.dumps({"type": "Counter"}), json.dumps({"type": "Borders"}), "{}", "[" * 9999, "3"):
        assert of_json({name: table}, {"cat_features_hash": 3, "categorical_features": None}).beside.counted == ()
    assert of_json([], {}).beside.counted == ()


def test_damaged_tables_in_a_cbm_are_left_out(saved):
    packed = saved(3)[1].read_bytes()
    behind = packed[8 + struct.unpack("<I", packed[4:8])[0] :]
    whole = of_cbm(behind, Budget(DEFAULT_LIMITS, len(packed))).beside.counted
    assert whole
    random = np.random.RandomState(0)
    for _ in range(300):
        damaged = bytearray(behind[: random.randint(1, len(behind) + 1)])
        for _ in range(random.randint(1, 5)):
            damaged[random.randint(len(damaged))] = random.randint(256)
        found = of_cbm(bytes(damaged), Budget(DEFAULT_LIMITS, len(packed)))
        assert "it holds a CatBoost model of categories" in str(found)
        assert all(least > 0 for _, least in found.beside.counted)
