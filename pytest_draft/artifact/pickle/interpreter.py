"""A symbolic pickle interpreter: turns a stream of instructions into one inert record, and runs nothing.

It follows every instruction that `pickle` would, but a name stays a name: nothing is imported, and the
calls of a short exact list are replaced by our own decoding. Any other call, and an instance of any
class (NEWOBJ, NEWOBJ_EX, `copyreg._reconstructor`), is *described*: that makes a `Record`, which runs
nothing, here or later. A call that is not on the list is noted, so that nothing passes.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.container import Stream
from pytest_draft.artifact.pickle import arrays
from pytest_draft.artifact.pickle.calls import CALLS, UNREAD
from pytest_draft.artifact.records import CONTAINERS, Array, Dtype, Global, Items, Mapping, Record
from pytest_draft.errors import (
    ArtifactError,
    ArtifactNotAllowedError,
    ArtifactTooBigError,
    CorruptArtifactError,
    UnsupportedArtifactError,
)

_PROTOCOLS = range(2, 6)

_WRITTEN_OUT = frozenset(("FLOAT", "GET", "INT", "LONG", "PUT", "STRING", "UNICODE"))
"""Instructions of protocols 0 and 1, which no writer uses in others: numbers as texts can have more digits."""

_SHORTEST_FRAME, _LONG_WITHOUT_FRAME = 4, 2**16
"""Bytes from which on something has a frame, and from which on a text or bytes has none."""

_OF_CONTAINER, _OF_CALL = 2, 4
"""Steps besides its own that an instruction takes which makes a container, or calls or makes something."""


def interpret(stream: Stream, budget: Budget) -> object:
    """Interpret a whole stream: one pickle, which must end where the stream ends.

    It is an atom, a list, a tuple or one of the classes of `records`.
    """
    value = _Interpreter(stream, budget).run()
    if stream.remaining:
        raise CorruptArtifactError(f"{stream.remaining} bytes follow the end of the model ({stream.where()})")
    return value


class _Interpreter:
    """The state of one pickle: stack, marks and memo.

    Parameters
    ----------
    budget : Budget
        Shared with the pickles nested in this one.
    nested : bool
        Whether this is the pickle of a joblib array of objects. Those are plain pickles: no array's
        bytes can follow an instruction in them, and so they cannot nest further.
    """

    def __init__(self, stream: Stream, budget: Budget, *, nested: bool = False) -> None:
        self._stream = stream
        self._budget = budget
        self._nested = nested
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._first_put = 0
        self._frame_end: int | None = None
        self._start = stream.tell()
        self._position = self._start
        self._ended = False

    def run(self) -> object:
        """Interpret up to the instruction STOP; return what it leaves on the stack."""
        instructions = pickletools.genops(self._stream)
        while not self._ended:
            opcode, argument, position = self._next(instructions)
            self._position = position
            self._budget.spend_opcode()
            if opcode.name in _WRITTEN_OUT:
                self._drop([])
            handler = _HANDLERS.get(opcode.name)
            if handler is None:
                raise self._refused(f"the instruction {opcode.name}, which reaches outside the file")
            try:
                handler(self, argument)
            except (IndexError, KeyError):
                raise self._malformed() from None
        if len(self._stack) != 1 or self._marked:
            raise self._malformed()
        return self._stack[0]

    def _next(self, instructions: Any) -> tuple[Any, Any, int]:
        start = self._stream.tell()
        try:
            opcode, argument, position = next(instructions)
        except ArtifactError:
            raise
        except Exception:
            # pickletools raises ValueError, and more for some garbled arguments; its texts can quote
            # the file, so they are dropped.
            if not self._stream.remaining:
                raise CorruptArtifactError(
                    f"the file ends too early ({self._stream.where(start)}): copy or train it again"
                ) from None
            raise CorruptArtifactError(f"its pickle is damaged ({self._stream.where(start)})") from None
        return opcode, argument, position or 0

    # What goes wrong

    def _malformed(self) -> CorruptArtifactError:
        return CorruptArtifactError(f"its pickle is damaged ({self._stream.where(self._position)})")

    def _refused(self, what: str) -> ArtifactNotAllowedError:
        return ArtifactNotAllowedError(
            f"it asks for {what}{self._where()}: nothing was run; if it is yours, save the forest alone"
        )

    def _where(self) -> str:
        holder = self._outermost()
        inside = f", inside a {holder.cls.shown}" if holder else ""
        return f" ({self._stream.where(self._position)}{inside})"

    def _outermost(self) -> Record | None:
        for part in (*self._marked, self._stack):
            if part:
                return part[0] if isinstance(part[0], Record) else None
        return None

    # Stack and memo

    def _pop_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marked.pop()
        return items

    def _mark(self, _: object) -> None:
        self._budget.visit(len(self._marked))
        self._marked.append(self._stack)
        self._stack = []

    def _pop(self, _: object) -> None:
        self._drop([self._stack.pop()] if self._stack else self._pop_mark())

    def _pop_to_mark(self, _: object) -> None:
        self._drop(self._pop_mark())

    def _drop(self, items: list[Any]) -> None:
        """Note values that loading reads and drops, and keep them: they may hold rows."""
        many = f"{max(1, len(items)):,} values"
        self._budget.note(f"{many} that loading reads and drops, {self._stream.where(self._position)}")
        self._budget.dropped += (item for item in items if isinstance(item, CONTAINERS))

    def _require(self, usual: bool) -> None:
        """Note a value that loading does not look at, and that is not the one that a writer gives it."""
        if not usual:
            self._drop([])

    def _duplicate(self, _: object) -> None:
        self._stack.append(self._stack[-1])

    def _put(self, index: int) -> None:
        if not self._memo:
            self._first_put = index if index in (0, 1) else 0  # Python 2 began at 1
        self._require(index == self._first_put + len(self._memo))
        self._memo[index] = self._stack[-1]

    def _memoize(self, _: object) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    # Atoms

    def _protocol(self, version: int) -> None:
        if version not in _PROTOCOLS:
            raise UnsupportedArtifactError(f"it has pickle protocol {version}; supported are 2 to 5")
        if self._position != self._start:
            raise self._malformed()

    def _frame(self, length: int) -> None:
        """Note where a frame ends: frames only help to read ahead, and a wrong length could be anything."""
        self._end_frame(self._position)
        self._frame_end = self._stream.tell() + length

    def _end_frame(self, at: int) -> None:
        """Require that the last frame ended here, or before what is written without one: very little, or very much."""
        beyond = 0 if self._frame_end is None else at - self._frame_end
        self._require(0 <= beyond < _SHORTEST_FRAME or beyond >= _LONG_WITHOUT_FRAME)

    def _stop(self, _: object) -> None:
        self._end_frame(self._stream.tell())
        self._ended = True

    def _literal(self, value: object) -> None:
        self._budget.spend_text(value)
        self._stack.append(value)

    def _integer(self, value: int) -> None:
        if value.bit_length() >= self._budget.limits.integer_bits:
            raise ArtifactTooBigError(f"an integer of {value.bit_length()} bits ({self._stream.where()})")
        self._stack.append(value)

    def _none(self, _: object) -> None:
        self._stack.append(None)

    def _true(self, _: object) -> None:
        self._stack.append(True)

    def _false(self, _: object) -> None:
        self._stack.append(False)

    # Containers

    def _empty_tuple(self, _: object) -> None:
        self._stack.append(())

    def _empty_list(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        self._stack.append([])

    def _empty_dict(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        self._stack.append(Mapping())

    def _empty_set(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        self._stack.append(Items([]))

    def _tuple1(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        self._stack[-1:] = [(self._stack[-1],)]

    def _tuple2(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        self._stack[-2:] = [(self._stack[-2], self._stack[-1])]

    def _tuple3(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        self._stack[-3:] = [(self._stack[-3], self._stack[-2], self._stack[-1])]

    def _tuple(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        items = self._pop_mark()
        self._stack.append(tuple(items))

    def _list(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        items = self._pop_mark()
        self._stack.append(items)

    def _dict(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        items = self._pop_mark()
        self._stack.append(Mapping())
        self._set_pairs(items)

    def _frozenset(self, _: object) -> None:
        self._budget.spend_opcode(_OF_CONTAINER)
        items = self._pop_mark()
        self._stack.append(Items(items))

    def _append(self, _: object) -> None:
        item = self._stack.pop()
        self._extend([item])

    def _appends(self, _: object) -> None:
        self._extend(self._pop_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, Record):
            target.appended.extend(items)
        else:
            raise self._malformed()

    def _add_items(self, _: object) -> None:
        items = self._pop_mark()
        target = self._stack[-1]
        if not isinstance(target, Items):
            raise self._malformed()
        target.items.extend(items)

    def _set_item(self, _: object) -> None:
        value = self._stack.pop()
        key = self._stack.pop()
        self._set_pairs([key, value])

    def _set_items(self, _: object) -> None:
        self._set_pairs(self._pop_mark())

    def _set_pairs(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, Record):
            target = target.set_items
        if not isinstance(target, Mapping) or len(items) % 2 or target.is_state:
            raise self._malformed()
        target.pairs.extend(zip(items[::2], items[1::2], strict=True))

    # Names, calls and objects

    def _global(self, dotted: str) -> None:
        module, _, name = dotted.partition(" ")
        self._stack.append(Global(module, name))

    def _stack_global(self, _: object) -> None:
        name = self._stack.pop()
        module = self._stack.pop()
        if type(name) is not str or type(module) is not str:
            raise self._malformed()
        if max(len(name), len(module)) > self._budget.limits.line_bytes:
            raise ArtifactTooBigError(f"a name of too many characters ({self._stream.where()})")
        self._stack.append(Global(module, name))

    def _reduce(self, _: object) -> None:
        arguments = self._stack.pop()
        function = self._stack.pop()
        if not isinstance(arguments, tuple):
            raise self._malformed()
        self._budget.spend_opcode(_OF_CALL)
        make = CALLS.get(function.key) if isinstance(function, Global) else None
        if make is None:
            self._stack.append(self._not_run(function, arguments))
            return
        self._require(arrays.is_usual(*arguments[UNREAD.get(function.name, len(arguments)) :]))
        self._stack.append(make(function, arguments, self._budget))

    def _not_run(self, function: object, arguments: tuple[Any, ...]) -> Record:
        """Describe a call that is not run, and note it: what it would make is not known."""
        if isinstance(function, Record):  # what a call makes is called
            function, arguments = Global(function.cls.module, f"{function.cls.name}(...)"), (function, *arguments)
        if not isinstance(function, Global):
            raise self._refused("a call of something that is not a name")
        self._budget.note_call(function.shown, self._where())
        return Record(function, arguments)

    def _new_object(self, _: object) -> None:
        arguments = self._stack.pop()
        self._push_record(self._stack.pop(), arguments)

    def _new_object_with_keywords(self, _: object) -> None:
        keywords = self._stack.pop()
        arguments = self._stack.pop()
        if not isinstance(keywords, Mapping):
            raise self._malformed()
        self._require(not keywords.pairs)
        self._push_record(self._stack.pop(), arguments)

    def _push_record(self, cls: object, arguments: object) -> None:
        if not isinstance(arguments, tuple):
            raise self._malformed()
        if isinstance(cls, Record):  # a class that the file makes itself
            self._stack.append(self._not_run(cls, arguments))
            return
        if not isinstance(cls, Global):
            raise self._refused("an object of a class that is not a name")
        self._budget.spend_opcode(_OF_CALL)
        if cls.key in arrays.OLD_WRAPPERS:
            raise UnsupportedArtifactError(
                "joblib before 0.10 wrote it: load it with that version and save it with a current one"
            )
        self._stack.append(Record(cls, arguments))

    def _build(self, _: object) -> None:
        state = self._stack.pop()
        target = self._stack[-1]
        if isinstance(target, (Array, Dtype)) and isinstance(state, tuple):
            self._require(arrays.is_usual(*state[:1], *state[6:]))
        if isinstance(target, Array):
            arrays.fill_array(target, state)
        elif isinstance(target, Dtype):
            arrays.fill_dtype(target, state)
        elif isinstance(target, Record) and target.state is None:
            target.state = state
            if isinstance(state, Mapping):
                state.is_state = True
            if target.cls.key in arrays.WRAPPERS and not self._nested:
                self._stack[-1] = self._wrapped_array(target)
        else:
            raise self._malformed()

    def _wrapped_array(self, wrapper: Record) -> Array:
        wrapped = arrays.Wrapped(wrapper)
        self._require(wrapped.is_usual)
        self._end_frame(self._stream.tell())
        self._frame_end = None
        if not wrapped.dtype.is_object:
            array = wrapped.read(self._stream)
            self._require(wrapped.is_usual)
            return array
        inner = _Interpreter(self._stream, self._budget, nested=True).run()
        if not isinstance(inner, Array) or inner.shape != wrapped.array.shape or inner.items is None:
            raise self._malformed()
        return inner


# An instruction that is missing here is refused: INST, OBJ, PERSID, BINPERSID, EXT1, EXT2, EXT4,
# NEXT_BUFFER and READONLY_BUFFER.
_HANDLERS: dict[str, Callable[[_Interpreter, Any], None]] = {
    "PROTO": _Interpreter._protocol,
    "FRAME": _Interpreter._frame,
    "STOP": _Interpreter._stop,
    "MARK": _Interpreter._mark,
    "POP": _Interpreter._pop,
    "POP_MARK": _Interpreter._pop_to_mark,
    "DUP": _Interpreter._duplicate,
    "PUT": _Interpreter._put,
    "BINPUT": _Interpreter._put,
    "LONG_BINPUT": _Interpreter._put,
    "MEMOIZE": _Interpreter._memoize,
    "GET": _Interpreter._get,
    "BINGET": _Interpreter._get,
    "LONG_BINGET": _Interpreter._get,
    "NONE": _Interpreter._none,
    "NEWTRUE": _Interpreter._true,
    "NEWFALSE": _Interpreter._false,
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"), _Interpreter._integer),
    **dict.fromkeys(
        (
            *("FLOAT", "BINFLOAT", "STRING", "BINSTRING", "SHORT_BINSTRING"),
            *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
            *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
        ),
        _Interpreter._literal,
    ),
    "EMPTY_TUPLE": _Interpreter._empty_tuple,
    "TUPLE1": _Interpreter._tuple1,
    "TUPLE2": _Interpreter._tuple2,
    "TUPLE3": _Interpreter._tuple3,
    "TUPLE": _Interpreter._tuple,
    "EMPTY_LIST": _Interpreter._empty_list,
    "LIST": _Interpreter._list,
    "APPEND": _Interpreter._append,
    "APPENDS": _Interpreter._appends,
    "EMPTY_DICT": _Interpreter._empty_dict,
    "DICT": _Interpreter._dict,
    "SETITEM": _Interpreter._set_item,
    "SETITEMS": _Interpreter._set_items,
    "EMPTY_SET": _Interpreter._empty_set,
    "ADDITEMS": _Interpreter._add_items,
    "FROZENSET": _Interpreter._frozenset,
    "GLOBAL": _Interpreter._global,
    "STACK_GLOBAL": _Interpreter._stack_global,
    "REDUCE": _Interpreter._reduce,
    "NEWOBJ": _Interpreter._new_object,
    "NEWOBJ_EX": _Interpreter._new_object_with_keywords,
    "BUILD": _Interpreter._build,
}
