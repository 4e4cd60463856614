"""How close anybody could get: in goes one result of a report, out come sentences and tables.

First of somebody who has the file and knows all rows but one; whoever knows less gets less. Then of somebody who knows
every dataset that explains the file as well as the true one does, and guesses as well as can be. What is said of this
one is on the safe side. Of both, the limit is told by which the file is judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pytest_draft.report.bounds import between as between_bounds
from pytest_draft.report.bounds import bounds_of, error_bar, whole
from pytest_draft.report.result import Result
from pytest_draft.report.wording import begun, share

TITLE = "How close could anybody get?"

HEADINGS = ("Part", "Rows", "Least error", "Most perfect rows", "Most numbers exactly")
"""What the cells of `parts` are."""

ATTACKER_HEADINGS = ("Who", "Knows besides", "With the file", "Without")
"""What the cells of `attackers` are."""

COLUMN_HEADINGS = ("Column", "Proved", "Guessed right", "Guessed right without the file")
"""What the cells of `columns` are."""

SLICE_HEADINGS = ("Slice", "Rows", "Error", "Error without the file", "Rows proved", "Rows right", "Without the file")
"""What the cells of `slices` are."""


def limit(result: Result) -> dict[str, float] | None:
    """Return what no attacker betters on the whole, as the file is judged by it; None where that is not known."""
    return result.get("limit")


def limits(least_error: float) -> bool:
    """Return whether an error that no attacker gets below is more than none, as it is shown."""
    return f"{least_error:.4f}" != "0.0000"


def sentences(result: Result) -> list[str]:
    """Return what somebody gets who knows all other rows, and what other datasets explain the file as well."""
    return [*given_others(result), *_of_rows(result), *short(result), *_details(result)]


def told_given_others(found: dict[str, Any]) -> str:
    """Return what somebody gets for certain who knows all other rows, or else how close, as a phrase."""
    who = "somebody who knows all other rows" + " and which rows each tree drew" * (not found["proved"])
    rows, exact = found["told_rows"], found.get("exact_numeric")
    guessed = share(found["near_rows_without_file"])
    if rows > max(found["near_rows_without_file"], 0.1):
        return (
            f"{who} reads {share(rows)} of the rows out of the file with certainty; without it, {guessed} are guessed"
        )
    if exact and exact - (found["exact_numeric_without_file"] or 0.0) > 0.1:
        plain = share(found["exact_numeric_without_file"] or 0.0)
        return (
            f"{who} reads {share(exact)} of the numbers out of the file to the digit; without it, {plain} are guessed"
        )
    return (
        f"{who} rebuilds the one that is missing with an error of {found['matched_error']:.4f}; without the file: "
        f"{found['matched_error_without_file']:.4f}"
    )


def attackers(result: Result) -> list[tuple[str, str, str, str]]:
    """Return who was considered, and what they know and get, as cells of `ATTACKER_HEADINGS`."""
    metrics, adversary = result["metrics"], result["adversary"]
    knows = "nothing" if adversary == "artifact" else adversary
    error, others = between_bounds(bounds_of(result), ".4f"), metrics["split_half_error"]
    alike = "not measured" if others is None else f"an error of {others:.4f} (other rows like these)"
    short = "nothing: it was not run, or cut short"
    cells = [("This attack", knows, short if error is None else f"an error of {error}", alike)]
    if found := result.get("given_all_other_rows"):
        rows = f"; all of {share(found['told_rows'])} of the rows for certain"
        cells.append(
            (
                "Somebody who knows all other rows",
                "all rows but one" + " and which rows each tree drew" * (not found["proved"]),
                f"an error of {found['matched_error']:.4f}{rows}",
                f"an error of {found['matched_error_without_file']:.4f}",
            )
        )
        for one in found.get("population", ()):
            whose = "the holdout" if one["measured"] else "people like these"
            with_it, without = (f"an error of {one[key]:.4f}" for key in ("error", "error_without_file"))
            cells.append(("Somebody who knows other people's rows", f"rows of {whose}", with_it, without))
    if (label := metrics.get("label_told")) is not None:
        about = "the label" if metrics.get("label_certain") is not None else "the target"
        told = f"{about} of {{}} of the people".format
        gets = told(share(label)), told(share(metrics["label_told_without_rows"]))
        cells.append(("Somebody who knows a person's features", f"all but {about}", *gets))
    return cells


def limit_phrase(result: Result) -> str | None:
    """Return what no attacker considered gets past, beside other rows like these, as a phrase; None without a limit."""
    known, others = limit(result), result["metrics"]["split_half_error"]
    if known is None or others is None or not limits(known["least_error"]):
        return None
    rows, n_rows = whole(known["most_perfect_rows"]), result["metrics"]["n_rows"]
    return (
        f"no attacker considered gets closer to the rows than {known['least_error']:.4f} (other rows like these: "
        f"{others:.4f}), or can expect more than {rows:,} of {n_rows:,} of them"
    )


def given_others(result: Result) -> list[str]:
    """Return what somebody gets who knows all other rows, in short; empty where that was not found out."""
    found = result.get("given_all_other_rows")
    if not found:
        return []
    looked_at = f" (on {found['rows']:,} of {found['of_rows']:,} rows, drawn at random)"
    who = "With certainty" if found["proved"] else "With certainty, if they also know which rows each tree drew"
    return [
        f"Somebody who knows all other rows guesses each row with an error of {found['error']:.4f}, row by row"
        f"{looked_at if found['rows'] < found['of_rows'] else ''}; without the file, "
        f"{found['error_without_file']:.4f}. Compared as the table's error is, by the best matching: "
        f"{found['matched_error']:.4f}; other rows like these: {found['split_half_error']:.4f}.",
        f"{who}, they know {share(found['told_values'])} of the values, and all values of "
        f"{share(found['told_rows'])} of the rows. They guess {share(found['near_values'])} of the values right "
        f"(numbers to within 1 %), and {share(found['near_rows'])} of the rows; without the file, "
        f"{share(found['near_values_without_file'])} and {share(found['near_rows_without_file'])}.",
    ]


def _of_rows(result: Result) -> Iterator[str]:
    """Yield how the error of somebody who knows all other rows is spread over the rows."""
    found = result.get("given_all_other_rows")
    if found and found["row_errors"]:
        shares = {0: "the most exposed row", 10: "a tenth of the rows, at most", 50: "half of the rows, at most"}
        errors = {f"{found['row_errors'][at]:.4f}": who for at, who in shares.items()}  # of equals the largest share
        yield f"Such an attacker's error row by row: {'; '.join(f'{who} {error}' for error, who in errors.items())}."


def columns(result: Result) -> list[tuple[str, ...]]:
    """Return what somebody gets of each column who knows all other rows, as cells of `COLUMN_HEADINGS`.

    Those come first of which the file adds most.
    """
    found = (result.get("given_all_other_rows") or {}).get("columns", ())
    ordered = sorted(found, key=lambda one: one["near"] - one["near_without_file"], reverse=True)
    return [(one["name"], *(share(one[key]) for key in ("told", "near", "near_without_file"))) for one in ordered]


def slices(result: Result) -> list[tuple[str, ...]]:
    """Return what somebody gets of each slice who knows all other rows, as cells of `SLICE_HEADINGS`."""
    return [
        (
            one["name"],
            f"{one['rows']:,}",
            *(f"{one[key]:.4f}" for key in ("error", "error_without_file")),
            *(share(one[key]) for key in ("told_rows", "near_rows", "near_rows_without_file")),
        )
        for one in (result.get("given_all_other_rows") or {}).get("slices", ())
    ]


def between(result: Result) -> str | None:
    """Return the error that no attacker gets below, that of this attack, and where the check fails, as a phrase."""
    known, error = limit(result), result["metrics"]["reconstruction_error"]
    if known is None or error is None:
        return None
    least = known["least_error"]
    bar = error_bar(result)
    fails = "" if bar is None else f"; limit: {bar:.4f}"
    if error < least:
        return (
            f"this attack's error of {error:.4f} is below the {least:.4f} that was estimated as the least for any "
            f"attacker: the estimate is wrong, and nothing rests on it{fails}"
        )
    said = f"no attacker considered gets closer than {least:.4f}; this attack came to {error:.4f}{fails}"
    if bar is not None and least <= bar and _passed(result, "reconstruction-error"):
        said += ". It passes, because whoever gets that close gets nearly as close without the file"
    return said


def _passed(result: Result, rule: str) -> bool:
    return any(check["rule"] == rule and check["result"] == "passed" for check in result["checks"])


def short(result: Result) -> Iterator[str]:
    """Yield what other datasets explain the file as well, in short; nothing where that was not found out."""
    known, n_rows = limit(result), result["metrics"]["n_rows"]
    phrase = None if known is None or not limits(known["least_error"]) else between(result)
    if phrase is not None:
        yield f"{begun(phrase)}."
    if known is not None and known["most_perfect_rows"] < n_rows:
        most_rows = whole(known["most_perfect_rows"])
        rows = f"{most_rows:,} of {n_rows:,} rows" if most_rows else f"a single one of the {n_rows:,} rows"
        of_all = next((one for one in _ideals(result) if not one["on"] and one["scale"] == "range"), {})
        most = of_all.get("most_exact")
        exact = "" if most is None else f", or more than {most:.0%} of the numbers exactly"
        few = "more than " * bool(most_rows)
        yield f"No attacker considered can expect {few}{rows} perfectly right{exact}."
    found = result.get("ambiguity")
    if not found:
        return
    if found["bits"] > 0:
        certain, metrics = result["metrics"]["certain_values"], result["metrics"]
        some = certain and certain < metrics["determined_values"] + metrics["free_values"]
        differ = ", and differ only in values that are not certain" if some else ""
        many = _many(found["bits"])
        yield f"At least {many} datasets explain the file equally well{differ}. The true one is among them."
    elif found["unchanged_rows"] == 1:
        ended = found.get("bits_ended", True)  # not in reports of earlier versions
        so = ": perhaps there is none" if ended else " before the time ran out"
        yield f"No other dataset that explains the file was found{so}."


def _details(result: Result) -> Iterator[str]:
    found = result.get("ambiguity")
    if not found:
        return
    taken = {"uniform": "all are equally likely", "population": "those like this population are likelier"}
    taken["other rows"] = "their rows are rows that this population has"
    names = [taken.get(prior, prior) for prior in found["priors"]]
    likely = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    yield (
        f"The limits were estimated from at least {found['samples']:,} such datasets, assuming that {likely}. Their "
        "error "
        f"is {found['distance']:.4f}, and {found['unchanged_rows']:.0%} of the rows are the same in all of them."
    )
    if not found["mixed"]:
        yield "These datasets were still moving away from the true one when the time ran out: even less is given away."


def parts(result: Result) -> list[tuple[str, ...]]:
    """Return what the best possible guess gets of each part, as cells of `HEADINGS`; empty where there is none."""
    cells: list[tuple[str, ...]] = []
    for one in _ideals(result):
        name = one["on"].strip() or "everything"
        scale = "" if one["scale"] == "range" else f", numbers by {one['scale']}"
        exact = "-" if one["most_exact"] is None else f"{one['most_exact']:.0%}"
        perfect = f"{whole(one['most_perfect_rows']):,}"
        cells.append((f"{name}{scale}", f"{one['rows']:,}", f"{one['least_error']:.4f}", perfect, exact))
    return cells


def _ideals(result: Result) -> list[dict[str, Any]]:
    found = result.get("ambiguity")
    return [] if not found else list(found["ideal"])


def _many(bits: float) -> str:
    """Return how many datasets there are at least; few are a whole number, which rounds up."""
    return f"{math.ceil(2**bits - 1e-9):,}" if bits < 20 else f"2^{int(bits):,}"
