"""A policy whose bytes are pinned from outside."""

from __future__ import annotations

import hashlib

import pytest

from pytest_draft.documents import rules_folder


@pytest.fixture
def pin(project, policy):
    """Return a function that writes a policy, pins bytes, and judges."""

    def judge(*arguments: str, pinned: bytes | None = None):
        written = policy(0.0).encode()
        project.write("policy.toml", written.decode())
        digest = hashlib.sha256(written if pinned is None else pinned).hexdigest()
        return project.judge("shallow.joblib", f"--draft-policy-sha256={digest}", *arguments)

    return judge


@pytest.mark.nightly
def test_the_policy_that_was_signed_off_judges(project, pin):
    pin("--draft-policy=policy.toml").assert_outcomes(passed=1)
    assert (
        project.result()["policy"]["sha256"] == hashlib.sha256((project.path / "policy.toml").read_bytes()).hexdigest()
    )


def test_another_policy_stops_the_run_before_any_work(project, pin, one_line_error):
    error = one_line_error(pin("--draft-policy=policy.toml", pinned=b"another"))
    assert "policy.toml: the policy's SHA-256 is " in error
    assert "have this one signed off" in error
    assert not (project.path / "report.json").exists()


@pytest.mark.nightly
def test_the_shipped_default_can_be_pinned_and_does_not_pass_for_another(project, pin, one_line_error):
    assert "rules/default.toml: the policy's SHA-256 is " in one_line_error(pin())
    pinned = (rules_folder() / "default.toml").read_bytes()
    pin(pinned=pinned)
    assert project.result()["policy"]["sha256"] == hashlib.sha256(pinned).hexdigest()


@pytest.mark.nightly
def test_the_ini_file_can_pin_and_capitals_do_not_matter(project, policy, one_line_error):
    project.write("policy.toml", policy(0.0))
    digest = hashlib.sha256(policy(0.0).encode()).hexdigest()
    project.configure("shallow.joblib", f"draft_policy = policy.toml\ndraft_policy_sha256 = {digest.upper()}\n")
    project.run("--draft").assert_outcomes(passed=1)
    project.write("policy.toml", policy(0.1))
    assert "the policy's SHA-256 is " in one_line_error(project.run("--draft"))


DOMAIN = 'others = "binary"\n'


@pytest.mark.parametrize("where", ["option", "policy", "ini"])
def test_another_domain_file_than_the_pinned_one_stops_the_run_before_any_work(project, policy, one_line_error, where):
    digest = hashlib.sha256(b"another").hexdigest()
    project.write("domain.toml", DOMAIN)
    project.write("policy.toml", (f'domain_sha256 = "{digest}"\n' if where == "policy" else "") + policy(0.0))
    arguments = [f"--draft-domain-sha256={digest}"] if where == "option" else []
    if where == "ini":
        project.write("pytest.ini", f"[pytest]\ndraft_domain_sha256 = {digest}\n")
    run = project.judge("shallow.joblib", "--draft-policy=policy.toml", "--draft-domain=domain.toml", *arguments)
    error = one_line_error(run)
    assert "domain.toml: the domain file's SHA-256 is " in error
    assert "have this one signed off" in error
    assert not (project.path / "report.json").exists()


@pytest.mark.nightly
def test_the_pinned_domain_file_judges(project, policy):
    project.write("domain.toml", DOMAIN)
    digest = hashlib.sha256((project.path / "domain.toml").read_bytes()).hexdigest()
    project.write("policy.toml", f'domain_sha256 = "{digest}"\n' + policy(0.0))
    pinned = f"--draft-domain-sha256={digest.upper()}"
    run = project.judge("shallow.joblib", "--draft-policy=policy.toml", "--draft-domain=domain.toml", pinned)
    run.assert_outcomes(passed=1)
    assert project.result()["domain"]["source"].endswith("domain.toml")  # and nothing of the training data
