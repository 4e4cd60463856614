"""Whether one file came from hardening another: by what a reader sees, however it was written."""

from __future__ import annotations

import gzip
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pytest_draft.facts.case import Case
from pytest_draft.hardening.model import hardened
from pytest_draft.hardening.repeated import unlike


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    made = pd.DataFrame({"size": rng.normal(50, 9, 90).round(2), "town": rng.choice(["Oslo", "Rome"], 90)})
    return made.assign(rank=rng.integers(0, 9, 90), label=(made["size"] + 9 * rng.random(90) > 54).astype(int))


@pytest.fixture
def case(tmp_path, rows):
    """Return a function that writes a model, what it becomes when hardened, and the rows; it returns their case."""

    def write(model, level: str, *, with_data: bool = True, dump=joblib.dump, name: str = "m.joblib") -> Case:
        features = rows.drop(columns="label")
        joblib.dump(model, tmp_path / "raw.joblib")
        dump(hardened(model, level, features if with_data else None)[0], tmp_path / name)
        rows.to_csv(tmp_path / "train.csv", index=False)
        raw = str(tmp_path / "raw.joblib")
        return Case(str(tmp_path / name), str(tmp_path / "train.csv"), "label", hardened_from=raw)

    return write


def trained(kind, rows: pd.DataFrame, **parameters):
    encoder = ColumnTransformer([("towns", OneHotEncoder(), ["town"])], remainder="passthrough")
    model = make_pipeline(encoder, kind(4, max_depth=3, **parameters))
    return model.fit(rows.drop(columns="label"), rows["size"] if kind is RandomForestRegressor else rows["label"])


KINDS = (RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("with_data", [True, False])
@pytest.mark.parametrize("level", ["none", "seeds", "counts", "decimals:3", "labels"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hardened_file_is_known_at_each_level(case, rows, kind, level, with_data):
    assert unlike(case(trained(kind, rows), level, with_data=with_data)) is None


def _pickled(model, path) -> None:
    path.write_bytes(gzip.compress(pickle.dumps(model, protocol=4)))


@pytest.mark.parametrize("dump", [_pickled, lambda model, path: joblib.dump(model, path, compress=("xz", 3))])
def test_how_it_was_written_makes_no_difference(case, rows, dump):
    assert unlike(case(trained(RandomForestClassifier, rows), "counts", dump=dump)) is None


@pytest.mark.nightly
def test_rows_in_memory_are_those_that_it_was_hardened_with(case, rows):
    made = case(trained(RandomForestClassifier, rows), "counts")
    features, labels = rows.drop(columns="label"), rows["label"]
    assert unlike(Case(made.artifact, hardened_from=made.hardened_from), (features, labels)) is None
    assert "at no level" in unlike(Case(made.artifact, hardened_from=made.hardened_from), (features + features, labels))


@pytest.mark.nightly
def test_a_single_number_that_differs_is_another_file(case, rows):
    made = case(trained(RandomForestClassifier, rows, random_state=0), "counts")
    other = joblib.load(made.artifact)
    other[-1].estimators_[2].tree_.threshold[0] += 1e-9
    joblib.dump(other, made.artifact)
    assert "at no level it gives the judged file" in unlike(made)


@pytest.mark.nightly
def test_another_forest_of_the_same_rows_is_another_file(case, rows, tmp_path):
    made = case(trained(RandomForestClassifier, rows, random_state=0), "labels")
    joblib.dump(trained(RandomForestClassifier, rows, random_state=1), tmp_path / "raw.joblib")
    told = unlike(made)
    assert "raw.joblib" in told
    assert "\n" not in told


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_a_raw_file_that_cannot_be_loaded_is_told_in_one_line(case, rows, tmp_path, content):
    made = case(trained(RandomForestClassifier, rows), "counts")
    (tmp_path / "raw.joblib").unlink()
    if content is not None:
        (tmp_path / "raw.joblib").write_bytes(content)
    told = unlike(made)
    assert told.startswith("--draft-hardened-from: ")
    assert "cannot be repeated" in told
    assert "\n" not in told


def test_the_judged_file_is_never_loaded(case, rows, tmp_path, monkeypatch):
    made = case(trained(RandomForestClassifier, rows), "counts")
    loaded = []
    load = joblib.load
    monkeypatch.setattr(joblib, "load", lambda path, *a, **k: loaded.append(str(path)) or load(path, *a, **k))
    assert unlike(made) is None
    assert set(loaded) == {made.hardened_from}
