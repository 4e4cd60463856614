"""The advice as text: lines for a terminal, or Markdown for a job summary."""

from __future__ import annotations

import textwrap

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
    lines += ["", *_folded(wording.how_to_read(advice)), *_folded(wording.tried(advice))]
    lines += ["", *_folded(wording.headline(advice))]
    lines += [line for sentence in wording.cost(advice) for line in _folded(sentence, "  ")]
    if found := wording.reasons(advice):
        lines += ["", "Why not:", *(line for reason in found for line in _folded(reason, "  "))]
    if advice.code is not None:
        lines += ["", "Train it (Python):", "", *advice.code.splitlines(), "", *_folded(wording.SECRET_SEED)]
    if advice.commands:
        lines += ["", wording.HARDEN_AND_JUDGE, ""]
        lines += [line for command in advice.commands for line in wording.wrapped(command)]
    if step := wording.next_step(advice):
        lines += ["", *_folded(step)]
        lines += ["", *wording.wrapped(advice.longer)] if advice.longer is not None else []
    if advice.notes:
        lines += ["", *(line for note in advice.notes for line in _folded(f"note: {note}"))]
    return "\n".join(harmless(line, None) for line in lines)


def _folded(sentence: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        harmless(sentence, None),
        wording.WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  " if indent else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def markdown(advice: Recommendation) -> str:
    """Return the advice as GitHub-flavoured Markdown, for summaries that others read: without the seed."""
    lines = [f"### Advice: {escaped(wording.headline(advice))}", ""]
    lines += [f"- {escaped(line)}" for line in wording.cost(advice)]
    rows = []
    for one in wording.shown(advice):
        strong = "**" if one.setting == advice.pick else ""
        rows.append([f"{strong}{escaped(cell)}{strong}" if cell else "" for cell in wording.cells(one)])
    lines += ["", *table(wording.HEADINGS, ("---", "---:", "---", "---:", "---"), rows)]
    lines += ["", escaped(wording.how_to_read(advice)), "", escaped(wording.tried(advice))]
    if found := wording.reasons(advice):
        lines += ["", "Why not:", "", *(f"- {escaped(reason)}" for reason in found)]
    if advice.public_code is not None:
        lines += ["", "```python", *advice.public_code.splitlines(), "```", "", wording.ANOTHER_MODEL]
    if advice.commands:
        lines += ["", "```sh", *advice.commands, "```"]
    if step := wording.next_step(advice):
        lines += ["", escaped(step), *(["", "```sh", advice.longer, "```"] if advice.longer is not None else [])]
    lines += ["", *(f"- {escaped(note)}" for note in advice.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column in (1, 3) else cell.ljust(width)
