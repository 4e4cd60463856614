"""The one source of all reports: in go an examination and its checks, out comes a plain JSON object.

No NaN, no row of data. A metric that is not known is null.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import TOLERANCE, Baseline
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.label_told import Sensitive
from pytest_draft.facts.slices import LEAST_ROWS
from pytest_draft.facts.structure import AT_LEAST, StructureFacts
from pytest_draft.policy import perfect_rows, reconstruction_error
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import Check, verdict_of
from pytest_draft.report.schema import METRICS

SCHEMA_VERSION = 2
"""Of ``report.schema.json``; a report of another version is not compared with."""

_OF_SLICE = {
    "rebuilt_rows": "rebuilt_rows",
    "error": "error.exact",
    "random_error": "random.error",
    "split_half_error": "split_half.error",
    "perfect_rows": "perfect_rows",
    "perfect_share": "perfect_share.lower",
    "split_half_perfect_share": "split_half.perfect_share",
    "singled_out_rows": "singled_out_rows",
    "unique_rows": "unique_rows",
}
"""Where each figure of a slice that was measured stands."""

Report = dict[str, Any]
"""The whole report of a run, plain."""

Result = dict[str, Any]
"""One entry of a report's ``results``."""

ReportedCheck = dict[str, Any]
"""One entry of a result's ``checks``."""

_SECTIONS = frozenset(("published", "contents", "structure", "unjudged", "places", "beyond"))
"""What the facts on an artifact hold and a report tells in sections of their own, as one of the reasons or results."""


def result_of(examination: Examination, checks: Iterable[Check], policy: Policy, *, rows: bool = False) -> Result:
    """Return one entry of a report's ``results``.

    Parameters
    ----------
    rows : bool
        Whether single rows may be named, by index.

    Returns
    -------
    dict
    """
    case, domain, artifact = examination.case, examination.domain, examination.artifact
    checks = tuple(checks)
    decided = all(check.result != "inconclusive" for check in checks)
    settled = examination.shortfalls if decided else ()  # nothing hangs on them
    return {
        "artifact": {name: value for name, value in asdict(artifact).items() if name not in _SECTIONS},
        "adversary": case.adversary,
        "data": asdict(examination.data),
        "holdout": asdict(examination.holdout) if examination.holdout else None,
        "domain": {
            "source": domain.source if domain else None,
            "granted_to_adversary": list(domain.granted) if domain else [],
        },
        "policy": {
            "name": policy.name,
            "source": policy.source,
            "sha256": policy.sha256,
            "allow_inconclusive": policy.allow_inconclusive,
            "context": dict(policy.context),
            "rules": {rule: dict(thresholds) for rule, thresholds in policy.rules.items()},
        },
        "verdict": verdict_of((check.result, check.counts) for check in checks),
        "decided_by": None
        if examination.decided_by is None
        else {"rule": examination.decided_by, "attacker": None, "seconds": round(examination.decided_after or 0.0, 3)},
        "checks": [
            {
                "rule": check.rule,
                "result": check.result,
                "sentence": check.sentence,
                "cause": check.cause,
                "remedy": check.remedy,
                "commands": [asdict(one) for one in check.commands],
                "severity": check.severity,
                "asked_by": policy.asked_by(check.rule),
                "waiver": None
                if check.waiver is None
                else {**asdict(check.waiver), "expires": str(check.waiver.expires)},
            }
            for check in checks
        ],
        "solver_status": examination.solver_status,
        "reasons": [reason for reason in examination.reasons if reason not in settled],
        "notes": [*examination.notes, *settled],
        "seconds": round(examination.seconds, 3),
        "time_box": case.seconds,
        "effort": case.effort,
        "memory_cap": case.memory,
        "seeds": {"draft_seed": case.seed},
        "workers": case.workers,
        "cached": examination.cached,
        "retried": examination.retried,
        "versions": dict(examination.versions),
        "baselines": _baselines(examination),
        "entropy": _entropy(examination, rows),
        "limit": None if examination.doubts else _limit(examination.findings, policy),
        "ambiguity": _ambiguity(examination.findings),
        "given_all_other_rows": None if examination.informed is None else asdict(examination.informed),
        "label_told": None if examination.label_told is None else asdict(examination.label_told),
        "sensitive": [_sensitive(examination, one) for one in examination.sensitive],
        "membership": None if examination.membership is None else asdict(examination.membership),
        "column_figures": [] if examination.findings is None else [asdict(one) for one in examination.findings.columns],
        "row_errors": _row_errors(examination),
        "slices": _slices(examination),
        "published": asdict(artifact.published) if artifact.published else None,
        "contents": asdict(artifact.contents) if artifact.contents else None,
        "structure": _structure(artifact.structure),
        "leaf_sizes": _leaf_sizes(artifact.structure),
        "statistics": {name: round(value, 3) for name, value in examination.statistics.items()},
        "metrics": metrics_of(examination),
        **({} if examination.together is None else {"together": _together(examination.together)}),
    }


def _together(found: Examination) -> dict[str, Any]:
    """Return what all files of a set tell, and what of the people who are not in all of them."""
    parts = {"": found} | {whose: one for whose, one in found.apart.items() if (one.data.rows or 0) >= LEAST_ROWS}
    told = [{"whose": whose, "people": one.data.rows, **_told(one)} for whose, one in parts.items()]
    return {"files": dict(found.files), "people": found.data.rows, "reasons": list(found.reasons), "told": told}


def _told(found: Examination) -> dict[str, Any]:
    return {
        "given_all_other_rows": None if found.informed is None else asdict(found.informed),
        "label_told": None if found.label_told is None else asdict(found.label_told),
        "membership": None if found.membership is None else asdict(found.membership),
    }


def metrics_of(examination: Examination) -> dict[str, float | int | None]:
    """Return the metrics of an examination, null where unknown; an error that is only bounded is null."""
    found = {name: _at(examination, one.found_in) for name, one in METRICS.items()}
    if examination.cut_short:
        found |= {name: None for name, one in METRICS.items() if one.of_attack}
    return found


def _at(value: Any, paths: str) -> Any:
    """Return what stands at the end of the first path of attributes that leads to anything; None where none does."""
    for path in paths.split(" or "):
        found = value
        for name in path.split("."):
            if found is not None:
                found = found.get(name) if isinstance(found, dict) else getattr(found, name)
        if found is not None:
            return found
    return None


def _structure(structure: StructureFacts | None) -> dict[str, Any] | None:
    """Return what stands behind the leaves but for their sizes, which have a section of their own."""
    if structure is None:
        return None
    return {
        "what": structure.what,
        "number": structure.leaves,
        "smallest": structure.smallest,
        "median_smallest_of_a_tree": structure.median_smallest,
        "rows_alone_bounds": list(structure.alone_rows),
        "share_alone_bounds": [structure.alone.lower, structure.alone.upper],
        "share_disclosed_class_bounds": [structure.disclosed_class.lower, structure.disclosed_class.upper],
    }


def _leaf_sizes(structure: StructureFacts | None) -> dict[str, list[int]] | None:
    return None if structure is None else {"at_least": list(AT_LEAST), "leaves": list(structure.sizes)}


def _entropy(examination: Examination, rows: bool) -> dict[str, Any]:
    """Return the entropy audit; its most exposed rows only where rows may be named."""
    entropy = examination.entropy
    if entropy is None:
        return {"not_audited": examination.not_audited}
    said: dict[str, Any] = {
        "bits": entropy.bits,
        "ratio_bounds": [entropy.ratio.lower, entropy.ratio.upper],
        "lowest_row_ratio_bounds": [entropy.lowest_row.lower, entropy.lowest_row.upper],
        "rows_measured_on": entropy.measured_on,
        "row_ratio_quantiles": list(entropy.quantiles),
        "groups": [asdict(group) for group in entropy.groups],
        "reasons": list(entropy.reasons),
    }
    if entropy.trees is not None:
        lowest, mean, highest = entropy.trees
        said["trees"] = {"lowest": lowest, "mean": mean, "highest": highest, "examined": entropy.examined}
    if rows:
        said["most_exposed_rows"] = list(entropy.most_exposed)
    return said


def _limit(findings: Findings | None, policy: Policy) -> dict[str, float] | None:
    """Return what no attacker betters on the whole, by which it is judged; None where that is not known."""
    if findings is None:
        return None
    whole, rules = findings.whole, policy.rules
    error = reconstruction_error.limit(whole, rules.get(reconstruction_error.RULE.id, {}))
    rows = perfect_rows.limit(whole, rules.get(perfect_rows.RULE.id, {}))
    if error is None or rows is None:
        return None
    return {"least_error": error, "most_perfect_rows": min(rows, float(whole.rows))}


def _ambiguity(findings: Findings | None) -> dict[str, Any] | None:
    """Return what other datasets explain the file as well, and what the best possible guess gets of each part."""
    if findings is None or findings.ambiguity is None:
        return None
    ideal = [
        {"on": part.on, "scale": part.scale, **asdict(part.ideal)}
        for part in findings.measures
        if part.ideal is not None
    ]
    return {**asdict(findings.ambiguity), "ideal": ideal}


def _row_errors(examination: Examination) -> dict[str, Any] | None:
    findings = examination.findings
    if findings is None or findings.row_errors is None:
        return None
    return {"quantiles": list(findings.row_errors)}


def _slices(examination: Examination) -> list[dict[str, Any]]:
    """Return the figures of the slices that the policy names; null where a slice has too few rows."""
    figures = () if examination.findings is None else [one for one in examination.findings.slices if not one.on]
    return [
        {"name": one.name, "rows": one.rows, **{name: _at(one.measured, path) for name, path in _OF_SLICE.items()}}
        for one in figures
    ]


def _drawn(baseline: Baseline) -> dict[str, Any]:
    """Return how often a baseline was drawn, and between what its draws lay."""
    kept = asdict(baseline)
    return {name: kept[name] for name in ("draws", "rows", "error_range", "perfect_range")}


def _sensitive(examination: Examination, one: Sensitive) -> dict[str, Any]:
    """Return what is told of a sensitive column, and what of it to somebody who knows all other rows."""
    given_others = None if examination.informed is None else examination.informed.column(one.attributes)
    return {**asdict(one), "given_all_other_rows": None if given_others is None else asdict(given_others)}


def _baselines(examination: Examination) -> dict[str, Any]:
    findings = examination.findings
    if findings is None:
        return {}
    whole, significance, numeric = findings.whole, findings.significance, findings.numeric
    baselines: dict[str, Any] = {
        "random": _drawn(whole.random),
        "split_half": _drawn(whole.split_half),
        "identity": findings.identity.status,
        "holdout": asdict(significance) if significance else None,
    }
    if examination.cut_short:
        return baselines
    baselines["reconstruction_error_bounds"] = [whole.error.lower, whole.error.upper]
    baselines["original_error_bounds"] = [findings.original_error.lower, findings.original_error.upper]
    if findings.raw is not None:
        baselines["raw_error_bounds"] = [findings.raw.error.lower, findings.raw.error.upper]
    if findings.proved_values is not None:
        baselines["proved_values"] = asdict(findings.proved_values)
    if not whole.perfect.exact:
        baselines["perfect_rows_bounds"] = [whole.perfect.lower, whole.perfect.upper]
    if numeric is not None:
        baselines["numeric"] = asdict(numeric) | {
            "tolerance": TOLERANCE,
            "beyond_random": asdict(numeric.attack.beyond(numeric.random)),
            "beyond_median": asdict(numeric.attack.beyond(numeric.median)),
        }
    return baselines
