"""The command line of the studies: in go a study's name and folders, out comes a table on standard output.

Run from a checkout, after ``pip install -e '.[studies]'``. Studies of many cells keep what they have computed, and go
on there. Studies that count what is wrong with the engine or the gate end with the exit status 1 where anything is, and
so do those of which a cell has failed; 130: stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Mapping, Sequence
from types import FrameType, ModuleType

from studies import (
    agreement,
    boosted,
    boosted_agreement,
    claims,
    field_projects,
    found_rows,
    gate,
    hunt,
    invariances,
    known_classes,
    label_told,
    membership,
    numeric,
    numeric_agreement,
    ordinary_files,
    other_people,
    population_attack,
    reading,
    same_reports,
    sensitive_columns,
    served,
    startup,
    timberstrike,
    verdicts,
    versions,
    what_decides,
)
from studies.fuzz import run as fuzz
from studies.options import end, status_of
from studies.papers import command as papers

STUDIES: Mapping[str, tuple[ModuleType, str]] = {
    # The whole gate, by the real pytest.
    "gate": (gate, "judge forests trained on public data, by the real pytest"),
    "field": (field_projects, "projects as people write them: file, raw table and target's name, as a newcomer"),
    "found-rows": (found_rows, "rows found in raw tables: what is said of wrong ones, and seconds"),
    "boosted": (boosted, "what comes back of the rows of boosted trees, by library"),
    "verdicts": (verdicts, "which of a grid of forests get a verdict, and whether another judgement agrees"),
    "startup": (startup, "what the plugin costs a pytest run, unused and where it judges"),
    "reading": (reading, "what reading a model file costs beside joblib.load"),
    "same-reports": (
        same_reports,
        "fixed judgements by this checkout and another one: where their JSON reports differ",
    ),
    "what-decides": (what_decides, "what decides about some 190 files of all kinds, beside an earlier version"),
    # What the engine proves and claims, on generated instances.
    "agreement": (agreement, "engine, papers' models and enumeration on generated instances"),
    "boosted-agreement": (boosted_agreement, "boosted trees and enumeration on generated instances"),
    "numeric-agreement": (numeric_agreement, "what is proved of numeric columns, against the truth"),
    "claims": (claims, "what is claimed of generated files, against the truth"),
    "fuzz": (fuzz, "read damaged files of all kinds: valid, or one clear error, and nothing else"),
    # Beside the papers.
    "numeric": (numeric, "judge forests trained on scikit-learn's toy data, or on any CSV file"),
    "timberstrike": (timberstrike, "TimberStrike's metric, beside rows for which nobody needs a model"),
    "papers": (papers, "results of the papers, one by one, beside the published runs"),
    # Leaks that a verdict may miss.
    "ordinary-files": (
        ordinary_files,
        "files as people save them, and with rows beside the forest: what is told",
    ),
    "known-classes": (known_classes, "add what the installed libraries' estimators keep to the table of known classes"),
    "label-told": (label_told, "what files tell of labels and targets, beside what is told of other people"),
    "sensitive-columns": (
        sensitive_columns,
        "what files tell of columns that a policy would name, of members and others",
    ),
    "membership": (membership, "how well files tell their people from others, beside held-out rows and shadow models"),
    "versions": (versions, "what versions, folds and other files of the same people tell together"),
    "population-attack": (
        population_attack,
        "hardened files that pass, attacked by somebody with other people's rows",
    ),
    "other-people": (other_people, "files that pass, held against other people's rows that are made to fit them"),
    "served": (served, "limits for somebody who may only ask a model, beside attacks on copies without counts"),
    "invariances": (invariances, "whether a verdict becomes milder where only the writing changes"),
    "hunt": (hunt, "judge drawn triples, and what passes by all that could contradict it"),
}
"""By name: a module with ``add_arguments(parser)`` and ``command(arguments)``, and a line of help."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one study.

    Parameters
    ----------
    words : sequence of str or None
        Of the command line; None for those of this process.

    Returns
    -------
    int
        The exit status.
    """
    arguments = parser().parse_args(words)
    return status_of(STUDIES[arguments.study][0].command, arguments)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    found = argparse.ArgumentParser(
        prog="python -m studies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    studies = found.add_subparsers(dest="study", required=True)
    for name, (module, text) in STUDIES.items():
        module.add_arguments(studies.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}."))
    return found


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    end(main())
