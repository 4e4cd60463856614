"""What the plot of a page shows: in go the tables of the page, out come the panels of `studies.papers.plots`.

A plot is drawn from what stands in the tables, and nothing else: so picture and table cannot differ, published runs are
shown where there are ours to compare, and a page's plot can be drawn again without computing anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from studies.papers.plots import PANELS, Curve, panels
from studies.papers.result import Section, settings, where

_NUMBER = r"-?[\d,]+(?:\.\d+)?(?:e-?\d+)?"
_CELL = re.compile(rf"\**({_NUMBER})(?: ± ({_NUMBER}))?(?: of ({_NUMBER}))?")


@dataclass(frozen=True)
class Value:
    """What a cell of a table says: ``0.0123 ± 0.0010 (5)``, ``**0.0123 (1)**`` or ``3 of 20``."""

    number: float
    spread: float = 0.0
    of: float = 1.0

    @classmethod
    def read(cls, cell: object) -> Value | None:
        """Return the value of a cell; None where there is none."""
        found = _CELL.match(str(cell))
        if not found:
            return None
        number, spread, of = (float(text.replace(",", "")) if text else None for text in found.groups())
        assert number is not None
        return cls(number, spread or 0.0, of or 1.0)


PART = "part"
"""Column of what the heading of a table says of all its rows."""

_LONGEST = 27
"""Characters that a panel is wide."""


@dataclass(frozen=True)
class Picture:
    """A plot of small panels; it is called with the tables of a page, and returns what draws a figure."""

    x: Sequence[str]
    """Columns along the horizontal axis, of which each table has one."""
    series: Mapping[str, str]
    """What is drawn, by its label: the column that it stands in."""
    x_label: str
    y_label: str
    by: Sequence[str] = ("data",)
    """Columns by whose values there are panels; those of the last one lie side by side."""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Values of columns that are drawn, where not all of a table are."""
    sections: str = ""
    """Pattern of the headings of the tables; its group, where it has one, is what stands in `PART`."""
    words: Mapping[str, str] = field(default_factory=dict)
    """How a column's values are called in titles: ``{} trees``."""
    joined: bool = True
    """Whether points are joined."""
    logarithmic: str = ""
    ticks: Sequence[float] = ()
    columns: int = 3

    def __call__(self, sections: Sequence[Section]) -> Callable[[], Any]:
        """Return what draws the figure."""
        return self.figure(self.curves(sections))

    def figure(self, curves: Mapping[str, Sequence[Curve]]) -> Callable[[], Any]:
        """Return what draws a figure of some panels."""
        return panels(
            curves,
            self.x_label,
            self.y_label,
            logarithmic=self.logarithmic,
            ticks=self.ticks,
            columns=self.columns,
        )

    def curves(self, sections: Sequence[Section]) -> dict[str, list[Curve]]:
        """Return the curves, by the titles of their panels."""
        table = self.rows(sections)
        return {
            title: [
                found
                for label, column in self.series.items()
                if len((found := curve(mine, _X, column, label, joined=self.joined)).x)
            ]
            for title, mine in self.split(table)
        }

    def rows(self, sections: Sequence[Section]) -> pd.DataFrame:
        """Return the rows that are drawn, of all tables that are, as text."""
        tables = []
        for section in sections:
            found = re.search(self.sections, section.heading)
            if found:
                (along,) = [column for column in self.x if column in section.table]
                part = found[1] if found.re.groups else ""
                tables.append(section.table.assign(**{PART: part, _X: section.table[along]}))
        table = pd.concat(tables).astype(str)
        for column, values in self.only.items():
            chosen = table[table[column].isin(values)]
            table = table if chosen.empty else chosen
        return table

    def split(self, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
        """Return titles and rows of the panels, in their order."""
        by = list(self.by)
        place = {column: list(dict.fromkeys(table[column])) for column in by}
        found = sorted(
            settings(table, by), key=lambda values: [place[c].index(v) for c, v in zip(by, values, strict=True)]
        )
        return [(self._title(values), where(table, **dict(zip(by, values, strict=True)))) for values in found]

    def _title(self, values: Sequence[str]) -> str:
        """Return the title of a panel, in one line where it is short."""
        named = [self._named(column, value) for column, value in zip(self.by, values, strict=True)]
        words = ", ".join(reversed(named))
        return words if len(words) <= _LONGEST else words.replace(", ", ",\n", 1)

    def _named(self, column: str, value: str) -> str:
        if column == "depth" and value == "none":
            return "no limit of depth"
        named = self.words.get(column, "{}").format(PANELS.get(value, value))
        return named.removesuffix("s") if value == "1" else named


_X = "along the horizontal axis"
"""Column of `Picture.x`, whatever its name is in a table."""


def curve(table: pd.DataFrame, x: str, y: str, label: str, *, joined: bool = True) -> Curve:
    """Return the curve of two columns, without the rows that have no value."""
    points = []
    for at, cell in zip(table[x], table[y], strict=True):
        place, value = Value.read(at), Value.read(cell)
        if place and value:
            points.append((place.number, value.number / value.of, value.spread))
    points.sort()
    at, mean, spread = ([point[i] for point in points] for i in range(3))
    return Curve(at, mean, label, spread, joined=joined)
