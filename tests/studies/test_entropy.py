"""The study of greedy and optimal models: what it measures, and what it says of the paper's claims."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from studies import __main__, entropy, entropy_figures, entropy_trends

N_COLUMNS = 5


@pytest.fixture
def tables(tmp_path, cells_here):
    """A folder with one small table of zeros and ones."""
    rng = np.random.default_rng(0)
    values = rng.random((200, N_COLUMNS)) < 0.5
    label = (values[:, 0] & values[:, 1]) ^ (rng.random(200) < 0.2)
    frame = pd.DataFrame(np.column_stack([values, label]).astype(int), columns=[*"abcde", "label"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


@pytest.fixture
def no_figures(monkeypatch):
    """The study without matplotlib."""
    monkeypatch.setattr(entropy_figures, "matplotlib_pyplot", lambda: None)
    monkeypatch.setattr(entropy_figures, "draw", lambda *_: iter(()))


def study(folder, *more):
    """Run the study on two seeds and return its models."""
    command = f"entropy --datasets {folder} --names people --seeds 0 1 --depths 1 2 3 --supports .05 --budget 60"
    assert (
        __main__.main([*command.split(), "--output", f"{folder / 'out'}", "--store", f"{folder / 'store'}", *more]) == 0
    )
    return pd.read_csv(folder / "out" / "models.csv")


def test_each_model_is_measured_and_the_trends_are_told(tables, no_figures, capsys):
    models = study(tables)
    assert len(models) == 2 * 3 * 4
    best = models.pivot_table(index=["seed", "depth"], columns="learner", values="train_accuracy")
    assert (best["optimal trees"] >= best["CART"]).all()
    assert (best["optimal rules"] >= best["greedy rules"]).all()
    assert models["certified"].to_numpy().tolist() == models["learner"].str.startswith("optimal").tolist()
    assert (models["train_accuracy"] >= models["majority"]).to_numpy()[models["certified"]].all()
    assert (models["lowest"] <= models["dist_g"] + 1e-12).all()
    assert (models["highest"] >= models["dist_g"] - 1e-12).all()
    stumps = models[models["size"] == 1]
    assert set(stumps["learner"]) >= {"CART", "greedy rules"}
    assert np.allclose(stumps[["dist_g", "dist", "dist_g_one_hot"]], 1 - 1 / N_COLUMNS)
    rows = pd.read_csv(tables / "out" / "rows.csv")
    assert len(rows) == 2 * 4 * len(entropy.SHARES)
    out = capsys.readouterr().out
    assert "people, trees: 6 of 6 optimal models certified\n" in out
    assert out.count("1. same size: optimal lower at") == 4


def test_the_domain_of_the_gate_knows_one_hot_groups(tables, no_figures):
    table = pd.read_csv(tables / "people.csv")
    job = np.arange(len(table)) % 3
    wide = pd.concat([pd.DataFrame({f"job:{n}": (job == n).astype(int) for n in range(3)}), table], axis=1)
    wide.to_csv(tables / "people.csv", index=False)
    models = study(tables, "--learners", "CART")
    deepest = models[models["size"] > 1]
    assert (deepest["dist_g_one_hot"] < deepest["dist_g"]).all()


def test_the_same_seeds_give_the_same_models(tables, no_figures):
    again = study(tables, "--store", str(tables / "other")).drop(columns="seconds")
    assert study(tables).drop(columns="seconds").equals(again)


def test_a_table_that_is_not_binarized_is_refused_in_a_line(tables, no_figures):
    table = pd.read_csv(tables / "people.csv")
    table["age"] = 7
    table[["age", "label"]].to_csv(tables / "people.csv", index=False)
    with pytest.raises(
        SystemExit, match=r"^people\.csv: this study takes columns of zeros and ones; binarize the others$"
    ):
        study(tables)
    assert not (tables / "store").exists()


def test_the_rows_of_a_seed_are_not_in_its_text(tables):
    assert repr(entropy._split(tables / "people.csv", 0)) == "_Split(160 training rows, 40 others)"


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
    told = "\n".join(entropy_trends.summary(pd.concat([optimal, greedy])))
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
    first = next(entropy_trends.summary(pd.concat([optimal, measured("CART", [(2, 0.6, 0.9)])])))
    assert first == "people, trees: 1 of 2 optimal models certified; not: 1 of support 0.01, depth 2"


def test_published_runs_are_set_beside_ours(tmp_path):
    ours = measured("CART", [(2, 0.70, 0.80), (4, 0.90, 0.60)])
    theirs = pd.DataFrame(
        {"random_state_value": 0, "min_support": 0.01, "max_depth": [1, 2, 3], "train_acc": [0.7, 0.91, 0.92]}
        | {"entropy_reduction_ratio": [0.8, 0.5, 0.4]}
    )
    theirs.to_csv(tmp_path / "sklearn_DT_people.csv", index=False)
    (line,) = entropy_trends.beside_published(ours, tmp_path)
    assert line == (
        "people, CART, beside the authors' sklearn_DT: 2 settings; Dist_G the same in 1, mean difference 0.05000, "
        "largest 0.1000; training accuracy the same in 1, higher here in 0, lower in 1"
    )


def test_figures_are_drawn_for_the_kinds_of_models_that_there_are(tables, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    study(tables, "--learners", "greedy rules", "optimal rules")
    drawn = [line.rsplit("/", 1)[-1] for line in capsys.readouterr().out.splitlines() if line.endswith(".png")]
    assert drawn == [f"figure_{name}.png" for name in ("3a", "3b", "3a_one_hot", "3b_one_hot", "4b")]
    assert all((tables / "out" / name).stat().st_size > 5_000 for name in drawn)


def test_without_matplotlib_the_error_comes_before_any_search(tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        SystemExit, match=r"^the figures need matplotlib \(.*\): pip install 'pytest-draft\[studies\]'$"
    ):
        study(tables)
    assert not (tables / "out").exists()


def test_the_command_line_runs_the_study(tables, no_figures, capsys):
    command = f"entropy --datasets {tables} --names people --seeds 0 --depths 2 --supports 0.1"
    assert __main__.main([*command.split(), "--output", str(tables / "out"), "--store", str(tables / "store")]) == 0
    assert "people, rule lists: 1 of 1 optimal models certified" in capsys.readouterr().out
