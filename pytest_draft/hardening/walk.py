"""Walks through a model: every object once, with the path to it."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.FunctionType, np.generic)
_MOST_ITEMS = 100_000
"""Of a container that is looked into; none holds as many models, and columns of data can."""


@dataclass(frozen=True, eq=False)
class WalkedObject:
    """An object of a model."""

    value: Any
    path: str
    """Such as ``best_estimator_.estimators_[3]``; empty for the model itself."""


def objects_in(root: object) -> Iterator[WalkedObject]:
    """Return a model's objects and containers, from the outside in.

    Yields
    ------
    WalkedObject
        Dicts, lists, tuples, arrays and whatever has attributes; each once, with the first path that leads to it.
    """
    waiting = deque([WalkedObject(root, "")])
    seen = {id(root)}
    while waiting:
        found = waiting.popleft()
        yield found
        for path, inner in _inside(found):
            if not isinstance(inner, _PLAIN) and id(inner) not in seen:
                seen.add(id(inner))
                waiting.append(WalkedObject(inner, path))


def _inside(walked: WalkedObject) -> Iterator[tuple[str, object]]:
    value, path = walked.value, walked.path
    if isinstance(value, dict):
        if len(value) <= _MOST_ITEMS:
            for index, (key, item) in enumerate(value.items()):
                name = repr(key) if isinstance(key, str) and key.isidentifier() and len(key) <= 40 else str(index)
                yield f"{path}[{name}]", item
    elif isinstance(value, list | tuple | np.ndarray):
        items = value.ravel().tolist() if isinstance(value, np.ndarray) and value.dtype == object else value
        if not isinstance(items, np.ndarray) and len(items) <= _MOST_ITEMS:
            for index, item in enumerate(items):
                yield f"{path}[{index}]", item
    # A Bunch is a dict whose attributes are its items; estimators and helpers have attributes of their own.
    for name, item in getattr(value, "__dict__", {}).items():
        yield f"{path}.{name}" if path else name, item


def is_tree(value: object) -> bool:
    """Whether something is scikit-learn's ``Tree``."""
    kind = type(value)
    return (kind.__module__, kind.__name__) == ("sklearn.tree._tree", "Tree")


def is_estimator(value: object) -> bool:
    """Whether something has scikit-learn's interface of estimators."""
    return not isinstance(value, type) and hasattr(value, "get_params") and hasattr(value, "fit")
