"""The ledger of files that were released before: nothing passes that was not judged together with all of them.

It is a chain: each entry holds the SHA-256 of the one before. The *head* is that of the last: whoever pins it pins all
entries, their number and their order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from pytest_draft.bounded import MODEL_BYTES, content, sha256, what_failed
from pytest_draft.documents import MOST_BYTES, toml, violations
from pytest_draft.errors import UsageError, listed, one_line
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.storage import write_atomically
from pytest_draft.report.standings import file_of

Entry = Mapping[str, str]
"""One file that was released, with the keys of the schema in its order."""


def _text(entry: Entry) -> str:
    """Return an entry as it stands in a ledger."""
    return "\n[[entry]]\n" + "".join(f"{key} = {json.dumps(entry[key], ensure_ascii=False)}\n" for key in entry)


@dataclass(frozen=True)
class Ledger:
    """What was released before, as it was when the run began."""

    path: Path
    entries: tuple[Entry, ...] = ()

    @property
    def text(self) -> str:
        """The whole file."""
        return "schema_version = 1\n" + "".join(map(_text, self.entries))

    @property
    def head(self) -> str:
        """The SHA-256 of the last entry; empty where there is none."""
        return hashlib.sha256(_text(self.entries[-1]).encode()).hexdigest() if self.entries else ""

    def with_files(self, files: Iterable[Entry]) -> Ledger:
        """Return the ledger with further files; those that it has already are not repeated."""
        made = self
        for file in files:
            if all(file["artifact_sha256"] != entry["artifact_sha256"] for entry in made.entries):
                made = replace(made, entries=(*made.entries, {**file, "before": made.head}))
        return made

    def missing(self, case: Case, judged: str | None) -> list[Entry]:
        """Return the entries of files that are neither the judged one, by its SHA-256, nor beside it."""
        hashes = {judged}
        for one in case.beside:
            with suppress(OSError):  # its judgement says what is wrong
                hashes.add(sha256(Path(one.artifact), MODEL_BYTES))
        return [entry for entry in self.entries if entry["artifact_sha256"] not in hashes]

    def barred(self, found: Examination) -> Examination:
        """Return an examination, barred where a file that was released before was not judged together with it."""
        missing = self.missing(found.case, found.artifact.sha256)
        if not missing:
            return found
        named = listed([f"{entry['file']} (sha256 {entry['artifact_sha256'][:12]}...)" for entry in missing], 3)
        add = " ".join(f"--draft-with {one_line(entry['file'])}" for entry in missing[:3])
        why = f"released before and not judged together with it: {named}: add {add}"
        return replace(found, barred=why, reasons=(*found.reasons, why))

    def record(self, report: Mapping[str, Any], cases: Mapping[str, Case]) -> str:
        """Append a run's files, of which it has a case by each one's path in its report, and say what is to be done.

        Raises
        ------
        UsageError
            Where not all have passed, two new ones were not judged together, or the ledger was changed meanwhile.
        OSError
            Where it cannot be written.
        """
        if report["verdict"] != "passed":
            raise UsageError("not all has passed")
        judged = [(path, one) for one in report["results"] if (path := file_of(one["artifact"])) in cases]
        made = self
        for path, one in judged:
            file = {"file": one_line(PurePath(path).name)}
            file |= {f"{of}_sha256": one[of]["sha256"] or "" for of in ("artifact", "data", "policy")}
            made = made.with_files([file | {"date": report["judged_at"][:10], "verdict": "passed"}])
        for path, one in judged:
            if apart := made.missing(cases[path], one["artifact"]["sha256"]):
                raise UsageError(f"{path} was not judged together with {apart[0]['file']}: release one after the other")
        if read_ledger(self.path, new=not self.entries) != self:
            raise UsageError("another run has changed the ledger meanwhile: judge again")
        write_atomically(self.path, made.text)
        return f"{len(made.entries) - len(self.entries)} added; pin its new head: --draft-ledger-head {made.head}"


def read_ledger(path: Path, head: str | None = None, *, new: bool = False) -> Ledger:
    """Read a ledger, which must be what `Ledger.record` writes, byte for byte, and have the head that is asked for.

    Of a new one there need not be a file yet, where no head is asked for.

    Raises
    ------
    UsageError
        Where it cannot be read, an entry is wrong or not where it was, or its head is another one.
    """
    ledger, wrong = Ledger(path), list[str]()
    try:
        text = content(path, MOST_BYTES).decode("utf-8")
        document = toml(text)
        wrong = violations(document, "ledger.schema.json", text)
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError) and new and head is None:
            return ledger
        wrong = [f"it cannot be read ({what_failed(error, MOST_BYTES)})"]
    except ValueError as error:
        wrong = [str(error)]
    for number, entry in enumerate(() if wrong else document.get("entry", ())):
        longer = ledger.with_files([entry])
        if longer.entries[len(ledger.entries) :] != (entry,):
            at = f"entry.{number} ({one_line(entry['file'])})"
            wrong = [f"{at}: it is there already, or does not follow the entry before it"]
            break
        ledger = longer
    if not wrong and ledger.text != text:
        wrong = ["its line ends, blanks or comments were changed"]
    if not wrong and head not in (None, ledger.head):
        wrong = [f"its head is {ledger.head or 'missing'}, and --draft-ledger-head says another"]
    if wrong:
        raise UsageError(f"{one_line(path)}: {'; '.join(wrong)}: restore the ledger as --draft-record has written it")
    return ledger
