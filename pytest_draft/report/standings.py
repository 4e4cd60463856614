"""How checks stand: in go checks of a report, out comes whether they stop a model, and which results are whose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_draft.report.result import Report, ReportedCheck, Result

STANDINGS = ("failed", "inconclusive", "warning", "waived", "passed", "not applicable")
"""How checks can stand, worst first."""


def standing(check: ReportedCheck) -> str:
    """Return how a check stands, one of `STANDINGS`: one that did not pass can be waived, or be a warning only."""
    result: str = check["result"]
    if result in ("passed", "not applicable"):
        return result
    if check["waiver"] is not None:
        return "waived"
    return "warning" if check["severity"] == "warning" else result


def stops(result: Result, check: ReportedCheck) -> bool:
    """Return whether a check keeps its model from being released: an inconclusive one unless the policy allows it."""
    stands = standing(check)
    return stands == "failed" or (stands == "inconclusive" and not result["policy"].get("allow_inconclusive", False))


def unjudged(result: Result) -> bool:
    """Return whether no check that counts was made of a model, because none is applicable: so nothing is known of it.

    As of `pytest_draft.policy.verdict.verdict_of`.
    """
    counting = [check for check in result["checks"] if check["severity"] == "error" and check["waiver"] is None]
    return all(check["result"] == "not applicable" for check in counting or result["checks"])


def worst_first(report: Report) -> list[tuple[Result, ReportedCheck]]:
    """Return all checks of a report, each with the result that it belongs to, the worst first."""
    pairs = [(result, check) for result in report["results"] for check in result["checks"]]
    return sorted(pairs, key=lambda pair: STANDINGS.index(standing(pair[1])))


def by_model(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the results of each model, one for each adversary, by the model's path."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result["artifact"]["path"], []).append(result)
    return found


def file_of(artifact: dict[str, Any]) -> str:
    """Return the path of a model's file, of the facts in a result, without the place that the model's name ends in."""
    path: str = artifact["path"]
    return path if artifact.get("place") is None else path.removesuffix(f"[{artifact['place']}]")
