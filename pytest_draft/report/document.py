"""The whole report: in go the results of a run, out comes one plain object."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pytest_draft.facts.examination import EVERY_RULE
from pytest_draft.policy.rule import Verdict
from pytest_draft.policy.rules import known_rule
from pytest_draft.policy.verdict import overall, verdict_of
from pytest_draft.report.evidence_lines import evidence
from pytest_draft.report.result import SCHEMA_VERSION, Report, ReportedCheck, Result
from pytest_draft.report.standings import file_of


def merged(results: Iterable[Result]) -> list[Result]:
    """Join the checks of results that are about the same artifact, adversary and data."""
    made = MergedResults()
    for result in results:
        made.add(result)
    return made.results()


class MergedResults:
    """Results that come one by one, with the checks of those that are about the same joined; only the first is kept."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, str, str, bool, str], Result] = {}
        self._known: dict[tuple[str, str, str, bool, str], set[tuple[str, str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._results)

    def add(self, result: Result) -> None:
        """Take over the checks of a result, and all of it where it is the first about its file, adversary and data."""
        asked = result["solver_status"] != "not asked"  # with an attack, metrics are others
        artifact, data = result["artifact"], result["data"]
        hashes = f"{artifact['sha256']} {data['sha256']}"
        key = (artifact["path"], result["adversary"], data["path"] or "", asked, hashes)
        if key not in self._results:
            self._results[key], self._known[key] = {**result, "checks": []}, set()
        known = self._known[key]
        for check in result["checks"]:
            if (name := (check["item"], check["rule"])) not in known:
                known.add(name)
                self._results[key]["checks"].append(check)

    def results(self) -> list[Result]:
        """Return the results, sorted, each with its checks in order and its verdict."""
        for result in self._results.values():
            order = {rule: number for number, rule in enumerate(result["policy"]["rules"])}
            result["checks"].sort(
                key=lambda check, order=order: (
                    check["item"].partition("::")[0],
                    order.get(check["rule"], len(order)),
                    check["item"],
                )
            )
            result["verdict"] = _verdict(result)
            result["decided_by"] = _decided_by(result)
        return [self._results[key] for key in sorted(self._results)]


def undecide_partial(results: Sequence[Result], missing: Collection[tuple[str, str]], items: Collection[str]) -> None:
    """Let no file pass of which planned checks did not run.

    Parameters
    ----------
    results : sequence of dict
        As `merged` returns them. Those that passed are inconclusive afterwards.
    missing : collection of tuple of str
        The file and the adversary of each check that did not run.
    items : collection of str
        Addresses of the planned checks that ran; a project's own tests are judged by themselves.
    """
    for result in results:
        planned = any(check["item"] in items for check in result["checks"])
        if planned and result["verdict"] == "passed" and (file_of(result["artifact"]), result["adversary"]) in missing:
            result.update(verdict="inconclusive", decided_by=None)


def undecide_changed(results: Sequence[Result], items: Collection[str]) -> list[str]:
    """Let nothing pass that was judged of a file while that file, or a table beside it, became another one.

    Parameters
    ----------
    results : sequence of dict
        As `merged` returns them. Their checks that said nothing against such a file are inconclusive afterwards.
    items : collection of str
        Addresses of the checks that are all about one file of a name; a project's own tests may write it anew.

    Returns
    -------
    list of str
        The paths of these files.
    """
    seen: dict[str, set[str]] = {}
    for result in results:
        for file in _files(result) if any(check["item"] in items for check in result["checks"]) else ():
            seen.setdefault(file["path"], set()).add(file["sha256"])
    changed = {path for path, hashes in seen.items() if len(hashes) > 1}
    for result in results:
        if any(file["path"] in changed for file in _files(result)):
            for check in result["checks"]:
                if check["item"] in items and check["result"] in ("passed", "not applicable"):
                    check.update(result="inconclusive", sentence=_CHANGED, cause=None, remedy=None, commands=[])
            result["verdict"] = _verdict(result)
            result["decided_by"] = _decided_by(result)
    return sorted(changed)


_CHANGED = "a file changed while it was judged, so some checks are of another one: judge again what is there now"


def _files(result: Result) -> list[dict[str, Any]]:
    """Return the files of a result whose content is known, a model's without its place."""
    artifact = {**result["artifact"], "path": file_of(result["artifact"])}
    return [
        file
        for file in (artifact, result["data"], result["holdout"])
        if file is not None and file["path"] and file["sha256"]
    ]


def _verdict(result: Result) -> Verdict:
    return verdict_of((check["result"], _counts(check)) for check in result["checks"])


def _counts(check: ReportedCheck) -> bool:
    return check["severity"] == "error" and check["waiver"] is None


def _decided_by(result: Result) -> dict[str, Any] | None:
    """Return which rule decides a verdict, who gets what it judges, and when that was certain; None for no verdict."""
    if result["verdict"] == "inconclusive":
        return None
    early = result["decided_by"] or {}
    rule = EVERY_RULE
    if result["verdict"] == "failed":
        failed = [one["rule"] for one in result["checks"] if one["result"] == "failed" and _counts(one)]
        rule = early["rule"] if early.get("rule") in failed else failed[0]
    known = known_rule(rule)
    return {
        "rule": rule,
        "attacker": None if known is None else known.attacker,
        "seconds": early["seconds"] if early.get("rule") == rule else result["seconds"],
    }


def document(
    results: Sequence[Result],
    not_run: Sequence[str],
    version: str | None,
    controls: Sequence[Mapping[str, Any]] = (),
    **run: Any,
) -> Report:
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
    controls : sequence of dict
        What came out of files of which it is known what must.
    **run
        ``judged_at`` and ``run``, as in the schema.

    Returns
    -------
    dict
    """
    verdicts = [result["verdict"] for result in results]
    if not_run:
        verdicts.append("inconclusive")
    report = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "pytest-draft", "version": version},
        "verdict": overall(verdicts),
        "not_run": list(not_run),
        "results": list(results),
        **({"controls": list(controls)} if controls else {}),
        **run,
    }
    return {**report, "results": [{**result, "evidence": evidence(result, report)} for result in results]}
