"""What a failed check says besides: in go the facts on a model file, out come the cause in it and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.foreign_text import harmless, in_shell, typed
from pytest_draft.policy.starting_settings import settings_of


@dataclass(frozen=True)
class Command:
    """A command that helps, by the paths that were judged."""

    line: str
    """For a POSIX shell, ready to be copied."""
    does: str
    """What it is for, as a phrase that ends before it."""


def told(commands: Iterable[Command]) -> str:
    """Return commands as text of one line, which ends what a remedy says."""
    return "; ".join(f"{one.does}: {one.line}" for one in commands)


_STORED = {
    "rows of each class": "class counts",
    "rows and mean targets": "numbers of rows",
    "rows and sums of gradients": "numbers of rows, and sums of their gradients,",
    "sums of gradients": "sums of the gradients",
}
_FOR_BROKEN = "retrain so that the file keeps what it declares (a note says what breaks that), and judge the new file"
_FOR_NOISY = (
    "retrain with a smaller epsilon and judge the new file; at the same epsilon, more trees mean more noise on each "
    "count but also more counts, so try fewer and more of them, and judge each file"
)
_FOR_LABELS = "retrain with a smaller epsilon or shallower trees (max_depth) and judge the new file"


def cause_in_file(examination: Examination) -> str | None:
    """Say what in the file lets the attack succeed."""
    artifact = examination.artifact
    if not artifact.was_read:
        return None
    if artifact.n_trees is None:
        return "the file tells which values each rule asks for, and so which values the rows that it captures can have"
    trees = f"{artifact.n_trees:,} tree{'s' * (artifact.n_trees != 1)}"
    if (privacy := artifact.privacy) is not None and not privacy.exact:
        what = "noisy class counts" if privacy.counts else "a label"
        return f"the file stores {what} ({privacy.mechanism.capitalize()}, {artifact.claim}) of every leaf of {trees}"
    published = artifact.published
    if published is not None and published.answers is not None:
        if Adversary.parse(examination.case.adversary).served:
            return f"the model's answers tell the {published.answers} of every leaf of {trees} to whoever asks enough"
        return f"the file stores the {published.answers} of every leaf of {trees}, and no counts"
    stored = _STORED["rows of each class" if published is None or published.counts is None else published.counts]
    counts = f"the file stores the {stored} of every node of {trees}"
    if privacy is not None:
        counts = f"the file stores the exact {stored} of every leaf of {trees}"
    if not artifact.bootstrap:
        return f"{counts}, each grown on all rows"
    seeded = published is None or published.seeded == artifact.n_trees
    if seeded and Adversary.parse(examination.case.adversary).name == "artifact":
        return f"{counts} and each tree's seed, which tells how often each row was drawn for it"
    return counts


def remedy_for(artifact: ArtifactFacts) -> str:
    """Say what to do about a forest that gives too much away.

    That no size of a differentially private forest is safest at every epsilon is result 2 of DRAFT-DP (SaTML 2026,
    section IV-B).
    """
    if artifact.privacy is None:
        found = artifact.published
        can_replay = found is not None and found.seeded and found.draws is not None
        return f"{smaller(artifact)}, and judge the new file" + "; removing only the seeds is not enough" * bool(
            can_replay
        )
    if artifact.contradictions:
        return _FOR_BROKEN
    return _FOR_NOISY if artifact.privacy.counts else _FOR_LABELS


CHANGED = frozenset(
    f"{kind}{task}"
    for kind in ("RandomForest", "ExtraTrees", "DecisionTree", "ExtraTree")
    for task in ("Classifier", "Regressor")
)
"""Kinds of models that ``python -m pytest_draft harden`` changes."""

LOADED = (".joblib", ".pkl", ".pickle")
"""How files are named whose models ``advise`` and ``harden`` load."""

NATIVE = {"XGB": (".json", ".ubj"), "LightGBM": (".txt",), "CatBoost": (".cbm",)}
"""Files of boosted trees that ``advise`` loads, too, by the kinds that are in them."""

GONE_SOON = "pytest-draft-demo-"
"""How folders are named whose files are removed when pytest ends: no command is told that needs them."""


def written_suffix(path: str | None) -> str:
    """Return how a file is named that is written in place of another one, so that the same library reads it."""
    suffix = "" if path is None else PurePath(path).suffix
    return suffix if any(suffix in ends for ends in NATIVE.values()) else ".joblib"


def more_time(examination: Examination, policy: str | None = None, whether: str = "passes") -> Command | None:
    """Return the command that gives an attack more time; None where it would not work.

    Parameters
    ----------
    policy : str or None
        As for `commands`.
    whether : str
        What may come of it.
    """
    case = examination.case
    if case.data is None or case.effort is not None or not _can_be_typed(case, policy, case.holdout):
        return None
    words = ["python", "-m", "pytest", "--draft-forest", _from_here(case.artifact), "--draft-data"]
    target = case.target if case.labels is None else _from_here(case.labels)
    words += [case.function or _from_here(case.data), *(["--draft-target", target] if target else [])]
    words += [] if case.split is None else ["--draft-split", case.split]
    words += [] if case.domain is None else ["--draft-domain", _from_here(case.domain)]
    words += [] if case.holdout is None else ["--draft-holdout", _from_here(case.holdout)]
    words += [] if case.hardened_from is None else ["--draft-hardened-from", _from_here(case.hardened_from)]
    words += [word for one in case.beside for word in ("--draft-with", _from_here(one.artifact))]
    words += [word for one in case.beside if one.data for word in ("--draft-with-data", _from_here(one.data))]
    words += [] if case.identifier is None else ["--draft-id", case.identifier]
    words += [] if case.adversary == "artifact" else ["--draft-adversary", case.adversary]
    words += [] if policy is None else ["--draft-policy", policy]
    words += [] if case.seed == 0 else ["--draft-seed", str(case.seed)]
    line = in_shell([*words, "--draft-budget", f"{case.longer:g}"])
    return Command(line, f"to see with more time whether it {whether}")


def commands(examination: Examination, policy: str | None = None) -> tuple[Command, ...]:
    """Return the commands that help with a forest's file.

    Parameters
    ----------
    policy : str or None
        Path or name of the policy; None for the default.

    Returns
    -------
    tuple of Command
        Empty where they would not work: for other models, for data that are not one file of training rows, and for
        files that do not stay.
    """
    case, artifact = examination.case, examination.artifact
    if (
        case.data is None
        or case.function
        or case.labels
        or case.split
        or artifact.privacy is not None
        or not _can_be_typed(case, policy)
    ):
        return ()
    path, kind = PurePath(case.artifact), artifact.kind or ""
    is_loaded = path.suffix in LOADED
    native = next((ends for begin, ends in NATIVE.items() if kind.startswith(begin)), ())
    rows = ["--data", _from_here(case.data), *(["--target", case.target] if case.target else [])]
    model, helping = _from_here(case.artifact), []
    if settings_of(kind) is not None and artifact.place is None and (is_loaded or path.suffix in native):
        more = [] if case.adversary == "artifact" else ["--adversary", case.adversary]
        more += [] if case.domain is None else ["--domain", _from_here(case.domain)]
        more += [] if policy is None else ["--policy", policy]
        advise = in_shell(["python", "-m", "pytest_draft", "advise", model, *rows, *more])
        helping.append(Command(advise, "to find settings that pass, and what they cost"))
    found = artifact.published
    has_seeds = found is None or (found.seeded and found.found is None)
    has_nothing_left = found is not None and found.counts is None and not has_seeds and not found.left
    if kind in CHANGED and is_loaded and not has_nothing_left:
        hardened = _from_here(str(path.with_name(f"{path.stem}-hardened.joblib")))
        harden = in_shell(["python", "-m", "pytest_draft", "harden", model, hardened, *rows])
        helping.append(Command(harden, "to take out what predictions do not need"))
    return tuple(helping)


def _can_be_typed(case: Case, *more: str | None) -> bool:
    """Return whether all names in a command are as they are shown, and its model file stays where it is."""
    names = (case.artifact, case.data, case.target, case.labels, case.split, case.domain, case.adversary, *more)
    stays = not any(part.startswith(GONE_SOON) for part in PurePath(case.artifact).parts)
    return stays and all(name is None or harmless(name, None) == name for name in names)


def _from_here(path: str) -> str:
    """Return a path as somebody in this folder would type it."""
    absolute = os.path.abspath(path)  # noqa: PTH100  (links stay as they are)
    here = os.getcwd()  # noqa: PTH109
    inside = absolute.startswith(here.rstrip(os.sep) + os.sep)
    return typed(os.path.relpath(absolute, here)) if inside else absolute


def smaller(artifact: ArtifactFacts) -> str:
    """Say how to retrain a model of this kind: by a setting to begin with."""
    what = "a smaller tree" if artifact.n_trees == 1 else "fewer and smaller trees"
    found = settings_of(artifact.kind or "")
    if found is None:
        return f"retrain with {what}"
    leaves = None if artifact.structure is None else artifact.structure.leaves
    return f"retrain with {what}: start with {found.below(leaves)}"
