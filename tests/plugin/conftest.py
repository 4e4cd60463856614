"""Small forests that were really trained, and a project that judges them in a pytest of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.ensemble import RandomForestClassifier

import pytest_draft
import remembered_apart
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.isolation import Children, _Child, children
from remembered import Remembered

PATIENCE = 300.0  # seconds that a test waits for what must come; machines are slow at times
N_ROWS = 40
N_COLUMNS = 8

MARKED = """
import pytest

@pytest.mark.reconstruction_budget({arguments})
def test_release(draft_result): ...
"""

POLICY = """
schema_version = 1
name = "ours"

[rules.reconstruction-error]
max_error = {max_error}
"""


def people(seed: int) -> pd.DataFrame:
    """Return rows of one population, with their label."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (N_ROWS, N_COLUMNS))
    frame = pd.DataFrame(rows, columns=[f"c{index}" for index in range(N_COLUMNS)])
    frame["label"] = np.where(rows.sum(axis=1) + rng.integers(0, 3, N_ROWS) > 5, "yes", "no")
    return frame


@pytest.fixture(scope="session")
def set_aside() -> dict[str, _Child | None]:
    """Return the children that wait while another is in use, by a name."""
    return {}


@contextmanager
def in_use(name: str, set_aside: dict[str, _Child | None]) -> Iterator[None]:
    """Let the child of a name wait for the next case, in place of the one that all tests share."""
    set_aside["shared"], children._idle = children._idle, set_aside.pop(name, None)
    try:
        yield
    finally:
        set_aside[name], children._idle = children._idle, set_aside.pop("shared")


def examining(*parents: int) -> list[psutil.Process]:
    """Return the living processes that examine for some others."""
    found = []
    for parent in parents:
        with suppress(psutil.Error):  # it has just ended
            for child in psutil.Process(parent).children(recursive=True):
                with suppress(psutil.Error):
                    found += [child] if "pytest_draft.isolation" in " ".join(child.cmdline()) else []
    return found


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition holds; fail when it does not come."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def on_a_terminal(project):
    """Return a function that runs pytest on a terminal, and gives its exit status and all that it has written there.

    Whatever is written so far goes to a listener, too.
    """
    pty = pytest.importorskip("pty")

    def run(*arguments: str, listener=lambda text: None, **environment: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *arguments]
        process = subprocess.Popen(
            command, cwd=project.path, stdout=theirs, stderr=theirs, env={**os.environ, **environment}
        )
        os.close(theirs)
        written = b""
        with suppress(OSError):  # Linux's way to say that nobody writes any more
            while part := os.read(ours, 65_536):
                written += part
                listener(written.decode("ascii", "ignore"))
        os.close(ours)
        return process.wait(), written.decode("ascii")

    return run


def before_all(folder: Path) -> str:
    """Return a path for modules on which a folder comes first, and then this package as it is tested."""
    return os.pathsep.join([str(folder), str(Path(pytest_draft.__file__).parents[1])])


@pytest.fixture
def in_child(tmp_path, monkeypatch, set_aside, examined_anew):
    """Return a function that has code run at the start of each child, before it is given anything to do."""

    def plant(code: str) -> None:
        (tmp_path / "planted").mkdir()
        (tmp_path / "planted" / "sitecustomize.py").write_text(code, encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", before_all(tmp_path / "planted"))

    with in_use("planted", set_aside):
        yield plant
        Children.close(children)


STAGES = {
    "rows_of": "inputs",
    "infer": "settled_domain",
    "grant": "inputs",
    "build_any": "counted",
    "known_others": "alternatives",
    "reconstruct": "counted",
    "held_of": "informed",
    "identify": "counted",
    "known_rows": "informed",
    "identify_in_order": "informed",
    "evaluate": "evaluation",
}
"""What a flow calls, and the file of `pytest_draft.examine` that calls it."""

AT_STAGES = f"""
import importlib, os, pathlib, sys, time

here = pathlib.Path(__file__).parent

def planted(whole, code):
    def run(*arguments, **named):
        if code.exists():
            (here / "reached").touch()
            exec(code.read_text(encoding="utf-8"), dict(globals(), arguments=arguments))
        return whole(*arguments, **named)
    return run

for stage, file in {STAGES}.items():
    module = importlib.import_module("pytest_draft.examine." + file)
    setattr(module, stage, planted(getattr(module, stage), here / (stage + ".txt")))
"""
"""Before each stage of the flow, a child runs what is in a file of its name: so one child serves for many tests."""


@pytest.fixture(scope="session")
def at_stages(tmp_path_factory, set_aside) -> Iterator[Path]:
    """Return a folder: what is in its files, a child that was started with it runs before the stages of their names."""
    folder = tmp_path_factory.mktemp("stages")
    (folder / "sitecustomize.py").write_text(AT_STAGES, encoding="utf-8")
    yield folder
    with in_use("staged", set_aside):
        Children.close(children)


@pytest.fixture
def at_stage(at_stages, monkeypatch, set_aside, examined_anew):
    """Return a function that has code run in a child before a stage of the flow; it returns a file made just then."""

    def plant(stage: str, code: str) -> Path:
        assert stage in STAGES
        (at_stages / f"{stage}.txt").write_text(textwrap.dedent(code), encoding="utf-8")
        return at_stages / "reached"

    monkeypatch.setenv("PYTHONPATH", before_all(at_stages))
    with in_use("staged", set_aside):
        yield plant
    for left in (*at_stages.glob("*.txt"), *at_stages.glob("reached")):
        left.unlink()


@pytest.fixture(scope="session")
def released(tmp_path_factory) -> Path:
    """Return a folder with three forests, their training rows, the same rows shuffled, and other rows."""
    folder = tmp_path_factory.mktemp("released")
    rows = people(0)
    rows.to_csv(folder / "train.csv", index=False)
    rows.sample(frac=1, random_state=1).to_csv(folder / "shuffled.csv", index=False)
    people(1).to_csv(folder / "strangers.csv", index=False)
    features, labels = rows.drop(columns="label"), rows["label"]
    for name, forest in {
        "leaking": RandomForestClassifier(20, bootstrap=False, random_state=0),
        "bagged": RandomForestClassifier(30, random_state=0),
        "shallow": RandomForestClassifier(2, bootstrap=False, max_depth=1, random_state=0),
    }.items():
        joblib.dump(forest.fit(features, labels), folder / f"{name}.joblib")
    data = str(folder / "train.csv")
    examine(Case(str(folder / "bagged.joblib"), data))  # all late imports of the engine
    return folder


@dataclass(frozen=True)
class Project:
    """A folder with forests and their data, and a pytest that runs there."""

    pytester: pytest.Pytester
    remembered: Remembered

    @property
    def path(self) -> Path:
        """The folder."""
        return self.pytester.path

    def run(self, *arguments: object) -> pytest.RunResult:
        """Run pytest with arguments, in this process."""
        # hypothesis would be imported anew in each run
        with self.knowing() as known:
            distributed = any(str(argument).startswith("-n") for argument in arguments)
            more = (*(known if distributed else ()), *map(str, arguments))
            return self.pytester.runpytest_inprocess("-p", "no:hypothesispytest", *more)

    def run_apart(self, *arguments: object) -> pytest.RunResult:
        """Run pytest with arguments, in a process of its own."""
        with self.knowing() as known:
            return self.pytester.runpytest_subprocess("-p", "no:hypothesispytest", *known, *map(str, arguments))

    @contextmanager
    def knowing(self) -> Iterator[tuple[str, ...]]:
        """Give the options with which other processes know what was examined before, where a test lets them."""
        if self.remembered.off:
            yield ()
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(remembered_apart.FOLDER, str(self.remembered.folder))
            patch.setenv("PYTHONPATH", before_all(Path(remembered_apart.__file__).parent))
            yield ("-p", "remembered_apart")

    def judge(self, forest: str, *arguments: object, data: str | None = "train.csv") -> pytest.RunResult:
        """Judge one forest, and write ``report.json``."""
        given = [] if data is None else ["--draft-data", data]
        return self.run("--draft-forest", forest, *given, "--draft-report=json:report.json", *arguments)

    def report(self, name: str = "report.json") -> dict:
        """Return a report that was written."""
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def result(self, name: str = "report.json") -> dict:
        """Return the only result of a report."""
        (result,) = self.report(name)["results"]
        return result

    def write(self, name: str, text: str) -> str:
        """Write a text file, and return its name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def configure(self, forest: str = "leaking.joblib", more: str = "") -> None:
        """Configure a forest and its data in pytest.ini."""
        self.write("pytest.ini", f"[pytest]\ndraft_forest = {forest}\ndraft_data = train.csv\n{more}")

    def mark(self, arguments: str) -> None:
        """Write a marked test."""
        self.write("test_marked.py", MARKED.format(arguments=arguments))

    def train(self, forest: object, frame: pd.DataFrame, name: str = "other") -> None:
        """Fit a forest to a table whose last column is the label, and write both."""
        forest.fit(frame.iloc[:, :-1], frame.iloc[:, -1])
        joblib.dump(forest, self.path / f"{name}.joblib")
        frame.to_csv(self.path / f"{name}.csv", index=False)


@pytest.fixture
def project(pytester, released, remembered) -> Project:
    """Return a project of one's own with copies of all that was released."""
    for source in released.iterdir():
        shutil.copy(source, pytester.path)
    return Project(pytester, remembered)


@pytest.fixture
def rows() -> pd.DataFrame:
    """Return the training rows of all released forests, a table of one's own."""
    return people(0)


@pytest.fixture
def one_line_error():
    """Return a function that gives the only line of a usage error, which ended pytest with exit 4."""

    def line(result: pytest.RunResult) -> str:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        lines = [text for text in result.errlines if text.strip()]
        assert len(lines) == 1, lines
        return lines[0]

    return line


@pytest.fixture
def without_times(examined_anew):
    """Return a function that gives a report without its seconds, its date and the evidence, which tells both.

    What is compared by it is found out anew.
    """

    def stripped(value: object) -> object:
        if isinstance(value, dict):
            timed = {k for k in value if k.endswith("seconds")} | {"judged_at", "evidence"}
            return {k: stripped(v) for k, v in value.items() if k not in timed}
        if isinstance(value, list):
            return [stripped(entry) for entry in value]
        return value

    return stripped


@pytest.fixture
def policy():
    """Return a function that gives a policy's text with one absolute budget."""

    def text(max_error: float = 1.0, top: str = "") -> str:
        return top + POLICY.format(max_error=max_error)

    return text
