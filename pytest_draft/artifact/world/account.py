"""An account of a file: which of its values nothing explains, and which attributes hold a value for each row.

There is no end to the forms in which somebody can write rows, so they are not sought here. Each value of the file is
asked for its reason instead: a reader has understood it; or its class is known, and so is the attribute, and it has no
more values than an aggregate over rows needs (`known_classes`); or it is one of a few plain values beside, such as a
date or a metric. What has no such reason is unexplained, and nothing is said of a file with that.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.records import CONTAINERS, Array, Dtype, Global, Items, Mapping, Record
from pytest_draft.artifact.walking import inside_of, records_in, shortened
from pytest_draft.artifact.world.contents import (
    MASKED,
    is_generator,
    masked,
    objects_in,
    sparse_shape,
)
from pytest_draft.artifact.world.frames import ARROW, arrow_texts
from pytest_draft.artifact.world.known_classes import PLAIN, TREES_OF_NEIGHBOURS, KnownClass, known_class
from pytest_draft.artifact.world.unused import unused_in
from pytest_draft.facts.contents import Place

MOST_IN_ONE = 64
"""Plain values without another reason in one dict, list or object: parameters, metrics, names."""

MOST_IN_ALL = 192
"""Plain values without another reason in the whole file: a model card with its metrics and versions has 20 to 60."""

MOST_IN_ARRAY = 36
"""Numbers in one array: scores, a confusion matrix of six classes."""

_DECIMAL, _NOT_WORDS = 2, 4
"""As so many plain values counts a decimal or long whole number, and a text that does not read as words."""

_LONG_NUMBER = 2**16

MOST_PARAMETERS = 512
"""Different values of parameters in the whole file: those of equal models are counted once."""

MOST_LETTERS = 4_000
"""Letters of all texts without another reason, and of all that are parameters."""

MOST_LETTERS_NOT_WORDS = 1_000
"""Letters of texts that do not read as words: a table of 300 rows and 4 columns, packed, is one of 4,400."""

MOST_MODELS = 100
"""Objects in one list beside others; as many models of a file are judged."""

MOST_COLUMNS = 8
"""So many lists of a number for each column, such as importances, count as one value each."""

_LONGEST_TEXT = 200
_LONGEST_WORDS = 1_000
_LONGEST_WORD = 24
_LONGEST_BYTES = 16
_LONGEST_NAME = 64
_FEW = 2
_LONGEST_NUMBER = 64
"""Letters, of texts that read as words and others, bytes and bits of one plain value."""

_MOST_NAMES = 16
"""How often each name of a column may stand in lists beside a model."""

_MOST_LISTED = 100
"""Places that are listed."""

_COUNTS = re.compile(
    r"_?n_(?!samples|jobs|iter_no)|^(?:Cs|cv|alphas|_?max_features_?)$|(?:_sizes?|degree|units|components|bins|clusters|knots)$"
)
"""Parameters and attributes that say how long an aggregate is; never a number of rows."""

_ANY_LENGTH = frozenset(
    (
        *("bin_edges_", "_average_path_length_per_tree", "_decision_path_lengths", "bin_thresholds_", "bsplines_"),
        *("categories_", "classes_", "encodings_", "imputation_sequence_", "quantiles_", "references_"),
    )
)
"""Aggregates of any length: what they hold is compared with the data value by value, and reported by other rules."""

_ROWS_BEHIND = ("n_samples_seen_", "n_samples_", "class_count_")
"""Attributes that say of how many rows each aggregate is."""

FEWEST_ROWS = 5
"""An aggregate of fewer rows reveals each of them: the mean of one row is the row."""

_TIMES_AS_MANY = 16
"""A parameter or aggregate has at most so many plain values for each of the lengths that its object explains."""

_FEWEST_ALLOWED = 128
"""So many it may always have."""

_OURS = (
    *("sklearn", "numpy", "scipy", "pandas", "builtins", "imblearn", "category_encoders"),
    "collections",
)
"""Packages whose names say nothing."""

_DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Account:
    """What of a file has no reason to be there."""

    unexplained: tuple[Place, ...] = ()
    kept: tuple[Place, ...] = ()
    """Arrays that hold training rows by their nature, such as the support vectors of an SVC."""
    plain: int = 0
    """Values beside the models that are explained by their small number alone."""
    names: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    """Lists of as many texts as there are columns, which were taken for their names."""


NO_ACCOUNT = Account()


def account_of(root: object, budget: Budget, understood: frozenset[tuple[int, str]] = frozenset()) -> Account:
    """Ask each value of a file for its reason.

    Parameters
    ----------
    root : object
        What the interpreter made of the file.
    understood : frozenset of (int, str)
        Attributes that a reader has looked at, by their record's `id` and name.
    """
    walk = _Walk(budget, understood, *_names_and_sizes(root, budget))
    walk.run(root)
    return Account(
        tuple(walk.unexplained[:_MOST_LISTED]), tuple(walk.kept[:_MOST_LISTED]), walk.plain, tuple(walk.listed)
    )


@dataclass(frozen=True)
class _Way:
    """How a walk came to a value."""

    path: str
    owner: str
    sizes: frozenset[int]
    """Lengths that the objects around it explain."""
    bounded: bool = False
    """Whether it is an attribute that its class is known for."""
    any_length: bool = False
    any_shape: bool = False
    """`any_length` and `any_shape`: of its lists, and of its arrays, as where a reader has looked at them."""
    inside: int = 0
    """The `id` of the container, or of the object and its attribute, whose plain values it is counted among."""
    depth: int = 0
    best_first: bool = False
    """Whether a tree there was grown so."""


@dataclass
class _Walk:
    """One walk over all values, each container once, without recursion: a file can nest them deeply."""

    budget: Budget
    understood: frozenset[tuple[int, str]]
    names: set[str]
    n_columns: frozenset[int]
    listed: list[tuple[str, ...]] = field(default_factory=list)
    unexplained: list[Place] = field(default_factory=list)
    kept: list[Place] = field(default_factory=list)
    plain: int = 0
    _letters: int = 0
    _not_words: int = 0
    _parameters: dict[tuple[str, object], None] = field(default_factory=dict)
    _named: int = 0
    _of_columns: int = 0
    _in_one: Counter[int] = field(default_factory=Counter)
    _crowded: set[int] = field(default_factory=set)
    _classes: set[tuple[str, str]] = field(default_factory=set)

    def run(self, root: object) -> None:
        seen: dict[tuple[int, bool], object] = {}
        ahead: list[tuple[_Way, object]] = [(_Way("", "the file", frozenset()), root)]
        while ahead:
            way, value = ahead.pop()
            self.budget.visit(way.depth)
            if isinstance(value, CONTAINERS) and value != ():
                if (key := (id(value), way.bounded)) in seen:
                    continue
                seen[key] = value
            inner = list(self._inside(way, value))
            ahead += reversed(inner)
        for number, most, what in (
            (self.plain, MOST_IN_ALL, "plain values beside its models"),
            (len(self._parameters), MOST_PARAMETERS, "different values of parameters"),
            (self._letters, MOST_LETTERS, "letters of texts"),
            (self._not_words, MOST_LETTERS_NOT_WORDS, "letters of texts that do not read as words"),
        ):
            if number > most and not self.unexplained:
                self.unexplained.append(Place("", "the file", f"{number:,} {what}"))

    def _inside(self, way: _Way, value: object) -> Iterator[tuple[_Way, object]]:
        """Account for a value, and return what is to be accounted for in it."""
        if isinstance(value, Record):
            yield from self._record(way, value)
        elif isinstance(value, Array):
            yield from self._array(way, value)
        elif isinstance(value, (Mapping, Items, list, tuple)):
            yield from self._several(way, value)
        else:
            self._atom(way, value)

    def _record(self, way: _Way, record: Record) -> Iterator[tuple[_Way, object]]:
        key, owner = record.cls.key, record.cls.shown
        if key[0].startswith("numpy.random") and is_generator(record):
            return
        named = record.named
        if key == ARROW and (letters := arrow_texts(record)) is not None:
            yield from self._several(way, letters)
            return
        if key == MASKED:
            yield _further(way, "(values)"), masked(record)
            return
        if (shape := sparse_shape(record, named)) is not None:
            self._shaped(way, shape, "a sparse matrix", math.prod(shape))
            return
        if key[0] in TREES_OF_NEIGHBOURS:
            self.kept.append(Place(way.path, owner, "a tree of neighbours"))
            return
        known = known_class(*key)
        if known is None:
            self._name(record.cls)
        if known is not None and (few := _fewest_rows(named)) is not None:
            self.kept.append(Place(way.path, owner, f"an aggregate of {few:g} row{'s' * (few != 1)}"))
        sizes = way.sizes if known is None else way.sizes | _sizes_of(named, known.bounded)
        inside = way.inside or id(record) if known is None and key in PLAIN else id(record)
        best_first = named.get("max_leaf_nodes") is not None if "max_leaf_nodes" in named else way.best_first
        below = _Way(way.path, owner, sizes, depth=way.depth + 1, inside=inside, best_first=best_first)
        for name, value in record.pairs:
            if type(name) is not str:
                yield below, value
            else:
                there = replace(below, path=shortened(inside_of(below.path, name)))
                yield from self._attribute(there, record, known, name, value)
        if not isinstance(record.state, Mapping):
            yield _further(below, "(state)", bounded=known is not None), record.state
        yield _further(below, "(arguments)", bounded=known is not None), record.args
        for part in (record.appended, record.set_items):
            yield _further(below, "(items)"), part

    def _attribute(
        self, way: _Way, record: Record, known: KnownClass | None, name: str, value: object
    ) -> Iterator[tuple[_Way, object]]:
        if known is not None and name in known.rows:
            if (what := _rows_in(value)) is not None:
                self.kept.append(Place(way.path, way.owner, what))
            return
        understood = (id(record), name) in self.understood
        if known is None and understood:  # a kind of model that has a reader of its own
            for inside, part in objects_in(way.path, value):
                yield _Way(inside, way.owner, way.sizes, True, depth=way.depth + 1), part
            return
        bounded = known is not None and name in known.bounded
        if known is not None and not bounded:
            self._text(name)
        any_form = known is not None and bounded and known.any_length
        checked = understood and known is not None and name not in known.parameters
        there = replace(
            way,
            bounded=bounded,
            any_length=any_form or (bounded and name in _ANY_LENGTH),
            any_shape=any_form or checked,
            inside=hash((id(record), name)) if bounded else way.inside,
        )
        yield there, value

    def _array(self, way: _Way, array: Array) -> Iterator[tuple[_Way, object]]:
        if array.items is not None:
            yield from self._several(way, array.items)
        elif array.data is not None:
            kind, size = array.data.dtype, array.data.size
            for what in unused_in(array.data, best_first=way.best_first):
                self._list(way, what, anew=True)
            if kind.names:
                self._shaped(way, array.shape, "an array of records", size * len(kind.names))
            else:
                texts = kind.itemsize if kind.kind in "SUV" else 0
                self._shaped(way, array.shape, f"an array of {kind.name}", size, texts)

    def _shaped(self, way: _Way, shape: tuple[int, ...], what: str, size: int, texts: int = 0) -> None:
        """Account for numbers, or texts of so many bytes each."""
        if way.bounded:
            self._letters += texts * size // 4
            strange = [length for length in shape if length > 2 and length not in way.sizes]
            listed = way.any_length and len(shape) == 1
            if not strange or way.any_shape or listed:
                return
        elif not texts and self._is_of_columns(shape, way):
            return
        self._not_words += texts * size  # of arrays of texts nothing is read
        weight = size * (_NOT_WORDS if texts else _DECIMAL)
        if weight > _DECIMAL * MOST_IN_ARRAY or texts > 4 * _LONGEST_TEXT:
            self._list(way, f"{what}, {_shown(shape)}")
        else:
            self.plain += weight

    def _is_of_columns(self, shape: Sequence[int], way: _Way) -> bool:
        """Return whether there is a number for each column, and few such lists."""
        if len([length for length in shape if length != 1]) != 1 or max(shape) not in self.n_columns:
            return False
        self._of_columns += 1
        self._count(way, 1)
        return self._of_columns <= MOST_COLUMNS

    def _several(self, way: _Way, held: Mapping | Items | Sequence[object]) -> Iterator[tuple[_Way, object]]:
        """Account for what stands in a container, which has no more in it than explains itself."""
        keys: list[object] = [key for key, _ in held.pairs] if isinstance(held, Mapping) else []
        items: Sequence[object]
        if isinstance(held, Mapping):
            items = [item for _, item in held.pairs]
        else:
            items = held.items if isinstance(held, Items) else held
        self._take_names(keys or items)
        if self._are_names(items) and not keys:
            return
        if keys and self._are_names(keys):
            keys = []
        atoms = [item for item in items if not isinstance(item, CONTAINERS)]
        plain = all(type(item) in (int, float, str) for item in items)
        if plain and len(atoms) > 2 and not keys and self._is_of_columns((len(items),), way):
            for text in dict.fromkeys(item for item in atoms if type(item) is str):
                self._text(text)
            return
        if not (items or way.bounded or way.path.endswith(")")):
            self._count(way, 1)
        below = replace(way, inside=way.inside if way.bounded else id(held), depth=way.depth + 1)
        if way.bounded:
            self._in_one[way.inside] += len(atoms) + len(keys)
            most = max(_FEWEST_ALLOWED, _TIMES_AS_MANY * max(way.sizes, default=0))
            crowded = not way.any_length and self._in_one[way.inside] > most
        else:
            crowded = len(items) > (MOST_IN_ONE if atoms or not items else MOST_MODELS)
            crowded = crowded or (len(items) > MOST_IN_ONE and not all(isinstance(item, Record) for item in items))
        if crowded:
            self._list(way, f"{_kind(held)} of {len(items):,} values")
            return
        for key in keys:
            yield _further(below, "(keys)"), key
        for index, item in enumerate(items):
            yield _further(below, f"[{index}]"), item

    def _take_names(self, items: Sequence[object]) -> None:
        """Take as many short texts as there are columns for their names, which are held against the table later."""
        if len(items) in self.n_columns and len(items) > _FEW and len(self.listed) < MOST_COLUMNS:
            texts = [item for item in items if type(item) is str and len(item) <= _LONGEST_NAME]
            if len(set(texts)) == len(items):
                self.listed.append(tuple(texts))
                self.names |= set(texts)

    def _are_names(self, items: Sequence[object]) -> bool:
        """Return whether all are names of columns or classes, which are few in all."""
        if not items or not all(type(item) is str and item in self.names for item in items):
            return False
        self._named += len(items)
        return self._named <= _MOST_NAMES * max(1, len(self.names))

    def _atom(self, way: _Way, value: object) -> None:
        """Account for a value that holds no others."""
        if isinstance(value, Dtype):
            self.plain += not way.bounded
            return
        if isinstance(value, Global):
            if value.module.split(".")[0] in _OURS and len(value.name) <= _LONGEST_WORD * 2:
                self._name(value)
                self.plain += not way.bounded
                return
            value = f"{value.module}.{value.name}"
        if isinstance(value, (bytes, bytearray, memoryview)):
            value = bytes(value)
            self._not_words += len(value)
            if len(value) > _LONGEST_BYTES:
                self._list(way, f"{len(value):,} bytes")
                return
        elif type(value) is str:
            if value in self.names and self._are_names((value,)):
                return
            if len(value) > (_LONGEST_WORDS if not way.bounded and _reads_as_words(value) else _LONGEST_TEXT):
                self._list(way, f"a text of {len(value):,} letters")
                return
        elif type(value) is int and value.bit_length() > _LONGEST_NUMBER:
            self._list(way, f"a number of {value.bit_length():,} bits")
            return
        if not way.bounded:
            self._text(value)
            self._count(way, _weight(value))
        elif way.any_length or not way.path.endswith(".random_state"):
            self._parameter(way, value)

    def _name(self, cls: Global) -> None:
        """Count the letters of a class's name, once."""
        if cls.key not in self._classes:
            self._classes.add(cls.key)
            self._text(f"{cls.module}.{cls.name}")

    def _parameter(self, way: _Way, value: object) -> None:
        """Note a value of a parameter, once for all models that have it."""
        name = (way.path.rpartition(".")[2].partition("[")[0], value)
        if value is None or type(value) is bool or len(self._parameters) > MOST_PARAMETERS or name in self._parameters:
            return
        if not way.any_length:
            self._parameters[name] = None
        self._text(value)

    def _text(self, value: object) -> None:
        """Count the letters of a text that is not one of the file's own names."""
        if type(value) is str:
            self._letters += len(value)
            self._not_words += 0 if _reads_as_words(value) else len(value)

    def _count(self, way: _Way, number: int) -> None:
        """Count plain values that have no other reason."""
        self.plain += number
        self._in_one[way.inside] += number
        if self._in_one[way.inside] > MOST_IN_ONE and way.inside not in self._crowded:
            self._crowded.add(way.inside)
            self._list(way, f"one of more than {MOST_IN_ONE} plain values side by side")

    def _list(self, way: _Way, what: str, *, anew: bool = False) -> None:
        if len(self.unexplained) < _MOST_LISTED:
            self.unexplained.append(Place(way.path, way.owner, what, anew))


def _further(way: _Way, inside: str, *, bounded: bool | None = None) -> _Way:
    """Return the way to a part."""
    path = shortened(f"{way.path}{inside}" if way.path else inside.removeprefix("."))
    return replace(way, path=path, bounded=way.bounded if bounded is None else bounded)


def _weight(value: object) -> int:
    """Return as how many plain values one counts, by how much can stand in it."""
    if type(value) is str:
        return 1 if len(value) <= 2 or _reads_as_words(value) else _NOT_WORDS
    if type(value) is int and abs(value) < _LONG_NUMBER:
        return 1
    return 1 if value is None or isinstance(value, bool) else _DECIMAL


def _reads_as_words(text: str) -> bool:
    """Return whether a text is of words as people write them, and short ones."""
    letters = sum(letter.isalpha() or letter in " _-.,;:()/" for letter in text)
    return letters >= 0.75 * len(text) and max(map(len, re.split(r"[\s_\-./,;:()]+", text))) <= _LONGEST_WORD


def _fewest_rows(named: dict[str, object]) -> float | None:
    """Return of how few rows an aggregate is; None where there are enough, or that is not known."""
    counts: list[float] = []
    for name in _ROWS_BEHIND:
        value = named.get(name)
        if isinstance(value, Array) and value.data is not None and value.data.dtype.kind in "iuf" and value.data.size:
            counts.append(float(value.data.min()))
        elif type(value) in (int, float):
            counts.append(float(value))  # type: ignore[arg-type]
    least = min(counts, default=math.inf)
    return least if least < FEWEST_ROWS else None


def _rows_in(value: object) -> str | None:
    """Say what an attribute holds that has an entry for training rows; None for nothing."""
    if isinstance(value, Array) and 0 not in value.shape:
        kind = "objects" if value.data is None else value.data.dtype.name
        return f"an array of {kind}, {_shown(value.shape)}"
    if isinstance(value, Record):
        shape = sparse_shape(value, value.attributes())
        return "an object of its own" if shape is None else f"a sparse matrix, {_shown(shape)}"
    if isinstance(value, (list, tuple)) and value:
        return f"{_kind(value)} of {len(value):,} values"
    return f"{len(value.pairs):,} values by name" if isinstance(value, Mapping) and value.pairs else None


def _names_and_sizes(root: object, budget: Budget) -> tuple[set[str], frozenset[int]]:
    """Return the names of columns and classes that estimators of a file know, and their numbers of columns."""
    names: set[str] = set()
    numbers: set[int] = set()
    for _, record in records_in(root, budget):
        if known_class(*record.cls.key) is None:
            continue
        named = record.named
        numbers.update(n for key in ("n_features_in_", "_n_features_out") if type(n := named.get(key)) is int)
        for key in ("feature_names_in_", "classes_"):
            array = named.get(key)
            items = array.items if isinstance(array, Array) else None
            if items is not None and (key == "classes_" or len(items) == named.get("n_features_in_")):
                names.update(item for item in items if type(item) is str and len(item) <= _LONGEST_TEXT)
    return names, frozenset(numbers)


def _sizes_of(named: dict[str, object], bounded: frozenset[str]) -> frozenset[int]:
    """Return the lengths that an object's own attributes explain; such as its class has."""
    found: set[int] = set()
    for name, value in named.items():
        if name not in bounded:
            continue
        if name in ("classes_", "classes") and isinstance(value, Array):
            found.add(math.prod(value.shape))
        elif name == "cv_results_" and isinstance(value, Mapping):
            found.update(len(tried) for key, tried in value.pairs if key == "params" and isinstance(tried, list))
        elif name == "cv" and value is None:
            found.add(_DEFAULT_FOLDS)
        elif name == "_predictors" and isinstance(value, list):  # a round each; scores are listed before the first, too
            found.add(len(value))
        elif _COUNTS.search(name):
            found.update(_whole_numbers(value))
    found |= {size + more for size in found for more in (-1, 1)} | {size * (size - 1) // 2 for size in found}
    return frozenset(size for size in found if size > 0)


def _whole_numbers(value: object) -> Iterator[int]:
    """Return the numbers in a number or a short list of numbers."""
    if type(value) is int:
        yield value
    elif isinstance(value, (list, tuple)) and len(value) <= MOST_IN_ONE:
        yield from (item for item in value if type(item) is int)
        yield sum(item for item in value if type(item) is int)
    elif isinstance(value, Array) and value.data is not None and value.data.dtype.kind in "iu":
        yield from (int(item) for item in value.data.ravel()[:MOST_IN_ONE])
        yield int(np.sum(value.data))


def _kind(held: object) -> str:
    names = {Mapping: "a dict", Items: "a set", list: "a list", tuple: "a tuple"}
    return names.get(type(held), "an array")


def _shown(shape: Sequence[int]) -> str:
    return " x ".join(f"{length:,}" for length in shape) or "one value"
