"""Adversaries by name: parses what an option or a policy says.

An adversary is written as a name, with side knowledge behind it: ``artifact+columns:age,sex``,
``published+rows:25%``, ``artifact+informed``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

from pytest_draft.errors import UsageError, known_are, one_line

ADVERSARIES = {
    "artifact": "all that is in the file, the stored seeds too",
    "published": "structure and counts, no seeds (the bagging setting of DRAFT, ICML 2024)",
    "served": "the model's answers, and so a perfect copy: splits and what each leaf answers, no counts, no seeds",
    "served+labels": "labels alone, of which a copy of probabilities tells no less",
}
"""What each adversary knows, by name."""


SIDE_KNOWLEDGE = ("columns:NAME,... or columns:NUMBER", "rows:NUMBER or rows:SHARE%", "informed", "n-unknown")
"""What can stand behind an adversary's name, each after a ``+``."""


_PART = re.compile(r"\+(?=columns:|rows:|(?:informed|n-unknown)(?:\+|$))")


@dataclass(frozen=True)
class Adversary:
    """An attacker, as an option or a policy names it."""

    name: str
    """One of `ADVERSARIES`."""
    columns: tuple[str, ...] | int = ()
    """Names of the attributes that are known in every row; or how many, drawn by the seed (DRAFT, ICML 2024, appendix
    G).
    """
    rows: int = 0
    """How many rows are known whole, drawn by the seed."""
    percent: float = 0.0
    """Which share of all rows is known whole, in percent."""
    informed: bool = False
    """Whether all rows but one are known."""
    size_unknown: bool = False
    """Whether the number of rows is withheld, where the file does not give it: a forest with noisy counts doesn't, and
    the adversary is granted it otherwise (DRAFT-DP, SaTML 2026, section III).
    """

    def __post_init__(self) -> None:
        if self.name not in ADVERSARIES or not (self.rows >= 0 and 0 <= self.percent < 100):
            raise ValueError(f"no adversary: {self!r}")

    @property
    def has_side_knowledge(self) -> bool:
        """Whether some training data are known."""
        return bool(self.columns or self.rows or self.percent or self.informed)

    @property
    def served(self) -> bool:
        """Whether it may ask the model, and never gets its file."""
        return self.name.startswith("served")

    @property
    def floors(self) -> tuple[str, ...]:
        """All who know less, and so get no more than this one, those who know least first.

        They lack some of the side knowledge, or the seeds. None of an adversary without side knowledge: the attack of
        'artifact' begins with what 'published' gets.
        """
        parts = self._parts
        less = (self.name,) if self.served else (self.name, "published")
        names = [name for name in ADVERSARIES if name in less] if parts else []
        return tuple(
            "+".join([name, *some])
            for number in range(len(parts) + 1)
            for some in combinations(parts, number)
            for name in names
            if (name != self.name or number < len(parts)) and (number or name == self.name)
        )

    @property
    def _parts(self) -> tuple[str, ...]:
        """Each part of the side knowledge, as it is written."""
        columns = str(self.columns) if isinstance(self.columns, int) else ",".join(self.columns)
        share = f"{self.percent:.9f}".rstrip("0").rstrip(".")
        rows = f"rows:{share}%" if self.percent else f"rows:{self.rows}"
        knows = {
            f"columns:{columns}": bool(self.columns),
            rows: bool(self.rows or self.percent),
            "informed": self.informed,
        }
        return tuple(part for part, is_known in knows.items() if is_known)

    @classmethod
    def parse(cls, text: str) -> Adversary:
        """Return the adversary that a text names.

        Raises
        ------
        UsageError
            Naming the part that is wrong, with the list of what is known.
        """
        name, *parts = _PART.split(text)
        if name not in ADVERSARIES:
            head, plus, rest = name.partition("+")
            if plus and head in ADVERSARIES:
                raise _wrong(
                    text, f"unknown side knowledge {one_line(rest)!r}; {known_are(rest, SIDE_KNOWLEDGE, '; ')}"
                )
            raise UsageError(f"unknown adversary {one_line(name)!r}; {known_are(name, ADVERSARIES)}")
        parts_by_kind: dict[str, str] = {}
        for part in parts:
            kind, _, value = part.partition(":")
            if kind in parts_by_kind:
                raise _wrong(text, f"{kind!r} is given twice; give it once")
            parts_by_kind[kind] = value
        if "informed" in parts_by_kind and "rows" in parts_by_kind:
            raise _wrong(text, "'informed' knows all rows but one already; leave out 'rows'")
        if "n-unknown" in parts_by_kind and len(parts_by_kind) > 1:
            raise _wrong(text, "who knows rows or columns knows the number of rows; leave out 'n-unknown'")
        rows, percent = _rows(text, parts_by_kind["rows"]) if "rows" in parts_by_kind else (0, 0.0)
        columns = _columns(text, parts_by_kind["columns"]) if "columns" in parts_by_kind else ()
        return cls(name, columns, rows, percent, "informed" in parts_by_kind, "n-unknown" in parts_by_kind)


def _wrong(text: str, problem: str) -> UsageError:
    return UsageError(f"adversary {one_line(text)!r}: {problem}")


def _columns(text: str, value: str) -> tuple[str, ...] | int:
    """Return the names or the number behind ``columns:``."""
    if re.fullmatch(r"[0-9]{1,9}", value):
        if not int(value):
            raise _wrong(text, "'columns' needs at least 1 attribute; leave it out for none")
        return int(value)
    names = tuple(value.split(","))
    if not all(names):
        raise _wrong(text, "'columns' needs names of attributes with commas between them, or their number")
    if len(set(names)) < len(names):
        raise _wrong(text, "'columns' names an attribute twice; name it once")
    return names


def _rows(text: str, value: str) -> tuple[int, float]:
    """Return the number and the percentage behind ``rows:``, one of them 0."""
    match = re.fullmatch(r"([0-9]{1,9})|([0-9]{1,3}(?:\.[0-9]{1,9})?)%", value)
    if match is None:
        raise _wrong(text, "'rows' needs a whole number, as in rows:10, or a share, as in rows:25%")
    if match[1] is not None:
        if not int(match[1]):
            raise _wrong(text, "'rows' needs at least 1 row; leave it out for none")
        return int(match[1]), 0.0
    if not 0 < float(match[2]) < 100:
        raise _wrong(text, "'rows' needs a share of more than 0% and less than 100%")
    return 0, float(match[2])


def check_adversary(text: str) -> str:
    """Return the text of a well-formed adversary.

    Raises
    ------
    UsageError
        As `Adversary.parse`.
    """
    Adversary.parse(text)
    return text
