"""How well a file tells its training rows from others: scores of both, and figures.

Strangers are the rows of a holdout; else those that were left out of models that are fitted anew on the others. Each
row is left out of one of these, and is a member of another. Of several scores the one counts that tells members from
strangers best on the other half of both.
"""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers, BoostedSums, Shares, WinningLabels
from pytest_draft.artifact.reader import read_forest
from pytest_draft.attack import membership as attack
from pytest_draft.attack.boosted.staged import with_amounts
from pytest_draft.attack.leaf_answers import Model
from pytest_draft.data import Holdout, TrainingData
from pytest_draft.domain import Domain
from pytest_draft.errors import DraftError, NotCoveredError, OutOfTimeError
from pytest_draft.evaluate.label_told import truth_of
from pytest_draft.evaluate.outsiders import fitted_as, own_estimator
from pytest_draft.facts.membership import LEAST_STRANGERS, Estimate, Membership, ToldApart
from pytest_draft.hardening.model import hardened
from pytest_draft.timebox import TimeBox

MOST_ROWS = 1_000
"""Members, and strangers that were left out of refits, that are looked at; of a holdout twice as many."""

FOLDS = 5
"""One of so many parts of the rows is left out of each refit."""

LEAST_ROWS = 20
"""Fewer members or strangers make no figure."""

_MOST_WORK = 1_000_000_000
"""Pairs of a row and a position among the training rows, times trees, that are looked at."""

_MOST_LEAVES = 2_000_000
"""Rows times trees that are looked at together."""

_UNLIKE = 0.15
"""By how much the area may differ from a half between members of the file and those of refits."""

_AHEAD = 0.02
"""By how much the area of another score must be larger than that of the one that is best on most files."""

_RESAMPLED = 200
_GIVE_HOLDOUT = "give rows that it was not trained on with --draft-holdout"
_NO_ROOM = (
    "its leaves have no room for some of these rows: give the table as fit() got it, with nothing but the rows that it "
    "was trained on, and the labels or targets as its trees saw them"
)

Times = Callable[[Forest], IntArray | None]
"""Returns how often each tree saw each training row; None where the adversary does not know."""


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """Rows and their labels or targets. Its repr shows none."""

    rows: Rows
    truth: FloatArray

    def __len__(self) -> int:
        return len(self.truth)

    def at(self, those: IntArray | slice) -> _Rows:
        return _Rows(self.rows[those], self.truth[those])

    @property
    def keys(self) -> list[bytes]:
        """One for each row; equal rows have equal ones."""
        return [row.tobytes() for row in np.column_stack([self.rows, self.truth]) + 0.0]


@dataclass(frozen=True, eq=False, repr=False)
class _Sides:
    """What is known of members and strangers, each by the models that were asked. Its repr shows none."""

    members: Mapping[str, FloatArray]
    strangers: Mapping[str, FloatArray]
    """`members` and `strangers`: scores by name."""
    unique: BoolArray
    """Which members have a row that no other member has."""
    proved_out: int
    """Of the strangers."""

    @classmethod
    def joined(cls, sides: list[_Sides]) -> _Sides:
        """Return all of several sides, by the scores that all have."""
        names = [name for name in sides[0].members if all(name in one.members for one in sides)]
        return cls(
            {name: np.concatenate([one.members[name] for one in sides]) for name in names},
            {name: np.concatenate([one.strangers[name] for one in sides]) for name in names},
            np.concatenate([one.unique for one in sides]),
            sum(one.proved_out for one in sides),
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Asked:
    """A model that is asked of rows, and those it was trained on. Its repr shows none."""

    model: Model
    times: IntArray | None
    trained: _Rows
    domain: Domain
    timebox: TimeBox

    def of(self, those: _Rows) -> attack.Membership:
        n_rows = len(self.trained)
        return attack.membership(self.model, those.rows, those.truth, self.times, n_rows, self.domain, self.timebox)

    def sides(self, members: _Rows, others: _Rows) -> _Sides:
        """Return scores of some members, and of those of the others that equal none of all members."""
        number = Counter(self.trained.keys)
        strangers = others.at(np.flatnonzero([key not in number for key in others.keys]))
        unique = np.array([number[key] == 1 for key in members.keys], dtype=np.bool_)
        inside = self.of(members)
        if not len(strangers):
            return _Sides(inside.scores, {name: score[:0] for name, score in inside.scores.items()}, unique, 0)
        outside = self.of(strangers)
        return _Sides(inside.scores, outside.scores, unique, int((~outside.possible).sum()))


def membership(
    model: Model,
    data: TrainingData,
    holdout: Holdout | None,
    domain: Domain,
    times_of: Times,
    seed: int,
    timebox: TimeBox,
) -> Membership:
    """Return how well a file tells its training rows from rows of other people.

    Raises
    ------
    NotCoveredError
        Where there are no strangers to compare with, or what its leaves say is not read.
    OutOfTimeError
    """
    everyone, rng = _Rows(data.rows, truth_of(model, data)), np.random.default_rng([seed, 74])
    times = times_of(model) if isinstance(model, Forest) else None
    file = _Asked(model, times, everyone, domain, timebox)
    most = _most(model, data.n_rows)
    order = rng.permutation(data.n_rows)
    mine = everyone.at(order[:most])
    found = file.of(mine)
    measured = holdout is not None and holdout.answers is not None
    if holdout is not None and holdout.answers is not None:
        sides = file.sides(mine, _Rows(holdout.rows, holdout.answers).at(slice(2 * most)))
    else:
        sides = _of_refits(file, times_of, order, most, seed)
        if all(abs(_area(found.scores[name], scores) - 0.5) > _UNLIKE for name, scores in sides.members.items()):
            raise NotCoveredError(
                "models that were fitted anew with the settings in this file are not like it, so what it says of "
                f"people who are not in it is not known: {_GIVE_HOLDOUT}"
            )
    n_strangers = len(next(iter(sides.strangers.values())))
    if min(n_strangers, len(sides.unique)) < LEAST_ROWS:
        raise NotCoveredError(f"fewer than {LEAST_ROWS} rows are known that equal no training row: {_GIVE_HOLDOUT}")
    halves = [rng.integers(0, 2, number) for number in (len(sides.unique), n_strangers)]
    by = _chosen(sides, *halves)
    alone = int(sides.unique.sum())
    return Membership(
        others="of the holdout" if measured else "left out of refits",
        rows=len(mine),
        of_rows=data.n_rows,
        strangers=n_strangers,
        draws_known=times is not None and isinstance(model, Forest) and model.draws.drawn,
        score=" or ".join(dict.fromkeys(name for name, *_ in by)),
        everyone=_told_apart(by, rng),
        unique=_told_apart(by, rng, sides.unique) if LEAST_ROWS <= alone < len(sides.unique) else None,
        proved_in=int(found.certain.sum()),
        proved_out=sides.proved_out,
        most_exposed=min(float((scores[1] >= scores[0].max()).mean()) for _, *scores, _ in by),
        doubts=() if found.possible.all() else (_NO_ROOM,),
    )


def _most(model: Model, n_rows: int) -> int:
    """Return how many members are looked at."""
    n_trees = model.n_trees if isinstance(model, Forest) else 1
    drawn = isinstance(model, Forest) and model.draws.drawn
    return max(100, min(MOST_ROWS, _MOST_LEAVES // n_trees, _MOST_WORK // (n_trees * (n_rows if drawn else 1))))


def _of_refits(file: _Asked, times_of: Times, order: IntArray, most: int, seed: int) -> _Sides:
    """Return what models say that are fitted anew: of the rows that were left out of each, and of the next ones."""
    model, everyone, timebox = file.model, file.trained, file.timebox
    if not isinstance(model, Forest):
        raise NotCoveredError(f"its {model.kind} is not fitted anew here: {_GIVE_HOLDOUT}")
    estimator = own_estimator(model, len(everyone), seed)
    criterion = model.tree_parameters.get("criterion")
    weighted = model.draws.uneven and model.draws.class_weight is None
    if estimator is None or weighted or getattr(estimator, "criterion", criterion) != criterion:
        raise NotCoveredError(f"its {model.kind} is not fitted anew here: {_GIVE_HOLDOUT}")
    parts, found = np.array_split(order, FOLDS), []
    for number, left in enumerate(parts):
        others = np.sort(np.setdiff1d(order, left))
        try:
            refitted = _refitted(model, estimator.set_params(random_state=seed + number), everyone.at(others), timebox)
            times = None if file.times is None else times_of(refitted)
            asked = replace(file, model=refitted, times=times, trained=everyone.at(others))
            members = parts[(number + 1) % FOLDS]
            found.append(asked.sides(everyone.at(members[:most]), everyone.at(left[:most])))
        except OutOfTimeError:
            if not found:
                raise
            break
        if sum(len(one.unique) for one in found) >= most:
            break
    return _Sides.joined(found)


def _refitted(model: Forest, estimator: object, mine: _Rows, timebox: TimeBox) -> Forest:
    """Return a model of the same settings that was trained on some rows, as its file is read."""
    labels = mine.truth.astype(np.int64) if model.classes is not None else np.zeros(len(mine), np.int64)
    if model.classes is not None and len(np.unique(labels)) < model.n_classes:
        raise NotCoveredError(f"a class of its has too few rows for the rest to be fitted anew: {_GIVE_HOLDOUT}")
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            fitted = fitted_as(estimator, mine.rows, mine.truth, timebox)
            if isinstance(model.observation, Answers):
                fitted, _ = hardened(fitted, _level(model.observation))
        found: Forest = read_forest(pickle.dumps(fitted))
    except (ValueError, TypeError, DraftError) as error:
        if isinstance(error, OutOfTimeError):
            raise
        raise NotCoveredError(f"its {model.kind} is not fitted anew here: {_GIVE_HOLDOUT}") from error
    if isinstance(found.observation, BoostedSums):
        found = with_amounts(found, np.ascontiguousarray(mine.rows.T.astype(np.float64)), labels)
    return found


def _level(said: Answers) -> str:
    """Return to which level a file was hardened that says this."""
    if isinstance(said, WinningLabels):
        return "labels"
    return f"decimals:{said.decimals}" if isinstance(said, Shares) and said.decimals is not None else "counts"


_By = tuple[str, FloatArray, FloatArray, BoolArray]
"""A score by its name; by it members and strangers, and which members are meant."""


def _chosen(sides: _Sides, half: IntArray, half_of_strangers: IntArray) -> list[_By]:
    """Return the score that tells members from strangers best on each other half; both halves if it is the same."""
    usual = next((name for name in (attack.BY_DRAWS, attack.ANSWER) if name in sides.members), None)
    names = []
    for h in (0, 1):
        areas = {
            name: _area(scores[half != h], sides.strangers[name][half_of_strangers != h])
            for name, scores in sides.members.items()
        }
        names.append(max(areas, key=lambda name: areas[name] + _AHEAD * (name == usual)))
    if names[0] == names[1]:
        return [(names[0], sides.members[names[0]], sides.strangers[names[0]], np.ones(len(half), dtype=np.bool_))]
    return [
        (name, sides.members[name][half == h], sides.strangers[name][half_of_strangers == h], half == h)
        for h, name in enumerate(names)
    ]


def _told_apart(by: list[_By], rng: np.random.Generator, which: BoolArray | None = None) -> ToldApart:
    """Return figures of members, or of some of them, with intervals."""
    compared = [
        (members if which is None else members[which[inside]], strangers) for _, members, strangers, inside in by
    ]
    compared = [one for one in compared if len(one[0]) and len(one[1])]
    n_members, n_strangers = (sum(len(one[side]) for one in compared) for side in (0, 1))

    def figures(sets: list[tuple[FloatArray, FloatArray]]) -> list[float]:
        of_each = [[_area(*one), *(_found(*one, rate) for rate in LEAST_STRANGERS)] for one in sets]
        return list(np.average(of_each, axis=0, weights=[len(one[0]) for one in sets]))

    drawn = np.array(
        [
            figures(
                [(rng.choice(members, len(members)), rng.choice(others, len(others))) for members, others in compared]
            )
            for _ in range(_RESAMPLED)
        ]
    )
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    whole = figures(compared)
    area, *found = (
        Estimate(value, min(value, float(one)), max(value, float(other)))
        for value, one, other in zip(whole, low, high, strict=True)
    )
    enough = [n_strangers >= least for least in LEAST_STRANGERS.values()]
    surely = [one if there else None for one, there in zip(found, enough, strict=True)]
    return ToldApart(n_members, area, *surely)


def _area(members: FloatArray, strangers: FloatArray) -> float:
    """Return how often a member scores higher than a stranger; of equal scores half count."""
    ordered = np.sort(strangers)
    below, up_to = (np.searchsorted(ordered, members, side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / (2 * len(strangers)))


def _found(members: FloatArray, strangers: FloatArray, rate: float) -> float:
    """Return the share of members that score higher than all strangers but this share of them."""
    at = len(strangers) - 1 - int(rate * len(strangers))
    return float((members > np.partition(strangers, at)[at]).mean())
