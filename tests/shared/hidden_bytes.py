"""Honest model files, and ways to hide bytes in them: a name goes in, out come a file and the same file stuffed."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import pickletools
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import numpy_pickle
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

import small_boosters

Stuff = Callable[[bytes], bytes]
FILES = Path(__file__).parents[1] / "artifact" / "files" / "boosters"
HIDDEN = np.random.default_rng(3).bytes(300)
"""What is hidden: random bytes, as packed rows are."""

_TEXT = HIDDEN.hex()


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns, classes and targets."""
    random = np.random.default_rng(0)
    columns = random.integers(0, 4, (150, 6)).astype(float)
    classes = (columns[:, 0] + columns[:, 1] + random.normal(size=150) > 3).astype(int)
    return columns, classes, (columns @ np.arange(1.0, 7) + random.normal(size=150)).round(2)


@cache
def model(kind: str) -> Any:
    """Return a fitted model."""
    columns, classes, targets = table()
    made, label = {
        "forest": (RandomForestClassifier(12, max_depth=3, random_state=0), classes),
        "regressor": (RandomForestRegressor(12, max_depth=3, random_state=0), targets),
        "extra trees": (ExtraTreesRegressor(12, max_depth=3, random_state=0), targets),
        "best first": (DecisionTreeClassifier(max_leaf_nodes=20, random_state=0), classes),
        "histograms": (
            HistGradientBoostingClassifier(max_iter=8, max_depth=3, min_samples_leaf=5, early_stopping=False),
            classes,
        ),
    }[kind]
    return made.fit(columns, label)


def dumped(kind: str, **options: Any) -> bytes:
    """Return what joblib writes of a model."""
    file = io.BytesIO()
    joblib.dump(model(kind), file, **options)
    return file.getvalue()


def _trees(kind: str) -> Iterator[np.ndarray]:
    made = model(kind)
    if kind == "histograms":
        yield from (predictor.nodes for one in made._predictors for predictor in one)
    else:
        trees = getattr(made, "estimators_", [made])
        yield from (tree.tree_.__getstate__()["nodes"] for tree in trees)


def in_nodes(kind: str, field: str, where: str, value: Callable[[np.random.Generator], float] | None = None) -> Stuff:
    """Return what hides bytes in a field of the nodes, or in their padding, at leaves or at others, or at all."""

    def stuff(content: bytes) -> bytes:
        random = np.random.default_rng(1)
        for nodes in _trees(kind):
            new = bytearray(nodes.tobytes())
            records = np.frombuffer(new, nodes.dtype)
            leaf = records["is_leaf"] == 1 if "is_leaf" in records.dtype.names else records["left_child"] < 0
            here = np.flatnonzero({"leaves": leaf, "others": ~leaf, "all": leaf | True}[where])
            if value is not None:
                records[field][here] = [value(random) for _ in here]
            else:
                kind_of, start = (np.dtype("V7"), 57) if field == "padding" else records.dtype.fields[field][:2]
                raw = np.frombuffer(new, np.uint8).reshape(len(records), -1)
                raw[here, start : start + kind_of.itemsize] = random.integers(0, 256, (len(here), kind_of.itemsize))
            assert nodes.tobytes() in content
            content = content.replace(nodes.tobytes(), bytes(new), 1)
        return content

    return stuff


# Pickles


def _instead(opcode: str, write: Callable[[Any], bytes], good: Callable[[Any], bool] = lambda _: True) -> Stuff:
    """Return what writes the first instruction of a kind otherwise."""

    def stuff(content: bytes) -> bytes:
        found = list(pickletools.genops(content))
        for (code, argument, position), (_, _, end) in pairwise(found):
            if code.name == opcode and good(argument):
                return content[:position] + write(argument) + content[end:]
        raise AssertionError(opcode)

    return stuff


def _far_puts(content: bytes) -> bytes:
    found, out, at = list(pickletools.genops(content)), bytearray(), 0
    for (code, _, position), (_, _, end) in pairwise(found):
        out += content[position:end]
        if code.name == "BINPUT" and at < len(HIDDEN):
            out += b"r" + HIDDEN[at : at + 3] + b"\x40"
            at += 3
    return bytes(out) + content[found[-1][2] :]


def _reduced_otherwise(change: Callable[..., Any]) -> Stuff:
    """Return what pickles the forest with other arguments or states than its objects give."""

    class Pickler(pickle._Pickler):  # type: ignore[name-defined]
        def save_reduce(self, func: Any, args: Any, state: Any = None, *more: Any, **named: Any) -> None:
            func, args, state = change(func, args, state) or (func, args, state)
            super().save_reduce(func, args, state, *more, **named)

    def stuff(_: bytes) -> bytes:
        file = io.BytesIO()
        Pickler(file, 4).dump(model("forest"))
        return file.getvalue()

    return stuff


def _state_of_dtype(func: Any, args: Any, state: Any) -> Any:
    return (func, args, (int.from_bytes(HIDDEN[:90], "big"), *state[1:])) if func is np.dtype else None


def _titles(func: Any, args: Any, state: Any) -> Any:
    if func is not np.dtype or not state[3]:
        return None
    return func, args, (*state[:4], {name: (*field, _TEXT) for name, field in state[4].items()}, *state[5:])


def _of_array(func: Any, args: Any, state: Any) -> Any:
    if getattr(func, "__name__", "") != "_reconstruct":
        return None
    return func, (args[0], (int.from_bytes(HIDDEN[:90], "big"),), HIDDEN), state


def _version_of_array(func: Any, args: Any, state: Any) -> Any:
    number = int.from_bytes(HIDDEN[:90], "big")
    return (func, args, (number, *state[1:])) if getattr(func, "__name__", "") == "_reconstruct" else None


PICKLES: dict[str, Stuff] = {
    "numbers that are dropped": lambda d: (
        d[:2] + b"".join(b"J" + HIDDEN[i : i + 4] + b"0" for i in range(0, 300, 4)) + d[2:]
    ),
    "marks as bits": lambda d: d[:2] + b"".join(b"(1" if byte & 1 else b"N0" for byte in HIDDEN) + d[2:],
    "lengths of frames": lambda d: (
        d[:2] + b"".join(b"\x95" + struct.pack("<Q", 4 + HIDDEN[i]) for i in range(0, 300, 2)) + d[2:]
    ),
    "digits of a number as text": _instead(
        "BINFLOAT", lambda value: b"F%.1f" % value + b"0" * 20 + str(int.from_bytes(HIDDEN, "big")).encode() + b"\n"
    ),
    "keywords of an object": _instead(
        "NEWOBJ", lambda _: b"}X\x01\0\0\0xB" + struct.pack("<I", len(HIDDEN)) + HIDDEN + b"s\x92"
    ),
    "arguments of a data type": _reduced_otherwise(lambda f, a, s: (f, (a[0], HIDDEN), s) if f is np.dtype else None),
    "state of a data type": _reduced_otherwise(_state_of_dtype),
    "titles of fields": _reduced_otherwise(_titles),
    "arguments of an array": _reduced_otherwise(_of_array),
    "version of an array": _reduced_otherwise(_version_of_array),
    "behind the end": lambda d: d + HIDDEN,
}


# joblib and packed files


def _alignment(content: bytes) -> bytes:
    for nodes in _trees("forest"):
        start = content.index(nodes.tobytes())
        n = len(content[:start]) - len(content[:start].rstrip(b"\xff"))
        content = content[: start - n] + HIDDEN[start % 200 :][:n] + content[start:]
    return content


def _long_alignment(content: bytes) -> bytes:
    start = content.index(next(_trees("forest")).tobytes())
    before = content[:start].rstrip(b"\xff")
    return before[:-1] + b"\xc8" + HIDDEN[:200] + content[start:]


def _wrapper(_: bytes) -> bytes:
    begin = numpy_pickle.NumpyArrayWrapper.__init__

    def init(self: Any, *args: Any, **named: Any) -> None:
        begin(self, *args, **named)
        self.note = HIDDEN

    numpy_pickle.NumpyArrayWrapper.__init__ = init
    try:
        return dumped("forest")
    finally:
        numpy_pickle.NumpyArrayWrapper.__init__ = begin


def _parameters(_: bytes) -> bytes:
    changed = pickle.loads(pickle.dumps(model("forest")))
    for tree, number in zip(changed.estimators_, np.frombuffer(HIDDEN[:96], "<f8"), strict=True):
        tree.ccp_alpha = float(number)
    file = io.BytesIO()
    joblib.dump(changed, file)
    return file.getvalue()


JOBLIB: dict[str, Stuff] = {
    "bytes that align arrays": _alignment,
    "more bytes before an array": _long_alignment,
    "an attribute of an array": _wrapper,
    "parameters of trees": _parameters,
}

GZIP: dict[str, Stuff] = {
    "name": lambda d: d[:3] + b"\x08" + d[4:10] + _TEXT.encode() + b"\0" + d[10:],
    "a second stream": lambda d: d + gzip.compress(HIDDEN),
}


# skops


@cache
def skops(kind: str = "forest") -> bytes:
    """Return what skops writes of a model."""
    import skops.io

    return skops.io.dumps(model(kind))


def _archived(change: Callable[[str, bytes], bytes] = lambda _, content: content, **fields: Any) -> Stuff:
    """Return what writes an archive again: with other contents, or other fields of its members."""

    def stuff(content: bytes) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
            for index, info in enumerate(old.infolist()):
                member = zipfile.ZipInfo(info.filename, info.date_time)
                member.external_attr = info.external_attr
                for name, value in fields.items():
                    setattr(member, name, value(index))
                new.writestr(member, change(info.filename, old.read(info)))
        return file.getvalue()

    return stuff


def _in_schema(change: Callable[[dict[str, Any], int], object]) -> Stuff:
    def changed(name: str, content: bytes) -> bytes:
        if name != "schema.json":
            return content
        schema = json.loads(content)
        ahead: list[Any] = [schema]
        for number, one in enumerate(ahead):  # grows as it goes
            if isinstance(one, dict):
                ahead += one.values()
                change(one, number)
            elif isinstance(one, list):
                ahead += one
        return json.dumps(schema, indent=2).encode()

    return _archived(changed)


def _piece(number: int, length: int = 10) -> str:
    return _TEXT[number % 500 :][:length]


def _set_in_atoms(**values: Callable[[int, str], Any]) -> Callable[[dict[str, Any], int], object]:
    def change(node: dict[str, Any], number: int) -> None:
        if node.get("__loader__") == "JsonNode":
            node.update({name: value(number, node.get("content", "")) for name, value in values.items()})

    return change


def _in_padding(kind: str) -> Stuff:
    return _archived(lambda name, content: _padded(kind, content) if name.endswith(".npy") else content)


def _padded(kind: str, content: bytes) -> bytes:
    whole = [nodes for nodes in _trees(kind) if nodes.tobytes() in content]
    if not whole:
        return content
    raw = np.frombuffer(bytearray(whole[0].tobytes()), np.uint8).reshape(-1, 64)
    raw[:, 57:] = np.frombuffer(HIDDEN[: 7 * len(raw)], np.uint8).reshape(-1, 7)
    return content.replace(whole[0].tobytes(), raw.tobytes())


def _between(content: bytes) -> bytes:
    """Put 20 bytes behind each member, and mend the directory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos, end = archive.infolist(), archive.start_dir
    out, tail, at = b"", bytearray(content[end:]), 0
    for index, info in enumerate(infos):
        after = infos[index + 1].header_offset if index + 1 < len(infos) else end
        struct.pack_into("<L", tail, at + 42, len(out))
        at += 46 + len(info.filename)
        out += content[info.header_offset : after] + HIDDEN[20 * index % 280 :][:20]
    struct.pack_into("<L", tail, at + 16, len(out))
    return out + bytes(tail)


def _local_names(content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            start, length = info.header_offset + 30, len(info.filename)
            content = content[:start] + (HIDDEN * 2)[start % 300 :][:length] + content[start + length :]
    return content


def _spaces_in_header(name: str, content: bytes) -> bytes:
    if not name.endswith(".npy"):
        return content
    length = int.from_bytes(content[8:10], "little")
    header = content[10 : 10 + length].rstrip().replace(b": ", b":" + bytes(32 - 23 * (b & 1) for b in HIDDEN), 1)
    return content[:8] + struct.pack("<H", len(header) + 1) + header + b"\n" + content[10 + length :]


SKOPS: dict[str, Stuff] = {
    "padding": _in_padding("forest"),
    "spaces in headers of arrays": _archived(_spaces_in_header),
    "keys that a node does not use": _in_schema(_set_in_atoms(shape=lambda n, _: _piece(n))),
    "classes of numbers": _in_schema(_set_in_atoms(__class__=lambda n, _: _piece(n))),
    "whether it is JSON": _in_schema(_set_in_atoms(is_json=lambda n, _: _piece(n))),
    "spaces before numbers": _in_schema(_set_in_atoms(content=lambda n, text: " " * (HIDDEN[n % 300] % 9) + text)),
    "numbers of nodes": _in_schema(
        lambda node, n: node.update(__id__=int(_piece(n, 12), 16)) if "__loader__" in node else None
    ),
    "version": _in_schema(lambda node, n: node.update(_skops_version=_TEXT) if n == 0 else None),
    "spaces behind commas": _archived(
        lambda name, content: (
            re.sub(rb",", lambda m: b"," + b" " * (HIDDEN[m.start() % 300] & 1), content)
            if name == "schema.json"
            else content
        )
    ),
    "extra fields": _archived(extra=lambda _: struct.pack("<HH", 0x7075, 200) + HIDDEN[:200]),
    "comments of members": _archived(comment=lambda i: HIDDEN[i:][:99]),
    "dates": _archived(date_time=lambda i: (1980 + HIDDEN[i % 300] % 100, 1 + HIDDEN[-1 - i % 300] % 12, 1, 1, 1, 0)),
    "permissions": _archived(external_attr=lambda i: int.from_bytes(HIDDEN[4 * i % 290 :][:4], "little")),
    "systems": _archived(create_system=lambda i: HIDDEN[i % 300]),
    "names in headers": _local_names,
    "between members": _between,
    "behind the end": lambda d: d + HIDDEN,
}


# Boosters


def _in_json(change: Callable[[dict[str, Any]], object]) -> Stuff:
    def stuff(content: bytes) -> bytes:
        said = json.loads(content)
        change(said)
        return json.dumps(said, separators=(",", ":")).encode()

    return stuff


def _of_xgboost(said: dict[str, Any]) -> list[dict[str, Any]]:
    trees: list[dict[str, Any]] = said["learner"]["gradient_booster"]["model"]["trees"]
    return trees


def _at_nodes(name: str, at_leaves: bool | None, value: Callable[[np.random.Generator], Any]) -> Stuff:
    def change(said: dict[str, Any]) -> None:
        random = np.random.default_rng(2)
        for tree in _of_xgboost(said):
            here = [at_leaves in (None, left < 0) for left in tree["left_children"]]
            tree[name] = [value(random) if h else old for h, old in zip(here, tree[name], strict=True)]

    return _in_json(change)


def _single(random: np.random.Generator) -> float:
    return float(f"{np.float32(random.random())}")


def _whole(random: np.random.Generator) -> int:
    return int(random.integers(2**31 - 1))


def _more_digits(content: bytes) -> bytes:
    at = iter(range(10**6))
    number = rb"(?<=[,\[])(-?\d\.\d{5,})(?=[,\]])"
    return re.sub(number, lambda m: m[1] + _TEXT[next(at) % 500 :][:7].translate(_AS_DIGITS).encode(), content)


_AS_DIGITS = str.maketrans("abcdef", "123456")

XGBOOST: dict[str, Stuff] = {
    "gains": _at_nodes("loss_changes", False, _single),
    "gains of leaves": _at_nodes("loss_changes", True, _single),
    "parents": _at_nodes("parents", None, _whole),
    "columns of leaves": _at_nodes("split_indices", True, _whole),
    "directions of leaves": _at_nodes("default_left", True, lambda random: int(random.integers(2))),
    "weights of leaves": _at_nodes("base_weights", True, _single),
    "an entry": _in_json(lambda said: said["learner"].update(note=_TEXT)),
    "parameters of trees": _in_json(lambda said: [t["tree_param"].update(note=_piece(7)) for t in _of_xgboost(said)]),
    "numbers of trees": _in_json(lambda said: [tree.update(id=HIDDEN[i]) for i, tree in enumerate(_of_xgboost(said))]),
    "attributes": _in_json(lambda s: s["learner"].update(attributes={f"a{i}": _piece(i) for i in range(40)})),
    "types of columns": _in_json(lambda said: said["learner"].update(feature_types=[_piece(i, 99) for i in range(3)])),
    "parameters of the objective": _in_json(lambda said: said["learner"]["objective"].update(note=_piece(0, 150))),
    "version": _in_json(lambda said: said.update(version=[*said["version"], *HIDDEN])),
    "digits": _more_digits,
    "spaces": lambda d: re.sub(rb",", lambda m: b"," + b" " * (HIDDEN[m.start() % 300] & 1), d),
    "spaces at the end": lambda d: d + b"".join(b" " if byte & 1 else b"\t" for byte in HIDDEN),
}


def _in_lines(name: bytes, value: Callable[[bytes, int], bytes]) -> Stuff:
    def stuff(content: bytes) -> bytes:
        def changed(match: re.Match[bytes]) -> bytes:
            return name + b"=" + b" ".join(value(one, i) for i, one in enumerate(match[1].split(b" ")))

        return re.sub(rb"(?m)^" + name + rb"=(.*)$", changed, content)

    return stuff


LIGHTGBM: dict[str, Stuff] = {
    "gains": _in_lines(b"split_gain", lambda _, i: b"%g" % (HIDDEN[i] / 7)),
    "weights of nodes": _in_lines(b"internal_weight", lambda _, i: b"%g" % (HIDDEN[i] / 7)),
    "sizes of trees": _in_lines(b"tree_sizes", lambda _, i: b"%d" % HIDDEN[i]),
    "digits": _in_lines(b"threshold", lambda old, i: old + b"%03d" % HIDDEN[i]),
    "zeros before numbers": _in_lines(b"leaf_count", lambda old, i: b"0" * (HIDDEN[i] % 9) + old),
    "a line": lambda d: d.replace(b"leaf_value=", b"note=" + _TEXT.encode() + b"\nleaf_value=", 1),
    "a comment": lambda d: d.replace(b"leaf_value=", b"# " + _TEXT.encode() + b"\nleaf_value=", 1),
    "a field of other trees": lambda d: d.replace(
        b"leaf_value=", b"cat_threshold=" + _TEXT.encode() + b"\nleaf_value=", 1
    ),
    "importances": lambda d: d.replace(b"importances:\n", b"importances:\nnote=" + _TEXT.encode() + b"\n", 1),
    "numbers of importances": lambda d: re.sub(rb"(?m)^(Column_\d)=\d+$", rb"\1=9157", d),
    "a parameter": lambda d: re.sub(rb"\[data: [^\]]*\]", b"[data: " + (_TEXT * 2).encode() + b"]", d),
    "empty lines": lambda d: b"".join(
        line + b"\n" * (1 + (HIDDEN[i % 300] & 1)) for i, line in enumerate(d.split(b"\n"))
    ),
    "line ends": lambda d: b"".join(
        line + (b"\r\n" if HIDDEN[i % 300] & 1 else b"\n") for i, line in enumerate(d.split(b"\n"))
    ),
    "behind the end": lambda d: d + _TEXT.encode(),
}


def _spare(content: bytes) -> bytes:
    core = content[8:] + HIDDEN
    return content[:4] + struct.pack("<I", len(core)) + core


def _before_the_root(content: bytes) -> bytes:
    (root,) = struct.unpack_from("<I", content, 8)
    core = struct.pack("<I", root + 300) + HIDDEN + content[12:]
    return content[:4] + struct.pack("<I", len(core)) + core


CBM: dict[str, Stuff] = {
    "spare bytes": _spare,
    "bytes before the root": _before_the_root,
    "behind": lambda d: d + HIDDEN,
}


def _of_catboost(**entries: Any) -> Callable[[dict[str, Any]], object]:
    return lambda said: said["model_info"].update(entries)


CATBOOST: dict[str, Stuff] = {
    "an entry": _in_json(lambda said: said.update(note=_TEXT)),
    "identity": _in_json(_of_catboost(model_guid=_TEXT)),
    "training": _in_json(_of_catboost(training=_TEXT)),
    "options": _in_json(_of_catboost(output_options=_TEXT)),
    "a nested parameter": _in_json(lambda said: said["model_info"]["params"]["system_options"].update(note=_TEXT)),
    "entries of columns": _in_json(
        lambda said: [one.update(note=_piece(i)) for i, one in enumerate(said["features_info"]["float_features"])]
    ),
    "numbers of columns": _in_json(
        lambda said: [
            one.update(feature_index=HIDDEN[i]) for i, one in enumerate(said["features_info"]["float_features"])
        ]
    ),
    "borders that no tree tests": _in_json(
        lambda said: said["features_info"]["float_features"][0].update(borders=[0.5, *range(1, 40)])
    ),
    "entries of trees": _in_json(lambda said: [one.update(note=_piece(3)) for one in said["oblivious_trees"]]),
    "numbers of splits": _in_json(
        lambda said: [one.update(split_index=HIDDEN[4]) for tree in said["oblivious_trees"] for one in tree["splits"]]
    ),
    "spaces": lambda d: re.sub(rb",", lambda m: b"," + b" " * (HIDDEN[m.start() % 300] & 1), d),
    "digits": lambda d: re.sub(rb"(\d\.\d{12,})(?=[,\n])", rb"\g<1>8675309", d),
}


# ONNX


@cache
def onnx() -> bytes:
    """Return what skl2onnx writes of the forest."""
    from skl2onnx import to_onnx

    content: bytes = to_onnx(
        model("forest"), table()[0][:1].astype(np.float32), options={"zipmap": False}
    ).SerializeToString()
    return content


def _in_onnx(change: Callable[[Any], object]) -> Stuff:
    def stuff(content: bytes) -> bytes:
        import onnx as library

        said = library.load_model_from_string(content)
        change(said)
        changed: bytes = said.SerializeToString()
        return changed

    return stuff


_FIELD_997 = b"\xaa\x3e\xac\x02" + HIDDEN


def _at_leaves(said: Any) -> None:
    held = {attribute.name: attribute for attribute in said.graph.node[0].attribute}
    for index, mode in enumerate(held["nodes_modes"].strings):
        if mode == b"LEAF":
            held["nodes_featureids"].ints[index] = HIDDEN[index]


def _rates(said: Any) -> None:
    for attribute in said.graph.node[0].attribute:
        if attribute.name == "nodes_hitrates":
            attribute.floats[:] = [byte / 256 for byte in (HIDDEN * 9)[: len(attribute.floats)]]


ONNX: dict[str, Stuff] = {
    "documentation": _in_onnx(lambda said: setattr(said, "doc_string", _piece(0, 150))),
    "metadata": _in_onnx(lambda said: [said.metadata_props.add(key=f"k{i}", value=_piece(i, 99)) for i in range(4)]),
    "producer": _in_onnx(lambda said: setattr(said, "producer_version", _TEXT)),
    "a field of a node": _in_onnx(lambda said: said.graph.node[0].MergeFromString(_FIELD_997)),
    "a field of an attribute": _in_onnx(lambda said: said.graph.node[0].attribute[0].MergeFromString(_FIELD_997)),
    "a field of an output": _in_onnx(lambda said: said.graph.output[0].MergeFromString(_FIELD_997)),
    "names of outputs": _in_onnx(lambda said: said.graph.output.add(name=_TEXT)),
    "domains": _in_onnx(lambda said: [said.opset_import.add(domain=_piece(i, 60), version=1) for i in range(5)]),
    "a name that is not taken": lambda d: d + b"\x12\xc8\x01" + HIDDEN[:200],
    "columns of leaves": _in_onnx(_at_leaves),
    "rates of nodes": _in_onnx(_rates),
}


def _nodes(kind: str) -> dict[str, Stuff]:
    half = lambda random: random.random() / 2  # noqa: E731
    return {
        "padding": in_nodes(kind, "padding", "all"),
        "thresholds of leaves": in_nodes(kind, "threshold", "leaves"),
        "columns of leaves": in_nodes(kind, "feature", "leaves"),
        "directions of leaves": in_nodes(kind, "missing_go_to_left", "leaves"),
        "impurities": in_nodes(kind, "impurity", "others", half),
    }


_BITS = {"directions of leaves, 0 or 1": lambda random: int(random.integers(2))}
OF_HISTOGRAMS = ("num_threshold", "feature_idx", "gain", "bin_threshold", "missing_go_to_left", "bitset_idx")

FORMATS: dict[str, tuple[str, Callable[[], bytes], dict[str, Stuff]]] = {
    "forest": (
        ".joblib",
        lambda: dumped("forest"),
        {
            **_nodes("forest"),
            **JOBLIB,
            **{n: in_nodes("forest", "missing_go_to_left", "leaves", v) for n, v in _BITS.items()},
        },
    ),
    "regressor": (".joblib", lambda: dumped("regressor"), _nodes("regressor")),
    "extra trees": (".joblib", lambda: dumped("extra trees"), _nodes("extra trees")),
    "best first": (".joblib", lambda: dumped("best first"), _nodes("best first")),
    "histograms": (
        ".joblib",
        lambda: dumped("histograms"),
        {f"{name} of leaves": in_nodes("histograms", name, "leaves") for name in OF_HISTOGRAMS},
    ),
    "pickle": (".pkl", lambda: pickle.dumps(model("forest"), 4), PICKLES),
    "old pickle": (".pkl", lambda: pickle.dumps(model("forest"), 2), {"numbers of memos": _far_puts}),
    "gzip": (".pkl", lambda: gzip.compress(pickle.dumps(model("forest")), mtime=0), GZIP),
    "skops": (".skops", skops, SKOPS),
    "skops of extra trees": (".skops", lambda: skops("extra trees"), {"padding": _in_padding("extra trees")}),
    "xgboost": (".json", lambda: small_boosters.as_json(small_boosters.booster(*small_boosters.rows())), XGBOOST),
    "lightgbm": (".txt", (FILES / "lightgbm-4.7.0-two.txt").read_bytes, LIGHTGBM),
    "catboost": (".cbm", (FILES / "catboost-1.2.10-two.cbm").read_bytes, CBM),
    "catboost as JSON": (".json", (FILES / "catboost-1.2.10-two.json").read_bytes, CATBOOST),
    "onnx": (".onnx", onnx, ONNX),
}
"""By format: how its files end, an honest one, and the ways to hide bytes in it."""

NEEDS = {"skops": "skops.io", "skops of extra trees": "skops.io", "onnx": "skl2onnx"}
"""Libraries that write a format."""
