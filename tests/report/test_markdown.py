"""The job summary."""

from __future__ import annotations

import re

import pytest

from pytest_draft.report import markdown
from pytest_draft.report.markdown import escaped


def table(text: str, title: str) -> list[list[str]]:
    """Return the cells of the table of a section, without its headings."""
    section = text.split(f"## {title}\n")[1].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("leaking", "# ❌ Do not release models/leaking.joblib: 2 of 3 checks failed."),
        ("broken", "# ❓ Not cleared for release: models/broken.joblib. No answer for 3 of 3 checks, which is"),
        ("quiet", "# ✅ No objection to releasing models/quiet.joblib: 3 of 3 checks passed."),
    ],
)
def test_the_first_line_is_the_verdict_in_words(name, first, only):
    assert markdown.render(only(name)).splitlines()[0].startswith(first)


def test_the_gravest_verdict_comes_first_and_every_model_has_one(report):
    lines = markdown.render(report).splitlines()
    assert lines[0].startswith("# ❌ Do not release models/leaking.joblib")
    assert sum("models/quiet.joblib: 3 of 3 checks passed" in line for line in lines) == 1


def test_failed_checks_come_before_undecided_ones_and_these_before_passed_ones(report, waived):
    refused = next(result for result in report["results"] if "broken" in result["artifact"]["path"])
    waived(refused["checks"][0])
    refused["checks"][1]["severity"] = "warning"
    found = [row[0].split()[1] for row in table(markdown.render(report), "Checks")]
    assert found == sorted(found, key=["failed", "inconclusive", "warning:", "waived", "passed"].index)
    assert set(found) == {"failed", "inconclusive", "warning:", "waived", "passed"}
    assert len(found) == sum(len(result["checks"]) for result in report["results"])


def test_figures_stand_beside_their_baselines(only):
    report = only("leaking")
    metrics, text = report["results"][0]["metrics"], markdown.render(report)
    assert f"other rows like these: {metrics['split_half_error']:.4f}" in text
    others = f"other rows like these would match {metrics['split_half_perfect_rows']:.0f} by chance"
    assert f"rows come back; {others}" in text


def test_commands_stand_in_blocks_and_reasons_once(only):
    report = only("leaking")
    (result,) = report["results"]
    given = {"line": "python -m pytest --draft-forest 'a b'", "does": "to give it more time"}
    remedy = f"{given['does']}: {given['line']}"
    result.update(verdict="inconclusive", reasons=["the time was out"])
    result["checks"] = [
        {**check, "result": "inconclusive", "sentence": "the time was out", "remedy": remedy, "commands": [given]}
        for check in result["checks"]
    ]
    lines = markdown.render(report).splitlines()
    at = lines.index("  python -m pytest --draft-forest 'a b'")
    assert (lines[at - 1], lines[at + 1]) == ("  ```sh", "  ```")
    assert "  To give it more time:" in lines
    assert sum("the time was out" in line for line in lines) == 1


def test_an_error_that_is_only_bounded_is_told_by_its_bounds(only):
    report = only("leaking")
    report["results"][0]["metrics"]["reconstruction_error"] = None
    report["results"][0]["baselines"]["reconstruction_error_bounds"] = [0.1, 0.25]
    assert "The attack's error is between 0.1000 and 0.2500" in markdown.render(report)


def test_what_to_do_is_told_once_with_all_models(report):
    for result in report["results"]:
        for check in result["checks"]:
            check.update(result="failed", remedy="do this", commands=[])
    (line,) = [line for line in markdown.render(report).splitlines() if line.endswith(": Do this.")]
    assert all(name in line for name in ("leaking", "quiet", "broken", "numbers"))


def test_a_waiver_is_told_with_reason_owner_and_expiry(only, waived):
    report = only("leaking")
    waived(report["results"][0]["checks"][1])
    text = markdown.render(report)
    assert table(text, "Waivers") == [
        ["models/leaking.joblib", "perfect-rows", "internal use", "privacy office", "2099-12-31"]
    ]
    assert text.startswith("# ❌ Do not release models/leaking.joblib: 1 of 3 checks failed; 1 waived.")


def test_a_release_that_rests_on_waivers_says_so_first(only, waived):
    report = only("leaking")
    for check in report["results"][0]["checks"]:
        waived(check)
    report["results"][0]["verdict"] = "passed"
    text = markdown.render(report)
    assert text.startswith("# 📝 Releasing models/leaking.joblib rests on waivers: 0 of 3 checks passed; 3 waived.")


def test_where_a_policy_only_warns_that_is_told_and_nothing_is_cleared(only):
    report = only("leaking")
    for check in report["results"][0]["checks"]:
        check["severity"] = "warning"
    report["results"][0]["verdict"] = "passed"
    text = markdown.render(report)
    assert text.splitlines()[0].endswith(
        "Nothing stops models/leaking.joblib, because the policy only warns: 0 of 3 checks passed; 3 warnings, 1 of "
        "which could not be decided."
    )
    assert "✅" not in text.splitlines()[0]
    assert "| ⚠️ warning: failed | models/leaking.joblib | reconstruction-error |" in text


def test_what_the_policy_allows_to_be_undecided_is_said_to_be_allowed(only):
    report = only("broken")
    report["results"][0]["policy"]["allow_inconclusive"] = True
    assert markdown.render(report).startswith("# ❓ Undecided, which the policy allows: models/broken.joblib.")


def test_a_name_cannot_break_out_of_its_cell(only):
    report = only("leaking")
    report["results"][0]["artifact"]["path"] = "a|b`c`\n| d |\n\n# e"
    text = markdown.render(report)
    assert all(len(row) == 5 for title in ("Checks", "What was judged") for row in table(text, title))
    assert not re.search(r"^# e", text, re.MULTILINE)


@pytest.mark.parametrize("special", ["<b>", "[a](b)", "![a](b)", "`a`", "*a*", "_a_", "~~a~~", "$a$", "http://a", "|"])
def test_nothing_that_markdown_reads_is_left(special):
    assert special not in escaped(f"x {special} y")


def test_a_long_table_is_cut_and_says_so(only):
    report = only("quiet")
    (check, *_) = report["results"][0]["checks"]
    report["results"][0]["checks"] = [dict(check, item=str(i)) for i in range(markdown.MOST_CHECKS + 7)]
    text = markdown.render(report)
    assert len(table(text, "Checks")) == markdown.MOST_CHECKS
    assert "7 more checks, none worse than these" in text
