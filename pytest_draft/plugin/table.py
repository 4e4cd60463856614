"""The table at the end of a run, no wider than the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_draft.errors import one_line
from pytest_draft.report.sentences import error_text, number
from pytest_draft.report.standings import file_of, standing

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
"""Columns that are shown if there is room, the most wanted first; else a forest's name stands above its row."""

_GAP = "  "


def table(results: Sequence[dict[str, Any]], width: int, not_run: int = 0) -> list[str]:
    """Return a line for each result; what has no room there stands below it, indented.

    Parameters
    ----------
    results : sequence of dict
        Of a report.
    width : int
        Columns of the terminal. Only a name, or what is always shown, can be wider.
    not_run : int
        Checks of the run that did not run, so that no model of it is simply passed.
    """
    rows = [dict(zip(_HEADINGS, (*_cells(result), _verdict(result, not_run)), strict=True)) for result in results]
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
    )


def _verdict(result: dict[str, Any], not_run: int) -> str:
    """Return a verdict in a few words; "passed" only where a check that counts has passed or is waived."""
    if result["verdict"] != "passed":
        return str(result["verdict"]).upper() + " by a marker" * bool(failing_markers(result))
    waived = sum(standing(check) == "waived" for check in result["checks"])
    besides = [f"{waived:,} waived"] * bool(waived) + [f"{not_run:,} not run"] * bool(not_run)
    passed = "passed" if any(check["result"] == "passed" for check in result["checks"]) or waived else "only warnings"
    return passed + (f" ({', '.join(besides)})" if besides else "")


def failing_markers(result: dict[str, Any]) -> list[str]:
    """Return the tests whose markers made a model fail although its own checks ran and none of them failed."""
    own = f"{file_of(result['artifact'])}::"
    by_item = [(check["item"], standing(check) == "failed") for check in result["checks"]]
    ours = [failed for item, failed in by_item if item.startswith(own)]
    return [] if any(ours) or not ours else list(dict.fromkeys(item for item, failed in by_item if failed))


def _certain(metrics: dict[str, Any]) -> str:
    """Return how many rows are proved to be in every dataset that explains the file."""
    if metrics["certain_rows"] is None:
        return "-"
    if metrics["certain_rows_exact"]:
        return f"{metrics['certain_rows']:,}"
    return f"at least {metrics['certain_rows']:,}" if metrics["certain_rows"] else "not finished"
