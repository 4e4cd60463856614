"""Engine, papers' models and enumeration on generated instances; and that a wrong answer would be noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from profiles import examples
from studies import agreement
from studies.agreement import compared
from studies.agreement_enumeration import TooManyError
from studies.agreement_instances import SETTINGS, changed, generated
from studies.paper_models.published import ModelDataset


@pytest.mark.parametrize("setting", SETTINGS)
def test_engine_models_and_enumeration_agree(setting):
    @settings(max_examples=examples(30), deadline=None, derandomize=True)
    @given(st.integers(0, 10**6))
    def agree(seed):
        try:
            verdict = compared(generated(setting, [seed], coded=seed % 2 == 1))
        except TooManyError:
            assume(False)
        assert verdict.disagreements == []
        assert verdict.undecided == []

    agree()


def facts(setting, n_instances=12):
    """Return all facts that are disagreed on."""
    return {fact for seed in range(n_instances) for fact in compared(generated(setting, [7, seed])).disagreements}


@pytest.mark.parametrize("setting", SETTINGS)
def test_models_that_see_another_forest_are_noticed(monkeypatch, setting):
    models = agreement._models
    rng = np.random.default_rng(0)
    monkeypatch.setattr(agreement, "_models", lambda i: models(replace(i, forest=changed(i.forest, rng))))
    assert any(fact.startswith("CP: ") for fact in facts(setting))


def test_an_engine_that_sees_another_forest_is_noticed(monkeypatch):
    problem = agreement._problem
    rng = np.random.default_rng(0)
    monkeypatch.setattr(agreement, "_problem", lambda i: problem(replace(i, forest=changed(i.forest, rng))))
    assert any(fact.startswith("engine: ") for fact in facts("no bagging"))


def test_a_false_certificate_is_noticed(monkeypatch):
    prove = agreement.prove

    def boasting(*arguments):
        proof = prove(*arguments)
        n_rows = proof.certificate.n_rows
        everything = replace(proof.certificate.certain_cells, lower=n_rows, upper=n_rows)
        return replace(proof, certificate=replace(proof.certificate, certain_cells=everything))

    monkeypatch.setattr(agreement, "prove", boasting)
    assert "engine: certain_cells" in facts("no bagging")


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_truth_that_does_not_explain_the_forest_is_noticed(monkeypatch, setting):
    noticed = 0
    for seed in range(12):
        instance = generated(setting, [7, seed])
        if instance.truth is not None:
            others = ModelDataset(instance.truth.rows, (instance.truth.labels + 1) % instance.forest.n_classes)
            noticed += bool(compared(replace(instance, truth=others)).disagreements)
    assert noticed >= 3


def test_an_engine_for_unknown_occurrences_is_compared():
    instances = [generated("occurrences unknown", [7, seed]) for seed in range(12)]
    honest = [instance for instance in instances if instance.truth is not None]
    for instance in honest:
        assert compared(instance, lambda i: i.truth).disagreements == []
    others = [compared(instance, lambda i: ModelDataset(1 - i.truth.rows, i.truth.labels)) for instance in honest]
    assert any("engine: joint likelihood" in verdict.disagreements for verdict in others)


def test_the_table_counts_every_instance(capsys):
    assert agreement.run(9, 0) == 0
    lines = capsys.readouterr().out.splitlines()
    table = {line[:20].strip(): [int(part) for part in line[20:].split()] for line in lines[1:5]}
    assert list(table) == [*SETTINGS, "all"]
    assert [table[setting][0] for setting in SETTINGS] == [3, 3, 3]
    for instances, feasible, infeasible, several, agree, undecided, disagree in table.values():
        assert feasible + infeasible == agree + undecided + disagree == instances
        assert several <= feasible
        assert disagree == 0


def test_a_disagreement_is_counted_and_named(monkeypatch, capsys):
    monkeypatch.setattr(agreement, "_problem", lambda instance: None)
    assert agreement.run(3, 0) > 0
    assert "disagreement, seed [0, " in capsys.readouterr().out
