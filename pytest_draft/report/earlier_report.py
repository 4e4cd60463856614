"""An earlier report: in goes the path of a JSON report, out comes what the results of this run are compared with."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from jsonschema import Draft202012Validator

from pytest_draft.bounded import content, what_failed
from pytest_draft.errors import UsageError, one_line
from pytest_draft.policy.comparison import Compared, Figures
from pytest_draft.report.canonical import HASH, sha256
from pytest_draft.report.result import SCHEMA_VERSION, Result
from pytest_draft.report.schema import schema

MOST_BYTES = 32 << 20
"""The largest report that is read: one of hundreds of models has a tenth of that."""

_REMEDY = "give a report that --draft-report=json has written with this version"


@dataclass(frozen=True)
class Earlier:
    """The results of an earlier report.

    Attributes
    ----------
    results : tuple of dict
    """

    results: tuple[Result, ...] = field(repr=False)

    def beside(self, result: Result) -> Compared:
        """Return the figures of a result of this run, beside those of the same model and adversary in the report.

        A model is the same where its file is called the same; of several, where the whole path is.

        Parameters
        ----------
        result : dict
            As `result_of` returns it.
        """
        path, adversary = result["artifact"]["path"], result["adversary"]
        matches = [
            one
            for one in self.results
            if one["adversary"] == adversary and _file_name(one["artifact"]["path"]) == _file_name(path)
        ]
        if len(matches) > 1:
            matches = [one for one in matches if one["artifact"]["path"] == path] or matches
        if len(matches) != 1:
            number = f"{len(matches)} results" if matches else "no result"
            why = (
                f"the earlier report has {number} of a model file {one_line(_file_name(path))!r} and the adversary "
                f"{one_line(adversary)!r}: compare with a report that has one"
            )
            return Compared(figures(result), {}, (why,))
        (before,) = matches
        doubts = tuple(f"the earlier report is in doubt: {one_line(reason)}" for reason in before["reasons"])
        return Compared(figures(result), figures(before), doubts)


def read_earlier(path: Path) -> Earlier:
    """Read a JSON report.

    Raises
    ------
    UsageError
        Where it cannot be read, is no report of this version, or was changed since it was written.
    """
    where = f"--draft-compare: {one_line(path)}"
    try:
        text = content(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{where} cannot be read ({what_failed(error, MOST_BYTES)}): {_REMEDY}") from None
    try:
        report = json.loads(text.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{where} is no JSON ({type(error).__name__}): {_REMEDY}") from None
    version = report.get("schema_version") if isinstance(report, dict) else None
    if version is not None and version != SCHEMA_VERSION:
        raise UsageError(f"{where} is of schema version {one_line(version)}, not {SCHEMA_VERSION}: {_REMEDY}")
    wrong = next(Draft202012Validator(schema()).iter_errors(report), None)
    if wrong is not None:
        place = ".".join(map(str, wrong.absolute_path)) or "top level"
        raise UsageError(f"{where} is no valid report ({one_line(place)}: {one_line(wrong.message, 120)}): {_REMEDY}")
    if HASH in report and report[HASH] != sha256(report):
        raise UsageError(f"{where} was changed since it was written: its {HASH} is of another content; {_REMEDY}")
    return Earlier(tuple(report["results"]))


def figures(result: Result) -> Figures:
    """Return what of a result can be compared, with the bounds that are known of it.

    Parameters
    ----------
    result : dict
        An entry of a report's ``results``.
    """
    metrics, baselines, entropy = result["metrics"], result["baselines"], result["entropy"]
    found: dict[str, tuple[float, float]] = {}
    if (error := metrics["reconstruction_error"]) is not None:
        found["reconstruction_error"] = (error, error)
    elif bounds := baselines.get("reconstruction_error_bounds"):
        found["reconstruction_error"] = _pair(bounds)
    if (perfect := metrics["perfect_rows"]) is not None:
        found["perfect_rows"] = _pair(baselines.get("perfect_rows_bounds", [perfect, perfect]))
    if (single := metrics["singled_out_rows"]) is not None:
        bounded = "perfect_rows_bounds" in baselines  # those of singled-out rows are not in a report
        found["singled_out_rows"] = (single, metrics["unique_rows"] if bounded else single)
    if (certain := metrics["certain_rows"]) is not None:
        found["certain_rows"] = (certain, certain if metrics["certain_rows_exact"] else metrics["n_rows"])
    if bounds := entropy.get("ratio_bounds"):
        lower, upper = _pair(bounds)
        found["entropy_reduction"] = (1 - upper, 1.0 if entropy["reasons"] else 1 - lower)
    return {name: pair for name, pair in found.items() if None not in pair}


def _pair(bounds: list[Any]) -> tuple[float, float]:
    lower, upper = bounds
    return float(lower), float(upper)


def _file_name(path: str) -> str:
    return re.split(r"[\\/]", path)[-1]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
