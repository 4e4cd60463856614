"""The study of numeric data: what it is given, and what it measures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pytest_draft.errors import DataError
from studies import __main__, numeric
from studies.cells import run as cells_run

# TINY: the effort ends each search, so that the clock makes no difference.
TINY = numeric.Setting("random", n_trees=8, n_rows=30, seconds=120.0, workers=1, effort=0.1)


@pytest.fixture(autouse=True)
def not_warmed_up(monkeypatch):
    """Times make no difference here, so that nothing need be compiled before."""
    monkeypatch.setattr(numeric, "_warm_up", lambda setting: None)


@pytest.fixture
def table(tmp_path):
    """A CSV file with numbers, text and a label in words."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=40).round(3),
            "job": rng.choice(["x", "y", "z"], 40),
            "label": rng.choice(["no", "yes"], 40),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


@pytest.fixture
def printed(cells_here, tmp_path):
    """Run the study as its command does, and print its report."""

    def run(names, seeds, setting=TINY):
        numeric.report(cells_run(numeric.study(names, seeds, setting), tmp_path / "store"), setting)

    return run


def of_line(line):
    """Return the words of a printed line before its figures: data, rows, seed."""
    return line.split()[:3]


def test_each_run_has_a_line_and_each_data_set_its_means(printed, capsys):
    printed(["linnerud"], [3, 4])
    *_, header, one, other, mean, last = capsys.readouterr().out.splitlines()
    assert header.split()[:6] == ["data", "rows", "seed", "status", "verdict", "residual"]
    assert [of_line(line)[2] for line in (one, other, mean)] == ["3", "4", "mean"]
    assert {of_line(line)[1] for line in (one, other, mean)} == {"20"}, "there are no more rows"
    assert last == "0 of 2 runs prove what the training data contradict"


def test_the_same_effort_gives_the_same_figures():
    features, target = numeric.table_of("iris")
    one, again = (numeric.examined(features, target, 0, TINY) for _ in range(2))
    assert one.figures["error"] < one.figures["random"]
    assert [name for name in one.figures if repr(one.figures[name]) != repr(again.figures[name])] == ["s"]


def test_a_csv_file_with_text_is_judged_raw(table, printed, capsys):
    printed([f"{table}:label"], [0])
    line = capsys.readouterr().out.splitlines()[-2]
    assert of_line(line) == [f"{table}:label", "30", "0"]
    assert "refused" not in line
    assert "not covered" not in line


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "is unknown: give one of iris, "),
        ("nothing.csv:label", "no such file"),
        ("{table}:weight", "has no column 'weight'"),
    ],
)
def test_what_is_no_data_set_is_said_in_one_line(table, name, message):
    with pytest.raises(DataError, match=message) as error:
        numeric.table_of(name.format(table=table))
    assert "\n" not in str(error.value)


def test_the_command_ends_with_that_line():
    with pytest.raises(SystemExit, match=r"^data set 'nothing' is unknown: "):
        __main__.main(["numeric", "--data", "nothing"])


def test_a_label_may_hold_a_colon(tmp_path):
    pd.DataFrame({"a": [1.5], "b:1": [0]}).to_csv(tmp_path / "t.csv", index=False)
    features, target = numeric.table_of(f"{tmp_path / 't.csv'}:b:1")
    assert (list(features), target.name) == (["a"], "b:1")


def test_a_regressor_learns_targets_that_differ():
    features, target = numeric.table_of("iris")
    run = numeric.examined(features, target, 0, replace(TINY, forest="regressor", n_trees=30, effort=0.3))
    assert run.status == "consistent"
    assert run.figures["certain"] > 0.3
    assert run.figures["refuted"] == 0


def test_a_quantity_is_learned_above_its_median():
    _, target = numeric.table_of("diabetes")
    label = numeric._label(target, "random", 0)
    assert sorted(label.unique()) == [0, 1]
    assert 0.4 < label.mean() < 0.6
    assert numeric._label(target, "regressor", 0) is target
