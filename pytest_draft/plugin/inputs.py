"""Files that a run names: paths, globs and policies' names become absolute paths of existing files."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path

from pytest_draft.errors import UsageError, no_file, one_line


@dataclass(frozen=True)
class NamedFiles:
    """The files and names that one model is judged with."""

    data: Path | str | None = None
    """A file, or the function of the project that returns the training data, as `Case.data` has it."""
    holdout: Path | None = None
    target: str | None = None
    labels: Path | None = None
    """In place of a target, where the labels are in a file of their own."""
    split: str | None = None
    domain: Path | None = None
    policy: Path | None = None
    hardened_from: Path | None = None
    """The owner's own file that the model's was hardened from."""
    beside: tuple[tuple[Path, Path | None], ...] = ()
    """Other files of the same people, and their training data where these are others."""
    identifier: str | None = None
    """Name of the column that says whose row is whose."""
    origin: str | None = None
    """Which entry of a manifest says so, for messages; None where none does."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All of its files that are given."""
        others = (path for both in self.beside for path in both)
        given = (self.data, self.labels, self.holdout, self.domain, self.policy, self.hardened_from, *others)
        return tuple(path for path in given if isinstance(path, Path))


def labels_in(folder: Path, target: str) -> tuple[str | None, Path | None]:
    """Return the name of the label column, or the file of labels that is given in its place, which must be there."""
    if not target.lower().endswith((".csv", ".csv.gz", ".parquet", ".pq")):
        return target, None
    if not is_file(folder / target):
        raise UsageError(f"there is no file {str(folder / target)!r}")
    return None, absolute(folder / target)


def expanded(path: Path) -> list[Path]:
    """Return the regular files and folders that a path or a glob names, as `absolute` does, each once.

    Raises
    ------
    UsageError
        Where there is none, an empty folder, or something else.
    """
    found = [path] if exists(path) else []
    if glob.has_magic(str(path)):  # also where a file has this very name: it must not hide those that are meant
        below = "**" in path.parts  # all files in a folder that it matches match by themselves
        found += [match for match in matching(str(path)) if not (below and match.is_dir())]
    if not found:
        raise UsageError(no_file(path, f"no file matches {str(path)!r}"))
    for match in found:
        if not (is_file(match) or is_folder(match)):
            raise UsageError(f"{str(match)!r} is no regular file and no folder with files")
    return list(dict.fromkeys(map(absolute, found)))


def matching(pattern: str) -> list[Path]:
    """Return all that a glob names, sorted.

    Raises
    ------
    UsageError
        Where a folder on its way cannot be read: what lies in there would be left out without a word. And where
        links lead around in it for ever.
    """
    _refuse_circles(pattern)
    try:
        found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    except ValueError:  # a character that no name can have
        return []
    parts = Path(pattern).parts
    first = next((index for index, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    for index in range(first, len(parts)):
        until = index + (parts[index] == "**")
        above = os.path.join(*parts[:until], "")  # noqa: PTH118  (with a separator at its end, only folders match)
        for folder in glob.glob(above, recursive=True):  # noqa: PTH207
            if not os.access(folder, os.R_OK | os.X_OK):
                raise UsageError(
                    f"the folder {one_line(folder)} cannot be read, and may hold files that match {one_line(pattern)}: "
                    "make it readable, or name the files one by one"
                )
    return [Path(match) for match in found]


def _refuse_circles(pattern: str) -> None:
    """Refuse a glob with ``**`` that would follow links in a circle, and find the same files again and again."""
    parts = Path(pattern).parts
    for index in (index for index, part in enumerate(parts) if part == "**"):
        try:
            above = glob.glob(os.path.join(*parts[:index], ""), recursive=True)  # noqa: PTH118, PTH207
        except ValueError:  # a character that no name can have
            return
        left: list[tuple[str, frozenset[tuple[int, int]]]] = [(folder, frozenset()) for folder in above]
        while left:
            folder, around = left.pop()
            try:
                status = os.stat(folder)  # noqa: PTH116
                with os.scandir(folder) as entries:
                    below = [entry.path for entry in entries if entry.name[0] != "." and entry.is_dir()]
            except OSError:  # it is reported, or is no folder any more
                continue
            if (here := (status.st_dev, status.st_ino)) in around and status.st_ino:
                raise UsageError(
                    f"{one_line(folder)} leads back to a folder above it, so {one_line(pattern)} matches the same "
                    "files again and again: remove the link, or name the files one by one"
                )
            left += [(one, around | {here}) for one in below]


def exists(path: Path) -> bool:
    """Return whether anything is there; False for a name that no file can have."""
    return os.path.exists(path)  # noqa: PTH110  (pathlib raises)


def is_file(path: Path) -> bool:
    """Return whether a regular file is there; False for a name that no file can have."""
    return os.path.isfile(path)  # noqa: PTH113  (pathlib raises)


def is_folder(path: Path) -> bool:
    """Return whether a folder is there that holds something; False for a name that no folder can have."""
    return os.path.isdir(path) and any(path.iterdir())  # noqa: PTH112  (pathlib raises)


def policy_file(folder: Path, name: str) -> Path:
    """Return a policy's file: one that is named by its path, or a shipped one by its bare name.

    Raises
    ------
    UsageError
    """
    path = folder / name
    if path.parent == folder and not is_file(path) and not path.suffix:
        from pytest_draft.policy.policy import shipped_policy

        return shipped_policy(path.name)
    if not is_file(path):
        raise UsageError(no_file(path, f"there is no file {str(path)!r}"))
    return absolute(path)


def absolute(path: Path) -> Path:
    """Return a path as pytest names it: absolute, without ``..``, links as they are."""
    named = Path(os.path.abspath(path))  # noqa: PTH100  (pathlib leaves the dots, and pytest does not)
    if not exists(path) or (exists(named) and named.samefile(path)):
        return named
    return path.resolve()
