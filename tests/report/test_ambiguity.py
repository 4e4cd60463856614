"""How close anybody could get, on made-up facts."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from jsonschema import Draft202012Validator

from made_up_facts import filled
from pytest_draft.facts.ambiguity import Ambiguity, Ideal
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Distance
from pytest_draft.facts.findings import Findings, Measure
from pytest_draft.facts.informed import Informed, InformedColumn, InformedSlice
from pytest_draft.plugin.summary import _sentences
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import judge
from pytest_draft.report import ambiguity, html, markdown, measured
from pytest_draft.report.charts import charts
from pytest_draft.report.document import document, merged
from pytest_draft.report.result import result_of
from pytest_draft.report.schema import schema

POLICY = Policy("ours", "policy.toml", {"reconstruction-error": {"max_error": 0.029}})

AMBIGUITY = Ambiguity(
    priors=("uniform", "population"),
    samples=40,
    unchanged_rows=0.25,
    bits=63.4,
    distance=0.125,
    shared_unique_rows=9,
    mixed=False,
)


IDEAL = Ideal(0.021, 12.5, 100)


INFORMED = Informed(
    rows=1_000,
    of_rows=7_205,
    error=0.0312,
    error_without_file=0.1243,
    half_rows=300,
    matched_error=0.029,
    matched_error_without_file=0.08,
    split_half_error=0.1,
    shrinks=0.9,
    told_values=0.34,
    told_rows=0.002,
    near_values=0.8,
    near_rows=0.12,
    near_values_without_file=0.6,
    near_rows_without_file=0.02,
    proved=True,
    bits=90.0,
    row_errors=tuple(k / 1000 for k in range(101)),
    columns=(InformedColumn("age|x", 0.1, 0.5, 0.4), InformedColumn("sex", 0.0, 0.9, 0.5)),
    slices=(InformedSlice("women", 40, 0.05, 0.2, 0.4, 0.1, 0.2, 0.05),),
)


def reported(
    found: Ambiguity | None = AMBIGUITY,
    ideal: Ideal | None = IDEAL,
    error: float = 0.034,
    informed: Informed | None = INFORMED,
):
    """Return the plain report of one result."""
    whole = filled(
        Measure,
        on="",
        scale="range",
        rows=100,
        perfect=Bounds(10, 10),
        error=Distance(error, error, 0.5),
        split_half=Baseline(0.06, 5.0, 20, 50),
        ideal=ideal,
        informed=informed,
    )
    findings = filled(Findings, measures=(whole, filled(Measure), filled(Measure)), ambiguity=found)
    examination = filled(Examination, findings=findings, informed=informed, reasons=(), shortfalls=())
    result = result_of(examination, judge(examination, POLICY), POLICY)
    for check in result["checks"]:
        check["item"] = "m.joblib::reconstruction-error[artifact]"
    return json.loads(json.dumps(document(merged([result]), [], "1.2.3")))


def result(**given):
    return reported(**given)["results"][0]


def test_both_figures_and_the_bar_are_told():
    assert ambiguity.between(result()) == (
        "no attacker considered gets closer than 0.0210; this attack came to 0.0340; limit: 0.0290"
    )


@pytest.mark.parametrize(("least", "says"), [(0.0, False), (0.00004, False), (0.00006, True)])
def test_a_limit_that_is_no_limit_is_neither_told_nor_drawn(least, says):
    nothing = result(
        ideal=Ideal(least, 100.0, 100, error_without_file=0.5, perfect_rows_without_file=0.0), informed=None
    )
    assert any(one.startswith("No attacker considered gets closer") for one in ambiguity.short(nothing)) is says
    errors, rows = charts(nothing)[:2]
    assert ("no closer, all considered" in errors.description) is says
    assert "no more, all considered" not in rows.description


def test_the_limit_that_is_told_and_drawn_is_the_one_that_the_file_is_judged_by():
    one = result(informed=replace(INFORMED, matched_error=0.07))
    (check,) = one["checks"]
    assert check["result"] == "passed"
    assert check["sentence"].split("; close")[0].endswith("; no attacker considered gets closer than 0.0306")
    assert one["limit"]["least_error"] == pytest.approx(0.0306, abs=5e-5)
    assert "no closer, all considered: 0.0306" in charts(one)[0].description


def test_a_limit_within_the_threshold_passes_only_where_the_file_brings_little_which_is_said():
    near = Ideal(0.021, 12.5, 100, error_without_file=0.022, perfect_rows_without_file=12.0)
    passes = result(ideal=near, informed=None)
    assert passes["checks"][0]["result"] == "passed"
    told = ambiguity.between(passes)
    assert told.startswith("no attacker considered gets closer than 0.0210; ")
    assert told.endswith(". It passes, because whoever gets that close gets nearly as close without the file")
    open_ = result(informed=None)
    assert open_["checks"][0]["sentence"].endswith(
        "; the best possible attack may get as close as 0.0210, so no answer"
    )
    assert "nearly" not in ambiguity.between(open_)


@pytest.mark.parametrize(("verdict", "told"), [("inconclusive", ["remedy: more time"]), ("failed", [])])
def test_a_file_that_failed_is_not_told_how_its_open_checks_could_be_decided(verdict, told):
    open_ = result(informed=None)
    assert open_["checks"][0]["result"] == "inconclusive"
    open_["checks"][0]["remedy"] = "more time"
    sentences = _sentences(open_ | {"verdict": verdict}, (), mixed=False)
    assert [one for one in sentences if one.startswith("remedy")] == told


def test_an_attack_that_does_better_than_anybody_could_says_that_nothing_rests_on_the_bound():
    said = ambiguity.between(result(error=0.01, informed=None))
    assert said.startswith("this attack's error of 0.0100 is below the 0.0210 that was estimated as the least")


def test_all_that_was_found_is_told_in_sentences():
    told = ambiguity.sentences(result())
    assert "No attacker considered can expect more than 12 of 100 rows perfectly right." in told
    same = "At least 2^63 datasets explain the file equally well"
    assert f"{same}, and differ only in values that are not certain. The true one is among them." in told
    assert any("that all are equally likely or those like this population are likelier" in one for one in told)
    assert told[-1].startswith("These datasets were still moving away")


def test_nothing_is_said_of_proved_values_where_there_are_none_nor_of_a_limit_that_is_all_rows():
    told = result(ideal=Ideal(0.021, 100.0, 100), informed=None)
    assert not any("perfectly right" in one for one in ambiguity.short(told))
    told["metrics"]["certain_values"] = 0
    assert not any("certain" in one for one in ambiguity.short(told))


@pytest.mark.parametrize(("bits", "told"), [(0.5, "At least 2 datasets"), (3.0, "At least 8 datasets"), (25.9, "2^25")])
def test_the_number_of_datasets_is_never_more_than_was_proved(bits, told):
    assert any(told in one for one in ambiguity.short(result(found=replace(AMBIGUITY, bits=bits))))


@pytest.mark.parametrize("ended", [True, False])
def test_that_no_other_dataset_was_found_is_no_sign_where_the_time_ended_the_count(ended):
    found = replace(AMBIGUITY, bits=0.0, bits_ended=ended, unchanged_rows=1.0)
    told = " ".join(ambiguity.short(result(found=found)))
    assert ("perhaps there is none" in told) == ended
    assert ("No other dataset that explains the file was found before the time ran out." in told) != ended


def test_a_file_that_holds_the_rows_says_that_no_other_dataset_was_found():
    found = replace(AMBIGUITY, bits=0.0, unchanged_rows=1.0, mixed=True)
    told = ambiguity.sentences(result(found=found))
    assert any(one.startswith("No other dataset that explains the file was found") for one in told)
    assert not any(one.startswith("At least") or "moving away" in one for one in told)


def test_numbers_that_come_back_exactly_are_bounded_too():
    told = ambiguity.short(result(ideal=Ideal(0.021, 12.5, 100, 0.3)))
    assert (
        "No attacker considered can expect more than 12 of 100 rows perfectly right, or more "
        "than 30% of the numbers exactly." in told
    )


def test_parts_are_told_in_a_table_the_whole_first():
    cells = ambiguity.parts(result())
    assert cells[0] == ("everything", "100", "0.0210", "12", "-")
    assert len(cells) > 2
    assert all(len(one) == len(ambiguity.HEADINGS) for one in cells)


def test_the_page_has_a_section_and_both_plots_show_the_bound():
    page = html.render(reported())
    assert f"<h3>{ambiguity.TITLE}</h3>" in page
    assert "By every dataset that explains the file: all rows, and parts of the data" in page
    drawn = {chart.name: chart.description for chart in charts(result())}
    assert "no closer, all considered: 0.0210" in drawn["errors"]
    assert "no more, all considered: 12;" in drawn["perfect-rows"]


def test_markdown_and_the_terminal_tell_it_in_short():
    text = markdown.render(reported())
    assert "No attacker considered gets closer than 0.0210; this attack came to 0.0340" in text
    assert "At least 2\\^63 datasets" in text
    beginnings = ("Somebody who knows all other rows guesses", "No attacker considered gets closer")
    assert [sum(line.startswith(one) for line in measured.figures(result())) for one in beginnings] == [1, 1]


@pytest.mark.parametrize("found", [None, AMBIGUITY], ids=["nothing", "no bounds"])
def test_what_was_not_found_out_is_not_told(found):
    report = reported(found=found, ideal=None, informed=None)
    if found is None:
        assert ambiguity.sentences(report["results"][0]) == []
        assert ambiguity.TITLE not in html.render(report)
    assert ambiguity.between(report["results"][0]) is None
    assert "no closer, all considered" not in html.render(report)


def test_reports_of_earlier_versions_have_none_and_are_rendered():
    report = reported()
    del report["results"][0]["ambiguity"]
    del report["results"][0]["limit"]
    del report["results"][0]["given_all_other_rows"]
    del report["results"][0]["column_figures"]
    assert ambiguity.TITLE not in html.render(report)
    assert "nobody" not in markdown.render(report)


def test_what_somebody_gets_who_knows_all_other_rows_is_told_beside_the_same_without_the_file():
    errors, shares = ambiguity.given_others(result())
    assert errors == (
        "Somebody who knows all other rows guesses each row with an error of 0.0312, row by row (on 1,000 of 7,205 "
        "rows, drawn at random); without the file, 0.1243. Compared as the table's error is, by the best matching: "
        "0.0290; other rows like these: 0.1000."
    )
    assert shares == (
        "With certainty, they know 34 % of the values, and all values of less than 1 % of the rows. They guess 80 % of "
        "the values right (numbers to within 1 %), and 12 % of the rows; without the file, 60 % and 2 %."
    )


def test_of_all_rows_no_sample_is_told():
    everyone = replace(INFORMED, of_rows=1_000)
    assert "drawn at random" not in " ".join(ambiguity.sentences(result(informed=everyone)))


def test_what_only_somebody_knows_who_knows_the_draws_is_not_called_proved():
    _, shares = ambiguity.given_others(result(informed=replace(INFORMED, proved=False)))
    assert shares.startswith(
        "With certainty, if they also know which rows each tree drew, they know 34 % of the values"
    )


def test_the_spread_over_rows_is_told_where_it_is_known():
    told = "the most exposed row 0.0000; a tenth of the rows, at most 0.0100; half of the rows, at most 0.0500."
    assert f"Such an attacker's error row by row: {told}" in ambiguity.sentences(result())
    alike = replace(INFORMED, row_errors=(0.0,) * 60 + (0.5,) * 41)
    assert "Such an attacker's error row by row: half of the rows, at most 0.0000." in ambiguity.sentences(
        result(informed=alike)
    )
    assert "exposed" not in " ".join(ambiguity.sentences(result(informed=replace(INFORMED, row_errors=None))))


def test_columns_come_first_to_which_the_file_adds_most():
    assert ambiguity.columns(result()) == [("sex", "0 %", "90 %", "50 %"), ("age|x", "10 %", "50 %", "40 %")]
    assert ambiguity.slices(result()) == [("women", "40", "0.0500", "0.2000", "10 %", "20 %", "5 %")]


def test_all_formats_tell_it_also_where_the_attack_got_nothing():
    page = html.render(reported(found=None, ideal=None))
    assert f"<h3>{ambiguity.TITLE}</h3>" in page
    assert "Given all other rows, column by column" in page
    assert '<th scope="row">age|x</th><td data-label="Proved">10 %</td>' in page
    assert "Given all other rows, slice by slice" in page
    text = markdown.render(reported(found=None, ideal=None))
    assert "guesses each row with an error of 0.0312" in text


def test_the_report_holds_all_of_it_and_the_schema_knows_it():
    report = reported()
    assert report["results"][0]["given_all_other_rows"] == json.loads(json.dumps(asdict(INFORMED)))
    metrics = report["results"][0]["metrics"]
    assert (metrics["given_others_error"], metrics["given_others_told_rows"]) == (0.0312, 0.002)
    part = {"$defs": schema()["$defs"], "$ref": "#/$defs/given_all_other_rows"}
    Draft202012Validator(part).validate(report["results"][0]["given_all_other_rows"])
    for name in ("told_rows", "columns"):
        less = {key: value for key, value in report["results"][0]["given_all_other_rows"].items() if key != name}
        assert not Draft202012Validator(part).is_valid(less)


@pytest.mark.parametrize("blocks", [None, [], [{"block_size": 8, "neighbours": True, "rows": 80, "determined": 12}]])
def test_rows_in_blocks_that_earlier_reports_tell_are_still_valid_and_not_said(blocks):
    report = reported()
    said = ambiguity.sentences(report["results"][0])
    report["results"][0]["ambiguity"] |= {"set_aside": 1, "determined": blocks}
    part = {"$defs": schema()["$defs"], "$ref": "#/$defs/ambiguity"}
    Draft202012Validator(part).validate(report["results"][0]["ambiguity"])
    assert ambiguity.sentences(report["results"][0]) == said
