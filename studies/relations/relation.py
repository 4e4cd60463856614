"""What a relation is: in go a rewriting and what it promises, out comes an entry of `RELATIONS`.

- ``verdict``, ``rules``: the verdict, and the result of each rule, is not milder.
- ``error``, ``perfect``, ``certain``: the reconstruction error is not larger, and rows that are rebuilt perfectly or
  proved are not fewer, beyond a tolerance (`studies.invariances`).

`SAME` are relations after which the trees hold the same, so that all of this must hold, and neither of the two
writings may fail where the other passes. `RETRAINED` are those after which other trees are grown on the same
information, by other draws: their verdict holds, and no complete reconstruction may break down. A relation that
promises less says why in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from studies.specimens import Specimen

Promise = Literal["verdict", "rules", "error", "perfect", "certain"]
Rewrite = Callable[[Specimen], "Specimen | None"]

SAME: frozenset[Promise] = frozenset({"verdict", "rules", "error", "perfect", "certain"})
RETRAINED: frozenset[Promise] = frozenset({"verdict", "perfect"})
VERDICT: frozenset[Promise] = frozenset({"verdict"})


@dataclass(frozen=True)
class Relation:
    """Two writings, of which the second must not be judged more mildly."""

    name: str
    rewrite: Rewrite
    """Takes a specimen, returns the one that must not be judged more mildly; None where it does not apply."""
    promises: frozenset[Promise]
    """What must hold."""
    before: Rewrite = lambda specimen: specimen
    """Returns the specimen to compare with."""
    retrained: bool = False
    """Whether other trees are grown by it."""
    both_ways: bool = True
    """Whether the first must not pass where the second fails, either: they hold the same."""
    hidden: bool = False
    """Whether the leak is no more than a part of the second: then the second must not pass where the first does not,
    and nothing else must hold.
    """


RELATIONS: dict[str, Relation] = {}
"""All relations by name."""


def relation(name: str, promises: frozenset[Promise] = SAME, **others: Any) -> Callable[[Rewrite], Rewrite]:
    """Return a decorator that names a rewriting and what must hold after it.

    Parameters
    ----------
    promises : frozenset of str
    **others : object
        More fields of `Relation`.
    """

    def register(rewrite: Rewrite) -> Rewrite:
        settings = {"retrained": promises is RETRAINED, "both_ways": promises is SAME, **others}
        RELATIONS[name] = Relation(name, rewrite, promises, **settings)
        return rewrite

    return register
