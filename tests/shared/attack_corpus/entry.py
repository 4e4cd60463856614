"""One hostile file: in goes what it is, out comes what must be said of it."""

from __future__ import annotations

import io
import pickle
import warnings
from dataclasses import dataclass
from functools import cache

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier

N_ROWS = 60


@dataclass(frozen=True)
class Hostile:
    """A file and the refusal that it must get."""

    name: str
    """What it tries."""
    content: bytes
    kind: str
    """One of "corrupt", "too big", "not allowed", "unsupported", "several models". The last is of what is unsupported
    as long as nobody says which model is meant.
    """
    words: tuple[str, ...] = ()
    """Pieces of the refusal's sentence."""


def corrupt(name: str, content: bytes, *words: str) -> Hostile:
    return Hostile(name, content, "corrupt", words)


def too_big(name: str, content: bytes, *words: str) -> Hostile:
    return Hostile(name, content, "too big", words)


def not_allowed(name: str, content: bytes, *words: str) -> Hostile:
    return Hostile(name, content, "not allowed", words)


def unsupported(name: str, content: bytes, *words: str) -> Hostile:
    return Hostile(name, content, "unsupported", words)


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return invented rows of 6 columns, and labels of 3 classes."""
    random = np.random.RandomState(7)
    columns = np.hstack((random.randint(0, 2, (N_ROWS, 4)), random.normal(size=(N_ROWS, 2)).round(2)))
    return columns, np.array(["no", "perhaps", "yes"])[columns[:, :2].sum(axis=1).astype(int)]


@cache
def _fitted() -> bytes:
    return pickle.dumps(RandomForestClassifier(3, max_depth=4, random_state=5).fit(*rows()))


def forest() -> RandomForestClassifier:
    """Return an honest forest that may be changed."""
    return pickle.loads(_fitted())


def dumped(model: object, **options: object) -> bytes:
    """Return the joblib file of a model."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        joblib.dump(model, file, **options)
    return file.getvalue()
