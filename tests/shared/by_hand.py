"""Reconstructions by hand: in go true and rebuilt rows, out come their findings."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.timebox import TimeBox

ASKED = ("knowledge", "slices", "n_classes", "inside")
"""What `evaluate` is asked besides."""


def array(rows: Any) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def flags(names: Any) -> Domain:
    """Return a domain of binary columns."""
    return Domain(tuple(names), tuple(Attribute(name, "binary", (i,)) for i, name in enumerate(names)), "by hand")


def over() -> TimeBox:
    """Return a time box whose time is out."""
    now = [0.0]
    timebox = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    return timebox


def data_of(truth: Any, domain: Domain, labels: Any = None) -> TrainingData:
    """Return training data of these rows, all of one class where no labels are given."""
    truth = array(truth)
    labels = np.zeros(len(truth)) if labels is None else labels
    return TrainingData(truth, np.array(labels, dtype=np.int64), domain.columns, None, "by hand")


def rebuilt_as(rows: Any, domain: Domain, **fields: Any) -> Reconstruction:
    """Return a reconstruction of these rows in which nothing is open, with other fields as they are given."""
    rows, nothing = array(rows), np.zeros((len(rows), len(domain.attributes)), dtype=bool)
    free = np.array(fields.pop("free", nothing))
    given = {"labels": np.zeros(len(rows), dtype=np.int64), "cells": None, "ordered": False, "residual": 0}
    return Reconstruction("consistent", rows, free=free, **{**given, **fields})


def measured(
    truth: Any,
    rebuilt: Any,
    domain: Domain,
    *,
    labels: Any = None,
    identity: str = "confirmed",
    seed: int = 0,
    timebox: TimeBox | None = None,
    guessed: Any = None,
    **fields: Any,
) -> Findings:
    """Return the findings of a reconstruction.

    Parameters
    ----------
    guessed : array_like or None
        Rebuilt labels.
    **fields
        Of the reconstruction, and what `evaluate` is asked.
    """
    asked = {name: fields.pop(name) for name in ASKED if name in fields}
    if guessed is not None:
        fields["labels"] = np.array(guessed, dtype=np.int64)
    data, attacked = data_of(truth, domain, labels), rebuilt_as(rebuilt, domain, **fields)
    timebox = timebox or TimeBox(60)
    return evaluate(attacked, data, domain, Identity(identity, "by hand"), seed=seed, timebox=timebox, **asked)
