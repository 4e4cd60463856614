"""How raw columns become those of the forest: an `Encoder` with the steps of all transformers.

Every transformer that is covered makes each of its columns from a single one, but for products of several. So an
encoder is a list of the forest's columns, each with the raw column it comes from and the steps on the way. What they
mean is `pytest_draft.data.encoding`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from pytest_draft.arrays import AnyArray, FloatArray, IntArray

SAME_TYPE = ""
"""Stands for the type of the numbers that an encoder is given."""

NO_CODE = -1
"""Stands for a value without a category, whose one-hot columns are all 0."""

_ROUNDING = 1e-6
"""What a scaler learns of scaled numbers is as near to 0 or 1."""


@dataclass(frozen=True, eq=False)
class Categories:
    """The values that an encoder knows of one column. They are values of its training data."""

    values: tuple[object, ...] = field(repr=False)
    """Length n_values, each a str, int, float, bool or None. Distinct; at most one is missing (None or NaN)."""
    codes: IntArray
    """Shape (n_values,). Which category each value is of, from 0; infrequent values share one."""
    n_codes: int
    """Number of categories."""
    unknown: int | None
    """The code of any other value: `NO_CODE` for none of them, None where such a value is refused."""
    from_data: bool
    """Whether the values were collected from the rows that the encoder was fitted on, so that each of these has one."""

    @property
    def complete(self) -> bool:
        """Whether each row that the encoder was fitted on has one of the categories."""
        return self.from_data or self.unknown != NO_CODE


@dataclass(frozen=True, eq=False)
class Together:
    """Columns of one array have one type: NumPy's common type of `block`."""

    block: tuple[Column, ...]
    types: tuple[str, ...] = ()
    """The types that the next step computes in; any other becomes the first. Empty for all."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Numbers, scaled."""

    operations: tuple[tuple[Literal["subtract", "divide", "multiply", "add"], AnyArray], ...]
    """Each of shape (1,). ``subtract``, ``divide``, ``multiply`` or ``add`` and by what, one after the other and in
    place: each result is rounded to the column's type. Operands are not 0 where they divide or multiply.
    """
    cast: bool = False
    """Whether operands are cast to the column's type first."""
    clip: tuple[float, float] | None = None
    """Bounds of the result."""

    @property
    def changes_nothing(self) -> bool:
        """Whether it returns numbers as they are but for rounding: it was fitted on scaled ones."""
        neutral = {"subtract": 0.0, "add": 0.0, "divide": 1.0, "multiply": 1.0}
        return all(bool(abs(by - neutral[operation]).max() < _ROUNDING) for operation, by in self.operations)


@dataclass(frozen=True, eq=False)
class Fill:
    """Values, with `value` in place of the ones that are `missing` (None and NaN: whatever is missing)."""

    missing: object
    value: object = field(repr=False)


@dataclass(frozen=True, eq=False)
class IsMissing:
    """Whether a value is missing, as `Fill` says."""

    missing: object


@dataclass(frozen=True, eq=False)
class OneHot:
    """Whether a value is of one category. The `dropped` category has no column, NO_CODE for none such."""

    categories: Categories
    code: int
    dropped: int
    dtype: str


@dataclass(frozen=True, eq=False)
class Ordinal:
    """A number for each category, shape (n_codes,), and one for values without; of a type, or `SAME_TYPE`."""

    categories: Categories
    numbers: FloatArray
    unknown: float
    dtype: str


@dataclass(frozen=True, eq=False)
class Apply:
    """Numbers, put through NumPy's function of this name."""

    function: str


@dataclass(frozen=True, eq=False)
class Power:
    """Numbers, raised by ``yeo-johnson`` or ``box-cox`` with an exponent."""

    method: str
    exponent: float


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Numbers, as which share of the training data's is below them."""

    quantiles: FloatArray = field(repr=False)
    """Shape (n_quantiles,). Of the training data."""
    references: FloatArray
    """Shape (n_quantiles,). Which shares these are."""
    normal: bool
    """Whether shares become those of a normal distribution."""


@dataclass(frozen=True, eq=False)
class Bin:
    """Numbers, as how many of the ascending `edges` are at most as large."""

    edges: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Product:
    """The product of columns of one array, which all come before it; 1 for none."""

    factors: tuple[Column, ...]
    """Multiplied from the last one to the first."""
    together: Together
    """Of the array."""


Step = Together | Scale | Fill | IsMissing | OneHot | Ordinal | Apply | Power | Quantiles | Bin | Product
Curve = Apply | Power | Quantiles | Bin


@dataclass(frozen=True)
class Column:
    """A column on its way to the forest: the raw column that it comes from, and the steps up to here."""

    source: int
    steps: tuple[Step, ...] = ()

    @property
    def sources(self) -> frozenset[int]:
        """All raw columns that it comes from: of a product, those of each factor."""
        if not self.steps or not isinstance(self.steps[0], Product):
            return frozenset((self.source,))
        return frozenset((self.source,)).union(*(factor.sources for factor in self.steps[0].factors))

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Its steps that scale numbers."""
        return tuple(step for step in self.steps if isinstance(step, Scale))

    @property
    def is_product(self) -> bool:
        """Whether it is a product of columns, and so reveals none of them by itself."""
        return bool(self.steps) and isinstance(self.steps[0], Product)

    def then(self, *steps: Step) -> Column:
        """Return the column after further steps."""
        return Column(self.source, (*self.steps, *steps))


@dataclass(frozen=True, eq=False)
class Encoder:
    """How raw columns become a forest's columns."""

    columns: tuple[Column, ...]
    """One for each column of the forest."""
    n_inputs: int
    """Number of raw columns that the transformers were fitted on."""
    names: tuple[str, ...] | None
    """Their names, where the file has them."""
    sparse: bool
    """Whether the forest was given a sparse matrix."""
    transformers: tuple[str, ...]
    """Class names in order of their first use."""

    @property
    def sources(self) -> tuple[int, ...]:
        """The raw columns that the forest's columns come from, ascending."""
        return tuple(sorted(frozenset().union(*(column.sources for column in self.columns))))

    @property
    def unused(self) -> str | None:
        """What the transformers reveal of the forest's columns and no attack uses; None for nothing."""
        if any(column.is_product for column in self.columns):
            return "which columns are products of which others is not used yet: whoever uses it gets closer"
        return None

    def known(self, source: int) -> tuple[object, ...]:
        """Return the values of a raw column that have a meaning of their own: categories, and what is missing."""
        steps = [step for column in self.columns if column.source == source for step in column.steps]
        of_encoders = [step.categories.values for step in steps if isinstance(step, (OneHot, Ordinal))]
        return (*chain(*of_encoders), *(step.missing for step in steps if isinstance(step, (Fill, IsMissing))))

    def name(self, source: int) -> str:
        """Return the name of a raw column, ``x0`` and so on where the file has none."""
        return f"x{source}" if self.names is None else self.names[source]


@dataclass(frozen=True)
class Block:
    """The columns between two transformers, and whether they are a sparse matrix."""

    columns: tuple[Column, ...]
    sparse: bool = False


@dataclass(frozen=True, eq=False)
class Projection:
    """Numbers, less a mean, projected on components, over a scale."""

    components: FloatArray
    """Shape (n_components, n_columns)."""
    mean: FloatArray
    """Shape (n_columns,)."""
    scale: FloatArray
    """Shape (n_components,)."""


@dataclass(frozen=True, eq=False)
class Transformer:
    """A transformer by itself."""

    path: str
    n_inputs: int
    does: Encoder | Projection
