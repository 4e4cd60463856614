"""Everything in a model file that could hold data: its arrays, each with the path to it.

A reader looks at what a model needs, by name; here all the rest is found, whatever it may be for. Nothing is copied:
an array's values are decoded when they are asked for. A path has attribute names and positions, never a dictionary's
key, which could be a value of a row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.encoder import Transformer
from pytest_draft.artifact.pickle.arrays import fill_array
from pytest_draft.artifact.records import Array, Global, Items, Mapping, Record
from pytest_draft.artifact.walking import inside_of, shortened, walk
from pytest_draft.artifact.world.frames import ARROW, arrow_texts, table_in
from pytest_draft.errors import CorruptArtifactError

SMALL = 32
"""Up to so many Python values in a list or a tuple are taken for a parameter, where only its length is known."""

_LONG_TEXT = 200
"""A table could stand in texts longer than this."""

_MOST_CELLS = 2**26
"""Cells of the largest sparse matrix that is written out: 512 MB of numbers."""

_MOST_OBJECTS = 2**24
"""Most values of an array of objects that is written out: a small file can refer to one value again and again."""

_OF_VALUE = 8
"""Bytes of a value that is written out."""

_DEEPEST = 3
"""Levels of lists in a row, such as the pair of a person's values and label, that are taken for one row."""

_TREE = ("sklearn.tree._tree", "Tree")
_NODES = ("nodes", "values")
_GENERATORS = ("numpy.random",)
MASKED = ("numpy.ma.core", "_mareconstruct")
_NAMES = "feature_names_in_"
_CLASSES = "classes_"
_PARAMETERS = "estimator_params"
_PLAIN = frozenset(
    ("_sklearn_version", "class_weight", "func", "max_samples", "monotonic_cst", "random_state", "warm_start")
)
"""Attributes of which a reader takes plain values only: anything else in them is passed over, and so is listed."""

_WORDS = 624
"""Words of the longest state of a random generator (Mersenne Twister's)."""

_MOST_IN_GENERATOR = 64
"""Most parts that a random generator consists of; more is not taken for one."""

_LONGEST_OF_GENERATOR = 40
_OF_GENERATORS = frozenset(
    (
        *("bit_generator", "buffer", "buffer_pos", "counter", "entropy", "gauss", "has_gauss", "has_uint32", "inc"),
        *("key", "n_children_spawned", "pool", "pool_size", "pos", "s", "seed_seq", "spawn_key", "state", "uinteger"),
    )
)
"""What the states of NumPy's generators and seeds hold by name, and the longest text in them."""

_SIZES = frozenset(("n_features_in_", "n_features_", "_n_features_out", "n_outputs_", "n_classes_", "n_components_"))
"""Attributes that say why an array is as long as it is."""

BY_ROW = frozenset(("_sample_weight", "bin_edges_", "categories_", "quantiles_"))
"""Attributes that are understood and still reveal single rows or values of the training data."""


@dataclass(frozen=True, eq=False)
class Stored:
    """One array, list or table of values in a model file."""

    path: str
    """Attribute names and positions on the way to it."""
    shape: tuple[int, ...]
    few: bool = False
    """Whether it is a list or a tuple of at most `SMALL` Python values."""
    categories: bool = False
    """Whether it is what an encoder knows of one column."""
    joined: Literal["C", "F"] | None = None
    """Where it is what all arrays of a list hold, one after the other: in which order each is read."""
    names: tuple[str, ...] = ()
    """Of the columns of a table that says them."""
    _held: AnyArray | Sequence[object] | Record = field(default=(), repr=False)
    _again: bool = False

    @property
    def is_sparse(self) -> bool:
        """Whether most of its values are not written in the file."""
        return isinstance(self._held, Record)

    def values(self) -> AnyArray:
        """Return the values: numbers or texts as they are stored, else objects (atoms only).

        Raises
        ------
        ValueError
            Where it is a sparse matrix that contradicts itself, or too large to be written out.
        """
        if self._again:
            raise ValueError("a list that refers to the same values again and again")
        if isinstance(self._held, Record):
            return _written_out(self._held, self.shape)
        if isinstance(self._held, np.ndarray):
            return self._held
        if all(isinstance(part, Array) for part in self._held):
            arrays = [part.data for part in self._held if isinstance(part, Array) and part.data is not None]
            if math.prod(self.shape) <= _MOST_CELLS and {array.dtype.kind for array in arrays} <= set("biuf"):
                return np.concatenate([array.ravel(self.joined or "C") for array in arrays]).reshape(self.shape)
        if math.prod(self.shape) > _MOST_OBJECTS:
            raise ValueError("a list that refers to the same values again and again")
        if self.joined:
            flat = np.empty(self.shape, dtype=object)
            flat[:] = [atom for part in self._held for atom in ([part] if _is_atom(part) else _atoms_in(part))]
            return flat
        atoms = self._held if len(self.shape) == 1 else [atom for row in self._held for atom in _atoms_in(row)]
        result = np.empty(len(atoms), dtype=object)
        result[:] = atoms
        return result.reshape(self.shape)


def stored_values(path: str, values: AnyArray, names: tuple[str, ...] = ()) -> Stored:
    """Return values as an array of a file, in which they may stand in any form."""
    return Stored(path, values.shape, names=names, _held=values)


def stored_categories(path: str, columns: object) -> tuple[Stored, ...]:
    """Return the categories of each column; of what is no list of lists of atoms, nothing."""
    return tuple(
        Stored(f"{path}[{index}]", (len(known),), len(known) <= SMALL, categories=True, _held=known)
        for index, known in enumerate(columns if isinstance(columns, list) else ())
        if isinstance(known, list) and known and all(_is_atom(value) for value in known)
    )


@dataclass(frozen=True)
class Contents:
    """What stands in a model file besides its trees."""

    arrays: tuple[Stored, ...] = ()
    """In the file's order."""
    sizes: frozenset[int] = frozenset()
    """Lengths that the file itself explains, such as its number of columns."""
    opaque: tuple[str, ...] = ()
    """Paths of texts and bytes that are too long to be names: nothing is known of what they hold."""
    learned: tuple[Stored, ...] = ()
    """Numbers that a reader has looked at: they are what they are for, and may still be values of single rows."""
    transformers: tuple[Transformer, ...] = ()
    """Whatever its arrays may stand behind."""
    all_undone: bool = True
    """Whether these are all that are covered."""
    names: tuple[tuple[str, ...], ...] = ()
    """Of columns that some object was fitted on."""
    counted: tuple[tuple[str, int], ...] = ()
    """Tables of how many training rows each category is of, and the fewest of them."""
    keys: dict[str, str] = field(default_factory=dict, repr=False)
    """By the paths of objects, the keys that dictionaries have for them."""


NOTHING = Contents()


def contents_of(root: object, budget: Budget, understood: frozenset[tuple[int, str]] = frozenset()) -> Contents:
    """Find all arrays in a file.

    Parameters
    ----------
    root : object
        What the interpreter made of the file.
    understood : frozenset of (int, str)
        Attributes that a reader has looked at, by their record's `id` and name: they hold what they are for. Those in
        `BY_ROW` are listed all the same.
    """
    notes = _Notes(budget, understood)
    walk(root, notes.inside, budget)
    found = (tuple(notes.arrays), frozenset(notes.sizes), tuple(notes.opaque), tuple(notes.learned))
    return Contents(*found, keys=notes.keys)


class _Notes:
    """What one walk over a file has met."""

    def __init__(self, budget: Budget, understood: frozenset[tuple[int, str]]) -> None:
        self._budget = budget
        self._understood = understood
        self._widths: dict[tuple[int, int], int] = {}
        self.arrays: list[Stored] = []
        self.learned: list[Stored] = []
        self.sizes: set[int] = set()
        self.opaque: list[str] = []
        self.keys: dict[str, str] = {}

    def inside(self, path: str, value: object) -> Iterator[tuple[str, object]]:
        """Note a value, and return what is to be visited in it."""
        if isinstance(value, Record):
            yield from self._record(path, value)
        elif isinstance(value, Array):
            yield from self._array(path, value)
        elif isinstance(value, Mapping):
            objects = [(i, key) for i, (key, item) in enumerate(value.pairs) if isinstance(item, Record)]
            self.keys.update({f"{path}[{index}]": key for index, key in objects if type(key) is str})
            yield from self._several(f"{path}(keys)", [key for key, _ in value.pairs])
            yield from self._several(path, [item for _, item in value.pairs])
        elif isinstance(value, (list, tuple)):
            yield from self._several(path, value)
        elif isinstance(value, Items):
            yield from self._several(path, value.items)
        elif _is_long(value):
            self.opaque.append(path)

    def _record(self, path: str, record: Record) -> Iterator[tuple[str, object]]:
        if record.cls.module.startswith(_GENERATORS) and is_generator(record):
            return
        named = record.named
        if record.cls.key == ARROW and (texts := arrow_texts(record)) is not None:
            self._add(path, (len(texts),), texts)
        elif (shape := sparse_shape(record, named)) is not None:
            self._add(path, shape, record)
        elif record.cls.key == MASKED:
            yield path, masked(record)
        else:
            if (table := table_in(record, self._budget)) is not None:
                self.arrays.append(stored_values(path, *table))
            self._note_sizes(named)
            yield from self._attributes(path, record)
            if not isinstance(record.state, Mapping):
                yield f"{path}(state)", record.state
            if record.cls.key != _TREE:
                yield f"{path}(arguments)", record.args
            yield f"{path}(items)", record.appended
            yield f"{path}(items)", record.set_items

    def _note_sizes(self, named: dict[str, object]) -> None:
        """Note the lengths that an object explains: those of its inputs and outputs, and of what a search has tried."""
        self.sizes.update(value for name, value in named.items() if name in _SIZES and type(value) is int)
        if isinstance(tried := named.get("cv_results_"), Mapping):
            self.sizes.update(len(value) for key, value in tried.pairs if key == "params" and isinstance(value, list))

    def _attributes(self, path: str, record: Record) -> Iterator[tuple[str, object]]:
        for name, value in record.pairs:
            if type(name) is not str:
                yield f"{path}(state)", value
            elif not (_holds_names(record, name, value) or (record.cls.key == _TREE and name in _NODES)):
                inside = inside_of(path, name)
                listed = name in BY_ROW or (name in _PLAIN and not _is_plain(value))
                if listed or (id(record), name) not in self._understood:
                    yield inside, value
                else:
                    if name != _CLASSES:
                        self._note_understood(inside, value)
                    yield from objects_in(inside, value)

    def _note_understood(self, path: str, value: object) -> None:
        """Note the numbers that a transformer has learned, which a reader has looked at."""
        several = value if isinstance(value, (list, tuple)) else [value]
        for index, array in enumerate(several):
            if isinstance(array, Array) and array.data is not None and array.data.dtype.kind == "f":
                inside = path if array is value else f"{path}[{index}]"
                self.learned.append(Stored(inside, array.shape, _held=array.data))

    def _array(self, path: str, array: Array) -> Iterator[tuple[str, object]]:
        if array.items is not None:
            if all(_is_atom(item) for item in array.items):
                self._add(path, array.shape, _objects(array))
            else:
                yield from self._several(path, array.items)
        elif array.data is not None and array.data.dtype.names:
            for name in array.data.dtype.names:
                self._add(f"{path}[{name}]", array.shape, array.data[name])
        elif array.data is not None:
            self._add(path, array.shape, array.data)

    def _several(self, path: str, items: Sequence[object]) -> Iterator[tuple[str, object]]:
        """Note a list of atoms or a table of them; return the items of any other."""
        if len(items) > 1 and all(_is_atom(item) for item in items):
            self._add(path, (len(items),), items)
            return
        widths = {self._width(item, _DEEPEST) for item in items} if len(items) > 1 else {0}
        if len(widths) == 1 and widths != {0}:
            self._add(path, (len(items), *widths), items, again=self._are_repeated(items))
            if all(_is_atom(part) for item in _distinct(items) for part in _parts_of(item)):
                return
        if len(items) > 1:
            self._join(path, items, cut_evenly=len(widths) == 1)
        for index, item in enumerate(items):
            yield f"{path}[{index}]", item

    def _join(self, path: str, items: Sequence[object], *, cut_evenly: bool) -> None:
        """Note what lists and arrays hold together: a table can be cut anywhere, and its pieces turned round."""
        total = sum(1 if _is_atom(item) else self._width(item, _DEEPEST) for item in items)
        all_plain = all(_is_atom(item) or self._width(item, _DEEPEST) for item in items)
        if not all_plain or any(type(item) is str for item in items):
            return
        again = self._are_repeated(items)
        if not cut_evenly:
            self.arrays.append(Stored(path, (total,), joined="C", _held=items, _again=again))
        if all(isinstance(item, Array) and len(item.shape) > 1 for item in items):
            self.arrays.append(Stored(path, (total,), joined="F", _held=items, _again=again))

    def _are_repeated(self, items: Sequence[object]) -> bool:
        """Return whether rows stand in a table too often for its file's size; else count what repeating them takes."""
        once = {id(item): item for item in items}
        if len(once) == len(items):
            return False
        more = sum(self._width(item, _DEEPEST) for item in items)
        more -= sum(self._width(item, _DEEPEST) for item in once.values())
        return not self._budget.has_room(_OF_VALUE * more)

    def _width(self, item: object, depth: int) -> int:
        """Return how many atoms a row of a nested list holds, also in lists and arrays in it; 0 where it is none."""
        key = (id(item), depth)
        if key not in self._widths:
            widths = [1 if _is_atom(part) else self._width(part, depth - 1) if depth else 0 for part in _parts_of(item)]
            self._widths[key] = _size_of(item) or (sum(widths) if all(widths) else 0)
        return self._widths[key]

    def _add(
        self, path: str, shape: tuple[int, ...], held: AnyArray | Sequence[object] | Record, *, again: bool = False
    ) -> None:
        few = isinstance(held, (list, tuple)) and math.prod(shape) <= SMALL
        if not isinstance(held, Record) and _holds_long(held):
            self.opaque.append(path)
        name = path.rpartition(".")[2]
        # Those of a KBinsDiscretizer's own encoder are numbers of bins.
        of_bins = "._encoder.categories_[" in path
        categories = (name.startswith(("categories_[", "pandas_categorical[")) and not of_bins) or name == _CLASSES
        self.arrays.append(Stored(path, shape, few, categories, _held=held, _again=again))


def objects_in(path: str, value: object) -> Iterator[tuple[str, Record]]:
    """Return the objects in an attribute that is understood itself, each once, wherever in its lists they are."""
    seen: dict[int, object] = {}
    ahead: list[tuple[str, object]] = [(path, value)]
    while ahead:
        at, found = ahead.pop()
        if id(found) in seen:
            continue
        seen[id(found)] = found
        if isinstance(found, Record):
            yield at, found
            continue
        items = found.items if isinstance(found, Array) else found
        if isinstance(items, (list, tuple)):
            inner = ((i, part) for i, part in enumerate(items) if isinstance(part, (Record, list, tuple)))
            ahead += reversed([(shortened(f"{at}[{i}]"), part) for i, part in inner])


def _holds_names(record: Record, name: str, value: object) -> bool:
    """Return whether an attribute holds names of columns or of parameters, as many as there must be."""
    if name == _PARAMETERS:
        return isinstance(value, (list, tuple)) and len(value) <= SMALL and all(type(item) is str for item in value)
    if name != _NAMES or not isinstance(value, Array) or value.items is None:
        return False
    count = record.attributes().get("n_features_in_")
    return value.shape == (count,) and all(type(item) is str for item in value.items)


def _is_plain(value: object) -> bool:
    """Return whether a value is an atom, a name, an object, or a few atoms by atoms, such as a class weight."""
    if isinstance(value, Mapping):
        return len(value.pairs) <= SMALL and all(_is_atom(key) and _is_atom(item) for key, item in value.pairs)
    return _is_atom(value) or isinstance(value, (Record, Global))


def is_generator(record: Record) -> bool:
    """Return whether a record holds no more than the state of a generator of random numbers."""
    ahead: list[object] = [record.args, record.state]
    for _ in range(_MOST_IN_GENERATOR):
        if not ahead:
            return not (record.appended or record.set_items.pairs)
        if len(ahead) > _MOST_IN_GENERATOR:
            return False
        value = ahead.pop()
        if isinstance(value, Record):
            ahead += (value.args, value.state)
        elif isinstance(value, Mapping):
            if any(type(key) is not str or key not in _OF_GENERATORS for key, _ in value.pairs):
                return False
            ahead += (item for _, item in value.pairs)
        elif isinstance(value, (list, tuple)):
            ahead += value
        elif type(value) is str and len(value) > _LONGEST_OF_GENERATOR:
            return False
        elif isinstance(value, Array):
            if value.data is None or value.data.dtype.kind != "u" or value.data.size > _WORDS:
                return False
        elif not (_is_atom(value) or isinstance(value, Global)):
            return False
    return False


def _is_atom(value: object) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _is_long(value: object) -> bool:
    """Return whether a value is a text or bytes in which a table could stand."""
    return isinstance(value, (str, bytes, bytearray, memoryview)) and len(value) > _LONG_TEXT


def _holds_long(held: AnyArray | Sequence[object]) -> bool:
    """Return whether a long text or bytes stands in an array, a list, or a row of a list."""
    if isinstance(held, np.ndarray) and held.dtype.kind in "US":
        return bool(held.size and np.char.str_len(held).max() > _LONG_TEXT)
    if isinstance(held, np.ndarray):
        return held.dtype.kind == "O" and any(map(_is_long, held.flat))
    return any(_is_long(item) or any(map(_is_long, _parts_of(item))) for item in _distinct(held))


def _distinct(items: Sequence[object]) -> Collection[object]:
    """Return what a list holds, each once: it can hold the same row again and again."""
    return {id(item): item for item in items}.values()


def _parts_of(row: object) -> Sequence[Any]:
    """Return what a row of a nested list holds; nothing where it is none."""
    if isinstance(row, Mapping):
        return [item for _, item in row.pairs]
    return row if isinstance(row, (list, tuple)) else ()


def _size_of(row: object) -> int:
    """Return how many values an array of numbers or texts holds; 0 for all else."""
    return row.data.size if isinstance(row, Array) and row.data is not None and not row.data.dtype.names else 0


def _atoms_in(row: object) -> Iterator[Any]:
    """Return the atoms of a row of a nested list, also those in lists and arrays in it."""
    if isinstance(row, Array) and row.data is not None:
        yield from row.data.ravel().tolist()
    for part in _parts_of(row):
        if _is_atom(part):
            yield part
        else:
            yield from _atoms_in(part)


def _objects(array: Array) -> AnyArray:
    result = np.empty(len(array.items or ()), dtype=object)
    result[:] = array.items
    return result.reshape(array.shape)


def sparse_shape(record: Record, named: dict[str, object]) -> tuple[int, ...] | None:
    """Return the shape of a compressed sparse matrix of SciPy; None for any other record."""
    shape = named.get("_shape")
    parts = [named.get(name) for name in ("data", "indices", "indptr")]
    if not record.cls.module.startswith("scipy.sparse") or not all(isinstance(part, Array) for part in parts):
        return None
    if not isinstance(shape, tuple) or len(shape) != 2 or any(type(n) is not int or n < 0 for n in shape):
        return None
    return shape


def _written_out(record: Record, shape: tuple[int, ...]) -> AnyArray:
    """Return a compressed sparse matrix as an array with its zeros."""
    named = record.attributes()
    arrays = [array.data for name in ("data", "indices", "indptr") if isinstance(array := named[name], Array)]
    data, indices, pointer = (np.empty(0) if array is None else array for array in arrays)
    by_column = record.cls.name.startswith("csc")
    long, wide = shape[::-1] if by_column else shape
    if long * wide > _MOST_CELLS or len(pointer) != long + 1 or len(indices) != len(data):
        raise ValueError("a sparse matrix that is too large, or malformed")
    ends = pointer.astype(np.int64)
    counts = ends[1:] - ends[:-1]
    inside = indices.size == 0 or (indices.min() >= 0 and indices.max() < wide)
    if data.dtype.kind not in "biuf" or not inside or (counts < 0).any() or counts.sum() != len(data):
        raise ValueError("a sparse matrix that is malformed")
    result = np.zeros((long, wide), dtype=data.dtype)
    result[np.repeat(np.arange(long), counts), indices] = data
    return result.T if by_column else result


def masked(record: Record) -> object:
    """Return the values of a masked array; where it is malformed, its state."""
    array = Array()
    try:
        fill_array(array, record.state[:5] if isinstance(record.state, tuple) else None)
    except CorruptArtifactError:
        return record.state
    return array
