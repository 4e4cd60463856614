"""The advice as a page, as text, as Markdown and as JSON, from made-up figures."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.advice import wording
from pytest_draft.advice.advice import Advice
from pytest_draft.advice.document import document, schema
from pytest_draft.advice.facts import Judgement, Score, Secret, Setting, Tried
from pytest_draft.advice.table import markdown, text

OWN = Setting("as it is", None, 100, ())
LEAKY = Setting("min_samples_leaf", 3, 100, (("min_samples_leaf", 3),))
UNSURE = Setting("max_depth", 4, 30, (("max_depth", 4), ("n_estimators", 30)))
PICK = Setting("max_leaf_nodes", 8, 10, (("max_leaf_nodes", 8), ("n_estimators", 10)))
SCORED = Setting("single tree", 8, 1, (("max_leaf_nodes", 8),), "tree")
PRIVATE = Setting("private forest", 1.0, 10, (), "private")


def judged(verdict: str, ratio: float | None = 1.0, seed: int = 0) -> Judgement:
    return Judgement(verdict, ratio, "" if verdict == "passed" else "a-rule: a <reason>", 80, 3.0, 15.0, seed)


@pytest.fixture
def advice() -> Advice:
    """Advice with settings of all verdicts, a pick, and a private forest that was not judged."""
    passed = tuple(judged("passed", 1.4, seed) for seed in (1, 2, 3))
    return Advice(
        holds="Pipeline of RandomForestClassifier",
        source="models/my model.joblib",
        sha256="a" * 64,
        data="train.csv",
        data_sha256="b" * 64,
        target="income",
        n_rows=200,
        metric="roc_auc",
        policy="default",
        level="counts",
        seed=0,
        minutes=10.0,
        seconds=312.4,
        budget=60.0,
        settings=(
            Tried(OWN, 4_521, Score(0.71, 0.03, 10), judged("failed", 0.6)),
            Tried(LEAKY, 1_900, Score(0.74, 0.03, 10), judged("failed", 0.7)),
            Tried(UNSURE, 420, Score(0.73, 0.02, 10), judged("inconclusive", None)),
            Tried(PICK, 80, Score(0.72, 0.03, 10), judged("passed", 35.0), passed),
            Tried(SCORED, 8, Score(0.61, 0.05, 10)),
            Tried(PRIVATE, 320, None, judged("inconclusive", 3.0)),
        ),
        own=OWN,
        pick=PICK,
        candidate=None,
        finished=True,
        interrupted=False,
        tests={PICK: Score(0.70, 0.04, 50), OWN: Score(0.69, 0.04, 50), LEAKY: Score(0.7, 0.04, 50)},
        tested_on="50 rows",
        random_state=Secret((1, 2, 3, 4)),
        code="import joblib\n\nmodel = joblib.load('models/my model.joblib')\nmodel.fit(X, y)  # seed 987654321\n",
        public_code="import joblib\n",
        commands=("python -m pytest_draft harden 'a b' c", "pytest --draft-forest c"),
        longer=None,
        notes=("a note",),
    )


@pytest.fixture
def unsettled(advice) -> Advice:
    """Advice without a pick."""
    return replace(
        advice, pick=None, random_state=None, code=None, public_code=None, commands=(), finished=False, candidate=PICK
    )


class Page(HTMLParser):
    """Elements, their attributes, and all visible text."""

    VOID = frozenset({"meta"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self._open = "", []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.text += data

    def classes(self, kind: str) -> list[str]:
        return [str(attributes.get("class")) for tag, attributes in self.elements if tag == kind]


def test_the_page_needs_no_script_and_nothing_from_elsewhere(advice):
    page = Page(advice.html())
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "img", "iframe", "object", "form", "a"})
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name in ("src", "href") for name in attributes)
    (guard,) = [a["content"] for tag, a in page.elements if tag == "meta" and a.get("http-equiv")]
    assert guard.startswith("default-src 'none'")
    assert "prefers-color-scheme: dark" in advice.html()


def test_the_plot_has_a_point_for_each_setting_with_score_and_leak_the_bar_and_the_pick(advice):
    html = advice.html()
    page = Page(html)
    assert page.classes("circle") == ["passed", "pick"]
    assert page.classes("path") == ["failed", "failed"]
    assert page.classes("line").count("bar") == 1
    titles = re.findall(r"<g>\n<title>(.*?)</title>", html)
    assert [title.split(":")[0] for title in titles] == [OWN.name, LEAKY.name, PICK.name]
    assert "advised; error over limit 35.00" in titles[2]
    assert "Not drawn: 2 of the table" in page.text  # without a ratio, without a score
    bar = next(a for tag, a in page.elements if a.get("class") == "bar")
    places = [float(a["cx"]) for tag, a in page.elements if tag == "circle"]
    assert all(place > float(bar["x1"]) for place in places)
    described = [a for tag, a in page.elements if tag == "svg"]
    assert described[0]["aria-labelledby"] == "plot-t plot-d"
    assert all(0 <= float(a["cx"]) <= 340 for tag, a in page.elements if tag == "circle")


def test_ids_on_the_page_are_unique(advice):
    ids = [attributes["id"] for _, attributes in Page(advice.html()).elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_an_advice_without_a_pick_says_so_in_every_format(unsettled):
    said = f"Not finished: {PICK.name} passed 4 of the 4 judgements that it needs, each with another seed."
    assert said in " ".join(text(unsettled).split())
    assert said in Page(unsettled.html()).text
    assert said in markdown(unsettled).replace("\\", "")
    assert document(unsettled)["status"] == "not finished"
    assert document(unsettled)["candidate"] == PICK.name
    empty = replace(unsettled, settings=(), tests={}, candidate=None, finished=True)
    assert "No setting passed." in text(empty)
    assert "<svg" not in empty.html()
    assert markdown(empty)
    for one in (unsettled, empty):
        Draft202012Validator(schema()).validate(document(one))


def test_the_document_is_as_its_schema_says_and_numbers_survive(advice):
    found = json.loads(json.dumps(document(advice), allow_nan=False))
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(found)
    assert (found["status"], found["pick"], found["best"]) == ("confirmed", PICK.name, LEAKY.name)
    (pick,) = [one for one in found["settings"] if one["name"] == PICK.name]
    assert pick["test_score"]["mean"] == 0.7
    assert len(pick["fresh"]) == 3
    assert found["judgements"] == 5 + 3
    assert found["settings_scored"] == 5


def test_the_table_shows_what_was_judged_and_marks_the_pick(advice):
    lines = text(advice).splitlines()
    rows = {one.setting.name: next(line for line in lines if one.setting.name in line) for one in advice.settings[:4]}
    assert [name for name, line in rows.items() if line.startswith(">")] == [PICK.name]
    assert "passed 4 times" in rows[PICK.name]
    assert "35.00" in rows[PICK.name]
    assert not any(SCORED.name in line for line in lines)
    said = " ".join(text(advice).split())
    assert "5 settings scored and 8 files judged in 5.2 min (finished)" in said
    assert (
        "It gains 1.0 points of roc_auc (now -> advised): 0.710 ± 0.030 -> 0.720 ± 0.030, which may be chance." in said
    )
    assert "On 50 rows: 0.690 ± 0.040 -> 0.700 ± 0.040." in said
    assert "The best score of all: min_samples_leaf=3, 100 trees, 0.740 ± 0.030 (failed)." in said


def test_the_seed_is_in_the_code_for_the_owner_alone(advice):
    assert "987654321" in text(advice)
    assert "987654321" not in markdown(advice)
    assert wording.ANOTHER_MODEL in markdown(advice)


def test_names_from_files_are_text_in_every_format(advice):
    hostile = "<script>alert(1)</script> | a\x1b[31m\n::error::x"
    odd = replace(advice, source=hostile, target=hostile, notes=(hostile,), metric="<b>|")
    page = odd.html()
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "<script>" not in markdown(odd)
    assert "::error::" not in text(odd).replace(str(odd.code), "")
    assert "\x1b" not in text(odd)


@pytest.mark.parametrize(
    ("own", "advised", "metric", "said"),
    [
        (0.846, 0.834, "accuracy", "It costs 1.2 points of accuracy (now -> advised): 0.846 ± 0.005 -> 0.834 ± 0.005"),
        (0.8341, 0.834, "accuracy", "It costs nothing in accuracy (now -> advised): 0.834 ± 0.005 -> 0.834 ± 0.005"),
        (
            0.834,
            0.837,
            "r2",
            "It gains 0.3 points of r2 (now -> advised): 0.834 ± 0.005 -> 0.837 ± 0.005, which may be chance",
        ),
        (
            -12.5,
            -14.0,
            "neg_log_loss",
            "It costs 1.5 of neg_log_loss (now -> advised): -12.500 ± 0.005 -> -14.000 ± 0.005",
        ),
    ],
)
def test_what_a_setting_costs_is_a_difference(own, advised, metric, said):
    assert wording.difference(Score(own, 0.005, 10), Score(advised, 0.005, 10), metric) == said


LONGER = "python -m pytest_draft advise 'my model.joblib' --data train.csv --target income --budget 240 --minutes 60"


@pytest.mark.parametrize(
    ("command", "lines"),
    [(LONGER, 2), ("pytest --draft-forest c", 1), (f"pytest {'long-word-' * 12} --draft-data b", 3)],
)
def test_a_command_is_wrapped_so_that_it_can_be_pasted(command, lines):
    shown = wording.wrapped(command)
    assert len(shown) == lines
    assert shlex.split("\n".join(shown).replace("\\\n", "")) == shlex.split(command)
    assert all(len(line) < 80 or " " not in line.strip(" \\") for line in shown)


@pytest.mark.parametrize("verdict", ["inconclusive", "failed"])
def test_where_nothing_passed_each_format_says_why_and_what_to_do(unsettled, verdict):
    known = tuple(Tried(OWN, 80 + n, Score(0.7, 0.1, 5), judged(verdict, 0.6)) for n in range(1))
    none = replace(
        unsettled, settings=known, candidate=None, finished=True, longer=LONGER if verdict != "failed" else None
    )
    for shown in (
        text(none),
        Page(none.html()).text,
        markdown(none).replace("\\", "").replace("&lt;", "<").replace("&gt;", ">"),
    ):
        said = " ".join(shown.split())
        assert f"as it is, 100 trees: {verdict}. a-rule: a <reason>" in said
        assert ("More time does not help." in said) == (verdict == "failed")
        assert ("--budget 240" in said) == (verdict == "inconclusive")
    assert document(none)["longer"] == none.longer


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ((), "not judged"),
        (("passed",), "passed"),
        (("passed",) * 4, "passed 4 times"),
        (("passed", "passed", "inconclusive"), "2 passed, 1 inconclusive"),
    ],
)
def test_verdicts_in_words(verdicts, said):
    assert wording.verdict(*(judged(one) for one in verdicts)) == said
