"""Figures in tables: in goes one result of a report, out comes a `Table` for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_draft.report.bounds import bounds_of, span, whole
from pytest_draft.report.result import Result
from pytest_draft.report.sentences import by_worth, ideals, of_others, share


class Table(NamedTuple):
    """Cells, not yet escaped; one that is empty tells nothing."""

    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def attackers(result: Result) -> Table:
    """Return who was considered, what they know, and what they get with the file and without."""
    metrics, adversary = result["metrics"], result["adversary"]
    error, others = span(bounds_of(result), ".4f", "between {} and {}"), metrics["split_half_error"]
    alike = "not measured" if others is None else f"an error of {others:.4f} (other rows like these)"
    got = "nothing: it was not run, or cut short" if error is None else f"an error of {error}"
    rows: list[tuple[str, ...]] = [("This attack", "nothing" if adversary == "artifact" else adversary, got, alike)]
    if found := result.get("given_all_other_rows"):
        told = f"; all of {share(found['told_rows'])} of the rows for certain"
        rows.append(
            (
                "Somebody who knows all other rows",
                "all rows but one" + " and which rows each tree drew" * (not found["proved"]),
                f"an error of {found['matched_error']:.4f}{told}",
                f"an error of {found['matched_error_without_file']:.4f}",
            )
        )
        for one in found.get("population", ()):
            whose = "the holdout" if one["measured"] else "people like these"
            with_it, without = (f"an error of {one[key]:.4f}" for key in ("error", "error_without_file"))
            rows.append(("Somebody who knows other people's rows", f"rows of {whose}", with_it, without))
    if (label := metrics.get("label_told")) is not None:
        about = "the label" if metrics.get("label_certain") is not None else "the target"
        shares = (f"{about} of {share(one)} of the people" for one in (label, metrics["label_told_without_rows"]))
        rows.append(("Somebody who knows a person's features", f"all but {about}", *shares))
    return Table(("Who", "Knows besides", "With the file", "Without"), rows)


def columns(result: Result) -> Table:
    """Return what comes back of each column, those first of which most comes back that other rows do not have."""
    rows = [(one.name, share(one.right), of_others(one), f"{one.error:.4f}") for one in by_worth(result)]
    return Table(("Column", "Right", "Right in other rows", "Error"), rows)


def slices(result: Result) -> Table:
    """Return what the attack got of each slice that the policy names."""
    rows: list[tuple[str, ...]] = []
    for one in result.get("slices", ()):
        if one["perfect_rows"] is None:
            rows.append((one["name"], "fewer than 10", "too few rows", "", "", ""))
            continue
        errors = ["not known" if error is None else f"{error:.4f}" for error in (one["error"], one["split_half_error"])]
        counts = [f"{one['perfect_rows']:,}", f"{one['singled_out_rows']:,} of {one['unique_rows']:,} unique"]
        rows.append((one["name"], f"{one['rows']:,}", *errors, *counts))
    return Table(("Slice", "Rows", "Error", "Split-half error", "Perfect rows", "Singled out"), rows)


def sensitive(result: Result) -> Table:
    """Return what is told of the columns that the policy names, of people in the data and of others."""
    rows = []
    for one in result.get("sensitive", ()):
        shares = [
            "not measured" if found is None or found[key] is None else share(found[key] / found["rows"])
            for found, keys in ((one["told"], ("told", "without", "certain")), (one["others"], ("told", "without")))
            for key in keys
        ]
        given = one["given_all_other_rows"]
        shares += ["-" if given is None else share(given[key]) for key in ("told", "near", "near_without_file")]
        rows.append((one["name"], *shares))
    others = ("Of others, from the file", "Of others, without")
    given_others = ("Given all other rows: proved", "guessed right", "without the file")
    return Table(("Column", "Read from the file", "Without", "For certain", *others, *given_others), rows)


def parts(result: Result) -> Table:
    """Return what the best possible guess gets of each part, by all datasets that explain the file."""
    rows = [
        (
            (one["on"].strip() or "everything") + ("" if one["scale"] == "range" else f", numbers by {one['scale']}"),
            f"{one['rows']:,}",
            f"{one['least_error']:.4f}",
            f"{whole(one['most_perfect_rows']):,}",
            "-" if one["most_exact"] is None else f"{one['most_exact']:.0%}",
        )
        for one in ideals(result)
    ]
    return Table(("Part", "Rows", "Least error", "Most perfect rows", "Most numbers exactly"), rows)


def columns_given_others(result: Result) -> Table:
    """Return what somebody gets of each column who knows all other rows, those first to which the file adds most."""
    found = (result.get("given_all_other_rows") or {}).get("columns", ())
    ordered = sorted(found, key=lambda one: one["near"] - one["near_without_file"], reverse=True)
    rows = [(one["name"], *(share(one[key]) for key in ("told", "near", "near_without_file"))) for one in ordered]
    return Table(("Column", "Proved", "Guessed right", "Guessed right without the file"), rows)


def slices_given_others(result: Result) -> Table:
    """Return what somebody gets of each slice who knows all other rows."""
    rows = [
        (
            one["name"],
            f"{one['rows']:,}",
            *(f"{one[key]:.4f}" for key in ("error", "error_without_file")),
            *(share(one[key]) for key in ("told_rows", "near_rows", "near_rows_without_file")),
        )
        for one in (result.get("given_all_other_rows") or {}).get("slices", ())
    ]
    headings = ("Slice", "Rows", "Error", "Error without the file", "Rows proved", "Rows right", "Without the file")
    return Table(headings, rows)
