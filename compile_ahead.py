"""What a wheel ships compiled: in goes an empty folder, out comes the code of the kernels that `kernels.txt` lists.

``python compile_ahead.py FOLDER`` compiles the source beside it. The list has each kernel that judgements call, with
the types of its arguments, as Python has them; what it calls is compiled with it. ``GOLDEN=write pytest
tests/ci/test_kernels.py`` writes the list. What is not in it is compiled where it is first used, as it is without a
wheel.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest_draft
from pytest_draft import shipped_code

LIST = Path(__file__).with_name("kernels.txt")


def main(folder: Path) -> int:
    """Compile for what most machines can run, and keep it in a folder; 1 where this machine cannot compile that."""
    if (cpu := shipped_code.target()) is None:
        print("nothing is compiled ahead for this kind of machine", file=sys.stderr)
        return 1
    if os.environ.get("NUMBA_CPU_NAME") != cpu:  # which numba reads when it is imported
        with tempfile.TemporaryDirectory() as empty:
            named = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": empty}
            os.environ.update(named | {"PYTHONHASHSEED": "0"})
            return os.spawnv(os.P_WAIT, sys.executable, [sys.executable, __file__, str(folder)])
    _keep(shipped_code.ShippedCode(folder))
    for line in LIST.read_text(encoding="utf-8").splitlines():
        kernel, arguments = parsed(line)
        kernel.compile(arguments)
    return 0


def _keep(shipped: shipped_code.ShippedCode) -> None:
    """Let what numba compiles from now on be kept."""
    from numba.core.caching import Cache

    save = Cache.save_overload

    def save_here_too(cache: Any, signature: Any, compiled: Any) -> None:
        save(cache, signature, compiled)
        shipped.save(cache, signature, compiled)

    Cache.save_overload = save_here_too


def line_of(kernel: Any, arguments: tuple[Any, ...]) -> str:
    """Return a kernel and the types of its arguments as the list has them."""
    return _named(kernel.py_func) + _text(arguments)


def parsed(line: str) -> tuple[Any, tuple[Any, ...]]:
    """Return what a line of the list stands for."""
    from numba import types

    for module in re.findall(r"([a-z_.]+)\.\w+\(", line):
        importlib.import_module(f"pytest_draft.{module}")
    kernel, _, arguments = line.partition("(")
    names = {**vars(types), **vars(pytest_draft), "bool": types.boolean, types.npy_rng.name: types.npy_rng}
    return eval(kernel, names), tuple(map(_type, eval(f"({arguments}", names)))


def _named(what: Any) -> str:
    return f"{what.__module__}.{what.__qualname__}".removeprefix("pytest_draft.")


def _text(kind: Any) -> str:
    """Return a type, or several in brackets, as Python has it; of a named tuple with those of its fields."""
    from numba import types

    if isinstance(kind, types.BaseTuple):
        name = _named(kind.instance_class) if isinstance(kind, types.BaseNamedTuple) else ""
        return name + _text(tuple(kind))
    if isinstance(kind, tuple):
        return f"({''.join(f'{_text(one)}, ' for one in kind)})"
    if isinstance(kind, types.Array) and kind.mutable and kind.layout in "AC":
        places = ":" + ", :" * (kind.ndim - 1) + (":1" if kind.layout == "C" else "")
        return f"{kind.dtype}[{places}]"
    return repr(kind)


def _type(kind: Any) -> Any:
    """Return the type for what such a text comes to: a tuple holds types."""
    from numba import types

    if not isinstance(kind, tuple):
        return kind
    return types.BaseTuple.from_types(tuple(map(_type, kind)), None if type(kind) is tuple else type(kind))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
