"""The DP and the probabilistic paper's results beside ours: cells, tables, and what is said to be worse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pytest_draft.artifact.forest.observations import under
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.facts.privacy import Privacy
from studies import dp_forests
from studies.__main__ import main
from studies.cells import running
from studies.cells.computing import computed
from studies.papers import dp_cells, dp_informed, dp_plan, dp_tables, probabilistic
from studies.papers.dp_published import TABLE_3_PARTS, TABLE_7_ACCURACIES, p_values, runs_of
from studies.papers.results import RESULTS

SHARED = Path(__file__).parents[3] / "shared"
DP = [name for name in RESULTS if name.startswith("dp-")]
PROBABILISTIC = "probabilistic-figures-2-6"

RUN = {"seed": "0", "status": "FEASIBLE", "reconstruction_error": "0.9", "seconds": "7200"}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return a folder with invented runs of the authors, in the columns of theirs."""
    folder = tmp_path_factory.mktemp("published")
    run = pd.Series(RUN)
    grid = [
        {"n_known": known, "dataset": "compas", "n_trees": n, "max_depth": d, "epsilon": f"{e:.2f}", **run}
        | {"leak_cdf_inputs_mean": 0.8, "leak_cdf_inputs_std": 0.1, "time_to_first_solution": 12.5}
        | {"n_reconstructed": 90}
        for known in ("yes", "no")
        for n, d, e in ((1, 3, 5), (5, 3, 5), (5, 3, 30), (5, 5, 30))
    ]
    pd.DataFrame(grid).to_csv(folder / "draft_dp_runs.csv", index=False)
    one = {"dataset": "data/compas.csv", "epsilon": 30, "seed": 0, "reconstruction_error": 0.9}
    pd.DataFrame([one | {"perfect_rows": 1, "worst_row_error": 0.95}]).to_csv(
        folder / "draft_dp_individual_runs.csv", index=False
    )
    sizes = [
        {"dataset": "compas", "n_examples": 25, **run, "time_to_first_solution": 20},
        {"dataset": "compas", "n_examples": 50, **run, "status": "UNKNOWN", "reconstruction_error": "NA"},
    ]
    pd.DataFrame(sizes).to_csv(folder / "draft_dp_scalability_runs.csv", index=False)
    known = [{"dataset": "compas", "known_attributes": n, **run} for n in (0, 3)]
    pd.DataFrame(known).to_csv(folder / "draft_dp_partial_runs.csv", index=False)
    single = {"dataset": "compas", "n_examples": 2_000, "epsilon": 30, "seed": 0, "example_error_avg": 0.9}
    pd.DataFrame([{"attack": who, **single} for who in ("draft-dp", "reconn")]).to_csv(
        folder / "draft_dp_informed_runs.csv", index=False
    )
    return folder


@pytest.fixture(scope="module")
def invented_forests(by_hand):
    """Return what stands for `papers_forest` where diffprivlib, which draws the authors' trees, is not installed."""

    def tree(rng, columns, depth):
        if not depth:
            return [0, 0]
        column, *rest = columns
        return (column, *(tree(rng, rest, depth - 1) for _ in range(2)))

    def forest(X, y, n_trees, max_depth, epsilon, seed, noise_seed=0):
        rows, rng, scale = np.asarray(X), np.random.default_rng([seed, noise_seed]), n_trees / epsilon
        bare = by_hand(
            rows.shape[1], *(tree(rng, rng.permutation(rows.shape[1]).tolist(), max_depth) for _ in range(n_trees))
        )
        exact = dp_forests.without_noise(bare, rows, y)
        trees = []
        for one in exact.trees:
            noise = np.trunc(rng.laplace(scale=scale, size=(len(one.leaves), 2)))
            value = np.zeros_like(one.value)
            value[one.leaves] = one.value[one.leaves] + noise
            trees.append(replace(one, value=value))
        return replace(
            bare,
            trees=tuple(trees),
            n_samples=None,
            observation=under(Privacy("laplace", epsilon, 0.0, scale, "noise")),
        )

    return forest


@pytest.fixture(scope="module")
def ran(datasets, published, invented_forests, tmp_path_factory):
    """Run the quick form of all results once, on invented people; return the folder of pages."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("papers")
    words = ["papers", *DP, PROBABILISTIC, "--part", "quick", "--datasets", str(datasets)]
    words += ["--published", str(published), "--store", str(folder / "store"), "--output", str(folder / "pages")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "outcomes", lambda where, calls: (one for one in enumerate(map(computed, calls))))
        for module in (dp_informed, dp_cells):
            patch.setattr(module, "papers_forest", invented_forests)
        patch.setitem(dp_informed.N_ROWS, "compas", 150)
        assert main(words) == 0
    return folder / "pages"


# -- the pages


def test_one_command_computes_and_shows_every_result_of_both_papers(ran):
    for name in (*DP, PROBABILISTIC):
        text = (ran / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {RESULTS[name].title}\n")
        assert f"python -m studies papers {name} " in text
        assert "Load of the machine" in text
        assert "| nan" not in text
        if RESULTS[name].published:
            assert "0.9000" in text or name in ("dp-table-2", "dp-table-6")
        assert (ran / f"{name}.svg").stat().st_size < 120_000


def test_runs_of_the_authors_without_an_answer_are_counted(ran):
    text = (ran / "dp-table-7.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("| 25 ", "| 50 "))]
    assert ["4 of 5" in line for line in lines] == [True, False]
    assert ["5 of 5" in line for line in lines] == [False, True]


def test_the_same_cells_are_computed_once_for_all_results_that_share_them(ran):
    stores = {path.stem for path in (ran.parent / "store").iterdir()}
    assert dp_tables.GRID in stores
    assert not stores & {name for name in DP if RESULTS[name].shared}


def test_quick_cells_run_on_the_public_tables(tmp_path, monkeypatch, capsys):
    pytest.importorskip("diffprivlib")
    if not (SHARED / "datasets" / "compas.csv").is_file():
        pytest.skip("needs ../shared: the public tables and the authors' runs")
    monkeypatch.setattr(running, "outcomes", lambda where, calls: (one for one in enumerate(map(computed, calls))))
    names = ["dp-table-1", "dp-table-3", "dp-figure-13"]
    folders = ["--datasets", str(SHARED / "datasets"), "--published", str(SHARED / "published")]
    assert main(["papers", *names, "--part", "quick", *folders, "--store", str(tmp_path)]) == 0
    assert "0.2614 (1)" in capsys.readouterr().out  # the authors' run of seed 0: COMPAS, one tree of depth 3


def test_quick_trees_and_rule_lists_are_learned_on_the_public_tables(tmp_path, monkeypatch, capsys):
    if not (SHARED / "datasets" / "compas.csv").is_file():
        pytest.skip("needs ../shared: the public tables")
    monkeypatch.setattr(running, "outcomes", lambda where, calls: (one for one in enumerate(map(computed, calls))))
    folders = ["--datasets", str(SHARED / "datasets"), "--published", str(tmp_path)]
    assert main(["papers", PROBABILISTIC, "--part", "quick", *folders, "--store", str(tmp_path / "store")]) == 0
    assert "6 of 6" in capsys.readouterr().out


# -- what is worse


def grid_rows(**columns):
    """Return a row of the grid, as a cell gives it."""
    row = {"data": "compas", "trees": 1, "depth": 3, "epsilon": 5.0, "seed": 0, "answered": True, "error": 0.95}
    row |= {"random_error": 0.2, "p_value": 0.5, "status": "not converged", "seconds": 3.0, "rebuilt_rows": 100}
    return pd.DataFrame([row | columns])


def authors_of(published):
    return RESULTS["dp-table-1"].authors(published)


def test_an_error_above_the_published_one_is_bold_with_the_reason(published):
    (section,) = RESULTS["dp-table-1"].sections(grid_rows(error=0.95), authors_of(published))
    (line,) = section.table.to_dict("records")
    assert line["ours"] == "**0.9500 (1)**"
    assert line["why worse"] == "the effort ended the search"
    assert "closer in 0 settings and farther in 1" in section.text


def test_an_error_below_the_published_one_is_not(published):
    (section,) = RESULTS["dp-table-1"].sections(grid_rows(error=0.85), authors_of(published))
    (line,) = section.table.to_dict("records")
    assert line["ours"] == "0.8500 (1)"
    assert line["published, same seeds"] == "0.9000 (1)"
    assert line["no answer, published"] == "4 of 5"
    assert line["why worse"] == ""


@pytest.mark.parametrize("name", ["dp-table-1", "dp-table-6"])
def test_a_cell_without_an_answer_is_counted(published, name):
    rows = grid_rows(answered=False, error=None, p_value=None, status="no solution")
    (section,) = RESULTS[name].sections(rows, authors_of(published))
    assert section.table["no answer, ours"].tolist() == ["**1 of 1**"]


@pytest.mark.parametrize(("p_value", "shown"), [(0.5, "0.5 (1)"), (0.001, "0.001 (1)")])
def test_a_p_value_is_worse_only_where_the_published_one_says_leak(published, p_value, shown):
    (section,) = RESULTS["dp-table-2"].sections(grid_rows(p_value=p_value), authors_of(published))
    assert section.table["ours"].tolist() == [shown]  # the published one is .84
    runs = authors_of(published)["draft_dp_runs"].assign(leak_cdf_inputs_mean="2.0")
    (section,) = RESULTS["dp-table-2"].sections(grid_rows(p_value=p_value), {"draft_dp_runs": runs})
    assert section.table["ours"].tolist() == [f"**{shown}**" if p_value > dp_tables.LEAK else shown]


def test_published_runs_are_found_by_numbers_and_names():
    runs = pd.DataFrame({"epsilon": ["5.00", "0.10"], "dataset": ["compas", "adult"]})
    assert runs_of(runs, epsilon=5).index.tolist() == [0]
    assert runs_of(runs, epsilon=0.1, dataset="adult").index.tolist() == [1]
    assert runs_of(runs, epsilon=0.1, dataset="compas").empty


def test_published_p_values_are_those_of_the_fitted_law():
    runs = pd.DataFrame(
        {
            "reconstruction_error": ["0.5", "0.4", ""],
            "leak_cdf_inputs_mean": ["0.5", "0.5", ""],
            "leak_cdf_inputs_std": ["0.1", "0.1", ""],
        }
    )
    assert p_values(runs) == pytest.approx([0.5, 0.157], abs=0.001)


def test_the_numbers_of_the_papers_text_are_complete():
    assert set(TABLE_3_PARTS) == {(name, epsilon) for name in dp_plan.NAMES for epsilon in dp_plan.EPSILONS}
    assert set(TABLE_7_ACCURACIES) == {(name, size) for name in dp_plan.NAMES for size in dp_plan.SIZES}


@pytest.mark.parametrize(("certified", "shown"), [(True, "2 of 2"), (False, "**0 of 2**")])
def test_a_statement_that_does_not_hold_is_bold(certified, shown):
    line = {"data": "compas", "seed": 0, "support": 0.05, "depth": 1, "size": 1, "majority": 0.5, "dist_g": 0.9}
    line |= {"train_accuracy": 0.6, "test_accuracy": 0.6, "dist_g_one_hot": 0.9, "lowest": 0.9, "median": 0.9}
    line |= {"highest": 0.9, "certified": certified}
    learners = ("optimal trees", "optimal rules", "CART", "greedy rules")
    rows = pd.DataFrame({"models": [json.dumps([line | {"learner": learner}]) for learner in learners]})
    first = probabilistic.sections(rows, {})[0].table
    assert first["here"][0] == shown


# -- forests


def test_a_forest_without_its_noise_counts_each_row_once_in_every_node(invented_forests):
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 2, (50, 6)), rng.integers(0, 2, 50)
    exact = dp_forests.without_noise(invented_forests(rows, labels, 4, 3, 1.0, 0), rows, labels)
    columns = np.ascontiguousarray(rows.T.astype(np.float32))
    for tree in exact.trees:
        assert tree.value[0].tolist() == [np.sum(labels == 0), np.sum(labels == 1)]
        at = leaf_positions(tree, columns)
        assert tree.weight[tree.leaves].tolist() == np.bincount(at, minlength=len(tree.leaves)).tolist()
    assert exact.observation.privacy is None
    assert exact.n_samples == 50


def test_accuracy_is_that_of_the_counts_soft_votes(by_hand):
    forest = by_hand(2, (0, [0, 0], [0, 0]), (1, [0, 0], [0, 0]))
    values = [[[0, 0], [3, 1], [-2, 0]], [[0, 0], [0, 4], [5, -1]]]
    trees = [replace(tree, value=np.array(value, float)) for tree, value in zip(forest.trees, values, strict=True)]
    noisy = replace(forest, trees=tuple(trees), observation=under(Privacy("laplace", 1.0, 0.0, 2.0, "noise")))
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # shares of class 1: 5/8, 1/8, 3/4, 1/4
    assert dp_forests.accuracy(noisy, rows, [1, 0, 1, 0]) == 1
    assert dp_forests.accuracy(noisy, rows, [1, 0, 1, 1]) == 0.75


def test_rows_are_the_first_ones_or_drawn_by_the_seed():
    assert np.flatnonzero(dp_cells.chosen_rows(50, 10, None)).tolist() == list(range(10))
    one, again, other = (dp_cells.chosen_rows(50, 10, seed) for seed in (1, 1, 2))
    assert one.sum() == other.sum() == 10
    assert (one == again).all()
    assert (one != other).any()


def test_a_search_ended_by_its_effort_gives_the_same_figures_again(datasets, invented_forests, monkeypatch):
    monkeypatch.setattr(dp_cells, "papers_forest", invented_forests)
    (cell,) = dp_plan.forests(("compas",), (3,), (2,), rows=20, effort=0.05)
    cell["data"] = datasets / "compas.csv"
    first, second = dp_cells.forests(**cell), dp_cells.forests(**cell)
    for name in ("error", "p_value", "perfect", "rebuilt_rows", "status", "train_accuracy"):
        assert first[name] == second[name]
    assert first["answered"]
