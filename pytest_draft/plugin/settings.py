"""Validates options and ini values into `Settings`. Imports no engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_draft.errors import UsageError, known_are, no_file, one_line
from pytest_draft.facts.case import names_function
from pytest_draft.output import place_of
from pytest_draft.plugin.inputs import NamedFiles, absolute, exists, expanded, is_file, labels_in, policy_file
from pytest_draft.plugin.options import FLEET_TYPES, LEDGER, REPORT_TYPES, is_active, is_distributed, is_strict

if TYPE_CHECKING:
    from pytest_draft.plugin.manifest import Manifest


@dataclass(frozen=True)
class Settings:
    """What the command line and the ini file ask for."""

    active: bool
    """Whether the models' own items are collected."""
    only: bool
    """Whether nothing else is run."""
    strict: bool
    """Whether a marked test that was not run fails the run, too, and whatever has failed."""
    allow_not_run: bool
    """Whether a run can pass that has left out some of the models' own checks."""
    models: Mapping[Path, NamedFiles]
    """Each model file, in order, and what it is judged with."""
    usual: NamedFiles
    """What any other model file is judged with, such as one that a project's own fixture brings."""
    manifest: Manifest | None
    """Where the models are from, unless they are named one by one."""
    adversaries: tuple[str, ...]
    """Of the command line, else of the ini file."""
    seconds: float
    seed: int
    workers: int
    effort: float | None
    memory: int | None
    """In MB."""
    full: bool
    """Whether to go on once the verdict is certain."""
    controls: bool
    """Whether files are judged, too, of which it is known what must come out."""
    reports: tuple[tuple[str, Path], ...]
    """Type and path."""
    report_rows: bool
    """Whether reports may name single rows, by index."""
    compare: Path | None
    """An earlier report."""
    policy_sha256: str | None
    domain_sha256: str | None
    """`policy_sha256` and `domain_sha256`: which the policy's file and the domain file must have, in lower case."""
    ledger: Path | None
    ledger_head: str | None
    record: bool
    """`ledger`, `ledger_head` and `record`: of released files, the head that it must have, and whether to add to it."""
    cache: bool
    """Whether what was found out is kept for later runs."""
    scheduler: str | None
    """Of the cluster that examines the models' own items."""


@contextmanager
def in_harmless_words() -> Iterator[None]:
    """Let an error of usage, which pytest shows as it is, command nothing: it can name any file."""
    try:
        yield
    except pytest.UsageError as error:
        raise pytest.UsageError(*(one_line(argument, None) for argument in error.args)) from None


def resolve(config: pytest.Config) -> Settings:
    """Merge command line and ini file, the command line first, and refuse what is wrong.

    Raises
    ------
    pytest.UsageError
        Naming the option.
    """
    models, usual, manifest = _models(config)
    seconds = _number(config, "budget", 60.0, 5e-324, "more than 0 seconds")
    workers = _number(config, "workers", 1, 1, "at least 1")
    seed = _number(config, "seed", 0, 0, "at least 0")
    effort = _number(config, "effort", None, 5e-324, "more than 0 units of work")
    memory = _number(config, "memory", None, 1, "at least 1 MB")
    option = config.option
    reports, compare = _reports(config), _path(config, "compare")
    for name in ("draft_compare", "draft_record", "draft_scheduler"):
        if config.getoption(name) is not None and not is_active(config):
            raise pytest.UsageError(
                f"--{name.replace('_', '-')}: no model is judged by name in this run: add --draft or --draft-forest"
            )
    record, head = bool(option.draft_record or config.getini("draft_record")), _pin(config, "ledger_head")
    ledger, its_usual_place = _path(config, "ledger", new=True), config.rootpath / LEDGER
    if ledger is None and (record or head or (exists(its_usual_place) and not option.draft_demo)):
        ledger = its_usual_place
    functions = [inputs.data for inputs in (*models.values(), usual) if isinstance(inputs.data, str)]
    if functions and option.draft_data_files_only:
        raise pytest.UsageError(
            f"--draft-data-files-only: {functions[0]} is code of the project, which this option keeps from running: "
            "give a file, or leave it out (in the GitHub action: allow-code: true)"
        )
    scheduler = _scheduler(config)
    if scheduler is not None and any(inputs.hardened_from for inputs in models.values()):
        raise pytest.UsageError("--draft-hardened-from: a cluster loads no models: leave out --draft-scheduler")
    read = {file for inputs in (*models.values(), usual) for file in inputs.files}
    _refuse_overwriting(reports, [*models, *read, *filter(None, (compare, ledger, getattr(manifest, "path", None)))])
    return Settings(
        active=is_active(config),
        only=bool(option.draft_only or option.draft_demo or config.getini("draft_only")),
        strict=is_strict(config),
        allow_not_run=bool(config.getini("draft_allow_not_run")),
        models=models,
        usual=usual,
        manifest=manifest,
        adversaries=tuple(option.draft_adversary or config.getini("draft_adversary")),
        seconds=float(seconds),
        seed=seed,
        workers=workers,
        effort=effort,
        memory=memory,
        full=bool(option.draft_full or config.getini("draft_full")),
        controls=bool(option.draft_controls or config.getini("draft_controls")),
        reports=reports,
        report_rows=_reports_rows(config),
        compare=compare,
        policy_sha256=_pin(config, "policy_sha256"),
        domain_sha256=_pin(config, "domain_sha256"),
        ledger=ledger,
        ledger_head=head,
        record=record,
        cache=_caches(config),
        scheduler=scheduler,
    )


def _reports_rows(config: pytest.Config) -> bool:
    return bool(config.option.draft_report_rows or config.getini("draft_report_rows"))


def _pin(config: pytest.Config, name: str) -> str | None:
    text = config.getoption(f"draft_{name}")  # an empty one is wrong: it is a variable that was not set
    if text is None:
        text = _first(config, name, None)
    if text is not None and not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise pytest.UsageError(f"--draft-{name.replace('_', '-')}: {one_line(text)!r} is not 64 hexadecimal digits")
    return None if text is None else str(text).lower()


def _scheduler(config: pytest.Config) -> str | None:
    """Return where a cluster is; None without one, and where the ini file names one that is not needed."""
    where = _first(config, "scheduler", None)
    if not is_active(config):
        return None
    if where is not None and not re.fullmatch(r"local:[1-9]\d{0,3}|(tcp|tls)://[^\s/]+:\d{1,5}", where):
        raise pytest.UsageError(
            f"--draft-scheduler: {one_line(where)!r} is neither tcp://HOST:PORT, tls://HOST:PORT nor local:N"
        )
    if where is not None and is_distributed(config):
        raise pytest.UsageError("--draft-scheduler: the scheduler's workers share the work: leave out -n")
    return None if where is None else str(where)


def _caches(config: pytest.Config) -> bool:
    """Return whether to use the cache: strictness turns off what the ini file asks for, and refuses the option."""
    asked = config.option.draft_cache
    if asked and is_strict(config):
        raise pytest.UsageError("--draft-cache: --draft-strict computes everything anew: leave out one of the two")
    if not asked and (is_strict(config) or not config.getini("draft_cache")):
        return False
    if _reports_rows(config):
        raise pytest.UsageError(
            "--draft-cache: the cache keeps no rows, and --draft-report-rows needs them: leave out one of the two"
        )
    if not hasattr(config, "cache"):
        raise pytest.UsageError("--draft-cache: pytest's cache is off: leave out -p no:cacheprovider")
    return True


def _first(config: pytest.Config, name: str, default):  # type: ignore[no-untyped-def]
    """Return a value of the command line, else of the ini file, else the default."""
    value = config.getoption(f"draft_{name}")
    if value is None:
        try:
            value = config.getini(f"draft_{name}")
        except (TypeError, ValueError, pytest.UsageError) as error:  # the last from pytest 9.1 on
            raise pytest.UsageError(f"ini value draft_{name}: {error}") from None
    return default if value is None or value == "" else value


def _number(config: pytest.Config, name: str, default: float | None, least: float, wanted: str):  # type: ignore[no-untyped-def]
    """Return a number that is finite, and as large as is wanted; the least that is more than 0 is 5e-324."""
    value = _first(config, name, default)
    if value is not None and not least <= value < float("inf"):
        raise pytest.UsageError(f"--draft-{name}: give {wanted}, not {value:g}")
    return value


def _given(config: pytest.Config, name: str) -> tuple[str, list[Path]]:
    """Return where paths are from, and the paths: of the command line, else of the ini file."""
    value = config.getoption(f"draft_{name}")
    if value is not None:
        values = value if isinstance(value, list) else [value]
        return f"--draft-{name.replace('_', '-')}", [_folder(config, name) / text for text in values]
    return f"ini value draft_{name}", [Path(path) for path in config.getini(f"draft_{name}")]


def _models(config: pytest.Config) -> tuple[Mapping[Path, NamedFiles], NamedFiles, Manifest | None]:
    """Return each model file with what it is judged with, what any other one is judged with, and the manifest."""
    origin, manifests = _given(config, "manifest")
    forests_from, paths = _given(config, "forest")
    on_command_line = [name for name in ("forest", "manifest") if config.getoption(f"draft_{name}") is not None]
    if manifests and paths and len(on_command_line) != 1:
        raise pytest.UsageError(
            f"{origin} and {forests_from} both say what is judged: leave out one, or name the files in the manifest"
        )
    if len(manifests) > 1:
        raise pytest.UsageError(f"{origin}: give one manifest, not {len(manifests)}")
    from_manifest = bool(manifests) and on_command_line != ["forest"]
    with _as_usage_error(forests_from):
        forests = [] if from_manifest else [forest for path in paths for forest in expanded(path)]
    if not forests and not from_manifest and is_active(config):
        raise pytest.UsageError(
            "--draft: no forest is configured; give --draft-forest or --draft-manifest, or their values in ini"
        )
    forests = list(dict.fromkeys(forests))
    names = ("data", "holdout", "hardened_from")
    data, holdout, raw = (_files(config, name, len(forests), from_manifest) for name in names)
    target, labels = _target(config)
    split, domain, policy = _first(config, "split", None), _path(config, "domain"), _policy(config)
    whose, beside = _first(config, "id", None), _beside(config)
    each = [
        NamedFiles(table, held, target, labels, split, domain, policy, own, beside, whose)
        for table, held, own in zip(data, holdout, raw, strict=True)
    ]
    usual = each[0]  # a project's own forest goes with the first data
    if not from_manifest:
        return dict(zip(forests, each, strict=False)), usual, None
    with _as_usage_error(origin):
        from pytest_draft.plugin.manifest import read_manifest  # what it needs costs every pytest run its time

        manifest = read_manifest(absolute(manifests[0]), usual)
    return manifest.models, usual, manifest


def _beside(config: pytest.Config) -> tuple[tuple[Path, Path | None], ...]:
    """Return other files of the same people, each with its training data where it has other ones."""
    origin, paths = _given(config, "with")
    with _as_usage_error(origin):
        others = list(dict.fromkeys(other for path in paths for other in expanded(path)))
    return tuple(zip(others, _files(config, "with_data", len(others), False), strict=False))


def _files(config: pytest.Config, name: str, n_forests: int, from_manifest: bool) -> tuple[Any, ...]:
    """Return the file of each forest: one that was given for all of them, or its own; or a function for data."""
    origin, paths = _given(config, name)
    found: list[Path | str] = []
    with _as_usage_error(origin):
        for path in paths:
            is_function = name == "data" and names_function(path.name) and not exists(path)
            found += [path.name] if is_function and path.parent == _folder(config, name) else expanded(path)
    if len(found) < 2:
        return tuple(found or [None]) * max(n_forests, 1)
    if from_manifest:
        raise pytest.UsageError(
            f"{origin}: {len(found)} files beside a manifest: give one for all its entries, or name each in its entry"
        )
    if len(found) != n_forests:
        raise pytest.UsageError(
            f"{origin}: {len(found)} files for {n_forests} forests; give one for all, or one for each"
        )
    return tuple(found)


@contextmanager
def _as_usage_error(origin: str) -> Iterator[None]:
    """Let pytest say what is wrong with an option, and with which."""
    try:
        yield
    except UsageError as error:
        raise pytest.UsageError(f"{origin}: {error}") from None


def _path(config: pytest.Config, name: str, *, new: bool = False) -> Path | None:
    origin, paths = _given(config, name)
    if len(paths) > 1:
        raise pytest.UsageError(f"{origin}: give one file, not {len(paths)}")
    if paths and not new and not is_file(paths[0]):
        raise pytest.UsageError(f"{origin}: {no_file(paths[0], f'there is no file {str(paths[0])!r}')}")
    return absolute(paths[0]) if paths else None


def _folder(config: pytest.Config, name: str) -> Path:
    """Return where the paths of an option are from: the working directory, or the ini file's for an ini value."""
    is_of_ini = config.getoption(f"draft_{name}") is None and config.inipath is not None
    return config.inipath.parent if is_of_ini else config.invocation_params.dir  # type: ignore[union-attr]


def _policy(config: pytest.Config) -> Path | None:
    origin, paths = _given(config, "policy")
    if len(paths) != 1:
        return _path(config, "policy")
    with _as_usage_error(origin):
        return policy_file(_folder(config, "policy"), str(paths[0]))


def _target(config: pytest.Config) -> tuple[str | None, Path | None]:
    """Return the name of the label column, or the file of the labels."""
    text = _first(config, "target", None)
    with _as_usage_error("--draft-target" if config.option.draft_target is not None else "ini value draft_target"):
        return (None, None) if text is None else labels_in(_folder(config, "target"), text)


def _reports(config: pytest.Config) -> tuple[tuple[str, Path], ...]:
    texts, folder, origin = config.option.draft_report, _folder(config, "report"), "--draft-report"
    if texts is None:
        texts, origin = config.getini("draft_report"), "ini value draft_report"
    reports = []
    for text in texts:
        kind, _, path = text.partition(":")
        types = REPORT_TYPES | FLEET_TYPES
        if kind not in types:
            raise pytest.UsageError(f"{origin}: unknown type {kind!r}; {known_are(kind, types)}")
        target = absolute(folder / (path or types[kind]))
        above = next(folder for folder in target.parents if exists(folder))  # what is missing below is made
        if (exists(target) and target.is_dir()) or not above.is_dir():
            raise pytest.UsageError(f"{origin}: {str(target)!r} cannot be written: it is a folder, or lies in a file")
        try:
            place_of(target)
        except OSError:
            raise pytest.UsageError(f"{origin}: {str(target)!r} is no regular file: name one, or a new one") from None
        reports.append((kind, target))
    return tuple(reports)


def _refuse_overwriting(reports: tuple[tuple[str, Path], ...], inputs: list[Path]) -> None:
    """Refuse a report that would take the place of what it is about, or of another report."""
    taken = {path.resolve() for path in inputs}
    for _, path in reports:
        if path.resolve() in taken:
            raise pytest.UsageError(f"--draft-report: {str(path)!r} is read or written in this run already")
        taken.add(path.resolve())
