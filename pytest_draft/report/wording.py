"""What people read in every format: in goes a report, out come its sentences, and names that are safe to show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_draft.foreign_text import harmless
from pytest_draft.report.result import Report, ReportedCheck, Result

STANDINGS = ("failed", "inconclusive", "warning", "waived", "passed")
"""How checks can stand, worst first."""

HOW_TO_READ = (
    "The reconstruction error is the attacker's: the lower it is, the more of the training data was rebuilt. It is "
    "read beside the split-half baseline, which is how close one random half of the training data comes to the other "
    "half, so what other people's rows are worth, and beside guesses drawn at random."
)

NO_PROOF = "A passed check says that this attack stayed within the policy's limits, not that no attack can do better."

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
        number = _number(len(report["not_run"]), "planned check")
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
    of_all = f"{standings.count(verdict):,} of {_number(len(standings), 'check')}"
    waived, warnings = standings.count("waived"), standings.count("warning")
    open_ones = sum(standing(check) == "warning" and check["result"] == "inconclusive" for _, check in pairs)
    besides = f"; {waived:,} waived" * bool(waived) + f"; {_number(warnings, 'warning')}" * bool(warnings)
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
            passed = f"{standings.count('passed'):,} of the {_number(len(standings), 'check')} that ran passed"
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
        "strangers' rows: how close one random half of the training data comes to the other half. Who has as many rows "
        "of the same population, and not the file, gets that much",
    ),
    ("certain row", "a row that every dataset holds which explains the file: the file alone proves it"),
)
"""The words of a page that a newcomer does not know, and what they mean."""


def decision(result: Result) -> str:
    """Return the sentence that a person decides by: how many people's rows come back, and how many anyhow."""
    metrics = result["metrics"]
    if metrics["perfect_rows"] is None:
        why = f": {harmless(result['reasons'][0])}" if result["reasons"] else ""
        return f"Nobody knows how many people's rows come back{why}."
    perfect, highest = result["baselines"].get("perfect_rows_bounds", [metrics["perfect_rows"]] * 2)
    number = f"{perfect:,}" if perfect == highest else f"Between {perfect:,} and {highest:,}"
    back = f"{number} of {metrics['n_rows']:,} people's rows {'comes' if highest == 1 else 'come'} back"
    others = metrics["split_half_perfect_rows"]
    beside = "" if others is None else f"; strangers' rows would meet {others:,.0f}"
    if result["verdict"] == "inconclusive":
        return f"{back}{beside}. That is not the last word: {_first_reason(result)}."
    return f"{back}{beside}."


def _first_reason(result: Result) -> str:
    undecided = [check["sentence"] for check in result["checks"] if check["result"] == "inconclusive"]
    return harmless([*result["reasons"], *undecided, "some of it could not be decided"][0])


def columns(result: Result) -> list[tuple[str, str, str, str]]:
    """Return the columns of a result as cells, those first of which most comes back that others' rows do not have."""
    return [
        (
            one["name"],
            share(one["right"]),
            "not known" if one["split_half"] is None else share(one["split_half"]),
            f"{one['error']:.4f}",
        )
        for one in _by_worth(result)
    ]


def _by_worth(result: Result) -> list[Mapping[str, Any]]:
    return sorted(result.get("column_figures", ()), key=_beyond, reverse=True)


def _beyond(one: Mapping[str, Any]) -> float:
    """Return the share of right values among those that strangers' rows do not have right."""
    others = one["split_half"] or 0.0
    return float((one["right"] - others) / (1 - others)) if others < 1 else 0.0


def best_columns(result: Result) -> str | None:
    """Return a sentence on the columns of which most comes back that strangers' rows do not have; None for none."""
    told = [cells for one, cells in zip(_by_worth(result), columns(result), strict=True) if _beyond(one) > 0][:3]
    if not told:
        return None
    named = "; ".join(
        f"{harmless(name)} ({right} right, {others} in strangers' rows)" for name, right, others, _ in told
    )
    return f"Most comes back of: {named}."


COLUMN_HEADINGS = ("Column", "Right", "Right in strangers' rows", "Error")
"""What the cells of `columns` are."""


def share(value: float) -> str:
    """Return a share in percent so that what is not all or none does not look so."""
    if 0 < value < 0.005 or 0.995 <= value < 1:
        return "less than 1 %" if value < 0.5 else "more than 99 %"
    return f"{value:.0%}".replace("%", " %")


def about(result: Result, *, decided: bool = False) -> list[str]:
    """Return what the attack got on one model, each figure beside its baselines; empty where nothing was measured.

    Parameters
    ----------
    result : dict
    decided : bool
        Whether `decision` tells perfect rows already.
    """
    metrics, sentences = result["metrics"], []
    error = bounded(metrics["reconstruction_error"], result["baselines"].get("reconstruction_error_bounds"))
    if error is not None:
        guesses = [
            (metrics["split_half_error"], "one half of the training data lies {} from the other"),
            (metrics["random_error"], "random guesses are {} away"),
        ]
        sentences.append(f"The attack's error is {error}{_beside(guesses, '{:.4f}')}.")
    if metrics["perfect_rows"] is not None and not decided:
        guesses = [
            (metrics["split_half_perfect_rows"], "other people's rows would meet {}"),
            (metrics["expected_perfect_rows"], "random guesses {}"),
        ]
        perfect, highest = result["baselines"].get("perfect_rows_bounds", [metrics["perfect_rows"]] * 2)
        number = f"{perfect:,}" if perfect == highest else f"Between {perfect:,} and {highest:,}"
        rebuilt = f"{number} of {metrics['n_rows']:,} rows are rebuilt perfectly"
        sentences.append(f"{rebuilt}{_beside(guesses, '{:,.1f}')}.")
    if metrics["singled_out_rows"] is not None:
        single, unique = f"{metrics['singled_out_rows']:,}", f"{metrics['unique_rows']:,}"
        sentences.append(
            f"Of the {unique} rows that are unique in the training data, {single} come back."
            if decided
            else f"So are {single} of the {unique} rows that are unique in the training data."
        )
    if metrics["certain_rows"]:
        at_least = "" if metrics["certain_rows_exact"] else "At least "
        sentences.append(
            f"{at_least}{_number(metrics['certain_rows'], 'certain row')}: every dataset of the stated domain that "
            "fits the file holds as many of these."
        )
    return [*sentences, *(f"{part[0].upper()}{part[1:]}." for part in of_whole_rows(metrics))]


def of_whole_rows(metrics: Mapping[str, Any]) -> list[str]:
    """Return phrases on rows that are known to be rebuilt, and on rows with their labels; empty where none are."""
    phrases = []
    if metrics.get("fully_determined_perfect_rows") is not None:
        rows, compared = metrics["fully_determined_rows"], metrics["fully_determined_compared"]
        drawn = "" if rows == compared else f", {compared:,} of which were drawn"
        phrases.append(
            f"nothing is guessed in {_number(rows, 'rebuilt row')}{drawn}: "
            f"{metrics['fully_determined_perfect_rows']:,} of {compared:,} are perfect"
        )
    if metrics.get("certain_unique_rows"):
        at_least = "" if metrics["certain_unique_rows_exact"] else "at least "
        proved = _number(metrics["certain_unique_rows"], "unique row")
        phrases.append(f"{at_least}{proved} of the training data {_is(metrics['certain_unique_rows'])} proved")
    if metrics.get("perfect_rows_with_labels") is not None:
        guesses = [(metrics["split_half_error_with_labels"], "split-half {}")]
        error = bounded(metrics["error_with_labels"], None)
        said = "" if error is None else f"the error is {error}{_beside(guesses, '{:.4f}')} with the label counted, and "
        phrases.append(
            f"{said}of {_number(metrics['labels_of_perfect_rows'], 'perfect row')} "
            f"{metrics['perfect_rows_with_labels']:,} come with the right label "
            f"(by the commonest label {metrics['majority_labels_of_perfect_rows']:,})"
        )
    return phrases


def slices(result: Result) -> list[tuple[str, ...]]:
    """Return the slices of a result as cells: name, rows, error, that of others, perfect rows, singled out."""
    cells: list[tuple[str, ...]] = []
    for one in result.get("slices", ()):
        if one["perfect_rows"] is None:
            cells.append((one["name"], "fewer than 10", "too few rows", "", "", ""))
            continue
        errors = ["not known" if error is None else f"{error:.4f}" for error in (one["error"], one["split_half_error"])]
        counts = [f"{one['perfect_rows']:,}", f"{one['singled_out_rows']:,} of {one['unique_rows']:,} unique"]
        cells.append((one["name"], f"{one['rows']:,}", *errors, *counts))
    return cells


SLICE_HEADINGS = ("Slice", "Rows", "Error", "Split-half error", "Perfect rows", "Singled out")
"""What the cells of `slices` are."""


def bounded(exact: float | None, bounds: Sequence[float] | None) -> str | None:
    """Return an error as text: its value, else the bounds that are known; None without either."""
    if exact is not None:
        return f"{exact:.4f}"
    return f"between {bounds[0]:.4f} and {bounds[1]:.4f}" if bounds else None


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
    return f"only searched for training data and fitted trees: {', '.join(paths[:_MOST_PATHS])}{more}"


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


def _beside(guesses: Iterable[tuple[float | None, str]], form: str) -> str:
    said = [text.format(form.format(value)) for value, text in guesses if value is not None]
    return f" ({', '.join(said)})" if said else ""


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _number(number: int, noun: str) -> str:
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
