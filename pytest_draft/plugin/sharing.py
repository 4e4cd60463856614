"""Examinations that the processes of one run share: in goes a case, out comes what one process found out.

Only aggregates are shared, as JSON in a private folder that the controller makes and removes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.contents import Copy, Rarest, StoredFacts, Vector
from pytest_draft.facts.entropy import Between, Entropy, RowGroup
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Closeness, Distance, Exact, Individuals, Numeric, Significance
from pytest_draft.facts.files import ArtifactFacts, DataFacts, DomainFacts
from pytest_draft.facts.findings import Findings, Labelled, Part, ProvedValues, Raw, Values
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Published
from pytest_draft.facts.slices import Measured, SliceBaseline, SliceFigures
from pytest_draft.facts.structure import StructureFacts

FOLDER = "draft_shared_folder"
"""Under this name, xdist's controller tells its workers where to share what they have found out."""

INTERRUPTED = "interrupted"
"""A file of this name in that folder tells the workers, which xdist keeps from Ctrl-C, that there was one."""

Stamps = tuple[tuple[int, int, int] | None, ...]


def stamps(case: Case) -> Stamps:
    """Return what changes when a case's files do: inode, size and time of change of each."""
    found: list[tuple[int, int, int] | None] = []
    for path in (case.artifact, case.data, case.domain, case.holdout):
        try:
            status = Path(path).stat() if path is not None else None
        except OSError:  # reading it will say what is wrong
            status = None
        found.append((status.st_ino, status.st_size, status.st_mtime_ns) if status else None)
    return tuple(found)


@dataclass(frozen=True)
class Shared:
    """Examinations that the processes of one run share.

    Attributes
    ----------
    folder : Path or None
        None in a run of one process.
    """

    folder: Path | None

    @classmethod
    def of(cls, config: pytest.Config) -> Shared:
        """Return what the controller has told this process."""
        folder = getattr(config, "workerinput", {}).get(FOLDER)
        return cls(Path(folder) if folder else None)

    def heed_interrupt(self, *_: object) -> None:
        """Raise KeyboardInterrupt where there was one on the controller."""
        if self.folder is not None and (self.folder / INTERRUPTED).exists():
            raise KeyboardInterrupt

    def once(self, case: Case, compute: Callable[[], Examination]) -> Examination:
        """Return a case's examination; the first process to ask computes it, the others wait."""
        if self.folder is None:
            return compute()
        name = hashlib.sha256(repr((case, stamps(case))).encode()).hexdigest()
        path = self.folder / f"{name}.json"
        with FileLock(self.folder / f"{name}.lock"):
            self.heed_interrupt()
            if not path.exists():
                path.write_text(as_text(compute()), encoding="utf-8")
            return from_text(case, path.read_text(encoding="utf-8"))


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that an earlier one is replaced whole, or stays."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def as_text(examination: Examination) -> str:
    """Return an examination, without its case, as JSON."""
    content = asdict(examination)
    del content["case"]  # a slice's bounds can be infinite, which is not JSON
    return json.dumps(content, allow_nan=False)


def from_text(case: Case, text: str) -> Examination:
    """Return the examination of a case that JSON holds."""
    return _examination(case, json.loads(text))


def _examination(case: Case, content: dict[str, Any]) -> Examination:
    """Return the examination of a case that JSON holds."""
    content["case"] = case
    content["artifact"] = _artifact(content["artifact"])
    for name in ("data", "holdout"):
        if content[name] is not None:
            content[name] = DataFacts(**_tupled(content[name]))
    if content["domain"] is not None:
        content["domain"] = DomainFacts(**_tupled(content["domain"]))
    if content["findings"] is not None:
        content["findings"] = _findings(content["findings"])
    if (proved := content["certificate"]) is not None:
        bounds = {name: Bounds(**value) for name, value in proved.items() if name != "n_rows"}
        content["certificate"] = Certificate(n_rows=proved["n_rows"], **bounds)
    if (entropy := content["entropy"]) is not None:
        for name in ("ratio", "lowest_row"):
            entropy[name] = Between(**entropy[name])
        entropy["groups"] = tuple(RowGroup(**group) for group in entropy["groups"])
        content["entropy"] = Entropy(**_tupled(entropy))
    return Examination(**_tupled(content))


def _artifact(content: dict[str, Any]) -> ArtifactFacts:
    """Return the facts on a file that JSON holds."""
    if (declared := content["privacy"]) is not None:
        content["privacy"] = Privacy(**_tupled(declared))
    if (published := content["published"]) is not None:
        content["published"] = Published(**published)
    if (stored := content["contents"]) is not None:
        for name, kind in _STORED.items():
            stored[name] = tuple(kind(**_tupled(one)) for one in stored[name])
        content["contents"] = StoredFacts(**_tupled(stored))
    if (structure := content["structure"]) is not None:
        for name in ("alone", "disclosed_class"):
            structure[name] = Between(**structure[name])
        content["structure"] = StructureFacts(**_tupled(structure))
    return ArtifactFacts(**_tupled(content))


def _findings(content: dict[str, Any]) -> Findings:
    """Return the findings that JSON holds."""
    for name, kind in _FIGURES.items():
        if content[name] is not None:
            content[name] = kind(**content[name])
    if (numeric := content["numeric"]) is not None:
        for name in ("attack", "random", "median"):
            numeric[name] = Closeness(**numeric[name])
        content["numeric"] = Numeric(**numeric | {"median_guess": Baseline(**numeric["median_guess"])})
    for name in ("seen", "informative", "mostly_determined", "fully_determined"):
        if content[name] is not None:
            content[name] = _part(content[name])
    content["rescaled"] = tuple(map(_part, content["rescaled"]))
    if (labelled := content["labelled"]) is not None:
        measured = {"error": Distance(**labelled["error"]), "split_half": Baseline(**labelled["split_half"])}
        content["labelled"] = Labelled(**labelled | measured)
    content["slices"] = tuple(map(_slice, content["slices"]))
    if (raw := content["raw"]) is not None:
        content["raw"] = Raw(raw["columns"], Distance(**raw["error"]))
    return Findings(**_tupled(content))


def _part(content: dict[str, Any]) -> Part:
    """Return the figures on a part that JSON holds."""
    content["error"], content["split_half"] = Distance(**content["error"]), Baseline(**content["split_half"])
    if content["exact"] is not None:
        content["exact"] = Exact(**content["exact"])
    return Part(**content)


def _slice(content: dict[str, Any]) -> SliceFigures:
    """Return the figures on a slice that JSON holds."""
    if (measured := content["measured"]) is not None:
        kinds: dict[str, type[Any]] = {"error": Distance, "random": SliceBaseline, "split_half": SliceBaseline}
        content["measured"] = Measured(**measured | {name: kind(**measured[name]) for name, kind in kinds.items()})
    return SliceFigures(**content)


_STORED: dict[str, type[Any]] = {"by_row": Vector, "perhaps_by_row": Vector, "copies": Copy, "rarest": Rarest}

_FIGURES: dict[str, type[Any]] = {
    "error": Distance,
    "original_error": Distance,
    "random": Baseline,
    "split_half": Baseline,
    "identity": Identity,
    "determined": Values,
    "free": Values,
    "certain": Values,
    "constrained": Values,
    "proved_values": ProvedValues,
    "inliers": Individuals,
    "outliers": Individuals,
    "significance": Significance,
}


def _tupled(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with lists as tuples, which is what the frozen types hold."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
