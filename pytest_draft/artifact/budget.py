"""Limits on reading one file: a `Budget` that depends on its size, and refuses the file when it is spent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pytest_draft.bounded import MODEL_BYTES
from pytest_draft.errors import ArtifactNotAllowedError, ArtifactTooBigError
from pytest_draft.facts.contents import Place

_MiB = 2**20
_GiB = 2**30

_BETWEEN_LOOKS = 4096
"""Steps between two looks at the clock."""

_MOST_NOTED = 100
_SHORT = 256
"""Longest text whose bytes are not counted: its instruction is."""


@dataclass(frozen=True)
class Limits:
    """What reading one file may cost. Honest forests stay far below each of these."""

    file_bytes: int = MODEL_BYTES
    """Size of the file."""
    unpacked_bytes: int = 4 * _GiB
    """Size after decompression, in any case."""
    unpacked_ratio: int = 200
    unpacked_floor: int = 64 * _MiB
    """`unpacked_ratio` and `unpacked_floor`: above `unpacked_floor` bytes, a file may unpack to at most
    `unpacked_ratio` times its size (honest forests reach 53 times).
    """
    lzma_memory: int = 256 * _MiB
    """Memory for an LZMA dictionary, in bytes."""
    opcodes: int = 6_000_000
    """Steps of the interpreter in any case: pickle instructions, of which those that make an object count several
    times. Each adds at most one object, so this bounds the stack and the memo too. A tree takes about 250.
    """
    opcodes_floor: int = 250_000
    """So many steps any file may take, however small."""
    opcodes_by_byte: float = 0.75
    opcodes_by_packed_byte: float = 32.0
    """`opcodes_by_byte` and `opcodes_by_packed_byte`: steps above `opcodes_floor` for each byte unpacked, and for each
    byte as it is stored: the smaller one counts (honest forests take up to 0.4 and 14).
    """
    copies: int = 4
    copies_floor: int = _MiB
    """`copies` and `copies_floor`: what is made of the file's bytes, such as decoded trees and texts, may take `copies`
    times its unpacked size, and `copies_floor` bytes besides.
    """
    nesting: int = 2_000
    """How deep objects may stand in each other. `pickle` itself gives up at about 1,000."""
    seconds: float = 20.0
    seconds_by_byte: float = 0.2 / _MiB
    """`seconds` and `seconds_by_byte`: processor time of the thread that reads, which the machine's load does not
    change.
    """
    integer_bits: int = 1024
    """Length of one integer (a generator's state has integers of 128 bits)."""
    line_bytes: int = 4096
    """Length of one text argument (a module's or a class's name)."""
    text_bytes: int = _MiB // 4
    """Size of a rule list that is a text: some 4,000 rules, which are checked in about a second."""
    members: int = 100_000
    """Files in a zip archive; a tree takes about 4."""

    def steps(self, size: int, packed: int) -> int:
        """Return how many steps a file of `packed` bytes may take that has `size` bytes unpacked."""
        earned = min(self.opcodes_by_byte * size, self.opcodes_by_packed_byte * packed)
        return min(self.opcodes, self.opcodes_floor + int(earned))

    def unpacked(self, packed: int) -> int:
        """Return how many bytes a compressed file of `packed` bytes may unpack to."""
        return min(self.unpacked_bytes, max(self.unpacked_floor, self.unpacked_ratio * packed))


DEFAULT_LIMITS = Limits()


class Budget:
    """What is left of the limits while one file is read.

    Parameters
    ----------
    size : int
        Unpacked size of the file. Honest files hold each thing once, so that all copies together
        (decoded trees, re-encoded texts) are about as large as the file; a file that refers to one large
        object many times would make them much larger.
    packed : int or None
        Size of the file as it is stored; None where that is `size`.
    clock : callable
        Monotonic, in seconds.

    Attributes
    ----------
    unused : list of Place
        What no reader uses, and no writer writes so: nobody who loads the file sees it, and whoever reads it does.
    dropped : list of object
        Objects that loading reads and drops: what they hold is searched.
    not_run : ArtifactNotAllowedError or None
        The refusal of the first call that was not run, for a file in which no model is found.
    """

    def __init__(
        self, limits: Limits, size: int, packed: int | None = None, *, clock: Callable[[], float] = time.thread_time
    ) -> None:
        self.limits = limits
        self._opcodes = self._most_opcodes = limits.steps(size, size if packed is None else packed)
        self._copies = limits.copies * size + limits.copies_floor
        self._clock = clock
        self._seconds = limits.seconds + limits.seconds_by_byte * size
        self._ends = clock() + self._seconds
        self._next_look = max(0, self._opcodes - _BETWEEN_LOOKS)
        self._visits = 0
        self.unused: list[Place] = []
        self.dropped: list[object] = []
        self.not_run: ArtifactNotAllowedError | None = None

    def spend_opcode(self, count: int = 1) -> None:
        """Count a pickle instruction, or as many as something else takes the time of."""
        self._opcodes -= count
        if self._opcodes < self._next_look:
            self._look()

    def _look(self) -> None:
        if self._opcodes < 0:
            raise ArtifactTooBigError(
                f"it has more than {self._most_opcodes} instructions, which is too many for its size: save the model "
                "without what is not needed to use it"
            )
        self._next_look = max(0, self._opcodes - _BETWEEN_LOOKS)
        self._check_clock()

    def _check_clock(self) -> None:
        if self._clock() > self._ends:
            raise ArtifactTooBigError(
                f"reading it takes more than {self._seconds:.0f} s, which is too long for its size: save the model "
                "without what is not needed to use it"
            )

    def spend_copy(self, size: int) -> None:
        """Count `size` bytes that are about to be copied out of the file."""
        self._copies -= size
        if self._copies < 0:
            raise ArtifactTooBigError("it refers to the same data again and again, to many times its own size")

    def has_room(self, size: int) -> bool:
        """Count `size` bytes that may be copied later, where there is room for them; return whether there is."""
        if size > self._copies:
            return False
        self._copies -= size
        return True

    def spend_text(self, text: object) -> None:
        """Count a text or bytes that were made out of the file; a text with one rare letter takes four bytes each."""
        if isinstance(text, (str, bytes, bytearray)) and len(text) > _SHORT:
            self.spend_copy(len(text) * (1 if not isinstance(text, str) or text.isascii() else 4))

    def note(self, what: str, path: str = "", *, anew: bool = True) -> None:
        """Note what no reader uses; the arguments are those of `Place`."""
        place = Place(path, "the file", what, anew)
        if len(self.unused) < _MOST_NOTED and place not in self.unused:
            self.unused.append(place)

    def note_call(self, shown: str, where: str = "") -> None:
        """Note a call that is described and not run, so that nobody knows what it would make.

        Parameters
        ----------
        where : str
            In the file; it begins with a space.
        """
        self.not_run = self.not_run or ArtifactNotAllowedError(
            f"it asks for a call of {shown}{where}: nothing was run; if it is yours, save the forest alone"
        )
        self.note("not run", f"a call of {shown}", anew=False)

    def visit(self, depth: int) -> None:
        """Count an object that is looked at; refuse it where it stands too deep in others."""
        self._visits += 1
        if self._visits % _BETWEEN_LOOKS == 0:
            self._check_clock()
        if depth > self.limits.nesting:
            raise too_deep(self.limits.nesting)


def too_deep(most: int) -> ArtifactTooBigError:
    """Return the refusal of a file whose objects stand too deep in each other."""
    return ArtifactTooBigError(f"its objects stand more than {most} deep in each other: save the model alone")
