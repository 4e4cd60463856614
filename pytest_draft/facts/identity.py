"""Whether a model was trained on the rows that it is judged with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Identity:
    """Whether the forest was trained on the given rows."""

    status: Literal["confirmed", "order differs", "mismatch", "unknown"]
    """``confirmed``; ``order differs`` (the same rows, in another order than the seeds say); ``mismatch`` (proved:
    these rows did not train this forest); ``unknown``.
    """
    why: str
    """One sentence."""
    to_the_digit: bool = True
    """Whether confirmed rows hold the very values, as far as is known, and not such as differ in last digits."""
