"""How close anybody could get: in goes one result of a report, out come sentences and tables.

First of somebody who has the file and knows all rows but one; whoever knows less gets less. Then of somebody who knows
every dataset that explains the file as well as the true one does, and guesses as well as can be. What is said of this
one is on the safe side. Of both, the limit is told by which the file is judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pytest_draft.report.bounds import error_bar
from pytest_draft.report.result import Result
from pytest_draft.report.wording import share

TITLE = "How close could anybody get?"

HEADINGS = ("Part", "Rows", "Least error", "Most perfect rows", "Most numbers exactly")
"""What the cells of `parts` are."""

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


def given_others(result: Result) -> list[str]:
    """Return what somebody gets who knows all other rows, in short; empty where that was not found out."""
    found = result.get("given_all_other_rows")
    if not found:
        return []
    looked_at = f" (on {found['rows']:,} of {found['of_rows']:,} rows, drawn at random)"
    who = "Given all other rows, the file proves"
    if not found["proved"]:
        who = "Somebody who also knows which rows each tree drew is told"
    return [
        f"Knowing all other rows, an attacker guesses each row with an error of {found['error']:.4f}"
        f"{looked_at if found['rows'] < found['of_rows'] else ''}, without the file {found['error_without_file']:.4f}. "
        f"After matching, the error is {found['matched_error']:.4f}; that of other people's rows is "
        f"{found['split_half_error']:.4f}.",
        f"{who} {share(found['told_values'])} of the values and {share(found['told_rows'])} of the rows whole. "
        f"Guessed right (numbers to within 1 %): {share(found['near_values'])} of the values and "
        f"{share(found['near_rows'])} of the rows; without the file "
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
    fails = "" if bar is None else f"; the check fails at {bar:.4f} or less"
    if error < least:
        return (
            f"this attack's error of {error:.4f} is below {least:.4f}, which no attacker was to go below: "
            f"what was taken for likely is too weak, and nothing rests on it{fails}"
        )
    said = f"no attacker gets closer than {least:.4f}; this attack came to {error:.4f}{fails}"
    if bar is not None and least <= bar and _passed(result, "reconstruction-error"):
        said += ". It passes as whoever crosses that is at most a tenth closer than without the file"
    return said


def _passed(result: Result, rule: str) -> bool:
    return any(check["rule"] == rule and check["result"] == "passed" for check in result["checks"])


def short(result: Result) -> Iterator[str]:
    """Yield what other datasets explain the file as well, in short; nothing where that was not found out."""
    known, n_rows = limit(result), result["metrics"]["n_rows"]
    phrase = None if known is None or not limits(known["least_error"]) else between(result)
    if phrase is not None:
        yield f"{phrase[0].upper()}{phrase[1:]}."
    if known is not None and known["most_perfect_rows"] < n_rows:
        rows = f"{math.floor(known['most_perfect_rows'] + 1e-9):,} of {n_rows:,} rows"
        whole = next((one for one in _ideals(result) if not one["on"] and one["scale"] == "range"), {})
        most = whole.get("most_exact")
        exact = "" if most is None else f", or more than {most:.0%} of the numbers exactly"
        yield f"No attacker can expect more than {rows} perfectly right{exact}."
    found = result.get("ambiguity")
    if not found:
        return
    if found["bits"] > 0:
        proved = ", and all of them hold the values that are proved" if result["metrics"]["certain_values"] else ""
        many = _many(found["bits"])
        yield f"At least {many} datasets explain the file equally well, the true one among them{proved}."
    elif found["unchanged_rows"] == 1:
        yield "No other dataset that explains the file was found: it may well hold these rows and no others."


def _details(result: Result) -> Iterator[str]:
    found = result.get("ambiguity")
    if not found:
        return
    for one in found["determined"] or ():
        like = "rows that are like each other" if one["neighbours"] else "any rows"
        block = "Rows by themselves" if one["block_size"] == 1 else f"Blocks of {one['block_size']:,} {like}"
        yield (
            f"{block}: {one['determined']:,} of {one['rows']:,} rows are determined, which is proved: beside all "
            f"others' rows the file leaves them no other values. {one['moving']:,} are not. (95 % interval of the "
            f"share: {one['lower']:.0%} to {one['upper']:.0%}.)"
        )
    taken = {"uniform": "all of them alike", "population": "those that are like this population"}
    taken["other rows"] = "those of whole rows that this population has"
    names = [taken.get(prior, prior) for prior in found["priors"]]
    likely = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    yield (
        f"This was found from {found['samples']:,} such datasets or more, taking for likely {likely}; they lie "
        f"{found['distance']:.4f} from the true one, and {found['unchanged_rows']:.0%} of the rows are the same in all."
    )
    if not found["mixed"]:
        yield "These datasets were still moving away when the time was out, so in truth even less is given away."


def parts(result: Result) -> list[tuple[str, ...]]:
    """Return what the best possible guess gets of each part, as cells of `HEADINGS`; empty where there is none."""
    cells: list[tuple[str, ...]] = []
    for one in _ideals(result):
        name = one["on"].strip() or "everything"
        scale = "" if one["scale"] == "range" else f", numbers by {one['scale']}"
        exact = "-" if one["most_exact"] is None else f"{one['most_exact']:.0%}"
        perfect = f"{math.floor(one['most_perfect_rows'] + 1e-9):,}"
        cells.append((f"{name}{scale}", f"{one['rows']:,}", f"{one['least_error']:.4f}", perfect, exact))
    return cells


def _ideals(result: Result) -> list[dict[str, Any]]:
    found = result.get("ambiguity")
    return [] if not found else list(found["ideal"])


def _many(bits: float) -> str:
    """Return how many datasets there are at least; few are a whole number, which rounds up."""
    return f"{math.ceil(2**bits - 1e-9):,}" if bits < 20 else f"2^{int(bits):,}"
