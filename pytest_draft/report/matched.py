"""Which model is which: in go the paths of two runs' model files, out comes which path of the earlier one is whose."""

from __future__ import annotations

import re
from collections.abc import Iterable


def matched(now: Iterable[str], before: Iterable[str]) -> dict[str, str]:
    """Return the earlier path of each model file that has one.

    A file is the same where its path is. Of those that are left, one that was moved is the same where its name is, and
    nothing else that is left has this name in either run: so no new model is taken for one that was judged before.

    Parameters
    ----------
    now, before : iterable of str
        Paths as reports name them, without places.
    """
    here, there = set(now), set(before)
    found = {path: path for path in here & there}
    left, candidates = _by_name(here - there), _by_name(there - here)
    for name, paths in left.items():
        if len(paths) == len(candidates.get(name, ())) == 1:
            found[paths[0]] = candidates[name][0]
    return found


def file_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return re.split(r"[\\/]", path)[-1]


def _by_name(paths: Iterable[str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for path in paths:
        names.setdefault(file_name(path), []).append(path)
    return names
