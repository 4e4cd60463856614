"""The page: in goes a plain report, out comes one HTML file that needs no other, no script and no network.

The verdict first, with the sentence that it is decided by and why; then what to do, two plots, the words of the page,
and each model's checks, columns, plots and provenance. All text is escaped by the template engine; whatever is not ours
is made one printable line before that. A page says to the browser that it needs no other file, no network and no script
but its own, if any: were foreign text ever taken for markup, nothing of it would be loaded or run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_draft.foreign_text import harmless
from pytest_draft.policy.rules import known_rule
from pytest_draft.report import sentences, tables
from pytest_draft.report.bounds import bounds_of, span
from pytest_draft.report.canonical import HASH, SAME
from pytest_draft.report.charts import WIDTH, charts
from pytest_draft.report.evidence_lines import evidence
from pytest_draft.report.result import Report, ReportedCheck, Result
from pytest_draft.report.standings import STANDINGS, standing

if TYPE_CHECKING:
    from jinja2 import Environment

SIGNS = {"failed": "✕", "inconclusive": "?", "warning": "!", "waived": "~", "passed": "✓", "not applicable": "○"}
"""What shows how a check stands to whoever does not see colours."""

_LEADING = ("perfect-rows", "errors")
"""The plots that show what is decided by."""

_PROVENANCE = ("judged", "test", "means")
"""Sections of the evidence that say where everything came from."""

_GRAVEST = ("failed", "inconclusive", "passed")


def render(report: Report) -> str:
    """Return the page of a report."""
    results = [_described(index, result, report) for index, result in enumerate(report["results"], start=1)]
    steps = sentences.steps(report)
    first = min(results, key=lambda one: (_GRAVEST.index(one["verdict"]), not one["lead"]), default=None)
    return (
        environment("pytest_draft.report")
        .get_template("report.html")
        .render(
            report=report,
            headlines=sentences.headlines(report),
            results=results,
            first=first,
            steps=steps,
            closing=sentences.closing(report, steps),
            signs=SIGNS,
            width=WIDTH,
            sentences=sentences,
            tables=tables,
            canonical=report.get(HASH),
            same=SAME,
        )
    )


def _described(index: int, result: Result, report: Report) -> dict[str, Any]:
    """Return a result with all that the template shows of it, in words."""
    metrics, entropy, drawn = result["metrics"], result.get("entropy", {}), charts(result)
    found = evidence(result, report)
    return {
        "id": f"result-{index}",
        "raw": result,
        "name": result["artifact"]["path"],
        "adversary": result["adversary"],
        "verdict": result["verdict"],
        "holds": result["artifact"]["holds"],
        "error": span(bounds_of(result), ".4f", "between {} and {}"),
        "perfect": None if metrics["perfect_rows"] is None else f"{metrics['perfect_rows']:,} of {metrics['n_rows']:,}",
        "why": sentences.why(result),
        "decided": sentences.begun(sentences.decided(result) or ""),
        "lead": [chart for name in _LEADING for chart in drawn if chart.name == name],
        "causes": list(dict.fromkeys(check["cause"] for check in result["checks"] if check["cause"])),
        "checks": sorted((_explained(result, check) for check in result["checks"]), key=_gravity),
        "reasons": result["reasons"],
        "notes": sentences.notes(result),
        "charts": [chart for chart in drawn if chart.name not in _LEADING],
        "groups": [
            (group["name"], f"{group['rows']:,}", f"{group['mean']:.3f}", f"{group['lowest']:.3f}")
            for group in entropy.get("groups", ())
        ],
        "not_audited": entropy.get("not_audited"),
        "provenance": [(one["name"], one["said"]) for part in _PROVENANCE for one in found[part]],
        "figures": [(name.replace("_", " "), _figure(value)) for name, value in metrics.items() if value is not None],
    }


def _explained(result: Result, check: ReportedCheck) -> dict[str, Any]:
    """Return a check with its standing, its thresholds, and why its rule exists."""
    known = known_rule(check["rule"])
    helps = {} if known is None else {key: about.help for key, about in known.keys.items()}
    thresholds = result["policy"]["rules"].get(check["rule"], {})
    return {
        **check,
        "sentence": sentences.own_sentence(check, result["reasons"]),
        "standing": standing(check),
        "waived": sentences.waived(check),
        "rationale": None if known is None else known.rationale,
        "thresholds": [(key, _figure(value), helps.get(key, "")) for key, value in thresholds.items()],
    }


def _gravity(check: Mapping[str, Any]) -> int:
    return STANDINGS.index(check["standing"])


def _figure(value: float | list[str]) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def environment(*packages: str) -> Environment:
    """Return what renders the templates of packages: all text is one harmless line each, and escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # only where a page is asked for
    from markupsafe import Markup

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markup) else harmless(value),
    )
    made.globals["security_policy"] = security_policy
    return made


def security_policy(style: str, script: str | None = None) -> str:
    """Return the content security policy of a page that has one style sheet, at most one script, and nothing else.

    Parameters
    ----------
    style : str
        All that stands between the tags of its ``style`` element.
    script : str or None
        The same of its ``script`` element; None for a page without one.
    """
    allowed = "" if script is None else f"script-src '{_hash(script)}'; "
    return f"default-src 'none'; style-src '{_hash(style)}'; {allowed}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode('ascii')}"
