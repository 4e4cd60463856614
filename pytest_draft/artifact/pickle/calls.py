"""The calls that a pickle may make: what we build in place of each, by name and arguments."""

from __future__ import annotations

from collections.abc import Callable

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.pickle import arrays
from pytest_draft.artifact.records import Array, Dtype, Global, Record
from pytest_draft.errors import CorruptArtifactError

Arguments = tuple[object, ...]


def _empty_array(_: Global, arguments: Arguments, __: Budget) -> Array:
    return Array()


def _dtype(_: Global, arguments: Arguments, __: Budget) -> Dtype:
    return arrays.new_dtype(*_exactly(arguments[:1], 1))


def _scalar(_: Global, arguments: Arguments, budget: Budget) -> object:
    dtype, content = _exactly(arguments, 2)
    return arrays.scalar(dtype, content, budget)


def _from_buffer(_: Global, arguments: Arguments, __: Budget) -> Array:
    return arrays.from_buffer(*_exactly(arguments, 4))


def _encode(_: Global, arguments: Arguments, budget: Budget) -> bytes:
    text, encoding = _exactly(arguments, 2)
    return arrays.reencoded(text, encoding, budget)


def _bytearray(function: Global, arguments: Arguments, budget: Budget) -> object:
    """Return its bytes, as the instruction of protocol 5 gives them."""
    if len(arguments) == 1 and isinstance(arguments[0], bytes):
        return arguments[0]
    if len(arguments) == 2 and all(type(argument) is str for argument in arguments):
        return arrays.reencoded(*arguments, budget)
    return Record(function, arguments)


def _reconstructor(_: Global, arguments: Arguments, __: Budget) -> Record:
    cls = _exactly(arguments, 3)[0]
    if not isinstance(cls, Global):
        raise CorruptArtifactError("an object's class is not a name")
    return Record(cls, ())


def _described(function: Global, arguments: Arguments, _: Budget) -> Record:
    return Record(function, arguments)


def _partial(function: Global, arguments: Arguments, budget: Budget) -> Record:
    """Describe the check of columns that scikit-learn saves inside of histogram-based boosting with categories."""
    checked = arguments[0] if len(arguments) == 1 else None
    if not isinstance(checked, Global) or checked.key != ("sklearn.utils.validation", "check_array"):
        budget.note_call(function.shown)
    return Record(function, arguments)


def _exactly(arguments: Arguments, count: int) -> Arguments:
    if len(arguments) != count:
        raise CorruptArtifactError("a NumPy object is made with the wrong number of arguments")
    return arguments


_Call = Callable[[Global, Arguments, Budget], object]


_LOSSES = tuple(
    prefix + loss
    for prefix in ("", "__pyx_unpickle_")
    for loss in (
        *("CyAbsoluteError", "CyEpsilonInsensitive", "CyExponentialLoss", "CyHalfBinomialLoss", "CyHalfGammaLoss"),
        *("CyHalfMultinomialLoss", "CyHalfPoissonLoss", "CyHalfSquaredError", "CyHalfTweedieLoss"),
        *("CyHalfTweedieLossIdentity", "CyHinge", "CyHuberLoss", "CyModifiedHuber", "CyPinballLoss"),
        *("CySquaredEpsilonInsensitive", "CySquaredHinge"),
    )
)
"""Losses of linear models and boosting; sets of numbers of one or two parameters."""


def _allowed_calls() -> dict[tuple[str, str], _Call]:
    """Return the exact names that a file may call, and what we do instead of calling them."""
    calls: dict[tuple[str, str], _Call] = {
        ("numpy", "dtype"): _dtype,
        ("_codecs", "encode"): _encode,
        ("copyreg", "_reconstructor"): _reconstructor,
        ("functools", "partial"): _partial,
        # Protocols 2 to 4 have no instruction for these.
        ("builtins", "bytearray"): _bytearray,
        ("numpy._core.multiarray", "_reconstruct"): _empty_array,
        ("numpy._core.multiarray", "scalar"): _scalar,
        ("numpy._core.numeric", "_frombuffer"): _from_buffer,
    }
    described = {
        "sklearn.tree._tree": ("Tree",),
        "numpy.random._pickle": ("__randomstate_ctor", "__bit_generator_ctor", "__generator_ctor"),
        "numpy.random.bit_generator": ("__pyx_unpickle_SeedSequence",),
        # Column names: text arrays of pandas 3, without and with pyarrow.
        "pandas.core.indexes.base": ("_new_Index",),
        "pandas._libs.arrays": ("__pyx_unpickle_NDArrayBacked",),
        "pandas": ("StringDtype",),
        "pyarrow.lib": ("_restore_array", "type_for_alias", "py_buffer", "chunked_array"),
        # Frames, and trees of neighbours, that somebody left in the file: what they hold is reported.
        "pandas._libs.internals": ("_unpickle_block",),
        "pandas.core.internals.managers": ("BlockManager", "SingleBlockManager"),
        "sklearn.neighbors._kd_tree": ("newObj",),
        "sklearn.neighbors._ball_tree": ("newObj",),
        "sklearn.metrics._dist_metrics": ("newObj",),
        # The masked arrays in a search's `cv_results_`.
        "numpy.ma.core": ("_mareconstruct",),
        "collections": ("OrderedDict", "defaultdict"),
        # What people save beside a model, and the losses of linear models and boosting.
        "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
        "decimal": ("Decimal",),
        "pandas._libs.tslibs.timestamps": ("_unpickle_timestamp",),
        "pathlib": ("PosixPath", "PurePosixPath"),
        "uuid": ("UUID",),
        "sklearn.linear_model._sgd_fast": (
            *("EpsilonInsensitive", "Hinge", "Huber", "Log", "ModifiedHuber", "SquaredEpsilonInsensitive"),
            *("SquaredHinge", "SquaredLoss"),
        ),
        **dict.fromkeys(("sklearn._loss._loss", "_loss"), _LOSSES),
        # Protocols 2 and 3 have no instructions for these.
        "builtins": ("slice", "set", "frozenset", "complex"),
    }
    for module, names in described.items():
        for name in names:
            calls[module, name] = _described
    return calls


CALLS = _allowed_calls()
"""What a file may call, by module and name."""

UNREAD = {"dtype": 1, "_reconstruct": 0, "_reconstructor": 1}
"""From which argument on those of a call are not looked at, by its name."""
