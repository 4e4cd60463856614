"""What a file holds and loading drops is told: whoever reads the bytes has it."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.errors import UnsupportedArtifactError

TEXT = "age,wage\n" + "41,2300\n" * 40


@pytest.fixture(scope="module")
def forest():
    random = np.random.default_rng(0)
    return RandomForestClassifier(2, max_depth=2, random_state=0).fit(random.normal(size=(40, 3)), np.arange(40) % 2)


def pushed(value: object) -> bytes:
    """Return the instructions that make a value, without the first and the last."""
    return pickle.dumps(value, 2)[2:-1]


DROPPED = {
    "a text": pushed(TEXT) + b"0",
    "a list of lists": pushed([[1, 2], [3, 4]]) + b"0",
    "texts behind a mark": b"(" + pushed(TEXT) + pushed(TEXT) + b"1",
    "a name": b"cage_41\nwage_2300\n0",
}


@pytest.mark.parametrize("kind", DROPPED)
def test_a_value_that_loading_makes_and_drops_is_unexplained(kind, forest, tmp_path):
    whole = pickle.dumps(forest, 2)
    (tmp_path / "model.pkl").write_bytes(whole[:2] + DROPPED[kind] + whole[2:])
    place, *_ = read(tmp_path / "model.pkl").account.unexplained
    assert "values that loading reads and drops" in place.what
    (tmp_path / "model.pkl").write_bytes(whole)
    assert read(tmp_path / "model.pkl").account.unexplained == ()


def test_a_comment_in_a_packed_file_is_refused(forest, tmp_path):
    packed = gzip.compress(pickle.dumps(forest, 2), mtime=0)
    commented = packed[:3] + bytes([packed[3] | 16]) + packed[4:10] + TEXT.encode() + b"\0" + packed[10:]
    (tmp_path / "model.pkl").write_bytes(commented)
    with pytest.raises(UnsupportedArtifactError, match="comment or extra fields"):
        read(tmp_path / "model.pkl")
    (tmp_path / "model.pkl").write_bytes(packed)
    assert read(tmp_path / "model.pkl").account.unexplained == ()


def test_a_data_type_with_metadata_is_refused(forest, tmp_path):
    joblib.dump({"model": forest, "kind": np.dtype("f8", metadata={"rows": TEXT})}, tmp_path / "model.joblib")
    with pytest.raises(UnsupportedArtifactError, match="metadata"):
        read(tmp_path / "model.joblib")


def test_a_key_that_skops_does_not_know_is_unexplained(forest, tmp_path):
    skops = pytest.importorskip("skops.io", reason="writes .skops files")
    members = zipfile.ZipFile(io.BytesIO(skops.dumps(forest)))
    with zipfile.ZipFile(tmp_path / "model.skops", "w") as archive:
        for name in members.namelist():
            content = members.read(name)
            if name == "schema.json":
                content = json.dumps({**json.loads(content), "note": TEXT}).encode()
            archive.writestr(name, content)
    (place,) = read(tmp_path / "model.skops").account.unexplained
    assert "drops" in place.what
