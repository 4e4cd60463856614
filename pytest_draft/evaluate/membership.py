"""How well a file tells its training rows from others: scores of both, and figures.

Strangers are the rows of a holdout; else those that were left out of models that are fitted anew on the others. Each
row is left out of one of these, and is a member of another. Of several scores the one counts that tells members from
strangers best on the other half of both.
"""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers, BoostedSums, Shares, WinningLabels
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.artifact.forest.together import ForestOfSeveral, Part, together
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

_MOST_WORK, _MOST_LEAVES = 500_000_000, 2_000_000
"""Of members times trees that are looked at, with the positions among the training rows and without."""

_UNLIKE = 0.15
"""By how much the area may differ from a half between members of the file and those of refits."""

_AHEAD = 0.02
"""By how much another score must be better than that which is best on most files: by the draws, else the answer."""

_RESAMPLED = 200
_GIVE_HOLDOUT = "give rows that it was not trained on with --draft-holdout"
_NO_ROOM = (
    "its leaves have no room for some of these rows: give the table as fit() got it, with nothing but the rows that it "
    "was trained on, and the labels or targets as its trees saw them"
)

Times = Callable[[Forest], IntArray | None]
"""Returns how often each tree saw each training row; None where the adversary does not know."""


@dataclass(frozen=True, eq=False, repr=False)
class _People:
    """Rows and their labels or targets. Its repr shows none."""

    rows: Rows
    truth: FloatArray

    def at(self, those: IntArray | slice) -> _People:
        return _People(self.rows[those], self.truth[those])

    @cached_property
    def keys(self) -> list[bytes]:
        """One for each row; equal rows have equal ones."""
        return [row.tobytes() for row in np.column_stack([self.rows, self.truth]) + 0.0]


@dataclass(frozen=True, eq=False, repr=False)
class _Sides:
    """What is said of members and of strangers. Its repr shows none."""

    scores: dict[str, tuple[FloatArray, FloatArray]]
    """By name, of members and of strangers."""
    unique: BoolArray
    """Which members have a row that no other member has."""
    out: BoolArray
    """Which strangers are proved not to be in the data."""
    halves: tuple[BoolArray, BoolArray]
    """By what rows hold, of members and of strangers: whoever is both is in one half."""

    @classmethod
    def of(
        cls,
        inside: attack.Membership,
        ask: Callable[[_People], attack.Membership],
        all_members: _People,
        some: _People,
        others: _People,
    ) -> _Sides:
        """Return what is said of some members, who are inside, and of those of the others that equal no member."""
        number = Counter(all_members.keys)
        strangers = others.at(np.flatnonzero([key not in number for key in others.keys]))
        outside = ask(strangers)
        scores = {name: (score, outside.scores[name]) for name, score in inside.scores.items()}
        unique = np.array([number[key] == 1 for key in some.keys], dtype=np.bool_)
        halves = [np.array([zlib.crc32(key) % 2 for key in one.keys], dtype=np.bool_) for one in (some, strangers)]
        return cls(scores, unique, ~outside.possible, (halves[0], halves[1]))

    def joined(self, other: _Sides) -> _Sides:
        """Return both together."""
        scores = {
            name: (np.append(members, other.scores[name][0]), np.append(strangers, other.scores[name][1]))
            for name, (members, strangers) in self.scores.items()
            if name in other.scores
        }
        halves = [np.append(mine, its) for mine, its in zip(self.halves, other.halves, strict=True)]
        unique, out = np.append(self.unique, other.unique), np.append(self.out, other.out)
        return _Sides(scores, unique, out, (halves[0], halves[1]))

    def apart(self) -> tuple[str, FloatArray, FloatArray]:
        """Return by what members are told best from strangers, and scores of both.

        The score is chosen for each half by the other one. Where the choices differ, scores are shares of strangers.
        """
        chosen, usual = [], attack.DRAWS if attack.DRAWS in self.scores else attack.ANSWER
        for h in (0, 1):
            worth = {}
            for name, both in self.scores.items():
                members, strangers = (score[half != h] for score, half in zip(both, self.halves, strict=True))
                worth[name] = (
                    area_of(members, strangers) + found_of(members, strangers, 0.01) + _AHEAD * (name == usual)
                )
            chosen.append(max(worth, key=worth.__getitem__))
        if chosen[0] == chosen[1]:
            return chosen[0], *self.scores[chosen[0]]
        found = np.empty(len(self.unique)), np.empty(len(self.out))
        for h, name in enumerate(chosen):
            strangers = np.sort(self.scores[name][1][self.halves[1] == h])
            for side, score, half in zip(found, self.scores[name], self.halves, strict=True):
                side[half == h] = np.searchsorted(strangers, score[half == h]) / max(1, len(strangers))
        return " or ".join(chosen), *found


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
    everyone, rng = _People(data.rows, truth_of(model, data)), np.random.default_rng([seed, 74])
    times = times_of(model) if isinstance(model, Forest) else None
    n_trees, drawn = (model.n_trees, model.draws.drawn) if isinstance(model, Forest) else (1, False)
    work = _MOST_WORK // (n_trees * data.n_rows) if drawn else MOST_ROWS
    most, order = max(100, min(MOST_ROWS, _MOST_LEAVES // n_trees, work)), rng.permutation(data.n_rows)

    def asked(of: Model, known: IntArray | None, n_rows: int) -> Callable[[_People], attack.Membership]:
        return lambda those: attack.membership(of, those.rows, those.truth, known, n_rows, domain, timebox)

    ask, mine = asked(model, times, data.n_rows), everyone.at(order[:most])
    said, sides = ask(mine), None
    if holdout is not None and holdout.answers is not None:
        sides = _Sides.of(said, ask, everyone, mine, _People(holdout.rows, holdout.answers).at(slice(2 * most)))
    else:
        parts = np.array_split(order, FOLDS)
        for number, left in enumerate(parts):
            kept = np.setdiff1d(order, left)
            rest = everyone.at(kept)
            try:
                again = _refitted(model, rest, kept, seed + number, timebox)
                ask_it = asked(again, None if times is None else times_of(again), len(rest.truth))
                some, others = (everyone.at(parts[k % FOLDS][:most]) for k in (number + 1, number))
                found = _Sides.of(ask_it(some), ask_it, rest, some, others)
            except OutOfTimeError:
                if sides is None:
                    raise
                break
            sides = found if sides is None else sides.joined(found)
            if len(sides.unique) >= most:
                break
    assert sides is not None
    if min(len(sides.out), len(sides.unique)) < LEAST_ROWS:
        raise NotCoveredError(f"fewer than {LEAST_ROWS} rows are known that equal no training row: {_GIVE_HOLDOUT}")
    if all(abs(area_of(said.scores[name], members) - 0.5) > _UNLIKE for name, (members, _) in sides.scores.items()):
        raise NotCoveredError(f"models that are fitted anew with its settings are not like it: {_GIVE_HOLDOUT}")
    score, members, strangers = sides.apart()
    alone = int(sides.unique.sum())
    return Membership(
        others="left out of refits" if holdout is None or holdout.answers is None else "of the holdout",
        rows=len(said.possible),
        of_rows=data.n_rows,
        strangers=len(strangers),
        draws_known=times is not None and drawn,
        score=score,
        everyone=_told_apart(members, strangers, rng),
        unique=_told_apart(members[sides.unique], strangers, rng) if LEAST_ROWS <= alone < len(members) else None,
        proved_in=int(said.certain.sum()),
        proved_out=int(sides.out.sum()),
        most_exposed=float((strangers >= members.max()).mean()),
        doubts=() if said.possible.all() else (_NO_ROOM,),
    )


def _refitted(model: Model, mine: _People, kept: IntArray, seed: int, timebox: TimeBox) -> Forest:
    """Return a model of the same settings that was trained on some rows, as its file is read.

    Of several files each is fitted anew on its own ones of these rows, which stand at positions `kept` among all.
    """
    if isinstance(model, ForestOfSeveral):
        if any(len(one.columns) != len(model.parts[0].columns) for one in model.parts):
            raise NotCoveredError(f"files with different columns are not fitted anew here: {_GIVE_HOLDOUT}")
        parts, names = list[Part](), [str(column) for column in range(mine.rows.shape[1])]
        for k, part in enumerate(model.parts):
            own = np.flatnonzero(np.isin(kept, part.rows))
            again = _refitted(part.forest, mine.at(own), own, seed + FOLDS * k, timebox)
            classes = None if again.classes is None else np.array(again.classes, dtype=np.int64)
            parts.append(Part(again, occurrences(again, timebox.require), own, np.arange(len(names)), classes))
        return together(parts, len(kept), names, model.classes)
    refused = NotCoveredError(f"no {model.kind} of these settings is fitted anew here: {_GIVE_HOLDOUT}")
    estimator = own_estimator(model, len(mine.truth), seed) if isinstance(model, Forest) else None
    if not isinstance(model, Forest) or estimator is None or (model.draws.uneven and model.draws.class_weight is None):
        raise refused
    criterion = model.tree_parameters.get("criterion")
    labels = mine.truth.astype(np.int64) if model.classes is not None else np.zeros(len(mine.truth), np.int64)
    lacking = model.classes is not None and len(np.unique(labels)) < model.n_classes
    if lacking or getattr(estimator, "criterion", criterion) != criterion:
        raise refused
    said, level = model.observation, "labels" if isinstance(model.observation, WinningLabels) else "counts"
    if isinstance(said, Shares) and said.decimals is not None:
        level = f"decimals:{said.decimals}"
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            fitted = fitted_as(estimator, mine.rows, mine.truth, timebox)
            if isinstance(said, Answers):
                fitted, _ = hardened(fitted, level)
        found: Forest = read_forest(pickle.dumps(fitted))
    except OutOfTimeError:
        raise
    except (ValueError, TypeError, DraftError) as error:  # parameters of another version, or what is not read
        raise refused from error
    if isinstance(found.observation, BoostedSums):
        found = with_amounts(found, np.ascontiguousarray(mine.rows.T.astype(np.float64)), labels)
    return found


def _told_apart(members: FloatArray, strangers: FloatArray, rng: np.random.Generator) -> ToldApart:
    """Return figures of members beside strangers, with intervals."""

    def figures(some: FloatArray, others: FloatArray) -> list[float]:
        return [area_of(some, others), *(found_of(some, others, rate) for rate in LEAST_STRANGERS)]

    drawn = [figures(*(rng.choice(side, len(side)) for side in (members, strangers))) for _ in range(_RESAMPLED)]
    whole, ends = figures(members, strangers), np.quantile(drawn, [0.025, 0.975], axis=0).tolist()
    area, *found = (Estimate(at, min(at, low), max(at, high)) for at, low, high in zip(whole, *ends, strict=True))
    enough = (len(strangers) >= least for least in LEAST_STRANGERS.values())
    return ToldApart(len(members), area, *(one if there else None for one, there in zip(found, enough, strict=True)))


def area_of(members: FloatArray, strangers: FloatArray) -> float:
    """Return how often a member scores higher than a stranger; of equal scores half count."""
    if not len(members) or not len(strangers):
        return 0.5
    ordered = np.sort(strangers)
    below, up_to = (np.searchsorted(ordered, members, side=side).mean() for side in ("left", "right"))
    return float(below + up_to) / (2 * len(strangers))


def found_of(members: FloatArray, strangers: FloatArray, rate: float) -> float:
    """Return the share of members that score higher than all strangers but this share of them."""
    if not len(members) or not len(strangers):
        return 0.0
    at = len(strangers) - 1 - int(rate * len(strangers))
    return float((members > np.partition(strangers, at)[at]).mean())
