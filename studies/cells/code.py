"""The code that a result depends on: in goes a function, out comes one hash of the files that it is made of.

These are the package with its shipped rules, the function's own module, and all modules of `studies` that this one
imports, directly or through others; not the runner of cells, nor options.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest_draft
import studies
from pytest_draft.errors import UsageError

_PACKAGE = Path(pytest_draft.__file__).parent
_STUDIES = Path(studies.__file__).parent
_OTHERS = ("studies.cells.", "studies.options.")


def code_hash(compute: Callable[..., Any]) -> str:
    """Return the hash of all code that a function's results depend on, shape of 64 hexadecimal digits.

    Parameters
    ----------
    compute : callable
        Of a module's top level.

    Raises
    ------
    UsageError
        Where it is none: another process could not find it.
    """
    module = inspect.getmodule(compute)
    name = getattr(compute, "__qualname__", "")
    if module is None or module.__name__ == "__main__" or getattr(module, name, None) is not compute:
        raise UsageError(f"{name or type(compute).__name__}: compute must be a function of an importable module")
    source = inspect.getsourcefile(module)
    if source is None:
        raise UsageError(f"{module.__name__}: compute must be a function of a module with a source file")
    return _hash_of(Path(source))


@cache
def _hash_of(module: Path) -> str:
    """Return the hash of the package and of a module with what it imports of the studies."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        _take(digest, f"pytest_draft/{path.relative_to(_PACKAGE).as_posix()}", path)
    for rules in (_PACKAGE / "rules", _PACKAGE.parent / "rules"):  # installed, and in a checkout
        for path in sorted(rules.glob("*.toml")):
            _take(digest, f"rules/{path.name}", path)
    for path in sorted(_reached(module)):
        _take(digest, path.name, path)
    return digest.hexdigest()


def _take(digest: Any, name: str, path: Path) -> None:
    digest.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())


def _reached(module: Path) -> set[Path]:
    """Return a module's file and those of all modules of the studies that it imports, through others too."""
    found, open_ones = {module}, [module]
    while open_ones:
        for name in _imported(open_ones.pop()):
            path = _source_of(name)
            if path is not None and path not in found and not f"{name}.".startswith(_OTHERS):
                found.add(path)
                open_ones.append(path)
    return found


def _imported(module: Path) -> Iterator[str]:
    """Yield the names that a file imports, and what they may be modules of."""
    for node in ast.walk(ast.parse(module.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _source_of(name: str) -> Path | None:
    """Return the file of a module of the studies; None for all others."""
    first, *rest = name.split(".")
    if first != "studies":
        return None
    place = _STUDIES.joinpath(*rest)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
