"""The fleet's page: in goes a fleet report, out comes one HTML file with a table that can be sorted and searched.

One row a model. Its one script, which the page's security policy names by its hash, orders and hides rows that are
there; it makes no markup of any text, and without it the table stands in the report's order.
"""

from __future__ import annotations

from typing import Any

from pytest_draft.report.bounds import span
from pytest_draft.report.fleet import CHANGES, MEANINGS, VERDICTS, Fleet, Model, story
from pytest_draft.report.html import SIGNS, environment
from pytest_draft.report.sentences import counted


def render(fleet: Fleet) -> str:
    """Return the page of a fleet report."""
    return (
        environment("pytest_draft.report")
        .get_template("fleet.html")
        .render(
            fleet=fleet,
            rows=[_row(model) for model in fleet["models"]],
            signs=SIGNS,
            verdicts=VERDICTS,
            meanings=MEANINGS,
        )
    )


def _row(model: Model) -> dict[str, Any]:
    """Return a model with all that the template shows of it in words, and what it is sorted by."""
    worst, error, perfect, n_rows = model["worst"], model["error"], model["perfect_rows"], model["n_rows"]
    not_run = model["checks_not_run"]
    return {
        **model,
        "rank": VERDICTS.index(model["verdict"]),
        "change_rank": "" if model["change"] is None else CHANGES.index(model["change"]),
        "story": story(model),
        "rule": worst["rule"] if worst else None,
        "standing": worst["standing"] if worst else None,
        "sentence": worst["sentence"] if worst else "no check ran",
        "left_out": f"{left_out:,} not applicable" if (left_out := model["checks_not_applicable"]) else None,
        "not_run": f"{counted(not_run, 'planned check')} did not run" if not_run else None,
        "error_text": span(error, ".4f"),
        "error_key": "" if error is None else error[0],
        "error_beside": span(_twice(model["split_half_error"]), ".4f"),
        "perfect_text": None if perfect is None else f"{span(perfect, ',.0f')} of {n_rows:,}",
        "perfect_key": "" if perfect is None or not n_rows else perfect[1] / n_rows,
        "perfect_beside": span(_twice(model["split_half_perfect_rows"]), ",.0f"),
    }


def _twice(value: float | None) -> list[float] | None:
    return None if value is None else [value, value]
