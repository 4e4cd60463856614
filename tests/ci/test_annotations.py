"""Workflow commands, as GitHub's runners read them."""

from __future__ import annotations

import json
import re

import pytest

from pytest_draft.report.annotations import MOST, annotations, command, main


def check(
    rule="perfect-rows", outcome="failed", sentence="80 of 100 rows", cause=None, remedy=None, severity="error", by=None
):
    waiver = None if by is None else {"owner": by, "reason": "own use", "expires": "2027-01-31"}
    told = {"rule": rule, "result": outcome, "sentence": sentence, "cause": cause, "remedy": remedy}
    return {**told, "severity": severity, "waiver": waiver}


def result(*checks, path="a.joblib", perfect=None, error=None, notes=()):
    return {
        "artifact": {"path": path},
        "adversary": "artifact",
        "checks": list(checks),
        "metrics": {"perfect_rows": perfect, "n_rows": 100, "reconstruction_error": error},
        "notes": list(notes),
    }


def report(*results, verdict="failed", not_run=()):
    return {"verdict": verdict, "results": list(results), "not_run": list(not_run)}


def parsed(line):
    """Return kind, properties and message of a workflow command, decoded as a runner decodes them."""
    assert "\n" not in line
    assert "\r" not in line
    kind, told, message = re.fullmatch(r"::(\w+)(?: ([^:]*))?::(.*)", line).groups()
    properties = dict(pair.split("=", 1) for pair in told.split(",")) if told else {}

    def decoded(text, codes):
        for code in codes:
            text = text.replace(code, chr(int(code[1:], 16)))
        return text.replace("%25", "%")

    return (
        kind,
        {name: decoded(value, ["%0D", "%0A", "%3A", "%2C"]) for name, value in properties.items()},
        decoded(message, ["%0D", "%0A"]),
    )


@pytest.mark.parametrize(
    "text", ["plain", "50 %", "%0A", "a\nb\r\nc", "::error::x", "a,b:c=d", "%25", "modèle", "\u2028::warning::y"]
)
def test_whatever_is_in_a_command_comes_out_as_it_was(text):
    assert parsed(command("error", text, file=text, title=text)) == ("error", {"file": text, "title": text}, text)


@pytest.mark.parametrize("outcome", ["failed", "inconclusive"])
@pytest.mark.parametrize(("severity", "by"), [("warning", None), ("error", "A. Person")])
def test_warnings_of_the_policy_and_waived_checks_are_warnings(outcome, severity, by):
    (line,) = annotations(report(result(check(outcome=outcome, severity=severity, by=by)), verdict="passed"))
    kind, _, message = parsed(line)
    assert kind == "warning"
    assert ("waived until 2027-01-31 by A. Person: own use" in message) == (by is not None)


def test_half_a_surrogate_pair_can_be_printed():
    assert command("error", "\udc80").encode("utf-8") == b"::error::?"


def test_a_failed_check_is_an_error_at_its_file_with_cause_and_remedy():
    (line,) = annotations(report(result(check(cause="seeds", remedy="retrain"), path="models/a.joblib")))
    kind, properties, message = parsed(line)
    assert kind == "error"
    assert properties == {"file": "models/a.joblib", "title": "a.joblib: perfect-rows [artifact] failed"}
    assert message == "80 of 100 rows\ncause: seeds\nremedy: retrain"


def test_passed_checks_say_nothing():
    assert annotations(report(result(check(outcome="passed")), verdict="passed")) == []


def test_the_worst_come_first():
    told = annotations(
        report(
            result(check(outcome="inconclusive", sentence="time is out"), path="open.joblib"),
            result(check(), path="some.joblib", perfect=10, error=0.2),
            result(check(), path="nothing.joblib"),
            result(check(), path="all.joblib", perfect=100, error=0.0),
            result(check(), path="closer.joblib", perfect=10, error=0.1),
            not_run=["later.joblib::perfect-rows[artifact]"],
        )
    )
    files = [parsed(line)[1].get("file") for line in told]
    assert files == ["all.joblib", "closer.joblib", "some.joblib", "nothing.joblib", "open.joblib", None]
    assert {parsed(line)[0] for line in told} == {"error"}


def test_checks_that_are_inconclusive_for_the_same_reason_are_told_once():
    checks = [check(rule, "inconclusive", "time is out") for rule in ("perfect-rows", "worst-row")]
    told = annotations(report(result(*checks, check("leak-p-value", "inconclusive", "no holdout"))))
    titles = [parsed(line)[1]["title"] for line in told]
    assert titles == [
        "a.joblib: perfect-rows, worst-row [artifact] inconclusive",
        "a.joblib: leak-p-value [artifact] inconclusive",
    ]


def test_notes_are_notices_once_for_each_file():
    told = annotations(report(result(notes=["odd"]), result(notes=["odd"]), result(notes=["odd"], path="b.joblib")))
    assert [(parsed(line)[0], parsed(line)[1]["file"]) for line in told] == [
        ("notice", "a.joblib"),
        ("notice", "b.joblib"),
    ]


@pytest.mark.parametrize(
    "note",
    [
        "the clock decided how long the attack ran: figures can differ from run to run",
        "the attack was cut short, as no threshold can be crossed",
        "no attack was run, as given-all-other-rows has failed already",
    ],
)
def test_a_note_that_asks_for_nothing_is_none(note):
    assert annotations(report(result(notes=[note, "odd"]))) == annotations(report(result(notes=["odd"])))


def test_what_several_checks_of_a_file_have_in_common_is_said_once():
    alike = {"cause": "seeds", "remedy": "fewer trees"}
    checks = [check("one", **alike), check("two", **alike), check("three", cause="seeds", remedy="noise")]
    told = annotations(report(result(*checks), result(check("one", **alike), path="b.joblib")))
    assert [parsed(line)[2].split("\n")[1:] for line in told] == [
        ["cause: seeds", "remedy: fewer trees"],
        ["cause and remedy: as of one"],
        ["remedy: noise", "cause: as of one"],
        ["cause: seeds", "remedy: fewer trees"],
    ]


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(
    ("stderr", "why"),
    [
        ("ERROR: train.csv: no column 'decison'\n\n", "train.csv: no column 'decison'"),
        ("noise\nERROR: \x1b[31m::error::x\n", None),
        ("no such line\n", None),
    ],
)
def test_what_pytest_said_is_told_where_there_is_no_report(tmp_path, monkeypatch, capsys, stderr, why, there):
    summary, said, path = (tmp_path / name for name in ("summary", "stderr", "report.json"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    said.write_text(stderr, encoding="utf-8")
    if there:
        path.write_text("{}", encoding="utf-8")
    assert main([str(path), "--stderr", str(said)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    kind, _, message = parsed(line)
    assert kind == "error"
    assert "\x1b" not in message
    if why is not None and not there:
        assert message == why
        assert summary.read_text(encoding="utf-8").startswith(
            "# ❓ Nothing was judged\n\ntrain.csv: no column 'decison'"
        )
    if there or "ERROR" not in stderr:
        assert message.startswith("no usable report at ")
        assert not summary.exists()


@pytest.mark.parametrize("number", [MOST - 1, MOST, MOST + 1, 3 * MOST])
def test_no_more_of_a_kind_than_github_shows_and_the_last_tells_of_the_rest(number):
    failed = [check(f"rule-{index}") for index in range(number)]
    notes = [f"note {index}" for index in range(number)]
    kinds = {"error": [], "notice": []}
    for kind, _, message in map(parsed, annotations(report(result(*failed, notes=notes)))):
        kinds[kind].append(message)
    for messages in kinds.values():
        assert len(messages) == min(number, MOST)
        assert messages[-1].startswith(f"{number - MOST + 1} more") == (number > MOST)


@pytest.fixture
def ended(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command on a report: its status, annotations and output to later steps."""
    output = tmp_path / "output"
    output.write_text("before=1\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))

    def run(text, *arguments):
        path = tmp_path / "report.json"
        if text is not None:
            path.write_text(text, encoding="utf-8")
        status = main([*arguments, str(path)])
        return status, capsys.readouterr().out.splitlines(), output.read_text(encoding="utf-8")

    return run


@pytest.mark.parametrize(("verdict", "status"), [("passed", 0), ("failed", 1), ("inconclusive", 1)])
def test_only_a_pass_ends_with_0(ended, verdict, status):
    assert ended(json.dumps(report(verdict=verdict))) == (status, [], f"before=1\nverdict={verdict}\n")


@pytest.mark.parametrize("verdict", ["failed", "passed"])
def test_a_run_that_ended_badly_is_never_a_pass(ended, verdict):
    status, _, output = ended(json.dumps(report(verdict=verdict)), "--pytest-exit", "3")
    assert status == 1
    assert output.endswith({"failed": "verdict=failed\n", "passed": "verdict=inconclusive\n"}[verdict])


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        "null",
        "{}",
        "\0",
        '{"verdict": "passed"}',
        json.dumps(report(verdict="fine")),
        json.dumps(report(verdict="passed\nverdict=passed")),
        json.dumps(report({}, verdict="passed")),
    ],
)
def test_a_report_that_cannot_be_used_is_inconclusive(ended, text):
    status, lines, output = ended(text)
    assert status == 1
    assert [parsed(line)[0] for line in lines] == ["error"]
    assert output == "before=1\nverdict=inconclusive\n"


def test_nothing_is_written_where_no_runner_asks(ended, monkeypatch):
    monkeypatch.delenv("GITHUB_OUTPUT")
    assert ended(json.dumps(report(verdict="passed"))) == (0, [], "before=1\n")
