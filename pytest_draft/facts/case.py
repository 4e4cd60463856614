"""One model file to be judged against one adversary."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.checks import require_not_negative
from pytest_draft.facts.slices import Slice

FILES = ("artifact", "data", "labels", "domain", "holdout", "hardened_from")
"""Fields of a case that name files."""

_NAME = r"[^\W\d]\w*"


def names_function(text: str) -> bool:
    """Return whether a text is a module's name and a function's, as in ``train:load``; drives have one letter."""
    return re.fullmatch(rf"(?!\w:){_NAME}(\.{_NAME})*:{_NAME}", text) is not None


@dataclass(frozen=True, eq=False, repr=False)
class Returned:
    """Training data that a function of the owner's project has returned. Its repr shows no row."""

    value: object
    """What it returned: a DataFrame, or rows and labels."""
    source: str
    """The function, as in `Case.data`."""


@dataclass(frozen=True)
class Beside:
    """Another model file in the same hands, such as an earlier version that is out already."""

    artifact: str
    """Path of the model file."""
    data: str | None = None
    """Path of its training data; None where they are those of the case."""
    place: str | None = None
    """Which of several models in the file."""


@dataclass(frozen=True)
class Case:
    """One model file to be judged against one adversary."""

    artifact: str
    """Path of the model file."""
    data: str | None = None
    """Path of the training data, or the function of the owner's project that returns them, as in ``train:load``."""
    target: str | None = None
    """Name of the label column."""
    labels: str | None = None
    """Path of the labels, where they are in a file of their own."""
    split: str | None = None
    """How the training rows were taken from the table, as `pytest_draft.data.source` reads it."""
    domain: str | None = None
    """Path of a domain file; None to infer the domain from the training data."""
    holdout: str | None = None
    """Path of rows of the same population that were not trained on, for the leak p-value."""
    adversary: str = "artifact"
    """Name of the adversary's side knowledge."""
    seconds: float = 60.0
    """The time box, for everything."""
    seed: int = 0
    """Of the attack, the baselines and all samples."""
    workers: int = 1
    """Solver threads."""
    effort: float | None = None
    """The most units of work (`TimeBox`) that a search may spend, so that it is the same on every run; None where only
    the clock counts. Evaluation is not limited by it.
    """
    memory: int | None = None
    """The most resident memory, in MB, where the examination runs in a process of its own; None for that process's
    default.
    """
    attack: bool = True
    """Whether to attack; else the file is read and its entropy reported, and nothing is rebuilt."""
    full: bool = False
    """Whether to go on with the attack, and with all that is measured, once the verdict is certain."""
    slices: tuple[Slice, ...] = ()
    """Rows that the policy names, to be measured by themselves."""
    sensitive: tuple[str, ...] = ()
    """Raw columns, or the label's, of which it is to be known what the file tells."""
    by_class: bool = False
    """Whether the rows of each class are, too."""
    domain_sha256: str | None = None
    """Of the domain file that a policy vouches for: it is taken as it stands. Any other is narrowed to what occurs in
    the training data.
    """
    found_rows_bits: float = 40.0
    """Margin, as a power of 2, from which training rows that were found in a raw table are confirmed."""
    coarse_bounds: bool = False
    """Whether what is said of the domain gives powers of ten around the lowest and highest values, which are those of
    single people, or nothing of them.
    """
    known_files: tuple[str, ...] = ()
    """Patterns of files of a release that may be of an unknown kind."""
    place: str | None = None
    """Which of several models in the file, as `ArtifactFacts.places` lists them; None where there is but one."""
    hardened_from: str | None = None
    """Path of the owner's own file that it was hardened from, which is loaded."""
    beside: tuple[Beside, ...] = ()
    """Other files of some of the same people, with which this one is judged once more, together."""
    identifier: str | None = None
    """Name of the column that says whose row is whose, in the tables of all of these files."""
    by_itself: bool = False
    """Whether it is judged without these, and without the other models in its file."""
    moved: bool = False
    """Whether thresholds stand beside the file's as hardening moves them: of a file that another was hardened from."""

    @property
    def function(self) -> str | None:
        """The function that returns the training data; None where they are in a file, or there are none."""
        return self.data if self.data is not None and names_function(self.data) else None

    @property
    def files(self) -> dict[str, str]:
        """The files that are named, by the fields that name them."""
        others = {
            f"{name}_beside_{i}": path
            for i, one in enumerate(self.beside)
            for name, path in (("artifact", one.artifact), ("data", one.data))
        }
        everything = {name: getattr(self, name) for name in FILES} | others
        return {name: path for name, path in everything.items() if path is not None}

    @property
    def alone(self) -> Case:
        """The case of this file without others."""
        return replace(self, by_itself=True)

    @property
    def longer(self) -> float:
        """Seconds to try where a search did not end within its time."""
        return 4 * self.seconds

    @property
    def basis(self) -> Case | None:
        """The case of what tells no less: the file that it was hardened from, or this one where it is only asked."""
        raw, asks = self.hardened_from, Adversary.parse(self.adversary)
        by_file = asks.served and not asks.has_side_knowledge
        case = replace(self, adversary="artifact") if by_file else self
        if raw is None:
            return case if by_file else None
        return replace(case, artifact=raw, hardened_from=None, moved=True)

    def __post_init__(self) -> None:
        require_not_negative(seed=self.seed)
        if not (self.seconds > 0 and self.workers >= 1):
            raise ValueError(f"a time box of {self.seconds} s and {self.workers} threads")
        if (self.effort is not None and not self.effort > 0) or (self.memory is not None and self.memory < 1):
            raise ValueError(f"an effort of {self.effort} and {self.memory} MB of memory")
