"""Walks through a file's inert record: every record once, with the path to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.records import CONTAINERS, Array, Items, Mapping, Record

_LONGEST_NAME = 80
_LONGEST_PATH = 400
"""Characters of a path that are shown."""

Inside = Callable[[str, object], Iterable[tuple[str, object]]]
"""Gets a value and its path; returns what is to be visited in it."""


def walk(root: object, inside: Inside, budget: Budget) -> None:
    """Visit all that a file holds in order, each container once, without recursion: a file can nest them deeply."""
    seen: dict[int, object] = {}  # kept, so that an id stays its own: what is made on the way would be freed
    ahead: list[tuple[str, object, int]] = [("", root, 0)]
    while ahead:
        path, value, depth = ahead.pop()
        budget.visit(depth)
        if isinstance(value, CONTAINERS):
            if id(value) in seen:
                continue
            seen[id(value)] = value
        inner = [(shortened(part_path), part, depth + 1) for part_path, part in inside(path, value)]
        ahead += reversed(inner)


def records_in(root: object, budget: Budget) -> list[tuple[str, Record]]:
    """Return the records of a file and their paths, in order; errors as of `walk`."""
    found: list[tuple[str, Record]] = []

    def inside(path: str, value: object) -> list[tuple[str, object]]:
        if isinstance(value, Record):
            found.append((path, value))
        return _inside(path, value)

    walk(root, inside, budget)
    return found


def shortened(path: str) -> str:
    """Return a path, cut where it is too long to be read: those of a deep nest would fill the memory."""
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}..."


def inside_of(path: str, name: str) -> str:
    """Return the path of an attribute; a name that no program would choose could be a value of a row."""
    shown = name if name.isidentifier() and len(name) <= _LONGEST_NAME else "(attribute)"
    return f"{path}.{shown}" if path else shown


def _inside(path: str, value: object) -> list[tuple[str, object]]:
    if isinstance(value, Record):
        parts = [(f"{path}.{name}" if path else str(name), part) for name, part in value.pairs]
        parts += [(f"{path}(items)", part) for part in (value.args, value.appended, value.set_items)]
    elif isinstance(value, Mapping):
        parts = [(f"{path}[{index}]", part) for index, (_, part) in enumerate(value.pairs)]
    elif isinstance(value, (list, tuple)):
        parts = [(f"{path}[{index}]", part) for index, part in enumerate(value)]
    else:
        items = value.items if isinstance(value, (Array, Items)) else None
        parts = [(f"{path}[{index}]", part) for index, part in enumerate(items or ())]
    return [(inside, part) for inside, part in parts if isinstance(part, CONTAINERS)]
