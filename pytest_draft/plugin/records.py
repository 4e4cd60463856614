"""Joins the records that test reports carry into the results of a run.

Each record holds the whole result of an examination beside its one check. Only the first of these is kept, so that a
run of very many models holds each result once.
"""

from __future__ import annotations

from typing import Any

from pytest_draft.report.document import MergedResults
from pytest_draft.report.result import Result


class Records:
    """The records of a run.

    Attributes
    ----------
    done : set of tuple of str
        Artifact, rule and adversary of each planned check that was run.
    own_items : set of str
        Addresses of checks of the models' own items.
    """

    def __init__(self) -> None:
        self._merged = MergedResults()
        self.done: set[tuple[str, str, str]] = set()
        self.own_items: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._merged)

    def add(self, record: dict[str, Any]) -> None:
        """Take over a record.

        Parameters
        ----------
        record : dict
            ``results``, of which nothing else may hold on to, and ``planned``: artifact, rule and adversary, or None.
        """
        for result in record["results"]:
            self._merged.add(result)
            if record["planned"]:
                self.own_items.update(check["item"] for check in result["checks"])
        if record["planned"]:
            artifact, rule, adversary = record["planned"]
            self.done.add((artifact, rule, adversary))

    def results(self) -> list[Result]:
        """Return a result for each artifact, adversary and data, with all of its checks."""
        return self._merged.results()
