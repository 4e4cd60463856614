"""The commands that a remedy names: by the files' own paths, and so that they work."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from pytest_draft.__main__ import main
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import Policy, read_policy
from pytest_draft.policy.remedies import Command, commands, told
from pytest_draft.policy.verdict import judge

POLICY = Policy("ours", "by hand", {"reconstruction-error": {"max_error": 0.1}})


@pytest.fixture
def examined(tmp_path, monkeypatch):
    """Return a function that judges a leaking model in a folder from which commands are run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (40, 6)), columns=[f"c{i}" for i in range(6)])
    rows = rows.assign(**{"the label": (rows.sum(axis=1) + rng.integers(0, 3, 40) > 4).astype(int)})

    def judged(folder=".", model=None, **case):
        Path(folder).mkdir(exist_ok=True)
        model = RandomForestClassifier(5, random_state=0) if model is None else model
        model.fit(rows.iloc[:, :-1], rows["the label"])
        joblib.dump(model, Path(folder) / "my model.joblib")
        rows.to_csv(Path(folder) / "train.csv", index=False)
        path = tmp_path / folder
        given = {"data": str(path / "train.csv"), "target": "the label", "seconds": 10.0, "effort": 0.3, **case}
        return examine(Case(str(path / "my model.joblib"), **given))[0]

    return judged


def named(commands: Iterable[Command]) -> dict[str, list[str]]:
    """Return the arguments of commands, by command."""
    found = {}
    for one in commands:
        python, module, package, command, *arguments = shlex.split(one.line)
        assert (python, module, package) == ("python", "-m", "pytest_draft")
        found[command] = arguments
    return found


@pytest.mark.nightly
def test_a_failures_remedy_names_commands_that_work_when_run(examined, capsys):
    (check,) = judge(examined(), POLICY)
    assert check.result == "failed"
    asked = named(check.commands)
    assert check.remedy.endswith(f"; {told(check.commands)}")
    assert asked == {
        "advise": ["my model.joblib", "--data", "train.csv", "--target", "the label"],
        "harden": ["my model.joblib", "my model-hardened.joblib", "--data", "train.csv", "--target", "the label"],
    }
    assert main(["harden", *asked["harden"]]) == 0
    assert Path("my model-hardened.joblib").is_file()
    assert main(["advise", *asked["advise"], "--minutes=0.02", "--budget=1"]) in (0, 1)
    assert "as it is" in capsys.readouterr().out


@pytest.mark.nightly
def test_policy_adversary_and_domain_go_with_them(examined, tmp_path):
    examination = examined()
    case = replace(examination.case, adversary="published", domain=str(tmp_path / "d.toml"))
    advise = named(commands(replace(examination, case=case), "public-release"))["advise"]
    assert advise[5:] == ["--adversary", "published", "--domain", "d.toml", "--policy", "public-release"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "shown"), [("rules/public-release.toml", ["--policy", "public-release"]), ("own.toml", ["own.toml"])]
)
def test_a_policy_is_named_as_the_command_line_does(examined, name, shown, tmp_path):
    shipped = Path(__file__).parents[2] / "rules" / "default.toml"
    Path("own.toml").write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    policy = replace(read_policy(Path("own.toml")), source=name)
    found = {check.commands for check in judge(examined(), policy) if check.rule == "reconstruction-error"}
    assert named(found.pop())["advise"][-len(shown) :] == shown


@pytest.mark.nightly
def test_paths_outside_of_this_folder_are_told_in_full(examined, monkeypatch, tmp_path):
    examination = examined("elsewhere")
    assert named(commands(examination))["advise"][0] == "elsewhere/my model.joblib"
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert named(commands(examination))["advise"][0] == str(tmp_path / "elsewhere" / "my model.joblib")


@pytest.mark.nightly
def test_no_command_is_told_that_would_not_work(examined):
    assert commands(examined())
    assert not commands(examined("pytest-draft-demo-x"))
    assert set(named(commands(examined(model=GradientBoostingClassifier(n_estimators=2))))) == {"advise"}
    examination = examined()
    assert not commands(replace(examination, case=replace(examination.case, data=None)))
    assert not commands(replace(examination, case=replace(examination.case, artifact="a\nb.joblib")))
    assert not commands(replace(examination, case=replace(examination.case, target="a::b")))
    assert not commands(replace(examination, case=replace(examination.case, artifact="model.skops")))
    one_of_several = replace(examination, artifact=replace(examination.artifact, place="[0]"))
    assert set(named(commands(one_of_several))) == {"harden"}


@pytest.mark.nightly
def test_hardening_is_not_advised_for_a_file_that_holds_nothing_to_take_out(examined):
    examination = examined()
    published = examination.artifact.published
    hardened = replace(published, seeded=0, draws=None, counts=None, answers="shares")
    found_again = replace(hardened, seeded=5, draws="rows", found=7)
    for told_by_file, kept in (
        (found_again, False),
        (published, True),
        (hardened, False),
        (replace(hardened, left=True), True),
    ):
        one = replace(examination, artifact=replace(examination.artifact, published=told_by_file))
        assert ("harden" in named(commands(one))) is kept
        assert "advise" in named(commands(one))
