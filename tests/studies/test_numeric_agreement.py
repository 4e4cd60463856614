"""The study of what is proved of numeric columns: nothing proved is wrong, and what is wrong is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from studies import numeric_agreement
from studies.__main__ import main
from studies.numeric_agreement import compared, generated


@pytest.fixture(autouse=True)
def little_effort(monkeypatch):
    monkeypatch.setattr(numeric_agreement, "EFFORT", 0.06)


@pytest.fixture(scope="module")
def instances():
    """Return generated instances."""
    return [generated([0, number]) for number in range(15)]


def test_nothing_that_is_held_to_be_exact_is_wrong(instances):
    verdicts = [compared(instance) for instance in instances]

    violations = [fact for verdict in verdicts for fact in verdict.violations]
    assert violations == []
    for figure in ("proved_values", "bounded_cells", "certain_cells", "certain_rows", "consistent"):
        assert sum(getattr(verdict, figure) for verdict in verdicts) > 0


@pytest.mark.parametrize("seed", [[1, 26], [1, 221], [5, 11]])
def test_a_value_between_the_decimals_that_all_told_ones_are_is_not_held_to_be_impossible(seed):
    assert compared(generated(seed)).violations == []


def test_instances_are_of_many_kinds_and_the_same_for_a_seed(instances):
    kinds = {instance.forest.kind for instance in instances}
    attributes = [attribute for instance in instances for attribute in instance.domain.attributes]
    again = generated([0, 3])

    assert len(kinds) >= 5
    assert {attribute.kind for attribute in attributes} == {"binary", "one-hot", "ordinal", "numeric"}
    assert any(instance.forest.draws.drawn for instance in instances)
    assert np.array_equal(again.rows, instances[3].rows, equal_nan=True)


def test_rows_that_the_forest_was_not_grown_on_are_violations(instances):
    strangers = [
        replace(instance, rows=instance.rows[:, ::-1]) for instance in instances[:12] if instance.rows.shape[1] > 1
    ]

    violated = [bool(compared(instance).violations) for instance in strangers]

    assert np.mean(violated) > 0.8


def test_a_wrong_certain_value_and_a_row_outside_its_bounds_are_seen(instances):
    regressor = next(one for one in instances if one.forest.kind == "RandomForestRegressor" and one.forest.draws.drawn)
    moved = np.nan_to_num(regressor.rows[::-1] + np.float32(0.25))

    facts = compared(replace(regressor, rows=moved)).violations

    assert {"the truth is inside its bounds", "certain values are right"} <= set(facts)


@pytest.mark.parametrize("violated", [False, True])
def test_the_command_says_how_many_were_wrong_and_exits_with_1_where_any_was(violated, monkeypatch, capsys):
    verdict = numeric_agreement.Verdict(["the truth misses no count"] if violated else [], 3, 40, 5, 1, True)
    monkeypatch.setattr(numeric_agreement, "compared", lambda *_: verdict)

    status = main(["numeric-agreement", "--instances", "3", "--seed", "2"])

    lines = capsys.readouterr().out.splitlines()
    assert status == int(violated)
    assert lines[-1].split() == ["all", "3", "3", "9", "120", "15", "3", "3" if violated else "0"]
    assert sum("violation, seed [2, " in line for line in lines) == 3 * violated


def test_no_row_is_shown(instances):
    n_rows, n_columns = instances[0].rows.shape
    forest = instances[0].forest

    assert (
        repr(instances[0]) == f"<Instance: {forest.kind} of {forest.n_trees} trees, {n_rows} rows, {n_columns} columns>"
    )
