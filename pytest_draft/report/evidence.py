"""The evidence report: in goes a plain report, out comes a document that somebody can sign, in HTML or Markdown.

Each result has one page to decide by, with boxes to fill in, and behind it a table for each section of its evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_draft.report import sentences
from pytest_draft.report.evidence_lines import TABLE, evidence
from pytest_draft.report.html import SIGNS, environment
from pytest_draft.report.markdown import escaped, table
from pytest_draft.report.result import Report
from pytest_draft.report.standings import standing
from pytest_draft.report.tables import Table

FIRST = ("decide", "judged")
"""Sections of the first page."""

_COLUMNS = {
    "name": "What",
    "status": "Status",
    "said": "Evidence",
    "attacker": "Whose attack",
    "where": "Where it stands",
}


def render(report: Report) -> str:
    """Return a page in HTML, made for A4."""
    template = environment("pytest_draft.report").get_template("evidence.html")
    return template.render(
        report=report, table=TABLE, pages=list(_pages(report)), first=FIRST, signs=SIGNS, sentences=sentences
    )


def as_markdown(report: Report) -> str:
    """Return the same in Markdown."""
    said = ["# Test evidence for a decision on release", "", TABLE["what"], ""]
    if report["not_run"] or not report["results"]:
        said += [*(f"- {escaped(text)}" for _, text in sentences.headlines(report)), ""]
    for page in _pages(report):
        said += [f"**{page['verdict']}**: {escaped(page['headline'])}", ""]
        for name in FIRST:
            said += _section(page["tables"][name], TABLE["sections"][name]["title"])
        said += _section(Table(("To fill in", ""), TABLE["boxes"]), "To fill in and to sign")
        said += [f"- {sentences.begun(status)}: {meaning}." for status, meaning in TABLE["statuses"].items()] + [""]
        for name, found in page["tables"].items():
            said += _section(found, TABLE["sections"][name]["title"]) if name not in FIRST else ()
    return "\n".join(said).rstrip("\n") + "\n"


def _section(found: Table, title: str) -> Iterator[str]:
    cells = [[escaped(cell) if cell else " " for cell in row] for row in found.rows]
    yield from (f"## {title}", "", *table(found.headings, ["---"] * len(found.headings), cells), "")


def _pages(report: Report) -> Iterator[dict[str, Any]]:
    """Yield what is said of each result: how it stands, and a table for each section."""
    for result in report["results"]:
        verdict, _ = sentences.headline(report, [result])
        stands = Counter(standing(check) for check in result["checks"])
        passed = f"{stands.pop('passed', 0)} of {sentences.counted(len(result['checks']), 'check')} passed"
        others = [sentences.counted(n, "warning") if name == "warning" else f"{n} {name}" for name, n in stands.items()]
        headline = f"{result['artifact']['path']}: {verdict.upper()} ({', '.join([passed, *others])})"
        tables = {name: _table(name, lines) for name, lines in evidence(result, report).items()}
        yield {"verdict": verdict, "headline": headline, "tables": tables}


def _table(name: str, lines: Sequence[dict[str, str | None]]) -> Table:
    shown = [key for key in _COLUMNS if name == "attacks" or key not in ("status", "attacker")]
    shown = ["name", "said"] if name in FIRST else shown
    return Table(tuple(_COLUMNS[key] for key in shown), [tuple(line[key] or "" for key in shown) for line in lines])
