"""The public tables without a folder: what is made of OpenML's raw tables, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from pytest_draft.errors import DraftError
from studies.datasets import fetching, folder_of
from studies.datasets.recipes import RECIPES, binarized, check

PUBLISHED = Path(__file__).parents[3] / "shared" / "datasets"

# How often each category stands in the raw table of Adult, by the UCI repository; "?" are missing.
ADULT = {
    "education": {
        "HS-grad": 15_784, "Some-college": 10_878, "Bachelors": 8_025, "Masters": 2_657, "Assoc-voc": 2_061,
        "11th": 1_812, "Assoc-acdm": 1_601, "10th": 1_389, "7th-8th": 955, "Prof-school": 834, "9th": 756,
        "12th": 657, "Doctorate": 594, "5th-6th": 509, "1st-4th": 247, "Preschool": 83,
    },
    "occupation": {
        "Prof-specialty": 6_172, "Craft-repair": 6_112, "Exec-managerial": 6_086, "Adm-clerical": 5_611,
        "Sales": 5_504, "Other-service": 4_923, "Machine-op-inspct": 3_022, None: 2_809, "Transport-moving": 2_355,
        "Handlers-cleaners": 2_072, "Farming-fishing": 1_490, "Tech-support": 1_446, "Protective-serv": 983,
        "Priv-house-serv": 242, "Armed-Forces": 15,
    },
    "workclass": {
        "Private": 33_906, "Self-emp-not-inc": 3_862, "Local-gov": 3_136, None: 2_799, "State-gov": 1_981,
        "Self-emp-inc": 1_695, "Federal-gov": 1_432, "Without-pay": 21, "Never-worked": 10,
    },
    "sex": {"Male": 32_650, "Female": 16_192},
    "class": {"<=50K": 37_155, ">50K": 11_687},
}  # fmt: skip


@cache
def raw_adult():
    """Made-up rows with the raw names, categories and frequencies; each column is shuffled by itself."""
    rng = np.random.default_rng(0)
    n = 48_842
    table = {}
    for name, counts in ADULT.items():
        values = np.repeat(np.array(list(counts), dtype=object), list(counts.values()))
        table[name] = pd.Categorical(rng.permutation(values), categories=[one for one in counts if one is not None])
    table["age"] = rng.permutation(np.repeat([17, 36, 37, 90], [10_000, n - 25_148 - 10_000, 15_148, 10_000]))
    table["hours-per-week"] = rng.permutation(np.repeat([20, 40, 60], [n - 37_155, 22_803, 37_155 - 22_803]))
    table["capital-gain"] = rng.permutation(np.repeat([0, 1, 99_999], [n - 4_035, 35, 4_000]))
    table["capital-loss"] = rng.permutation(np.repeat([0, 1, 4_356], [n - 2_282, 82, 2_200]))
    return pd.DataFrame(table).assign(fnlwgt=1, race="White")


def raw_credit(numbers):
    """Raw rows of Default Credit, as far as the published numeric table tells, and 14 without an education."""

    def coded(codes):
        return sum(code * numbers[name] for name, code in codes.items())

    raw = {"x1": numbers["LIMIT_BAL"], "x2": 2 - numbers["SEX_Male"], "x5": numbers["AGE"]}
    names = ["Graduate_school", "University", "High_school", "Others"]
    raw["x3"] = coded({f"EDUCATION_{name}": code for code, name in enumerate(names, 1)})
    raw["x4"] = coded({"MARRIAGE_Married": 1, "MARRIAGE_Single": 2, "MARRIAGE_Others": 3})
    for number, month in enumerate((0, 2, 3, 4, 5, 6), 6):
        raw[f"x{number}"] = 3 * numbers[f"PAY_{month}_Pay_delay>=1"] - 2
    for number in range(1, 7):
        raw[f"x{11 + number}"], raw[f"x{17 + number}"] = numbers[f"BILL_AMT{number}"], numbers[f"PAY_AMT{number}"]
    table = pd.DataFrame(raw).assign(y=numbers["DEFAULT_PAYEMENT"].astype(str).astype("category"))
    return pd.concat([table.iloc[:14].assign(x3=0), table], ignore_index=True)


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """Tables by number in place of OpenML, in a cache folder of their own; what was asked is counted."""
    tables, asked = {}, []

    def fetch(data_id, as_frame, parser):
        asked.append(data_id)
        if data_id not in tables:
            raise URLError("no network")
        return SimpleNamespace(frame=tables[data_id])

    monkeypatch.setattr(fetching, "fetch_openml", fetch)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    return SimpleNamespace(tables=tables, asked=asked, folder=tmp_path / "cache")


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_makes_the_published_columns_and_sums_each(name):
    recipe = RECIPES[name]
    counted = [column for column, one in recipe.columns.items() if type(one).__name__ != "Number"]
    assert sorted(recipe.sums) == sorted(counted)
    if not PUBLISHED.is_dir():
        pytest.skip("needs the published tables in ../shared")
    table = pd.read_csv(PUBLISHED / f"{name}.csv")
    assert list(recipe.columns) == list(table)
    check(table, recipe, name)


def test_adult_is_made_of_the_raw_categories_as_often_as_published(openml):
    openml.tables[1590] = raw_adult()
    folder = folder_of(None, ["adult"])
    assert openml.folder in folder.parents
    table = pd.read_csv(folder / "adult.csv")
    assert table.shape == (48_842, 20)
    assert set(np.unique(table)) == {0, 1}
    assert table.sum().to_dict() == dict(RECIPES["adult"].sums)


def test_single_rows_of_adult():
    rows = pd.DataFrame(
        {
            "age": [20, 40, 60],
            "capital-gain": [0, 5, 0],
            "capital-loss": [0, 0, 7],
            "education": ["9th", "Doctorate", "Assoc-voc"],
            "sex": ["Female", "Male", "Female"],
            "hours-per-week": [10, 40, 50],
            "occupation": [None, "Tech-support", "Adm-clerical"],
            "workclass": ["Never-worked", "Self-emp-inc", "State-gov"],
            "class": ["<=50K", ">50K", "<=50K"],
        }
    )
    table = binarized(rows, RECIPES["adult"])
    assert [list(table.columns[row == 1]) for row in table.to_numpy()] == [
        ["education_School_Prof-School", "gender_Female"],
        ["age_high", "capital_gain_>0", "education_Masters_Doctorate", "hours_per_week_high", "occupation_Service",
         "workclass_Self-Employed", "income"],
        ["age_high", "capital_loss_>0", "education_Assoc", "gender_Female", "hours_per_week_high",
         "occupation_White-Collar", "workclass_Government"],
    ]  # fmt: skip


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="needs the published tables in ../shared")
def test_both_tables_of_default_credit_are_the_published_ones_row_by_row(openml):
    numbers = pd.read_csv(PUBLISHED / "default_credit_numerical.csv")
    openml.tables[42477] = raw_credit(numbers)
    folder = folder_of(None, ["default_credit", "default_credit_numerical"])
    for name in ("default_credit", "default_credit_numerical"):
        assert pd.read_csv(folder / f"{name}.csv").equals(pd.read_csv(PUBLISHED / f"{name}.csv"))


def test_single_rows_of_default_credit():
    raw = {f"x{number}": [0, 0, 0] for number in range(1, 24)} | {"y": ["0", "1", "0"]}
    raw |= {"x1": [10, 20, 30], "x2": [1, 2, 2], "x3": [0, 5, 2], "x4": [1, 0, 2], "x6": [8, 1, -1], "x18": [9, 1, 3]}
    table = binarized(pd.DataFrame(raw), RECIPES["default_credit"])
    always = [f"PAY_AMT{number}_high" for number in range(2, 7)]
    assert [sorted(table.columns[row == 1]) for row in table.to_numpy()] == [
        sorted(
            [*["EDUCATION_Others", "MARRIAGE_Others", "PAY_0_Pay_delay>=1", "SEX_Female", "DEFAULT_PAYEMENT"], *always]
        ),
        sorted(["EDUCATION_University", "LIMIT_BAL_high", "MARRIAGE_Single", "PAY_AMT1_high", *always, "SEX_Female"]),
    ]


def test_what_was_made_is_checked_again_and_not_fetched_again(openml):
    openml.tables[1590] = raw_adult()
    path = folder_of(None, ["adult"]) / "adult.csv"
    assert folder_of(None, ["adult", "adult"]) == path.parent
    assert openml.asked == [1590]
    path.write_text(path.read_text().replace("1", "0", 1))
    with pytest.raises(DraftError, match=r"^adult from OpenML's table 1590: .* adds up to .*; give --datasets FOLDER$"):
        folder_of(None, ["adult"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.iloc[1:], r"adult from OpenML's table 1590 is 48841 x 20, not 48842 x 20"),
        (lambda raw: raw.assign(sex="Male"), r"gender_Female adds up to 0, not 16192"),
        (lambda raw: raw.drop(columns="sex"), r"OpenML's table 1590 has no column sex"),
        (lambda raw: raw.assign(age="old"), r"OpenML's table 1590: column age is not of numbers"),
        (lambda raw: raw.assign(age=[None, *raw["age"][1:]]), r"column age is not of numbers"),
    ],
)
def test_a_table_that_is_not_the_published_one_is_refused_and_not_kept(change, message, openml):
    openml.tables[1590] = change(raw_adult())
    with pytest.raises(DraftError, match=message) as refused:
        folder_of(None, ["adult"])
    assert str(refused.value).endswith("give --datasets FOLDER")
    assert not list(openml.folder.rglob("*.csv"))


def test_without_a_network_it_says_what_to_do(openml):
    with pytest.raises(DraftError, match=r"^adult cannot be fetched from OpenML \(URLError\): give --datasets"):
        folder_of(None, ["adult"])


def test_compas_is_asked_for_before_anything_is_fetched(openml):
    with pytest.raises(DraftError, match=r"^compas is not on OpenML as it was published: give --datasets FOLDER of"):
        folder_of(None, ["adult", "compas"])
    assert openml.asked == []


def test_a_folder_is_taken_as_it_is(openml, tmp_path):
    assert folder_of(tmp_path, ["compas"]) == tmp_path
    assert openml.asked == []


def test_sums_are_of_the_recipe_alone():
    table = pd.DataFrame({"a": [1, 0]})
    recipe = replace(RECIPES["adult"], columns={"a": RECIPES["adult"].columns["income"]}, sums={"a": 1}, n_rows=2)
    check(table, recipe, "mine")
    with pytest.raises(DraftError, match="a adds up to 1, not 2"):
        check(table, replace(recipe, sums={"a": 2}), "mine")
