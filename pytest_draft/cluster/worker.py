"""The worker's side of a cluster: takes an `Order` and returns its answer as JSON.

A worker examines as the gate does on one machine: each case in a child with a time box, a memory cap and its share of
the processors. A child that has answered waits for the next case, and ends after a while without one.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_draft.cluster.held import HeldFiles, RefusedError
from pytest_draft.cluster.order import Order, difference, environment
from pytest_draft.facts.storage import as_text
from pytest_draft.isolation import MEMORY_SHARE, Children, cap_of

if TYPE_CHECKING:
    from distributed import Worker

IDLE_SECONDS = 120.0
"""After so long without a case, children are ended and files are let go."""

HELD_SHARE = 0.5
"""Share of the memory of a worker's children that may be taken by files that were sent."""

_LOOK_SECONDS = 5.0
_AT_WORK = ("running", "paused", "closing_gracefully")  # of `distributed.Status`


class _UnwantedError(Exception):
    """Nobody waits for the answer any more."""


class _Bench:
    """The children of this worker and the files that they read. Each place has one child, for one case at a time.

    `n_local` is that of the `Order`, everywhere here.
    """

    def __init__(self) -> None:
        self.held = HeldFiles()
        self._children: dict[int, Children] = {}
        self._taken: set[int] = set()
        self._lock = threading.Lock()
        self._latest = time.monotonic()
        self._watch: threading.Thread | None = None

    @contextmanager
    def child(self, worker: Worker, n_local: int | None) -> Iterator[Children]:
        """Yield the processes of a free place, for one examination; nobody else has them until the block ends."""
        with self._lock:
            place = next(one for one in range(len(self._taken) + 1) if one not in self._taken)
            self._taken.add(place)
            children = self._at(place, worker, n_local)
        try:
            yield children
        finally:
            with self._lock:
                self._taken.discard(place)
                self._latest = time.monotonic()

    def warm(self, worker: Worker, n_local: int | None) -> None:
        """Start a child for each thread, so that they have imported the engine when cases come."""
        with self._lock:
            self._latest = time.monotonic()
            for place in range(worker.state.nthreads):
                if place not in self._taken:
                    self._at(place, worker, n_local).start()

    def release(self) -> None:
        """End the children that wait, and let go of files that nobody reads."""
        with self._lock:
            for place in set(self._children) - self._taken:
                self._children.pop(place).close()
        self.held.close()

    def _at(self, place: int, worker: Worker, n_local: int | None) -> Children:
        if self._watch is None:
            self._watch = threading.Thread(target=self._release_in_time, daemon=True)
            self._watch.start()
        if place not in self._children:
            self._children[place] = Children(_cpus(place, worker, n_local))
        return self._children[place]

    def _release_in_time(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            if not self._taken and time.monotonic() - self._latest > IDLE_SECONDS:
                self.release()


_BENCH = _Bench()


def prepare(n_local: int | None, dask_worker: Worker) -> dict[str, str]:
    """Start children, and return this worker's environment. Dask fills in `dask_worker`."""
    _BENCH.warm(dask_worker, n_local)
    return environment()


def receive(sha256: str, offset: int, piece: bytes) -> int | str:
    """Take a piece of a file; see `HeldFiles.receive`. If that fails, return the type of the error."""
    try:
        return _BENCH.held.receive(sha256, offset, piece)
    except (OSError, MemoryError) as error:  # no room; a traceback would be logged
        return type(error).__name__


def release() -> None:
    """End the children that wait, and let go of files that nobody reads."""
    _BENCH.release()


def examine(order: Order) -> str:
    """Examine a case, and return one JSON object.

    It has one key: ``examination``, as `as_text` writes it; ``differs``, how this worker's environment is not that of
    the order; or ``reason``, why there is no answer.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    if (differs := difference(order.environment, environment())) is not None:
        return json.dumps({"differs": differs})
    key = worker.get_current_task()

    def require_wanted(*_: object) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state != "executing" or worker.status.name not in _AT_WORK:
            raise _UnwantedError

    def ask(sha256: str) -> None:
        worker.log_event(order.topic, {"wants": sha256, "worker": worker.address})

    worker.log_event(order.topic, {"began": order.number, "worker": worker.address})
    cap = _cap(worker, order.n_local)
    case = order.case if order.case.memory is not None else replace(order.case, memory=max(1, cap // 1_000_000))
    try:
        with (
            _BENCH.held.read_at(order.files, order.topic, int(HELD_SHARE * cap), ask, require_wanted) as elsewhere,
            _BENCH.child(worker, order.n_local) as children,
        ):
            found, _ = children.run(case, None, require_wanted, elsewhere)
        return json.dumps({"examination": as_text(found)})
    except RefusedError as error:
        return json.dumps({"reason": str(error)})
    except _UnwantedError:
        return json.dumps({"reason": "it was cancelled"})
    except Exception as error:  # a bug: its text could quote rows, and would be logged
        return json.dumps({"reason": f"internal error: {type(error).__name__}; please report it"})


def _cap(worker: Worker, n_local: int | None) -> int:
    """Return the bytes that each child may hold where the order names none: what all of them have, divided."""
    usual = cap_of(None)
    if n_local is not None:
        return usual // n_local
    limit: int | None = worker.memory_manager.memory_limit
    return (min(usual, int(MEMORY_SHARE * limit)) if limit else usual) // max(1, worker.state.nthreads)


def _cpus(place: int, worker: Worker, n_local: int | None) -> tuple[int, ...]:
    """Return the processors of one child: its part of this worker's; empty for all, where there are too few."""
    if sys.platform != "linux":
        return ()
    at, parts = (place, worker.state.nthreads) if n_local is None else (int(worker.name), n_local)
    cpus = sorted(os.sched_getaffinity(0))
    if not (1 < parts <= len(cpus) and at < parts):
        return ()
    return tuple(cpus[at * len(cpus) // parts : (at + 1) * len(cpus) // parts])
