"""The end of a run: in go the records of its test reports, out come the written reports and the table."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from pytest_draft.errors import one_line
from pytest_draft.facts.storage import write_atomically
from pytest_draft.plugin.session import GateSession
from pytest_draft.report import wording
from pytest_draft.report.canonical import with_hash
from pytest_draft.report.document import document, merged

_HEADINGS = (
    "forest",
    "adversary",
    "solver",
    "error (split-half, random)",
    "perfect rows",
    "singled out",
    "certain",
    "time",
    "verdict",
)

EXTRA = "extra"
"""The key of a report under which a project's hooks can add something."""

_REFUSED = "the hook pytest_draft_update_report was refused, which fails the run"


@dataclass(frozen=True)
class Summary:
    """What a run has found out.

    Attributes
    ----------
    session : GateSession
    report : dict
        The whole report, plain.
    explanation : str or None
        Shown last, for the demo.
    refused : str or None
        What a hook did to the report that it may not do; then nothing of it is in there.
    not_written : dict of Path to str
        Reports that could not be written, and why.
    """

    session: GateSession
    report: dict[str, Any]
    explanation: str | None
    refused: str | None = None
    not_written: dict[Path, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: pytest.Config, records: Sequence[dict[str, Any]], left: Sequence[str]) -> Summary:
        """Join the records of a run, and find out which planned checks are missing."""
        session = GateSession.of(config)
        done = {tuple(record["planned"]) for record in records if record["planned"]}
        planned = session.planned() if session.settings.active else ()
        not_run = [str(check) for check in planned if (check.artifact, check.rule, check.adversary) not in done]
        not_run += ["::".join(map(one_line, address.split("::"))) for address in left]
        explanation = None
        if config.option.draft_demo:
            from pytest_draft.plugin import demo

            explanation = demo.EXPLANATION
        results = merged(result for record in records for result in record["results"])
        report, refused = _updated(config, document(results, not_run, _version()))
        return cls(session, with_hash(report), explanation, refused)

    def finish(self, exitstatus: int) -> int:
        """Write the reports and return the exit status of the run."""
        for kind, path in self.session.settings.reports:
            try:
                write_atomically(path, _rendered(kind, self.report))
            except (OSError, ValueError) as error:  # whatever it says could quote what was to be written
                self.not_written[path] = type(error).__name__
        passed = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        strictly_failed = self.session.settings.strict and (
            self.report["not_run"] or self.report["verdict"] == "failed"
        )
        if passed and (self.not_written or self.refused or strictly_failed):
            return int(pytest.ExitCode.TESTS_FAILED)
        return exitstatus

    def show(self, terminal: pytest.TerminalReporter) -> None:
        """Show the table, one sentence for whatever did not pass, and what was not run."""
        terminal.section("how much of the training data the forest gives away")
        rows = [_HEADINGS, *map(_row, self.report["results"])]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
        for row in rows if len(rows) > 1 else []:
            terminal.line("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
        for result in self.report["results"]:
            for line in (
                *_of_raw_columns(result),
                *_of_numbers(result),
                *_of_proofs(result),
                *_of_values(result),
                *_of_whole_rows(result),
                *_of_sizes(result),
                *_of_holdout(result),
                *_of_entropy(result),
                *_sentences(result),
            ):
                terminal.line(line)
        if not_run := self.report["not_run"]:
            so = "" if self.report["verdict"] == "failed" else ", so the verdict is inconclusive"
            strict = "; --draft-strict fails the run" if self.session.settings.strict else ""
            terminal.line(f"not run{so}{strict}: {', '.join(not_run)}")
        if self.refused:
            terminal.line(self.refused)
        for kind, path in self.session.settings.reports:
            problem = self.not_written.get(path)
            terminal.line(
                f"{kind} report: {self.session.shown(path)}" + (f" was not written ({problem})" if problem else "")
            )
        if self.explanation:
            terminal.line("")
            terminal.line(self.explanation)


def _updated(config: pytest.Config, report: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return a report with what hooks add under `EXTRA`; as it was, and why, where they do anything else."""
    offered = {**copy.deepcopy(report), EXTRA: {}}
    try:
        config.hook.pytest_draft_update_report(config=config, report=offered)
        extra = json.loads(json.dumps(offered.pop(EXTRA, {}), allow_nan=False))
        unchanged = _plain(offered) == _plain(report)
    except Exception as error:
        return report, f"{_REFUSED}: it raised {type(error).__name__}"
    if not unchanged or not isinstance(extra, dict):
        return report, f"{_REFUSED}: it may only add plain values to the object report[{EXTRA!r}]"
    return ({**report, EXTRA: extra} if extra else report), None


def _plain(report: dict[str, Any]) -> str:
    return json.dumps(report, sort_keys=True, allow_nan=False)


def _rendered(kind: str, report: dict[str, Any]) -> str:
    """Return a report's text; what renders it is imported when it is asked for."""
    render = import_module(f"pytest_draft.report.{'json_report' if kind == 'json' else kind}").render
    text: str = render(report)
    return text


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    metrics = result["metrics"]

    def of(name: str, whole: str) -> str:
        return "-" if metrics[name] is None else f"{metrics[name]:,} of {metrics[whole]:,}"

    return (
        one_line(result["artifact"]["path"]),
        result["adversary"],
        result["solver_status"],
        f"{_error(result)} ({_number(metrics['split_half_error'])}, {_number(metrics['random_error'])})",
        of("perfect_rows", "n_rows"),
        of("singled_out_rows", "unique_rows"),
        _certain(metrics),
        f"{result['seconds']:.1f} s" + " (cached)" * result["cached"],
        _verdict(result),
    )


def _name(result: dict[str, Any]) -> str:
    """Return what a line about a result begins with."""
    return f"{one_line(result['artifact']['path'])}[{result['adversary']}]"


def _verdict(result: dict[str, Any]) -> str:
    """Return a verdict in one or two words; nothing has passed where a policy only warns, and of each of its checks."""
    if result["verdict"] != "passed":
        return str(result["verdict"]).upper()
    return "passed" if any(check["result"] == "passed" for check in result["checks"]) else "not stopped"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _error(result: dict[str, Any], name: str = "reconstruction_error") -> str:
    exact = result["metrics"][name]
    bounds = result["baselines"].get(f"{name}_bounds")
    if exact is None and bounds:
        return f"{bounds[0]:.4f} to {bounds[1]:.4f}"
    return _number(exact)


def _certain(metrics: dict[str, Any]) -> str:
    """Return how many rows are proved to be in every dataset that explains the file."""
    if metrics["certain_rows"] is None:
        return "-"
    return f"{metrics['certain_rows']:,}" if metrics["certain_rows_exact"] else f"at least {metrics['certain_rows']:,}"


def _of_values(result: dict[str, Any]) -> list[str]:
    """Return one line of what the error is made of, where a forest leaves something open."""
    metrics = result["metrics"]
    if not metrics["free_values"]:
        return []
    if not metrics["determined_values"]:
        return [f"{_name(result)}: the forest determines no value: the error of {_error(result)} is that of guesses"]
    parts = []
    for which, kind in (
        ("determined", "that the forest determines"),
        ("free", "that it leaves open, which are guessed"),
    ):
        share = metrics[f"{which}_values"] / (metrics["determined_values"] + metrics["free_values"])
        parts.append(f"{_number(metrics[f'{which}_error'])} on the {_part(share)} of values {kind}")
    return [f"{_name(result)}: the error is {' and '.join(parts)}"]


def _part(share: float) -> str:
    """Return a share of more than none and less than all so that neither is what it is rounded to."""
    if 0 < share < 1 and round(share, 2) in (0, 1):
        return "less than 1%" if share < 0.5 else "more than 99%"
    return f"{share:.0%}"


def _of_whole_rows(result: dict[str, Any]) -> list[str]:
    """Return one line of rows that are known to be rebuilt, and of rows with their labels."""
    parts = wording.of_whole_rows(result["metrics"])
    return [f"{_name(result)}: {'; '.join(parts)}"] if parts else []


def _of_raw_columns(result: dict[str, Any]) -> list[str]:
    """Return one line of the error on raw columns, where the file's transformers have encoded them."""
    columns = result["metrics"]["raw_columns"]
    if columns is None:
        return []
    return [f"{_name(result)}: error {_error(result, 'raw_error')} on the {columns:,} raw columns, each counted once"]


def _of_numbers(result: dict[str, Any]) -> list[str]:
    """Return one line of how close numeric columns come, beside what is got without an attack."""
    found = result["baselines"].get("numeric")
    if found is None:
        return []
    guesses = found["median"], found["random"]
    beside = " (median guess {}, random {})".format
    error = f"error {_error(result)}" + beside(*(_number(guess["error"]) for guess in guesses))

    def shares(name: str) -> str:
        said = [_share(figures[name]) for figures in (found["attack"], *guesses)]
        return said[0] + beside(*said[1:])

    near = f"{found['tolerance']:.0%} of the range without far-out ones"
    close = f"{shares('close_values')} of the numeric values to within {near}"
    metrics = result["metrics"]
    if metrics["rank_split_half_error"] is not None:
        by_rank, others = _error(result, "rank_error"), _number(metrics["rank_split_half_error"])
        error += f", by rank {by_rank} (other people's rows {others})"
    order = ", row by row in the order that the attack knows" if found["in_order"] else ""
    return [f"{_name(result)}: {error}; {close}, {_share(found['attack']['exact_values'])} exactly{order}"]


def _of_proofs(result: dict[str, Any]) -> list[str]:
    """Return one line of the values that the file alone proves."""
    metrics, said = result["metrics"], result["baselines"].get("proved_values")
    parts = []
    if metrics["certain_values"] is not None:
        whole = metrics["determined_values"] + metrics["free_values"]
        parts.append(
            f"{metrics['certain_values']:,} of {whole:,} values are proved by the file alone, "
            f"and {metrics['certain_rows']:,} rows whole"
        )
    if said is not None:
        parts.append(
            f"{said['number']:,} different values are proved to be in the data, though not where: "
            f"they are {said['share']:.0%} of all values"
        )
    return [f"{_name(result)}: {'; '.join(parts)}"] if parts else []


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _of_sizes(result: dict[str, Any]) -> list[str]:
    """Return one line where another number of rows was rebuilt than there are."""
    rebuilt, n_rows = result["metrics"]["rebuilt_rows"], result["metrics"]["n_rows"]
    if rebuilt is None:
        return []
    so = f"a random {n_rows:,} of them" if rebuilt > n_rows else "these, and random ones of them again,"
    return [f"{_name(result)}: the attack rebuilds {rebuilt:,} rows; {so} are compared with the {n_rows:,} true ones"]


def _of_holdout(result: dict[str, Any]) -> list[str]:
    """Return one line on how close datasets of the same population come, where a holdout was given."""
    found = result["baselines"].get("holdout")
    if found is None:
        return []
    p_value, rank = found["p_value"], result["metrics"]["leak_rank"]
    normal = "unknown" if p_value is None else "below 1e-300" if not p_value else f"{p_value:.2g}"
    return [
        f"{_name(result)}: leak p-value {normal}; {found['as_close']:,} of {found['draws']:,} datasets drawn from the "
        f"holdout are as close to the reconstruction as the training data (rank {rank:.2g})"
    ]


def _of_entropy(result: dict[str, Any]) -> list[str]:
    """Return one line of how much uncertainty is left row by row, where a rule is about that."""
    found = result["entropy"]
    if "entropy-reduction" not in result["policy"]["rules"] or "ratio_bounds" not in found:
        return []
    quantiles = found["row_ratio_quantiles"]
    left = f"{quantiles[0]:.1%} for the most exposed row, {quantiles[50]:.1%} for the median one, {quantiles[100]:.1%}"
    return [
        f"{_name(result)}: of {found['bits']:.1f} bits of uncertainty about each row, "
        f"{one_line(found['rows_measured_on'])} leaves {left} for the least exposed one"
    ]


def _sentences(result: dict[str, Any]) -> list[str]:
    """Return what was crossed, check by check; and once, why the rest is inconclusive."""
    name = one_line(result["artifact"]["path"])
    lines = []
    for check in result["checks"]:
        warning = "warning: " if check["severity"] == "warning" else ""
        waived = ""
        if (waiver := check["waiver"]) is not None:
            waived = f" (waived until {waiver['expires']} by {one_line(waiver['owner'])}: {one_line(waiver['reason'])})"
        outcome = f"{check['rule']}[{result['adversary']}] {check['result']}{waived}"
        said = ("; ".join(result["reasons"]), *result["reasons"])
        same = check["result"] == "inconclusive" and check["sentence"] in said
        if check["result"] != "passed" and not same:
            lines.append(f"{name}: {warning}{outcome}: {check['sentence']}")
        elif same and (warning or waived):  # what is said once for all the rest is about checks that count
            lines.append(f"{name}: {warning}{outcome}, for the reason that follows")
    if result["reasons"]:
        lines.append(f"{name}: inconclusive: {'; '.join(result['reasons'])}")
    lines += [f"{name}: note: {note}" for note in result["notes"]]
    if (unread := wording.not_read(result)) is not None:
        lines.append(f"{name}: {unread}")
    return list(dict.fromkeys(lines))


def _version() -> str | None:
    try:
        return version("pytest-draft")
    except PackageNotFoundError:
        return None
