"""Which checks are collected: splits pytest's arguments into those left to pytest and the models' files.

pytest takes ``::`` and ``[`` in an argument for parts of an address, and refuses the whole run where no file has the
name before them. So models are no arguments: they are added to what the session itself has collected. That imports no
``conftest.py`` because it lies beside a model, either.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pytest_draft.errors import known_are, one_line
from pytest_draft.plugin.items import ForestFile, item_names
from pytest_draft.plugin.session import GateSession

ASKED = pytest.StashKey[dict[Path, tuple[str, ...]]]()
"""Of a config: the addresses' ends that were given for a model's file; one that is empty is the whole file."""


def take_addresses(config: pytest.Config, session: GateSession) -> list[str]:
    """Note which checks are asked for by their addresses, and return the arguments that are not about models.

    Raises
    ------
    pytest.UsageError
        Where a model's file has no such check.
    """
    by_name = {session.shown(forest): forest for forest in session.models.each}
    asked: dict[Path, tuple[str, ...]] = {}
    left = []
    for argument in config.args:
        forest, name = _addressed(argument, config.invocation_params.dir, session, by_name)
        if forest is None:
            left.append(argument)
            continue
        names = item_names(session.configured(forest))
        if name and not any(_is_meant(one, name) for one in names):
            where = session.shown(forest)
            raise pytest.UsageError(f"{where}: there is no check {one_line(name)!r}; {known_are(name, names)}")
        asked[forest] = (*asked.get(forest, ()), name)
    config.stash[ASKED] = asked
    return left


def require_text(config: pytest.Config) -> None:
    """Refuse arguments that pytest-xdist cannot hand to its workers: bytes that are no text, as in the name of a file.

    Raises
    ------
    pytest.UsageError
    """
    for argument in (*map(str, config.invocation_params.args), *sys.argv):
        if not argument.isprintable() and any("\ud800" <= character <= "\udfff" for character in argument):
            raise pytest.UsageError(f"-n: {argument!r} is not UTF-8, which no worker can be told: give a pattern (*)")


def forest_files(session: pytest.Session) -> Iterator[ForestFile]:
    """Yield a collector for each model's file; where some are asked for by their addresses, for these."""
    gate, asked_for = GateSession.of(session.config), session.config.stash.get(ASKED, {})
    for forest, model in gate.models.each.items():
        asked = asked_for.get(forest, () if asked_for else ("",))
        if not asked:
            continue
        wanted = tuple(name for name in item_names(model) if any(_is_meant(name, one) for one in asked))
        collector: ForestFile = ForestFile.from_parent(
            session, path=forest, name=gate.shown(Path(forest.name)), nodeid=gate.shown(forest), wanted=wanted
        )
        yield collector


def _is_meant(name: str, asked: str) -> bool:
    """Return whether the end of an address means a check: itself, or those of its rule; an empty one means all."""
    return asked in ("", name, name.partition("[")[0])


def _addressed(
    argument: str, start: Path, session: GateSession, by_name: Mapping[str, Path]
) -> tuple[Path | None, str]:
    """Return the model's file that an argument is about, and what stands behind it; the longest path counts.

    A file is meant by its path, and by the name that reports and addresses have for it.
    """
    for path, name in _parted(argument):
        absolute = Path(os.path.abspath(start / path))  # noqa: PTH100  (links stay as they are)
        found = absolute if absolute in session.models.each else by_name.get(path)
        if found is not None:
            return found, name
    return None, ""


def _parted(argument: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to take an argument for a path and the end of an address, the longest path first."""
    yield argument, ""
    for end in range(len(argument) - 2, 0, -1):
        if argument.startswith("::", end):
            yield argument[:end], argument[end + 2 :]
