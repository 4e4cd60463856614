"""The interface of all kinds of attack: what each can be asked about its inputs and about what it rebuilt.

Each kind of attack is a class, made from `Inputs` and chosen by `pytest_draft.examine.kinds`. It says what its
adversary is granted, rebuilds rows, says whose rows they are, and why its error may be only an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.data import TrainingData
from pytest_draft.examine.limits import TimeLimits
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction

WITHOUT_SEEDS = (
    "the file holds no seeds (random_state is None), and they were not found again: which rows were drawn for which "
    "tree is not known, so that the adversary 'artifact' knows no more of them than 'published', and is judged so"
)
"""What is reported where the attack falls back to what a file holds."""


TRUTH_IS_LIKELIER = "the training data explain the file better than all that it found"
"""Why an attack that looks for the likeliest rows did not converge."""


def off_by(reconstruction: Reconstruction, what: str) -> str:
    """Say how far rebuilt rows are from what the file says, as why an attack did not converge."""
    return f"{reconstruction.residual:,} {what} are still wrong (0 with the right rows)"


@dataclass(frozen=True)
class Shortfall:
    """Why the error of what was rebuilt is only an upper bound."""

    reasons: tuple[str, ...] = ()
    """Empty where nothing suggests that the error could be smaller."""
    truth_is_likelier: bool = False
    """Whether the training data explain the file better than what was rebuilt, so that the attack has not converged."""


class Attack(Protocol):
    """One attack on one file, ready to run."""

    granted: tuple[str, ...] = ()
    """What the adversary is granted besides the domain and its side knowledge, in words."""
    notes: tuple[str, ...] = ()
    """What a reader should know of such a file."""
    reasons: tuple[str, ...] = ()
    """Why the file cannot pass by this attack, known before it runs."""
    unused: tuple[str, ...] = ()
    """Contents of the file that the attack does not use, reported where it is compared with the training data."""
    undecoded: tuple[str, ...] = ()
    """Contents of the file that nothing here uses, so that others may get closer."""
    extremes: Extremes | None = None
    """Of the nodes of random splits, as far as they were decoded."""
    exact: Problem | None = None
    """The problem with all that the file's counts reveal, in the inputs' own domain; None where none is built."""
    any_size: bool = False
    """Whether it may rebuild another number of rows than there are, and is then measured all the same."""

    def rebuild(self, search: Search) -> Reconstruction:
        """Attack; may raise `OutOfTimeError`, `InfeasibleError` and `NotCoveredError`."""

    def identity(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Identity:
        """Say whether the rows can be those that it was trained on, beside what was rebuilt."""

    def shortfall(self, data: TrainingData, reconstruction: Reconstruction, limits: TimeLimits) -> Shortfall:
        """Say why the error of what was rebuilt is only an upper bound."""
