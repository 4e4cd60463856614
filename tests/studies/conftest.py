"""What the tests of studies share."""

from __future__ import annotations

import pytest

from studies.cells import running
from studies.cells.computing import computed


@pytest.fixture
def cells_here(monkeypatch):
    """Compute the cells of all studies in this process, where functions can be replaced and counted."""
    monkeypatch.setattr(running, "outcomes", lambda where, calls: (one for one in enumerate(map(computed, calls))))
