"""Whether a file was cleared: by what gh has verified, held against the file, the policy and the result."""

from __future__ import annotations

import copy
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_draft.report import attested, intoto
from pytest_draft.report.attested import PREDICATE_TYPE, NotAttestedError, check, main
from pytest_draft.report.unchanged import main as still
from pytest_draft.report.unchanged import unchanged

POLICY = "a" * 64


@pytest.fixture
def model(tmp_path) -> Path:
    path = tmp_path / "model.joblib"
    path.write_bytes(b"a model that was judged")
    return path


@pytest.fixture
def report(only, model) -> dict:
    """The report of a run that passed, of one model file."""
    made = only("quiet")
    made["verdict"] = "passed"
    for result in made["results"]:
        result["artifact"] |= {"path": str(model), "sha256": hashlib.sha256(model.read_bytes()).hexdigest()}
        result["policy"]["sha256"] = POLICY
    return made


@pytest.fixture
def verified(report, model) -> list[dict]:
    """What ``gh attestation verify --format json`` prints of an honest release."""
    predicate = json.loads(intoto.render(report))
    subject = [{"name": "model.joblib", "digest": {"sha256": report["results"][0]["artifact"]["sha256"]}}]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }
    return [{"attestation": {}, "verificationResult": {"signature": {}, "statement": statement}}]


def statement(verified: list[dict]) -> dict:
    return verified[0]["verificationResult"]["statement"]


def of_role(verified: list[dict], role: str) -> dict:
    (found,) = [
        one
        for one in statement(verified)["predicate"]["configuration"]
        if one.get("annotations", {}).get("role") == role
    ]
    return found


def test_the_file_that_was_judged_and_passed_is_cleared(model, verified):
    assert check(model, verified, POLICY) == hashlib.sha256(model.read_bytes()).hexdigest()


def test_a_swapped_file_is_caught(model, verified):
    model.write_bytes(b"another model")
    with pytest.raises(NotAttestedError, match="one is about another file"):
        check(model, verified, POLICY)


def test_a_file_that_was_swapped_before_it_was_attested_is_caught(model, verified):
    """The signature and the subject are right: what lay at the path was attested, and something else was judged."""
    model.write_bytes(b"another model")
    statement(verified)["subject"][0]["digest"]["sha256"] = hashlib.sha256(model.read_bytes()).hexdigest()
    with pytest.raises(NotAttestedError, match="after another file was judged"):
        check(model, verified, POLICY)


@pytest.mark.parametrize("result", ["FAILED", "WARNED", "passed", ""])
def test_another_result_than_passed_clears_nothing(model, verified, result):
    statement(verified)["predicate"]["result"] = result
    with pytest.raises(NotAttestedError, match="not PASSED"):
        check(model, verified, POLICY)
    if result == "WARNED":
        assert check(model, verified, POLICY, warned=True)


@pytest.mark.parametrize("first", [True, False])
def test_a_failure_beside_a_pass_of_the_same_file_and_policy_clears_nothing(model, verified, first):
    failed = copy.deepcopy(verified)
    statement(failed)["predicate"]["result"] = "FAILED"
    with pytest.raises(NotAttestedError, match="the result is FAILED"):
        check(model, [*failed, *verified] if first else [*verified, *failed], POLICY)


def test_another_policy_clears_nothing_and_hides_nothing(model, verified):
    with pytest.raises(NotAttestedError, match="another policy"):
        check(model, verified, "b" * 64)
    mild = copy.deepcopy(verified)
    of_role(mild, "policy")["annotations"]["file_sha256"] = "b" * 64
    statement(mild)["predicate"]["result"] = "FAILED"
    assert check(model, [*mild, *verified], POLICY)
    del of_role(mild, "policy")["annotations"]["file_sha256"]  # a marker's
    with pytest.raises(NotAttestedError, match="another policy"):
        check(model, mild, POLICY)


def test_another_type_of_attestation_clears_nothing(model, verified):
    statement(verified)["predicateType"] = "https://slsa.dev/provenance/v1"
    with pytest.raises(NotAttestedError, match="another type"):
        check(model, verified, POLICY)


DAMAGED = [[], None, {}, "x", [{}], [{"verificationResult": {"statement": {}}}], [{"verificationResult": None}], 3]


@pytest.mark.parametrize("content", DAMAGED)
def test_what_is_damaged_clears_nothing(model, content):
    with pytest.raises(NotAttestedError):
        check(model, content, POLICY)


@pytest.mark.parametrize("key", ["predicateType", "subject", "predicate", "configuration", "result"])
@pytest.mark.parametrize("value", [None, 1, [], [None], {"digest": 3}])
def test_no_part_of_a_statement_can_be_left_out_or_be_something_else(model, verified, key, value):
    inner = statement(verified) if key in statement(verified) else statement(verified)["predicate"]
    inner[key] = value
    with pytest.raises(NotAttestedError):
        check(model, verified, POLICY)


def test_the_command_says_so_by_its_exit_code_and_runs_alone(model, verified, tmp_path):
    """With the standard library only: the file by itself, isolated from this environment and in another folder."""
    (tmp_path / "verified.json").write_text(json.dumps(verified), encoding="utf-8")
    command = [sys.executable, "-I", "-S", attested.__file__, str(model)]
    given = [*command, str(tmp_path / "verified.json"), f"--policy-sha256={POLICY}"]
    cleared = subprocess.run(given, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (cleared.returncode, cleared.stderr) == (0, "")
    model.write_bytes(b"\x1b[31m another")
    swapped = subprocess.run(given, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (swapped.returncode, swapped.stdout) == (1, "")
    assert swapped.stderr.startswith("not attested: ") and swapped.stderr.count("\n") == 1


@pytest.mark.parametrize("content", ["", "no JSON", "[" * 100_000, "\udcff", "[]"])
def test_whatever_is_given_as_verified_ends_in_one_line(model, tmp_path, content, capsys):
    (tmp_path / "verified.json").write_text(content, encoding="utf-8", errors="surrogateescape")
    assert main([str(model), str(tmp_path / "verified.json"), f"--policy-sha256={POLICY}"]) == 1
    assert main([str(model) + "\n::error::", str(tmp_path / "none"), f"--policy-sha256={POLICY}"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert [line.partition(":")[0] for line in said.err.splitlines()] == ["not attested"] * 2


# The action's last step


def predicate(report: dict) -> dict:
    return json.loads(intoto.render(report))


def test_what_lies_there_unchanged_is_given_out(report, model):
    assert unchanged(report, predicate(report)) == [hashlib.sha256(model.read_bytes()).hexdigest()]


def test_a_changed_or_missing_file_is_not(report, model):
    said = predicate(report)
    for change in (lambda: model.write_bytes(b"another"), model.unlink, model.mkdir):
        change()
        with pytest.raises(NotAttestedError, match=r"changed since|no file that can be read"):
            unchanged(report, said)


def test_nor_is_what_did_not_pass_or_has_the_predicate_of_another_run(report):
    for verdict in ("failed", "inconclusive"):
        with pytest.raises(NotAttestedError, match="not passed"):
            unchanged(report | {"verdict": verdict}, predicate(report))
    with pytest.raises(NotAttestedError, match="not passed"):
        unchanged(report | {"results": []}, predicate(report))
    said = predicate(report)
    with pytest.raises(NotAttestedError, match="predicate"):
        unchanged(report, said | {"result": "FAILED"})
    of_role([{"verificationResult": {"statement": {"predicate": said}}}], "model")["digest"]["sha256"] = "0" * 64
    with pytest.raises(NotAttestedError, match="predicate"):
        unchanged(report, said)


def test_the_step_tells_later_steps_the_hash_only_where_nothing_has_changed(
    report, model, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    (tmp_path / "r.json").write_text(json.dumps(report), encoding="utf-8")
    assert still([str(tmp_path / "r.json")]) == 1  # no predicate
    (tmp_path / "r.intoto.json").write_text(intoto.render(report), encoding="utf-8")
    assert still([str(tmp_path / "r.json")]) == 0
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    assert (tmp_path / "output").read_text(encoding="utf-8") == f"sha256={digest}\n"
    model.write_bytes(b"another")
    assert still([str(tmp_path / "r.json")]) == 1
    assert (tmp_path / "output").read_text(encoding="utf-8") == f"sha256={digest}\n"
    assert [line[:9] for line in capsys.readouterr().out.splitlines()] == ["::error::"] * 2


@pytest.mark.parametrize(
    ("result", "said"), [("WARNED", "and passed, or has warnings and waived checks only\n"), ("PASSED", "and passed\n")]
)
def test_a_file_with_warnings_is_never_said_to_have_passed(model, verified, tmp_path, capsys, result, said):
    statement(verified)["predicate"]["result"] = result
    (tmp_path / "verified.json").write_text(json.dumps(verified), encoding="utf-8")
    given = [str(model), str(tmp_path / "verified.json"), "--policy-sha256", POLICY]
    assert main([*given, *(["--allow-warned"] if result == "WARNED" else [])]) == 0
    assert capsys.readouterr().out.endswith(said)
