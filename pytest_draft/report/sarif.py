"""Findings for code scanning: in goes a plain report, out comes SARIF 2.1.0, or GitLab's Code Quality report.

GitHub reads a part of the format only, and no ``kind``: every result becomes an alert, passed ones too. So

- passed checks are no results; that all rules ran is told by the rules and the invocation;
- checks that are not applicable are of kind ``notApplicable`` and of no level; their reason is all that they say;
- failed checks are of kind ``fail`` and of the level of their severity; waived ones are suppressed, with the reason;
- inconclusive checks are of kind ``open`` (there was too little information to decide), to which the format gives no
  level: GitHub then takes the rule's own, which is that of the severity, as what could not be judged does not pass.

A result's fingerprint holds the model file's hash. An alert that somebody has dismissed stays so for this file alone,
and the next file's leak is a new one.

`gitlab` has these findings too, and what did not run; not applicable ones only where nothing is known of the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from pytest_draft.foreign_text import harmless, harmless_values
from pytest_draft.policy.rule import Rule
from pytest_draft.policy.rules import RULES, known_rule
from pytest_draft.report.json_report import indented
from pytest_draft.report.result import Report, ReportedCheck, Result
from pytest_draft.report.sentences import waived
from pytest_draft.report.standings import file_of, standing, unjudged, worst_first

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_KINDS = {"failed": "fail", "inconclusive": "open", "not applicable": "notApplicable"}
_SEVERITIES = {"failed": "blocker", "warning": "minor", "waived": "info"}


def render(report: Report) -> str:
    """Return the text of a SARIF log with one run."""
    return indented({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report)]})


def gitlab(report: Report) -> str:
    """Return the text of a Code Quality report: a list, the worst first."""
    found = [
        (file_of(result["artifact"]), check["rule"], _message(result, check), stands, _identity(result, check))
        for result, check in worst_first(report)
        if (stands := standing(check)) != "passed" and (stands != "not applicable" or unjudged(result))
    ]
    for item in report["not_run"]:
        found.append((item.partition("::")[0], "not-run", f"planned, but not run: {item}", "not run", item))
    degradations = [
        {
            "description": said,
            "check_name": rule,
            "fingerprint": hashlib.sha256(identity.encode()).hexdigest(),
            "severity": _SEVERITIES.get(stands, "critical"),
            "location": {"path": path, "lines": {"begin": 1}},
        }
        for path, rule, said, stands, identity in found
    ]
    return indented(harmless_values(degradations))


def _run(report: Report) -> dict[str, Any]:
    found = [check for result in report["results"] for check in result["checks"]]
    rules = list(dict.fromkeys([*RULES, *(check["rule"] for check in found)]))
    artifacts: dict[str, dict[str, Any]] = {}
    for result in report["results"]:
        artifacts.setdefault(file_of(result["artifact"]), _artifact(result["artifact"]))
    paths = list(artifacts)
    policies = sorted({result["policy"]["name"] for result in report["results"]})
    driver = {"name": report["tool"]["name"], "rules": [_descriptor(rule, _level(rule, found)) for rule in rules]}
    if report["tool"]["version"]:
        driver["version"] = report["tool"]["version"]
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": "/".join(["pytest-draft", *(quote(name, safe="") for name in policies), ""])},
        "invocations": [_invocation(report)],
        "artifacts": list(artifacts.values()),
        "results": [
            _result(result, check, rules.index(check["rule"]), paths.index(file_of(result["artifact"])))
            for result in report["results"]
            for check in result["checks"]
            if check["result"] != "passed"
        ],
    }


def _level(rule: str, checks: Sequence[ReportedCheck]) -> str:
    """Return the gravest severity of a rule's checks; where there are none, the rule's own."""
    severities = {check["severity"] for check in checks if check["rule"] == rule}
    if not severities:
        return RULES[rule].severity
    return "error" if "error" in severities else "warning"


def _descriptor(rule: str, level: str) -> dict[str, Any]:
    """Return what a rule is about, in words; of one that is not known here, its id."""
    title = rule.replace("-", " ").capitalize()
    said: dict[str, Any] = {
        "id": rule,
        "name": "".join(part.capitalize() for part in rule.split("-")),
        "shortDescription": {"text": _plain(title)},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["privacy"]},
    }
    known = known_rule(rule)
    if known is not None:
        said["fullDescription"] = {"text": _plain(known.rationale)}
        said["help"] = {"text": _plain(_help(known)), "markdown": _plain(_help(known, "- ", "`{}`"))}
    return said


def _help(rule: Rule[Any], bullet: str = "", name: str = "{}") -> str:
    lines = [rule.rationale, ""]
    lines += [f"{bullet}{name.format(key)}: {about.help}" for key, about in rule.keys.items()]
    lines += [""] * bool(rule.keys)
    lines.append(f"What to do: {rule.remedy or 'the message says it, as it depends on the model'}.")
    return "\n".join(lines)


def _artifact(artifact: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"location": {"uri": _uri(file_of(artifact))}, "roles": ["analysisTarget"]}
    if artifact["size"] is not None:
        said["length"] = artifact["size"]
    if artifact["sha256"]:
        said["hashes"] = {"sha-256": artifact["sha256"]}
    return said


def _invocation(report: Report) -> dict[str, Any]:
    said: dict[str, Any] = {"executionSuccessful": not report["not_run"]}
    if report.get("judged_at"):
        said["endTimeUtc"] = report["judged_at"]
    if report["not_run"]:
        said["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": _plain(f"planned, but not run: {harmless(address)}")}}
            for address in report["not_run"]
        ]
    return said


def _result(result: Result, check: ReportedCheck, rule: int, artifact: int) -> dict[str, Any]:
    facts = result["artifact"]
    identity = hashlib.sha256(_identity(result, check).encode()).hexdigest()
    said: dict[str, Any] = {
        "ruleId": check["rule"],
        "ruleIndex": rule,
        "kind": _KINDS[check["result"]],
        "message": {"text": _plain(_message(result, check))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(file_of(facts)), "index": artifact},
                    "region": {"startLine": 1},  # of a binary file there are none, but GitHub asks for one
                },
                "logicalLocations": [{"fullyQualifiedName": check["item"]}],
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": f"{identity}:1"},
    }
    if check["result"] != "inconclusive":
        said["level"] = check["severity"] if check["result"] == "failed" else "none"
    if (by := waived(check)) is not None:
        said["suppressions"] = [{"kind": "external", "status": "accepted", "justification": by}]
    return said


def _identity(result: Result, check: ReportedCheck) -> str:
    facts = result["artifact"]
    place = [facts["place"]] if facts.get("place") else []
    return json.dumps([check["rule"], result["adversary"], check["item"], facts["sha256"], *place])


def _message(result: Result, check: ReportedCheck) -> str:
    parts = [f"{check['result']}, adversary {result['adversary']}: {check['sentence']}."]
    parts += [f"Cause: {check['cause']}."] * bool(check["cause"])
    parts += [f"What to do: {check['remedy']}."] * bool(check["remedy"])
    return " ".join(map(harmless, parts))


def _plain(text: str) -> str:
    """Return a text without what a viewer would take for a placeholder or a link (SARIF 2.1.0, 3.11.5 and 3.11.6)."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _uri(path: str) -> str:
    """Return the URI of a file: relative to the root of the checkout, where the report names it so."""
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(path).is_absolute():
            return kind(path).as_uri()
    return quote(path, errors="surrogateescape")
