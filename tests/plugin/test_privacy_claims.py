"""Rules on what a file declares of its privacy: the file decides, whatever the attack comes to."""

from __future__ import annotations

import pytest

CLAIMS = {
    "dp-required": "[rules.dp-required]",
    "epsilon-cap": "[rules.epsilon-cap]\nmax_epsilon = {most}",
    "declared-epsilon-but-exact-counts": "[rules.declared-epsilon-but-exact-counts]",
}

DECLARED = """
from dataclasses import replace

from pytest_draft.examine import inputs
from pytest_draft.facts.privacy import Privacy

read = inputs.read

def declaring(path, **place):
    artifact = read(path, **place)
    forest = artifact.forest
    privacy = Privacy("laplace", 5.0, scale=4.0, rounding="sum", exact=True, broken_by=("its noise can be replayed",))
    return replace(artifact, model=replace(forest, observation=replace(forest.observation, privacy=privacy)))

inputs.read = declaring
"""


@pytest.fixture
def ours(project):
    """Return a function that writes a policy of some rules on claims, all of them without arguments."""

    def write(*rules: str, most: float = 10) -> str:
        tables = "\n".join(CLAIMS[rule].format(most=most) for rule in rules or CLAIMS)
        return "--draft-policy=" + project.write("ours.toml", f'schema_version = 1\nname = "ours"\n{tables}\n')

    return write


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("forest", ["leaking.joblib", "shallow.joblib"])
def test_an_ordinary_forest_fails_where_differential_privacy_is_required(project, ours, forest):
    result = project.judge(forest, ours("dp-required"))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"*{forest}: dp-required[[]artifact[]]*",
            "failed: the file declares no differential privacy",
            "remedy: train a differentially private forest *",
        ]
    )
    assert project.result()["artifact"]["privacy"] is None


@pytest.mark.nightly
def test_an_ordinary_forest_crosses_every_cap_and_contradicts_no_epsilon(project, ours):
    result = project.judge("leaking.joblib", ours("epsilon-cap", "declared-epsilon-but-exact-counts", most=1e9))
    result.assert_outcomes(failed=1, skipped=1)
    checks = {check["rule"]: check["result"] for check in project.result()["checks"]}
    assert checks == {"epsilon-cap": "failed", "declared-epsilon-but-exact-counts": "not applicable"}
    assert project.result()["policy"]["rules"]["epsilon-cap"] == {"max_epsilon": 1e9, "max_delta": 0}


def test_every_rule_on_claims_has_an_item_with_an_address_of_its_own(project, ours):
    result = project.judge("leaking.joblib", ours(), "--collect-only", "-q")
    result.stdout.fnmatch_lines([f"leaking.joblib::{rule}[[]artifact[]]" for rule in CLAIMS])


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_file_that_declares_an_epsilon_and_stores_exact_counts_is_warned_of_and_fails(
    project, ours, in_child, processes
):
    in_child(DECLARED)
    forest, policy, report = "--draft-forest=leaking.joblib", ours(), "--draft-report=json:report.json"
    result = project.run_apart(forest, "--draft-data=train.csv", policy, report, processes)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "  note: declares epsilon 5, but the counts in the file are exact: it is attacked as a "
            "forest without privacy",
            "  note: declares epsilon 5, but its noise can be replayed",
        ]
    )
    judged = project.result()
    assert judged["solver_status"] == "not asked"
    assert judged["artifact"]["privacy"] == {
        "mechanism": "laplace",
        "epsilon": 5.0,
        "delta": 0.0,
        "scale": 4.0,
        "rounding": "sum",
        "exact": True,
        "broken_by": ["its noise can be replayed"],
    }


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("data", [None, "strangers.csv"])
def test_the_file_decides_where_the_attack_has_no_answer(project, ours, data):
    result = project.judge("leaking.joblib", ours("dp-required", "declared-epsilon-but-exact-counts"), data=data)
    result.assert_outcomes(failed=1, skipped=1)
    assert project.result()["reasons"]
    assert project.result()["solver_status"] == "refused"


@pytest.mark.nightly
def test_nothing_is_decided_of_a_file_that_was_not_read(project, ours):
    whole = (project.path / "leaking.joblib").read_bytes()
    (project.path / "half.joblib").write_bytes(whole[: len(whole) // 2])
    result = project.judge("half.joblib", ours())
    assert result.parseoutcomes() == {"inconclusive": 3}
    assert {check["result"] for check in project.result()["checks"]} == {"inconclusive"}
    assert project.result()["artifact"]["privacy"] is None


@pytest.mark.nightly
def test_an_undecided_claim_passes_where_the_policy_allows_that_and_a_false_one_never(project, ours):
    (project.path / "empty.joblib").write_bytes(b"")
    policy = ours("dp-required")
    text = (project.path / "ours.toml").read_text(encoding="utf-8")
    project.write("ours.toml", f"allow_inconclusive = true\n{text}")
    allowed = project.judge("empty.joblib", policy)
    assert (allowed.ret, allowed.parseoutcomes()) == (0, {"inconclusive": 1})
    project.judge("leaking.joblib", policy).assert_outcomes(failed=1)


def test_a_marked_test_is_judged_by_the_policys_rules_on_claims_too(project, ours):
    project.configure()
    project.mark("max_perfect_rows=40")
    result = project.run(ours("dp-required", "declared-epsilon-but-exact-counts"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["dp-required[[]artifact[]]", "failed: the file declares no differential privacy"])
