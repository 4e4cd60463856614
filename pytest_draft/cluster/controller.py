"""The gate's side of a cluster: returns a case's examination, whatever becomes of scheduler and workers.

Dask decides who examines what. What it would do in silence is reported: a worker that is lost, a second try. What comes
back is text, and is checked before it is believed to be an examination.
"""

from __future__ import annotations

import json
import logging
import math
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_draft.bounded import MODEL_BYTES, TABLE_BYTES, opened, sha256
from pytest_draft.cluster import worker
from pytest_draft.cluster.held import Piece
from pytest_draft.cluster.order import File, Order, difference, environment, require_ordered
from pytest_draft.errors import UsageError, one_line
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.facts.storage import from_text
from pytest_draft.isolation import COMPILE_SECONDS, START_SECONDS, grace_of
from pytest_draft.progress import Progress, ProgressListener

CONNECT_SECONDS = 15.0
"""A scheduler that has not answered by then cannot be reached."""

SILENT_SECONDS = 30.0
"""A scheduler that has not answered for so long is gone."""

NO_WORKER_SECONDS = 120.0
"""Where there has been no worker for so long, nothing is waited for."""

_TRIES = 2
_LOOK_SECONDS = 0.2
_ASK_SECONDS = 5.0  # between two questions for the workers
_FETCH_SECONDS = 60.0
_PIECE = 8 << 20
_ANSWER_CHARACTERS = 256 << 20

_Key = tuple[Case, tuple[File, ...]]


@dataclass(eq=False)
class _Task:
    """What is known of one order."""

    case: Case
    files: tuple[File, ...]
    number: int
    future: Any = None
    submissions: int = 0
    starts: list[str] = field(default_factory=list)  # the workers that have begun, one entry each time
    began: float = 0.0
    result: Examination | None = None
    decided: threading.Event = field(default_factory=threading.Event)
    then: Callable[[Examination], object] | None = None


class Cluster:
    """A scheduler of Dask and its workers, seen from a gate.

    Parameters
    ----------
    where : str
        ``tcp://host:port`` or ``tls://host:port``, or ``local:N`` to start N worker processes on this machine.
    say : callable
        Gets a line whenever something has happened to the cluster; called in another thread.

    Attributes
    ----------
    was_left : bool
        Whether somebody has waited for an answer that nobody gives, as scheduler or workers are gone.

    Raises
    ------
    UsageError
        Where it cannot be used: not installed, not reached, or with other versions than here.
    """

    def __init__(self, where: str, say: Callable[[str], object] = lambda line: None) -> None:
        self.where = where
        self._say = say
        self._local: Any = None
        self._n_local = int(where.removeprefix("local:")) if where.startswith("local:") else None
        self._environment = environment()
        self._tasks: dict[_Key, _Task] = {}
        self._numbered: dict[int, _Task] = {}
        self._files: dict[tuple[object, ...], File] = {}
        self._paths: dict[str, str] = {}
        self._lock = threading.Lock()
        self._lost: str | None = None
        self.was_left = False
        self._closed = False
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._topic = f"pytest-draft-{uuid.uuid4().hex}"
        self._asked = self._seen = time.monotonic()
        self._client = self._connected()
        try:
            self._require_same_environment()
            self._client.subscribe_topic(self._topic, lambda event: self._inbox.put(("event", event[1])))
        except BaseException:
            self.close()
            raise
        self._senders = ThreadPoolExecutor(4, "pytest-draft-sender")
        self._thread = threading.Thread(target=self._serve, daemon=True, name="pytest-draft-cluster")
        self._thread.start()

    def _connected(self) -> Any:
        """Return a client of the scheduler, which is started first where it is to be local."""
        try:
            import dask
            import distributed
        except ImportError:
            raise UsageError(_MISSING) from None
        client: Any = distributed.Client  # nothing of it has types
        local_cluster: Any = distributed.LocalCluster
        security: Any = distributed.Security
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is reported in our own words
        try:
            if self._n_local is None:
                return client(self.where, timeout=CONNECT_SECONDS, set_as_default=False)
            with dask.config.set({f"distributed.{one}.http.routes": [] for one in ("scheduler", "worker")}):
                self._local = local_cluster(  # nobody else on this machine may give it work, or look
                    n_workers=self._n_local,
                    threads_per_worker=1,
                    memory_limit=0,
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    host="127.0.0.1",
                    protocol="tls://",
                    security=security.temporary(),
                    silence_logs=logging.CRITICAL,
                )
            return client(self._local, timeout=CONNECT_SECONDS, set_as_default=False)
        except ImportError:  # of cryptography
            raise UsageError(_MISSING) from None
        except Exception as error:  # Dask raises what its transport does
            self._end_local()
            what = "be started" if self._n_local is not None else f"be reached within {CONNECT_SECONDS:g} s"
            advice = "start it, or correct the address" if self._n_local is None else "try fewer workers"
            raise UsageError(
                f"--draft-scheduler: {one_line(self.where)} cannot {what} ({type(error).__name__}): {advice}"
            ) from None

    def _require_same_environment(self) -> None:
        """Refuse workers whose versions are not those of here, before any work, and a scheduler of another Dask."""
        scheduler = self._client.get_versions()["scheduler"]["packages"].get("distributed")
        if scheduler != self._environment["distributed"]:
            raise UsageError(
                f"--draft-scheduler: the scheduler {one_line(self.where)} has distributed {one_line(scheduler, 40)}, "
                f"and {self._environment['distributed']} is here: install the same"
            )
        found = self._client.run(worker.prepare, self._n_local, on_error="return")
        for address, there in sorted(found.items()):
            differs = self._differs(there)
            if differs is not None:
                raise UsageError(f"--draft-scheduler: worker {one_line(address)}: {differs}: install the same on both")

    def _differs(self, there: object) -> str | None:
        """Return what is wrong with what a worker says of its environment; None for nothing."""
        if isinstance(there, ImportError):
            return f"pytest-draft cannot be imported there ({type(there).__name__})"
        if not isinstance(there, dict):
            return f"it cannot say which versions it has ({type(there).__name__})"
        return difference(self._environment, there)

    def submit(self, case: Case, priority: float = 0.0, then: Callable[[Examination], object] | None = None) -> bool:
        """Let a case be examined as soon as a worker is free; nothing more where that was done already.

        Parameters
        ----------
        priority : float
            Higher is sooner.
        then : callable, optional
            Gets the examination, in another thread, when it is there.

        Returns
        -------
        bool
            Whether a worker examines it: none does where a file cannot be read here.
        """
        return self._task(case, priority, then) is not None

    def run(self, case: Case, listener: ProgressListener | None = None) -> Examination | None:
        """Return what a worker has found out about a case, when it is there; None where none can examine it.

        Parameters
        ----------
        listener : callable, optional
            Gets a `Progress` now and then, in this thread; it may raise to end the wait.
        """
        task = self._task(case, 0.0, None)
        if task is None:
            return None
        since = time.monotonic()
        while not task.decided.wait(_LOOK_SECONDS):
            if listener is not None:
                stage, start = ("examined elsewhere", task.began) if task.began else ("queue", since)
                most = case.seconds if task.began else math.inf
                listener(Progress(stage, None, None, time.monotonic() - start, most))
        assert task.result is not None
        self.was_left = self.was_left or task.result.reasons == (self._lost,)
        return task.result

    def close(self) -> None:
        """Cancel what is queued or under way, and end what was started for it."""
        if self._closed:
            return
        self._closed = True
        client, waiting = self._client, [task for task in self._numbered.values() if not task.decided.is_set()]
        with suppress(Exception):  # it is gone
            if self._lost is None:
                client.cancel([task.future for task in waiting if task.future is not None])
                client.sync(client._run, worker.release, on_error="ignore", callback_timeout=_ASK_SECONDS)
        for task in waiting:
            self._decide(task, _inconclusive(task.case, "the run ended before it was examined"))
        with suppress(Exception):
            client.close(timeout=_ASK_SECONDS)
        self._end_local()
        if hasattr(self, "_senders"):
            self._senders.shutdown(wait=False, cancel_futures=True)

    def _end_local(self) -> None:
        if self._local is not None:
            with suppress(Exception):
                self._local.close(timeout=_ASK_SECONDS)

    def _task(self, case: Case, priority: float, then: Callable[[Examination], object] | None) -> _Task | None:
        try:
            files = tuple(self._file(name, path) for name, path in case.files.items())
        except (OSError, ValueError):
            return None
        with self._lock:
            task = self._tasks.get((case, files))
            if task is not None:
                return task
            task = _Task(case, files, len(self._numbered), then=then)
            self._tasks[case, files] = self._numbered[task.number] = task
        self._submit(task, priority)
        return task

    def _file(self, name: str, path: str) -> File:
        """Return a file with its hash, which is computed once while the file does not change."""
        status = Path(path).stat()
        key = (path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if key not in self._files:
            most = MODEL_BYTES if name == "artifact" else TABLE_BYTES
            self._files[key] = File(path, sha256(Path(path), most), status.st_size)
        file = self._files[key]
        self._paths[file.sha256] = path
        return file

    def _submit(self, task: _Task, priority: float = 0.0) -> None:
        """Give Dask a task, the first time or again."""
        if self._lost is not None or self._closed:
            self._decide(task, _inconclusive(task.case, self._lost or "the run has ended"))
            return
        task.submissions += 1
        task.began = 0.0
        order = Order(task.case, task.files, self._environment, self._topic, task.number, self._n_local)
        try:
            task.future = self._client.submit(
                worker.examine,
                order,
                key=f"{self._topic}-{task.number}-{task.submissions}",
                pure=False,
                retries=0,
                priority=priority,
            )
            task.future.add_done_callback(lambda future: self._inbox.put(("done", (task, future))))
        except Exception as error:  # the connection has ended, which the thread notes too
            self._lose(f"the scheduler takes no work any more ({type(error).__name__})")
            self._decide(task, _inconclusive(task.case, self._lost or ""))

    def _serve(self) -> None:
        """Handle events of workers and their answers, and whether there are scheduler and workers at all."""
        try:
            while not self._closed and self._lost is None:
                with suppress(queue.Empty):
                    kind, message = self._inbox.get(timeout=_LOOK_SECONDS)
                    (self._note_event if kind == "event" else self._answered)(message)
                self._look_around()
        except Exception as error:  # a bug, by which nobody may wait for ever
            self._lose(f"internal error: {type(error).__name__}")

    def _look_around(self) -> None:
        """Give up what nobody will answer."""
        now, waiting = time.monotonic(), [task for task in list(self._numbered.values()) if not task.decided.is_set()]
        if self._client.status != "running":
            if not self._closed:
                self._lose("the connection to the scheduler was lost")
            return
        for task in waiting:
            if task.began and now - task.began > _longest(task.case):
                self._cancel(task, f"worker {task.starts[-1]} did not end it in {_longest(task.case):.0f} s")
        if not waiting:
            self._seen = now
        if not waiting or now - self._asked < _ASK_SECONDS:
            return
        self._asked = now
        workers = self._ask_for_workers()
        if workers is None:
            self._lose(f"the scheduler has not answered for {SILENT_SECONDS:g} s")
        elif workers:
            self._seen = now
        elif now - self._seen > NO_WORKER_SECONDS:
            self._lose(f"there was no worker for {NO_WORKER_SECONDS:g} s")

    def _ask_for_workers(self) -> int | None:
        """Return how many workers there are; None where nobody answers."""
        try:
            return len(self._client.sync(self._client.scheduler.ncores, callback_timeout=SILENT_SECONDS))
        except Exception:
            return None

    def _note_event(self, event: Any) -> None:
        """Note that a worker has begun, or wants a file."""
        if not isinstance(event, dict) or not isinstance(event.get("worker"), str):
            return  # whoever sent it can send anything
        address, wanted = one_line(event["worker"]), event.get("wants")
        if isinstance(wanted, str) and wanted in self._paths:
            self._senders.submit(self._send, wanted, event["worker"])
        number = event.get("began")
        task = self._numbered.get(number) if isinstance(number, int) else None
        if task is None:
            return
        task.starts.append(address)
        task.began = time.monotonic()
        if len(task.starts) == 1 or task.decided.is_set():
            return
        self._say(f"worker {task.starts[-2]} was lost while it examined {one_line(task.case.artifact)}")
        if len(task.starts) > _TRIES:
            self._cancel(task, _given_up(task))

    def _answered(self, message: tuple[_Task, Any]) -> None:
        """Take what has become of a task."""
        task, future = message
        if task.decided.is_set() or future is not task.future:
            return
        status = future.status
        try:
            text = future.result(timeout=_FETCH_SECONDS) if status == "finished" else None
            error = future.exception(timeout=_FETCH_SECONDS) if status == "error" else None
        except Exception as caught:  # the worker was lost with the answer, or the scheduler
            text, error = None, caught
        if status == "finished" and text is not None:
            self._read(task, text)
        elif self._client.status != "running":
            self._lose("the connection to the scheduler was lost")
        elif status == "cancelled" or type(error).__name__ not in _LOST:
            kind = "cancelled by somebody else" if status == "cancelled" else f"ended by {type(error).__name__}"
            self._decide(task, _inconclusive(task.case, f"its examination on the cluster was {kind}"))
        elif len(task.starts) >= _TRIES:
            self._decide(task, _inconclusive(task.case, _given_up(task)))
        else:
            if not task.starts:  # it was lost before it could say so
                task.starts.append("of the cluster")
            self._submit(task)

    def _read(self, task: _Task, text: object) -> None:
        """Take an answer for what it is: an examination, a refusal, or nothing that can be believed."""
        address = task.starts[-1] if task.starts else "of the cluster"
        try:
            if not isinstance(text, str) or len(text) > _ANSWER_CHARACTERS:
                raise ValueError("no text")
            ((kind, value),) = json.loads(text).items()
            if not isinstance(value, str):
                raise ValueError("no text")
            if kind == "examination":
                found = require_ordered(from_text(task.case, value), task.files)
                self._decide(task, replace(found, retried=_retried(task)))
            elif kind == "differs":
                why = f"worker {address} has joined with other versions: {one_line(value)}: install the same on both"
                self._decide(task, _inconclusive(task.case, why))
            elif kind == "reason":
                self._decide(task, _inconclusive(task.case, f"worker {address}: {one_line(value)}"))
            else:
                raise ValueError("no answer")
        except Exception:  # whoever sent it can send anything
            why = f"worker {address} sent an answer that is none about this file"
            self._decide(task, _inconclusive(task.case, why))

    def _send(self, sha256: str, address: str) -> None:
        """Send a file to a worker, piece by piece; each says which it needs next."""
        offset = 0
        with suppress(Exception), os.fdopen(opened(self._paths[sha256]), "rb") as file:
            while offset >= 0 and not self._closed:
                file.seek(offset)
                piece = Piece(file.read(_PIECE))
                found = self._client.run(worker.receive, sha256, offset, piece, workers=[address], on_error="ignore")
                following = found.get(address)
                if not isinstance(following, int) or (following <= offset and following >= 0):
                    return
                offset = following

    def _cancel(self, task: _Task, reason: str) -> None:
        future = task.future
        self._decide(task, _inconclusive(task.case, reason))
        with suppress(Exception):
            self._client.cancel([future])

    def _lose(self, reason: str) -> None:
        """Decide all that is left: nobody is waited for any more."""
        if self._lost is None:
            self._lost = f"{reason}, so that nobody examined it: run it again"
            self._say(f"{one_line(self.where)}: {reason}; what is left is inconclusive")
        for task in list(self._numbered.values()):
            self._decide(task, _inconclusive(task.case, self._lost))

    def _decide(self, task: _Task, examination: Examination) -> None:
        if task.decided.is_set():
            return
        task.result, future, task.future = examination, task.future, None
        task.decided.set()
        with suppress(Exception):
            if future is not None:
                future.release()
        if task.then is not None and not self._closed:
            task.then(examination)


_MISSING = (
    "--draft-scheduler: Dask is not installed with all that this needs: pip install 'pytest-draft[cluster]', or leave "
    "out --draft-scheduler"
)

_LOST = ("KilledWorker", "TimeoutError", "FutureCancelledError", "CancelledError")


def _longest(case: Case) -> float:
    """Return the seconds after which a worker has ended an examination, unless it was stopped."""
    return START_SECONDS + COMPILE_SECONDS + case.seconds + grace_of(case.seconds) + _FETCH_SECONDS


def _inconclusive(case: Case, reason: str) -> Examination:
    return replace(unexamined(case), solver_status="no answer", reasons=(reason,))


def _given_up(task: _Task) -> str:
    lost = ", ".join(task.starts[:_TRIES]) or "of the cluster"
    return f"{_TRIES} workers were lost while they examined it ({lost}): see what ended them, such as too little memory"


def _retried(task: _Task) -> str | None:
    if len(task.starts) < _TRIES:
        return None
    first, second = task.starts[0], task.starts[-1]
    return f"worker {first} was lost while it examined this; it was examined again by worker {second}"
