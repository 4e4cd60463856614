"""Faults around the commands beside the gate, and around domain files: one line, and no part of a file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import pytest_draft
from pytest_draft.__main__ import main
from pytest_draft.data.domain_file import read_domain
from pytest_draft.errors import DataError
from pytest_draft.facts.case import Case
from pytest_draft.hardening import command as harden
from pytest_draft.isolation import Children
from pytest_draft.report import annotations

TERMINATED = """
import os, signal, joblib
whole = joblib.dump

def dump(model, file, *rest):
    done = whole(model, file, *rest)
    os.kill(os.getpid(), signal.SIGTERM)
    return done

joblib.dump = dump
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_command_that_is_terminated_leaves_no_part_of_a_model(tmp_path):
    rng = np.random.default_rng(0)
    joblib.dump(DecisionTreeClassifier(max_depth=2).fit(rng.random((9, 2)), [0, 1, 0] * 3), tmp_path / "m.joblib")
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "sitecustomize.py").write_text(TERMINATED, encoding="utf-8")
    path = [str(tmp_path / "planted"), str(Path(pytest_draft.__file__).parents[1])]
    command = [sys.executable, "-m", "pytest_draft", "harden", "m.joblib", "hardened.joblib"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "pytest_draft: stopped\n")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.joblib", "planted"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_what_a_command_cannot_write_is_said_in_one_line(monkeypatch, capsys, number):
    def refuse(_: object) -> int:
        raise OSError(number, "text of the system", "out\n::error::")

    monkeypatch.setattr(harden, "run", refuse)
    assert main(["harden", "m.joblib", "out.joblib"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert os.strerror(number) in line
    assert "::" not in line


def test_a_verdict_that_later_steps_cannot_be_told_is_no_pass(tmp_path, monkeypatch, capsys):
    report = tmp_path / "report.json"
    report.write_text("[" * 100_000, encoding="utf-8")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path))  # a folder
    assert annotations.main([str(report)]) == 1
    monkeypatch.setattr(annotations, "_read", lambda *_: ("passed", []))
    assert annotations.main([str(report)]) == 1
    assert "the verdict could not be told to later steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 100_000, "x = " + "[" * 99 + "]" * 99, ".".join("a" * 60_000) + " = 1"], ids=range(3)
)
def test_a_domain_file_that_nobody_could_walk_through_is_refused(tmp_path, text):
    path = tmp_path / "domain.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="more than 32"):
        read_domain(path, ["a"])


def test_a_domain_file_of_long_quoted_names_is_read(tmp_path):
    path = tmp_path / "domain.toml"
    name = "a." * 500
    path.write_text(f'[attributes."{name}"]\nkind = "binary"\n', encoding="utf-8")
    assert read_domain(path, [name]).attributes[0].name == name


class TooLarge:
    """Data for which there is no room."""

    def __reduce__(self):
        raise MemoryError


def test_data_for_which_there_is_no_room_are_inconclusive(tmp_path):
    examination, rebuilt = Children().run(Case(str(tmp_path / "m.joblib")), TooLarge())
    assert rebuilt is None
    assert examination.solver_status == "out of memory"
    assert "too little memory to hand the data" in examination.reasons[0]
