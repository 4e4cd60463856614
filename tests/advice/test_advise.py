"""Advice from end to end: real models, real files, the gate itself; policies and tables that need seconds."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pytest_draft
from pytest_draft.__main__ import main
from pytest_draft.advice import families
from pytest_draft.advice.document import schema
from pytest_draft.advice.facts import Secret
from pytest_draft.advice.means import Means
from pytest_draft.advice.owner import Owner, owner_of, trees_in
from pytest_draft.advice.table import markdown
from pytest_draft.errors import UsageError

POLICY = """
schema_version = 1
name = "large leaves"

[rules.smallest-leaf]
min_rows = 4
"""
"""A policy that is judged in a moment: no attack is needed."""

WITH_PACKAGE = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
N_ROWS = 60
SECRET = 771_903.25


@pytest.fixture
def table() -> pd.DataFrame:
    random = np.random.default_rng(3)
    columns = {f"answer_{index}": random.integers(0, 2, N_ROWS) for index in range(5)}
    frame = pd.DataFrame(columns)
    return frame.assign(y=(frame.sum(axis=1) + random.normal(0, 1, N_ROWS) > 2.5).astype(int))


@pytest.fixture
def folder(tmp_path, monkeypatch, table) -> Path:
    """A folder with a leaking model, its rows and a policy, from which commands are run."""
    monkeypatch.chdir(tmp_path)
    forest = RandomForestClassifier(6, random_state=0).fit(table.drop(columns="y"), table.y)
    joblib.dump(forest, "my model.joblib")
    table.to_csv("train.csv", index=False)
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    whole = families.lines

    def one_line(owner, fitted):
        (line,) = [line for line in whole(owner, fitted) if line[-1].family == "min_samples_leaf"]
        return [(*line[:1], *line[2:6:2])]

    monkeypatch.setattr(families, "lines", one_line)
    return tmp_path


ASKED = ("my model.joblib", "--data=train.csv", "--target=y", "--policy=policy.toml", "--level=seeds", "--minutes=6")


@pytest.mark.nightly
def test_a_setting_is_found_trained_hardened_and_judged(folder, capsys):
    before = set(Path(tempfile.gettempdir()).glob("pytest-draft-advise-*"))
    outputs = ["--html=a.html", "--json=a.json", "--markdown=a.md", "--save=picked.joblib", "--save-hardened=h.joblib"]
    assert main(["advise", *ASKED, "--budget=10", *outputs]) == 0
    said = capsys.readouterr()
    assert "which runs what is in it" in said.err
    assert set(Path(tempfile.gettempdir()).glob("pytest-draft-advise-*")) == before
    found = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema()).validate(found)
    assert found["status"] == "confirmed"
    (pick,) = [one for one in found["settings"] if one["name"] == found["pick"]]
    assert [one["verdict"] for one in (pick["hardened"], *pick["fresh"])] == ["passed"] * 4
    assert len({one["seed"] for one in (pick["hardened"], *pick["fresh"])}) == 4
    assert pick["test_score"]["mean"] > 0.5
    marked = (folder / "a.md").read_text("utf-8").replace("\\", "")
    for text in (said.out, marked, (folder / "a.html").read_text("utf-8")):
        assert found["pick"] in text
        assert f"{found['settings_scored']} settings scored" in text
    code = found["code"]
    assert all(line in said.out.splitlines() for line in code.splitlines())
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env=WITH_PACKAGE)
    trained, saved = joblib.load("my model-advised.joblib"), joblib.load("picked.joblib")
    assert [tree.tree_.threshold.tolist() for tree in trees_in(trained)] == [
        tree.tree_.threshold.tolist() for tree in trees_in(saved)
    ]
    assert min(tree.tree_.n_node_samples.min() for tree in trees_in(trained)) >= 4
    assert joblib.load("h.joblib").random_state is None
    assert Path("picked.joblib").stat().st_mode & 0o077 == 0
    for command in found["commands"]:
        ran = subprocess.run(
            [sys.executable, "-m", *shlex.split(command.removeprefix("python -m "))],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=WITH_PACKAGE,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.nightly
def test_the_api_of_notebooks_takes_what_is_in_memory(table):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0))
    advice = pytest_draft.advise(
        model, table, "y", policy="interpretable", minutes=0.05, level="seeds", budget=1, metric="accuracy"
    )
    assert not advice.finished
    assert advice.metric == "accuracy"
    assert advice.commands == ()
    assert advice.holds == "Pipeline of RandomForestClassifier"
    Draft202012Validator(schema()).validate(advice.document())
    assert "accuracy" in advice.html()
    assert "as it is" in str(advice)


@pytest.mark.nightly
def test_a_regressor_by_its_own_metric_and_a_holdout(folder, table, tmp_path):
    random = np.random.default_rng(0)
    numeric = table.assign(y=table.sum(axis=1) + random.normal(0, 1, N_ROWS) + SECRET)
    numeric.iloc[:15].to_csv("holdout.csv", index=False)
    numeric.iloc[15:].to_csv("numbers.csv", index=False)
    joblib.dump(RandomForestRegressor(5).fit(numeric.iloc[15:].drop(columns="y"), numeric.y[15:]), "r.joblib")
    advice = pytest_draft.advise(
        "r.joblib",
        "numbers.csv",
        "y",
        policy="policy.toml",
        minutes=6,
        level="seeds",
        budget=5,
        holdout="holdout.csv",
    )
    assert advice.metric == "r2"
    assert advice.tested_on == "the holdout"
    assert advice.pick is not None
    assert advice.model.predict(numeric[:2].drop(columns="y")).shape == (2,)
    said = advice.html() + str(advice) + json.dumps(advice.document()) + repr(advice)
    assert str(SECRET)[:5] not in said


@pytest.mark.nightly
def test_many_classes_have_a_metric_of_their_own(folder, table):
    table.assign(y=table.answer_0 + 2 * table.answer_1).to_csv("four.csv", index=False)
    four = pd.read_csv("four.csv")
    joblib.dump(RandomForestClassifier(5, random_state=0).fit(four.drop(columns="y"), four.y), "four.joblib")
    advice = pytest_draft.advise(
        "four.joblib", "four.csv", "y", policy="policy.toml", minutes=6, level="seeds", budget=5
    )
    assert advice.metric == "roc_auc_ovr"
    assert advice.pick is not None


@pytest.mark.nightly
def test_where_nothing_passes_the_exit_code_says_so(folder, capsys):
    Path("policy.toml").write_text(POLICY.replace("4", "1000"), encoding="utf-8")
    assert main(["advise", *ASKED, "--budget=5", "--json=a.json", "--save=none.joblib"]) == 1
    assert "No setting passed." in capsys.readouterr().out
    found = json.loads(Path("a.json").read_text("utf-8"))
    Draft202012Validator(schema()).validate(found)
    assert (found["status"], found["pick"], found["code"], found["commands"]) == ("none passes", None, None, [])
    assert not Path("none.joblib").exists()


HEEDING = (  # Ctrl-C, even where these tests run in the background of a shell, whose commands ignore it
    "import signal, sys; from pytest_draft.__main__ import main; "
    "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.nightly
def test_an_interrupt_ends_cleanly_with_what_was_found_out(folder):
    asked = [part.replace("=6", "=5") for part in ASKED]
    running = subprocess.Popen(
        [sys.executable, "-c", HEEDING, "advise", *asked, "--json=a.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**WITH_PACKAGE, "TMPDIR": str(folder)},
    )
    for line in running.stderr:
        if line.startswith("judging"):
            break
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode in (0, 130)
    assert "Traceback" not in out + err
    assert "stopped by hand" in out
    assert not list(folder.glob("pytest-draft-advise-*"))
    found = json.loads(Path("a.json").read_text("utf-8"))
    assert found["interrupted"]
    Draft202012Validator(schema()).validate(found)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--metric=rocauc"], "there is no scorer"),
        (["--minutes=0"], "--minutes: more than 0"),
        (["--policy=defalt"], "did you mean 'default'?"),
        (["--level=some"], "level 'some' is not known"),
        (["--json=train.csv"], "--json: 'train.csv' is read or written in this run already"),
        (["--json=a", "--html=a"], "--json: 'a' is read or written in this run already"),
        (["--html=no/a.html"], "--html: 'no/a.html' is a folder, or lies in none that is there"),
        (["--target=z"], "there is no column 'z' for --target"),
        (["--domain=none.toml"], "--domain: there is no file"),
        (["--adversary=nobody"], "nobody"),
        (["--seed=-1"], "--seed: at least 0"),
    ],
)
def test_wrong_usage_is_refused_before_work_and_nothing_is_touched(folder, capsys, more, said):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main(["advise", *ASKED, *more]) == 2
    assert said in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.nightly
def test_a_policy_that_pins_files_is_judged_without_that(folder):
    pin = f'{POLICY}\n[rules.artifact-pinned]\nsha256 = ["{"0" * 64}"]\n'
    Path("policy.toml").write_text(pin, encoding="utf-8")
    advice = pytest_draft.advise(
        "my model.joblib", "train.csv", "y", policy="policy.toml", minutes=6, level="seeds", budget=5
    )
    assert advice.pick is not None
    assert f"seed = {list(advice.random_state.words)!r}" in advice.code
    assert "random_state=None" in advice.public_code
    assert str(advice.random_state.words[0]) not in markdown(advice)
    assert "rule artifact-pinned is left out: no new file can pass it" in advice.notes
    Path("policy.toml").write_text(pin.replace("[rules.smallest-leaf]\nmin_rows = 4\n", ""), encoding="utf-8")
    with pytest.raises(UsageError, match="has no rule that a new file could pass"):
        pytest_draft.advise("my model.joblib", "train.csv", "y", policy="policy.toml", minutes=6)


def test_a_model_of_the_sweep_has_no_number_that_can_be_found_again(monkeypatch):
    seen = []
    real = Owner.fitted
    monkeypatch.setattr(Owner, "fitted", lambda self, setting, seed: seen.append(seed) or real(self, setting, seed))
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (60, 4)), columns=list("abcd"))
    labels = (table.sum(axis=1) > 2).astype(int)
    model = RandomForestClassifier(5, random_state=0).fit(table, labels)
    owner = owner_of(model, table.assign(y=labels), "y")
    for _ in range(2):
        Means(owner, None, None, 0).model(families.own(owner))
    one, other = seen
    assert isinstance(one, Secret)
    assert len(one.words) == 4
    assert one == other  # the same sweep for the same --seed
