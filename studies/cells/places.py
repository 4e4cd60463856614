"""Where cells are computed: in go calls, out come their outcomes as each is finished, in any order.

Whoever stops taking outcomes (by closing the generator, or by an exception such as Ctrl-C) stops the work too.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, as_completed
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from pytest_draft.errors import UsageError, one_line
from studies.cells.computing import Call, Outcome, computed, difference, in_one_line
from studies.optional import optional

Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]

_PROCESSES = re.compile(r"(local|dask):([1-9][0-9]{0,3})")
_DIED = "the process that computed it died, twice; perhaps of too little memory"
_LOST = "its Dask workers died, several times, or the scheduler went away"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_WATCH_SECONDS = 1.0
_CONNECT_SECONDS = 20.0


def outcomes(where: str, calls: Sequence[Call]) -> Outcomes:
    """Compute cells.

    Parameters
    ----------
    where : str
        ``local:N`` for so many processes of this machine, the address of a Dask scheduler (``tcp://host:port``), or
        ``dask:N`` for a Dask cluster of so many processes that is started here, and ended.

    Yields
    ------
    int, Outcome
        A call's number, and what came of it.

    Raises
    ------
    DraftError
        Where there is no such place, or its workers see other code or other files: before any work.
    """
    processes = _PROCESSES.fullmatch(where)
    if processes is None and "://" not in where:
        raise UsageError(
            f"where {one_line(where)!r}: give local:N for N processes, tcp://HOST:PORT of a Dask scheduler, or dask:N"
        )
    if not calls:
        return
    if processes is not None and processes[1] == "local":
        yield from _local(int(processes[2]), calls)
    else:
        yield from _dask(where, None if processes is None else int(processes[2]), calls)


# Processes of this machine.


def _local(n_processes: int, calls: Sequence[Call]) -> Outcomes:
    """Compute on this machine; what may have killed its process is computed again, alone, before it is given up."""
    suspects = yield from _pool(n_processes, calls, list(range(len(calls))))
    while suspects:
        first, *rest = suspects
        if (yield from _pool(1, calls, [first])):
            yield first, Outcome(None, _DIED)
        suspects = yield from _pool(n_processes, calls, rest)


def _pool(
    n_processes: int, calls: Sequence[Call], numbers: Sequence[int]
) -> Generator[tuple[int, Outcome], None, list[int]]:
    """Compute some of the calls, and return which ones had no outcome, as a process died."""
    if not numbers:
        return []
    env = {name: os.environ.get(name, value) for name, value in _ONE_THREAD.items()}
    executor = get_reusable_executor(n_processes, initializer=_begin, initargs=(os.getpid(),), env=env)
    left = set(numbers)
    whole = False
    try:
        futures: dict[Future[Outcome], int] = {executor.submit(computed, calls[number]): number for number in numbers}
        for future in as_completed(futures):
            number = futures.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool:
                continue
            except Exception as error:  # what came back, or was sent, could not be pickled
                outcome = Outcome(None, in_one_line(error))
            left.remove(number)
            yield number, outcome
        whole = not left
    finally:
        if not whole:
            executor.shutdown(kill_workers=True)
    return sorted(left)


def _begin(parent: int) -> None:
    """Let Ctrl-C reach the process alone that takes the outcomes, and end with that one."""
    if hasattr(os, "setpgid"):
        with suppress(OSError):
            os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


# Dask.


def _dask(address: str, n_processes: int | None, calls: Sequence[Call]) -> Outcomes:
    """Compute on the workers of a Dask scheduler, or of a cluster that is started for it."""
    distributed = optional("distributed", "cells on Dask need distributed", "cluster")
    with _cluster(distributed, n_processes, address) as place, _client(distributed, place) as client:
        _refuse_others(client, calls)
        futures = {  # the first cells first
            client.submit(computed, call, pure=False, priority=-number): number for number, call in enumerate(calls)
        }
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                number = futures.pop(future)
                try:
                    outcome = future.result()
                except Exception as error:
                    outcome = Outcome(None, f"{_LOST} ({type(error).__name__})")
                future.release()
                yield number, outcome
        finally:
            if futures:
                with suppress(Exception):
                    client.cancel(list(futures), force=True)


def dask_setup(worker: Any) -> None:
    """Let Ctrl-C reach the process alone that takes the outcomes; called by Dask in each worker started here."""
    if hasattr(os, "setpgid"):
        with suppress(OSError):
            os.setpgid(0, 0)


@contextmanager
def _cluster(distributed: Any, n_processes: int | None, address: str) -> Iterator[Any]:
    """Give what a client connects to."""
    if n_processes is None:
        yield address
        return
    import dask

    # Judgements start processes of their own, which Dask's daemons may not.
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=n_processes,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            preload=[__name__],
        ) as cluster,
    ):
        yield cluster


@contextmanager
def _client(distributed: Any, place: Any) -> Iterator[Any]:
    try:
        client = distributed.Client(place, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{one_line(place)}: no Dask scheduler ({type(error).__name__}); start one by 'dask scheduler'"
        ) from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # a lost scheduler is told by its cells
    try:
        yield client
    finally:
        client.close(timeout=_WATCH_SECONDS)


def _refuse_others(client: Any, calls: Sequence[Call]) -> None:
    """Refuse workers with other code or files, before any work.

    Raises
    ------
    UsageError
    """
    one_of_each = list({frozenset(call.cell.files.items()): call for call in calls}.values())
    try:
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        seen: dict[str, str] = client.run(_differences, one_of_each, difference)
    except Exception as error:  # of many kinds: what cannot be imported there, no worker, a lost connection
        raise UsageError(
            f"Dask's workers cannot compute this study ({type(error).__name__}): start 'dask worker' with this "
            "checkout on its PYTHONPATH and the packages of this environment"
        ) from None
    for text in seen.values():
        if text:
            raise UsageError(text)


def _differences(calls: Sequence[Call], differs: Callable[[Call], str]) -> str:
    return next((text for text in map(differs, calls) if text), "")
