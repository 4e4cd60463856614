"""The one source of all reports: in go an examination and its checks, out comes a plain JSON object.

No NaN, no row of data. A metric that is not known is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from pytest_draft.facts.entropy import Between
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.structure import AT_LEAST, StructureFacts
from pytest_draft.policy import perfect_rows, reconstruction_error
from pytest_draft.policy.ideal import rows_without_file, without_file
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import Check, verdict_of

SCHEMA_VERSION = 2
"""Of ``report.schema.json``; a report of another version is not compared with."""

_FOUND_IN: dict[str, str | Callable[[Examination], float | int | None]] = {
    "reconstruction_error": "findings.whole.error.exact",
    "original_error": "findings.original_error.exact",
    "raw_error": "findings.raw.error.exact",
    "raw_columns": "findings.raw.columns",
    "random_error": "findings.whole.random.error",
    "split_half_error": "findings.whole.split_half.error",
    "perfect_rows": "findings.whole.perfect.lower",
    "expected_perfect_rows": "findings.whole.random.perfect_rows",
    "split_half_perfect_rows": "findings.whole.split_half.perfect_rows",
    "singled_out_rows": "findings.singled_out.lower",
    "unique_rows": "findings.unique_rows",
    "worst_row_error": "findings.whole.error.worst",
    "n_rows": lambda one: one.data.rows if one.findings is None else one.findings.whole.rows,
    "known_rows": "findings.known_rows",
    "known_attributes": "findings.known_attributes",
    "rows_in_order": "findings.rows_in_order",
    "free_share": "findings.values.free_share",
    "determined_values": "findings.values.determined.number",
    "determined_error": "findings.values.determined.error",
    "free_values": "findings.values.free.number",
    "free_error": "findings.values.free.error",
    "rebuilt_rows": "findings.rebuilt_rows",
    "inlier_rows": "findings.inliers.number",
    "inlier_error": "findings.inliers.error",
    "inlier_perfect_rows": "findings.inliers.perfect_rows",
    "outlier_rows": "findings.outliers.number",
    "outlier_error": "findings.outliers.error",
    "outlier_perfect_rows": "findings.outliers.perfect_rows",
    "leak_p_value": "findings.significance.p_value",
    "leak_rank": "findings.significance.rank",
    "seen_rows": "findings.by_name.seen.rows",
    "seen_error": "findings.by_name.seen.error.exact",
    "seen_perfect_rows": "findings.by_name.seen.perfect.lower",
    "informative_columns": "findings.by_name.informative.columns",
    "informative_error": "findings.by_name.informative.error.exact",
    "informative_perfect_rows": "findings.by_name.informative.perfect.lower",
    "mostly_determined_columns": "findings.by_name.mostly_determined.columns",
    "mostly_determined_error": "findings.by_name.mostly_determined.error.exact",
    "mostly_determined_perfect_rows": "findings.by_name.mostly_determined.perfect.lower",
    "fully_determined_rows": "findings.values.determined_rows",
    "fully_determined_compared": "findings.by_name.fully_determined.rows",
    "fully_determined_error": "findings.by_name.fully_determined.error.exact",
    "fully_determined_split_half_error": "findings.by_name.fully_determined.split_half.error",
    "fully_determined_perfect_rows": "findings.by_name.fully_determined.perfect.lower",
    "certain_unique_rows": "findings.certain_unique.lower",
    "certain_unique_rows_exact": lambda one: _at(one, "findings.certain_unique.exact"),
    "error_with_labels": "findings.labelled.measure.error.exact",
    "split_half_error_with_labels": "findings.labelled.measure.split_half.error",
    "perfect_rows_with_labels": "findings.labelled.measure.perfect.lower",
    "split_half_perfect_rows_with_labels": "findings.labelled.measure.split_half.perfect_rows",
    "labels_of_perfect_rows": "findings.labelled.rows_without",
    "majority_labels_of_perfect_rows": "findings.labelled.commonest",
    "certain_rows": lambda one: _at(one, f"{_certain(one)}.lower"),
    "certain_rows_exact": lambda one: _at(one, f"{_certain(one)}.exact"),
    "certain_values": "findings.values.certain.number",
    "certain_error": "findings.values.certain.error",
    "constrained_values": "findings.values.constrained.number",
    "constrained_error": "findings.values.constrained.error",
    "proved_values": "findings.proved_values.number",
    "median_error": "findings.numeric.median.error",
    "iqr_error": "findings.numeric.attack.iqr_error",
    "close_values": "findings.numeric.attack.close_values",
    "exact_values": "findings.numeric.attack.exact_values",
    "exact_rows": "findings.numeric.attack.exact_rows",
    "rank_error": "findings.by_name.by_rank.error.exact",
    "rank_split_half_error": "findings.by_name.by_rank.split_half.error",
    "rank_perfect_rows": "findings.by_name.by_rank.perfect.lower",
    "rank_split_half_perfect_rows": "findings.by_name.by_rank.split_half.perfect_rows",
    "rank_exact_values": "findings.by_name.by_rank.exact.share",
    "rank_split_half_exact_values": "findings.by_name.by_rank.exact.split_half",
    "guaranteed_overlap": "certificate.guaranteed_vectors.lower",
    "guaranteed_overlap_exact": "certificate.guaranteed_vectors.exact",
    "unique": "certificate.unique",
    "error_without_file": lambda one: None if one.findings is None else without_file(one.findings.whole),
    "rows_without_file": lambda one: None if one.findings is None else rows_without_file(one.findings.whole),
    "given_others_error": "informed.error",
    "given_others_error_without_file": "informed.error_without_file",
    "given_others_matched_error": "informed.matched_error",
    "given_others_split_half_error": "informed.split_half_error",
    "given_others_told_values": "informed.told_values",
    "given_others_told_rows": "informed.told_rows",
    "given_others_near_values": "informed.near_values",
    "given_others_near_rows": "informed.near_rows",
    "label_told": "label_told.told.share",
    "label_told_without_rows": "label_told.told.share_without",
    "label_certain": "label_told.told.share_certain",
    "target_exact": "label_told.exact.share",
    "target_exact_without_rows": "label_told.exact.share_without",
    "entropy_reduction": "entropy.ratio.rest.lower",
    "entropy_reduction_exact": lambda one: _ends_meet(_at(one, "entropy.ratio")),
    "row_entropy_reduction": "entropy.lowest_row.rest.lower",
    "row_entropy_reduction_exact": lambda one: _ends_meet(_at(one, "entropy.lowest_row")),
    "dist": "entropy.dist",
    "residual": "residual",
    "reproduced_trees": "reproduced_trees",
}
"""Where an examination holds each metric; a metric is null where anything on the way is None."""

_WITHOUT_IT = re.compile(r".*\.(split_half\..*|random\..*|unique_rows|columns|known_.*)")
_OF_ATTACK = [
    name
    for name, path in _FOUND_IN.items()
    if isinstance(path, str) and path.startswith("findings.") and not _WITHOUT_IT.fullmatch(path)
]
"""Metrics that only an attack gives."""

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

METRICS = tuple(_FOUND_IN)
"""Names in ``metrics``, always all of them."""

Report = dict[str, Any]
"""The whole report of a run, plain."""

Result = dict[str, Any]
"""One entry of a report's ``results``."""

ReportedCheck = dict[str, Any]
"""One entry of a result's ``checks``."""

_SECTIONS = frozenset(("published", "contents", "structure", "unjudged", "places"))
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
        "column_figures": [] if examination.findings is None else [asdict(one) for one in examination.findings.columns],
        "row_errors": _row_errors(examination),
        "slices": _slices(examination),
        "published": asdict(artifact.published) if artifact.published else None,
        "contents": asdict(artifact.contents) if artifact.contents else None,
        "structure": _structure(artifact.structure),
        "leaf_sizes": _leaf_sizes(artifact.structure),
        "statistics": {name: round(value, 3) for name, value in examination.statistics.items()},
        "metrics": metrics_of(examination),
    }


def metrics_of(examination: Examination) -> dict[str, float | int | None]:
    """Return the metrics of an examination, null where unknown; an error that is only bounded is null."""
    found = {
        name: _at(examination, found_in) if isinstance(found_in, str) else found_in(examination)
        for name, found_in in _FOUND_IN.items()
    }
    return {**found, **dict.fromkeys(_OF_ATTACK)} if examination.cut_short else found


def _at(value: Any, path: str) -> Any:
    """Return what stands at the end of a path of attributes; None where something on the way is."""
    for name in path.split("."):
        if value is None:
            return None
        value = value.get(name) if isinstance(value, dict) else getattr(value, name)
    return value


def _ends_meet(bounds: Between | None) -> bool | None:
    return None if bounds is None else bounds.rest.exact is not None


def _certain(examination: Examination) -> str:
    """Return where it stands how many rows are certain."""
    return "findings.values.certain_rows" if examination.certificate is None else "certificate.certain_vectors"


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


def _baselines(examination: Examination) -> dict[str, Any]:
    findings = examination.findings
    if findings is None:
        return {}
    whole, significance, numeric = findings.whole, findings.significance, findings.numeric
    baselines: dict[str, Any] = {
        "random": {"draws": whole.random.draws, "rows": whole.random.rows},
        "split_half": {"draws": whole.split_half.draws, "rows": whole.split_half.rows},
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
