"""The advice that `pytest_draft.advise` returns: what to train, and a table of what was tried, as text."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_draft.advice.judging import Judgement
from pytest_draft.advice.owner import Owner
from pytest_draft.advice.scoring import Score
from pytest_draft.data.files import IN_MEMORY
from pytest_draft.foreign_text import harmless, in_shell, typed
from pytest_draft.output import replacing
from pytest_draft.policy.starting_settings import Setting

WIDTH = 79
"""Columns of a terminal, less one."""


@dataclass(frozen=True)
class Tried:
    """A setting, and what the gate says of its file."""

    setting: Setting | None
    """None for the owner's own."""
    hardened: bool
    """Whether the file was hardened."""
    score: Score
    judgement: Judgement | None = None
    """None where it was not judged: something with a better score had passed, or no time was left."""
    is_full: bool = False
    """Whether the judgement was one of the whole gate."""

    @property
    def name(self) -> str:
        """The setting in words."""
        return "as it is" if self.setting is None else str(self.setting)


@dataclass(frozen=True)
class Advice:
    """Which setting to train, what was tried, and what it costs. Aggregates only: no row of data."""

    owner: Owner
    metric: str
    policy: str
    """Its name."""
    asked: tuple[str, ...]
    """Options with which the gate judges so."""
    tried: tuple[Tried, ...]
    """The owner's own first, then those whose file tells the most."""
    pick: Tried | None
    """What passed the gate, with the best score of those that were tried; None where nothing did."""
    tests: tuple[Score, Score] | None
    """Of the owner's setting and the pick, on rows that chose nothing."""
    tested_on: str
    seconds: float
    finished: bool
    """Whether nothing was left out for want of time."""
    interrupted: bool
    """Whether somebody has stopped it."""
    budget: float
    notes: tuple[str, ...] = ()
    file: bytes | None = field(default=None, repr=False)
    """The file that passed."""
    model: Any = field(default=None, repr=False)
    """The model that is in it."""
    saved: str | None = None
    """Where the file was written."""

    def __str__(self) -> str:
        return text(self)

    def save(self, path: str | os.PathLike[str]) -> Advice:
        """Write the file that passed, which nobody else may read; return the advice that names it."""
        if self.file is None:
            return self
        with replacing(Path(path), private=True) as file:
            file.write(self.file)
        return replace(self, saved=os.fspath(path))


def text(advice: Advice) -> str:
    """Return the advice as lines that fit a terminal."""
    rows = [("Setting", advice.metric, "File", "Verdict", "Decided by"), *(_cells(one) for one in advice.tried)]
    for index in range(len(rows) - 1, 1, -1):
        if rows[index][:2] == rows[index - 1][:2]:
            rows[index] = ("", "", *rows[index][2:])
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    marks = [" ", *(">" if one == advice.pick else " " for one in advice.tried)]
    lines = [
        f"{mark} " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for mark, row in zip(marks, rows, strict=True)
    ]
    lines += ["", *_folded(_headline(advice)), *(line for said in _cost(advice) for line in _folded(said))]
    if advice.pick is None:
        lines += ["", *_folded(_next_step(advice))]
    elif advice.pick.setting is not None or advice.pick.hardened:
        lines += ["", "In the code that trains your model:", "", *code(advice)]
        lines += ["", *_folded(_ANOTHER)]
    if command := _judging(advice):
        lines += ["", "Judge the file as the gate does:", "", command]
    lines += ["", *(line for note in advice.notes for line in _folded(f"note: {note}"))] if advice.notes else []
    return "\n".join(harmless(line.rstrip(), None) for line in lines)


_ANOTHER = (
    "This trains another model of this setting whenever it runs: judge its file before you release it, under a name of "
    "its own."
)


def code(advice: Advice) -> list[str]:
    """Return Python that sets the pick in a model and trains it; it writes no file."""
    assert advice.pick is not None
    parameters = advice.owner.parameters(advice.pick.setting)
    texts = {name: repr(value) for name, value in parameters.items()}
    if all(name.isidentifier() for name in texts):
        line = f"model.set_params({', '.join(f'{name}={value}' for name, value in texts.items())})"
    else:
        line = f"model.set_params(**{{{', '.join(f'{name!r}: {value}' for name, value in texts.items())}}})"
    made = [value for value in parameters.values() if hasattr(value, "get_params")]
    lines = [f"from sklearn.tree import {type(value).__name__}" for value in made]
    lines += textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    lines.append("model.fit(X, y)")
    if advice.pick.hardened:
        lines += ["", "import pytest_draft", "pytest_draft.harden(model, 'hardened.joblib', data=X)"]
    return lines


def _cells(tried: Tried) -> tuple[str, str, str, str, str]:
    judged, file = tried.judgement, "hardened" if tried.hardened else "as trained"
    if judged is None:
        return (tried.name, str(tried.score), "", "not judged", "")
    return (tried.name, str(tried.score), file, judged.verdict, judged.rule)


def _headline(advice: Advice) -> str:
    pick = advice.pick
    if pick is None or pick.judgement is None:
        return "No setting passed." if advice.finished else "No setting has passed yet: time was out."
    what = "Your model passes as it is" if pick.setting is None else f"Train {pick.name}: its file passes"
    said = f"{what}{', hardened,' * pick.hardened} by the policy {advice.policy!r} ({pick.judgement.seconds:.0f} s)."
    return said if advice.saved is None else f"{said} It is {typed(advice.saved)}: release that one."


def _cost(advice: Advice) -> list[str]:
    """Return what the pick costs in scores, beside the owner's setting."""
    own, pick = next((one.score for one in advice.tried), None), advice.pick
    if pick is None or own is None or pick.setting is None:
        return []
    said = [f"{difference(own, pick.score, advice.metric)}."]
    if advice.tests is not None:
        said.append(f"On {advice.tested_on}: {advice.tests[0]} -> {advice.tests[1]}.")
    return said


def difference(own: Score, advised: Score, metric: str) -> str:
    """Return what one score costs beside another: in points, which are hundredths, where the metric is a share."""
    lost = own.mean - advised.mean
    points = not metric.startswith("neg_")
    size = f"{abs(100 * lost):.1f}" if points else f"{abs(lost):.3g}"
    of = f" points of {metric}" if points else f" of {metric}"
    what = "costs" if lost > 0 else "gains"
    said = f"It costs nothing in {metric}" if float(size) == 0 else f"It {what} {size}{of}"
    within = abs(lost) <= max(own.error, advised.error) and float(size) > 0
    return f"{said} (now -> advised): {own} -> {advised}" + ", which may be chance" * within


def _next_step(advice: Advice) -> str:
    """Return what to do where nothing passed, by what kept the setting from it whose file tells the least."""
    judged = [one for one in advice.tried if one.judgement is not None and one.judgement.verdict == "inconclusive"]
    if judged:
        last = judged[-1]
        assert last.judgement is not None
        why = last.judgement.why.replace("--draft-budget", "--budget").replace("--draft-seed", "--seed")
        budget = f"--budget {4 * advice.budget:g} --minutes {max(10, advice.budget * 16 / 60):.0f}"
        return f"{last.name} is inconclusive: {why}. Try again with {budget}."
    if not advice.finished:
        return "Try again with more --minutes."
    return "More time does not help. Use fewer columns or more rows, or do not release the file."


def _judging(advice: Advice) -> str:
    """Return the command that judges the written file; empty where there is none, or the rows are no file."""
    owner = advice.owner
    if advice.saved is None or owner.data.source == IN_MEMORY:
        return ""
    words = ["--draft-forest", typed(advice.saved), "--draft-data", typed(owner.data.source)]
    return in_shell(["pytest", *words, "--draft-target", owner.target, *advice.asked])


def _folded(sentence: str) -> list[str]:
    return textwrap.wrap(harmless(sentence, None), WIDTH, break_long_words=False, break_on_hyphens=False)
