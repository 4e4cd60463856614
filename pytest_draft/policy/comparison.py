"""What one judgement measured, beside what an earlier report says: no rule of its own, only what such a rule needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Figures = Mapping[str, tuple[float, float]]
"""Metrics by name, each as its lower and upper bound, equal where it is exact; what is not known is left out."""


@dataclass(frozen=True)
class NowAndEarlier:
    """The figures of one model file and adversary, now and in an earlier report."""

    now: Figures
    before: Figures = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    """Why nothing passes by the earlier figures; empty where nothing stands in the way."""
