"""Checks the split and the labels that a `Case` names before any work is done.

A split that cannot be read and a misspelt label column are mistakes on the command line, not answers about a model.
Whatever else is wrong is left to the judgement, which reports it beside what the file holds.
"""

from __future__ import annotations

from pytest_draft.errors import LabelError, UsageError
from pytest_draft.examine.inputs import open_files
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Case


def unusable_labels(case: Case) -> str | None:
    """Return one line on a split or labels that cannot be used as given; None where they can, or nothing can be said.

    Parameters
    ----------
    case : Case
        With training data in a file.
    """
    try:
        opened = open_files(case, None, FlowRecord(case), search=False)
    except Exception:  # the judgement reports it
        return None
    return str(opened.refused) if isinstance(opened.refused, LabelError | UsageError) else None
