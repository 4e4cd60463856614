"""The page."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from importlib import resources

import pytest

from builders import INFORMED
from pytest_draft.report import html, sentences, tables
from pytest_draft.report.charts import WIDTH, charts

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """The elements of a page, and its visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page(report, with_plots, waived):
    """Return the page of a report with all plots and a waiver."""
    for result in report["results"]:
        if result["metrics"]["reconstruction_error"] is not None:
            with_plots(result)
    waived(report["results"][0]["checks"][0])
    return Page(html.render(report))


def test_the_page_needs_no_script_and_nothing_from_elsewhere(page):
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "img", "iframe", "object", "form"})
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    (policy,) = [meta["content"] for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def test_style_asks_for_nothing_from_elsewhere():
    style = resources.files("pytest_draft.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        wanted = [attributes["href"][1:]] if "href" in attributes else (attributes.get("aria-labelledby") or "").split()
        assert set(wanted) <= set(ids)


def test_each_plot_tells_in_words_what_it_shows(page):
    drawings = page.of("svg")
    assert len(drawings) == 5 * 3
    assert len(page.of("desc")) == len(drawings)
    assert all(drawing["role"] == "img" and drawing["aria-labelledby"] for drawing in drawings)


def test_the_check_that_decided_speaks(only):
    report = only("leaking")
    (result,) = report["results"]
    by_rule = {check["rule"]: check for check in result["checks"]}
    assert sentences.decision(result).startswith("40 of 40 rows come back;")
    for perfect in (None, 0):  # not shown, or of a part alone: no figure that looks harmless leads a failure
        result["metrics"]["perfect_rows"], kept = perfect, result["metrics"]["perfect_rows"]
        assert sentences.decision(result) == f"{sentences.begun(by_rule['perfect-rows']['sentence'])}."
        result["metrics"]["perfect_rows"] = kept
    by_rule["perfect-rows"]["result"] = "inconclusive"
    assert sentences.decision(result) == f"{sentences.begun(by_rule['reconstruction-error']['sentence'])}."
    assert sentences.why(result) == [
        "The file stores the class counts of every node of 20 trees, each grown on all rows."
    ]
    informed = asdict(replace(INFORMED, told_rows=0.4, near_rows_without_file=0.02))
    by_rule["reconstruction-error"]["rule"] = "given-all-other-rows"
    result.update(given_all_other_rows=informed)
    said = "omebody who knows all other rows reads 40 % of the rows out of the file with certainty; without it, 2 % "
    assert sentences.decision(result) == f"S{said}are guessed."
    informed.update(told_rows=0.0, exact_numeric=0.5, exact_numeric_without_file=0.25)
    assert "reads 50 % of the numbers out of the file to the digit; without it, 25 % are" in sentences.decision(result)
    informed.update(exact_numeric=None)
    assert "rebuilds the one that is missing with an error of " in sentences.decision(result)


def test_reasons_of_the_whole_result_are_not_told_again_by_each_check(only):
    report = only("leaking")
    (result,) = report["results"]
    why = "the rule perfect-rows has failed"
    ended = f"the attack was stopped early, because {why}: more of it would not change the verdict"
    result["reasons"] = [ended]
    result["checks"][0].update(result="inconclusive", sentence=f"a better attack might get closer; {ended}")
    result["checks"][2].update(result="inconclusive", sentence=ended)
    text = Page(html.render(report)).text
    assert text.count("the attack was stopped early") == 1
    assert "a better attack might get closer" in text


def test_columns_are_told_by_how_much_more_comes_back_than_strangers_have(only):
    report = only("leaking")
    figures = [("low", 0.5, 0.5), ("<b>&x", 0.996, 0.25), ("half", 0.75, None), ("certain", 1.0, 1.0)]
    report["results"][0]["column_figures"] = [
        {"name": name, "error": 0.125, "right": right, "split_half": others} for name, right, others in figures
    ]
    cells = tables.columns(report["results"][0]).rows
    assert [one[0] for one in cells] == ["<b>&x", "half", "low", "certain"]
    assert cells[0] == ("<b>&x", "more than 99 %", "25 %", "0.1250")
    assert cells[1][2] == "not known"
    assert "&lt;b&gt;&amp;x" in html.render(report)
    assert sentences.best_columns(report["results"][0]) == (
        "Most comes back of: <b>&x (more than 99 % right, 25 % in other rows); "
        "half (75 % right, not known in other rows)."
    )


def test_many_columns_are_told_the_first_forty_of_them(only):
    report = only("leaking")
    one = {"error": 0.1, "right": 0.5, "split_half": 0.25}
    report["results"][0]["column_figures"] = [{"name": f"column {i}", **one} for i in range(45)]
    text = Page(html.render(report)).text
    assert "column 39" in text
    assert "column 40" not in text
    assert "5 more columns, of which less comes back, are in the JSON report." in text


def test_remedies_are_in_the_order_of_their_effect(only):
    report = only("leaking")
    (result,) = report["results"]
    check = result["checks"][0]
    said = [("warning", "a"), ("error", "b"), ("error", "c"), ("error", "c"), ("warning", "a"), ("warning", "a")]
    result["checks"] = [
        {**check, "result": "failed", "severity": severity, "remedy": remedy} for severity, remedy in said
    ]
    assert [(step.remedy, step.blocks) for step in sentences.steps(report)] == [("C", True), ("B", True), ("A", False)]


def test_a_threshold_can_be_a_list_of_texts(only):
    report = only("quiet")
    report["results"][0]["checks"][0]["rule"] = "allowed-models"
    report["results"][0]["policy"]["rules"]["allowed-models"] = {"kinds": ["OneClassifier", "AnotherClassifier"]}
    assert "kinds = OneClassifier, AnotherClassifier" in Page(html.render(report)).text


def test_a_rule_that_is_not_known_here_is_shown_without_a_reason(only):
    report = only("quiet")
    report["results"][0]["checks"][0]["rule"] = "somebodys-own"
    assert "somebodys-own" in html.render(report)


def names(result: dict) -> list[str]:
    return [chart.name for chart in charts(result)]


def test_a_plot_whose_figures_are_missing_is_left_out(only, with_plots):
    result = only("leaking")["results"][0]
    assert names(result) == ["errors", "perfect-rows", "row-errors", "entropy", "leaf-sizes"]
    assert names(with_plots(result)) == ["errors", "perfect-rows", "row-errors", "entropy", "leaf-sizes"]
    result.update(row_errors=None, leaf_sizes=None)
    del result["entropy"]
    assert names(result) == ["errors", "perfect-rows"]
    assert names(only("broken")["results"][0]) == []


def test_everything_is_drawn_inside_its_plot(only, with_plots):
    for name in ("leaking", "quiet", "numbers"):
        for chart in charts(with_plots(only(name)["results"][0])):
            for mark in chart.marks:
                across = [float(mark.attributes[key]) for key in ("x", "x1", "x2", "cx") if key in mark.attributes]
                down = [float(mark.attributes[key]) for key in ("y", "y1", "y2", "cy") if key in mark.attributes]
                assert all(0 <= x <= WIDTH for x in across)
                assert all(0 <= y <= chart.height for y in down)


@pytest.mark.parametrize(("most", "told"), [(3, "3"), (98_000, "98,000"), (120_000, "0.1M"), (1_234_567_890, "1,235M")])
def test_numbers_of_leaves_have_room_beside_their_axis(only, with_plots, most, told):
    result = with_plots(only("leaking")["results"][0])
    result["leaf_sizes"]["leaves"] = [most, *[0] * (len(result["leaf_sizes"]["leaves"]) - 1)]
    (chart,) = [chart for chart in charts(result) if chart.name == "leaf-sizes"]
    (tick,) = [mark for mark in chart.marks if mark.text == told]
    assert float(tick.attributes["x"]) >= 7 * len(told)


def test_a_value_that_is_too_long_for_its_line_stands_below_its_label(only):
    result = only("leaking")["results"][0]
    places = {}
    for most in (40, 123_456_789):
        result["metrics"]["n_rows"] = most
        result["baselines"]["perfect_rows_bounds"] = [most // 3, most - 1]
        (chart,) = [chart for chart in charts(result) if chart.name == "perfect-rows"]
        label, value = [mark for mark in chart.marks if mark.attributes.get("class") == "strong"]
        places[most] = float(value.attributes["y"]) - float(label.attributes["y"])
    assert places[40] == 0
    assert places[123_456_789] >= 15


def test_the_attack_lies_left_of_the_bar_where_its_error_fails(only):
    for name, fails in (("leaking", True), ("quiet", False)):
        chart = charts(only(name)["results"][0])[0]
        attack = next(mark for mark in chart.marks if mark.tag == "circle" and mark.attributes["class"] == "attack")
        bar = next(mark for mark in chart.marks if mark.attributes.get("class") == "bar")
        assert (float(attack.attributes["cx"]) <= float(bar.attributes["x1"])) == fails


def test_the_bars_are_those_that_the_checks_were_held_against(only):
    result = only("quiet")["results"][0]
    told = {chart.name: chart.description for chart in charts(result)}
    sentences = {check["rule"]: check["sentence"] for check in result["checks"]}
    error = re.search(r"limit: (\d\.\d{4})", sentences["reconstruction-error"])[1]
    rows = re.search(r"limit: ([\d.]+)", sentences["perfect-rows"])[1]
    assert f"the check fails at {error} or less" in told["errors"]
    assert f"the check fails above {rows}" in told["perfect-rows"]


def test_a_share_curve_rises_from_none_to_all_rows(only):
    result = only("leaking")["results"][0]
    (chart,) = [chart for chart in charts(result) if chart.name == "entropy"]
    (path,) = [mark.attributes["d"] for mark in chart.marks if mark.tag == "path"]
    xs = [float(x) for x in re.findall(r"H([\d.]+)", path)]
    ys = [float(y) for y in re.findall(r"V([\d.]+)", path)]
    assert xs == sorted(xs)
    assert ys == sorted(ys, reverse=True)
    assert len(ys) == 101


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_is_readable_in_both_themes():
    style = resources.files("pytest_draft.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    themes = [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)]
    assert [sorted(theme) for theme in themes] == [sorted(themes[0])] * 2
    for theme in themes:
        for name in ("text", "muted", "link", "failed", "attack", "other"):
            assert contrast(theme[name], theme["card"]) >= 4.5
            assert contrast(theme[name], theme["page"]) >= 4.5
        for name in ("failed", "inconclusive", "warning", "waived", "passed"):
            assert contrast(theme[name], theme[f"{name}-tint"]) >= 4.5
