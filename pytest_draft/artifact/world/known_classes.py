"""What the attributes of common libraries' estimators hold, by class name.

The table ``known_classes.json`` is made by ``python -m studies known-classes``, which fits every estimator of the
installed libraries on two tables and sees what grows with the rows; it was made with four versions of scikit-learn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

TREES_OF_NEIGHBOURS = ("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree")
"""Modules of which all objects hold rows: trees in which neighbours are looked up."""

_JUDGED = frozenset(("sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"))
"""Classes of trees, each of which is judged, or reported as not judged (`unjudged`)."""

_OF_OLD = ("sklearn.dummy.", "sklearn.ensemble.", "sklearn.tree.")
_SPLINE = frozenset(("t", "c", "k", "_t", "_c", "_k", "_asarray", "extrapolate", "axis"))
_OLD = frozenset(("behaviour", "min_impurity_split", "n_features_", "outputs_2d_", "presort"))
"""Parameters and sizes that versions of scikit-learn had of which the table knows nothing."""

PLAIN = frozenset(
    (
        *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
        *(("builtins", name) for name in ("slice", "set", "frozenset", "range")),
        ("collections", "OrderedDict"),
        ("collections", "defaultdict"),
        ("decimal", "Decimal"),
        ("pandas", "StringDtype"),
        ("pandas.core.indexes.base", "Index"),
        ("pandas.core.indexes.base", "_new_Index"),
        ("pandas.core.indexes.range", "RangeIndex"),
        ("pathlib", "PosixPath"),
        ("pathlib", "PurePosixPath"),
        ("sklearn.utils", "Bunch"),
        ("sklearn.utils._bunch", "Bunch"),
        ("uuid", "UUID"),
    )
)
"""Classes of which a few plain values are saved: dates, names of columns, paths."""


@dataclass(frozen=True)
class KnownClass:
    """The attributes of a class."""

    bounded: frozenset[str]
    """Parameters, and aggregates over rows, whose size does not grow with their number."""
    rows: frozenset[str]
    """What has an entry for training rows, or holds them."""
    any_length: bool = False
    """Whether its attributes have any length: what they hold is reported by rules of its own."""
    parameters: frozenset[str] = frozenset()
    """Those of `bounded` that are given, and no numbers that were computed."""


def known_class(module: str, name: str) -> KnownClass | None:
    """Return what is known of a class, as the file names it; None for nothing."""
    return _table().get(f"{module}.{name}")


@cache
def _table() -> dict[str, KnownClass]:
    stored = json.loads(files("pytest_draft.artifact.world").joinpath("known_classes.json").read_text("utf-8"))
    known = {
        name: KnownClass(
            frozenset((*entry["parameters"], *entry["aggregates"])) | (_OLD if name.startswith(_OF_OLD) else set()),
            frozenset(entry["rows"]),
            name in _JUDGED,
            frozenset(entry["parameters"]),
        )
        for name, entry in stored.items()
    }
    known["sklearn.impute._iterative._ImputerTriplet"] = KnownClass(frozenset(), frozenset())
    known["scipy.interpolate._bsplines.BSpline"] = KnownClass(_SPLINE, frozenset(), any_length=True)
    return known
