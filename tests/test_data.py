"""Tables become training data, or are refused in one line; no value of a row is ever shown."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pickle
import pprint
import sys
import traceback
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import ClassCounts, under
from pytest_draft.data import Table, TrainingData, read_domain, read_table, training_data
from pytest_draft.errors import DataError, DraftError, LabelError, NotCoveredError
from pytest_draft.facts.privacy import Privacy

pytest_plugins = ["pytester"]

TEXT, NUMBER = "Zq7Canary", 987654
CANARIES = (TEXT, str(NUMBER))


def forest(names=("age", "female"), classes=(0, 1), n_features=None, **changed) -> Forest:
    leaf = np.array([-1])
    one = np.ones(1)
    tree = Tree(leaf, leaf, leaf, one, one > 0, np.ones((1, len(classes or (0,)))), one, leaf, None)
    made = Forest(
        kind="RandomForestClassifier",
        trees=(tree,),
        n_features=len(names) if n_features is None else n_features,
        feature_names=names,
        classes=classes,
        observation=ClassCounts("shares"),
        draws=Draws(),
        n_samples=None,
        sklearn_version="1.9.1",
    )
    return replace(made, **changed)


def refusal(call, *arguments, kind=DataError) -> str:
    """Return the message of the refusal, after checking that nothing of the data hangs on the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DraftError) as caught:
            call(*arguments)
    error = caught.value
    assert type(error) is kind
    assert error.__cause__ is None
    assert error.__context__ is None
    message = str(error)
    assert message.isprintable(), "a message is one line"
    assert error.args == (message,)
    shown = [message, repr(error), *traceback.format_exception(type(error), error, error.__traceback__)]
    for canary in CANARIES:
        assert canary not in "\n".join(shown)
    return message


@pytest.fixture
def write(tmp_path):
    def write(content, name="train.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def savez(write):
    def savez(**arrays):
        file = io.BytesIO()
        np.savez(file, **arrays)
        return write(file.getvalue(), "train.npz")

    return savez


CSV = f"age,female,y\n{NUMBER},0,1\n20,1,0\n"
ROWS = np.array([[NUMBER, 0], [20, 1]], dtype=np.float32)


def check(found: TrainingData) -> None:
    assert found.rows.dtype == np.float32
    assert found.labels.dtype == np.int64
    np.testing.assert_array_equal(found.rows, ROWS)
    assert found.labels.tolist() == [1, 0]
    assert found.columns == ("age", "female")


# Reading files


def test_a_csv_file_is_read_hashed_and_encoded(write):
    path = write(CSV)
    found = training_data(read_table(path), forest())
    check(found)
    assert found.sha256 == hashlib.sha256(CSV.encode()).hexdigest()
    assert found.source == str(path)
    assert found.unused == ()


def test_a_gzipped_csv_file_is_hashed_as_it_lies_on_disk(write):
    packed = gzip.compress(CSV.encode())
    found = training_data(read_table(write(packed, "train.csv.gz")), forest())
    check(found)
    assert found.sha256 == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("name", ["train.parquet", "train.pq", "TRAIN.PARQUET"])
def test_a_parquet_file_is_read_hashed_and_encoded(write, name):
    file = io.BytesIO()
    pd.read_csv(io.StringIO(CSV)).to_parquet(file)
    found = training_data(read_table(write(file.getvalue(), name)), forest())
    check(found)
    assert found.sha256 == hashlib.sha256(file.getvalue()).hexdigest()


@pytest.mark.parametrize("name", ["train.parquet", "train.pq", "TRAIN.PARQUET"])
def test_without_pyarrow_a_parquet_file_is_refused_in_one_line_that_names_the_extra(write, monkeypatch, name):
    path = write(b"PAR1", name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert str(caught.value) == f"{path}: reading Parquet needs pyarrow: pip install 'pytest-draft[parquet]'"


@pytest.mark.parametrize("packed", [False, True])
def test_without_pyarrow_other_tables_are_read_as_with_it(write, monkeypatch, packed):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(gzip.compress(CSV.encode()), "train.csv.gz") if packed else write(CSV)
    check(training_data(read_table(path), forest()))


def test_a_broken_parquet_file_is_not_taken_for_a_missing_pyarrow(write):
    with pytest.raises(DataError) as caught:
        read_table(write(b"PAR1", "train.parquet"))
    assert "cannot be parsed as Parquet" in str(caught.value)
    assert "pip install" not in str(caught.value)


@pytest.mark.parametrize("names", [{}, {"columns": ["female", "age"]}, {"feature_names": [b"female", b"age"]}])
def test_an_npz_file_is_read_by_its_names_or_by_position(savez, names):
    features = ROWS[:, ::-1] if names else ROWS
    path = savez(X=features, y=[1, 0], **names)
    found = training_data(read_table(str(path)), forest())
    check(found)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_npz_file_without_names_gets_the_conventional_ones(savez):
    found = training_data(read_table(savez(X=ROWS, y=[1, 0])), forest(None, n_features=2))
    assert found.columns == ("x0", "x1")


def test_an_npz_file_s_labels_may_be_an_array_of_another_name_or_a_column(savez):
    path = savez(X=ROWS, y=[5, 5], label=[1, 0])
    check(training_data(read_table(path), forest(), "label"))
    wide = np.column_stack([ROWS, [1, 0]])
    path = savez(X=wide, columns=["age", "female", "label"])
    check(training_data(read_table(path), forest(), "label"))
    check(training_data(read_table(path), forest()))


def test_an_npz_file_without_its_label_array_asks_for_the_option(savez):
    table = read_table(savez(X=ROWS, other=[NUMBER, 0]))
    assert "no array 'y'" in refusal(training_data, table, forest(), kind=LabelError)
    assert "--draft-target" in refusal(training_data, table, forest(), kind=LabelError)
    assert "no array or column 'z'" in refusal(training_data, table, forest(), "z", kind=LabelError)


def test_object_arrays_of_an_npz_file_are_refused_only_where_they_are_needed(savez):
    labels = np.array([TEXT, None], dtype=object)
    path = savez(X=ROWS, y=[1, 0], label=labels)
    check(training_data(read_table(path), forest()))
    message = refusal(training_data, read_table(path), forest(), "label", kind=LabelError)
    assert "array 'label' holds Python objects" in message
    assert "array 'X' holds Python objects" in refusal(read_table, savez(X=ROWS.astype(object)))
    assert "array 'columns' must be 1-D text" in refusal(read_table, savez(X=ROWS, columns=[[1], [2]]))


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"Z": ROWS}, "no array 'X'"),
        ({"X": ROWS[0]}, "array 'X' has 1 dimensions"),
        ({"X": ROWS, "columns": ["age"]}, "has 1 names, but array 'X' has 2 columns"),
        ({"X": ROWS, "columns": ["age", "age"]}, "more than once"),
        ({"X": ROWS[:0], "y": []}, "no rows"),
        ({"X": np.zeros((2, 2), dtype=[("a", "f4")])}, "array 'X' does not hold numbers"),
    ],
)
def test_a_wrong_npz_file_is_refused(savez, arrays, said):
    assert said in refusal(read_table, savez(**arrays))


@pytest.mark.parametrize("name", ["d.pkl", "d.PICKLE", "d.joblib"])
def test_pickles_are_not_read(write, name):
    message = refusal(read_table, write(pickle.dumps(TEXT), name))
    assert "pickles are not read; give .csv, .csv.gz, .parquet or .npz" in message


@pytest.mark.parametrize("name", ["d.npz", "d.parquet", "d.csv.gz"])
@pytest.mark.parametrize("content", [pickle.dumps(TEXT), TEXT.encode(), b"", b"PK\x03\x04" + TEXT.encode()])
def test_a_file_that_is_not_what_its_suffix_says_is_refused(write, name, content):
    assert name in refusal(read_table, write(content, name))


def test_a_damaged_npz_file_is_refused(savez, write):
    whole = bytearray(savez(X=np.full((50, 2), float(NUMBER)), y=[TEXT] * 50).read_bytes())
    whole[200] ^= 255
    assert "cannot be read as .npz" in refusal(read_table, write(bytes(whole), "damaged.npz"))


@pytest.mark.parametrize("name", ["d.xlsx", "d", "csv", "d.npy"])
def test_other_suffixes_are_refused(write, name):
    assert "not a table of a known kind; give .csv" in refusal(read_table, write(CSV, name))


def test_only_regular_files_that_exist_are_read(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    assert "not a regular file" in refusal(read_table, tmp_path / "folder.csv")
    assert "no such file" in refusal(read_table, tmp_path / "none.csv")
    assert "is a URL, which is not read: download" in refusal(read_table, "http://localhost:1/none.csv")
    assert "not a path" in refusal(read_table, "\0.csv")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo.csv")
        assert "not a regular file" in refusal(read_table, tmp_path / "fifo.csv")


def test_a_path_cannot_break_the_line(tmp_path):
    assert "\\n::error:" not in refusal(read_table, tmp_path / "a\n::error::b.csv")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("age,female,y\n", "no rows"),
        (f"age,y\n1,0\n{NUMBER},{TEXT},1\n", "line 3 has 3 fields, not 2"),
        (f"age,y\n{NUMBER},1,5\n{NUMBER},1,5\n", "more fields than its header"),
        (f'age,y\n1,0\n{NUMBER},"{TEXT}\n', "is never closed"),
        (f"age,y\n{NUMBER},{TEXT}\xff\n".encode("latin-1"), "not UTF-8"),
        (f"age,{TEXT}\xff\n1,2\n".encode("latin-1"), "not UTF-8"),
        (f"{TEXT},y,{TEXT}\n1,2,3\n", "1 of its 3 column names appear more than once"),
        (f"{NUMBER},0,1,0\n1,1,1,0\n", "more than once"),
        (f"{NUMBER},0.5,1\n1,1,1\n", "line 1 has numbers only"),
    ],
)
def test_a_wrong_csv_file_is_refused_without_a_word_of_its_content(write, content, said):
    message = refusal(read_table, write(content))
    assert "train.csv: " in message
    assert said in message


def test_whatever_the_parser_raises_is_not_passed_on(write, monkeypatch):
    def read_csv(*_, **__):
        raise RuntimeError(f"Error tokenizing data. C error: Expected 2 fields in line {NUMBER}, {TEXT}")

    monkeypatch.setattr(pd, "read_csv", read_csv)
    assert refusal(read_table, write(CSV)).endswith("cannot be parsed as CSV (RuntimeError)")


def test_a_csv_file_keeps_numbered_unnamed_and_marked_headers(write):
    found = read_table(write("\ufeff0,1,2\n5,6,7\n"))
    assert list(found.frame.columns) == ["0", "1", "2"]
    found = training_data(read_table(write(",age,female,y\n7,1,0,1\n8,2,0,1\n")), forest(), "y")
    assert found.unused == ("Unnamed: 0",)


def test_a_csv_file_s_numbers_are_read_exactly(write):
    value = 0.1 + 2**-54 * 3
    found = read_table(write(f"a,y\n{value!r},1\n")).frame
    assert found["a"][0] == value


# Selecting columns


def test_columns_are_matched_by_name_and_the_rest_is_unused(write):
    table = read_table(write(f"id,y,female,age\n{NUMBER},1,0,{NUMBER}\n5,0,1,20\n"))
    found = training_data(table, forest(), "y")
    check(found)
    assert found.unused == ("id",)


def test_without_a_target_one_column_besides_the_features_is_the_label(write):
    message = refusal(training_data, read_table(write("id,age,female,y\n1,2,0,1\n")), forest(), kind=LabelError)
    assert "2 columns are not features" in message
    assert "--draft-target" in message
    assert "--draft-target" in refusal(training_data, read_table(write("age,female\n2,0\n")), forest(), kind=LabelError)
    unnamed = forest(None, n_features=2)
    assert "no feature names" in refusal(training_data, read_table(write(CSV)), unnamed, kind=LabelError)
    check(training_data(read_table(write(CSV)), unnamed, "y"))


def test_a_target_must_be_a_column_and_no_feature(write):
    table = read_table(write(CSV))
    assert "no column 'z'" in refusal(training_data, table, forest(), "z", kind=LabelError)
    assert "is one of the forest's features" in refusal(training_data, table, forest(), "age", kind=LabelError)


def test_missing_features_are_named_in_one_error(write):
    table = read_table(write(CSV))
    message = refusal(training_data, table, forest(("age", "a", "b::", "c\n", "d")), "y")
    assert "4 of the 5 columns of the forest are missing: 'a', 'b:\\\\x3a', 'c\\\\n', 'd' (the table has" in message
    message = refusal(training_data, table, forest(("age", "a")), "y")
    assert "1 of the 2 columns of the forest are missing: 'a' (the table has 'female' besides); give" in message


def test_by_position_the_number_of_columns_is_checked(savez, write):
    message = refusal(training_data, read_table(savez(X=ROWS, y=[1, 0])), forest(("a", "b", "c")))
    assert "2 feature columns, but the forest takes 3" in message
    table = read_table(write(f"id,{CSV}"))
    assert "the forest takes 2" in refusal(training_data, table, forest(None, n_features=2), "y")


# Features


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        np.array([1, 0], dtype=np.uint8),
        np.array([1, 0], dtype=np.float16),
        pd.array([1, 0], dtype="Int64"),
        pd.array([True, False], dtype="boolean"),
        pd.array([1.0, 0.0], dtype="float64[pyarrow]"),
        pd.array([1, 0], dtype=pd.SparseDtype("int64", 0)),
        pd.Categorical([1, 0]),
        np.array([True, 0], dtype=object),
        np.array([Decimal(1), Decimal(0)], dtype=object),
    ],
    ids=lambda values: str(getattr(values, "dtype", "list")),
)
def test_numbers_and_truth_values_of_any_type_are_features(values):
    frame = pd.DataFrame({"a": values, "y": [0, 1]})
    found = training_data(frame, forest(("a",)))
    assert found.rows.ravel().tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "values",
    [
        [1.0, float("nan")],
        pd.array([1, None], dtype="Int64"),
        pd.array([True, None], dtype="boolean"),
        np.array([True, None], dtype=object),
        np.array([1, pd.NA], dtype=object),
    ],
    ids=lambda values: str(getattr(values, "dtype", "list")),
)
def test_missing_values_are_left_to_the_domain(values):
    found = training_data(pd.DataFrame({"a": values, "y": [0, 1]}), forest(("a",)))
    assert found.rows[0, 0] == 1
    assert np.isnan(found.rows[1, 0])


def test_empty_cells_and_the_words_for_nothing_are_missing_in_a_csv(write):
    table = read_table(write("age,female,y\n,True,0\nNA,,1\nNaN,False,0\nnull,None,1\n3.5,True,0\n"))
    rows = training_data(table, forest()).rows
    assert np.isnan(rows).tolist() == [[True, False], [True, True], [True, False], [True, True], [False, False]]
    assert rows[[0, 2, 4], 1].tolist() == [1, 0, 1]
    assert rows[4, 0] == 3.5


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "object"])
def test_a_column_of_nothing_else_is_missing_whatever_its_type(kind):
    frame = pd.DataFrame({"a": pd.Series([None, None], dtype=kind), "y": [0, 1]})
    assert np.isnan(training_data(frame, forest(("a",))).rows).all()


SAYS = "training data given in memory: column 'b' has 2 missing values, "


@pytest.mark.parametrize(
    ("kind", "version", "error", "said"),
    [
        (
            "DecisionTreeClassifier",
            "1.2.2",
            DataError,
            "which DecisionTreeClassifier of scikit-learn 1.2 does not take",
        ),
        ("RandomForestRegressor", "1.3.2", DataError, "which RandomForestRegressor of scikit-learn 1.3 does not"),
        ("ExtraTreesClassifier", "1.5.2", DataError, "which ExtraTreesClassifier of scikit-learn 1.5 does not take"),
        ("ExtraTreeRegressor", "1.5.2", DataError, "which ExtraTreeRegressor of scikit-learn 1.5 does not take"),
        ("DecisionTreeClassifier", "1.3.0", NotCoveredError, "and scikit-learn 1.3 need not count them where it sends"),
        ("RandomForestClassifier", "1.4.0", NotCoveredError, "and scikit-learn 1.4 need not count them where it sends"),
        ("ExtraTreesRegressor", "1.6.1", NotCoveredError, "and scikit-learn 1.6 need not count them where it sends"),
        ("BaggingClassifier", "1.8.0", NotCoveredError, "and scikit-learn 1.8 need not count them where it sends"),
        (
            "BaggingClassifier",
            None,
            NotCoveredError,
            "and the model file does not tell which scikit-learn counted them",
        ),
    ],
)
def test_missing_values_are_refused_where_the_forest_cannot_take_or_count_them(kind, version, error, said):
    old = forest(("a", "b"), kind=kind, sklearn_version=version)
    frame = pd.DataFrame({"a": [1, 0, 1], "b": [NUMBER, None, None], "y": [0, 1, 0]})
    assert refusal(training_data, frame, old, kind=error).startswith(SAYS + said)
    read = training_data(frame, forest(("a", "b"), kind=kind))
    assert np.isnan(read.rows[:, 1]).tolist() == [False, True, True]
    assert refusal(training_data, read, old, kind=error).startswith(SAYS + said)
    training_data(frame.fillna(0), old)


def test_missing_values_are_refused_for_private_forests():
    private = forest(("a",), observation=under(Privacy("permute-and-flip", 1.0)))
    message = refusal(training_data, pd.DataFrame({"a": [1, None], "y": [0, 1]}), private)
    assert "column 'a' has 1 missing values, which private forests do not take" in message


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([TEXT, "b"], "holds text"),
        ([TEXT, None], "holds text"),
        (pd.Categorical([TEXT, "b"]), "holds text"),
        (np.array([1, TEXT], dtype=object), "holds text"),
        (np.array([1, [NUMBER]], dtype=object), "holds text"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "holds dates"),
        ([1j, NUMBER], "holds complex numbers"),
        ([float("inf"), NUMBER], "has 1 values that are infinite or too large for float32"),
        ([-1e39, 1e39], "has 2 values that are infinite or too large for float32"),
        (np.array([NUMBER * 10**400, 1], dtype=object), "too large for float32"),
    ],
)
def test_a_feature_that_trees_cannot_see_is_refused_by_its_name(values, said):
    values = pd.Series(values, dtype=getattr(values, "dtype", None))
    frame = pd.concat({"a\n": values, "y": pd.Series([0, 1])}, axis=1)
    message = refusal(training_data, frame, forest(("a\n",)))
    assert message.startswith("training data given in memory: column 'a\\\\n'")
    assert said in message


def test_text_in_a_csv_file_is_refused_by_its_name_and_file(write):
    table = read_table(write(f"age,female,y\n{TEXT},0,1\n{NUMBER},1,0\n"))
    message = refusal(training_data, table, forest())
    assert message.endswith("column 'age' holds text in 1 of 2 cells; give the data encoded as the model was trained")
    assert "train.csv: " in message


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (('"1,5"', '"2,5"'), "decimal commas in 2 of 3 cells; give numbers with points"),
        (('"1,5"', "?"), "text in 2 of 3 cells; give the data encoded as the model was trained"),
        (("yes", "4"), "text in 1 of 3 cells; give the data encoded as the model was trained"),
    ],
)
def test_cells_that_are_no_numbers_are_counted(write, cells, said):
    one, other = cells
    table = read_table(write(f"age,female,y\n{one},0,1\n{other},1,0\n,1,0\n"))
    assert refusal(training_data, table, forest()).endswith(f"column 'age' holds {said}")


# Labels


@pytest.mark.parametrize(
    "classes",
    [(0, 1), (0.0, 1.0), (False, True), ("0", "1"), ("0.0", "1.0"), ("False", "True"), ("00", "01")],
)
@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, 0]),
        np.array([1.0, 0.0]),
        np.array([True, False]),
        np.array([1, 0], dtype=np.uint8),
        np.array(["1", "0"]),
        np.array(["1.0", " 0"]),
        np.array(["True", "False"]),
        np.array([b"1", b"0"]),
        np.array([1, "0"], dtype=object),
        np.array([[1], [0]]),
        pd.Series([1, 0], index=[7, 7], dtype="Int64"),
        pd.Series(pd.Categorical(["1", "0"])),
        pd.Series(["1", "0"], dtype="string[pyarrow]"),
        [1, 0],
    ],
    ids=lambda labels: str(getattr(labels, "dtype", "list")),
)
def test_labels_are_matched_to_classes_by_value(classes, labels):
    check(training_data((ROWS, labels), forest(classes=classes)))


def test_text_labels_are_matched_as_they_are(write):
    found = training_data(read_table(write("age,female,y\n1,0,yes\n2,0,no\n3,0,no\n")), forest(classes=("no", "yes")))
    assert found.labels.tolist() == [1, 0, 0]


def test_classes_that_are_the_same_number_are_told_apart_by_their_text_only(write):
    classes = ("01", "1")
    found = training_data((ROWS, ["1", "01"]), forest(classes=classes))
    assert found.labels.tolist() == [1, 0]
    assert "2 of 2 rows have a label" in refusal(training_data, (ROWS, [1, 1]), forest(classes=classes))


@pytest.mark.parametrize(
    "labels", [[TEXT, 0], [NUMBER, 0], [0.5, 0], ["", 0], np.array([1j, 0]), np.array(["2020"] * 2, "M8[D]")]
)
def test_unknown_labels_are_counted_and_not_shown(labels):
    message = refusal(training_data, (ROWS, labels), forest())
    assert (
        "of 2 rows have a label that the forest does not know; give the labels that it was trained with (2 classes, "
        "as numbers)" in message
    )


def test_no_class_is_shown_because_one_person_may_have_it():
    classes = ("a\n::error::", *(f"c{index}" for index in range(14)))
    message = refusal(training_data, (ROWS, [TEXT, TEXT]), forest(classes=classes))
    assert message.endswith("give the labels that it was trained with (15 classes, as text)")
    assert "::error" not in message


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("other", [NUMBER, TEXT])
def test_missing_labels_are_counted(nothing, other):
    labels = np.array([nothing, other], dtype=object)
    assert "1 of 2 rows have no label" in refusal(training_data, (ROWS, labels), forest())


@pytest.mark.parametrize("labels", [[1], [[1, 0], [0, 1]], 1, [1, 0, NUMBER], [[TEXT], [TEXT, 1]]])
def test_labels_of_another_shape_are_refused(labels):
    assert refusal(training_data, (ROWS, labels), forest())


def test_labels_that_are_neither_numbers_nor_text_are_refused():
    labels = np.array([None, None], dtype=object)
    labels[:] = [[TEXT], {NUMBER}]
    assert "neither numbers nor text" in refusal(training_data, (ROWS, labels), forest())


@pytest.mark.parametrize("target", ["y", None])
def test_a_regressors_targets_are_not_looked_at_and_may_be_missing(target, write):
    regressor, unnamed = forest(classes=None), forest(None, None, 2)
    for given in (read_table(write(CSV)), read_table(write(CSV.replace(",0\n", f",{TEXT}\n")))):
        found = training_data(given, regressor, target)
        np.testing.assert_array_equal(found.rows, ROWS)
        assert found.labels.tolist() == [0, 0]
        assert found.unused == ()
        assert training_data(found, regressor) is found
    without = read_table(write("\n".join(line.rsplit(",", 1)[0] for line in CSV.splitlines())))
    for each in (regressor, unnamed):
        np.testing.assert_array_equal(training_data(without, each).rows, ROWS)
    assert "all of the model's columns are there, but no labels" in refusal(
        training_data, without, regressor, "y", kind=LabelError
    )
    assert "which column holds the labels is not clear" in refusal(
        training_data, read_table(write(CSV)), unnamed, kind=LabelError
    )


# In-memory data


def test_a_data_frame_or_a_tuple_may_stand_in_for_a_file():
    frame = pd.DataFrame({"female": [0, 1], "age": [NUMBER, 20], "y": [1, 0]}, index=[4, 4])
    for given in (frame, (frame[["female", "age"]], frame["y"]), (ROWS.tolist(), [1, 0])):
        found = training_data(given, forest())
        check(found)
        assert found.sha256 is None
        assert found.source == "given in memory"
    unnamed = pd.DataFrame(ROWS)
    unnamed["y"] = [1, 0]
    check(training_data(unnamed, forest(), "y"))
    check(training_data((pd.DataFrame(ROWS), [1, 0]), forest(), "not used"))


@pytest.mark.parametrize(
    "given",
    [
        None,
        TEXT,
        [NUMBER],
        ROWS,
        (ROWS,),
        (ROWS[0], [1, 0]),
        ([[1], [TEXT, NUMBER]], [1, 0]),
        (ROWS[:0], []),
        pd.DataFrame({"age": [], "female": [], "y": []}),
        pd.DataFrame(np.column_stack([ROWS, ROWS[:, 1]]), columns=["age", "y", "y"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_other_things_in_memory_are_refused(given):
    assert refusal(training_data, given, forest()).startswith("training data given in memory: ")


def test_training_data_that_fit_are_returned_as_they_are():
    found = training_data((ROWS, [1, 0]), forest())
    assert training_data(found, forest()) is found
    assert "the forest takes 1" in refusal(training_data, found, forest(("a",)))
    assert "forest's 1 classes" in refusal(training_data, found, forest(classes=(0,)))


def test_training_data_are_checked_and_their_arrays_frozen():
    labels = np.array([1, 0])
    names = ("age", "female")
    infinite = np.full_like(ROWS, np.inf)
    for arguments, said in (
        ((ROWS.astype(np.float64), labels, names), "rows must be a 2-D array of float32"),
        ((ROWS, labels.astype(float), names), "labels must be a 1-D array of int64"),
        ((ROWS, labels[:1], names), "2 rows but 1 labels"),
        ((ROWS, labels, ("age",)), "2 columns of rows but 1 column names"),
        ((ROWS[:0], labels[:0], names), "no rows"),
        ((ROWS, labels - 1, names), "from 0"),
        ((infinite, labels, names), "infinite"),
    ):
        assert said in refusal(TrainingData, *arguments, None, "given in memory")
    source = ROWS.copy()
    found = training_data((source, [1, 0]), forest())
    with pytest.raises(ValueError, match="read-only"):
        found.rows[0, 0] = 0
    source[0, 0] = 5
    check(found)


# Privacy


def test_reprs_show_no_value(write):
    table = read_table(write(f"age,female,y,note\n{NUMBER},0,1,{TEXT}\n20,1,0,{TEXT}\n"))
    found = training_data(table, forest(), "y")
    shown = [form(item) for item in (table, found) for form in (repr, str, format, pprint.pformat)]
    assert not any(canary in text for text in shown for canary in CANARIES)
    assert "2 rows, 2 columns" in repr(found)
    assert "values not shown" in repr(table)
    memory = Table(pd.DataFrame({"a": [NUMBER]}), None, "given in memory", {"y": np.array([TEXT])})
    assert repr(memory) == "Table(1 rows, 1 columns, given in memory, values not shown)"


@pytest.mark.nightly
def test_pytest_shows_no_value_in_the_tracebacks_of_a_failed_test(write, pytester):
    table = write(f"age,female,y\n{NUMBER},0,{TEXT}\n{NUMBER},{TEXT},0\n")
    broken = write(f"age,female,y\n{NUMBER},0,1\n{NUMBER},{TEXT},0,5\n", "broken.csv")
    pytester.makepyfile(
        f"""
        from pytest_draft.data import TrainingData, read_table, training_data
        from types import SimpleNamespace
        import numpy as np

        FOREST = SimpleNamespace(classes=(0, 1), n_features=2, n_classes=2, feature_names=("age", "female"))

        def test_text():
            table = read_table({str(table)!r})
            training_data(table, FOREST)

        def test_labels():
            FOREST.feature_names = ("age",)
            table = read_table({str(table)!r})
            training_data(table, FOREST, "y")

        def test_broken():
            read_table({str(broken)!r})

        def test_own():
            TrainingData(np.array([[1234 + 986420.0]]), np.array([0]), ("age",), None, "given in memory")

        def test_tuple():
            training_data((np.array([[1234 + 986420.0] * 3]), [0]), FOREST)
        """
    )
    result = pytester.runpytest("--showlocals", "--tb=long", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=5)
    output = result.stdout.str() + result.stderr.str()
    assert not any(canary in output for canary in CANARIES)
    result.stdout.fnmatch_lines(
        ["*DataError: *column 'female' holds text in 1 of 2 cells*", "*line 3 has 4 fields, not 3*"]
    )


# Domain files

COLUMNS = ("age", "female", "job_a", "job_b")
DOMAIN = """
[attributes.age]
kind = "ordinal"
low = 18
high = 90
[attributes."job"]
kind = "one-hot"
columns = ["job_a", 3]
"""


def test_a_domain_file_declares_each_attribute(write):
    path = write(DOMAIN + '[attributes.female]\nkind = "binary"\n', "domain.toml")
    found = read_domain(path, COLUMNS)
    assert {one.name: (one.kind, one.columns) for one in found.attributes} == {
        "age": ("ordinal", (0,)),
        "female": ("binary", (1,)),
        "job": ("one-hot", (2, 3)),
    }
    assert found.source == str(path)


def test_others_makes_the_remaining_columns_binary(write):
    found = read_domain(write('others = "binary"\r\n' + DOMAIN, "domain.toml"), COLUMNS)
    assert ("female", "binary", (1,)) in [(one.name, one.kind, one.columns) for one in found.attributes]
    found = read_domain(write('others = "binary"', "domain.toml"), COLUMNS)
    assert [one.kind for one in found.attributes] == ["binary"] * 4


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("other = 1", "unknown key 'other'"),
        ('"a\\n::error::" = 1', "unknown key 'a"),
        ('others = "ordinal"', "key 'others' must be \"binary\""),
        ("others = 1", "key 'others' must be"),
        ("attributes = 1", "key 'attributes' must be tables"),
        ("[attributes]\nage = 1", "attribute 'age' must be a table"),
        (DOMAIN, "column 'female' belongs to no attribute"),
        ("[attributes.none]\nkind = 'binary'", "no column 'none'"),
        ("[attributes.age]\nkind = 'ordinal'\nlow = 5\nhigh = 1", "bounds must be finite and in order"),
        (f"[attributes.age]\nkind = 'numeric'\nlow = 5\nhigh = 1{'0' * 400}", "is too large a number"),
        (
            "others = 'binary'\n[attributes.female]\nkind = 'one-hot'\ncolumns = ['job_a', 'job_b']",
            "column 'female' belongs to no attribute",
        ),
        ("others = 'binary'\n[attributes.age]\nkind = 'binary'\ncolumns = 'age'", "must be a list"),
        ("others = 'binary'\n[attributes.age]\nkind = 'binary'\ncolumns = [[1]]", "no column"),
        (f"[attributes.age]\n\n{TEXT} 5", "line 3: not valid TOML"),
        (f"[attributes.age]\n[attributes.age]\n{TEXT} = 1", "line 2: not valid TOML"),
        (f'a = {{"{TEXT}" = 1, "{TEXT}" = 1}}', "line 1: not valid TOML"),
        (f'a = "{TEXT}', "not valid TOML"),
        (b"a = '\xff'", "not UTF-8"),
        ("a = " + "[" * 5000, "nested more than 32 deep"),
        (CSV, "line 1: not valid TOML"),
    ],
)
def test_a_wrong_domain_file_is_refused_with_its_name_and_the_place(write, content, said):
    message = refusal(read_domain, write(content, "domain.toml"), COLUMNS)
    assert "domain.toml: " in message
    assert message.count("domain.toml") == 1
    assert said in message


def test_a_domain_file_must_be_a_regular_file(tmp_path):
    assert "no such file" in refusal(read_domain, tmp_path / "domain.toml", COLUMNS)
    assert "not a regular file" in refusal(read_domain, tmp_path, COLUMNS)
