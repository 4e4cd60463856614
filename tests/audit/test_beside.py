"""The release is the folder: what lies beside a model is searched for its training rows, in whatever form it is."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.records import Array, Global, Mapping, Record
from pytest_draft.artifact.world.frames import table_in
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.data import training_data
from pytest_draft.errors import ArtifactError, SeveralModelsError
from pytest_draft.timebox import TimeBox


def made(seed: int) -> pd.DataFrame:
    """Return people of eight columns and a label."""
    random, n = np.random.default_rng(seed), 150
    columns = {
        "age": random.integers(18, 80, n),
        "fare": random.gamma(2, 20, n).round(2),
        "height": random.normal(170, 9, n).round(1),
        "town": random.choice(["Oslo", "Rome", "New York"], n),
        "members": random.integers(0, 5, n),
        "income": random.lognormal(10, 1, n).round(),
        "rate": random.random(n).round(4),
        "visits": random.poisson(6, n),
    }
    return pd.DataFrame(columns).assign(label=random.integers(0, 2, n))


TABLE = made(0)


def notebook(rows: pd.DataFrame) -> str:
    outputs = [{"data": {"text/plain": rows.to_string().splitlines(True), "text/html": rows.to_html()}}]
    return json.dumps({"cells": [{"cell_type": "code", "source": ["df.head()"], "outputs": outputs}], "nbformat": 4})


def page(rows: pd.DataFrame) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows.itertuples(index=False)]
    return "\n".join(["# Model card", "", "An example:", "", "| " + " | ".join(rows) + " |", "|---" * 9 + "|", *lines])


def packed(rows: pd.DataFrame) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("data/train.csv", rows.to_csv(index=False))
    return content.getvalue()


def array(rows: pd.DataFrame) -> bytes:
    content = io.BytesIO()
    np.save(content, rows.drop(columns="town").to_numpy(float))
    return content.getvalue()


def parquet(rows: pd.DataFrame) -> bytes:
    content = io.BytesIO()
    rows.to_parquet(content)
    return content.getvalue()


def shuffled(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows.columns[::-1]].assign(prediction=0.5)[["town", "prediction", *rows.columns[:3], *rows.columns[4:]]]


KINDS = {
    "input_example.json": lambda rows: rows.drop(columns="label").to_json(orient="split", index=False),
    "serving_input_example.json": lambda rows: json.dumps(
        {"dataframe_split": json.loads(rows.to_json(orient="split"))}
    ),
    "records.json": lambda rows: shuffled(rows).to_json(orient="records"),
    "lists.json": lambda rows: json.dumps({"inputs": rows.drop(columns="label").to_numpy().tolist()}),
    "by_column.json": lambda rows: rows.to_json(),
    "config.json": lambda rows: json.dumps({"sklearn": {"example_input": rows.to_dict(orient="list")}}),
    "train.csv": lambda rows: rows.to_csv(index=False),
    "other_order.csv": lambda rows: shuffled(rows).to_csv(sep=";"),
    "train.csv.gz": lambda rows: gzip.compress(rows.to_csv(index=False).encode()),
    "train.parquet": parquet,
    "train.npy": array,
    "eda.ipynb": notebook,
    "README.md": page,
    "train.pkl": pickle.dumps,
    "rows.pkl": lambda rows: pickle.dumps(rows.to_numpy()),
    "log.txt": lambda rows: "\n".join(f"INFO scoring {row!r}" for row in rows.to_dict(orient="records")),
    "data.zip": packed,
}

PICKLES = {"train.pkl", "rows.pkl"}
"""Whose arrays are no parts of a known object: nothing explains them, whoever's they are."""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Return a function that makes a release with files beside a model, and returns its path."""
    numbers = TABLE.drop(columns=["town", "label"])
    model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(numbers, TABLE["label"])

    def of(files):
        folder = tmp_path_factory.mktemp("release")
        joblib.dump(model, folder / "model.joblib")
        for name, content in files.items():
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return of


def found_in(path):
    artifact = read(path)
    data = training_data(TABLE, artifact.model, "label", artifact.encoder)
    return inspect_contents(artifact, TABLE, data, TimeBox(60))


@pytest.mark.parametrize("n_rows", [150, 5, 1])
@pytest.mark.parametrize("name", KINDS)
def test_rows_are_found_in_each_kind_of_file(release, name, n_rows):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    rows = TABLE.sample(n_rows, random_state=1)
    found = found_in(release({name: KINDS[name](rows)}))
    assert found.copies
    assert found.unexplained == () or name in PICKLES
    assert all(copy.path.startswith(name) for copy in found.copies)


@pytest.mark.parametrize("n_rows", [150, 5, 1])
def test_other_peoples_rows_are_not_claimed(release, n_rows):
    pytest.importorskip("pyarrow")
    rows = made(7).sample(n_rows, random_state=1)
    found = found_in(release({name: of(rows) for name, of in KINDS.items()}))
    assert found.copies == ()
    assert {place.path.partition(":")[0] for place in found.unexplained} <= PICKLES


def test_a_file_of_an_unknown_kind_is_named(release):
    found = found_in(release({"logo.png": b"\x89PNG\0\1\2", "notes.txt": "a forest of 5 trees"}))
    assert [place.path for place in found.unexplained] == ["logo.png"]


def test_a_policy_can_list_what_is_of_an_unknown_kind_and_no_model_that_is_not_read(release):
    found = found_in(release({"logo.png": b"\x89PNG\0\1\2", "old.pkl": b"\x80\x04 damaged"}))
    assert [place.path for place in found.unexplained] == ["logo.png", "old.pkl"]
    assert [place.path for place in found.without_files(["*"]).unexplained] == ["old.pkl"]


def test_a_frame_that_names_one_block_again_and_again_is_not_written_out():
    def frame(times):
        block, names = Array(), Array()
        block.data, block.shape = np.zeros((1, 60_000)), (1, 60_000)
        names.items, names.shape = [str(index) for index in range(times)], (times,)
        blocks = [
            Record(Global("pandas._libs.internals", "_unpickle_block"), (block, places(at), 2)) for at in range(times)
        ]
        axis = Record(Global("pandas", "_new_Index"), (None, Mapping([("data", names)])))
        return Record(Global("pandas.core.internals.managers", "BlockManager"), (tuple(blocks), [axis, axis]))

    def places(at):
        return Record(Global("builtins", "slice"), (at, at + 1, 1))

    assert table_in(frame(2), Budget(DEFAULT_LIMITS, 480_000))[0].shape == (60_000, 2)
    assert table_in(frame(200), Budget(DEFAULT_LIMITS, 480_000)) is None


def test_a_text_of_as_many_words_as_there_are_rows_has_no_entry_for_each(release):
    found = found_in(release({"README.md": "word " * (len(TABLE) - 1) + "word", "numbers.txt": "7 " * len(TABLE)}))
    assert found.by_row == found.perhaps_by_row == found.copies == ()


def test_a_scaler_beside_the_model_is_no_unknown_file(release):
    scaler = StandardScaler().fit(TABLE[["age", "fare"]])
    found = found_in(release({"scaler.pkl": pickle.dumps(scaler)}))
    assert (found.copies, found.unexplained) == ((), ())


def test_an_archive_is_what_the_folder_is(release, tmp_path):
    folder = release({"train.csv": KINDS["train.csv"](TABLE)})
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(folder, "release")
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    found = [found_in(path).copies for path in (folder, tmp_path / "model.tar.gz", tmp_path / "model.zip")]
    assert [len(copies) for copies in found] == [1, 1, 1]
    assert found[0] == found[2]


def test_a_folder_has_the_hash_of_its_files_whatever_their_dates(release):
    one, other = (release({"a.txt": "a"}) for _ in range(2))
    (other / "a.txt").touch()
    assert read(one).sha256 == read(other).sha256
    (other / "a.txt").write_text("b")
    assert read(one).sha256 != read(other).sha256


def test_two_models_are_several(release):
    folder = release({})
    (folder / "old.joblib").write_bytes((folder / "model.joblib").read_bytes())
    with pytest.raises(SeveralModelsError) as refused:
        read(folder)
    assert refused.value.places == ("model.joblib", "old.joblib")
    assert len(read(folder, place="old.joblib").places) == 2


def test_trees_that_are_not_judged_are_named(release):
    tree = DecisionTreeClassifier(max_depth=3).fit(TABLE[["age"]], TABLE["label"]).tree_
    artifact = read(release({"other.pkl": pickle.dumps([tree])}))
    assert "other.pkl" in artifact.unjudged.why


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18), b"no model"])
def test_a_release_without_a_model_is_refused(tmp_path, content):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "a.txt").write_bytes(content)
    with pytest.raises(ArtifactError, match="holds no model"):
        read(tmp_path / "r")
