"""The hash of this package's code, to recognise results of other versions."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_sha256() -> str:
    """Return the hash of this package's own code: in a checkout, its version says little."""
    folder = Path(__file__).parents[1]
    files = sorted(folder.rglob("*.py"))
    hashes = [(path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]
    return hashlib.sha256(repr(hashes).encode()).hexdigest()
