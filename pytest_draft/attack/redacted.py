"""Hides the values of named tuples: a class decorator that shortens their repr.

Compiled code takes named tuples of arrays, and a named tuple shows all that it holds: rows, or what leads to them, in
every traceback with local variables. Dataclasses have ``repr=False`` instead.
"""

from __future__ import annotations

from typing import TypeVar

Class = TypeVar("Class", bound=type)


def redacted(cls: Class) -> Class:
    """Return the class of a named tuple, its repr without any value."""

    def shown(self: object) -> str:
        return f"<{type(self).__name__}: values not shown>"

    cls.__repr__ = shown  # type: ignore[assignment]
    return cls
