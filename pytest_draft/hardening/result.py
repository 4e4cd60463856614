"""The results of hardening, frozen and plain: they hold no value of a row."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.foreign_text import harmless


@dataclass(frozen=True)
class Change:
    """One kind of field that was changed."""

    field: str
    """Its name in the file."""
    count: int
    """How often."""
    what: str
    """What was counted and what became of it, in words that follow the count."""

    def __str__(self) -> str:
        return f"{self.field}: {self.count:,} {self.what}"


@dataclass(frozen=True)
class Difference:
    """How far predictions of the hardened model are from the model's own."""

    method: str
    """Such as ``predict_proba``, with the place of the model in front where it is not the whole file."""
    n_rows: int
    identical: bool
    """Whether all answers are bit for bit the same."""
    largest: float | None
    """The largest absolute difference of numbers; None for labels that are no numbers."""
    changed: float
    """The share of rows with another answer."""

    def __str__(self) -> str:
        if self.identical:
            return f"{self.method}: bit for bit the same on {self.n_rows:,} rows"
        largest = "" if self.largest is None else f", the largest difference is {self.largest:.3g}"
        return f"{self.method}: another answer for {self.changed:.2%} of {self.n_rows:,} rows{largest}"


@dataclass(frozen=True)
class Hardened:
    """What became of a model."""

    level: str
    """``none``, ``seeds``, ``counts``, ``decimals:N`` or ``labels``."""
    changes: tuple[Change, ...]
    """Field by field."""
    differences: tuple[Difference, ...]
    """Of all predictions that were compared."""
    compared_on: str
    """Which rows those were."""
    stops: tuple[str, ...]
    """What no longer works."""
    stays: tuple[str, ...]
    """What still reveals something of the training data."""
    path: str | None = None
    """The file that was written; None for a model in memory."""
    notes: tuple[str, ...] = ()
    """Anything else that the owner should know."""

    @property
    def identical(self) -> bool:
        """Whether all compared predictions are bit for bit the same."""
        return all(one.identical for one in self.differences)

    def __str__(self) -> str:
        where = "a model in memory" if self.path is None else self.path
        parts = [f"{where}: hardened, level {self.level}"]
        for title, lines in (
            ("note", [*self.notes]),
            ("changed", [*map(str, self.changes)]),
            (f"predictions ({self.compared_on})", [*map(str, self.differences)]),
            ("stops working", [*self.stops]),
            ("still tells", [*self.stays]),
        ):
            if lines:
                parts += [f"{title}:", *(f"  - {line}" for line in lines)]
        return "\n".join(harmless(part, None) for part in parts)
