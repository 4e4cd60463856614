"""LightGBM's model text, taken apart: its header, each tree's fields, the parameters; all of them as texts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

FIRST_LINE = b"tree"

_OF_TREE = frozenset(
    (
        *("num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type", "left_child"),
        *("right_child", "leaf_value", "leaf_weight", "leaf_count", "internal_value", "internal_weight"),
        *("internal_count", "is_linear", "shrinkage"),
    )
)
_OF_OTHER_TREES = {
    **dict.fromkeys(("cat_boundaries", "cat_threshold"), "num_cat"),
    **dict.fromkeys(("leaf_const", "num_features", "leaf_features", "leaf_coeff"), "is_linear"),
}
"""Fields of trees that split by categories, or whose leaves hold linear models, and which field says so."""

_OF_HEADER = frozenset(
    (
        *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
        *("average_output", "feature_names", "monotone_constraints", "feature_infos", "tree_sizes"),
    )
)
_LONGEST_PARAMETER = 4096
"""Characters of a parameter that is kept; a longer one could hold data."""

_MOST_LETTERS = 700
"""Of the values of all parameters; the longest defaults have some 250."""

_NOT_NUMBERS = ("feature_names", "objective", "version")
_SIX_DIGITS = ("internal_value", "internal_weight", "split_gain")
_TOO_LONG = {most: re.compile(rf"(?:^| )(?:\+|-?0\d)|(?:  |^ | $)|[1-9](?:\.?\d){{{most}}}") for most in (6, 17)}
"""Digits that are lost where so many are read or printed, and spaces that no writer writes."""

_NUMBERS = re.compile(r"[-+.\dEefin]{1,32}(?: [-+.\dEefin]{1,32})*", re.ASCII)
_WHOLE_NUMBERS = re.compile(r"-?\d{1,18}(?: -?\d{1,18})*", re.ASCII)
"""Of what numbers consist: an array of texts takes for each as much as for the longest one."""

Fields = dict[str, str]


@dataclass
class ModelText:
    """A model's text by parts."""

    header: Fields = field(default_factory=dict)
    trees: list[Fields] = field(default_factory=list)
    parameters: Fields = field(default_factory=dict)
    pandas_categorical: str = ""
    """JSON: the categories of each column of categories of the table; empty where it is not there."""
    unknown: list[str] = field(default_factory=list)
    """Names of fields that no known version writes."""
    not_understood: int = 0
    """Characters of lines that are no field."""
    importances: list[str] = field(default_factory=list)


def is_lightgbm(packed: bytes) -> bool:
    """Return whether bytes are a model that LightGBM saved as text."""
    return packed[:32].replace(b"\r", b"").startswith(FIRST_LINE + b"\nversion=")


def model_text(text: str, budget: Budget) -> ModelText:
    """Take a model's text apart.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    budget.spend_copy(len(text))
    lines = iter(text.splitlines())
    if next(lines, "") != FIRST_LINE.decode():
        raise UnsupportedArtifactError("it is a model of LightGBM that does not begin as one of trees does")
    model = ModelText()
    fields, known, ended = model.header, _OF_HEADER, False
    for line in lines:
        budget.spend_opcode()
        if not line:
            continue
        if line == "end of trees":
            ended = True
            break
        name, _, value = line.partition("=")
        if name == "Tree":
            if value != str(len(model.trees)):
                raise CorruptArtifactError("the trees of its LightGBM text are not in order")
            fields, known = {}, _OF_TREE
            model.trees.append(fields)
            continue
        if name in fields:
            raise CorruptArtifactError(f"its LightGBM text has {one_line(name, 40)} twice in one part")
        if name in known or fields.get(_OF_OTHER_TREES.get(name, ""), "0") != "0":
            fields[name] = value
        else:
            model.unknown.append(name)
    if not ended:
        raise CorruptArtifactError("its LightGBM text is cut off: the line 'end of trees' is missing")
    _read_rest(model, list(lines), budget)
    _note_unused(model, text, budget)
    return model


def _note_unused(model: ModelText, text: str, budget: Budget) -> None:
    """Note what nobody reads of a text, and is not as LightGBM writes it."""
    if not _is_parted(text):
        budget.note("line ends, or empty lines, of its LightGBM text")
    for index, one in enumerate([model.header, *model.trees]):
        for name in one:
            if name not in _NOT_NUMBERS and _TOO_LONG[6 if name in _SIX_DIGITS else 17].search(one[name]):
                budget.note(f"digits or spaces of {name}", f"trees[{index - 1}]" if index else "the header")
    sizes = [len(part) for part in re.split(r"(?m)^(?=Tree=|end of trees)", text.replace("\r", ""))[1:-1]]
    if model.header.get("tree_sizes", "").split() != list(map(str, sizes)):
        budget.note("tree_sizes", "the header")
    if (letters := sum(map(len, model.parameters.values()))) > _MOST_LETTERS:
        budget.note(f"{letters:,} letters of parameters")


def _is_parted(text: str) -> bool:
    """Return whether lines end in one way, and empty ones stand before parts alone, and before all trees alike."""
    plain = text.replace("\r\n", "\n")
    parts = re.findall(r"\n(\n+)(Tree=)?(.)", plain)
    at_parts = all(len(gap) <= 2 and (tree or first in "efp") for gap, tree, first in parts)
    n_lines = 1 + plain.count("\n")
    ends_alike = len(text) - len(plain) in (0, n_lines - 1) and len(f"{plain}.".splitlines()) == n_lines
    return at_parts and ends_alike and len({gap for gap, tree, _ in parts[1:] if tree}) <= 1


def _read_rest(model: ModelText, lines: list[str], budget: Budget) -> None:
    """Read what stands behind the trees: parameters, and the categories of a table's columns."""
    part = ""
    for line in lines:
        budget.spend_opcode()
        if line in ("feature_importances:", "parameters:", "parser:"):
            part = line
        elif line in ("end of parameters", "end of parser"):
            part = ""
        elif part == "parameters:" and line.startswith("[") and line.endswith("]"):
            name, _, value = line[1:-1].partition(": ")
            if len(line) > _LONGEST_PARAMETER:
                model.not_understood += len(line)
            if name in model.parameters:
                raise CorruptArtifactError(f"its LightGBM text has the parameter {one_line(name, 40)} twice")
            model.parameters[name.removesuffix(":")] = value.strip()
        elif line.startswith("pandas_categorical:"):
            model.pandas_categorical = line.partition(":")[2]
        elif part == "feature_importances:" and "=" in line:
            model.importances.append(line)
        else:
            model.not_understood += len(line)


def floats(fields: Fields, name: str, count: int, where: str, *, finite: bool = True) -> FloatArray:
    """Return a field of `count` numbers, finite or not NaN at least.

    Raises
    ------
    CorruptArtifactError
    """
    try:
        found = np.array(_split(fields, name, _NUMBERS), dtype=np.float64)
    except ValueError:
        raise CorruptArtifactError(f"{where}: {name} is not a list of numbers") from None
    if len(found) != count or np.isnan(found).any() or (finite and np.isinf(found).any()):
        raise CorruptArtifactError(f"{where}: {name} does not have {count} numbers")
    return found


def integers(fields: Fields, name: str, count: int, where: str) -> IntArray:
    """Return a field of `count` whole numbers.

    Raises
    ------
    CorruptArtifactError
    """
    try:
        found = np.array([int(one) for one in _split(fields, name, _WHOLE_NUMBERS)], dtype=np.int64)
    except ValueError:
        raise CorruptArtifactError(f"{where}: {name} is not a list of whole numbers") from None
    if len(found) != count:
        raise CorruptArtifactError(f"{where}: {name} does not have {count} whole numbers")
    return found


def _split(fields: Fields, name: str, form: re.Pattern[str]) -> list[str]:
    """Return the parts of a field, none where it is empty; ValueError where it is not of a form."""
    value = fields.get(name, "").strip(" ")
    if value and not form.fullmatch(value):
        raise ValueError
    return value.split()


def integer(fields: Fields, name: str, where: str, least: int, most: int) -> int:
    """Return a field that must be one whole number between two others.

    Raises
    ------
    CorruptArtifactError
    """
    value = int(integers(fields, name, 1, where)[0])
    if not least <= value <= most:
        raise CorruptArtifactError(f"{where}: {name} is out of range")
    return value
