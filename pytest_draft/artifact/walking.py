"""All objects of a file: in goes its inert record, out come its records, each once, with their paths."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.contents import shortened
from pytest_draft.artifact.records import CONTAINERS, Array, Items, Mapping, Record


def records_in(root: object, budget: Budget) -> Iterator[tuple[str, Record]]:
    """Return the records of a file and their paths, in order, without recursion: a file can nest them deeply.

    Parameters
    ----------
    root : object
        What the interpreter made of the file.

    Raises
    ------
    ArtifactTooBigError
        Where objects stand too deep in each other, or reading takes too long.
    """
    seen: dict[int, object] = {}  # kept, so that an id stays its own
    ahead: list[tuple[str, object, int]] = [("", root, 0)]
    while ahead:
        path, value, depth = ahead.pop()
        budget.visit(depth)
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Record):
            yield path, value
        ahead += [(shortened(inside), part, depth + 1) for inside, part in reversed(_inside(path, value))]


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
