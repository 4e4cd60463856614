"""The figures of a judgement: how close a reconstruction came to the training data. Aggregates only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_draft.facts.ambiguity import Ambiguity, Ideal
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares
from pytest_draft.facts.figures import NOT_DRAWN, Baseline, Distance, Exact, Individuals, Numeric, Significance
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.informed import Informed
from pytest_draft.facts.slices import SliceFigures

ScaleName = Literal["range", "inner range", "rank"]


Of = Literal["everything", "seen", "informative", "mostly_determined", "fully_determined"]
"""What a measure is of: all that was to be rebuilt, or a part of its rows or columns (`evaluate.parts`)."""


WITH_LABELS = " with the label as one more attribute"
"""What is written after figures that count the label as an attribute."""


@dataclass(frozen=True)
class Measure:
    """How close a reconstruction comes to some rows and columns on one scale, beside what is got of just these without.

    A threshold is held against one measure: figure and baselines are of the same rows.
    """

    of: Of
    """Which rows and columns."""
    on: str
    """Which rows, columns and scale, as it is written after a figure; empty for the whole."""
    rows: int
    """Rebuilt rows."""
    columns: int
    """Encoded columns that the error is measured on."""
    error: Distance
    """Of the reconstruction."""
    perfect: Bounds
    """Rows with all of these columns right: the size of the multiset intersection with the true ones; with numeric
    columns, of a maximum matching of those that are the same to within a tolerance.
    """
    split_half: Baseline
    """One half of the training data against the other."""
    random: Baseline = NOT_DRAWN
    """Guesses drawn uniformly from the domain."""
    scale: ScaleName = "range"
    """What numeric values are measured by."""
    numeric: bool = False
    """Whether some column is numeric, so that perfect rows are right to within a tolerance."""
    exact: Exact | None = None
    """By rank; None where the time was out, or the data have too few rows for its baseline."""
    ideal: Ideal | None = None
    """What the best possible guess gets of it; None where that was not found out."""
    informed: Informed | None = None
    """What somebody gets of it who knows all other rows; None where that was not found out."""

    def __post_init__(self) -> None:
        require_not_negative(columns=self.columns)
        require_rising(perfect_rows=self.perfect.upper, rows=self.rows)
        if self.ideal is not None and self.ideal.rows != self.rows:
            raise ValueError(f"a limit of {self.ideal.rows} rows beside figures of {self.rows}")

    @property
    def absolute(self) -> bool:
        """Whether thresholds without a baseline are meant for it, too: it holds all unknown attributes as they are."""
        return self.of in ("everything", "seen") and self.scale == "range"

    @property
    def error_without_file(self) -> float | None:
        """The least error that anybody considered gets without the file; None where that is not known.

        Other rows like these, as many as there are, as they are or in proportion to how frequent they are, and the
        guess of somebody who knows all rows but one.
        """
        if self.informed is None or self.split_half.error is None:
            return None
        return self.informed.without_file * self.informed.shrinks * self.split_half.error

    @property
    def rows_without_file(self) -> float:
        """The most rows that anybody considered meets perfectly without the file."""
        drawn = () if self.informed is None else self.informed.population
        shares = (one.near_rows_without_file for one in drawn if not one.measured)
        return min(max([self.split_half.perfect_rows or 0.0, *(one * self.rows for one in shares)]), float(self.rows))


@dataclass(frozen=True)
class Labelled:
    """Figures on all rows that were seen, the label as one more attribute: a wrong one counts as a wrong value."""

    measure: Measure
    """Of rows with their labels."""
    rows_without: int
    """Rows with all columns right, whatever their labels. Some of these have the right label too."""
    commonest: int
    """Of the same rows, those with the commonest label of the training data: what a guess of the majority gets right.
    """

    def __post_init__(self) -> None:
        require_rising(commonest_label=self.commonest, rows_without=self.rows_without, rows=self.measure.rows)


@dataclass(frozen=True)
class ValueFigures:
    """Encoded values, one for each row and column, of the attributes that a forest determines or leaves open."""

    number: int
    """How many they are."""
    error: float | None
    """Their mean distance in the matching that was found; another one of the same cost can divide the error otherwise.
    None without a value or an exact matching.
    """

    def __post_init__(self) -> None:
        require_not_negative(number=self.number, error=self.error)


@dataclass(frozen=True)
class Values:
    """What the error is made of: weighted by their numbers, the errors of determined and of free values give it."""

    determined: ValueFigures = ValueFigures(0, None)
    free: ValueFigures = ValueFigures(0, None)
    """`determined` and `free`: of the attributes that the forest determines, and of those that it leaves open."""
    free_share: float = 0.0
    """Share of reconstructed attribute values that the forest leaves open."""
    determined_rows: int = 0
    """Rebuilt rows in which nothing is guessed, of those that some tree has seen; there is a measure of them only where
    they are judged.
    """
    certain: ValueFigures | None = None
    constrained: ValueFigures | None = None
    """`certain` and `constrained`: of the determined values, those that equations of the file alone fix, proved, and
    the others; None where nothing is proved value by value.
    """
    certain_rows: Bounds | None = None
    """Rows all of whose unknown attributes are certain; perhaps more are, all of them at most."""

    def __post_init__(self) -> None:
        require_shares(free_share=self.free_share)


@dataclass(frozen=True)
class ProvedValues:
    """Values that are proved to stand in the training data, nobody knows in which row."""

    number: int
    """Different values, summed over unknown columns."""
    columns: int
    """Unknown columns with such a value."""
    share: float
    """Of all values of unknown columns in the rows that were to be rebuilt, those that are among them."""

    def __post_init__(self) -> None:
        require_rising(columns=self.columns, number=self.number)
        require_shares(share=self.share)


@dataclass(frozen=True)
class Raw:
    """The error on the raw columns that the file's transformers take."""

    columns: int
    """Unknown raw columns that are rebuilt."""
    error: Distance
    """Of the reconstruction, on these columns."""

    def __post_init__(self) -> None:
        require_not_negative(columns=self.columns)


@dataclass(frozen=True)
class ColumnFigures:
    """How much of one column comes back."""

    name: str
    """Of the attribute: a one-hot group is one."""
    error: float
    """Mean distance of its values in the matching that was found."""
    right: float
    """Share of its values that are right; numeric ones to within the tolerance of perfect rows."""
    split_half: float | None
    """Share of its values that other rows like these have right, in place of rebuilt ones; None without a baseline."""

    def __post_init__(self) -> None:
        require_not_negative(error=self.error)
        require_shares(right=self.right, split_half=self.split_half)

    @property
    def beyond(self) -> float:
        """The share of right values among those that other rows like these do not have right; below 0 for fewer."""
        others = self.split_half or 0.0
        return (self.right - others) / (1 - others) if others < 1 else 0.0


@dataclass(frozen=True)
class Findings:
    """How close a reconstruction comes to the training data. All errors are the attacker's: low is bad.

    Everything is about the rows that the adversary does not know, and errors about the attributes that it does not
    know. Rows that an informed adversary rebuilds one at a time are compared one by one, all others matched.
    """

    measures: tuple[Measure, ...]
    """What thresholds are held against: the whole, then every part that is not the whole, empty or too small, and tells
    people apart; then these once more, numeric values on other scales.
    """
    original_error: Distance
    """Of the whole on original attributes: a one-hot group counts once."""
    singled_out: Bounds
    """Perfect rows that are unique in the training data; with numeric columns, the most that a matching meets."""
    unique_rows: int
    """Rows that are unique in the training data."""
    identity: Identity
    """Whether these rows trained the forest."""
    rows_in_order: int | None = None
    """Rows rebuilt at their own position, where the adversary knows the order and so do the data."""
    values: Values = Values()
    """By whether the file tells them."""
    known_attributes: int = 0
    known_rows: int = 0
    """`known_attributes` and `known_rows`: how many attributes the adversary knows in every row, and how many rows
    whole.
    """
    inliers: Individuals | None = None
    outliers: Individuals | None = None
    """`inliers` and `outliers`: figures on the rows that are like the others, and on those that are not; None where the
    time was out.
    """
    significance: Significance | None = None
    """The leak p-value; None without a holdout, or where the time was out."""
    rebuilt_rows: int | None = None
    """Rows of the reconstruction where they are more or fewer than there are (see `evaluate`); None for as many."""
    certain_unique: Bounds | None = None
    """Rows that are unique in the training data and proved by the file alone: others can be denied, these cannot. None
    where nothing is proved of single rows.
    """
    proved_values: ProvedValues | None = None
    """None where the file reveals no value by itself."""
    numeric: Numeric | None = None
    """None where no unknown attribute is numeric."""
    raw: Raw | None = None
    """None where the training data were not given raw, to be encoded by the file's transformers."""
    row_errors: tuple[float, ...] | None = None
    """Length 101. Quantiles of the rows' distances in the matching that was found: the lowest, that of each further
    hundredth of the rows, the highest. None without an exact matching.
    """
    slices: tuple[SliceFigures, ...] = ()
    """Those that the policy names; then those of them that were measured once more, numeric values on other scales."""
    labelled: Labelled | None = None
    """None of a regressor, and where no labels were rebuilt."""
    columns: tuple[ColumnFigures, ...] = ()
    """Of each unknown attribute, in the domain's order; empty without an exact matching."""
    ambiguity: Ambiguity | None = None
    """What other datasets explain the file as well as the truth; None where that was not found out."""

    def __post_init__(self) -> None:
        if not self.measures or self.whole.of != "everything":
            raise ValueError("the first measure is not of everything")
        n_rows = self.whole.rows
        require_rising(singled_out_rows=self.singled_out.lower, unique_rows=self.unique_rows)
        require_rising(rows_in_order=self.rows_in_order, rows=n_rows)
        for certain in (self.certain_unique, self.values.certain_rows):
            require_rising(certain_rows=None if certain is None else certain.upper, rows=n_rows)
        require_not_negative(rebuilt_rows=self.rebuilt_rows)
        require_not_negative(known_rows=self.known_rows, known_attributes=self.known_attributes)
        if self.row_errors is not None and len(self.row_errors) != 101:
            raise ValueError(f"{len(self.row_errors)} quantiles, not 101")

    @property
    def whole(self) -> Measure:
        """The figures on all rows and columns that were to be rebuilt."""
        return self.measures[0]

    @property
    def by_name(self) -> dict[str, Measure]:
        """The measures by what they are of; ``by_rank`` is the whole, each numeric value measured by its rank."""
        named: dict[str, Measure] = {one.of: one for one in self.measures if one.scale == "range"}
        by_rank = [one for one in self.measures if (one.of, one.scale) == ("everything", "rank")]
        return named | {"by_rank": by_rank[0]} if by_rank else named
