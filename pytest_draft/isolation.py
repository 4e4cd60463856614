"""An examination in a process of its own: returns what `examine` finds out about a `Case` there.

Whatever becomes of that process (a crash, too much memory, too much time) is a reason in the examination. The
process is killed when this one is interrupted, and ends by itself when this one is gone. No engine is imported here
until there is a case: a child that was started early imports its own meanwhile.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import psutil

from pytest_draft.bounded import ELSEWHERE
from pytest_draft.errors import nearest_of, one_line
from pytest_draft.progress import Progress, ProgressListener

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from pytest_draft.facts.case import Case, Returned
    from pytest_draft.facts.examination import Examination
    from pytest_draft.facts.reconstruction import Reconstruction
    from pytest_draft.facts.status import SolverStatus
    from pytest_draft.policy.enough import Enough

__tracebackhide__ = True  # frames here hold rows

MEMORY_SHARE = 0.8
"""Share of this machine's memory, or of its container's, that a child may hold where no cap is given."""

GRACE_SECONDS = 10.0
GRACE_SHARE = 0.2
"""A child is killed so long after its time box: the larger of so many seconds and such a share of the box."""

START_SECONDS = 120.0
"""A child that has not begun by then is killed."""

LOAD_SECONDS = 600.0
"""A function of the owner's project that has not returned by then is killed."""

COMPILE_SECONDS = 600.0
"""A child that compiles code, so that its time box stands still, is killed when it reports nothing for so long."""

_LOOK_SECONDS = 0.05  # between two looks at a child's memory
_PROGRESS_SECONDS = 0.2  # between two messages about its progress
_AFTERMATH = 64 << 20  # bytes: a child that an examination has left with more than that is not used again,
_AFTERMATH_SHARE = 0.05  # nor with more than that of its cap, whichever is more: compiled code stays in memory
_MEGABYTE = 1_000_000
_MARK = b"\0pytest-draft\0"  # what comes before it on standard output is not ours
_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from pytest_draft.isolation import {0}; {0}()"
_PROCESS = "the process that examines the file"
_NO_ROOM = f"there is too little memory to hand the data to {_PROCESS}: free some, or give the data as a file"
_NOTHING = object()


@dataclass(frozen=True)
class _Known:
    """What a child knows of a case before it attacks: the examination as it would be if it ended there."""

    examination: Examination


@dataclass(frozen=True, eq=False, repr=False)
class _Answer:
    """The last message of a child about one case."""

    examination: Examination
    reconstruction: Reconstruction | None


@dataclass(frozen=True)
class _OnlyRead:
    """In place of training data in memory: a case is not to be examined, only to be looked at before any work."""


@dataclass(frozen=True)
class _Wrong:
    """What is wrong with a case before any work; None for nothing."""

    line: str | None


class _Request(bytes):
    """What a child is sent, which can hold rows: a traceback with arguments shows none."""

    def __repr__(self) -> str:
        return f"<{len(self):,} bytes: not shown>"


class _Packed(_Request):
    """Pickled training data; pickled once more, they are the data themselves."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (bytes(self),)


class _EndedError(Exception):
    """A child has ended, or had to be ended, without an answer."""

    def __init__(self, status: SolverStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Children:
    """The processes that examine for this one; one that has answered waits for the next case.

    Parameters
    ----------
    cpus : tuple of int
        The processors that they may use; empty for those of this process. Heeded on Linux only.
    """

    def __init__(self, cpus: tuple[int, ...] = ()) -> None:
        self._cpus = cpus
        self._idle: _Child | None = None

    def start(self) -> None:
        """Start a child, so that it has imported the engine when the first case comes."""
        if self._idle is None:
            with suppress(_EndedError):  # the first case will show it
                self._idle = _Child()

    def close(self) -> None:
        """End the child that waits."""
        if self._idle is not None:
            self._idle.end()
            self._idle = None

    def wrong(self, case: Case) -> str | None:
        """Return one line on what is wrong with a case before any work; None for nothing, or where nobody can know.

        Its training data are in a file.
        """
        with suppress(_EndedError):
            request = _request(case, _OnlyRead(), self._cpus, {})
            with self._taken() as child:
                answer = child.ask(request, case, None)
                self._idle = child
                return answer.line if isinstance(answer, _Wrong) else None
        return None

    def run(
        self,
        case: Case,
        data: object = None,
        listener: ProgressListener | None = None,
        elsewhere: Mapping[str, str] | None = None,
        enough: Enough | None = None,
    ) -> tuple[Examination, Reconstruction | None]:
        """Examine a case as `pytest_draft.examine.flow.examine` does, in a child.

        Parameters
        ----------
        case : Case
            Its `memory` caps the child's resident memory.
        data : object, optional
            Training data in memory; they must be picklable.
        listener : callable, optional
            Gets a `Progress` a few times a second, in this thread. What it raises ends the child, and is passed on.
        elsewhere : mapping of str to str, optional
            By the path of a file, as the case names it, where it is read in its place.
        enough : Enough, optional
            Ends the examination as soon as its policy's verdict is certain.

        Returns
        -------
        examination : Examination
            Where the child gives no answer: what it had said before, no findings, and the reason.
        reconstruction : Reconstruction or None
        """
        from pytest_draft.facts.examination import unexamined

        since = time.monotonic()
        child = None
        try:
            request = _request(case, data, self._cpus, elsewhere or {}, enough)
            with self._taken() as child:
                answer = child.ask(request, case, listener)
                if not isinstance(answer, _Answer):
                    raise _EndedError("no answer", f"{_PROCESS} answered another question")
                if child.is_as_new(answer, case):
                    self._idle = child
                return answer.examination, answer.reconstruction
        except (_EndedError, MemoryError) as error:
            end = error if isinstance(error, _EndedError) else _EndedError("out of memory", _NO_ROOM)
            known = (child.known if child else None) or unexamined(case)
            seconds = time.monotonic() - since
            reasons = (*known.reasons, end.reason)
            return replace(known, solver_status=end.status, reasons=reasons, seconds=seconds), None

    def load(
        self, function: str, folder: Path, memory: int | None, listener: ProgressListener | None = None
    ) -> Returned | str:
        """Return the training data that a function of the owner's project returns, or why there are none, in one line.

        It runs in a process of its own, which is killed afterwards with all that it has started. The folder is the
        project's: there it runs, and its module is looked for there first.
        """
        from pytest_draft.facts.case import Case, Returned

        limits = Case(function, seconds=LOAD_SECONDS / (1 + GRACE_SHARE), memory=memory)
        try:
            child = _Child("load")
            try:
                request = pickle.dumps((function, str(folder), [str(folder), *sys.path], limits), 5)
                answer = child.ask(request, limits, listener)
            finally:
                child.end()
        except _EndedError as error:
            reason = error.reason.replace(_PROCESS, "its process")
            if error.status == "overran":
                reason = f"it had not returned after {LOAD_SECONDS:g} s"
        else:
            if isinstance(answer, bytes):
                return Returned(_Packed(answer), function)
            reason = (isinstance(answer, _Wrong) and answer.line) or "no answer"
        return f"--draft-data: {function}: {reason}"

    @contextmanager
    def _taken(self) -> Iterator[_Child]:
        """Give the child that waits, or a new one; it ends with the block unless it waits again."""
        child, self._idle = self._idle, None
        if child is None or child.process.poll() is not None:
            child = _Child()
        try:
            yield child
        finally:
            if child is not self._idle:
                child.end()


children = Children()
"""The children of this process."""


def run(
    case: Case, data: object = None, listener: ProgressListener | None = None, enough: Enough | None = None
) -> tuple[Examination, Reconstruction | None]:
    """Examine a case in a child that is started for it and ends with it; see `Children.run`."""
    alone = Children()
    try:
        return alone.run(case, data, listener, enough=enough)
    finally:
        alone.close()


class _Child:
    """One process, seen from its parent, which runs a function of this module."""

    def __init__(self, runs: str = "serve") -> None:
        apart: dict[str, Any] = {"start_new_session": True}  # Ctrl-C in a terminal reaches the parent only
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _BOOT.format(runs), *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a traceback could show rows
                env={**os.environ, "PYTHONHASHSEED": "0"},
                **apart,
            )
        except (OSError, MemoryError) as error:
            reason = f"no process could be started to examine the file ({type(error).__name__})"
            raise _EndedError("no answer", reason) from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._requests, self._pipe = self.process.stdin, self.process.stdout
        self.known: Examination | None = None
        self._resting = 0
        self._messages: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._listener: threading.Thread | None = None
        try:
            self._listener = _started(self._listen)
            self._watched = psutil.Process(self.process.pid)
        except BaseException:
            self.end()
            raise

    def ask(self, request: bytes, case: Case, listener: ProgressListener | None) -> _Answer | _Wrong | bytes:
        """Send a case, watch the process, and return its answer; `_EndedError` where it ends or crosses a limit."""
        _started(self._send, request)
        self.known = None
        cap, grace, deadline = cap_of(case.memory), grace_of(case.seconds), time.monotonic() + START_SECONDS
        overdue = _EndedError("no answer", f"{_PROCESS} had not begun after {START_SECONDS:g} s")
        latest, received, shown = None, 0.0, 0.0
        while True:
            try:
                message = self._messages.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                message = _NOTHING
            now, held = time.monotonic(), self._resident()
            if isinstance(message, (_Answer, _Wrong, bytes)):
                return message
            if isinstance(message, _Known):
                self.known = message.examination
            elif isinstance(message, Progress):
                if latest is None:  # it has begun
                    self._resting = self._resting or held
                    why = f"{_PROCESS} was still running {grace:g} s after its {case.seconds:g} s, and was killed"
                    overdue = _EndedError("overran", why)
                latest, received = message, now
                left = COMPILE_SECONDS if message.is_stopped else case.seconds - message.elapsed + grace
                deadline = now + left
            elif message is None:
                raise self._obituary(case.memory)
            if held > cap:
                raise _EndedError(
                    "out of memory",
                    f"{_PROCESS} held {held / _MEGABYTE:,.0f} MB of memory, more than {_cap_in_words(case.memory)}",
                )
            if now > deadline:
                raise overdue
            if listener is not None and latest is not None and now - shown >= _PROGRESS_SECONDS:
                shown = now
                listener(replace(latest, elapsed=latest.elapsed + now - received))

    def is_as_new(self, answer: _Answer, case: Case) -> bool:
        """Return whether nothing of the last case is left that the next one could feel."""
        sound = answer.examination.solver_status not in ("error", "out of memory") and case.hardened_from is None
        return sound and 0 < self._resident() <= self._resting + max(_AFTERMATH, _AFTERMATH_SHARE * cap_of(case.memory))

    def end(self) -> None:
        """Kill the process and all that it has started, and wait until it is gone."""
        if sys.platform == "win32":
            with suppress(psutil.Error):  # it is gone
                for started in psutil.Process(self.process.pid).children(recursive=True):
                    started.kill()
            self.process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):  # what it has started can be there when it is gone
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self._listener is not None:
            self._listener.join(1.0)
        for pipe in (self._requests, self._pipe):
            with suppress(OSError):  # of what could not be sent any more
                pipe.close()

    def _resident(self) -> int:
        """Return the bytes of memory that the process holds; 0 where it is gone."""
        try:
            return int(self._watched.memory_info().rss)
        except psutil.Error:
            return 0

    def _send(self, request: bytes) -> None:
        with suppress(OSError):  # the process has ended, which the listener notes too
            self._requests.write(request)
            self._requests.flush()

    def _listen(self) -> None:
        """Queue the messages of the process, and None after the last."""
        with suppress(Exception):  # the pipe has ended, perhaps within a message
            head = b""
            while not head.endswith(_MARK):
                byte = self._pipe.read(1)
                if not byte:
                    raise EOFError
                head += byte
            while True:
                self._messages.put(pickle.load(self._pipe))
        self._messages.put(None)

    def _obituary(self, memory: int | None) -> _EndedError:
        """Say what has ended the process."""
        try:
            status = self.process.wait(1.0)
        except subprocess.TimeoutExpired:  # it lives, and what it sent could not be read
            return _EndedError("no answer", f"{_PROCESS} sent an answer that cannot be read")
        if status >= 0:
            return _EndedError("no answer", f"{_PROCESS} ended without an answer (exit status {status})")
        name = {number.value: number.name for number in signal.Signals}.get(-status, f"signal {-status}")
        cause = "as by a system that runs out of memory" if name == "SIGKILL" else "a crash"
        return _EndedError(
            "killed", f"{_PROCESS} was killed by {name} ({cause}); its memory cap was {_cap_in_words(memory)}"
        )


def grace_of(seconds: float) -> float:
    """Return how many seconds after a time box a child is killed."""
    return max(GRACE_SECONDS, GRACE_SHARE * seconds)


def _started(work: Callable[..., object], *arguments: object) -> threading.Thread:
    """Start a thread, or raise `_EndedError` where the system gives no more."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    try:
        thread.start()
    except (RuntimeError, MemoryError):
        reason = "no thread could be started to examine the file: raise the limit of processes and threads (ulimit -u)"
        raise _EndedError("no answer", reason) from None
    return thread


def cap_of(memory: int | None) -> int:
    """Return how many bytes of resident memory a child may hold: those given in MB, or a share of what there is."""
    if memory is not None:
        return memory * _MEGABYTE
    total = int(psutil.virtual_memory().total)
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # there is none
            total = min(total, int(Path(limit).read_text(encoding="ascii")))
    return int(MEMORY_SHARE * total)


def _cap_in_words(memory: int | None) -> str:
    if memory is not None:
        return f"{memory:,} MB (--draft-memory)"
    return f"{cap_of(None) / _MEGABYTE:,.0f} MB, {MEMORY_SHARE:.0%} of this machine's memory (set with --draft-memory)"


def _request(
    case: Case, data: object, cpus: tuple[int, ...], elsewhere: Mapping[str, str], enough: Enough | None = None
) -> bytes:
    """Return what a child needs to examine a case; raise `_EndedError` where the data cannot be pickled."""
    try:
        given = pickle.dumps(data, 5)
    except MemoryError:
        raise
    except Exception as error:  # whatever it says could quote rows
        raise _unreadable(error) from None
    place = (list(sys.path), str(Path.cwd()), cpus, dict(elsewhere))
    return _Request(pickle.dumps((place, pickle.dumps((case, enough), 5), given), 5))


def _unreadable(error: Exception) -> _EndedError:
    return _EndedError(
        "refused",
        "training data given in memory cannot be handed to the process that examines them "
        f"({type(error).__name__}): give a pandas DataFrame, or a pair (X, y) of arrays",
    )


def serve() -> NoReturn:
    """Answer the cases that come through standard input until it ends. This is what a child runs.

    Standard input and output belong to the parent's messages; whatever else reads or writes them gets nothing.
    """
    inbox, messenger = _connected()
    gc.disable()  # what is imported stays: looking through it for garbage took a fifth of the start
    from pytest_draft.examine.flow import examine
    from pytest_draft.examine.inputs import unusable_labels
    from pytest_draft.facts.examination import unexamined

    gc.freeze()
    gc.enable()
    while True:
        (sys.path[:], folder, cpus, elsewhere), packed, given = inbox.get()
        os.chdir(folder)
        ELSEWHERE.clear()
        ELSEWHERE.update(elsewhere)
        if cpus and sys.platform == "linux":
            with suppress(OSError):  # they were taken away meanwhile
                os.sched_setaffinity(0, cpus)
        case, enough = pickle.loads(packed)
        messenger.send(Progress("start", None, None, 0.0, case.seconds))
        try:
            data = pickle.loads(given)
        except Exception as error:
            end = _unreadable(error)
            examination = replace(unexamined(case), solver_status=end.status, reasons=(end.reason,))
            messenger.send(_Answer(examination, None))
            continue
        _leave_room(cap_of(case.memory))
        if isinstance(data, _OnlyRead):
            messenger.send(_Wrong(unusable_labels(case)))
            continue
        answer = _Answer(*examine(case, data, messenger.send_soon, lambda known: messenger.send(_Known(known)), enough))
        messenger.send(answer)
        del data, given, answer
        gc.collect()


def load() -> NoReturn:
    """Send what a function of the owner's project returns, pickled, or why it does not. This is what a child runs."""
    inbox, messenger = _connected()
    function, folder, sys.path[:], limits = inbox.get()
    os.chdir(folder)
    sys.argv[1:] = []
    messenger.send(Progress("load", None, None, 0.0, limits.seconds))
    _leave_room(cap_of(limits.memory))
    name, _, attribute = function.partition(":")
    else_why = f"its module cannot be imported: it is looked for in {one_line(folder)} first"
    try:
        module = importlib.import_module(name)
        else_why = f"the module has no such function{nearest_of(attribute, vars(module))}"
        call = getattr(module, attribute)
        else_why = "it must be a function that is called without arguments"
        returned = call()
        else_why = "what it returned cannot be handed on: return a DataFrame, or a pair (X, y)"
        answer: bytes | _Wrong = pickle.dumps(returned, 5)
    except BaseException as error:  # whatever it says could quote rows
        answer = _Wrong(_raised(error, folder, else_why))
    messenger.send(answer)
    while True:  # whoever has the answer ends this process, and all that it has started
        time.sleep(LOAD_SECONDS)


def _raised(error: BaseException, folder: str, else_why: str) -> str:
    """Say in one line what has ended a function of the owner's project: where in its files, else why."""
    at = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        at.append((Path(error.filename or ""), error.lineno or 0))
    own = [(path, line) for path, line in at if path.is_relative_to(folder) and "site-packages" not in path.parts]
    if not own:
        return f"{else_why} ({one_line(type(error).__name__)})"
    path, line = own[-1]
    return f"{one_line(type(error).__name__)} at {one_line(path.relative_to(folder))}:{line}: correct it"


def _connected() -> tuple[queue.SimpleQueue[Any], _Messenger]:
    """Return where a child gets its parent's requests, and what sends it messages."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, pipe = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold rows
    pipe.write(_MARK)
    messenger = _Messenger(pipe)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, inbox), daemon=True).start()
    return inbox, messenger


def _receive(requests: BinaryIO, inbox: queue.SimpleQueue[Any]) -> NoReturn:
    """Queue what the parent sends; when it is gone, end this process, whatever it is doing."""
    try:
        while True:
            inbox.put(pickle.load(requests))
    finally:
        os._exit(0)


def _leave_room(cap: int) -> None:
    """Let allocations beyond a cap fail, where the system can do that, before the parent has to kill this process."""
    memory = psutil.Process().memory_info()
    if sys.platform == "linux" and memory.rss < cap:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = memory.data + cap - memory.rss
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if most < 0 else min(wanted, most), most))


class _Messenger:
    """Sends messages to the parent: most at once, progress a few times a second."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._latest: Progress | None = None
        threading.Thread(target=self._send_latest, daemon=True).start()

    def send(self, message: object) -> None:
        """Send a message now, in place of any progress that was not sent yet."""
        with self._lock:
            self._latest = None
            pickle.dump(message, self._pipe, 5)
            self._pipe.flush()

    def send_soon(self, progress: Progress) -> None:
        """Send progress soon, unless there is newer."""
        self._latest = progress

    def _send_latest(self) -> None:
        while True:
            time.sleep(_PROGRESS_SECONDS)
            with self._lock:
                latest, self._latest = self._latest, None
                if latest is not None:
                    pickle.dump(latest, self._pipe, 5)
                    self._pipe.flush()
