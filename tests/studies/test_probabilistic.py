"""Greedy and optimal models of the probabilistic paper: what is measured, and what is said of the paper's claims."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from pytest_draft.errors import DataError
from studies.papers import probabilistic_cells, probabilistic_trends

N_COLUMNS = 5
LEARNERS = ("CART", "optimal trees", "greedy rules", "optimal rules")


@pytest.fixture
def path(tmp_path):
    """A file with a small table of zeros and ones."""
    rng = np.random.default_rng(0)
    values = rng.random((200, N_COLUMNS)) < 0.5
    label = (values[:, 0] & values[:, 1]) ^ (rng.random(200) < 0.2)
    frame = pd.DataFrame(np.column_stack([values, label]).astype(int), columns=[*"abcde", "label"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def models(path, *learners):
    """Return the models of two seeds."""
    limits = {"support": 0.05, "depths": "1 2 3", "limit": 60.0}
    found = [
        probabilistic_cells.models(data=path, learner=learner, seed=seed, **limits)
        for learner in learners or LEARNERS
        for seed in (0, 1)
    ]
    return pd.DataFrame([line for cell in found for line in json.loads(cell["models"])])


def test_each_model_is_measured_and_the_trends_are_told(path):
    found = models(path)
    assert len(found) == 2 * 3 * 4
    best = found.pivot_table(index=["seed", "depth"], columns="learner", values="train_accuracy")
    assert (best["optimal trees"] >= best["CART"]).all()
    assert (best["optimal rules"] >= best["greedy rules"]).all()
    assert found["certified"].tolist() == found["learner"].str.startswith("optimal").tolist()
    assert (found["train_accuracy"] >= found["majority"]).to_numpy()[found["certified"]].all()
    assert (found["lowest"] <= found["dist_g"] + 1e-12).all()
    assert (found["highest"] >= found["dist_g"] - 1e-12).all()
    stumps = found[found["size"] == 1]
    assert set(stumps["learner"]) >= {"CART", "greedy rules"}
    assert np.allclose(stumps[["dist_g", "dist_g_one_hot"]], 1 - 1 / N_COLUMNS)
    told = "\n".join(probabilistic_trends.summary(found))
    assert "people, trees: 6 of 6 optimal models certified\n" in told
    assert told.count("1. same size: optimal lower at") == 4
    assert models(path).equals(found)


def test_the_domain_of_the_gate_knows_one_hot_groups(path):
    table = pd.read_csv(path)
    job = np.arange(len(table)) % 3
    wide = pd.concat([pd.DataFrame({f"job:{n}": (job == n).astype(int) for n in range(3)}), table], axis=1)
    wide.to_csv(path, index=False)
    found = models(path, "CART")
    deepest = found[found["size"] > 1]
    assert (deepest["dist_g_one_hot"] < deepest["dist_g"]).all()


def test_a_table_that_is_not_binarized_is_refused_in_a_line(path):
    pd.read_csv(path).assign(age=7)[["age", "label"]].to_csv(path, index=False)
    with pytest.raises(DataError, match=r"^people\.csv: this study takes columns of zeros and ones; "):
        models(path)


def test_the_rows_of_a_seed_are_not_in_its_text(path):
    assert repr(probabilistic_cells._split(path, 0)) == "_Split(160 training rows, 40 others)"


def measured(learner, points, seed=0):
    """Return models with given (size, accuracy, Dist_G), by depth."""
    lines = [
        {"data": "people", "learner": learner, "seed": seed, "support": 0.01, "depth": depth, "majority": 0.5}
        | {"size": size, "train_accuracy": accuracy, "dist_g": dist_g, "dist_g_one_hot": dist_g}
        | {"lowest": 0.1, "median": 0.5, "highest": 0.9, "certified": learner == "optimal trees"}
        for depth, (size, accuracy, dist_g) in enumerate(points, start=1)
    ]
    return pd.DataFrame(lines)


def test_claims_are_judged_against_the_other_curve_between_its_points():
    optimal = measured("optimal trees", [(2, 0.70, 0.80), (4, 0.90, 0.60)])
    greedy = measured("CART", [(2, 0.60, 0.90), (6, 0.80, 0.50), (6, 0.80, 0.50)])
    told = "\n".join(probabilistic_trends.summary(pd.concat([optimal, greedy])))
    # At size 2 greedy has .90; at 4, halfway from .90 to .50, it has .70: optimal is lower by .10 and .10.
    assert "1. same size: optimal lower at 2 of 2 points, equal at 0, mean difference 0.1000 (from 0.1000" in told
    # At .60, halfway from (.50, 1) to (.70, .80), optimal has .90: equal; at .80 it has .70, greedy .50.
    assert "2. same accuracy: optimal higher at 1 of 2 points, equal at 1, mean difference 0.1000 (from 0.0000" in told
    # (.60, .90) has no rival that gives away as little; (.80, .50) has (.90, .60), in both of its lines.
    assert "that gives away no more: 2 of 3; the other way round: 0 of 2" in told
    assert "ratio from 0.100, median 0.500, to 0.900 (means over 1 seeds)" in told


def test_models_that_were_not_certified_are_named():
    optimal = measured("optimal trees", [(2, 0.70, 0.80), (4, 0.90, 0.60)])
    optimal.loc[1, "certified"] = False
    first = next(probabilistic_trends.summary(pd.concat([optimal, measured("CART", [(2, 0.6, 0.9)])])))
    assert first == "people, trees: 1 of 2 optimal models certified; not: 1 of support 0.01, depth 2"
