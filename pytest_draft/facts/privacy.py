"""What a file declares of its differential privacy: one validated frozen `Privacy`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Mechanism = Literal["laplace", "gaussian", "permute-and-flip"]
"""What privatised the leaves: noise on each class count, or a choice of each leaf's label."""

Rounding = Literal["sum", "noise"]
"""What was cut to a whole number: count plus noise (a post-processing), or the noise alone (the paper's)."""


@dataclass(frozen=True)
class Privacy:
    """The privacy that a file declares, and how its counts or labels were released."""

    mechanism: Mechanism
    """What privatised the leaves."""
    epsilon: float
    """Declared for the whole forest. Labels by permute-and-flip come from disjoint rows, so each tree has all of it."""
    delta: float = 0.0
    """Declared for the whole forest; 0 for pure differential privacy."""
    scale: float = 0.0
    """Of the noise on each count, in rows: ``b`` of the Laplace distribution (n_trees / epsilon), the standard
    deviation of the Gaussian; 0 for labels.
    """
    rounding: Rounding | None = None
    """``sum``: ``int(n + Y)``; ``noise``: ``n + int(Y)``, which doubles the mass at 0 and so is not private (DRAFT-DP,
    SaTML 2026, section II-B). None for labels.
    """
    exact: bool = False
    """Whether the file's counts are exact in spite of what it declares: then nothing is private."""
    broken_by: tuple[str, ...] = ()
    """What else in the file takes the declared guarantee away, one phrase each; empty where nothing was found."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0 and 0 <= self.delta < 1):
            raise ValueError("epsilon must be positive and finite, delta at least 0 and less than 1")
        if self.counts and not (math.isfinite(self.scale) and self.scale > 0 and self.rounding is not None):
            raise ValueError("noise on counts has a positive, finite scale and a rounding")

    @property
    def counts(self) -> bool:
        """Whether noisy counts were released, rather than labels."""
        return self.mechanism != "permute-and-flip"
