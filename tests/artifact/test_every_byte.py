"""No byte of a file is left unexplained: what no reader uses has the one value that an honest writer gives it."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from hidden_bytes import FORMATS, NEEDS, dumped, in_nodes, model, table
from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.errors import ArtifactError
from pytest_draft.hardening.files import harden
from pytest_draft.timebox import TimeBox

WAYS = [(name, way) for name, (_, _, ways) in FORMATS.items() for way in ways]


def told(path):
    """Return what is said of a file that is not its trees; why it is refused, where it is."""
    try:
        artifact = read(path)
    except ArtifactError as refusal:
        return str(refusal)
    also = getattr(artifact.model.observation, "also", None)
    return [*artifact.account.unexplained, *artifact.contents.opaque, *filter(None, (artifact.not_covered, also))]


@pytest.fixture(scope="module")
def honest():
    """Return honest files, each made once."""
    made = {}

    def content(name):
        if name in NEEDS:
            pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
        return made.setdefault(name, made.get(name) or FORMATS[name][1]())

    return content


@pytest.mark.nightly(quick=6)
@pytest.mark.parametrize("name", FORMATS)
def test_an_honest_file_has_no_byte_that_is_not_explained(name, honest, dump):
    assert told(dump(honest(name), f"model{FORMATS[name][0]}")) == []


@pytest.mark.nightly(quick=8)
@pytest.mark.parametrize(("name", "way"), WAYS)
def test_bytes_that_are_hidden_where_no_reader_looks_are_told(name, way, honest, dump):
    ending, _, ways = FORMATS[name]
    stuffed = ways[way](honest(name))
    assert stuffed != honest(name)
    assert told(dump(stuffed, f"model{ending}"))


def test_the_place_is_named_and_the_advice_leads_to_a_file_without_it(dump, tmp_path):
    path = dump(in_nodes("forest", "padding", "all")(dumped("forest")), "stuffed.joblib")
    columns = table()[0]
    why = inspect_contents(read(path), None, None, TimeBox(10)).why_not_judged
    assert "estimators_[0].tree_.nodes (byte 57 of the 64 of item 0 is not 0" in why
    assert "harden MODEL NEW.joblib --level none" in why
    result = harden(path, tmp_path / "new.joblib", level="none")
    assert result.identical
    assert told(tmp_path / "new.joblib") == []
    new, old = read(tmp_path / "new.joblib").forest, read(dump(model("forest"), "old.joblib")).forest
    assert [tree.seed for tree in new.trees] == [tree.seed for tree in old.trees]
    for one, other in zip(new.trees, old.trees, strict=True):
        for field in ("left", "threshold", "value", "weight", "n_distinct"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    assert (joblib.load(tmp_path / "new.joblib").predict_proba(columns) == model("forest").predict_proba(columns)).all()


def test_a_file_that_joblib_has_loaded_and_written_is_told_where_memory_stands_in_it(dump, tmp_path):
    stuffed = dump(in_nodes("forest", "padding", "all")(dumped("forest")), "stuffed.joblib")
    again = dump(pickle.loads(pickle.dumps(joblib.load(stuffed))), "again.joblib")
    assert harden(again, tmp_path / "new.joblib", level="none").identical
    assert told(tmp_path / "new.joblib") == []


@pytest.mark.parametrize("kind", ["histograms", "best first", "extra trees"])
def test_the_advice_works_for_other_trees(kind, dump, tmp_path):
    way = "num_threshold" if kind == "histograms" else "threshold"
    path = dump(in_nodes(kind, way, "leaves")(dumped(kind)), "stuffed.joblib")
    assert told(path)
    assert harden(path, tmp_path / "new.joblib", level="none").identical
    assert told(tmp_path / "new.joblib") == []


def test_bytes_of_yes_and_no_are_0_or_1(forest, dump):
    forest.flags_ = np.frombuffer(bytes([0, 1, 2, 200]), np.bool_)
    assert any("is not 0 or 1" in place.what for place in read(dump(forest)).account.unexplained)


def test_names_of_classes_can_be_no_table(forest, dump):
    forest.kinds_ = [type(f"K{row:050b}{row**9:080b}", (), {"__module__": "m"})() for row in range(30)]
    for one in forest.kinds_:
        globals()[type(one).__name__] = type(one)
        type(one).__module__ = __name__
    (place, *_) = read(dump(forest)).account.unexplained
    assert "letters of texts" in place.what


def with_gain(content, gain):
    """Return a file of histograms in which the gain of the first leaf is another one."""
    made = pickle.loads(content)
    nodes = made._predictors[0][0].nodes
    nodes["gain"][np.argmax(nodes["is_leaf"])] = gain(nodes["gain"])
    return pickle.dumps(made)


@pytest.mark.parametrize(
    ("gain", "fine"),
    [
        (lambda gains: gains[gains > 0].min(), True),
        (lambda gains: np.nextafter(gains.max(), np.inf), False),
        (lambda _: -0.5, False),
        (lambda _: np.nan, False),
    ],
)
def test_trees_on_histograms_that_had_no_leaf_left_keep_what_the_next_splits_would_gain(gain, fine, dump):
    columns = np.random.default_rng(0).normal(size=(3_000, 4))
    label = columns[:, 0] * columns[:, 1] + np.random.default_rng(1).normal(size=3_000) > 0
    content = pickle.dumps(HistGradientBoostingClassifier(max_iter=3).fit(columns, label))
    nodes = pickle.loads(content)._predictors[0][0].nodes
    assert (nodes["gain"][nodes["is_leaf"] == 1] > 0).any()
    assert told(dump(content, "honest.pkl")) == []
    assert (told(dump(with_gain(content, gain), "other.pkl")) == []) == fine
