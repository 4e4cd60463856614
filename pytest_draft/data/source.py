"""Makes the training data of a case: adds labels from a file of their own, and takes the rows of a split.

A split is given as the call that the training script has, and parsed; nothing of it is run.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from pytest_draft.arrays import AnyArray, IntArray
from pytest_draft.artifact.encoder import Encoder
from pytest_draft.data.files import place_of
from pytest_draft.data.tables import Table, is_index, read_table
from pytest_draft.data.training import Model, TrainingData, as_table, labels_of
from pytest_draft.errors import DataError, LabelError, UsageError, one_line
from pytest_draft.facts.case import Case, Returned

__tracebackhide__ = True  # frames here hold rows


def table_of(case: Case, given: object, model: Model, encoder: Encoder | None) -> tuple[Any, tuple[str, ...]]:
    """Return the training data of a case, with its labels added and its split taken, and notes that say so.

    Parameters
    ----------
    given : Table, pandas.DataFrame, tuple (X, y), TrainingData or Returned
        As read, or as given in memory; `TrainingData` stay as they are.

    Raises
    ------
    DataError, UsageError
        Where the labels do not fit the table, it cannot be split so, or nobody can read the split.
    """
    if isinstance(given, Returned):
        given = as_table(given.value, given.source)
    if (case.labels is None and case.split is None) or isinstance(given, TrainingData):
        return given, ()
    table, notes = as_table(given), []
    if case.labels is not None and not isinstance(given, tuple):
        labels = read_table(case.labels)
        table = _labelled(table, labels)
        notes.append(f"the labels are those of {one_line(labels.source)} (SHA-256 {labels.sha256})")
    if case.split is not None:
        split, n_rows = Split.parse(case.split), len(table.frame)
        taken = split.positions(n_rows, labels_of(table, model, case.target, encoder) if split.stratify else None)
        table = table.taken(taken)
        notes.append(f"training rows taken from the table as --draft-split says: {len(taken):,} of {n_rows:,}")
    return table, tuple(notes)


def _labelled(table: Table, labels: Table) -> Table:
    """Return a table with the labels of another one, which has no other column but an index."""
    where, columns = place_of(labels.source), [str(column) for column in labels.frame.columns]
    named = [name for name in columns if not is_index(name)] or columns
    if len(named) != 1:
        raise LabelError(f"{where}: {len(columns)} columns; a file of labels has one, and may have an unnamed index")
    if len(labels.frame) != len(table.frame):
        raise LabelError(f"{where}: {len(labels.frame):,} labels for {len(table.frame):,} rows; give one for each row")
    values = np.asarray(labels.frame.iloc[:, columns.index(named[0])])
    return replace(table, targets={**(table.targets or {}), "y": values})


_HOW_TO_WRITE = "write it as 'test_size=0.2, random_state=42, stratify' or 'df.sample(frac=0.8, random_state=1)'"
_NUMBER, _WHOLE, _FLAG = (int, float), (int,), (bool,)
_FLAGS = {"shuffle": _FLAG, "stratify": _FLAG}
_ARGUMENTS: dict[str, dict[Any, Any]] = {
    "train_test_split": {"test_size": _NUMBER, "train_size": _NUMBER, "random_state": _WHOLE, **_FLAGS},
    "sample": {"n": _WHOLE, "frac": _NUMBER, "replace": _FLAG, "random_state": _WHOLE},
}


@dataclass(frozen=True)
class Split:
    """Which rows of a table were trained on, and in which order.

    Raises
    ------
    UsageError
        Where nobody can take the same rows again, or the arguments contradict each other.
    """

    by: Literal["train_test_split", "sample"] = "train_test_split"
    """scikit-learn's function, or the method of a data frame."""
    train_size: float | int | None = None
    """A share or a number of rows; ``frac`` or ``n`` of a sample."""
    test_size: float | int | None = None
    random_state: int | None = None
    stratify: bool = False
    """Whether by the labels."""
    shuffle: bool = True
    replace: bool = False
    """Whether a sample may take a row several times."""

    def __post_init__(self) -> None:
        for size in (self.train_size, self.test_size):
            whole = isinstance(size, int)
            if size is not None and not (size >= 1 if whole else 0 < size < 1 or (self.by == "sample" and size > 0)):
                raise UsageError(f"--draft-split: a size of {size!r}: give a share of the rows, or their number")
        if self.random_state is None and self.shuffle:
            raise UsageError("--draft-split: without random_state, nobody can take the same rows again: add it")
        if self.random_state is not None and not 0 <= self.random_state < 2**32:
            raise UsageError(f"--draft-split: random_state={self.random_state}: give a number from 0 to 2**32 - 1")
        if self.stratify and not self.shuffle:
            raise UsageError("--draft-split: stratify needs shuffle=True")

    @classmethod
    def parse(cls, text: str) -> Split:
        """Read a split as a script has it, whole or only its arguments. Nothing in it is run.

        Parameters
        ----------
        text : str
            Such as ``test_size=0.2, random_state=42, stratify``, ``train_test_split(X, y, test_size=60,
            random_state=0, stratify=y)`` or ``df.sample(frac=.8, random_state=1)``.

        Raises
        ------
        UsageError
            Where it is something else.
        """
        try:
            call = _call(text)
            by = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            kinds = _ARGUMENTS[by]
            positional = list(zip(kinds, call.args, strict=False)) if by == "sample" else []
            named = [*positional, *((one.arg, one.value) for one in call.keywords)]
            values = {name: _value(node, name == "stratify") for name, node in named}
            given: dict[str, Any] = {str(name): value for name, value in values.items() if value is not None}
            takes_arrays = not any(isinstance(one, ast.Constant) for one in call.args)  # such as X, y
            well_typed = all(type(value) in kinds[name] for name, value in given.items())
            given_once = len(values) == len(named)
            if not (well_typed and given_once and values.keys() <= kinds.keys() and (takes_arrays or positional)):
                raise ValueError
            if by == "sample":
                (size,) = given.keys() & {"n", "frac"}
                given = {"by": by, "train_size": kinds[size][-1](given.pop(size)), **given}
        except (ValueError, KeyError, TypeError, SyntaxError, RecursionError, MemoryError, ArithmeticError):
            raise UsageError(f"--draft-split: {one_line(text)!r} cannot be read: {_HOW_TO_WRITE}") from None
        return cls(**given)

    def positions(self, n_rows: int, labels: AnyArray | pd.Series[Any] | None = None) -> IntArray:
        """Return the positions of the training rows in a table, in the order in which they came to ``fit``.

        The shape is (n_training_rows,).

        Parameters
        ----------
        n_rows : int
            Of the table.
        labels : ndarray or pandas.Series, shape (n_rows,), optional
            As the table has them; only for `stratify`.

        Raises
        ------
        DataError
            Where the table cannot be split like this. The message quotes no label.
        """
        every = np.arange(n_rows, dtype=np.int64)
        try:
            if self.by == "sample":
                size = self.train_size
                n, frac = (size, None) if isinstance(size, int) else (None, size)
                rows = pd.Series(every).sample(n, frac, self.replace, random_state=self.random_state)
                return rows.to_numpy()
            return train_test_split(  # type: ignore[no-any-return]
                every,
                test_size=self.test_size,
                train_size=self.train_size,
                random_state=self.random_state,
                shuffle=self.shuffle,
                stratify=np.asarray(labels) if self.stratify else None,
            )[0]
        except (ValueError, TypeError):  # whose texts could quote labels
            pass
        raise DataError(f"--draft-split: {n_rows:,} rows cannot be split by {self.in_words}: correct its numbers")

    @property
    def in_words(self) -> str:
        """The call that takes the rows, as a script has it."""
        size = "n" if isinstance(self.train_size, int) else "frac"
        names = {"train_size": size} if self.by == "sample" else {}
        said = [
            f"{names.get(name, name)}={value!r}"
            for name in ("test_size", "train_size", "random_state")
            if (value := getattr(self, name)) is not None
        ]
        flags = {"shuffle=False": not self.shuffle, "replace=True": self.replace, "stratify=y": self.stratify}
        said += [flag for flag, is_set in flags.items() if is_set]
        return f"{'df.sample' if self.by == 'sample' else 'train_test_split'}({', '.join(said)})"


def _call(text: str) -> ast.Call:
    """Parse a call, or only its arguments; an assignment around it and `reset_index` behind it are left out."""
    alone = re.sub(r"(^|,)\s*stratify\s*(?=,|$)", r"\1stratify=True", text)
    for source in (text.strip(), f"train_test_split({alone})"):
        with suppress(SyntaxError, ValueError):
            (statement,) = ast.parse(source).body
            value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
            while isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "reset_index":
                value = value.func.value  # type: ignore[attr-defined]
            if isinstance(value, ast.Call):
                return value
    raise ValueError


def _value(node: ast.expr, may_be_named: bool) -> Any:
    """Return the value of a literal or of a quotient of two; True for a variable's name, if one is allowed."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return ast.literal_eval(node.left) / ast.literal_eval(node.right)
    return True if may_be_named and isinstance(node, ast.Name) else ast.literal_eval(node)
