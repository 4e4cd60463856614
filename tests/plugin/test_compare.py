"""The comparison with an earlier report, from the command line."""

from __future__ import annotations

import json
import shutil

import pytest
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.documents import rules_folder
from pytest_draft.policy.compared_with_earlier import OF_ATTACKS, OF_AUDITS
from pytest_draft.policy.rules import COMPARED
from pytest_draft.report.canonical import with_hash

HEAD = 'schema_version = 1\nname = "ours"\n[rules.singled-out-rows]\nmax_singled_out_rows = 1000\n'


@pytest.fixture
def judge(project):
    """Return a function that judges a forest with an earlier report, and gives the run and the check."""

    def run(forest: str, *arguments: str, compare: str = "earlier.json", more: str = ""):
        project.write("policy.toml", HEAD + more)
        given = (f"--draft-compare={compare}",) if compare else ()
        result = project.judge(forest, "--draft-policy=policy.toml", *given, *arguments)
        checks = {check["rule"]: check for check in project.result()["checks"]} if result.ret < 2 else {}
        return result, checks.get("compared-with-earlier")

    return run


@pytest.fixture
def earlier(project, judge):
    """Return a function that writes an earlier report of a model file with the content of a forest."""

    def write(forest: str, change=None) -> dict:
        shutil.copy(project.path / forest, project.path / "model.joblib")
        judge("model.joblib", compare="")[0].assert_outcomes(passed=1)
        report = project.report()
        if change is not None:
            del report["canonical_sha256"]
            change(report)
            report = with_hash(report)
        project.write("earlier.json", json.dumps(report))
        return report

    return write


def retrained(project, forest: str) -> str:
    shutil.copy(project.path / forest, project.path / "model.joblib")
    return "model.joblib"


@pytest.mark.nightly
def test_a_model_that_gives_more_away_than_before_fails(project, judge, earlier):
    before = earlier("shallow.joblib")["results"][0]["metrics"]["perfect_rows"]
    run, check = judge(retrained(project, "leaking.joblib"))
    run.assert_outcomes(passed=1, failed=1)
    assert check["result"] == "failed"
    assert check["remedy"]
    assert "the attack's error is 0.0000, and was" in check["sentence"]
    run, check = judge("model.joblib", more=f"[compare]\nmax_error_drop = 1\nmax_perfect_rows_rise = {39 - before}\n")
    assert f"the number of perfect rows is 40, and was {before} in the earlier report" in check["sentence"]
    assert f"allows a rise of {39 - before}" in check["sentence"]


@pytest.mark.nightly
def test_a_model_that_gives_away_no_more_than_before_passes(project, judge, earlier):
    earlier("leaking.joblib")
    assert judge("model.joblib")[0].ret == 0
    run, check = judge(retrained(project, "shallow.joblib"))
    run.assert_outcomes(passed=2)
    assert check["result"] == "passed"
    assert project.result()["policy"]["rules"]["compared-with-earlier"] == {
        "max_error_drop": 0.01,
        "max_perfect_rows_rise": 0,
        "max_singled_out_rows_rise": 0,
    }


@pytest.mark.nightly
def test_an_allowance_is_kept_where_it_is_not_crossed(project, judge, earlier):
    earlier("shallow.joblib")
    more = "[compare]\nmax_error_drop = 1\nmax_perfect_rows_rise = 40\nmax_singled_out_rows_rise = 40\n"
    run, check = judge(retrained(project, "leaking.joblib"), more=more)
    run.assert_outcomes(passed=2)
    assert check["sentence"].count("allows a") == 3


@pytest.mark.nightly
def test_the_comparison_is_a_check_in_every_report_and_has_an_address(project, judge, earlier):
    earlier("shallow.joblib")
    retrained(project, "leaking.joblib")
    forms = [f"--draft-report={kind}:other.{kind}" for kind in ("markdown", "html", "sarif", "intoto")]
    run, check = judge("model.joblib", "--junitxml=junit.xml", *forms)
    run.stdout.fnmatch_lines(["*model.joblib: compared-with-earlier?artifact?*", "failed: *"])
    assert check["item"] == "model.joblib::compared-with-earlier[artifact]"
    for written in (*project.path.glob("other.*"), project.path / "junit.xml"):
        if written.suffix != ".csv" and written.suffix != ".joblib":
            assert "compared-with-earlier" in written.read_text(encoding="utf-8"), written.name
    arguments = ("--draft-policy=policy.toml", "--draft-compare=earlier.json")
    run = project.judge("model.joblib", "-k", "singled", *arguments)
    assert project.report()["not_run"] == ["model.joblib::compared-with-earlier[artifact]"]


@pytest.mark.nightly
def test_an_allowance_for_what_is_not_known_is_inconclusive(project, judge, earlier):
    def forget(report):
        report["results"][0]["metrics"]["certain_rows"] = None

    earlier("leaking.joblib", forget)
    run, check = judge("model.joblib", more="[compare]\nmax_certain_rows_rise = 40\n")
    assert run.parseoutcomes() == {"passed": 1, "inconclusive": 1}
    assert check["result"] == "inconclusive"
    assert "the number of certain rows is not known in the earlier report" in check["sentence"]


@pytest.mark.nightly
def test_nothing_passes_by_an_earlier_report_that_is_in_doubt_and_a_failure_stands(project, judge, earlier):
    def doubt(report):
        report["results"][0]["reasons"].append("the attack did not converge")

    earlier("leaking.joblib", doubt)
    _, check = judge("model.joblib")
    assert (check["result"], "the earlier report is in doubt: the attack did not" in check["sentence"]) == (
        "inconclusive",
        True,
    )
    earlier("shallow.joblib", doubt)
    assert judge(retrained(project, "leaking.joblib"))[1]["result"] == "failed"


@pytest.mark.nightly
def test_what_is_only_bounded_decides_only_what_the_bounds_decide(project, judge, earlier):
    def bound(low: float, high: float):
        def change(report):
            (result,) = report["results"]
            result["metrics"]["reconstruction_error"] = None
            result["baselines"]["reconstruction_error_bounds"] = [low, high]

        return change

    only = "[compare]\nmax_error_drop = 0.1\nmax_perfect_rows_rise = 40\nmax_singled_out_rows_rise = 40\n"
    expected = {(0.0, 0.1): "passed", (0.05, 0.15): "inconclusive", (0.15, 0.3): "failed"}
    for (low, high), result in expected.items():
        earlier("leaking.joblib", bound(low, high))
        assert judge("model.joblib", more=only)[1]["result"] == result


@pytest.mark.nightly
def test_a_model_that_the_earlier_report_does_not_know_is_inconclusive(project, judge, earlier):
    earlier("shallow.joblib")
    run, check = judge("leaking.joblib")
    assert run.parseoutcomes() == {"passed": 1, "inconclusive": 1}
    assert "no result of a model file 'leaking.joblib'" in check["sentence"]
    project.run(
        "--draft-forest=model.joblib",
        "--draft-data=train.csv",
        "--draft-adversary=artifact+rows:1",
        "--draft-compare=earlier.json",
        "--draft-report=json:report.json",
    )
    check = project.result()["checks"][-1]
    assert (check["rule"], check["result"]) == ("compared-with-earlier", "inconclusive")
    assert "the adversary 'artifact+rows:1'" in check["sentence"]


@pytest.mark.nightly
def test_of_models_with_one_name_the_one_of_the_same_folder_is_compared(project, judge, earlier):
    def second(report):
        other = json.loads(json.dumps(report["results"][0]))
        other["artifact"]["path"] = "elsewhere/model.joblib"
        other["metrics"]["perfect_rows"] = 0
        report["results"].append(other)

    earlier("leaking.joblib", second)
    assert judge("model.joblib")[0].ret == 0
    earlier("leaking.joblib", lambda report: (second(report), report["results"].append(report["results"][0])))
    assert "3 results" not in judge("model.joblib")[1]["sentence"]
    assert "2 results" in judge("model.joblib")[1]["sentence"]


@pytest.mark.nightly
def test_an_audit_without_an_attack_is_compared_by_what_it_finds(project, rows):
    def audit(depth, *arguments):
        project.train(DecisionTreeClassifier(max_depth=depth, random_state=0), rows, "model")
        project.judge("model.joblib", "--draft-policy=policy.toml", *arguments)
        return {check["rule"]: check for check in project.result()["checks"]}

    project.write(
        "policy.toml", 'schema_version = 1\nname = "ours"\n[rules.entropy-reduction]\nmax_entropy_reduction = 1\n'
    )
    audit(1)
    shutil.copy(project.path / "report.json", project.path / "earlier.json")
    assert audit(1, "--draft-compare=earlier.json")["compared-with-earlier"]["result"] == "passed"
    check = audit(None, "--draft-compare=earlier.json")["compared-with-earlier"]
    assert "the share of the uncertainty that the model takes away is" in check["sentence"]
    assert check["result"] == "failed"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is not JSON"),
        (b'{"a": NaN}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not a valid report (top level: "),
        (b'{"schema_version": 99}', "is of schema version 99, not 2"),
        (b'{"schema_version": 2, "results": []}', "is not a valid report (top level: "),
    ],
    ids=["bytes", "nan", "deep", "list", "version", "incomplete"],
)
def test_what_is_no_report_is_a_usage_error(project, one_line_error, content, message):
    (project.path / "earlier.json").write_bytes(content)
    error = one_line_error(project.judge("leaking.joblib", "--draft-compare=earlier.json"))
    assert "--draft-compare: " in error
    assert message in error
    assert "give a report that --draft-report=json has written" in error


@pytest.mark.nightly
def test_a_report_that_was_changed_is_a_usage_error(project, judge, earlier, one_line_error):
    report = earlier("leaking.joblib")
    report["results"][0]["metrics"]["perfect_rows"] = 40_000
    project.write("earlier.json", json.dumps(report))
    assert "was written: its canonical_sha256 does not fit" in one_line_error(judge("model.joblib")[0])


@pytest.mark.nightly
def test_a_report_that_is_missing_or_about_to_be_overwritten_is_a_usage_error(judge, one_line_error, earlier):
    assert "there is no file" in one_line_error(judge("leaking.joblib", compare="nothing.json")[0])
    earlier("leaking.joblib")
    assert "read or written in this run already" in one_line_error(judge("model.joblib", compare="report.json")[0])


@pytest.mark.nightly
def test_without_the_models_own_items_there_is_nothing_to_compare(project, earlier):
    earlier("leaking.joblib")
    project.mark("max_perfect_rows=40")
    project.configure()
    result = project.run("--draft-compare=earlier.json")
    assert "no model is judged by name in this run: add --draft" in result.stdout.str() + result.stderr.str()
    assert result.ret != 0


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("max_eror_drop = 0", "max_eror_drop"),
        ("max_error_drop = -1", "-1"),
        ("max_perfect_rows_rise = 0.5", "0.5"),
        ("", "compare"),
    ],
)
def test_a_wrong_allowance_is_a_usage_error_with_its_line(judge, one_line_error, table, message):
    error = one_line_error(judge("leaking.joblib", compare="", more=f"[compare]\n{table}\n")[0])
    assert f"line {6 if table else 5}: " in error
    assert message in error


def test_the_comparison_is_not_named_among_the_rules(judge, one_line_error):
    error = one_line_error(judge("leaking.joblib", compare="", more="[rules.compared-with-earlier]\n")[0])
    assert "its allowances stand under [compare]" in error


@pytest.mark.nightly
def test_the_comparison_can_be_a_warning(project, judge, earlier):
    earlier("shallow.joblib")
    run, check = judge(retrained(project, "leaking.joblib"), more='[severity]\ncompared-with-earlier = "warning"\n')
    assert (run.ret, check["result"], check["severity"]) == (0, "failed", "warning")


def test_the_schema_lists_the_allowances_of_the_code():
    listed = json.loads((rules_folder() / "policy.schema.json").read_text(encoding="utf-8"))["properties"]["compare"]
    assert set(listed["properties"]) == set(COMPARED.keys)
    for name, key in COMPARED.keys.items():
        described = listed["properties"][name]
        assert described["type"] == ("integer" if key.whole else "number")
        assert (described["minimum"], described.get("maximum")) == (0, key.largest)
    assert {*OF_ATTACKS, *OF_AUDITS} <= set(COMPARED.keys)
