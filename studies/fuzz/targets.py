"""What is fuzzed: in go a target's name and a number, out come its mutant and what a reader said of that."""

from __future__ import annotations

import contextlib
import json
import random
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pytest_draft.artifact import Artifact, Forest, RuleList, occurrences, read
from pytest_draft.artifact.forest.observations import Answers, BoostedSums
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.data.domain_file import read_domain
from pytest_draft.data.holdout import holdout_of
from pytest_draft.data.tables import read_table
from pytest_draft.data.training import training_data
from pytest_draft.errors import (
    ArtifactNotAllowedError,
    ArtifactTooBigError,
    CorruptArtifactError,
    DataError,
    DraftError,
    LabelError,
    NotCoveredError,
    PolicyError,
    SeveralModelsError,
    UnsupportedArtifactError,
    UsageError,
)
from pytest_draft.policy.policy import read_policy
from pytest_draft.report.canonical import with_hash
from pytest_draft.report.earlier_report import read_earlier
from studies.fuzz.boosters import fields_damaged, inside, ubjson_damaged, words_damaged
from studies.fuzz.damage import Damage, bytes_damaged, text_damaged
from studies.fuzz.documents import archive_damaged, json_damaged, npy_damaged
from studies.fuzz.pickles import arrays_damaged, instructions_damaged
from studies.fuzz.protobufs import protobuf_damaged

SEEDS = Path(__file__).parent / "seeds"
_MODEL_ERRORS = (
    ArtifactNotAllowedError,
    ArtifactTooBigError,
    CorruptArtifactError,
    SeveralModelsError,
    UnsupportedArtifactError,
)
_LONGEST_REFUSAL = 700
_LONGEST = {"policy": 25_000, "rules": 25_000}
"""Most characters of a refusal, where it lists all that is wrong; `_LONGEST_REFUSAL` elsewhere."""

_MOST_COLUMNS = 1000
_COLUMNS = ("a", "d:red", "d:green", "d:blue", "e", "f")


class WrongError(Exception):
    """A reader's answer to a mutant is none: it accepted what is not valid, or its refusal is not one clear line."""


@dataclass(frozen=True)
class Target:
    """One kind of file."""

    seeds: str
    """Patterns of the honest files' names, separated by blanks."""
    damages: tuple[Damage, ...]
    """From which one is drawn for each change; the same one several times is drawn more often."""
    accept: Callable[[Path], None]
    """Reads a file, and raises `WrongError` where what comes out is not valid."""
    errors: tuple[type[DraftError], ...]
    """What reading it may raise."""

    @property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        """The honest files' names and contents."""
        return _files(self.seeds)


@cache
def _files(patterns: str) -> tuple[tuple[str, bytes], ...]:
    paths = {path for pattern in patterns.split() for path in SEEDS.glob(pattern)}
    return tuple((path.name, path.read_bytes()) for path in sorted(paths))


# What comes out of an accepted file must be valid.


def _require(holds: object, what: str) -> None:
    if not holds:
        raise WrongError(f"it was accepted although {what}")


def _model(path: Path) -> None:
    try:
        artifact = read(path)
    except SeveralModelsError as several:
        refused(several, _LONGEST_REFUSAL)
        artifact = read(path, place=several.places[0])
    _require(artifact.holds.isascii() and artifact.holds.isprintable(), "what it holds is not printable")
    _require(all(one.isascii() and one.isprintable() for one in artifact.not_read), "a path is not printable")
    for stored in artifact.contents.arrays:
        with contextlib.suppress(CorruptArtifactError):
            stored.values()
    repr(artifact)
    if isinstance(artifact.model, RuleList):
        _rule_list(artifact.model)
        return
    _forest(artifact.model)
    if artifact.encoder is not None and artifact.not_covered is None:
        _encoded(artifact)


def _forest(forest: Forest) -> None:
    for tree in forest.trees:
        inner = tree.left >= 0
        children = np.concatenate((tree.left[inner], tree.right[inner]))
        _require(sorted(children.tolist()) == list(range(1, tree.n_nodes)), "its nodes are no tree")
        _require((tree.left[inner] > np.flatnonzero(inner)).all(), "a child comes before its parent")
        _require(((tree.feature[inner] >= 0) & (tree.feature[inner] < forest.n_features)).all(), "a column is none")
        _require(np.isfinite(tree.value).all(), "a value is not finite")
        _require(not np.isnan(tree.threshold[inner]).any(), "a threshold is not a number")
        n_values = 1 if isinstance(forest.observation, BoostedSums) else forest.n_classes or 1
        _require(tree.value.shape == (tree.n_nodes, n_values), "its values have another shape")
    if isinstance(forest.observation, BoostedSums):
        _boosted(forest, forest.observation)
    if forest.observation.exact:
        with contextlib.suppress(NotCoveredError):
            for index in range(forest.n_trees):
                forest.counts(index)
    if not isinstance(forest.observation, Answers):
        with contextlib.suppress(NotCoveredError):
            _require(occurrences(forest).shape == (forest.n_trees, forest.n_samples), "its draws are not by row")


def _boosted(forest: Forest, said: BoostedSums) -> None:
    _require(len(said.statements) == forest.n_trees, "it does not have statements for each tree")
    _require(np.isfinite(said.base).all() and forest.n_trees % said.n_scores == 0, "its scores are none")
    for tree, own in zip(forest.trees, said.statements, strict=True):
        _require(((own.node >= 0) & (own.node < tree.n_nodes)).all(), "a statement is of no node")
        _require(np.isfinite(own.weight).all() and np.isfinite(own.total).all(), "a statement is not finite")
        _require((own.tolerance >= 0).all(), "a tolerance is none")
    if forest.n_features <= _MOST_COLUMNS:
        columns, labels = np.zeros((forest.n_features, 3)), np.zeros(3, np.int64)
        columns[0] = (0.0, 1.0, np.nan)
        missed(forest, columns, labels)


def _rule_list(rules: RuleList) -> None:
    _require(rules.n_rules >= 1 and not rules.rules[-1].literals, "it has no default")
    _require(rules.n_features is None or max(rules.tested, default=-1) < rules.n_features, "a column is none")
    names = rules.feature_names or tuple(f"c{column}" for column in range(max(rules.tested, default=0) + 1))
    with contextlib.suppress(DataError):
        rules.resolved(names).captured(np.zeros((2, len(names)), np.float32))
    repr(rules)


def _encoded(artifact: Artifact) -> None:
    """Encode the rows that the honest pipelines were fitted on."""
    import pandas as pd

    encoder = artifact.encoder
    assert encoder is not None
    if encoder.n_inputs > 100:
        return
    raw = pd.read_csv(SEEDS / "raw.csv")
    raw = raw if encoder.names is not None else raw[["a", "b", "c", "label"]].set_axis([*range(3), "label"], axis=1)
    with contextlib.suppress(DataError, NotCoveredError):
        found = training_data(raw, artifact.forest, "label", encoder, artifact.origin)
        _require(found.rows.shape == (len(raw), artifact.forest.n_features), "its rows have another shape")


@cache
def _honest() -> Forest:
    return read(SEEDS / "forest.joblib").forest


def _table(path: Path) -> None:
    table = read_table(path)
    repr(table)
    data = training_data(table, _honest(), None if table.targets is not None else "label")
    _require(data.rows.shape == (len(table.frame), 3) and len(data.labels) == len(table.frame), "rows are missing")
    _require(set(data.labels.tolist()) <= {0, 1}, "a label is none of the classes")
    repr(data)
    holdout_of(table, data, "label")


def _domain(path: Path) -> None:
    domain = read_domain(path, _COLUMNS)
    owned = sorted(column for attribute in domain.attributes for column in attribute.columns)
    _require(owned == list(range(len(_COLUMNS))), "a column belongs to no attribute, or to several")
    _require(all(one.low <= one.high for one in domain.attributes), "an attribute's bounds are in the wrong order")


def _policy(path: Path) -> None:
    policy = read_policy(path)
    for rule in policy.rules:
        policy.asked_by(rule)
        policy.tightened({rule: policy.rules[rule]})
    repr(policy.with_comparison)


def _earlier(path: Path) -> None:
    earlier = read_earlier(path)
    for result in earlier.results:
        earlier.beside(result)
    honest: Any = json.loads((SEEDS / "report.json").read_bytes())
    compared = earlier.beside(honest["results"][0])
    for doubt in compared.doubts:
        _require(doubt.isascii() and doubt.isprintable(), "a doubt is not printable")


def _report_damaged(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Change a report by its values, and let it tell the hash of what it has become."""
    result = json_damaged(content, chance, others)
    try:
        return json.dumps(with_hash(json.loads(result))).encode()
    except Exception:  # what has become no report at all
        return result


_PICKLES = (
    "forest.pkl tree.pkl regressor.pkl missing.pkl bagging.pkl isolation.pkl private.pkl search.pkl "
    "forest.joblib pipeline.joblib bagging.joblib"
)
_DATA_ERRORS = (DataError, LabelError, NotCoveredError)

TARGETS = {
    "pickles": Target(
        f"{_PICKLES} voting.pkl", (instructions_damaged, instructions_damaged, bytes_damaged), _model, _MODEL_ERRORS
    ),
    "trees": Target(_PICKLES, (arrays_damaged,), _model, _MODEL_ERRORS),
    "pipelines": Target("pipeline.* few.pkl", (instructions_damaged, arrays_damaged), _model, _MODEL_ERRORS),
    "skops": Target("small.skops few.skops code.skops", (archive_damaged,), _model, _MODEL_ERRORS),
    "onnx": Target("*.onnx", (protobuf_damaged,), _model, _MODEL_ERRORS),
    "rules": Target(
        "rules.* corels.pkl printed.txt optimal.txt written.txt", (text_damaged, json_damaged), _model, _MODEL_ERRORS
    ),
    "xgboost-json": Target("xgboost-*.json", (json_damaged, json_damaged, text_damaged), _model, _MODEL_ERRORS),
    "xgboost-ubj": Target("xgboost-*.ubj", (ubjson_damaged,), _model, _MODEL_ERRORS),
    "xgboost-pickled": Target(
        "xgboost-*.pkl", (inside(ubjson_damaged), inside(ubjson_damaged), instructions_damaged), _model, _MODEL_ERRORS
    ),
    "lightgbm": Target("lightgbm-*.txt", (fields_damaged,), _model, _MODEL_ERRORS),
    "lightgbm-pickled": Target(
        "lightgbm-*.pkl", (inside(fields_damaged), instructions_damaged, arrays_damaged), _model, _MODEL_ERRORS
    ),
    "catboost-json": Target("catboost-*.json", (json_damaged, json_damaged, text_damaged), _model, _MODEL_ERRORS),
    "catboost-cbm": Target("catboost-*.cbm", (words_damaged,), _model, _MODEL_ERRORS),
    "catboost-pickled": Target("catboost-*.pkl", (inside(words_damaged), instructions_damaged), _model, _MODEL_ERRORS),
    "histograms": Target("histograms-*.joblib", (arrays_damaged, instructions_damaged), _model, _MODEL_ERRORS),
    "gradients": Target("gradients-*.joblib", (arrays_damaged, instructions_damaged), _model, _MODEL_ERRORS),
    "boosted-skops": Target("*-two.skops", (archive_damaged,), _model, _MODEL_ERRORS),
    "policy": Target("policy.toml", (text_damaged, text_damaged, bytes_damaged), _policy, (PolicyError,)),
    "domain": Target("domain.toml", (text_damaged, text_damaged, bytes_damaged), _domain, (DataError,)),
    "csv": Target("train.csv train.csv.gz", (text_damaged, bytes_damaged), _table, _DATA_ERRORS),
    "npz": Target("*.npz", (archive_damaged, npy_damaged), _table, _DATA_ERRORS),
    "parquet": Target("*.parquet", (bytes_damaged,), _table, _DATA_ERRORS),
    "report": Target("report.json", (_report_damaged, _report_damaged, text_damaged), _earlier, (UsageError,)),
}
"""All targets, by name."""


def mutant(target: str, seed: int, number: int) -> tuple[str, bytes]:
    """Return one mutant: the honest file's name, and the content that it has become.

    Parameters
    ----------
    target : str
        One of `TARGETS`.
    seed, number : int
        The same ones always give the same mutant.
    """
    chosen = TARGETS[target]
    chance = random.Random(f"{target}/{seed}/{number}")
    name, content = chance.choice(chosen.files)
    others = tuple(other for _, other in chosen.files)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pickletools, where it follows what was damaged before
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5))):
            content = chance.choice(chosen.damages)(content, chance, others)
    if chosen.accept is _model and chance.random() < 0.05 and not name.endswith((".skops", ".onnx")):
        content = zlib.compress(content, 1)
    return name, content


def refused(error: DraftError, longest: int) -> None:
    """Require that a refusal is one clear line.

    Raises
    ------
    WrongError
    """
    said = str(error)
    if not (said.isascii() and said.isprintable() and "::" not in said and 0 < len(said) <= longest):
        raise WrongError(f"the refusal is no clear line of at most {longest} characters: {said[:300]!a}")
    cause = error.__context__
    while isinstance(cause, DraftError):
        cause = cause.__context__
    if "makes no sense" in said or isinstance(cause, MemoryError):
        raise WrongError(f"the last net caught it: {type(cause).__name__}") from cause


def outcome(target: str, path: Path) -> str:
    """Read a mutant, and return ``accepted`` or the kind of its refusal.

    Parameters
    ----------
    path : pathlib.Path

    Raises
    ------
    Exception
        `WrongError`, or whatever else is neither acceptance nor a known refusal.
    """
    chosen = TARGETS[target]
    try:
        chosen.accept(path)
    except chosen.errors as error:
        refused(error, _LONGEST.get(target, _LONGEST_REFUSAL))
        return str(getattr(error, "kind", "refused"))
    return "accepted"
