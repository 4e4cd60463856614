"""Hostile ONNX files: nothing goes in, out come `Hostile` files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from attack_corpus.entry import Hostile, corrupt, forest, rows, too_big, unsupported


@cache
def honest() -> bytes:
    import skl2onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skl2onnx.to_onnx(forest(), rows()[0][:1].astype(np.float32)).SerializeToString()


def changed(damage: Callable[[Any], None]) -> bytes:
    """Return the honest file after a change of its model."""
    import onnx

    model = onnx.ModelProto.FromString(honest())
    damage(model)
    return model.SerializeToString()


def with_values(name: str, change: Callable[[list], list]) -> bytes:
    """Return the honest file with other values of one attribute of its trees."""

    def damage(model: Any) -> None:
        (held,) = [attribute for attribute in model.graph.node[0].attribute if attribute.name == name]
        values = held.ints if held.ints else held.floats if held.floats else held.strings
        values[:] = change(list(values))

    return changed(damage)


def varint(value: int) -> bytes:
    result = b""
    while value > 127:
        result, value = result + bytes([value & 127 | 128]), value >> 7
    return result + bytes([value])


def field(number: int, content: bytes, wire: int = 2) -> bytes:
    return varint(number << 3 | wire) + (varint(len(content)) if wire == 2 else b"") + content


START = b"\x08\x0a"
"""The version of the format, by which a file is known for ONNX."""


def files() -> Iterator[Hostile]:
    yield from _trees()
    yield from _wire()
    yield from _amounts()


def _trees() -> Iterator[Hostile]:
    for number, (name, change, kind, words) in enumerate(
        (
            ("nodes_truenodeids", lambda ids: [0 for _ in ids], "corrupt", "not a binary tree"),
            ("nodes_truenodeids", lambda ids: [10**6, *ids[1:]], "corrupt", "child that is not there"),
            ("nodes_truenodeids", lambda ids: [-(2**63), *ids[1:]], "corrupt", "child that is not there"),
            ("nodes_truenodeids", lambda ids: ids[:-1], "corrupt", "children for each node"),
            ("nodes_falsenodeids", lambda ids: [1, *ids[1:]], "corrupt", "not a binary tree"),
            ("nodes_nodeids", lambda ids: [0 for _ in ids], "corrupt", "two nodes of one number"),
            ("nodes_featureids", lambda ids: [999 for _ in ids], "corrupt", "none of the 6 columns"),
            ("nodes_featureids", lambda ids: [-1 for _ in ids], "corrupt", "none of its columns"),
            ("nodes_values", lambda values: [float("nan") for _ in values], "corrupt", "not a number"),
            ("nodes_values", lambda values: [-float("inf") for _ in values], "corrupt", "number"),
            ("nodes_modes", lambda modes: [b"LEAF" for _ in modes], "corrupt", "has no weights"),
            ("nodes_treeids", lambda ids: [2**62, *ids[1:]], "unsupported", "add up to 1 over 4 trees"),
            ("class_ids", lambda ids: [7 for _ in ids], "corrupt", "no leaf or no class"),
            ("class_nodeids", lambda ids: [10**6 for _ in ids], "corrupt", "no leaf or no class"),
            ("class_weights", lambda weights: weights[:-1], "corrupt", "a weight each"),
            ("class_weights", lambda weights: [float("nan") for _ in weights], "unsupported", "add up to 1"),
            ("class_weights", lambda weights: [weight * 2 for weight in weights], "unsupported", "add up to 1"),
            ("classlabels_strings", lambda labels: [labels[0]] * len(labels), "corrupt", "one is there twice"),
        )
    ):
        yield Hostile(f"onnx: {name}, change {number}", with_values(name, change), kind, (words,))

    def twice(model: Any) -> None:
        model.graph.node[0].attribute.append(model.graph.node[0].attribute[0])

    yield corrupt("onnx: an attribute twice", changed(twice), "attributes of one")
    yield corrupt("onnx: two graphs", honest() + field(7, b""), "a part twice")


def _wire() -> Iterator[Hostile]:
    damaged = "its ONNX is damaged"
    whole = honest()
    for cut in (1, 100, len(whole) // 2):
        yield corrupt(f"onnx: without its last {cut} bytes", whole[:-cut], damaged)
    for length in (2**31, 2**32, 2**63, 2**64 - 1):
        content = START + varint(7 << 3 | 2) + varint(length) + b"abc"
        yield corrupt(f"onnx: a length of {length}", content, damaged)
    for wire in (3, 4, 6, 7):
        yield corrupt(f"onnx: wire type {wire}", START + b"\x3a\x00" + field(7, b"", wire), damaged)
    yield corrupt("onnx: a varint without an end", START + field(7, b"\x38" + b"\xff" * 100), damaged)
    yield corrupt("onnx: a varint above 64 bits", START + b"\x3a\x0b\x08" + b"\xff" * 9 + b"\x7f", damaged)
    yield corrupt("onnx: field 0", START + b"\x3a\x00" + field(0, b"\x00", 0), damaged)
    yield corrupt("onnx: half a number of 4 bytes", START + b"\x3a\x00" + b"\x0d\x00", damaged)
    yield corrupt("onnx: half a number of 8 bytes", START + b"\x3a\x00" + b"\x09\x00\x00\x00\x00", damaged)
    for name, graph in {
        "the graph is a number": b"\x38\x05",
        "the nodes are numbers": field(7, b"\x08\x01" * 1000),
        "a name that is not UTF-8": field(7, field(2, b"\xff\xfe")),
    }.items():
        kind = corrupt if "UTF" in name else unsupported
        yield kind(f"onnx: {name}", START + graph, "UTF-8" if "UTF" in name else "")
    yield unsupported("onnx: no graph", START + b"\x12\x00", "holds no graph")
    twice = field(5, field(8, b"a")) * 2
    yield corrupt("onnx: two constants of one name", START + field(7, twice), "two constants of one name")
    for name, tensor, words in (
        ("raw bytes", b"\x08\x03\x10\x01" + field(9, b"abc"), "the bytes of its shape"),
        ("numbers", b"\x08\x03\x10\x01" + field(4, b"abcd"), "the numbers of its shape"),
        ("floats", b"\x08\x03\x10\x01" + field(4, b"abcde"), damaged),
        ("packed numbers", b"\x08\x03\x10\x06" + field(5, b"\xff"), damaged),
        ("a long varint", b"\x08\x03\x10\x06" + field(5, b"\xff" * 11 + b"\x01"), damaged),
        ("a negative shape", b"\x08" + b"\xff" * 9 + b"\x01\x10\x01", ""),
        ("33 dimensions", b"\x08\x01" * 33 + b"\x10\x01", ""),
    ):
        yield corrupt(f"onnx: a constant of {name}", START + field(7, field(5, tensor)), words)
    nested = b""
    for _ in range(2_000):
        nested = field(7, nested)
    yield unsupported("onnx: 2,000 messages in each other", START + nested)


def _amounts() -> Iterator[Hostile]:
    yield too_big("onnx: 260,000 empty nodes", START + field(7, field(1, b"") * 260_000), "instructions")
    many = START + b"\x22\x00" + field(7, field(1, field(3, b"")))
    for name, content in {
        "numbers one by one": many + b"\x28\x01" * 2_000_000,
        "numbers of 8 bytes": many + (b"\x29" + bytes(8)) * 300_000,
    }.items():
        yield unsupported(f"onnx: {name}", content)

    def bomb(model: Any) -> None:
        tensor = model.graph.initializer.add(name="rows", data_type=1)
        tensor.dims.extend([2**31, 2**31])

    yield corrupt("onnx: a constant of 2^62 numbers", changed(bomb))
