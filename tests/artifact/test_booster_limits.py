"""Numbers in files of boosted trees that are out of any range: each is refused by its own reader, at little cost."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.forest.observations import sensitivities
from pytest_draft.artifact.json_text import json_content
from pytest_draft.artifact.lightgbm.text import floats, integers
from pytest_draft.errors import ArtifactTooBigError, CorruptArtifactError
from studies.fuzz.targets import SEEDS


def changed(tmp_path, name, damage):
    """Return the path of an honest JSON file after a change."""
    document = json.loads((SEEDS / name).read_bytes())
    damage(document)
    path = tmp_path / name
    path.write_text(json.dumps(document))
    return path


def parameters(document):
    return document["model_info"]["params"]["tree_learner_options"]


@pytest.mark.parametrize(
    "value", ["1" * 100, "1_0", "0x10", "1e5", "\u0663", "1.0", "+1", "-", "1-1", "nan", str(2**63)]
)
def test_a_whole_number_is_written_in_digits(value):
    with pytest.raises(CorruptArtifactError, match="tree 0: rows"):
        integers({"rows": f"1 {value} 3"}, "rows", 3, "tree 0")


@pytest.mark.parametrize("value", ["1" * 100, "1_0", "0x1p3", "\u0663", "1e1e1", "--1", "nan", "inf", "1e999", "e"])
def test_a_number_is_written_in_decimals(value):
    with pytest.raises(CorruptArtifactError, match="tree 0: value"):
        floats({"value": f"1 {value} 3"}, "value", 3, "tree 0")


def test_numbers_as_lightgbm_writes_them_are_read():
    written = {"value": "-1.0000000180025095e-35 1e+300 inf -0 .5 3 ", "rows": "-3 0 123456789012345678"}
    assert floats(written, "value", 6, "", finite=False).tolist() == [-1.0000000180025095e-35, 1e300, np.inf, 0, 0.5, 3]
    assert integers(written, "rows", 3, "").tolist() == [-3, 0, 123456789012345678]
    assert len(integers(written, "nothing", 0, "")) == len(floats({"value": ""}, "value", 0, "")) == 0


@pytest.mark.parametrize("take", [floats, integers])
def test_one_long_number_does_not_make_all_others_long(take):
    fields = {"rows": "1 " * 10_000 + "1" * 10_000}
    tracemalloc.start()
    with pytest.raises(CorruptArtifactError):
        take(fields, "rows", 10_001, "tree 0")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**22


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b'{"a": 1, "b": 2, "a": 3}', CorruptArtifactError, "a key twice; its keys are a, b"),
        (b'{"a": NaN}', CorruptArtifactError, "NaN is not a number of JSON"),
        (b"1" * 5000, CorruptArtifactError, r"^not valid JSON: Exceeds the limit \(4300 digits\).{0,40}$"),
        (b"[" * 100_000, ArtifactTooBigError, "nested too deep"),
        (b'["\xff"]', CorruptArtifactError, "not valid JSON"),
        (b'{"a":1},' * 2_000_000, ArtifactTooBigError, "when it is parsed"),
    ],
)
def test_json_beyond_limits_is_refused(content, error, words):
    with pytest.raises(error, match=words):
        json_content(content, Budget(DEFAULT_LIMITS, len(content)))


def test_what_is_no_number_of_json_is_read_where_it_is_asked_for():
    assert json_content(b'\xef\xbb\xbf{"a": Infinity}', finite=False) == {"a": np.inf}


@pytest.mark.parametrize("names", [[0, 10**400], [0.0, 1e300], [-(2**53), 1]])
def test_classes_beyond_any_range_are_corrupt(names, tmp_path):
    known = {"class_names": names, "class_label_type": "Float", "class_to_label": [0, 1]}
    path = changed(tmp_path, "catboost-two.json", lambda one: one["model_info"].update(class_params=known))
    with pytest.raises(CorruptArtifactError, match="the classes of its CatBoost model are out of range"):
        read(path)


@pytest.mark.parametrize("border", [10**400, -(10**400), None, "1", True])
def test_a_border_that_is_no_number_is_corrupt(border, tmp_path):
    split = {"border": border, "float_feature_index": 0, "split_index": 0, "split_type": "FloatFeature"}
    path = changed(tmp_path, "catboost-two.json", lambda one: one["oblivious_trees"][0].update(splits=[split, split]))
    with pytest.raises(CorruptArtifactError, match="the border of a split"):
        read(path)


@pytest.mark.parametrize(("steps", "covered"), [(100, True), (101, False), (2**52, False)])
def test_leaves_of_very_many_steps_are_not_covered(steps, covered, tmp_path):
    path = changed(tmp_path, "catboost-two.json", lambda one: parameters(one).update(leaf_estimation_iterations=steps))
    assert (read(path).not_covered is None) == covered


@pytest.mark.parametrize("leaf", [1e31, -1e300, 1e308])
def test_scores_that_cannot_be_added_up_are_corrupt(leaf, tmp_path):
    leaves = {"leaf_values": [leaf] * 4}
    path = changed(tmp_path, "catboost-number.json", lambda one: one["oblivious_trees"][0].update(leaves))
    with pytest.raises(CorruptArtifactError, match="out of range"):
        read(path)


@pytest.mark.parametrize("loss", ["logistic", "softmax", "poisson", "squared"])
def test_scores_of_any_size_have_gradients_and_hessians_without_a_warning(loss):
    with np.errstate(all="raise", under="ignore"):
        for sensitivity in sensitivities(loss, np.array([[-1e30, -800.0, 0.0, 800.0, 1e30]] * 2)):
            assert np.isfinite(sensitivity**2).all()
