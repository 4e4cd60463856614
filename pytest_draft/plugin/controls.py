"""What a run says of itself: files of which the answer is known, judged beside the others; when, where and by whom."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_draft.facts.case import Case
from pytest_draft.foreign_text import harmless_values
from pytest_draft.isolation import children
from pytest_draft.plugin.demo import N_ROWS, train
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.remedies import GONE_SOON
from pytest_draft.policy.verdict import judge, verdict_of

SECONDS = 60.0
"""The time box of each control; on two cores they take a third of it."""

_POSITIVE = ("patients", "a file that gives its rows away", "it must fail")
_NEGATIVE = ("others", "rows of other people", "it must not fail, and fewer than half of them may come back")
_NAMES = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILD_USER_ID", "BUILD_REQUESTEDFOR")
_ADDRESSES = ("CI_JOB_URL", "BUILD_URL", "CIRCLE_BUILD_URL")


def controls(seed: int, memory: int | None) -> list[dict[str, Any]]:
    """Judge the demo's leaking file with its own rows, and with as many other people's.

    Returns
    -------
    list of dict
        As a report's ``controls``.
    """
    with tempfile.TemporaryDirectory(prefix=GONE_SOON, ignore_cleanup_errors=True) as made:
        train(Path(made))
        return [_control(Path(made), seed, memory, *kind) for kind in (_POSITIVE, _NEGATIVE)]


def _control(folder: Path, seed: int, memory: int | None, rows: str, name: str, expected: str) -> dict[str, Any]:
    own, policy = rows == "patients", default_policy()
    model, data = str(folder / "default.joblib"), str(folder / f"{rows}.csv")
    case = Case(model, data, "diagnosis", adversary="artifact", seconds=SECONDS, seed=seed, memory=memory, full=not own)
    examination = children.run(case, None, None, enough=Enough(policy))[0]
    verdict = verdict_of((check.result, check.counts) for check in judge(examination, policy))
    met = None if examination.findings is None else examination.findings.whole.perfect.upper
    return {
        "name": name,
        "what": f"the demo's default.joblib, with {N_ROWS} patients that it was {'' if own else 'not '}trained on",
        "expected": expected,
        "found": f"{verdict}; {'an unknown number' if met is None else met} of {N_ROWS} rows come back",
        "held": verdict == "failed" if own else verdict != "failed" and met is not None and met < N_ROWS / 2,
    }


def provenance(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return when a run ends, and who started it and where it can be seen, as a CI system says in the environment.

    Returns
    -------
    dict
        A report's ``judged_at``, which is SOURCE_DATE_EPOCH where that is set, and ``run``.
    """
    epoch, now = environ.get("SOURCE_DATE_EPOCH", ""), datetime.now(UTC)
    if epoch.isascii() and epoch.isdigit() and len(epoch) < 12:
        now = datetime.fromtimestamp(int(epoch), UTC)
    server, project, run = (environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    on_github = f"{server}/{project}/actions/runs/{run}" if server and project and run else None
    by, at = (next(filter(None, map(environ.get, names)), None) for names in (_NAMES, _ADDRESSES))
    return {
        "judged_at": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "run": harmless_values({"by": by, "address": on_github or at}),
    }
