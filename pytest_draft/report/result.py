"""The one source of all reports: in go an examination and its checks, out comes a plain JSON object.

No NaN, no row of data. A metric that is not known is null.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.structure import AT_LEAST, StructureFacts
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import Check, verdict_of

SCHEMA_VERSION = 2
"""Of ``report.schema.json``; a report of another version is not compared with."""

METRICS = (
    "reconstruction_error",
    "original_error",
    "raw_error",
    "raw_columns",
    "random_error",
    "split_half_error",
    "perfect_rows",
    "expected_perfect_rows",
    "split_half_perfect_rows",
    "singled_out_rows",
    "unique_rows",
    "worst_row_error",
    "n_rows",
    "known_rows",
    "known_attributes",
    "rows_in_order",
    "free_share",
    "determined_values",
    "determined_error",
    "free_values",
    "free_error",
    "rebuilt_rows",
    "inlier_rows",
    "inlier_error",
    "inlier_perfect_rows",
    "outlier_rows",
    "outlier_error",
    "outlier_perfect_rows",
    "leak_p_value",
    "leak_rank",
    "seen_rows",
    "seen_error",
    "seen_perfect_rows",
    "informative_columns",
    "informative_error",
    "informative_perfect_rows",
    "mostly_determined_columns",
    "mostly_determined_error",
    "mostly_determined_perfect_rows",
    "fully_determined_rows",
    "fully_determined_compared",
    "fully_determined_error",
    "fully_determined_split_half_error",
    "fully_determined_perfect_rows",
    "certain_unique_rows",
    "certain_unique_rows_exact",
    "error_with_labels",
    "split_half_error_with_labels",
    "perfect_rows_with_labels",
    "split_half_perfect_rows_with_labels",
    "labels_of_perfect_rows",
    "majority_labels_of_perfect_rows",
    "certain_rows",
    "certain_rows_exact",
    "certain_values",
    "certain_error",
    "constrained_values",
    "constrained_error",
    "proved_values",
    "median_error",
    "iqr_error",
    "close_values",
    "exact_values",
    "exact_rows",
    "rank_error",
    "rank_split_half_error",
    "rank_perfect_rows",
    "rank_split_half_perfect_rows",
    "rank_exact_values",
    "rank_split_half_exact_values",
    "guaranteed_overlap",
    "guaranteed_overlap_exact",
    "unique",
    "given_others_error",
    "given_others_error_without_file",
    "given_others_matched_error",
    "given_others_split_half_error",
    "given_others_told_values",
    "given_others_told_rows",
    "given_others_near_values",
    "given_others_near_rows",
    "entropy_reduction",
    "entropy_reduction_exact",
    "row_entropy_reduction",
    "row_entropy_reduction_exact",
    "dist",
    "residual",
    "reproduced_trees",
)
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
    examination : Examination
    checks : iterable of Check
    policy : Policy
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
        "checks": [
            {
                "rule": check.rule,
                "result": check.result,
                "sentence": check.sentence,
                "cause": check.cause,
                "remedy": check.remedy,
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
        "ambiguity": _ambiguity(examination.findings),
        "given_all_other_rows": None if examination.informed is None else asdict(examination.informed),
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
    metrics: dict[str, float | int | None] = dict.fromkeys(METRICS)
    metrics["n_rows"] = examination.data.rows
    metrics["residual"] = examination.residual
    metrics["reproduced_trees"] = examination.reproduced_trees
    if (proved := examination.certificate) is not None:
        metrics.update(
            certain_rows=proved.certain_vectors.lower,
            certain_rows_exact=proved.certain_vectors.exact,
            guaranteed_overlap=proved.guaranteed_vectors.lower,
            guaranteed_overlap_exact=proved.guaranteed_vectors.exact,
            unique=proved.unique,
        )
    if (entropy := examination.entropy) is not None:
        gone, of_a_row = entropy.ratio.rest, entropy.lowest_row.rest
        metrics.update(
            entropy_reduction=gone.lower,
            entropy_reduction_exact=gone.exact is not None,
            row_entropy_reduction=of_a_row.lower,
            row_entropy_reduction_exact=of_a_row.exact is not None,
            dist=entropy.dist,
        )
    if (informed := examination.informed) is not None:
        metrics.update(
            given_others_error=informed.error,
            given_others_error_without_file=informed.error_without_file,
            given_others_matched_error=informed.matched_error,
            given_others_split_half_error=informed.split_half_error,
            given_others_told_values=informed.told_values,
            given_others_told_rows=informed.told_rows,
            given_others_near_values=informed.near_values,
            given_others_near_rows=informed.near_rows,
        )
    findings = examination.findings
    if findings is None:
        return metrics
    metrics.update(
        reconstruction_error=findings.error.exact,
        original_error=findings.original_error.exact,
        random_error=findings.random.error,
        split_half_error=findings.split_half.error,
        perfect_rows=findings.perfect_rows,
        expected_perfect_rows=findings.random.perfect_rows,
        split_half_perfect_rows=findings.split_half.perfect_rows,
        singled_out_rows=findings.singled_out_rows,
        unique_rows=findings.unique_rows,
        worst_row_error=findings.error.worst,
        n_rows=findings.n_rows,
        known_rows=findings.known_rows,
        known_attributes=findings.known_attributes,
        rows_in_order=findings.rows_in_order,
        free_share=findings.free_share,
        determined_values=findings.determined.number,
        determined_error=findings.determined.error,
        free_values=findings.free.number,
        free_error=findings.free.error,
        rebuilt_rows=findings.rebuilt_rows,
    )
    for name, some in (("inlier", findings.inliers), ("outlier", findings.outliers)):
        if some is not None:
            metrics[f"{name}_rows"] = some.number
            metrics[f"{name}_error"] = some.error
            metrics[f"{name}_perfect_rows"] = some.perfect_rows
    if (raw := findings.raw) is not None:
        metrics.update(raw_error=raw.error.exact, raw_columns=raw.columns)
    if (significance := findings.significance) is not None:
        metrics.update(leak_p_value=significance.p_value, leak_rank=significance.rank)
    if (seen := findings.seen) is not None:
        metrics.update(seen_rows=seen.n_rows, seen_error=seen.error.exact, seen_perfect_rows=seen.perfect_rows)
    metrics.update(_of_values(findings))
    if findings.certain_rows is not None and proved is None:
        metrics.update(certain_rows=findings.certain_rows, certain_rows_exact=findings.certain_rows == findings.n_rows)
    for name, part in (("informative", findings.informative), ("mostly_determined", findings.mostly_determined)):
        if part is not None:
            metrics[f"{name}_columns"] = part.columns
            metrics[f"{name}_error"] = part.error.exact
            metrics[f"{name}_perfect_rows"] = part.perfect_rows
    metrics.update(_of_rows(findings))
    return metrics


def _of_rows(findings: Findings) -> dict[str, float | int | None]:
    """Return the metrics on rows that are known to be rebuilt, and on rows with their labels."""
    metrics: dict[str, float | int | None] = {
        "fully_determined_rows": findings.fully_determined_rows,
        "certain_unique_rows": findings.certain_unique_rows,
    }
    if findings.certain_unique_rows is not None:
        metrics["certain_unique_rows_exact"] = findings.most_certain_unique_rows is None
    if (part := findings.fully_determined) is not None:
        metrics |= {
            "fully_determined_compared": part.n_rows,
            "fully_determined_error": part.error.exact,
            "fully_determined_split_half_error": part.split_half.error,
            "fully_determined_perfect_rows": part.perfect_rows,
        }
    if (labelled := findings.labelled) is not None:
        metrics |= {
            "error_with_labels": labelled.error.exact,
            "split_half_error_with_labels": labelled.split_half.error,
            "perfect_rows_with_labels": labelled.perfect_rows,
            "split_half_perfect_rows_with_labels": labelled.split_half.perfect_rows,
            "labels_of_perfect_rows": labelled.rows_without,
            "majority_labels_of_perfect_rows": labelled.commonest,
        }
    return metrics


def _of_values(findings: Findings) -> dict[str, float | int | None]:
    """Return the metrics that are only known where values are proved one by one, or some column is numeric."""
    metrics: dict[str, float | int | None] = {}
    for name, values in (("certain", findings.certain), ("constrained", findings.constrained)):
        if values is not None:
            metrics |= {f"{name}_values": values.number, f"{name}_error": values.error}
    if findings.proved_values is not None:
        metrics["proved_values"] = findings.proved_values.number
    if (numeric := findings.numeric) is not None:
        attack = numeric.attack
        metrics |= {
            "median_error": numeric.median.error,
            "iqr_error": attack.iqr_error,
            "close_values": attack.close_values,
            "exact_values": attack.exact_values,
            "exact_rows": attack.exact_rows,
        }
    for part in [part for part in findings.rescaled if part.scale == "rank"][:1]:  # the first one is the whole
        metrics |= {
            "rank_error": part.error.exact,
            "rank_split_half_error": part.split_half.error,
            "rank_perfect_rows": part.perfect_rows,
            "rank_split_half_perfect_rows": part.split_half.perfect_rows,
            "rank_exact_values": None if part.exact is None else part.exact.share,
            "rank_split_half_exact_values": None if part.exact is None else part.exact.split_half,
        }
    return metrics


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


def _ambiguity(findings: Findings | None) -> dict[str, Any] | None:
    """Return what other datasets explain the file as well, and what the best possible guess gets of each part."""
    if findings is None or findings.ambiguity is None:
        return None
    ideal = [
        {"on": part.on, "scale": part.scale, "rows": part.n_rows, **asdict(part.ideal)}
        for part in findings.judged
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
    figures = () if examination.findings is None else examination.findings.slices
    return [
        {
            "name": one.name,
            "rows": one.rows,
            "rebuilt_rows": found and found.rebuilt_rows,
            "error": found and found.error.exact,
            "random_error": found and found.random.error,
            "split_half_error": found and found.split_half.error,
            "perfect_rows": found and found.perfect_rows,
            "perfect_share": found and found.perfect_share,
            "split_half_perfect_share": found and found.split_half.perfect_share,
            "singled_out_rows": found and found.singled_out_rows,
            "unique_rows": found and found.unique_rows,
        }
        for one in figures
        for found in [one.measured]
    ]


def _baselines(examination: Examination) -> dict[str, Any]:
    findings = examination.findings
    if findings is None:
        return {}
    significance, numeric = findings.significance, findings.numeric
    baselines: dict[str, Any] = {
        "random": {"draws": findings.random.draws, "rows": findings.random.rows},
        "split_half": {"draws": findings.split_half.draws, "rows": findings.split_half.rows},
        "reconstruction_error_bounds": [findings.error.lower, findings.error.upper],
        "original_error_bounds": [findings.original_error.lower, findings.original_error.upper],
        "identity": findings.identity.status,
        "holdout": asdict(significance) if significance else None,
    }
    if findings.raw is not None:
        baselines["raw_error_bounds"] = [findings.raw.error.lower, findings.raw.error.upper]
    if findings.proved_values is not None:
        baselines["proved_values"] = asdict(findings.proved_values)
    if findings.most_perfect_rows is not None:
        baselines["perfect_rows_bounds"] = [findings.perfect_rows, findings.most_perfect_rows]
    if numeric is not None:
        baselines["numeric"] = asdict(numeric) | {
            "tolerance": TOLERANCE,
            "beyond_random": asdict(numeric.attack.beyond(numeric.random)),
            "beyond_median": asdict(numeric.attack.beyond(numeric.median)),
        }
    return baselines
