"""The last step of the release gate: in goes the JSON report, out comes whether each file is still what was judged.

``python -m pytest_draft.report.unchanged REPORT.json`` appends ``sha256=...`` to the file that ``GITHUB_OUTPUT`` names,
and ends with 1 where a model file, or the predicate beside the report, is no longer what the report is about. Needs the
standard library only.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_draft.errors import one_line
from pytest_draft.report.annotations import command
from pytest_draft.report.attested import NotAttestedError, judged, sha256_of
from pytest_draft.report.standings import file_of


def unchanged(report: dict[str, Any], predicate: dict[str, Any]) -> list[str]:
    """Return the SHA-256 of each model file that was judged, in the report's order, once each.

    Parameters
    ----------
    report : dict
        As `pytest_draft.report.document.document` returns it.
    predicate : dict
        As `pytest_draft.report.intoto.predicate` returns it, of the same run.

    Raises
    ------
    NotAttestedError
        Where a file has other bytes now, or none, or the predicate is of another run.
    """
    files = {file_of(result["artifact"]): result["artifact"]["sha256"] for result in report["results"]}
    if report["verdict"] != "passed" or not files:
        raise NotAttestedError("the verdict is not passed: there is nothing to attest")
    for path, sha256 in files.items():
        if sha256_of(Path(path)) != sha256:
            raise NotAttestedError(
                f"{one_line(path)}: the file has changed since it was judged (sha256 {sha256}): nothing may be "
                "attested; judge it again"
            )
    if predicate["result"] == "FAILED" or set(judged(predicate)) != set(files.values()):
        raise NotAttestedError("the predicate beside the report is of other files or another result: judge again")
    return list(dict.fromkeys(files.values()))


def main(argv: Sequence[str] | None = None) -> int:
    """Tell later steps what was judged, and return 0 only where it lies there unchanged."""
    parser = argparse.ArgumentParser(prog="python -m pytest_draft.report.unchanged", description=main.__doc__)
    parser.add_argument("report", type=Path, help="JSON report of a run; its .intoto.json lies beside it")
    given = parser.parse_args(argv)
    try:
        texts = [path.read_text(encoding="utf-8") for path in (given.report, given.report.with_suffix(".intoto.json"))]
        found = unchanged(*map(json.loads, texts))
    except NotAttestedError as error:
        print(command("error", str(error)))
        return 1
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        print(command("error", f"no usable report at {one_line(given.report)}: nothing may be attested"))
        return 1
    if output := os.environ.get("GITHUB_OUTPUT"):
        with Path(output).open("a", encoding="utf-8") as file:
            file.write(f"sha256={' '.join(found)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
