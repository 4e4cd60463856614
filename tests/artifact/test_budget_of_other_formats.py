"""What archives of skops and ONNX files cost is in proportion to their size too."""

from __future__ import annotations

import json
import tracemalloc
import zipfile

import pytest

from pytest_draft.artifact import read
from pytest_draft.errors import ArtifactError, ArtifactTooBigError

LIST = '{"protocol":2,"__class__":"list","__module__":"builtins","__loader__":"ListNode","content":['
ATOM = {"__class__": "int", "__module__": "builtins", "__loader__": "JsonNode"}


@pytest.fixture
def schema(tmp_path):
    """Return a function that writes an archive with a schema."""

    def write(text: str):
        with zipfile.ZipFile(tmp_path / "model.skops", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", text)
        return tmp_path / "model.skops"

    return write


def peak_of(path, kind=ArtifactError) -> float:
    """Return how many MB a refused file takes."""
    tracemalloc.start()
    try:
        with pytest.raises(kind):
            read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak / 1e6


@pytest.mark.parametrize("value", ["{}", '{"a":{}}', "0"])
def test_values_of_a_schema_are_in_proportion_to_the_archive(value, schema):
    path = schema(LIST + ",".join([value] * 1_000_000) + "]}")
    assert peak_of(path, ArtifactTooBigError) < 60


@pytest.mark.parametrize(
    "text",
    [
        LIST + "[" * 100_000 + "]" * 100_000 + "]}",
        LIST + LIST * 10_000 + "]}" * 10_000 + "]}",
    ],
    ids=["lists", "nodes"],
)
def test_a_schema_that_nests_deeply_is_refused(text, schema):
    with pytest.raises(ArtifactTooBigError, match="too deep in each other"):
        read(schema(text))


@pytest.mark.parametrize("content", ["[" + "0," * 100_000 + "0]", "[" * 100_000, ' {"a": 1}'])
def test_an_atom_is_no_list(content, schema):
    with pytest.raises(ArtifactError, match="is not what skops"):
        read(schema(LIST + json.dumps({**ATOM, "content": content}) + "]}"))


@pytest.mark.nightly
def test_a_text_of_rare_letters_is_charged_by_its_memory(schema):
    text = json.dumps(
        {**ATOM, "content": json.dumps("a" * 10_000_000 + "\U0001f600", ensure_ascii=False)}, ensure_ascii=False
    )
    assert peak_of(schema(LIST + text + "]}"), ArtifactTooBigError) < 130


def varint(number: int) -> bytes:
    written = b""
    while number > 127:
        written, number = written + bytes([number & 127 | 128]), number >> 7
    return written + bytes([number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


@pytest.mark.nightly
@pytest.mark.parametrize(
    "graph",
    [
        field(1, b"") * 300_000,
        field(5, b"") * 300_000,
        field(1, field(4, b"TreeEnsembleClassifier") + field(5, field(1, b"nodes_modes") + field(9, b"") * 300_000)),
    ],
    ids=["nodes", "constants", "texts"],
)
def test_empty_parts_of_an_onnx_file_are_in_proportion_to_it(graph, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"\x08\x08\x12\x04skl2" + field(7, graph))
    with pytest.raises(ArtifactTooBigError, match="too many for its size"):
        read(tmp_path / "model.onnx")
