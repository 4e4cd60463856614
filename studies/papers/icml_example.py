"""ICML 2024, figure 1 and table 1: in go forests on the paper's four rows, out comes how many datasets they allow."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from studies.cells import Plain
from studies.papers.icml_cells import FIGURE_1, four_rows
from studies.papers.pictures import Picture
from studies.papers.result import PaperResult, Section, mean_text, settings, values_of, where

_DEFAULT = "default"
_SECONDS = 10.0


def cells(part: str) -> list[dict[str, Plain]]:
    """Return the two trees of figure 1, and forests of more and more trees by scikit-learn's defaults."""
    sizes, seeds = ((2,), 2) if part == "quick" else ((1, 2, 3, 5, 10, 20), 20)
    forests: list[tuple[str, int, int]] = [(FIGURE_1, 2, 0)]
    forests += [(_DEFAULT, size, seed) for size in sizes for seed in range(seeds)]
    return [{"forest": forest, "trees": size, "seed": seed, "limit": _SECONDS} for forest, size, seed in forests]


def sections(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    """Return how many datasets the trees allow, and how close the attack comes."""
    lines = []
    for forest, size in settings(rows, ["forest", "trees"]):
        same = where(rows, forest=forest, trees=size)
        datasets, errors = values_of(same, "datasets"), values_of(same, "error")
        lines.append(
            {
                "forest": "as figure 1's" if forest == FIGURE_1 else "grown by default",
                "trees": size,
                "consistent datasets": mean_text(datasets, 1),
                "least": f"{datasets.min():.0f}",
                "most": f"{datasets.max():.0f}",
                "only the true one": f"{int((datasets == 1).sum())} of {len(same)}",
                "proved unique": f"{int((same['status'] == 'unique').sum())} of {len(same)}",
                "error": mean_text(errors),
                "perfect rows of 4": f"{same['perfect'].mean():.1f}",
                "no answer": f"{len(same) - len(errors)} of {len(same)}",
                "published": "the trees and rows alone",
            }
        )
    return [
        Section(
            "Datasets that the trees allow",
            "*Consistent datasets* are counted by enumeration, without the engine, of the 18,496 of two rows of each "
            "class; *proved unique* is what the engine says.",
            pd.DataFrame(lines),
        )
    ]


PICTURE = Picture(
    x=("trees",),
    series={"reconstruction error": "error", "share of forests that allow only the true rows": "only the true one"},
    x_label="trees",
    y_label="error, share",
    by=("forest",),
    only={"forest": ("grown by default",)},
    logarithmic="x",
    ticks=(1, 2, 3, 5, 10, 20),
    columns=1,
)


RESULT = PaperResult(
    name="icml-figure-1-table-1",
    title="ICML 2024, figure 1 and table 1: four rows and two trees",
    measured=(
        "DRAFT (ICML 2024, section 4) shows the idea on four rows of four binary attributes: what two trees tell of "
        "them, and that neither tells all. The paper gives no figure of success. Here two trees as its text describes "
        "them (the first without f1, the second without f3), and forests grown on the same rows by scikit-learn's "
        "defaults without bagging: how many datasets agree with all counts, and what the attack rebuilds."
    ),
    compute=four_rows,
    cells=cells,
    cut="Nothing is cut; 20 seeds for each number of trees.",
    tables=(),
    published=(),
    sections=sections,
    draw=PICTURE,
)
