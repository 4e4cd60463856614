"""What every step of a search shares: time box, seed and threads, in a `Search`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pytest_draft.progress import StageClock
from pytest_draft.timebox import TimeBox

Each = Callable[..., list[Any]]
"""Calls a function with each of several things, side by side, and returns what it returned."""


@dataclass(frozen=True)
class Search:
    """What every step of a search shares."""

    timebox: TimeBox
    seed: int = 0
    """Of every random choice."""
    workers: int = 1
    """Threads of what runs side by side; the result does not depend on it."""
    clock: StageClock = field(default_factory=StageClock)

    @contextmanager
    def threads(self) -> Iterator[Each]:
        """Yield what does something with each chain, or each part of the work, in as many threads as there are."""
        with ThreadPoolExecutor(self.workers) as pool:
            yield lambda do, those: list(pool.map(do, those))
