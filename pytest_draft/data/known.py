"""Known classes or categories of a file: returns the function that finds a value among them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np

from pytest_draft.data.files import NUMBER

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


def finder(known: tuple[object, ...]) -> Callable[[object], int]:
    """Return the function from a value to the position of the known value that it is, -1 for none.

    A text is first looked for as it is. Then numbers, truth values and texts of either are compared as
    numbers; where two known values are the same number ("1" and "01"), only their texts tell them apart.
    """
    by_text: dict[str, int] = {}
    by_number: dict[object, int] = {}
    for index, value in enumerate(known):
        if isinstance(value, str):
            by_text[value] = index
        number = _number(value)
        if number is not None:
            by_number[number] = -1 if number in by_number else index

    def position_of(value: object) -> int:
        if isinstance(value, str) and value in by_text:
            return by_text[value]
        number = _number(value)
        return -1 if number is None else by_number.get(number, -1)

    return position_of


def _number(value: object) -> object:
    """Return a value as a Python number, whose equality and hash don't depend on its type; else None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float, Decimal)):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not NUMBER.fullmatch(text) or len(text) > 400:
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)
