"""The plots of the papers' pages: they show what the tables say, to everybody, and can be drawn again."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from studies.papers.page import markdown_table, tables_of
from studies.papers.pictures import Picture, Value
from studies.papers.plots import svg
from studies.papers.redraw import PLOTS
from studies.papers.result import Section

DOCS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize(
    ("cell", "number", "spread", "of"),
    [
        ("0.0123 ± 0.0010 (5)", 0.0123, 0.001, 1),
        ("**0.0123 (1)**", 0.0123, 0, 1),
        ("3 of 20", 3, 0, 20),
        ("48,842 (all)", 48_842, 0, 1),
        ("2.1e-10", 2.1e-10, 0, 1),
    ],
)
def test_a_cell_of_a_table_is_a_number(cell, number, spread, of):
    assert Value.read(cell) == Value(number, spread, of)


@pytest.mark.parametrize("cell", ["-", "", "drawn only", "no noise", "nan"])
def test_a_cell_without_a_number_is_not_drawn(cell):
    assert Value.read(cell) is None


def test_the_tables_of_a_page_are_read_as_they_were_written():
    table = pd.DataFrame({"a|b": ["**0.5**", "-"], "c": ["", "x | y"]})
    (found,) = tables_of(f"# Title\n\n## None\n\nText.\n\n## One: it\n\nText.\n\n{markdown_table(table)}\n\n## Last\n")
    assert found.heading == "One: it"
    assert found.table.to_dict("list") == table.to_dict("list")


PICTURE = Picture(("trees",), {"ours": "ours", "published": "published"}, "trees", "error")
ROWS = {"data": ["compas"] * 3, "trees": [1, 10, 100], "ours": ["0.3 (1)"] * 3, "published": ["0.2 (1)"] * 3}


@pytest.mark.parametrize(("n", "n_lines"), [(3, 2), (2, 0), (1, 0)])
def test_a_line_joins_three_points_and_not_two(n, n_lines):
    pytest.importorskip("matplotlib")
    drawn = svg(PICTURE([Section("", "", pd.DataFrame(ROWS).head(n))]))
    lines = re.findall(r'<path d="M[^"]*" [^>]*stroke: var\(--(?:first|second)[^>]*>', drawn)
    assert len(lines) == 2 * n_lines  # in the panel and in the legend


def test_series_differ_without_colour_and_follow_the_readers_scheme():
    pytest.importorskip("matplotlib")
    drawn = svg(PICTURE([Section("", "", pd.DataFrame(ROWS))]))
    assert re.search(r"var\(--second[^>]*stroke-dasharray|stroke-dasharray[^>]*var\(--second", drawn)
    assert "@media(prefers-color-scheme:dark)" in drawn
    assert not re.search(r"(?:fill|stroke): #", drawn), "a colour that is the same in both schemes"


@pytest.mark.parametrize("name", list(PLOTS))
def test_the_plot_of_a_page_is_what_its_tables_say(name):
    pytest.importorskip("matplotlib")
    text, stored = ((DOCS / f"{name}.{ending}").read_text(encoding="utf-8") for ending in ("md", "svg"))
    drawn = svg(PLOTS[name](tables_of(text)))
    (here,), (there,) = (re.findall(r"Matplotlib v[\d.]+", one) for one in (drawn, stored))
    if here == there:  # another version may draw a line otherwise
        assert drawn == stored, "python -m studies.papers.redraw docs/results"
    assert re.findall(r"<text[^>]*>([^<]*)<", drawn) == re.findall(r"<text[^>]*>([^<]*)<", stored)
