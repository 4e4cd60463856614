"""However many items and processes there are, each attack runs once."""

from __future__ import annotations

import pytest

POLICY = """
schema_version = 1
name = "ours"
adversaries = ["artifact", "artifact+rows:1"]

[rules.perfect-rows]
max_perfect_rows = 40

[rules.singled-out-rows]
max_singled_out_rows = 40

[rules.reconstruction-error]
max_error = 0
"""

MODELS = ("leaking.joblib", "shallow.joblib")


@pytest.fixture
def attacks(project, at_stage):
    """Return a function that tells how many attacks there were since it was last called."""
    counted = project.path / "attacks"
    counted.write_text("")
    at_stage("reconstruct", f"open({str(counted)!r}, 'a').write('x')")

    def since() -> int:
        number = len(counted.read_text())
        counted.write_text("")
        return number

    return since


@pytest.mark.nightly
def test_an_attack_runs_once_for_all_items_of_all_processes_and_the_next_run_needs_none(
    project, attacks, without_times
):
    project.write("policy.toml", POLICY)
    models = [f"--draft-forest={name}" for name in MODELS]
    judge = [*models, "--draft-data=train.csv", "--draft-policy=policy.toml"]
    project.run(*judge, "--draft-report=json:earlier.json")
    assert attacks() == 6  # two models, two adversaries and one who has no seeds
    judge += ["--draft-compare=earlier.json", "--draft-cache"]
    project.run_apart(*judge, "--draft-report=json:spread.json", "-n2")
    assert attacks() == 6
    project.run(*judge, "--draft-report=json:alone.json")
    assert attacks() == 0
    spread, alone = (without_times(project.report(name)) for name in ("spread.json", "alone.json"))
    assert [result["cached"] for result in alone["results"]] == [True] * 4
    for result in alone["results"]:
        result["cached"] = False
    assert alone == spread
    assert [len(result["checks"]) for result in alone["results"]] == [4] * 4
