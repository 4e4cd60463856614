"""Rules that another distribution gives by an entry point."""

from __future__ import annotations

import sys

import pytest

from pytest_draft.policy import own_rules
from pytest_draft.policy.rule import NotApplicable
from pytest_draft.policy.rules import RULES, known_rule

HEAD = 'schema_version = 1\nname = "ours"\n'

MODULE = """
from pytest_draft.facts.findings import (Findings)
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule


def check(artifact, thresholds):
    {check}

RULE = Rule(
    id="most-trees",
    needs={needs},
    keys={{
        "max_trees": Key(True, 1000, min, "fail with more trees", default=50),
        "share": Key(False, 1.0, min, "not used"),
        "names": Key(False, None, min, "not used", listed=True),
    }},
    check=check,
    rationale="More trees tell more.",
    remedy="train fewer",
)
OTHER = 3
"""

CHECK = """
    most, trees = thresholds["max_trees"], artifact.n_trees
    return Outcome("failed" if trees > most else "passed", f"{trees} trees; at most {most}")
"""


@pytest.fixture
def install(project):
    """Return a function that installs a distribution with a rule, and one that judges by a policy."""

    def distribution(
        entry: str = "most-trees = house_rules:RULE", check: str = CHECK, name: str = "house", needs="ArtifactFacts"
    ):
        project.write("house_rules.py", MODULE.format(check=check.strip(), needs=needs))
        info = f"{name}-1.0.dist-info"
        project.write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        project.write(f"{info}/entry_points.txt", f"[{own_rules.GROUP}]\n{entry}\n")
        project.pytester.syspathinsert()

    yield distribution
    own_rules._named.cache_clear()
    own_rules._loaded.cache_clear()
    sys.modules.pop("house_rules", None)


@pytest.fixture
def judge(project):
    """Return a function that judges a forest of 20 trees by a policy's rules."""

    def run(rules: str, *arguments: str):
        project.write("policy.toml", HEAD + rules)
        return project.judge("leaking.joblib", "--draft-policy=policy.toml", *arguments)

    return run


@pytest.mark.nightly
def test_a_rule_of_another_distribution_is_judged_like_ours(project, install, judge):
    install()
    forms = [f"--draft-report={kind}:other.{kind}" for kind in ("html", "sarif")]
    judge("[rules.most-trees]\nmax_trees = 19\n", *forms).assert_outcomes(failed=1)
    (check,) = project.result()["checks"]
    assert (check["result"], check["sentence"]) == ("failed", "20 trees; at most 19")
    assert check["remedy"] == "train fewer"
    assert check["item"] == "leaking.joblib::most-trees[artifact]"
    for name in ("other.html", "other.sarif"):
        assert "More trees tell more." in (project.path / name).read_text(encoding="utf-8")
    judge("[rules.most-trees]\n").assert_outcomes(passed=1)
    assert project.result()["policy"]["rules"] == {"most-trees": {"max_trees": 50}}


def test_a_severity_and_a_waiver_hold_for_it_too(project, install, judge):
    install()
    judge('[rules.most-trees]\nmax_trees = 1\n[severity]\nmost-trees = "warning"\n').assert_outcomes()
    assert project.result()["checks"][0]["severity"] == "warning"


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("max_treees = 1", "line 4: rules.most-trees.max_treees: 'max_treees' is no key of it; known are: max_trees"),
        ("max_trees = 1.5", "line 4: rules.most-trees.max_trees: it must be a whole number"),
        ("max_trees = true", "must be a whole number"),
        ("max_trees = 1001", "must be between 0 and 1000, not 1001"),
        ("max_trees = -1", "must be between 0 and 1000, not -1"),
        ("share = nan", "must be between 0 and 1, not nan"),
        ("share = 2026-01-01", "must be a number"),
        ("names = []", "must be a list of texts"),
        ('names = ["a", 1]', "must be a list of texts"),
    ],
)
def test_its_keys_are_checked_as_it_declares_them(install, judge, one_line_error, line, message):
    install()
    assert message in one_line_error(judge(f"[rules.most-trees]\n{line}\n"))


def test_all_that_is_wrong_is_told_at_once(install, judge, one_line_error):
    install()
    error = one_line_error(judge("[rules.most-trees]\nx = 1\n[rules.perfect-rows]\ny = 1\n[rules.nothing]\n"))
    assert all(f"line {number}: " in error for number in (4, 6, 7))


def test_an_unknown_rule_is_told_with_those_that_are_known(install, judge, one_line_error):
    install()
    error = one_line_error(judge("[rules.most-tres]\n"))
    assert "line 3: rules.most-tres: there is no rule 'most-tres'; known are: reconstruction-error, " in error


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("most-trees = house_rules:NOTHING", "rule 'most-trees' of house: it cannot be imported (AttributeError)"),
        ("most-trees = no_such_module:RULE", "rule 'most-trees' of house: it cannot be imported (ModuleNotFoundError)"),
        ("most-trees = house_rules:OTHER", "gives a int, not a pytest_draft.policy.rule.Rule"),
        ("fewest-trees = house_rules:RULE", "its id is 'most-trees', not the name of its entry point"),
        ("perfect-rows = house_rules:RULE", "rule 'perfect-rows' is pytest-draft's, and house has one of that id"),
    ],
)
def test_what_is_broken_stops_those_who_name_its_rule_and_nobody_else(install, judge, one_line_error, entry, message):
    install(entry)
    rule = entry.partition(" ")[0]
    assert message in one_line_error(judge(f"[rules.{rule}]\n" + "max_perfect_rows = 40\n" * (rule == "perfect-rows")))
    judge("[rules.singled-out-rows]\nmax_singled_out_rows = 40\n").assert_outcomes(passed=1)


def test_a_rule_that_needs_what_there_is_not_is_refused(install, judge, one_line_error):
    install(needs="int")
    assert "it needs none of Findings, " in one_line_error(judge("[rules.most-trees]\n"))


def test_a_rule_whose_severity_is_none_is_refused_since_it_would_stop_nothing(install, judge, one_line_error):
    install(needs='ArtifactFacts,\n    severity="Error"')
    error = one_line_error(judge("[rules.most-trees]\nmax_trees = 1\n"))
    assert "its severity is 'Error', neither error nor warning" in error


@pytest.mark.nightly
def test_a_rule_of_another_distribution_is_not_applicable_for_a_reason_of_ours(project, install, judge):
    install(needs="ArtifactFacts,\n    unless=(NotApplicable.NO_EPSILON,)")
    assert judge("[rules.most-trees]\nmax_trees = 20\n").parseoutcomes() == {"skipped": 1}
    (check,) = project.result()["checks"]
    assert (check["result"], check["sentence"]) == ("not applicable", NotApplicable.NO_EPSILON.value)


def test_a_rule_with_a_reason_of_its_own_is_refused(install, judge, one_line_error):
    install(needs='ArtifactFacts,\n    unless=("I say so",)')
    error = one_line_error(judge("[rules.most-trees]\n"))
    assert "it names a reason why it is not applicable that is none of NotApplicable" in error


def test_two_distributions_with_one_id_are_refused(install, judge, one_line_error):
    install()
    install(name="another")
    assert "another, house have one of that id each" in one_line_error(judge("[rules.most-trees]\n"))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("raise ValueError('quokka')", "rule 'most-trees' of house raised ValueError"),
        ("return None", "rule 'most-trees' of house gave no outcome"),
        ("return Outcome('fine', '')", "rule 'most-trees' of house gave no outcome"),
        ("return Outcome('not applicable', 'I say so')", "rule 'most-trees' of house gave no outcome"),
    ],
)
def test_a_check_that_does_not_answer_is_inconclusive(project, install, judge, check, sentence):
    install(check=check)
    run = judge("[rules.most-trees]\n")
    assert run.parseoutcomes() == {"inconclusive": 1}
    assert (project.result()["verdict"], project.result()["checks"][0]["sentence"]) == ("inconclusive", sentence)
    assert "quokka" not in run.stdout.str()


def test_a_report_from_where_a_rule_is_known_can_be_read_where_it_is_not():
    assert known_rule("most-trees") is None
    assert known_rule("perfect-rows") is RULES["perfect-rows"]
