"""Pages allow one style sheet, by its hash, and nothing else: no script, no attribute with style, no address."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape

import pytest

from pytest_draft.report import html
from pytest_draft.report.document import document
from pytest_draft.report.html import security_policy


def pages() -> dict[str, str]:
    """Return a page of each kind; which names and figures are on it makes no difference here."""
    return {"report": html.render(document([], ["a::b"], "1.2.3"))}


@pytest.mark.parametrize("kind", ["report"])
def test_the_policy_names_the_one_style_sheet_by_its_hash(kind):
    page = pages()[kind]
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert unescape(policy) == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
    assert page.startswith("<!doctype html>")
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert "svg" in style


@pytest.mark.parametrize("kind", ["report"])
def test_nothing_on_a_page_needs_what_the_policy_forbids(kind):
    page = pages()[kind]
    assert not re.search(r"<script|\sstyle=|\son\w+=|javascript:|<link|<img|<iframe|<base|<form", page)


def test_no_two_style_sheets_have_one_policy():
    assert security_policy("a { }") != security_policy("a {  }")
    assert "unsafe" not in security_policy("")
