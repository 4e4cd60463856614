"""What people read, by files that somebody has looked at (`golden`): every format, and every sentence."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from difflib import ndiff
from html.parser import HTMLParser
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from made_up_reports import AMBIGUITY, INFORMED, reported
from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.plugin.summary import check_lines, fleet_lines
from pytest_draft.plugin.table import table
from pytest_draft.policy.rule import NotApplicable
from pytest_draft.report import annotations, document, evidence, fleet_html, html, intoto, markdown, sarif, sentences
from pytest_draft.report.fleet import fleet
from pytest_draft.report.schema import schema

REASON = NotApplicable.NO_NUMBERS.value


def terminal(report: dict) -> str:
    """Return what a run shows at its end, without what it says of its own files."""
    lines = table(report["results"], 100, len(report["not_run"])) if report["results"] else []
    for result in report["results"]:
        first = (sentences.decision(result), sentences.decided(result), *sentences.figures(result))
        lines += ["", f"{result['artifact']['path']}:"]
        lines += [f"  {line}" for line in (*filter(None, first), *check_lines(result, (), mixed=False))]
    for part in fleet_lines(fleet(report, [])):
        lines += ["", *part]
    return "\n".join(lines) + "\n"


SKIPPED = ("style", "script", "text")


class Lines(HTMLParser):
    """The visible text of a page, a line for each element that is one of its own on the screen.

    Of plots it is what they show in words. All figures, which the JSON report holds, are left out.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines = [""]
        self._skipped = 0
        self.feed(re.sub('<dl class="figures">.*?</dl>', "", page, flags=re.DOTALL))

    def handle_starttag(self, tag, attrs):
        self._skipped += tag in SKIPPED
        if tag in ("td", "th", "dd"):
            self.lines[-1] += " | "
        elif tag not in ("span", "strong", "code", "small", "a", "option", *SKIPPED):
            self.lines.append("")

    def handle_endtag(self, tag):
        self._skipped -= tag in SKIPPED

    def handle_data(self, data):
        if not self._skipped:
            self.lines[-1] += data

    def __str__(self) -> str:
        return "\n".join(line for one in self.lines if (line := " ".join(one.split()))) + "\n"


def findings(report: dict) -> str:
    """Return what a log for code scanning says of each check."""
    (run,) = json.loads(sarif.render(report))["runs"]
    of = ("kind", "level", "suppressions", "message")
    lines = [json.dumps({key: one[key] for key in of if key in one}) for one in run["results"]]
    return "\n".join([*lines, json.dumps(run["invocations"])]) + "\n"


def predicate(report: dict) -> list[str]:
    """Return what an attestation says of all tests, and of each."""
    told = intoto.predicate(report)
    return [told["result"], *(f"{key}: {one}" for key in told if key.endswith("Tests") for one in told[key])]


@pytest.fixture
def everything(report, waived, with_plots) -> dict:
    """Return a report with all that one can hold."""
    of = {result["artifact"]["path"].partition("/")[2].partition(".")[0]: result for result in report["results"]}
    with_plots(of["leaking"])
    waived(of["leaking"]["checks"][1])
    of["leaking"]["checks"][2]["severity"] = "warning"
    of["leaking"]["slices"] = [SLICE, dict.fromkeys(SLICE) | {"name": "men"}]
    of["numbers"]["notes"] = ["something to know"]
    of["numbers"]["retried"] = "worker a was lost while it examined this"
    of["quiet"]["checks"][1] |= {"result": "not applicable", "sentence": REASON, "remedy": None, "commands": []}
    report["results"] += reported()["results"]
    report["not_run"] = ["models/quiet.joblib::more[artifact]"]
    return report


SLICE = {
    "name": "women | <b>under</b> 25\n# no heading",
    "rows": 1_234,
    "rebuilt_rows": 1_300,
    "error": 0.01234,
    "random_error": 0.4,
    "split_half_error": None,
    "perfect_rows": 1_100,
    "perfect_share": 0.87,
    "split_half_perfect_share": None,
    "singled_out_rows": 70,
    "unique_rows": 80,
}

FORMATS: dict[str, Callable[[dict], str]] = {
    "terminal.txt": terminal,
    "report.md": markdown.render,
    "card.md": markdown.card,
    "page.txt": lambda report: str(Lines(html.render({**report, "canonical_sha256": "f" * 64}))),
    "evidence.md": evidence.as_markdown,
    "findings.txt": findings,
    "tests.txt": lambda report: "\n".join(predicate(report)) + "\n",
    "annotations.txt": lambda report: "\n".join(annotations.annotations(report)) + "\n",
    "fleet.txt": lambda report: str(Lines(fleet_html.render(fleet(report, ["models/quiet.joblib"])))),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_with_everything_reads_as_it_did(name, everything, golden):
    before = copy.deepcopy(everything)
    golden(name, FORMATS[name](everything))
    assert everything == before


def test_a_report_with_everything_is_valid(everything):
    everything["results"].pop()  # made up from their types, its facts hold texts that are no hashes
    assert not list(Draft202012Validator(schema()).iter_errors(everything))


def checks(report: dict, **changes: object) -> dict:
    """Return a report of one model with the same change in all of its checks, judged anew."""
    for check in report["results"][0]["checks"]:
        check.update(copy.deepcopy(changes))
    report["results"] = document.merged(report["results"])
    report["verdict"] = report["results"][0]["verdict"]
    return report


LEFT_OUT = {"result": "not applicable", "sentence": REASON, "remedy": None, "commands": []}
WAIVER = {"reason": "internal use", "owner": "privacy office", "expires": "2099-12-31"}
COMMAND = {"line": "python -m pytest --draft-forest 'a b'", "does": "to give it more time"}


def allowing(report: dict) -> dict:
    report["results"][0]["policy"]["allow_inconclusive"] = True
    return report


def with_a_remedy_for_what_is_open(report: dict) -> dict:
    """Return a report of a failure; what could decide another check is not told, as it changes nothing."""
    report["results"][0]["checks"][2]["remedy"] = "more time"
    return report


def out_of_time(report: dict) -> dict:
    remedy = f"{COMMAND['does']}: {COMMAND['line']}"
    report["results"][0]["reasons"] = ["the time was out"]
    told = {"result": "inconclusive", "sentence": "the time was out", "remedy": remedy, "commands": [COMMAND]}
    return checks(report, **told)


def nothing_asked(report: dict) -> dict:
    report["results"][0] |= {"solver_status": "not asked", "verdict": "passed", "checks": []}
    return report


STANDINGS: dict[str, tuple[str, Callable[[dict], dict]]] = {
    "failed": ("leaking", with_a_remedy_for_what_is_open),
    "passed": ("quiet", lambda report: report),
    "not read": ("broken", lambda report: report),
    "only warnings": ("leaking", lambda report: checks(report, severity="warning")),
    "undecided warnings": ("broken", lambda report: checks(report, severity="warning")),
    "waived": ("leaking", lambda report: checks(report, waiver=WAIVER)),
    "undecided, which the policy allows": ("broken", allowing),
    "nothing applicable": ("quiet", lambda report: checks(report, **LEFT_OUT)),
    "nothing applicable, which the policy allows": ("quiet", lambda report: allowing(checks(report, **LEFT_OUT))),
    "not all ran": ("quiet", lambda report: {**report, "not_run": ["models/quiet.joblib::more[artifact]"]}),
    "out of time": ("leaking", out_of_time),
    "nothing asked": ("broken", nothing_asked),
    "nothing judged": ("quiet", lambda report: {**report, "results": []}),
}
"""Ways in which a model can stand: by a name, which stored report, and what is changed in it."""


def test_how_models_stand_reads_as_it_did(only, golden):
    lines = []
    for name, (stored, change) in STANDINGS.items():
        report = change(copy.deepcopy(only(stored)))
        text = markdown.render(report).partition("## What the attack got")[0].partition("## What was judged")[0]
        lines += [f"==== {name} ====", text, terminal(report), *annotations.annotations(report), *predicate(report), ""]
    golden("standings.txt", "\n".join(lines))


LIMITS: dict[str, dict[str, Any]] = {
    "no limit": {"ideal": Ideal(0.0, 100.0, 100, error_without_file=0.5), "informed": None},
    "hardly a limit": {"ideal": Ideal(0.00004, 100.0, 100, error_without_file=0.5), "informed": None},
    "a small limit": {"ideal": Ideal(0.00006, 100.0, 100, error_without_file=0.5), "informed": None},
    "a limit of those who know all other rows": {"informed": replace(INFORMED, matched_error=0.07)},
    "as close without the file": {"ideal": Ideal(0.021, 12.5, 100, None, 0.022, 12.0), "informed": None},
    "close with the file alone": {"informed": None},
    "an attack that is better than anybody": {"error": 0.01, "informed": None},
    "exact numbers": {"ideal": Ideal(0.021, 12.5, 100, 0.3)},
    "no limit on rows": {"ideal": Ideal(0.021, 100.0, 100), "informed": None},
    "no limit known": {"ideal": None, "informed": None},
    "one dataset": {"found": replace(AMBIGUITY, bits=0.0, unchanged_rows=1.0)},
    "two datasets": {"found": replace(AMBIGUITY, bits=0.5)},
    "many datasets": {"found": replace(AMBIGUITY, bits=25.9)},
    "no other datasets": {"found": None, "ideal": None},
    "nothing": {"found": None, "ideal": None, "informed": None},
    "all rows": {"informed": replace(INFORMED, of_rows=1_000)},
    "known draws": {"informed": replace(INFORMED, proved=False)},
    "rows alike": {"informed": replace(INFORMED, row_errors=(0.0,) * 60 + (0.5,) * 41)},
    "no rows apart": {"informed": replace(INFORMED, row_errors=None)},
}
"""What can be known of how close anybody gets, and what differs then from `reported`."""


def test_how_close_anybody_gets_reads_as_it_did(golden):
    def page(**changes: Any) -> list[str]:
        return str(Lines(html.render(reported(**changes)))).partition("Provenance")[0].splitlines()

    usual, lines = page(), []
    for name, changes in LIMITS.items():
        lines += [f"==== {name} ====", *(line for line in ndiff(usual, page(**changes)) if line[0] in "+-")]
    golden("limits.txt", "\n".join(lines) + "\n")
