"""The plots of the pages, drawn again: in goes the folder of the pages, out come their SVG files; nothing is computed.

``python -m studies.papers.redraw docs/results``
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.papers.page import tables_of
from studies.papers.pictures import Picture
from studies.papers.plots import save
from studies.papers.result import Section
from studies.papers.results import RESULTS

PLOTS: Mapping[str, Callable[[Sequence[Section]], Callable[[], Any]]] = {
    **{name: result.draw for name, result in RESULTS.items()},
    "timberstrike": Picture(
        x=("depth",),
        series={
            "other people": "other people's rows",
            "sums": "sums, tree after tree",
            "published: highest": "published, highest",
            "lowest": "published, lowest",
        },
        x_label="Depth of the trees",
        y_label="Right values, %",
        sections="all columns",
        ticks=(3, 8),
        columns=2,
    ),
}
"""What draws the plot of each page that has one."""


def redraw(folder: Path) -> None:
    """Draw the plot of each page of a folder from the tables of the page.

    Raises
    ------
    FileNotFoundError
    MissingPackageError
        Without matplotlib.
    """
    for name, draw in PLOTS.items():
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
        save(draw(tables_of(text)), folder / f"{name}.svg")


if __name__ == "__main__":
    redraw(Path(sys.argv[1]))
