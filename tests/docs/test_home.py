"""The home of the site: its commands and figures are the README's, and its picture can be read by everybody."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PICTURE = "_static/idea.svg"
SVG = "{http://www.w3.org/2000/svg}"


def test_its_commands_are_those_of_the_readme(blocks):
    demo, judge = blocks("index", "console")
    assert demo == blocks("README", "bash")[0]
    assert judge == next(block for block in blocks("README", "") if block.startswith("pytest --draft-forest"))


def test_its_figures_are_the_table_of_the_readme(read_page):
    (start, end) = (
        re.search(rf'^:{option}: "?(.*?)"?$', read_page("index"), re.MULTILINE)[1]
        for option in ("start-after", "end-before")
    )
    readme = read_page("README")
    assert readme.count(start) == 1
    shown = readme.split(start)[1].split(end)[0]
    assert shown.strip().startswith("| forest (100 trees")
    assert "How this was measured" in shown
    assert "```" not in shown


@pytest.mark.parametrize("kind", ["title", "desc"])
def test_its_picture_says_in_words_what_it_shows(read_page, kind):
    assert f"]({PICTURE})" in read_page("index")
    picture = ElementTree.parse(DOCS / PICTURE).getroot()
    named = picture.attrib["aria-labelledby"].split()
    (said,) = picture.iter(f"{SVG}{kind}")
    assert said.attrib["id"] in named
    assert said.text
