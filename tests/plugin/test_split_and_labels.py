"""The whole table and how it was split; features and labels in two files."""

from __future__ import annotations

import joblib
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

pytestmark = pytest.mark.nightly

POLICY = 'schema_version = 1\nname = "ours"\n[rules.perfect-rows]\nmax_perfect_rows = 20\n'
SPLIT = "test_size=0.2, random_state=42, stratify"


@pytest.fixture
def parts(project, rows) -> pd.DataFrame:
    """Write a forest that was trained on 32 of 40 rows, all rows, and these 32 in one file and in two."""
    train = train_test_split(rows, test_size=0.2, random_state=42, stratify=rows["label"])[0]
    project.train(RandomForestClassifier(20, bootstrap=False, random_state=0), train, "part")
    rows.to_csv(project.path / "all.csv", index=False)
    train.drop(columns="label").to_csv(project.path / "X_train.csv")
    train["label"].to_csv(project.path / "y_train.csv")
    labels = pa.table({"index": train.index.to_numpy(), "label": pa.array(train["label"].tolist())})
    parquet.write_table(labels, project.path / "y_train.parquet")
    project.write("policy.toml", POLICY)
    return train


@pytest.fixture
def judge(project, parts):
    """Return a function that judges that forest by one rule."""

    def run(*arguments: str, data: str | None = "all.csv"):
        return project.judge("part.joblib", "--draft-policy=policy.toml", *arguments, data=data)

    return run


@pytest.fixture
def expected(project, judge):
    """Return what is found with a file of the training rows alone."""
    judge(data="part.csv").assert_outcomes(failed=1)
    return project.result()["metrics"]


@pytest.mark.nightly
def test_a_split_that_is_said_gives_the_verdict_of_the_rows_themselves(project, judge, expected):
    judge("--draft-split", SPLIT).assert_outcomes(failed=1)
    result = project.result()
    assert result["metrics"] == expected
    assert result["data"]["rows"] == 32
    assert "training rows taken from the table as --draft-split says: 32 of 40" in result["notes"]


@pytest.mark.nightly
def test_the_rows_are_looked_for_in_the_whole_table_where_the_split_is_another(project, judge, rows):
    train = rows.sample(n=30, random_state=42)
    project.train(RandomForestClassifier(50, random_state=0), train, "part")
    judge()
    alone = project.result()
    assert any(note.startswith("training rows found: 30 of 40") for note in alone["notes"])
    for split in (SPLIT, "df.sample(n=30, random_state=43)", "df.sample(n=20, random_state=42)"):
        judge("--draft-split", split)
        result = project.result()
        assert (result["verdict"], result["metrics"]) == (alone["verdict"], alone["metrics"])
        assert set(alone["notes"]) < set(result["notes"])
        assert "the rows that --draft-split says do not explain the file: they are looked for" in result["notes"][0]


@pytest.mark.nightly
def test_a_table_without_the_rows_is_told_so_whatever_the_split(project, judge):
    judge("--draft-split", SPLIT, data="strangers.csv")
    (reason,) = project.result()["reasons"]
    assert "it was trained on 32 rows, and the table has 40" in reason


def test_ini_file_and_manifest_say_the_split(project, expected):
    more = "draft_policy = policy.toml\n"
    project.write(
        "pytest.ini", f"[pytest]\ndraft_forest = part.joblib\ndraft_data = all.csv\ndraft_split = {SPLIT}\n{more}"
    )
    project.run("--draft", "--draft-report=json:report.json").assert_outcomes(failed=1)
    assert project.result()["metrics"] == expected
    project.write("pytest.ini", "[pytest]\n")
    entry = f'[[entry]]\nmodel = "part.joblib"\ndata = "all.csv"\nsplit = "{SPLIT}"\npolicy = "policy.toml"\n'
    project.write("models.toml", f"schema_version = 1\n{entry}")
    project.run("--draft-manifest=models.toml", "--draft-report=json:report.json").assert_outcomes(failed=1)
    assert project.result()["metrics"] == expected


@pytest.mark.nightly
def test_the_rows_of_a_function_are_split_too(project, judge, expected):
    project.write("train.py", "import pandas\ndef load():\n    return pandas.read_csv('all.csv')\n")
    judge("--draft-split", SPLIT, "--draft-target=label", data="train:load").assert_outcomes(failed=1)
    assert project.result()["metrics"] == expected


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("text", ["test_size=0.2", "0.2", "df.sample(frac=0.8, random_state='quokka')"])
def test_a_split_that_cannot_be_read_is_an_error_of_usage(judge, one_line_error, text):
    assert one_line_error(judge("--draft-split", text)).startswith("ERROR: --draft-split: ")


def test_a_split_in_a_manifest_that_cannot_be_read_is_an_error_of_usage(project, parts, one_line_error):
    entry = '[[entry]]\nmodel = "part.joblib"\ndata = "all.csv"\nsplit = "0.2"\n'
    project.write("models.toml", f"schema_version = 1\n{entry}")
    line = one_line_error(project.run("--draft-manifest=models.toml"))
    assert "models.toml: line 2: entry.0: --draft-split: '0.2' cannot be read" in line


@pytest.mark.nightly
def test_more_rows_than_there_are_cannot_be_taken(project, judge):
    judge("--draft-split", "df.sample(n=41, random_state=0)")
    reason = "--draft-split: 40 rows cannot be split by df.sample(n=41, random_state=0): correct its numbers"
    assert project.result()["reasons"] == [reason]


@pytest.mark.nightly
@pytest.mark.parametrize("labels", ["y_train.csv", "y_train.parquet"])
def test_labels_can_be_in_a_file_of_their_own(project, judge, expected, labels):
    judge(f"--draft-target={labels}", data="X_train.csv").assert_outcomes(failed=1)
    result = project.result()
    assert result["metrics"] == expected
    assert any(note.startswith("the labels are those of ") and labels in note for note in result["notes"])


def test_ini_file_and_manifest_name_the_file_of_the_labels(project, expected, monkeypatch):
    (project.path / "below").mkdir()
    lines = ("draft_forest = part.joblib", "draft_data = X_train.csv", "draft_target = y_train.csv")
    project.write("pytest.ini", "\n".join(["[pytest]", *lines, "draft_policy = policy.toml"]))
    with monkeypatch.context() as patch:
        patch.chdir(project.path / "below")
        project.run("--draft", "--draft-report=json:../report.json").assert_outcomes(failed=1)
    assert project.result()["metrics"] == expected
    project.write("pytest.ini", "[pytest]\n")
    entry = '[[entry]]\nmodel = "../part.joblib"\ndata = "../X_train.csv"\ntarget = "../y_train.csv"\n'
    project.write("below/models.toml", f'schema_version = 1\n{entry}policy = "../policy.toml"\n')
    project.run("--draft-manifest=below/models.toml", "--draft-report=json:report.json").assert_outcomes(failed=1)
    assert project.result()["metrics"] == expected


@pytest.mark.nightly
def test_features_and_labels_of_the_whole_table_can_be_split(project, judge, rows, expected):
    rows.drop(columns="label").to_csv(project.path / "X.csv", index=False)
    rows[["label"]].to_csv(project.path / "y.csv", index=False)
    judge("--draft-split", SPLIT, "--draft-target=y.csv", data="X.csv").assert_outcomes(failed=1)
    assert project.result()["metrics"] == expected


@pytest.mark.nightly
def test_other_labels_are_another_judgement(project, judge, parts):
    judge("--draft-target=y_train.csv", "--draft-cache", data="X_train.csv").assert_outcomes(failed=1)
    judge("--draft-target=y_train.csv", "--draft-cache", data="X_train.csv").assert_outcomes(failed=1)
    assert project.result()["cached"]
    parts["label"].sample(frac=1, random_state=0).to_csv(project.path / "y_train.csv")
    judge("--draft-target=y_train.csv", "--draft-cache", data="X_train.csv")
    assert not project.result()["cached"]


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ("label\nyes\n", "1 labels for 32 rows; give one for each row"),
        ("a,b\n" + "yes,yes\n" * 32, "2 columns; a file of labels has one"),
    ],
)
def test_labels_that_do_not_fit_are_an_error_of_usage(project, judge, one_line_error, labels, why):
    project.write("y.csv", labels)
    line = one_line_error(judge("--draft-target=y.csv", data="X_train.csv"))
    assert why in line


def test_a_file_of_labels_that_is_missing_is_an_error_of_usage(project, judge, one_line_error):
    line = one_line_error(judge("--draft-target=y_trian.csv", data="X_train.csv"))
    assert line.startswith("ERROR: --draft-target: there is no file ")


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("target", [(), ("--draft-target=label",)])
@pytest.mark.parametrize("index", [True, False])
def test_features_without_labels_are_told_so(project, judge, parts, one_line_error, target, index):
    parts.drop(columns="label").to_csv(project.path / "X.csv", index=index)
    line = one_line_error(judge(*target, data="X.csv"))
    assert line.endswith(
        "X.csv: all of the model's columns are there, but no labels: add the labels as a column, or give their file "
        "with --draft-target y_train.csv"
    )


def test_features_without_names_and_labels_are_told_so(project, judge, parts, one_line_error):
    forest = RandomForestClassifier(5, random_state=0)
    forest.fit(parts.drop(columns="label").to_numpy(), parts["label"])
    joblib.dump(forest, project.path / "part.joblib")
    pd.DataFrame(parts.drop(columns="label").to_numpy()).to_csv(project.path / "X.csv", index=False)
    assert "but no labels" in one_line_error(judge(data="X.csv"))
