"""Trains the model of a setting, and returns its number of leaves, its score and its judgement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pytest_draft.advice.facts import Judgement, Score, Secret, Setting
from pytest_draft.advice.judging import Gate
from pytest_draft.advice.loading import TREES
from pytest_draft.advice.owner import BAGS, Owner, n_leaves
from pytest_draft.advice.scoring import Scorer

FEW_TREES = 5
"""Trees from which the leaves of a forest are estimated before it is judged."""

ElapsedListener = Callable[[float], None]


class Means:
    """Trains, scores and judges an owner's model by settings.

    Parameters
    ----------
    owner : Owner
    scorer : Scorer
    gate : Gate
    seed : int
        Of the models of the sweep, which are never released, and of the attack on them. A number alone can be found
        again from the trees, which would be judged with it: so it is spread over several words. The models that are
        judged with fresh seeds draw theirs from the operating system.
    tell : callable, optional
        Gets the seconds that a judgement has taken by now.
    """

    def __init__(
        self, owner: Owner, scorer: Scorer, gate: Gate, seed: int, listener: ElapsedListener | None = None
    ) -> None:
        self._owner, self._scorer, self._gate, self._seed, self._listener = owner, scorer, gate, seed, listener
        self._of_sweep = Secret(tuple(np.random.SeedSequence([seed, 1]).generate_state(4).tolist()))
        self._latest: tuple[Setting, Any] | None = None
        self.fresh: dict[Setting, list[tuple[Secret, Any]]] = {}

    def model(self, setting: Setting) -> Any:
        """Return a setting's model of the sweep, trained on all rows."""
        if self._latest is None or self._latest[0] != setting:
            self._latest = (setting, self._owner.fitted(setting, self._of_sweep))
        return self._latest[1]

    def leaves(self, setting: Setting) -> int:
        """Return about how many leaves a setting has in all trees, from a few of them."""
        if setting.kind != "forest" or setting.trees <= FEW_TREES or self._is_tree:
            return n_leaves(self.model(setting))
        few = dict(setting.parameters) | {"n_estimators": FEW_TREES}
        model = self._owner.fitted(Setting(setting.family, setting.value, FEW_TREES, tuple(few.items())), self._seed)
        return round(n_leaves(model) * setting.trees / FEW_TREES)

    @property
    def _is_tree(self) -> bool:
        return isinstance(self._owner.forest, TREES) and not isinstance(self._owner.estimator, BAGS)

    def score(self, setting: Setting) -> Score:
        """Return the cross-validated score."""
        return self._scorer.cross_validated(setting)

    def judge(self, setting: Setting, seconds: float) -> Judgement:
        """Judge a hardened file of the sweep; a private forest's is never hardened."""
        hardened = setting.kind != "private"
        return self._gate.judge(self.model(setting), seconds, self._seed, hardened=hardened, listener=self._listener)

    def judge_fresh(self, setting: Setting, seconds: float, number: int) -> Judgement:
        """Judge a hardened file of a model with a seed that nobody can guess, by an attack with another seed."""
        random_state = Secret.drawn()
        model = self._owner.fitted(setting, random_state)
        self.fresh.setdefault(setting, []).append((random_state, model))
        hardened = setting.kind != "private"
        seed = self._seed + 1 + number
        return self._gate.judge(model, seconds, seed, hardened=hardened, full=True, listener=self._listener)
