"""The study of boosted trees beside enumeration: it lists all tables, and sees what is wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from pytest_draft.attack.boosted.rebuild import rebuild_boosted
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.facts.certificate import Bounds, Certificate
from studies import boosted_agreement
from studies.__main__ import main
from studies.agreement_enumeration import TooManyError
from studies.boosted_agreement import Compared, compared
from studies.boosted_agreement_enumeration import Listed
from studies.boosted_agreement_instances import TASKS, NothingFittedError, drawn

LIBRARIES = ("gradient boosting", "histograms")


@pytest.fixture(scope="module")
def instances():
    """Return some small boosters of scikit-learn."""
    found = []
    for number in range(8):
        try:
            found.append(drawn(LIBRARIES[number % 2], TASKS[number // 2 % 3], [5, number]))
        except NothingFittedError:
            continue
    return found


def answers(instances):
    """Return what is found of all that can be listed."""
    found = []
    for instance in instances:
        try:
            found.append(compared(instance, np.random.default_rng(0)))
        except TooManyError:
            continue
    return found


def test_nothing_is_wrong(instances):
    found = answers(instances)
    assert len(found) > 3
    assert not any(one.disagreements for one in found)


def test_all_tables_are_listed(instances):
    tried = 0
    for instance in instances:
        vectors, n_rows = instance.domain.vectors(), 3
        n_kinds = len(vectors) * instance.forest.n_classes
        if n_kinds > 12:
            continue
        forest = instance.forest
        small = replace(forest, observation=replace(forest.observation, counted=False))
        wide = tuple(
            replace(own, total=np.zeros_like(own.total), tolerance=np.full(len(own.total), 0.5))
            for own in forest.observation.statements
        )
        small = replace(small, observation=replace(small.observation, statements=wide))
        listed = Listed.of(small, vectors, n_rows)
        for those in combinations_with_replacement(range(n_kinds), n_rows):
            label, place = np.divmod(np.array(those), len(vectors))
            rows = vectors[place]
            there = missed(small, np.ascontiguousarray(rows.T.astype(np.float64)), label) == 0
            assert listed.listed(listed.kinds(rows, label)) == there
        tried += 1
    assert tried > 1


def claims_all(forest, domain, n_rows, search):
    """Claim that what is rebuilt is the only table."""
    found = rebuild_boosted(forest, domain, n_rows, search)
    if found.certificate is None:
        return found
    everything = Certificate(n_rows, *([Bounds(n_rows, n_rows)] * 5))
    return replace(found, status="unique", certificate=everything, proved=found.consistent)


def claims_others(forest, domain, n_rows, search):
    """Claim that rows of a vector that is in none were rebuilt."""
    found = rebuild_boosted(forest, domain, n_rows, search)
    one = np.repeat(domain.vectors()[:1], n_rows, axis=0)
    return replace(found, rows=one, consistent=one, residual=0, status="consistent")


@pytest.mark.parametrize(
    ("wrong", "facts"),
    [
        (
            claims_all,
            {"unique", "certain cells", "certain rows", "guaranteed overlap", "proved rows are in every table"},
        ),
        (claims_others, {"the rebuilt table is listed"}),
    ],
)
def test_what_is_wrong_is_seen(wrong, facts, instances, monkeypatch):
    monkeypatch.setattr(boosted_agreement, "rebuild_boosted", wrong)
    seen = {fact for one in answers(instances) for fact in one.disagreements}
    assert facts <= seen


@pytest.mark.parametrize("wrong", [False, True])
def test_the_command_says_how_many_are_wrong(wrong, monkeypatch, capsys):
    found = Compared(1, ["unique"] if wrong else [], ["a certificate"])
    monkeypatch.setattr(boosted_agreement, "compared", lambda *_: found)
    monkeypatch.setattr(boosted_agreement, "installed", lambda: LIBRARIES)
    status = main(["boosted-agreement", "--instances", "4", "--seed", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert status == int(wrong)
    assert lines[0].startswith("not installed: XGBoost, LightGBM, CatBoost")
    assert sum("disagreement, seed [2, " in line for line in lines) == 4 * wrong
    (everything,) = (line.split() for line in lines if line.startswith("all "))
    assert everything == ["all", "4", "0", "4", "0", "0" if wrong else "4", "4" if wrong else "0"]
    assert "not found or proved in 4: a certificate" in lines


def test_no_row_is_shown(instances):
    assert all(repr(one).startswith("<BoostedInstance: ") and len(repr(one)) < 70 for one in instances)
