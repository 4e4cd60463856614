"""Objects in a model file: an inert record whose attributes are checked as they are asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.records import Array, Global, Mapping, Record
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

NOT_PLAIN = "(not plain)"
"""Stands for class weights that are in the file and not understood."""

_SHORT = 200
"""Longest text, and longest mapping, that is taken for a parameter rather than for data."""

_FEW = 32
"""Longest list that is taken for a parameter rather than for data."""


class Object:
    """An object's attributes, with a note of those that were asked for.

    Parameters
    ----------
    path : str
        Where it is in the file, ending in a dot; empty for the file's own object.
    """

    def __init__(self, record: Record, path: str = "") -> None:
        self.record = record
        self.path = path
        self._attributes = record.attributes()
        self._asked: set[str] = set()

    @property
    def kind(self) -> str:
        """The class's name."""
        return one_line(self.record.cls.name, 80)

    def __contains__(self, name: str) -> bool:
        return name in self._attributes

    def get(self, name: str) -> Any:
        """Return an attribute, None where it is missing."""
        self._asked.add(name)
        return self._attributes.get(name)

    def supply(self, name: str, value: object) -> None:
        """Set an attribute that an older version did not store, where it is missing."""
        self._attributes.setdefault(name, value)

    def is_fitted(self, name: str) -> None:
        """Refuse an object that lacks an attribute which fitting sets."""
        if name not in self._attributes:
            raise UnsupportedArtifactError(
                f"it holds {with_article(self.kind)} that was not fitted: fit it before saving it"
            )

    def integer(self, name: str, *, minimum: int = 0) -> int:
        """Return an attribute that must be a whole number."""
        value = self.get(name)
        if type(value) is not int or not minimum <= value < 2**62:
            raise CorruptArtifactError(f"{self.path}{name} is not a whole number of at least {minimum}")
        return value

    def optional_integer(self, name: str, *, minimum: int = 0) -> int | None:
        """Return an attribute that may be missing or None."""
        return None if self.get(name) is None else self.integer(name, minimum=minimum)

    def number(self, name: str) -> float:
        """Return an attribute that must be a finite number."""
        value = self.get(name)
        if not isinstance(value, (int, float)) or type(value) is bool or not math.isfinite(value):
            raise CorruptArtifactError(f"{self.path}{name} is not a finite number")
        return float(value)

    def boolean(self, name: str) -> bool:
        """Return an attribute that must be true or false."""
        value = self.get(name)
        if type(value) is not bool:
            raise CorruptArtifactError(f"{self.path}{name} is not true or false")
        return value

    def texts(self, name: str, count: int) -> tuple[str, ...] | None:
        """Return an attribute that must be an array of `count` texts, None where it is missing."""
        stored = self.get(name)
        if stored is None:
            return None
        items = stored.items if isinstance(stored, Array) else None
        if items is None or len(items) != count or any(type(item) is not str for item in items):
            raise CorruptArtifactError(f"{self.path}{name} does not have {count} texts")
        return tuple(str(item) for item in items)

    def choice(self, name: str, options: Collection[str]) -> str:
        """Return an attribute that must be one of scikit-learn's options."""
        value = self.get(name)
        if type(value) is not str or value not in options:
            raise CorruptArtifactError(f"{self.path}{name} is not one of scikit-learn's")
        return value

    def inner(self, name: str) -> Object:
        """Return an attribute that must be an object."""
        record = self.get(name)
        if not isinstance(record, Record):
            raise CorruptArtifactError(f"{self.path}{name} is missing")
        return Object(record, f"{self.path}{name}.")

    def numbers(self, name: str, kinds: str) -> AnyArray:
        """Return an attribute that must be a list of numbers; each kind is NumPy's letter."""
        return numbers_of(self.get(name), kinds, f"{self.path}{name}")

    def parameters(self) -> dict[str, object]:
        """Return the constructor's parameters that are plain (numbers, texts, booleans, None).

        Class weights are never left out: others than a plain dict or an atom are `NOT_PLAIN`.
        """
        found = {}
        for name, value in self._attributes.items():
            if name.startswith("_") or name.endswith("_"):
                continue
            plain = _plain_dict(value) if isinstance(value, Mapping) and name == "class_weight" else value
            if is_atom(plain) or isinstance(plain, dict):
                self._asked.add(name)
                found[name] = plain
            elif name == "class_weight":
                found[name] = NOT_PLAIN
        return found

    @property
    def asked(self) -> frozenset[tuple[int, str]]:
        """The attributes that were asked for, by the record's `id` and name."""
        return frozenset((id(self.record), name) for name in self._asked)

    def not_read(self) -> list[str]:
        """Return the paths of the attributes that nobody asked for and that can hold data."""
        paths = [
            f"{self.path}{name}"
            for name, value in self._attributes.items()
            if name not in self._asked and not _is_small(value)
        ]
        if self.record.state is not None and not isinstance(self.record.state, Mapping):
            paths.append(f"{self.path}(state)")
        if self.record.appended or self.record.set_items.pairs:
            paths.append(f"{self.path}(items)")
        return paths


def is_atom(value: object) -> bool:
    """Return whether a value is a number, a short text, a boolean or None."""
    if type(value) is str:
        return len(value) <= _SHORT
    return value is None or type(value) in (bool, int, float)


def _is_small(value: object) -> bool:
    """Return whether a value is too small to hold data: an atom, or a few of them."""
    if isinstance(value, (tuple, list)):
        return len(value) <= _FEW and all(is_atom(item) for item in value)
    return is_atom(value)


def _plain_dict(mapping: Mapping) -> object:
    """Return a mapping of a few atoms to atoms as a dict; any other as it is."""
    is_plain = all(is_atom(key) and is_atom(value) for key, value in mapping.pairs)
    return dict(mapping.pairs) if is_plain and len(mapping.pairs) <= _SHORT else mapping


def with_article(name: str) -> str:
    """Return a name behind "a" or "an"."""
    return f"{'an' if name[:1] in 'AEIO' else 'a'} {name}"


def described(found: object) -> str:
    """Say what something in the file is, for messages."""
    if isinstance(found, Record):
        is_sklearn = found.cls.module.startswith("sklearn.")
        return with_article(one_line(found.cls.name, 80) if is_sklearn else found.cls.shown)
    if isinstance(found, Array):
        return "an array"
    if isinstance(found, Mapping):
        return "a dict"
    if isinstance(found, Global):
        return f"the name {found.shown}"
    names = {list: "a list", tuple: "a tuple", str: "a text", bytes: "bytes", type(None): "None"}
    return names.get(type(found), "a plain value")


def data_of(stored: object, what: str) -> AnyArray:
    """Return the content of an array that does not hold objects."""
    if not isinstance(stored, Array) or stored.data is None:
        raise CorruptArtifactError(f"{what} is not an array of numbers")
    return stored.data


def kind_of(stored: object) -> str:
    """Return NumPy's letter for the kind of an array's items; empty for anything else."""
    return stored.data.dtype.kind if isinstance(stored, Array) and stored.data is not None else ""


def numbers_of(stored: object, kinds: str, what: str) -> AnyArray:
    """Return a one-dimensional array of numbers in native byte order; each kind is NumPy's letter."""
    data = data_of(stored, what)
    if data.ndim != 1 or data.dtype.kind not in kinds or data.dtype.itemsize > 8:
        raise CorruptArtifactError(f"{what} is not a list of numbers")
    return data.astype(data.dtype.newbyteorder("="))


def plain_classes(stored: object) -> tuple[object, ...]:
    """Return a classifier's ``classes_``, an array of numbers or texts, as plain Python values."""
    if isinstance(stored, list):
        raise UnsupportedArtifactError("it holds a classifier with several outputs, which is not covered yet")
    if not isinstance(stored, Array) or len(stored.shape) != 1:
        raise CorruptArtifactError("classes_ is not a list of classes")
    if stored.data is not None and stored.data.dtype.kind not in "biufU":
        raise UnsupportedArtifactError("its classes are neither numbers nor texts, which is not covered yet")
    classes = stored.data.tolist() if stored.data is not None else stored.items
    if not classes or any(type(value) not in (bool, int, float, str) for value in classes):
        raise UnsupportedArtifactError("its classes are neither numbers nor texts, which is not covered yet")
    if len(set(classes)) != len(classes):
        raise CorruptArtifactError("classes_ has a class twice")
    return tuple(classes)


def attributes_of(mapping: Mapping, path: str) -> Object:
    """Return a dictionary as an object whose attributes are its items."""
    record = Record(Global("builtins", "dict"), ())
    record.state = mapping
    return Object(record, path)


def version_of(stored: object) -> tuple[int, ...]:
    """Return the first two numbers of a version, nothing where it is not one."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", stored, re.ASCII) if type(stored) is str else None
    return tuple(map(int, found.groups())) if found else ()
