"""What reading costs is in proportion to the file: what a small file makes of itself is charged before it is made."""

from __future__ import annotations

import pickle
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import Limits, read
from pytest_draft.artifact.budget import Budget
from pytest_draft.errors import ArtifactTooBigError

FIRST, SECOND = 10**6, 10**6 + 1
"""Places in the memo that an honest pickle does not use."""


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def name(module: str, attribute: str) -> bytes:
    return text(module) + text(attribute) + b"\x93"


def kept(place: int) -> bytes:
    return b"r" + struct.pack("<I", place) + b"0"


def get(place: int) -> bytes:
    return b"j" + struct.pack("<I", place)


def dtype(code: str) -> bytes:
    return name("numpy", "dtype") + text(code) + b"\x89\x88\x87R"


@pytest.fixture
def holding(fitted, dump):
    """Return a function that writes an honest forest with one attribute more, made by instructions."""

    def write(instructions: bytes, *, packed: bool = True):
        honest = pickle.dumps(fitted, 4)
        assert honest.endswith(b"b.")
        content = honest[:-2] + text("kept") + instructions + b"sb."
        return dump(zlib.compress(content, 9) if packed else content)

    return write


def refused(path, *words, **options) -> None:
    with pytest.raises(ArtifactTooBigError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert message.isascii()
    assert message.isprintable()
    for word in words:
        assert word in message


def peak_of(path) -> float:
    """Return how many MB reading a file takes, whether or not it is refused."""
    tracemalloc.start()
    try:
        read(path)
    except ArtifactTooBigError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak / 1e6


def scalars(code: str, content: bytes, times: int) -> bytes:
    """Make a NumPy scalar of the same bytes many times."""
    arguments = dtype(code) + b"B" + struct.pack("<I", len(content)) + content + b"\x86"
    make = name("numpy.core.multiarray", "scalar") + kept(FIRST) + arguments + kept(SECOND)
    return make + b"](" + (get(FIRST) + get(SECOND) + b"R") * times + b"e"


@pytest.mark.parametrize(
    ("code", "content"),
    [("U65536", b"A\x00\x00\x00" * 65536), ("S262144", b"A" * 262144), ("U65536", b"\x00\xf6\x01\x00" * 65536)],
    ids=["text", "bytes", "letters of four bytes"],
)
def test_a_long_scalar_made_again_and_again_is_charged(code, content, holding):
    path = holding(scalars(code, content, 1_000))
    assert path.stat().st_size < 10_000
    refused(path, "again and again")
    assert peak_of(path) < 12


@pytest.mark.nightly
def test_scalars_of_an_honest_file_are_read(holding, dump, forest):
    forest.kept = [np.float64(i) for i in range(20_000)] + [np.str_("a name")] * 1_000
    assert read(dump(forest)).forest.n_trees == 3
    assert read(holding(scalars("f8", bytes(8), 10_000))).forest.n_trees == 3


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("instructions", "packed"),
    [
        (b"(" + b"N0" * 600_000 + b"l", False),
        (b"](" + b"N" * 500_000 + b"e", True),
        (b"](" + b"}" * 300_000 + b"e", True),
        (b"](" + b"}" * 400_000 + b"e", False),
        (name("a", "B") + kept(FIRST) + b"](" + (get(FIRST) + b")\x81") * 150_000 + b"e", True),
    ],
    ids=["atoms", "packed atoms", "packed dicts", "dicts", "packed objects"],
)
def test_instructions_are_in_proportion_to_the_file(instructions, packed, holding):
    refused(holding(instructions, packed=packed), "instructions", "too many for its size")


def test_a_large_file_may_take_more_instructions_than_a_small_one():
    limits = Limits()
    assert limits.steps(4_000, 4_000) < 260_000
    assert limits.steps(10**6, 10**4) == limits.opcodes_floor + 320_000
    assert limits.steps(10**6, 10**6) == limits.opcodes_floor + 750_000
    assert limits.steps(10**9, 10**9) == limits.opcodes


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    "instructions",
    [
        b")" + b"\x85" * 50_000,
        b"]" * 50_000 + b"a" * 49_999,
        b"(" * 50_000 + b"t" * 50_000,
        b"}N" * 50_000 + b"N" + b"s" * 50_000,
        (name("a", "B") + kept(FIRST)) + (get(FIRST) + b")\x81") * 20_000 + b"N" + b"b" * 20_000,
    ],
    ids=["tuples", "lists", "marks", "dicts", "objects"],
)
def test_objects_that_stand_deep_in_each_other_are_refused(instructions, holding):
    refused(holding(instructions, packed=False), "more than 2000 deep in each other")


def test_what_pickle_can_nest_is_read(forest, dump):
    nested: list = []
    for _ in range(60):
        nested = [(nested, {"a": nested})]
    forest.kept = nested
    assert read(dump(forest)).forest.n_trees == 3


@pytest.mark.nightly
@pytest.mark.parametrize("times", [4_000, 30_000])
def test_a_table_of_one_row_again_and_again_is_not_written_out(times, holding):
    row = b"(" + b"K\x01" * times + b"l" + kept(FIRST)
    path = holding(row + b"](" + get(FIRST) * times + b"e", packed=False)
    assert peak_of(path) < 60
    (table,) = [stored for stored in read(path).contents.arrays if stored.path == "kept"]
    assert table.shape == (times, times)
    with pytest.raises(ValueError, match="again and again"):
        table.values()


@pytest.mark.nightly
def test_texts_are_charged_by_the_memory_that_they_take(holding):
    """One letter outside the first 65,536 makes each letter of a text take four bytes."""
    long = "a" * 10_000_000
    instructions = b"X" + struct.pack("<I", len(long) + 4) + long.encode() + "\U0001f600".encode()
    assert read(holding(instructions)).contents.opaque == ("kept",)
    refused(holding(b"]" + (instructions + b"a") * 3), "again and again", limits=Limits(copies=3))


def test_reading_has_a_time_of_its_own_by_the_size_of_the_file():
    now = iter(range(10**6))
    budget = Budget(Limits(seconds=2.0, seconds_by_byte=1e-6), 10**6, clock=lambda: float(next(now)))
    for _ in range(3):
        budget.spend_opcode(5_000)
    with pytest.raises(ArtifactTooBigError, match="more than 3 s"):
        budget.spend_opcode(5_000)
    now = iter([0.0, 1.0, 9.0])
    budget = Budget(Limits(seconds=2.0, seconds_by_byte=0.0), 100, clock=lambda: next(now))
    with pytest.raises(ArtifactTooBigError, match="more than 2 s"):
        for _ in range(10_000):
            budget.visit(1)


@pytest.mark.nightly
def test_a_forest_of_many_small_trees_is_read_however_it_is_packed(columns, classes, dump):
    """What takes the most instructions by byte."""
    model = RandomForestClassifier(400, max_depth=1, random_state=0).fit(columns, classes)
    for packed in (0, ("xz", 9)):
        assert read(dump(model, compress=packed)).forest.n_trees == 400
