"""What is printed of the attack's own classes: none of those that hold arrays shows any value."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import typing

import numpy as np
import pytest

from pytest_draft import attack
from pytest_draft.facts.reconstruction import Reconstruction

PLANTED = 9_871_712


def fields_of(cls):
    """Return the types of a dataclass's or named tuple's fields by name; none of another class."""
    if dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        return typing.get_type_hints(cls)
    return {}


def holding_arrays():
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(attack.__path__, "pytest_draft.attack.")
    ]
    classes = {
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__ and "ndarray" in str(fields_of(cls).values())
    }
    return sorted(classes, key=lambda cls: (cls.__module__, cls.__name__))


def planted(kind):
    """Return a value for a field: an array of one number wherever it may hold an array."""
    if "ndarray" in str(kind):
        return np.full((3, 3), PLANTED)
    return (7, 7) if typing.get_origin(kind) is tuple else 7


@pytest.mark.parametrize("cls", holding_arrays(), ids=lambda cls: f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}")
def test_no_value_is_shown_of_a_class_that_holds_arrays(cls):
    values = {name: planted(kind) for name, kind in fields_of(cls).items()}
    if issubclass(cls, tuple):
        shown = cls(**values)
    else:
        shown = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(shown, name, value)
    assert any(value is getattr(shown, name) for name, value in values.items() if isinstance(value, np.ndarray))
    for text in (repr(shown), str(shown), f"{shown}"):
        assert cls.__name__ in text
        assert str(PLANTED) not in text
        assert "array" not in text


def test_the_classes_that_hold_rows_are_among_them():
    names = {cls.__name__ for cls in holding_arrays()}
    assert names >= {"SampledRows", "LeafCounts", "Mixture", "Dataset", "RowLeaves"}
    assert names >= {"Solution", "Cells"}


def test_a_reconstruction_shows_no_row():
    rows, labels = np.full((2, 3), PLANTED, dtype=np.float32), np.full(2, PLANTED)
    shown = repr(Reconstruction("unique", rows, labels, labels, rows > 0, False, 0, consistent=rows))
    assert str(PLANTED) not in shown
    assert "array" not in shown
