"""What is computed in a cell of the probabilistic paper's results: in go its parameters, out come measured models."""

from __future__ import annotations

from pathlib import Path

from studies import entropy
from studies.cells import Plain
from studies.papers.load import load


def models(
    *, data: Path, learner: entropy.Learner, seed: int, support: float, depths: str, limit: float
) -> dict[str, Plain]:
    """Learn models of several limits of size, and measure what each gives away; `limit` is a search's, in seconds."""
    return {**entropy.cell(data, seed, support, learner, depths, limit), "load": load()}
