"""What a pickle's instructions are turned into: inert records that hold, name and do nothing.

None of these classes has behaviour that a file could reach: no `__hash__` over its content, no
`__eq__`, no `__setstate__`, nothing that imports. A dictionary is a list of pairs, because hashing a
key that a file chose (deeply nested tuples, colliding integers) can take forever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.moved import module_of
from pytest_draft.errors import CorruptArtifactError, one_line


class Global:
    """A module's attribute that the file names, as `module_of` knows it. It is never imported."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module_of(module)
        self.name = name

    @property
    def key(self) -> tuple[str, str]:
        """Module and name, to be compared exactly."""
        return (self.module, self.name)

    @property
    def shown(self) -> str:
        """The dotted name, escaped, for messages."""
        return one_line(f"{self.module}.{self.name}", 120)


class Mapping:
    """A dictionary, as the pairs in the order in which they were set.

    One that an object has taken as its state `is_state`: the object that is loaded has what was in there then.
    """

    __slots__ = ("is_state", "pairs")

    def __init__(self, pairs: Iterable[tuple[object, object]] = ()) -> None:
        self.pairs = list(pairs)
        self.is_state = False

    def texts(self) -> dict[str, object]:
        """Return it as a dictionary whose keys are all texts; a later pair replaces an earlier one."""
        result = {}
        for key, value in self.pairs:
            if type(key) is not str:
                raise CorruptArtifactError("an object's attribute has a name that is not a text")
            result[key] = value
        return result


class Items:
    """A set or frozen set, as a list."""

    __slots__ = ("items",)

    def __init__(self, items: list[object]) -> None:
        self.items = items


class Record:
    """An object: the class that the file names, what it would be made with, and its state."""

    __slots__ = ("appended", "args", "cls", "set_items", "state")

    def __init__(self, cls: Global, args: tuple[object, ...]) -> None:
        self.cls = cls
        self.args = args
        self.state: object = None
        self.appended: list[object] = []
        self.set_items = Mapping()

    @property
    def pairs(self) -> list[tuple[object, object]]:
        """Names and values of its state; empty where that is not a plain dictionary."""
        return self.state.pairs if isinstance(self.state, Mapping) else []

    @property
    def named(self) -> dict[str, object]:
        """Those of them whose name is a text; a later one replaces an earlier one."""
        return {name: value for name, value in self.pairs if type(name) is str}

    def attributes(self) -> dict[str, object]:
        """Return the object's attributes; empty where its state is not a plain dictionary."""
        return self.state.texts() if isinstance(self.state, Mapping) else {}


class Dtype:
    """A NumPy data type: `code` as it was called, `layout` once it is known, None for objects."""

    __slots__ = ("code", "is_filled", "is_object", "layout")

    def __init__(self, code: str, layout: np.dtype[Any] | None, *, is_object: bool) -> None:
        self.code = code
        self.layout = layout
        self.is_object = is_object
        self.is_filled = False


class Array:
    """A NumPy array: `data` for numbers, texts and records, `items` for objects.

    Both are None between the instruction that makes an empty array and the one that fills it.
    """

    __slots__ = ("data", "items", "shape")

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = (0,)
        self.data: AnyArray | None = None
        self.items: list[object] | None = None


CONTAINERS = (Record, Mapping, Items, Array, list, tuple)
"""What holds other values."""
