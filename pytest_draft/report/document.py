"""The whole report: in go the results of a run, out comes one plain object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_draft.policy.verdict import overall, verdict_of
from pytest_draft.report.result import SCHEMA_VERSION, Report, Result


def merged(results: Iterable[Result]) -> list[Result]:
    """Join the checks of results that are about the same artifact, adversary and data."""
    joined: dict[tuple[str, str, str | None, bool], Result] = {}
    for result in results:
        asked = result["solver_status"] != "not asked"  # with an attack, metrics are others
        key = (result["artifact"]["path"], result["adversary"], result["data"]["path"], asked)
        if key in joined:
            known = {(check["item"], check["rule"]) for check in joined[key]["checks"]}
            fresh = [check for check in result["checks"] if (check["item"], check["rule"]) not in known]
            joined[key]["checks"].extend(fresh)
        else:
            joined[key] = {**result, "checks": list(result["checks"])}
    for result in joined.values():
        rules = list(result["policy"]["rules"])
        result["checks"].sort(
            key=lambda check: (
                check["item"].partition("::")[0],
                rules.index(check["rule"]) if check["rule"] in rules else len(rules),
                check["item"],
            )
        )
        result["verdict"] = verdict_of(
            (check["result"], check["severity"] == "error" and check["waiver"] is None) for check in result["checks"]
        )
    return [joined[key] for key in sorted(joined, key=lambda key: (key[0], key[1], key[2] or "", key[3]))]


def document(results: Sequence[Result], not_run: Sequence[str], version: str | None) -> Report:
    """Return the report of a run.

    Parameters
    ----------
    results : sequence of dict
        As `merged` returns them.
    not_run : sequence of str
        Addresses of planned checks that were deselected, skipped or not reached; any of them makes the
        verdict inconclusive.
    version : str or None
        Of this plugin.

    Returns
    -------
    dict
    """
    verdicts = [result["verdict"] for result in results]
    if not_run:
        verdicts.append("inconclusive")
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "pytest-draft", "version": version},
        "verdict": overall(verdicts),
        "not_run": list(not_run),
        "results": list(results),
    }
