"""Reads LightGBM's boosters: a model's text becomes a `Forest`, with what each leaf says of its rows.

LightGBM computes gradients and hessians in double precision, rounds each to single, and adds them up in double. The
text has the sum of the hessians of each leaf and the leaf's value with 17 digits, so the sum of its gradients follows,

    G = -(value / learning rate) (H + lambda_l2),

and both are off by rounding each row's number to single at most. What inner nodes hold (6 digits) are sums of their
leaves': they add nothing, and only show whether leaves' values arose like this. A regressor's gradients are not stated:
its labels can be of any size, so it is not known how far single precision rounds them.

The first trees' values contain the score before them, which is a function of the number of rows of each class (or of
the mean label). In the first round all rows have the same hessian, so there a leaf's sum of them must be its number of
rows times that: where it is not, rows had weights or scores of their own, which the text does not tell.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.boosted_tree import STEPS, Splits, checked_tree
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.observations import (
    DRAWS,
    WEIGHTS,
    BoostedSums,
    ClassWeight,
    Loss,
    Statements,
    sensitivities,
)
from pytest_draft.artifact.json_text import json_content
from pytest_draft.artifact.lightgbm.parameters import (
    class_weight_in,
    draws_of,
    not_covered_parameter,
    takes_all_rows,
)
from pytest_draft.artifact.lightgbm.text import (
    Fields,
    ModelText,
    floats,
    integer,
    integers,
    model_text,
)
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.world.contents import Contents, Stored, stored_categories, stored_values
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

_SINGLE = 2.0**-24
"""How far rounding to single precision moves a number, relative to it."""

_DOUBLE = 1e-12
"""How far sums and scores in double precision can be off, relative to what is added up: far more than they are."""

_OF_GAINS = 1e-5
"""How far the gain of a split can be off, relative to the gains that it is the difference of."""

_SIX_DIGITS = 5e-6
"""How far a number printed with six digits can be off, relative to it."""

_VAGUE = 1e-6
"""How far a row's gradient can be off where rows were drawn, so that the first score is only known from their sums."""

_HEAVY = 16.0
"""How much a row weighs at most, for rounding, where weights follow from the numbers of rows of the classes."""

_NEWTON, _MOST_BASES = 4, 256

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_ZERO, _MISSING_NAN = 1, 2
_ZERO = 1e-35
"""LightGBM's zero: up to here a number is none, and what it prints is rounded up from that."""

_RANGE = re.compile(r"\[([-+.\deEinf]{1,32}):([-+.\deEinf]{1,32})\]", re.ASCII)
"""What ``feature_infos`` say of a column of numbers."""

_MOST_COLUMNS = 2**24
_MOST_LEAVES = 2**24
_LOSSES: dict[str, Loss] = {
    "binary": "logistic",
    "multiclass": "softmax",
    "regression": "squared",
    "poisson": "poisson",
}


@dataclass(frozen=True, eq=False)
class _Leaves:
    """What a tree's text says besides its `Tree`."""

    hessian: FloatArray
    """Shape (n_leaves,). The sum over its rows, in the order of `Tree.leaves`."""
    inner_value: FloatArray
    inner_weight: FloatArray | None
    gain: FloatArray | None
    """`inner_value`, `inner_weight` and `gain`, shape (n_nodes - n_leaves,): of the inner nodes, with six digits."""
    shrinkage: float
    unclear: str | None
    """Why it is not known where it sends rows; None where it is."""


def lightgbm_in_text(
    text: str,
    budget: Budget,
    kind: str,
    classes: tuple[object, ...] | None = None,
    *,
    classifier: bool | None = None,
    class_weight: ClassWeight = None,
) -> ReadForest:
    """Read a booster from its text.

    Parameters
    ----------
    text : str
        Of a file, or of the ``_Booster`` of a pickled model.
    kind : str
        As in `Forest`.
    classes : tuple of object or None
        A classifier's classes, by their numbers; None for the numbers themselves.
    classifier : bool or None
        Whether it stands in a model that is one; None where it stands alone.
    class_weight : tuple of float or str or None
        Weights of rows by class that the model around it gave.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    model = model_text(text, budget)
    return _Reader(model, budget, kind).booster(classes, classifier, class_weight)


class _Reader:
    """Reads one model's parts."""

    def __init__(self, model: ModelText, budget: Budget, kind: str) -> None:
        self._model = model
        self._budget = budget
        self._kind = kind
        header = model.header
        self._n_features = 1 + integer(header, "max_feature_idx", "the header", 0, _MOST_COLUMNS)
        self._n_scores = integer(header, "num_tree_per_iteration", "the header", 1, 2**20)
        self._objective, self._options = self._objective_and_options()

    def booster(
        self, classes: tuple[object, ...] | None, classifier: bool | None, class_weight: ClassWeight
    ) -> ReadForest:
        """Return the forest, and why it cannot be judged where it cannot."""
        model = self._model
        if not model.trees:
            raise UnsupportedArtifactError("it holds a LightGBM booster without trees: train it before saving it")
        if len(model.trees) % self._n_scores:
            raise CorruptArtifactError(f"its {len(model.trees)} trees are not {self._n_scores} a round")
        read = [self._tree(index, fields) for index, fields in enumerate(model.trees)]
        trees, leaves = tuple(tree for tree, _ in read), [own for _, own in read]
        numbered = self._numbered_classes()
        if classifier is not None and self._objective in _LOSSES and classifier != (numbered is not None):
            raise CorruptArtifactError(f"its booster's objective is none of a {self._kind}")
        if classes is not None and numbered is not None and len(classes) != len(numbered):
            raise CorruptArtifactError("its booster does not have its number of classes")
        known = numbered if classes is None else classes
        nothing, rows = Statements.none(), int(trees[0].n_distinct[0])
        loss: Loss = _LOSSES.get(self._objective, "squared")
        draws = draws_of(model.parameters, loss, len(trees), self._n_scores)
        forest = Forest(
            kind=self._kind,
            trees=trees,
            n_features=self._n_features,
            feature_names=self._names(),
            classes=known,
            observation=BoostedSums(
                loss=loss,
                base=np.zeros(self._n_scores),
                statements=tuple(nothing for _ in trees),
                unknown=DRAWS if draws.drawn else None,
            ),
            draws=draws,
            n_samples=rows if takes_all_rows(model.parameters) and rows > 1 else None,
            sklearn_version=None,
            parameters={"objective": self._objective, **self._plain_parameters()},
        )
        not_covered = self._not_covered(leaves)
        if not_covered is None:
            equations = _Equations(forest, leaves, self._model.parameters, class_weight)
            forest, not_covered = equations.stated(), equations.not_covered
            for index in equations.unlike:
                self._budget.note("split_gain or internal_weight, not of its leaves", f"tree {index}", anew=False)
        self._check_importances()
        opaque = ("(text between the fields)",) if model.not_understood else ()
        not_read = ("feature_importances", "split_gain", *opaque)
        learned = (stored_values("feature_infos", self._ranges()),)
        contents = Contents(self._categories(), opaque=opaque, learned=learned)
        return ReadForest(forest, not_covered, not_read, contents)

    def _categories(self) -> tuple[Stored, ...]:
        """Return the categories of each column of categories of the table."""
        text = self._model.pandas_categorical.strip()
        listed = json_content(text.encode(), self._budget) if text else None
        return stored_categories("pandas_categorical", listed)

    def _check_importances(self) -> None:
        """Note importances that are not the numbers of splits with a gain."""
        used: Counter[str] = Counter()
        for tree in self._model.trees:
            pairs = zip(tree.get("split_feature", "").split(), tree.get("split_gain", "").split(), strict=False)
            used.update(column for column, gain in pairs if float(gain) > 0)
        names = self._model.header["feature_names"].split(" ")
        if set(self._model.importances) != {f"{names[int(column)]}={count}" for column, count in used.items()}:
            self._budget.note("feature_importances")

    def _ranges(self) -> FloatArray:
        """Return the least and the largest value of each column, shape (n_columns, 2); NaN where they are not known."""
        stored = self._model.header.get("feature_infos", "").split()
        if len(stored) != self._n_features:
            raise CorruptArtifactError(f"its header does not have feature_infos of {self._n_features} columns")
        found = [match.groups() if (match := _RANGE.fullmatch(one)) else ("nan", "nan") for one in stored]
        try:
            return np.array(found, dtype=np.float64)
        except ValueError:
            raise CorruptArtifactError("its header: feature_infos are not ranges of numbers") from None

    def _objective_and_options(self) -> tuple[str, dict[str, str]]:
        """Return the objective and what stands behind its name, such as the number of classes."""
        name, *rest = self._model.header.get("objective", "").split() or [""]
        options = dict(part.partition(":")[::2] for part in rest)
        if name == "multiclass" and options.get("num_class") != str(self._n_scores):
            raise CorruptArtifactError("its objective does not have a class for each tree of a round")
        if name in ("binary", "regression", "poisson") and self._n_scores != 1:
            raise CorruptArtifactError(f"its objective has one tree a round, and it has {self._n_scores}")
        return name, options

    def _numbered_classes(self) -> tuple[object, ...] | None:
        if self._objective == "binary":
            return (0, 1)
        return tuple(range(self._n_scores)) if self._objective == "multiclass" else None

    def _names(self) -> tuple[str, ...] | None:
        """Return the columns' names, None where LightGBM made them up."""
        names = tuple(self._model.header.get("feature_names", "").split(" "))
        if len(names) != self._n_features:
            raise CorruptArtifactError(f"its header does not have the names of {self._n_features} columns")
        return None if names == tuple(f"Column_{index}" for index in range(len(names))) else names

    def _plain_parameters(self) -> dict[str, object]:
        """Return the parameters that a report may show."""
        found: dict[str, object] = {}
        for name in ("learning_rate", "num_iterations", "num_leaves", "max_depth", "lambda_l2"):
            try:
                found[name] = float(self._model.parameters[name])
            except (KeyError, ValueError):
                continue
        return found

    def _tree(self, index: int, fields: Fields) -> tuple[Tree, _Leaves]:
        where = f"tree {index}"
        self._budget.spend_opcode(STEPS)
        n_leaves = integer(fields, "num_leaves", where, 1, _MOST_LEAVES)
        n_inner = n_leaves - 1
        self._budget.spend_copy(64 * (n_inner + n_leaves))
        shrinkage = float(floats(fields, "shrinkage", 1, where)[0])
        leaf_value = floats(fields, "leaf_value", n_leaves, where)
        left, right = np.full(n_inner + n_leaves, -1), np.full(n_inner + n_leaves, -1)
        feature, kinds = np.full(len(left), -1), np.zeros(len(left), np.int64)
        threshold, value = np.zeros(len(left)), np.concatenate((np.zeros(n_inner), leaf_value))
        rows, inner_value, hessian = np.zeros(len(left), np.int64), np.zeros(n_inner), np.zeros(n_leaves)
        if n_inner:
            for child, name in ((left, "left_child"), (right, "right_child")):
                stored = integers(fields, name, n_inner, where)
                if ((stored < -n_leaves) | (stored >= n_inner)).any():
                    raise CorruptArtifactError(f"{where}: a child is none of its nodes")
                child[:n_inner] = np.where(stored < 0, n_inner + ~stored, stored)
            feature[:n_inner] = integers(fields, "split_feature", n_inner, where)
            threshold[:n_inner] = floats(fields, "threshold", n_inner, where, finite=False)
            kinds[:n_inner] = integers(fields, "decision_type", n_inner, where)
            inner_value = floats(fields, "internal_value", n_inner, where)
            hessian = floats(fields, "leaf_weight", n_leaves, where)
            rows[:n_inner] = integers(fields, "internal_count", n_inner, where)
            rows[n_inner:] = integers(fields, "leaf_count", n_leaves, where)
        elif "leaf_count" in fields:
            rows[:] = integers(fields, "leaf_count", 1, where)
        if not n_inner and not rows[0]:  # a constant tree of older versions does not say it
            rows[:] = self._rows_of_first_tree()
        if ((kinds < 0) | (kinds >> 2 > _MISSING_NAN)).any() or (hessian < 0).any():
            raise CorruptArtifactError(f"{where}: a number of its nodes is out of range")
        by_default = (kinds & _DEFAULT_LEFT) != 0
        zero_left = threshold >= 0
        missing_left = np.where(kinds >> 2 == _MISSING_NAN, by_default, zero_left)
        missing_left = np.where(kinds >> 2 == _MISSING_ZERO, by_default, missing_left)
        unclear = None
        if (kinds & _CATEGORICAL).any():
            unclear = "it splits on categories, which is not covered: train it on numbers (one-hot, for example)"
        elif ((kinds >> 2 == _MISSING_ZERO) & (by_default != zero_left)).any():
            unclear = "it takes zeros for missing values (zero_as_missing), which is not covered: train without it"
        elif fields.get("is_linear", "0") != "0":
            unclear = "its leaves hold linear models (linear_tree), which is not covered: train without it"
        splits = Splits(left, right, feature, threshold, missing_left)
        tree = checked_tree(index, splits, self._n_features, value, rows)
        inner_weight, gain = (
            floats(fields, name, n_inner, where) if n_inner and name in fields else None
            for name in ("internal_weight", "split_gain")
        )
        return tree, _Leaves(hessian, inner_value, inner_weight, gain, shrinkage, unclear)

    def _rows_of_first_tree(self) -> int:
        """Return the number of rows of the first tree that says it; 1 where none does: all are constant then."""
        for index, fields in enumerate(self._model.trees):
            if fields.get("internal_count"):
                first = fields["internal_count"].split(" ", 1)[0]
                return integer({"rows": first}, "rows", f"tree {index}", 1, 2**53)
        return 1

    def _not_covered(self, leaves: list[_Leaves]) -> str | None:
        model = self._model
        if model.unknown:
            return f"its LightGBM text has {one_line(model.unknown[0], 60)}, which is not known here"
        if (unclear := next((own.unclear for own in leaves if own.unclear is not None), None)) is not None:
            return unclear
        if model.pandas_categorical.strip() not in ("", "null", "[]"):
            return "its table had columns of categories, which is not covered: train it on numbers"
        if "average_output" in model.header or "monotone_constraints" in model.header:
            return "its trees are averaged, or bounded by monotone_constraints, which is not covered: train without it"
        if self._objective not in _LOSSES:
            shown = one_line(self._objective, 40) or "of its own"
            return f"it was trained with an objective that is not covered ({shown}): covered are {', '.join(_LOSSES)}"
        if any(own not in ("sigmoid", "num_class") for own in self._options):
            return f"its objective {self._objective} has options that are not covered: train without them"
        if self._options.get("sigmoid", "1") != "1":
            return "it was trained with LightGBM's sigmoid, which is not covered: train without it"
        if (why := not_covered_parameter(model.parameters)) is not None:
            return why
        return self._continued(leaves)

    def _continued(self, leaves: list[_Leaves]) -> str | None:
        """Return why its trees were not all grown in one go, None where they were."""
        parameters = self._model.parameters
        rounds = len(leaves) // self._n_scores
        try:
            learning_rate, wanted = float(parameters["learning_rate"]), int(parameters["num_iterations"])
        except (KeyError, ValueError):
            raise CorruptArtifactError("its parameters do not have a learning rate and a number of rounds") from None
        if rounds > wanted:
            return f"it has {rounds} rounds and was trained for {wanted}: training it on (init_model) is not covered"
        later = {own.shrinkage for own in leaves[self._n_scores :] if len(own.hessian) > 1}
        if later - {learning_rate}:
            return "its learning rate changed between the rounds, which is not covered: train with one"
        return None


class _Equations:
    """What a booster's numbers say of its rows.

    Attributes
    ----------
    not_covered : str or None
        Why they do not say it, found while they were put down.
    unlike : list of int
        Trees in which what nobody uses does not follow from the rest.
    """

    def __init__(self, forest: Forest, leaves: list[_Leaves], parameters: Fields, class_weight: ClassWeight) -> None:
        self._forest = forest
        self._leaves = leaves
        said = forest.observation
        assert isinstance(said, BoostedSums)
        self._said = said
        self._n_scores = said.n_scores
        self.not_covered: str | None = None
        self.unlike: list[int] = []
        self._min_gain = _printed(parameters, "min_gain_to_split")[0]
        self._rate, self._rate_off = _printed(parameters, "learning_rate")
        self._l2, self._l2_off = _printed(parameters, "lambda_l2")
        self._from_average = _printed(parameters, "boost_from_average")[0] != 0
        self._drawn, self._unknown = forest.draws.drawn, said.unknown
        by_label = class_weight_in(parameters, said.loss)
        self._by_label, self._class_weight = by_label is not None, by_label or class_weight
        self._both = by_label is not None and class_weight is not None
        self._factor = 1.0
        if said.loss == "softmax":
            self._factor = self._n_scores / (self._n_scores - 1.0) if self._n_scores > 1 else 1.0
        if said.loss == "poisson":
            self._factor = math.exp(_printed(parameters, "poisson_max_delta_step")[0])

    def stated(self) -> Forest:
        """Return the forest with its statements and without the base in its values; as it was where not covered."""
        if not 0 < self._rate < np.inf or not 0 <= self._l2 < np.inf:
            raise CorruptArtifactError("its learning rate or lambda_l2 is out of range")
        for found in (*(() if self._both else self._bases()), None):
            if found is None:
                self._unknown, self._class_weight = WEIGHTS, None
            base = self._average() if found is None else found
            trees = [self._without(tree, base[t]) for t, tree in enumerate(self._forest.trees[: self._n_scores])]
            trees += self._forest.trees[self._n_scores :]
            steps = [tree.value[tree.leaves, 0] for tree in trees]
            if self._unknown == WEIGHTS or self._first_round_holds(trees, base, steps):
                break
        if self.not_covered is not None or not self._values_add_up(trees, base, steps):
            return self._forest
        statements = tuple(
            self._statements(tree, own, step) for tree, own, step in zip(trees, self._leaves, steps, strict=True)
        )
        return replace(
            self._forest,
            trees=tuple(trees),
            observation=replace(
                self._said,
                base=base,
                statements=statements,
                unknown=self._unknown,
                class_weight=self._class_weight,
            ),
        )

    def _without(self, tree: Tree, base: float) -> Tree:
        """Return a tree of the first round without the score that stood before it."""
        value = tree.value.copy()
        value[tree.leaves, 0] -= base
        if len(tree.leaves) == 1:
            value[:] = 0 if self._from_average else tree.value
        value.setflags(write=False)
        return replace(tree, value=value)

    def _average(self) -> FloatArray:
        """Return about what each score is before the first tree."""
        return np.array([self._mean(t) * self._from_average for t in range(self._n_scores)])

    def _bases(self) -> Iterator[FloatArray]:
        """Yield what each score can be before the first tree, where that follows from rows by class."""
        loss, constant, weights = self._said.loss, len(self._leaves[0].hessian) == 1, self._class_weight
        n_rows, means = self._forest.trees[0].n_distinct[0], self._average()
        if not self._from_average or loss == "squared" or (constant and (loss == "poisson" or self._drawn)):
            yield means
        elif loss == "poisson":
            yield np.array([math.log(max(self._leaves[0].hessian.sum() / n_rows / self._factor, 1e-300))])
        elif self._drawn:
            yield from self._bases_of_draws(means)
        elif weights == "balanced":
            share = 1 / self._forest.n_classes
            yield np.full(self._n_scores, 0.0 if loss == "logistic" else math.log(share))
        elif self._by_label:
            for of_class in self._ones_by_hessians():
                yield np.array([math.log(of_class / (n_rows - of_class))])
        else:
            yield from self._bases_of_means(means)

    def _bases_of_means(self, means: FloatArray) -> Iterator[FloatArray]:
        """Yield the scores that whole numbers of rows of each class give, nearest to those in the first trees."""
        n_rows, loss = self._forest.trees[0].n_distinct[0], self._said.loss
        each = np.array(self._class_weight or (1.0,) * self._forest.n_classes)
        shares = 1 / (1 + np.exp(-means)) if loss == "logistic" else np.exp(np.minimum(means, 0))
        part = np.append(1 - shares, shares) if loss == "logistic" else shares
        of_class = np.rint(n_rows * (part / each) / (part / each).sum())
        with np.errstate(divide="ignore"):
            exact = of_class * each / (of_class * each).sum()
            base = np.log(exact[1:] / exact[:1]) if loss == "logistic" else np.log(exact)
        alone = (of_class[-self._n_scores :] == 0) | (of_class[-self._n_scores :] == n_rows)
        base = np.where(alone, means, base)
        near = (np.abs(base - means) <= 1e-4 + 1e-5 * np.abs(means)).all()
        if near and of_class.sum() == n_rows:
            yield base

    def _ones_by_hessians(self) -> Iterator[int]:
        """Yield how many rows can be of class 1 by the first tree's hessians, where labels weigh and scores do not."""
        n_rows, total = int(self._forest.trees[0].n_distinct[0]), self._leaves[0].hessian.sum()
        ones = np.arange(1, n_rows, dtype=np.float64)
        p, (zero, one) = ones / n_rows, self._weights_by(ones / n_rows)
        found = p * (1 - p) * ((n_rows - ones) * zero + ones * one)
        yield from (1 + np.flatnonzero(np.abs(found - total) <= 1e-6 * total)).tolist()

    def _weights_by(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what a row of each of two classes weighs, by the share of the second one."""
        if self._class_weight == "unbalanced":
            return np.maximum(share / (1 - share), 1.0), np.maximum((1 - share) / share, 1.0)
        zero, one = self._class_weight if isinstance(self._class_weight, tuple) else (1.0, 1.0)
        return np.full_like(share, zero), np.full_like(share, one)

    def _bases_of_draws(self, means: FloatArray) -> Iterator[FloatArray]:
        """Yield the scores by which the first trees hold whole numbers of rows of each class, where rows were drawn."""
        if self._class_weight is not None:
            return
        found: list[list[float]] = []
        for t, mean in enumerate(means.tolist()):
            tree, own = self._forest.trees[t], self._leaves[t]
            rows, value = tree.n_distinct[tree.leaves].astype(np.float64), tree.value[tree.leaves, 0]
            if len(rows) == 1:
                found.append([mean])
                continue
            off = math.sqrt(max(0.25 - float(own.hessian.sum() / rows.sum()) / self._factor, 0.0))
            known, logistic = [], self._said.loss == "logistic"
            for start in {0.5 - off, 0.5 + off}:
                p = min(max(start, 1e-12), 1 - 1e-12)
                per_step = (own.hessian + self._l2) / self._rate
                of_class = np.rint(rows * p + (value - _link(p, logistic)) * per_step)
                for _ in range(_NEWTON):
                    miss = rows * p + (value - _link(p, logistic)) * per_step - of_class
                    slope = rows - per_step / (p * (1 - p) if logistic else p)
                    p -= float((miss * slope).sum() / (slope**2).sum())
                    p = min(max(p, 1e-12), 1 - 1e-12)
                known.append(_link(p, logistic))
            found.append(sorted(known, key=lambda base: abs(base - mean)))
        yield from (np.array(base) for base in itertools.islice(itertools.product(*found), _MOST_BASES))

    def _mean(self, t: int) -> float:
        """Return the score that stands in all values of a first tree: their mean, as their gradients add up to 0."""
        tree, hessian = self._forest.trees[t], self._leaves[t].hessian
        value = tree.value[tree.leaves, 0]
        share = hessian + self._l2
        return float((share * value).sum() / share.sum()) if len(value) > 1 and share.sum() > 0 else float(value[0])

    def _first_round_holds(self, trees: list[Tree], base: FloatArray, steps: list[FloatArray]) -> bool:
        """Return whether the first round says the same of its rows' hessians and classes as its numbers of rows."""
        p, hessian = sensitivities(self._said.loss, base)
        self.not_covered, each = None, self._class_weight
        if each == "unbalanced":
            each = tuple(float(one[0]) for one in self._weights_by(p[:1]))
        for t in range(self._n_scores):
            tree, own = trees[t], self._leaves[t]
            if len(own.hessian) == 1:
                continue
            rows = tree.n_distinct[tree.leaves].astype(np.float64)
            weight, room = own.hessian / (float(hessian[t]) * self._factor), 1e-5 * own.hessian + _DOUBLE
            if (
                self._class_weight is None
                and (np.abs(own.hessian - rows * float(hessian[t]) * self._factor) > room).any()
            ):
                return False
            if self._forest.classes is None:
                continue
            gradient = -steps[t] / self._rate * (own.hessian + self._l2)
            own_weight = each[1 if self._n_scores == 1 else t] if isinstance(each, tuple) else 1.0
            of_class = ((rows if self._class_weight is None else weight) * p[t] - gradient) / own_weight
            off = 1e-4 + np.maximum(rows, weight) * 1e-6 + np.abs(gradient) * (2 * self._rate_off + _SINGLE)
            if self._class_weight == "balanced":
                if (of_class < -off).any():
                    return False
                continue
            wrong = (np.abs(of_class - np.rint(of_class)) > off).any() or (of_class < -off).any()
            if wrong and (self._drawn or self._class_weight is not None):
                return False
            if wrong:
                self.not_covered = _VALUES
                return True
            if isinstance(each, tuple) and self._n_scores == 1:
                others = (weight - of_class * each[1]) / each[0]
                if (np.abs(others + of_class - rows) > 1e-4 + 1e-5 * weight).any():
                    return False
        return True

    def _values_add_up(self, trees: list[Tree], base: FloatArray, steps: list[FloatArray]) -> bool:
        """Return whether inner nodes' values are their leaves', as they are where nothing bounds or mixes them."""
        for t, (tree, own, step) in enumerate(zip(trees, self._leaves, steps, strict=True)):
            if len(own.inner_value) < 2:
                continue
            share = own.hessian + self._l2
            if self._drawn and self._said.loss == "squared" and t < self._n_scores:
                continue  # the mean target of all rows is not known
            before = base[t] if t < self._n_scores and self._from_average else 0.0
            sums = _at_inner(tree, np.stack([own.hessian, step * share, np.abs(step) * share]))
            found = (own.inner_value - before) * (sums[0] + self._l2)
            digits = _SIX_DIGITS * np.abs(own.inner_value) * (sums[0] + self._l2)
            off = 2 * digits + 1e-5 * sums[2] + 1e-4 * self._rate * _SINGLE * tree.n_distinct[0] + 1e-9
            wrong = np.abs(found - sums[1]) > off
            if wrong[1:].any():
                self.not_covered = _VALUES
                return False
            self._check_unused(t, tree, own, np.concatenate([sums[:2], np.stack([own.hessian, step * share])], axis=1))
        return True

    def _check_unused(self, t: int, tree: Tree, own: _Leaves, sums: FloatArray) -> None:
        """Hold what nobody uses of a tree's inner nodes against the sums of hessians and steps of all its nodes."""
        inner = np.arange(len(own.inner_value))
        score = (sums[1] / self._rate) ** 2 / (sums[0] + self._l2)
        below = score[tree.left[inner]] + score[tree.right[inner]]
        wanted, off = below - score[inner] - self._min_gain, _OF_GAINS * (below + score[inner]) + 1e-9
        good = own.gain is None or bool((np.abs(own.gain - wanted) <= off + 2 * _SIX_DIGITS * np.abs(own.gain)).all())
        if own.inner_weight is not None:
            good &= bool((np.abs(own.inner_weight - sums[0][inner]) <= 4 * _SIX_DIGITS * sums[0][inner])[1:].all())
        self.unlike += [] if good else [t]

    def _statements(self, tree: Tree, own: _Leaves, step: FloatArray) -> Statements:
        leaves, n_leaves = tree.leaves, len(tree.leaves)
        parts: list[Statements] = []
        more = 1.0
        if self._class_weight is not None:
            more = 2 * (max(self._class_weight) if isinstance(self._class_weight, tuple) else _HEAVY)
        vague = _VAGUE * tree.n_distinct[leaves] if self._drawn else 0.0
        if n_leaves > 1 and self._said.loss != "squared":
            single = _SINGLE * (4 if self._said.loss == "poisson" else 1.01)  # poisson: its base is known in single
            off = single * more * own.hessian + _DOUBLE * (own.hessian.sum() + 1) + vague
            parts.append(Statements.of(leaves, (0, 0, self._factor, 0), own.hessian, off))
        if n_leaves > 1 and self._forest.classes is not None:
            share = np.abs(step) / self._rate * (own.hessian + self._l2)
            rows = tree.n_distinct[leaves]
            total = -step / self._rate * (own.hessian + self._l2)
            off = 1.01 * _SINGLE * more * rows + _DOUBLE * (tree.n_distinct[0] + share) + vague
            off = off + share * self._rate_off + np.abs(step) / self._rate * self._l2_off
            parts.append(Statements.of(leaves, (0, 1, 0, 0), total, off))
        return Statements.joined(parts)


_VALUES = (
    "the values of its leaves do not follow from their sums of hessians and gradients, as after refit or by a "
    "parameter that is not known here: train it again without that"
)


def _link(p: float, logistic: bool) -> float:
    return math.log(p / (1 - p)) if logistic else math.log(p)


def _printed(parameters: Fields, name: str) -> tuple[float, float]:
    """Return a parameter's number and how far off it is: six digits are printed, and fewer mean that these are all."""
    text = parameters.get(name, "0")
    try:
        value = float(text)
    except ValueError:
        raise CorruptArtifactError(f"its parameter {name} is not a number") from None
    digits = text.lower().partition("e")[0].replace(".", "").lstrip("-0")
    off = _SIX_DIGITS if len(digits) >= 6 else 0.0
    return value, off * (1 if name == "learning_rate" else abs(value))


def _at_inner(tree: Tree, of_leaf: FloatArray) -> FloatArray:
    """Return sums over the leaves below each inner node, shape (n_sums, n_inner); inner nodes come first."""
    n_inner = tree.n_nodes - of_leaf.shape[1]
    sums = np.concatenate((np.zeros((len(of_leaf), n_inner)), of_leaf), axis=1)
    for node in range(n_inner - 1, -1, -1):
        sums[:, node] = sums[:, tree.left[node]] + sums[:, tree.right[node]]
    return sums[:, :n_inner]
