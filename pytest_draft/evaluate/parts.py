"""Parts of the data that are judged by themselves: cuts a comparison of all of it into `Parts`.

What the file does not reveal can only be guessed, and guesses would dilute a leak of the rest. So the figures are also
taken on parts of the data, each beside its baselines on the same rows and columns (`Measure`):

- *seen*: the rows that some tree has seen. Absolute and relative thresholds hold for them.
- *informative*: without (nearly) constant attributes that are open in every row. Such an attribute says nothing of
  anybody; but a wrong guess is wrong in every row. Relative thresholds hold, as for the next one.
- *mostly determined*: the attributes that the forest determines in at least `PartLimits.mostly` of the rows, where
  these columns tell people apart: where other rows like these meet at most `PartLimits.most_met` of the rows on them.
  On fewer columns a dataset is little more than a table of frequencies, which a forest of two questions tells exactly,
  and nobody's record. Measured on COMPAS, Adult and Default Credit (100 rows, 5 trees of depth 2, with and without
  bootstrap): where others meet at most that share, the error is 0.70 to 1.70 times the split-half one, and at most 0.20
  of the rows that they leave are perfect (5 of 24 forests have such columns); where they meet more, it comes down to
  0.31 times (36 forests).
- *fully determined*: the rebuilt rows in which the forest leaves nothing open, so that nothing is guessed. Whoever has
  the file knows which ones these are, and the others do not make them any less known. They are matched into all true
  rows, beside as many rows of other people that are most like them (`baselines.likest_baseline`). Relative thresholds
  hold where there are at least `PartLimits.least_determined` of them, others' rows meet at most `PartLimits.most_met`,
  and these come closer than chance lets others come: as many are perfect with a probability of at most
  `PartLimits.by_chance`, or the error lies `PartLimits.spreads` standard deviations below the baseline. Measured with 5
  to 25 *other* people's rows in place of rebuilt ones (at random, of one kind, the commonest, the rarest; COMPAS,
  Adult, Default Credit; 2,047 parts): 13 % of those with 5 rows and 1 % of those with 25 crossed the default thresholds
  by chance, none of them with either test: the least probability was 1.1e-4, the most 3.2 deviations.

Where not all rows were seen, the last three are taken on those that were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.evaluate.compared import Compared
from pytest_draft.facts.findings import Of
from pytest_draft.facts.identity import Identity
from pytest_draft.matching import row_identities


@dataclass(frozen=True)
class PartLimits:
    """Where a part begins, and where its figures would say nothing of single people."""

    nearly_constant: float = 0.95
    """A column in which the commonest value has at least this share says nothing about nearly anybody."""
    mostly: float = 0.5
    """An attribute that is determined in at least this share of the rows is mostly determined."""
    most_met: float = 2 / 3
    """Columns on which other rows like these meet more than this share of the rows do not tell people apart.
    Measured on COMPAS, Adult and Default Credit (see above).
    """
    least_determined: int = 5
    """Fewer fully determined rows are no part of their own: figures would reveal single people."""
    by_chance: float = 1e-4
    """Where other rows like these would be perfect as often with a greater probability, it may be chance. Measured: the
    least probability of 2,047 parts of other rows like these was 1.1e-4.
    """
    spreads: float = 4.0
    """So may an error that is not this many standard deviations of the baseline's draws below it. Measured: the most
    deviations of the same parts were 3.2.
    """
    most_matched: int = 500
    """Of more fully determined rows than this, as many are drawn: all others cost much and say little more."""


LIMITS = PartLimits()

_ON_SEEN = " on the rows that some tree has seen"


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a comparison."""

    judged: tuple[Compared, ...]
    """Those that are not the whole, empty or too small, and tell people apart."""
    base: Compared
    """What all but the first are parts of: the rows that some tree has seen."""
    n_fully_determined: int
    """Rebuilt rows in which nothing is guessed, of those."""

    @classmethod
    def of(cls, overall: Compared, seen: BoolArray | None, identity: Identity) -> Parts:
        """Return the parts of a comparison.

        Parameters
        ----------
        seen : ndarray of bool, shape (n_unknown,), or None
            Which rebuilt rows some tree has seen; None where nobody knows.
        """
        part = _seen_only(overall, seen, identity)
        base = part or overall
        fully = np.flatnonzero(~base.free[: base.n_rows, overall.unknown_attributes].any(axis=1))
        parts = part, _informative(base), _mostly_determined(base), _fully_determined(base, fully)
        return cls(tuple(one for one in parts if one is not None), base, len(fully))


def _seen_only(compared: Compared, seen: BoolArray | None, identity: Identity) -> Compared | None:
    """Return the rows that some tree has seen; None where these are all, or nobody knows which they are."""
    if seen is None or seen.all() or not seen.any():
        return None
    if identity.status == "confirmed":
        unknown, rebuilt, free = compared.unknown[seen], compared.rebuilt[seen], compared.free[seen]
        labels = None if compared.labels is None else compared.labels[seen]
        return replace(
            compared,
            of="seen",
            on=_ON_SEEN,
            unknown=unknown,
            rebuilt=rebuilt,
            free=free,
            labels=labels,
            sampled=tuple(one.only(unknown) for one in compared.sampled),
            known_others=None if compared.known_others is None else compared.known_others.only(unknown),
        )
    if identity.status == "order differs":  # the other rebuilt rows can stand for any true row
        first = np.argsort(~seen, kind="stable")
        comparison = replace(compared.comparison, share=float(seen.mean()))
        rebuilt, free = compared.rebuilt[first], compared.free[first]
        labels = None if compared.labels is None else compared.labels[first]
        return replace(
            compared, of="seen", on=_ON_SEEN, rebuilt=rebuilt, free=free, labels=labels, comparison=comparison
        )
    return None


def _informative(compared: Compared) -> Compared | None:
    """Return what is left without (nearly) constant attributes that are open in every row."""
    commonest = np.array(
        [
            np.bincount(row_identities(compared.rows[:, list(attribute.columns)])[0]).max() / len(compared.rows)
            for attribute in compared.domain.attributes
        ]
    )
    kept = ~compared.free[: compared.n_rows].all(axis=0) | (commonest < LIMITS.nearly_constant)
    return _some_attributes(compared, kept, "informative", "without nearly constant ones that no tree tests")


def _mostly_determined(compared: Compared) -> Compared | None:
    """Return what is left with mostly determined attributes only, where these tell people apart."""
    kept = (~compared.free[: compared.n_rows]).mean(axis=0) >= LIMITS.mostly
    part = _some_attributes(compared, kept, "mostly_determined", "those that trees test in most rows")
    if part is None:
        return None
    if part.known_others is not None:  # whose leaves tell frequencies of so few columns gives nobody's record away
        part = replace(part, known_others=replace(part.known_others, population=()))
    met = part.split_half.perfect_rows
    return None if met is not None and met > LIMITS.most_met * part.n_rows else part


def _fully_determined(compared: Compared, which: IntArray) -> Compared | None:
    """Return the comparison of the rebuilt rows in which nothing is guessed, where they tell people apart.

    Parameters
    ----------
    which : ndarray of int64, shape (n_determined,)
        Their positions.
    """
    if not LIMITS.least_determined <= len(which) < compared.n_rows:
        return None
    on = " on the rows in which nothing is guessed"
    if len(which) > LIMITS.most_matched:
        on = f" on {LIMITS.most_matched:,} of the {len(which):,} rows in which nothing is guessed"
        which = np.sort(np.random.default_rng([compared.seed, 46]).choice(which, LIMITS.most_matched, replace=False))
    if compared.comparison.alone:
        part = replace(
            compared,
            of="fully_determined",
            on=on,
            unknown=compared.unknown[which],
            rebuilt=compared.rebuilt[which],
            free=compared.free[which],
            labels=None,
        )
    else:
        order = np.concatenate([which, np.setdiff1d(np.arange(len(compared.rebuilt)), which)])
        part = replace(
            compared,
            of="fully_determined",
            on=on,
            rebuilt=compared.rebuilt[order],
            free=compared.free[order],
            labels=None,
            comparison=replace(compared.comparison, share=len(which) / len(compared.rebuilt)),
            guesses=compared.rebuilt[which],
        )
    baseline = part.split_half
    if baseline.error is None or baseline.perfect_rows is None:
        return part  # nothing says that it is chance
    if baseline.perfect_rows > LIMITS.most_met * part.n_rows:
        return None
    tries = baseline.draws * baseline.rows
    share = (baseline.perfect_rows / part.n_rows * tries + 1) / (tries + 2)  # others may meet what they did not here
    if stats.binom.sf(len(part.perfect.rows) - 1, part.n_rows, share) <= LIMITS.by_chance:
        return part
    spread = 0.0 if part.likest is None else part.likest[1]
    below = baseline.error - part.error.upper
    return part if below > 0 and below >= LIMITS.spreads * spread and spread else None


def _some_attributes(compared: Compared, kept: BoolArray, of: Of, which: str) -> Compared | None:
    """Return the comparison on some attributes and the known ones; None where these are none, or all."""
    attributes = [a for a in range(len(kept)) if kept[a] or a in compared.known]
    if len(attributes) in (len(compared.known), len(kept)):
        return None
    columns, others = compared.domain.columns_of(attributes), compared.known_others
    part = replace(
        compared,
        rows=compared.rows[:, columns],
        rebuilt=compared.rebuilt[:, columns],
        free=compared.free[:, attributes],
        domain=compared.domain.restricted(attributes),
        known=tuple(attributes.index(a) for a in compared.known),
        sampled=tuple(one.mapped(lambda rows: rows[:, columns]) for one in compared.sampled),
        known_others=None if others is None else others.mapped(lambda rows: rows[:, columns], attributes),
    )
    of_rows = " of the rows that some tree has seen" if compared.on else ""
    return replace(part, of=of, on=f" on {part.n_counted} columns{of_rows} ({which})")
