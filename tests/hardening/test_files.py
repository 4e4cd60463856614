"""Files: nothing is overwritten that must not be, and whatever goes wrong leaves what was there."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import pytest_draft
from fitted_models import fitted
from pytest_draft.errors import DataError, UsageError
from pytest_draft.hardening import compare


@pytest.fixture
def folder(tmp_path):
    model, frame, labels = fitted("forest", "discrete")
    joblib.dump(model, tmp_path / "model.joblib")
    frame.assign(label=labels).to_csv(tmp_path / "train.csv", index=False)
    return tmp_path


def _bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".pickle"])
@pytest.mark.parametrize("data", ["train.csv", None])
def test_the_written_file_loads_and_answers_the_same(folder, suffix, data):
    output = folder / f"hardened{suffix}"
    result = pytest_draft.harden(folder / "model.joblib", output, data=data and folder / data)
    assert result.path == str(output) and result.identical
    new = joblib.load(output) if suffix == ".joblib" else pickle.loads(output.read_bytes())
    model, frame, _ = fitted("forest", "discrete")
    assert new.predict_proba(frame).tobytes() == model.predict_proba(frame).tobytes()
    assert sorted(path.name for path in folder.iterdir()) == sorted(["model.joblib", "train.csv", output.name])


def test_an_estimator_in_memory_is_written_and_left_as_it_is(tmp_path):
    model, frame, labels = fitted("forest", "text")
    before = pickle.dumps(model)
    for data in (frame, (frame, labels), frame.assign(label=labels)):
        result = pytest_draft.harden(model, tmp_path / "h.joblib", data=data, force=True)
        assert result.identical and result.compared_on == "the given data"
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("link", [os.symlink, os.link, None])
@pytest.mark.parametrize("force", [True, False])
def test_the_models_own_file_is_never_overwritten(folder, link, force):
    model = folder / "model.joblib"
    output = model
    if link is not None:
        output = folder / "other.joblib"
        link(model, output)
    before = _bytes(folder)
    with pytest.raises(UsageError, match="own file, which is never overwritten"):
        pytest_draft.harden(model, output, force=force)
    with pytest.raises(UsageError, match="own file, which is never overwritten"):
        pytest_draft.harden(output, model, force=force)
    assert _bytes(folder) == before


def test_a_file_that_is_there_is_replaced_by_force_only(folder):
    output = folder / "hardened.joblib"
    output.write_text("kept")
    with pytest.raises(UsageError, match="is there already"):
        pytest_draft.harden(folder / "model.joblib", output)
    assert output.read_text() == "kept"
    pytest_draft.harden(folder / "model.joblib", output, force=True)
    assert joblib.load(output).random_state is None


def test_a_link_to_nowhere_is_something_that_is_there(folder):
    output = folder / "hardened.joblib"
    output.symlink_to(folder / "nowhere")
    with pytest.raises(UsageError, match="is there already"):
        pytest_draft.harden(folder / "model.joblib", output)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"output": "hardened.txt"}, "hardened.txt: "),
        ({"output": "hardened"}, "hardened: "),
        ({"output": "none/hardened.joblib"}, "no such folder"),
        ({"level": "all"}, "level 'all' is not known"),
        ({"level": "decimals:0"}, "N from 1 to 6"),
        ({"level": "decimals:7"}, "N from 1 to 6"),
        ({"model": "none.joblib"}, "no such file"),
        ({"data": "none.csv"}, "no such file"),
        ({"data": "train.csv", "target": "lable"}, "no column 'lable'"),
        ({"target": "label"}, "target without data"),
        ({"model": "train.csv"}, "cannot be loaded"),
        ({"model": "notes.skops"}, "skops"),
        ({"data": "other.csv"}, "the data lack 2 of the model's 3 columns"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(folder, arguments, message):
    (folder / "notes.skops").write_text("no model")
    (folder / "other.csv").write_text("a,z\n1,2\n")
    given = {"model": "model.joblib", "output": "hardened.joblib", **arguments}
    before = _bytes(folder)
    for name in ("model", "output", "data"):
        if name in given:
            given[name] = folder / given[name]
    with pytest.raises((UsageError, DataError)) as caught:
        pytest_draft.harden(given.pop("model"), given.pop("output"), **given)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert _bytes(folder) == before


def test_a_value_of_a_row_is_in_no_message(folder):
    (folder / "text.csv").write_text("a,b,c,label\nPLANTED-1,PLANTED-2,PLANTED-3,0\n")
    with pytest.raises(DataError) as caught:
        pytest_draft.harden(folder / "model.joblib", folder / "h.joblib", data=folder / "text.csv")
    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert not any("PLANTED" in repr(one) for one in chain)


def test_answers_that_would_change_are_no_result(folder, monkeypatch):
    monkeypatch.setattr("pytest_draft.hardening.trees.depth_first", _left_and_right_swapped)
    before = _bytes(folder)
    with pytest.raises(DataError, match="must not be at level counts"):
        pytest_draft.harden(folder / "model.joblib", folder / "h.joblib", data=folder / "train.csv")
    assert _bytes(folder) == before


def _left_and_right_swapped(left, right):
    from pytest_draft.artifact.forest.nodes import levels

    left[:], right[:] = right.copy(), left.copy()
    return np.sort(np.concatenate(levels(left, right))), np.ones(len(left), dtype=np.int64)


def test_a_model_that_cannot_be_pickled_leaves_nothing(tmp_path):
    model = RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1])
    model.note = lambda: None
    with pytest.raises(DataError, match="cannot be pickled"):
        pytest_draft.harden(model, tmp_path / "h.joblib")
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_threads_do_not_change_sums():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 5))
    model = RandomForestClassifier(60, n_jobs=4, random_state=0).fit(rows, rng.integers(0, 2, 400))
    said = {compare.answers(model, rows)["predict_proba"][0].tobytes() for _ in range(5)}
    assert len(said) == 1


def test_npz_files_and_positions_do(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3))
    labels = (rows[:, 0] > 0).astype(int)
    model = RandomForestClassifier(3).fit(rows, labels)
    np.savez(tmp_path / "train.npz", X=rows, y=labels)
    assert pytest_draft.harden(model, tmp_path / "a.joblib", data=tmp_path / "train.npz", target="y").identical
    np.savetxt(tmp_path / "t.csv", np.column_stack([rows, labels]), delimiter=",", header="p,q,r,label", comments="")
    assert pytest_draft.harden(model, tmp_path / "b.joblib", data=tmp_path / "t.csv", target="label").identical
    with pytest.raises(DataError, match=r"4 columns, but the model takes 3; say which column holds the labels"):
        pytest_draft.harden(model, tmp_path / "c.joblib", data=tmp_path / "t.csv")


@pytest.mark.nightly
def test_the_package_stays_light_until_it_is_used():
    code = "import sys, pytest_draft.__main__ as m; m.parser(); print({'numpy', 'sklearn'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pytest_draft.nothing


def test_a_skops_file_is_read(tmp_path):
    skops = pytest.importorskip("skops.io", reason="reading .skops needs skops")
    model, frame, _ = fitted("forest", "discrete")
    skops.dump(model, tmp_path / "model.skops")
    assert pytest_draft.harden(tmp_path / "model.skops", tmp_path / "h.joblib", data=frame).identical


def test_without_skops_a_skops_file_is_refused_with_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    (tmp_path / "model.skops").write_text("")
    with pytest.raises(DataError, match="needs skops, which is not installed: install it"):
        pytest_draft.harden(tmp_path / "model.skops", tmp_path / "h.joblib")
