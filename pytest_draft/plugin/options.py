"""Registers the options, and says whether any of them activates the gate.

Imported by every pytest run: it imports pytest alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

REPORT_TYPES = {
    "json": "draft-report.json",
    "markdown": "draft-report.md",
    "html": "draft-report.html",
    "sarif": "draft-report.sarif",
    "intoto": "draft-report.intoto.json",
    "svr": "draft-report.svr.json",
    "model-card": "draft-report.card.md",
    "cyclonedx": "draft-report.cdx.json",
    "gitlab": "draft-report.gitlab.json",
    "evidence": "draft-evidence.html",
}
"""Types of reports, and the names of their files where none is given."""

FLEET_TYPES = {"fleet-html": "draft-fleet.html", "fleet-json": "draft-fleet.json"}
"""Types of reports with one row a model, and the names of their files where none is given."""

LEDGER = "draft-released.toml"
"""The ledger in pytest's root directory, which is read where none is named."""

_OPTIONS: tuple[tuple[str, str, str], ...] = (
    # name, type of the ini value, help
    ("target", "string", "name of the label column in the training data, or the file of the labels"),
    ("split", "string", "how training rows were taken from the table: test_size=0.2, random_state=42, stratify"),
    ("id", "string", "column that says whose row is whose, in all tables of --draft-with; no model has seen it"),
    ("domain", "paths", "TOML file that declares each column's domain (default: inferred from the data)"),
    (
        "policy",
        "paths",
        "TOML file with the rules and thresholds, or the name of a shipped one: default, internal, interpretable, "
        "partner-release, public-release, special-category or dp-release (default: default)",
    ),
    ("budget", "float", "most seconds for each judgement, all included (default: 60)"),
    ("seed", "int", "seed of every random choice (default: 0)"),
    ("workers", "int", "solver threads (default: 1)"),
    (
        "effort",
        "float",
        "most work for each search, in units of about a second of one core: then every run finds the same, unless "
        "--draft-budget ends it first (default: no limit)",
    ),
    (
        "manifest",
        "paths",
        "what to judge in place of --draft-forest: a TOML or Parquet file with a model in each entry, or a folder",
    ),
    ("compare", "paths", "earlier JSON report: fail where a metric got worse by more than the policy allows"),
    (
        "ledger",
        "paths",
        f"files that were released before: nothing passes that was not judged with them (default: {LEDGER})",
    ),
    ("memory", "int", "most memory, in MB, for the process that examines (default: four fifths of the machine's)"),
    (
        "scheduler",
        "string",
        "examine on a cluster of Dask: tcp://HOST:PORT or tls://HOST:PORT, or local:N for N processes of this machine",
    ),
)


def add_options(parser: pytest.Parser) -> None:
    """Register the command line's options and their ini twins, all with one prefix."""
    group = parser.getgroup("draft", "pytest-draft: how much of its training data a forest gives away")
    group.addoption("--draft", action="store_true", default=None, help="judge the configured forests")
    group.addoption(
        "--draft-forest",
        action="append",
        default=None,
        metavar="PATH",
        help="model file to judge; repeatable, and may be a glob",
    )
    group.addoption(
        "--draft-data",
        action="append",
        default=None,
        metavar="PATH",
        help="training data (CSV, Parquet, npz), or the function of your project that returns them, as in "
        "train:load_training_data: once for all forests, or once for each",
    )
    group.addoption("--draft-data-files-only", action="store_true", default=None, help="refuse functions as data")
    group.addoption(
        "--draft-holdout",
        action="append",
        default=None,
        metavar="PATH",
        help="rows of the same population that were not trained on, for the leak p-value: once for all forests, or "
        "once for each",
    )
    group.addoption(
        "--draft-hardened-from",
        action="append",
        default=None,
        metavar="PATH",
        help="file of your own that the judged one was hardened from: it is loaded, which runs the code in it, and "
        "hardened again; then the judged file passes what this one passes; once for each forest",
    )
    group.addoption(
        "--draft-with",
        action="append",
        default=None,
        metavar="PATH",
        help="another model file of some of the same people in the same hands, such as the version that is out: what "
        "passes alone must pass together with it; repeatable, and may be a glob",
    )
    group.addoption(
        "--draft-with-data",
        action="append",
        default=None,
        metavar="PATH",
        help="training data of the files of --draft-with, where these are others: once for all, or once for each",
    )
    group.addoption(
        "--draft-adversary",
        action="append",
        default=None,
        metavar="NAME",
        help="what the attacker knows: artifact, published or served, with side knowledge as in artifact+rows:25%%, "
        "artifact+columns:age,sex or artifact+informed; repeatable; added to those of --draft-policy",
    )
    group.addoption(
        "--draft-report",
        action="append",
        default=None,
        metavar="TYPE[:PATH]",
        help=f"write a report; TYPE is {', '.join((*REPORT_TYPES, *FLEET_TYPES))}; repeatable",
    )
    group.addoption(
        "--draft-report-rows",
        action="store_true",
        default=None,
        help="let reports name the most exposed rows by index, never by value",
    )
    group.addoption(
        "--draft-full",
        action="store_true",
        default=None,
        help="go on with the attack, and measure all there is, once the verdict is certain",
    )
    group.addoption(
        "--draft-controls",
        action="store_true",
        default=None,
        help="judge two files of which the answer is known, too, and let nothing pass where it is another one",
    )
    group.addoption("--draft-only", action="store_true", default=None, help="run nothing but the judgements")
    group.addoption(
        "--draft-strict",
        action="store_true",
        default=None,
        help="for CI: fail the run when any check is deselected, skipped or missing, also a marked test of your own; "
        "no cache is used",
    )
    for name, pinned in (
        ("policy-sha256", "SHA-256 that the policy file must have"),
        ("domain-sha256", "SHA-256 that the domain file must have"),
        ("ledger-head", "head that the ledger must have, as --draft-record told it"),
    ):
        group.addoption(f"--draft-{name}", default=None, metavar="HEX", help=f"{pinned}; else nothing is judged")
        parser.addini(f"draft_{name.replace('-', '_')}", pinned, type="string", default=None)
    group.addoption(
        "--draft-record", action="store_true", default=None, help="add the files of a run that passes to the ledger"
    )
    group.addoption(
        "--draft-cache",
        action="store_true",
        default=None,
        help="keep results in pytest's cache, and use them while nothing changes; not with --draft-strict",
    )
    group.addoption("--draft-demo", action="store_true", default=None, help="judge two forests trained on the spot")
    types = {"float": float, "int": int, "string": str, "paths": str}
    for name, kind, text in _OPTIONS:
        group.addoption(f"--draft-{name}", default=None, type=types[kind], metavar=name.upper(), help=text)
        parser.addini(f"draft_{name}", text, type=kind, default=[] if kind == "paths" else None)  # type: ignore[arg-type]
    parser.addini("draft_forest", "model files to judge; may be globs", type="paths", default=[])
    parser.addini("draft_data", "training data: once for all forests, or once for each", "paths", default=[])
    parser.addini("draft_holdout", "rows that were not trained on: once for all, or once for each", "paths", default=[])
    parser.addini(
        "draft_hardened_from", "files that these were hardened from: one for each; loaded", "paths", default=[]
    )
    parser.addini("draft_with", "other model files of the same people; may be globs", "paths", default=[])
    parser.addini("draft_with_data", "their training data: once for all, or once for each", "paths", default=[])
    parser.addini("draft_adversary", "what the attacker knows", type="args", default=[])
    parser.addini("draft_report", "reports to write: TYPE[:PATH]", type="args", default=[])
    parser.addini("draft_report_rows", "let reports name single rows, by index", type="bool", default=False)
    parser.addini("draft_full", "go on once the verdict is certain", type="bool", default=False)
    parser.addini("draft_controls", "judge files of which the answer is known, too", type="bool", default=False)
    parser.addini("draft_only", "with --draft: run nothing but the judgements", type="bool", default=False)
    parser.addini("draft_record", "add the files of a run that passes to the ledger", type="bool", default=False)
    parser.addini("draft_cache", "keep results in pytest's cache", type="bool", default=False)
    parser.addini("draft_strict", "fail the run when any check is not run", type="bool", default=False)
    parser.addini(
        "draft_allow_not_run",
        "let a run pass that leaves out some of the models' own checks (by -k, -m, --deselect, --lf or an address)",
        type="bool",
        default=False,
    )


def is_active(config: pytest.Config) -> bool:
    """Return whether the command line asks for the models' own items."""
    return any(config.getoption(f"draft{name}") for name in ("", "_forest", "_manifest", "_demo"))


def require_models(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Refuse data for models, and a record of them, where nothing in the run judges any.

    Raises
    ------
    pytest.UsageError
    """
    names = ("data", "target", "split", "holdout", "record")
    given = [name for name in names if config.getoption(f"draft_{name}") is not None]
    own_tests = any(name.startswith("draft_") for item in items for name in getattr(item, "fixturenames", ()))
    if given and not own_tests and not is_active(config):
        raise pytest.UsageError(f"--draft-{given[0]}: no model is judged in this run: add --draft-forest FILE")


def is_strict(config: pytest.Config) -> bool:
    """Return whether any check that was not run fails the run, also a marked test."""
    return bool(config.option.draft_strict or config.getini("draft_strict"))


def is_distributed(config: pytest.Config) -> bool:
    """Return whether this process hands the tests to workers of pytest-xdist, as it decides that."""
    return config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))
