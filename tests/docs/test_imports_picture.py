"""The picture of the package's imports is that of the code."""

from __future__ import annotations

import importlib.util
import re
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("grimp", reason="needs grimp, which import-linter of the extra lint brings")
pytest.importorskip("tomllib", reason="needs Python 3.11")

SCRIPT = Path(__file__).parents[2] / "docs" / "imports.py"


@pytest.fixture(scope="module")
def script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("imports_picture", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def every(script):
    """All arrows between rooms."""
    return script.arrows(room for floor in script.floors() for room in floor)


def test_the_committed_picture_is_what_the_command_draws(script, every):
    drawn = script.drawing(script.floors(), every)
    assert script.PICTURE.read_text(encoding="utf-8") == drawn, "run: python docs/imports.py"


def test_the_table_of_the_architecture_page_has_every_room(script, read_page):
    told = re.findall(r"^\| (`[^|]+) \| ", read_page("architecture").split("## Where to add")[0], re.MULTILINE)
    rooms = {name for cell in told for name in re.findall(r"`(\w+)/?`", cell)}
    assert rooms == {room for floor in script.floors() for room in floor}


def test_every_arrow_points_down(script, every):
    floor_of = {room: number for number, floor in enumerate(script.floors()) for room in floor}
    assert {(start, end) for start, ends in every.items() for end in ends if floor_of[start] >= floor_of[end]} == set()


def test_arrows_that_are_left_out_are_detours(script, every):
    drawn = script.reduced(every)
    assert {room: script.reach(drawn, room) for room in every} == {room: script.reach(every, room) for room in every}


def test_no_room_is_drawn_over_another(script, every):
    rows, ways = script.with_lanes(script.wrapped(script.floors()), script.reduced(every))
    at = script.placed(rows, ways)
    for row in rows:
        placed = sorted(row, key=at.get)
        for left, right in pairwise(placed):
            assert at[right] - at[left] >= (script.width(left) + script.width(right)) / 2
        assert all(script.width(node) / 2 <= at[node] <= script.WIDTH - script.width(node) / 2 for node in row)
