"""The figures of a judgement: how close a reconstruction came to the training data. Aggregates only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_draft.facts.ambiguity import Ambiguity, Ideal
from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares
from pytest_draft.facts.figures import Baseline, Distance, Exact, Individuals, Numeric, Significance
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.informed import Informed
from pytest_draft.facts.slices import SliceFigures

ScaleName = Literal["range", "inner range", "rank"]


WITH_LABELS = " with the label as one more attribute"
"""What is written after figures that count the label as an attribute."""


ON_SEEN = " on the rows that some tree has seen"
"""What is written after figures that leave out the rows which no tree has seen."""


@dataclass(frozen=True)
class Part:
    """The figures on a part of the rows or columns."""

    on: str
    """Which part, as it is written after a figure; empty for the whole."""
    absolute: bool
    """Whether thresholds that have no baseline are meant for this part too: it holds all unknown attributes."""
    n_rows: int
    """Rebuilt rows."""
    columns: int
    """Encoded columns that the error is measured on."""
    error: Distance
    """Of the reconstruction."""
    perfect_rows: int
    """Rows with all of these columns right."""
    random_error: float | None
    """Of guesses drawn uniformly from the domain."""
    split_half: Baseline
    """One half of the training data against the other."""
    most_perfect_rows: int | None = None
    """No more rows are perfect; None where that is `perfect_rows`."""
    numeric: bool = False
    """Whether some column is numeric, so that perfect rows are right to within a tolerance."""
    scale: ScaleName = "range"
    """What numeric values are measured by."""
    exact: Exact | None = None
    """By rank; None where the time was out, or the data have too few rows for its baseline."""
    ideal: Ideal | None = None
    """What the best possible guess gets of this part; None where that was not found out."""
    informed: Informed | None = None
    """What somebody gets of it who knows all other rows; None where that was not found out."""

    def __post_init__(self) -> None:
        require_not_negative(columns=self.columns, random_error=self.random_error)
        require_rising(perfect_rows=self.perfect_rows, most_perfect_rows=self.most_perfect_rows, rows=self.n_rows)
        if self.ideal is not None and self.ideal.rows != self.n_rows:
            raise ValueError(f"a limit of {self.ideal.rows} rows beside figures of {self.n_rows}")


@dataclass(frozen=True)
class Labelled:
    """The figures on all rows with the label as one more attribute: a wrong one counts as a wrong binary value.

    Where not all rows were seen, on those that were.
    """

    n_rows: int
    """Rebuilt rows."""
    error: Distance
    """Of a matching on all columns and the label."""
    perfect_rows: int
    """Rows with all columns and the label right."""
    most_perfect_rows: int | None
    """No more are; None where that is `perfect_rows`."""
    split_half: Baseline
    """One half of the training data against the other, with their labels."""
    rows_without: int
    """Rows with all columns right, whatever their labels. Of these, `perfect_rows` have the right label too."""
    commonest: int
    """Of the same rows, those with the commonest label of the training data: what a guess of the majority gets right.
    """
    numeric: bool = False
    """As in `Part`."""

    def __post_init__(self) -> None:
        require_rising(perfect_rows=self.perfect_rows, most_perfect_rows=self.most_perfect_rows, rows=self.n_rows)
        require_rising(rows_with_commonest_label=self.commonest, rows_without=self.rows_without, rows=self.n_rows)

    @property
    def part(self) -> Part:
        """The figures as thresholds are held against them."""
        return Part(
            on=WITH_LABELS,
            absolute=True,
            n_rows=self.n_rows,
            columns=0,
            error=self.error,
            perfect_rows=self.perfect_rows,
            random_error=None,
            split_half=self.split_half,
            most_perfect_rows=self.most_perfect_rows,
            numeric=self.numeric,
        )


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
    """The same share where other rows like these are compared, in place of rebuilt ones; None without a baseline."""

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

    n_rows: int
    """Training rows that were to be rebuilt."""
    n_columns: int
    """Encoded columns that errors are measured on."""
    error: Distance
    """Reconstruction error on encoded columns, the papers' number."""
    original_error: Distance
    """The same on original attributes: a one-hot group counts once."""
    perfect_rows: int
    """Size of the multiset intersection of reconstructed and true feature vectors; with numeric columns, of a maximum
    matching of those that are the same to within a tolerance.
    """
    singled_out_rows: int
    """Perfect rows that are unique in the training data; with numeric columns, the most that a matching meets."""
    unique_rows: int
    """Rows that are unique in the training data."""
    rows_in_order: int | None
    """Rows rebuilt at their own position, where the adversary knows the order and so do the data."""
    free_share: float
    """Share of reconstructed attribute values that the forest leaves open."""
    random: Baseline
    """Guesses drawn uniformly from the domain."""
    split_half: Baseline
    """One half of the training data against the other."""
    identity: Identity
    """Whether these rows trained the forest."""
    determined: ValueFigures = ValueFigures(0, None)
    free: ValueFigures = ValueFigures(0, None)
    """`determined` and `free`: what the error is made of: weighted by their numbers, the two errors give it."""
    seen: Part | None = None
    informative: Part | None = None
    mostly_determined: Part | None = None
    known_attributes: int = 0
    known_rows: int = 0
    """`known_attributes` and `known_rows`: how many attributes the adversary knows in every row, and how many rows
    whole.
    """
    inliers: Individuals | None = None
    outliers: Individuals | None = None
    """`inliers` and `outliers`: the same figures on the rows that are like the others, and on those that are not; None
    where the time was out.
    """
    significance: Significance | None = None
    """The leak p-value; None without a holdout, or where the time was out."""
    rebuilt_rows: int | None = None
    """Rows of the reconstruction where they are more or fewer than `n_rows` (see `evaluate`); None for as many."""
    most_perfect_rows: int | None = None
    most_singled_out_rows: int | None = None
    """`most_perfect_rows` and `most_singled_out_rows`: upper bounds; None where they are `perfect_rows` and
    `singled_out_rows`.
    """
    certain: ValueFigures | None = None
    constrained: ValueFigures | None = None
    """`certain` and `constrained`: of the determined values, those that equations of the file alone fix, proved, and
    the others; None where nothing is proved value by value.
    """
    certain_rows: int | None = None
    """Rows all of whose unknown attributes are certain."""
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
    """Those that the policy names."""
    rescaled_slices: tuple[SliceFigures, ...] = ()
    """Those that were measured once more, numeric values on other scales; empty where no unknown attribute is numeric,
    and of very many rows.
    """
    rescaled: tuple[Part, ...] = ()
    """The whole and the parts once more, numeric values on other scales; empty where no unknown attribute is numeric.
    """
    fully_determined: Part | None = None
    """`seen`, `informative`, `mostly_determined` and `fully_determined`: None where that part is the whole, is empty or
    too small, or does not tell people apart.
    """
    fully_determined_rows: int = 0
    """Rebuilt rows in which nothing is guessed, of those that some tree has seen; there is a part for them only where
    it is judged.
    """
    certain_unique_rows: int | None = None
    """Rows that are unique in the training data and proved by the file alone: others can be denied, these cannot. None
    where nothing is proved of single rows.
    """
    most_certain_unique_rows: int | None = None
    """No more can be proved; None where that is `certain_unique_rows`."""
    labelled: Labelled | None = None
    """None of a regressor, and where no labels were rebuilt."""
    columns: tuple[ColumnFigures, ...] = ()
    """Of each unknown attribute, in the domain's order; empty without an exact matching."""
    ambiguity: Ambiguity | None = None
    """What other datasets explain the file as well as the truth; None where that was not found out."""
    ideal: Ideal | None = None
    """What the best possible guess gets of the whole; None where that was not found out."""
    informed: Informed | None = None
    """What somebody gets of the whole who knows all other rows; None where that was not found out."""

    def __post_init__(self) -> None:
        require_rising(perfect_rows=self.perfect_rows, most_perfect_rows=self.most_perfect_rows, rows=self.n_rows)
        require_rising(singled_out_rows=self.singled_out_rows, unique_rows=self.unique_rows)
        require_rising(certain_unique_rows=self.certain_unique_rows, most=self.most_certain_unique_rows)
        require_rising(rows_in_order=self.rows_in_order, rows=self.n_rows)
        require_rising(certain_rows=self.certain_rows, rows=self.n_rows)
        require_not_negative(columns=self.n_columns, rebuilt_rows=self.rebuilt_rows)
        require_not_negative(known_rows=self.known_rows, known_attributes=self.known_attributes)
        require_shares(free_share=self.free_share)
        if self.row_errors is not None and len(self.row_errors) != 101:
            raise ValueError(f"{len(self.row_errors)} quantiles, not 101")

    @property
    def certain_values(self) -> int | None:
        """Encoded values that are proved."""
        return None if self.certain is None else self.certain.number

    @property
    def judged(self) -> tuple[Part, ...]:
        """The whole, and every part that thresholds are held against besides."""
        overall = Part(
            on="",
            absolute=True,
            n_rows=self.n_rows,
            columns=self.n_columns,
            error=self.error,
            perfect_rows=self.perfect_rows,
            random_error=self.random.error,
            split_half=self.split_half,
            most_perfect_rows=self.most_perfect_rows,
            numeric=self.numeric is not None,
            ideal=self.ideal,
            informed=self.informed,
        )
        parts = (self.seen, self.informative, self.mostly_determined, self.fully_determined)
        return (overall, *(part for part in parts if part is not None), *self.rescaled)

    @property
    def by_rank(self) -> Part | None:
        """The whole, each numeric value measured by its rank; None without numeric columns."""
        return next((part for part in self.rescaled if part.scale == "rank"), None)
