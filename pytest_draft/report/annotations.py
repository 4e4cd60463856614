"""Annotations for GitHub Actions: in goes the JSON report of a run, out come workflow commands, worst first.

``python -m pytest_draft.report.annotations REPORT.json`` prints them, appends ``verdict=...`` to the file that
``GITHUB_OUTPUT`` names, and ends with 1 unless the verdict is passed. A report that is missing or damaged is
inconclusive; what pytest said where it wrote none is appended to the file that ``GITHUB_STEP_SUMMARY`` names. Needs the
standard library only.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_draft.bounded import what_failed
from pytest_draft.errors import one_line
from pytest_draft.foreign_text import HarmlessParser, address, harmless, harmless_values
from pytest_draft.report.markdown import escaped
from pytest_draft.report.sentences import waived
from pytest_draft.report.standings import file_of, standing, unjudged

MOST = 10
"""As many annotations of a kind as GitHub shows for a step; more are cut off without a word."""

_ASK_FOR_NOTHING = ("the clock decided how long", "the attack was cut short", "no attack was run")
"""How notes begin that tell how a run went, and of which nothing follows."""

_VERDICTS = ("passed", "failed", "inconclusive")


def annotations(report: dict[str, Any]) -> list[str]:
    """Return a report as workflow commands.

    Errors are what keeps the verdict from being passed: failed checks, the forest that gives back most first, then
    inconclusive ones, those with the same reason together, then what was not run. Warnings are checks that the policy
    makes warnings and checks that somebody has waived. Notices are the notes of the examinations.
    Of more than `MOST` of a kind, the last tells how many are left out.

    Parameters
    ----------
    report : dict
        As `pytest_draft.report.document.document` returns it.

    Returns
    -------
    list of str
        One line each.
    """
    results = sorted(report["results"], key=_gives_back, reverse=True)
    told: dict[tuple[str, str], str] = {}
    errors = [_failed_lines("error", result, check, told) for result in results for check in _checks(result, "failed")]
    errors += [command for result in results for command in _inconclusive_lines(result)]
    errors += [command("error", f"not run, so nothing is known: {check}") for check in report["not_run"]]
    notes = [
        (result["artifact"]["path"], file_of(result["artifact"]), note)
        for result in results
        for note in result["notes"]
        if not note.startswith(_ASK_FOR_NOTHING)
    ]
    warnings = [
        _failed_lines("warning", result, check, told)
        for result in results
        for check in _checks(result, "warning", "waived")
    ]
    notices = [
        command("notice", note, file=file, title=_title(name, "note")) for name, file, note in dict.fromkeys(notes)
    ]
    return [*_at_most("error", errors), *_at_most("warning", warnings), *_at_most("notice", notices)]


def command(kind: str, message: str, **properties: str) -> str:
    """Return one workflow command, with nothing in it that could end it or begin another."""
    said = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{kind}{' ' if said else ''}{said}::{_escaped(message)}"


def _escaped(text: str, also: str = "") -> str:
    """Return text with percent signs, line ends and some other characters percent-encoded, as runners decode them."""
    text = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair cannot be printed
    for character in f"%\r\n{also}":  # the percent sign first: the others bring new ones
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _gives_back(result: dict[str, Any]) -> tuple[float, float]:
    """Return how bad a result is: the share of rows that come back perfectly, then how small the error is."""
    metrics = result["metrics"]
    perfect = (metrics["perfect_rows"] or 0) / (metrics["n_rows"] or 1)
    error = metrics["reconstruction_error"]
    return perfect, float("-inf") if error is None else -error


def _checks(result: dict[str, Any], *standings: str) -> list[dict[str, Any]]:
    return [check for check in result["checks"] if standing(check) in standings]


def _failed_lines(kind: str, result: dict[str, Any], check: dict[str, Any], told: dict[tuple[str, str], str]) -> str:
    """Return a check as one command; causes and remedies that were `told` of the file are not repeated."""
    lines = [check["sentence"]]
    if (by := waived(check)) is not None:
        lines.append(by)
    path, file = result["artifact"]["path"], file_of(result["artifact"])
    repeated: dict[str, list[str]] = {}
    for name in ("cause", "remedy"):
        if check[name] and (rule := told.setdefault((path, check[name]), check["rule"])) != check["rule"]:
            repeated.setdefault(rule, []).append(name)
        elif check[name]:
            lines.append(f"{name}: {check[name]}")
    lines += [f"{' and '.join(names)}: as of {rule}" for rule, names in repeated.items()]
    title = _title(path, f"{_named(result, [check])} {check['result']}")
    return command(kind, "\n".join(lines), file=file, title=title)


def _inconclusive_lines(result: dict[str, Any]) -> Iterable[str]:
    by_reason: dict[str, list[dict[str, Any]]] = {}
    for check in result["checks"] if unjudged(result) else _checks(result, "inconclusive"):
        by_reason.setdefault(check["sentence"], []).append(check)
    path, file = result["artifact"]["path"], file_of(result["artifact"])
    for reason, checks in by_reason.items():
        title = _title(path, f"{_named(result, checks)} inconclusive")
        yield command("error", f"no answer, and no answer is not a pass: {reason}", file=file, title=title)


def _named(result: dict[str, Any], checks: Iterable[dict[str, Any]]) -> str:
    rules = dict.fromkeys(check["rule"] for check in checks)
    return f"{', '.join(rules)} [{result['adversary']}]"


def _title(path: str, what: str) -> str:
    return f"{one_line(Path(path).name)}: {what}"


def _at_most(kind: str, commands: list[str]) -> list[str]:
    if len(commands) <= MOST:
        return commands
    shown = commands[: MOST - 1]
    return [*shown, command(kind, f"{len(commands) - len(shown)} more: see the summary and the report")]


def _read(path: Path, why: str | None) -> tuple[str, list[str]]:
    """Return the verdict and the annotations of a report file; inconclusive, where it cannot be used, and why."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["verdict"] in _VERDICTS:
            report = {**harmless_values(found), "not_run": [address(check) for check in found["not_run"]]}
            return report["verdict"], annotations(report)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError):
        pass  # what it says could quote the file; that there is no usable report is all that counts
    return "inconclusive", [command("error", why or f"no usable report at {one_line(path)}: see what pytest printed")]


def _said(path: Path | None) -> str | None:
    """Return the first line in which pytest says what was wrong, of what it wrote to its stderr; None for none."""
    try:
        lines = [] if path is None else path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    begin = "ERROR: "
    return next((harmless(line.removeprefix(begin), None) for line in lines if line.startswith(begin)), None)


def _append(variable: str, text: str) -> str | None:
    """Append text to the file that a variable names, if it does; return why that failed, or None."""
    if output := os.environ.get(variable):
        try:
            with Path(output).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            return what_failed(error)
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Print a report's annotations, tell later steps the verdict, and return 0 only where it is passed."""
    parser = HarmlessParser(prog="python -m pytest_draft.report.annotations", description=main.__doc__)
    parser.add_argument("report", type=Path, help="JSON report of a run")
    parser.add_argument("--pytest-exit", type=int, default=0, metavar="STATUS", help="how pytest ended (0)")
    parser.add_argument("--stderr", type=Path, metavar="FILE", help="what pytest wrote to its stderr")
    given = parser.parse_args(argv)
    why = None if given.report.is_file() else _said(given.stderr)
    verdict, commands = _read(given.report, why)
    if verdict == "passed" and given.pytest_exit:
        verdict = "inconclusive"
        commands.append(command("error", f"all checks passed, but pytest ended with exit status {given.pytest_exit}"))
    for line in commands:
        print(line)
    if why is not None:
        _append("GITHUB_STEP_SUMMARY", f"# ❓ Nothing was judged\n\n{escaped(why)}\n")
    if failed := _append("GITHUB_OUTPUT", f"verdict={verdict}\n"):  # without one, it must not look as if it had passed
        print(command("error", f"the verdict could not be told to later steps: {failed}"))
        return 1
    return int(verdict != "passed")


if __name__ == "__main__":
    sys.exit(main())
