"""The settings to begin with where a model gives too much away, for each kind of model that is judged.

How the files came out that they were measured on: docs/reference/studies.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """How many trees a model has, and how large each can be."""

    parameters: tuple[tuple[str, int], ...]
    """By the names of the model's class."""
    leaves: int
    """Of all trees, at most."""

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.parameters)


@dataclass(frozen=True)
class StartingSettings:
    """The settings of one kind of model, by how much their files tell."""

    kinds: tuple[str, ...]
    """How the names of its classes begin."""
    trees: str
    """The parameter for the number of trees; empty where there is one tree."""
    size: str
    """The parameter that bounds each tree."""
    in_levels: bool
    """Whether that counts levels, not leaves."""
    sizes: tuple[tuple[int, int], ...]
    """Trees and size of each setting; those whose file tells the most come first."""
    first: tuple[int, int]
    """The one of them to begin with."""
    beside: tuple[tuple[str, object], ...] = ()
    """Parameters without which such a file cannot be judged."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All of them, those whose file tells the most first."""
        return tuple(self._setting(*one) for one in self.sizes)

    @property
    def start(self) -> Setting:
        """The one to begin with."""
        return self._setting(*self.first)

    def below(self, leaves: int | None) -> Setting:
        """Return the setting to begin with where a file with so many leaves failed: one that has fewer.

        Parameters
        ----------
        leaves : int or None
            None where it is not known.
        """
        later = self.settings[self.sizes.index(self.first) :]
        return next((one for one in later if leaves is None or one.leaves < leaves), later[-1])

    def _setting(self, trees: int, size: int) -> Setting:
        number = ((self.trees, trees),) if self.trees else ()
        return Setting((*number, (self.size, size)), trees * (2**size if self.in_levels else size))


_FORESTS = ((100, 16), (100, 8), (30, 16), (30, 8), (30, 4), (10, 4), (10, 3), (5, 3), (5, 2))
_TREES = ((1, 32), (1, 16), (1, 8), (1, 6), (1, 4), (1, 3), (1, 2))
_BOOSTED = ((50, 3), (30, 3), (30, 2), (20, 2), (10, 2), (20, 1), (5, 2), (10, 1), (5, 1))
_BY_LEAVES = ((50, 8), (30, 8), (30, 4), (20, 4), (10, 4), (20, 2), (5, 4), (10, 2), (5, 2))

SETTINGS = (
    StartingSettings(("RandomForest", "ExtraTrees"), "n_estimators", "max_leaf_nodes", False, _FORESTS, (30, 4)),
    StartingSettings(("DecisionTree", "ExtraTree"), "", "max_leaf_nodes", False, _TREES, (1, 8)),
    StartingSettings(("Bagging", "AdaBoost"), "n_estimators", "estimator__max_leaf_nodes", False, _FORESTS, (30, 4)),
    StartingSettings(("GradientBoosting", "XGB"), "n_estimators", "max_depth", True, _BOOSTED, (10, 2)),
    StartingSettings(
        ("HistGradientBoosting",),
        "max_iter",
        "max_leaf_nodes",
        False,
        _BY_LEAVES,
        (10, 4),
        beside=(("early_stopping", False),),
    ),
    StartingSettings(("LGBM", "LightGBM"), "n_estimators", "num_leaves", False, _BY_LEAVES, (10, 4)),
    StartingSettings(("CatBoost",), "iterations", "depth", True, _BOOSTED, (10, 2)),
)
"""One for each kind of model that has such parameters."""


def settings_of(kind: str) -> StartingSettings | None:
    """Return the settings of a kind of model, by the name of its class; None where it has no such parameters."""
    return next((one for one in SETTINGS if kind.startswith(one.kinds)), None)
