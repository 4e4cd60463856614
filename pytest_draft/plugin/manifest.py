"""Reads the manifest of a registry: each model file with what it is judged with. Opens no model.

A manifest is TOML, Parquet with the same keys as columns, or a folder, in which every model file is meant.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_draft.bounded import content, what_failed
from pytest_draft.documents import Problem, all_located, toml, violations
from pytest_draft.errors import UsageError, no_file, one_line
from pytest_draft.facts.case import names_function
from pytest_draft.plugin.inputs import (
    NamedFiles,
    absolute,
    exists,
    is_file,
    is_folder,
    labels_in,
    matching,
    policy_file,
)

SCHEMA = "manifest.schema.json"

MOST_BYTES = 16 << 20
"""The largest manifest that is read; an entry has some 200 bytes."""

MOST_ROWS = 100_000
"""Entries of a Parquet file; a few bytes could stand for very many."""

_MOST_TEXT = 256 << 20  # bytes of a Parquet file unpacked

SUFFIXES = (".joblib", ".pkl", ".pickle", ".skops", ".onnx")
"""How the names of model files in a folder end, in letters of any case."""

PACKED = ("", ".gz", ".z", ".bz2", ".xz", ".lzma", ".zlib")
"""What can stand behind that where the file is packed."""

_ENDS = tuple(suffix + packed for suffix in SUFFIXES for packed in PACKED)
_FILES = ("data", "domain", "holdout", "hardened_from")
_KEYS = ("model", "data", "target", "split", "domain", "holdout", "hardened_from", "released_before", "policy")


@dataclass(frozen=True)
class Manifest:
    """What a manifest names."""

    path: Path
    """The file, or the folder."""
    models: dict[Path, NamedFiles]
    """Each model file, and what it is judged with."""
    passed_over: tuple[Path, ...] = ()
    """Files in the folder that are no model files by their names, and links to other folders."""


def read_manifest(path: Path, usual: NamedFiles) -> Manifest:
    """Read a manifest, and see that everything that it names is there.

    Parameters
    ----------
    path : Path
        A ``.toml`` or ``.parquet`` file, or a folder.
    usual : NamedFiles
        What entries do not say.

    Raises
    ------
    UsageError
        With all that is wrong in it, each with its entry and key.
    """
    where = one_line(path)
    if exists(path) and path.is_dir():
        return _folder(path, usual, where)
    read = {".toml": _toml, ".parquet": _parquet, ".pq": _parquet}.get(path.suffix.lower())
    if read is None:
        raise UsageError(f"{where} is not a manifest: give a .toml or a .parquet file, or a folder of model files")
    try:
        raw = content(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{where} cannot be read ({what_failed(error, MOST_BYTES)})") from None
    try:
        document, text = read(raw)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if listed := violations(document, SCHEMA, text):
        raise UsageError(f"{where}: " + "; ".join(listed))
    models, problems = _models(document["entry"], path, usual, _starts(text, len(document["entry"])))
    if problems:
        raise UsageError(f"{where}: " + "; ".join(all_located(problems, text)))
    return Manifest(path, models)


def _toml(raw: bytes) -> tuple[dict[str, Any], str]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text; save it as UTF-8") from None
    return toml(text), text


def _parquet(raw: bytes) -> tuple[dict[str, Any], str]:
    """Return the document that a Parquet file stands for: a key is left out where its column holds no value."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ValueError("a Parquet manifest needs pyarrow: pip install 'pytest-draft[parquet]'") from None
    problem = None
    try:
        with parquet.ParquetFile(pa.BufferReader(raw)) as file:
            footer = file.metadata
            n_bytes = sum(footer.row_group(index).total_byte_size for index in range(footer.num_row_groups))
            if footer.num_rows > MOST_ROWS or n_bytes > _MOST_TEXT:
                problem = f"more than {MOST_ROWS:,} entries, or {_MOST_TEXT >> 20} MiB of text: give several manifests"
            elif len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
                problem = "two columns have the same name, so that one would hide the other: remove one"
            elif unknown := [name for name in file.schema_arrow.names if name not in _KEYS]:
                problem = f"there is no key {one_line(unknown[0])!r}; known are: {', '.join(_KEYS)}: rename the column"
            else:
                rows = file.read().to_pylist()
    except Exception as error:  # whatever it says could quote the file
        problem = f"cannot be parsed as Parquet ({type(error).__name__})"
    if problem is not None:
        raise ValueError(problem)
    entries = [{key: value for key, value in row.items() if value is not None} for row in rows]
    return {"schema_version": 1, "entry": entries}, ""


def _starts(text: str, n_entries: int) -> Sequence[str]:
    """Return how messages name each entry: by the line of its header, where each has one."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*entry\s*\]\]", line)]
    at = [f"line {line}: " for line in lines] if len(lines) == n_entries else [""] * n_entries
    return [f"{line}entry.{index}" for index, line in enumerate(at)]


def _models(
    entries: Sequence[dict[str, Any]], path: Path, usual: NamedFiles, starts: Sequence[str]
) -> tuple[dict[Path, NamedFiles], list[Problem]]:
    """Return each model file with what it is judged with, and all that is wrong."""
    models: dict[Path, NamedFiles] = {}
    owner: dict[Path, int] = {}
    problems: list[Problem] = []
    for index, entry in enumerate(entries):

        def checked(key: str, found: Callable[[Path, str], Any], of: int = index, said: Any = "") -> Any:
            try:
                return found(path.parent, said)
            except UsageError as error:
                problems.append((str(error), ["entry", of, key]))
                return None

        given: dict[str, Any] = {
            key: checked(key, _data if key == "data" else _file, said=entry[key]) for key in _FILES if key in entry
        }
        if "policy" in entry:
            given["policy"] = checked("policy", policy_file, said=entry["policy"])
        if "target" in entry:
            found = checked("target", labels_in, said=entry["target"])
            given["target"], given["labels"] = found or (None, None)
        if "released_before" in entry:
            before = checked("released_before", _each, said=entry["released_before"]) or ()
            given["beside"] = (*usual.beside, *((other, None) for other in before))
        if "split" in entry:
            given["split"] = entry["split"]
        inputs = replace(usual, **given, origin=f"{one_line(path)}: {starts[index]}")
        for model in checked("model", _matches, said=entry["model"]) or ():
            if owner.setdefault(model, index) != index:
                message = f"{one_line(model)} is named by entry.{owner[model]} already: let one entry name it"
                problems.append((message, ["entry", index, "model"]))
            models[model] = inputs
    return models, problems


def _data(folder: Path, said: str) -> Path | str:
    return said if names_function(said) and not is_file(folder / said) else _file(folder, said)


def _file(folder: Path, said: str) -> Path:
    found = folder / said
    if not is_file(found):
        otherwise = f"there is no file {one_line(found)}: correct the path, which is relative to the manifest"
        raise UsageError(no_file(said, otherwise))
    return absolute(found)


def _each(folder: Path, said: str | list[str]) -> list[Path]:
    return [_file(folder, one) for one in ([said] if isinstance(said, str) else said)]


def _matches(folder: Path, said: str) -> list[Path]:
    """Return the model files that a path or a glob names; what it matches besides may be folders, and nothing else."""
    found = [folder / said] if is_file(folder / said) or is_folder(folder / said) else []
    if glob.has_magic(said):  # also where a file has this very name: it must not hide those that are meant
        pattern = str(Path(glob.escape(str(folder))) / said)
        found += [match for match in matching(pattern) if not match.is_dir()]
    if not found:
        otherwise = f"no file matches {one_line(folder / said)}: correct the path, which is relative to the manifest"
        raise UsageError(no_file(said, otherwise))
    for match in found:
        if not (is_file(match) or is_folder(match)):
            raise UsageError(f"{one_line(match)} is not a regular file: remove it, or name the files one by one")
    return list(dict.fromkeys(map(absolute, found)))


def _folder(path: Path, usual: NamedFiles, where: str) -> Manifest:
    """Return every model file in a folder and in those below it, however hidden; links to folders are not followed."""
    failed: list[OSError] = []
    models: list[Path] = []
    others: list[Path] = []
    for folder, below, names in os.walk(path, onerror=failed.append):
        below.sort()
        others += [linked for name in below if (linked := Path(folder, name)).is_symlink()]
        for name in sorted(names):
            (models if name.lower().endswith(_ENDS) else others).append(Path(folder, name))
    if failed:
        raise UsageError(f"{where}: a folder below cannot be read ({what_failed(failed[0])}), and may hold model files")
    if not models:
        raise UsageError(f"{where}: no model file in this folder: their names end in {', '.join(SUFFIXES)}")
    if wrong := [model for model in models if not is_file(model)]:
        raise UsageError(f"{where}: {one_line(wrong[0])} is not a regular file: remove it, or give it another name")
    inputs = replace(usual, origin=None)
    return Manifest(path, {absolute(model): inputs for model in sorted(models)}, tuple(sorted(others)))
