"""Compiled code that ships with the package: looks up a function by its signature and returns what to run, if any.

A wheel is built with it (``hatch_build.py``), for one kind of CPU that most machines can stand in for. It is taken
where everything is as it was then: the version of Python and of numba, llvmlite's, the system, every line of this
package's source; else numba compiles as it always does. It is only ever looked for beside the source that it was
compiled from, so whoever can write to it can change the source too.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite import binding
from numba.core.caching import Cache, IndexDataCacheFile

PACKAGE = Path(__file__).resolve().parent
FOLDER = PACKAGE / "compiled"

_X86_64_V3 = (
    "sse3,ssse3,sse4.1,sse4.2,popcnt,cx16,sahf,"  # what version 2 adds
    "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,xsave"
)

TARGETS: Mapping[str, tuple[str, frozenset[str]]] = {"x86-64": ("x86-64-v3", frozenset(_X86_64_V3.split(",")))}
"""By the kind of machine: LLVM's name of the CPU that code is shipped for, and what a CPU needs to run it."""

_MACHINES = {"x86_64": "x86-64", "AMD64": "x86-64"}  # as systems call them


class _Target:
    """Stands for a code generator in numba's key of compiled code."""

    def __init__(self, triple: str, cpu: str) -> None:
        self._named = triple, cpu, ""

    def magic_tuple(self) -> tuple[str, str, str]:
        return self._named


class ShippedCode:
    """The compiled code in a folder, by function and signature.

    Parameters
    ----------
    package : Path
        The source that it was compiled from.
    """

    def __init__(self, folder: Path = FOLDER, package: Path = PACKAGE) -> None:
        self._folder, self._package = folder, package
        self._cpu = target()
        self._stamp: tuple[str, str] | None = None

    def load(self, cache: Cache, signature: Any, context: Any) -> Any:
        """Return what to run, or None where there is nothing that fits."""
        with suppress(Exception):  # whatever a damaged file makes of it
            if self._cpu is None or not self._folder.is_dir():
                return None
            context.refresh()
            held = self._file(cache).load(self._key(cache, signature, context.codegen()))  # type: ignore[no-untyped-call]
            if held is not None:
                return cache._impl.rebuild(context, held)
        return None

    def save(self, cache: Cache, signature: Any, compiled: Any) -> None:
        """Keep what was compiled, in a process that compiles for the CPU that `target` names.

        Raises
        ------
        ValueError
            For a function that is not of the package, or a process that compiles for another CPU.
        """
        key = self._key(cache, signature, compiled.codegen)
        if key[1] != compiled.codegen.magic_tuple():
            raise ValueError(f"compiled for {compiled.codegen.magic_tuple()}, not {key[1]}")
        file = self._file(cache)
        Path(file._cache_path).mkdir(parents=True, exist_ok=True)
        file.save(key, cache._impl.reduce(compiled))  # type: ignore[no-untyped-call]

    def _key(self, cache: Cache, signature: Any, codegen: Any) -> Any:
        named = _Target(codegen.magic_tuple()[0], str(self._cpu))
        return cache._index_key(signature, named)  # type: ignore[no-untyped-call]

    def _file(self, cache: Cache) -> IndexDataCacheFile:
        source = Path(inspect.getfile(cache._py_func)).resolve()
        place = self._folder / source.parent.relative_to(self._package)
        name = cache._impl.filename_base
        if self._stamp is None:
            self._stamp = llvmlite.__version__, digest(self._package)
        return IndexDataCacheFile(str(place), name, self._stamp)  # type: ignore[no-untyped-call]


def target() -> str | None:
    """Return the CPU that code is shipped for, where this machine can stand in for it; else None."""
    named = TARGETS.get(_MACHINES.get(platform.machine(), ""))
    if named is None:
        return None
    cpu, needed = named
    held = binding.get_host_cpu_features()
    return cpu if all(held.get(feature) for feature in needed) else None


def digest(package: Path) -> str:
    """Return a hash of a package's source, as one function's code can hold that of another file's."""
    hashed = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        hashed.update(f"{path.relative_to(package).as_posix()} {len(text)}\n".encode())
        hashed.update(text)
    return hashed.hexdigest()
