"""The study of two checkouts: what it holds to be a difference of their reports, and what it leaves alone."""

from __future__ import annotations

import json
import sys

import pytest

from pytest_draft.errors import DataError
from studies import same_reports
from studies.fixed_judgements import JUDGEMENTS
from studies.same_reports import differences, plugin_of, run

OLD = {
    "schema_version": 1,
    "tool": {"version": "0.1.0"},
    "results": [
        {
            "engine": "cells",
            "anytime": None,
            "seconds": 1.5,
            "notes": ["the attack ended after 3.2 s, 4 rows are left"],
            "metrics": {"told_columns": 3, "perfect_rows": 7, "unique": True, "error": None},
            "row_errors": {"quantiles": [0.1, 0.25], "split_half_quantiles": None},
        }
    ],
}
NEW = {
    "schema_version": 2,
    "tool": {"version": "0.2.0"},
    "results": [
        {
            "seconds": 0.7,
            "notes": ["the attack ended after 11 s, 4 rows are left"],
            "metrics": {"informative_columns": 3, "perfect_rows": 7, "unique": True, "error": None},
            "row_errors": {"quantiles": [0.1, 0.25]},
        }
    ],
}


def changed(report, *path, to):
    """Return a copy of a report with another value at one place."""
    copy = json.loads(json.dumps(report))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return copy


def test_times_versions_and_renamed_and_removed_keys_are_no_difference():
    assert list(differences(OLD, NEW)) == []
    assert list(differences(NEW, NEW)) == []


@pytest.mark.parametrize(
    ("path", "to", "told"),
    [
        (("metrics", "informative_columns"), 4, "results[0].metrics.informative_columns: 3 -> 4"),
        (("metrics", "unique"), 1, "results[0].metrics.unique: true -> 1"),
        (("metrics", "error"), 0.0, "results[0].metrics.error: null -> 0.0"),
        (("row_errors", "quantiles", 1), 0.26, "results[0].row_errors.quantiles[1]: 0.25 -> 0.26"),
        (("row_errors", "quantiles"), [0.1], "results[0].row_errors.quantiles: [0.1, 0.25] -> [0.1]"),
        (
            ("notes", 0),
            "the attack ended after 3.2 s, 5 rows are left",
            'results[0].notes[0]: "the attack ended after 3.2 s, 4 rows are left" -> '
            '"the attack ended after 3.2 s, 5 rows are left"',
        ),
        (("more",), [], "results[0].more: nothing -> []"),
    ],
)
def test_a_difference_is_told_with_its_place_and_both_values(path, to, told):
    (one,) = differences(OLD, changed(NEW, "results", 0, *path, to=to))
    assert str(one) == told


def test_a_name_that_is_used_again_is_no_older_name():
    one = {"given_all_other_rows": {"told_values": 0.5}, "metrics": {"told_values": 3}}
    two = {"given_all_other_rows": {"told_values": 0.5}, "metrics": {"proved_values": 3}}
    assert list(differences(one, two)) == list(differences(one, one)) == []


def test_a_key_that_is_gone_and_not_named_is_a_difference():
    gone = json.loads(json.dumps(NEW))
    del gone["results"][0]["metrics"]["perfect_rows"]
    assert [str(one) for one in differences(OLD, gone)] == ["results[0].metrics.perfect_rows: 7 -> nothing"]


def test_a_long_value_is_cut():
    (one,) = differences({"text": "x" * 1_000}, {"text": "y"})
    assert len(one.before) < 200


def test_there_are_many_judgements_that_go_by_every_shipped_policy(tmp_path):
    named = set()
    for number, write in enumerate(JUDGEMENTS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        options = write(folder)
        named |= {option.partition("=")[2] for option in options if option.startswith("--draft-policy=")}
        files = {
            option.partition("=")[2] for option in options if option.startswith(("--draft-forest", "--draft-data"))
        }
        assert files <= {path.name for path in folder.iterdir()}
    assert len(JUDGEMENTS) == 65
    shipped = {path.stem for path in (same_reports.HERE / "rules").glob("*.toml")}
    assert named == {*shipped, "ours.toml"}


def test_the_plugin_of_either_layout_is_found_and_no_checkout_is_refused(tmp_path):
    assert plugin_of(same_reports.HERE) == "pytest_draft.plugin.hooks"
    (tmp_path / "pytest_draft").mkdir()
    with pytest.raises(DataError, match=r"is no checkout of pytest-draft"):
        plugin_of(tmp_path)
    (tmp_path / "pytest_draft" / "plugin.py").touch()
    assert plugin_of(tmp_path) == "pytest_draft.plugin"


@pytest.mark.parametrize("perfect_rows", [7, 8])
def test_each_judgement_has_a_line_and_what_differs_is_counted(perfect_rows, monkeypatch, capsys, tmp_path):
    other = changed(NEW, "results", 0, "metrics", "perfect_rows", to=perfect_rows)
    for report in (OLD, other):
        report["results"][0] |= {"verdict": "failed", "solver_status": "unique"}
    monkeypatch.setattr(same_reports, "_expect_first_on_path", lambda checkout: None)
    monkeypatch.setattr(same_reports, "report_of", lambda checkout, *_: (OLD if checkout == tmp_path else other, 1.0))
    assert run(tmp_path, names=["rule list", "slices"]) == 2 * (perfect_rows != 7)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("unique: failed")
    assert lines.count("    results[0].metrics.perfect_rows: 7 -> 8") == 2 * (perfect_rows != 7)


def test_a_run_without_a_report_is_told_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DataError, match=r"^no report by '.*' \(exit status 1\): nothing was printed$"):
        same_reports.report_of(same_reports.HERE, tmp_path, ())
