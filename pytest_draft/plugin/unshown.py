"""Hides rows in what pytest prints: wraps values whose repr would show them.

pytest shows the arguments of functions in tracebacks (``--full-trace``, also after Ctrl-C) and local variables with
``--showlocals``, its own functions' too: there a test's fixtures stand that the test has never asked for.
"""

from __future__ import annotations

import operator
from typing import Any


class Unshown:
    """Something that holds rows; pickled, it is the value itself."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<training data: values not shown>"

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.getitem, ((self.value,), 0)


def unshown(data: object) -> Unshown | None:
    """Return data without their values in what is printed; None for none."""
    return data if data is None or isinstance(data, Unshown) else Unshown(data)


class NamesOnly(dict[str, Any]):
    """The values of a test's fixtures by their names, of which names are printed."""

    def __repr__(self) -> str:
        return f"<fixtures: {', '.join(self)}>"
