"""The job summary: in goes a plain report, out comes GitHub-flavoured Markdown that a manager understands.

The verdict is the first line. Whatever comes from a file is escaped, so that it is shown as it is and changes nothing
of the page: no HTML, no links, no table cells.
`card` is a section for the ``README.md`` beside a model, below metadata of Hugging Face's hub: figures known exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pytest_draft.foreign_text import harmless, harmless_values
from pytest_draft.report import sentences, tables
from pytest_draft.report.bounds import bounds_of
from pytest_draft.report.result import Report, Result
from pytest_draft.report.standings import by_model, standing, worst_first

MOST_CHECKS = 200
"""Rows of the table of checks; a summary that is too large (1 MiB) is not shown at all."""

_SIGNS = {"failed": "❌", "inconclusive": "❓", "warning": "⚠️", "waived": "📝", "passed": "✅", "not applicable": "⚪"}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
_UNSAFE_IN_BLOCKS = frozenset("<>`")
_SPECIAL = re.compile(r"[\\`*_{}\[\]#~@$^!=+]|:(?=\S)|(?<=www)\.", re.IGNORECASE)


def render(report: Report) -> str:
    """Return the Markdown of a report."""
    parts = [*_verdicts(report), *_decided(report), *_undecided(report), *_what_to_do(report), *_checks(report)]
    parts += [*_measured(report)]
    parts += [*_by_model(report, "Slices", tables.slices), *_by_model(report, "Sensitive columns", tables.sensitive)]
    parts += [*_waivers(report), *_not_run(report)]
    parts += [*_judged(report), *_details(report)]
    return "\n".join(parts) + "\n"


def card(report: Report) -> str:
    """Return the text of a section for a model card."""
    models = by_model(report["results"]) or {"": []}
    tasks = {path: [task for result in of if (task := _task(result))["metrics"]] for path, of in models.items()}
    index = harmless_values([{"name": path, "results": of} for path, of in tasks.items() if of])
    plain = json.dumps(index, ensure_ascii=False).replace("<", "\\u003c")  # which is YAML, and no HTML
    found = [f"model-index: {plain}"] * bool(index)
    lines = ["---", "tags: [pytest-draft]", *found, "---", "", "## What the file gives away of its training data", ""]
    lines += [line for results in models.values() for line in _on_card({**report, "results": results})]
    return "\n".join([*lines, escaped(sentences.LIMITS), ""])


def _task(result: Result) -> dict[str, Any]:
    kind = f"tabular-{'regression' if result['artifact']['regressor'] else 'classification'}"
    names = {"reconstruction_error": "Error of rows rebuilt from the file", "split_half_error": "Error of other rows"}
    found = [(name, said, *(bounds_of(result, name) or (0, 1))) for name, said in names.items()]
    return {
        "task": {"type": kind, "name": f"Rebuilding the training data, adversary {result['adversary']}"},
        "dataset": {"type": "tabular", "name": result["data"]["path"] or "training data"},
        "metrics": [{"type": one, "value": least, "name": said} for one, said, least, most in found if least == most],
    }


def _on_card(report: Report) -> Iterator[str]:
    (verdict, _), *_ = said = sentences.headlines(report)
    yield from (f"**Verdict: {verdict}.** {' '.join(escaped(sentence) for _, sentence in said)}", "")
    for result in report["results"]:
        told = filter(None, (sentences.decision(result).rstrip("."), sentences.of_entropy(result)))
        yield from (f"Adversary {escaped(result['adversary'])}: {escaped('; '.join(told))}.", "")
        headings, rows = tables.attackers(result)
        yield from (*table(headings, ["---"] * len(headings), [tuple(map(escaped, row)) for row in rows]), "")
    listed = dict.fromkeys([*sentences.held_against(report), *sentences.origins(report)])
    yield from (*(f"- {sentences.begun(name)}: {escaped(what)}" for name, what in listed), "")


def escaped(text: object) -> str:
    """Return a text so that Markdown shows it as it is, in a paragraph or a table cell."""
    line = "".join(_ENTITIES.get(c, c) for c in _SPECIAL.sub(r"\\\g<0>", harmless(text)))
    return line.strip() or "(empty)"


def table(headings: Sequence[str], aligned: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table of escaped cells."""
    return [f"| {' | '.join(cells)} |" for cells in (headings, aligned, *rows)]


def _verdicts(report: Report) -> Iterator[str]:
    (verdict, sentence), *others = sentences.headlines(report)
    yield f"# {_SIGNS[verdict]} {escaped(sentence)}"
    yield ""
    for one, text in others:
        yield f"- {_SIGNS[one]} {escaped(text)}"
    if others:
        yield ""


def _decided(report: Report) -> Iterator[str]:
    """Yield the sentence that decides on each model."""
    for result in report["results"][:MOST_CHECKS]:
        whose = f"**{escaped(result['artifact']['path'])}**: " if len(report["results"]) > 1 else ""
        by = sentences.decided(result)
        causes = [] if result["verdict"] == "inconclusive" else sentences.why(result)  # its reasons are below
        said = (sentences.decision(result), *causes, *([f"{sentences.begun(by)}."] if by else []))
        yield from (whose + " ".join(map(escaped, said)), "")


def _checks(report: Report) -> Iterator[str]:
    rows = []
    for result, check in worst_first(report):
        stands = standing(check)
        said = f"{stands}: {check['result']}" if stands == "warning" else stands
        sentence = sentences.own_sentence(check, result["reasons"]) or "the reason is below"
        cells = (result["artifact"]["path"], check["rule"], result["adversary"], sentence)
        rows.append((f"{_SIGNS[stands]} {said}", *map(escaped, cells)))
    yield from _table(
        "Checks", ("Result", "Model", "Rule", "Adversary", "What was found"), rows, "checks, none worse than these,"
    )


def _undecided(report: Report) -> Iterator[str]:
    lines = [
        f"- **{escaped(result['artifact']['path'])} (adversary: {escaped(result['adversary'])})**: {escaped(reason)}"
        for result in report["results"]
        for reason in result["reasons"]
    ]
    yield from _section("Why checks are undecided", lines)


def _measured(report: Report) -> Iterator[str]:
    lines = [
        f"- **{escaped(result['artifact']['path'])} (adversary: {escaped(result['adversary'])})**: "
        + " ".join(map(escaped, said))
        for result in report["results"]
        if (said := _about(result))
    ]
    yield from _section("What the attack got", [sentences.HOW_TO_READ, "", *lines] if lines else [])


def _about(result: Result) -> list[str]:
    """Return what the attack got, what anybody could get, and of which columns; empty where nothing was sentences."""
    anybody = [*sentences.given_others(result), *sentences.of_datasets(result)]
    columns = sentences.best_columns(result)
    return [*sentences.about(result), *anybody, *([columns] if columns else [])]


def _by_model(report: Report, title: str, of: Callable[[Result], tables.Table]) -> Iterator[str]:
    found = [(result, of(result)) for result in report["results"]]
    rows = [
        tuple(map(escaped, (result["artifact"]["path"], result["adversary"], *(cell or "-" for cell in cells))))
        for result, table in found
        for cells in table.rows
    ]
    if rows:
        yield from _table(title, ("Model", "Adversary", *found[0][1].headings), rows, title.lower())


def _waivers(report: Report) -> Iterator[str]:
    rows = []
    for result, check in worst_first(report):
        if standing(check) == "waived":
            waiver = check["waiver"]
            cells = (result["artifact"]["path"], check["rule"], waiver["reason"], waiver["owner"], waiver["expires"])
            rows.append(tuple(map(escaped, cells)))
    yield from _table("Waivers", ("Model", "Rule", "Reason", "Owner", "Expires"), rows)


def _not_run(report: Report) -> Iterator[str]:
    lines = [f"- {escaped(address)}" for address in report["not_run"][:MOST_CHECKS]]
    if len(report["not_run"]) > MOST_CHECKS:
        lines.append(f"- and {len(report['not_run']) - MOST_CHECKS:,} more")
    yield from _section("Not run", lines)


def _what_to_do(report: Report) -> Iterator[str]:
    steps = sentences.steps(report)
    blocking = [line for step in steps if step.blocks for line in _step(step)]
    yield from _section("What to do", [*blocking, *(f"- {escaped(said)}" for said in sentences.closing(report, steps))])
    yield from _section("What else is advised", [line for step in steps if not step.blocks for line in _step(step)])


def _step(step: sentences.Step) -> Iterator[str]:
    """Yield what to do as an item of a list, with its commands in blocks that can be copied."""
    models = ", ".join(map(escaped, step.models))
    yield f"- {models}: {escaped(step.remedy)}." if step.remedy else f"- {models}:"
    for line, does in step.commands:
        yield from ("", f"  {escaped(sentences.begun(does))}:", "")
        in_block = line.isprintable() and not _UNSAFE_IN_BLOCKS & set(line)
        yield from ("  ```sh", f"  {harmless(line, None)}", "  ```", "") if in_block else (f"  {escaped(line)}", "")


def _judged(report: Report) -> Iterator[str]:
    rows = {
        (
            escaped(result["artifact"]["path"]),
            escaped(result["artifact"]["holds"] or "refused"),
            escaped(result["artifact"]["sha256"] or "unknown"),
            escaped(result["data"]["path"] or "none"),
            escaped(result["policy"]["name"]),
        ): None
        for result in report["results"]
    }
    yield from _table("What was judged", ("Model", "Holds", "SHA-256", "Training data", "Policy"), list(rows))
    unread = {result["artifact"]["path"]: sentences.not_read(result) for result in report["results"]}
    said = [f"- {escaped(path)}: {escaped(which)}" for path, which in unread.items() if which is not None]
    if said:
        yield from (*said, "")


def _details(report: Report) -> Iterator[str]:
    yield f"{sentences.NO_PROOF} The JSON report holds all figures, seeds and versions, and the HTML report shows them."
    yield ""
    yield escaped(sentences.judged_by(report))


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], cut: str | None = None) -> Iterator[str]:
    """Yield a section with a table of escaped cells; where it is `cut`, which says what they are, the first ones."""
    shown = rows if cut is None else rows[:MOST_CHECKS]
    yield from _section(title, table(headings, ["---"] * len(headings), shown) if rows else [])
    if len(rows) > len(shown):
        yield from (f"{len(rows) - len(shown):,} more {cut} are in the JSON report.", "")


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with a title above them; nothing without a line."""
    if lines:
        yield from (f"## {title}", "", *lines, "")
