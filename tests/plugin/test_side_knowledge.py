"""Adversaries with side knowledge, from the option to the report."""

from __future__ import annotations

import pytest

KNOWING = [
    "artifact+columns:c1,c4",
    "artifact+columns:3",
    "artifact+rows:25%",
    "artifact+rows:10",
    "artifact+informed",
    "artifact+columns:c0+rows:5",
    "artifact+columns:2+informed",
]


@pytest.mark.nightly
@pytest.mark.parametrize("adversary", KNOWING)
@pytest.mark.parametrize("forest", ["leaking", "bagged"])
def test_a_leaking_forest_fails_whatever_the_adversary_knows_besides(project, forest, adversary):
    result = project.judge(f"{forest}.joblib", f"--draft-adversary={adversary}")
    result.assert_outcomes(failed=5, passed=3 if forest == "leaking" else 2)
    judged = project.result()
    assert judged["adversary"] == adversary
    assert judged["reasons"] == []
    assert judged["metrics"]["perfect_rows"] == judged["metrics"]["n_rows"]
    assert judged["metrics"]["reconstruction_error"] == 0
    result.stdout.fnmatch_lines([f"FAILED {forest}.joblib::perfect-rows[[]{adversary}[]]"])


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking", "bagged"])
def test_what_is_granted_is_listed_in_names_and_numbers(project, forest):
    project.judge(f"{forest}.joblib", "--draft-adversary=artifact+columns:c1,c4+rows:25%")
    judged = project.result()
    assert judged["domain"]["granted_to_adversary"] == [
        "names and order of 8 columns",
        "8 binary columns",
        "values of 2 of 8 attributes in every row: c1, c4",
        "10 of 40 rows, with their labels",
    ]
    metrics = judged["metrics"]
    assert (metrics["n_rows"], metrics["known_rows"], metrics["known_attributes"]) == (30, 10, 2)


@pytest.mark.nightly
def test_an_informed_adversary_knows_all_rows_but_one(project):
    project.judge("bagged.joblib", "--draft-adversary=artifact+informed")
    judged = project.result()
    assert judged["domain"]["granted_to_adversary"][-1] == (
        "all rows but one, with their labels: 40 of 40 rows each taken as the one"
    )
    metrics = judged["metrics"]
    assert (metrics["n_rows"], metrics["known_rows"], metrics["rows_in_order"]) == (40, 39, None)


@pytest.mark.nightly
@pytest.mark.parametrize("adversary", ["artifact+columns:3", "artifact+rows:5"])
def test_the_seed_draws_what_is_known(project, without_times, adversary):
    reports = []
    for seed in (1, 1, 2):
        project.judge("shallow.joblib", f"--draft-adversary={adversary}", f"--draft-seed={seed}")
        reports.append(without_times(project.result()))
    assert reports[0] == reports[1]
    assert reports[0]["metrics"] != reports[2]["metrics"]


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    ("adversary", "message"),
    [
        ("artifact+columns:c9", "'c9' is no attribute of the domain; known are: c0, c1, "),
        ("artifact+columns:8", "at least one of the 8 attributes must stay unknown"),
        ("artifact+rows:40", "at least one of the 40 training rows must stay unknown"),
    ],
)
def test_side_knowledge_that_does_not_fit_the_data_is_inconclusive(project, adversary, message):
    project.judge("shallow.joblib", f"--draft-adversary={adversary}")  # nothing is crossed without it
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert message in judged["reasons"][0]


def test_side_knowledge_needs_training_data(project):
    project.write("domain.toml", 'others = "binary"\n')
    rules = "[rules.certain-rows]\nmax_certain_rows = 40\n"  # needs no data where there is a domain
    project.write("ours.toml", f'schema_version = 1\nname = "ours"\nadversaries = ["artifact+columns:2"]\n{rules}')
    arguments = ("--draft-domain=domain.toml", "--draft-policy=ours.toml")
    project.judge("leaking.joblib", *arguments, data=None)
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert "no training data are given to take the adversary's side knowledge from" in judged["reasons"][0]


@pytest.mark.nightly
@pytest.mark.parametrize("adversary", KNOWING)
def test_rows_in_another_order_are_never_a_pass_when_the_seeds_tell_the_order(project, policy, adversary):
    project.write("ours.toml", policy(0.0, top=""))
    project.judge("bagged.joblib", "--draft-policy=ours.toml", f"--draft-adversary={adversary}", data="shuffled.csv")
    (judged,) = [result for result in project.report()["results"] if result["adversary"] == adversary]
    assert judged["verdict"] == "failed"  # without side knowledge, in which the order does not matter
    assert any("in another order than the seeds tell" in reason for reason in judged["reasons"])


@pytest.mark.nightly
@pytest.mark.parametrize("adversary", KNOWING)
@pytest.mark.parametrize("forest", ["leaking", "bagged", "shallow"])
def test_other_peoples_rows_are_never_a_pass(project, forest, adversary):
    project.judge(f"{forest}.joblib", f"--draft-adversary={adversary}", data="strangers.csv")
    judged = project.result()
    assert judged["verdict"] in ("inconclusive", "failed")
    assert any("not trained on these rows" in reason for reason in judged["reasons"])


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking", "bagged"])
@pytest.mark.parametrize("adversary", ["artifact+informed", "artifact+rows:30", "artifact+columns:c0,c1"])
def test_one_wrong_value_is_never_a_pass(project, policy, rows, forest, adversary):
    project.write("ours.toml", policy(0.0))
    rows.loc[0, "c0"] = 1 - rows.loc[0, "c0"]
    rows.to_csv(project.path / "wrong.csv", index=False)
    project.judge(f"{forest}.joblib", "--draft-policy=ours.toml", f"--draft-adversary={adversary}", data="wrong.csv")
    (judged,) = [result for result in project.report()["results"] if result["adversary"] == adversary]
    assert judged["verdict"] != "passed"
    assert any("not trained on these rows" in reason for reason in judged["reasons"])


@pytest.mark.nightly
def test_the_cause_names_the_seeds_that_the_attack_used(project):
    project.judge("bagged.joblib", "--draft-adversary=artifact+rows:10")
    attacked = project.result()["checks"][:2]
    assert all("each tree's seed" in check["cause"] for check in attacked)


@pytest.mark.parametrize("adversary", ["served", "served+labels"])
def test_whoever_may_only_ask_is_named_as_others_are(project, adversary):
    project.judge("leaking.joblib", f"--draft-adversary={adversary}")
    judged = project.result()
    assert judged["adversary"] == adversary
    checks = {check["rule"]: check for check in judged["checks"]}
    in_file = ("seeds-published", "counts-published", "verbatim-data", "per-row-vectors")
    assert judged["verdict"] == ("failed" if adversary == "served" else "inconclusive")
    assert {checks[rule]["result"] for rule in in_file if rule != "seeds-published"} == {"not applicable"}


@pytest.mark.parametrize("forest", ["leaking", "bagged", "shallow"])
def test_other_peoples_rows_are_no_pass_for_whoever_may_only_ask(project, forest):
    project.judge(f"{forest}.joblib", "--draft-adversary=served", data="strangers.csv")
    judged = project.result()
    assert judged["verdict"] != "passed"
    assert any("not trained on these rows" in reason for reason in judged["reasons"])


FEW_PERFECT = """
schema_version = 1
name = "ours"
adversaries = ["artifact+rows:39"]

[rules.perfect-rows]
max_perfect_rows = 5
"""


@pytest.mark.nightly
def test_what_fails_without_side_knowledge_fails_with_it(project):
    project.write("ours.toml", FEW_PERFECT)  # one row is left to rebuild, so that five can't come back
    run = project.judge("leaking.joblib", "--draft-policy=ours.toml")
    run.assert_outcomes(failed=1)
    (check,) = project.result()["checks"]
    assert check["sentence"].startswith(
        "it fails already for the adversary 'artifact', who knows less: the attack rebuilds 40 of"
    )


NO_SEEDS = """
import dataclasses
import pytest_draft.plugin.session as session

aggregates = session.GateSession.aggregates

def weak_with_seeds(self, case):
    found = aggregates(self, dataclasses.replace(case, adversary="artifact+rows:39"))
    if case.adversary == "published+columns:1":
        found = aggregates(self, dataclasses.replace(case, adversary="artifact"))
    return dataclasses.replace(found, case=case)

session.GateSession.aggregates = weak_with_seeds
"""


@pytest.mark.nightly
def test_what_fails_without_the_seeds_fails_with_them(project):
    project.write("ours.toml", FEW_PERFECT.replace("artifact+rows:39", "artifact+columns:1"))
    project.write("conftest.py", NO_SEEDS)  # an attack that only succeeds where it ignores the seeds
    project.run_apart(
        *("--draft-forest=leaking.joblib", "--draft-data=train.csv", "--draft-policy=ours.toml"),
        "--draft-report=json:report.json",
    ).assert_outcomes(failed=1)
    (check,) = project.result()["checks"]
    assert check["sentence"].startswith(
        "it fails already for the adversary 'published+columns:1', who knows less: the attack rebuilds 40 of"
    )


@pytest.mark.nightly
def test_a_marked_test_fails_by_the_weaker_adversary_too(project):
    project.write("ours.toml", FEW_PERFECT)
    project.write(
        "test_release.py",
        """
        import pytest

        @pytest.fixture(scope="session")
        def draft_adversary():
            return "artifact+rows:39"

        @pytest.mark.reconstruction_budget(max_perfect_rows=5)
        def test_release(draft_result):
            assert draft_result.verdict == "failed"
        """.replace("\n        ", "\n"),
    )
    project.configure("leaking.joblib")
    project.run().assert_outcomes(failed=1)


@pytest.mark.nightly
def test_the_weaker_adversarys_pass_lifts_nothing(project):
    policy = FEW_PERFECT.replace("max_perfect_rows = 5", "max_perfect_rows = 40").replace("rows:39", "informed")
    project.write("ours.toml", policy + "\n[rules.reconstruction-error]\nmax_error = 0.0\n")
    project.judge("shallow.joblib", "--draft-policy=ours.toml").assert_outcomes(passed=2)
