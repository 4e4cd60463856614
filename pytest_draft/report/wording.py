"""What people read in every format: in goes a report, out come its sentences, and names that are safe to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_draft.foreign_text import harmless
from pytest_draft.policy.waiver import waived as answered
from pytest_draft.report.result import Report, ReportedCheck, Result

STANDINGS = ("failed", "inconclusive", "warning", "waived", "passed")
"""How checks can stand, worst first."""

HOW_TO_READ = (
    "The reconstruction error is the attacker's: the lower it is, the more of the training data was rebuilt. It is "
    "read beside the split-half baseline, which is how close one random half of the training data comes to the other "
    "half, so what other people's rows are worth, and beside guesses drawn at random."
)

NO_PROOF = (
    "A passed check says that no attacker we consider crosses the policy's threshold, or only one whom the file brings "
    "at most a tenth closer. Where a limit for all of them is known, it is given; else this attack ran to its end."
)

_MOST_PATHS = 6  # attributes that are named of those that were not read; of the others it is told how many there are

_HARMLESS = frozenset(
    (
        *("estimator", "estimator_"),  # what is to be fitted; where it is fitted, the result is inconclusive
        *("feature_names_in_", "_columns", "_remainder", "transformers"),  # columns, by the transformers for them
        *("best_params_", "cv", "cv_results_", "param_distributions", "param_grid", "scorer_", "_checked_cv_orig"),
        *("var_", "_fill_dtype", "_fit_dtype", "_missing_indices"),  # follow from what is read, or are data types
    )
)
"""Last names of attributes that scikit-learn itself gives to forests, searches and transformers that are covered."""


def standing(check: ReportedCheck) -> str:
    """Return how a check stands, one of `STANDINGS`: one that did not pass can be waived, or be a warning only."""
    result: str = check["result"]
    if result == "passed":
        return result
    if check["waiver"] is not None:
        return "waived"
    return "warning" if check["severity"] == "warning" else result


def stops(result: Result, check: ReportedCheck) -> bool:
    """Return whether a check keeps its model from being released: an inconclusive one unless the policy allows it."""
    stands = standing(check)
    return stands == "failed" or (stands == "inconclusive" and not result["policy"].get("allow_inconclusive", False))


def worst_first(report: Report) -> list[tuple[Result, ReportedCheck]]:
    """Return all checks of a report, each with the result that it belongs to, the worst first."""
    pairs = [(result, check) for result in report["results"] for check in result["checks"]]
    return sorted(pairs, key=lambda pair: STANDINGS.index(standing(pair[1])))


def headlines(report: Report) -> list[tuple[str, str]]:
    """Return the verdict on each model in words, the gravest first.

    Returns
    -------
    list of tuple of str
        How the model stands, one of `STANDINGS`, and the sentence; never empty.
    """
    found = []
    if report["not_run"]:
        number = counted(len(report["not_run"]), "planned check")
        found.append(("inconclusive", f"Not cleared for release: {number} did not run."))
    by_path: dict[str, list[Result]] = {}
    for result in report["results"]:
        by_path.setdefault(result["artifact"]["path"], []).append(result)
    for path, results in by_path.items():
        verdict = next(one for one in STANDINGS if one in {result["verdict"] for result in results})
        file = file_of(results[0]["artifact"])
        not_all = any(check.startswith(f"{file}::") for check in report["not_run"])
        found.append(_headline(harmless(path), verdict, results, not_all))
    if not found:
        found.append(("inconclusive", "Not cleared for release: no model was judged."))
    return sorted(found, key=lambda pair: STANDINGS.index(pair[0]))


def _headline(name: str, verdict: str, results: Sequence[Result], not_all: bool) -> tuple[str, str]:
    """Return how a model stands, and the sentence; also where not all of its planned checks ran."""
    pairs = [(result, check) for result in results for check in result["checks"]]
    standings = [standing(check) for _, check in pairs]
    of_all = f"{standings.count(verdict):,} of {counted(len(standings), 'check')}"
    waived, warnings = standings.count("waived"), standings.count("warning")
    open_ones = sum(standing(check) == "warning" and check["result"] == "inconclusive" for _, check in pairs)
    besides = f"; {waived:,} waived" * bool(waived) + f"; {counted(warnings, 'warning')}" * bool(warnings)
    besides += f", {open_ones:,} of which could not be decided" * bool(open_ones)
    if verdict == "failed":
        return verdict, f"Do not release {name}: {of_all} failed{besides}."
    if verdict == "inconclusive":
        if any(stops(result, check) for result, check in pairs):
            return (
                verdict,
                f"Not cleared for release: {name}. {of_all} could not be decided, which is no pass{besides}.",
            )
        if not_all:
            passed = f"{standings.count('passed'):,} of the {counted(len(standings), 'check')} that ran passed"
            return verdict, f"Not cleared for release: {name}. Not all of its checks ran; {passed}{besides}."
        return verdict, f"Undecided, which the policy allows: {name}. {of_all} could not be decided{besides}."
    if warnings and "passed" not in standings:
        return "warning", f"Nothing stops {name}, because the policy only warns: {of_all} passed{besides}."
    if waived:
        return "waived", f"Releasing {name} rests on waivers: {of_all} passed{besides}."
    return verdict, f"No objection to releasing {name}: {of_all} passed{besides}."


GLOSSARY = (
    ("adversary", "who attacks, and what they know besides the file: *artifact* has the file and nothing else"),
    (
        "reconstruction error",
        "how far the rebuilt rows lie from the true ones, on average over all values, as a share of each column's "
        "range. It is the attacker's error: the lower, the more was given away",
    ),
    ("perfect row", "a rebuilt row that is some person's row, with all values right (numbers to within 1 %)"),
    (
        "split-half",
        "other people's rows: how close one random half of the training data comes to the other half. Someone with "
        "equally many such rows but no file would get this close",
    ),
    ("certain row", "a row found in every dataset consistent with the file: the file alone proves it"),
)
"""The words of a page that a newcomer does not know, and what they mean."""


def notes(result: Result) -> list[str]:
    """Return what a reader should know besides, and which worker of a cluster was lost meanwhile."""
    retried = result.get("retried")  # not in reports of earlier versions
    return [*result["notes"], *([retried] if retried else [])]


def not_read(result: Result) -> str | None:
    """Return which parts of a file no reader has looked at by name, but for harmless ones; None where there are none.

    Parameters
    ----------
    result : dict

    Returns
    -------
    str or None
        Attribute paths, the first few.
    """
    paths = [path for path in result["artifact"]["not_read"] if path.rpartition(".")[2] not in _HARMLESS]
    if not paths:
        return None
    more = f" and {len(paths) - _MOST_PATHS:,} more" if len(paths) > _MOST_PATHS else ""
    return f"scanned only for training data and fitted trees: {', '.join(paths[:_MOST_PATHS])}{more}"


def remedies(report: Report) -> dict[str, list[str]]:
    """Return what to do about the checks that did not pass, each with the models that it is about.

    What has the most effect comes first: what answers the gravest check, and of these, what answers the most of them.
    """
    models: dict[str, list[str]] = {}
    answered: dict[str, list[int]] = {}
    for result, check in worst_first(report):
        if check["remedy"] and standing(check) != "passed":
            path, grave = result["artifact"]["path"], STANDINGS.index(standing(check))
            if path not in models.setdefault(check["remedy"], []):
                models[check["remedy"]].append(path)
            answered.setdefault(check["remedy"], []).append(grave)
    effect = {remedy: (min(gravities), -gravities.count(min(gravities))) for remedy, gravities in answered.items()}
    return {remedy: models[remedy] for remedy in sorted(models, key=effect.__getitem__)}


def share(value: float) -> str:
    """Return a share in percent so that what is not all or none does not look so."""
    if 0 < value < 0.005 or 0.995 <= value < 1:
        return "less than 1 %" if value < 0.5 else "more than 99 %"
    return f"{value:.0%}".replace("%", " %")


def waived(check: ReportedCheck) -> str | None:
    """Return who answers for a check that did not pass, until when and why; None where nobody does."""
    waiver = check["waiver"]
    return None if waiver is None else answered(waiver["expires"], waiver["owner"], waiver["reason"])


def counted(number: int, noun: str) -> str:
    """Return a number of things."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def file_of(artifact: dict[str, Any]) -> str:
    """Return the path of a model's file, without the place that its name ends in.

    Parameters
    ----------
    artifact : dict
        Of a result.
    """
    path: str = artifact["path"]
    return path if artifact.get("place") is None else path.removesuffix(f"[{artifact['place']}]")
