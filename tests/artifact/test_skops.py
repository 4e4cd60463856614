"""A file of skops.io is read as the joblib file of the same model is, and a hostile one is refused."""

from __future__ import annotations

import io
import json
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mutated_files import MUTATIONS, assert_read_or_refused, mutated
from profiles import examples
from pytest_draft.artifact import Limits, read
from pytest_draft.errors import (
    ArtifactNotAllowedError,
    ArtifactTooBigError,
    CorruptArtifactError,
    SeveralModelsError,
    UnsupportedArtifactError,
)
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case

skops = pytest.importorskip("skops.io", reason="skops is not installed")

SMALL = RandomForestClassifier(2, max_depth=3, random_state=1)
BINS = KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
MODELS = {
    "forest": RandomForestClassifier(20, oob_score=True, random_state=1),
    "weights by class": RandomForestClassifier(2, class_weight={"no": 1, "yes": 2.5, "perhaps": 1}, random_state=1),
    "balanced": RandomForestClassifier(2, class_weight="balanced_subsample", bootstrap=False, random_state=1),
    "generator": RandomForestClassifier(2, random_state=np.random.RandomState(3)),
    "regressor": ExtraTreesRegressor(2, random_state=1),
    "tree": DecisionTreeClassifier(random_state=1),
    "bagging": BaggingClassifier(n_estimators=3, max_features=0.5, random_state=1),
    "isolation": IsolationForest(n_estimators=3, random_state=1),
    "sparse": make_pipeline(OneHotEncoder(handle_unknown="ignore"), SMALL),
    "encoders": make_pipeline(
        ColumnTransformer(
            [
                ("code", OrdinalEncoder(dtype=np.float32), [0]),
                ("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), [4]),
                ("bin", BINS, [5]),
                ("same", FunctionTransformer(np.sqrt), slice(1, 3)),
            ]
        ),
        SMALL,
    ),
}


@pytest.fixture
def both(dump, tmp_path):
    """Return a function that reads a model's joblib file and its .skops file."""

    def read_both(model, **options):
        path = tmp_path / "model.skops"
        skops.dump(model, path)
        return read(dump(model), **options), read(path, **options)

    return read_both


@pytest.fixture(scope="module")
def honest(fitted):
    return skops.dumps(fitted)


def assert_equal(theirs, ours):
    """Assert that nothing was read of one file that was not of the other, where neither writes an array twice."""
    assert ours.holds == theirs.holds
    assert ours.not_read == theirs.not_read
    assert ours.unjudged == theirs.unjudged
    assert ours.places == theirs.places
    assert ours.origin == theirs.origin
    assert ours.contents.sizes == theirs.contents.sizes
    for name in theirs.model.__dataclass_fields__:
        one, other = getattr(theirs.model, name), getattr(ours.model, name)
        if name == "trees":
            for left, right in zip(one, other, strict=True):
                for part in left.__dataclass_fields__:
                    np.testing.assert_array_equal(getattr(left, part), getattr(right, part))
        elif isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        else:
            assert repr(one) == repr(other)  # with their types


@pytest.mark.parametrize("name", MODELS)
def test_a_skops_file_is_read_as_the_joblib_file_of_the_same_model(name, columns, classes, numbers, both):
    model = MODELS[name]
    rows = np.column_stack((columns[:, :4], np.abs(columns[:, 4:])))
    theirs, ours = both(model.fit(rows, numbers if name == "regressor" else classes))
    assert_equal(theirs, ours)
    stored = [[(one.path, one.shape) for one in artifact.contents.arrays] for artifact in (theirs, ours)]
    assert stored[0] == stored[1]
    for one, other in zip(theirs.contents.arrays, ours.contents.arrays, strict=True):
        np.testing.assert_array_equal(one.values(), other.values())


@pytest.mark.parametrize("labels", [[False, True], [-1, 1], [0.0, 2.0], ["a", "b"]], ids=str)
def test_classes_and_the_keys_of_class_weights_keep_their_types(labels, columns, both):
    target = np.array(labels)[columns[:, 0].astype(int)]
    theirs, ours = both(
        RandomForestClassifier(2, class_weight=dict(zip(labels, (1, 3), strict=True))).fit(columns, target)
    )
    assert_equal(theirs, ours)
    assert list(ours.forest.parameters["class_weight"]) == labels


def test_names_of_columns_are_read(columns, classes, both):
    frame = pd.DataFrame(columns, columns=list("abcdef"))
    assert both(SMALL.fit(frame, classes))[1].forest.feature_names == tuple("abcdef")


@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(make_pipeline(StandardScaler(), SMALL), {"randomforestclassifier__max_depth": [2, 3]}, cv=2),
        CalibratedClassifierCV(SMALL, cv=2),
        VotingClassifier([("one", SMALL), ("other", DecisionTreeClassifier(max_depth=2))]),
    ],
    ids=["search", "calibrated", "voting"],
)
def test_models_inside_others_stand_at_the_same_places(model, columns, classes, both, tmp_path):
    model.fit(columns, classes)
    try:
        both(model)
    except SeveralModelsError as several:
        places = several.places
    else:
        places = (None,)
    for place in places:
        assert_equal(*both(model, place=place))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_packed_files_are_read(method, fitted, dump):
    path = dump(skops.dumps(fitted, compression=method), "model.skops")
    assert read(path).forest.n_trees == 3
    assert read(dump(path.read_bytes(), "model.joblib")).forest.n_trees == 3  # the name says nothing


def test_an_array_that_somebody_left_in_the_file_is_seen(forest, columns, both):
    forest.notes = columns.copy()
    theirs, ours = both(forest)
    stored = {one.path: one for one in ours.contents.arrays}
    np.testing.assert_array_equal(stored["notes"].values(), columns)
    assert "notes" in ours.not_read
    assert_equal(theirs, ours)


def test_another_model_is_named(columns, classes, dump):
    model = GradientBoostingClassifier(n_estimators=2).fit(columns, classes)
    with pytest.raises(UnsupportedArtifactError, match="it holds a GradientBoostingClassifier"):
        read(dump(skops.dumps(model)))


# Hostile files


def rewritten(honest: bytes, change=lambda schema: None, members=lambda held: held) -> bytes:
    """Return a file whose schema and members were changed."""
    with zipfile.ZipFile(io.BytesIO(honest)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(held["schema.json"])
    schema = change(schema) or schema
    held["schema.json"] = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members(held).items():
            archive.writestr(name, content)
    return file.getvalue()


def planted(node):
    """Return a change that adds an attribute to the forest."""

    def change(schema):
        content = schema["content"]
        content["content"]["extra"] = node
        content["key_types"]["content"].append({**content["key_types"]["content"][0], "__id__": None})

    return change


def node_of(loader: str, module: str, name: str, content=None) -> dict:
    empty = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []}
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content or empty, "attrs": empty}


def first_array(schema):
    nodes = [schema]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if node.get("type") == "numpy":
                return node
            nodes.extend(node.values())
        elif isinstance(node, list):
            nodes.extend(node)
    raise AssertionError


def npy(descr: str, shape: str = "(1,)", content: bytes = b"\0" * 8) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def with_array(honest: bytes, content: bytes) -> bytes:
    """Return a file with such content in place of an array's."""
    name = []
    return rewritten(
        honest, lambda schema: name.append(first_array(schema)["file"]), lambda held: {**held, name[0]: content}
    )


@pytest.mark.parametrize(
    ("node", "kind", "words"),
    [
        (node_of("OperatorFuncNode", "operator", "methodcaller"), ArtifactNotAllowedError, "operator.methodcaller"),
        (node_of("MethodNode", "builtins", "object"), ArtifactNotAllowedError, "a call of builtins.object"),
        (node_of("PartialNode", "functools", "partial"), ArtifactNotAllowedError, "functools.partial"),
        (node_of("ConstructorFromReduceNode", "os", "system"), ArtifactNotAllowedError, "a call of os.system"),
        (node_of("ImaginaryNode", "os", "system"), UnsupportedArtifactError, "ImaginaryNode"),
        (node_of("ConstructorFromReduceNode", "os", "::error::\n\x1b[31m"), ArtifactNotAllowedError, "os."),
        (node_of("CachedNode", "os", "system"), CorruptArtifactError, "schema.json"),
        (node_of("ListNode", "builtins", "list"), CorruptArtifactError, "schema.json"),
        ({"__loader__": "JsonNode", "content": "[1, 2]"}, CorruptArtifactError, "schema.json"),
        ({"__loader__": "JsonNode", "content": "1" * 400}, ArtifactTooBigError, "bits"),
        ({**node_of("NdArrayNode", "numpy", "ndarray"), "type": "numpy", "file": "../x"}, CorruptArtifactError, "../x"),
        ([], CorruptArtifactError, "schema.json"),
    ],
    ids=lambda value: value.get("__loader__", "") if isinstance(value, dict) else "",
)
def test_a_node_that_forests_do_not_need_is_refused(node, kind, words, honest, dump):
    with pytest.raises(kind) as caught:
        read(dump(rewritten(honest, planted(node)), "model.skops"))
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    assert "::" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "kind", "words"),
    [
        (npy("'|O'"), ArtifactNotAllowedError, "pickle"),
        (npy("[('a', '|O')]"), ArtifactNotAllowedError, "objects"),
        (npy("'<i8'", "(549755813888,)"), CorruptArtifactError, "bytes"),
        (npy("'<i8'", "(1,)", b""), CorruptArtifactError, "bytes"),
        (npy("'<i8'", "(-1,)"), CorruptArtifactError, "header"),
        (npy("__import__('os')"), CorruptArtifactError, "header"),
        (npy("(" * 500), CorruptArtifactError, "header"),
        (npy("[('a', '<i8', (2,))]"), UnsupportedArtifactError, "items are arrays"),
        (npy("'<q9'"), UnsupportedArtifactError, "data type"),
        (b"\x93NUMPY\x01\x00\xff\xff", CorruptArtifactError, "NumPy"),
        (b"", CorruptArtifactError, "NumPy"),
    ],
    ids=range(11),
)
def test_an_array_that_is_not_one_is_refused(array, kind, words, honest, dump):
    with pytest.raises(kind, match=words):
        read(dump(with_array(honest, array), "model.skops"))


@pytest.mark.parametrize(
    ("schema", "kind", "words"),
    [
        (b"{", CorruptArtifactError, "not JSON"),
        (b"[]", CorruptArtifactError, "not an object"),
        (b'{"a": 1, "a": 2}', CorruptArtifactError, "twice"),
        (b'{"protocol": 99}', UnsupportedArtifactError, "protocol 99"),
        (b'{"protocol": true}', UnsupportedArtifactError, "not known"),
        (b'{"protocol": 2}', CorruptArtifactError, "schema.json"),
        (b"[" * 100_000, ArtifactTooBigError, "too deep"),
    ],
    ids=range(7),
)
def test_a_schema_that_is_not_one_is_refused(schema, kind, words, honest, dump):
    with pytest.raises(kind, match=words):
        read(dump(rewritten(honest, lambda _: schema), "model.skops"))


def test_more_values_than_the_limit_are_refused(honest, dump):
    with pytest.raises(ArtifactTooBigError, match="values"):
        read(dump(honest), limits=Limits(opcodes=100))
    with pytest.raises(ArtifactTooBigError, match="members"):
        read(dump(honest), limits=Limits(members=3))


def test_what_an_archive_holds_besides_its_schema_is_refused(honest, columns, dump):
    with pytest.raises(CorruptArtifactError, match="1 members that its schema"):
        read(dump(rewritten(honest, members=lambda held: {**held, "rows.npy": b"rows"})))
    file = io.BytesIO(honest)
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = columns.tobytes()
    with pytest.raises(CorruptArtifactError, match="comment"):
        read(dump(file.getvalue()))
    with pytest.raises(CorruptArtifactError, match="other bytes"):
        read(dump(b"PK\x03\x04" + b"rows" * 50 + honest))
    with pytest.raises(UnsupportedArtifactError, match=r"without schema\.json"):
        read(dump(rewritten(honest, members=lambda held: {"a": b"b"})))


def test_two_members_of_one_name_are_refused(honest, dump):
    file = io.BytesIO(honest)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", b"{}")
    with pytest.raises(CorruptArtifactError, match="one name"):
        read(dump(file.getvalue()))


def test_a_bomb_is_refused_before_it_is_unpacked(dump):
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            archive.writestr("schema.json", b" " * 2**24)
        with pytest.raises(ArtifactTooBigError, match="unpack"):
            read(dump(file.getvalue()), limits=Limits(unpacked_floor=2**20))
        lying = file.getvalue().replace((2**24).to_bytes(4, "little"), (2**10).to_bytes(4, "little"))
        with pytest.raises((ArtifactTooBigError, CorruptArtifactError)):
            read(dump(lying), limits=Limits(unpacked_floor=2**20))


def test_another_object_under_an_id_that_was_used_is_not_hidden_by_the_first(honest, dump):
    def change(schema):
        first = schema["content"]["content"]["estimators_"]
        planted({**first, "content": first["content"][:1]})(schema)

    assert read(dump(honest)).unjudged.why is None
    assert "extra" in read(dump(rewritten(honest, change))).not_read


@pytest.mark.parametrize("cut", [5, 100, 1000])
def test_a_cut_file_is_corrupt(cut, honest, dump):
    with pytest.raises(CorruptArtifactError, match="zip"):
        read(dump(honest[:-cut]))


@given(mutations=MUTATIONS)
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_a_mutated_file_is_read_as_a_valid_forest_or_refused(mutations, honest, tmp_path):
    path = tmp_path / "mutant"
    path.write_bytes(mutated(honest, mutations))
    assert_read_or_refused(path)


@given(mutations=MUTATIONS)
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_a_mutated_member_is_read_as_part_of_a_valid_forest_or_refused(mutations, honest, tmp_path):
    name = []
    path = tmp_path / "mutant"
    path.write_bytes(
        rewritten(
            honest,
            lambda schema: mutated(json.dumps(schema).encode(), mutations),
        )
    )
    assert_read_or_refused(path)
    path.write_bytes(
        rewritten(
            honest,
            lambda schema: name.append(first_array(schema)["file"]),
            lambda held: {**held, name[0]: mutated(held[name[0]], mutations)},
        )
    )
    assert_read_or_refused(path)


def test_a_skops_file_gets_the_answer_of_the_joblib_file(tmp_path):
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {name: random.randint(0, size, 40) for name, size in zip("abcde", (2, 2, 3, 4, 2), strict=True)}
    )
    frame["label"] = (frame["a"] + frame["c"] + random.randint(0, 2, 40) > 2).astype(int)
    frame.to_csv(tmp_path / "train.csv", index=False)
    model = RandomForestClassifier(20, random_state=1).fit(frame.iloc[:, :-1], frame["label"])
    joblib.dump(model, tmp_path / "model.joblib")
    skops.dump(model, tmp_path / "model.skops")
    found = [
        examine(Case(str(tmp_path / f"model.{suffix}"), str(tmp_path / "train.csv"), effort=0.2))[0]
        for suffix in ("joblib", "skops")
    ]
    assert found[0].findings is not None
    assert found[1].findings == found[0].findings
    assert (found[1].solver_status, found[1].reasons) == (found[0].solver_status, found[0].reasons)
    assert found[1].artifact.published == found[0].artifact.published
    assert found[1].artifact.contents == found[0].artifact.contents
