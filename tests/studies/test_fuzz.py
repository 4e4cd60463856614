"""Fuzzing: a seed gives the same mutants again, what fails is told and kept, and nothing ends the run."""

from __future__ import annotations

import pickle
import random
import signal
import subprocess
import time
import warnings

import pytest

from pytest_draft.errors import CorruptArtifactError
from studies.__main__ import main
from studies.fuzz import plan, run, targets, worker
from studies.fuzz.damage import bytes_damaged, text_damaged
from studies.fuzz.documents import archive_damaged, json_damaged, npy_damaged
from studies.fuzz.pickles import arrays_damaged, arrays_in, instructions, instructions_damaged
from studies.fuzz.protobufs import protobuf_damaged
from studies.fuzz.targets import SEEDS, TARGETS, WrongError, mutant


@pytest.mark.parametrize("target", TARGETS)
def test_a_seed_and_a_number_give_the_same_mutant_again(target):
    first = [mutant(target, 3, number) for number in range(10)]
    assert first == [mutant(target, 3, number) for number in range(10)]
    assert first != [mutant(target, 4, number) for number in range(10)]
    honest = dict(TARGETS[target].files)
    assert sum(content != honest[name] for name, content in first) >= 5


def test_each_target_gets_its_share_of_a_run_and_no_number_twice():
    names = tuple(plan.SHARES)
    drawn = [plan.drawn(number, names) for number in range(3 * sum(plan.SHARES.values()))]
    assert len(set(drawn)) == len(drawn)
    for name, share in plan.SHARES.items():
        assert sorted(number for target, number in drawn if target == name) == list(range(3 * share))
    assert set(plan.SHARES) == set(TARGETS)


@pytest.mark.parametrize("path", sorted([*SEEDS.glob("*.pkl"), *SEEDS.glob("*.joblib")]), ids=lambda path: path.name)
def test_instructions_put_together_are_the_pickle_again(path):
    content = path.read_bytes()
    assert b"".join(instructions(content)) == content
    for start, end, dtype in arrays_in(content):
        assert (end - start) % dtype.itemsize == 0


@pytest.mark.parametrize(
    "damage",
    [
        bytes_damaged,
        text_damaged,
        json_damaged,
        npy_damaged,
        archive_damaged,
        instructions_damaged,
        arrays_damaged,
        protobuf_damaged,
    ],
)
@pytest.mark.parametrize("content", [b"", b"x", b"[[]]", b"\x80\x04N.", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x00\x00"])
def test_whatever_was_damaged_before_can_be_damaged_again(damage, content):
    for seed in range(30):
        assert isinstance(damage(content, random.Random(seed), [pickle.dumps([1, "text"])]), bytes)


def test_a_recipe_makes_the_mutant_whatever_became_of_its_making(tmp_path, monkeypatch):
    for target in TARGETS:
        for number in range(5):
            name, content = mutant(target, 1, number)
            recipe = run.recipe(target, 1, number, "why")
            assert (recipe.file, recipe.content) == (name, content)
            assert run.replayed(recipe, tmp_path) == worker.said(target, name, content, tmp_path)[0]


def answers(monkeypatch, target, answer):
    """Let a target's files be read by something else."""
    monkeypatch.setitem(
        TARGETS, target, targets.Target(TARGETS[target].seeds, TARGETS[target].damages, answer, (CorruptArtifactError,))
    )


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (ValueError("x"), "! ValueError at "),
        (WrongError("it was accepted although"), "! WrongError at "),
        (CorruptArtifactError("x" * 701), "no clear line"),
        (CorruptArtifactError("\u20ac"), "no clear line"),
        (CorruptArtifactError("its content makes no sense (ValueError)"), "the last net caught it"),
    ],
    ids=repr,
)
def test_an_answer_that_is_none_is_told(raised, words, monkeypatch, tmp_path, capsys):
    def answer(path):
        raise raised

    answers(monkeypatch, "onnx", answer)
    found, _ = worker.said("onnx", "tree.onnx", b"", tmp_path)
    assert found.startswith("!")
    assert words in found
    assert main(["fuzz", "--targets", "onnx", "--number", "7", "--write", str(tmp_path / "mutant")]) == 1
    assert capsys.readouterr().out.startswith("onnx --seed 0 --number 7, of ")
    assert (tmp_path / "mutant").read_bytes() == mutant("onnx", 0, 7)[1]


def test_a_warning_and_too_long_a_time_are_no_answer(monkeypatch, tmp_path):
    answers(monkeypatch, "onnx", lambda path: warnings.warn("look", stacklevel=1))
    assert worker.said("onnx", "tree.onnx", b"", tmp_path)[0].startswith("! UserWarning at ")
    answers(monkeypatch, "onnx", lambda path: None)
    clock = iter([0.0, plan.SECONDS + 1])
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    assert worker.said("onnx", "tree.onnx", b"", tmp_path)[0] == "! it took 3.0 s"


def test_a_run_tells_how_many_ended_how(tmp_path, capsys):
    kept = tmp_path / "recipes.jsonl"
    assert main(["fuzz", "--mutants", "60", "--targets", "onnx", "policy", "--regressions", str(kept)]) == 0
    printed = capsys.readouterr().out
    assert "\npolicy: " in printed
    assert "60 mutants from number 0 of seed 0: 0 failed; " in printed
    assert not kept.exists()


class Child:
    """In place of a process that reads: its output, then how it ends."""

    def __init__(self, words, stdout, stderr):
        Child.started.append([int(word) for word in words[6:8]])
        first, last = Child.started[-1]
        script = f"import sys,os,time\nfor n in range({first}, {last}):\n"
        script += f" if n in {Child.bad!r}: sys.stdout.flush(); {Child.end}\n"
        script += " print(n, '0.1', '99', 'corrupt', sep='\\t', flush=True)\n"
        self._process = Child.popen([words[0], "-c", script], stdout=stdout, stderr=stderr)

    def __getattr__(self, name):
        return getattr(self._process, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (f"os.kill(os.getpid(), {int(signal.SIGSEGV)})", f"the process died of signal {int(signal.SIGSEGV)}"),
        ("time.sleep(60)", "it hung"),
        ("exec('while True: pass')", "it hung"),
    ],
)
def test_a_process_that_dies_or_hangs_costs_one_mutant_and_its_recipe_is_kept(
    end, words, monkeypatch, tmp_path, capsys
):
    Child.started, Child.bad, Child.end, Child.popen = [], {4}, end, subprocess.Popen
    monkeypatch.setattr(run.subprocess, "Popen", Child)
    monkeypatch.setattr(run, "_SILENCE" if "sleep" in end else "_BUSY", 0.5)
    kept = tmp_path / "recipes.jsonl"
    for first in (0, 1):
        assert run.run(6, 0, first=first, names=("onnx",), regressions=kept) == 1
    assert Child.started == [[0, 6], [5, 6], [1, 7], [5, 7]]
    assert [(one.target, one.number, one.what) for one in run.kept(kept)] == [("onnx", 4, words)]
    printed = capsys.readouterr().out
    assert f"onnx --seed 0 --number 4: {words}" in printed
    assert "6 mutants from number 0 of seed 0: 1 failed" in printed


def test_a_process_that_cannot_begin_ends_the_run(monkeypatch, tmp_path):
    Child.started, Child.bad, Child.end, Child.popen = [], {0}, "raise ValueError('no')", subprocess.Popen
    monkeypatch.setattr(run.subprocess, "Popen", Child)
    with pytest.raises(RuntimeError, match="mutant 0: the process that reads ended with 1: ValueError: no"):
        run.run(6, 0, names=("onnx",), regressions=tmp_path / "recipes.jsonl")


def test_a_process_that_has_grown_ends_itself_and_the_next_one_goes_on(monkeypatch, capsys):
    monkeypatch.setattr(worker, "MOST_MEMORY", 1)
    monkeypatch.setattr(worker.resource, "setrlimit", lambda *_: None)
    worker.main(0, 0, 5, ["onnx"])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("0\t")
    assert "\t! it took " in line
