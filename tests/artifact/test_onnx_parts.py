"""Parts of an ONNX file that skl2onnx rarely or never writes are read, or refused in one line that names them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.errors import ArtifactError, CorruptArtifactError, UnsupportedArtifactError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

from attack_corpus.onnx_files import changed, honest  # noqa: E402

N_FEATURES = 6


@pytest.fixture
def known(dump):
    """Return the forest of the honest file."""
    return read(dump(honest(), "honest.onnx")).forest


def refused(path, kind, words):
    """Assert that a file is refused with one kind, in one printable line that has the words."""
    with pytest.raises(ArtifactError) as caught:
        read(path)
    message = str(caught.value)
    assert type(caught.value) is kind, message
    assert words in message
    assert message.isascii()
    assert message.isprintable()


def assert_same_trees(found, known, feature_of=None):
    """Assert that trees are those of another forest, on the columns that each of its own stands for."""
    columns = np.arange(N_FEATURES) if feature_of is None else np.array(feature_of)
    assert found.n_trees == known.n_trees
    for one, other in zip(found.trees, known.trees, strict=True):
        inner = other.left >= 0
        for name in ("left", "right", "threshold", "value"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(one.feature[inner], columns[other.feature[inner]])


def ensemble(model):
    (node,) = [node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier"]
    return node


def attribute(model, name):
    (found,) = [one for one in ensemble(model).attribute if one.name == name]
    return found


def replaced(model, name, value):
    """Give the trees another attribute in the place of one; with None, none."""
    node = ensemble(model)
    for one in [one for one in node.attribute if one.name in (name, f"{name}_as_tensor")]:
        node.attribute.remove(one)
    if value is not None:
        node.attribute.append(onnx.helper.make_attribute(*value))


def before(model, *nodes, constants=()):
    """Put nodes between the input and the trees; the last one's output goes into these."""
    made = [onnx.helper.make_node(kind, list(inputs), list(outputs), **more) for kind, inputs, outputs, more in nodes]
    ensemble(model).input[0] = made[-1].output[0]
    kept = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*made, *kept])
    model.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(values), name) for name, values in constants)


def given(model):
    return model.graph.input[0].name


# What stands before the trees


def test_columns_that_are_chosen_twice_are_those_of_the_first_choice(dump, known):
    back, some = [5, 4, 3, 2, 1, 0], [1, 0, 2, 3, 4, 5]

    def change(model):
        before(
            model,
            ("Identity", [given(model)], ["same"], {}),
            ("Gather", ["same", "back"], ["first"], {"axis": 1}),
            ("Gather", ["first", "some"], ["second"], {"axis": 1}),
            constants=(("back", np.int64(back)), ("some", np.int32(some))),
        )

    artifact = read(dump(changed(change)))
    assert artifact.not_covered is None
    assert_same_trees(artifact.forest, known, np.array(back)[some])
    assert {"back", "some"}.isdisjoint(stored.path for stored in artifact.contents.arrays)


def test_a_choice_of_columns_can_be_a_node_of_its_own(dump, known):
    def change(model):
        choice = onnx.numpy_helper.from_array(np.arange(N_FEATURES)[::-1].copy(), "choice")
        before(
            model,
            ("Constant", [], ["choice"], {"value": choice}),
            ("Gather", [given(model), "choice"], ["chosen"], {"axis": 1}),
        )

    assert_same_trees(read(dump(changed(change))).forest, known, np.arange(N_FEATURES)[::-1])


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        (np.int64([0, 1, 2, 3, 4, 6]), "is not one of 6"),
        (np.int64([-1, 1, 2, 3, 4, 5]), "is not one of 6"),
        (np.int64([]), "is not one of 6"),
        (np.int64([0]), "tests none of its 1 columns"),
        (np.float32([0, 1, 2, 3, 4, 5]), "not a constant list of positions"),
        (np.int64([[0, 1, 2, 3, 4, 5]]), "not a constant list of positions"),
        (None, "not a constant list of positions"),
    ],
    ids=["too high", "negative", "none", "too few", "no whole numbers", "a table", "missing"],
)
def test_a_choice_of_columns_that_there_are_not_is_corrupt(positions, words, dump):
    def change(model):
        constants = () if positions is None else (("choice", positions),)
        before(model, ("Gather", [given(model), "choice"], ["chosen"], {"axis": 1}), constants=constants)

    refused(dump(changed(change)), CorruptArtifactError, words)


def test_nodes_in_a_circle_are_corrupt(dump):
    refused(
        dump(changed(lambda model: before(model, ("Identity", ["b"], ["a"], {}), ("Identity", ["a"], ["b"], {})))),
        CorruptArtifactError,
        "go round in a circle",
    )


def test_inputs_that_are_joined_in_a_circle_are_not_covered(dump, known):
    nodes = (("Identity", ["b"], ["a"], {}), ("Identity", ["a"], ["b"], {}), ("Concat", ["a", "b"], ["c"], {"axis": 1}))
    artifact = read(dump(changed(lambda model: before(model, *nodes))))
    assert "it has Concat, Identity before its trees" in artifact.not_covered
    assert_same_trees(artifact.forest, known)


def _without_width(model):
    model.graph.input[0].type.tensor_type.shape.dim[1].Clear()


def _of_one_dimension(model):
    del model.graph.input[0].type.tensor_type.shape.dim[1]


def _of_another_kind(model):
    model.graph.input[0].type.sequence_type.SetInParent()


def _of_no_input(model):
    ensemble(model).input[0] = "elsewhere"


def _without_inputs(model):
    del ensemble(model).input[:]


@pytest.mark.parametrize("change", [_without_width, _of_one_dimension, _of_another_kind, _of_no_input, _without_inputs])
def test_a_file_that_does_not_tell_its_columns_is_not_covered_and_has_its_trees(change, dump, known):
    artifact = read(dump(changed(change)))
    assert "does not tell which columns go into its trees" in artifact.not_covered
    assert artifact.forest.n_features <= N_FEATURES
    assert_same_trees(artifact.forest, known)


def test_constants_among_the_inputs_as_old_files_have_them_are_no_columns(dump, known):
    def change(model):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32([1, 2]), "beside"))
        model.graph.input.append(onnx.helper.make_tensor_value_info("beside", onnx.TensorProto.FLOAT, [2]))

    artifact = read(dump(changed(change)))
    assert artifact.not_covered is None
    assert_same_trees(artifact.forest, known)


# Constants


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "u1", "i1", "i2", "i4", "i8", "u8", "?", "O"])
@pytest.mark.parametrize("raw", [True, False])
def test_a_table_of_every_type_that_was_left_in_a_file_is_seen(kind, raw, dump):
    values = np.arange(12).reshape(4, 3).astype(kind) if kind != "O" else np.array([["a", "b"]] * 3, object)
    if kind == "f2" and not raw:
        pytest.skip("half precision stands in a file in raw bytes, or as the bits of whole numbers, which are not read")
    if kind == "O" and raw:
        pytest.skip("texts do not stand in a file in raw bytes")
    code = onnx.helper.np_dtype_to_tensor_dtype(values.dtype) if kind != "O" else onnx.TensorProto.STRING
    held = values.tobytes() if raw else [text.encode() for text in values.ravel()] if kind == "O" else values.ravel()
    tensor = onnx.helper.make_tensor("left", code, values.shape, held, raw=raw)
    found = {one.path: one for one in read(dump(changed(lambda m: m.graph.initializer.append(tensor)))).contents.arrays}
    np.testing.assert_array_equal(found["left"].values(), values)


def _elsewhere(tensor):
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="rows.bin")


def _complex(tensor):
    tensor.data_type = onnx.TensorProto.COMPLEX64


@pytest.mark.parametrize("hide", [_elsewhere, _complex])
def test_a_constant_that_is_not_read_is_told(hide, dump):
    def change(model):
        tensor = model.graph.initializer.add(name="left", dims=[2], data_type=1, raw_data=bytes(8))
        hide(tensor)

    artifact = read(dump(changed(change)))
    assert "left" in artifact.contents.opaque
    assert "left" in artifact.not_read


def test_a_constant_in_an_attribute_of_another_node_is_seen(dump):
    def change(model):
        table = onnx.numpy_helper.from_array(np.arange(12.0).reshape(4, 3))
        node = model.graph.node.add(op_type="ConstantOfShape", name="maker", output=["unused"])
        node.attribute.append(onnx.helper.make_attribute("value", table))

    found = {one.path: one for one in read(dump(changed(change))).contents.arrays}
    np.testing.assert_array_equal(found["maker.value"].values(), np.arange(12.0).reshape(4, 3))


# The trees


def _two_ensembles(model):
    model.graph.node.append(ensemble(model))


def _base(model):
    replaced(model, "base_values", ("base_values", [0.5, 0.0, 0.0]))


def _post(model):
    replaced(model, "post_transform", ("post_transform", "SOFTMAX"))


def _equal(model):
    modes = attribute(model, "nodes_modes").strings
    modes[:] = [b"BRANCH_EQ" if mode == b"BRANCH_LEQ" else mode for mode in modes]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_two_ensembles, "2 tree ensembles"),
        (_base, "something else than class shares"),
        (_post, "something else than class shares"),
        (_equal, "compares in a way that scikit-learn's trees do not"),
    ],
)
def test_trees_that_no_forest_is_converted_to_are_unsupported(change, words, dump):
    refused(dump(changed(change)), UnsupportedArtifactError, words)


def _no_nodes(model):
    for name in ("nodes_treeids", "nodes_nodeids"):
        replaced(model, name, None)


def _other_numbers(step):
    def change(model):
        for name in ("nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids", "class_nodeids"):
            held = attribute(model, name).ints
            held[:] = [number + step for number in held]

    return change


def _texts_as_thresholds(model):
    texts = onnx.helper.make_tensor("texts", onnx.TensorProto.STRING, [1], [b"x"])
    replaced(model, "nodes_values", ("nodes_values_as_tensor", texts))


def _a_weight_twice(model):
    for name in ("class_treeids", "class_nodeids", "class_ids"):
        held = attribute(model, name).ints
        held.append(held[0])
    attribute(model, "class_weights").floats.append(0.0)


def _no_classes(model):
    replaced(model, "classlabels_strings", None)


def _no_modes(model):
    replaced(model, "nodes_modes", None)


def _two_roots(model):
    """Let both children of a root be one node: the other one has no parent."""
    left, right = (attribute(model, f"nodes_{side}nodeids").ints for side in ("true", "false"))
    left[0] = right[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_no_nodes, "no nodes, or not a number for each"),
        (_other_numbers(-1), "numbers out of range"),
        (_other_numbers(2**31), "numbers out of range"),
        (_texts_as_thresholds, "nodes_values of its ONNX are not numbers"),
        (_a_weight_twice, "two weights of one class"),
        (_no_classes, "classes of its ONNX are missing"),
        (_no_modes, "a mode for each node"),
        (_two_roots, "not a binary tree"),
    ],
)
def test_trees_that_contradict_themselves_are_corrupt(change, words, dump):
    refused(dump(changed(change)), CorruptArtifactError, words)


def test_where_missing_values_go_is_read(dump, known):
    n_nodes = sum(tree.n_nodes for tree in known.trees)
    name = "nodes_missing_value_tracks_true"

    def change(model):
        replaced(model, name, (name, [1] * n_nodes))

    found = read(dump(changed(change))).forest
    assert_same_trees(found, known)
    for tree in found.trees:
        np.testing.assert_array_equal(tree.missing_left, tree.left >= 0)
    assert not any(tree.missing_left.any() for tree in known.trees)
    refused(
        dump(changed(lambda model: replaced(model, name, (name, [1] * (n_nodes - 1))))),
        CorruptArtifactError,
        "where missing values go for each node",
    )


# Several ensembles


@pytest.fixture(scope="module")
def bagging(columns, classes):
    """Return the ONNX file of a Bagging of trees, as bytes."""
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skl2onnx.to_onnx(model.fit(columns, classes), columns[:1].astype(np.float32)).SerializeToString()


def ensembles(model):
    return [node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier"]


def test_trees_of_a_bagging_that_know_other_classes_are_corrupt(bagging, dump):
    model = onnx.ModelProto.FromString(bagging)
    (labels,) = [one for one in ensembles(model)[1].attribute if one.name == "classlabels_int64s"]
    labels.ints[:] = [7, 8, 9]
    refused(dump(model.SerializeToString()), CorruptArtifactError, "do not know the same classes")


def test_trees_of_a_bagging_whose_classes_are_not_named_have_their_numbers(bagging, dump):
    assert read(dump(bagging)).forest.classes == ("no", "perhaps", "yes")
    model = onnx.ModelProto.FromString(bagging)
    for node in list(model.graph.node):
        if node.op_type == "ArrayFeatureExtractor":
            model.graph.node.remove(node)
    assert read(dump(model.SerializeToString())).forest.classes == (0, 1, 2)


def test_a_tree_of_a_bagging_that_tests_a_column_that_the_others_do_not_have_is_corrupt(bagging, dump):
    model = onnx.ModelProto.FromString(bagging)
    last = ensembles(model)[-1]
    (features,) = [one for one in last.attribute if one.name == "nodes_featureids"]
    features.ints[:] = [9 for _ in features.ints]
    del last.input[:]
    refused(dump(model.SerializeToString()), CorruptArtifactError, "tests none of the 6 columns")
