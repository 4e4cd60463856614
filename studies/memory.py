"""The most memory that this process has held: in goes nothing, out comes a number of bytes."""

from __future__ import annotations

import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_memory() -> int:
    """Return the most memory that this process has held since its program began, in bytes.

    Linux counts in ``ru_maxrss`` what the parent held when it started this process, too; in ``VmHWM`` it does not.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
