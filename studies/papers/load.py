"""How busy a machine is: in goes nothing, out comes its load, which stands beside what was measured on it."""

from __future__ import annotations

import os


def load() -> float:
    """Return how many processes ran or waited in the last minute, this one among them, for each processor."""
    return round(os.getloadavg()[0] / (os.cpu_count() or 1), 2)
