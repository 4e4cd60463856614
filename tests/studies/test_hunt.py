"""The hunt: what it draws, what it finds when it is planted, and that it can be interrupted and resumed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pytest_draft.evaluate.findings import evaluate
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.rules import RULES
from pytest_draft.timebox import TimeBox
from studies import hunt
from studies.hunt import Hunted, judged, run, stronger, weaker
from studies.hunt_contradictions import Contradiction, Population, by_figures, slices_of
from studies.hunt_triples import STRANGERS, Triple, triple
from studies.judging import examined, judgement
from studies.specimens import specimen

PASSED = Hunted(0, 0, "made up", "tree, 1 trees", "default", "artifact", "passed", "consistent")


@pytest.fixture(scope="module")
def leaking():
    one = specimen("screening", "forest without bootstrap", n_rows=40, strangers=STRANGERS)
    return replace(one, effort=0.4)


@pytest.fixture(scope="module")
def leak(leaking):
    return examined(leaking, slices_of(leaking), by_class=True)


@pytest.fixture(scope="module")
def known():
    """Return judgements that tests of this module have made, by all that can differ between them."""
    return {}


@pytest.fixture
def judged_once(known, monkeypatch):
    """Let a hunt judge again what another test has not judged yet."""

    def recalled(specimen, *arguments, **options):
        key = (specimen.adversary, specimen.effort, specimen.seed, specimen.domain, len(arguments))
        if key not in known:
            known[key] = examined(specimen, *arguments, **options)
        return known[key]

    monkeypatch.setattr(hunt, "examined", recalled)
    monkeypatch.setattr(hunt, "MORE", 2.0)


# What is drawn.


def test_a_triple_repeats_and_another_number_is_another():
    one, again, other = triple(0, 7), triple(0, 7), triple(0, 8)
    assert one.specimen.frame.equals(again.specimen.frame)
    assert (one.policy, one.specimen.adversary) == (again.policy, again.specimen.adversary)
    assert not one.specimen.frame.equals(other.specimen.frame)


def test_odd_tables_models_and_settings_are_drawn():
    drawn = [triple(1, number) for number in range(200)]
    oddities = Counter(oddity for one in drawn for oddity in one.specimen.table.split(", ")[1:])
    for name in (
        "gaps",
        "duplicates",
        "outliers",
        "constant",
        "screening",
        "rare",
        "weights",
        "missing values",
        "-1/1",
    ):
        assert oddities[name], name
    assert len({one.specimen.model for one in drawn}) == 9
    assert {one.policy.name for one in drawn} == {"default", "partner-release", "internal"}
    assert {one.specimen.domain is None for one in drawn} == {True, False}
    assert {one.policy.by_class for one in drawn} == {True, False}
    assert any(len(one.specimen.frame) == 1 for one in drawn)


def test_a_triple_shows_no_row():
    one = triple(0, 0)
    assert repr(one) == f"<Triple: {one.specimen.table}/{one.specimen.model}/{one.policy.name}>"


def test_weaker_and_stronger_adversaries():
    assert weaker("artifact+rows:25%") == ["published+rows:25%", "artifact"]
    assert weaker("published") == []
    assert stronger("artifact") == ["artifact+rows:25%", "artifact+columns:1", "artifact+informed"]
    assert stronger("published+columns:1") == ["artifact+columns:1"]


# What is found when it is planted.


@pytest.mark.usefixtures("judged_once")
def test_rules_that_always_pass_are_contradicted_by_the_figures(leaking, leak, monkeypatch):
    policy = default_policy()
    assert judgement(leak.examination, policy).verdict == "failed"
    found = list(by_figures(Triple(leaking, policy), leak))
    assert {one.by for one in found} == {"a subgroup", "strangers", "nothing guessed"}
    assert all(one.clear for one in found)
    for name in ("reconstruction-error", "perfect-rows", "determined-rows", "given-all-other-rows", "label-told"):
        blind = replace(RULES[name], check=lambda *_: Outcome("passed", "blind"), bounds=None)
        monkeypatch.setitem(RULES, name, blind)
    hunted = judged(Triple(leaking, policy))
    assert hunted.verdict == "passed"
    assert {one.by for one in hunted.contradictions} == {"strangers", "nothing guessed"}


@pytest.mark.usefixtures("judged_once")
def test_what_fails_by_another_seed_or_a_weaker_adversary_contradicts_a_pass(leaking, monkeypatch):
    policy = default_policy()

    def lenient(examination, policy, floors=()):
        sound = judgement(examination, policy, floors)
        first = (examination.case.seed, examination.case.adversary) == (0, "artifact")
        return replace(sound, verdict="passed") if first else sound

    monkeypatch.setattr(hunt, "judgement", lenient)
    hunted = judged(Triple(leaking, policy))
    assert hunted.verdict == "passed"
    by = [one.by for one in hunted.contradictions if one.clear]
    assert by.count("another seed") == 2
    assert "a weaker adversary: published" in by
    assert "more time" not in by
    assert {one.by for one in hunted.apart} <= {f"a stronger adversary: {name}" for name in stronger("artifact")}
    assert hunted.apart


def test_strangers_rows_in_place_of_rebuilt_ones_contradict_nothing(leaking, leak):
    theirs = Population.of(leaking).strangers[0]
    free = np.zeros(theirs.shape, dtype=np.bool_)
    stranger = replace(leak.reconstruction, rows=theirs, free=free, certificate=None, consistent=None)
    rows = Population.of(leaking)
    measured = evaluate(
        replace(stranger, ordered=False),
        rows.truth,
        rows.domain,
        leak.examination.findings.identity,
        seed=0,
        timebox=TimeBox(30.0),
        slices=slices_of(leaking),
    )
    examination = replace(leak.examination, findings=measured)
    found = by_figures(
        Triple(leaking, default_policy()), replace(leak, examination=examination, reconstruction=stranger)
    )
    assert list(found) == []


def test_what_the_gate_calls_an_internal_error_is_told_of_any_verdict(leaking, monkeypatch):
    def broken(specimen, *_, **__):
        one = examined(specimen)
        return replace(one, examination=replace(one.examination, reasons=("internal error: 3 rows were proved",)))

    monkeypatch.setattr(hunt, "examined", broken)
    assert judged(Triple(leaking, default_policy())).bugs == ("internal error: 3 rows were proved",)


# The command.


def test_a_hunt_is_resumed_where_it_was_interrupted(monkeypatch, tmp_path, capsys):
    asked = []

    def hunted(seed, number, *_):
        asked.append(number)
        if number == 2 and len(asked) == 3:
            raise KeyboardInterrupt
        return replace(PASSED, seed=seed, number=number)

    monkeypatch.setattr(hunt, "hunted", hunted)
    output = tmp_path / "hunt.json"
    assert run(4, 5, output=output) == 0
    assert "2 triples" in capsys.readouterr().out
    output.write_text(output.read_text() + '{"seed": 5, "num')
    assert run(4, 5, output=output) == 0
    assert asked == [0, 1, 2, 2, 3]
    assert "4 triples" in capsys.readouterr().out
    assert [one.number for one in hunt._read(output)] == [0, 1, 2, 3]


def test_contradictions_are_told_with_what_repeats_them(monkeypatch, tmp_path, capsys):
    against = Contradiction("another seed", True, "perfect-rows: 40 of 40")
    monkeypatch.setattr(
        hunt,
        "hunted",
        lambda seed, number, *_: replace(
            PASSED, seed=seed, number=number, contradictions=(against,) * (number == 1), bugs=("x",) * (number == 2)
        ),
    )
    output = tmp_path / "hunt.json"
    assert run(3, 4, 2.0, output=output) == 2
    printed = capsys.readouterr().out
    assert "python -m studies hunt --numbers 1 --seed 4 --seconds 2" in printed
    assert "clear, by another seed: perfect-rows: 40 of 40" in printed
    assert "clear contradictions by another seed: 1" in printed
    assert "3 triples" in printed
    assert "1 with internal errors" in printed
    assert len(output.read_text().splitlines()) == 3
    assert Hunted.of(json.loads(output.read_text().splitlines()[1])).contradictions == (against,)


@pytest.mark.parametrize(("number", "verdict"), [(157, "inconclusive"), (111, "inconclusive"), (266, "failed")])
def test_a_drawn_triple_is_judged_without_an_error(number, verdict):
    hunted = hunt.hunted(0, number, 0.02)
    assert hunted.verdict == verdict
    assert hunted.bugs == ()
    assert (hunted.seed, hunted.number) == (0, number)
