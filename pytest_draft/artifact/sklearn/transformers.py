"""What each transformer does: from its inert record and the columns before it, the columns after it.

Only learned numbers and texts are taken from the file.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.encoder import (
    NO_CODE,
    SAME_TYPE,
    Apply,
    Bin,
    Block,
    Categories,
    Column,
    Fill,
    IsMissing,
    OneHot,
    Ordinal,
    Power,
    Product,
    Quantiles,
    Scale,
    Together,
)
from pytest_draft.artifact.objects import Object, data_of, described, numbers_of, version_of
from pytest_draft.artifact.records import Array, Global, Mapping, Record
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

Operation = Literal["subtract", "divide", "multiply", "add"]

_SCALER_TYPES = ("float64", "float32")
"""Types that StandardScaler and MinMaxScaler compute in."""

FLOAT_TYPES = ("float64", "float32", "float16")
"""Types that RobustScaler and SimpleImputer compute in."""

_CAST_FROM = (1, 8)
"""From this version on a StandardScaler casts what it has learned to the type of the data."""

_DTYPES = {
    **{("numpy", name): name for name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8")},
    **{("numpy", name): name for name in ("uint64", "uint32", "uint16", "uint8")},
    ("numpy", "bool_"): "bool",
    ("numpy", "bool"): "bool",
    ("builtins", "float"): "float64",
    ("builtins", "int"): "int64",
    ("builtins", "bool"): "bool",
}
"""Types that an encoder makes, by what its ``dtype`` names."""

_UNKNOWN = ("error", "ignore", "infrequent_if_exist", "warn", "use_encoded_value")
"""What ``handle_unknown`` can be."""


def standard(transformer: Object, block: Block) -> Block:
    """Return the columns behind a StandardScaler."""
    cast = version_of(transformer.get("_sklearn_version")) >= _CAST_FROM
    operations = _flagged(transformer, ("with_mean", "subtract", "mean_"), ("with_std", "divide", "scale_"))
    return scaled(transformer, block, operations, cast=cast, types=_SCALER_TYPES)


def _robust(transformer: Object, block: Block) -> Block:
    operations = _flagged(transformer, ("with_centering", "subtract", "center_"), ("with_scaling", "divide", "scale_"))
    return scaled(transformer, block, operations, types=FLOAT_TYPES)


def _flagged(transformer: Object, *operations: tuple[str, Operation, str]) -> list[tuple[Operation, str]]:
    """Return those operations, with what they take, whose flag is set."""
    return [(operation, name) for flag, operation, name in operations if transformer.boolean(flag)]


def _min_max(transformer: Object, block: Block) -> Block:
    clip = None
    if transformer.boolean("clip"):
        bounds = transformer.get("feature_range")
        if not isinstance(bounds, (tuple, list)) or len(bounds) != 2 or not all(_is_finite(bound) for bound in bounds):
            raise CorruptArtifactError(f"{transformer.path}feature_range is not two numbers")
        clip = (float(bounds[0]), float(bounds[1]))
    return scaled(transformer, block, [("multiply", "scale_"), ("add", "min_")], clip=clip, types=_SCALER_TYPES)


def scaled(
    transformer: Object,
    block: Block,
    operations: Sequence[tuple[Operation, str]],
    *,
    types: tuple[str, ...],
    cast: bool = False,
    clip: tuple[float, float] | None = None,
) -> Block:
    """Return the columns behind a scaler, which does one operation after the other with what it has learned.

    For `types` see `Together`, for `cast` and `clip` see `Scale`.
    """
    numbers = [learned(transformer, name, len(block.columns)) for _, name in operations]
    made = []
    together = Together(block.columns, types)
    for index, column in enumerate(block.columns):
        done: list[tuple[Operation, AnyArray]] = []
        for (operation, name), of_columns in zip(operations, numbers, strict=True):
            operand = of_columns[index : index + 1]
            if operation in ("divide", "multiply") and not operand[0]:
                raise CorruptArtifactError(f"{transformer.path}{name} has a 0")
            # A sparse matrix is multiplied, which rounds differently.
            done.append(("multiply", 1.0 / operand) if block.sparse and operation == "divide" else (operation, operand))
        made.append(column.then(together, Scale(tuple(done), cast and not block.sparse, clip)))
    return Block(tuple(made), block.sparse)


def learned(transformer: Object, name: str, count: int) -> AnyArray:
    """Return a finite number for each column."""
    numbers = transformer.numbers(name, "f")
    if len(numbers) != count:
        raise CorruptArtifactError(f"{transformer.path}{name} has {len(numbers)} numbers for {count} columns")
    if not np.isfinite(numbers).all():
        raise UnsupportedArtifactError(
            f"{transformer.path}{name} is not finite: a column without any value is not covered"
        )
    return numbers


def _imputed(transformer: Object, block: Block) -> Block:
    strategy = transformer.get("strategy")
    types = () if strategy in ("most_frequent", "constant") else FLOAT_TYPES
    missing = _missing_value(transformer)
    values = _items(transformer.get("statistics_"), f"{transformer.path}statistics_")
    if len(values) != len(block.columns):
        raise CorruptArtifactError(
            f"{transformer.path}statistics_ has {len(values)} values for {len(block.columns)} columns"
        )
    together = Together(block.columns, types)
    keeps_all = transformer.boolean("keep_empty_features")
    joined = [column.then(together) for column in block.columns]
    made = [
        column.then(Fill(missing, value))
        for column, value in zip(joined, values, strict=True)
        if keeps_all or not _is_nan(value)
    ]
    if transformer.boolean("add_indicator"):
        made += _indicated(transformer, joined, missing)
        both = Together(tuple(made))
        made = [column.then(both) for column in made]
    return Block(tuple(made), block.sparse)


def _indicated(transformer: Object, columns: list[Column], missing: object) -> list[Column]:
    """Return the columns that say where values were missing."""
    stored = transformer.inner("indicator_").get("features_")
    chosen = column_positions(stored, len(columns), f"{transformer.path}indicator_.features_")
    return [columns[i].then(IsMissing(missing)) for i in chosen]


def _missing_value(transformer: Object) -> object:
    """Return what an imputer takes for missing; None for all that pandas does."""
    value = transformer.get("missing_values")
    if value is None or _is_nan(value) or (isinstance(value, Global) and value.name == "NA"):
        return None
    if type(value) in (str, bool, int, float):
        return value
    raise UnsupportedArtifactError(f"{transformer.path}missing_values is neither a number nor a text: not covered")


def _one_hot(transformer: Object, block: Block) -> Block:
    dtype = _dtype(transformer)
    known = _categories(transformer, block, missing_apart=False)
    stored = transformer.get("_drop_idx_after_grouping")
    dropped = [None] * len(known) if stored is None else _items(stored, f"{transformer.path}_drop_idx_after_grouping")
    if len(dropped) != len(known):
        raise CorruptArtifactError(f"{transformer.path}_drop_idx_after_grouping does not have an entry for each column")
    made: list[Column] = []
    widths = []
    for column, categories, left_out in zip(block.columns, known, dropped, strict=True):
        drop = NO_CODE if left_out is None else left_out
        if type(drop) is not int or not NO_CODE <= drop < categories.n_codes:
            raise CorruptArtifactError(f"{transformer.path}_drop_idx_after_grouping is not a choice of categories")
        codes = [code for code in range(categories.n_codes) if code != drop]
        made += [column.then(OneHot(categories, code, drop, dtype)) for code in codes]
        widths.append(len(codes))
    if transformer.get("_n_features_outs") != widths:
        raise CorruptArtifactError(f"{transformer.path}_n_features_outs is not the number of its categories")
    return Block(tuple(made), transformer.boolean("sparse_output"))


def _ordinal(transformer: Object, block: Block) -> Block:
    dtype = _dtype(transformer)
    known = _categories(transformer, block, missing_apart=True)
    unknown = transformer.get("unknown_value")
    made = []
    for column, categories in zip(block.columns, known, strict=True):
        numbers = np.arange(float(categories.n_codes))
        gaps = [code for value, code in zip(categories.values, categories.codes, strict=True) if _is_nan(value)]
        numbers[gaps] = _number(transformer, "encoded_missing_value") if gaps else 0.0
        other = math.nan if unknown is None else _number(transformer, "unknown_value")
        made.append(column.then(Ordinal(categories, numbers, other, dtype)))
    return Block(tuple(made))


def _categories(transformer: Object, block: Block, *, missing_apart: bool) -> list[Categories]:
    """Return what an encoder knows of each column; NaN is grouped with no other value where it stands apart."""
    stored = transformer.get("categories_")
    if not isinstance(stored, list) or len(stored) != len(block.columns):
        raise CorruptArtifactError(f"{transformer.path}categories_ does not have the categories of each column")
    given = transformer.get("handle_unknown")
    if given not in _UNKNOWN:
        raise CorruptArtifactError(f"{transformer.path}handle_unknown is not one of {', '.join(_UNKNOWN)}")
    groups = (
        transformer.get("_default_to_infrequent_mappings") if transformer.get("_infrequent_enabled") is True else None
    )
    if groups is None:
        groups = [None] * len(stored)
    if not isinstance(groups, list) or len(groups) != len(stored):
        raise CorruptArtifactError(f"{transformer.path}_default_to_infrequent_mappings is malformed")
    from_data = transformer.get("categories") == "auto"
    result = []
    for index, (array, group) in enumerate(zip(stored, groups, strict=True)):
        where = f"{transformer.path}categories_[{index}]"
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


def column_positions(stored: object, count: int, where: str) -> list[int]:
    """Return a list of column positions."""
    listed = numbers_of(stored, "iu", where).tolist() if isinstance(stored, Array) else stored
    if not isinstance(listed, list) or any(type(i) is not int or not 0 <= i < count for i in listed):
        raise CorruptArtifactError(f"{where} is not a choice of {count} columns")
    return listed


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


def _number(transformer: Object, name: str) -> float:
    """Return an attribute that is a finite number or NaN."""
    value = transformer.get(name)
    return math.nan if _is_nan(value) else transformer.number(name)


def _dtype(transformer: Object) -> str:
    """Return the name of the type that an encoder makes."""
    given = transformer.get("dtype")
    name = _DTYPES.get(given.key) if isinstance(given, Global) else None
    if name is None:
        raise UnsupportedArtifactError(f"{transformer.path}dtype is {one_line(described(given))}, which is not covered")
    return name


FUNCTIONS = frozenset(
    {"log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "exp2", "expm1", "square", "absolute", "fabs", "sign"}
    | {"negative", "reciprocal", "floor", "ceil", "rint", "trunc", "sin", "cos", "tan", "arctan", "sinh", "cosh"}
    | {"tanh", "arcsinh", "deg2rad", "rad2deg"}
)
"""NumPy's functions of one number that a FunctionTransformer may hold."""

_NUMPY = ("numpy", "numpy._core._multiarray_umath")
_MOST_PRODUCTS = 100_000
"""Most columns that a PolynomialFeatures may make."""

_HIGHEST_DEGREE = 64


def _function(transformer: Object, block: Block) -> Block:
    name = transformer.get("func")
    if not isinstance(name, Global) or name.module not in _NUMPY or name.name not in FUNCTIONS:
        what = described(name) if isinstance(name, (Global, Record)) else "a function"
        raise UnsupportedArtifactError(
            f"it holds a FunctionTransformer of {one_line(what)}, which is none of NumPy's functions of one number "
            f"({', '.join(sorted(FUNCTIONS)[:4])} and so on) and is not run"
        )
    arguments = transformer.get("kw_args")
    if arguments is not None and not (isinstance(arguments, Mapping) and not arguments.pairs):
        raise UnsupportedArtifactError("it holds a FunctionTransformer with kw_args, which are not covered")
    apply = Apply(name.name)
    # a data frame's columns keep their types
    if "feature_names_in_" in transformer and transformer.get("validate") is not True:
        return Block(tuple(column.then(apply) for column in block.columns), block.sparse)
    together = Together(block.columns)
    return Block(tuple(column.then(together, apply) for column in block.columns), block.sparse)


def _power(transformer: Object, block: Block) -> Block:
    method = transformer.choice("method", ("yeo-johnson", "box-cox"))
    exponents = learned(transformer, "lambdas_", len(block.columns))
    together = Together(block.columns, FLOAT_TYPES)
    made = Block(
        tuple(
            column.then(together, Power(method, float(exponent)))
            for column, exponent in zip(block.columns, exponents, strict=True)
        )
    )
    if not transformer.boolean("standardize"):
        return made
    scaler = transformer.inner("_scaler")
    if scaler.record.cls.name != "StandardScaler":
        raise CorruptArtifactError(f"{transformer.path}_scaler is missing")
    return standard(scaler, made)


def _quantiles(transformer: Object, block: Block) -> Block:
    output = transformer.choice("output_distribution", ("uniform", "normal"))
    table = data_of(transformer.get("quantiles_"), f"{transformer.path}quantiles_")
    references = transformer.numbers("references_", "f").astype(np.float64)
    if table.dtype.kind != "f" or table.shape != (len(references), len(block.columns)) or not len(references):
        raise CorruptArtifactError(f"{transformer.path}quantiles_ does not have a number for each reference and column")
    table = table.astype(table.dtype.newbyteorder("="))
    if not np.isfinite(table).all():
        raise UnsupportedArtifactError(
            f"{transformer.path}quantiles_ are not finite: a column without values is not covered"
        )
    if block.sparse:
        raise UnsupportedArtifactError("it holds a QuantileTransformer of a sparse matrix, which is not covered")
    together = Together(block.columns, FLOAT_TYPES)
    return Block(
        tuple(
            column.then(together, Quantiles(np.ascontiguousarray(table[:, index]), references, output == "normal"))
            for index, column in enumerate(block.columns)
        )
    )


def _bins(transformer: Object, block: Block) -> Block:
    encode, stored = transformer.choice("encode", ("ordinal", "onehot", "onehot-dense")), transformer.get("bin_edges_")
    edges = stored.items if isinstance(stored, Array) else None
    sizes = transformer.numbers("n_bins_", "iu").tolist()
    if edges is None or not len(edges) == len(sizes) == len(block.columns):
        raise CorruptArtifactError(f"{transformer.path}bin_edges_ does not have the edges of each column")
    types: tuple[str, ...] = FLOAT_TYPES[:2]
    given = transformer.get("dtype")
    if isinstance(given, Global) and given.name in types:
        types = (given.name,)
    together, made = Together(block.columns, types), []
    for index, (column, array, size) in enumerate(zip(block.columns, edges, sizes, strict=True)):
        where = f"{transformer.path}bin_edges_[{index}]"
        limits = numbers_of(array, "f", where).astype(np.float64)
        if len(limits) != size + 1 or size < 1 or (np.diff(limits) < 0).any() or np.isnan(limits).any():
            raise CorruptArtifactError(f"{where} are not the edges of so many bins")
        binned = column.then(together, Bin(limits[1:-1]))
        known = Categories(tuple(map(float, range(size))), np.arange(size), size, None, from_data=False)
        if encode == "ordinal":
            made.append(binned.then(Ordinal(known, np.arange(float(size)), math.nan, SAME_TYPE)))
        else:
            made += [binned.then(OneHot(known, code, -1, SAME_TYPE)) for code in range(size)]
    return Block(tuple(made), encode == "onehot")


def _products(transformer: Object, block: Block) -> Block:
    lowest, highest = transformer.integer("_min_degree"), transformer.integer("_max_degree")
    only = transformer.boolean("interaction_only")
    ways = itertools.combinations if only else itertools.combinations_with_replacement
    count = len(block.columns)
    degrees = range(max(1, lowest), min(highest, _HIGHEST_DEGREE) + 1)  # counting to what a file says may take for ever
    number = sum(math.comb(count if only else count + degree - 1, degree) for degree in degrees)
    if number > _MOST_PRODUCTS or highest > _HIGHEST_DEGREE:
        raise UnsupportedArtifactError("it holds a PolynomialFeatures of very many columns, which is not covered")
    if block.sparse:
        raise UnsupportedArtifactError("it holds a PolynomialFeatures of a sparse matrix, which is not covered")
    together = Together(block.columns, FLOAT_TYPES)
    factors = [column.then(together) for column in block.columns]
    made = [Column(factors[0].source, (Product((), together),))] if transformer.boolean("include_bias") else []
    for degree in degrees:
        for chosen in ways(range(count), degree):
            parts = tuple(factors[index] for index in chosen)
            made.append(parts[0] if degree == 1 else Column(parts[0].source, (Product(parts, together),)))
    return Block(tuple(made))


def _threshold(transformer: Object, block: Block) -> Block:
    """Read a Binarizer."""
    limit = Bin(np.array([np.nextafter(transformer.number("threshold"), np.inf)]))  # above the threshold, not at it
    together = Together(block.columns)
    return Block(tuple(column.then(together, limit) for column in block.columns), block.sparse)


def _largest(transformer: Object, block: Block) -> Block:
    """Read a MaxAbsScaler."""
    clip = (-1.0, 1.0) if transformer.get("clip") is True else None
    return scaled(transformer, block, [("divide", "scale_")], types=FLOAT_TYPES, clip=clip)


_PREPROCESSING = "sklearn.preprocessing._data"
_ENCODERS = "sklearn.preprocessing._encoders"
READERS: dict[tuple[str, str], Callable[[Object, Block], Block]] = {
    (_PREPROCESSING, "StandardScaler"): standard,
    (_PREPROCESSING, "MinMaxScaler"): _min_max,
    (_PREPROCESSING, "RobustScaler"): _robust,
    (_ENCODERS, "OneHotEncoder"): _one_hot,
    (_ENCODERS, "OrdinalEncoder"): _ordinal,
    ("sklearn.impute._base", "SimpleImputer"): _imputed,
    ("sklearn.preprocessing._function_transformer", "FunctionTransformer"): _function,
    (_PREPROCESSING, "PowerTransformer"): _power,
    (_PREPROCESSING, "QuantileTransformer"): _quantiles,
    (_PREPROCESSING, "MaxAbsScaler"): _largest,
    (_PREPROCESSING, "Binarizer"): _threshold,
    ("sklearn.preprocessing._discretization", "KBinsDiscretizer"): _bins,
    ("sklearn.preprocessing._polynomial", "PolynomialFeatures"): _products,
}
"""How each covered transformer is read, by its class; feature selections are in `selection`."""
