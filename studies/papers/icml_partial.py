"""ICML 2024, figure 6: in go default forests of which attributes or examples are known, out come errors on the rest."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from studies.cells import Plain
from studies.papers.icml_cells import side_knowledge
from studies.papers.icml_forests import N_ROWS
from studies.papers.pictures import PART, Picture
from studies.papers.plots import PANELS
from studies.papers.result import (
    Cells,
    PaperResult,
    Section,
    because,
    bold,
    is_worse,
    mean_text,
    reason_of,
    settings,
    unanswered,
    values_of,
    where,
)

ATTRIBUTES = {"compas": 7, "adult": 14, "default_credit": 16}
"""Original attributes of each data set, a one-hot group being one."""

SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Of the examples that are known."""

_KINDS = {"known_attributes": "known attributes", "known_proportion": "share of known examples"}
_CUT_ATTRIBUTES = {"compas": (0, 2, 4, 6), "adult": (0, 4, 9, 13), "default_credit": (0, 5, 10, 15)}
_CUT_SHARES = (0.1, 0.5, 0.9)
_SECONDS = {"compas": 10.0, "adult": 10.0, "default_credit": 60.0}
_QUICK_SECONDS = dict.fromkeys(PANELS, 2.0)
_TREES = 100


def cells(part: str) -> Cells:
    """Return the forests of figure 6, and those of the experiment with known examples that the paper tells of."""
    if part == "quick":
        return _cells({"compas": (6.0,)}, (0.99,), _TREES, 1, N_ROWS, _QUICK_SECONDS)
    if part == "cut":
        attributes = {name: tuple(map(float, known)) for name, known in _CUT_ATTRIBUTES.items()}
        return _cells(attributes, _CUT_SHARES, _TREES, 2, N_ROWS, _SECONDS)
    attributes = {name: tuple(map(float, range(number))) for name, number in ATTRIBUTES.items()}
    return _cells(attributes, SHARES[1:], _TREES, 5, N_ROWS, _SECONDS)


def _cells(
    attributes: Mapping[str, tuple[float, ...]],
    shares: tuple[float, ...],
    trees: int,
    seeds: int,
    rows: int,
    seconds: Mapping[str, float],
) -> list[dict[str, Plain]]:
    kinds = {
        "known_attributes": attributes,
        "known_proportion": dict.fromkeys(attributes, shares),
    }
    return [
        {
            "data": name,
            "knowledge": kind,
            "known": known,
            "trees": trees,
            "seed": seed,
            "rows": rows,
            "limit": seconds[name],
        }
        for kind, of_data in kinds.items()
        for name, several in of_data.items()
        for known in several
        for seed in range(seeds)
    ]


def _theirs(authors: Mapping[str, pd.DataFrame], name: str, kind: str, known: float | None = None) -> pd.DataFrame:
    runs = where(authors["draft_partial_runs"], dataset=name, knowledge=kind)
    return runs if known is None else runs[(pd.to_numeric(runs["known"]) == known).to_numpy()]


def sections(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    """Return figure 6 as a table, and the same for known examples."""
    found = []
    for kind, words in _KINDS.items():
        lines = []
        for name, known in settings(where(rows, knowledge=kind), ["data", "known"]):
            same = where(rows, data=name, knowledge=kind, known=known)
            other = _theirs(authors, name, kind, known)
            ours, theirs = values_of(same, "error"), values_of(other, "reconstruction_error")
            worse, without = is_worse(ours, theirs), unanswered(same, other)
            lines.append(
                {
                    "data": name,
                    words: f"{known:g}" + (f" of {ATTRIBUTES[name]}" if kind == "known_attributes" else ""),
                    "ours": bold(mean_text(ours), worse),
                    "published": mean_text(theirs),
                    "perfect rows": f"{same['perfect'].mean():.1f} of {same['unknown_rows'].iloc[0]}",
                    "no answer, ours": without.ours,
                    "no answer, published": without.published,
                    "why worse": because(reason_of(same, "the search stopped by itself"), ours, theirs)
                    if worse
                    else without.reason,
                }
            )
        title = "Figure 6: known attributes" if kind == "known_attributes" else "Known examples"
        text = (
            "The error is that of the unknown attributes, after matching on all."
            if kind == "known_attributes"
            else "Not reported in the paper, which tells of it (appendix G); from the authors' result files. The error "
            "is that of the other examples."
        )
        found.append(Section(title, text, pd.DataFrame(lines)))
    return found


PICTURE = Picture(
    x=tuple(_KINDS.values()),
    series={"ours": "ours", "published": "published"},
    x_label="how many attributes, or which share of the examples, is known",
    y_label="error of what is unknown",
    by=(PART, "data"),
    sections="[Kk]nown (.*)$",
    words={PART: "known {}"},
)


RESULT = PaperResult(
    name="icml-figure-6",
    title="ICML 2024, figure 6: some attributes or examples are known",
    measured=(
        "DRAFT (ICML 2024, appendix G) rebuilds the rest of 100 rows from scikit-learn's default forests with "
        "bagging, where the values of some attributes are known in every row, or some rows are known whole. Which ones "
        "is drawn at random. Here the adversaries are `published+columns:NUMBER` and `published+rows:SHARE%`: "
        "structure and counts, no seeds."
    ),
    compute=side_knowledge,
    cells=cells,
    cut=(
        "Cut: 4 numbers of known attributes for each data set of 7 to 16, 3 shares of known examples of 14, 2 seeds of "
        "5, a time box of 10 s on one thread (Default Credit: 60 s)."
    ),
    tables=tuple(PANELS),
    published=("draft_partial_runs",),
    sections=sections,
    draw=PICTURE,
    remarks=(
        "The published result files hold runs with the status UNKNOWN, whose errors are those of random rows; they "
        "count as without an answer and are in no mean error. The paper left out settings with fewer than three "
        "answers."
    ),
)
