"""Severities and waivers, and forty ways to get a policy wrong."""

from __future__ import annotations

import re
from datetime import date

import pytest

import builders
from pytest_draft.errors import PolicyError
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.files import ArtifactFacts, DataFacts
from pytest_draft.policy.policy import Policy, read_policy
from pytest_draft.policy.verdict import check_rule, judge, verdict_of
from pytest_draft.policy.waiver import Waiver

TODAY = date(2026, 11, 21)
HASH, OTHER = "ab" * 32, "cd" * 32
HEAD = 'schema_version = 1\nname = "ours"\n'
RULES = "[rules.perfect-rows]\nmax_perfect_rows = 1\n"
WAIVER = {
    "rule": '"perfect-rows"',
    "artifact_sha256": f'"{HASH}"',
    "reason": '"internal use"',
    "owner": '"A. Person"',
    "expires": "2026-12-31",
}


def waiver(without: str | None = None, **changed: str) -> str:
    """Return a waiver's text, with some keys changed or one left out."""
    keys = {**WAIVER, **changed}
    return "[[waiver]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items() if key != without)


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a policy of this text, as of a day."""

    def written(text: str, today: date = TODAY) -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return read_policy(path, today)

    return written


BROKEN = {
    "not TOML": ("schema_version = \n", 1, "TOML"),
    "nothing": ("", None, "schema_version"),
    "no version": ('name = "ours"\n' + RULES, None, "schema_version"),
    "other version": ('schema_version = 2\nname = "ours"\n' + RULES, 1, "schema_version"),
    "no name": ("schema_version = 1\n" + RULES, None, "name"),
    "empty name": ('schema_version = 1\nname = ""\n' + RULES, 2, "name"),
    "name of a number": ("schema_version = 1\nname = 3\n" + RULES, 2, "name"),
    "no rules": (HEAD, None, "rules"),
    "empty rules": (HEAD + "[rules]\n", 3, "rules"),
    "unknown top key": (HEAD + "strict = true\n" + RULES, 3, "strict"),
    "unknown rule": (HEAD + "[rules.perfect-row]\nmax_perfect_rows = 1\n", 3, "perfect-row"),
    "unknown key": (HEAD + "[rules.perfect-rows]\nmax_perfect_row = 1\n", 4, "max_perfect_row"),
    "no key": (HEAD + "[rules.perfect-rows]\n", 3, "perfect-rows"),
    "negative": (HEAD + "[rules.perfect-rows]\nmax_perfect_rows = -1\n", 4, "max_perfect_rows"),
    "fraction of rows": (HEAD + "[rules.perfect-rows]\nmax_perfect_rows = 1.5\n", 4, "max_perfect_rows"),
    "text for a number": (HEAD + '[rules.reconstruction-error]\nmax_error = ".1"\n', 4, "max_error"),
    "more than 1": (HEAD + "[rules.reconstruction-error]\nmax_error = 5\n", 4, "max_error"),
    "not a number": (HEAD + "[rules.reconstruction-error]\nmax_error = nan\n", 4, "max_error"),
    "infinite": (HEAD + "[rules.time-box]\nmin_seconds = inf\n", 4, "min_seconds"),
    "truth for a number": (HEAD + "[rules.reconstruction-error]\nmax_error = true\n", 4, "max_error"),
    "epsilon without cap": (HEAD + "[rules.epsilon-cap]\nmax_delta = 0.1\n", 3, "max_epsilon"),
    "threshold where there is none": (HEAD + "[rules.dp-required]\nmax_epsilon = 1\n", 4, "max_epsilon"),
    "rule as a number": (HEAD + "[rules]\nperfect-rows = 1\n", 4, "perfect-rows"),
    "no kinds": (HEAD + "[rules.allowed-models]\nkinds = []\n", 4, "kinds"),
    "kinds as text": (HEAD + '[rules.allowed-models]\nkinds = "RandomForestClassifier"\n', 4, "kinds"),
    "short pin": (HEAD + '[rules.artifact-pinned]\nsha256 = ["abc"]\n', 4, "sha256"),
    "no adversary": (HEAD + "adversaries = []\n" + RULES, 3, "adversaries"),
    "unknown adversary": (HEAD + 'adversaries = ["nobody"]\n' + RULES, 3, "nobody"),
    "adversary twice": (HEAD + 'adversaries = ["artifact", "artifact"]\n' + RULES, 3, "adversaries"),
    "severity of what is not there": (HEAD + '[severity]\ntime-box = "warning"\n' + RULES, 4, "time-box"),
    "unknown severity": (HEAD + '[severity]\nperfect-rows = "fatal"\n' + RULES, 4, "fatal"),
    "waiver without reason": (HEAD + RULES + waiver(without="reason"), 5, "reason"),
    "waiver without owner": (HEAD + RULES + waiver(without="owner"), 5, "owner"),
    "waiver without end": (HEAD + RULES + waiver(without="expires"), 5, "expires"),
    "waiver without file": (HEAD + RULES + waiver(without="artifact_sha256"), 5, "artifact_sha256"),
    "waiver without rule": (HEAD + RULES + waiver(without="rule"), 5, "rule"),
    "waiver with an empty reason": (HEAD + RULES + waiver(reason='""'), 8, "reason"),
    "waiver with a blank owner": (HEAD + RULES + waiver(owner='" "'), 9, "owner"),
    "waiver with a short hash": (HEAD + RULES + waiver(artifact_sha256='"abc"'), 7, "artifact_sha256"),
    "waiver with capitals": (HEAD + RULES + waiver(artifact_sha256=f'"{HASH.upper()}"'), 7, "artifact_sha256"),
    "waiver with no date": (HEAD + RULES + waiver(expires='"soon"'), 10, "expires"),
    "waiver with a moment": (HEAD + RULES + waiver(expires="2026-12-31T12:00:00"), 10, "expires"),
    "waiver of what is not there": (HEAD + RULES + waiver(rule='"time-box"'), 6, "time-box"),
    "waiver that has expired": (HEAD + RULES + waiver(expires="2026-11-20"), 10, "expired on 2026-11-20"),
    "waiver twice": (HEAD + RULES + waiver() + waiver(), 12, "waived for this file already"),
    "waiver with another key": (HEAD + RULES + waiver() + 'ticket = "X-1"\n', 11, "ticket"),
    "one waiver, not a list": (HEAD + RULES + waiver().replace("[[waiver]]", "[waiver]"), 6, "waiver"),
    "expired second waiver": (
        HEAD + RULES + waiver() + waiver(artifact_sha256=f'"{OTHER}"', expires="2020-01-01"),
        16,
        "expired on 2020-01-01",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_policy_is_refused_with_file_key_and_line(read, name):
    text, line, key = BROKEN[name]
    with pytest.raises(PolicyError) as refusal:
        read(text)
    message = str(refusal.value)
    assert "policy.toml" in message
    assert key in message
    assert "\n" not in message
    assert line is None or re.search(rf"\bline {line}\b", message), message


def test_all_that_is_wrong_is_told_at_once(read):
    text = HEAD + "[rules.perfect-rows]\nmax_perfect_rows = -1\n" + waiver(reason='""', artifact_sha256='"abc"')
    with pytest.raises(PolicyError) as refusal:
        read(text)
    assert all(key in str(refusal.value) for key in ("max_perfect_rows", "reason", "artifact_sha256"))


def test_a_waiver_holds_through_its_last_day(read):
    text = HEAD + RULES + waiver()
    policy = read(text, date(2026, 12, 31))
    assert policy.waivers == (Waiver("perfect-rows", HASH, "internal use", "A. Person", date(2026, 12, 31)),)
    with pytest.raises(PolicyError, match="expired"):
        read(text, date(2027, 1, 1))


def examination(sha256: str | None = HASH, seconds: float = 60.0) -> Examination:
    return builders.examination(
        case=Case("model.joblib", seconds=seconds),
        artifact=ArtifactFacts("model.joblib", sha256, holds="RandomForestClassifier", kind="RandomForestClassifier"),
        data=DataFacts(None),
        solver_status="not asked",
        residual=None,
    )


def test_a_waiver_covers_one_rule_of_one_file_and_only_where_it_does_not_pass():
    mine = Waiver("time-box", HASH, "why", "who", TODAY)
    policy = Policy("ours", "by hand", {"time-box": {"min_seconds": 100}, "dp-required": {}}, waivers=(mine,))
    waived = check_rule(examination(), policy, "time-box")
    assert (waived.result, waived.waiver, waived.counts, waived.stops(policy)) == ("failed", mine, False, False)
    assert check_rule(examination(OTHER), policy, "time-box").stops(policy)
    assert check_rule(examination(), policy, "dp-required").stops(policy)
    assert check_rule(examination(seconds=100), policy, "time-box").waiver is None


def test_a_warning_stops_nothing_and_a_policy_can_make_it_an_error():
    rules = {"time-box": {"min_seconds": 100}}
    told = Policy("ours", "by hand", rules, severities={"time-box": "warning"})
    (check,) = judge(examination(), told)
    assert (check.result, check.severity, check.stops(told)) == ("failed", "warning", False)
    (check,) = judge(examination(), Policy("ours", "by hand", rules))
    assert (check.result, check.severity) == ("failed", "error")


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([], "inconclusive"),
        ([("failed", False)], "passed"),
        ([("failed", False), ("passed", True)], "passed"),
        ([("failed", False), ("inconclusive", True)], "inconclusive"),
        ([("failed", True), ("passed", False)], "failed"),
    ],
)
def test_the_verdict_is_the_gravest_result_that_counts(checks, verdict):
    assert verdict_of(checks) == verdict


@pytest.mark.parametrize(
    ("rule", "thresholds", "result"),
    [
        ("time-box", {"min_seconds": 60}, "passed"),
        ("time-box", {"min_seconds": 61}, "failed"),
        ("allowed-models", {"kinds": ["RandomForestClassifier"]}, "passed"),
        ("allowed-models", {"kinds": ["DecisionTreeClassifier"]}, "failed"),
        ("artifact-pinned", {"sha256": [OTHER, HASH]}, "passed"),
        ("artifact-pinned", {"sha256": [OTHER]}, "failed"),
        ("certain-rows", {"max_certain_rows": 1000}, "inconclusive"),
        ("training-data-mismatch", {}, "inconclusive"),
        ("leak-p-value", {"min_p_value": 0.05}, "inconclusive"),
        ("worst-row", {"max_error_of_worst_row": 0.05}, "inconclusive"),
    ],
)
def test_rules_on_the_process_need_no_attack_and_those_on_its_findings_do(rule, thresholds, result):
    policy = Policy("ours", "by hand", {rule: thresholds})
    assert check_rule(examination(), policy, rule).result == result
    assert policy.needs_attack == (result == "inconclusive")


def test_a_file_that_was_not_read_has_no_kind_and_no_hash_that_could_be_allowed():
    unread = examination(sha256=None)
    object.__setattr__(unread, "artifact", ArtifactFacts("model.joblib"))
    for rule, thresholds in (("allowed-models", {"kinds": ["X"]}), ("artifact-pinned", {"sha256": [HASH]})):
        assert check_rule(unread, Policy("ours", "by hand", {rule: thresholds}), rule).result == "inconclusive"
