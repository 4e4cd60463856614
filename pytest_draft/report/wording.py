"""What people read in every format: in goes a report, out come its sentences, and names that are safe to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_draft.foreign_text import harmless
from pytest_draft.policy.remedies import Command, told
from pytest_draft.policy.waiver import waived as answered
from pytest_draft.report.result import Report, ReportedCheck, Result

STANDINGS = ("failed", "inconclusive", "warning", "waived", "passed", "not applicable")
"""How checks can stand, worst first."""

HOW_TO_READ = (
    "The reconstruction error is the attacker's: the lower it is, the more of the training data was rebuilt. It is "
    "read beside the split-half baseline, which is how close one random half of the training data comes to the other "
    "half, so what other rows like these are worth, and beside guesses drawn at random."
)

NO_PROOF = (
    "Passed: none of the attackers considered gets past the threshold, or they would get nearly as far without this "
    "file. They are this attack, somebody who knows all rows but one, somebody who knows other people's rows, and "
    "somebody who knows all tables that explain the file (docs/explanation/verdict.md, 'Who is considered')."
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
    found += [(verdict, sentence) for verdict, sentence, _, _ in _models(report)]
    if not found:
        found.append(("inconclusive", "Not cleared for release: no model was judged."))
    return sorted(found, key=lambda pair: STANDINGS.index(pair[0]))


def _models(report: Report) -> Iterator[tuple[str, str, str, list[Result]]]:
    """Yield how each model stands, the sentence that says so, its name, and its results."""
    by_path: dict[str, list[Result]] = {}
    for result in report["results"]:
        by_path.setdefault(result["artifact"]["path"], []).append(result)
    for path, results in by_path.items():
        verdict = next(one for one in STANDINGS if one in {result["verdict"] for result in results})
        file, name = file_of(results[0]["artifact"]), harmless(path)
        not_all = any(check.startswith(f"{file}::") for check in report["not_run"])
        yield *_headline(name, verdict, results, not_all), name, results


def _headline(name: str, verdict: str, results: Sequence[Result], not_all: bool) -> tuple[str, str]:
    """Return how a model stands, and the sentence; also where not all of its planned checks ran."""
    pairs = [(result, check) for result in results for check in result["checks"]]
    every = [standing(check) for _, check in pairs]
    standings = [one for one in every if one != "not applicable"]
    left_out = len(every) - len(standings)
    of_all = f"{standings.count(verdict):,} of {counted(len(standings), 'check')}"
    waived, warnings = standings.count("waived"), standings.count("warning")
    open_ones = sum(standing(check) == "warning" and check["result"] == "inconclusive" for _, check in pairs)
    besides = f", {left_out:,} not applicable" * bool(left_out)
    besides += f"; {waived:,} waived" * bool(waived) + f"; {counted(warnings, 'warning')}" * bool(warnings)
    besides += f", {open_ones:,} of which could not be decided" * bool(open_ones)
    if verdict == "failed":
        return verdict, f"Do not release {name}: {of_all} failed{besides}."
    if verdict == "inconclusive":
        if any(stops(result, check) for result, check in pairs):
            return (
                verdict,
                f"Not cleared for release: {name}. No answer for {of_all}, which is no pass{besides}.",
            )
        if any(map(unjudged, results)):
            return verdict, f"Not cleared for release: {name}. No check that counts could be made{besides}."
        if not_all:
            passed = f"{standings.count('passed'):,} of the {counted(len(standings), 'check')} that ran passed"
            return verdict, f"Not cleared for release: {name}. Not all of its checks ran; {passed}{besides}."
        return verdict, f"Undecided, which the policy allows: {name}. {of_all} could not be decided{besides}."
    if warnings and not waived and "passed" not in standings:
        return "warning", f"Nothing stops {name}, because the policy only warns: {of_all} passed{besides}."
    if waived:
        return "waived", f"Releasing {name} rests on waivers: {of_all} passed{besides}."
    return verdict, f"No objection to releasing {name}: {of_all} passed{besides}."


GLOSSARY = (
    (
        "reconstruction error",
        "how far the rebuilt rows lie from the true ones, on average over all values, as a share of each column's "
        "range. It is the attacker's error: the lower, the more was given away",
    ),
    ("perfect row", "a rebuilt row that is a row of the training data, with all values right (numbers to within 1 %)"),
    (
        "split-half",
        "how close one random half of the training data comes to the other half. Someone with equally many other rows "
        "like these, but no file, would get this close",
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


@dataclass(frozen=True)
class Step:
    """What to do about checks that did not pass."""

    remedy: str
    """A sentence without commands and full stop; can be empty."""
    commands: tuple[tuple[str, str], ...]
    """Lines for a shell, each with what it is for, as a sentence's beginning."""
    models: tuple[str, ...]
    blocks: bool
    """Whether one of the checks keeps its model from being released, so that it is no warning."""


def steps(report: Report) -> list[Step]:
    """Return what to do about the checks that did not pass.

    What has the most effect comes first: what answers the gravest check, and of these, what answers the most of them.
    What could decide more checks of a model that has failed changes nothing, and is left out.
    """
    answered: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[int, str]]] = {}
    for result, check in worst_first(report):
        open_ = check["result"] == "inconclusive"
        if not check["remedy"] or check["result"] == "passed" or (open_ and result["verdict"] == "failed"):
            continue
        commands = tuple((one["line"], one["does"]) for one in check.get("commands", ()))
        ending = told(Command(line, does) for line, does in commands)
        said = check["remedy"].removesuffix(ending).removesuffix("; ")
        answers = STANDINGS.index(standing(check)), result["artifact"]["path"]
        answered.setdefault((said, commands), []).append(answers)
    found = []
    for (said, commands), checks in answered.items():
        gravities, models = zip(*checks, strict=True)
        gravest = min(gravities)
        step = Step(begun(said), commands, tuple(dict.fromkeys(models)), gravest < STANDINGS.index("warning"))
        found.append((gravest, -gravities.count(gravest), step))
    return [step for *_, step in sorted(found, key=lambda one: one[:2])]


def closing(report: Report, found: Sequence[Step]) -> list[str]:
    """Return what to do with each model that none of the steps found is about: release it, or find out why not."""
    asked = {harmless(path) for step in found if step.blocks for path in step.models}
    said = []
    for stands, _, name, results in _models(report):
        if name in asked:
            continue
        if stands == "passed":
            policies = " and ".join(dict.fromkeys(result["policy"]["name"] for result in results))
            said.append(f"You can release {name} if the policy {policies} is right for whoever gets the file.")
        elif stands == "waived":
            said.append(f"Before you release {name}, make sure that the reason of each waiver still holds.")
        elif stands == "warning":
            said.append(f"The policy only warns: decide by the warnings whether to release {name}.")
        elif stands == "inconclusive":
            said.append(f"No answer is no pass: do not release {name} as it is{_open_because(results)}.")
        else:
            said.append(f"Do not release {name}: read what failed.")
    return said


def _open_because(results: Iterable[Result]) -> str:
    """Return why no answer is known, which says what to do about it."""
    for result in results:
        reasons = result["reasons"] or [one["sentence"] for one in result["checks"] if one["result"] == "inconclusive"]
        if result["verdict"] == "inconclusive" and reasons:
            return f". It is open because {reasons[0].rstrip('.')}"
    return ""


def own_sentence(check: ReportedCheck, reasons: Sequence[str]) -> str:
    """Return what a check says besides the reasons that its whole result is undecided for; empty for nothing."""
    said: str = check["sentence"]
    if check["result"] != "inconclusive":
        return said
    for reason in reasons:
        said = said.replace(f"; {reason}", "")
    return "" if said in reasons else said


def share(value: float) -> str:
    """Return a share in percent so that what is not all or none does not look so."""
    if 0 < value < 0.005 or 0.995 <= value < 1:
        return "less than 1 %" if value < 0.5 else "more than 99 %"
    return f"{value:.0%}".replace("%", " %")


def waived(check: ReportedCheck) -> str | None:
    """Return who answers for a check that did not pass, until when and why; None where nobody does."""
    waiver = check["waiver"]
    return None if waiver is None else answered(waiver["expires"], waiver["owner"], waiver["reason"])


def begun(phrase: str) -> str:
    """Return a phrase as the beginning of a sentence."""
    return phrase[:1].upper() + phrase[1:]


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
