"""Advice: which of the settings is taken, by made-up judgements, and the whole of it with real files and the gate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import pytest_draft
from pytest_draft.__main__ import main
from pytest_draft.advice.advice import code
from pytest_draft.advice.advise import _Search
from pytest_draft.advice.judging import Gate, Judgement
from pytest_draft.advice.scoring import Score, Scorer
from pytest_draft.errors import UsageError
from pytest_draft.policy.starting_settings import settings_of

POLICY = """
schema_version = 1
name = "large leaves"

[rules.smallest-leaf]
min_rows = 4
"""
"""A policy that is judged in a moment: no attack is needed."""

WITH_PACKAGE = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
N_ROWS = 60
FORESTS = [str(one) for one in settings_of("RandomForestClassifier").settings]
OWN, START = "as it is", str(settings_of("RandomForestClassifier").start)


@pytest.fixture
def table() -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({f"answer_{index}": random.integers(0, 2, N_ROWS) for index in range(5)})
    return frame.assign(y=(frame.sum(axis=1) + random.normal(0, 1, N_ROWS) > 2.5).astype(int))


@pytest.fixture
def folder(tmp_path, monkeypatch, table) -> Path:
    """A folder with a leaking model, its rows and a policy, from which commands are run."""
    monkeypatch.chdir(tmp_path)
    joblib.dump(RandomForestClassifier(6, random_state=0).fit(table.drop(columns="y"), table.y), "my model.joblib")
    table.to_csv("train.csv", index=False)
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


ASKED = ("my model.joblib", "--data=train.csv", "--target=y", "--policy=policy.toml", "--minutes=6")


@pytest.fixture
def told(monkeypatch, table):
    """Return a function that gives advice by made-up verdicts and scores, and what was judged in which order.

    Verdicts by setting; ``+`` in front means the hardened file, ``!`` in the last judgement. All else fails.
    """

    real = _Search._judged

    def advised(verdicts, scores, model=None, **options):
        seen, made = [], []

        def score(self, setting):
            return Score(scores.get("as it is" if setting is None else str(setting), 0.5), 0.01)

        def judged(self, setting, model, seconds, is_hardened):
            made.append(f"{'+' * is_hardened}{'as it is' if setting is None else setting}")
            return real(self, setting, model, seconds, is_hardened=is_hardened)

        def judge(self, path, seconds, *, full):
            name = names.setdefault(path.name, made[-1])
            asked = f"!{name}" if full else name
            seen.append(asked)
            verdict = verdicts.get(asked, verdicts.get(name, "failed"))
            return Judgement(verdict, "" if verdict == "passed" else "some-rule", "it is so", 1.0)

        names = {}
        monkeypatch.setattr(_Search, "_judged", judged)
        monkeypatch.setattr(Scorer, "cross_validated", score)
        monkeypatch.setattr(Scorer, "tested", lambda self, setting: None)
        monkeypatch.setattr(Gate, "judge", judge)
        model = RandomForestClassifier(3, random_state=0) if model is None else model
        return pytest_draft.advise(model.fit(table.drop(columns="y"), table.y), table, "y", **options), seen

    return advised


def name_of(pick):
    return None if pick is None else f"{'+' * pick.hardened}{pick.name}"


@pytest.mark.nightly
def test_what_passes_with_the_best_score_is_taken_and_judged_once_more(told):
    advice, seen = told({START: "passed", FORESTS[1]: "passed"}, {OWN: 0.9, FORESTS[0]: 0.8, FORESTS[1]: 0.7})
    assert name_of(advice.pick) == FORESTS[1]
    assert seen == [OWN, f"+{OWN}", f"!{START}", FORESTS[0], f"+{FORESTS[0]}", FORESTS[1], f"!{FORESTS[1]}"]
    assert advice.finished
    assert "It costs 20.0 points" in str(advice)


@pytest.mark.nightly
def test_smaller_ones_are_tried_until_one_passes_and_then_hardened_ones(told):
    smaller = FORESTS[FORESTS.index(START) + 2]
    advice, seen = told({smaller: "passed"}, {})
    assert (name_of(advice.pick), seen[2:]) == (smaller, [f"!{name}" for name in FORESTS[4:7]])
    advice, seen = told({f"+{smaller}": "passed", smaller: "inconclusive"}, {})
    assert name_of(advice.pick) == f"+{smaller}"
    assert seen[2:] == [f"!{name}" for name in FORESTS[4:]] + [f"!+{name}" for name in FORESTS[4:7]]
    assert "pytest_draft.harden(model" in "\n".join(code(advice))


def test_the_owners_own_setting_is_enough_where_it_passes_hardened(told):
    advice, seen = told({f"+{OWN}": "passed"}, {OWN: 0.9, **dict.fromkeys(FORESTS, 0.6)})
    assert (name_of(advice.pick), seen[:2]) == (f"+{OWN}", [OWN, f"+{OWN}"])
    assert "Your model passes as it is, hardened," in str(advice)


def test_what_does_not_pass_the_last_judgement_makes_room_for_the_next(told):
    verdicts = {START: "passed", FORESTS[3]: "passed", f"!{FORESTS[3]}": "failed"}
    advice, seen = told(verdicts, {FORESTS[3]: 0.9, START: 0.7})
    assert name_of(advice.pick) == START
    assert seen[2:] == [f"!{START}", FORESTS[3], f"!{FORESTS[3]}"]


@pytest.mark.nightly
def test_where_nothing_passes_the_next_step_is_said(told):
    advice, _ = told({}, {})
    assert advice.pick is None
    assert advice.finished
    assert "More time does not help" in str(advice)
    open_, _ = told({FORESTS[-1]: "inconclusive"}, {})
    assert "--budget 240" in str(open_)


def test_boosted_trees_are_not_hardened(told):
    kind = GradientBoostingClassifier(n_estimators=2)
    start = str(settings_of("GradientBoostingClassifier").start)
    advice, seen = told({start: "passed"}, {}, kind)
    assert name_of(advice.pick) == start
    assert not any(name.startswith("+") for name in seen)


@pytest.mark.nightly
def test_without_time_what_passed_is_judged_and_said_to_be_unfinished(told, monkeypatch):
    from pytest_draft.timebox import TimeBox

    advice, seen = told({START: "passed"}, {FORESTS[0]: 0.9}, minutes=5)
    assert name_of(advice.pick) == START
    monkeypatch.setattr(TimeBox, "remaining", 40.0)
    advice, seen = told({START: "passed"}, {FORESTS[0]: 0.9}, minutes=5)
    assert seen == [OWN, f"+{OWN}", f"!{START}"]
    assert not advice.finished


@pytest.mark.nightly
def test_a_file_that_passes_is_written_and_the_code_leaves_it_alone(folder, capsys):
    before = set(Path(tempfile.gettempdir()).glob("pytest-draft-advise-*"))
    assert main(["advise", *ASKED, "--budget=10", "--markdown=a.md"]) == 0
    said = capsys.readouterr()
    assert "which runs what is in it" in said.err
    assert set(Path(tempfile.gettempdir()).glob("pytest-draft-advise-*")) <= before
    written = Path("my model-advised.joblib")
    assert written.stat().st_mode & 0o077 == 0
    kept = written.read_bytes()
    assert all(f"    {line}" in Path("a.md").read_text("utf-8") for line in said.out.splitlines())
    lines = said.out.splitlines()
    command = lines[lines.index("Judge the file as the gate does:") + 2]
    ran = subprocess.run(
        f"{sys.executable} -m {command}", shell=True, capture_output=True, text=True, check=False, env=WITH_PACKAGE
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    pasted = "\n".join(lines[lines.index("In the code that trains your model:") + 2 :]).partition("\n\nThis trains")[0]
    table = pd.read_csv("train.csv")
    names = {"model": joblib.load("my model.joblib"), "X": table.drop(columns="y"), "y": table.y}
    exec(pasted, names)
    assert names["model"].get_params() == joblib.load(written).get_params()
    assert written.read_bytes() == kept
    assert sorted(path.name for path in folder.iterdir() if "joblib" in path.name) == [
        *(["hardened.joblib"] if "hardened" in pasted else []),
        "my model-advised.joblib",
        "my model.joblib",
    ]


@pytest.mark.nightly
def test_a_regressor_by_its_own_metric_and_a_holdout(folder, table):
    random = np.random.default_rng(0)
    numeric = table.assign(y=table.sum(axis=1) + random.normal(0, 1, N_ROWS) + 771_903.25)
    held, rows = numeric[:15], numeric[15:]
    model = RandomForestRegressor(5).fit(rows.drop(columns="y"), rows.y)
    advice = pytest_draft.advise(model, rows, "y", policy="policy.toml", budget=5, holdout=held)
    assert (advice.metric, advice.tested_on) == ("r2", "the holdout")
    assert advice.pick is not None
    assert advice.tests is not None
    assert advice.model.predict(numeric[:2].drop(columns="y")).shape == (2,)
    assert "77190" not in str(advice) + repr(advice)


HEEDING = (  # Ctrl-C, even where these tests run in the background of a shell, whose commands ignore it
    "import signal, sys; from pytest_draft.__main__ import main; "
    "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.nightly
def test_an_interrupt_ends_cleanly_with_what_was_found_out(folder):
    running = subprocess.Popen(
        [sys.executable, "-c", HEEDING, "advise", *ASKED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**WITH_PACKAGE, "TMPDIR": str(folder)},
    )
    for line in running.stderr:
        if line.startswith("judging"):
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode in (0, 130)
    assert "Traceback" not in out + err
    assert "as it is" in out
    assert not list(folder.glob("pytest-draft-advise-*"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--metric=rocauc"], "there is no scorer"),
        (["--minutes=0"], "--minutes: more than 0"),
        (["--policy=defalt"], "did you mean 'default'?"),
        (["--save=train.csv"], "--save: 'train.csv' is read in this run"),
        (["--markdown=my model-advised.joblib"], "is written in this run already"),
        (["--markdown=no/a.md"], "--markdown: 'no/a.md' is a folder, or lies in none that is there"),
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
    advice = pytest_draft.advise("my model.joblib", "train.csv", "y", policy="policy.toml", budget=5)
    assert advice.pick is not None
    assert "rule artifact-pinned is left out: no new file can pass it" in advice.notes
    Path("policy.toml").write_text(pin.replace("[rules.smallest-leaf]\nmin_rows = 4\n", ""), encoding="utf-8")
    with pytest.raises(UsageError, match="has no rule that a new file could pass"):
        pytest_draft.advise("my model.joblib", "train.csv", "y", policy="policy.toml")
