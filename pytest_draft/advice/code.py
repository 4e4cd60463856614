"""What the owner runs: the Python that trains a setting and the commands that release it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import pandas as pd

from pytest_draft.advice.facts import Secret, Seed, Setting
from pytest_draft.advice.owner import Owner, shown_path
from pytest_draft.data.files import IN_MEMORY
from pytest_draft.foreign_text import harmless, in_shell

SECRET = "# Keep this seed private: it tells which rows each tree was trained on."
_WIDTH = 79

_EXACT = [] if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else ['float_precision="round_trip"']
"""Before pandas 3.1 the default is a unit in the last place off for many numbers."""


def training_code(owner: Owner, setting: Setting, random_state: Seed) -> str:
    """Return Python that trains a setting's model on all rows, and writes it beside the owner's where that is a file.

    Without files it takes up ``model``, ``X`` and ``y`` as they were given.
    """
    parameters = owner.parameters(setting, random_state)
    imports, lines = ["from sklearn.base import clone"], []
    from_file, data_file = owner.source is not None, owner.data.source != IN_MEMORY
    if data_file:
        lines += _reading(owner, imports)
    made = parameters.get("")
    if from_file or data_file:
        lines.append("")
    if made is not None:
        imports.remove("from sklearn.base import clone")
        lines += _seed(random_state)
        lines += _folded(f"model = {type(made).__name__}(", _constructed(made, imports), ")")
    else:
        given = f"joblib.load({shown_path(owner.source)!r})" if owner.source is not None else "model"
        given += owner.reached
        if owner.searches:
            lines.append(f"given = {given}")
            given = "given"
        lines.append(f"model = clone({given})")
        for at in owner.searches:
            lines.append(f"best = clone(given.get_params()[{at!r}].best_estimator_)")
            lines.append(f"model.set_params(**{{{at!r}: best}})")
        lines += _seed(random_state)
        lines += _setting(parameters, imports)
    lines.append("model.fit(X, y)")
    if from_file:
        imports.append("import joblib")
        lines.append(f"joblib.dump(model, {trained_file(owner)!r})")
    if any("np." in line for line in lines):
        imports.append("import numpy as np")
    plain = sorted(line for line in set(imports) if line.startswith("import "))
    chosen = sorted(line for line in set(imports) if line.startswith("from "))
    code = [*plain, *chosen, *([""] if lines and lines[0] else []), *lines]
    return "\n".join(harmless(line, None) for line in code) + "\n"  # foreign text stands in literals, which stay equal


def _reading(owner: Owner, imports: list[str]) -> list[str]:
    """Return the lines that read the training data."""
    path = shown_path(owner.data.source)
    kind = path.lower()
    as_type = f".astype({owner.label_type})" if owner.label_type else ""
    if kind.endswith(".npz"):
        imports.append("import numpy as np")
        return [f"data = np.load({path!r})", f'X, y = data["X"], data[{owner.target!r}]{as_type}']
    imports.append("import pandas as pd")
    if kind.endswith((".parquet", ".pq")):
        lines = [f"table = pd.read_parquet({path!r})"]
    else:
        lines = _folded("table = pd.read_csv(", [repr(path), "index_col=False", "low_memory=False", *_EXACT], ")")
    if owner.by_name:
        lines += _folded("X = table[[", list(map(repr, owner.features.columns)), "]]")
    else:
        arrays = "" if hasattr(owner.features, "columns") else ".to_numpy()"
        lines.append(f"X = table.drop(columns={owner.target!r}){arrays}")
    return [*lines, f"y = table[{owner.target!r}]{as_type}"]


def _seed(random_state: Seed) -> list[str]:
    """Return the lines that name a seed to keep."""
    return [SECRET, f"seed = {list(random_state.words)!r}"] if isinstance(random_state, Secret) else []


def _folded(begin: str, parts: list[str], end: str) -> list[str]:
    """Return an expression on one line, or on several that fit a terminal, which can be pasted."""
    line = f"{begin}{', '.join(parts)}{end}"
    if len(line) <= _WIDTH or not parts:
        return [line]
    lines = [begin, "   "]
    for part in parts:
        if lines[-1].strip() and len(lines[-1]) + len(part) + 2 > _WIDTH:
            lines.append("   ")
        lines[-1] += f" {part},"
    return [*lines, end]


def _shown(value: Any) -> str:
    """Return Python that makes a parameter's value."""
    return "np.random.RandomState(seed)" if isinstance(value, Secret) else repr(value)


def _setting(parameters: dict[str, Any], imports: list[str]) -> list[str]:
    """Return the lines that set a model's parameters; a tree among them is made before."""
    lines, texts = [], {}
    for name, value in parameters.items():
        texts[name] = _shown(value)
        if hasattr(value, "get_params"):
            texts[name] = "tree"
            lines += _folded(f"tree = {type(value).__name__}(", _constructed(value, imports), ")")
    if all(name.isidentifier() for name in texts):
        return lines + _folded("model.set_params(", [f"{name}={text}" for name, text in texts.items()], ")")
    return lines + _folded("model.set_params(**{", [f"{name!r}: {text}" for name, text in texts.items()], "})")


def _constructed(estimator: Any, imports: list[str]) -> list[str]:
    """Return the arguments that make an estimator: its parameters that are not the defaults."""
    kind = type(estimator)
    module = "pytest_draft.dp" if kind.__module__.startswith("pytest_draft") else "sklearn.tree"
    imports.append(f"from {module} import {kind.__name__}")
    defaults = kind().get_params()
    given = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if not (isinstance(value, type(defaults[name])) and value == defaults[name])
    }
    # Not the classes themselves: one person may be the only one of a class, and others read the code.
    texts = {name: "np.unique(y).tolist()" if name == "classes" else _shown(value) for name, value in given.items()}
    return [f"{name}={text}" for name, text in texts.items()]


def trained_file(owner: Owner) -> str:
    """Return the path that the code writes to."""
    return shown_path(_beside(owner.source or "model.joblib", "advised"))


def release_commands(owner: Owner, setting: Setting, level: str, policy: str | None) -> tuple[str, ...]:
    """Return the commands that harden the trained file and judge it; none where models or data are not files.

    Parameters
    ----------
    setting : Setting
        A private forest's file is released as it is.
    policy : str or None
        As it was given, where it was.
    """
    if owner.source is None or owner.data.source == IN_MEMORY:
        return ()
    released, commands = trained_file(owner), []
    data = shown_path(owner.data.source)
    if setting.kind != "private":
        released = shown_path(_beside(owner.source, "hardened"))
        rows = ["--data", data, "--target", owner.target]
        named = [] if level == "counts" else ["--level", level]
        commands.append(["python", "-m", "pytest_draft", "harden", trained_file(owner), released, *named, *rows])
    more = [] if policy is None else ["--draft-policy", policy]
    judged = ["--draft-forest", released, "--draft-data", data, "--draft-target", owner.target]
    commands.append(["pytest", *judged, *more])
    return tuple(map(in_shell, commands))


def _beside(path: str, what: str) -> str:
    """Return the path of another file in the same folder, so named that it shows what it is."""
    pure = PurePath(path)
    return str(pure.with_name(f"{pure.stem}-{what}.joblib"))


def longer_command(owner: Owner, options: Mapping[str, str], adversaries: Sequence[str]) -> str | None:
    """Return the command that searches again with other options; None where models or data are not files."""
    if owner.source is None or owner.data.source == IN_MEMORY:
        return None
    words = ["python", "-m", "pytest_draft", "advise", shown_path(owner.source)]
    words += ["--data", shown_path(owner.data.source), "--target", owner.target]
    for name, value in options.items():
        words += [f"--{name}", value]
    for one in adversaries:
        words += ["--adversary", one]
    return in_shell(words)
