"""Reads the greedy rule lists of imodels from the record of a fitted one.

Each entry of ``rules_`` splits what the earlier ones left, ``num_pts`` rows. One side is captured (``value >= cutoff``
or, flipped, ``value < cutoff``, in double precision): ``num_pts_right`` rows, of which a share of ``val_right`` is of
the second class; of the others that share is ``val``. An entry without a test takes what is left. Where there is none
at the end (before imodels 3 where no split was found, later where a split left nothing), the last split's other side is
what is left: so the rows were counted, although ``predict`` leaves that split out.
"""

from __future__ import annotations

import math

from pytest_draft.artifact.objects import Object, attributes_of, plain_classes
from pytest_draft.artifact.records import Array, Mapping, Record
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError
from pytest_draft.facts.rules import ListedRule, Literal

GREEDY = {
    ("imodels.rule_list.greedy_rule_list", "GreedyRuleListClassifier"),
    ("imodels.rule_list.one_r", "OneRClassifier"),
}

Counts = tuple[int, int]


def greedy_rule_list(estimator: Object) -> tuple[RuleList, list[str]]:
    """Read a fitted classifier of a class in `GREEDY`; return the paths of attributes that were left opaque, too."""
    estimator.is_fitted("rules_")
    classes = plain_classes(estimator.get("classes_"))
    if len(classes) != 2:
        raise UnsupportedArtifactError(f"it holds a {estimator.kind} of {len(classes)} classes instead of 2")
    n_features = estimator.integer("n_features_in_", minimum=1)
    columns = _columns(estimator, n_features)
    entries = _entries(estimator)
    rules: list[ListedRule] = []
    left: Counts | None = None
    for entry in entries:
        rows = entry.integer("num_pts")
        if "index_col" in entry:
            n_captured = entry.integer("num_pts_right")
            captured, rest = _counts(entry, "val_right", n_captured), _counts(entry, "val", rows - n_captured)
            rules.append(ListedRule((_literal(entry, columns),), _prediction(captured, classes), captured))
        else:
            captured, rest = (0, 0), _counts(entry, "val", rows)
        if left not in (None, (captured[0] + rest[0], captured[1] + rest[1])):
            raise CorruptArtifactError(f"{entry.path}val and num_pts are not of the rows that the rules before it left")
        left = rest
        entry.get("depth")
    if left is None:
        raise CorruptArtifactError("rules_ is empty")
    rules.append(ListedRule((), _prediction(left, classes), left))
    not_read = [path for part in (estimator, *entries) for path in part.not_read()]
    return RuleList(estimator.kind, tuple(rules), columns, n_features, classes, "double"), not_read


def _entries(estimator: Object) -> list[Object]:
    """Return the entries of ``rules_``, of which the last alone may have no test."""
    stored = estimator.get("rules_")
    if not isinstance(stored, list):
        raise CorruptArtifactError("rules_ is not a list")
    entries = []
    for index, entry in enumerate(stored):
        if not isinstance(entry, Mapping):
            raise CorruptArtifactError(f"rules_[{index}] is not a dict")
        entries.append(attributes_of(entry, f"rules_[{index}]."))
        if "index_col" not in entries[-1] and index < len(stored) - 1:
            raise CorruptArtifactError(f"rules_[{index}] tests nothing, so that no later one can ever hold")
    return entries


def _counts(entry: Object, share: str, rows: int) -> Counts:
    """Return how many of some rows are of each class, by the share of the second."""
    if rows == 0:
        entry.get(share)  # the mean of nothing: not a number
        return 0, 0
    mean = entry.number(share)
    second = round(mean * rows) if 0 <= mean <= 1 else -1
    if rows < 0 or second < 0 or second / rows != mean:
        raise CorruptArtifactError(f"{entry.path}{share} is not the share of a whole number of {rows} rows")
    return rows - second, second


def _literal(entry: Object, columns: tuple[str, ...] | None) -> Literal:
    column, cutoff = entry.integer("index_col"), entry.number("cutoff")
    name = entry.get("col")
    if columns is not None and (column >= len(columns) or name != columns[column]):
        raise CorruptArtifactError(f"{entry.path}col is not the name of column {column}")
    below = math.nextafter(cutoff, -math.inf)
    return Literal(column, -math.inf, below) if entry.boolean("flip") else Literal(column, below, math.inf)


def _prediction(counts: Counts, classes: tuple[object, ...]) -> object:
    return classes[int(counts[1] > counts[0])]


def _columns(estimator: Object, n_features: int) -> tuple[str, ...] | None:
    """Return the columns' names; None where it was fitted without.

    Until imodels 2 a data frame's are only in a pandas Index, and where they are not plain in that (text arrays of
    pandas 3), columns are taken by position.
    """
    given = estimator.texts("feature_names_in_", n_features)
    stored = estimator.get("feature_names_")
    if given is not None:
        return given
    if isinstance(stored, Record) and stored.cls.name == "_new_Index" and len(stored.args) == 2:
        arguments = stored.args[1]
        stored = arguments.texts().get("data") if isinstance(arguments, Mapping) else None
    listed = stored.items if isinstance(stored, Array) else stored
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    if not isinstance(listed, list) or len(names) < len(listed):
        return None
    if len(names) != n_features or len(set(names)) != n_features:
        raise CorruptArtifactError(f"feature_names_ does not have {n_features} different names")
    made_up = [f"X{index}" for index in range(n_features)]
    return None if names == made_up else tuple(names)
