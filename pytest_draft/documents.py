"""TOML documents that people write by hand: checks them against a shipped schema and reports all mistakes."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, TypeChecker, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from pytest_draft.errors import known_are, one_line

Problem = tuple[str, Sequence[str | int]]

MOST_BYTES = 1 << 20
"""The largest document that is read; a policy has a few thousand bytes."""

_MOST_DEEP = 32  # tables and lists inside one another; a policy has four
_MOST_PARTS = 32  # of a key with dots; the parser's time grows with the square of them
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*+"|' r"'[^'\n]*+'")
_MANY_PARTS = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}", re.ASCII)
_MOST_ERRORS = 1_000  # of a schema that are looked for: each takes a while
_MOST_SHOWN = 20
_MOST_CHARACTERS = 1_000  # of one problem, which can list all rules that there are


def _is_finite_number(checker: TypeChecker, value: object) -> bool:
    """Return whether a value is a number that others can be compared with: a NaN would never be crossed."""
    if not Draft202012Validator.TYPE_CHECKER.is_type(value, "number"):
        return False
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False


def _unique_items(_: object, wanted: bool, value: Any, __: object) -> Iterator[ValidationError]:
    """Yield an item that is there twice; the library's own check takes quadratic time where types are mixed."""
    if not wanted or not isinstance(value, list):
        return
    count = Counter(json.dumps(item, sort_keys=True, default=str) for item in value)
    if twice := [item for item, number in count.items() if number > 1]:
        yield ValidationError(f"there is more than one {twice[0]}")


_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"uniqueItems": _unique_items},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("number", _is_finite_number),
)


def rules_folder() -> Path:
    """Return the folder of the shipped policies and of the schemas."""
    packaged = Path(str(resources.files("pytest_draft"))) / "rules"
    return packaged if packaged.is_dir() else Path(__file__).parents[1] / "rules"


def toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises
    ------
    ValueError
        In one line: where it is not valid TOML, with the position; or where it is nested too deep.
    """
    try:
        return shallow_toml(text)
    except NestedError:
        raise
    except ValueError as error:
        raise ValueError(f"not valid TOML: {one_line(str(error).partition('; use sys.')[0])}") from None


class NestedError(ValueError):
    """A document is nested too deep for a program that walks through it. The message quotes nothing of it."""


def shallow_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text, as `toml` does, but leave the parser's error to the caller.

    Raises
    ------
    NestedError
    ValueError
        The parser's own, which can quote the text, where it is not valid TOML.
    """
    if _MANY_PARTS.search(_QUOTED.sub("q", text)):
        raise NestedError(f"a key of more than {_MOST_PARTS} parts: name each table by a key of a few parts")
    too_deep = f"nested more than {_MOST_DEEP} deep: write tables and lists as the documentation shows them"
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise NestedError(too_deep) from None
    level: list[Any] = [content]
    for _ in range(_MOST_DEEP):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return content
    raise NestedError(too_deep)


def violations(content: object, schema: str, text: str, own_texts: Collection[str] = ()) -> list[str]:
    """Return all that is wrong with a document by a schema, each with its key and line.

    Parameters
    ----------
    content : object
        The document as parsed.
    schema : str
        Name of the schema's file among the shipped.
    text : str
        The TOML that it was parsed from; empty for no lines.
    own_texts : collection of str
        Top-level keys whose texts the caller checks itself, with better messages: their patterns are skipped.
    """
    shipped = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in rules_folder().glob("*.schema.json")}
    registry: Registry[Any] = Registry()
    registry = registry.with_resources((name, DRAFT202012.create_resource(rules)) for name, rules in shipped.items())
    validator = _Validator(shipped[schema], registry=registry, format_checker=FormatChecker(["date"]))
    first = islice(validator.iter_errors(content), _MOST_ERRORS)
    errors = sorted(first, key=lambda error: list(map(str, error.path)))
    errors = [one for one in errors if one.validator != "pattern" or one.absolute_path[0] not in own_texts]
    return all_located([problem for error in errors for problem in _problems(error)], text)


def _problems(error: ValidationError) -> Iterator[Problem]:
    """Yield what a schema finds wrong in one place; for an unknown key, with the keys that there are."""
    keys = list(error.absolute_path)
    if error.validator != "additionalProperties" or error.validator_value is not False:
        yield error.message, keys
        return
    known, content = dict(error.schema)["properties"], dict(error.instance)  # type: ignore[arg-type]
    for name in content:
        if name not in known:
            yield f"there is no key {one_line(name)!r}; {known_are(name, known)}", keys


def all_located(problems: Sequence[Problem], text: str) -> list[str]:
    """Return the first problems, each as `located`, and how many more there are.

    Parameters
    ----------
    problems : sequence of (str, sequence of str or int)
        Messages, and the keys of the values that they are about.
    """
    shown = [located(message, keys, text) for message, keys in problems[:_MOST_SHOWN]]
    at_least = "at least " if len(problems) >= _MOST_ERRORS else ""
    return shown + ([f"and {at_least}{len(problems) - _MOST_SHOWN} more"] if len(problems) > _MOST_SHOWN else [])


def located(message: str, keys: Sequence[str | int], text: str) -> str:
    """Return what is wrong with a value, with its key and the line of its innermost key that a TOML text shows.

    Parameters
    ----------
    message : str
        Where it quotes something, that is looked for first.
    keys : sequence of str or int
        From the top level to the value; list positions count from 0.
    """
    shown = f"{'.'.join(map(one_line, keys)) or 'top level'}: {one_line(message, _MOST_CHARACTERS)}"
    lines = [line.split("#")[0] for line in text.splitlines()]
    lines_of_table = _table(keys, lines)
    names = [key for key in reversed(keys) if isinstance(key, str)]
    for name in [*re.findall(r"'([^']+)'", message)[:1], *names]:
        pattern = re.compile(rf"(^|[\[.\s\"]){re.escape(name)}([\].\s=\"]|$)")
        for number in lines_of_table:
            if pattern.search(lines[number]):
                return f"line {number + 1}: {shown}"
    return shown


def _table(keys: Sequence[str | int], lines: Sequence[str]) -> range:
    """Return the lines of the element of an array of tables that a key leads to; all lines where it leads to none."""
    if len(keys) < 2 or not isinstance(keys[1], int):
        return range(len(lines))
    header = re.compile(rf"\s*\[\[\s*\"?{re.escape(str(keys[0]))}\"?\s*\]\]")
    starts = [number for number, line in enumerate(lines) if header.match(line)]
    if len(starts) <= keys[1]:
        return range(len(lines))
    return range(starts[keys[1]], [*starts, len(lines)][keys[1] + 1])
