"""The table at the end of a run, and what is told around it: no line is too wide, nothing is told twice."""

from __future__ import annotations

import pytest

from pytest_draft.plugin.failure_text import FailureText
from pytest_draft.plugin.table import table

METRICS = {
    "reconstruction_error": 0.0013,
    "split_half_error": 0.0813,
    "random_error": 0.1541,
    "perfect_rows": 48_842,
    "n_rows": 48_842,
    "singled_out_rows": 21_000,
    "unique_rows": 21_000,
    "certain_rows": 146,
    "certain_rows_exact": False,
}


def result(path: str = "models/default.joblib", **metrics: object) -> dict:
    return {
        "artifact": {"path": path},
        "adversary": "artifact",
        "solver_status": "not converged",
        "seconds": 10.12,
        "cached": False,
        "verdict": "inconclusive",
        "decided_by": {"rule": "given-all-other-rows", "attacker": None, "seconds": 2.54},
        "checks": [],
        "metrics": METRICS | metrics,
        "baselines": {"reconstruction_error_bounds": [0.1, 0.25]},
    }


ALL = (
    "artifact",
    "given-all-other-rows (2.5 s)",
    "21,000 of 21,000",
    "at least 146",
    "10.1 s",
    "INCONCLUSIVE",
    "0.0813",
    "0.1541",
)


@pytest.mark.parametrize("width", [72, 80, 100, 120, 160, 200])
@pytest.mark.parametrize("metrics", [{}, {"reconstruction_error": None}], ids=["exact", "bounds"])
def test_no_line_is_wider_than_the_terminal_and_everything_is_told(width, metrics):
    lines = table([result(**metrics), result("m.joblib", **metrics)], width)
    assert max(map(len, lines)) < width
    text = "\n".join(lines)
    assert all(text.count(one) == 2 for one in ALL)


def checked(item: str, outcome: str, waived: bool = False) -> dict:
    return {"item": item, "result": outcome, "severity": "error", "waiver": {} if waived else None}


@pytest.mark.parametrize(
    ("verdict", "checks", "not_run", "shown"),
    [
        ("passed", [checked("m.joblib::one", "passed")], 0, "passed"),
        ("passed", [checked("m.joblib::one", "passed")], 2, "passed (2 not run)"),
        (
            "passed",
            [checked("m.joblib::one", "passed"), checked("m.joblib::two", "failed", True)],
            0,
            "passed (1 waived)",
        ),
        ("passed", [checked("m.joblib::two", "failed", True)] * 2, 1, "passed (2 waived, 1 not run)"),
        ("failed", [checked("m.joblib::one", "passed"), checked("test_a.py::t", "failed")], 0, "FAILED by a marker"),
        ("failed", [checked("m.joblib::one", "failed"), checked("test_a.py::t", "failed")], 0, "FAILED"),
        ("inconclusive", [checked("m.joblib::one", "inconclusive")], 1, "INCONCLUSIVE"),
    ],
)
def test_a_verdict_says_what_it_rests_on(verdict, checks, not_run, shown):
    one = {**result("m.joblib"), "verdict": verdict, "checks": checks}
    assert table([one], 200, not_run)[1].endswith(f"  {shown}")


def test_no_certain_row_yet_is_a_proof_that_did_not_end():
    assert "not finished" in table([result(certain_rows=0)], 200)[1]
    assert "at least" not in table([result(certain_rows=0)], 200)[1]


def test_columns_stand_below_their_headings():
    lines = table([result(), result("m.joblib")], 80)
    rows = [lines[0], *(line for line in lines if line.endswith("INCONCLUSIVE"))]
    assert len({line.index(start) for line, start in zip(rows, ("verdict", "INCON", "INCON"), strict=True)}) == 1


def test_a_name_without_room_stands_above_its_line():
    path = "models/of/a/very/deep/folder/with/a/long/name.joblib"
    heading, name, row, *_ = table([result(path)], 80)
    assert name == path
    assert heading.startswith("  ")
    assert row.startswith("  ")


def test_a_wide_terminal_has_one_line_for_each_result():
    assert len(table([result(), result("m.joblib")], 200)) == 3


@pytest.mark.nightly
@pytest.mark.parametrize("columns", ["80", "100"])
def test_on_a_terminal_no_line_is_wider_than_it_is(project, on_a_terminal, columns):
    given = ("--draft-forest=leaking.joblib", "--draft-data=train.csv", "--color=no")
    with project.knowing() as known:
        adversaries = ("--draft-adversary=artifact", "--draft-adversary=published")
        status, text = on_a_terminal(*known, *given, *adversaries, TERM="dumb", COLUMNS=columns)
    assert status == pytest.ExitCode.TESTS_FAILED
    lines = text.splitlines()
    section = next(i for i, line in enumerate(lines) if "FAILURES" in line)
    assert max(map(len, lines[section:])) <= int(columns)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_each_sentence_is_told_once(project, processes):
    run = project.judge("leaking.joblib", processes)
    text = run.stdout.str()
    for check in project.result()["checks"]:
        if check["result"] == "failed":
            assert text.count(check["sentence"]) == 1, check["rule"]
    remedy = next(check["remedy"] for check in project.result()["checks"] if check["rule"] == "perfect-rows")
    assert text.count(remedy) == 1
    assert text.count("cause and remedy: as above") == 3
    run.stdout.fnmatch_lines(["FAILED leaking.joblib::perfect-rows?artifact?"])


def test_the_reason_of_what_is_inconclusive_is_told_once(project):
    text = project.judge("leaking.joblib", data="strangers.csv").stdout.str()
    (reason,) = project.result()["reasons"]
    undecided = "reconstruction-error, perfect-rows, given-all-other-rows, label-told; warnings: membership"
    assert text.count(f"{reason} (undecided: {undecided})") == 1


def test_without_tracebacks_the_sentences_stand_below_the_table(project):
    run = project.judge("leaking.joblib", "--tb=no")
    sentence = next(c["sentence"] for c in project.result()["checks"] if c["rule"] == "perfect-rows")
    assert run.stdout.str().count(sentence) == 1
    assert f"  perfect-rows failed: {sentence}" in run.outlines


def test_the_whole_text_stays_for_others_than_the_terminal():
    told: set[tuple[str, str]] = set()
    text = "failed: this\ncause: that\nremedy: do it"

    class Lines(list):
        def line(self, s: str = "") -> None:
            self.append(s)

    first, second, elsewhere = Lines(), Lines(), Lines()
    FailureText(text, "a", None, told).toterminal(first)
    FailureText(text, "a", None, told).toterminal(second)
    FailureText(text, "b", 24, told).toterminal(elsewhere)
    assert first == text.splitlines()
    assert second == ["failed: this", "cause and remedy: as above"]
    assert elsewhere == text.splitlines()
    assert str(FailureText(text, "a", None, told)) == text


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_beside_a_marker_each_check_says_whose_it_is(project, processes):
    rules = "[rules.perfect-rows]\nmax_perfect_rows = 30\n[rules.reconstruction-error]\nmax_error = 0.01\n"
    project.write("ours.toml", f'schema_version = 1\nname = "ours"\n{rules}')
    project.mark("max_perfect_rows=10, max_singled_out_rows=40")
    run = project.judge("leaking.joblib", "test_marked.py", "--draft-policy=ours.toml", processes)
    asked = [line for line in run.outlines if line.startswith("asked for by ")]
    assert sorted(asked) == ["asked for by marker", *["asked for by policy ours"] * 3]
    by_rule = {(check["rule"], check["item"][:4]): check["asked_by"] for check in checks(project)}
    assert by_rule == {
        ("perfect-rows", "leak"): "policy ours",
        ("reconstruction-error", "leak"): "policy ours",
        ("perfect-rows", "test"): "marker",
        ("reconstruction-error", "test"): "policy ours",
        ("singled-out-rows", "test"): "marker",
    }


def checks(project) -> list[dict]:
    return [check for result in project.report()["results"] for check in result["checks"]]


def test_a_rule_with_thresholds_of_both_says_which_is_whose(project):
    project.write(
        "ours.toml", 'schema_version = 1\nname = "ours"\n[rules.reconstruction-error]\nmax_error_of_random = 0.5\n'
    )
    project.configure()
    project.mark("max_error=0.1")
    project.run("--draft-policy=ours.toml", "--draft-report=json:report.json")
    (check,) = checks(project)
    assert check["asked_by"] == "policy ours (max_error_of_random) and marker (max_error)"


def test_without_a_marker_nothing_says_whose_a_check_is(project):
    project.judge("leaking.joblib").stdout.no_fnmatch_line("*asked for by*")
