"""Pickles that call, reach outside, lie about sizes, or are damaged: nothing goes in, out come `Hostile` files."""

from __future__ import annotations

import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import AdaBoostRegressor, BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from attack_corpus.entry import Hostile, corrupt, dumped, forest, not_allowed, rows, too_big, unsupported

NAMES = ("a\nb", "\x1b[31mred", "::error::x", "##[group]x", "\u202e", "x" * 200)
"""Names that would speak to a terminal or to a workflow."""


class Payload:
    """Would make a file ``ran`` if anybody unpickled it."""

    def __reduce__(self):
        return os.system, ("touch ran",)


def text(value: str) -> bytes:
    raw = value.encode("utf-8")
    return b"\x8c" + bytes([len(raw)]) + raw


def named(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


def start(instructions: bytes, protocol: int = 4) -> bytes:
    return b"\x80" + bytes([protocol]) + instructions


def files() -> Iterator[Hostile]:
    yield from _calls()
    yield from _names()
    yield from _instructions()
    yield from _types()
    yield from _sizes()
    yield from _damaged()
    yield from _foreign()


def _calls() -> Iterator[Hostile]:
    system = (f"a call of {os.name}.system", "byte ", "nothing was run")
    for protocol in (2, 3, 4, 5):
        yield not_allowed(f"os.system, pickle {protocol}", pickle.dumps(Payload(), protocol=protocol), *system)
        yield not_allowed(f"os.system, joblib {protocol}", dumped(Payload(), protocol=protocol), *system)
    for protocol in (0, 1):
        yield unsupported(f"os.system, pickle {protocol}", pickle.dumps(Payload(), protocol=protocol), "does not begin")
    model = forest()
    model.estimators_[1].__dict__["tree_"] = Payload()
    yield not_allowed("payload in place of a tree's nodes", dumped(model), "system")


def _names() -> Iterator[Hostile]:
    for module, name in (
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("builtins", "__import__"),
        ("numpy.testing._private.utils", "runstring"),
        ("numpy", "dtype.__class__"),
        ("numpy", "f2py.capi_maps.os.system"),
        ("numpy.dtype", ""),
        ("sklearn.tree._tree", "Tree.__new__"),
        ("joblib.numpy_pickle", "os.system"),
        ("numpy._core.multiarray", "fromfile"),
        ("functools", "partial"),
        ("operator", "methodcaller"),
        ("types", "CodeType"),
        ("pickle", "loads"),
    ):
        called = start(named(module, name) + text("x") + b"\x85R.")
        yield not_allowed(f"call of {module} {name}", called, f"{module}.{name}")
        if name and "." not in name:
            called = start(f"c{module}\n{name}\n".encode() + b"X\x01\x00\x00\x00x\x85R.", 2)
            yield not_allowed(f"call of {module} {name}, protocol 2", called, f"{module}.{name}")
    for name in NAMES:
        yield not_allowed(f"call of os {name!a}", start(named("os", name) + b")R."), "a call of os.")
        yield unsupported(f"object of {name!a}", start(named(name, name) + b")\x81."), "it holds a")
    made = named("subprocess", "Popen") + b")\x81}" + text("args") + text("x") + b"sb."
    yield unsupported("object of an unknown class", start(made), "it holds a subprocess.Popen")


def _instructions() -> Iterator[Hostile]:
    for name, instructions in {
        "INST": b"(S'touch ran'\nios\nsystem\n.",
        "OBJ": b"(cos\nsystem\nS'touch ran'\no.",
        "PERSID": b"Pname\n.",
        "BINPERSID": b"N\x51.",
        "EXT1": b"\x82\x01.",
        "EXT2": b"\x83\x01\x00.",
        "EXT4": b"\x84\x01\x00\x00\x00.",
        "NEXT_BUFFER": b"N\x97.",
        "READONLY_BUFFER": b"N\x98.",
    }.items():
        yield not_allowed(name, start(instructions, 5), f"the instruction {name}, which reaches outside the file")
    for name, instructions in {
        "NEWOBJ of None": b"N)\x81.",
        "REDUCE of None": b"N)R.",
        "REDUCE of a text": b"\x8c\x01x)R.",
    }.items():
        yield not_allowed(name, start(instructions), "not a name")
    for name, instructions in {
        "REDUCE on a short stack": b"(lNR.",
        "REDUCE with a list": named("numpy", "dtype") + b"]R.",
        "NEWOBJ with a list": named("a", "b") + b"]\x81.",
        "NEWOBJ_EX without keywords": named("a", "b") + b")N\x92.",
        "STACK_GLOBAL of numbers": b"K\x01K\x02\x93.",
        "BUILD of a number": b"K\x01}b.",
        "BUILD twice": named("a", "b") + b")\x81}b}b.",
        "APPEND to a number": b"K\x01Na.",
        "ADDITEMS to a list": b"](N\x90.",
        "SETITEMS of an odd number": b"}(NNNu.",
        "SETITEM of a list": b"]NNs.",
        "nothing left": b".",
        "two things left": b"NN.",
        "a mark left": b"(N.",
        "POP of nothing": b"0.",
        "POP_MARK without a mark": b"N1.",
        "memo without an entry": b"h\x07.",
        "PROTO again": b"N\x80\x04.",
        "an unknown instruction": b"\xff.",
        "a name that is not ASCII": b"cno\xe9\nx\n.",
        "a name without its second half": b"cno",
        "a wrong number": b"Iabc\n.",
        "a wrong text": b"Sabc\n.",
        "UTF-8 that is none": b"\x8c\x01\xff.",
    }.items():
        yield corrupt(name, start(instructions), "its pickle is damaged" if name[-4:] != "half" else "ends too early")


def _types() -> Iterator[Hostile]:
    scalar = named("numpy.core.multiarray", "scalar")
    objects = named("numpy", "dtype") + text("O8") + b"\x89\x88\x87R"
    fake = start(scalar + objects + b"C\x08" + b"A" * 8 + b"\x86R.")
    yield not_allowed("a scalar that is a raw pointer", fake, "a raw pointer")
    buffer = start(named("numpy._core.numeric", "_frombuffer") + b"(C\x08AAAAAAAA" + objects + b"K\x01\x85" + text("C"))
    yield not_allowed("an array of raw pointers", buffer + b"tR.", "objects from bytes")
    for offset, size in ((8, 8), (2**30, 8), (-8, 8), (0, -8), (1, 8), (0, 2**30)):
        yield corrupt(f"a field at {offset} of {size} bytes", start(_record_type(offset, size)), "record")
    for code, words in {"f3": "data type", "V9999999": "data type", "O8x": "data type", "x" * 50: "data type"}.items():
        made = start(named("numpy", "dtype") + text(code) + b"\x89\x88\x87R.")
        yield unsupported(f"the data type {code[:9]}", made, words)
    number = named("numpy", "dtype") + text("f8") + b"\x89\x88\x87R"
    nested = b"(K\x03" + text("<") + number + b"K\x02\x86NNK\x08K\x01K\x10tb."
    yield unsupported("a data type of arrays", start(number + nested), "whose items are arrays")
    for name, state in {
        "a state that is a number": b"K\x01b.",
        "a state of one": b"K\x01\x85b.",
        "an unknown byte order": b"(K\x03" + text("!") + b"NNNK\x08K\x01K\x10tb.",
        "fields without names": b"(K\x03" + text("<") + b"NN}K\x08K\x01K\x10tb.",
    }.items():
        yield corrupt(f"a data type with {name}", start(number + state), "data type")
    yield from _malformed()
    yield corrupt("a codec's bytes above latin1", _encoded("\u20ac", "latin1"), "not latin1")
    yield not_allowed("another codec", _encoded("a", "rot13"), "a codec other than latin1")
    yield corrupt("_reconstructor of no class", start(named("copyreg", "_reconstructor") + b"NNN\x87R."), "class")


def _malformed() -> Iterator[Hostile]:
    """Yield what NumPy's own functions are given that they cannot be given."""
    number = named("numpy", "dtype") + text("f8") + b"\x89\x88\x87R"
    objects = named("numpy", "dtype") + text("O8") + b"\x89\x88\x87R"
    record = named("numpy", "dtype") + text("V8") + b"\x89\x88\x87R"
    scalar = named("numpy._core.multiarray", "scalar")
    empty = named("numpy._core.multiarray", "_reconstruct") + named("numpy", "ndarray") + b"K\x00\x85C\x01b\x87R"
    state = b"(K\x01K\x01\x85" + number + b"\x89C\x08AAAAAAAAtb"
    for name, instructions in {
        "a type by a number": named("numpy", "dtype") + b"K\x01\x85R.",
        "a type by nothing": named("numpy", "dtype") + b")R.",
        "a scalar of no type": scalar + b"NN\x86R.",
        "a scalar of one argument": scalar + b"N\x85R.",
        "an array's state that is a number": empty + b"K\x01b.",
        "an array filled twice": empty + state + state[:-1] + b"b.",
        "an array of no type": empty + b"(K\x01K\x01\x85N\x89C\x01AtbN.",
        "an array of fewer objects": empty + b"(K\x01K\x02\x85" + objects + b"\x89]tb.",
        "an array of too many dimensions without items": empty
        + b"(K\x01("
        + b"K\x00" * 40
        + b"t"
        + number
        + b"\x89C\x00tb.",
        "a buffer of no type": named("numpy._core.numeric", "_frombuffer") + b"(C\x00NK\x00\x85" + text("C") + b"tR.",
        "65 fields": record + _fields([f"f{i}" for i in range(65)], number),
        "a field twice": record + _fields(["a", "a"], number),
        "a field of nothing": record
        + b"(K\x03"
        + text("|")
        + b"N"
        + text("a")
        + b"\x85}"
        + text("a")
        + b"NsK\x08K\x01K\x10tb.",
        "a field of no type": record + _fields(["a"], b"N"),
        "fields that are a list": record + b"(K\x03" + text("|") + b"N" + text("a") + b"\x85]K\x08K\x01K\x10tb.",
    }.items():
        yield corrupt(name, start(instructions))
    for name, instructions in {
        "a scalar that is a record": scalar + record + b"C\x08AAAAAAAA\x86R.",
        "a field of objects": record + _fields(["a"], objects),
        "items without bytes": empty + b"(K\x01K\x01\x85" + named("numpy", "dtype") + text("S0") + b"\x85R\x89C\x00tb.",
    }.items():
        yield unsupported(name, start(instructions))
    buffer = named("numpy._core.numeric", "_frombuffer") + b"(C\x00" + objects + b"K\x00\x85" + text("C") + b"tR."
    yield not_allowed("no items of raw pointers", start(buffer), "objects from raw bytes")
    huge = b"\x8a\x08" + (2**61).to_bytes(8, "little")
    shape = b"(K\x01K\x00" + huge + huge + b"\x87" + number + b"\x89C\x00tb."
    yield corrupt("no items in 2^61 columns of 2^61", start(empty + shape), "an array's shape")
    pair = dumped(np.array([None, None], object))
    at = pair.index(b"\x8c\x05shape\x94K") + 9
    yield corrupt("an array of objects of another shape", pair[:at] + b"\x03" + pair[at + 1 :], "damaged")
    long = b"X" + struct.pack("<I", 5000) + b"x" * 5000
    yield too_big("a long name", start(long + long + b"\x93)\x81."), "too many characters")
    for name, instructions in {
        "a date": scalar + named("numpy", "dtype") + text("M8") + b"\x85RC\x08AAAAAAAA\x86R.",
        "DUP, DICT, ADDITEMS": b"(K\x01K\x02d2\x8f(K\x01\x90\x87.",
        "NEWOBJ_EX": named("a", "b") + b")}\x92.",
        "_reconstructor": named("copyreg", "_reconstructor") + named("a", "b") + named("a", "b") + b"N\x87R.",
        "APPENDS to an object": named("a", "b") + b")\x81(K\x01e.",
    }.items():
        yield unsupported(f"{name}, which are read", start(instructions), "it holds")


def _fields(names: list[str], kind: bytes) -> bytes:
    """Return the state of a record's data type, and the end of the pickle."""
    described = b"".join(text(name) + kind + b"K\x00\x86s" for name in names)
    listed = b"(" + b"".join(map(text, names)) + b"t"
    return b"(K\x03" + text("|") + b"N" + listed + b"}" + described + b"K\x08K\x01K\x10tb."


def _encoded(value: str, codec: str) -> bytes:
    return start(named("_codecs", "encode") + text(value) + text(codec) + b"\x86R.")


def _record_type(offset: int, size: int) -> bytes:
    number = named("numpy", "dtype") + text("f8") + b"\x89\x88\x87R"
    record = named("numpy", "dtype") + text("V8") + b"\x89\x88\x87R"
    fields = b"}" + text("a") + number + b"J" + struct.pack("<i", offset) + b"\x86s"
    state = b"(K\x03" + text("|") + b"N" + text("a") + b"\x85" + fields
    return record + state + b"J" + struct.pack("<i", size) + b"K\x01K\x10tb."


def _array(content: bytes, shape: bytes) -> bytes:
    """Return an array of bytes by ``_reconstruct`` and BUILD."""
    number = named("numpy", "dtype") + text("u1") + b"\x89\x88\x87R"
    made = named("numpy._core.multiarray", "_reconstruct") + named("numpy", "ndarray") + b"K\x00\x85C\x01b\x87R"
    return start(made + b"(K\x01" + shape + number + b"\x89" + content + b"tb.")


def _sizes() -> Iterator[Hostile]:
    for length in (2**62, 2**63, 2**64 - 1, 100):
        for protocol, code in ((4, b"\x8e"), (4, b"\x8d"), (5, b"\x96")):
            lying = start(code + struct.pack("<Q", length) + b"abc.", protocol)
            said = "ends too early" if length < 2**63 else "its pickle is damaged"
            yield corrupt(f"{length} bytes by {code.hex()}", lying, said)
    for length in (2**31 - 1, 2**32 - 1):
        yield corrupt(
            f"{length} bytes by BINBYTES", start(b"B" + struct.pack("<I", length) + b"abc."), "ends too early"
        )
    honest = dumped(forest())
    shape = honest.index(b"\x8c\x05shape\x94K") + len(b"\x8c\x05shape\x94")
    huge = b"\x8a\x06" + (2**39).to_bytes(6, "little")
    said = "the file ends inside an array of", "MB (byte"
    yield corrupt("a joblib array of 2^39", honest[:shape] + huge + honest[shape + 2 :], *said)
    for name, claimed in {
        "2^39": huge,
        "-1": b"J\xff\xff\xff\xff",
        "2^62": b"\x8a\x08" + (2**62).to_bytes(8, "little"),
    }.items():
        yield corrupt(f"an array of {name}", _array(b"C\x01a", claimed + b"\x85"), "array")
    yield corrupt("an array of too many dimensions", _array(b"C\x01a", b"(" + b"K\x01" * 33 + b"t"), "shape")
    yield corrupt("an array whose content is a text", _array(b"\x8c\x01a", b"K\x01\x85"), "content is not bytes")
    for code, name in (
        (b"\x8b" + struct.pack("<i", 10**6) + b"\x01" * 10**6, "LONG4"),
        (b"L" + b"9" * 10**6 + b"L\n", "LONG"),
    ):
        yield too_big(f"a huge integer by {name}", start(code + b".", 2))
    widest = (2**1024 - 1).to_bytes(129, "little")  # the first that is no number in double precision
    yield too_big("an integer of 1024 bits", start(b"\x8a\x81" + widest + b"."), "an integer of 1024 bits")
    yield unsupported(
        "an integer of 1023 bits", start(b"\x8a\x80" + (2**1023 - 1).to_bytes(128, "little") + b"."), "it holds"
    )
    encode = start(b"X" + struct.pack("<I", 2**16) + b"a" * 2**16 + b"q\x010", 2)
    again = b"c_codecs\nencode\nh\x01X\x06\x00\x00\x00latin1\x86R0"
    yield too_big("one text encoded again and again", encode + again * 100 + b"N.", "again and again")
    yield unsupported("a deep key", start(b"})" + b"\x85" * 1_500 + b"Ns.", 2), "a dict")
    doubled = b")q\x000" + b"".join(b"h%ch%c\x86q%c0" % (i, i, i + 1) for i in range(100))
    yield unsupported("a key of 2^100 parts", start(doubled + b"}h\x64Ns.", 2), "a dict")
    colliding = b"".join(b"\x8a\x14" + (i * (2**61 - 1)).to_bytes(20, "little") + b"N" for i in range(50_000))
    yield unsupported("keys of one hash", start(b"}(" + colliding + b"u.", 2), "a dict")
    yield unsupported("a deep list", start(b"]" * 1_500 + b"a" * 1_499 + b"."), "a list")
    yield unsupported("a list in itself", start(b"]q\x00h\x00a.", 2), "a list")


def _damaged() -> Iterator[Hostile]:
    yield corrupt("empty", b"", "the file is empty")
    yield corrupt("one byte", b"\x80", "ends too early")
    yield corrupt("two bytes", b"\x80\x04", "ends too early")
    yield unsupported("three bytes", b"abc", "does not begin")
    for protocol in (0, 1, 6, 9, 255):
        yield unsupported(f"protocol {protocol}", start(b"N.", protocol), f"protocol {protocol}")
    yield corrupt("two pickles", start(b"N.") * 2, "4 bytes follow the end of the model")
    for name, content in (("joblib", dumped(forest())), ("pickle", pickle.dumps(forest()))):
        for part in (0.02, 0.25, 0.5, 0.75, 0.99):
            end = int(len(content) * part)
            yield corrupt(f"{part:.0%} of a {name} file", content[:end], f" of {end}", "copy or train it again")
        yield corrupt(f"a {name} file and more", content + b"more", "4 bytes follow the end of the model")
        yield corrupt(f"a {name} file twice", content * 2, f"{len(content)} bytes follow the end of the model")


def _foreign() -> Iterator[Hostile]:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"
    yield unsupported("a pointer of Git LFS", pointer, "git lfs pull")
    yield unsupported("a web page", b"<!DOCTYPE html><html></html>", "web page")
    yield unsupported("HDF5", b"\x89HDF\r\n\x1a\n" + bytes(100), "HDF5")
    yield unsupported("joblib before 0.10, packed", b"ZF0x10", "joblib before 0.10")
    for name in ("NDArrayWrapper", "ZNDArrayWrapper"):
        old = b"\x80\x02cjoblib.numpy_pickle\n" + name.encode() + b"\n)\x81."
        yield unsupported(f"joblib before 0.10, {name}", old, "joblib before 0.10")
    model = LogisticRegression().fit(*rows())
    yield unsupported("a regression", dumped(model), "it holds a LogisticRegression, which has no trees")
    yield unsupported("a dict", dumped({"model": 1}), "it holds a dict")
    yield unsupported("a list", dumped([model]), "it holds a list")
    yield unsupported("an array", dumped(np.zeros(3)), "it holds an array")
    yield unsupported("a number", dumped(3), "it holds")
    yield unsupported("an OrderedDict", dumped(OrderedDict(a=1)), "OrderedDict")
    yield Hostile("a list of trees", pickle.dumps(forest().estimators_), "several models", ("[0], [1], [2]",))
    columns, classes = rows()
    boosted = AdaBoostRegressor(n_estimators=2).fit(columns, classes == "yes")
    yield unsupported("boosting by draws", dumped(boosted), "it holds an AdaBoostRegressor")
    for unfitted in (RandomForestClassifier(), DecisionTreeClassifier(), BaggingClassifier()):
        yield unsupported(f"an unfitted {type(unfitted).__name__}", dumped(unfitted), "not fitted")
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]})
    yield unsupported("an unfitted search", dumped(search), "GridSearchCV that was not fitted")
    monotonic = RandomForestClassifier(2, monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(columns, classes == "yes")
    yield unsupported("a monotonic forest", dumped(monotonic), "monotonic")
    other = BaggingClassifier(LogisticRegression(), n_estimators=2).fit(columns, classes)
    yield unsupported("bagging of regressions", dumped(other), "a LogisticRegression; supported")
    nested = BaggingClassifier(RandomForestClassifier(2, max_depth=2), n_estimators=2).fit(columns, classes)
    yield Hostile("a forest of forests", dumped(nested), "several models", ("estimators_[0], estimators_[1]",))
    private = start(named("diffprivlib.models.linear_model", "LogisticRegression") + b")\x81.")
    yield unsupported(
        "another private model", private, "a diffprivlib.models.linear_model.LogisticRegression; supported"
    )
