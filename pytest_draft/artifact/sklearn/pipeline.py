"""The transformers in front of a forest: their inert records become an `Encoder`.

The audit undoes all fitted transformers of a file, so that it recognises scaled copies of the data too. Each is read by
itself, wherever it stands: whoever has the file has all of them, and rows in another model behind a scaler are rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.encoder import Block, Column, Encoder, Projection, Together, Transformer
from pytest_draft.artifact.objects import Object, described, version_of
from pytest_draft.artifact.records import Array, Mapping, Record
from pytest_draft.artifact.sklearn.selection import SELECTIONS
from pytest_draft.artifact.sklearn.transformers import READERS, column_positions
from pytest_draft.artifact.walking import records_in
from pytest_draft.artifact.world.contents import Contents
from pytest_draft.errors import ArtifactError, CorruptArtifactError, UnsupportedArtifactError, one_line

_MAX_DEPTH = 8
"""Most transformers inside each other (pipelines in column transformers and so on): it bounds the recursion."""

_MAX_STEPS = 64
"""Most steps of one column before the forest: it bounds the work that each column of a made-up file can ask for."""

_COLUMN_BYTES = 8
"""What a column at a transformer is charged to the budget, so that many of them are refused as large data would be."""

_OLDEST = (1, 2)
"""The oldest version of scikit-learn all of whose transformers are covered; that of forests is in `estimators`."""

_OLD = {
    ("sklearn.preprocessing._data", "MaxAbsScaler"): "scale_",
    ("sklearn.preprocessing._data", "MinMaxScaler"): "scale_",
    ("sklearn.preprocessing._data", "RobustScaler"): "scale_",
    ("sklearn.preprocessing._data", "StandardScaler"): "mean_",
    ("sklearn.preprocessing._encoders", "OneHotEncoder"): "categories_",
}
"""Transformers that are covered in older files, too, and what tells their number of columns."""

_PIPELINE = ("sklearn.pipeline", "Pipeline")
COLUMNS = ("sklearn.compose._column_transformer", "ColumnTransformer")
_FUNCTION = ("sklearn.preprocessing._function_transformer", "FunctionTransformer")


class EncoderReader:
    """Reads the transformers before a forest, one after the other.

    Attributes
    ----------
    parts : list of Object
        The transformers that were looked at.
    not_covered : str or None
        What is not covered of them; None where nothing was found.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._block: Block | None = None
        self._names: tuple[str, ...] | None = None
        self._n_inputs = 0
        self._kinds: dict[str, None] = {}
        self.parts: list[Object] = []
        self.not_covered: str | None = None

    def add(self, step: object, path: str) -> None:
        """Read the next transformer of a pipeline; behind one that is not covered, nothing is known of the columns.

        Parameters
        ----------
        step : object
            As the interpreter made it; None and ``passthrough`` do nothing.
        path : str
            Where it is in the file, ending in a dot.
        """
        if self.not_covered is not None:
            if isinstance(step, Record):
                self.parts.append(Object(step, path))
            return
        try:
            self._block = self._after(step, path, self._block, 0)
        except UnsupportedArtifactError as error:
            said = str(error)
            self._block, self.not_covered = None, said if _HOW in said else f"{said}: {RECIPE}"

    def fork(self) -> EncoderReader:
        """Return a reader of what follows for one of several models behind the same transformers."""
        other = copy(self)
        other._kinds, other.parts = dict(self._kinds), list(self.parts)
        return other

    def stop(self, why: str) -> None:
        """Give up: nothing is known of the columns that follow."""
        self._block, self.not_covered = None, self.not_covered or why

    def choose(self, transformer: Object, columns: object, where: str) -> None:
        """Take some of the columns, as an ensemble hands them to one of its models.

        Parameters
        ----------
        transformer : Object
            The ensemble.
        columns : object
            Positions, as the interpreter made them.
        where : str
            Their place in the ensemble.
        """
        if self.not_covered is not None:
            return
        count = transformer.integer("n_features_in_", minimum=1)
        indices = column_positions(columns, count, f"{transformer.path}{where}")
        if indices != list(range(count)):
            self._budget.spend_copy(_COLUMN_BYTES * len(indices))
            block = self._checked(transformer, self._block)
            self._kinds[transformer.kind] = None
            self._block = Block(tuple(block.columns[index] for index in indices), block.sparse)

    def encoder(self, n_features: int) -> Encoder | None:
        """Return the encoder of a forest with so many columns, None where nothing that is covered stands before it."""
        if self._block is None:
            return None
        made = len(self._block.columns)
        if made != n_features:
            raise CorruptArtifactError(f"its transformers make {made} columns, but its forest takes {n_features}")
        return self.alone()

    def alone(self) -> Encoder | None:
        """Return the encoder of whatever stands behind the transformers; None where they are not covered."""
        if self._block is None:
            return None
        return Encoder(self._block.columns, self._n_inputs, self._names, self._block.sparse, tuple(self._kinds))

    def _after(self, step: object, path: str, block: Block | None, depth: int) -> Block | None:
        """Return the columns behind a transformer; None is the raw table, of which nothing is known yet."""
        if step is None or step == "passthrough":
            return block
        if depth > _MAX_DEPTH:
            raise UnsupportedArtifactError(f"it has more than {_MAX_DEPTH} transformers inside each other")
        if not isinstance(step, Record):
            raise _not_covered(step)
        transformer = Object(step, path)
        key = step.cls.key
        self.parts.append(transformer)
        if key == _PIPELINE:
            for index, (_, inner) in enumerate(steps_of(transformer)):
                block = self._after(inner, f"{path}steps[{index}][1].", block, depth + 1)
            return block
        if key == _FUNCTION and transformer.get("func") is None:
            return block
        _check_version(transformer)
        read = READERS.get(key) or (_selected if key in SELECTIONS else None)
        if read is None and key != COLUMNS:
            raise _not_covered(step)
        self._kinds[transformer.kind] = None
        block = self._checked(transformer, block)
        after = self._columns(transformer, block, depth) if read is None else read(transformer, block)
        if max((len(column.steps) for column in after.columns), default=0) > _MAX_STEPS:
            raise UnsupportedArtifactError(f"it has a column with more than {_MAX_STEPS} steps before its forest")
        self._budget.spend_copy(_COLUMN_BYTES * len(after.columns))
        return after

    def _checked(self, transformer: Object, block: Block | None) -> Block:
        """Return a transformer's input, which the first one defines."""
        inner = transformer.get("estimator_")  # a SelectFromModel leaves the number of columns to its model
        fitted = transformer
        if "n_features_in_" not in transformer and isinstance(inner, Record):
            fitted = Object(inner, f"{transformer.path}estimator_.")
        fitted.is_fitted("n_features_in_")
        count = fitted.integer("n_features_in_", minimum=1)
        if block is None:
            self._names = transformer.texts("feature_names_in_", count)
            if self._names is not None and len(set(self._names)) != count:
                raise CorruptArtifactError(f"{transformer.path}feature_names_in_ has a name twice")
            self._budget.spend_copy(_COLUMN_BYTES * count)
            self._n_inputs = count
            return Block(tuple(Column(source) for source in range(count)))
        if len(block.columns) != count:
            raise CorruptArtifactError(f"{transformer.path}n_features_in_ is not {len(block.columns)}")
        return block

    def _columns(self, holder: Object, block: Block, depth: int) -> Block:
        """Read a ColumnTransformer: parts of the columns, each behind a transformer of its own."""
        holder.is_fitted("transformers_")
        if holder.get("transformer_weights") is not None:
            raise UnsupportedArtifactError("it holds a ColumnTransformer with transformer weights: not covered")
        inputs = _mapping(holder, "_transformer_to_input_indices")
        outputs = _mapping(holder, "output_indices_")
        made: list[Column] = []
        for index, part in enumerate(_triples(holder)):
            name, transformer, _ = part
            indices = column_positions(inputs.get(name), len(block.columns), f"{holder.path}transformers_[{index}]")
            if not indices or transformer == "drop":
                continue
            self._budget.spend_copy(_COLUMN_BYTES * len(indices))
            chosen = Block(tuple(block.columns[i] for i in indices), block.sparse)
            after = self._after(transformer, f"{holder.path}transformers_[{index}][1].", chosen, depth + 1)
            columns = chosen.columns if after is None else after.columns
            if _slice(outputs.get(name)) != (len(made), len(made) + len(columns)):
                raise CorruptArtifactError(f"{holder.path}output_indices_ are not what its transformers make")
            made += columns
        if not _makes_frames(holder):
            together = Together(tuple(made))
            made = [column.then(together) for column in made]
        return Block(tuple(made), holder.boolean("sparse_output_"))


def _check_version(transformer: Object) -> None:
    """Supply what an older version stored by other names, or not at all; refuse what was not compared with its word."""
    written = version_of(transformer.get("_sklearn_version"))
    if not written or written >= _OLDEST:
        return
    learned = transformer.get(_OLD.get(transformer.record.cls.key, ""))
    known = learned.shape[:1] if isinstance(learned, Array) else (len(learned),) if isinstance(learned, list) else ()
    if not known or transformer.get("_infrequent_enabled") is True or transformer.get("_legacy_mode") is True:
        raise UnsupportedArtifactError(
            f"scikit-learn {written[0]}.{written[1]} wrote its {transformer.kind}, and transformers from "
            f"{_OLDEST[0]}.{_OLDEST[1]} on are covered"
        )
    transformer.supply("n_features_in_", known[0])
    if isinstance(learned, list):
        dropped = transformer.get("drop_idx_")
        left_out = (dropped.items or []) if isinstance(dropped, Array) else []
        sizes = [array.shape[0] for array in learned if isinstance(array, Array) and array.shape]
        left = [size - (index < len(left_out) and left_out[index] is not None) for index, size in enumerate(sizes)]
        transformer.supply("_drop_idx_after_grouping", dropped)
        transformer.supply("_n_features_outs", left)
        transformer.supply("sparse_output", transformer.get("sparse"))


def _selected(transformer: Object, block: Block) -> Block:
    """Return the columns that a feature selection keeps; they become those of one array."""
    kept = SELECTIONS[transformer.record.cls.key](transformer, len(block.columns))
    together = Together(block.columns)
    return Block(tuple(block.columns[index].then(together) for index in kept.nonzero()[0].tolist()), block.sparse)


def steps_of(pipeline: Object) -> list[tuple[str, object]]:
    """Return a pipeline's steps, by name."""
    steps = pipeline.get("steps")
    if (
        not isinstance(steps, list)
        or not all(isinstance(step, tuple) and len(step) == 2 and type(step[0]) is str for step in steps)
        or not steps
    ):
        raise CorruptArtifactError(f"{pipeline.path}steps is not a list of names and estimators")
    return steps


def _not_covered(step: object) -> UnsupportedArtifactError:
    if isinstance(step, Record) and step.cls.module.startswith(_SAMPLERS):
        name = one_line(step.cls.name, 80)
        return UnsupportedArtifactError(
            f"the forest saw what {name} made of the training rows: save it alone with the table of fit_resample {_HOW}"
        )
    what = f"it holds a Pipeline with {described(step)} before its last step, which is not covered"
    why = _REASONS.get(step.cls.key) if isinstance(step, Record) else None
    return UnsupportedArtifactError(f"{what}{'' if why is None else f' ({why})'}: {RECIPE}")


_HOW = "(three lines: docs/how-to/pipelines.md, any other step)"
RECIPE = f"save the forest alone and give it the data as that step encodes them {_HOW}"
_SAMPLERS = ("imblearn.over_sampling", "imblearn.under_sampling", "imblearn.combine", "imblearn.base")
"""Modules of what makes other rows of the training data."""

_REASONS = {
    ("sklearn.preprocessing._target_encoder", "TargetEncoder"): (
        "its encodings are counts and sums of the labels by category, and in training it made them fold by fold, "
        "so that what the forest saw is not in the file"
    ),
    ("sklearn.decomposition._pca", "PCA"): "each of its columns is made of all",
}


# What they are read with


def _mapping(transformer: Object, name: str) -> dict[str, object]:
    stored = transformer.get(name)
    if not isinstance(stored, Mapping):
        raise CorruptArtifactError(f"{transformer.path}{name} is not a dict")
    return stored.texts()


def _triples(transformer: Object) -> Iterable[tuple[str, object, object]]:
    stored = transformer.get("transformers_")
    if not isinstance(stored, list) or not all(
        isinstance(part, tuple) and len(part) == 3 and type(part[0]) is str for part in stored
    ):
        raise CorruptArtifactError(f"{transformer.path}transformers_ is not a list of names, transformers and columns")
    return stored


def _slice(stored: object) -> tuple[object, object]:
    """Return the start and the end of a slice."""
    is_slice = isinstance(stored, Record) and stored.cls.name == "slice" and len(stored.args) == 3
    return (stored.args[0], stored.args[1]) if isinstance(stored, Record) and is_slice else (None, None)


def _makes_frames(transformer: Object) -> bool:
    """Return whether a transformer was told to make data frames, whose columns keep their types."""
    config = transformer.get("_sklearn_output_config")
    made = config.texts().get("transform") if isinstance(config, Mapping) else None
    return made in ("pandas", "polars")


_MOST = 24
"""Most transformers, and most lists of column names, that are taken from one file: a search over pipelines keeps only
its best one.
"""

_PROJECTIONS = {
    ("sklearn.decomposition._pca", "PCA"),
    ("sklearn.decomposition._incremental_pca", "IncrementalPCA"),
    ("sklearn.decomposition._truncated_svd", "TruncatedSVD"),
    ("sklearn.random_projection", "GaussianRandomProjection"),
}
"""Classes whose transform is a projection; they are covered here, and not in front of a forest."""


def with_transformers(contents: Contents, root: object, budget: Budget) -> Contents:
    """Return the contents of a file with its fitted transformers, and the column names that its objects store."""
    found: list[Transformer] = []
    names: dict[tuple[str, ...], None] = {}
    complete = True
    for path, record in records_in(root, budget):
        if (transformer := _transformer(record, path, budget)) is not None:
            complete = complete and len(found) < _MOST
            if complete:
                found.append(transformer)
        if (listed := _names(record)) and len(names) < _MOST:
            names[listed] = None
    return replace(contents, transformers=tuple(found), all_undone=complete, names=tuple(names))


def _names(record: Record) -> tuple[str, ...]:
    """Return the column names that an object stores; none where some are not text."""
    stored = record.named.get("feature_names_in_")
    items = stored.items if isinstance(stored, Array) and stored.items is not None else []
    return tuple(item for item in items if type(item) is str) if all(type(item) is str for item in items) else ()


def _transformer(record: Record, path: str, budget: Budget) -> Transformer | None:
    """Return what an object does, where it is a fitted transformer that is covered."""
    key = record.cls.key
    try:
        if key in _PROJECTIONS:
            return _projection(Object(record, f"{path}."), path)
        if key in READERS or key in SELECTIONS or key == COLUMNS:
            reader = EncoderReader(budget)
            reader.add(record, f"{path}.")
            alone = reader.alone()
            return None if alone is None else Transformer(path, alone.n_inputs, alone)
    except ArtifactError:
        return None  # not fitted, or one that contradicts itself: whoever reads the model says so
    return None


def _projection(transformer: Object, path: str) -> Transformer | None:
    """Return a fitted projection, scaled back where it whitens; None where its arrays do not fit together."""
    components = _numbers(transformer.get("components_"), 2)
    if components is None:
        return None
    mean = _numbers(transformer.get("mean_"), 1)
    variance = _numbers(transformer.get("explained_variance_"), 1) if transformer.get("whiten") is True else None
    mean = np.zeros(components.shape[1]) if mean is None else mean
    scale = np.ones(len(components)) if variance is None else np.sqrt(np.maximum(variance, 1e-300))
    if mean.shape != components.shape[1:] or scale.shape != components.shape[:1]:
        return None
    return Transformer(path, components.shape[1], Projection(components, mean, scale))


def _numbers(stored: object, n_axes: int) -> FloatArray | None:
    """Return a stored array of finite numbers; None for anything else."""
    data = stored.data if isinstance(stored, Array) else None
    if data is None or data.dtype.kind != "f" or data.ndim != n_axes or not np.isfinite(data).all():
        return None
    numbers: FloatArray = data.astype(np.float64)
    return numbers
