"""No claim about a generated file contradicts the rows that trained it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_draft.facts.certificate import Bounds
from studies import claims


@pytest.mark.parametrize("model", claims.MODELS)
def test_nothing_false_is_claimed(model, monkeypatch, capsys):
    monkeypatch.setattr(claims, "_EFFORT", 0.1)
    assert claims.run(3, seed=7, models=(model,)) == 0
    assert "false: " not in capsys.readouterr().out


def test_rows_that_no_tree_has_seen_are_no_part_of_their_own():
    answer = claims.answered("shallow random forest", "artifact+rows:1", 8)
    assert (answer.status, answer.violations) == ("consistent", ())


def test_a_false_claim_is_found(monkeypatch, capsys):
    whole = claims.examine

    def boastful(case, data):
        examination, rebuilt = whole(case, data=data)
        certificate = examination.certificate
        if certificate is not None:
            most = Bounds(1_000, 1_000)
            many = replace(certificate, n_rows=1_000, certain_vectors=most, guaranteed_vectors=most)
            examination = replace(examination, certificate=many)
        return examination, rebuilt

    monkeypatch.setattr(claims, "examine", boastful)
    assert claims.run(3, seed=7, models=("random forest without bagging",)) > 0
    assert "rows are shared" in capsys.readouterr().out
