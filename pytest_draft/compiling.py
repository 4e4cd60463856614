"""Compiled code: the list of all kernels, a cache to keep them in, and a clock that stops while they are compiled.

Numba compiles each function that was not shipped (`shipped_code`) when it is first called, and keeps it where the
package is installed or in the user's cache. Where nothing was shipped that takes a minute or two of a processor on a
new machine, and nothing on the next run: the clock of all time boxes stands still meanwhile, so that the first
judgement gets as far as the second. Where there is neither place, what is compiled stays in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from numba import njit
from numba.core import event
from numba.core.caching import Cache
from numba.core.dispatcher import Dispatcher

from pytest_draft.shipped_code import ShippedCode
from pytest_draft.timebox import CLOCK

KERNELS: list[Any] = []
"""All compiled functions of the modules that are imported."""

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def compiled(function: Callable[Parameters, Returned], **options: Any) -> Callable[Parameters, Returned]:
    """Compile a function when it is first called, keep that, and let other threads run meanwhile.

    Parameters
    ----------
    **options
        Further ones of ``numba.njit``.
    """
    kernel: Callable[Parameters, Returned] = njit(cache=True, nogil=True, **options)(function)
    KERNELS.append(kernel)
    return kernel


inlined = partial(compiled, inline="always")
"""For functions that are part of each kernel that calls them."""


class _StopsTheClock(event.Listener):
    """Lets the clock of all time boxes stand still while something is compiled; what that calls lies inside."""

    def on_start(self, event: Any) -> None:
        CLOCK.stop()

    def on_end(self, event: Any) -> None:
        CLOCK.go()


def _read_and_write_where_possible() -> None:
    """Let numba look for shipped code, compile anew what it cannot read, and go on where it cannot write.

    Its place can be full or damaged.
    """
    load, save, shipped = Cache.load_overload, Cache.save_overload, ShippedCode()

    def load_where_possible(cache: Any, signature: Any, context: Any) -> Any:
        found = shipped.load(cache, signature, context)
        if found is not None:
            return found
        try:
            return load(cache, signature, context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever a damaged file makes of it
            with suppress(OSError):
                cache.flush()  # so that what is compiled now takes its place
            return None

    def save_where_possible(cache: Any, *arguments: Any) -> None:
        with suppress(OSError):
            save(cache, *arguments)  # type: ignore[no-untyped-call]

    Cache.load_overload = load_where_possible  # type: ignore[method-assign]
    Cache.save_overload = save_where_possible  # type: ignore[method-assign]


def _keep_in_memory() -> None:
    """Let numba compile without keeping where it finds no folder to write to, in place of an error on import."""
    enable = Dispatcher.enable_caching

    def enable_where_possible(dispatcher: Any) -> None:
        with suppress(RuntimeError):
            enable(dispatcher)

    Dispatcher.enable_caching = enable_where_possible  # type: ignore[method-assign, assignment]


event.register("numba:compile", _StopsTheClock())  # type: ignore[no-untyped-call]
_read_and_write_where_possible()
_keep_in_memory()
