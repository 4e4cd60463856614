"""All that could hold data in a file is found, whatever it is for, and nothing of it is run or named by its value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import KNNImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import BallTree, KDTree
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler

from pytest_draft.artifact import read
from pytest_draft.artifact.budget import Budget, Limits
from pytest_draft.artifact.model import published
from pytest_draft.artifact.records import Array, Global, Mapping, Record
from pytest_draft.artifact.world.contents import contents_of, objects_in
from pytest_draft.facts.published import Published


@pytest.fixture
def stored(dump):
    """Return a function that gives the arrays in a model's file, by path."""

    def of(model, name: str = "model.joblib") -> dict:
        return {array.path: array for array in read(dump(model, name)).contents.arrays}

    return of


def test_an_ordinary_forest_holds_nothing_else(fitted, columns, classes, dump):
    bagged = BaggingClassifier(n_estimators=3).fit(columns, classes)
    for model in (fitted, bagged, ExtraTreesClassifier(3).fit(columns, classes == "yes")):
        contents = read(dump(model)).contents
        assert contents.arrays == ()
        assert contents.opaque == ()


def test_arrays_by_row_are_found_although_the_reader_needs_them(columns, classes, stored):
    model = RandomForestClassifier(20, class_weight="balanced", oob_score=True, random_state=0).fit(columns, classes)
    assert {path: array.shape for path, array in stored(model).items()} == {
        "_sample_weight": (60,),
        "oob_decision_function_": (60, 3),
    }


HELD = {
    "array": lambda rows: rows,
    "big-endian": lambda rows: rows.astype(">f8"),
    "Fortran order": np.asfortranarray,
    "list of lists": lambda rows: rows.tolist(),
    "list of dicts": lambda rows: [dict(enumerate(row)) for row in rows.tolist()],
    "list of arrays": list,
    "list of examples": lambda rows: [(row[:-1], row[-1]) for row in rows.tolist()],
    "list of objects": lambda rows: [{"features": [row[:2], row[2:]]} for row in rows],
    "sparse by row": sp.csr_matrix,
    "sparse by column": sp.csc_array,
}


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
def test_a_table_is_found_in_every_form(kind, name, forest, columns, stored):
    forest.kept = HELD[kind](columns)
    array = stored(forest, name)["kept"]
    assert array.shape == columns.shape
    assert (array.values().astype(np.float64) == columns).all()


@pytest.mark.parametrize("kind", [KDTree, BallTree])
def test_a_tree_of_neighbours_holds_its_rows(kind, forest, columns, stored):
    forest.near = kind(columns)
    shapes = {array.shape: array for array in stored(forest).values()}
    assert (shapes[columns.shape].values() == columns).all()


def test_a_frame_holds_its_columns_by_type_and_texts_of_arrow_too(forest, stored):
    texts = pd.Series(["one", None, "two"] * 20)
    forest.frame = pd.DataFrame({"text": texts, "number": np.arange(60.0), "code": pd.Categorical(["a", "b"] * 30)})
    long = [array.values().ravel() for array in stored(forest).values() if 60 in array.shape and not array.names]
    assert len(long) == 3
    assert any((values == np.arange(60.0)).all() for values in long)
    assert any((pd.isna(values) == texts.isna()).all() and values[0] == "one" for values in long)


def test_what_is_in_lists_dicts_and_objects_inside_is_found(forest, columns, stored):
    scaler = StandardScaler().fit(columns)
    scaler.deep = ({"a": [0, {"b": columns[:7]}]}, None)
    forest.kept = [scaler]
    assert (stored(forest)["kept[0].deep[0][0][1][0]"].values() == columns[:7]).all()


def test_a_dictionarys_keys_are_values_and_never_part_of_a_path(forest, stored):
    forest.ages = {"Ann": [1, 2], "Bo": [3, 4]}
    forest.nested = {"Ann": {"Bo": np.zeros(3)}, "Cy": 1}
    found = stored(forest)
    assert list(found["ages(keys)"].values()) == ["Ann", "Bo"]
    assert found["ages"].shape == (2, 2)
    assert "nested[0][0]" in found
    assert not any(name in path for path in found for name in ("Ann", "Bo", "Cy"))


def test_fields_of_records_are_columns(forest, stored):
    forest.kept = np.array([(1.5, "x"), (2.5, "y")], dtype=[("a", "f8"), ("b", "U3")])
    assert {path: array.values().tolist() for path, array in stored(forest).items()} == {
        "kept[a]": [1.5, 2.5],
        "kept[b]": ["x", "y"],
    }


def test_an_object_that_refers_to_itself_is_visited_once(forest, columns, stored):
    forest.kept = [columns, forest]
    assert list(stored(forest)) == ["kept[0]"]


@pytest.mark.nightly
def test_a_list_that_is_referred_to_again_and_again_costs_nothing(forest, stored):
    forest.kept = [list(range(2_000))] * 10_000
    array = stored(forest)["kept"]
    assert array.shape == (10_000, 2_000)
    with pytest.raises(ValueError, match="again and again"):
        array.values()


def test_a_sparse_matrix_is_only_written_out_where_it_is_sound_and_small(forest, columns, stored):
    forest.huge = sp.csr_matrix((10**6, 10**6))
    forest.bent = sp.csr_matrix(columns)
    forest.bent.indices[0] = 99
    found = stored(forest)
    for path in ("huge", "bent"):
        with pytest.raises(ValueError, match="sparse matrix"):
            found[path].values()


def test_texts_and_bytes_in_which_a_table_could_stand_are_said_to_be_opaque(forest, dump):
    forest.name, forest.csv, forest.packed = "a name", "1,2\n" * 100, b"\x80" * 300
    forest.several = ["x" * 300, "y"]
    assert set(read(dump(forest)).contents.opaque) == {"csv", "packed", "several"}


@pytest.mark.parametrize(
    "hold",
    [
        lambda text: [[text, "x"], ["y", "z"]],
        lambda text: {"a": {"t": text, "u": 1}, "b": {"t": "x", "u": 2}},
        lambda text: np.array([text, "x"]),
        lambda text: np.array([text.encode(), b"x"]),
        lambda text: np.array([text, None], dtype=object),
    ],
    ids=["table", "dicts", "texts", "bytes", "objects"],
)
def test_a_long_text_is_opaque_among_others_too(hold, forest, dump):
    forest.kept = hold("a,b\n" * 100)
    assert read(dump(forest)).contents.opaque == ("kept",)


def test_encoders_of_a_pipeline_that_is_understood_are_told_by_their_categories(dump):
    frame = pd.DataFrame({"town": ["Oslo", "Rome"] * 10, "grade": [1.0, 2.0, 3.0, 4.0, 5.0] * 4})
    model = make_pipeline(OneHotEncoder(), RandomForestClassifier(2)).fit(frame, [0, 1] * 10)
    model[-1].labels = LabelEncoder().fit(["no", "yes"])
    contents = read(dump(model)).contents
    assert [array.path for array in contents.arrays if array.categories] == [
        "steps[0][1].categories_[0]",
        "steps[0][1].categories_[1]",
        "steps[1][1].labels.classes_",
    ]


@pytest.mark.nightly
def test_the_lengths_that_a_file_explains_are_told(columns, classes, dump):
    search = GridSearchCV(RandomForestClassifier(2), {"max_depth": list(range(1, 12))}, cv=2).fit(columns, classes)
    assert {6, 11} <= read(dump(search)).contents.sizes


def test_a_pipeline_with_a_step_that_is_not_covered_is_read_but_for_its_encoding(columns, classes, dump):
    model = make_pipeline(KNNImputer(), StandardScaler(), RandomForestClassifier(2)).fit(columns, classes)
    artifact = read(dump(model))
    assert artifact.encoder is None
    assert artifact.holds.endswith("behind transformers that are not covered, in a Pipeline")
    assert artifact.not_covered.startswith("model.joblib: it holds a Pipeline with a KNNImputer before its last step")
    assert {"steps[0][1]._fit_X", "steps[1][1].mean_"} <= set(artifact.not_read)
    (kept,) = [array for array in artifact.contents.arrays if array.path == "steps[0][1]._fit_X"]
    assert (kept.values() == columns).all()


def test_no_value_is_in_a_repr(forest, columns, dump):
    forest.kept = np.full(60, 9_871_712)
    artifact = read(dump(forest))
    assert "9871712" not in repr(artifact) + repr(artifact.contents)


def unseeded(forest):
    forest.random_state = None
    for tree in forest.estimators_:
        tree.random_state = None
    return forest


def test_what_is_published_is_told(forest, columns, classes, numbers, dump):
    def of(model) -> Published:
        return published(read(dump(model)))

    counts = "rows of each class"
    assert of(forest) == Published(3, "rows", counts)
    forest.estimators_[0].random_state = forest.random_state = None
    assert of(forest) == Published(2, "rows", counts)
    assert of(unseeded(forest)) == Published(0, "rows", counts)
    forest.random_state = 7  # the trees' seeds follow from it
    assert of(forest) == Published(3, "rows", counts)
    forest.random_state = np.random.RandomState(7)  # it can be run backwards
    assert of(forest) == Published(3, "rows", counts)
    assert of(ExtraTreesClassifier(2).fit(columns, classes)).draws == "thresholds"
    assert of(RandomForestClassifier(2, bootstrap=False).fit(columns, classes)).draws is None
    assert of(RandomForestRegressor(2).fit(columns, numbers)).counts == "rows and mean targets"
    assert of(BaggingClassifier(n_estimators=4).fit(columns, classes)).seeded == 4


def test_what_is_made_on_the_way_hides_nothing_behind_it(forest, columns, stored):
    """A masked array's values are an array of their own, whose place in memory another could take."""
    forest.kept = [np.ma.array(np.arange(3.0 + i), mask=[1] + [0] * (i + 2)) for i in range(20)]
    forest.kept.append(np.ma.array(columns))
    found = stored(forest)
    assert (found["kept[20]"].values() == columns).all()
    assert len([path for path in found if path.startswith("kept[")]) == 21


def test_a_deep_nest_costs_no_more_than_its_size():
    deep: list = [[1.0, 2.0, 3.0]]
    for _ in range(1_900):
        deep = [deep]
    (array,) = contents_of(deep, Budget(Limits(), 10**6)).arrays
    assert len(array.path) < 500


def test_pieces_of_a_list_are_told_together_too(forest, columns, dump):
    forest.kept = [columns[:7], columns[7:30].tolist(), *columns[30]]
    joined = {array.joined: array for array in read(dump(forest)).contents.arrays if array.joined}
    assert (joined["C"].values().astype(float) == columns[:31].ravel()).all()
    forest.kept = [columns[:7].T, columns[7:].T]
    joined = {array.joined: array for array in read(dump(forest)).contents.arrays if array.joined}
    assert (joined["F"].values() == columns.ravel()).all()


@pytest.mark.parametrize("name", ["random_state", "max_samples", "feature_names_in_"])
def test_an_attribute_that_a_reader_asks_for_is_listed_where_it_holds_more(name, forest, columns, stored):
    owner = forest[0] if name == "feature_names_in_" else forest
    setattr(owner, name, columns)
    (path,) = stored(forest)
    assert path.endswith(name)


def test_a_generator_holds_its_state_and_no_table(forest, columns, stored):
    forest.random_state = np.random.RandomState(3)
    forest.spare = np.random.default_rng(3)
    assert stored(forest) == {}
    state = Record(Global("numpy.random._pickle", "__randomstate_ctor"), ("MT19937",))
    state.state = Mapping()
    kept = Array()
    kept.shape, kept.data = columns.shape, columns
    state.state.pairs.append(("key", kept))
    assert [array.path for array in contents_of(state, Budget(Limits(), 10**6)).arrays] == ["key"]


@pytest.mark.nightly
def test_objects_in_cycles_shared_parts_and_deep_nests_are_found_once_in_order():
    first, second = (Record(Global("m", name), ()) for name in ("First", "Second"))
    cycle: list[object] = [first, ("name", second, None)]
    cycle += [cycle, first]
    assert list(objects_in("a", cycle)) == [("a[0]", first), ("a[1][1]", second)]
    shared: list[object] = [first]
    for _ in range(60):
        shared = [shared, shared]
    assert [record for _, record in objects_in("a", shared)] == [first]
    deep: list[object] = [second]
    for _ in range(50_000):
        deep = [deep]
    ((path, record),) = objects_in("a", deep)
    assert record is second
    assert len(path) < 1000
