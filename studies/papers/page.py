"""The page of a paper's result: in go stored rows, ours and the authors', out come Markdown and an SVG file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from studies.papers.plots import save
from studies.papers.result import PaperResult, Section, bold

_PLOT = (
    "The plot is drawn from the tables below; published runs are in it for the settings that were run here. Bars are "
    "standard errors. Lines join points where there are at least three; without lines, points of the same number may "
    "lie side by side."
)
_BAR = "\\|"


def markdown_table(table: pd.DataFrame) -> str:
    """Return a table in Markdown; values are shown as they are, a missing one as a dash."""

    def line(values: Sequence[object]) -> str:
        return f"| {' | '.join(str(value).replace('|', _BAR) for value in values)} |"

    shown = table.astype(object).where(table.notna(), "-")
    rows = [line(row) for row in shown.itertuples(index=False, name=None)]
    return "\n".join([line(list(table.columns)), "|" + " --- |" * table.shape[1], *rows])


def tables_of(text: str) -> list[Section]:
    """Return the tables of a page, with their headings and without the text above them; every cell is text."""
    found = []
    for part in text.split("\n## ")[1:]:
        lines = [_cells(line) for line in part.splitlines() if line.startswith("|")]
        if lines:
            head, _, *rows = lines
            found.append(Section(part.splitlines()[0], "", pd.DataFrame(rows, columns=head)))
    return found


def _cells(line: str) -> list[str]:
    """Return the cells of a line of `markdown_table`."""
    return [cell.strip().replace(_BAR, "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def printed(sections: Sequence[Section]) -> str:
    """Return the tables of a result as the terminal shows them."""
    return "\n\n".join(f"{section.heading}\n{section.table.to_string(index=False, na_rep='-')}" for section in sections)


def markdown(result: PaperResult, rows: pd.DataFrame, sections: Sequence[Section]) -> str:
    """Return the page of a result.

    Parameters
    ----------
    rows : DataFrame
        Ours, as `studies.cells.run` returns them.
    """
    worse = sum(str(value).startswith("**") for section in sections for value in section.table.to_numpy().ravel())
    blocks = [
        f"# {result.title}",
        result.measured,
        f"```\npython -m studies papers {result.name} --datasets FOLDER --published FOLDER --store FOLDER\n```",
        f"![{result.title}: ours and published]({result.name}.svg)",
        _PLOT,
        "Means, ± standard error, (number of runs). "
        + (f"In bold: worse than published ({worse} of all values)." if worse else "Nothing is worse than published."),
    ]
    for section in sections:
        blocks += [f"## {section.heading}", section.text, markdown_table(section.table)]
    if result.remarks:
        blocks += ["## What to know", result.remarks]
    blocks += ["## How it was run", _run_of(result, rows)]
    return "\n\n".join(block.strip() for block in blocks if block.strip()) + "\n"


def write(
    result: PaperResult, rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame], folder: Path
) -> tuple[Path, Path]:
    """Write the page and its plot.

    Returns
    -------
    page, plot : Path
        ``NAME.md`` and ``NAME.svg`` in the folder, which is made where it does not exist.
    """
    page, plot = folder / f"{result.name}.md", folder / f"{result.name}.svg"
    sections = result.sections(rows, authors)
    text, figure = markdown(result, rows, sections), result.draw(sections)
    folder.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    save(figure, plot)
    return page, plot


def _run_of(result: PaperResult, rows: pd.DataFrame) -> str:
    """Return where, when and by what the rows were computed, and what was left out."""
    n_all = len(result.cells("all"))
    lines = [f"{len(rows):,} cells here, {n_all:,} in the paper's form (`--part all`). {result.cut}".strip()]
    failed = int(rows.attrs.get("failed", 0))
    if failed:
        lines.append(bold(f"{failed} cells ended with an error and are missing."))
    lines += [f"{line[:1].upper()}{line[1:]}." for line in rows.attrs.get("about", ())]
    if "load" in rows:
        load = rows["load"].astype(float)
        lines.append(
            f"Load of the machine while it ran, in processes for each processor: {load.mean():.1f} on average, "
            f"{load.max():.1f} at most. Above 1, seconds are longer by other programs, and a time box allows less work."
        )
    return "\n".join(f"- {line}" for line in lines)
