"""The table at the end of a run, no wider than the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_draft.errors import one_line
from pytest_draft.report.measured import error_text, number

_HEADINGS = (
    "forest",
    "adversary",
    "error (split-half, random)",
    "perfect rows",
    "singled out",
    "certain",
    "decided by",
    "time",
    "verdict",
)
_ALWAYS = ("error (split-half, random)", "perfect rows", "verdict")
_BY_WORTH = ("forest", "adversary", "decided by", "time", "singled out", "certain")
"""Columns that there is room for or not, the most wanted first; a forest without room for its name has it above."""

_GAP = "  "


def table(results: Sequence[dict[str, Any]], width: int) -> list[str]:
    """Return a line for each result; what has no room there stands below it, indented.

    Parameters
    ----------
    results : sequence of dict
        Of a report.
    width : int
        Columns of the terminal. Only a name, or what is always shown, can be wider.
    """
    rows = [dict(zip(_HEADINGS, _cells(result), strict=True)) for result in results]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in _HEADINGS}
    shown = set(_ALWAYS)
    for name in _BY_WORTH:
        if sum(widths[one] + len(_GAP) for one in (*shown, name)) - len(_GAP) >= width:  # none in the last column
            break
        shown.add(name)
    columns = [name for name in _HEADINGS if name in shown]
    below = [name for name in _HEADINGS if name not in shown and name != "forest"]
    begin = "" if "forest" in shown else _GAP
    lines = [begin + _line(columns, columns, widths)]
    for row in rows:
        lines += [] if "forest" in shown else [row["forest"]]
        lines.append(begin + _line([row[name] for name in columns], columns, widths))
        lines += _wrapped([f"{name}: {row[name]}" for name in below], width)
    return lines


def _line(cells: Sequence[str], columns: Sequence[str], widths: dict[str, int]) -> str:
    return _GAP.join(cell.ljust(widths[name]) for cell, name in zip(cells, columns, strict=True)).rstrip()


def _wrapped(parts: Sequence[str], width: int) -> list[str]:
    """Return parts with semicolons between them, as many on an indented line as there is room for."""
    lines: list[str] = []
    for i, part in enumerate(parts):
        text = part + ";" * (i + 1 < len(parts))
        if lines and len(lines[-1]) + 1 + len(text) < width:
            lines[-1] += f" {text}"
        else:
            lines.append(_GAP + text)
    return lines


def _cells(result: dict[str, Any]) -> tuple[str, ...]:
    metrics = result["metrics"]

    def of(name: str, whole: str) -> str:
        return "-" if metrics[name] is None else f"{metrics[name]:,} of {metrics[whole]:,}"

    return (
        one_line(result["artifact"]["path"]),
        result["adversary"],
        f"{error_text(result)} ({number(metrics['split_half_error'])}, {number(metrics['random_error'])})",
        of("perfect_rows", "n_rows"),
        of("singled_out_rows", "unique_rows"),
        _certain(metrics),
        "-" if (decided := result.get("decided_by")) is None else f"{decided['rule']} ({decided['seconds']:.1f} s)",
        f"{result['seconds']:.1f} s" + " (cached)" * result["cached"],
        _verdict(result),
    )


def _verdict(result: dict[str, Any]) -> str:
    """Return a verdict in one or two words; nothing has passed where a policy only warns, and of each of its checks."""
    if result["verdict"] != "passed":
        return str(result["verdict"]).upper()
    return "passed" if any(check["result"] == "passed" for check in result["checks"]) else "only warnings"


def _certain(metrics: dict[str, Any]) -> str:
    """Return how many rows are proved to be in every dataset that explains the file."""
    if metrics["certain_rows"] is None:
        return "-"
    return f"{metrics['certain_rows']:,}" if metrics["certain_rows_exact"] else f"at least {metrics['certain_rows']:,}"
