"""A ledger of released files: what was released before is judged together with a file, or the file does not pass."""

from __future__ import annotations

import hashlib
import re
import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_draft.errors import UsageError
from pytest_draft.facts.case import Beside, Case
from pytest_draft.report.ledger import Ledger, read_ledger

LEDGER = "draft-released.toml"
V1, V2, V3 = ("shallow.joblib", "v2.joblib", "v3.joblib")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def entry(name: str, artifact: str) -> dict[str, str]:
    hashes = {"artifact_sha256": artifact, "data_sha256": "", "policy_sha256": "d" * 64}
    return {"file": name, **hashes, "date": "2026-11-27", "verdict": "passed"}


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """A ledger of three files, which is written."""
    made = Ledger(tmp_path / LEDGER).with_files(entry(f"v{n}.joblib", str(n) * 64) for n in range(3))
    made.path.write_text(made.text, encoding="utf-8")
    return made


@pytest.fixture
def judged(project, policy, monkeypatch):
    """Return a function that judges a model file, beside others, and gives the run and the line of its ledger."""
    project.write("policy.toml", policy(0.0))
    for packed, name in enumerate((V2, V3), 1):  # other bytes, of the same model
        (project.path / name).write_bytes(zlib.compress((project.path / V1).read_bytes(), packed))
    beside: list[Beside] = []
    missing = Ledger.missing
    monkeypatch.setattr(
        Ledger, "missing", lambda self, case, judged: missing(self, replace(case, beside=tuple(beside)), judged)
    )

    def judge(*arguments: str, forest: str = V1, together: tuple[str, ...] = (), given: str = "policy.toml"):
        beside[:] = [Beside(str(project.path / name)) for name in together]
        run = project.judge(forest, f"--draft-policy={given}", *arguments)
        return run, [line for line in run.outlines if line.startswith(("ledger ", "the ledger "))]

    return judge


def head_of(lines: list[str]) -> str:
    (line,) = lines
    return re.search(r"pin its new head: --draft-ledger-head ([0-9a-f]{64})$", line)[1]


def test_a_release_is_recorded_and_the_next_one_does_not_pass_without_it(project, judged):
    run, lines = judged("--draft-record")
    assert run.ret == 0
    head = head_of(lines)
    recorded = read_ledger(project.path / LEDGER, head)
    assert [one["file"] for one in recorded.entries] == [V1]
    result = project.result()
    assert [recorded.entries[0][f"{of}_sha256"] for of in ("artifact", "data", "policy")] == [
        result[of]["sha256"] for of in ("artifact", "data", "policy")
    ]
    run, _ = judged(forest=V2)  # a ledger in the root directory is read, if nobody names it
    assert run.ret == 1
    (check,) = project.result()["checks"]
    sentence = f"released before and not judged together with it: {V1} (sha256 {digest(project.path / V1)[:12]}...)"
    assert (check["result"], check["sentence"]) == ("inconclusive", f"{sentence}: add --draft-with {V1}")
    assert (project.report()["verdict"], project.result()["verdict"]) == ("inconclusive",) * 2
    run, lines = judged(f"--draft-ledger-head={head}", "--draft-record", forest=V2, together=(V1,))
    assert run.ret == 0
    assert [one["file"] for one in read_ledger(project.path / LEDGER, head_of(lines)).entries] == [V1, V2]
    assert judged(f"--draft-ledger-head={head_of(lines)}", forest=V3, together=(V2,))[0].ret == 1
    assert judged(f"--draft-ledger-head={head_of(lines)}", forest=V3, together=(V2, V1))[0].ret == 0


def test_a_file_that_is_recorded_already_is_not_repeated(project, judged):
    head = head_of(judged("--draft-record")[1])
    before = (project.path / LEDGER).read_bytes()
    run, lines = judged("--draft-record", f"--draft-ledger-head={head}")
    assert run.ret == 0
    assert f"0 added; pin its new head: --draft-ledger-head {head}" in lines[0]
    assert (project.path / LEDGER).read_bytes() == before


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_workers_judge_by_the_ledger_and_the_controller_adds_to_it(project, judged, processes):
    if processes == "-n2":
        pytest.importorskip("xdist")
    run, lines = judged("--draft-record", processes)
    assert run.ret == 0
    head = head_of(lines)
    run, _ = judged(processes, "--draft-record", f"--draft-ledger-head={head}", forest=V2)
    assert (run.ret, project.report()["verdict"]) == (1, "inconclusive")
    assert len(read_ledger(project.path / LEDGER, head).entries) == 1


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    "more",
    [
        "[severity]\nreconstruction-error = 'warning'\n",
        "[[waiver]]\nrule = 'reconstruction-error'\nartifact_sha256 = '{}'\nreason = 'r'\nowner = 'o'\n"
        "expires = 2999-01-01\n",
    ],
    ids=["warning", "waiver"],
)
@pytest.mark.parametrize("max_error", [0.0, 1.0], ids=["passes", "fails"])
def test_neither_a_warning_nor_a_waiver_lets_a_file_pass_without_what_was_released(
    project, judged, policy, more, max_error
):
    judged("--draft-record")
    project.write("soft.toml", policy(max_error) + more.format(digest(project.path / V2)))
    run, _ = judged(forest=V2, given="soft.toml")
    assert (run.ret, project.report()["verdict"]) == (1, "inconclusive")
    assert project.result()["checks"][0]["result"] == "inconclusive"
    assert judged(forest=V2, given="soft.toml", together=(V1,))[0].ret == 0


def test_what_fails_stays_failed(project, judged, policy):
    judged("--draft-record")
    project.write("strict.toml", policy(1.0))
    judged(forest=V2, given="strict.toml")
    assert project.result()["verdict"] == "failed"


def test_a_test_of_the_project_is_judged_by_the_ledger_too(project, judged):
    judged("--draft-record")
    project.mark("max_error=0.0")
    project.configure(V2)
    run = project.run()
    assert run.ret == 1
    run.stdout.fnmatch_lines([f"*released before and not judged together with it: {V1}*"])


@pytest.mark.parametrize("how", ["failed", "deselected", "allowed", "apart", "changed"])
def test_nothing_is_recorded_of_a_run_that_has_not_passed(project, judged, policy, how):
    head = head_of(judged("--draft-record")[1])
    before = (project.path / LEDGER).read_bytes()
    arguments = ["--draft-record", f"--draft-ledger-head={head}"]
    if how == "failed":
        project.write("policy.toml", policy(1.0))
    elif how == "deselected":
        arguments += ["-k", "nothing", "-o", "draft_allow_not_run=true"]
    elif how == "allowed":  # it is a pass for pytest, and none
        project.write("policy.toml", policy(0.0, "allow_inconclusive = true\n"))
    elif how == "apart":
        arguments += [f"--draft-forest={V3}"]
    else:
        project.write("conftest.py", f"def pytest_sessionfinish():\n    open({LEDGER!r}, 'a').write('# mine')\n")
    together = () if how == "allowed" else (V1,)
    run, lines = judged(*arguments, forest=V2, together=together)
    assert run.ret == 1
    assert (project.path / LEDGER).read_bytes().removesuffix(b"# mine") == before
    assert not any("added" in line and "not added" not in line for line in lines)
    if how == "apart":
        assert f"v2.joblib was not judged together with {V3}: release one after the other" in lines[-1]


def test_a_ledger_that_is_not_there_is_new_only_where_one_is_to_be_written(project, judged, one_line_error):
    error = one_line_error(judged("--draft-ledger=other.toml")[0])
    assert "other.toml: it cannot be read (No such file or directory): restore the ledger" in error
    error = one_line_error(judged("--draft-record", f"--draft-ledger-head={'0' * 64}")[0])
    assert f"{LEDGER}: it cannot be read (No such file or directory): restore the ledger" in error
    assert not (project.path / LEDGER).exists()
    assert judged("--draft-record", "--draft-ledger=other.toml")[0].ret == 0
    assert (project.path / "other.toml").is_file()


def test_the_ini_file_can_ask_for_all_of_it(project, judged, one_line_error):
    project.write("pytest.ini", "[pytest]\ndraft_ledger = l.toml\ndraft_record = true\n")
    head = head_of(judged()[1])
    project.write("pytest.ini", f"[pytest]\ndraft_ledger = l.toml\ndraft_ledger_head = {head.upper()}\n")
    assert judged()[0].ret == 0
    project.write("pytest.ini", f"[pytest]\ndraft_ledger = l.toml\ndraft_ledger_head = {'0' * 64}\n")
    assert f"its head is {head}, and --draft-ledger-head says another" in one_line_error(judged()[0])


def test_mistakes_of_usage_are_one_line(project, judged, one_line_error):
    assert "--draft-record: no model is judged in this run" in one_line_error(project.run("--draft-record"))
    project.mark("max_error=0.0")
    project.configure()
    run = project.run("--draft-record")
    assert "--draft-record: no model is judged by name in this run" in run.stdout.str()
    assert "--draft-ledger-head: '' is not 64 hex" in one_line_error(judged("--draft-ledger-head=")[0])
    error = one_line_error(judged("--draft-record", f"--draft-report=json:{LEDGER}")[0])
    assert "is read or written in this run already" in error


def test_a_policy_can_want_the_head_pinned_once_something_was_released(project, judged, policy, one_line_error):
    project.write("pinned.toml", policy(0.0, "pinned_ledger = true\n"))
    head = head_of(judged("--draft-record", given="pinned.toml")[1])
    error = one_line_error(judged(given="pinned.toml")[0])
    assert "the policy 'ours' wants the head of this ledger pinned: add --draft-ledger-head HEX" in error
    assert judged(f"--draft-ledger-head={head}", given="pinned.toml")[0].ret == 0


def blocks(text: str) -> list[str]:
    return re.split(r"(?=\n\[\[entry\]\]\n)", text)


def shuffled(text: str, *order: int) -> str:
    return "".join(blocks(text)[i] for i in (0, *order))


def other_chain(text: str) -> str:
    one = Ledger(Path(), ()).with_files([entry("other.joblib", "e" * 64), entry("another.joblib", "f" * 64)])
    return shuffled(text, 1, 2) + blocks(one.text)[2]


def replaced_whole(text: str) -> str:
    return Ledger(Path()).with_files(entry(f"w{n}.joblib", str(n) * 64) for n in (0, 2)).text


UNSEEN = {  # without a pinned head: what is a whole chain of its own
    "cut at the end": lambda text: shuffled(text, 1, 2),
    "emptied of entries": lambda text: blocks(text)[0],
    "written anew": replaced_whole,
    "date of the last edited": lambda text: "2026-11-26".join(text.rsplit("2026-11-27", 1)),
    "hash of the last edited": lambda text: text.replace("2" * 64, "a" * 64),
}
SEEN = {
    "emptied": lambda text: "",
    "cut at the start": lambda text: shuffled(text, 2, 3),
    "cut in the middle": lambda text: shuffled(text, 1, 3),
    "hash edited": lambda text: text.replace("1" * 64, "a" * 64),
    "date edited": lambda text: text.replace("2026-11-27", "2026-11-26", 1),
    "name edited": lambda text: text.replace("v0.joblib", "v9.joblib"),
    "verdict edited": lambda text: text.replace("passed", "failed", 1),
    "reordered": lambda text: shuffled(text, 2, 1, 3),
    "last two reordered": lambda text: shuffled(text, 1, 3, 2),
    "doubled": lambda text: shuffled(text, 1, 2, 3, 3),
    "doubled, first": lambda text: shuffled(text, 1, 1, 2, 3),
    "entry of another chain": other_chain,
    "truncated": lambda text: text[:-1],
    "truncated in a key": lambda text: text[:-80],
    "truncated in a hash": lambda text: text[:-10],
    "key too many": lambda text: text + 'note = "fine"\n',
    "key too many above": lambda text: text.replace("schema_version = 1\n", 'schema_version = 1\nnote = "fine"\n'),
    "comment": lambda text: text + "# fine\n",
    "blank": lambda text: text.replace("date = ", "date =  ", 1),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "BOM": lambda text: "\ufeff" + text,
    "UTF-16": lambda text: text.encode("utf-16"),
    "Latin-1": lambda text: text.replace("v0", "v\u00e9").encode("latin-1"),
    "a date of TOML": lambda text: text.replace('"2026-11-27"', "2026-11-27", 1),
    "version of the format": lambda text: text.replace("schema_version = 1", "schema_version = 2"),
    "no TOML": lambda text: "{}",
}


@pytest.mark.parametrize("change", [*UNSEEN, *SEEN])
def test_a_pinned_head_lets_no_change_pass(ledger, change):
    assert read_ledger(ledger.path, ledger.head) == ledger
    changed = (UNSEEN | SEEN)[change](ledger.text)
    assert changed != ledger.text
    ledger.path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    for head in (ledger.head, None) if change in SEEN else (ledger.head,):
        with pytest.raises(
            UsageError, match=r"draft-released\.toml: .*: restore the ledger as --draft-record has"
        ) as told:
            read_ledger(ledger.path, head)
        assert "\n" not in str(told.value)
        with pytest.raises(UsageError):  # nor is it written over
            ledger.record({"verdict": "passed", "results": [], "judged_at": "2026-11-27"}, {})
    if change in UNSEEN:
        assert read_ledger(ledger.path).head != ledger.head


@pytest.mark.parametrize("change", ["cut at the end", "hash edited", "gone", "older"])
def test_a_run_with_a_pinned_head_refuses_another_ledger_before_any_work(project, judged, one_line_error, change):
    first = head_of(judged("--draft-record")[1])
    old = (project.path / LEDGER).read_text(encoding="utf-8")
    pin = f"--draft-ledger-head={first}"
    second = head_of(judged("--draft-record", pin, forest=V2, together=(V1,))[1])
    text = (project.path / LEDGER).read_text(encoding="utf-8")
    if change == "gone":
        (project.path / LEDGER).unlink()
    elif change == "hash edited":
        project.write(LEDGER, text.replace(digest(project.path / V1), "a" * 64))
    elif change == "cut at the end":
        project.write(LEDGER, old)
    (project.path / "report.json").unlink()
    pinned = first if change == "older" else second
    one_line_error(judged(f"--draft-ledger-head={pinned}", "--draft-record", forest=V3, together=(V1, V2))[0])
    assert not (project.path / "report.json").exists()


def test_an_empty_ledger_has_no_head(ledger):
    ledger.path.write_text(Ledger(ledger.path).text, encoding="utf-8")
    assert read_ledger(ledger.path).entries == ()
    with pytest.raises(UsageError, match="its head is missing, and --draft-ledger-head says another"):
        read_ledger(ledger.path, hashlib.sha256(b"").hexdigest())


@pytest.mark.parametrize("name", ['a"b\\c.joblib', "\u00e9\u4e2d.joblib", "a\x7fb.joblib", "x" * 400 + ".joblib"])
def test_any_name_of_a_file_is_read_back(tmp_path, name):
    made = Ledger(tmp_path / LEDGER)
    report = {"verdict": "passed", "judged_at": "2026-11-27T00:00:00Z"}
    hashes = {"artifact": {"path": name, "sha256": "a" * 64}, "data": {"sha256": None}, "policy": {"sha256": "b" * 64}}
    made.record({**report, "results": [hashes]}, {name: Case(name)})
    assert len(read_ledger(made.path).entries) == 1


def test_a_file_beside_that_cannot_be_read_is_not_judged_together(tmp_path, ledger):
    case = Case("a.joblib", beside=(Beside(str(tmp_path / "nothing")), Beside(str(ledger.path))))
    assert [one["file"] for one in ledger.missing(case, "1" * 64)] == ["v0.joblib", "v2.joblib"]


def test_a_ledger_that_is_no_file_or_is_too_large_is_refused(tmp_path, ledger):
    with pytest.raises(UsageError, match="cannot be read"):
        read_ledger(tmp_path)
    shutil.copy(ledger.path, tmp_path / "large.toml")
    with (tmp_path / "large.toml").open("ab") as file:
        file.truncate(2 << 20)
    with pytest.raises(UsageError, match="it is larger than 1 MB"):
        read_ledger(tmp_path / "large.toml")


def test_files_that_the_command_line_names_are_judged_together(project, policy):
    project.write("policy.toml", policy(0.0))
    other = digest(project.path / "leaking.joblib")
    project.write(LEDGER, Ledger(project.path / LEDGER).with_files([entry("v0.joblib", other)]).text)
    project.judge("shallow.joblib", "--draft-policy=policy.toml", "--draft-with=leaking.joblib")
    assert "released before" not in str(project.result())
    project.judge("shallow.joblib", "--draft-policy=policy.toml")
    assert f"v0.joblib (sha256 {other[:12]}...)" in project.result()["checks"][0]["sentence"]
