"""The page."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from importlib import resources

import pytest

from builders import INFORMED
from pytest_draft.policy.rules import RULES
from pytest_draft.report import ambiguity, html, measured, wording
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


def test_the_page_begins_with_the_verdict_and_what_a_person_decides_by_and_ends_with_details(only):
    text = html.render(only("leaking"))
    order = ("<h1", 'class="lead"', "Why:", "What to do", "<svg", "Words that this", "<h3>Checks", "<h4><span")
    order += ("Which columns come back", "<h3>Plots", "Provenance", "All figures")
    places = [text.index(one) for one in order]
    assert places == sorted(places)
    assert "Do not release" in text[places[0] : places[1]]
    begin = text[places[1] : places[5]]
    assert "40 of 40 rows come back; other rows like these would match " in begin
    assert begin.count("<svg") == 2
    assert begin.index("Rows that come back, all values right") < begin.index("Error of the rebuilt rows")
    assert text.count("40 of 40 rows come back") == 1  # each sentence once
    assert text.count("Rows that come back, all values right</h3>") == 1
    assert text.count("The file stores the class counts of every node") == 1
    assert "At a glance" not in text  # of one model


def test_of_several_models_the_gravest_is_told_first_and_each_has_its_sentence(report):
    report["results"].reverse()
    text = html.render(report)
    begin = text[text.index('class="lead"') : text.index("<main>")]
    assert "models/leaking.joblib, adversary artifact: 40 of 40 rows come back" in begin
    assert text.count("rows come back;") == 1
    assert text.count("No attacker considered gets closer to the rows than ") == 1  # of the one that passed
    assert text.count("No answer for 3 of 3 checks.") == 1
    assert "At a glance" in text


def test_a_file_that_was_not_measured_says_so_first(only):
    text = html.render(only("broken"))
    begin = text[text.index("<h1") : text.index("<main>")]
    assert "No answer for 3 of 3 checks." in begin
    assert "Why:</strong> broken.joblib: corrupt: " in begin
    assert text.count("broken.joblib: corrupt: ") == 2  # why, and what to do; not in each of its checks
    assert "No answer is no pass: do not release models/broken.joblib as it is. It is open because " in text
    assert "<svg" not in text
    assert "Words that this page uses" not in text
    assert "Who was considered" not in text


def test_a_policy_without_an_attack_is_not_said_to_leave_something_unknown(only):
    report = only("broken")
    (result,) = report["results"]
    result.update(solver_status="not asked", verdict="passed", checks=[])
    assert measured.decision(result) == "The policy asks for no attack, so none was run."


def test_the_check_that_decided_speaks(only):
    report = only("leaking")
    (result,) = report["results"]
    by_rule = {check["rule"]: check for check in result["checks"]}
    assert measured.decision(result).startswith("40 of 40 rows come back;")
    for perfect in (None, 0):  # not shown, or of a part alone: no figure that looks harmless leads a failure
        result["metrics"]["perfect_rows"], kept = perfect, result["metrics"]["perfect_rows"]
        assert measured.decision(result) == f"{wording.begun(by_rule['perfect-rows']['sentence'])}."
        result["metrics"]["perfect_rows"] = kept
    by_rule["perfect-rows"]["result"] = "inconclusive"
    assert measured.decision(result) == f"{wording.begun(by_rule['reconstruction-error']['sentence'])}."
    assert measured.why(result) == [
        "The file stores the class counts of every node of 20 trees, each grown on all rows."
    ]
    informed = asdict(replace(INFORMED, told_rows=0.4, near_rows_without_file=0.02))
    by_rule["reconstruction-error"]["rule"] = "given-all-other-rows"
    result.update(given_all_other_rows=informed)
    said = "omebody who knows all other rows reads 40 % of the rows out of the file with certainty; without it, 2 % "
    assert measured.decision(result) == f"S{said}are guessed."
    informed.update(told_rows=0.0, exact_numeric=0.5, exact_numeric_without_file=0.25)
    assert "reads 50 % of the numbers out of the file to the digit; without it, 25 % are" in measured.decision(result)
    informed.update(exact_numeric=None)
    assert "rebuilds the one that is missing with an error of " in measured.decision(result)


def test_the_page_says_which_rule_decided_who_was_considered_and_what_they_know(only):
    report = only("leaking")
    (result,) = report["results"]
    result["decided_by"] = {
        "rule": "given-all-other-rows",
        "attacker": "somebody who knows all other rows",
        "seconds": 1,
    }
    result["given_all_other_rows"] = asdict(INFORMED)
    text = Page(html.render(report)).text
    assert "Decided by given-all-other-rows (somebody who knows all other rows) after 1.0 s." in text
    assert "Who was considered" in text
    who = [one[:2] for one in ambiguity.attackers(result)]
    assert who[:2] == [("This attack", "nothing"), ("Somebody who knows all other rows", "all rows but one")]
    result.update(verdict="passed", decided_by={"rule": "every rule", "attacker": None, "seconds": 2})
    assert measured.decided(result) == "every rule had passed after 2.0 s"


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


def test_a_passed_page_says_what_to_do_and_no_warning_is_called_most_effective(only):
    report = only("quiet")
    text = Page(html.render(report)).text
    assert "You can release models/quiet.joblib if the policy " in text
    assert "What else is advised" not in text
    report["results"][0]["checks"][0].update(result="failed", severity="warning", remedy="set it to None")
    text = Page(html.render(report)).text
    assert text.index("You can release") < text.index("What else is advised") < text.index("Set it to None.")
    assert "most effective" not in text


def test_commands_stand_in_blocks_by_themselves(only):
    report = only("leaking")
    line, does = "python -m pytest_draft advise 'a b.joblib' --data <x>.csv", "to find settings that pass"
    for check in report["results"][0]["checks"][:2]:
        check.update(remedy=f"retrain; {does}: {line}", commands=[{"line": line, "does": does}])
    (step,) = [step for step in wording.steps(report) if step.commands]
    assert (step.remedy, step.commands, step.blocks) == ("Retrain", ((line, does),), True)
    page = html.render(report)
    assert page.count("<code>python -m pytest_draft advise &#39;a b.joblib&#39; --data &lt;x&gt;.csv</code>") == 1
    assert "To find settings that pass:" in page


def test_an_inconclusive_figure_is_never_told_as_the_last_word(only):
    report = only("quiet")
    (result,) = report["results"]
    result["verdict"], result["reasons"] = "inconclusive", ["the time was out"]
    assert measured.decision(result) == "No answer for 0 of 3 checks."
    assert measured.why(result) == ["the time was out."]


def test_the_words_of_the_glossary_are_words_that_the_page_uses(only):
    text = Page(html.render(only("leaking"))).text.lower()
    for word, _ in wording.GLOSSARY:
        assert text.count(word) > 1, word


def test_columns_are_told_by_how_much_more_comes_back_than_strangers_have(only):
    report = only("leaking")
    figures = [("low", 0.5, 0.5), ("<b>&x", 0.996, 0.25), ("half", 0.75, None), ("certain", 1.0, 1.0)]
    report["results"][0]["column_figures"] = [
        {"name": name, "error": 0.125, "right": right, "split_half": others} for name, right, others in figures
    ]
    cells = measured.columns(report["results"][0])
    assert [one[0] for one in cells] == ["<b>&x", "half", "low", "certain"]
    assert cells[0] == ("<b>&x", "more than 99 %", "25 %", "0.1250")
    assert cells[1][2] == "not known"
    assert "&lt;b&gt;&amp;x" in html.render(report)
    assert measured.best_columns(report["results"][0]) == (
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
    assert [(step.remedy, step.blocks) for step in wording.steps(report)] == [("C", True), ("B", True), ("A", False)]


def test_a_file_that_failed_is_not_told_how_its_open_checks_could_be_decided(only):
    report = only("leaking")
    (result,) = report["results"]
    result["checks"][0].update(result="inconclusive", remedy="more time")
    assert "More time" not in [step.remedy for step in wording.steps(report)]
    result["verdict"] = "inconclusive"
    assert "More time" in [step.remedy for step in wording.steps(report)]


def test_passed_checks_are_shown_with_the_reason_of_their_rule_and_its_thresholds(only):
    text = Page(html.render(only("quiet"))).text
    assert text.count("passed") >= 4
    for rule in ("reconstruction-error", "perfect-rows", "entropy-reduction"):
        assert RULES[rule].rationale in text
    assert "max_error_of_split_half = 0.5" in text


def test_a_threshold_can_be_a_list_of_texts(only):
    report = only("quiet")
    report["results"][0]["checks"][0]["rule"] = "allowed-models"
    report["results"][0]["policy"]["rules"]["allowed-models"] = {"kinds": ["OneClassifier", "AnotherClassifier"]}
    assert "kinds = OneClassifier, AnotherClassifier" in Page(html.render(report)).text


def test_a_warning_says_that_it_stops_nothing(only):
    report = only("leaking")
    assert "A warning only" not in html.render(report)
    report["results"][0]["checks"][0]["severity"] = "warning"
    assert html.render(report).count("A warning only") == 1


def test_a_rule_that_is_not_known_here_is_shown_without_a_reason(only):
    report = only("quiet")
    report["results"][0]["checks"][0]["rule"] = "somebodys-own"
    assert "somebodys-own" in html.render(report)


def test_hashes_versions_seeds_and_policy_are_told(only):
    report = only("leaking")
    result, text = report["results"][0], Page(html.render({**report, "canonical_sha256": "f" * 64})).text
    told = [result["artifact"]["sha256"], result["data"]["sha256"], result["versions"]["scikit-learn"], "draft_seed"]
    assert all(one in text for one in [*told, result["policy"]["source"], "f" * 64, "1.2.3"])


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
