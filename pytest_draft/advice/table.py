"""The advice as text: lines for a terminal, or Markdown for a job summary."""

from __future__ import annotations

from pytest_draft.advice import wording
from pytest_draft.advice.recommendation import Recommendation
from pytest_draft.foreign_text import harmless
from pytest_draft.report.markdown import escaped, table


def text(advice: Recommendation) -> str:
    """Return the advice for a terminal: table, pick, code and commands."""
    rows = [wording.HEADINGS, *(wording.cells(one) for one in wording.shown(advice))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(wording.HEADINGS))]
    marks = ["  ", *("> " if one.setting == advice.pick else "  " for one in wording.shown(advice))]
    lines = [
        mark + "  ".join(_aligned(cell, width, at) for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for mark, row in zip(marks, rows, strict=True)
    ]
    lines = [line.rstrip() for line in lines]
    lines += ["", wording.HOW_TO_READ, wording.tried(advice), "", wording.headline(advice)]
    lines += [f"  {line}" for line in wording.cost(advice)]
    if advice.code is not None:
        lines += ["", "Train it:", "", *(f"    {line}" for line in advice.code.splitlines()), "", wording.SECRET_SEED]
    if advice.commands:
        lines += ["", "Harden it, and judge it before it is released:", "", *(f"    {one}" for one in advice.commands)]
    lines += [f"note: {note}" for note in advice.notes]
    return "\n".join(harmless(line, None) for line in lines)


def markdown(advice: Recommendation) -> str:
    """Return the advice as GitHub-flavoured Markdown, for summaries that others read: without the seed."""
    lines = [f"### Advice: {escaped(wording.headline(advice))}", ""]
    lines += [f"- {escaped(line)}" for line in wording.cost(advice)]
    rows = []
    for one in wording.shown(advice):
        strong = "**" if one.setting == advice.pick else ""
        rows.append([f"{strong}{escaped(cell)}{strong}" if cell else "" for cell in wording.cells(one)])
    lines += ["", *table(wording.HEADINGS, ("---", "---:", "---", "---", "---:", "---"), rows)]
    lines += ["", f"{wording.HOW_TO_READ} {wording.tried(advice)}"]
    if advice.public_code is not None:
        lines += ["", "```python", *advice.public_code.splitlines(), "```", "", wording.ANOTHER_MODEL]
    if advice.commands:
        lines += ["", "```sh", *advice.commands, "```"]
    lines += ["", *(f"- {escaped(note)}" for note in advice.notes)]
    return "\n".join(harmless(line, None) for line in lines).rstrip() + "\n"


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column in (1, 4) else cell.ljust(width)
