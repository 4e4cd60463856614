"""Transformers that apply a function to numbers: turns a transformer's record into steps of its columns.

They hold what was learned of the training data: exponents, quantiles, the edges of bins.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from pytest_draft.artifact.encoder import (
    SAME_TYPE,
    Apply,
    Bin,
    Block,
    Categories,
    Column,
    OneHot,
    Ordinal,
    Power,
    Product,
    Quantiles,
    Together,
)
from pytest_draft.artifact.objects import Object, data_of, described, numbers_of
from pytest_draft.artifact.records import Array, Global, Mapping, Record
from pytest_draft.artifact.sklearn.transformers import FLOAT_TYPES, learned, scaled, standard
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

FUNCTIONS = frozenset(
    {"log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "exp2", "expm1", "square", "absolute", "fabs", "sign"}
    | {"negative", "reciprocal", "floor", "ceil", "rint", "trunc", "sin", "cos", "tan", "arctan", "sinh", "cosh"}
    | {"tanh", "arcsinh", "deg2rad", "rad2deg"}
)
"""NumPy's functions of one number that a FunctionTransformer may hold."""

_NUMPY = ("numpy", "numpy.core._multiarray_umath", "numpy._core._multiarray_umath")
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
    method = transformer.get("method")
    if method not in ("yeo-johnson", "box-cox"):
        raise CorruptArtifactError(f"{transformer.path}method is not one of scikit-learn's")
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
    record = transformer.get("_scaler")
    if not isinstance(record, Record) or record.cls.name != "StandardScaler":
        raise CorruptArtifactError(f"{transformer.path}_scaler is missing")
    return standard(Object(record, f"{transformer.path}_scaler."), made)


def _quantiles(transformer: Object, block: Block) -> Block:
    output = transformer.get("output_distribution")
    if output not in ("uniform", "normal"):
        raise CorruptArtifactError(f"{transformer.path}output_distribution is not one of scikit-learn's")
    table = data_of(transformer.get("quantiles_"), f"{transformer.path}quantiles_")
    references = numbers_of(transformer.get("references_"), "f", f"{transformer.path}references_").astype(np.float64)
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
    encode = transformer.get("encode")
    if encode not in ("ordinal", "onehot", "onehot-dense"):
        raise CorruptArtifactError(f"{transformer.path}encode is not one of scikit-learn's")
    stored, numbers = transformer.get("bin_edges_"), transformer.get("n_bins_")
    edges = stored.items if isinstance(stored, Array) else None
    sizes = numbers_of(numbers, "iu", f"{transformer.path}n_bins_").tolist()
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
CURVES: dict[tuple[str, str], Callable[[Object, Block], Block]] = {
    ("sklearn.preprocessing._function_transformer", "FunctionTransformer"): _function,
    (_PREPROCESSING, "PowerTransformer"): _power,
    (_PREPROCESSING, "QuantileTransformer"): _quantiles,
    (_PREPROCESSING, "MaxAbsScaler"): _largest,
    (_PREPROCESSING, "Binarizer"): _threshold,
    ("sklearn.preprocessing._discretization", "KBinsDiscretizer"): _bins,
    ("sklearn.preprocessing._polynomial", "PolynomialFeatures"): _products,
}
"""How each of these transformers is read, by its class."""
