"""The end of a run: joins the records of its test reports, writes the reports and shows the table."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_draft.bounded import what_failed
from pytest_draft.errors import UsageError, listed, one_line
from pytest_draft.facts.examination import versions_here
from pytest_draft.facts.storage import write_atomically
from pytest_draft.foreign_text import address
from pytest_draft.plugin import controls as known
from pytest_draft.plugin.failure_text import wrapped
from pytest_draft.plugin.manifest import SUFFIXES
from pytest_draft.plugin.options import FLEET_TYPES
from pytest_draft.plugin.session import GateSession
from pytest_draft.plugin.table import failing_markers, table
from pytest_draft.report import sentences
from pytest_draft.report.canonical import with_hash
from pytest_draft.report.document import MergedResults, document, undecide_changed, undecide_partial
from pytest_draft.report.fleet import CHANGES, MEANINGS, VERDICTS, Fleet, fleet, story
from pytest_draft.report.result import Result
from pytest_draft.report.standings import file_of, standing, stops, unjudged

MOST_SHOWN = 40
"""The terminal shows at most so many results, the gravest first; the reports hold all of them."""

MOST_OF_A_CHANGE = 10
"""The terminal names at most so many models for each kind of change."""

EXTRA = "extra"
"""The key of a report under which a project's hooks can add something."""

_RENDERED_BY = {"json": "json_report", "fleet-json": "json_report", "model-card": "markdown.card"}
_RENDERED_BY |= {"svr": "intoto.svr", "gitlab": "sarif.gitlab"}  # the others: by ``render`` of the module of that name
_RENDERED_BY |= {"evidence-markdown": "evidence.as_markdown"}

_REFUSED = "the hook pytest_draft_update_report was refused, which fails the run"


class Records:
    """The records that test reports carry, joined into the results of a run.

    Each holds the whole result of an examination beside its one check. Only the first of these is kept, so that a run
    of very many models holds each result once.
    """

    def __init__(self) -> None:
        self._merged = MergedResults()
        self.done: set[tuple[str, str, str]] = set()  # (artifact, rule, adversary) of each planned check that was run
        self.own_items: set[str] = set()  # addresses of checks of the models' own items

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


@dataclass(frozen=True)
class Summary:
    """What a run has found out."""

    session: GateSession
    report: dict[str, Any]
    """The whole report, plain."""
    fleet: Fleet
    """How all models stand, and how each changed since the earlier report; plain."""
    explanation: str | None
    """Shown last, for the demo."""
    refused: str | None = None
    """Why a hook's change of the report was refused; the report then holds nothing of it. None if none was refused."""
    fails: bool = False
    """Whether checks that were not run fail the run, or a model of which no check that counts could be made."""
    shown_as_failures: frozenset[str] = frozenset()
    """Addresses of the items that pytest shows as failures, with all that is to be said of their checks."""
    wrap: int | None = None
    """Columns of the terminal that sentences are broken for; None where there is none."""
    changed: tuple[str, ...] = ()
    """Files that changed while they were judged."""
    not_written: dict[Path, str] = field(default_factory=dict)
    """Reports that could not be written, and why."""
    recorded: list[str] = field(default_factory=list)
    """What became of the ledger."""

    @classmethod
    def of(
        cls,
        config: pytest.Config,
        records: Records | None,
        left: Sequence[str],
        shown_as_failures: frozenset[str],
        wrap: int | None,
    ) -> Summary:
        """Join the records of a run, and find out which planned checks are missing."""
        session, records = GateSession.of(config), records or Records()
        planned = session.planned() if session.settings.active else ()
        missing = [check for check in planned if (check.artifact, check.rule, check.adversary) not in records.done]
        not_run = [*map(str, missing), *map(address, left)]
        explanation = None
        if config.option.draft_demo:
            from pytest_draft.plugin import demo

            explanation = demo.EXPLANATION
        results = records.results()
        without = {(check.artifact, check.adversary) for check in missing}
        controls = (
            known.controls(session.settings.seed, session.settings.memory)
            if session.settings.controls and results
            else []
        )
        for name in (one["name"] for one in controls if not one["held"]):
            cases = {(file_of(result["artifact"]), result["adversary"]) for result in results}
            not_run += [f"{file}::control[{name}]" for file in sorted({file for file, _ in cases})]
            without |= cases
        undecide_partial(results, without, records.own_items)
        changed = undecide_changed(results, records.own_items)
        made = document(results, not_run, versions_here().get("pytest-draft"), controls, **known.provenance(os.environ))
        report, refused = _updated(config, made)
        models = fleet(report, [check.artifact for check in missing], session.earlier)
        settings = session.settings
        fails = bool(not_run) and (settings.strict or (bool(missing) and not settings.allow_not_run))
        fails |= not all(one["held"] for one in controls)
        fails |= any(unjudged(one) and not one["policy"]["allow_inconclusive"] for one in results)
        return cls(
            session, with_hash(report), models, explanation, refused, fails, shown_as_failures, wrap, tuple(changed)
        )

    def finish(self, exitstatus: int) -> int:
        """Write the reports and return the exit status of the run."""
        for kind, path in self.session.settings.reports:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, _rendered(kind, path, self.fleet if kind in FLEET_TYPES else self.report))
            except (OSError, ValueError) as error:  # whatever it says could quote what was to be written
                self.not_written[path] = what_failed(error)
        passed = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        strictly_failed = self.session.settings.strict and self.report["verdict"] == "failed"
        if passed and (self.not_written or self.refused or self.changed or self.fails or strictly_failed):
            return int(pytest.ExitCode.TESTS_FAILED)
        session, ledger = self.session, self.session.ledger
        if passed and session.settings.record and ledger is not None:
            try:
                cases = {session.shown(one): session.case(one, "artifact") for one in session.models.each}
                self.recorded.append(f"ledger {session.shown(ledger.path)}: {ledger.record(self.report, cases)}")
            except (UsageError, OSError) as error:
                why = str(error) if isinstance(error, UsageError) else what_failed(error)
                self.recorded.append(f"the ledger was not added to, which fails the run: {why}")
                return int(pytest.ExitCode.TESTS_FAILED)
        return exitstatus

    def show(self, terminal: pytest.TerminalReporter) -> None:
        """Show the table, one sentence for whatever did not pass, and what was not run."""
        terminal.section("how much of the training data the forest gives away")
        results = self.report["results"]
        shown = sorted(results, key=lambda one: VERDICTS.index(one["verdict"]))[:MOST_SHOWN]
        left_out = len(results) - len(shown)
        results = shown if left_out else results
        width, not_run = terminal.config.get_terminal_writer().fullwidth, len(self.report["not_run"])
        for line in table(results, width, not_run) if results else []:
            terminal.line(line)
        if left_out:
            where = "see the reports" if self.session.settings.reports else "see them with --draft-report=fleet-html"
            terminal.line(f"and {left_out:,} more, none with a graver verdict: {where}")
        mixed = len({check["asked_by"] for result in results for check in result["checks"]}) > 1
        for result in results:
            decided = sentences.decided(result)
            first = [sentences.decision(result), *([decided] if decided else [])]
            said = [*first, *sentences.figures(result), *check_lines(result, self.shown_as_failures, mixed)]
            about = f"{one_line(result['artifact']['path'])} (adversary {result['adversary']}):"
            self._write(terminal, [about, *said] if said else [], "  ")
        for part in fleet_lines(self.fleet):
            self._write(terminal, part, "  ")
        self._write(terminal, list(self._run_lines()))
        if self.explanation:
            terminal.line("")
            terminal.line(self.explanation)

    def _write(self, terminal: pytest.TerminalReporter, said: Sequence[str], indent: str = "") -> None:
        """Write an empty line and some sentences, all but the first indented."""
        for i, sentence in enumerate(said):
            if not i:
                terminal.line("")
            for line in wrapped(sentence, self.wrap, indent if i else ""):
                terminal.line(line)

    def _run_lines(self) -> Iterator[str]:
        """Yield what is to be said of the whole run."""
        if not_run := self.report["not_run"]:
            more = f" and {len(not_run) - MOST_SHOWN:,} more" if len(not_run) > MOST_SHOWN else ""
            yield f"{_what_follows(not_run, self)}: {', '.join(not_run[:MOST_SHOWN])}{more}"
        manifest = self.session.settings.manifest
        if manifest is not None and manifest.passed_over:
            linked = [path for path in manifest.passed_over if path.is_dir()]
            others = [path for path in manifest.passed_over if path not in linked]
            for why, paths in (
                (f"their names do not end like those of model files ({', '.join(SUFFIXES)})", others),
                ("links to folders are not followed", linked),
            ):
                if paths:
                    yield f"not judged, as {why}: {listed([self.session.shown(path) for path in paths], 3)}"
        for one in self.report.get("controls", ()):
            held = "as it must" if one["held"] else f"not as it must ({one['expected']}): nothing passes"
            yield f"control, {one['name']}: {one['found']}, {held}"
        if self.refused:
            yield self.refused
        if self.changed:
            yield f"files that changed during the run, which fails it: {', '.join(map(one_line, self.changed))}"
        yield from self.recorded
        for kind, path in self.session.settings.reports:
            problem = self.not_written.get(path)
            yield f"{kind} report: {self.session.shown(path)}" + (f" was not written ({problem})" if problem else "")


def _what_follows(not_run: Sequence[str], summary: Summary) -> str:
    """Say what follows from checks that did not run, and the setting that allows them, if there is one."""
    were = f"{sentences.counted(len(not_run), 'check')} {'was' if len(not_run) == 1 else 'were'} not run"
    if summary.report["verdict"] == "failed":
        return were
    if not summary.fails:
        return f"{were}, so the run is inconclusive (exit status 0)"
    if summary.session.settings.strict:
        return f"{were}, so this run cannot pass (exit status 1)"
    way = "while you work, set draft_allow_not_run = true in the ini file, or leave out --draft"
    return f"{were}, so this run cannot pass (exit status 1; {way})"


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


def _rendered(kind: str, path: Path, report: dict[str, Any]) -> str:
    """Return a report's text; what renders it is imported when it is asked for."""
    name = "evidence-markdown" if kind == "evidence" and path.suffix.lower() == ".md" else kind
    module, _, function = _RENDERED_BY.get(name, name.replace("-", "_")).partition(".")
    text: str = getattr(import_module(f"pytest_draft.report.{module}"), function or "render")(report)
    return text


def fleet_lines(fleet: Fleet) -> Iterator[list[str]]:
    """Yield how many models have each verdict, if there are several, and how each changed since the earlier report."""
    counts, changes = fleet["counts"], fleet["changes"]
    if len(fleet["models"]) > 1:
        yield [f"{len(fleet['models']):,} models: " + ", ".join(f"{counts[one]:,} {one}" for one in VERDICTS)]
    if changes is None:
        return
    changed = ", ".join(f"{changes[one]:,} {meaning}" for one, meaning in MEANINGS.items() if changes[one])
    lines = [f"since the earlier report: {changed or 'no model in either'}"]
    for change in CHANGES:
        models = [model for model in fleet["models"] if model["change"] == change]
        if change == "unchanged":  # its verdict is; the file can be another one, or elsewhere
            models = [
                model
                for model in models
                if model["renewed"] or model["adversaries_left"] or model["before"]["path"] != model["path"]
            ]
        lines += [
            f"{one_line(model['path'])} ({model['verdict']}): {one_line(story(model), None)}"
            for model in models[:MOST_OF_A_CHANGE]
        ]
        if len(models) > MOST_OF_A_CHANGE:
            what = "another file, data or policy, or fewer adversaries" if change == "unchanged" else MEANINGS[change]
            lines.append(f"and {len(models) - MOST_OF_A_CHANGE:,} more: {what}")
    if fleet["gone"]:
        lines.append(f"gone: {listed([model['path'] for model in fleet['gone']], MOST_OF_A_CHANGE)}")
    yield lines


def check_lines(result: dict[str, Any], shown_as_failures: Collection[str], mixed: bool) -> list[str]:
    """Return a sentence for each check that crossed a threshold; and once, why the others are inconclusive.

    Nothing is repeated of items that are shown as failures. Where checks are `mixed`, because several policies or
    markers asked for them, each names the one that asked.
    """
    lines, reasons, left_out = [], result["reasons"], dict[str, list[str]]()
    if markers := failing_markers(result):
        lines.append(f"failed by the marker of {', '.join(markers)}, and not by its own checks")
    undecided: dict[str, list[str]] = {"undecided: ": [], "warnings: ": []}
    for check in result["checks"]:
        stopping = stops(result, check)
        if check["result"] == "not applicable":
            left_out.setdefault(check["sentence"], []).append(check["rule"])
        if check["result"] in ("passed", "not applicable") or (stopping and check["item"] in shown_as_failures):
            continue
        name = f"{check['rule']} ({one_line(check['asked_by'])})" if mixed else check["rule"]
        waived, warns = sentences.waived(check), standing(check) == "warning"
        by = "" if waived is None else f" ({one_line(waived, None)})"
        if check["result"] == "inconclusive" and check["sentence"] in ("; ".join(reasons), *reasons):
            undecided["warnings: " if warns else "undecided: "].append(name + by)
        elif warns:
            lines.append(f"warning: {name}{' inconclusive' * (check['result'] != 'failed')}: {check['sentence']}")
        else:
            lines.append(f"{name} {check['result']}{by}: {check['sentence']}")
    if any(undecided.values()):  # for the reasons of the whole examination
        whose = "; ".join(kind + ", ".join(dict.fromkeys(names)) for kind, names in undecided.items() if names)
        lines.append(f"inconclusive: {'; '.join(reasons)} ({whose})")
    elif reasons and any(check["result"] == "inconclusive" for check in result["checks"]):
        lines.append(f"why not more is known: {'; '.join(reasons)}")
    elif reasons and not any(check["item"] in shown_as_failures for check in result["checks"]):
        lines.append(f"in doubt: {'; '.join(reasons)}")
    lines += [f"not applicable: {why} ({', '.join(rules)})" for why, rules in left_out.items()]
    if unjudged(result):
        lines.append("no check that counts could be made, which is no pass")
    failed = result["verdict"] == "failed"  # no budget changes that
    open_ones = [check for check in result["checks"] if check["result"] == "inconclusive" and not failed]
    lines += [f"remedy: {check['remedy']}" for check in open_ones if check["remedy"] and not sentences.waived(check)]
    lines += [f"note: {note}" for note in sentences.notes(result)]
    if (unread := sentences.not_read(result)) is not None:
        lines.append(unread)
    return list(dict.fromkeys(lines))
