"""An ONNX file of skl2onnx has the trees of the joblib file of the same model, with shares and without counts."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from profiles import examples
from pytest_draft.artifact import Limits, read
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.onnx.protobuf import Message
from pytest_draft.artifact.onnx.trees import as_fractions
from pytest_draft.errors import ArtifactTooBigError, UnsupportedArtifactError
from pytest_draft.evaluate.stripped_identity import with_draws
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

FOREST = RandomForestClassifier(5, random_state=1)
MODELS = {
    "forest": (FOREST, True),
    "33 trees": (RandomForestClassifier(33, max_depth=4, random_state=2), True),
    "best first": (RandomForestClassifier(3, max_leaf_nodes=9, random_state=3), True),
    "extra trees": (ExtraTreesClassifier(7, max_depth=4, random_state=1), False),
    "tree": (DecisionTreeClassifier(max_depth=3, random_state=1), False),
    "a leaf": (DecisionTreeClassifier(max_leaf_nodes=2, min_samples_leaf=29, random_state=1), False),
    "bagging": (BaggingClassifier(n_estimators=4, max_features=0.5, random_state=1), True),
    "search": (GridSearchCV(RandomForestClassifier(5, random_state=1), {"max_depth": [2, 3]}, cv=2), True),
    "passed on": (make_pipeline(FunctionTransformer(), FOREST), True),
    "weights": (DecisionTreeClassifier(class_weight="balanced", max_depth=3, random_state=1), False),
}


def converted(model, columns, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skl2onnx.to_onnx(model, columns[:1].astype(np.float32), **options)


@pytest.fixture
def both(dump, tmp_path):
    """Return a function that reads a model's joblib file and its ONNX file."""

    def read_both(model, columns, **options):
        path = tmp_path / "model.onnx"
        path.write_bytes(converted(model, columns, **options).SerializeToString())
        return read(dump(model)), read(path)

    return read_both


@pytest.fixture(scope="module")
def honest(fitted, columns):
    return converted(fitted, columns)


def answers(forest, columns):
    """Return what the leaves of all trees answer on average."""
    rows, total = columns.astype(np.float32), 0.0
    for tree in forest.trees:
        node = np.zeros(len(rows), np.int64)
        while (inner := tree.left[node] >= 0).any():
            left = rows[np.arange(len(rows)), tree.feature[node]] <= tree.threshold[node]
            node = np.where(inner, np.where(left, tree.left[node], tree.right[node]), node)
        total = total + tree.value[node]
    return total / forest.n_trees


def assert_same_trees(theirs, ours, *, exact=True):
    assert ours.n_trees == theirs.n_trees
    for one, other in zip(theirs.trees, ours.trees, strict=True):
        inner, leaves = one.left >= 0, one.leaves
        for name in ("left", "right", "feature"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_allclose(other.threshold[inner], one.threshold[inner], rtol=2e-7)
        assert (other.threshold[inner] <= one.threshold[inner]).all()
        if exact:
            np.testing.assert_array_equal(other.value[leaves], one.value[leaves])
        np.testing.assert_allclose(other.value[leaves], one.value[leaves], atol=ours.observation.tolerance)
        assert not other.value[inner].any()
        assert not other.weight.any()
        assert not other.n_distinct.any()
        assert not other.missing_left.any()
        assert other.seed is None


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize(
    ("name", "two"), [*((name, False) for name in MODELS), *((name, True) for name in ("forest", "tree", "bagging"))]
)
def test_an_onnx_file_has_the_trees_of_the_joblib_file(name, two, columns, classes, both):
    model, drawn = MODELS[name]
    classes = np.where(classes == "perhaps", "no", classes) if two else classes
    theirs, ours = both(model.fit(columns, classes), columns)
    forest = ours.forest
    assert forest.classes == theirs.forest.classes
    assert forest.n_features == 6
    assert (forest.observation.decimals, forest.observation.more_left) == (None, False)
    assert forest.observation.tolerance < 2e-7
    assert (forest.n_samples, forest.draws.per_tree, forest.draws.seeded) == (None, None, False)
    assert forest.draws.drawn is drawn
    assert ours.not_covered is None
    assert_same_trees(theirs.forest, forest, exact=name != "weights")
    np.testing.assert_allclose(answers(forest, columns), model.predict_proba(columns), atol=3e-7)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_whether_rows_were_drawn_is_not_told_and_follows_from_the_rows(kind, bootstrap, columns, classes, both):
    theirs, ours = both(kind(5, max_depth=4, bootstrap=bootstrap, random_state=1).fit(columns, classes), columns)
    assert theirs.forest.draws.stored
    assert not ours.forest.draws.stored
    assert ours.forest.draws.drawn is (kind is RandomForestClassifier)  # what its kind does if nothing is said
    names = sorted(set(classes.tolist()))
    labels = np.array([names.index(one) for one in classes.tolist()])
    settled = with_draws(ours.forest, columns.astype(np.float32), labels, 0)
    assert settled.draws.rows == ("with replacement" if bootstrap else "all")


@pytest.mark.nightly
@pytest.mark.parametrize("bootstrap", [True, False])
def test_an_onnx_file_of_shallow_trees_is_judged_as_its_hardened_joblib_file(bootstrap, tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.integers(0, 2, (60, 6)), columns=list("abcdef")).astype(float)
    labels = (table.sum(axis=1) > 3).astype(int)
    secret = 3_000_000_019
    model = RandomForestClassifier(4, max_depth=2, bootstrap=bootstrap, random_state=secret).fit(table, labels)
    table.assign(y=labels).to_csv(tmp_path / "train.csv", index=False)
    (tmp_path / "model.onnx").write_bytes(converted(model, table.to_numpy()).SerializeToString())
    joblib.dump(hardened(model, "counts", table)[0], tmp_path / "model.joblib")
    found = []
    for name in ("model.onnx", "model.joblib"):
        case = Case(str(tmp_path / name), str(tmp_path / "train.csv"), "y", seconds=60.0, effort=2.0, workers=1)
        examination, _ = examine(case)
        verdict = verdict_of((check.result, check.counts) for check in judge(examination, default_policy()))
        found.append((verdict, examination.findings.whole.error.upper))
    granted = "whether each tree saw draws of the rows, or all of them"
    assert (
        granted
        in examine(Case(str(tmp_path / "model.onnx"), str(tmp_path / "train.csv"), "y", attack=False))[0].domain.granted
    )
    assert found[0] == found[1]


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_every_version_of_the_operators_is_read(version, columns, classes, both):
    theirs, ours = both(FOREST.fit(columns, classes), columns, target_opset={"": 15, "ai.onnx.ml": version})
    assert_same_trees(theirs.forest, ours.forest)


def test_whole_numbers_as_classes_and_plain_outputs_are_read(columns, both):
    labels = columns[:, :2].sum(axis=1).astype(int) - 1
    theirs, ours = both(FOREST.fit(columns, labels), columns, options={"zipmap": False})
    assert ours.forest.classes == (-1, 0, 1)
    assert_same_trees(theirs.forest, ours.forest)


def test_the_inputs_of_a_data_frame_are_its_columns(columns, classes, tmp_path):
    frame = pd.DataFrame(columns, columns=list("abcdef")).astype(np.float32)
    model = make_pipeline(FunctionTransformer(), FOREST).fit(frame, classes)
    path = tmp_path / "model.onnx"
    path.write_bytes(skl2onnx.to_onnx(model, frame[:1]).SerializeToString())
    artifact = read(path)
    assert artifact.forest.feature_names == tuple("abcdef")
    assert artifact.not_covered is None


def test_numbers_in_double_precision_are_read(columns, classes, honest, dump):
    model = onnx.ModelProto.FromString(honest.SerializeToString())
    node = model.graph.node[0]
    for name in ("nodes_values", "class_weights"):
        (old,) = [attribute for attribute in node.attribute if attribute.name == name]
        tensor = onnx.numpy_helper.from_array(np.array(old.floats, dtype=np.float64), name)
        node.attribute.remove(old)
        node.attribute.append(onnx.helper.make_attribute(f"{name}_as_tensor", tensor))
    ours = read(dump(model.SerializeToString())).forest
    assert ours.observation.tolerance < 1e-12
    for one, other in zip(read(dump(honest.SerializeToString())).forest.trees, ours.trees, strict=True):
        np.testing.assert_array_equal(one.threshold, other.threshold)


@pytest.mark.parametrize("mode", [b"BRANCH_LT", b"BRANCH_GT", b"BRANCH_GTE"])
def test_other_comparisons_send_rows_the_same_way(mode, columns, honest, dump):
    model = onnx.ModelProto.FromString(honest.SerializeToString())
    held = {attribute.name: attribute for attribute in model.graph.node[0].attribute}
    strings = [mode if text == b"BRANCH_LEQ" else text for text in held["nodes_modes"].strings]
    held["nodes_modes"].strings[:] = strings
    if mode != b"BRANCH_LT":  # what is above goes where what is not below went
        true, false = list(held["nodes_truenodeids"].ints), list(held["nodes_falsenodeids"].ints)
        held["nodes_truenodeids"].ints[:], held["nodes_falsenodeids"].ints[:] = false, true
    if mode in (b"BRANCH_LT", b"BRANCH_GTE"):
        above = np.nextafter(np.array(held["nodes_values"].floats, np.float32), np.float32(np.inf))
        held["nodes_values"].floats[:] = above.tolist()
    before, after = read(dump(honest.SerializeToString())), read(dump(model.SerializeToString()))
    np.testing.assert_allclose(answers(after.forest, columns), answers(before.forest, columns))


def test_nodes_in_another_order_are_the_same_tree(columns, honest, dump):
    model = onnx.ModelProto.FromString(honest.SerializeToString())
    held = {attribute.name: attribute for attribute in model.graph.node[0].attribute}
    top = max(held["nodes_nodeids"].ints)
    inner = [text != b"LEAF" for text in held["nodes_modes"].strings]
    for name in ("nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids", "class_nodeids"):
        held[name].ints[:] = [top - number for number in held[name].ints]
    assert any(inner)
    before, after = read(dump(honest.SerializeToString())), read(dump(model.SerializeToString()))
    for tree in after.forest.trees:
        parents = tree.left >= 0
        assert (tree.left[parents] > np.flatnonzero(parents)).all()
    np.testing.assert_allclose(answers(after.forest, columns), answers(before.forest, columns))


# What is not covered


def test_what_computes_before_the_trees_is_named(columns, classes, both):
    artifact = both(make_pipeline(StandardScaler(), FOREST).fit(columns, classes), columns)[1]
    assert "it has Scaler before its trees" in artifact.not_covered
    assert "judge the joblib or .skops file" in artifact.not_covered
    assert {"Scaler.offset", "Scaler.scale"} <= {stored.path for stored in artifact.contents.arrays}


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (GradientBoostingClassifier(n_estimators=2), "a GradientBoostingClassifier"),
        (AdaBoostClassifier(n_estimators=2), "an AdaBoostClassifier"),
        (make_pipeline(FunctionTransformer(), GradientBoostingClassifier(n_estimators=2)), "something else than class"),
        (LogisticRegression(), "a LogisticRegression"),
        (make_pipeline(PCA(2), LogisticRegression()), "without trees"),
    ],
    ids=["boosting", "adaboost", "boosting in a pipeline", "regression", "pipeline"],
)
def test_another_model_is_refused_and_named(model, words, columns, classes, dump):
    content = converted(model.fit(columns, (classes == "yes").astype(int)), columns).SerializeToString()
    with pytest.raises(UnsupportedArtifactError, match=words):
        read(dump(content))


def test_a_regressor_is_refused_with_what_to_do(columns, numbers, dump):
    content = converted(RandomForestRegressor(2, random_state=1).fit(columns, numbers), columns).SerializeToString()
    with pytest.raises(UnsupportedArtifactError, match=r"judge the joblib or \.skops file"):
        read(dump(content))


def test_an_array_that_somebody_left_in_the_file_is_seen(columns, honest, dump):
    model = onnx.ModelProto.FromString(honest.SerializeToString())
    model.graph.initializer.append(onnx.numpy_helper.from_array(columns, "rows"))
    stored = {one.path: one for one in read(dump(model.SerializeToString())).contents.arrays}
    np.testing.assert_array_equal(stored["rows"].values(), columns)


def _with_functions(model):
    model.functions.add(name="hidden")


def _with_metadata(model):
    model.metadata_props.add(key="rows", value="1, 2, 3; " * 100)


def _with_documentation(model):
    model.graph.node[0].doc_string = "1, 2, 3; " * 100


def _with_a_graph(model):
    node = model.graph.node.add(op_type="If")
    node.attribute.append(onnx.helper.make_attribute("then_branch", onnx.GraphProto(name="inner")))


@pytest.mark.parametrize("hide", [_with_functions, _with_metadata, _with_documentation, _with_a_graph])
def test_what_could_hold_data_and_is_not_looked_into_is_told(hide, honest, dump):
    model = onnx.ModelProto.FromString(honest.SerializeToString())
    assert not read(dump(model.SerializeToString())).contents.opaque
    hide(model)
    assert read(dump(model.SerializeToString())).contents.opaque


# What is too large


def test_too_large_a_file_is_refused(honest, dump):
    content = honest.SerializeToString()
    with pytest.raises(ArtifactTooBigError, match="instructions"):
        read(dump(content), limits=Limits(opcodes=100))


# Its parts


@given(
    integers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300), max_size=400),
    floats=st.lists(st.floats(width=32, allow_nan=False), max_size=200),
    strings=st.lists(st.binary(max_size=5), max_size=5),
)
@settings(max_examples=examples(100), deadline=None)
def test_runs_of_numbers_are_what_protobuf_reads(integers, floats, strings):
    message = onnx.AttributeProto(name="a", ints=integers, floats=floats, strings=strings, i=5, type=7)
    found = Message(memoryview(message.SerializeToString()), Budget(Limits(), 10**6))
    assert found.integers(8).tolist() == integers
    assert found.floats(7).tolist() == floats
    assert list(map(bytes, found.parts(9))) == strings
    assert (found.text(1), found.integer(3), found.integer(20)) == ("a", 5, 7)


@given(st.integers(1, 1000), st.integers(1, 100), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_shares_of_up_to_1000_rows_come_back_exactly_from_single_precision(rows, trees, data):
    first = data.draw(st.integers(0, rows))
    exact = np.array([[first / rows, (rows - first) / rows]])
    stored = (exact * (1.0 / trees)).astype(np.float32).astype(np.float64) * trees
    np.testing.assert_array_equal(as_fractions(stored, 2.0**-23), exact)
    np.testing.assert_allclose(as_fractions(np.array([[0.3141592653, 0.6858407347]]), 2.0**-23).sum(axis=1), 1)
