"""How close anybody could get, on made-up facts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from made_up_facts import filled
from pytest_draft.facts.ambiguity import Ambiguity, Determined, Ideal
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.plugin import summary
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import judge
from pytest_draft.report import ambiguity, html, markdown
from pytest_draft.report.charts import charts
from pytest_draft.report.document import document, merged
from pytest_draft.report.result import result_of

POLICY = Policy("ours", "policy.toml", {"reconstruction-error": {"max_error": 0.029}})

AMBIGUITY = Ambiguity(
    priors=("uniform", "population"),
    samples=40,
    unchanged_rows=0.25,
    bits=63.4,
    distance=0.125,
    shared_unique_rows=9,
    mixed=False,
    determined=(
        Determined(1, False, 100, 100, 0, 0.96, 1.0),
        Determined(8, True, 80, 12, 60, 0.08, 0.33),
    ),
)


IDEAL = Ideal(0.021, 12.5)


def reported(found: Ambiguity | None = AMBIGUITY, ideal: Ideal | None = IDEAL, error: float = 0.034):
    """Return the plain report of one result."""
    findings = filled(
        Findings,
        n_rows=100,
        perfect_rows=10,
        most_perfect_rows=None,
        error=Distance(error, error, 0.5),
        split_half=Baseline(0.06, 5.0, 20, 50),
        ambiguity=found,
        ideal=ideal,
    )
    examination = filled(Examination, findings=findings, reasons=(), shortfalls=())
    result = result_of(examination, judge(examination, POLICY), POLICY)
    for check in result["checks"]:
        check["item"] = "m.joblib::reconstruction-error[artifact]"
    return json.loads(json.dumps(document(merged([result]), [], "1.2.3")))


def result(**given):
    return reported(**given)["results"][0]


def test_both_figures_and_the_bar_are_told():
    assert ambiguity.between(result()) == (
        "the least error that anybody can get lies between 0.0210 (nobody gets closer) and 0.0340 (this attack); "
        "the check fails at 0.0290 or less"
    )


def test_an_attack_that_does_better_than_anybody_could_says_that_nothing_rests_on_the_bound():
    said = ambiguity.between(result(error=0.01))
    assert said.startswith("this attack's error of 0.0100 is below 0.0210, which nobody was to go below: ")


def test_all_that_was_found_is_told_in_sentences():
    told = ambiguity.sentences(result())
    assert "Nobody can expect to meet more than 12.5 of 100 rows perfectly." in told
    assert "At least 2^63 datasets explain the file equally well, the true one among them." in told
    assert any(one.startswith("Rows by themselves: 100 of 100 rows are determined, which is proved") for one in told)
    assert any(one.startswith("Blocks of 8 rows that are like each other: 12 of 80 rows") for one in told)
    assert any("(95 % interval of the share: 8% to 33%.)" in one for one in told)
    assert any("taking for likely all of them alike and those that are like this population" in one for one in told)
    assert told[-1].startswith("These datasets were still moving away")


@pytest.mark.parametrize(("bits", "told"), [(0.5, "At least 2 datasets"), (3.0, "At least 8 datasets"), (25.9, "2^25")])
def test_the_number_of_datasets_is_never_more_than_was_proved(bits, told):
    assert any(told in one for one in ambiguity.short(result(found=replace(AMBIGUITY, bits=bits))))


def test_a_file_that_holds_the_rows_says_that_no_other_dataset_was_found():
    found = replace(AMBIGUITY, bits=0.0, unchanged_rows=1.0, mixed=True)
    told = ambiguity.sentences(result(found=found))
    assert any(one.startswith("No other dataset that explains the file was found") for one in told)
    assert not any(one.startswith("At least") or "moving away" in one for one in told)


def test_numbers_that_come_back_exactly_are_bounded_too():
    told = ambiguity.short(result(ideal=Ideal(0.021, 12.5, 0.3)))
    assert (
        "Nobody can expect to meet more than 12.5 of 100 rows perfectly, or to have more than 30% of numbers exactly."
        in told
    )


def test_parts_are_told_in_a_table_the_whole_first():
    cells = ambiguity.parts(result())
    assert cells[0] == ("everything", "100", "0.0210", "12.5", "-")
    assert len(cells) > 2
    assert all(len(one) == len(ambiguity.HEADINGS) for one in cells)


def test_the_page_has_a_section_and_both_plots_show_the_bound():
    page = html.render(reported())
    assert f"<h3>{ambiguity.TITLE}</h3>" in page
    assert "The same on parts of the data" in page
    drawn = {chart.name: chart.description for chart in charts(result())}
    assert "nobody gets closer: 0.0210" in drawn["errors"]
    assert "nobody meets more: 12.5" in drawn["perfect-rows"]


def test_markdown_and_the_terminal_tell_it_in_short():
    text = markdown.render(reported())
    assert "The least error that anybody can get lies between 0.0210 (nobody gets closer) and 0.0340" in text
    assert "At least 2\\^63 datasets" in text
    (line,) = summary._of_anybody(result())
    assert line.startswith("anybody: The least error")


@pytest.mark.parametrize("found", [None, AMBIGUITY], ids=["nothing", "no bounds"])
def test_what_was_not_found_out_is_not_told(found):
    report = reported(found=found, ideal=None)
    if found is None:
        assert ambiguity.sentences(report["results"][0]) == []
        assert ambiguity.TITLE not in html.render(report)
    assert ambiguity.between(report["results"][0]) is None
    assert "nobody gets closer" not in html.render(report)


def test_reports_of_earlier_versions_have_none_and_are_rendered():
    report = reported()
    del report["results"][0]["ambiguity"]
    del report["results"][0]["column_figures"]
    assert ambiguity.TITLE not in html.render(report)
    assert "nobody" not in markdown.render(report)
