"""Other model files of the same people are named on the command line, in an ini file or in a manifest."""

from __future__ import annotations

import json
from importlib import resources

import joblib
import pytest
from jsonschema import Draft202012Validator
from sklearn.ensemble import RandomForestClassifier

pytestmark = pytest.mark.filterwarnings("ignore")

POLICY = """
schema_version = 1
name = "ours"

[rules.given-all-other-rows]
max_error_of_split_half = 0.33
max_told_rows_share = 0.33

[rules.perfect-rows]
max_perfect_rows = 40
"""


@pytest.fixture
def ours(project):
    """Return the project with a policy."""
    project.write("policy.toml", POLICY)
    return project


def judge(project, *arguments, forest="shallow.joblib", **more):
    return project.judge(forest, "--draft-policy=policy.toml", "--draft-effort=0.02", *arguments, **more)


def files_of(project, place=0):
    return sorted(project.report()["results"][place]["together"]["files"])


BOTH = ["leaking.joblib", "shallow.joblib"]


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_file_that_passes_alone_fails_with_another(ours, processes):
    assert judge(ours, processes).ret == pytest.ExitCode.OK
    result = judge(ours, "--draft-with=leaking.joblib", processes)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*together with leaking.joblib: *", "*matched by their values: 40 in all 2*"])
    assert files_of(ours) == BOTH
    report = ours.report()
    schema = json.loads((resources.files("pytest_draft.report") / "report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)
    together = report["results"][0]["together"]
    assert together["people"] == 40
    assert [one["whose"] for one in together["told"]] == [""]
    check = report["results"][0]["checks"][0]
    assert check["sentence"].startswith("together with leaking.joblib: ")


INI = "[pytest]\ndraft_forest = shallow.joblib\ndraft_data = train.csv\ndraft_policy = policy.toml\n"
MANIFEST = 'schema_version = 1\n[[entry]]\nmodel = "shallow.joblib"\ndata = "train.csv"\npolicy = "policy.toml"\n'
NAMED = {
    "ini": (INI + "draft_with =\n    leaking.joblib\n    bagged.joblib\n", 3),
    "ini glob": (INI + "draft_with = leak*.joblib\n", 2),
    "manifest text": (MANIFEST + 'released_before = "leaking.joblib"\n', 2),
    "manifest list": (MANIFEST + 'released_before = ["leaking.joblib", "bagged.joblib"]\n', 3),
}


@pytest.mark.nightly
@pytest.mark.parametrize("where", NAMED)
def test_others_are_named_elsewhere(ours, where):
    text, number = NAMED[where]
    given = ("--draft-manifest", ours.write("models.toml", text)) if "manifest" in where else ()
    if not given:
        ours.write("pytest.ini", text)
    assert ours.run("--draft", "--draft-report=json:report.json", *given).ret == pytest.ExitCode.TESTS_FAILED
    assert len(files_of(ours)) == number
    assert set(BOTH) <= set(files_of(ours))


@pytest.fixture
def versions(ours, rows):
    """Return the project with a version of some of the people for each of two numbers."""
    for number in (30, 35):
        own = rows.iloc[:number]
        model = RandomForestClassifier(20, bootstrap=False, random_state=number)
        joblib.dump(model.fit(own.iloc[:, :-1], own["label"]), ours.path / f"v{number}.joblib")
        own.to_csv(ours.path / f"v{number}.csv", index=False)
    return ours


WITH = ("--draft-with=v30.joblib", "--draft-with=v35.joblib")


@pytest.mark.nightly
def test_others_have_their_own_data_once_for_all_or_once_for_each(versions, one_line_error):
    judge(versions, *WITH, "--draft-with-data=v30.csv", "--draft-with-data=v35.csv")
    assert files_of(versions) == ["shallow.joblib", "v30.joblib", "v35.joblib"]
    assert [one["whose"] for one in versions.result()["together"]["told"]] == [""]  # of few people nothing is told
    apart = [note for note in versions.result()["notes"] if note.startswith("5 people are")]
    assert sorted(apart) == ["5 people are not in v30.joblib", "5 people are not in v30.joblib, v35.joblib"]
    judge(versions, WITH[0], "--draft-with-data=v30.csv")
    assert files_of(versions) == ["shallow.joblib", "v30.joblib"]
    judge(versions, *WITH, "--draft-with-data=v30.csv")
    (left_out,) = [one for one in versions.result()["together"]["reasons"] if "is left out" in one]
    assert left_out.startswith("v35.joblib is left out")
    wrong = judge(versions, *WITH, *("--draft-with-data=v30.csv",) * 3)
    assert "--draft-with-data" in one_line_error(wrong)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("wrong", ["wrong name", "right name"])
def test_a_column_says_whose_row_is_whose(ours, rows, wrong):
    rows.insert(0, "person", [f"patient {i}" for i in range(40)])
    rows.to_csv(ours.path / "train.csv", index=False)
    result = judge(ours, "--draft-with=leaking.joblib", f"--draft-id={'persn' if wrong == 'wrong name' else 'person'}")
    assert result.ret != pytest.ExitCode.OK
    said = result.stdout.str() + result.stderr.str()
    assert "patient" not in said + (ours.path / "report.json").read_text(encoding="utf-8")
    if wrong == "wrong name":
        assert "no column 'persn', which --draft-id names" in said
        assert "Traceback" not in said
    else:
        assert any("the column that says whose row is whose" in note for note in ours.result()["notes"])


@pytest.mark.nightly
def test_what_is_remembered_is_of_the_bytes_of_the_others(ours, asked):
    def attacks(*arguments):
        asked.clear()
        judge(ours, "--draft-cache", *arguments)
        return len(asked), ours.result()["cached"]

    alone, _ = attacks()
    with_another, cached = attacks("--draft-with=bagged.joblib")
    assert (alone > 0, with_another > 0, cached) == (True, True, False)
    assert attacks("--draft-with=bagged.joblib") == (0, True)
    (ours.path / "bagged.joblib").write_bytes((ours.path / "leaking.joblib").read_bytes())
    assert attacks("--draft-with=bagged.joblib")[1] is False
    assert files_of(ours) == ["bagged.joblib", "shallow.joblib"]


@pytest.mark.nightly
@pytest.mark.parametrize("missing", ["--draft-with=nothing.joblib", "--draft-with-data=nothing.csv"])
def test_a_file_that_is_not_there_is_told_in_one_line(ours, one_line_error, missing):
    said = one_line_error(judge(ours, "--draft-with=leaking.joblib", missing))
    assert "nothing" in said
