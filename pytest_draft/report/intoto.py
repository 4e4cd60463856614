"""The attestation: in goes a plain report, out comes the text of an in-toto predicate or statement.

`render` gives the test-result predicate alone, of type `PREDICATE_TYPE`, as ``actions/attest`` takes it by
``predicate-type`` and ``predicate-path``; the subject of the attestation, by ``subject-digest``, is the model file that
was judged. `attested` checks both.

How three outcomes become the predicate's:

- passed: in ``passedTests``.
- failed: in ``failedTests``; waived by the policy, or a warning under it: in ``warnedTests``.
- inconclusive: in ``failedTests``, because what could not be judged is not known to be safe; where the policy allows
  inconclusive checks: in ``warnedTests``.
- not applicable to the model: in ``notApplicableTests``, a field of our own, which a verifier may ignore: it is no pass
  of its own. Of a model of which no check that counts is applicable, they are taken for inconclusive.
- planned but not run: in ``failedTests``, whatever the policy allows: an attestation is read as saying that all ran.

``judgedAt`` is a field of our own, too: when the run ended. ``url`` is where it can be seen, as a CI system says.

``result`` is ``FAILED`` with any failed test or without any test at all, else ``WARNED`` with any warned one, else
``PASSED``. The configuration names what was judged by its hash: a verifier compares the model's with the subject's.

`svr` gives a statement on the model files with a Simple Verification Result. Its properties are read as passes of all
of them: none unless the verdict is passed, then ``PASSED`` or ``WARNED`` as above, and each rule that all have passed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from pytest_draft.foreign_text import harmless_values
from pytest_draft.report.canonical import HASH
from pytest_draft.report.json_report import indented
from pytest_draft.report.result import Report, Result
from pytest_draft.report.standings import by_model, standing, stops, unjudged


def render(report: Report) -> str:
    """Return the text of the predicate."""
    return indented(predicate(report))


def svr(report: Report) -> str:
    """Return the text of the statement with the verification result."""
    tested = predicate(report)
    tool, *judged = tested["configuration"]
    of = {role: [one for one in judged if one["annotations"]["role"] == role] for role in ("model", "policy")}
    passed = report["verdict"] == "passed" and tested["result"] != "FAILED" and of["model"]
    held = set.intersection(*map(_held, by_model(report["results"]).values())) | {tested["result"]} if passed else ()
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": one["name"], "digest": one["digest"]} for one in of["model"]],
        "predicateType": "https://in-toto.io/attestation/svr/v0.2",
        "predicate": {
            "verifier": {"id": tool["uri"], "policies": of["policy"]},
            **({"timeCreated": report["judged_at"]} if report.get("judged_at") else {}),
            "properties": [f"PYTEST_DRAFT_{name}" for name in sorted(held)],
        },
    }
    return indented(harmless_values(statement))


def _held(results: list[Result]) -> set[str]:
    """Return the rules, with the adversary, that a model has passed by all its checks."""
    checks = [(f"{check['rule']}[{of['adversary']}]", check["result"]) for of in results for check in of["checks"]]
    return {name for name, _ in checks} - {name for name, result in checks if result != "passed"}


def predicate(report: Report) -> dict[str, Any]:
    """Return the predicate as a plain object."""
    passed: list[str] = []
    warned: list[str] = []
    failed: list[str] = list(report["not_run"])
    left_out: list[str] = []
    for result in report["results"]:
        for check in result["checks"]:
            name = _name(check, result["adversary"])
            if stops(result, check):
                failed.append(name)
            elif standing(check) == "not applicable":
                open_ = warned if result["policy"].get("allow_inconclusive", False) else failed
                (open_ if unjudged(result) else left_out).append(name)
            else:
                (passed if standing(check) == "passed" else warned).append(name)
    verdict = "PASSED"
    if failed or not (passed or warned):
        verdict = "FAILED"
    elif warned:
        verdict = "WARNED"
    return {
        "result": verdict,
        "configuration": _configuration(report),
        "passedTests": passed,
        "warnedTests": warned,
        "failedTests": failed,
        **({"notApplicableTests": left_out} if left_out else {}),
        **({"judgedAt": report["judged_at"]} if report.get("judged_at") else {}),
        **({"url": report["run"]["address"]} if report.get("run", {}).get("address") else {}),
    }


def _name(check: dict[str, Any], adversary: str) -> str:
    """Return a test's name: its address, with the rule and the adversary where the address does not end in them."""
    said = f"{check['rule']}[{adversary}]"
    return check["item"] if check["item"].endswith(said) else f"{check['item']}::{said}"


def _configuration(report: Report) -> list[dict[str, Any]]:
    """Return the resource descriptors of what went in, each once, and of the whole report.

    Of the training data no hash: attestations are published, and somebody who knows all rows but one could check each
    guess of that one by it. The report has it, by whose hash its owner shows later which data these were.
    """
    tool = report["tool"]
    version = f"@{tool['version']}" if tool["version"] else ""
    found: list[dict[str, Any]] = [{"name": tool["name"], "uri": f"pkg:pypi/{tool['name']}{version}"}]
    for result in report["results"]:
        model = result["artifact"]
        if model["sha256"]:
            found.append(_descriptor(model["path"], model["sha256"], "model"))
        found.append(_policy(result["policy"]))
    if report.get(HASH):
        found.append(_descriptor(HASH, report[HASH], "report"))
    return list({json.dumps(descriptor): descriptor for descriptor in found}.values())


def _descriptor(name: str, sha256: str, role: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}, "annotations": {"role": role}}


def _policy(policy: dict[str, Any]) -> dict[str, Any]:
    """Return the thresholds in force, whole, and the hash of their file: one of the policy's name can hold others."""
    content = json.dumps(policy["rules"], sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    file = {} if policy["sha256"] is None else {"file_sha256": policy["sha256"]}
    return {
        "name": policy["name"],
        "digest": {"sha256": hashlib.sha256(content).hexdigest()},
        "content": base64.b64encode(content).decode("ascii"),
        "mediaType": "application/json",
        "annotations": {"role": "policy", **file},
    }
