"""The result of a search for a setting: one frozen object from which table, page and JSON are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_draft.advice.choice import best
from pytest_draft.advice.facts import Score, Secret, Setting, Tried

Status = Literal["confirmed", "none passes", "not finished"]


@dataclass(frozen=True)
class Recommendation:
    """Which setting to train, what was tried, and what it costs. Aggregates only: no row of data."""

    holds: str
    """Kind of the model."""
    source: str | None
    sha256: str | None
    """`source` and `sha256`: path and hash of the model file; None for a model given in memory."""
    data: str | None
    data_sha256: str | None
    """`data` and `data_sha256`: the same of the training data."""
    target: str
    n_rows: int
    metric: str
    """Name of the scorer."""
    policy: str
    level: str
    """`policy` and `level`: what files were judged by, and how far they were hardened."""
    seed: int
    minutes: float
    seconds: float
    """`minutes` and `seconds`: what was given, and what it took."""
    budget: float
    """Seconds that a judgement may take: the gate's time box."""
    settings: tuple[Tried, ...]
    """All that was scored or judged, the most leaves first."""
    own: Setting
    """The owner's."""
    pick: Setting | None
    """Passed in the sweep and with three fresh seeds; None where no setting did."""
    candidate: Setting | None
    """Of the settings that passed by now, the one that is to be judged next; None where there is a pick."""
    finished: bool
    interrupted: bool
    """`finished` and `interrupted`: whether the search has come to its end, and whether somebody has stopped it."""
    tests: dict[Setting, Score]
    """On rows that chose nothing."""
    tested_on: str
    """Which rows these are; empty where there are none."""
    random_state: Secret | None
    """Of the pick's model, which was judged."""
    code: str | None
    """Python that trains this very model: to be kept as private as the rows, because of the seed in it."""
    public_code: str | None
    """The same without the seed, which trains another model of the setting whenever it is run."""
    commands: tuple[str, ...]
    """That harden and judge it; empty where there are no files to name."""
    longer: str | None
    """The command that searches for longer; None where there is a pick, nothing to gain, or no files to name."""
    notes: tuple[str, ...]
    model: Any = field(default=None, repr=False, compare=False)
    """Estimator or None. The pick's, trained on all rows: as private as these, until it is hardened."""
    released: Any = field(default=None, repr=False, compare=False)
    """Estimator or None. The same, hardened."""

    @property
    def status(self) -> Status:
        """How the search has ended."""
        if self.pick is not None:
            return "confirmed"
        return "none passes" if self.finished else "not finished"

    @property
    def best(self) -> Tried | None:
        """The setting with the best score of all, whatever it gives away."""
        return best(self.settings)

    @property
    def scored(self) -> int:
        """How many settings were scored."""
        return sum(one.score is not None for one in self.settings)

    @property
    def judgements(self) -> int:
        """How many files were judged."""
        return sum((one.hardened is not None) + len(one.fresh) for one in self.settings)

    def of(self, setting: Setting) -> Tried:
        """Return what is known of a setting."""
        return next((one for one in self.settings if one.setting == setting), Tried(setting))
