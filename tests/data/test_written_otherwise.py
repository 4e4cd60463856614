"""However a table is written, it is one table: separators, decimal commas, cells for nothing, and names of columns."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.data import holdout_of, read_table, training_data
from pytest_draft.errors import DataError, LabelError
from pytest_draft.facts.contents import Rarest
from pytest_draft.timebox import TimeBox
from tests.test_data import forest

NAMES = ("age", "fare, EUR", "note", "flag")


def made_up(seed: int) -> pd.DataFrame:
    """Return a table of whole and other numbers with gaps, texts with all separators in them, and labels."""
    random = np.random.default_rng(seed)
    n_rows = int(random.integers(5, 60))
    fares = (random.normal(size=n_rows) * 10.0 ** random.integers(-8, 8, n_rows)).round(int(random.integers(1, 12)))
    fares[0] = 0.5
    table = pd.DataFrame(
        {
            "age": random.integers(0, 99, n_rows),
            "fare, EUR": np.where(random.random(n_rows) < 0.1, np.nan, fares),
            "note": random.choice(['a,b;c\td|e "f"', "x\ny", "1;2", "", "7"], n_rows),
            "flag": random.choice([True, False], n_rows),
            "y": random.integers(0, 2, n_rows),
        }
    )
    return table.iloc[:, random.permutation(5)]


def written(table: pd.DataFrame, folder, name: str = "train.csv", **how):
    table.to_csv(folder / name, index=False, **how)
    return read_table(folder / name)


DIALECTS = [
    ("a.csv", {"sep": ";"}),
    ("b.csv", {"sep": ";", "decimal": ","}),
    ("c.csv", {"sep": "\t"}),
    ("d.tsv", {"sep": "\t", "decimal": ","}),
    ("e.tab", {"sep": "\t", "quoting": 1}),
    ("f.csv", {"sep": "|", "decimal": ",", "lineterminator": "\r\n"}),
    ("g.csv.gz", {"sep": ";", "decimal": ",", "encoding": "utf-8-sig"}),
    ("h.tsv", {}),
]


@pytest.mark.nightly(quick=18)
@pytest.mark.parametrize(("name", "how"), DIALECTS, ids=[name for name, _ in DIALECTS])
@pytest.mark.parametrize("seed", range(8))
def test_a_table_with_another_separator_is_the_same_table_bit_for_bit(seed, name, how, tmp_path):
    table = made_up(seed)
    expected = written(table, tmp_path).frame
    found = written(table, tmp_path, name, **how).frame
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    model = forest(("fare, EUR", "age", "flag"))
    one, other = (training_data(given.drop(columns="note"), model, "y") for given in (found, expected))
    assert one.rows.tobytes() == other.rows.tobytes()
    assert one.labels.tobytes() == other.labels.tobytes()


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_a_name_in_quotes_holds_any_separator(sep, tmp_path):
    table = pd.DataFrame({"a,b": [1, 2], "c;d|e": [3, 4], "f\tg": [5, 6]})
    assert list(written(table, tmp_path, sep=sep).names) == list(table)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b;c\n1,5;2\n2,5;1\n", "line 1 has commas and semicolons, and all lines can be parted at each of them"),
        ("a;b|c\n1;5|2\n", "line 1 has semicolons and bars, and all lines can be parted at each of them"),
        ("a;b\n987654,2\n3,4\n", "line 1 has semicolons, and other lines have other numbers of them"),
        ("a;b;y\n1,5;2.5;1\n2,5;3.5;0\n", "decimal commas in some columns and points in others"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_what_to_do(text, said, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "t.csv")
    assert said in str(caught.value)
    assert "save it with commas between columns and points in numbers" in str(caught.value)
    assert "987654" not in str(caught.value)


@pytest.mark.parametrize("cells", [["1,5", "2.5"], ["1.234,5", "2,5"], ["1,5", "yes"], ["1,2,3", "1,5"]])
def test_texts_that_are_no_decimal_commas_stay_texts(cells, tmp_path):
    found = written(pd.DataFrame({"a": cells, "b": [1, 2]}), tmp_path, sep=";").frame
    assert found["a"].tolist() == cells


GAPS = ["?", " ? ", "-", "na", "NA", "N/A", "", " ", "NaN", "null", "None", "n/a"]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("how", [{}, {"sep": ";", "decimal": ","}])
def test_a_cell_for_nothing_is_missing_among_numbers(gap, how, tmp_path):
    table = pd.DataFrame({"a": [1.5, 0.1, 3.0, 7.0], "y": [0, 1, 0, 1]})
    texts = table.assign(a=[str(a).replace(".", how.get("decimal", ".")) for a in table["a"]])
    texts.loc[2, "a"] = gap
    table.loc[2, "a"] = np.nan
    given = written(texts, tmp_path, "texts.csv", sep=how.get("sep", ","))
    found, expected = (training_data(one, forest(("a",))) for one in (given, written(table, tmp_path)))
    assert found.rows.tobytes() == expected.rows.tobytes()
    by_pandas = gap in ("NA", "N/A", "", "NaN", "null", "None", "n/a")
    named = {"": "blanks", "na": "'na'"}.get(gap.strip(), repr(gap.strip()))
    assert found.notes == ([] if by_pandas else [f"column 'a' holds {named} in 1 of 4 cells: taken as missing"])


@pytest.mark.parametrize("cells", [["?", "yes"], ["?", "?"], ["??", "1"], ["x", "-"], ["missing", "1"]])
def test_other_cells_stay_texts(cells, tmp_path):
    assert written(pd.DataFrame({"a": cells, "b": [1, 2]}), tmp_path).frame["a"].tolist() == cells


def test_a_model_that_takes_no_missing_values_says_which_column_holds_what(tmp_path):
    given = written(pd.DataFrame({"a": [1, 2, 3], "ca": ["0", "?", "?"], "y": [0, 1, 0]}), tmp_path)
    old = forest(("a", "ca"), kind="RandomForestClassifier", sklearn_version="1.3.2")
    with pytest.raises(DataError, match=r"column 'ca' has 2 missing values \('\?' in 2 of 3 cells\), which Random"):
        training_data(given, old)


@pytest.fixture
def fitted(tmp_path):
    """Return a function that saves a fitted pipeline and returns its artifact."""

    def of(model, table: pd.DataFrame):
        import joblib

        joblib.dump(model.fit(table.drop(columns="y"), table["y"]), tmp_path / "model.joblib")
        return read(tmp_path / "model.joblib")

    return of


@pytest.mark.parametrize("kind", ["category", "gap in texts", "numbers"])
def test_a_question_mark_that_the_file_knows_is_what_it_knows(kind, fitted, tmp_path):
    table = pd.DataFrame({"ca": list("0123" * 10), "n": np.arange(40), "y": [0, 1] * 20})
    table.loc[[5], "ca"] = "?"
    step = {
        "category": OneHotEncoder(),
        "gap in texts": make_pipeline(SimpleImputer(missing_values="?", strategy="most_frequent"), OneHotEncoder()),
        "numbers": make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
    }[kind]
    of_fit = table.assign(ca=pd.to_numeric(table["ca"], errors="coerce")) if kind == "numbers" else table
    columns = make_column_transformer((step, ["ca"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(3, max_depth=3, random_state=0))
    artifact, given = fitted(model, of_fit), written(table, tmp_path)
    found = training_data(given, artifact.model, "y", artifact.encoder)
    np.testing.assert_array_equal(found.rows, model[:-1].transform(of_fit.drop(columns="y")).astype(np.float32))
    assert bool(found.notes) == (kind == "numbers")
    pd.testing.assert_frame_equal(given.as_written, table)
    held = holdout_of(given, found, "y", artifact.encoder)
    assert held.rows.tobytes() == found.rows.tobytes()
    if kind == "category":
        rarest = inspect_contents(artifact, given, found, TimeBox(60.0)).rarest
        assert Rarest("steps[0][1].transformers_[0][1].categories_[0]", 1, 1) in rarest


# Names of columns

RAW = pd.DataFrame(
    {"age": range(40), "resting bp": [7, 5] * 20, "max rate": [1, 2, 3, 4] * 10, "ST-slope": [0, 1] * 20}
)
RAW["y"] = (RAW["age"] > 20).astype(int)
NUMBERS = ["age", "resting_bp", "max_rate"]


def named(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns=lambda name: name.replace(" ", "_").replace("-", "_"))


def pipelines() -> dict[str, object]:
    trees = RandomForestClassifier(3, max_depth=2, random_state=0)
    scaled = make_column_transformer((StandardScaler(), NUMBERS), remainder="passthrough")
    more = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["ST_slope"]))
    return {"alone": trees, "as many": make_pipeline(scaled, trees), "more": make_pipeline(more, trees)}


@pytest.mark.parametrize("kind", ["alone", "as many", "more"])
def test_a_column_whose_name_is_written_otherwise_is_that_column(kind, fitted, tmp_path):
    model = pipelines()[kind]
    artifact = fitted(model, named(RAW))
    wanted = (artifact.model, "y", artifact.encoder)
    given = written(RAW.rename(columns={"age": " Age "}), tmp_path)
    found, expected = training_data(given, *wanted), training_data(named(RAW), *wanted)
    assert found.rows.tobytes() == expected.rows.tobytes()
    assert found.by_encoder == expected.by_encoder
    assert "column 'resting bp' taken for 'resting_bp'" in found.notes
    assert len(found.notes) == 4
    assert not expected.notes
    assert holdout_of(given, found, "y", artifact.encoder).rows.tobytes() == found.rows.tobytes()
    one, other = (
        inspect_contents(artifact, table, data, TimeBox(60.0))
        for table, data in ((given, found), (named(RAW), expected))
    )
    assert one == other


@pytest.mark.parametrize("kind", ["alone", "as many", "more"])
def test_all_missing_columns_are_named_and_all_that_nothing_takes(kind, fitted, tmp_path):
    artifact = fitted(pipelines()[kind], named(RAW))
    other = RAW.rename(columns={"resting bp": "pressure", "max rate": "rate", "ST-slope": "slope"})
    with pytest.raises(DataError) as caught:
        training_data(written(other, tmp_path), artifact.model, "y", artifact.encoder)
    for name in (
        "3 of the 4 columns",
        "'resting_bp', 'max_rate', 'ST_slope'",
        "has 'pressure', 'rate', 'slope' besides",
    ):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    "names",
    [
        ("a b", "A_B"),  # each could be it
        ("lag -1",),  # a sign of a number
        ("x1.0",),
        ("a<b",),
    ],
)
def test_a_name_that_could_be_another_is_none(names):
    wanted = {"lag -1": "lag_1", "x1.0": "x10", "a<b": "ab"}.get(names[0], "a.b")
    table = pd.DataFrame({name: [0, 1] for name in names}).assign(y=[0, 1])
    with pytest.raises(DataError, match="are missing"):
        training_data(table, forest((wanted,)), "y")


def test_many_missing_columns_are_counted(tmp_path):
    table = written(pd.DataFrame({"age": [1], "y": [0]}), tmp_path)
    with pytest.raises(DataError) as caught:
        training_data(table, forest(("age", *(f"c{index}" for index in range(75)))), "y")
    assert "75 of the 76 columns of the forest are missing: 'c0', 'c1', " in str(caught.value)
    assert "'c19' and 55 more; give" in str(caught.value)


def test_what_may_be_a_row_in_place_of_a_header_is_not_shown(tmp_path):
    (tmp_path / "train.csv").write_text("987654,Zq7Canary\n5,b\n")
    with pytest.raises(DataError) as caught:
        training_data((read_table(tmp_path / "train.csv").frame, [0]), forest(("a", "b")))
    assert "2 of the 2 columns of the forest are missing: 'a', 'b'; give" in str(caught.value)


def encoded_tables(model, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    made = model[:-1].transform(table.drop(columns="y"))
    numbers = pd.DataFrame(made).assign(y=list(table["y"]))
    return {
        "numbered": numbers,
        "from one": numbers.rename(columns=lambda name: name if name == "y" else f"f{name + 1}"),
        "of sklearn": numbers.rename(columns=dict(enumerate(model[:-1].get_feature_names_out()))),
    }


@pytest.mark.parametrize("how", ["numbered", "from one", "of sklearn"])
@pytest.mark.parametrize("kind", ["as many", "more"])
def test_an_encoded_table_is_known_by_its_names_or_by_having_none(kind, how, fitted, tmp_path):
    model = pipelines()[kind]
    artifact = fitted(model, named(RAW))
    given = encoded_tables(model, named(RAW))[how]
    found = training_data(written(given, tmp_path), artifact.model, "y", artifact.encoder)
    assert not found.by_encoder
    np.testing.assert_array_equal(found.rows, given.drop(columns="y").to_numpy().astype(np.float32))


def test_a_table_without_labels_is_told_as_one(tmp_path):
    given = written(pd.DataFrame({"age": [1, 2], "female": [0, 1]}), tmp_path, "X_train.csv")
    with pytest.raises(LabelError, match="all of the model's columns are there, but no labels: add the labels"):
        training_data(given, forest(), "y")
    with pytest.raises(LabelError, match="no column 'lable'; name the label column"):
        training_data(io_table("age,female,label\n1,0,1\n"), forest(), "lable")


def io_table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))
