"""What advice consists of: frozen settings, scores and judgements. Aggregates only."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pytest_draft.facts.checks import require_not_negative
from pytest_draft.policy.rule import Verdict

Kind = Literal["forest", "tree", "private"]
"""What stands at the forest's place: the owner's own with other parameters, one tree, or a private forest."""

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Setting:
    """One way to train the owner's model."""

    family: str
    """``as it is`` (but for the number of trees), ``max_leaf_nodes``, ``min_samples_leaf``, ``max_depth``, ``single
    tree`` or ``private forest``.
    """
    value: int | float | None
    """Of the family's parameter; None of ``as it is``."""
    trees: int
    parameters: tuple[tuple[str, Any], ...]
    """By which the forest differs from the owner's, or all of another kind."""
    kind: Kind = "forest"

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        trees = f"{self.trees:,} tree{'s' * (self.trees != 1)}"
        if self.family == AS_IT_IS:
            return f"{AS_IT_IS}, {trees}"
        if self.kind == "tree":
            return f"single tree, max_leaf_nodes={self.value}"
        if self.kind == "private":
            return f"LaplaceForestClassifier, epsilon={self.value:g}, {trees}"
        return f"{self.family}={self.value}, {trees}"


Line = tuple[Setting, ...]
"""Settings of one family and number of trees, those with the most leaves first."""


@dataclass(frozen=True)
class Score:
    """How well a setting predicts."""

    mean: float
    """By the metric; higher is better."""
    error: float
    """Its standard error."""
    folds: int
    """Fits, or resamples of test rows, that it is taken from."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.error)):
            raise ValueError(f"a score of {self.mean} with a standard error of {self.error}")
        require_not_negative(error=self.error, folds=self.folds)


@dataclass(frozen=True)
class Judgement:
    """What the gate says of one file."""

    verdict: Verdict
    error_over_limit: float | None
    """The attack's error beside the error at which the check fails: above 1 it is not crossed. None without either."""
    why: str
    """One line: which rules did not pass, and the first one's sentence; empty where all passed."""
    leaves: int
    """Of all trees."""
    seconds: float
    box: float
    """`seconds` and `box`: how long it took, and could have."""
    seed: int
    """Of the attack."""

    def __post_init__(self) -> None:
        require_not_negative(error_over_limit=self.error_over_limit, leaves=self.leaves, seconds=self.seconds)


@dataclass(frozen=True)
class Tried:
    """All that is known of one setting."""

    setting: Setting
    leaves: int | None = None
    """Of all trees; estimated from a few of them until the setting is judged."""
    score: Score | None = None
    """By cross-validation."""
    hardened: Judgement | None = None
    """Of the hardened file."""
    fresh: tuple[Judgement, ...] = ()
    """Of hardened files of models trained with other seeds, in boxes of full length."""

    @property
    def passed(self) -> bool:
        """Whether the hardened file passed whenever it was judged."""
        judged = [one for one in (self.hardened, *self.fresh) if one is not None]
        return bool(judged) and all(one.verdict == "passed" for one in judged)


@dataclass(frozen=True)
class Secret:
    """A seed that nobody can guess or try out, as one number of 32 bits can be; its repr is Python that makes it."""

    words: tuple[int, ...]
    """Of 32 bits each."""

    @classmethod
    def drawn(cls) -> Secret:
        """Return a new one, from the operating system."""
        return cls(tuple(secrets.randbits(32) for _ in range(4)))

    def __repr__(self) -> str:
        return f"np.random.RandomState({list(self.words)})"

    def state(self) -> np.random.RandomState:
        """Return the generator at its begin."""
        return np.random.RandomState(list(self.words))


Seed = int | Secret | None
"""What a model's draws follow from; None for a new one whenever it is trained."""

Say = Callable[[str, float | None], None]
"""Gets what is being done, in words, and the share of the work that is behind; None where that is not known."""


def silent(what: str, share: float | None) -> None:
    """Say nothing."""
