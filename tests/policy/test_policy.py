"""Policies: files, markers, what happens where two meet, and the schema that is shipped beside them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product

import pytest
from jsonschema import Draft202012Validator

import builders
from builders import FINDINGS, changed
from pytest_draft.documents import rules_folder
from pytest_draft.errors import PolicyError
from pytest_draft.facts.adversary import ADVERSARIES
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.privacy import Privacy
from pytest_draft.policy.policy import Policy, budgets_of_marker, default_policy, read_policy
from pytest_draft.policy.rules import RULES
from pytest_draft.policy.verdict import Check, check_rule, judge, overall

HEAD = 'schema_version = 1\nname = "ours"\n'
NOISY = Privacy("laplace", 5.0, scale=1.4, rounding="sum")


@pytest.fixture
def schema():
    return json.loads((rules_folder() / "policy.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def written(tmp_path):
    """Return a function that reads a policy of this text."""

    def read(text: str) -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return read_policy(path)

    return read


def examination(error: float | None = 0.1, reasons: tuple[str, ...] = (), adversary: str = "artifact") -> Examination:
    """Return an examination by hand; without an error, one without findings."""
    measured = Distance(error or 0.0, error or 0.0, 1.0)
    findings = changed(FINDINGS, error=measured, original_error=Distance(0.0, 0.0, 1.0))
    return builders.examination(
        case=Case("model.joblib", adversary=adversary),
        artifact=ArtifactFacts("model.joblib", n_trees=7, bootstrap=True),
        findings=None if error is None else findings,
        reasons=reasons,
    )


def test_the_schema_lists_exactly_the_rules_and_keys_of_the_code(schema):
    listed = schema["properties"]["rules"]["properties"]
    assert {rule: set(entry["properties"]) for rule, entry in listed.items()} == {
        rule: set(RULES[rule].keys) for rule in RULES
    }


def test_the_schema_gives_every_key_the_type_and_range_of_the_code(schema):
    listed = schema["properties"]["rules"]["properties"]
    for rule, entry in listed.items():
        assert entry["additionalProperties"] is False
        for name, described in entry["properties"].items():
            key = RULES[rule].keys[name]
            if key.listed:
                assert (described["type"], described["items"]["type"]) == ("array", "string")
                continue
            assert described["type"] == ("integer" if key.whole else "number")
            assert described["minimum"] == 0
            assert described.get("maximum") == key.largest


def test_the_schema_lists_exactly_the_adversaries_of_the_code(schema):
    pattern = schema["properties"]["adversaries"]["items"]["pattern"]
    assert re.match(r"\^\(([a-z|+\[\]]+)\)", pattern)[1].replace("[+]", "+").split("|") == list(ADVERSARIES)


@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize("knowledge", ["", "+columns:a,b", "+columns:3+rows:2", "+rows:2.5%", "+informed+columns:x:>1"])
def test_the_schema_and_the_code_agree_on_side_knowledge(schema, written, name, knowledge):
    text = name + knowledge
    assert re.search(schema["properties"]["adversaries"]["items"]["pattern"], text)
    policy = written(HEAD + f'adversaries = ["{text}"]\n[rules.perfect-rows]\nmax_perfect_rows = 1\n')
    assert policy.adversaries == (text,)


def test_the_schema_is_a_schema(schema):
    Draft202012Validator.check_schema(schema)


def test_the_shipped_default_is_valid_and_not_explicit():
    policy = default_policy()
    assert not policy.explicit
    assert policy.name == "default"
    assert policy.source == "rules/default.toml"
    assert policy.adversaries == ("artifact",)
    assert not policy.allow_inconclusive


def test_the_shipped_default_states_no_absolute_number_but_that_of_proved_rows():
    thresholds = {key for rule in default_policy().rules.values() for key in rule}
    relative = {"max_error_of_split_half", "max_share_beyond_split_half", "max_exact_values_beyond_split_half"}
    relative |= {"max_determined_share", "max_told_rows_share"}  # of the rows
    relative |= {"max_single_values_beyond_split_half", "max_exact_values_share"}  # of their numbers
    relative |= {"max_told_share", "least_difference", "max_certain_share", "max_exact_share"}  # of people
    relative |= {"max_found_share", "max_proved_share"}
    assert thresholds == {*relative, "min_rows_of_a_category", "max_certain_unique_rows", "max_highest_targets"}


@pytest.mark.parametrize("path", sorted(rules_folder().glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_policy_is_valid_and_names_its_schema_and_is_called_as_its_file(path):
    assert path.read_text(encoding="utf-8").startswith("#:schema ./policy.schema.json\n")
    assert read_policy(path).name == path.stem


def test_the_shipped_policy_for_differential_privacy_is_the_default_and_the_rules_on_claims():
    shipped, default = read_policy(rules_folder() / "dp-release.toml"), default_policy()
    claims = {"dp-required", "epsilon-cap", "declared-epsilon-but-exact-counts"}
    assert set(shipped.rules) == claims | set(default.rules)
    assert {rule: shipped.rules[rule] for rule in default.rules} == default.rules
    assert (shipped.adversaries, shipped.allow_inconclusive) == (default.adversaries, default.allow_inconclusive)


def test_a_rule_without_thresholds_is_an_empty_table(written):
    assert written(HEAD + "[rules.dp-required]\n").rules == {"dp-required": {}}


def test_a_threshold_that_is_not_given_is_in_force_with_its_default(written):
    policy = written(HEAD + "[rules.epsilon-cap]\nmax_epsilon = 3\n")
    assert policy.rules == {"epsilon-cap": {"max_epsilon": 3, "max_delta": 0}}


@pytest.mark.parametrize(
    "other", ["[rules.perfect-rows]\nmax_perfect_rows = 3\n", "[rules.reconstruction-error]\nmax_error = 0.1\n"]
)
@pytest.mark.parametrize(
    ("rule", "key"), [("determined-rows", "max_determined_share"), ("given-all-other-rows", "max_told_rows_share")]
)
def test_rules_on_what_a_file_determines_stand_beside_one_that_judges_every_file(written, other, rule, key):
    assert rule in written(HEAD + other + f"[rules.{rule}]\n{key} = 0.5\n").rules


def test_a_policy_says_all_that_its_file_says(written):
    policy = written(
        'schema_version = 1\nname = "ours"\nadversaries = ["published", "artifact"]\nallow_inconclusive = true\n'
        "[rules.perfect-rows]\nmax_perfect_rows = 3\n[rules.reconstruction-error]\nmax_error = 0.5\n"
    )
    assert policy.name == "ours"
    assert policy.explicit
    assert policy.allow_inconclusive
    assert policy.adversaries == ("published", "artifact")
    assert policy.rules == {
        "perfect-rows": {"max_perfect_rows": 3},
        "reconstruction-error": {"max_error": 0.5},
    }


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (HEAD + "[rules.reconstruction-error]\nmax_eror = 1\n", ["line 4", "max_eror"]),
        (HEAD + "[rules.perfect-rows]\nmax_perfect_rows = 1.5\n", ["line 4", "1.5"]),
        (HEAD + "[rules.perfect-rows]\nmax_perfect_rows = true\n", ["line 4", "max_perfect_rows"]),
        (HEAD + "[rules.perfect-rows]\nmax_perfect_rows = -1\n", ["line 4", "-1"]),
        (HEAD + "[rules.reconstruction-error]\nmax_error = nan\n", ["line 4", "max_error"]),
        (HEAD + "[rules.reconstruction-error]\nmax_error = inf\n", ["line 4", "max_error"]),
        (HEAD + "[rules.perfect-rows]\nmax_share_beyond_split_half = nan\n", ["line 4", "max_share"]),
        (HEAD + '[rules.reconstruction-error]\nmax_error = "0.5"\n', ["line 4", "max_error"]),
        (HEAD + "[rules.reconstruction-error]\n", ["line 3", "reconstruction-error"]),
        (
            HEAD + "[rules.determined-rows]\nmax_determined_share = 0.5\n",
            ["line 3", "rules.determined-rows", "[rules.reconstruction-error] or [rules.perfect-rows] beside it"],
        ),
        (
            HEAD + "[rules.smallest-leaf]\nmin_rows = 5\n[rules.determined-rows]\nmax_determined_share = 0.5\n",
            ["line 5", "rules.determined-rows"],
        ),
        (
            HEAD + "[rules.given-all-other-rows]\nmax_told_rows_share = 0.5\n",
            ["line 3", "rules.given-all-other-rows", "[rules.reconstruction-error] or [rules.perfect-rows] beside it"],
        ),
        (HEAD + "[rules.dp-required]\nmax_epsilon = 1\n", ["line 4", "max_epsilon"]),
        (HEAD + "[rules.epsilon-cap]\n", ["line 3", "max_epsilon"]),
        (HEAD + "[rules.epsilon-cap]\nmax_delta = 0\n", ["line 3", "max_epsilon"]),
        (HEAD + "[rules.epsilon-cap]\nmax_epsilon = -1\n", ["line 4", "-1"]),
        (HEAD + "[rules.epsilon-cap]\nmax_epsilon = inf\n", ["line 4", "max_epsilon"]),
        (HEAD + "[rules.epsilon-cap]\nmax_epsilon = 1\nmax_delta = 2\n", ["line 5", "max_delta"]),
        (HEAD + "[rules]\n", ["line 3", "rules"]),
        (HEAD + "adversaries = []\n[rules.perfect-rows]\nmax_perfect_rows = 1\n", ["line 3", "adversaries"]),
        (HEAD + 'adversaries = ["me"]\n[rules.perfect-rows]\nmax_perfect_rows = 1\n', ["line 3", "me"]),
        (
            HEAD + 'adversaries = ["artifact", "published+rows:0"]\n[rules.perfect-rows]\nmax_perfect_rows = 1\n',
            ["line 3", "'published+rows:0'", "at least 1 row"],
        ),
        (
            HEAD + "allow_inconclusive = 1\n[rules.perfect-rows]\nmax_perfect_rows = 1\n",
            ["line 3", "boolean"],
        ),
        ("[rules.perfect-rows]\nmax_perfect_rows = 1\n", ["schema_version", "name"]),
        (
            HEAD.replace("1", "2") + "[rules.perfect-rows]\nmax_perfect_rows = 1\n",
            ["line 1", "schema_version"],
        ),
        (HEAD + "rules = 3\n", ["line 3", "rules"]),
        ("name = \na = 1", ["not valid TOML", "line 1"]),
        ("a = 1\na = 2\n", ["not valid TOML"]),
        ("", ["schema_version", "name", "rules"]),
    ],
)
def test_a_wrong_policy_is_refused_in_one_line_with_its_place(written, text, messages):
    with pytest.raises(PolicyError) as caught:
        written(text)
    shown = str(caught.value)
    assert "\n" not in shown
    assert "policy.toml: " in shown
    for message in messages:
        assert message in shown


def test_all_errors_are_told_at_once(written):
    with pytest.raises(PolicyError) as caught:
        written('schema_version = 3\nname = ""\n[rules.x]\n[rules.perfect-rows]\nmax_perfect_rows = -1\n')
    assert [number for number in range(1, 6) if f"line {number}:" in str(caught.value)] == [1, 2, 3, 5]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"name = '\x00'"])
def test_a_policy_that_is_no_text_is_refused(tmp_path, content):
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError):
        read_policy(path)


def test_a_folder_is_no_policy(tmp_path):
    with pytest.raises(PolicyError, match="cannot be read"):
        read_policy(tmp_path)


@pytest.mark.parametrize("key", [(rule, key) for rule in RULES for key in RULES[rule].keys], ids="/".join)
@pytest.mark.parametrize("swapped", [False, True])
def test_the_strictest_wins_where_two_budgets_meet(key, swapped):
    rule, name = key
    if RULES[rule].keys[name].listed:
        mine, theirs = (["a", "b"], ["b", "c"])[:: -1 if swapped else 1]
        policy = Policy("ours", "by hand", {rule: {name: mine}}).tightened({rule: {name: theirs}})
        assert policy.rules[rule][name] == ["b"]
        return
    mine, theirs = (1, 0) if swapped else (0, 1)
    policy = Policy("ours", "by hand", {rule: {name: mine}}).tightened({rule: {name: theirs}})
    assert set(policy.rules) == {rule}
    assert policy.rules[rule][name] == (1 if "error" in name or name.startswith("min_") else 0)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_default_is_a_budget_too_where_two_policies_meet(swapped):
    pure, approximate = {"max_epsilon": 1.0}, {"max_epsilon": 2.0, "max_delta": 0.1}
    mine, theirs = (approximate, pure) if swapped else (pure, approximate)
    policy = Policy("ours", "by hand", {"epsilon-cap": mine}).tightened({"epsilon-cap": theirs})
    assert policy.rules == {"epsilon-cap": {"max_epsilon": 1.0, "max_delta": 0.0}}


def test_a_rule_without_thresholds_is_added_where_two_policies_meet():
    mine = {"perfect-rows": {"max_perfect_rows": 3}}
    policy = Policy("ours", "by hand", mine).tightened({"dp-required": {}})
    assert policy.rules == {**mine, "dp-required": {}}


def test_a_further_budget_is_an_error_where_the_policy_only_warns():
    rules = {"perfect-rows": {"max_perfect_rows": 3}, "time-box": {"min_seconds": 1}}
    first = Policy("ours", "by hand", rules, severities={"perfect-rows": "warning", "time-box": "warning"})
    second = first.tightened({"perfect-rows": {"max_perfect_rows": 5}})
    assert second.severities == {"perfect-rows": "error", "time-box": "warning"}


def test_a_further_budget_is_added_and_the_first_policy_stays_as_it_was():
    first = Policy("ours", "by hand", {"perfect-rows": {"max_perfect_rows": 3}}, ("published",), True)
    second = first.tightened({"reconstruction-error": {"max_error": 0.1}})
    assert first.rules == {"perfect-rows": {"max_perfect_rows": 3}}
    assert second.rules == {
        "perfect-rows": {"max_perfect_rows": 3},
        "reconstruction-error": {"max_error": 0.1},
    }
    assert (second.adversaries, second.allow_inconclusive) == (("published",), True)


def test_a_markers_arguments_become_the_budgets_of_their_rules():
    assert budgets_of_marker({"max_error": 0, "max_perfect_rows": 0, "max_singled_out_rows": 3}) == {
        "reconstruction-error": {"max_error": 0},
        "perfect-rows": {"max_perfect_rows": 0},
        "singled-out-rows": {"max_singled_out_rows": 3},
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"max_errors": 1},
        {"max_error": None},
        {"max_error": float("nan")},
        {"max_error": 1.01},
        {"max_error": -0.01},
        {"max_perfect_rows": 1.0},
        {"max_perfect_rows": True},
        {"max_perfect_rows": -1},
        {"max_singled_out_rows": "3"},
    ],
    ids=str,
)
def test_a_markers_wrong_arguments_are_refused_in_one_line(arguments):
    with pytest.raises(PolicyError) as caught:
        budgets_of_marker(arguments)
    assert "reconstruction_budget" in str(caught.value)
    assert "\n" not in str(caught.value)


RESULTS = ("failed", "inconclusive", "passed")


@pytest.mark.parametrize("results", [*product(RESULTS, RESULTS), *product(RESULTS, RESULTS, RESULTS)], ids=" ".join)
def test_failed_beats_inconclusive_beats_passed(results):
    assert overall(results) == min(results, key=RESULTS.index)


def test_no_result_at_all_is_inconclusive():
    assert overall([]) == "inconclusive"


@pytest.mark.parametrize(
    ("error", "max_error", "reasons", "expected"),
    [
        (0.1, 0.2, (), "failed"),
        (0.1, 0.2, ("no convergence",), "failed"),
        (0.1, 0.0, (), "passed"),
        (0.1, 0.0, ("no convergence",), "inconclusive"),
        (None, 0.2, (), "inconclusive"),
        (None, 0.2, ("refused",), "inconclusive"),
    ],
)
@pytest.mark.parametrize("allow", [False, True])
def test_a_crossed_budget_stays_crossed_and_doubt_is_never_a_pass(error, max_error, reasons, expected, allow):
    policy = Policy("ours", "by hand", {"reconstruction-error": {"max_error": max_error}}, allow_inconclusive=allow)
    check = check_rule(examination(error, reasons), policy, "reconstruction-error")
    assert check.result == expected
    assert bool(check.cause) == bool(check.remedy) == (expected == "failed")
    if expected == "inconclusive" and reasons:
        assert check.sentence == "; ".join(reasons)


def test_every_rule_of_a_policy_is_judged_in_its_order():
    rules = {"singled-out-rows": {"max_singled_out_rows": 3}, "perfect-rows": {"max_perfect_rows": 10}}
    checks = judge(examination(), Policy("ours", "by hand", rules))
    assert [check.rule for check in checks] == ["singled-out-rows", "perfect-rows"]
    assert [check.result for check in checks] == ["failed", "passed"]


@pytest.mark.parametrize(
    ("bootstrap", "adversary", "seed"),
    [(True, "artifact", True), (False, "artifact", False), (True, "published", False)],
)
def test_a_failure_names_the_seeds_only_where_they_are_what_was_used(bootstrap, adversary, seed):
    found = examination(adversary=adversary)
    found = changed(found, artifact=replace(found.artifact, bootstrap=bootstrap))
    policy = Policy("ours", "by hand", {"reconstruction-error": {"max_error": 1.0}})
    check = check_rule(found, policy, "reconstruction-error")
    assert ("seed" in check.cause) == seed
    assert "7 trees" in check.cause


@pytest.mark.parametrize("reasons", [(), ("no convergence",)])
@pytest.mark.parametrize("error", [0.1, None])
@pytest.mark.parametrize(("privacy", "expected"), [(NOISY, "passed"), (None, "failed")])
def test_what_needs_only_the_artifact_is_judged_whatever_the_attack_has_come_to(error, reasons, privacy, expected):
    found = examination(error, reasons)
    found = changed(found, artifact=replace(found.artifact, privacy=privacy))
    check = check_rule(found, Policy("ours", "by hand", {"dp-required": {}}), "dp-required")
    assert check.result == expected
    assert bool(check.remedy) == (expected == "failed")
    assert check.cause is None


@pytest.mark.parametrize("reasons", [(), ("refused",)])
@pytest.mark.parametrize("rule", [rule for rule in RULES if RULES[rule].needs is ArtifactFacts])
def test_what_needs_the_artifact_is_inconclusive_where_the_file_was_not_read(rule, reasons):
    unread = replace(examination(None, reasons), artifact=ArtifactFacts("model.joblib", sha256="0" * 64))
    check = check_rule(unread, Policy("ours", "by hand", {rule: {"max_epsilon": 1.0}}), rule)
    assert check.result == "inconclusive"
    assert check.sentence == ("refused" if reasons else "there is nothing that this rule could judge")


def failing(privacy: Privacy | None, n_trees: int = 7) -> Check:
    found = examination()
    found = changed(found, artifact=replace(found.artifact, privacy=privacy, bootstrap=False, n_trees=n_trees))
    return check_rule(
        found, Policy("ours", "by hand", {"reconstruction-error": {"max_error": 0.3}}), "reconstruction-error"
    )


@pytest.mark.parametrize(
    ("privacy", "cause"),
    [
        (None, "the file stores the class counts of every node of 7 trees, each grown on all rows"),
        (NOISY, "the file stores noisy class counts (Laplace, epsilon 5) of every leaf of 7 trees"),
        (
            Privacy("gaussian", 0.5, 1e-5, 3.0, "sum"),
            "the file stores noisy class counts (Gaussian, epsilon 0.5 and delta 1e-05) of every leaf of 7 trees",
        ),
        (
            Privacy("permute-and-flip", 1.0),
            "the file stores a label (Permute-and-flip, epsilon 1) of every leaf of 7 trees",
        ),
        (
            replace(NOISY, exact=True),
            "the file stores the exact class counts of every leaf of 7 trees, each grown on all rows",
        ),
    ],
)
def test_a_failure_names_what_the_file_stores(privacy, cause):
    assert failing(privacy).cause == cause
    assert "of every leaf of 1 tree" in failing(NOISY, n_trees=1).cause


@pytest.mark.parametrize(
    ("privacy", "remedy"),
    [
        (None, "retrain with fewer and smaller trees, and judge"),
        (NOISY, "retrain with a smaller epsilon and judge"),
        (Privacy("permute-and-flip", 1.0), "retrain with a smaller epsilon or shallower trees"),
        (replace(NOISY, exact=True), "retrain so that the file keeps what it declares"),
        (replace(NOISY, broken_by=("its noise can be replayed",)), "retrain so that the file keeps what it declares"),
    ],
)
def test_a_remedy_fits_what_the_file_stores(privacy, remedy):
    assert failing(privacy).remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ('"artifact", "published", "artifact"', 'adversaries: there is more than one "artifact"'),
        ("[1], [1], 2", "adversaries: there is more than one [1]"),
        (", ".join(f'{i}, "a{i}"' for i in range(500)), "and at least 980 more"),
    ],
    ids=["texts", "mixed", "very many"],
)
def test_what_is_there_twice_is_told_without_comparing_each_with_each(written, monkeypatch, items, problem):
    def compared(*_):
        raise AssertionError("each is compared with each")

    monkeypatch.setattr("jsonschema._keywords.uniq", compared)
    with pytest.raises(PolicyError, match=re.escape(problem)):
        written(f"{HEAD}adversaries = [{items}]\n[rules.perfect-rows]\nmax_perfect_rows = 1\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 33 + "]" * 33, "nested more than 32 deep"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested more than 32 deep"),
        (".".join("a" * 40) + " = 1", "a key of more than 32 parts"),
    ],
)
def test_a_policy_that_is_nested_deeper_than_any_is_refused_in_one_line(text, words, written):
    with pytest.raises(PolicyError, match=words) as caught:
        written(HEAD + text)
    assert "\n" not in str(caught.value)


def test_a_rule_that_the_policy_and_a_marker_ask_for_names_both_with_their_thresholds():
    ours = Policy("ours", "ours.toml", {"reconstruction-error": {"max_error_of_split_half": 0.9}})
    assert ours.asked_by("reconstruction-error") == "policy ours"
    both = ours.tightened({"reconstruction-error": {"max_error": 0.1}}).asked_by("reconstruction-error")
    assert re.fullmatch(r"policy ours \(.*max_error_of_split_half.*\) and marker \(max_error\)", both)
