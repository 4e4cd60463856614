"""Files that a run is told of: in go paths, globs and names of policies, out come absolute paths that are there."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path

from pytest_draft.errors import UsageError, known_are, one_line


@dataclass(frozen=True)
class Inputs:
    """The files and names that one model is judged with.

    Attributes
    ----------
    data, holdout : Path or None
    target : str or None
    domain, policy : Path or None
    origin : str or None
        Which entry of a manifest says so, for messages; None where none does.
    """

    data: Path | None = None
    holdout: Path | None = None
    target: str | None = None
    domain: Path | None = None
    policy: Path | None = None
    origin: str | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """All of its files that are given."""
        return tuple(path for path in (self.data, self.holdout, self.domain, self.policy) if path is not None)


def expanded(path: Path) -> list[Path]:
    """Return the regular files that a path or a glob names, as `absolute` does, each once.

    Raises
    ------
    UsageError
        Where there is none, or something that is no regular file.
    """
    found = [path] if path.exists() else []
    if glob.has_magic(str(path)):  # also where a file has this very name: it must not hide those that are meant
        matches = (Path(match) for match in sorted(glob.glob(str(path), recursive=True)))  # noqa: PTH207
        found = list(dict.fromkeys((*found, *matches)))
    if not found:
        raise UsageError(f"no file matches {str(path)!r}")
    for match in found:
        if not match.is_file():
            raise UsageError(f"{str(match)!r} is not a regular file")
    return list(dict.fromkeys(map(absolute, found)))


def policy_file(folder: Path, said: str) -> Path:
    """Return a policy's file: one that is named by its path, or a shipped one by its bare name.

    Raises
    ------
    UsageError
    """
    path = folder / said
    if path.parent == folder and not path.is_file() and not path.suffix:
        from pytest_draft.documents import rules_folder

        shipped = {path.stem: path for path in sorted(rules_folder().glob("*.toml"))}
        if path.name not in shipped:
            raise UsageError(
                f"there is no file {str(path)!r}, and no shipped policy {one_line(path.name)!r}; "
                f"{known_are(path.name, shipped)}"
            )
        return shipped[path.name]
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}")
    return absolute(path)


def absolute(path: Path) -> Path:
    """Return a path as pytest names it: absolute, without ``..``, links as they are."""
    named = Path(os.path.abspath(path))  # noqa: PTH100  (pathlib leaves the dots, and pytest does not)
    return named if not path.exists() or (named.exists() and named.samefile(path)) else path.resolve()
