"""What stands before a forest in its file: in go the inert records of fitted transformers, out comes an `Encoder`.

Every transformer that is covered makes each of its columns from a single one. So an encoder is a list of the forest's
columns, each with the raw column it comes from and the steps on the way. Only learned numbers and texts are taken
from the file; what they mean is `pytest_draft.data.encoding`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.container import Budget
from pytest_draft.artifact.objects import Object, described, numbers_of
from pytest_draft.artifact.records import AnyArray, Array, Global, Mapping, Record
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

NO_CODE = -1
"""Stands for a value without a category, whose one-hot columns are all 0."""

_MAX_DEPTH = 8
_MAX_STEPS = 64
_COLUMN_BYTES = 8
_SCALER_TYPES = ("float64", "float32")
_FLOAT_TYPES = ("float64", "float32", "float16")
_CAST_FROM = (1, 8)
"""From this version on a StandardScaler casts what it has learned to the type of the data."""

_PIPELINE = ("sklearn.pipeline", "Pipeline")
_COLUMNS = ("sklearn.compose._column_transformer", "ColumnTransformer")
_FUNCTION = ("sklearn.preprocessing._function_transformer", "FunctionTransformer")
_DTYPES = {
    **{("numpy", name): name for name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8")},
    **{("numpy", name): name for name in ("uint64", "uint32", "uint16", "uint8")},
    ("numpy", "bool_"): "bool",
    ("numpy", "bool"): "bool",
    ("builtins", "float"): "float64",
    ("builtins", "int"): "int64",
    ("builtins", "bool"): "bool",
    ("__builtin__", "float"): "float64",
    ("__builtin__", "int"): "int64",
    ("__builtin__", "bool"): "bool",
}
_UNKNOWN = ("error", "ignore", "infrequent_if_exist", "warn", "use_encoded_value")


@dataclass(frozen=True, eq=False)
class Categories:
    """The values that an encoder knows of one column. They are values of its training data.

    Attributes
    ----------
    values : tuple of (str, int, float, bool or None), length n_values
        Distinct; at most one is missing (None or NaN).
    codes : ndarray of int64, shape (n_values,)
        Which category each value is of, from 0; infrequent values share one.
    n_codes : int
        Number of categories.
    unknown : int or None
        The code of any other value: `NO_CODE` for none of them, None where such a value is refused.
    from_data : bool
        Whether the values were collected from the rows that the encoder was fitted on, so that each of these has one.
    """

    values: tuple[object, ...] = field(repr=False)
    codes: NDArray[np.int64]
    n_codes: int
    unknown: int | None
    from_data: bool

    @property
    def complete(self) -> bool:
        """Whether each row that the encoder was fitted on has one of the categories."""
        return self.from_data or self.unknown != NO_CODE


@dataclass(frozen=True, eq=False)
class Together:
    """Columns of one array have one type: NumPy's common type of `block`.

    Attributes
    ----------
    block : tuple of Column
    types : tuple of str
        The types that the next step computes in; any other becomes the first. Empty for all.
    """

    block: tuple[Column, ...]
    types: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Scale:
    """Numbers, scaled.

    Attributes
    ----------
    operations : tuple of (str, ndarray of shape (1,))
        ``subtract``, ``divide``, ``multiply`` or ``add`` and by what, one after the other and in place: each result is
        rounded to the column's type. Operands are not 0 where they divide or multiply.
    cast : bool
        Whether operands are cast to the column's type first.
    clip : tuple of float or None
        Bounds of the result.
    """

    operations: tuple[tuple[Literal["subtract", "divide", "multiply", "add"], AnyArray], ...]
    cast: bool = False
    clip: tuple[float, float] | None = None


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
    """A number for each category, shape (n_codes,), and one for values without a category."""

    categories: Categories
    numbers: NDArray[np.float64]
    unknown: float
    dtype: str


Step = Together | Scale | Fill | IsMissing | OneHot | Ordinal


@dataclass(frozen=True)
class Column:
    """A column on its way to the forest: the raw column that it comes from, and the steps up to here."""

    source: int
    steps: tuple[Step, ...] = ()

    def then(self, *steps: Step) -> Column:
        """Return the column after further steps."""
        return Column(self.source, (*self.steps, *steps))


@dataclass(frozen=True, eq=False)
class Encoder:
    """How raw columns become a forest's columns.

    Attributes
    ----------
    columns : tuple of Column
        One for each column of the forest.
    n_inputs : int
        Number of raw columns that the transformers were fitted on.
    names : tuple of str or None
        Their names, where the file has them.
    sparse : bool
        Whether the forest was given a sparse matrix.
    transformers : tuple of str
        Class names in order of their first use.
    """

    columns: tuple[Column, ...]
    n_inputs: int
    names: tuple[str, ...] | None
    sparse: bool
    transformers: tuple[str, ...]

    @property
    def sources(self) -> tuple[int, ...]:
        """The raw columns that the forest's columns come from, ascending."""
        return tuple(sorted({column.source for column in self.columns}))

    def name(self, source: int) -> str:
        """Return the name of a raw column, ``x0`` and so on where the file has none."""
        return f"x{source}" if self.names is None else self.names[source]


@dataclass(frozen=True)
class _Block:
    """The columns between two transformers, and whether they are a sparse matrix."""

    columns: tuple[Column, ...]
    sparse: bool = False


class EncoderReader:
    """Reads the transformers before a forest, one after the other.

    Parameters
    ----------
    budget : Budget

    Attributes
    ----------
    parts : list of Object
        The transformers that were looked at.
    not_covered : str or None
        What is not covered of them; None where nothing was found.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._block: _Block | None = None
        self._names: tuple[str, ...] | None = None
        self._n_inputs = 0
        self._kinds: dict[str, None] = {}
        self.parts: list[Object] = []
        self.not_covered: str | None = None

    def add(self, step: object, path: str) -> None:
        """Read the next transformer of a pipeline; behind one that is not covered, nothing is known of the columns.

        Parameters
        ----------
        step : object
            As the interpreter made it; None and ``passthrough`` do nothing.
        path : str
            Where it is in the file, ending in a dot.

        Raises
        ------
        CorruptArtifactError
            If it contradicts itself or the transformers before.
        """
        if self.not_covered is not None:
            if isinstance(step, Record):
                self.parts.append(Object(step, path))
            return
        try:
            self._block = self._after(step, path, self._block, 0)
        except UnsupportedArtifactError as error:
            self._block, self.not_covered = None, str(error)

    def encoder(self, n_features: int) -> Encoder | None:
        """Return the encoder of a forest with so many columns, None where nothing that is covered stands before it.

        Raises
        ------
        CorruptArtifactError
            If the transformers do not make as many.
        """
        if self._block is None:
            return None
        made = len(self._block.columns)
        if made != n_features:
            raise CorruptArtifactError(f"its transformers make {made} columns, but its forest takes {n_features}")
        return Encoder(self._block.columns, self._n_inputs, self._names, self._block.sparse, tuple(self._kinds))

    def _after(self, step: object, path: str, block: _Block | None, depth: int) -> _Block | None:
        """Return the columns behind a transformer; None is the raw table, of which nothing is known yet."""
        if step is None or step == "passthrough":
            return block
        if depth > _MAX_DEPTH:
            raise UnsupportedArtifactError(f"it has more than {_MAX_DEPTH} transformers inside each other")
        if not isinstance(step, Record):
            raise _not_covered(step)
        found = Object(step, path)
        key = step.cls.key
        self.parts.append(found)
        if key == _PIPELINE:
            for index, (_, inner) in enumerate(steps_of(found)):
                block = self._after(inner, f"{path}steps[{index}][1].", block, depth + 1)
            return block
        if key == _FUNCTION and found.get("func") is None:
            return block
        read = _READERS.get(key)
        if read is None and key != _COLUMNS:
            raise _not_covered(step)
        self._kinds[found.kind] = None
        block = self._checked(found, block)
        after = self._columns(found, block, depth) if read is None else read(found, block)
        if max((len(column.steps) for column in after.columns), default=0) > _MAX_STEPS:
            raise UnsupportedArtifactError(f"it has a column with more than {_MAX_STEPS} steps before its forest")
        self._budget.spend_copy(_COLUMN_BYTES * len(after.columns))
        return after

    def _checked(self, found: Object, block: _Block | None) -> _Block:
        """Return a transformer's input, which the first one defines."""
        found.is_fitted("n_features_in_")
        count = found.integer("n_features_in_", minimum=1)
        if block is None:
            self._names = found.texts("feature_names_in_", count)
            if self._names is not None and len(set(self._names)) != count:
                raise CorruptArtifactError(f"{found.path}feature_names_in_ has a name twice")
            self._budget.spend_copy(_COLUMN_BYTES * count)
            self._n_inputs = count
            return _Block(tuple(Column(source) for source in range(count)))
        if len(block.columns) != count:
            raise CorruptArtifactError(f"{found.path}n_features_in_ is not {len(block.columns)}")
        return block

    def _columns(self, found: Object, block: _Block, depth: int) -> _Block:
        """Read a ColumnTransformer: parts of the columns, each behind a transformer of its own."""
        found.is_fitted("transformers_")
        if found.get("transformer_weights") is not None:
            raise UnsupportedArtifactError("it holds a ColumnTransformer with transformer weights: not covered")
        inputs = _mapping(found, "_transformer_to_input_indices")
        outputs = _mapping(found, "output_indices_")
        made: list[Column] = []
        for index, part in enumerate(_triples(found)):
            name, transformer, _ = part
            indices = _indices(inputs.get(name), len(block.columns), f"{found.path}transformers_[{index}]")
            if not indices or transformer == "drop":
                continue
            self._budget.spend_copy(_COLUMN_BYTES * len(indices))
            chosen = _Block(tuple(block.columns[i] for i in indices), block.sparse)
            after = self._after(transformer, f"{found.path}transformers_[{index}][1].", chosen, depth + 1)
            columns = chosen.columns if after is None else after.columns
            if _slice(outputs.get(name)) != (len(made), len(made) + len(columns)):
                raise CorruptArtifactError(f"{found.path}output_indices_ are not what its transformers make")
            made += columns
        if not _makes_frames(found):
            together = Together(tuple(made))
            made = [column.then(together) for column in made]
        return _Block(tuple(made), found.boolean("sparse_output_"))


def steps_of(pipeline: Object) -> list[tuple[str, object]]:
    """Return a pipeline's steps, by name.

    Raises
    ------
    CorruptArtifactError
        If it has none, or they are malformed.
    """
    steps = pipeline.get("steps")
    if (
        not isinstance(steps, list)
        or not all(isinstance(step, tuple) and len(step) == 2 and type(step[0]) is str for step in steps)
        or not steps
    ):
        raise CorruptArtifactError(f"{pipeline.path}steps is not a list of names and estimators")
    return steps


def _not_covered(step: object) -> UnsupportedArtifactError:
    return UnsupportedArtifactError(
        f"it holds a Pipeline with {described(step)} before its last step, which is not covered: save the forest "
        "alone and give it the data as that step encodes them"
    )


# What each transformer does


def _standard(found: Object, block: _Block) -> _Block:
    version = found.get("_sklearn_version")
    cast = type(version) is str and _version(version) >= _CAST_FROM
    operations: list[tuple[Literal["subtract", "divide"], str]] = []
    if found.boolean("with_mean"):
        operations.append(("subtract", "mean_"))
    if found.boolean("with_std"):
        operations.append(("divide", "scale_"))
    return _scaled(found, block, operations, cast=cast, types=_SCALER_TYPES)


def _robust(found: Object, block: _Block) -> _Block:
    operations: list[tuple[Literal["subtract", "divide"], str]] = []
    if found.boolean("with_centering"):
        operations.append(("subtract", "center_"))
    if found.boolean("with_scaling"):
        operations.append(("divide", "scale_"))
    return _scaled(found, block, operations, types=_FLOAT_TYPES)


def _min_max(found: Object, block: _Block) -> _Block:
    clip = None
    if found.boolean("clip"):
        bounds = found.get("feature_range")
        if not isinstance(bounds, (tuple, list)) or len(bounds) != 2 or not all(_is_finite(bound) for bound in bounds):
            raise CorruptArtifactError(f"{found.path}feature_range is not two numbers")
        clip = (float(bounds[0]), float(bounds[1]))
    return _scaled(found, block, [("multiply", "scale_"), ("add", "min_")], clip=clip, types=_SCALER_TYPES)


def _scaled(
    found: Object,
    block: _Block,
    operations: Sequence[tuple[Literal["subtract", "divide", "multiply", "add"], str]],
    *,
    types: tuple[str, ...],
    cast: bool = False,
    clip: tuple[float, float] | None = None,
) -> _Block:
    learned = [_learned(found, name, len(block.columns)) for _, name in operations]
    made = []
    together = Together(block.columns, types)
    for index, column in enumerate(block.columns):
        done: list[tuple[Literal["subtract", "divide", "multiply", "add"], AnyArray]] = []
        for (operation, name), numbers in zip(operations, learned, strict=True):
            operand = numbers[index : index + 1]
            if operation in ("divide", "multiply") and not operand[0]:
                raise CorruptArtifactError(f"{found.path}{name} has a 0")
            # A sparse matrix is multiplied, which rounds differently.
            done.append(("multiply", 1.0 / operand) if block.sparse and operation == "divide" else (operation, operand))
        made.append(column.then(together, Scale(tuple(done), cast and not block.sparse, clip)))
    return _Block(tuple(made), block.sparse)


def _learned(found: Object, name: str, count: int) -> AnyArray:
    """Return a finite number for each column."""
    numbers = numbers_of(found.get(name), "f", f"{found.path}{name}")
    if len(numbers) != count:
        raise CorruptArtifactError(f"{found.path}{name} has {len(numbers)} numbers for {count} columns")
    if not np.isfinite(numbers).all():
        raise UnsupportedArtifactError(f"{found.path}{name} is not finite: a column without any value is not covered")
    return numbers


def _imputed(found: Object, block: _Block) -> _Block:
    strategy = found.get("strategy")
    types = () if strategy in ("most_frequent", "constant") else _FLOAT_TYPES
    missing = _missing_value(found)
    values = _items(found.get("statistics_"), f"{found.path}statistics_")
    if len(values) != len(block.columns):
        raise CorruptArtifactError(f"{found.path}statistics_ has {len(values)} values for {len(block.columns)} columns")
    together = Together(block.columns, types)
    keeps_all = found.boolean("keep_empty_features")
    joined = [column.then(together) for column in block.columns]
    made = [
        column.then(Fill(missing, value))
        for column, value in zip(joined, values, strict=True)
        if keeps_all or not _is_nan(value)
    ]
    if found.boolean("add_indicator"):
        made += _indicated(found, joined, missing)
        both = Together(tuple(made))
        made = [column.then(both) for column in made]
    return _Block(tuple(made), block.sparse)


def _indicated(found: Object, columns: list[Column], missing: object) -> list[Column]:
    """Return the columns that tell where values were missing."""
    record = found.get("indicator_")
    if not isinstance(record, Record):
        raise CorruptArtifactError(f"{found.path}indicator_ is missing")
    stored = Object(record, f"{found.path}indicator_.").get("features_")
    chosen = _indices(stored, len(columns), f"{found.path}indicator_.features_")
    return [columns[i].then(IsMissing(missing)) for i in chosen]


def _missing_value(found: Object) -> object:
    """Return what an imputer takes for missing; None for all that pandas does."""
    value = found.get("missing_values")
    if value is None or _is_nan(value) or (isinstance(value, Global) and value.name == "NA"):
        return None
    if type(value) in (str, bool, int, float):
        return value
    raise UnsupportedArtifactError(f"{found.path}missing_values is neither a number nor a text: not covered")


def _one_hot(found: Object, block: _Block) -> _Block:
    dtype = _dtype(found)
    known = _categories(found, block, missing_apart=False)
    stored = found.get("_drop_idx_after_grouping")
    dropped = [None] * len(known) if stored is None else _items(stored, f"{found.path}_drop_idx_after_grouping")
    if len(dropped) != len(known):
        raise CorruptArtifactError(f"{found.path}_drop_idx_after_grouping does not have an entry for each column")
    made: list[Column] = []
    widths = []
    for column, categories, left_out in zip(block.columns, known, dropped, strict=True):
        drop = NO_CODE if left_out is None else left_out
        if type(drop) is not int or not NO_CODE <= drop < categories.n_codes:
            raise CorruptArtifactError(f"{found.path}_drop_idx_after_grouping is not a choice of categories")
        codes = [code for code in range(categories.n_codes) if code != drop]
        made += [column.then(OneHot(categories, code, drop, dtype)) for code in codes]
        widths.append(len(codes))
    if found.get("_n_features_outs") != widths:
        raise CorruptArtifactError(f"{found.path}_n_features_outs is not the number of its categories")
    return _Block(tuple(made), found.boolean("sparse_output"))


def _ordinal(found: Object, block: _Block) -> _Block:
    dtype = _dtype(found)
    known = _categories(found, block, missing_apart=True)
    unknown = found.get("unknown_value")
    made = []
    for column, categories in zip(block.columns, known, strict=True):
        numbers = np.arange(float(categories.n_codes))
        gaps = [code for value, code in zip(categories.values, categories.codes, strict=True) if _is_nan(value)]
        numbers[gaps] = _number(found, "encoded_missing_value") if gaps else 0.0
        other = math.nan if unknown is None else _number(found, "unknown_value")
        made.append(column.then(Ordinal(categories, numbers, other, dtype)))
    return _Block(tuple(made))


def _categories(found: Object, block: _Block, *, missing_apart: bool) -> list[Categories]:
    """Return what an encoder knows of each column; NaN is grouped with no other value where it stands apart."""
    stored = found.get("categories_")
    if not isinstance(stored, list) or len(stored) != len(block.columns):
        raise CorruptArtifactError(f"{found.path}categories_ does not have the categories of each column")
    given = found.get("handle_unknown")
    if given not in _UNKNOWN:
        raise CorruptArtifactError(f"{found.path}handle_unknown is not one of {', '.join(_UNKNOWN)}")
    groups = found.get("_default_to_infrequent_mappings") if found.get("_infrequent_enabled") is True else None
    if groups is None:
        groups = [None] * len(stored)
    if not isinstance(groups, list) or len(groups) != len(stored):
        raise CorruptArtifactError(f"{found.path}_default_to_infrequent_mappings is malformed")
    from_data = found.get("categories") == "auto"
    result = []
    for index, (array, group) in enumerate(zip(stored, groups, strict=True)):
        where = f"{found.path}categories_[{index}]"
        values = _category_values(array, where)
        apart = missing_apart and _is_nan(values[-1])
        codes = np.arange(len(values))
        if group is not None:
            grouped = numbers_of(group, "iu", f"the infrequent values of {where}").astype(np.int64)
            codes = np.append(grouped, grouped.max(initial=NO_CODE) + 1) if apart else grouped
        n_codes = int(codes.max(initial=NO_CODE)) + 1
        if len(codes) != len(values) or codes.min() < 0 or len(np.unique(codes)) != n_codes:
            raise CorruptArtifactError(f"the infrequent values of {where} are not groups of its categories")
        infrequent = NO_CODE if group is None else n_codes - 1
        unknown = None if given == "error" else infrequent if given in ("infrequent_if_exist", "warn") else NO_CODE
        result.append(Categories(values, codes, n_codes, unknown, from_data))
    return result


def _category_values(array: object, where: str) -> tuple[object, ...]:
    values = _items(array, where)
    if not values:
        raise CorruptArtifactError(f"{where} is empty")
    missing = [value for value in values if value is None or _is_nan(value)]
    if len(missing) > 1:
        raise UnsupportedArtifactError(f"{where} has two kinds of missing values, which a table cannot tell apart")
    if len(set(values)) != len(values):
        raise CorruptArtifactError(f"{where} has a category twice")
    return values


def _variance(found: Object, block: _Block) -> _Block:
    variances = numbers_of(found.get("variances_"), "f", f"{found.path}variances_")
    if len(variances) != len(block.columns):
        raise CorruptArtifactError(f"{found.path}variances_ does not have a number for each column")
    kept = np.flatnonzero(variances > found.number("threshold"))
    together = Together(block.columns)
    return _Block(tuple(block.columns[i].then(together) for i in kept), block.sparse)


_PREPROCESSING = "sklearn.preprocessing._data"
_ENCODERS = "sklearn.preprocessing._encoders"
_READERS = {
    (_PREPROCESSING, "StandardScaler"): _standard,
    (_PREPROCESSING, "MinMaxScaler"): _min_max,
    (_PREPROCESSING, "RobustScaler"): _robust,
    (_ENCODERS, "OneHotEncoder"): _one_hot,
    (_ENCODERS, "OrdinalEncoder"): _ordinal,
    ("sklearn.impute._base", "SimpleImputer"): _imputed,
    ("sklearn.feature_selection._variance_threshold", "VarianceThreshold"): _variance,
}


# What they are read with


def _mapping(found: Object, name: str) -> dict[str, object]:
    stored = found.get(name)
    if not isinstance(stored, Mapping):
        raise CorruptArtifactError(f"{found.path}{name} is not a dict")
    return stored.texts()


def _triples(found: Object) -> Iterable[tuple[str, object, object]]:
    stored = found.get("transformers_")
    if not isinstance(stored, list) or not all(
        isinstance(part, tuple) and len(part) == 3 and type(part[0]) is str for part in stored
    ):
        raise CorruptArtifactError(f"{found.path}transformers_ is not a list of names, transformers and columns")
    return stored


def _indices(stored: object, count: int, where: str) -> list[int]:
    """Return a list of column positions."""
    listed = numbers_of(stored, "iu", where).tolist() if isinstance(stored, Array) else stored
    if not isinstance(listed, list) or any(type(i) is not int or not 0 <= i < count for i in listed):
        raise CorruptArtifactError(f"{where} is not a choice of {count} columns")
    return listed


def _slice(stored: object) -> tuple[object, object]:
    """Return the start and the end of a slice."""
    is_slice = isinstance(stored, Record) and stored.cls.name == "slice" and len(stored.args) == 3
    return (stored.args[0], stored.args[1]) if isinstance(stored, Record) and is_slice else (None, None)


def _makes_frames(found: Object) -> bool:
    """Return whether a transformer was told to make data frames, whose columns keep their types."""
    config = found.get("_sklearn_output_config")
    made = config.texts().get("transform") if isinstance(config, Mapping) else None
    return made in ("pandas", "polars")


def _items(stored: object, where: str) -> tuple[object, ...]:
    """Return a one-dimensional array's numbers and texts as plain Python values."""
    if not isinstance(stored, Array) or len(stored.shape) != 1:
        raise CorruptArtifactError(f"{where} is not a list of values")
    if stored.data is not None and stored.data.dtype.kind not in "biufU":
        raise UnsupportedArtifactError(f"{where} holds neither numbers nor texts, which is not covered")
    items = stored.items if stored.data is None else stored.data.tolist()
    if items is None or not all(_is_plain(item) for item in items):
        raise UnsupportedArtifactError(f"{where} holds neither numbers nor texts, which is not covered")
    return tuple(items)


def _is_plain(value: object) -> bool:
    # Larger integers can be chosen so that their hashes collide.
    return value is None or type(value) in (str, bool, float) or (type(value) is int and -(2**63) <= value < 2**64)


def _is_nan(value: object) -> bool:
    return type(value) is float and math.isnan(value)


def _is_finite(value: object) -> bool:
    return type(value) in (int, float) and _is_plain(value) and math.isfinite(value)  # type: ignore[arg-type]


def _number(found: Object, name: str) -> float:
    """Return an attribute that is a finite number or NaN."""
    value = found.get(name)
    return math.nan if _is_nan(value) else found.number(name)


def _dtype(found: Object) -> str:
    """Return the name of the type that an encoder makes."""
    given = found.get("dtype")
    name = _DTYPES.get(given.key) if isinstance(given, Global) else None
    if name is None:
        raise UnsupportedArtifactError(f"{found.path}dtype is {one_line(described(given))}, which is not covered")
    return name


def _version(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, nothing where it is not one."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", text, re.ASCII)
    return tuple(map(int, found.groups())) if found else ()
