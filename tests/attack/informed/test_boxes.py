"""What a file holds of one row, against every assignment of that row with all others fixed."""

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from profiles import examples
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.attack.numeric.extremes import replay_and_decode
from pytest_draft.examine.inputs import complete, open_files
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Case
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly

MODELS = {
    "forest": (RandomForestClassifier, {"n_estimators": 5}),
    "shallow forest": (RandomForestClassifier, {"n_estimators": 6, "max_depth": 2}),
    "large leaves": (RandomForestClassifier, {"n_estimators": 6, "min_samples_leaf": 3}),
    "weighted classes": (RandomForestClassifier, {"n_estimators": 5, "class_weight": "balanced"}),
    "no bootstrap": (RandomForestClassifier, {"n_estimators": 5, "bootstrap": False, "max_depth": 3}),
    "part of the draws": (RandomForestClassifier, {"n_estimators": 5, "max_samples": 7}),
    "regression": (RandomForestRegressor, {"n_estimators": 5, "max_depth": 3}),
    "extra trees": (ExtraTreesClassifier, {"n_estimators": 5, "max_depth": 3}),
    "drawn extra trees": (ExtraTreesRegressor, {"n_estimators": 5, "bootstrap": True}),
    "tree": (DecisionTreeClassifier, {"max_depth": 3}),
    "regression tree": (DecisionTreeRegressor, {}),
    "bagging": (BaggingClassifier, {"n_estimators": 5}),
}
MISSING = ("forest", "shallow forest", "large leaves", "tree", "regression")
"""Models that take missing values."""

SEEDS = examples(25, 3)
"""Of each model: 300 instances in all, with ``--hypothesis-profile=nightly``."""


def table(seed: int, *, missing: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Return some rows with columns of every kind, and targets; some rows are alike."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 17))
    made = pd.DataFrame(
        {
            "size": np.round(rng.normal(50, 20, n), int(rng.integers(0, 3))),
            "flag": rng.integers(0, 2, n),
            "rank": rng.integers(0, 4, n),
        }
    )
    region = rng.integers(0, 3, n)
    made = made.assign(**{f"region_{name}": (region == code).astype(int) for code, name in enumerate("ABC")})
    made.iloc[-1] = made.iloc[0]
    if missing:
        made.loc[rng.random(n) < 0.25, "size"] = np.nan
    score = made["size"].fillna(30) + 20 * made["flag"] + rng.normal(0, 15, n)
    return made, score.to_numpy()


def case_of(folder, name: str, seed: int):
    """Train a model, save it, and read it as the gate does."""
    kind, parameters = MODELS[name]
    features, score = table(seed, missing=name in MISSING and seed % 2 == 1)
    target = np.round(score) if "Regressor" in kind.__name__ else (score > np.median(score)).astype(int)
    model = kind(**parameters, random_state=seed).fit(features, target)
    joblib.dump(model, folder / "model.joblib")
    features.assign(target=target).to_csv(folder / "train.csv", index=False)
    case = Case(str(folder / "model.joblib"), str(folder / "train.csv"), "target")
    record = FlowRecord(case)
    return complete(open_files(case, None, record), case, record)


def candidates(forest, attribute, everyone: KnownRows, row: int, rng) -> np.ndarray:
    """Return values that a row could have, in the attribute's columns: all, or of a number each that could matter."""
    if attribute.kind != "numeric":
        value = attribute.encoded(np.arange(attribute.n_states - attribute.missing))
        return np.concatenate([value, np.full((1, 1), np.nan)]) if attribute.missing else value
    column = attribute.columns[0]
    own = everyone.rows[:, column]
    known = np.unique(own[~np.isnan(own)]).astype(np.float64)
    threshold = np.concatenate([tree.threshold[tree.feature == column] for tree in forest.trees])
    mirrored = (2 * threshold[:, None] - known).ravel()
    drawn = rng.choice(mirrored, min(40, len(mirrored)), replace=False) if len(mirrored) else mirrored
    value = np.concatenate([known, threshold, drawn]).astype(np.float32)
    value = np.concatenate([value, np.nextafter(value, np.float32(np.inf)), np.nextafter(value, np.float32(-np.inf))])
    value = np.unique(value[(value >= np.float32(attribute.low)) & (value <= np.float32(attribute.high))])
    value = value.astype(np.float32)[:, None]
    return np.concatenate([value, np.full((1, 1), np.nan, np.float32)]) if attribute.missing else value


def ways(tree, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's leaf, and which nodes it goes through, node by node."""
    through = np.zeros((len(rows), tree.n_nodes), dtype=bool)
    through[:, 0] = True
    leaf = np.zeros(len(rows), dtype=int)
    for node in range(tree.n_nodes):
        here = through[:, node]
        if tree.left[node] < 0:
            leaf[here] = node
            continue
        value = rows[:, tree.feature[node]].astype(np.float64)
        left = np.where(np.isnan(value), tree.missing_left[node], value <= tree.threshold[node])
        through[:, tree.left[node]] = here & left
        through[:, tree.right[node]] = here & ~left
    return leaf, through


def told(values: np.ndarray, ends: tuple[float, ...], own: np.ndarray) -> np.ndarray:
    """Return for which of a row's own values the others' have these least and greatest ones."""
    least, most = values.min(initial=np.inf), values.max(initial=-np.inf)
    return (np.fmin(own, least) == ends[0]) & (np.fmax(own, most) == ends[1])


def explains(forest, everyone: KnownRows, row: int, rows: np.ndarray, extremes) -> np.ndarray:
    """Return which values of one row, in place of its own, leave everything in the file as it is."""
    others = np.arange(len(everyone.rows)) != row
    fits = np.ones(len(rows), dtype=bool)
    for t, tree in enumerate(forest.trees):
        times = everyone.weight[t]
        if not times[row]:
            continue
        label = 0 if forest.classes is None else everyone.labels[row]
        there, through = ways(tree, everyone.rows)
        here, mine = ways(tree, rows)
        count = np.zeros((tree.n_nodes, forest.n_classes), dtype=int)
        labels = np.zeros(len(there), dtype=int) if forest.classes is None else everyone.labels
        np.add.at(count, (there[others], labels[others]), times[others])
        left_over = np.where((tree.left < 0)[:, None], forest.counts(t) - count, 0)
        fits &= left_over[here, label] == times[row]
        for node in np.flatnonzero(tree.left >= 0):
            column, threshold = tree.feature[node], tree.threshold[node]
            seen = others & (times > 0) & through[:, node]
            value = everyone.rows[seen, column].astype(np.float64)
            value = value[~np.isnan(value)]
            own = np.where(mine[:, node], rows[:, column].astype(np.float64), np.nan)
            if forest.splitter == "best" and np.isfinite(threshold):
                below = np.fmax(np.where(own <= threshold, own, np.nan), value[value <= threshold].max(initial=-np.inf))
                above = np.fmin(np.where(own > threshold, own, np.nan), value[value > threshold].min(initial=np.inf))
                fits &= below / 2 + above / 2 == threshold
            elif extremes is not None and not np.isnan(extremes.low[t][node]):
                fits &= told(value, (extremes.low[t][node], extremes.high[t][node]), own)
    return fits


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_boxes_hold_exactly_what_explains_the_file(tmp_path, name, seed):
    inputs = case_of(tmp_path, name, seed)
    forest, domain = inputs.forest, inputs.domain
    everyone = KnownRows(inputs.data.rows, inputs.data.labels, occurrences(forest))
    extremes = None
    if forest.splitter != "best":
        extremes = replay_and_decode(forest, domain, TimeBox(60))
    held = held_of(forest, domain, everyone, np.arange(len(everyone.rows)), extremes)
    rng = np.random.default_rng(seed)
    for row in rng.choice(len(everyone.rows), 3, replace=False):
        by_attribute = [candidates(forest, attribute, everyone, row, rng) for attribute in domain.attributes]
        chosen = np.indices([len(value) for value in by_attribute]).reshape(len(by_attribute), -1)
        if chosen.shape[1] > 20_000:  # every combination of all but the numeric column, and some of its values
            chosen = chosen[:, rng.choice(chosen.shape[1], 20_000, replace=False)]
        rows = np.zeros((chosen.shape[1], domain.n_columns), dtype=np.float32)
        inside = np.ones(len(rows), dtype=bool)
        for a, (attribute, which) in enumerate(zip(domain.attributes, chosen, strict=True)):
            value = by_attribute[a][which]
            rows[:, list(attribute.columns)] = value
            if attribute.kind == "numeric":
                low, high = held.lower[row, attribute.columns[0]], held.upper[row, attribute.columns[0]]
                is_missing = np.isnan(value[:, 0])
                inside &= np.where(is_missing, held.may_miss[row, attribute.columns[0]], True)
                inside &= is_missing | ((low <= value[:, 0]) & (value[:, 0] <= high))
            else:
                inside &= held.states(a)[row][which]
        assert (inside == explains(forest, everyone, row, rows, extremes)).all()
        own = np.concatenate([everyone.rows[row], rows[0]]).reshape(2, -1)
        assert explains(forest, everyone, row, own, extremes)[0]


def test_a_row_that_alone_explains_a_threshold_has_its_value(tmp_path):
    features = pd.DataFrame({"size": [1.0, 2.0, 4.5, 9.25, 30.5, 31.0] * 2, "flag": [0, 1] * 6})
    features.loc[6:, "size"] += [0.25, 0.5, 0.125, 1.0, 2.5, 3.0]
    target = (features["size"] > 7).astype(int)
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(features[["size", "flag"]], target), tmp_path / "m.joblib")
    features.assign(target=target).to_csv(tmp_path / "t.csv", index=False)
    case = Case(str(tmp_path / "m.joblib"), str(tmp_path / "t.csv"), "target")
    record = FlowRecord(case)
    inputs = complete(open_files(case, None, record), case, record)
    everyone = KnownRows(inputs.data.rows, inputs.data.labels, occurrences(inputs.forest))
    held = held_of(inputs.forest, inputs.domain, everyone, np.arange(12))
    is_told = held.lower[:, 0] == held.upper[:, 0]
    assert sorted(everyone.rows[is_told, 0]) == [4.625, 9.25]  # the two beside the only threshold
    assert (held.lower[is_told, 0] == everyone.rows[is_told, 0]).all()


def test_rows_of_somebody_else_tell_nothing(tmp_path):
    inputs = case_of(tmp_path, "forest", 0)
    everyone = KnownRows(inputs.data.rows, inputs.data.labels, occurrences(inputs.forest))
    others = replace(everyone, rows=everyone.rows[::-1].copy())
    assert held_of(inputs.forest, inputs.domain, others, np.arange(3)) is None
