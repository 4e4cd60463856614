"""An earlier report: in goes the path of a JSON report, out comes what the results of this run are compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from jsonschema import Draft202012Validator

from pytest_draft.bounded import content, what_failed
from pytest_draft.errors import UsageError, one_line
from pytest_draft.policy.compared_with_earlier import COMPARED
from pytest_draft.policy.rule import Figures, NowAndEarlier
from pytest_draft.report.bounds import bounds_of
from pytest_draft.report.canonical import HASH, sha256
from pytest_draft.report.matched import file_name, matched
from pytest_draft.report.result import SCHEMA_VERSION, Result
from pytest_draft.report.schema import schema
from pytest_draft.report.standings import file_of

MOST_BYTES = 256 << 20
"""The largest report that is read: one of a thousand models has a tenth of that."""

_REMEDY = "give a report that --draft-report=json has written with this version"

_KEPT = ("adversary", "verdict", "reasons", "seconds", "cached")
_KEPT_METRICS = (*COMPARED, "unique_rows", "certain_rows_exact", "n_rows")


@dataclass(frozen=True)
class Earlier:
    """The results of an earlier report."""

    results: tuple[Result, ...] = field(repr=False)
    """Only what a comparison needs."""
    not_run: tuple[str, ...] = ()
    """Addresses of checks that were planned and not run."""

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The paths of the model files, each once, also of those of which nothing ran."""
        judged = (file_of(result["artifact"]) for result in self.results)
        return tuple(dict.fromkeys((*judged, *self.files_not_run)))

    @cached_property
    def files_not_run(self) -> tuple[str, ...]:
        """The path of the model file of each check that was planned and not run; a project's own tests have none."""
        files = (address.partition("::")[0] for address in self.not_run)
        return tuple(file for file in files if not file.endswith(".py"))

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], list[Result]]:
        found: dict[tuple[str, str], list[Result]] = {}
        for result in self.results:
            found.setdefault((file_name(result["artifact"]["path"]), result["adversary"]), []).append(result)
        return found

    def beside(self, result: Result, whose: Mapping[str, str] | None = None) -> NowAndEarlier:
        """Return the figures of a result of this run, beside those of the same model and adversary in the report.

        Parameters
        ----------
        result : dict
            As `result_of` returns it.
        whose : mapping of str to str or None
            Which file of the report each file of this run is, as `matched` returns it; None where this is the only one.
        """
        path, adversary = result["artifact"]["path"], result["adversary"]
        file = file_of(result["artifact"])
        whose = matched([file], self.files) if whose is None else whose
        named = self._by_name.get((file_name(path), adversary), [])
        matches = [one for one in named if file_of(one["artifact"]) == whose.get(file)]
        if len(matches) != 1:
            taken = set(whose.values()) if named else set()
            others = matches or [one for one in named if file_of(one["artifact"]) not in taken]
            number = f"{len(others)} {'result' if len(others) == 1 else 'results'}" if others else "no result"
            besides = "" if matches or not others else ", none of them of this path"
            why = (
                f"the earlier report has {number} of a model file {one_line(file_name(path))!r} and the adversary "
                f"{one_line(adversary)!r}{besides}: compare with a report that has one"
            )
            return NowAndEarlier(figures(result), {}, (why,))
        (before,) = matches
        doubts = tuple(f"the earlier report is in doubt: {one_line(reason)}" for reason in before["reasons"])
        return NowAndEarlier(figures(result), figures(before), doubts)


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
        raise UsageError(f"{where} is not JSON ({type(error).__name__}): {_REMEDY}") from None
    version = report.get("schema_version") if isinstance(report, dict) else None
    if version is not None and version != SCHEMA_VERSION:
        raise UsageError(f"{where} is of schema version {one_line(version)}, not {SCHEMA_VERSION}: {_REMEDY}")
    wrong = next(Draft202012Validator(schema()).iter_errors(report), None)
    if wrong is not None:
        place = ".".join(map(str, wrong.absolute_path)) or "top level"
        raise UsageError(
            f"{where} is not a valid report ({one_line(place)}: {one_line(wrong.message, 120)}): {_REMEDY}"
        )
    if HASH in report and report[HASH] != sha256(report):
        raise UsageError(f"{where} was changed after it was written: its {HASH} does not fit; {_REMEDY}")
    return Earlier(tuple(map(_kept, report["results"])), tuple(report["not_run"]))


def _kept(result: Result) -> Result:
    """Return of a result what is compared, and what tells how the model stood."""
    kept = {name: result[name] for name in _KEPT}
    return kept | {
        "artifact": {name: result["artifact"].get(name) for name in ("path", "place", "sha256")},
        "data": {name: result["data"][name] for name in ("path", "sha256")},
        "policy": {name: result["policy"].get(name) for name in ("name", "sha256")},
        "metrics": {name: result["metrics"].get(name) for name in _KEPT_METRICS},
        "baselines": {name: one for name, one in result["baselines"].items() if name.endswith("_bounds")},
        "entropy": {name: result["entropy"][name] for name in ("ratio_bounds", "reasons") if name in result["entropy"]},
        "checks": [
            {name: check[name] for name in ("rule", "result", "severity", "waiver", "sentence")}
            for check in result["checks"]
        ],
    }


def figures(result: Result) -> Figures:
    """Return what of a result can be compared, with the bounds that are known of it.

    Parameters
    ----------
    result : dict
        An entry of a report's ``results``.
    """
    metrics, baselines, entropy = result["metrics"], result["baselines"], result["entropy"]
    found = {name: bounds_of(result, name) for name in COMPARED}
    if (single := metrics["singled_out_rows"]) is not None and "perfect_rows_bounds" in baselines:
        found["singled_out_rows"] = [single, metrics["unique_rows"]]  # its own bounds are not in a report
    if (certain := metrics["certain_rows"]) is not None and not metrics["certain_rows_exact"]:
        found["certain_rows"] = [certain, metrics["n_rows"]]
    found["entropy_reduction"] = None
    if bounds := entropy.get("ratio_bounds"):
        found["entropy_reduction"] = [1 - bounds[1], 1.0 if entropy["reasons"] else 1 - bounds[0]]
    return {name: (pair[0], pair[1]) for name, pair in found.items() if pair is not None and None not in pair}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
