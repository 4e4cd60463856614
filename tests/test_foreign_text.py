"""Text that is not ours is harmless in every output, whatever it is and wherever it comes from."""

from __future__ import annotations

import ast
import json
import os
import shlex
import subprocess
from copy import copy
from datetime import date
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from sklearn.tree import DecisionTreeClassifier

import made_up_facts
from hostile_names import NAMES, PIECES, is_harmless
from profiles import examples
from pytest_draft import errors
from pytest_draft.__main__ import main
from pytest_draft.advice.advice import Advice, Tried
from pytest_draft.advice.judging import Judgement
from pytest_draft.advice.owner import Owner
from pytest_draft.advice.scoring import Score
from pytest_draft.data.tables import Table
from pytest_draft.facts.adversary import check_adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.foreign_text import address, distinct, harmless, in_shell, of_path, one_line
from pytest_draft.hardening.result import Change, Difference, Hardened
from pytest_draft.plugin.failure_text import FailureText
from pytest_draft.plugin.items import explained, properties, tolerated
from pytest_draft.plugin.manifest import Manifest
from pytest_draft.plugin.session import GateSession, Planned
from pytest_draft.plugin.summary import Summary
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.starting_settings import settings_of
from pytest_draft.policy.verdict import Check, judge
from pytest_draft.policy.waiver import Waiver
from pytest_draft.report import annotations, cyclonedx, fleet_html, html, intoto, json_report, markdown, sarif
from pytest_draft.report.document import document, merged
from pytest_draft.report.fleet import fleet

EVERYTHING = "".join(PIECES)


@given(NAMES)
@example(EVERYTHING)
@example(":" * 7 + "#" * 7)
def test_a_text_becomes_one_harmless_line_and_stays_it(text):
    for made in (harmless, one_line, distinct, of_path, address):
        line = made(text)
        assert is_harmless(line)
        assert "\n" not in line
        assert made is address or "::" not in line
        assert harmless(line, None) == line or made is address
    assert one_line(text).isascii()


@given(NAMES)
def test_what_is_cut_is_harmless_too(text):
    for limit in (3, 4, 7, 12):
        assert len(harmless(text, limit)) <= limit
        assert len(one_line(text, limit)) <= limit
        assert is_harmless(harmless(text, limit))


@pytest.mark.parametrize(
    "text", ["plain", "modèle de forêt.joblib", "C:\\models\\a", "a: b", "# 1", "naïve 森林 [x]", ""]
)
def test_what_is_harmless_stays_as_it_is(text):
    assert harmless(text) == text


@given(NAMES, NAMES)
@example("a\nb", "a\\nb")
@example("a::b", "a:\\x3ab")
@example(":", "\\x3a")
def test_different_names_have_different_addresses(one, other):
    assert (distinct(one) == distinct(other)) == (one == other)
    assert not distinct(one).startswith(":") and not distinct(one).endswith(":")


@given(NAMES)
def test_code_with_a_name_means_the_same(name):
    assert ast.literal_eval(harmless(repr(name), None)) == name


@settings(max_examples=examples(30), deadline=None)
@given(NAMES)
@example(EVERYTHING)
def test_a_command_with_a_name_means_the_same_in_a_shell(name):
    name = name.replace("\0", "").replace("\ud800", "")
    line = in_shell(["printf", "%s", name])
    assert is_harmless(line)
    if "$'" not in line:
        assert shlex.split(line)[2:] == [name]
        return
    try:
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"}
        )
    except FileNotFoundError:
        pytest.skip("no bash here")
    assert done.stdout == os.fsencode(name)


RULES = {
    "reconstruction-error": {"max_error": 0.9},
    "perfect-rows": {"max_perfect_rows": 0},
    "verbatim-data": {},
    "per-row-vectors": {},
    "pure-leaves": {"max_share": 0.0},
}


def gate() -> GateSession:
    """Return a session that knows where it is, and nothing else."""
    session = object.__new__(GateSession)
    session.root, session.demo_folder = made_up_root(), None
    session.settings = SimpleNamespace(report_rows=True, reports=(), strict=True, manifest=None)
    return session


def made_up_root():
    from pathlib import Path

    return Path("/project")


def reported(name: str):
    """Return the session, the checks and the report of a model about which every name is this one."""
    before = made_up_facts.PLAIN[str]
    made_up_facts.PLAIN[str] = name
    try:
        case = Case(
            f"/project/{name}", f"/project/{name}", target=name, adversary=f"artifact+columns:{name}", place=name
        )
        found = made_up_facts.filled(Examination, case=case)
    finally:
        made_up_facts.PLAIN[str] = before
    waiver = Waiver("perfect-rows", "text", name, name, date(2999, 1, 1))
    plain = Policy(name, name, RULES, waivers=(waiver,))
    policy = copy(plain)
    object.__setattr__(policy, "rules", {**plain.rules, name: {}})  # as with a rule of another distribution
    checks = [
        *judge(found, plain),
        *(Check(name, case.adversary, one, name, name, name) for one in ("failed", "inconclusive")),
    ]
    session = gate()
    item = f"{session.shown(made_up_root() / name)}::{name}"
    record = session.record(found, tuple(checks), policy, item)
    planned = Planned(session.shown(made_up_root() / name), name, case.adversary)
    report = document(merged([record]), [str(planned), address(f"tests/{name}.py::test[{name}]")], "1.2.3")
    return session, checks, policy, record, report


class Page(HTMLParser):
    """The tags of a page, with the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *(name for name, _ in attrs)))

    def handle_comment(self, data):
        self.tags.append(("comment", data))


@cache
def plain_tags() -> set[tuple[str, ...]]:
    """Return the tags of a page on which no name is hostile."""
    return set(Page(html.render(reported("text")[-1])).tags)


@cache
def plain_tags_of_all() -> set[tuple[str, ...]]:
    """Return the tags of a page of all models on which no name is hostile."""
    return set(Page(fleet_html.render(fleet(reported("text")[-1], ["text"]))).tags)


class Terminal:
    """What a terminal is asked to show."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.config = SimpleNamespace(get_terminal_writer=lambda: SimpleNamespace(fullwidth=80))

    def section(self, title):
        self.lines.append(title)

    def line(self, text=""):
        self.lines.append(text)


@pytest.mark.nightly
@settings(max_examples=examples(20), deadline=None)
@given(NAMES)
@example(EVERYTHING)
@example("##[group]\n::error::\x1b[31m")
def test_no_output_of_a_gate_says_what_a_name_wants_it_to(name):
    session, checks, policy, record, report = reported(name)
    all_models = fleet(report, [session.shown(made_up_root() / name)])
    as_json = (json_report.render, intoto.render, intoto.svr, sarif.render, sarif.gitlab, cyclonedx.render)
    for render in (*as_json, markdown.render, markdown.card, html.render, fleet_html.render):
        text = render(all_models if render is fleet_html.render else report)
        assert is_harmless(text), render.__module__
        text.encode("utf-8")
        if render in as_json:
            json.loads(text)
    assert set(Page(html.render(report)).tags) <= plain_tags()
    assert set(Page(fleet_html.render(all_models)).tags) <= plain_tags_of_all()
    for line in annotations.annotations(report):
        assert line.startswith(("::error", "::warning", "::notice"))
        assert "\n" not in line
        assert is_harmless(line[2:])
    terminal = Terminal()
    passed_over = (made_up_root() / name,)
    session.settings.manifest = Manifest(made_up_root(), {}, passed_over)
    Summary(session, report, all_models, name and None, wrap=None).show(terminal)
    for check in checks:
        FailureText(explained(check, policy.asked_by("perfect-rows")), name, 40).toterminal(terminal)
        standing = tolerated(check)
        terminal.lines += [] if standing is None else [standing.why]
        terminal.lines += [str(value) for _, value in properties(record, check)]
        terminal.lines += [] if check.waiver is None else [check.waiver.text]
    assert all(is_harmless(line) and "\n" not in line for line in terminal.lines)


@settings(max_examples=examples(40), deadline=None)
@given(NAMES)
@example(EVERYTHING)
def test_no_output_of_hardening_or_advice_says_what_a_name_wants_it_to(name):
    hardened = Hardened(
        "counts",
        (Change(name, 1, name),),
        (Difference(name, 1, False, None, 1.0),),
        name,
        (name,),
        (name,),
        name,
        (name,),
    )
    assert is_harmless(str(hardened))
    tree = DecisionTreeClassifier()
    table = Table(pd.DataFrame({"a": [0, 1]}), None, f"{name}.csv")
    owner = Owner(tree, "", table.frame, np.array([0, 1]), name, table, name, SimpleNamespace(), (name,))
    start = settings_of("DecisionTreeClassifier").start
    own = Tried(None, False, Score(0.5, 0.1), Judgement("failed", name, name, 1.0))
    pick = Tried(start, True, Score(0.5, 0.1), Judgement("passed", "", "", 1.0))
    open_ = Tried(start, True, Score(0.5, 0.1), Judgement("inconclusive", name, name, 1.0))
    for one in (pick, None):
        tried = (own, pick if one else open_)
        advice = Advice(
            owner, name, name, (name,), tried, one, None, name, 1.0, True, False, 60.0, (name,), saved=f"{name}.joblib"
        )
        assert is_harmless(str(advice))


@given(NAMES)
@example(EVERYTHING)
def test_no_error_says_what_a_name_wants_it_to(name):
    for kind in (errors.UsageError, errors.DataError, errors.CorruptArtifactError):
        assert is_harmless(str(kind(f"{name}: wrong: {errors.known_are(name, [name])}")))
    with pytest.raises(errors.UsageError) as caught:
        check_adversary(f"nobody{name}")
    assert is_harmless(str(caught.value))


@pytest.mark.parametrize("command", ["harden", "advise", "other"])
@pytest.mark.parametrize("name", [EVERYTHING, "##[group]", "\n::error::"])
def test_no_wrong_argument_says_what_it_wants_to(command, name, capsys):
    with pytest.raises(SystemExit):
        main([command, name, f"--{name}", "--seed", name, name])
    out, err = capsys.readouterr()
    assert is_harmless(out) and is_harmless(err)
